"""Cuts on the signs z, each with the multipliers that prove it.

Rows over z, each with the multipliers that prove it.

A row says "of these literals at most k are true". Rows are found with floats; before one is
used in a proof, it is proven again in whole numbers, on the votes and the box of the user.

Signs as coalitions of columns, and what the box lets any number of them win.

A literal is a wished sign, named i for "pattern i is positive" and n + i for "pattern i is
negative", as in :mod:`c2rf.forest.bounds.conflict_graph`. Its +1 columns are a coalition, and the literal is
true if the coalition wins the weighted vote: ``alpha'a >= 1`` with ``a`` the row or its opposite.

Cliques: literals of which no two are true together, so at most one of them is.

Two literals a and b exclude each other if the box cannot give both a score of one:

    2 max alpha'(a + b) = m_a + m_b + sum_j W_j (1 + a_j b_j) < 4

with W the widths of the box, m = (lower + upper)'a, and all a_j, b_j being -1 or +1. That is so
cheap to compute that the graph of exclusions is never stored, only walked through.

Cuts on z: what three and more patterns cannot do together.

Two facts make cuts, with :class:`~c2rf.forest.bounds.cuts.Coalitions` as the judge of both:

- **Rivals.** If every column is in few of k coalitions, few of them win: of coalitions that share
  no column one at most, of coalitions that have every column at most twice three at most.
- **Trades.** If multipliers on k literals make the box unable to satisfy all of them (a Farkas
  certificate), at most k - 1 hold.

Rivals are grown greedily, trades are found by linear programs, and both are lifted: exchanged for
the largest coalitions for which the proof still holds. That makes a few cuts do the work of
hundreds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

import numpy as np
from scipy import sparse

from c2rf._utils.compiled import compiled, summing
from c2rf._utils.types import Bools, Floats, Ints
from c2rf.forest.bounds.conflict_graph import MAX_PATTERNS, Structure, heaviest, slack
from c2rf.forest.bounds.feasibility import LinearProgram
from c2rf.forest.certificate import Box, Statement
from c2rf.forest.problem import Problem
from c2rf.forest.votes import pack

_SAFE = 1 << 62
# Whole multipliers are tried with these many parts of the greatest one; small ones read well.
_PARTS = (1, 2, 3, 4, 6, 12, 60, 1 << 20, 1 << 40)


@dataclass(frozen=True)
class AtMost:
    """Of these literals at most ``most`` are true, as the multipliers show.

    Literal i is "pattern i is positive", literal n + i "pattern i is negative", n the number of
    patterns. Without multipliers each literal counts once.
    """

    literals: tuple[int, ...]
    most: int
    multipliers: tuple[float, ...] | None = None


def pair_cuts(structure: Structure, n: int) -> list[AtMost]:
    """Return the pairs of a structure as cuts.

    Examples
    --------
    >>> from c2rf.forest.problem import make_problem
    >>> from c2rf.forest.bounds.conflict_graph import find_structure
    >>> pair_cuts(find_structure(make_problem([[1, -1, -1], [1, 1, -1]], 1)), 2)
    [AtMost(literals=(0, 3), most=1, multipliers=None)]
    """
    equal, opposite = structure.equal, structure.opposite
    kinds = [
        # z_k <= z_i: not k without i
        (structure.dominance, (0, n)),
        # z_i + z_k >= 1: not both negative;  z_i + z_k <= 1: not both positive
        (structure.conflict, (n, n)),
        (structure.mirror, (0, 0)),
        # z_i = z_k,   z_i + z_k = 1
        (equal, (0, n)),
        (equal, (n, 0)),
        (opposite, (0, 0)),
        (opposite, (n, n)),
    ]
    named = [pair for pairs, shift in kinds for pair in (pairs + np.array(shift)).tolist()]
    return [AtMost((a, b), 1) for a, b in named]


class Ground:
    """What proofs stand on: the user's problem, and where the patterns at work are in it.

    Parameters
    ----------
    statement : Statement
        The user's problem in whole numbers.
    places : ndarray of int
        For each pattern at work its index among the user's patterns.
    """

    def __init__(self, statement: Statement, places: Ints) -> None:
        self.statement, self.places = statement, places
        self.box = Box(statement)
        self.decided = self.box.decided()

    def literal(self, name: int) -> int:
        """Return a literal as certificates write it: the number of its pattern, with a sign."""
        n = len(self.places)
        number = int(self.places[name % n]) + 1
        return number if name < n else -number

    def prove(self, cut: AtMost) -> tuple[list[int], list[int], int] | None:
        """Return the row of a certificate that proves a cut; None if no multipliers do."""
        literals = [self.literal(name) for name in cut.literals]
        if cut.multipliers is None and cut.most == 1 < len(literals) - 1:
            ones = [1] * len(literals)
            return (literals, ones, 1) if self._clique(literals) else None
        for multipliers in _whole(cut):
            if self.box.excludes(literals, multipliers, cut.most):
                return literals, multipliers, cut.most
        return None

    def _clique(self, literals: list[int]) -> bool:
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


def _whole(cut: AtMost) -> Iterable[list[int]]:
    """Yield whole multipliers near those of the cut, small ones first."""
    if cut.multipliers is None:
        yield [1] * len(cut.literals)
        return
    given = np.array(cut.multipliers) / max(cut.multipliers)
    for parts in _PARTS:
        near = np.rint(given * parts)
        if parts >= 1 << 20 or (np.abs(near - given * parts) < 1e-6 * parts).all():
            yield [int(q) for q in near]


class RowStore:
    """Rows in the order of the linear program, and which of them are proven.

    Parameters
    ----------
    ground : Ground
        Where rows are proven.
    """

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.cuts: list[AtMost] = []
        self._known: dict[tuple[tuple[int, ...], int], int] = {}
        self._proofs: dict[int, tuple[list[int], list[int], int] | None] = {}

    def __len__(self) -> int:
        return len(self.cuts)

    def add(self, cuts: Sequence[AtMost]) -> dict[int, AtMost]:
        """Append cuts that are not there yet, and return all of them with their numbers."""
        numbered = {}
        for cut in cuts:
            row = self._known.setdefault((cut.literals, cut.most), len(self.cuts))
            if row == len(self.cuts):
                self.cuts.append(cut)
            numbered[row] = self.cuts[row]
        return numbered

    def proof(self, row: int) -> tuple[list[int], list[int], int] | None:
        """Return the proof of a row, found when it is first asked for."""
        if row not in self._proofs:
            self._proofs[row] = self.ground.prove(self.cuts[row])
        return self._proofs[row]


def cut_matrix(cuts: Sequence[AtMost], n: int) -> tuple[sparse.csr_array, Floats]:
    """Return the rows ``matrix @ z <= upper`` that state the cuts, over the z of n patterns.

    Examples
    --------
    >>> matrix, upper = cut_matrix([AtMost((0, 3), 1)], 2)  # z_0 + (1 - z_1) <= 1
    >>> matrix.toarray(), upper
    (array([[ 1., -1.]]), array([0.]))
    """
    lengths = [len(cut.literals) for cut in cuts]
    names = np.array([name for cut in cuts for name in cut.literals], dtype=np.int64)
    signs = np.where(names < n, 1.0, -1.0)
    row = np.repeat(np.arange(len(cuts)), lengths)
    matrix = sparse.csr_array((signs, (row, names % max(n, 1))), shape=(len(cuts), n))
    # sum of z_i over positive literals + sum of (1 - z_i) over negative ones <= most
    negative = np.bincount(row, weights=signs < 0, minlength=len(cuts))
    upper: Floats = np.array([cut.most for cut in cuts], dtype=float) - negative
    return matrix, upper


class Coalitions:
    """The literals of a problem.

    Parameters
    ----------
    problem : Problem
        Its patterns and box.

    Examples
    --------
    >>> from c2rf.forest.problem import make_problem
    >>> problem = make_problem([[1, -1, -1], [-1, 1, -1], [-1, -1, 1]], 0)
    >>> coalitions = Coalitions(problem)
    >>> coalitions.excludes(np.array([0, 1, 2]), np.ones(3), 2)  # two of three disjoint ones win
    True
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.votes = np.concatenate([problem.patterns, -problem.patterns])
        self.inside = self.votes > 0
        self.size = self.inside.sum(axis=1)
        self.spare = 1 - slack(problem)
        # A column that may weigh less than nothing helps nobody for sure: to contain a
        # coalition is to agree with it on such columns.
        either = self.votes[:, problem.lower < 0]
        self._words = pack(np.hstack([self.votes, -either]))

    # One certificate for all cuts

    def reach(self, load: Floats, total: float, winners: float) -> Floats:
        """Return the most that each column can add to the scores of winning literals.

        Literals with multipliers y, ``total`` in all, have the load sum y_i a_i. Of them, true
        literals with multipliers of ``winners`` in all are picked, as favourably as can be.
        """
        # With d_j the multipliers of the picked literals that have column j, the column adds
        # alpha_j (2 d_j - winners),  and  d_j is at least what cannot be left out.
        degree = (load + total) / 2
        most = 2 * np.minimum(degree, winners) - winners
        least = 2 * np.maximum(0.0, degree - (total - winners)) - winners
        low, high = self.problem.lower, self.problem.upper
        return np.maximum.reduce([most * low, most * high, least * low, least * high])

    def excludes(self, literals: Ints, multipliers: Floats, winners: float) -> bool:
        """Check that true literals cannot have multipliers of ``winners`` together.

        They would have scores of at least ``winners`` in all, more than the box allows. The
        multipliers are whole numbers, or ``winners`` is their sum.
        """
        load = multipliers @ self.votes[literals].astype(float)
        reach = self.reach(load, float(multipliers.sum()), winners).sum()
        return bool((multipliers >= 0).all() and reach < winners * self.spare)

    # Small ones make proofs, large ones make cuts

    def smallest(self, value: Floats, worth: float) -> Ints:
        """Return literals of some worth, without those that contain another of the same value."""
        order = np.argsort(self.size, kind="stable")
        order = order[value[order] > worth]
        kept = np.zeros(len(order), dtype=np.int64)
        n_kept = 0
        for name in order:
            so_far = kept[:n_kept]
            within = ((self._words[so_far] & ~self._words[name]) == 0).all(axis=1)
            if not (within & (value[so_far] >= value[name] - 1e-9)).any():
                kept[n_kept] = name
                n_kept += 1
        return kept[:n_kept]

    def lift(
        self, literals: Ints, multipliers: Floats, winners: float, value: Floats
    ) -> Ints | None:
        """Exchange literals for the largest coalitions that contain them and keep the proof.

        A subset wins only if its supersets do, so the larger ones say more. Only literals of no
        smaller value are taken, so what was violated stays violated. None without a proof.
        """
        lifted = literals.copy()
        total = float(multipliers.sum())
        for place in np.argsort(multipliers, kind="stable"):
            load = multipliers @ self.votes[lifted].astype(float)
            now = self.reach(load, total, winners)
            price = self.reach(load + 2 * multipliers[place], total, winners) - now
            lifted[place] = self._largest_above(
                lifted[place], price, winners * self.spare - now.sum(), lifted, value
            )
        return lifted if self.excludes(lifted, multipliers, winners) else None

    def _largest_above(
        self, name: int, price: Floats, room: float, taken: Ints, value: Floats
    ) -> int:
        """Return the largest coalition that contains one and costs no more than there is room."""
        own = self._words[name]
        fits = ((self._words & own) == own).all(axis=1) & (value >= value[name] - 1e-9)
        fits[taken] = False
        above = np.flatnonzero(fits)
        above = above[self.inside[above] @ np.where(self.inside[name], 0.0, price) < room]
        return int(above[self.size[above].argmax()]) if len(above) else int(name)


_CLIQUE_VIOLATION = 1e-3
_CLIQUE_WORTH = 0.02  # literals of a smaller value do not violate anything
_CLIQUE_SEEDS = (
    600  # or a quarter of all: tried at a time, until a tenth of them has found a clique
)
_LONGEST = 100
_TRIES = 8  # of literals that lead nowhere, for each seed
# Among literals of about the same value, those that win more easily make stronger cliques.
_EASE = 0.02


class Cliques:
    """Finds cliques that a z violates.

    Parameters
    ----------
    problem : Problem
        Patterns and box.
    names : ndarray of int
        The names of the literals: of all patterns positive, then of all of them negative.
    rng : numpy Generator
        Draws the seeds if there are very many.

    Examples
    --------
    >>> from c2rf.forest.problem import make_problem
    >>> problem = make_problem([[1, -1, -1], [-1, 1, -1], [-1, -1, 1]], 0)
    >>> cliques = Cliques(problem, np.arange(6), np.random.default_rng(0))
    >>> cliques.violated(np.array([0.5, 0.5, 0.5, 0.5, 0.5, 0.5]))
    [AtMost(literals=(0, 1, 2), most=1, multipliers=None)]
    """

    def __init__(self, problem: Problem, names: Ints, rng: np.random.Generator) -> None:
        self._names, self._rng = names, rng
        self._votes = np.concatenate([problem.patterns, -problem.patterns]).astype(float)
        self._middle = self._votes @ (problem.lower + problem.upper)
        self._widths = (problem.upper - problem.lower).astype(float)
        self._limit = 4 * (1 - slack(problem)) - float(self._widths.sum())
        self.work = 0
        """All that was done so far, about nanoseconds, but counted and not measured."""

    def violated(self, value: Floats) -> list[AtMost]:
        """Return cliques whose literals have a value of more than one, the most violated first."""
        ease = self._middle / max(1e-300, float(np.abs(self._middle).max(initial=0.0)))
        order = np.argsort(-(value + _EASE * ease), kind="stable")
        order = order[value[order] > _CLIQUE_WORTH]
        found: dict[tuple[int, ...], float] = {}
        seeds = self._rng.permutation(len(order))
        at_once = max(_CLIQUE_SEEDS, len(order) // 4)
        for begin in range(0, len(seeds), at_once):
            for clique in self._grown(order, value[order], seeds[begin : begin + at_once]):
                literals = tuple(np.sort(self._names[clique]).tolist())
                found[literals] = float(value[clique].sum() - 1) / np.sqrt(len(clique))
            if len(found) >= at_once // 10:
                break
        best = sorted(found, key=lambda literals: (-round(found[literals], 9), literals))
        return [AtMost(literals, 1) for literals in best]

    def _grown(self, order: Ints, value: Floats, seeds: Ints) -> list[Ints]:
        """Return the violated cliques that grow from some seeds, literals being tried in order."""
        votes = self._votes[order]
        self.work += len(seeds) * votes.size
        members, starts = _grow(
            votes,
            votes * self._widths,
            self._middle[order],
            value,
            self._limit,
            seeds,
            1 + _CLIQUE_VIOLATION,
            _LONGEST,
            _TRIES,
        )
        ends = zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
        return [order[members[begin:end]] for begin, end in ends]


@summing
def _fitting(
    votes: Floats, weighted: Floats, middle: Floats, limit: float, literal: int, of: Ints, to: Ints
) -> int:
    """Write those of some literals that exclude a literal to another list; return how many."""
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
def _grow(
    votes: Floats,
    weighted: Floats,
    middle: Floats,
    value: Floats,
    limit: float,
    seeds: Ints,
    least: float,
    longest: int,
    tries: int,
) -> tuple[Ints, Ints]:
    """Grow a clique from every seed, taking the first literal that fits again and again.

    Literals after which the clique could not get a value above ``least`` are passed over, a few
    times. Returns the members of the cliques of such a value, and where each of them begins.
    """
    n = len(votes)
    members = np.empty(len(seeds) * min(n, longest), np.int64)
    starts = np.zeros(len(seeds) + 1, np.int64)
    fits, narrower = np.empty(n, np.int64), np.empty(n, np.int64)
    found = begin = 0
    for seed in seeds:
        fits[:] = np.arange(n)
        literal, place, left = seed, -1, n
        size, total, failed = 0, 0.0, 0
        while size < longest and failed < tries:
            rest = fits[place + 1 : left]
            kept = _fitting(votes, weighted, middle, limit, literal, rest, narrower)
            if total + value[literal] + value[narrower[:kept]].sum() > least:
                members[begin + size] = literal
                size, total = size + 1, total + value[literal]
                fits, narrower = narrower, fits
                left, place = kept, -1
            else:
                failed += 1
            place += 1
            if place >= left or size == 0:
                break
            literal = fits[place]
        if total > least:
            begin += size
            found += 1
            starts[found] = begin
    return members[:begin], starts[: found + 1]


_VIOLATION = 1e-3  # cuts that z violates by less are not worth a row
_WORTH = 0.02  # literals of a smaller value do not violate anything
_SEEDS = 96
_CANDIDATES = 1500
_ENOUGH = 60  # with this number of cliques or rivals, trades are unnecessary
_TRADES = 40
_LONG = 14  # longer cuts are kept only if there are no others
# Work of a round without trades, and of a trade, about nanoseconds
_ROUND = 4 * 10**6
_TRADE = 10**6


class Separator:
    """Finds cuts that a z violates, whole or fractional.

    Parameters
    ----------
    problem : Problem
        What the cuts are for. Of very many patterns only the heaviest are looked at.
    seed : int
        Makes the cuts repeatable.

    Examples
    --------
    >>> from c2rf.forest.problem import make_problem
    >>> problem = make_problem([[1, -1, -1], [-1, 1, -1], [-1, -1, 1]], 0)
    >>> Separator(problem).cuts(np.array([0.5, 0.5, 0.5]))  # no two trees have a majority each
    [AtMost(literals=(0, 1, 2), most=1, multipliers=None)]
    """

    def __init__(self, problem: Problem, seed: int = 0) -> None:
        n = problem.n_patterns
        rows = heaviest(problem, np.arange(n), MAX_PATTERNS)
        self.rows, self.names = rows, np.concatenate([rows, n + rows])
        self.problem = replace(
            problem, patterns=problem.patterns[rows], counts=problem.counts[rows]
        )
        self.coalitions = Coalitions(self.problem)
        self.rng = np.random.default_rng(seed)
        self.cliques = Cliques(self.problem, self.names, self.rng)
        self.work = 0
        """How much work all cuts were, about nanoseconds."""

    def cuts(self, z: Floats, should_stop: Callable[[], bool] = lambda: False) -> list[AtMost]:
        """Return cuts that z violates, the most violated first; fewer if told to stop."""
        self.work += _ROUND
        value = np.concatenate([z[self.rows], 1 - z[self.rows]])
        before = self.cliques.work
        cliques = self.cliques.violated(value)
        self.work += self.cliques.work - before
        if len(cliques) >= _ENOUGH:
            return cliques
        names = self.coalitions.smallest(value, _WORTH)
        found = dict.fromkeys(_until(should_stop, self._rivals(names, value, 3)))
        if len(found) < _ENOUGH:
            likely = names[value[names] > 0.5]
            found |= dict.fromkeys(_until(should_stop, self._trades(likely, value)))
        short = [cut for cut in found if len(cut.literals) <= _LONG] or list(found)
        short.sort(key=lambda cut: (-_depth(cut, value), cut.literals))
        return cliques + [self._renamed(cut) for cut in short]

    def _renamed(self, cut: AtMost) -> AtMost:
        """Return the cut with the names of the whole problem."""
        return replace(cut, literals=tuple(self.names[list(cut.literals)].tolist()))

    def _lifted(
        self, literals: Ints, multipliers: Floats, most: int, winners: float, value: Floats
    ) -> Iterator[AtMost]:
        """Yield the lifted cut, if it is proven and violated."""
        lifted = self.coalitions.lift(literals, multipliers, winners, value)
        if lifted is not None and value[lifted].sum() > most + _VIOLATION:
            order = np.argsort(lifted)
            plain = bool((multipliers == 1).all())
            shown = None if plain else tuple(multipliers[order].tolist())
            yield AtMost(tuple(lifted[order].tolist()), most, shown)

    # Rivals

    def _rivals(self, names: Ints, value: Floats, most: int) -> Iterator[AtMost]:
        """Yield families of which at most ``most`` win and z promises more."""
        density = value[names] / np.maximum(1, self.coalitions.size[names])
        names = names[np.argsort(-density, kind="stable")[:_CANDIDATES]]
        if len(names) <= most:
            return
        for family in np.unique(self._grow(names, value[names], most + 1), axis=0):
            literals = names[family]
            if value[literals].sum() > most + _VIOLATION:
                yield from self._lifted(literals, np.ones(len(literals)), most, most + 1, value)

    def _grow(self, names: Ints, value: Floats, winners: int) -> Bools:
        """Grow families greedily, many at a time, from different seeds with different tastes."""
        votes = self.coalitions.votes[names].astype(float)
        n_seeds = min(_SEEDS, len(names))
        seeds = self.rng.choice(len(names), size=n_seeds, replace=False)
        # How much the room that a literal takes counts against its value.
        taste = self.rng.uniform(size=n_seeds) / (2 * np.abs(self.problem.lower).sum() + 1e-9)
        member = np.zeros((n_seeds, len(names)), dtype=bool)
        member[np.arange(n_seeds), seeds] = True
        load = votes[seeds]
        growing = np.arange(n_seeds)
        for size in range(2, len(names) + 1):
            # A literal brings +1 or -1 to each column.
            with_it, against_it = (
                self.coalitions.reach(load[growing] + vote, size, winners) for vote in (1, -1)
            )
            cost = (with_it - against_it) @ (votes.T > 0)
            reach = against_it.sum(axis=1)[:, None] + cost
            fits = (reach < winners * self.coalitions.spare) & ~member[growing]
            score = np.where(fits, value - taste[growing, None] * cost, -np.inf)
            best = score.argmax(axis=1)
            more = fits[np.arange(len(growing)), best]
            growing, best = growing[more], best[more]
            if len(growing) == 0:
                break
            member[growing, best] = True
            load[growing] += votes[best]
        return member

    # Trades

    def _trades(self, names: Ints, value: Floats) -> Iterator[AtMost]:
        """Yield sets of literals, all likely by z, that multipliers show to exclude each other."""
        k, q = len(names), self.problem.n_columns
        for bounded in (False, True):
            program = self._trade_program(names, bounded)
            for _ in range(_TRADES):
                taste = self.rng.uniform(0.5, 1.5, k) * self.coalitions.size[names] / q
                program.set_costs(np.append(20 * (1 - value[names]) + taste, np.zeros(2 * q)))
                optimum = program.solve()
                self.work += _TRADE
                if optimum is None or optimum.x is None:
                    break
                used = np.flatnonzero(optimum.x[:k] > 1e-9)
                y = optimum.x[used]
                yield from self._lifted(names[used], y, len(used) - 1, float(y.sum()), value)
                # The next trade must do without some of these.
                drop = used[self.rng.uniform(size=len(used)) < 0.3]
                drop = drop if len(drop) else used[:1]
                program.set_bounds(drop, np.zeros(len(drop)), np.zeros(len(drop)))

    def _trade_program(self, names: Ints, bounded: bool) -> LinearProgram:
        """Build the program of multipliers y with which the box keeps sum y_i a_i'alpha small.

        The columns are [y | c+ | c-] with c = sum y_i a_i. Without ``bounded`` c+ = 0: trades
        that no positive weights satisfy, whatever the box. They are short and lift well.
        """
        k, q = len(names), self.problem.n_columns
        n = k + 2 * q
        upper = np.full(n, np.inf)
        upper[k : k + q] = np.inf if bounded else 0.0
        program = LinearProgram(np.zeros(n), np.zeros(n), upper, primal=True)
        eye = np.eye(q)
        # sum y_i a_i - c+ + c- = 0
        balance = np.hstack([self.coalitions.votes[names].T.astype(float), -eye, eye])
        program.add_rows(sparse.csr_array(balance), np.zeros(q), np.zeros(q))
        # sum y_i = 1   and   max c'alpha = u'c+ - l'c- < 1
        one = np.append(np.ones(k), np.zeros(2 * q))
        most = np.concatenate([np.zeros(k), self.problem.upper, -self.problem.lower])
        less_than_one = 1 - 2 * (1 - self.coalitions.spare)
        program.add_rows(
            sparse.csr_array(np.array([one, most])),
            np.array([1.0, -np.inf]),
            np.array([1.0, less_than_one]),
        )
        return program


def _until(should_stop: Callable[[], bool], cuts: Iterator[AtMost]) -> Iterator[AtMost]:
    return takewhile(lambda _: not should_stop(), cuts)


def _depth(cut: AtMost, value: Floats) -> float:
    """Return how far z is beyond a cut, as a distance."""
    excess = value[list(cut.literals)].sum() - cut.most
    return float(round(excess / np.sqrt(len(cut.literals)), 9))
