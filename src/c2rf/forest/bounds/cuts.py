"""Cuts that a z violates, found in two ways, and the pool in which cuts are proven exactly.

All cuts are on literals, as in :mod:`c2rf.forest.bounds.conflict_graph`; the value of a literal
under a fractional z is z_i or 1 - z_i. The columns in which a literal is +1 are its support.

- **Clique cuts.** At most one of some literals is true if any two exclude each other.
- **Farkas cuts.** If multipliers on k literals prove that the box does not allow all of them, at
  most k - 1 are true.

Cliques are grown greedily. Farkas cuts come from linear programs and are lifted: literals are
exchanged for those with the largest support for which the proof still holds. A literal implies
those with a larger support, so that the lifted cut says more.

All this is in floats. The :class:`CutPool` proves a cut again, in whole numbers and on the votes
and the box of the user, before a certificate relies on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

import numpy as np
from scipy import sparse

from c2rf._utils.compiled import compiled, summing
from c2rf._utils.types import Floats, Ints
from c2rf.forest.bounds.conflict_graph import (
    MAX_PATTERNS,
    Cut,
    excludes,
    greatest_scores,
    heaviest,
    slack,
)
from c2rf.forest.bounds.feasibility import LinearProgram
from c2rf.forest.certificate import Box, Budget, Statement
from c2rf.forest.problem import Problem
from c2rf.forest.votes import pack

VIOLATION = 1e-3  # a cut that z violates by less is not worth a row
_EQUAL_VALUES = 1e-9

# Clique cuts

# Seeds tried at a time, or a quarter of all literals, until a tenth of them has given a clique
_CLIQUE_SEEDS = 600
_LONGEST_CLIQUE = 100


class CliqueSeparator:
    """Finds clique cuts that a z violates.

    Two literals a and b exclude each other if the box does not allow both a score of one:

        2 max alpha'(a + b) = m_a + m_b + sum_j W_j (1 + a_j b_j) < 4

    with W the widths of the box, m = (lower + upper)'a, and all a_j, b_j being -1 or +1. That is
    so cheap to compute that the edges of the graph are never stored.

    Parameters
    ----------
    problem : Problem
        Patterns and box.
    rng : numpy Generator
        Draws the order of the seeds.

    Examples
    --------
    >>> from c2rf.forest.problem import make_problem
    >>> problem = make_problem([[1, -1, -1], [-1, 1, -1], [-1, -1, 1]], 0)
    >>> CliqueSeparator(problem, np.random.default_rng(0)).cuts(np.full(6, 0.5))
    [Cut(literals=(0, 1, 2), most=1, multipliers=None)]
    """

    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        self._rng = rng
        self._votes = np.concatenate([problem.patterns, -problem.patterns]).astype(float)
        self._middle = self._votes @ (problem.lower + problem.upper)
        self._widths = (problem.upper - problem.lower).astype(float)
        self._limit = 4 * (1 - slack(problem)) - float(self._widths.sum())
        self.work = 0
        """All that was done so far, about nanoseconds, but counted and not measured."""

    def cuts(self, value: Floats) -> list[Cut]:
        """Return cliques whose literals have a value above one in all, the most violated first."""
        # Among literals of equal values, those with higher scores make stronger cliques.
        order = np.lexsort((-self._middle, -value.round(9)))
        order = order[value[order] > _EQUAL_VALUES]
        found: dict[tuple[int, ...], float] = {}
        seeds = self._rng.permutation(len(order))
        at_once = max(_CLIQUE_SEEDS, len(order) // 4)
        for begin in range(0, len(seeds), at_once):
            for clique in self._grown(order, value[order], seeds[begin : begin + at_once]):
                literals = tuple(np.sort(clique).tolist())
                found[literals] = float(value[clique].sum() - 1) / np.sqrt(len(clique))
            if len(found) >= at_once // 10:
                break
        best = sorted(found, key=lambda literals: (-round(found[literals], 9), literals))
        return [Cut(literals, 1) for literals in best]

    def _grown(self, order: Ints, value: Floats, seeds: Ints) -> list[Ints]:
        """Return the violated cliques that grow from some seeds, literals being tried in order."""
        votes = self._votes[order]
        self.work += len(seeds) * votes.size
        members, starts = _grow_cliques(
            votes,
            votes * self._widths,
            self._middle[order],
            value,
            self._limit,
            seeds,
            1 + VIOLATION,
            _LONGEST_CLIQUE,
        )
        ends = zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
        return [order[members[begin:end]] for begin, end in ends]


@summing
def _excluded(
    votes: Floats, weighted: Floats, middle: Floats, limit: float, literal: int, of: Ints, to: Ints
) -> int:
    """Write those of some literals that exclude a given one to a list; return how many."""
    kept = 0
    for other in of:
        common = middle[literal] + middle[other]
        for j in range(votes.shape[1]):
            common += weighted[literal, j] * votes[other, j]
        if common < limit and other != literal:
            to[kept] = other
            kept += 1
    return kept


@compiled
def _grow_cliques(
    votes: Floats,
    weighted: Floats,
    middle: Floats,
    value: Floats,
    limit: float,
    seeds: Ints,
    least: float,
    longest: int,
) -> tuple[Ints, Ints]:
    """Grow a clique from every seed, taking the first literal that fits again and again.

    Literals after which the clique could not get a value above ``least`` are passed over. Returns
    the members of the cliques with such a value, and where each of them begins.
    """
    n = len(votes)
    members = np.empty(len(seeds) * min(n, longest), np.int64)
    starts = np.zeros(len(seeds) + 1, np.int64)
    fits, narrower = np.empty(n, np.int64), np.empty(n, np.int64)
    found = begin = 0
    for seed in seeds:
        fits[:] = np.arange(n)
        literal, place, left = seed, -1, n
        size, total = 0, 0.0
        while size < longest:
            rest = fits[place + 1 : left]
            kept = _excluded(votes, weighted, middle, limit, literal, rest, narrower)
            if total + value[literal] + value[narrower[:kept]].sum() > least:
                members[begin + size] = literal
                size, total = size + 1, total + value[literal]
                fits, narrower = narrower, fits
                left, place = kept, -1
            place += 1
            if place >= left or size == 0:
                break
            literal = fits[place]
        if total > least:
            begin += size
            found += 1
            starts[found] = begin
    return members[:begin], starts[: found + 1]


# Farkas cuts

# So many are sought, twice, where there are fewer cliques. Tried on the 64 instances of the paper's
# protocol: without any, they take 25 s where 13 do.
_FARKAS_CUTS = 40
# Work of a round without Farkas cuts, and of one of these, about nanoseconds
_ROUND = 4 * 10**6
_FARKAS = 10**6


class Separator:
    """Finds cuts that a z violates, integral or fractional.

    Parameters
    ----------
    problem : Problem
        What the cuts are for. Of very many patterns only the heaviest are used.
    seed : int
        Seed of the random choices in finding cuts.

    Examples
    --------
    >>> from c2rf.forest.problem import make_problem
    >>> problem = make_problem([[1, -1, -1], [-1, 1, -1], [-1, -1, 1]], 0)
    >>> Separator(problem).cuts(np.array([0.5, 0.5, 0.5]))  # no two trees have a majority each
    [Cut(literals=(0, 1, 2), most=1, multipliers=None)]
    """

    def __init__(self, problem: Problem, seed: int = 0) -> None:
        n = problem.n_patterns
        rows = heaviest(problem, np.arange(n), MAX_PATTERNS)
        self._rows, self._names = rows, np.concatenate([rows, n + rows])
        patterns = problem.patterns[rows]
        self._problem = replace(problem, patterns=patterns, counts=problem.counts[rows])
        self._votes = np.concatenate([patterns, -patterns])
        self._support = self._votes > 0
        self._size = self._support.sum(axis=1)
        self._spare = 1 - slack(problem)
        # Where a weight may be negative, a larger support is no advantage: there, supports are
        # compared for equality.
        self._words = pack(np.hstack([self._votes, -self._votes[:, problem.lower < 0]]))
        self._rng = np.random.default_rng(seed)
        self._cliques = CliqueSeparator(self._problem, self._rng)
        self._work = 0

    @property
    def work(self) -> int:
        """Work spent on finding cuts, in units of about a nanosecond."""
        return self._work + self._cliques.work

    def cuts(self, z: Floats, should_stop: Callable[[], bool] = lambda: False) -> list[Cut]:
        """Return cuts that z violates, cliques first, then the most violated; fewer if stopped."""
        self._work += _ROUND
        value = np.concatenate([z[self._rows], 1 - z[self._rows]])
        cuts = self._cliques.cuts(value)
        if len(cuts) < _FARKAS_CUTS:
            found = dict.fromkeys(takewhile(lambda _: not should_stop(), self._farkas_cuts(value)))
            cuts += sorted(found, key=lambda cut: (-_depth(cut, value), cut.literals))
        return [
            replace(cut, literals=tuple(self._names[list(cut.literals)].tolist())) for cut in cuts
        ]

    # Lifting

    def _lift(self, literals: Ints, y: Floats, value: Floats) -> Iterator[Cut]:
        """Yield the cut on the largest supports for which the proof holds, if z violates it.

        Only literals of no smaller value are taken, so what was violated stays violated.
        """
        lifted, total, most = literals.copy(), float(y.sum()), len(literals) - 1
        for place in np.argsort(y, kind="stable"):
            load = y @ self._votes[lifted].astype(float)
            now = greatest_scores(self._problem, load)
            price = greatest_scores(self._problem, load + 2 * y[place]) - now
            slack = total * self._spare - now.sum()
            lifted[place] = self._largest_above(lifted[place], price, slack, lifted, value)
        violated = value[lifted].sum() > most + VIOLATION
        if violated and excludes(self._problem, self._votes[lifted], y):
            order = np.argsort(lifted)
            multipliers = None if (y == 1).all() else tuple(y[order].tolist())
            yield Cut(tuple(lifted[order].tolist()), most, multipliers)

    def _largest_above(
        self, name: int, price: Floats, slack: float, taken: Ints, value: Floats
    ) -> int:
        """Return the literal of largest support that contains a given one's, within the slack."""
        own = self._words[name]
        fits = ((self._words & own) == own).all(axis=1)
        fits &= value >= value[name] - _EQUAL_VALUES
        fits[taken] = False
        above = np.flatnonzero(fits)
        above = above[self._support[above] @ np.where(self._support[name], 0.0, price) < slack]
        return int(above[self._size[above].argmax()]) if len(above) else int(name)

    # Farkas cuts

    def _farkas_cuts(self, value: Floats) -> Iterator[Cut]:
        """Yield sets of literals, all likely by z, that multipliers show to exclude each other."""
        names = np.flatnonzero(value > 0.5)
        k, q = len(names), self._problem.n_columns
        for bounded in (False, True):
            program = self._multiplier_program(names, bounded)
            for _ in range(_FARKAS_CUTS):
                # Literals of a high value and a small support, with some variety
                variety = self._rng.uniform(0.5, 1.5, k) * self._size[names] / q
                program.set_costs(np.append(20 * (1 - value[names]) + variety, np.zeros(2 * q)))
                optimum = program.solve()
                self._work += _FARKAS
                if optimum is None or optimum.x is None:
                    break
                used = np.flatnonzero(optimum.x[:k] > 1e-9)
                yield from self._lift(names[used], optimum.x[used], value)
                # The next cut must do without some of these.
                drop = used[self._rng.uniform(size=len(used)) < 0.3]
                drop = drop if len(drop) else used[:1]
                program.set_bounds(drop, np.zeros(len(drop)), np.zeros(len(drop)))

    def _multiplier_program(self, names: Ints, bounded: bool) -> LinearProgram:
        """Build the program of multipliers y with which the box keeps sum y_i a_i'alpha small.

        The columns are [y | c+ | c-] with c = sum y_i a_i. Without ``bounded`` c+ = 0: multipliers
        that exclude the literals for all positive weights. Their cuts are short and lift well.
        """
        k, q = len(names), self._problem.n_columns
        n = k + 2 * q
        upper = np.full(n, np.inf)
        upper[k : k + q] = np.inf if bounded else 0.0
        program = LinearProgram(np.zeros(n), np.zeros(n), upper, primal=True)
        eye = np.eye(q)
        # sum y_i a_i - c+ + c- = 0
        balance = np.hstack([self._votes[names].T.astype(float), -eye, eye])
        program.add_rows(sparse.csr_array(balance), np.zeros(q), np.zeros(q))
        # sum y_i = 1   and   max c'alpha = u'c+ - l'c- < 1
        one = np.append(np.ones(k), np.zeros(2 * q))
        most = np.concatenate([np.zeros(k), self._problem.upper, -self._problem.lower])
        less_than_one = 1 - 2 * (1 - self._spare)
        program.add_rows(
            sparse.csr_array(np.array([one, most])),
            np.array([1.0, -np.inf]),
            np.array([1.0, less_than_one]),
        )
        return program


def _depth(cut: Cut, value: Floats) -> float:
    """Return the Euclidean distance by which z violates a cut."""
    excess = value[list(cut.literals)].sum() - cut.most
    return float(round(excess / np.sqrt(len(cut.literals)), 9))


# Exact proofs

_SAFE = 1 << 62
# Whole multipliers are tried with these multiples of the greatest one; small ones read well.
_MULTIPLES = (1, 2, 3, 4, 6, 12, 60, 1 << 20, 1 << 40)

ProvenRow = tuple[list[int], list[int], int]
"""A row of a certificate: literals, multipliers, and how many are true at most."""


class CutPool:
    """All cuts found so far, numbered, and their proofs in whole numbers.

    Parameters
    ----------
    statement : Statement
        The user's problem in whole numbers, in which cuts are proven.
    kept : ndarray of int
        For each pattern of the reduced problem its index among the user's patterns.
    """

    def __init__(self, statement: Statement, kept: Ints) -> None:
        self.statement, self.kept = statement, kept
        self.box = Box(statement, Budget(steps=_SAFE))
        self.decided = self.box.decided()
        self.cuts: list[Cut] = []
        self._known: dict[tuple[tuple[int, ...], int], int] = {}
        self._proofs: dict[int, ProvenRow | None] = {}

    def add(self, cuts: Sequence[Cut]) -> dict[int, Cut]:
        """Append cuts that are not there yet, and return all of them with their numbers."""
        numbered = {}
        for cut in cuts:
            row = self._known.setdefault((cut.literals, cut.most), len(self.cuts))
            if row == len(self.cuts):
                self.cuts.append(cut)
            numbered[row] = self.cuts[row]
        return numbered

    def proof(self, row: int) -> ProvenRow | None:
        """Return the proof of the cut of this number, found when it is first asked for."""
        if row not in self._proofs:
            self._proofs[row] = self.prove(self.cuts[row])
        return self._proofs[row]

    def literal(self, name: int) -> int:
        """Return a literal as certificates write it: the number of its pattern, with a sign."""
        n = len(self.kept)
        number = int(self.kept[name % n]) + 1
        return number if name < n else -number

    def prove(self, cut: Cut) -> ProvenRow | None:
        """Return the row of a certificate that proves a cut; None if no multipliers do."""
        literals = [self.literal(name) for name in cut.literals]
        if cut.multipliers is None and cut.most == 1 < len(literals) - 1:
            ones = [1] * len(literals)
            return (literals, ones, 1) if self._is_clique(literals) else None
        for multipliers in _whole_multipliers(cut):
            if self.box.excludes(literals, multipliers, cut.most):
                return literals, multipliers, cut.most
        return None

    def _is_clique(self, literals: list[int]) -> bool:
        """Say what the checker will say of a clique, all pairs at once."""
        box = self.box
        votes = np.array([box.votes(literal) for literal in literals], dtype=np.int64)
        if max(abs(end) for side in box.sides for end in side) * 2 * votes.shape[1] > _SAFE:
            return box.excludes(literals, [1] * len(literals), 1)
        low, high = np.array(box.sides, dtype=np.int64).T
        best = np.where(votes > 0, high, low)
        own = (best * votes).sum(axis=1)
        pairs = best @ votes.T + own[:, None]
        return bool((pairs[np.triu_indices(len(literals), 1)] < 2 * box.one).all())


def _whole_multipliers(cut: Cut) -> Iterable[list[int]]:
    """Yield whole multipliers near those of the cut, small ones first."""
    if cut.multipliers is None:
        yield [1] * len(cut.literals)
        return
    given = np.array(cut.multipliers) / max(cut.multipliers)
    for multiple in _MULTIPLES:
        near = np.rint(given * multiple)
        if multiple >= 1 << 20 or (np.abs(near - given * multiple) < 1e-6 * multiple).all():
            yield [int(q) for q in near]
