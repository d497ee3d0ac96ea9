"""Literals, cuts on them, and the conflict graph: signs that the box does not allow together.

A *literal* says that a pattern ``r`` is positive, or that it is negative. It is the vector ``r`` or
``-r``, and is true if its score under the weights is at least one. Among n patterns the literal "i
is positive" has the name i, "i is negative" the name n + i.

A *cut* says that at most k of some literals are true. That not all of them are is proven by
multipliers: if they were, their scores would sum to more than the box allows (:func:`excludes`).
That is Farkas' lemma.

The *conflict graph* has all such cuts on two patterns. They follow from one condition:
literal ``a`` true and ``b`` false need ``alpha'(a - b) >= 2``, so

    max over the box of alpha'(a - b) / 2 < 1    implies    a -> b.

- ``r_k -> r_i`` is dominance, ``z_k <= z_i``;
- ``-r_i -> r_k`` is a conflict, ``z_i + z_k >= 1``; ``r_i -> -r_k`` its mirror, ``<= 1``.

Implications are transitive, so only the irreducible ones are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from c2rf._utils.types import Floats, Ints
from c2rf.forest.problem import CERTIFICATE_SLACK, MARGIN_TOLERANCE, Problem, scores

MAX_PATTERNS = 10_000
"""Pairs are looked for among this many patterns at most, those with the most points.

The implications take (2 x MAX_PATTERNS)^2 bits, 50 MB, three times over.
"""

_MOST_PRODUCTS = 10**10  # of votes, to find pairs: a second or so
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


def greatest_scores(problem: Problem, load: Floats) -> Floats:
    """Return the most that each column can add to a sum of scores with these coefficients."""
    return np.maximum(load * problem.lower, load * problem.upper)


def excludes(problem: Problem, literals: NDArray[np.int8], y: Floats) -> bool:
    """Check that the multipliers y >= 0 show that not all of the literals are true.

    Otherwise their scores would be at least ``sum(y)`` in all, more than the box allows.
    """
    reach = greatest_scores(problem, y @ literals.astype(float)).sum()
    return bool((y >= 0).all() and reach < y.sum() * (1 - slack(problem)))


def pair_cuts(problem: Problem, max_patterns: int = MAX_PATTERNS) -> list[Cut]:
    """Return the irreducible cuts on two literals: the edges of the conflict graph.

    Where weights may differ by less than one, some that say that patterns are equal are left out;
    the search for cliques finds them.

    Parameters
    ----------
    problem : Problem
        Patterns and boxes; the counts only decide which patterns are left out if there are
        more than ``max_patterns``.
    max_patterns : int
        Pairs are looked for among at most this many patterns. Fewer pairs are still valid.

    Examples
    --------
    >>> from c2rf.forest.problem import make_problem
    >>> pair_cuts(make_problem([[1, -1, -1], [1, 1, -1]], 1))  # z_0 <= z_1
    [Cut(literals=(0, 3), most=1, multipliers=None)]
    """
    n = problem.n_patterns
    most = min(max_patterns, isqrt(_MOST_PRODUCTS // (4 * problem.n_columns)))
    rows, spare = heaviest(problem, np.arange(n), most), 1 - slack(problem)
    # Both literals of each row, sorted by their scores in the middle of the box. a -> b needs
    # s_a < s_b + 2, and if it holds with s_a >= s_b, so does b -> a: implications go up, or
    # both ways.
    middle = scores(problem.patterns[rows], (problem.lower + problem.upper) / 2)
    middle = np.concatenate([middle, -middle])
    order = np.argsort(middle, kind="stable")
    votes = np.concatenate([problem.patterns[rows], -problem.patterns[rows]])[order]
    up = _implications(votes, middle[order], problem.upper - problem.lower, spare)
    edges = _irreducible(up)
    half = (votes[edges[:, 1]] - votes[edges[:, 0]]) // 2
    back = (half > 0) @ problem.upper - (half < 0) @ problem.lower < spare
    edges = np.concatenate([edges, edges[back][:, ::-1]])
    # a -> b is the cut "not a and not-b"; not-b -> not-a is the same one.
    a, b = np.concatenate([rows, n + rows])[order[edges]].T
    pairs = np.unique(np.sort(np.column_stack([a, (b + n) % (2 * n)]), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]  # a -> not-a, which the box decides by itself
    # First z_k <= z_i, then z_i + z_k >= 1, then z_i + z_k <= 1
    kind = np.select([pairs[:, 0] >= n, pairs[:, 1] < n], [1, 2])
    return [Cut((a, b), 1) for a, b in pairs[np.argsort(kind, kind="stable")].tolist()]


def _implications(
    votes: NDArray[np.int8], middle: Floats, widths: Floats, spare: float
) -> list[int]:
    """Return the literals above each that it implies, as bits."""
    values = votes.astype(np.float64)
    # With s the middle scores, W the widths of the box, G_ab = sum_j W_j a_j b_j:
    # max alpha'(a - b) / 2 = (s_a - s_b) / 2 + (sum W - G_ab) / 4 < 1
    weighted = np.hstack([values * widths, np.ones((len(middle), 1))])
    plus = np.hstack([values, 2 * middle[:, None]])
    least_sum = 2 * middle + widths.sum() - 4 * spare
    up: list[int] = []
    step = max(1, _BLOCK_ENTRIES // max(len(middle), 1))
    for start in range(0, len(middle), step):
        rows = slice(start, start + step)
        holds = np.triu(weighted[rows] @ plus[start:].T > least_sum[rows, None], k=1)
        packed = np.packbits(holds, axis=1, bitorder="little")
        up += [int.from_bytes(row.tobytes(), "little") << start for row in packed]
    return up


def _irreducible(up: list[int]) -> Ints:
    """Return the implications that do not follow from others, as pairs of positions."""
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
    return np.array(edges, dtype=np.int64).reshape(-1, 2)
