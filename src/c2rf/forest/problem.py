"""The problem without any forest in it, its solution, and the check of one against the other.

The few numbers that decide what counts as equal, in one place.

The problem without any forest in it, its solution, and the check of one against the other.

A :class:`Problem` is a table of patterns with counts, a wished number of positives and a box for
each column. It is a little wider than the paper's: every column has a box of its own. That one
step carries everything that changes columns later:

- trees that vote alike become one column whose box is the sum of theirs (Proposition 4),
- a free shift of the score is a column that votes +1 on every pattern.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from c2rf._utils.scalars import check_number, is_number
from c2rf._utils.types import Floats
from c2rf.exceptions import InputError, InputTypeError
from c2rf.forest.votes import PatternTable

MARGIN_TOLERANCE: Final = 1e-9
"""A margin is met at 1 - MARGIN_TOLERANCE; a weight may leave its box by as much."""

BOUND_TOLERANCE: Final = 1e-6
"""A solver's float bound b proves the integer ceil(b - BOUND_TOLERANCE * max(1, |b|))."""

CERTIFICATE_SLACK: Final = 1e-6
"""A condition that excludes sign patterns must hold with this much to spare.

It is far above float rounding and above MARGIN_TOLERANCE, so an excluded sign pattern is
excluded for weights and margins within tolerance, too.
"""


_LARGEST_BOUND = 1e100
_MOST_POINTS = 2**62
Status = Literal["optimal", "feasible"]


@dataclass(frozen=True, eq=False)
class Problem:
    """Patterns, counts, the wished number of positives and a box for the column weights.

    Parameters
    ----------
    patterns : ndarray of int8, shape (n_patterns, n_columns)
        The patterns of -1/+1.
    counts : ndarray of int64, shape (n_patterns,)
        Number of rows with each pattern.
    n_positive : int
        The number of positive rows wished for. After a reduction it may be negative, or
        larger than the number of rows: the distance still counts.
    lower, upper : ndarray of float, shape (n_columns,)
        Bounds of the weight of each column.

    Examples
    --------
    >>> problem = make_problem([[1, 1], [1, -1], [1, -1]], 1)
    >>> problem.counts, problem.least()
    (array([2, 1]), array([-99.,   2.]))
    """

    patterns: NDArray[np.int8]
    counts: NDArray[np.int64]
    n_positive: int
    lower: Floats
    upper: Floats

    @property
    def n_patterns(self) -> int:
        """Number of patterns, h."""
        return self.patterns.shape[0]

    @property
    def n_columns(self) -> int:
        """Number of columns: trees, or groups of equal trees, and the shift if there is one."""
        return self.patterns.shape[1]

    @property
    def n_points(self) -> int:
        """Number of rows, m."""
        return int(self.counts.sum())

    def least(self) -> Floats:
        """Return the smallest score the box allows for each pattern."""
        # min alpha'r_i = sum of l over the +1 votes - sum of u over the -1 votes
        return scores(self.patterns > 0, self.lower) - scores(self.patterns < 0, self.upper)

    def most(self) -> Floats:
        """Return the greatest score the box allows for each pattern."""
        return scores(self.patterns > 0, self.upper) - scores(self.patterns < 0, self.lower)

    def count(self, weights: Floats) -> int:
        """Return the number of rows with a positive score."""
        return int(self.counts[scores(self.patterns, weights) > 0].sum())

    def eta(self, weights: Floats) -> int:
        """Return how far the number of positive rows is from the wished one."""
        return abs(self.count(weights) - self.n_positive)


def scores(
    patterns: NDArray[np.int8] | NDArray[np.bool_], weights: Floats, chunk: int = 1 << 16
) -> Floats:
    """Return ``patterns @ weights`` without a float copy of all patterns.

    Examples
    --------
    >>> scores(np.array([[1, -1]], dtype=np.int8), np.array([3.0, 1.0]))
    array([2.])
    """
    out = np.empty(len(patterns))
    for start in range(0, len(patterns), chunk):
        rows = slice(start, start + chunk)
        np.matmul(patterns[rows].astype(np.float64), weights, out=out[rows])
    return out


def make_problem(
    votes: ArrayLike | PatternTable,
    n_positive: int | float,
    lower: float = 1.0,
    upper: float = 100.0,
    offset: tuple[float, float] | None = None,
) -> Problem:
    """Check the user's values and build the problem; the shift, if any, is the last column."""
    table = votes if isinstance(votes, PatternTable) else PatternTable.from_votes(votes)
    check_box(lower, upper)
    check_size(table)
    patterns = table.patterns
    low, high = np.full(table.n_trees, float(lower)), np.full(table.n_trees, float(upper))
    if offset is not None:
        lo, hi = check_offset(offset)
        patterns = np.hstack([patterns, np.ones((len(patterns), 1), dtype=np.int8)])
        low, high = np.append(low, lo), np.append(high, hi)
    return Problem(patterns, table.counts, check_total(n_positive, table.n_points), low, high)


def check_size(table: PatternTable) -> None:
    """Refuse more rows than can be counted."""
    points = float(table.counts.sum(dtype=np.float64))
    if points > _MOST_POINTS:
        raise InputError(f"votes of at most 2**62 rows can be counted; found {points:.3g}")


def check_total(n_positive: Any, n_points: int, name: str = "n_positive") -> int:
    """Return a count from a count (any integer) or a rate (a float in [0, 1]).

    Examples
    --------
    >>> check_total(3, 10), check_total(0.25, 8)
    (3, 2)
    >>> check_total(11, 10)
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputError: n_positive must be a count from 0 to 10, the number of rows, \
or a rate, a float in [0, 1]; found the count 11
    """
    allowed = (
        f"{name} must be a count from 0 to {n_points}, the number of rows, "
        "or a rate, a float in [0, 1]"
    )
    if not is_number(n_positive):
        raise InputTypeError(f"{allowed}; found {n_positive!r} of type {type(n_positive).__name__}")
    if isinstance(n_positive, (int, np.integer)):
        if not 0 <= n_positive <= n_points:
            raise InputError(f"{allowed}; found the count {n_positive}")
        return int(n_positive)
    if not 0.0 <= float(n_positive) <= 1.0:
        raise InputError(f"{allowed}; found the float {n_positive} (write counts as integers)")
    return round(float(n_positive) * n_points)


def check_box(lower: float, upper: float) -> None:
    """Refuse a box that is not 0 < lower <= upper, or too far up for float scores."""
    for name, value in (("lower", lower), ("upper", upper)):
        check_number(name, value)
    large = upper if isinstance(upper, int) else float(upper)  # an int may be beyond floats
    if not 0 < lower <= upper or not large < _LARGEST_BOUND:
        raise InputError(
            f"the box must satisfy 0 < lower <= upper < {_LARGEST_BOUND:g}; "
            f"found [{lower}, {upper}]"
        )


def check_offset(offset: Any) -> tuple[float, float]:
    """Refuse a range of the shift that is not two finite numbers in order."""
    try:
        lo, hi = (float(end) for end in offset)
    except (TypeError, ValueError) as error:
        raise InputTypeError(
            f"offset must be None or a pair (lo, hi) of numbers; found {offset!r}"
        ) from error
    if not (-np.inf < lo <= hi < np.inf):
        raise InputError(f"offset=(lo, hi) must be finite with lo <= hi; found ({lo}, {hi})")
    return lo, hi


@dataclass(frozen=True, eq=False)
class Solution:
    """Tree weights, what they give, and how close any weights could get.

    Parameters
    ----------
    weights : ndarray of float, shape (n_trees,)
        Weight of each tree.
    offset : float
        Shift of the score, 0.0 without one.
    labels : ndarray of int8
        Sign of the score of each row (of each pattern if a table was solved).
    eta : int
        Distance of the number of positive rows from the wished number.
    bound : int
        Proven: no weights in the box come closer than this.
    status : {"optimal", "feasible"}
        "optimal" exactly when ``bound == eta``.
    runtime : float
        Seconds.
    stats : dict
        What was done: sizes, phases and their seconds, solver, nodes, the size of the proof.
    certificate : dict or None
        The proof of the bound, if it was asked for; :func:`c2rf.verify` checks it.

    Examples
    --------
    >>> import c2rf
    >>> solution = c2rf.solve([[1, 1, -1], [-1, 1, -1], [-1, 1, 1]], 1)
    >>> solution.eta, solution.bound, solution.status
    (0, 0, 'optimal')
    """

    weights: Floats
    offset: float
    labels: NDArray[np.int8]
    eta: int
    bound: int
    status: Status
    runtime: float
    stats: dict[str, Any] = field(default_factory=dict)
    certificate: dict[str, Any] | None = None

    def __repr__(self) -> str:
        return (
            f"Solution(eta={self.eta}, bound={self.bound}, status={self.status!r}, "
            f"n_trees={len(self.weights)}, runtime={self.runtime:.3f})"
        )
