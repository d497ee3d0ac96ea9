"""Given labels, the weights with these labels that are closest to a common level: an LP."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from c2rf._typing import Floats
from c2rf.core.problem import Problem, scores
from c2rf.solver.run import with_margins

# Asked of the LP a little wider than 1, so that its own tolerance does not undo it; where the
# box allows no more than 1, just that.
_MARGINS = (1 + 1e-8, 1.0)
_ROWS_AT_ONCE = 200


def closest(
    problem: Problem,
    signs: NDArray[np.int8],
    n_trees: int,
    time_left: Callable[[], float | None] = lambda: None,
) -> Floats | None:
    """Return the weights with these labels and the smallest L1 distance to a common level.

    Parameters
    ----------
    problem : Problem
        Patterns and boxes; columns from ``n_trees`` on (a shift) are free.
    signs : ndarray of -1/+1
        The label of each pattern.
    n_trees : int
        Number of columns that the distance is about.
    time_left : callable
        Says how many seconds are left, None without a limit.

    Returns
    -------
    ndarray or None
        Weights whose margins hold; None if there are none, or rounding or time leaves none.

    Examples
    --------
    >>> from c2rf.core.problem import make_problem
    >>> problem = make_problem([[1, 1, -1], [1, -1, 1], [-1, 1, 1]], 1)
    >>> problem.patterns
    array([[ 1,  1, -1],
           [ 1, -1,  1],
           [-1,  1,  1]], dtype=int8)
    >>> closest(problem, np.array([1, 1, -1]), 3).round(6)
    array([3., 1., 1.])
    """
    wished = signs[:, None] * problem.patterns
    for margin in _MARGINS:
        found = _solve(problem, wished, n_trees, margin, time_left)
        nearest = None if found is None else with_margins(problem, found, scale=False)
        if nearest is not None:
            return nearest
    return None


def _solve(
    problem: Problem,
    wished: NDArray[np.int8],
    n_trees: int,
    least: float,
    time_left: Callable[[], float | None],
) -> Floats | None:
    """Solve the LP over [alpha | level | d], adding rows of patterns as they are violated."""
    q = problem.n_columns
    eye, one = np.eye(n_trees, q), np.ones((n_trees, 1))
    # min sum d   s.t.   alpha_j - level <= d_j,   level - alpha_j <= d_j
    distance = np.vstack(
        [np.hstack([eye, -one, -np.eye(n_trees)]), np.hstack([-eye, one, -np.eye(n_trees)])]
    )
    cost = np.concatenate([np.zeros(q + 1), np.ones(n_trees)])
    box = zip(problem.lower, problem.upper, strict=True)
    bounds = [*box, (None, None), *[(0.0, None)] * n_trees]
    rows = np.zeros(0, dtype=np.int64)
    while time_left() != 0:
        # s_i r_i'alpha >= 1
        margins = np.hstack([-wished[rows].astype(float), np.zeros((len(rows), 1 + n_trees))])
        result = linprog(
            cost,
            A_ub=np.vstack([distance, margins]),
            b_ub=np.concatenate([np.zeros(2 * n_trees), np.full(len(rows), -least)]),
            bounds=bounds,
            method="highs-ds",
            options={"primal_feasibility_tolerance": 1e-10, "time_limit": time_left()},
        )
        if result.status != 0:
            return None
        weights: Floats = np.clip(result.x[:q], problem.lower, problem.upper)
        margin = scores(wished, weights)
        missing = np.setdiff1d(np.flatnonzero(margin < 1), rows)
        if len(missing) == 0:
            return weights
        worst = missing[np.argsort(margin[missing], kind="stable")[:_ROWS_AT_ONCE]]
        rows = np.concatenate([rows, worst])
    return None
