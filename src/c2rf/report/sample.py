"""The labeled sample: what was learned from, how it differs from the population, what matters.

The sections "The question and the data", "How the sample differs from the population" and "What
the labels rest on".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from c2rf._utils.text import count, percent, quoted, short
from c2rf.report import figures
from c2rf.report.answer import labeled_rows
from c2rf.report.language import our_name
from c2rf.report.measures import LARGE, SMALL, labeled_counts, population_size, totals_called
from c2rf.report.page import Block, Picture, Table, Text, not_shown

if TYPE_CHECKING:
    from c2rf.workflow.prepare import PreparedData
    from c2rf.workflow.result import Classification

MOST_COLUMNS = 30
"""How many columns a picture compares."""
MOST_LEFT_OUT = 20
"""How many columns that were left out are named."""


def data_section(result: Classification) -> Iterator[Block]:
    """Say what was learned from what, and how biased the sample is."""
    data = result.data
    known = "estimated" if totals_called(data) == "estimated" else "known"
    yield Text(
        f"{quoted(data.options.target)} was learned from {count(len(data.columns), 'column')} of "
        f"{labeled_rows(data)}. {count(data.n_open, 'row')} of {data.names[1]} have no "
        f"label, but it is {known} how many of them there are of each class."
    )
    for name, dialect in dict(data.read_as).items():
        yield Text(f"{short(name, 80)} was read as: {dialect}.")
    if data.left_out:
        yield Text(_left_out(data))
    yield Text(_bias(result), "key")


def _left_out(data: PreparedData) -> str:
    """Say which columns were not learned from, and why."""
    reasons = [f"{quoted(name)} {why}" for name, why in list(data.left_out.items())[:MOST_LEFT_OUT]]
    more = len(data.left_out) - len(reasons)
    return f"Not learned from: {'; '.join(reasons)}" + (f", and {more:,} more." if more else ".")


def _bias(result: Classification) -> str:
    """Say how far the sample is from what is known."""
    data, bounds, n = result.data, result.bounds, population_size(result.data)
    sample = labeled_counts(data) / len(data.labels)
    n_open = max(n - data.known_counts.sum(), 1)
    low, high = (
        np.maximum(e - data.known_counts, 0) / n_open for e in (bounds.lower, bounds.upper)
    )
    apart = np.maximum(low - sample, 0) + np.maximum(sample - high, 0)
    # Of equal distances, that of a class which the sample has too often.
    worst = int(np.lexsort((high - sample, -apart.round(9)))[0])
    if apart[worst] < 0.01:
        return "The labeled sample has each class about as often as the totals do."
    known = percent(low[worst])
    if low[worst] < high[worst]:
        known += f" to {percent(high[worst])}"
    return (
        f"The labeled sample is biased: {percent(sample[worst])} of it are "
        f"{quoted(data.classes[worst])}, but of the rows without a label {known} are. That is "
        f"{100 * apart[worst]:.1f} percentage points apart, and a classifier that only learns from "
        "the sample would carry it on."
    )


def balance_section(result: Classification) -> Iterator[Block]:
    """Compare the labeled rows with the rows to be labeled, the worst column first."""
    balance: Any = result.balance
    if balance.empty:
        yield Text("There is no column to compare the labeled rows with the others by.")
        return
    language, keep = result.data.options.language, {each.name for each in result.data.columns}
    balance = balance.assign(column=[our_name(name, language, keep) for name in balance["column"]])
    yield Text(_balance_in_words(balance), "key")
    yield Picture(
        figures.standardised_differences(balance[:MOST_COLUMNS]),
        "Standardised differences: how far the mean of the labeled rows is from that of the rows "
        "to be labeled, in standard deviations. Hollow: the labeled rows as they are. Filled: each "
        "class weighted to its total. The nearer to 0, the better; the grey band is "
        f"±{SMALL:g}." + not_shown(len(balance), MOST_COLUMNS, "columns"),
    )
    rows = (
        [
            each.column,
            *(
                _written_mean(mean, each.unit)
                for mean in (each.labeled, each.weighted, each.population)
            ),
            f"{each.before:+.2f}", f"{each.after:+.2f}",
        ]
        for each in balance.itertuples()
    )  # fmt: skip
    header = [
        "column", "mean, labeled", "weighted to the totals", "mean, to be labeled",
        "difference", "after weighting",
    ]  # fmt: skip
    note = (
        "Differences are in standard deviations of the rows to be labeled. Of a text, the mean is "
        f"the share of rows with the value. The worst is {quoted(balance['column'].iloc[0])}."
    )
    yield Table("Labeled rows against rows to be labeled", header, rows, note)


def _balance_in_words(balance: pd.DataFrame) -> str:
    large = balance["column"][balance["before"].abs() > LARGE]
    if large.empty:
        return (
            "The labeled rows are much like the rows to be labeled: no column differs by more "
            f"than {LARGE:g} standard deviations."
        )
    n_left = int((balance["after"].abs() > LARGE).sum())
    rest = (
        "Weighted to the totals, none is left."
        if n_left == 0
        else f"Weighted to the totals, {count(n_left, 'column')} still "
        f"{'does' if n_left == 1 else 'do'}: there the classifier must guess beyond its labels."
    )
    return (
        f"The labeled rows are not like the rows to be labeled: {count(len(large), 'column')} "
        f"{'differs' if len(large) == 1 else 'differ'} by more than {LARGE:g} standard deviations, "
        f"first of all {', '.join(map(quoted, large[:3]))}. {rest}"
    )


def _written_mean(value: float, unit: str) -> str:
    """Write a mean as people write dates, years, and numbers of four digits.

    Examples
    --------
    >>> _written_mean(14610.4, "date"), _written_mean(2010.4, "year"), _written_mean(2010.4, "")
    ('2010-01-01', '2010', '2,010')
    """
    if unit == "date":
        return str(np.datetime64(round(value), "D"))
    if unit == "year":
        return f"{value:.0f}"
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e12 else f"{value:.4g}"


def importance_section(result: Classification) -> Iterator[Block]:
    """Say which columns the labels depend on, where shuffling them was quick enough."""
    if result.importance is None:
        return
    changed, n_rows = result.importance
    yield Text(
        f"The labels rest most on {quoted(changed.index[0])}: with its values shuffled among the "
        f"rows, {percent(changed.iloc[0])} of the labels change.",
        "key",
    )
    note = (
        "Share of labels that change if the values of one column are shuffled "
        f"({count(n_rows, 'row')} drawn at random; the totals are met again each time). "
        "A column that says the same as another one looks less important than it is: the other "
        "one stands in for it. Nothing here says that a column is a cause."
    )
    rows = ([str(name), percent(share)] for name, share in changed.items())
    yield Table("What the labels rest on", ["column", "labels that change"], rows, note)
