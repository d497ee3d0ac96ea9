"""What to be careful about, and how to repeat it."""

from __future__ import annotations

from collections.abc import Iterator

from c2rf._text import short
from c2rf.report.cautions import cautions
from c2rf.report.facts import Facts
from c2rf.report.parts import Code, Grid, Text, Warnings
from c2rf.report.sections.common import MOST_ROWS, Part


def careful(facts: Facts) -> Iterator[Part]:
    """Say what could mislead."""
    found = cautions(facts)
    if found:
        yield Warnings([short(entry, 1000) for entry in found[:MOST_ROWS]])
    else:
        yield Text("Nothing that stands out.")
    yield Text(
        "The labels are right in their totals. That does not make each single one right: "
        "the rows nearest to the cut-off are the least certain."
    )


def repeat(facts: Facts) -> Iterator[Part]:
    """Say how to get the same labels again."""
    yield Code(facts.command[:4000])
    yield Text(
        f"The seed is {facts.seed}. The same files, command and versions give the same labels, "
        "whatever the number of jobs, unless a time limit ends the work early."
    )
    rows = [[name, version] for name, version in facts.versions.items()]
    yield Grid("Versions", ["package", "version"], rows)
