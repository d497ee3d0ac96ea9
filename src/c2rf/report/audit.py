"""The report of an audit: how many labels are right, by rows that were checked by hand."""

from __future__ import annotations

from typing import Any

import pandas as pd

from c2rf._utils.text import count, percent, short
from c2rf.report.page import Block, Page, Section, Table, Text, need, render

SURPRISING = 0.05
"""An expected accuracy with a smaller p-value than this is called wrong."""


def audit_lines(audit: Any) -> list[tuple[str, str]]:
    """Say what was found, as names and sentences."""
    found = audit.accuracy
    lines = [
        ("checked", f"{count(audit.n_checked, 'row')} of {audit.n_rows:,}"),
        ("right", f"{percent(found.estimate)} of the labels ({percent(found.low)} to "
                  f"{percent(found.high)})"),
    ]  # fmt: skip
    if audit.n_undecided:
        rows = count(audit.n_undecided, "row")
        sentence = f"{rows} could not be decided: the intervals hold either way, and are wider"
        lines.insert(1, ("undecided", sentence))
    if audit.expected is not None:
        lines.append(("expected", expected_or_not(audit)))
    return lines


def expected_or_not(audit: Any) -> str:
    """Say what the confidences promise, and whether that can be."""
    if audit.p_value is None:
        return f"{percent(audit.expected)} by the confidences"
    verdict = "is more than chance" if audit.p_value < SURPRISING else "may be chance"
    return (
        f"{percent(audit.expected)} by the confidences; the difference {verdict} "
        f"(p = {audit.p_value:.2g})"
    )


def audit_page(audit: Any) -> str:
    """Return the report of an audit as one HTML page."""
    need("report")
    lines = audit_lines(audit)
    opening = "; ".join(f"{name}: {sentence}" for name, sentence in lines)
    rests: list[Block] = [
        Text(
            "The rows were drawn with known probabilities. The intervals rest on that alone: they "
            f"are made to hold the truth in {percent(audit.level)} of cases, whatever the model, "
            "the sample it learned from and the assumptions are."
        )
    ]
    names = [name for name in audit.domains if name not in _ABOUT_DOMAINS]
    accuracy = [_table("How many labels are right", audit.domains, len(names))]
    shares = [
        _table("Classes over all rows", audit.shares, 1),
        *([_table("Classes by domain", audit.table, len(names) + 1)] if names else []),
        _table("Labels (rows) and classes (columns), in rows", audit.confusion.reset_index(), 1),
    ]
    sections = [
        Section("audit", "How many labels are right", [*accuracy, *rests]),
        Section("shares", "How many rows are of each class", shares),
    ]
    return render("c2rf.report", Page("An audit of labels", [("", [opening])], sections))


_ABOUT_DOMAINS = ("rows", "checked", "accuracy", "accuracy_se", "accuracy_low", "accuracy_high")


def _table(title: str, table: pd.DataFrame, n_names: int) -> Table:
    rows = (
        [_cell(str(name), value) for name, value in zip(table, row, strict=True)]
        for row in table.itertuples(index=False)
    )
    header = [str(name).replace("_", " ") for name in table]
    return Table.of_first(title, header, rows, len(table), "lines", n_names=n_names)


def _cell(name: str, value: Any) -> str:
    if isinstance(value, str):
        return short(value)
    is_share = name.startswith(("share", "accuracy"))
    return percent(value) if is_share else f"{value:,.0f}"
