"""What is assumed, in plain words, and what breaks it."""

from __future__ import annotations

from collections.abc import Iterator

from c2rf._text import quoted
from c2rf.report.facts import Facts
from c2rf.report.parts import Text, Warnings
from c2rf.report.sections.common import Part


def assumed(facts: Facts) -> Iterator[Part]:
    """Say what must be true for the labels to be as good as this page says."""
    yield Text(
        "The totals hold because the labels were made to meet them. Which rows got which label, "
        "and how many of them are right, rests on three assumptions that no figure of this page "
        "can prove:"
    )
    yield Warnings(
        [
            f"Within a class of {quoted(facts.target)}, labeled rows are like the rows to be "
            "labeled: a class may be in the sample too often or too rarely (the totals correct "
            "that), but its members in the sample must not be special in a way that the columns "
            "do not show. It breaks where, say, only the worst cases were ever labeled.",
            "What decides who was labeled is in the columns, or is the class itself. It breaks "
            "where rows were labeled because of something that is not in the table, and that goes "
            "with the class.",
            "The totals are true, and about exactly these rows: the same place, time and "
            "definition of the classes. A total that is off moves the labels near the cut-off.",
        ],
        is_plain=True,
    )
