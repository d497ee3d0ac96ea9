"""Signs that the box cannot give together, for one pattern and for two.

A *literal* is a wished sign: the row ``r`` for "pattern r is positive", ``-r`` for "negative".
One condition on two literals says everything there is to say about one or two patterns.
``a`` positive and ``b`` negative at once need ``alpha'(a - b) >= 2``, so

    max over the box of alpha'(a - b) / 2 < 1    implies    a -> b.

- ``r_k -> r_i`` is dominance, ``z_k <= z_i``;
- ``-r_i -> r_k`` is a conflict, ``z_i + z_k >= 1``; ``r_i -> -r_k`` its mirror, ``<= 1``;
- ``r_i -> -r_i`` is the condition on one pattern, ``z_i = 0``.

Implications are transitive, so only the irreducible ones are kept: those that do not follow
from the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from c2rf._utils.types import Bools, Floats, Ints
from c2rf.forest.problem import CERTIFICATE_SLACK, MARGIN_TOLERANCE, Problem, scores

MAX_PATTERNS = 10_000
"""Pairs are looked for among this many patterns at most, those with the most points.

The implications take (2 x MAX_PATTERNS)^2 bits, 50 MB, three times over.
"""

_BLOCK_ENTRIES = 1 << 22


@dataclass(frozen=True, eq=False)
class Structure:
    """What the box says about the signs of one and of two patterns, without repetition.

    Parameters
    ----------
    fixed_positive, fixed_negative : ndarray of int64, shape (n,)
        Patterns that can have one sign only.
    impossible : ndarray of int64, shape (n,)
        Patterns that can have neither: the box is infeasible if there are any.
    dominance : ndarray of int64, shape (n, 2)
        Pairs (k, i) with z_k <= z_i.
    conflict : ndarray of int64, shape (n, 2)
        Pairs (i, k) with z_i + z_k >= 1.
    mirror : ndarray of int64, shape (n, 2)
        Pairs (i, k) with z_i + z_k <= 1.
    equal, opposite : ndarray of int64, shape (n, 2)
        Pairs (i, k) with z_i = z_k, and with z_i + z_k = 1. Other pairs name k no more.
    n_implied : int
        Number of pair conditions that hold, before those that follow from others were dropped.

    Examples
    --------
    >>> from c2rf.forest.problem import make_problem
    >>> problem = make_problem([[1, -1, -1], [1, 1, -1], [1, 1, 1], [-1, -1, 1]], 1)
    >>> problem.patterns
    array([[ 1, -1, -1],
           [ 1,  1, -1],
           [-1, -1,  1],
           [ 1,  1,  1]], dtype=int8)
    >>> found = find_structure(problem)
    >>> found.fixed_positive, found.dominance, found.opposite
    (array([3]), array([[0, 1]]), array([[1, 2]]))
    """

    fixed_positive: Ints
    fixed_negative: Ints
    impossible: Ints
    dominance: Ints
    conflict: Ints
    mirror: Ints
    equal: Ints
    opposite: Ints
    n_implied: int

    @property
    def n_pairs(self) -> int:
        """Number of irreducible pairs."""
        kinds = (self.dominance, self.conflict, self.mirror, self.equal, self.opposite)
        return sum(len(pairs) for pairs in kinds)


def slack(problem: Problem) -> float:
    """Return how much a condition must have to spare to exclude signs on this problem.

    Weights and margins within tolerance and the rounding of sums stay below it.
    """
    size = np.maximum(np.abs(problem.lower), np.abs(problem.upper)).sum()
    rounding = 8 * np.finfo(float).eps * problem.n_columns * float(size)
    return CERTIFICATE_SLACK + MARGIN_TOLERANCE * (problem.n_columns + 1) + rounding


def heaviest(problem: Problem, rows: Ints, most: int) -> Ints:
    """Return at most that number of these patterns, in order: those with the most points."""
    if len(rows) <= most:
        return rows
    return np.sort(rows[np.argsort(-problem.counts[rows], kind="stable")[:most]])


def find_structure(problem: Problem, max_patterns: int = MAX_PATTERNS) -> Structure:
    """Find the signs that one and two patterns cannot have.

    Parameters
    ----------
    problem : Problem
        Patterns and boxes; the counts only decide which patterns are left out if there are
        more than ``max_patterns``.
    max_patterns : int
        Pairs are looked for among at most this many patterns. Fewer pairs are still valid.

    Returns
    -------
    Structure
        Its docstring has an example.
    """
    spare = 1 - slack(problem)
    least, most = problem.least(), problem.most()
    # A row that every alpha satisfies says nothing about other rows.
    rows = np.flatnonzero((least < 1) & (most > -1))
    rows = heaviest(problem, rows, max_patterns)
    literals = _Literals.of(problem, rows)
    up, group = _direct(literals, problem.upper - problem.lower, spare)
    edges, reach = _reduce(up)
    leader = _leaders(literals.names, group)
    true = _forced(literals, reach, leader)
    always = np.zeros((2, problem.n_patterns), dtype=bool)
    always[:, rows] = true.reshape(2, -1)
    positive, negative = always | [least > -spare, most < spare]
    named = leader[literals.names[edges]]
    pairs = _sort_out(named, leader, len(rows), (positive | negative)[rows])
    return Structure(
        fixed_positive=np.flatnonzero(positive & ~negative),
        fixed_negative=np.flatnonzero(negative & ~positive),
        impossible=np.flatnonzero(positive & negative),
        **{kind: rows[found] for kind, found in pairs.items()},
        n_implied=sum(row.bit_count() for row in up) // 2,
    )


@dataclass(frozen=True, eq=False)
class _Literals:
    """Both literals of n rows, sorted by the score they have in the middle of the box.

    The name of a literal is i for "row i is positive" and n + i for "row i is negative".
    a -> b needs s_a < s_b + 2, and if it holds with s_a >= s_b, so does b -> a: sorted by s,
    implications go up, or both ways.
    """

    values: NDArray[np.int8]
    scores: Floats
    names: Ints

    @classmethod
    def of(cls, problem: Problem, rows: Ints) -> _Literals:
        patterns = problem.patterns[rows]
        middle = scores(patterns, (problem.lower + problem.upper) / 2)
        both = np.concatenate([middle, -middle])
        names = np.argsort(both, kind="stable")
        return cls(np.concatenate([patterns, -patterns])[names], both[names], names)

    def opposite(self) -> Ints:
        """Return for each place the place of the opposite literal."""
        n = len(self.names)
        place = np.empty(n, dtype=np.int64)
        place[self.names] = np.arange(n)
        return place[(self.names + n // 2) % n] if n else place


def _direct(literals: _Literals, widths: Floats, spare: float) -> tuple[list[int], Ints]:
    """Return the literals above each that it implies, as bits, and a group for each literal.

    Literals that imply each other are in one group.
    """
    n = len(literals.scores)
    values = literals.values.astype(np.float64)
    # With s the middle scores, W the widths of the box, G_ab = sum_j W_j a_j b_j:
    # max alpha'(a - b) / 2 = (s_a - s_b) / 2 + (sum W - G_ab) / 4 < 1
    weighted = np.hstack([values * widths, np.ones((n, 1))])
    plus = np.hstack([values, 2 * literals.scores[:, None]])
    minus = np.hstack([values, -2 * literals.scores[:, None]])
    least_sum = 2 * literals.scores + widths.sum() - 4 * spare
    least_difference = least_sum - 4 * literals.scores
    near = np.searchsorted(literals.scores, literals.scores + 2)
    up: list[int] = []
    group = np.arange(n)
    step = max(1, _BLOCK_ENTRIES // max(n, 1))
    for start in range(0, n, step):
        rows, above = slice(start, start + step), slice(start, None)
        holds = np.triu(weighted[rows] @ plus[above].T > least_sum[rows, None], k=1)
        up += [row << start for row in _as_bits(holds)]
        close = slice(start, near[rows][-1])
        back = np.triu(weighted[rows] @ minus[close].T > least_difference[rows, None], k=1)
        if back.any():
            group = _join(group, np.argwhere(back) + start)
    return up, group


def _as_bits(flags: Bools) -> list[int]:
    """Return each row as an integer, column p as bit p."""
    packed = np.packbits(flags, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


def _as_flags(bits: int, n: int) -> Bools:
    """Undo :func:`_as_bits` for one row."""
    packed = np.frombuffer(bits.to_bytes(-(-n // 8), "little"), dtype=np.uint8)
    return np.unpackbits(packed, bitorder="little", count=n).astype(bool)


def _join(group: Ints, pairs: Ints) -> Ints:
    """Put the members of each pair in one group."""
    n = len(group)
    links = coo_array((np.ones(len(pairs), dtype=bool), tuple(group[pairs].T)), shape=(n, n))
    joined: Ints = connected_components(links, directed=False)[1].astype(np.int64)
    return joined[group]


def _reduce(up: list[int]) -> tuple[Ints, list[int]]:
    """Return the irreducible implications, as places, and all that each literal implies."""
    reach = [0] * len(up)
    edges: list[tuple[int, int]] = []
    for here in reversed(range(len(up))):
        implied, rest = up[here], up[here]
        while rest:
            # Nothing lies between a literal and the lowest of those it implies.
            lowest = rest & -rest
            there = lowest.bit_length() - 1
            edges.append((here, there))
            rest &= ~(reach[there] | lowest)
            implied |= reach[there]
        reach[here] = implied
    return np.array(edges, dtype=np.int64).reshape(-1, 2), reach


def _leaders(names: Ints, group: Ints) -> Ints:
    """Return for each name the literal of the first row in its group.

    The opposites of a group are a group, too: it is led by the opposite literal.
    """
    n = len(names)
    group_of = np.empty(n, dtype=np.int64)
    group_of[names] = group
    by_row = np.argsort(np.arange(n) % max(n // 2, 1), kind="stable")
    _, first, which = np.unique(group_of[by_row], return_index=True, return_inverse=True)
    leader = np.empty(n, dtype=np.int64)
    leader[by_row] = by_row[first][which]
    return leader


def _forced(literals: _Literals, reach: list[int], leader: Ints) -> Bools:
    """Return for each name whether the literal must be true."""
    n = len(reach)
    group = leader[literals.names]
    opposite = literals.opposite()
    # not a -> a, or both in one group (and then no signs will do)
    true = group == group[opposite]
    pairs = enumerate(opposite.tolist())
    true |= np.array([reach[other] >> place & 1 for place, other in pairs], dtype=bool)
    before = -1
    while before < true.sum():
        before = true.sum()
        implied = reduce(or_, (reach[p] for p in np.flatnonzero(true)), 0)
        true |= _as_flags(implied, n)
        true = np.isin(group, group[true])
    by_name = np.empty(n, dtype=bool)
    by_name[literals.names] = true
    return by_name


def _sort_out(edges: Ints, leader: Ints, n: int, fixed: Bools) -> dict[str, Ints]:
    """Return the pairs of each kind; a -> b and not b -> not a are the same pair."""
    rows, negative = edges % max(n, 1), edges >= n
    useful = (edges[:, 0] != edges[:, 1]) & ~fixed[rows].any(axis=1)
    a, b = negative.T
    dominance = np.concatenate([rows[useful & ~a & ~b], rows[useful & a & b][:, ::-1]])
    lead_row, lead_negative = leader[:n] % max(n, 1), leader[:n] >= n
    follower = (lead_row != np.arange(n)) & ~fixed
    links = np.column_stack([lead_row, np.arange(n)])
    return {
        "dominance": np.unique(dominance, axis=0),
        "conflict": np.unique(np.sort(rows[useful & a & ~b], axis=1), axis=0),
        "mirror": np.unique(np.sort(rows[useful & ~a & b], axis=1), axis=0),
        "equal": links[follower & ~lead_negative],
        "opposite": links[follower & lead_negative],
    }
