"""A quick model of what a teacher says, for the rows that the teacher never looks at.

It is a sum: a linear function of the encoded columns, and a few small forests, each grown on what
those before it leave over. The linear part says at once what would take trees many splits, and the
forests say what is not linear.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from c2rf._typing import Floats
from c2rf.learners.encode import Encoder
from c2rf.learners.student import from_targets
from c2rf.learners.threads import in_threads
from c2rf.learners.trees import Forest, Growth, grow_forest
from c2rf.learners.views import Filler, Scenery

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
