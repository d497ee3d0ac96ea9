"""Rows over z, each with the multipliers that prove it.

A row says "of these literals at most k are true". Rows are found with floats; before one is
used in a proof, it is proven again in whole numbers, on the votes and the box of the user.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from c2rf._typing import Floats, Ints
from c2rf.core.certificate import Box, Statement
from c2rf.solver.implications import Structure

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
    >>> from c2rf.core.problem import make_problem
    >>> from c2rf.solver.implications import find_structure
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
