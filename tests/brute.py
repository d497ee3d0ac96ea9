"""Small problems by plain enumeration: every sign vector that some weights realise.

Nothing of the package is used but the problem's arrays, so that nothing is checked against itself.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

Floats = NDArray[np.float64]


class Data(Protocol):
    """What a problem must have to be enumerated."""

    patterns: NDArray[np.int8]
    counts: NDArray[np.int64]
    n_positive: int
    lower: Floats
    upper: Floats


def widest(rows: NDArray[np.int8], lower: Floats, upper: Floats) -> tuple[float, Floats]:
    """Return the greatest s with rows @ alpha >= s for some alpha in the box, and that alpha."""
    q = rows.shape[1]
    answer = linprog(
        np.append(np.zeros(q), -1.0),
        A_ub=np.hstack([-rows.astype(float), np.ones((len(rows), 1))]),
        b_ub=np.zeros(len(rows)),
        bounds=[*zip(lower, upper, strict=True), (None, 1e6)],
    )
    assert answer.status == 0, answer.message
    return float(answer.x[q]), answer.x[:q]


def realisable(problem: Data, which: list[int], signs: list[int]) -> bool:
    """Whether some weights give these patterns these signs, with margins of one."""
    rows = np.array(signs)[:, None] * problem.patterns[which]
    return widest(rows, problem.lower, problem.upper)[0] >= 1 - 1e-9


def sign_vectors(problem: Data) -> list[tuple[int, ...]]:
    """Return all sign vectors that some weights realise, depth first, an LP per doubtful node."""
    found: list[tuple[int, ...]] = []
    patterns = problem.patterns.astype(float)

    def extend(signs: tuple[int, ...], alpha: Floats) -> None:
        depth = len(signs)
        if depth == len(patterns):
            found.append(signs)
            return
        for sign in (1, -1):
            if sign * (patterns[depth] @ alpha) >= 1:
                extend((*signs, sign), alpha)
                continue
            rows = np.array([*signs, sign])[:, None] * problem.patterns[: depth + 1]
            margin, better = widest(rows, problem.lower, problem.upper)
            if margin >= 1 - 1e-9:
                extend((*signs, sign), better)

    extend((), problem.lower)
    return found


def optimum(problem: Data) -> int | None:
    """Return the smallest eta, None if no weights have all margins."""
    totals = {
        int(problem.counts[np.array(signs, dtype=int) > 0].sum()) for signs in sign_vectors(problem)
    }
    return min((abs(total - problem.n_positive) for total in totals), default=None)
