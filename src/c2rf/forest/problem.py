"""The problem: patterns of votes, counts, a target and a box; its whole-number form; its solution.

A :class:`Problem` is a little wider than the paper's: every column has a box of its own. That is
enough for everything that changes columns later:

- trees that vote alike become one column whose box is the sum of theirs (Proposition 4),
- a free shift of the score is a column that votes +1 on every pattern.

:func:`make_statement` writes the same problem in whole numbers and fractions, which is what a
certificate is about. The tolerances that decide what counts as equal are here, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from c2rf._utils.types import Floats, check_number, is_number, rows_at_rate
from c2rf.exceptions import InputError, InputTypeError
from c2rf.forest.certificate import TOLERANCE, Statement
from c2rf.forest.votes import PatternTable, check_table

MARGIN_TOLERANCE: Final = float(TOLERANCE)
"""A margin is met at 1 - MARGIN_TOLERANCE; a weight may leave its box by as much."""

BOUND_TOLERANCE: Final = 1e-6
"""A solver's float bound b proves the integer ceil(b - BOUND_TOLERANCE * max(1, |b|))."""

CERTIFICATE_SLACK: Final = 1e-6
"""A condition that excludes sign patterns must hold with this much to spare.

It is far above float rounding and above MARGIN_TOLERANCE, so an excluded sign pattern is
excluded for weights and margins within tolerance, too.
"""


_LARGEST_BOUND = 1e100
Status = Literal["optimal", "feasible"]


@dataclass(frozen=True, eq=False)
class Problem:
    """Patterns, counts, the target number of positives and a box for the column weights.

    Parameters
    ----------
    patterns : ndarray of int8, shape (n_patterns, n_columns)
        The patterns of -1/+1.
    counts : ndarray of int64, shape (n_patterns,)
        Number of rows with each pattern.
    n_positive : int
        The target: how many rows should be positive. After a reduction it may be negative, or
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
        """Return how far the number of positive rows is from the target."""
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
    check_table(table)
    if table.n_patterns == 0:
        raise InputError("votes must have at least one row; the table has none")
    patterns = table.patterns
    low, high = np.full(table.n_trees, float(lower)), np.full(table.n_trees, float(upper))
    if offset is not None:
        lo, hi = check_offset(offset)
        patterns = np.hstack([patterns, np.ones((len(patterns), 1), dtype=np.int8)])
        low, high = np.append(low, lo), np.append(high, hi)
    return Problem(patterns, table.counts, check_total(n_positive, table.n_points), low, high)


def make_statement(
    table: PatternTable,
    total: int,
    lower: float,
    upper: float,
    offset: tuple[float, float] | None = None,
) -> Statement:
    """Write a problem in whole numbers; floats are the exact fractions they stand for.

    Examples
    --------
    >>> table = PatternTable.from_votes([[1, -1], [1, 1], [1, -1]])
    >>> make_statement(table, 1, 0.5, 100).lower
    Fraction(1, 2)
    """
    shift = None if offset is None else (Fraction(float(offset[0])), Fraction(float(offset[1])))
    return Statement(
        int(table.n_trees),
        _whole_numbers(table),
        table.counts.tolist(),
        total,
        Fraction(float(lower)),
        Fraction(float(upper)),
        shift,
    )


def _whole_numbers(table: PatternTable) -> list[int]:
    """Return each pattern as a number whose bit j is 1 where tree j votes +1."""
    patterns = [0] * table.n_patterns
    for place in reversed(range(table.words.shape[1])):
        patterns = [
            high << 64 | low
            for high, low in zip(patterns, table.words[:, place].tolist(), strict=True)
        ]
    return patterns


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
    return rows_at_rate(float(n_positive), n_points)


def check_box(lower: float, upper: float) -> None:
    """Refuse a box that is not 0 < lower <= upper, or too far up for float scores."""
    for name, value in (("lower", lower), ("upper", upper)):
        check_number(name, value)
    if not 0 < lower <= upper or not _compared(upper) < _LARGEST_BOUND:
        raise InputError(
            f"the box must satisfy 0 < lower <= upper < {_LARGEST_BOUND:g}; "
            f"found [{lower}, {upper}]"
        )


def _compared(value: Any) -> int | float:
    """Return a number as it can be compared with floats: an integer may be beyond them."""
    return value if isinstance(value, int) else float(value)


def check_time_limit(time_limit: Any) -> None:
    """Refuse a time limit that is neither None nor seconds."""
    if time_limit is not None:
        check_number("time_limit", time_limit)
        if not (0 <= _compared(time_limit) <= _LARGEST_BOUND or time_limit == np.inf):
            raise InputError(f"time_limit must be None or seconds >= 0; found {time_limit}")


def box_with_weights(with_offset: bool) -> str:
    """Name a box that has weights for all votes: one with a point of the odd lattice.

    Examples
    --------
    >>> box_with_weights(False)
    'a box that holds two consecutive integers'
    """
    also = " and an offset whose range holds an integer" if with_offset else ""
    return f"a box that holds two consecutive integers{also}"


def check_offset(offset: Any) -> tuple[float, float]:
    """Refuse a range of the shift that is not two finite numbers in order."""
    pair = list(offset) if isinstance(offset, (tuple, list, np.ndarray)) else []
    if len(pair) != 2 or not all(is_number(end) for end in pair):
        raise InputTypeError(f"offset must be None or a pair (lo, hi) of numbers; found {offset!r}")
    lo, hi = map(_compared, pair)
    if not -_LARGEST_BOUND < lo <= hi < _LARGEST_BOUND:
        raise InputError(
            f"offset=(lo, hi) must be from {-_LARGEST_BOUND:g} to {_LARGEST_BOUND:g}, and finite "
            f"with lo <= hi; found ({lo}, {hi})"
        )
    return float(lo), float(hi)


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
        Distance of the number of positive rows from the target.
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
