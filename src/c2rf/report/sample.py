"""The data, whom the sample misses, and what the labels rest on.

The question and the data.

Whom the sample misses: the labeled rows against all rows, column by column.

What the labels rest on: how many change if a column is shuffled.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from c2rf._utils.text import count, percent, quoted, short
from c2rf.report import figures
from c2rf.report.facts import Facts
from c2rf.report.page import Grid, Part, Picture, Text, left_out


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


LARGE = 0.25
"""Standardised differences above this are usually called large, ..."""
SMALL = 0.1
"""... and below this, small."""
MOST_SHOWN = 30


def missed(facts: Facts) -> Iterator[Part]:
    """Compare the labeled rows with the rows to be labeled, the worst column first."""
    if not facts.balance:
        yield Text("There is no column to compare the labeled rows with the others by.")
        return
    before = np.array([abs(b.before) for b in facts.balance])
    after = np.array([abs(b.after) for b in facts.balance])
    order = np.argsort(-before, kind="stable")
    worst = facts.balance[order[0]]
    yield Text(_in_words(facts, before, after), key=True)
    shown = [facts.balance[k] for k in order[:MOST_SHOWN]]
    yield Picture(
        figures.balance(shown),
        "Standardised differences: how far the mean of the labeled rows is from that of the rows "
        "to be labeled, in standard deviations. Hollow: the labeled rows as they are. Filled: each "
        "class weighted to its known total. The nearer to 0, the better; the grey band is "
        f"±{SMALL:g}." + left_out(len(before), MOST_SHOWN, "columns"),
    )
    rows = [
        [
            short(b.name),
            *(_mean(value, b.unit) for value in (b.labeled, b.weighted, b.population)),
            f"{b.before:+.2f}", f"{b.after:+.2f}",
        ]
        for b in shown
    ]  # fmt: skip
    header = [
        "column", "mean, labeled", "weighted to the totals", "mean, to be labeled",
        "difference", "after weighting",
    ]  # fmt: skip
    note = (
        "Differences are in standard deviations of the rows to be labeled. Of a text, the mean is "
        f"the share of rows with the value. The worst is {quoted(worst.name)}."
    )
    yield Grid("Labeled rows against rows to be labeled", header, rows, note)


def _mean(value: float, unit: str) -> str:
    """Write a mean as people write dates, years, and numbers of four digits.

    Examples
    --------
    >>> _mean(14610.4, "date"), _mean(2010.4, "year"), _mean(2010.4, "number")
    ('2010-01-01', '2010', '2,010')
    """
    if unit == "date":
        return str(np.datetime64(round(value), "D"))
    if unit == "year":
        return f"{value:.0f}"
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e12 else f"{value:.4g}"


def _in_words(facts: Facts, before: np.ndarray, after: np.ndarray) -> str:
    n_large, n_left = int((before > LARGE).sum()), int((after > LARGE).sum())
    if n_large == 0:
        return (
            "The labeled rows are much like the rows to be labeled: no column differs by more "
            f"than {LARGE:g} standard deviations."
        )
    names = ", ".join(
        quoted(facts.balance[k].name) for k in np.argsort(-before, kind="stable")[: min(3, n_large)]
    )
    rest = (
        "Weighted to the known totals, none is left."
        if n_left == 0
        else f"Weighted to the known totals, {count(n_left, 'column')} still "
        f"{'does' if n_left == 1 else 'do'}: there the classifier must guess beyond its labels."
    )
    return (
        f"The labeled rows are not like the rows to be labeled: {count(n_large, 'column')} "
        f"{'differs' if n_large == 1 else 'differ'} by more than {LARGE:g} standard deviations, "
        f"first of all {names}. {rest}"
    )


MOST_IMPORTANT = 20


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
        figures.importance(entries[:MOST_IMPORTANT]),
        "Share of labels that change if the values of one column are shuffled "
        f"({count(importance.n_rows, 'row')} drawn at random; the totals are met again each time)."
        + left_out(len(entries), MOST_IMPORTANT, "columns"),
    )
    rows = [[short(name), percent(share)] for name, share in entries[:MOST_IMPORTANT]]
    note = (
        "A column that says the same as another one looks less important than it is: the other "
        "one stands in for it. Nothing here says that a column is a cause."
    )
    yield Grid("What the labels rest on", ["column", "labels that change"], rows, note)
