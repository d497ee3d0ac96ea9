"""Small matrix models for the solvers: some to be checked by brute force, one that takes long."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from scipy import sparse

from c2rf.forest.backends import MatrixModel, RawResult

INF = np.inf


def make_model(costs, matrix, rows, columns, integer, **more) -> MatrixModel:
    """Build a model from lists; ``rows`` and ``columns`` are pairs (lower, upper)."""
    rows = np.array(rows, float).reshape(-1, 2)
    columns = np.array(columns, float)
    return MatrixModel(
        objective=np.array(costs, float),
        matrix=sparse.csr_array(np.array(matrix, float).reshape(len(rows), len(costs))),
        row_lower=rows[:, 0],
        row_upper=rows[:, 1],
        col_lower=columns[:, 0],
        col_upper=columns[:, 1],
        integrality=np.array(integer, bool),
        **more,
    )


def covering(seed: int, n: int = 8) -> MatrixModel:
    """Return a small covering problem in binaries, with a row of each kind."""
    rng = np.random.default_rng(seed)
    matrix = rng.integers(0, 5, (4, n))
    half = matrix.sum(axis=1) // 2
    return make_model(
        rng.integers(1, 20, n),
        matrix,
        [(half[0], INF), (half[1], half[1] + 3), (-INF, half[2] + 2), (half[3], INF)],
        [(0, 1)] * n,
        [True] * n,
    )


def brute_force(model: MatrixModel) -> float:
    """Return the smallest objective over all binaries."""
    points = np.array(list(itertools.product([0.0, 1.0], repeat=len(model.objective))))
    activity = points @ model.matrix.toarray().T
    fits = ((activity >= model.row_lower) & (activity <= model.row_upper)).all(axis=1)
    return float(min(points[fits] @ model.objective))


def with_time(solve: Callable[[float], RawResult]) -> RawResult:
    """Return the first result with a solution; a slow machine needs more seconds to find one."""
    found = (solve(seconds) for seconds in (0.5, 5.0, 50.0))
    return next(result for result in found if result.x is not None)


def market_split(rows: int = 5, columns: int = 40) -> MatrixModel:
    """Return a problem that no solver ends soon, with a hidden solution of objective 0.

    Feasible points are everywhere (the slacks pay for what is missing) and the bound is 0 from
    the start, but to find the one point with objective 0 is what branch and bound is bad at.
    """
    rng = np.random.default_rng(0)
    matrix = rng.integers(0, 100, (rows, columns))
    hidden = rng.integers(0, 2, columns)
    wished = matrix @ hidden
    return make_model(
        np.repeat([0, 1], [columns, 2 * rows]),
        np.hstack([matrix, np.eye(rows), -np.eye(rows)]),
        np.column_stack([wished, wished]),
        [(0, 1)] * columns + [(0, INF)] * (2 * rows),
        np.repeat([True, False], [columns, 2 * rows]),
    )
