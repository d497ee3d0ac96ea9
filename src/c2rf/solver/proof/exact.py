"""Sums of rows in whole numbers: what a certificate's rule "add" says about a case.

Solvers guess multipliers; here they are rounded to whole numbers, rows without a proof are left
out, and the sum is computed without rounding. A bad guess only gives a weaker sum.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import gcd

import numpy as np
from numpy.typing import NDArray

from c2rf._typing import Bools, Floats, Ints
from c2rf.core.problem import Problem
from c2rf.solver.proof.rows import RowStore

Whole = NDArray[np.int64] | NDArray[np.object_]

# Multipliers are rounded to multiples of these, the finer one if the coarser proves less.
_FINENESS = (20, 40)
_SAFE = 1 << 62
_MOST_SUMS = 4096
_MOST_LARGE = 24


@dataclass(frozen=True)
class Guess:
    """Multipliers from a linear program: of the total (signed) and of rows, as floats."""

    total: float
    rows: Ints
    values: Floats


@dataclass(frozen=True)
class Sum:
    """A rule "add" of a certificate: the multiplier of T, rows and their multipliers."""

    total: int
    rows: tuple[int, ...]
    values: tuple[int, ...]


Rule = Sum | tuple[str] | tuple[str, int]
"""A node of a certificate's tree, or :data:`END`."""

END: Rule = ("end",)
"""Comes after the last rule of a case that is closed."""


@dataclass(eq=False)
class Case:
    """What is supposed: bounds of z, and the ends of the count T of positive points.

    ``ends`` is None where there is no total to miss: a proof that there are no weights at all.
    """

    lower: NDArray[np.int8]
    upper: NDArray[np.int8]
    ends: tuple[int, int] | None
    rules: list[Rule] = field(default_factory=list)

    @property
    def open(self) -> Bools:
        """Which z are not decided."""
        return self.lower < self.upper

    def child(self, pattern: int, value: int) -> Case:
        """Return the case in which a pattern has this sign, too."""
        lower, upper = self.lower.copy(), self.upper.copy()
        lower[pattern] = upper[pattern] = value
        return Case(lower, upper, self.ends)


class ExactSums:
    """Adds rows up in whole numbers.

    Parameters
    ----------
    problem : Problem
        The patterns at work.
    store : RowStore
        Rows and their proofs.
    sure : int
        Points that are positive whatever the weights, beside those of the patterns at work.
    """

    def __init__(self, problem: Problem, store: RowStore, sure: int) -> None:
        self.store, self.sure = store, sure
        self.counts = [int(count) for count in problem.counts]
        self._n = problem.n_patterns
        self._heaviest = max(self.counts, default=0)
        self._all = sum(self.counts) + sure

    def apply(self, case: Case, guess: Guess) -> tuple[bool, int]:
        """Apply a guess to a case: say whether it is impossible, and how many z it decides."""
        open_ = int(case.open.sum())
        for fineness in _FINENESS:
            rule = self.rounded(guess, fineness, with_total=case.ends is not None)
            least, slope = self._value(case, rule)
            # One unit of eta is worth |m|: what is missing may be rounding.
            if not -abs(rule.total) < 64 * least <= 0:
                break
        self._decide(case, rule, least, slope)
        return least > 0, open_ - int(case.open.sum())

    def use(self, case: Case, rule: Rule) -> bool:
        """Apply a rule to a case, say whether that closes it; what changes nothing is not noted."""
        if isinstance(rule, Sum):
            least, slope = self._value(case, rule)
            self._decide(case, rule, least, slope)
            return least > 0
        return self.steps(case) if rule[0] == "steps" else self.sums(case)

    @staticmethod
    def _decide(case: Case, rule: Sum, least: int, slope: Whole) -> None:
        """Decide the z that would make the sum positive at their worse end."""
        free = case.open & (least <= 0)
        low = free & np.asarray(slope > -least, dtype=bool)
        high = free & np.asarray(-slope > -least, dtype=bool)
        if least > 0 or low.any() or high.any():
            case.rules.append(rule)
            case.upper[low], case.lower[high] = 0, 1

    def bound(self, case: Case, rule: Sum, wished: int) -> int:
        """Return the greatest bound that a rule alone proves in a case, at least 0."""
        if rule.total == 0:
            return 0
        slope, constant = self._slope(rule)
        least = constant + self._least(slope, case) + rule.total * (self.sure - wished)
        # |m| eta >= m (T - wished) >= least
        return max(0, -(-least // abs(rule.total)))

    def rounded(self, guess: Guess, fineness: int = _FINENESS[0], with_total: bool = True) -> Sum:
        """Return whole multipliers near the guess, of rows that are proven."""
        scale = 1 << fineness
        total = round(guess.total * scale) if with_total else 0
        rows, values = [], []
        for row, value in zip(guess.rows.tolist(), guess.values.tolist(), strict=True):
            whole = round(value * scale)
            if whole > 0 and self.store.proof(row) is not None:
                rows.append(row)
                values.append(whole)
        divisor = gcd(total, *values) or 1
        return Sum(total // divisor, tuple(rows), tuple(value // divisor for value in values))

    def _slope(self, rule: Sum) -> tuple[Whole, int]:
        """Return the slope of the sum in each z, and its constant without the total's."""
        cuts = [self.store.cuts[row] for row in rule.rows]
        sizes = [len(cut.literals) for cut in cuts]
        size = abs(rule.total) * self._all + sum(
            value * k for value, k in zip(rule.values, sizes, strict=True)
        )
        kind = np.int64 if size < _SAFE else object
        names = np.array([name for cut in cuts for name in cut.literals], dtype=np.int64)
        values = np.repeat(np.array(rule.values, dtype=kind), sizes)
        slope = np.array(self.counts, dtype=kind) * rule.total
        positive = names < self._n
        np.add.at(slope, names[positive], values[positive])
        np.subtract.at(slope, names[~positive] - self._n, values[~positive])
        # y (sum of z over positive + sum of (1 - z) over negative literals - most) <= 0
        most = sum(value * cut.most for value, cut in zip(rule.values, cuts, strict=True))
        return slope, int(values[~positive].sum()) - most

    @staticmethod
    def _least(slope: Whole, case: Case) -> int:
        """Return the least of slope'z over the case."""
        return int((np.where(slope > 0, case.lower, case.upper) * slope).sum())

    def _value(self, case: Case, rule: Sum) -> tuple[int, Whole]:
        """Return the least that the sum can be in a case: impossible if it is positive."""
        slope, constant = self._slope(rule)
        if rule.total != 0:
            assert case.ends is not None
            constant += rule.total * (self.sure - case.ends[rule.total > 0])
        return constant + self._least(slope, case), slope

    def violated(self, case: Case) -> Sum | None:
        """Return a proven row that a case in which all signs are decided violates."""
        true = np.concatenate([case.lower, 1 - case.lower])
        for row, cut in enumerate(self.store.cuts):
            if true[list(cut.literals)].sum() > cut.most and self.store.proof(row) is not None:
                return Sum(0, (row,), (1,))
        return None

    # Subset sums

    def attainable(self, case: Case, value: int, *, up: bool) -> int | None:
        """Return the next value that T can have, from ``value`` on up or down; None without one.

        T is what is sure plus a multiple of the common divisor of the open counts.
        """
        sure, open_ = self._sure(case)
        if not open_:
            return sure if (sure >= value if up else sure <= value) else None
        step = gcd(*open_)
        return value + (sure - value) % step if up else value - (value - sure) % step

    def allows(self, case: Case, positive: Bools) -> bool:
        """Whether the count of these positive patterns lies between the ends of a case."""
        count = self.sure + sum(self.counts[i] for i in np.flatnonzero(positive))
        return case.ends is None or case.ends[0] <= count <= case.ends[1]

    def distance(self, case: Case, wished: int) -> int:
        """Return how far a wished value is from the nearest one that T can have."""
        ends = (self.attainable(case, wished, up=up) for up in (True, False))
        return min(abs(end - wished) for end in ends if end is not None)

    def steps(self, case: Case) -> bool:
        """Move the ends of T to values it can have; True if there are none."""
        if case.ends is None:
            return False
        low = self.attainable(case, case.ends[0], up=True)
        high = self.attainable(case, case.ends[1], up=False)
        new = (1, 0) if low is None or high is None else (low, high)
        if new != case.ends:
            case.ends = new
            case.rules.append(("steps",))
        return new[0] > new[1]

    def sums(self, case: Case) -> bool:
        """Use the sums of a few large counts; True if none of them lets T be where it must."""
        if case.ends is None:
            return False
        (low, high), (sure, open_) = case.ends, self._sure(case)
        open_.sort(reverse=True)
        if not self._few_large(open_, high - low):
            return False
        rest, values = sum(open_), {sure}
        for k, count in enumerate(open_, start=1):
            rest -= count
            both = values | {value + count for value in values}
            values = {value for value in both if value <= high and value + rest >= low}
            if not values:
                case.rules.append(("sums", k))
                return True
            if len(values) > _MOST_SUMS:
                return False
        return False

    @staticmethod
    def _few_large(counts: list[int], room: int) -> bool:
        """Whether a few counts are so large that the others cannot fill the gaps between sums."""
        rest = sum(counts) + room
        for count in counts[:_MOST_LARGE]:
            rest -= count
            if rest < count:
                return True
        return False

    def _sure(self, case: Case) -> tuple[int, list[int]]:
        """Return the count that is sure to be positive, and the open counts."""
        sure = self.sure + sum(self.counts[i] for i in np.flatnonzero(case.lower))
        return sure, [self.counts[i] for i in np.flatnonzero(case.open)]
