"""Literals, cuts on them, and the conflict graph: signs that the box does not allow together.

A *literal* says that a pattern ``r`` is positive, or that it is negative. It is the vector ``r`` or
``-r``, and is true if its score under the weights is at least one. Among n patterns the literal "i
is positive" has the name i, "i is negative" the name n + i.

A *cut* says that at most k of some literals are true. Multipliers prove it: if the literals picked
were true, their scores would sum to more than the box allows (:func:`excludes`). With k - 1 of k
literals that is Farkas' lemma.

The *conflict graph* has all such cuts on one and two patterns. They follow from one condition:
literal ``a`` true and ``b`` false need ``alpha'(a - b) >= 2``, so

    max over the box of alpha'(a - b) / 2 < 1    implies    a -> b.

- ``r_k -> r_i`` is dominance, ``z_k <= z_i``;
- ``-r_i -> r_k`` is a conflict, ``z_i + z_k >= 1``; ``r_i -> -r_k`` its mirror, ``<= 1``;
- ``r_i -> -r_i`` is the condition on one pattern, ``z_i = 0``.

Implications are transitive, so only the irreducible ones are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from c2rf._utils.types import Bools, Floats, Ints
from c2rf.forest.problem import CERTIFICATE_SLACK, MARGIN_TOLERANCE, Problem, scores

MAX_PATTERNS = 10_000
"""Pairs are looked for among this many patterns at most, those with the most points.

The implications take (2 x MAX_PATTERNS)^2 bits, 50 MB, three times over.
"""

_BLOCK_ENTRIES = 1 << 22


@dataclass(frozen=True)
class Cut:
    """Of these literals at most ``most`` are true, as the multipliers prove.

    Without multipliers each literal counts once.
    """

    literals: tuple[int, ...]
    most: int
    multipliers: tuple[float, ...] | None = None


def cut_rows(cuts: Sequence[Cut], n: int) -> tuple[sparse.csr_array, Floats]:
    """Return the rows ``matrix @ z <= upper`` that state the cuts, over the z of n patterns.

    Examples
    --------
    >>> matrix, upper = cut_rows([Cut((0, 3), 1)], 2)  # z_0 + (1 - z_1) <= 1
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


def greatest_scores(problem: Problem, load: Floats, total: float, picked: float) -> Floats:
    """Return the most that each column can add to the scores of some of the given literals.

    The literals a_i have multipliers y_i, ``total`` in all, and the load sum y_i a_i. Those with
    multipliers of ``picked`` in all are chosen as favourably as possible.
    """
    # With d_j the multipliers of the picked literals that have +1 in column j, the column adds
    # alpha_j (2 d_j - picked),  and  d_j is at least what cannot be left out.
    degree = (load + total) / 2
    most = 2 * np.minimum(degree, picked) - picked
    least = 2 * np.maximum(0.0, degree - (total - picked)) - picked
    low, high = problem.lower, problem.upper
    return np.maximum.reduce([most * low, most * high, least * low, least * high])


def excludes(problem: Problem, literals: NDArray[np.int8], y: Floats, picked: float) -> bool:
    """Check that true literals cannot have multipliers of ``picked`` together.

    Their scores would be at least ``picked`` in all, more than the box allows.

    Parameters
    ----------
    problem : Problem
        The box.
    literals : ndarray of -1/+1, shape (k, n_columns)
        The literals.
    y : ndarray of float, shape (k,)
        Their multipliers: whole numbers, or ``picked`` is their sum.
    picked : float
        The sum of multipliers of true literals that is excluded.
    """
    reach = greatest_scores(problem, y @ literals.astype(float), float(y.sum()), picked).sum()
    return bool((y >= 0).all() and reach < picked * (1 - slack(problem)))


@dataclass(frozen=True, eq=False)
class ConflictGraph:
    """What the box says about the signs of one and of two patterns: the irreducible conditions.

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
    >>> graph = build_conflict_graph(problem)
    >>> graph.fixed_positive, graph.dominance, graph.opposite
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

    def cuts(self, n: int) -> list[Cut]:
        """Return the pairs as cuts on the literals of n patterns.

        Examples
        --------
        >>> from c2rf.forest.problem import make_problem
        >>> build_conflict_graph(make_problem([[1, -1, -1], [1, 1, -1]], 1)).cuts(2)
        [Cut(literals=(0, 3), most=1, multipliers=None)]
        """
        kinds = [
            # z_k <= z_i: not k without i
            (self.dominance, (0, n)),
            # z_i + z_k >= 1: not both negative;  z_i + z_k <= 1: not both positive
            (self.conflict, (n, n)),
            (self.mirror, (0, 0)),
            # z_i = z_k,   z_i + z_k = 1
            (self.equal, (0, n)),
            (self.equal, (n, 0)),
            (self.opposite, (0, 0)),
            (self.opposite, (n, n)),
        ]
        named = [pair for pairs, shift in kinds for pair in (pairs + np.array(shift)).tolist()]
        return [Cut((a, b), 1) for a, b in named]


def build_conflict_graph(problem: Problem, max_patterns: int = MAX_PATTERNS) -> ConflictGraph:
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
    ConflictGraph
        Its docstring has an example.
    """
    spare = 1 - slack(problem)
    least, most = problem.least(), problem.most()
    # A row that every alpha satisfies says nothing about other rows.
    rows = np.flatnonzero((least < 1) & (most > -1))
    rows = heaviest(problem, rows, max_patterns)
    # Both literals of each row, sorted by their scores in the middle of the box. a -> b needs
    # s_a < s_b + 2, and if it holds with s_a >= s_b, so does b -> a: implications go up, or
    # both ways.
    middle = scores(problem.patterns[rows], (problem.lower + problem.upper) / 2)
    middle = np.concatenate([middle, -middle])
    names = np.argsort(middle, kind="stable")
    votes = np.concatenate([problem.patterns[rows], -problem.patterns[rows]])[names]
    up, group = _implications(votes, middle[names], problem.upper - problem.lower, spare)
    edges, reach = _reduce(up)
    leader = _leaders(names, group)
    true = _forced(names, reach, leader)
    always = np.zeros((2, problem.n_patterns), dtype=bool)
    always[:, rows] = true.reshape(2, -1)
    positive, negative = always | [least > -spare, most < spare]
    fixed = (positive | negative)[rows]
    pairs = _pairs_by_kind(leader[names[edges]], leader, len(rows), fixed)
    return ConflictGraph(
        fixed_positive=np.flatnonzero(positive & ~negative),
        fixed_negative=np.flatnonzero(negative & ~positive),
        impossible=np.flatnonzero(positive & negative),
        **{kind: rows[found] for kind, found in pairs.items()},
        n_implied=sum(row.bit_count() for row in up) // 2,
    )


def _implications(
    votes: NDArray[np.int8], middle: Floats, widths: Floats, spare: float
) -> tuple[list[int], Ints]:
    """Return the literals above each that it implies, as bits, and a group for each literal.

    Literals that imply each other are in one group.
    """
    n = len(middle)
    values = votes.astype(np.float64)
    # With s the middle scores, W the widths of the box, G_ab = sum_j W_j a_j b_j:
    # max alpha'(a - b) / 2 = (s_a - s_b) / 2 + (sum W - G_ab) / 4 < 1
    weighted = np.hstack([values * widths, np.ones((n, 1))])
    plus = np.hstack([values, 2 * middle[:, None]])
    minus = np.hstack([values, -2 * middle[:, None]])
    least_sum = 2 * middle + widths.sum() - 4 * spare
    least_difference = least_sum - 4 * middle
    near = np.searchsorted(middle, middle + 2)
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
    links = sparse.coo_array((np.ones(len(pairs), dtype=bool), tuple(group[pairs].T)), shape=(n, n))
    joined: Ints = connected_components(links, directed=False)[1].astype(np.int64)
    return joined[group]


def _reduce(up: list[int]) -> tuple[Ints, list[int]]:
    """Return the irreducible implications, as positions, and all that each literal implies."""
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


def _forced(names: Ints, reach: list[int], leader: Ints) -> Bools:
    """Return for each name whether the literal must be true."""
    n = len(reach)
    group = leader[names]
    place = np.argsort(names)
    opposite = place[(names + n // 2) % max(n, 1)]
    # not a -> a, or both in one group (and then no signs are allowed)
    true = group == group[opposite]
    pairs = enumerate(opposite.tolist())
    true |= np.array([reach[other] >> here & 1 for here, other in pairs], dtype=bool)
    before = -1
    while before < true.sum():
        before = true.sum()
        implied = reduce(or_, (reach[p] for p in np.flatnonzero(true)), 0)
        true |= _as_flags(implied, n)
        true = np.isin(group, group[true])
    return true[place]


def _pairs_by_kind(edges: Ints, leader: Ints, n: int, fixed: Bools) -> dict[str, Ints]:
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
