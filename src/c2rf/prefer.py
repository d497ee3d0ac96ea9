"""Among weights that label alike, those that change the majority vote the least."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from c2rf.problem import Floats, Problem, scores
from c2rf.run import Run, with_margins

# Asked of the LP a little wider than 1, so that its own tolerance does not undo it; where the
# box allows no more than 1, just that.
_MARGINS = (1 + 1e-8, 1.0)
_ROWS_AT_ONCE = 200


def nearest_to_majority(run: Run, problem: Problem, n_trees: int, weights: Floats) -> Floats:
    """Return weights with the same labels and the smallest L1 distance to a common level.

    It is the smallest distance for these labels; other labels with the same eta may allow a
    smaller one, and ``stats["prefer"]`` says so. Columns from ``n_trees`` on (a shift) are free.
    """
    signs = np.where(scores(problem.patterns, weights) > 0, 1, -1)
    with run.phase("prefer"):
        nearest = _closest_that_holds(problem, signs[:, None] * problem.patterns, n_trees)
    proven = "for these labels"
    if nearest is None:
        proven = "no"
        run.trouble("no weights closer to the majority vote were found")
    if nearest is None or _distance(weights[:n_trees]) < _distance(nearest[:n_trees]):
        nearest = weights  # the LP was asked for a hair more than a margin of one
    run.stats["prefer"] = {"distance": _distance(nearest[:n_trees]), "proven": proven}
    return nearest


def _distance(trees: Floats) -> float:
    """Return the L1 distance of weights to the common level that is nearest, their median."""
    return float(np.abs(trees - np.median(trees)).sum())


def _closest_that_holds(problem: Problem, wished: NDArray[np.int8], n_trees: int) -> Floats | None:
    """Return the closest weights whose margins hold, None if rounding leaves none."""
    for margin in _MARGINS:
        found = _closest(problem, wished, n_trees, margin)
        nearest = None if found is None else with_margins(problem, found, scale=False)
        if nearest is not None:
            return nearest
    return None


def _closest(
    problem: Problem, wished: NDArray[np.int8], n_trees: int, least: float
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
    while True:
        # s_i r_i'alpha >= 1
        margins = np.hstack([-wished[rows].astype(float), np.zeros((len(rows), 1 + n_trees))])
        result = linprog(
            cost,
            A_ub=np.vstack([distance, margins]),
            b_ub=np.concatenate([np.zeros(2 * n_trees), np.full(len(rows), -least)]),
            bounds=bounds,
            method="highs-ds",
            options={"primal_feasibility_tolerance": 1e-10},
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
