"""What a result tells beside labels: true classes, other totals, imputations, the sample.

Which labels of a classification depend on a total: checks, and what a summary says of it.

The imputations of a classification, as a table with a column for each.

Labeled rows against all rows, and what the labels rest on: from a sample of the population.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from c2rf._utils.text import count, percent, short
from c2rf._utils.types import Codes, Floats
from c2rf.assignment import assign, log_scores
from c2rf.data.encoding import encoded_columns
from c2rf.data.population.interface import RowSample, draw_sample
from c2rf.data.profile import of_kind
from c2rf.exceptions import InputError
from c2rf.inference.sensitivity import Sensitivity
from c2rf.report.facts import BalanceFact, ImportanceFact, SensitivityFact
from c2rf.totals.bounds import Bounds
from c2rf.workflow.options import FROM_ERRORS
from c2rf.workflow.predictions import Predictions
from c2rf.workflow.prepare import PreparedData


def find_sensitivity(classifier: Any, share: float | str) -> Sensitivity:
    """Label again with other totals."""
    found: Sensitivity = classifier._sensitivity(None if share == FROM_ERRORS else share)
    return found


def sensitivity_fact(found: Sensitivity, scored: Predictions) -> SensitivityFact:
    """Return what a report tells."""
    n_classes = len(found.shares)
    labels = np.bincount(scored.codes, minlength=n_classes)
    robust = np.bincount(scored.codes[found.robust], minlength=n_classes)
    return SensitivityFact(_off_by(found), found.shares, found.changed, labels, robust)


def sensitivity_line(found: Sensitivity, classes: Sequence[str]) -> tuple[str, str]:
    """Say how many labels stay whatever total is off."""
    robust = found.robust
    most = int(found.changed.max(axis=1).argmax())
    stay = "all labels stay"
    if not robust.all():
        stay = (
            f"{count(int(robust.sum()), 'label')} ({percent(robust.mean())}) stay; most others "
            f"depend on the total of {short(classes[most])}"
        )
    return "robust", f"with any total {_off_by(found)} off, {stay}"


def _off_by(found: Sensitivity) -> str:
    """Say how far totals are taken to be off."""
    shares = found.shares[found.shares > 0]
    least, most = percent(shares.min()), percent(shares.max())
    return least if least == most else f"{least} to {most}"


USUAL = 20
"""How many imputations there are if nobody says."""
ROW = "row"
"""Names the rows where there is no column of ids: numbers from 1."""


def imputation_parts(task: PreparedData, classifier: Any, n_imputations: int) -> Predictions:
    """Draw imputations, or say why there are none; rows are named by their ids, or numbered."""
    if not hasattr(classifier, "impute"):
        raise InputError(
            "the method c2rf has no probabilities to draw imputations from; use the method "
            "known-totals"
        )
    codes = classifier._imputed_codes(n_imputations)
    drawn = {f"imputation_{k + 1}": row for k, row in enumerate(codes)}
    classes = dict.fromkeys(drawn, task.values)
    if task.options.id is not None:
        return Predictions(task.rows, [task.options.id], drawn, classes)
    numbers = {ROW: np.arange(1, task.n_rows + 1)}
    return Predictions(task.rows, [], numbers | drawn, classes)


MOST_COMPARED = 20_000
"""Rows of the population, at most, that labeled rows are compared with."""
MOST_SHUFFLED, LEAST_SHUFFLED = 1000, 100
"""Rows whose columns are shuffled, at most and at least."""
SHARE_OF_WORK = 0.5
"""The most rows that shuffling may score, as a multiple of those that labeling has scored."""


def population_sample(task: PreparedData, seed: int) -> RowSample:
    """Draw rows of the population, as numbers."""
    return draw_sample(task.X_unlabeled.counted(), MOST_COMPARED, [seed, 6])


def balance(task: PreparedData, sample: Floats, counts: Floats) -> list[BalanceFact]:
    """Compare the means of labeled rows with those of the population.

    Parameters
    ----------
    task : Task
        The labeled rows.
    sample : ndarray of shape (n_sampled, n_numbers)
        Rows of the population.
    counts : ndarray of shape (n_classes,)
        How many rows of each class there are in the population.
    """
    codes = np.searchsorted(np.array(task.classes, dtype=object), task.labels)
    own = np.ones(len(codes)) if task.labeled_weights is None else task.labeled_weights
    sizes = np.bincount(codes, own, minlength=len(task.classes))
    weights = own * np.divide(counts, sizes, out=0 * sizes, where=sizes > 0)[codes]
    if weights.sum() <= 0:
        weights = np.ones(len(codes))
    plain, weighted = _means(task.X, np.ones(len(codes))), _means(task.X, weights)
    means = _means(sample, np.ones(len(sample)))
    spread = np.sqrt(np.maximum(_means((sample - means) ** 2, np.ones(len(sample))), 0.0))
    found, days = [], of_kind(task.columns, "dates")
    for k, (column, value) in enumerate(encoded_columns(task.encoder)):
        if not np.isfinite([plain[k], weighted[k], means[k]]).all() or spread[k] <= 0:
            continue
        before, after = (plain[k] - means[k]) / spread[k], (weighted[k] - means[k]) / spread[k]
        name = column if value is None else f"{column}: {value}"
        unit = _unit(task.X[:, k], value, column in days)
        found.append(BalanceFact(name, plain[k], weighted[k], means[k], before, after, unit))
    return found


def importance(
    task: PreparedData, classifier: Any, scored: Predictions, drawn: RowSample, seed: int
) -> Any:
    """Return the share of labels that change if a column is shuffled; None if it takes too long."""
    columns = encoded_columns(task.encoder)
    names = list(dict.fromkeys(column for column, _ in columns))
    n_rows = min(MOST_SHUFFLED, len(drawn.rows), int(SHARE_OF_WORK * task.n_rows) // len(names))
    if n_rows < LEAST_SHUFFLED:
        return None
    rng = np.random.default_rng([seed, 7])
    X, rows = np.array(drawn.data[:n_rows], dtype=float), drawn.rows[:n_rows]
    sizes = np.bincount(scored.codes[rows], minlength=len(task.classes))
    bounds = Bounds.overall(sizes, sizes, n_rows)

    def labels(X: Floats) -> Codes:
        return assign(log_scores(classifier.estimator_.predict_proba(X)), bounds, None, 0).labels

    usual, changed = labels(X), {}
    for name in names:
        own = [k for k, (column, _) in enumerate(columns) if column == name]
        shuffled = X.copy()
        shuffled[:, own] = X[rng.permutation(n_rows)][:, own]
        changed[name] = float(np.mean(labels(shuffled) != usual))
    return ImportanceFact(changed, n_rows)


def _unit(cells: Floats, value: str | None, is_date: bool) -> Literal["number", "year", "date"]:
    """Say how the mean of a column is written; whole numbers of this time are years."""
    if is_date:
        return "date" if value is None else "year" if value == "year" else "number"
    given = cells[~np.isnan(cells)]
    is_year = value is None and ((given == np.floor(given)) & (given > 1500) & (given < 2200)).all()
    return "year" if is_year else "number"


def _means(X: Floats, weights: Floats) -> Floats:
    """Return weighted means of columns without their empty cells; NaN of one with nothing else."""
    there = ~np.isnan(X)
    total = weights @ there
    with np.errstate(invalid="ignore", divide="ignore"):
        return (weights @ np.where(there, X, 0.0)) / total
