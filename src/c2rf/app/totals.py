"""Totals checked while they are typed: sums, what is left for the rest, contradictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from c2rf._utils.text import count, short, span
from c2rf.data.totals import parse_range
from c2rf.exceptions import C2RFError
from c2rf.totals.stated import Estimate

MOST_GROUPS = 200
"""Groups that are shown."""


@dataclass(frozen=True)
class TotalsVerdict:
    """Whether totals can be met, and what to say about them."""

    is_good: bool
    said: str


def check_totals(
    typed: Mapping[str, str], classes: Sequence[str], n_rows: int, decimal: str | None = None
) -> TotalsVerdict:
    """Check totals of classes as they were typed.

    Parameters
    ----------
    typed : mapping of str to str
        Total of each class; empty text where none is known.
    classes : sequence of str
        All classes.
    n_rows : int
        How many rows there are to label.
    decimal : str, optional
        The decimal mark of the files.

    Examples
    --------
    >>> check_totals({"yes": "30", "no": ""}, ["no", "yes"], 100).said
    "30 of 100 rows have a class; 70 are left for 'no'"
    >>> check_totals({"yes": "130"}, ["no", "yes"], 100).said
    "'yes': at most 100 rows can have it; found 130"
    >>> check_totals({"yes": "1.300"}, ["no", "yes"], 2000, ",").said
    "1,300 of 2,000 rows have a class; 700 are left for 'no'"
    """
    ends: dict[str, tuple[int, int]] = {}
    for name, text in typed.items():
        if not text.strip():
            continue
        try:
            total = parse_range(text, f"the total of {name!r}", decimal)
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


def known_tables(task: Any) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield what is known and follows from it: for all rows, then for each margin.

    Parameters
    ----------
    task : Task
        A classification that was prepared, so that its totals do not contradict each other.
    """
    bounds = task.bounds
    everything = np.array([bounds.n_rows])
    yield "all rows", _table(task, ["all"], everything, bounds.lower[None], bounds.upper[None])
    if bounds.margins:
        for margin in bounds.margins:
            if margin.columns:
                sizes = margin.sums(bounds.group_sizes[:, None])[:, 0]
                yield _by(margin), _table(task, margin.names, sizes, margin.lower, margin.upper)
    elif task.groups.columns:
        lower, upper = bounds.group_lower, bounds.group_upper
        yield _by(task.groups), _table(task, task.groups.names, bounds.group_sizes, lower, upper)


def _by(margin: Any) -> str:
    return "by " + ", ".join(short(str(name)) for name in margin.columns)


def _table(task: Any, names: Sequence[Any], sizes: Any, lower: Any, upper: Any) -> pd.DataFrame:
    """Return a row per group: its rows, and what is known of each class in it."""
    shown = [", ".join(name) if isinstance(name, tuple) else str(name) for name in names]
    table = {"group": [short(name) for name in shown], "rows": [f"{n:,.0f}" for n in sizes]}
    for k, name in enumerate(task.classes):
        ends = zip(lower[:, k], upper[:, k], sizes, strict=True)
        table[short(name)] = [span(round(lo), round(hi), round(n)) for lo, hi, n in ends]
    return pd.DataFrame(table).head(MOST_GROUPS)
