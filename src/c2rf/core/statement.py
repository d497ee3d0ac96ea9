"""From the user's votes and numbers to the statement that a certificate is about."""

from __future__ import annotations

from fractions import Fraction

from c2rf.core.certificate import Statement
from c2rf.core.votes import PatternTable


def make_statement(
    table: PatternTable,
    total: int,
    lower: float,
    upper: float,
    offset: tuple[float, float] | None = None,
) -> Statement:
    """Write a problem in whole numbers; floats are the exact fractions they stand for.

    Examples
    --------
    >>> table = PatternTable.from_votes([[1, -1], [1, 1], [1, -1]])
    >>> make_statement(table, 1, 0.5, 100).lower
    Fraction(1, 2)
    """
    ends = None if offset is None else (Fraction(float(offset[0])), Fraction(float(offset[1])))
    return Statement(
        table.n_trees,
        _whole_numbers(table),
        table.counts.tolist(),
        total,
        Fraction(float(lower)),
        Fraction(float(upper)),
        ends,
    )


def _whole_numbers(table: PatternTable) -> list[int]:
    """Return each pattern as a number whose bit j is 1 where tree j votes +1."""
    patterns = [0] * table.n_patterns
    for place in reversed(range(table.words.shape[1])):
        patterns = [
            high << 64 | low
            for high, low in zip(patterns, table.words[:, place].tolist(), strict=True)
        ]
    return patterns
