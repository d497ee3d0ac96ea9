"""How many labels are right, how sure each is, and which depend on a total.

How many labels are right: what is expected, by class and by group.

How sure it is: scores, confidences, and the rows nearest to the cut-off.

If the totals are wrong: which labels stay, and which depend on a total.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from c2rf._utils.text import count, percent, quoted, short
from c2rf._utils.types import Floats
from c2rf.report import figures
from c2rf.report.answer import unreliable
from c2rf.report.facts import NEAREST, Facts, RightFact, SensitivityFact
from c2rf.report.page import MOST_ROWS, Grid, Part, Picture, Text, left_out

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


def sure(facts: Facts) -> Iterator[Part]:
    """Show scores and confidences, and the rows nearest to the cut-off."""
    if facts.positive is not None:
        other = next(name for name in facts.classes if name != facts.positive)
        yield Text(
            f"A score above 0 means {quoted(facts.positive)}, all others are {quoted(other)}. "
            "The further from 0, the surer."
        )
    else:
        yield Text("The score of a row is the lead of its label over the next best class.")
    yield Picture(
        figures.scores(facts),
        "How the scores spread. Rows near the cut-off could as well have got another label.",
    )
    yield Text(_confidence_words(facts))
    yield Picture(
        figures.confidences(facts),
        f"Half of the labels have a confidence of at least {np.median(facts.confidence):.2f}; "
        f"the least is {facts.confidence.min():.2f}.",
    )
    nearest = np.argsort(facts.margins, kind="stable")[:NEAREST]
    rows = [
        [
            short(facts.names[row]), short(str(facts.labels[row])), f"{facts.scores[row]:.4g}",
            f"{facts.confidence[row]:.3f}",
        ]
        for row in nearest
    ]  # fmt: skip
    note = left_out(facts.n, NEAREST, "rows").strip()
    header = ["row", "label", "score", "confidence"]
    yield Grid("The rows nearest to the cut-off", header, rows, note, n_names=2)


def _confidence_words(facts: Facts) -> str:
    if facts.forest is not None:
        return (
            "The confidence of a label is the share of the weight of all trees that voted for it."
        )
    return "The confidence of a label is its probability once the known totals are accounted for."


HEADER = (
    "class", "its totals off by", "labels that change if lower", "if higher",
    "labels of the class", "of these robust",
)  # fmt: skip


def wrong_totals(facts: Facts) -> Iterator[Part]:
    """Say how many labels change if totals are off."""
    found = facts.sensitivity
    assert found is not None
    yield Text(_robust_overall(facts, found), key=True)
    yield Picture(
        figures.robust_labels(facts.classes, found),
        "Labels of each class that stay whatever total is off, and that depend on a total."
        + left_out(len(facts.classes), figures.MOST_BARS, "classes"),
    )
    rows = [
        [
            short(name), percent(found.shares[k]), f"{found.changed[k, 0]:,}",
            f"{found.changed[k, 1]:,}", f"{found.labels[k]:,}",
            percent(found.robust[k] / found.labels[k]) if found.labels[k] else "",
        ]
        for k, name in enumerate(facts.classes)
    ]  # fmt: skip
    note = left_out(len(rows), MOST_ROWS, "classes").strip()
    yield Grid("If the totals are wrong", HEADER, rows[:MOST_ROWS], note)
    yield Text(
        "All totals of one class were made higher, then lower, in all tables alike; the other "
        "classes made room in proportion, and all rows were labeled again. The columns robust and "
        "sensitive_to of the labels say it for each row. A robust label need not be right: it only does "
        "not depend on the totals being right to the last row."
    )


def _robust_overall(facts: Facts, found: SensitivityFact) -> str:
    robust, labels = int(found.robust.sum()), int(found.labels.sum())
    if robust == labels:
        return f"With any total {found.off} off, all labels stay the same."
    most = int(np.argmax(found.changed.max(axis=1)))
    return (
        f"With any total {found.off} off, {count(robust, 'label')} ({percent(robust / labels)}) stay "
        f"the same. Most others depend on the total of {quoted(facts.classes[most])}: up to "
        f"{count(int(found.changed[most].max()), 'label')} change with it."
    )
