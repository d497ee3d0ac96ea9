"""Labeled rows against all rows, and what the labels rest on: from a sample of the population."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from c2rf._typing import Codes, Floats
from c2rf.assignment import Bounds, assign, log_scores
from c2rf.columns.encoding import encoded_columns
from c2rf.columns.kinds import of_kind
from c2rf.labeling.scoring import Scored
from c2rf.labeling.task import Task
from c2rf.population import RowSample, draw_sample
from c2rf.report import BalanceFact, ImportanceFact

MOST_COMPARED = 20_000
"""Rows of the population, at most, that labeled rows are compared with."""
MOST_SHUFFLED, LEAST_SHUFFLED = 1000, 100
"""Rows whose columns are shuffled, at most and at least."""
SHARE_OF_WORK = 0.5
"""The most rows that shuffling may score, as a multiple of those that labeling has scored."""


def population_sample(task: Task, seed: int) -> RowSample:
    """Draw rows of the population, as numbers."""
    return draw_sample(task.X_unlabeled.counted(), MOST_COMPARED, [seed, 6])


def balance(task: Task, sample: Floats, counts: Floats) -> list[BalanceFact]:
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


def importance(task: Task, classifier: Any, scored: Scored, drawn: RowSample, seed: int) -> Any:
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
