"""All labels that weights in a small box can give, in rational arithmetic; nothing of c2rf is used.

The weights that give the patterns certain signs, with their margins, are a polytope. If there are
any, there are some at a vertex of it, where as many of the sides of the box and of the margins meet
as there are columns. So the signs at all points where sides meet are all signs that there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

SLACK = Fraction(1, 10**9)
Votes = list[list[int]]
Ends = list[tuple[Fraction, Fraction]]


def labels(votes: Votes, box: Ends) -> set[tuple[int, ...]]:
    """Return all z that weights in the widened box give with margins of one less the tolerance."""
    wide = [(low - SLACK, high + SLACK) for low, high in box]
    found = set()
    for alpha in _vertices(votes, wide):
        if all(low <= a <= high for a, (low, high) in zip(alpha, wide, strict=True)):
            scores = [sum(a * v for a, v in zip(alpha, row, strict=True)) for row in votes]
            if all(abs(score) >= 1 - SLACK for score in scores):
                found.add(tuple(int(score > 0) for score in scores))
    return found


def _vertices(votes: Votes, box: Ends) -> Iterator[list[Fraction]]:
    """Yield the points where as many sides meet as there are columns."""
    n = len(box)
    units = [[int(j == k) for k in range(n)] for j in range(n)]
    sides = [(unit, list(ends)) for unit, ends in zip(units, box, strict=True)]
    # r and -r have the same sides.
    rows = {tuple(v * row[-1] for v in row) for row in votes}
    sides += [(list(row), [1 - SLACK, SLACK - 1]) for row in sorted(rows)]
    for chosen in combinations(sides, n):
        inverse = _inverse([row for row, _ in chosen])
        if inverse is None:
            continue
        points = [[Fraction(0)] * n]
        for k, (_, ends) in enumerate(chosen):
            points = [
                [x + inverse[j][k] * end for j, x in enumerate(point)]
                for point in points
                for end in ends
            ]
        yield from points


def _inverse(rows: Votes) -> list[list[Fraction]] | None:
    """Return the inverse of a matrix, None if it has none."""
    n = len(rows)
    work = [[Fraction(x) for x in row] + [Fraction(j == k) for k in range(n)] for j, row in
            enumerate(rows)]  # fmt: skip
    for k in range(n):
        pivot = next((j for j in range(k, n) if work[j][k]), None)
        if pivot is None:
            return None
        work[k], work[pivot] = work[pivot], work[k]
        work[k] = [x / work[k][k] for x in work[k]]
        for j in range(n):
            if j != k and work[j][k]:
                work[j] = [x - work[j][k] * y for x, y in zip(work[j], work[k], strict=True)]
    return [row[n:] for row in work]
