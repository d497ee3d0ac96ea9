"""Totals of groups, written short in tests, as the tables that users give."""

from __future__ import annotations

from typing import Any


def margin(by_group: dict[Any, dict[Any, Any]], *columns: str) -> list[dict[str, Any]]:
    """Return the rows of a table of totals; the grouping column is ``group`` by default."""
    names = columns or ("group",)
    return [
        {**dict(zip(names, group if len(names) > 1 else (group,), strict=True))}
        | {"class": label, "total": total}
        for group, row in by_group.items()
        for label, total in row.items()
    ]


def totals_of(
    overall: dict[Any, Any] | None, by_group: dict[Any, dict[Any, Any]] | None, *columns: str
) -> Any:
    """Return overall totals and totals of groups as one argument; None for neither."""
    if by_group is None:
        return overall
    rows = margin(by_group, *columns)
    return rows if overall is None else [overall, *([rows] if rows else [])]
