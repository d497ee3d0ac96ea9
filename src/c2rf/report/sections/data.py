"""The question and the data."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from c2rf._text import count, percent, quoted, short
from c2rf.report import figures
from c2rf.report.facts import Facts
from c2rf.report.parts import Picture, Text
from c2rf.report.sections.common import Part, left_out


def data(facts: Facts) -> Iterator[Part]:
    """Say what was learned from what, and how biased the sample is."""
    yield Text(
        f"{quoted(facts.target)} was learned from {count(len(facts.features), 'column')} of "
        f"{count(len(facts.sample), 'labeled row')} of {short(facts.labeled_file, 80)}. "
        f"{count(facts.n, 'row')} of {short(facts.unlabeled_file, 80)} have no label, "
        "but it is known how many of them there are of each class."
    )
    for note in facts.notes:
        yield Text(note)
    yield Text(_bias(facts), key=True)
    yield Picture(
        figures.shares(facts),
        "The closer the grey bars are to the others, the better the sample represents the rows "
        "to be labeled." + left_out(len(facts.classes), figures.MOST_BARS, "classes"),
    )


def _bias(facts: Facts) -> str:
    """Say how far the sample is from what is known."""
    bounds = facts.bounds
    sample = facts.sample_counts / len(facts.sample)
    low, high = bounds.lower / facts.n, bounds.upper / facts.n
    apart = np.maximum(low - sample, 0) + np.maximum(sample - high, 0)
    # Of equal distances, that of a class which the sample has too often.
    worst = int(np.lexsort((high - sample, -apart.round(9)))[0])
    name = facts.classes[worst]
    if apart[worst] < 0.01:
        return "The labeled sample has each class about as often as the known totals do."
    known = percent(low[worst]) if low[worst] == high[worst] else (
        f"{percent(low[worst])} to {percent(high[worst])}"
    )  # fmt: skip
    return (
        f"The labeled sample is biased: {percent(sample[worst])} of it are {quoted(name)}, but of "
        f"the rows to be labeled {known} are. That is {100 * apart[worst]:.1f} percentage points "
        "apart, and a classifier that only learns from the sample would carry it on."
    )
