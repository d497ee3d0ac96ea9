"""What the labels rest on: how many change if a column is shuffled."""

from __future__ import annotations

from collections.abc import Iterator

from c2rf._text import count, percent, quoted, short
from c2rf.report import figures
from c2rf.report.facts import Facts
from c2rf.report.parts import Grid, Picture, Text
from c2rf.report.sections.common import Part, left_out

MOST_SHOWN = 20


def rest_on(facts: Facts) -> Iterator[Part]:
    """Say which columns the labels rest on."""
    importance = facts.importance
    assert importance is not None
    entries = sorted(importance.changed.items(), key=lambda entry: -entry[1])
    most = entries[0]
    yield Text(
        f"The labels rest most on {quoted(most[0])}: with its values shuffled among the rows, "
        f"{percent(most[1])} of the labels change.",
        key=True,
    )
    yield Picture(
        figures.importance(entries[:MOST_SHOWN]),
        "Share of labels that change if the values of one column are shuffled "
        f"({count(importance.n_rows, 'row')} drawn at random; the totals are met again each time)."
        + left_out(len(entries), MOST_SHOWN, "columns"),
    )
    rows = [[short(name), percent(share)] for name, share in entries[:MOST_SHOWN]]
    note = (
        "A column that says the same as another one looks less important than it is: the other "
        "one stands in for it. Nothing here says that a column is a cause."
    )
    yield Grid("What the labels rest on", ["column", "labels that change"], rows, note)
