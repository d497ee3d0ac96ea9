"""Distillation: forests that learn the log-probabilities of the blend from unlabeled rows.

The blend (the teacher) was fitted to few labels. Its log-probabilities of many rows of the
population are learned by two models.

The student, a forest, smooths what the teacher gets wrong by chance. No row is predicted by trees
that were grown on it: trees are grown on halves of the rows, and predict the other half.

The distilled model predicts any number of other rows quickly. It is a sum: a linear function of the
encoded columns, and a few small forests, each grown on the residuals of those before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from c2rf._utils.types import Codes, Floats, Singles
from c2rf.learners.base_learners import ridge_coef
from c2rf.learners.features import Encoder, MedianImputer, Preprocessor
from c2rf.learners.threads import in_row_parts, in_threads
from c2rf.learners.trees import Forest, Growth, grow_forest

LARGEST_LOGIT = 6.0
"""The logits that students learn from are clipped at plus and minus this."""


def to_targets(logits: Floats) -> Floats:
    """Return what is learned: clipped differences of log-probabilities.

    Examples
    --------
    >>> to_targets(np.array([[-1.0, 2.0], [9.0, 0.0]])).tolist()
    [[3.0], [-6.0]]
    >>> to_targets(np.array([[0.0, 3.0, 6.0]])).tolist()
    [[-3.0, 0.0, 3.0]]
    """
    if logits.shape[1] == 2:
        return np.clip(logits[:, 1:] - logits[:, :1], -LARGEST_LOGIT, LARGEST_LOGIT)
    return np.clip(logits - logits.mean(axis=1, keepdims=True), -LARGEST_LOGIT, LARGEST_LOGIT)


def from_targets(targets: Floats, n_classes: int) -> Floats:
    """Return log-probabilities, up to a constant per row, from what was learned."""
    return np.column_stack([-targets / 2, targets / 2]) if n_classes == 2 else targets


MOST_SCORED = 4
"""Principal directions of the targets that choose splits: of many classes these tell most."""


def _grow(X: Singles, targets: Floats, growth: Growth, seed: int, **options: Any) -> Forest:
    """Grow a forest; of many targets their main directions choose the splits."""
    if targets.shape[1] <= MOST_SCORED:
        return grow_forest(X, targets, growth, seed, **options)
    axes = np.linalg.eigh(targets.T @ targets)[1][:, ::-1]
    growth = replace(growth, n_scored=MOST_SCORED)
    forest = grow_forest(X, targets @ axes, growth, seed, **options)
    return forest.with_values(forest.values @ axes.T)


N_SPLITS = 6
"""Times that the rows are split in halves."""

TREES_PER_HALF = 5
STUDENT_MIN_LEAF = 5
STUDENT_PART_TRIED = 0.3
"""Least rows of a leaf, and the part of the columns that is tried at a node."""


def student_predictions(
    X: Singles, targets: Floats, seed: int, n_jobs: int | None = None
) -> Floats:
    """Fit a student, and let it predict the rows it was fitted to.

    Parameters
    ----------
    X : ndarray of float32, shape (n_rows, n_columns)
        Rows of the population, without missing cells.
    targets : ndarray of shape (n_rows, n_targets)
        Their log-probabilities by the teacher, from :func:`to_targets`.
    seed : int
        For splits and trees.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    ndarray of shape (n_rows, n_targets)
        Predictions for each row by the trees that were not grown on it.
    """
    halves = _halves(len(X), seed)
    size = max(len(half) for half, _ in halves)
    # All bags are of one size: with an odd number of rows one is repeated in half of them.
    bags = np.stack([np.resize(half, size) for half, _ in halves for _ in range(TREES_PER_HALF)])
    max_features = min(max(1, round(STUDENT_PART_TRIED * X.shape[1])), MOST_TRIED)
    growth = Growth(len(bags), max_features, STUDENT_MIN_LEAF)
    forest = _grow(X, targets, growth, seed, bags=bags.astype(np.int32), n_jobs=n_jobs)

    def predict(k: int, others: Codes) -> Floats:
        trees = slice(k * TREES_PER_HALF, (k + 1) * TREES_PER_HALF)
        return forest.some(trees).predict(X[others])

    found = in_threads(predict, [(k, others) for k, (_, others) in enumerate(halves)], n_jobs)
    predicted = np.zeros_like(targets)
    for (_, others), means in zip(halves, found, strict=True):
        predicted[others] += means / N_SPLITS
    return predicted


def _halves(n_rows: int, seed: int) -> list[tuple[Codes, Codes]]:
    """Return the rows of each half and those of the other, for all splits."""
    rng = np.random.default_rng([seed, 5])
    found = []
    for _ in range(N_SPLITS):
        order = rng.permutation(n_rows)
        one, other = np.sort(order[: n_rows // 2]), np.sort(order[n_rows // 2 :])
        found += [(one, other), (other, one)]
    return found


MOST_TRIED = 100
"""Columns that are tried at a node, at most."""

N_STAGES = 4
TREES_PER_STAGE = 10
LEARNING_RATE = 0.7
"""Forests, trees of each, and the factor of what each adds."""

MIN_LEAF = 5
MAX_DEPTH = 14
PART_TRIED = 0.5
"""Least rows and greatest depth of a leaf, and the part of the columns that is tried at a node."""

RIDGE = 1e-3

SHRINKAGE = 0.9
"""Factor of the distilled model's logits: a copy is less often right than the original. Chosen by
samples 0 and 1 of the paper's 13 data sets; samples 2 to 4 test it."""

_ROWS_PER_CALL = 1 << 12


@dataclass(frozen=True, eq=False)
class DistilledModel:
    """A linear function and forests, added up.

    Parameters
    ----------
    imputer : MedianImputer
        Fills missing cells.
    encoder : Encoder
        Makes the columns that the linear function is of.
    coef : ndarray of shape (n_encoded + 1, n_targets)
        Its coefficients, the last one its constant.
    forests : sequence of Forest
        What is added.
    n_classes : int
        Number of classes.
    """

    imputer: MedianImputer
    encoder: Encoder
    coef: Floats
    forests: Sequence[Forest]
    n_classes: int

    def logits(self, X: Floats, n_jobs: int | None = None) -> Floats:
        """Return log-probabilities of any rows, up to a constant per row."""
        parts = in_row_parts(lambda rows: self._predict(X[rows]), len(X), _ROWS_PER_CALL, n_jobs)
        return from_targets(SHRINKAGE * np.concatenate(parts), self.n_classes)

    def _predict(self, X: Floats) -> Floats:
        filled = self.imputer.fill(X)
        columns = np.ascontiguousarray(filled, dtype=np.float32)
        predicted = linear(self.encoder.encode(filled), self.coef)
        for forest in self.forests:
            predicted += LEARNING_RATE * forest.predict(columns)
        return predicted


def linear(encoded: Floats, coef: Floats) -> Floats:
    """Return a linear function of rows."""
    return encoded @ coef[:-1] + coef[-1]


def distil(
    preprocessor: Preprocessor,
    targets: Floats,
    n_classes: int,
    seed: int,
    n_jobs: int | None = None,
) -> DistilledModel:
    """Fit a linear function, then forests to the residuals.

    Parameters
    ----------
    preprocessor : Preprocessor
        With the rows of the population.
    targets : ndarray of shape (n_rows, n_targets)
        Their log-probabilities by the teacher, from :func:`to_targets`.
    n_classes : int
        Number of classes.
    seed : int
        For trees and the rows that they are grown on.
    n_jobs : int or None
        Number of threads.
    """
    columns, encoded = preprocessor.population["columns"], preprocessor.population["encoded"]
    n_rows, n_columns = columns.shape
    padded = np.column_stack([encoded, np.ones(n_rows)])
    coef = ridge_coef(padded, targets, np.ones(n_rows), RIDGE * n_rows)
    residuals = targets - linear(encoded, coef)
    growth = Growth(
        TREES_PER_STAGE, min(max(1, round(PART_TRIED * n_columns)), MOST_TRIED), MIN_LEAF, MAX_DEPTH
    )
    rng, forests = np.random.default_rng([seed, 6]), []
    half = max(1, n_rows // 2)
    for stage in range(N_STAGES):
        drawn = [rng.permutation(n_rows)[:half] for _ in range(TREES_PER_STAGE)]
        bags = np.array(drawn, dtype=np.int32)
        forest = _grow(columns, residuals, growth, seed + stage, bags=bags, n_jobs=n_jobs)
        residuals = residuals - LEARNING_RATE * forest.predict(columns, n_jobs)
        forests.append(forest)
    return DistilledModel(preprocessor.imputer, preprocessor.encoder, coef, forests, n_classes)
