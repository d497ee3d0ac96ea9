"""Small problems by plain enumeration: every sign vector that some weights realise.

Nothing of the package is used but the problem's arrays, so that nothing is checked against itself.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

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


def optimum_by_milp(problem: Data) -> int:
    """Return the smallest eta of a problem too large to enumerate, by SciPy's integer program."""
    h, q = problem.patterns.shape
    patterns = problem.patterns.astype(float)
    plus, minus = patterns > 0, patterns < 0
    most = plus @ problem.upper - minus @ problem.lower + 1
    least = plus @ problem.lower - minus @ problem.upper - 1
    nothing = np.zeros((h, 1))
    # score_i <= -1 + (most_i + 1) z_i   and   score_i >= 1 + (least_i - 1) (1 - z_i)
    below = LinearConstraint(np.hstack([patterns, -np.diag(most), nothing]), -np.inf, -1.0)
    above = LinearConstraint(np.hstack([patterns, np.diag(least), nothing]), least + 1, np.inf)
    counts = np.concatenate([np.zeros(q), problem.counts])
    totals = [np.append(counts, 1.0), np.append(counts, -1.0)]
    answer = milp(
        np.append(np.zeros(q + h), 1.0),
        integrality=np.repeat([0, 1, 0], [q, h, 1]),
        bounds=Bounds(
            np.concatenate([problem.lower, np.zeros(h + 1)]),
            np.concatenate([problem.upper, np.ones(h), [np.inf]]),
        ),
        constraints=[
            below,
            above,
            LinearConstraint(totals, [problem.n_positive, -np.inf], [np.inf, problem.n_positive]),
        ],
        options={"mip_rel_gap": 0},
    )
    assert answer.status == 0, answer.message
    return round(answer.fun)
