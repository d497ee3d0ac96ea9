"""``c2rf.estimate_totals``: totals where none are known, as estimates with standard errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from c2rf.estimators.training import (
    N_BOOTSTRAP,
    draw_rows,
    estimate_rates,
    learner_template,
)
from c2rf.exceptions import InputError
from c2rf.forest.ensembles import seeded
from c2rf.totals.stated import CLASS, SMALLEST_ERROR, TOTAL, as_estimates
from c2rf.workflow.options import Options, join_names
from c2rf.workflow.prepare import OPEN, PreparedData, domains_by, prepare


def estimate_totals(
    labeled: Any,
    unlabeled: Any,
    *,
    target: str,
    by: str | Sequence[str] | None = None,
    learner: Any = None,
    n_bootstrap: int = N_BOOTSTRAP,
    random_state: int = 0,
) -> Any:
    """Estimate the totals of classes from a labeled sample and the population, under label shift.

    Within a class, the sample must be like the population: only the rates of the classes may
    differ. The rates with the highest likelihood are found by the calibrated probabilities of a
    classifier; standard errors are from bootstraps.

    Parameters
    ----------
    labeled, unlabeled : data frame, path, or population
        Rows whose class is known, and rows to label, as for :func:`c2rf.classify`.
    target : str
        The column with the class.
    by : str or sequence of str, optional
        Columns whose values make groups; there, too, a class must look as it does in the sample.
    learner : classifier or str, optional
        Gives probabilities: a scikit-learn classifier, or a name as for :func:`c2rf.classify`.
    n_bootstrap : int, default=200
        How many bootstraps, at least 2.
    random_state : int, default=0
        Seed.

    Returns
    -------
    dict of class to Estimate, or DataFrame
        What ``totals`` takes. With ``by`` a table with these columns, ``class``, ``total`` (a
        rate) and ``se``.

    Notes
    -----
    It is an estimate, and no known total: a census is better by far.

    Examples
    --------
    >>> import c2rf
    >>> from c2rf.datasets import biased_sample, make_twonorm
    >>> X, y = make_twonorm(2000, random_state=0)
    >>> people = pd.DataFrame(X).add_prefix("x").assign(sick=y)
    >>> asked, rest = biased_sample(y, 0.1, positive_weight=0.8, random_state=0)
    >>> found = c2rf.estimate_totals(
    ...     people.loc[asked], people.loc[rest].drop(columns="sick"), target="sick",
    ...     learner="logistic", n_bootstrap=20,
    ... )
    >>> bool(abs(found[1].value - y[rest].mean()) < 3 * found[1].se)
    True
    """
    from c2rf.workflow.classify import make_learner

    columns = [by] if isinstance(by, str) else list(by or ())
    name = learner if isinstance(learner, str) else None
    tables = [join_names(columns)] if columns else []
    options = Options(
        target=target, totals=OPEN, estimates_by=tables, learner=name,  # type: ignore[arg-type]
        random_state=random_state,
    )  # fmt: skip
    template = make_learner(name) if learner is None or name is not None else learner
    data = prepare(labeled, unlabeled, options)
    return totals_of(data, template, columns, n_bootstrap)


def totals_of(
    data: PreparedData, learner: Any, columns: Sequence[str], n_bootstrap: int = N_BOOTSTRAP
) -> Any:
    """Return estimated totals, see :func:`estimate_totals`."""
    if n_bootstrap < 2:
        raise InputError(f"n_bootstrap must be 2 or more; found {n_bootstrap!r}")
    seed, template = data.options.random_state, learner_template(learner)
    seeded(template, np.random.RandomState(seed))
    sample = draw_rows(data.X_unlabeled, len(data.X), data.X.shape[1], seed)
    domains, _ = domains_by(data, columns)
    people = None if data.weights is None else data.weights[sample.rows]
    codes = np.asarray(domains.codes)[sample.rows]
    rates, errors = estimate_rates(
        template, data.X, data.labels.astype(np.str_), data.labeled_weights, sample.data, codes,
        len(domains.names), people, n_bootstrap, seed,
    )  # fmt: skip
    classes = data.values.tolist()
    if not columns:
        return as_estimates(classes, rates[0], errors[0])
    names = [name if len(columns) > 1 else (name,) for name in domains.names]
    table = pd.DataFrame(names, columns=list(columns))
    table = table.loc[table.index.repeat(len(classes))].reset_index(drop=True)
    return table.assign(**{
        CLASS: np.tile(np.array(classes, dtype=object), len(names)), TOTAL: rates.ravel(),
        "se": np.maximum(errors.ravel(), SMALLEST_ERROR),
    })  # fmt: skip
