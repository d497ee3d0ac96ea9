"""Totals checked while they are typed: sums, what is left for the rest, contradictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from c2rf._text import count, short
from c2rf.exceptions import C2RFError
from c2rf.totals.estimate import Estimate
from c2rf.totals.parse_text import parse_range


@dataclass(frozen=True)
class TotalsVerdict:
    """Whether totals can be met, and what to say about them."""

    is_good: bool
    said: str


def check_totals(typed: Mapping[str, str], classes: Sequence[str], n_rows: int) -> TotalsVerdict:
    """Check totals of classes as they were typed.

    Parameters
    ----------
    typed : mapping of str to str
        Total of each class; empty text where none is known.
    classes : sequence of str
        All classes.
    n_rows : int
        How many rows there are to label.

    Examples
    --------
    >>> check_totals({"yes": "30", "no": ""}, ["no", "yes"], 100).said
    "30 of 100 rows have a class; 70 are left for 'no'"
    >>> check_totals({"yes": "130"}, ["no", "yes"], 100).said
    "'yes': at most 100 rows can have it; found 130"
    """
    ends: dict[str, tuple[int, int]] = {}
    for name, text in typed.items():
        if not text.strip():
            continue
        try:
            total = parse_range(text, f"the total of {name!r}")
        except C2RFError as error:
            return TotalsVerdict(False, str(error))
        exact = total.value if isinstance(total, Estimate) else total
        low, high = exact if isinstance(exact, tuple) else (exact, exact)
        ends[name] = _rows(low, n_rows), _rows(high, n_rows)
        if not 0 <= ends[name][0] <= ends[name][1] <= n_rows:
            return TotalsVerdict(
                False, f"{short(name)!r}: at most {count(n_rows, 'row')} can have it; found {text}"
            )
    return _sums(ends, [name for name in classes if name not in ends], n_rows)


def _rows(total: float, n_rows: int) -> int:
    """Return how many rows a total is; a rate of them is rounded."""
    return total if isinstance(total, int) else round(total * n_rows)


def _sums(ends: Mapping[str, tuple[int, int]], free: Sequence[str], n_rows: int) -> TotalsVerdict:
    low, high = (sum(pair[k] for pair in ends.values()) for k in (0, 1))
    if not ends:
        return TotalsVerdict(
            False, "Type the known total of at least one class: 1234, 12% or 1200..1300"
        )
    if low > n_rows:
        return TotalsVerdict(False, f"the totals add up to {low:,}, but there are {n_rows:,} rows")
    if not free and high < n_rows:
        return TotalsVerdict(
            False,
            f"the totals add up to {high:,}, but there are {n_rows:,} rows: every row needs a"
            " class",
        )
    if not free:
        return TotalsVerdict(True, f"the totals add up to all {n_rows:,} rows")
    if len(free) > 1:
        names = ", ".join(repr(short(name)) for name in free)
        return TotalsVerdict(False, f"all classes but one need a total; missing: {names}")
    return TotalsVerdict(
        True,
        f"{low:,} of {n_rows:,} rows have a class; {n_rows - low:,} are left for "
        f"{short(free[0])!r}",
    )
