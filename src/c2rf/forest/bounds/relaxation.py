"""The linear relaxation over z, and what its duals prove in whole numbers.

Sums of rows in whole numbers: what a certificate's rule "add" says about a case.

Solvers guess multipliers; here they are rounded to whole numbers, rows without a proof are left
out, and the sum is computed without rounding. A bad guess only gives a weaker sum.

The linear program over z with all rows known so far: it guesses bounds and their multipliers.

All that is known about the signs of a problem: rows, the relaxation over them, exact sums.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from math import gcd

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from c2rf._utils.types import Bools, Floats, Ints
from c2rf.forest.bounds.conflict_graph import Structure
from c2rf.forest.bounds.cuts import AtMost, Ground, RowStore, Separator, cut_matrix, pair_cuts
from c2rf.forest.bounds.feasibility import Contradiction, LinearProgram
from c2rf.forest.problem import Problem

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


# Counts are scaled so that none is greater than this: large ones would blur the solver's numbers.
_LARGEST_COUNT = 2.0**17
_SMALLEST_DUAL = 1e-9
# Rows that were not tight in this number of solves are idle, and taken out if they are many.
_TIGHT = 1e-6
_IDLE_SOLVES = 6
_MANY_IDLE = 500


@dataclass(frozen=True, eq=False)
class Relaxed:
    """What the relaxation says of a case: the z it wishes for, its eta, and multipliers.

    Without z the program has no solution, and the multipliers should show it.
    """

    z: Floats | None
    eta: float
    guess: Guess


class Relaxation:
    """Min eta over [z | eta] with rows on z, for one case after the other.

    Parameters
    ----------
    problem : Problem
        Patterns and counts.
    sure : int
        Points that are positive whatever the weights, beside those of the patterns.

    Examples
    --------
    >>> from c2rf.forest.problem import make_problem
    >>> problem = make_problem([[1, -1, -1]] * 3 + [[-1, 1, 1]] * 2, 1)
    >>> relaxation = Relaxation(problem)
    >>> relaxation.add({0: AtMost((0, 1), 1), 1: AtMost((2, 3), 1)})  # opposite patterns
    2
    >>> case = Case(np.zeros(2, np.int8), np.ones(2, np.int8), (1, 1))
    >>> relaxation.solve(case, (1, 1)).z.round(6) + 0.0  # the pattern of two rows is positive
    array([0., 1.])
    """

    def __init__(self, problem: Problem, sure: int = 0) -> None:
        n = problem.n_patterns
        self._n, self._sure = n, sure
        heaviest = float(problem.counts.max(initial=1))
        self._scale = max(1.0, 2.0 ** np.ceil(np.log2(heaviest / _LARGEST_COUNT)))
        self._program = LinearProgram(
            np.append(np.zeros(n), 1.0), np.zeros(n + 1), np.append(np.ones(n), np.inf)
        )
        counts = problem.counts / self._scale
        rows = np.vstack([np.append(counts, 1.0), np.append(counts, -1.0)])
        infinite = np.array([np.inf, np.inf])
        self._program.add_rows(sparse.csr_array(rows), -infinite, infinite)
        self._lower, self._upper = np.zeros(n, np.int8), np.ones(n, np.int8)
        # For each row of the program its number in the store, its side, and for how many solves
        # it was idle
        self._rows, self._idle = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._sides = np.zeros(0)

    @property
    def work(self) -> int:
        """How much work all solves were, about nanoseconds."""
        return self._program.work

    def add(self, cuts: Mapping[int, AtMost]) -> int:
        """Append the rows that state the cuts, under their numbers; return how many are new."""
        present = set(self._rows.tolist())
        new = {row: cut for row, cut in cuts.items() if row not in present}
        if new:
            matrix, upper = cut_matrix(list(new.values()), self._n)
            matrix.resize((len(new), self._n + 1))
            self._program.add_rows(matrix, np.full(len(new), -np.inf), upper)
            self._rows = np.append(self._rows, np.array(list(new), dtype=np.int64))
            self._idle = np.append(self._idle, np.zeros(len(new), dtype=np.int64))
            self._sides = np.append(self._sides, upper)
        return len(new)

    def drop(self, rows: Collection[int]) -> None:
        """Take rows out."""
        self._drop(np.isin(self._rows, list(rows)))

    def drop_idle(self) -> None:
        """Take rows out that have said nothing for long, where they are many."""
        idle = self._idle >= _IDLE_SOLVES
        if idle.sum() > max(_MANY_IDLE, len(idle) // 3):
            self._drop(idle)

    def _drop(self, which: Bools) -> None:
        if which.any():
            self._program.drop_rows(np.flatnonzero(which) + 2)
            self._rows, self._idle = self._rows[~which], self._idle[~which]
            self._sides = self._sides[~which]

    def solve(
        self,
        case: Case,
        wished: tuple[int, int],
        time_limit: float | None = None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> Relaxed | None:
        """Solve the program in a case; None if that failed or took too long.

        Parameters
        ----------
        case : Case
            Bounds of z.
        wished : (int, int)
            Eta is how far the count T is above the second number or below the first.
        time_limit : float or None
            Seconds.
        should_stop : callable
            Asked now and then.
        """
        self._go_to(case)
        low, high = ((end - self._sure) / self._scale for end in wished)
        # sum w_i z_i + eta >= low   and   sum w_i z_i - eta <= high
        self._program.set_row(0, low, np.inf)
        self._program.set_row(1, -np.inf, high)
        optimum = self._program.solve(time_limit, should_stop)
        if optimum is None:
            return None
        guess = self._guess(optimum.duals)
        if optimum.x is None or optimum.rows is None:
            return Relaxed(None, np.inf, guess)
        tight = optimum.rows[2:] > self._sides - _TIGHT
        self._idle = np.where(tight, 0, self._idle + 1)
        return Relaxed(np.clip(optimum.x[:-1], 0, 1), float(optimum.x[-1]) * self._scale, guess)

    def _go_to(self, case: Case) -> None:
        """Change the bounds of z to those of a case."""
        moved = np.flatnonzero((case.lower != self._lower) | (case.upper != self._upper))
        if len(moved):
            self._lower, self._upper = case.lower.copy(), case.upper.copy()
            self._program.set_bounds(
                moved, case.lower[moved].astype(float), case.upper[moved].astype(float)
            )

    def _guess(self, duals: Floats) -> Guess:
        """Return the multipliers of the total and of the rows, in points."""
        values = np.maximum(0.0, -duals[2:])
        used = values > _SMALLEST_DUAL
        # eta >= low - T with the first dual, eta >= T - high with the second
        total = float(-duals[1] - duals[0])
        return Guess(total, self._rows[used], values[used] * self._scale)


_CUTS_PER_ROUND = 400  # or a quarter of the patterns, if that is more
# More pairs than the first number are not used at all, more than the second only at first:
# they make linear programs slow, and cliques say more with fewer rows.
_MOST_PAIRS = 70_000
_FEW_PAIRS = 20_000


class SignSystem:
    """Rows on z that grow while a proof is sought.

    Parameters
    ----------
    problem : Problem
        The patterns at work.
    ground : Ground
        The user's problem, in which rows are proven.
    structure : Structure
        Pairs of patterns, the first rows.
    seed : int
        Makes the cuts repeatable.
    """

    def __init__(self, problem: Problem, ground: Ground, structure: Structure, seed: int) -> None:
        self.problem, self.ground = problem, ground
        self.wished = ground.statement.total
        self.store = RowStore(ground)
        sure = self._sure()
        self.relaxation = Relaxation(problem, sure)
        self.sums = ExactSums(problem, self.store, sure)
        self._separator = Separator(problem, seed)
        self._unproven: set[int] = set()
        pairs = pair_cuts(structure, problem.n_patterns)
        self._add(pairs if len(pairs) <= _MOST_PAIRS else [])

    @property
    def work(self) -> int:
        """How much work the linear programs and the cuts were, about nanoseconds."""
        return self.relaxation.work + self._separator.work

    def _sure(self) -> int:
        """Return the number of points that are positive beside those of the patterns at work."""
        stated, decided = self.ground.statement, self.ground.decided
        others = set(range(len(stated.patterns))) - set(self.ground.places.tolist())
        assert all(decided[i] is not None for i in others)
        return sum(stated.counts[i] for i in others if decided[i] == 1)

    def root(self, bound: int | None) -> Case:
        """Return the case of all weights that miss the total by less than a bound."""
        signs = [self.ground.decided[i] for i in self.ground.places.tolist()]
        lower = np.array([z == 1 for z in signs], dtype=np.int8)
        upper = np.array([z != 0 for z in signs], dtype=np.int8)
        return Case(lower, upper, self.ground.box.interval(bound))

    def forget_pairs(self) -> bool:
        """Begin again without pairs if they are many; say whether that is so."""
        many = len(self.store) > _FEW_PAIRS
        if many:
            self.relaxation.drop(range(len(self.store)))
        return many

    def cut(self, z: Floats, should_stop: Callable[[], bool] = lambda: False) -> int:
        """Add rows that z violates; return how many."""
        self.relaxation.drop_idle()
        most = max(_CUTS_PER_ROUND, self.problem.n_patterns // 4)
        return self._add(self._separator.cuts(z, should_stop)[:most])

    def forbid(self, contradiction: Contradiction) -> bool:
        """Add the row that states a contradiction; say whether it is new."""
        clause = contradiction.clause
        names = clause.patterns + self.problem.n_patterns * (clause.signs < 0)
        order = np.argsort(names)
        cut = AtMost(
            tuple(names[order].tolist()),
            len(names) - 1,
            tuple(contradiction.multipliers[order].tolist()),
        )
        return self._add([cut]) > 0

    def drop_unproven(self, rows: list[int]) -> bool:
        """Take rows without a proof out of the relaxation; say whether there were any."""
        bad = {row for row in rows if self.store.proof(row) is None}
        self.relaxation.drop(bad)
        self._unproven |= bad
        return bool(bad)

    def _add(self, cuts: list[AtMost]) -> int:
        """Add cuts that are not there yet; return how many there are."""
        rows = self.store.add(cuts)
        return self.relaxation.add({k: rows[k] for k in rows if k not in self._unproven})
