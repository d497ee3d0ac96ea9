"""How many labels are right: what is expected, by class and by group."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from c2rf._text import count, percent, quoted, short
from c2rf._typing import Floats
from c2rf.report.facts import Facts, RightFact
from c2rf.report.parts import Grid, Text
from c2rf.report.sections.common import MOST_ROWS, Part, left_out
from c2rf.report.sections.headline import unreliable

MOST_CLASSES = 12
"""Classes that are told apart in the table of what labels really are."""


def right(facts: Facts) -> Iterator[Part]:
    """Say how many labels are expected to be right."""
    confusion = facts.confusion
    if confusion is None:
        yield Text(
            "Weighted trees give no probabilities, so nothing is said here about how many labels "
            "are right. The method known-totals says it."
        )
        return
    yield Text(_overall(facts, confusion), key=True)
    bad = unreliable(facts)
    if bad is not None:
        yield bad
    yield from _by_class(facts)
    if len(facts.classes) <= MOST_CLASSES:
        yield _confused(facts, confusion)
    groups = [entry for entry in facts.right if entry.kind == "group"]
    if groups:
        yield _intervals("Expected to be right, by group", "group", groups)
    yield Text(
        "This is what the probabilities of the classifier make of it, under the assumptions above."
        + (
            ""
            if facts.right
            else " For intervals, ask for imputations (--imputations 20): they draw the labels "
            "several times, each time with another sample of the labeled rows."
        )
    )


def _overall(facts: Facts, confusion: Floats) -> str:
    share = float(np.trace(confusion) / confusion.sum())
    overall = next((entry for entry in facts.right if entry.kind == "all"), None)
    about = f"About {percent(share)} of the labels are expected to be right"
    if overall is not None:
        about = (
            f"{percent(overall.estimate)} of the labels are expected to be right, with an interval "
            f"from {percent(overall.low)} to {percent(overall.high)} "
            f"(made to hold the truth in {percent(overall.level)} of cases)"
        )
        share = overall.estimate
    return f"{about}: {count(round(share * facts.n), 'row')} of {facts.n:,}."


def _by_class(facts: Facts) -> Iterator[Part]:
    asked = [entry for entry in facts.right if entry.kind == "class"]
    if asked:
        yield _intervals("Expected to be right, by class", "label", asked)
        return
    rates, labels = facts.expected_rates, facts.counts.sum(axis=0)
    assert rates is not None
    rows = [
        [short(name), f"{labels[k]:,}", percent(rates[k]) if labels[k] else ""]
        for k, name in enumerate(facts.classes)
    ]
    note = left_out(len(rows), MOST_ROWS, "classes").strip()
    header = ["label", "rows", "expected to be right"]
    yield Grid("Expected to be right, by class", header, rows[:MOST_ROWS], note)


def _intervals(title: str, what: str, entries: list[RightFact]) -> Grid:
    rows = [
        [short(e.name), f"{e.n_rows:,}", percent(e.estimate), percent(e.low), percent(e.high)]
        for e in entries[:MOST_ROWS]
    ]
    note = left_out(len(entries), MOST_ROWS, "lines").strip()
    return Grid(title, [what, "rows", "expected to be right", "from", "to"], rows, note)


def _confused(facts: Facts, confusion: Floats) -> Grid:
    rows = [
        [f"labeled {quoted(name)}", *(f"{round(x):,}" for x in confusion[k])]
        for k, name in enumerate(facts.classes)
    ]
    header = ["expected number of rows", *(f"really {quoted(name)}" for name in facts.classes)]
    return Grid("What the labels are expected to be really", header, rows)
