"""``c2rf.classify``: two tables and totals in, a result with labels, report and model out.

``c2rf.estimate_totals`` gives totals where none are known, as estimates with standard errors.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from c2rf.assignment import AssignmentProblem
from c2rf.baselines import N_TREES
from c2rf.estimators.c2rf import C2RFClassifier
from c2rf.estimators.known_totals import KnownTotalsClassifier
from c2rf.estimators.training import (
    N_BOOTSTRAP,
    draw_rows,
    estimate_rates,
    learner_template,
)
from c2rf.exceptions import InputError
from c2rf.forest.ensembles import seeded
from c2rf.inference.estimates import about_estimated_rates
from c2rf.progress import report_progress, showing_progress
from c2rf.totals.stated import CLASS, SMALLEST_ERROR, TOTAL, as_estimates
from c2rf.workflow.options import Options, join_names, takes_options
from c2rf.workflow.predictions import PREDICTED, Predictions, score_unlabeled
from c2rf.workflow.prepare import OPEN, PreparedData, domains_by, prepare
from c2rf.workflow.result import Classification
from c2rf.workflow.tables import at_scheduler

ALL_CORES = -1


@takes_options
def classify(labeled: Any, unlabeled: Any = None, **options: Any) -> Classification:
    """Label rows so that the labels add up to known totals.

    Parameters
    ----------
    labeled : data frame or path
        Rows whose class is known.
    unlabeled : data frame, path, or population outside of memory, optional
        Rows to label, with the same columns but the target: a frame, a file or a folder of CSV or
        Parquet files, a pyarrow dataset, a Polars LazyFrame, a Dask or Spark DataFrame or a
        relation of DuckDB. Without, the rows
        of ``labeled`` whose target is empty. Where it has the target, that is used to score the
        labels.
    **options
        Each field of :class:`c2rf.workflow.options.Options`, by its name.

    Returns
    -------
    Classification
        With ``labels``, ``summary()``, ``report(path)``, ``write(path)`` and ``save_model(path)``.

    Examples
    --------
    >>> import c2rf
    >>> import pandas as pd
    >>> from c2rf.datasets import make_twonorm
    >>> X, y = make_twonorm(300, random_state=0)
    >>> people = pd.DataFrame(X).add_prefix("x").assign(sick=y)
    >>> result = c2rf.classify(
    ...     people[:60], people[60:].drop(columns="sick"), target="sick", totals={1: 100},
    ...     method="c2rf", trees=5,
    ... )
    >>> result.labels.columns[-3:].tolist()
    ['label', 'score', 'confidence']
    >>> print(result.summary())
    labeled    60 rows
    unlabeled  240 rows
    label 0    141 (known: 140)
    label 1    99 (known: 100)
    proof      no weighting of these 5 trees with weights in [1, 100] comes closer than 1
    """
    chosen = Options(**options)
    with (
        showing_progress(chosen.verbose),
        at_scheduler(chosen.scheduler, chosen.engine, chosen.n_jobs, chosen.master),
    ):
        data = prepare(labeled, unlabeled, chosen)
        return label(data, f"c2rf.classify(..., random_state={chosen.random_state})")


def label(data: PreparedData, command: str) -> Classification:
    """Learn from the labeled rows and label the others; Ctrl-C ends it without a result.

    Parameters
    ----------
    data : PreparedData
        The tables and options, checked.
    command : str
        How to do it again, for the report.
    """
    options = data.options
    with data.timed("learning and labeling"):
        classifier = make_classifier(data)
        classifier.fit(
            data.X, data.labels.astype(np.str_), X_unlabeled=data.X_unlabeled, **_known(data)
        )
        solution = getattr(classifier, "solution_", None)
        if solution is not None and solution.stats.get("interrupted"):
            raise KeyboardInterrupt
        if options.scheduler is not None and isinstance(classifier, KnownTotalsClassifier):
            classifier._bring_here()  # the result outlives the connection
        report_progress("scoring the labels")
        added = dict(zip(PREDICTED, score_unlabeled(classifier, data.positive), strict=True))
    sensitivity, meanings = None, {"label": data.values}
    if options.sensitivity is not None:
        with data.timed("labeling with other totals"):
            share = options.sensitivity  # a text stands for the standard errors of the totals
            sensitivity = classifier._sensitivity(None if isinstance(share, str) else share)
        codes, kinds = sensitivity.codes, sensitivity.kinds
        added |= {"robust": codes, "sensitive_to": codes}
        meanings |= {"robust": kinds == "", "sensitive_to": kinds}
    predictions = Predictions(data.rows, data.shown, added, meanings)
    result = Classification(data, classifier, predictions, command, sensitivity)
    if options.imputations is not None:
        with data.timed("drawing imputations"):
            _ = result.imputation_parts  # the classifier keeps them
    if options.estimates_by:
        with data.timed("estimating by domain"):
            _ = result.published
    return result


def make_classifier(data: PreparedData) -> C2RFClassifier | KnownTotalsClassifier:
    """Return the unfitted classifier of the method that was chosen."""
    options = data.options
    if options.method == "c2rf":
        names = {option.name for option in fields(Options) if option.metadata["method"] == "c2rf"}
        renamed = {"trees": "n_estimators", "solve_method": "method"}
        given = {
            renamed.get(name, name): value
            for name, value in options.given().items()
            if name in names
        }
        return C2RFClassifier(
            pos_label=data.positive,
            n_jobs=options.n_jobs,
            random_state=options.random_state,
            **given,
        )
    return KnownTotalsClassifier(
        make_learner(options.learner),
        calibration=None if options.calibration == "none" else "auto",
        n_jobs=ALL_CORES if options.n_jobs is None else options.n_jobs,  # same result for any
        random_state=options.random_state,
    )


def make_learner(name: str | None) -> Any:
    """Return the classifier that gives the probabilities, None for the default.

    The blend is the most accurate; with thousands of labeled rows boosting is close. Extra trees
    are quicker where labeled rows are few, logistic regression is the quickest.

    Examples
    --------
    >>> make_learner("blend") is None
    True
    >>> make_learner("extra-trees")
    ExtraTreesClassifier(n_estimators=200)
    """
    if name == "boosting":
        return HistGradientBoostingClassifier(max_leaf_nodes=15, early_stopping=False)
    if name == "extra-trees":
        return ExtraTreesClassifier(N_TREES)
    if name == "logistic":
        return make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(max_iter=1000))
    return None


def _known(data: PreparedData) -> dict[str, Any]:
    """Return what is known of the unlabeled rows, as the classifier of the method takes it."""
    if data.options.method == "c2rf":
        assert data.positive is not None  # there are two classes
        place = data.classes.index(data.positive)
        return {"n_positive": int(data.bounds.lower[place])}
    return {
        "totals": AssignmentProblem(
            data.bounds, data.groups, data.weights, data.totals, known=data.known
        ),
        "sample_weight": data.labeled_weights,
    }


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
    differ. The rates with the highest likelihood are found by the probabilities of a classifier,
    calibrated and plain, of which the mean is taken; standard errors are from bootstraps.

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
    columns = [by] if isinstance(by, str) else list(by or ())
    name = learner if isinstance(learner, str) else None
    tables = [join_names(columns)] if columns else []
    options = Options(
        target=target, totals=OPEN, estimates_by=tables, learner=name,  # type: ignore[arg-type]
        random_state=random_state,
    )  # fmt: skip
    template = make_learner(name) if learner is None or name is not None else learner
    data = prepare(labeled, unlabeled, options)
    totals, said = totals_of(data, template, columns, n_bootstrap)
    if said:
        warnings.warn(said, UserWarning, stacklevel=2)
    return totals


def totals_of(
    data: PreparedData, learner: Any, columns: Sequence[str], n_bootstrap: int = N_BOOTSTRAP
) -> tuple[Any, str]:
    """Return estimated totals, see :func:`estimate_totals`, and what speaks against them."""
    if n_bootstrap < 2:
        raise InputError(f"n_bootstrap must be 2 or more; found {n_bootstrap!r}")
    seed, template = data.options.random_state, learner_template(learner)
    seeded(template, np.random.RandomState(seed))
    sample = draw_rows(data.X_unlabeled, len(data.X), data.X.shape[1], seed)
    domains, _ = domains_by(data, columns)
    people = None if data.weights is None else data.weights[sample.rows]
    codes = np.asarray(domains.codes)[sample.rows]
    rates, errors, p_value = estimate_rates(
        template, data.X, data.labels.astype(np.str_), data.labeled_weights, sample.data, codes,
        len(domains.names), people, n_bootstrap, seed,
    )  # fmt: skip
    classes = data.values.tolist()
    if not columns:
        return as_estimates(classes, rates[0], errors[0]), about_estimated_rates(p_value)
    names = [name if len(columns) > 1 else (name,) for name in domains.names]
    table = pd.DataFrame(names, columns=list(columns))
    table = table.loc[table.index.repeat(len(classes))].reset_index(drop=True)
    return table.assign(**{
        CLASS: np.tile(np.array(classes, dtype=object), len(names)), TOTAL: rates.ravel(),
        "se": np.maximum(errors.ravel(), SMALLEST_ERROR),
    }), ""  # fmt: skip
