"""A student learns the log-probabilities that a teacher gives rows of the population.

The teacher has seen few labels and many rows. The student, a forest, has seen what the teacher
makes of many rows, so it can smooth what the teacher gets wrong by chance. No row is scored by
trees that were grown on it: trees are grown on halves of the rows, and asked about the other half.
"""

from __future__ import annotations

import numpy as np

from c2rf._typing import Codes, Floats, Singles
from c2rf.learners.threads import in_threads
from c2rf.learners.trees import Growth, grow_forest

N_SPLITS = 6
"""Times that the rows are split in halves."""

TREES_PER_HALF = 5
LEAST_ROWS = 5
PART_TRIED = 0.3
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
    growth = Growth(len(bags), max(1, round(PART_TRIED * X.shape[1])), LEAST_ROWS)
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
