"""The section "Figures to publish": tables of shares in domains, with intervals of both kinds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pandas as pd

from c2rf._utils.text import listed_names, percent, quoted, short
from c2rf.report import figures
from c2rf.report.measures import about_estimates, notes_of
from c2rf.report.page import MOST_OPEN, Block, Picture, Table, Text, not_shown

if TYPE_CHECKING:
    from c2rf.workflow.result import Classification

MOST_SHARES = 2000
"""The longest table of estimates."""
MOST_PICTURES = 8
"""The most classes of which each has a picture."""
NO_INTERVAL = "\u2013"

HEADER = ["count", "share (interval)", "by held-out rows", "labeled rows", ""]


def estimates_section(result: Classification) -> Iterator[Block]:
    """Show each table that was asked for, and its classes as pictures."""
    tables = result.data.options.tables_by
    for number, (columns, table) in enumerate(zip(tables, result.published, strict=True)):
        domains = domain_names(table, columns)
        note = _note(table)
        rows = [
            [
                name, str(row["class"]), f"{row['count']:,.0f}",
                with_interval(row["share"], row["share_low"], row["share_high"]),
                with_interval(row["held_out_share"], row["held_out_low"], row["held_out_high"]),
                f"{row['labeled_rows']:,}", "differs" if row["differs"] is True else "",
            ]
            for name, row in zip(domains, table.to_dict("records"), strict=True)
        ]  # fmt: skip
        title = f"Shares by {listed_names([short(name) for name in columns])}"
        header = [", ".join(columns), "class", *HEADER]
        yield Table(title, header, rows, note, 2, MOST_SHARES)
        yield from _pictures(table.assign(domain=domains), result.data.positive, number)
    if tables:
        yield Text(
            "By imputation, all totals are met and numbers add up; the intervals rest on the "
            "probabilities of the classifier. By held-out rows, they rest on the labeled rows and "
            "on label shift, however good the classifier is, and need not add up. Where the two "
            "differ by more than chance, one of the assumptions is wrong. Label shift can be "
            "tested, because it says how large the domains would be by the labeled rows. What the "
            "test does not see, an audit does (c2rf audit)."
        )


def published_tables(result: Classification) -> list[str]:
    """Say which tables of estimates there are."""
    return [
        f"By {', '.join(short(name) for name in columns)}: {about_estimates(table)}."
        for columns, table in zip(result.data.options.tables_by, result.published, strict=True)
    ]


def _pictures(table: pd.DataFrame, positive: str | None, number: int) -> Iterator[Picture]:
    """Draw the shares of the positive class, or of each of several, the most frequent first."""
    sizes = table.groupby("class")["count"].sum().sort_values(ascending=False, kind="stable")
    shown = list(sizes.index[:MOST_PICTURES]) if positive is None else [positive]
    for k, label in enumerate(shown):
        of_class = table[table["class"].astype(str) == str(label)]
        names = of_class["domain"].tolist()
        yield Picture(
            figures.domain_shares(of_class, names, f"{number}-{k}"),
            f"Share of {quoted(str(label))} with intervals of both kinds."
            + not_shown(len(names), figures.MOST_GROUPS, "domains"),
            k > 0 or len(names) > MOST_OPEN // 2,
        )


def with_interval(share: float, low: float, high: float) -> str:
    """Write a share with its interval in percent, a dash where there is none.

    Examples
    --------
    >>> print(with_interval(0.125, 0.1, 0.15), with_interval(0.5, pd.NA, pd.NA))
    12.5 % (10.0–15.0) 50.0 % (–)
    """
    if pd.isna(share):
        return ""
    ends = NO_INTERVAL if pd.isna(low) else f"{100 * low:.1f}{NO_INTERVAL}{100 * high:.1f}"
    return f"{percent(share)} ({ends})"


def domain_names(table: pd.DataFrame, columns: list[str]) -> list[str]:
    """Return what to call the domain of each row.

    Examples
    --------
    >>> domain_names(pd.DataFrame({"a": ["x"], "b": [1]}), ["a", "b"])
    ['x, 1']
    """
    return [", ".join(map(str, row)) for row in table[columns].itertuples(index=False)]


def _note(table: pd.DataFrame) -> str:
    """Say what intervals by held-out rows are left out, and which say nothing."""
    notes = [f"{note}." for note in notes_of(table)[:1]]
    if (table["held_out_share"].notna() & table["held_out_low"].isna()).any():
        notes.append(
            f"{NO_INTERVAL}: no labeled row of the class, or none of any other class, is in the "
            "domain, so the interval by held-out rows would rest on the classifier."
        )
    if ((table["held_out_low"] <= 0) & (table["held_out_high"] >= 1)).any():
        notes.append("An interval from 0.0 % to 100.0 % contains no information.")
    if len(table) > MOST_SHARES:
        notes.append("A file of --estimates-out has all rows.")
    return " ".join(notes)
