"""The linear relaxation over z, and what its duals prove in whole numbers.

A :class:`Node` of branch and bound supposes bounds of z, and an interval for T, the number of
positive rows. The :class:`Relaxation` is the linear program with all cuts known so far; it suggests
a z and multipliers of the cuts. :class:`Propagation` rounds the multipliers to whole numbers, adds
the cuts up without rounding, and so closes a node or fixes some of its z. Poor multipliers only
prove less. Divisors and subset sums of the counts propagate, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import gcd

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from c2rf._utils.types import Bools, Floats, Ints
from c2rf.forest.bounds.conflict_graph import Cut, cut_rows
from c2rf.forest.bounds.cuts import VIOLATION, CutPool, Separator
from c2rf.forest.bounds.feasibility import LinearProgram
from c2rf.forest.problem import Problem

Whole = NDArray[np.int64] | NDArray[np.object_]


@dataclass(frozen=True)
class Aggregation:
    """A rule "add" of a certificate: the multiplier of T, cuts and their multipliers."""

    of_count: int
    rows: tuple[int, ...]
    multipliers: tuple[int, ...]


Rule = Aggregation | tuple[str] | tuple[str, int]
"""A rule of a certificate's tree, or :data:`END`."""

END: Rule = ("end",)
"""Comes after the last rule of a node that is closed."""


@dataclass(eq=False)
class Node:
    """What is supposed: bounds of z, and the interval of the count T of positive rows.

    ``interval`` is None where no total is to be met: a proof that there are no weights at all.
    ``rules`` are those that have changed the node. ``bound`` is proven of the eta of all weights in
    it, by its rules, then "steps", then ``duals``. A node with children is split on a ``pattern``.
    """

    lower: NDArray[np.int8]
    upper: NDArray[np.int8]
    interval: tuple[int, int] | None
    rules: list[Rule] = field(default_factory=list)
    bound: int = 0
    duals: Aggregation | None = None
    pattern: int = -1
    children: tuple[Node, ...] = ()

    @property
    def free(self) -> Bools:
        """Which z are not fixed."""
        return self.lower < self.upper

    def child(self, pattern: int, value: int) -> Node:
        """Return the node in which a pattern has this sign, too."""
        lower, upper = self.lower.copy(), self.upper.copy()
        lower[pattern] = upper[pattern] = value
        return Node(lower, upper, self.interval, bound=self.bound, duals=self.duals)

    def split(self, pattern: int) -> None:
        """Give the node two children, in which a pattern is negative, and positive."""
        self.pattern, self.children = pattern, (self.child(pattern, 0), self.child(pattern, 1))


# Floats: the linear program

# Counts are scaled so that none is greater than this: large ones cost the solver precision. Tried
# on 14 planted problems of counts up to 10^9: 929 nodes, and 1160 without.
_LARGEST_COUNT = 2.0**17
_SMALLEST_DUAL = 1e-9
# More pairs are not used at all: they make linear programs slow, and cliques say more. Without any
# pairs, the 64 instances of the paper's protocol take 21 s where 13 do.
_MOST_PAIRS = 70_000
# Cuts that are slack are set aside when there are twice as many as were left the last time, or this
# many: of ten thousand cuts some thousand matter at a time.
_MOST_ROWS = 3000


@dataclass(frozen=True, eq=False)
class Relaxed:
    """What the relaxation says of a node: z, its eta, and the duals of T and of the cuts.

    Without z the program is infeasible, and the duals should prove it.
    """

    z: Floats | None
    eta: float
    of_count: float
    rows: Ints
    duals: Floats


class Relaxation:
    """The linear relaxation, least eta over [z | eta] with cuts on z, solved node after node.

    Parameters
    ----------
    problem : Problem
        Patterns and counts.
    pool : CutPool
        Where cuts are numbered and proven.
    pairs : list of Cut
        The first cuts: those of the conflict graph.
    certain : int
        Rows outside the patterns that are positive for all weights.
    seed : int
        Seed of the random choices in finding cuts.

    Examples
    --------
    >>> from c2rf.forest.bounds.conflict_graph import pair_cuts
    >>> from c2rf.forest.problem import make_problem
    >>> from c2rf.forest.problem import make_statement
    >>> from c2rf.forest.votes import PatternTable
    >>> votes = PatternTable.from_votes([[1, -1, -1]] * 3 + [[-1, 1, 1]] * 2)
    >>> pool = CutPool(make_statement(votes, 1, 1.0, 100.0), np.arange(2))
    >>> problem = make_problem(votes, 1)
    >>> relaxation = Relaxation(problem, pool, pair_cuts(problem))
    >>> node = Node(np.zeros(2, np.int8), np.ones(2, np.int8), (1, 1))
    >>> relaxation.solve(node, (1, 1)).z.round(6) + 0.0  # the pattern of two rows is positive
    array([0., 1.])
    """

    def __init__(
        self, problem: Problem, pool: CutPool, pairs: list[Cut], certain: int = 0, seed: int = 0
    ) -> None:
        self.problem, self.pool = problem, pool
        n = problem.n_patterns
        self._certain = certain
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
        self._rows = np.zeros(0, np.int64)  # for each cut in the program its number in the pool
        self._most_rows = _MOST_ROWS
        self._aside: list[int] = []
        self._aside_rows = cut_rows([], n)
        self._unproven: set[int] = set()
        self._separator = Separator(problem, seed)
        self.add(pairs if len(pairs) <= _MOST_PAIRS else [])

    @property
    def work(self) -> int:
        """Work spent on linear programs and cuts, in units of about a nanosecond."""
        return self._program.work + self._separator.work

    def solve(
        self,
        node: Node,
        target: tuple[int, int],
        should_stop: Callable[[], bool] = lambda: False,
    ) -> Relaxed | None:
        """Solve the program of a node; None if that failed or was stopped.

        Parameters
        ----------
        node : Node
            Bounds of z.
        target : (int, int)
            Eta is how far the count T is above the second number or below the first.
        should_stop : callable
            Called now and then; solving ends early if it returns True.
        """
        self._set_bounds(node)
        low, high = ((end - self._certain) / self._scale for end in target)
        # sum w_i z_i + eta >= low   and   sum w_i z_i - eta <= high
        self._program.set_row(0, low, np.inf)
        self._program.set_row(1, -np.inf, high)
        optimum = self._program.solve(should_stop)
        while optimum is not None and optimum.x is not None and self._recall(optimum.x[:-1]):
            optimum = self._program.solve(should_stop)
        if optimum is None:
            return None
        # eta >= low - T with the first dual, eta >= T - high with the second
        of_count = float(-optimum.duals[1] - optimum.duals[0])
        duals = np.maximum(0.0, -optimum.duals[2:])
        used = duals > _SMALLEST_DUAL
        z, eta = None, np.inf
        if optimum.x is not None:
            z, eta = np.clip(optimum.x[:-1], 0, 1), float(optimum.x[-1]) * self._scale
        return Relaxed(z, eta, of_count, self._rows[used], duals[used] * self._scale)

    def _set_bounds(self, node: Node) -> None:
        moved = np.flatnonzero((node.lower != self._lower) | (node.upper != self._upper))
        if len(moved):
            self._lower, self._upper = node.lower.copy(), node.upper.copy()
            self._program.set_bounds(
                moved, node.lower[moved].astype(float), node.upper[moved].astype(float)
            )

    def separate(self, z: Floats, should_stop: Callable[[], bool] = lambda: False) -> int:
        """Add cuts that z violates; return how many."""
        self._set_aside()
        return self.add(self._separator.cuts(z, should_stop))

    def _set_aside(self) -> None:
        """Take cuts that are slack out of the program, if there are many."""
        if len(self._rows) <= self._most_rows:
            return
        slack = self._program.slack_rows()
        slack = slack[slack >= 2]
        self._program.drop_rows(slack)
        self._aside = sorted({*self._aside, *self._rows[slack - 2].tolist()})
        self._rows = np.delete(self._rows, slack - 2)
        self._aside_rows = cut_rows(
            [self.pool.cuts[k] for k in self._aside], self.problem.n_patterns
        )
        self._most_rows = max(_MOST_ROWS, 2 * len(self._rows))

    def _recall(self, z: Floats) -> int:
        """Add those cuts again that were set aside and that z violates; return how many."""
        matrix, upper = self._aside_rows
        rows = np.flatnonzero(matrix @ z > upper + VIOLATION)
        return self.add([self.pool.cuts[self._aside[k]] for k in rows])

    def add(self, cuts: Sequence[Cut]) -> int:
        """Add cuts to the pool and to the program; return how many are new in the program."""
        without = self._unproven.union(self._rows.tolist())
        new = {row: cut for row, cut in self.pool.add(cuts).items() if row not in without}
        if new:
            matrix, upper = cut_rows(list(new.values()), self.problem.n_patterns)
            matrix.resize((len(new), self.problem.n_patterns + 1))
            self._program.add_rows(matrix, np.full(len(new), -np.inf), upper)
            self._rows = np.append(self._rows, np.array(list(new), dtype=np.int64))
        return len(new)

    def drop_unproven(self, rows: Ints) -> bool:
        """Remove cuts without an exact proof, permanently; return whether there were any."""
        bad = {row for row in rows.tolist() if self.pool.proof(row) is None}
        which = np.isin(self._rows, list(bad))
        if which.any():
            self._program.drop_rows(np.flatnonzero(which) + 2)
            self._rows = self._rows[~which]
        self._unproven |= bad
        return bool(bad)


# Whole numbers: what the duals and the counts prove

# Duals are rounded to multiples of 2 ** -these, the finer one if the coarser proves less.
_FINENESS = (20, 40)
_SAFE = 1 << 62
_MOST_SUMS = 4096
_MOST_LARGE = 24


class Propagation:
    """Applies the rules of certificates to nodes, in whole numbers.

    Parameters
    ----------
    problem : Problem
        The reduced problem.
    pool : CutPool
        Cuts and their proofs, and the user's problem.

    Attributes
    ----------
    certain : int
        Rows outside the reduced problem that are positive for all weights.
    """

    def __init__(self, problem: Problem, pool: CutPool) -> None:
        self.pool = pool
        self.counts = [int(count) for count in problem.counts]
        others = set(range(len(pool.decided))) - set(pool.kept.tolist())
        assert all(pool.decided[i] is not None for i in others)
        self.certain = sum(pool.statement.counts[i] for i in others if pool.decided[i] == 1)

    def root(self, bound: int | None) -> Node:
        """Return the node of all weights that miss the total by less than a bound."""
        signs = [self.pool.decided[i] for i in self.pool.kept.tolist()]
        lower = np.array([z == 1 for z in signs], dtype=np.int8)
        upper = np.array([z != 0 for z in signs], dtype=np.int8)
        return Node(lower, upper, self.pool.box.interval(bound))

    def narrow(self, node: Node, cutoff: int | None) -> None:
        """Restrict a node to counts that miss the total by less than a cutoff."""
        within = self.pool.box.interval(cutoff)
        if within is not None and node.interval is not None:
            low, high = zip(within, node.interval, strict=True)
            node.interval = max(low), min(high)

    def apply(self, node: Node, rule: Rule) -> bool:
        """Apply a rule to a node, say whether that closes it; note it there if it has an effect."""
        if isinstance(rule, Aggregation):
            return self._fix(node, rule, *self._least(node, rule))
        return self.steps(node) if rule[0] == "steps" else self.sums(node)

    # Aggregated cuts

    def apply_duals(self, node: Node, relaxed: Relaxed) -> bool:
        """Raise the bound of a node to what duals prove, and fix signs; say if it is closed."""
        for fineness in _FINENESS:
            rule = self.rounded(relaxed, fineness, with_count=node.interval is not None)
            least, slope = self._least(node, rule)
            # One unit of eta is worth |m|: what is missing may be rounding.
            if not -abs(rule.of_count) < 64 * least <= 0:
                break
        proven = self._proven(node, rule, least)
        if proven > node.bound:
            node.bound, node.duals = proven, rule
        return self._fix(node, rule, least, slope)

    def rounded(self, relaxed: Relaxed, fineness: int, *, with_count: bool) -> Aggregation:
        """Return whole multipliers near the duals, of cuts that are proven."""
        scale = 1 << fineness
        of_count = round(relaxed.of_count * scale) if with_count else 0
        whole = {
            row: round(dual * scale)
            for row, dual in zip(relaxed.rows.tolist(), relaxed.duals.tolist(), strict=True)
        }
        rows = [row for row in whole if whole[row] > 0 and self.pool.proof(row) is not None]
        divisor = gcd(of_count, *(whole[row] for row in rows)) or 1
        multipliers = tuple(whole[row] // divisor for row in rows)
        return Aggregation(of_count // divisor, tuple(rows), multipliers)

    def _proven(self, node: Node, rule: Aggregation, least: int) -> int:
        """Return the bound on eta that a rule proves whose sum is at least that in a node."""
        m, target = rule.of_count, self.pool.statement.total
        if m == 0 or node.interval is None:
            return 0
        # |m| eta >= m (T - target) >= least, which was of T - end
        proven = -(-(least + m * (node.interval[m > 0] - target)) // abs(m))
        if proven <= 0:
            return 0
        # T is at least that far above, or below, the total; and not every number is possible.
        value = self.next_count(node, target + (proven if m > 0 else -proven), up=m > 0)
        return proven if value is None else abs(value - target)

    def _least(self, node: Node, rule: Aggregation) -> tuple[int, Whole]:
        """Return the least that the sum of a rule can be in a node, and its slope in each z.

        m (T - end)  +  sum over cuts of y (number of true literals - most)  <=  0

        holds for all weights, ``end`` being an end of the node's interval: if the least is
        positive, the node is infeasible.
        """
        n, m = len(self.counts), rule.of_count
        cuts = [self.pool.cuts[row] for row in rule.rows]
        sizes = [len(cut.literals) for cut in cuts]
        largest = abs(m) * (sum(self.counts) + self.certain)
        largest += sum(y * k for y, k in zip(rule.multipliers, sizes, strict=True))
        kind = np.int64 if largest < _SAFE else object
        names = np.array([name for cut in cuts for name in cut.literals], dtype=np.int64)
        values = np.repeat(np.array(rule.multipliers, dtype=kind), sizes)
        slope = np.array(self.counts, dtype=kind) * m
        positive = names < n
        np.add.at(slope, names[positive], values[positive])
        np.subtract.at(slope, names[~positive] - n, values[~positive])
        constant = int(values[~positive].sum())
        constant -= sum(y * cut.most for y, cut in zip(rule.multipliers, cuts, strict=True))
        if m != 0:
            assert node.interval is not None
            constant += m * (self.certain - node.interval[m > 0])
        return constant + int((np.where(slope > 0, node.lower, node.upper) * slope).sum()), slope

    @staticmethod
    def _fix(node: Node, rule: Aggregation, least: int, slope: Whole) -> bool:
        """Fix the z that would make the sum positive at their worse end; say if all would."""
        free = node.free & (least <= 0)
        low = free & np.asarray(slope > -least, dtype=bool)
        high = free & np.asarray(-slope > -least, dtype=bool)
        if least > 0 or low.any() or high.any():
            node.rules.append(rule)
            node.upper[low], node.lower[high] = 0, 1
        return least > 0

    def violated(self, node: Node) -> Aggregation | None:
        """Return a proven cut that a node in which all signs are fixed violates."""
        true = np.concatenate([node.lower, 1 - node.lower])
        for row, cut in enumerate(self.pool.cuts):
            if true[list(cut.literals)].sum() > cut.most and self.pool.proof(row) is not None:
                return Aggregation(0, (row,), (1,))
        return None

    # Divisors and subset sums of counts

    def allows(self, node: Node, positive: Bools) -> bool:
        """Whether the count of these positive patterns lies in the interval of a node."""
        count = self.certain + sum(self.counts[i] for i in np.flatnonzero(positive))
        return node.interval is None or node.interval[0] <= count <= node.interval[1]

    def next_count(self, node: Node, value: int, *, up: bool) -> int | None:
        """Return the first value that T can have, from ``value`` on up or down; None without one.

        T is what is certain plus a multiple of the common divisor of the free counts.
        """
        certain, free = self._split_counts(node)
        if not free:
            return certain if (certain >= value if up else certain <= value) else None
        step = gcd(*free)
        return value + (certain - value) % step if up else value - (value - certain) % step

    def distance(self, node: Node, target: int) -> int:
        """Return how far a target is from the nearest value that T can have."""
        ends = (self.next_count(node, target, up=up) for up in (True, False))
        return min(abs(end - target) for end in ends if end is not None)

    def steps(self, node: Node) -> bool:
        """Move the ends of the interval to values that T can have; True if there are none."""
        if node.interval is None:
            return False
        low = self.next_count(node, node.interval[0], up=True)
        high = self.next_count(node, node.interval[1], up=False)
        new = (1, 0) if low is None or high is None else (low, high)
        if new != node.interval:
            node.interval = new
            node.rules.append(("steps",))
        return new[0] > new[1]

    def sums(self, node: Node) -> bool:
        """Use the subset sums of a few large counts; True if none lets T be in the interval."""
        if node.interval is None:
            return False
        (low, high), (certain, free) = node.interval, self._split_counts(node)
        free.sort(reverse=True)
        if not _few_large(free, high - low):
            return False
        rest, values = sum(free), {certain}
        for k, count in enumerate(free, start=1):
            rest -= count
            both = values | {value + count for value in values}
            values = {value for value in both if value <= high and value + rest >= low}
            if not values:
                node.rules.append(("sums", k))
                return True
            if len(values) > _MOST_SUMS:
                return False
        return False

    def _split_counts(self, node: Node) -> tuple[int, list[int]]:
        """Return the count that is certain to be positive, and the free counts."""
        certain = self.certain + sum(self.counts[i] for i in np.flatnonzero(node.lower))
        return certain, [self.counts[i] for i in np.flatnonzero(node.free)]


def _few_large(counts: list[int], width: int) -> bool:
    """Whether a few counts are so large that the others cannot fill the gaps between their sums."""
    rest = sum(counts) + width
    for count in counts[:_MOST_LARGE]:
        rest -= count
        if rest < count:
            return True
    return False
