"""Cuts on z: what three and more patterns cannot do together.

Two facts make cuts, with :class:`~c2rf.solver.proof.coalitions.Coalitions` as the judge of both:

- **Rivals.** If every column is in few of k coalitions, few of them win: of coalitions that share
  no column one at most, of coalitions that have every column at most twice three at most.
- **Trades.** If multipliers on k literals make the box unable to satisfy all of them (a Farkas
  certificate), at most k - 1 hold.

Rivals are grown greedily, trades are found by linear programs, and both are lifted: exchanged for
the largest coalitions for which the proof still holds. That makes a few cuts do the work of
hundreds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import takewhile

import numpy as np
from scipy import sparse

from c2rf._typing import Bools, Floats, Ints
from c2rf.core.problem import Problem
from c2rf.solver.implications import MAX_PATTERNS, heaviest
from c2rf.solver.proof.cliques import Cliques
from c2rf.solver.proof.coalitions import Coalitions
from c2rf.solver.proof.linear import LinearProgram
from c2rf.solver.proof.rows import AtMost

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
    >>> from c2rf.core.problem import make_problem
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
