"""Why there are no weights: the patterns that a proof of it names."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from c2rf.core.certificate import Statement
from c2rf.core.problem import Problem
from c2rf.exceptions import InfeasibleError

_MOST_SHOWN = 5


def hopeless_patterns(problem: Problem) -> NDArray[np.int64]:
    """Return the patterns to which the box seems to allow neither sign.

    Examples
    --------
    >>> from c2rf.core.problem import make_problem
    >>> hopeless_patterns(make_problem([[1, -1], [1, 1]], 1, 1.0, 1.0))
    array([0])
    """
    tolerance = 1e-9
    return np.flatnonzero((problem.most() < 1 - tolerance) & (problem.least() > -1 + tolerance))


def raise_infeasible(statement: Statement, certificate: dict[str, Any]) -> NoReturn:
    """Raise the error that names the patterns of a proof that there are no weights."""
    guilty = sorted({abs(literal) for row in certificate["rows"] for literal in row[0]})
    shown = "; ".join(_as_signs(statement, number) for number in guilty[:_MOST_SHOWN])
    more = f" and {len(guilty) - _MOST_SHOWN} more" if len(guilty) > _MOST_SHOWN else ""
    what = (
        f"no weights in the box give the pattern {shown} a margin of 1"
        if len(guilty) == 1
        else f"no weights in the box give these patterns margins of 1 together: {shown}{more}"
    )
    raise InfeasibleError(
        f"{what}. Widen the box [lower, upper]: if it holds two consecutive integers, there "
        "always are weights",
        certificate,
    )


def _as_signs(statement: Statement, number: int) -> str:
    bits = statement.patterns[number - 1]
    return "".join("+" if bits >> j & 1 else "-" for j in range(statement.n_trees))
