"""Cliques: literals of which no two are true together, so at most one of them is.

Two literals a and b exclude each other if the box cannot give both a score of one:

    2 max alpha'(a + b) = m_a + m_b + sum_j W_j (1 + a_j b_j) < 4

with W the widths of the box, m = (lower + upper)'a, and all a_j, b_j being -1 or +1. That is so
cheap to compute that the graph of exclusions is never stored, only walked through.
"""

from __future__ import annotations

import numpy as np

from c2rf._compiled import compiled, summing
from c2rf._typing import Floats, Ints
from c2rf.core.problem import Problem
from c2rf.solver.implications import slack
from c2rf.solver.proof.rows import AtMost

_VIOLATION = 1e-3
_WORTH = 0.02  # literals of a smaller value do not violate anything
_SEEDS = 600  # or a quarter of all: tried at a time, until a tenth of them has found a clique
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
    >>> from c2rf.core.problem import make_problem
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
        order = order[value[order] > _WORTH]
        found: dict[tuple[int, ...], float] = {}
        seeds = self._rng.permutation(len(order))
        at_once = max(_SEEDS, len(order) // 4)
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
            1 + _VIOLATION,
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
