"""If the totals are wrong: which labels stay, and which hang on a total."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from c2rf._text import count, percent, quoted, short
from c2rf.report import figures
from c2rf.report.facts import Facts, SensitivityFact
from c2rf.report.parts import Grid, Picture, Text
from c2rf.report.sections.common import MOST_ROWS, Part, left_out

HEADER = (
    "class", "its totals off by", "labels that change if lower", "if higher",
    "labels of the class", "of these firm",
)  # fmt: skip


def wrong_totals(facts: Facts) -> Iterator[Part]:
    """Say how many labels change if totals are off."""
    found = facts.sensitivity
    assert found is not None
    yield Text(_overall(facts, found), key=True)
    yield Picture(
        figures.firm_labels(facts.classes, found),
        "Labels of each class that stay whatever total is off, and that hang on a total."
        + left_out(len(facts.classes), figures.MOST_BARS, "classes"),
    )
    rows = [
        [
            short(name), percent(found.shares[k]), f"{found.changed[k, 0]:,}",
            f"{found.changed[k, 1]:,}", f"{found.labels[k]:,}",
            percent(found.firm[k] / found.labels[k]) if found.labels[k] else "",
        ]
        for k, name in enumerate(facts.classes)
    ]  # fmt: skip
    note = left_out(len(rows), MOST_ROWS, "classes").strip()
    yield Grid("If the totals are wrong", HEADER, rows[:MOST_ROWS], note)
    yield Text(
        "All totals of one class were made higher, then lower, in all tables alike; the other "
        "classes made room in proportion, and all rows were labeled again. The columns firm and "
        "hangs_on of the labels say it for each row. A firm label need not be right: it only does "
        "not hang on the totals being right to the last row."
    )


def _overall(facts: Facts, found: SensitivityFact) -> str:
    firm, labels = int(found.firm.sum()), int(found.labels.sum())
    if firm == labels:
        return f"With any total {found.off} off, all labels stay the same."
    most = int(np.argmax(found.changed.max(axis=1)))
    return (
        f"With any total {found.off} off, {count(firm, 'label')} ({percent(firm / labels)}) stay "
        f"the same. Most others hang on the total of {quoted(facts.classes[most])}: up to "
        f"{count(int(found.changed[most].max()), 'label')} change with it."
    )
