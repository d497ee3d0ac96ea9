"""Why a box is empty: the few patterns that show it."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from c2rf.exceptions import InfeasibleError
from c2rf.formulation import big_m_model
from c2rf.problem import Problem
from c2rf.run import Run

_MOST_PATTERNS = 64


def hopeless_patterns(problem: Problem) -> np.ndarray:
    """Return the patterns that no weights in the box give a margin of one, of either sign.

    Examples
    --------
    >>> from c2rf.problem import make_problem
    >>> hopeless_patterns(make_problem([[1, -1], [1, 1]], 1, 1.0, 1.0))
    array([0])
    """
    tolerance = 1e-9
    return np.flatnonzero((problem.most() < 1 - tolerance) & (problem.least() > -1 + tolerance))


def raise_infeasible(run: Run) -> NoReturn:
    """Raise the error that names a small set of patterns with no common alpha."""
    guilty = run.votes[_guilty(run)]
    shown = "; ".join("".join("+" if vote > 0 else "-" for vote in row) for row in guilty[:5])
    more = f" and {len(guilty) - 5} more" if len(guilty) > 5 else ""
    what = (
        f"no weights in the box give the pattern {shown} a margin of 1"
        if len(guilty) == 1
        else f"no weights in the box give these patterns margins of 1 together: {shown}{more}"
    )
    raise InfeasibleError(
        f"{what}. Widen the box [lower, upper]: if it holds two consecutive integers, there "
        "always are weights"
    )


def _guilty(run: Run) -> np.ndarray:
    """Find few patterns that are infeasible together: tightest first, then thinned out."""
    problem = run.problem
    alone = hopeless_patterns(problem)
    if len(alone):
        return alone[:1]
    reach = np.maximum(problem.most(), -problem.least())
    order = np.argsort(reach, kind="stable")
    size = 2
    while size < problem.n_patterns and not _infeasible(run, order[:size]):
        size *= 2
    guilty = order[:size]
    if len(guilty) > _MOST_PATTERNS:
        return guilty
    for pattern in guilty[::-1]:
        fewer = guilty[guilty != pattern]
        if len(fewer) and _infeasible(run, fewer):
            guilty = fewer
    return guilty


def _infeasible(run: Run, which: np.ndarray) -> bool:
    """Whether these patterns alone have no common alpha."""
    problem = run.problem
    part = Problem(
        problem.patterns[which],
        problem.counts[which],
        problem.n_positive,
        problem.lower,
        problem.upper,
    )
    return run.solve_raw(big_m_model(part)).status == "infeasible"
