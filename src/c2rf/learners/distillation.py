"""A quick model of what a teacher says, for the rows that the teacher never looks at.

A student learns the log-probabilities that a teacher gives rows of the population.

The teacher has seen few labels and many rows. The student, a forest, has seen what the teacher
makes of many rows, so it can smooth what the teacher gets wrong by chance. No row is scored by
trees that were grown on it: trees are grown on halves of the rows, and asked about the other half.

A quick model of what a teacher says, for the rows that the teacher never looks at.

It is a sum: a linear function of the encoded columns, and a few small forests, each grown on what
those before it leave over. The linear part says at once what would take trees many splits, and the
forests say what is not linear.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from c2rf._utils.types import Codes, Floats, Singles
from c2rf.learners.features import Encoder, Filler, Scenery
from c2rf.learners.threads import in_threads
from c2rf.learners.trees import Forest, Growth, grow_forest

N_SPLITS = 6
"""Times that the rows are split in halves."""

TREES_PER_HALF = 5
STUDENT_LEAST_ROWS = 5
STUDENT_PART_TRIED = 0.3
"""Least rows of a leaf, and the part of the columns that is tried at a node."""

LARGEST = 6.0
"""Differences of log-probabilities beyond this teach no more than this."""


def to_targets(logits: Floats) -> Floats:
    """Return what a student is taught: bounded differences of log-probabilities.

    Examples
    --------
    >>> to_targets(np.array([[-1.0, 2.0], [9.0, 0.0]])).tolist()
    [[3.0], [-6.0]]
    >>> to_targets(np.array([[0.0, 3.0, 6.0]])).tolist()
    [[-3.0, 0.0, 3.0]]
    """
    if logits.shape[1] == 2:
        return np.clip(logits[:, 1:] - logits[:, :1], -LARGEST, LARGEST)
    return np.clip(logits - logits.mean(axis=1, keepdims=True), -LARGEST, LARGEST)


def from_targets(targets: Floats, n_classes: int) -> Floats:
    """Return log-probabilities, up to a constant per row, from what a student was taught."""
    return np.column_stack([-targets / 2, targets / 2]) if n_classes == 2 else targets


def ask_student(X: Singles, targets: Floats, seed: int, n_jobs: int | None = None) -> Floats:
    """Teach a student, and ask it about the rows it was taught.

    Parameters
    ----------
    X : ndarray of float32, shape (n_rows, n_columns)
        Rows of the population, without missing cells.
    targets : ndarray of shape (n_rows, n_targets)
        What the teacher says of them.
    seed : int
        For splits and trees.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    ndarray of shape (n_rows, n_targets)
        What the student says of each row by the trees that have not seen it.
    """
    halves = _halves(len(X), seed)
    size = max(len(half) for half, _ in halves)
    # All bags are of one size: of an odd number of rows one is missing in half of them.
    bags = np.stack([np.resize(half, size) for half, _ in halves for _ in range(TREES_PER_HALF)])
    growth = Growth(len(bags), max(1, round(STUDENT_PART_TRIED * X.shape[1])), STUDENT_LEAST_ROWS)
    forest = grow_forest(X, targets, growth, seed, bags=bags.astype(np.int32), n_jobs=n_jobs)

    def ask(k: int, others: Codes) -> Floats:
        trees = slice(k * TREES_PER_HALF, (k + 1) * TREES_PER_HALF)
        return forest.some(trees).means(X[others])

    found = in_threads(ask, [(k, others) for k, (_, others) in enumerate(halves)], n_jobs)
    said = np.zeros_like(targets)
    for (_, others), means in zip(halves, found, strict=True):
        said[others] += means / N_SPLITS
    return said


def _halves(n_rows: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the rows of each half and those of the other, for all splits."""
    rng = np.random.default_rng([seed, 5])
    found = []
    for _ in range(N_SPLITS):
        order = rng.permutation(n_rows)
        one, other = np.sort(order[: n_rows // 2]), np.sort(order[n_rows // 2 :])
        found += [(one, other), (other, one)]
    return found


N_STAGES = 4
TREES_PER_STAGE = 10
STEP = 0.7
"""Forests, trees of each, and how far each goes towards what is left over."""

LEAST_ROWS = 5
DEEPEST = 14
PART_TRIED = 0.5
"""Least rows and greatest depth of a leaf, and the part of the columns that is tried at a node."""

RIDGE = 1e-3
CAUTION = 0.9
"""Its log-probabilities are multiplied by this: a copy is less often right than the original."""

_ROWS_PER_CALL = 1 << 12


@dataclass(frozen=True, eq=False)
class QuickModel:
    """A linear function and forests, added up.

    Parameters
    ----------
    filler : Filler
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

    filler: Filler
    encoder: Encoder
    coef: Floats
    forests: Sequence[Forest]
    n_classes: int

    def logits(self, X: Floats, n_jobs: int | None = None) -> Floats:
        """Return log-probabilities of any rows, up to a constant per row."""
        starts = range(0, max(len(X), 1), _ROWS_PER_CALL)
        parts = in_threads(self._part, [(X[s : s + _ROWS_PER_CALL],) for s in starts], n_jobs)
        return from_targets(CAUTION * np.concatenate(parts), self.n_classes)

    def _part(self, X: Floats) -> Floats:
        filled = self.filler.fill(X)
        single = np.ascontiguousarray(filled, dtype=np.float32)
        said = linear(self.encoder.encode(filled), self.coef)
        for forest in self.forests:
            said += STEP * forest.means(single)
        return said


def linear(encoded: Floats, coef: Floats) -> Floats:
    """Return a linear function of rows."""
    return encoded @ coef[:-1] + coef[-1]


def ridge_coef(encoded: Floats, targets: Floats, ridge: float) -> Floats:
    """Return the coefficients of a ridge regression, its constant last.

    Examples
    --------
    >>> ridge_coef(np.array([[-1.0], [1.0]]), np.array([[1.0], [5.0]]), 0.0).tolist()
    [[2.0], [3.0]]
    """
    columns = np.column_stack([encoded, np.ones(len(encoded))])
    moments = columns.T @ columns / len(columns)
    moments[np.diag_indices_from(moments)] += ridge
    solved = np.linalg.solve(moments, columns.T @ targets / len(columns))
    return np.asarray(solved, dtype=float)


def make_quick_model(
    scenery: Scenery, targets: Floats, n_classes: int, seed: int, n_jobs: int | None = None
) -> QuickModel:
    """Fit a linear function, then forests to what is left over.

    Parameters
    ----------
    scenery : Scenery
        With the rows of the population.
    targets : ndarray of shape (n_rows, n_targets)
        What the teacher says of them.
    n_classes : int
        Number of classes.
    seed : int
        For trees and the rows that they are grown on.
    n_jobs : int or None
        Number of threads.
    """
    view = scenery.population
    coef = ridge_coef(view.plain.encoded, targets, RIDGE)
    left = targets - linear(view.plain.encoded, coef)
    n_rows, n_columns = view.raw.shape
    growth = Growth(TREES_PER_STAGE, max(1, round(PART_TRIED * n_columns)), LEAST_ROWS, DEEPEST)
    rng, forests = np.random.default_rng([seed, 6]), []
    half = max(1, n_rows // 2)
    for stage in range(N_STAGES):
        bags = [rng.permutation(n_rows)[:half] for _ in range(TREES_PER_STAGE)]
        forest = grow_forest(
            view.raw, left, growth, seed + stage, bags=np.array(bags, dtype=np.int32), n_jobs=n_jobs
        )
        left = left - STEP * forest.means(view.raw, n_jobs)
        forests.append(forest)
    return QuickModel(scenery.filler, scenery.encoder, coef, forests, n_classes)
