"""The paper's preprocessing (Section 3), one function per proposition, and the way back.

Proposition 3 (equal points) is what a :class:`~c2rf.core.votes.PatternTable` does: it is applied
when a problem is made. :func:`merge_trees` is Proposition 4, :func:`fix_points` Proposition 5, and
:func:`reduce` the preprocessing of Algorithm 1 with two corrections: trees are compared after the
fixed patterns are gone, and lambda-bar is max(0, lambda - beta), with what that cuts off added
back to eta.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from c2rf._typing import Floats
from c2rf.core.problem import Problem
from c2rf.core.tolerances import MARGIN_TOLERANCE


@dataclass(frozen=True, eq=False)
class Reduction:
    """A smaller problem with the same optimum, and how to get back.

    Parameters
    ----------
    original, problem : Problem
        Before and after.
    kept : ndarray of int
        The pattern of the original problem behind each row of the smaller one.
    group : ndarray of int, shape (n_columns,)
        The column of the smaller problem that each original column went into.
    eta_shift : int
        What to add to an eta (or a bound) of the smaller problem.
    """

    original: Problem
    problem: Problem
    kept: NDArray[np.int64]
    group: NDArray[np.int64]
    eta_shift: int

    def lift(self, weights: Floats) -> Floats:
        """Return weights of the original columns that give every open pattern the same score."""
        # Each member stands as far up in its own box as the sum stands in the sum of the boxes.
        small = self.problem
        width = np.where(small.upper > small.lower, small.upper - small.lower, 1.0)
        height = ((weights - small.lower) / width)[self.group]
        low, high = self.original.lower, self.original.upper
        alone = np.bincount(self.group)[self.group] == 1  # spared the rounding
        lifted = np.where(alone, weights[self.group], low + height * (high - low))
        return np.clip(lifted, low, high)


def fix_points(problem: Problem) -> NDArray[np.int8]:
    """Proposition 5: patterns whose margin is met with the same sign by all weights in the box.

    phi_i = l|B_i| - u|A_i| >= 1 makes pattern i positive, -l|A_i| + u|B_i| <= -1 negative.

    Examples
    --------
    >>> from c2rf.core.problem import make_problem
    >>> fix_points(make_problem([[1, 1], [1, -1], [-1, -1]], 1))
    array([-1,  0,  1], dtype=int8)
    """
    # A float sum of n terms is off by less than n * eps * sum |terms|: in doubt, nothing is fixed.
    largest = np.maximum(np.abs(problem.lower), np.abs(problem.upper)).sum()
    error = 2 * problem.n_columns * np.finfo(float).eps * float(largest)
    spare = error if error > MARGIN_TOLERANCE else 0.0
    fixed = np.zeros(problem.n_patterns, dtype=np.int8)
    fixed[problem.least() - spare >= 1] = 1
    fixed[problem.most() + spare <= -1] = -1
    return fixed


def merge_trees(problem: Problem) -> tuple[Problem, NDArray[np.int64]]:
    """Proposition 4: columns that agree on all patterns become one, whose box is the sum of theirs.

    Returns the smaller problem and, for each column, the one it went into.

    Examples
    --------
    >>> from c2rf.core.problem import make_problem
    >>> small, group = merge_trees(make_problem([[1, -1, 1], [-1, 1, -1]], 1))
    >>> group, small.upper
    (array([0, 1, 0]), array([200., 100.]))
    """
    columns = np.packbits(problem.patterns.T > 0, axis=1)
    seen: dict[bytes, int] = {}
    group = np.array([seen.setdefault(column.tobytes(), len(seen)) for column in columns])
    first = np.unique(group, return_index=True)[1]
    return (
        Problem(
            np.ascontiguousarray(problem.patterns[:, first]),
            problem.counts,
            problem.n_positive,
            np.bincount(group, weights=problem.lower).astype(float),
            np.bincount(group, weights=problem.upper).astype(float),
        ),
        group.astype(np.int64),
    )


def reduce(problem: Problem) -> Reduction:
    """Fix what is decided, then merge the trees that are equal on the rest (Algorithm 1).

    Examples
    --------
    >>> from c2rf.core.problem import make_problem
    >>> reduction = reduce(make_problem([[1, 1, 1], [1, -1, -1], [-1, -1, -1]], 0))
    >>> reduction.problem.patterns, reduction.eta_shift
    (array([[ 1, -1]], dtype=int8), 1)
    """
    fixed = fix_points(problem)
    open_ = np.flatnonzero(fixed == 0)
    beta = int(problem.counts[fixed > 0].sum())
    rest = Problem(
        problem.patterns[open_],
        problem.counts[open_],
        max(0, problem.n_positive - beta),
        problem.lower,
        problem.upper,
    )
    small, group = merge_trees(rest)
    return Reduction(problem, small, open_, group, max(0, beta - problem.n_positive))


def spread(problem: Problem) -> Reduction:
    """Undo Proposition 3: a row per point, as P1 is printed. For comparison only.

    Examples
    --------
    >>> from c2rf.core.problem import make_problem
    >>> spread(make_problem([[1, -1], [1, -1]], 1)).problem.counts
    array([1, 1])
    """
    kept = np.repeat(np.arange(problem.n_patterns), problem.counts)
    points = Problem(
        problem.patterns[kept],
        np.ones(problem.n_points, dtype=np.int64),
        problem.n_positive,
        problem.lower,
        problem.upper,
    )
    return Reduction(problem, points, kept, np.arange(problem.n_columns), 0)
