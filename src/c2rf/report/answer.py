"""The answer: labels beside known totals, in sentences and tables.

The first sentences: what the labels are, and how they stand to what was known.

The answer: labels beside known totals, overall and by group.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from c2rf._utils.text import count, listed_names, percent, quoted, short, span
from c2rf.report import figures
from c2rf.report.facts import UNRELIABLE, Facts
from c2rf.report.page import MOST_ROWS, Grid, Part, Picture, Text, left_out
from c2rf.totals.bounds import MarginBounds

MOST_NAMED = 5
"""The most classes that a sentence names."""


def lead(facts: Facts) -> str:
    """Say how many labels of each class there are, and whether that is what was known."""
    return (
        f"{count(facts.n, 'row')} got a label of {quoted(facts.target)}: {_amounts(facts)}. "
        f"{how_met(facts)}"
    )


def how_met(facts: Facts) -> str:
    """Say how the labels stand to the known totals: what is true, and no more."""
    if facts.changes:
        changed = (
            f"{count(len(facts.changes), 'total')} had to be changed, because they contradict each "
            "other or the number of rows: the table says from what to what."
        )
        return f"{changed} {_met(facts, 'The totals after that')}"
    return _met(facts, "All known totals")


def _met(facts: Facts, totals: str) -> str:
    """Say whether totals are met, within their ranges, or missed."""
    if facts.remainder is not None:
        return f"{totals} are sums of weights; each is met to within {facts.remainder:.3g}."
    off = rows_off(facts)
    if off > 0:
        return _missed(facts, off)
    said = _ranges(facts)
    if _has_ranges_in_groups(facts):
        said.append("Totals of groups are met, those that are ranges anywhere in their range.")
    return " ".join(said) or f"{totals} are met exactly."


def _missed(facts: Facts, off: int) -> str:
    missed = f"The known totals are missed by {count(off, 'row')}"
    if facts.forest is None:
        return f"{missed}."
    if facts.forest.solution.status == "optimal":
        return f"{missed}: they are not attainable, no weighting of these trees comes closer."
    unavoidable = facts.forest.solution.bound
    return (
        f"{missed}: nothing closer was found in the time, and {unavoidable:,} is proven to be "
        "unavoidable with these trees."
    )


def _ranges(facts: Facts) -> list[str]:
    """Say where in its range each overall total is; nothing if all are single numbers."""
    bounds, given = facts.bounds, facts.counts.sum(axis=0)
    said, n_single = [], 0
    for place, name in enumerate(facts.classes):
        low, high = int(bounds.lower[place]), int(bounds.upper[place])
        if facts.stated is not None and name not in facts.stated:
            continue  # all that is known of it follows from the others
        if low == high:
            n_single += 1
            continue
        if low == 0 and high >= facts.n:
            continue
        where = {low: ", at its lower end", high: ", at its upper end"}.get(int(given[place]), "")
        said.append(f"{quoted(name)} is within its range of {low:,} to {high:,}{where}.")
    if said and n_single:
        said.append("All other totals are met exactly.")
    return [*said[:MOST_NAMED], *["…"] * (len(said) > MOST_NAMED)]


def _has_ranges_in_groups(facts: Facts) -> bool:
    """Say whether any total of a group or of a cell of a margin is a range that says something."""
    sizes, margins = facts.bounds.group_sizes, facts.bounds.margins
    tables = [(facts.bounds.group_lower, facts.bounds.group_upper, sizes)] if not margins else []
    tables += [(m.lower, m.upper, m.sums(sizes)) for m in margins]
    if facts.group is None:
        return False
    return any(
        bool(((lower < upper) & ((lower > 0) | (upper < n[:, None]))).any())
        for lower, upper, n in tables
    )


def unreliable(facts: Facts) -> Text | None:
    """Name the classes of which too few labels are expected to be right."""
    rates = facts.expected_rates
    if rates is None:
        return None
    labels = facts.counts.sum(axis=0)
    bad = [
        f"{quoted(facts.classes[k])} ({percent(rates[k])})"
        for k in np.argsort(rates, kind="stable")
        if labels[k] and rates[k] < UNRELIABLE
    ]
    if not bad:
        return None
    return Text(
        f"Not reliable: of the labels {listed_names(bad)}, fewer than {percent(UNRELIABLE)} are "
        "expected to be right. Their number is as known; who is among them is not certain.",
        key=True,
    )


def changes(facts: Facts) -> Grid | None:
    """Return the table of totals that were changed."""
    if not facts.changes:
        return None
    rows = [
        [short(c.where), short(c.label), c.before, c.after, c.why]
        for c in facts.changes[:MOST_ROWS]
    ]
    header = ["where", "class", "given", "met", "moved by"]
    note = left_out(len(facts.changes), MOST_ROWS, "totals").strip()
    return Grid("Totals that were changed", header, rows, note, n_names=2)


def _amounts(facts: Facts) -> str:
    totals = facts.counts.sum(axis=0)
    order = np.argsort(-totals, kind="stable")[:MOST_NAMED]
    said = [f"{totals[k]:,} {quoted(facts.classes[k])}" for k in order]
    return ", ".join(said) + (", …" if len(totals) > len(order) else "")


def rows_off(facts: Facts) -> int:
    """Return how many rows are on the wrong side of a known total: overall, in groups, margins."""

    def outside(given: np.ndarray, low: np.ndarray, high: np.ndarray) -> int:
        return int(np.maximum(low - given, 0).sum() + np.maximum(given - high, 0).sum())

    bounds = facts.bounds
    overall = outside(facts.counts.sum(axis=0), bounds.lower, bounds.upper)
    # With two classes, one too many is one too few of the other.
    overall = -(-overall // 2) if len(facts.classes) == 2 else overall
    margins = [outside(m.sums(facts.counts), m.lower, m.upper) for m in bounds.margins]
    in_groups = outside(facts.counts, bounds.group_lower, bounds.group_upper)
    return max(overall, in_groups, *margins)


def answer(facts: Facts) -> Iterator[Part]:
    """Compare the labels with what was known."""
    given, bounds = facts.counts.sum(axis=0), facts.bounds
    rows = [
        [
            short(name), f"{sample:,}", span(int(low), int(high), facts.n), f"{labels:,}",
            percent(labels / facts.n), _difference(labels, low, high),
        ]
        for name, sample, low, high, labels in zip(
            facts.classes, facts.sample_counts, bounds.lower, bounds.upper, given, strict=True
        )
    ]  # fmt: skip
    header = ["class", "labeled sample", "known total", "labels given", "share", "off by"]
    note = left_out(len(rows), MOST_ROWS, "classes").strip()
    yield Text(how_met(facts), key=True)
    if facts.accuracy:
        yield Text(facts.accuracy, key=True)
    changed = changes(facts)
    if changed is not None:
        yield changed
    yield Grid("Labels and known totals", header, rows[:MOST_ROWS], note)
    if facts.bounds.margins:
        for margin in facts.bounds.margins:
            yield _by_margin(facts, margin)
    elif facts.group is not None:
        yield from _by_group(facts, facts.group)


def _difference(given: int, low: int, high: int) -> str:
    return f"{given - min(max(given, low), high):+,}" if not low <= given <= high else "0"


def _by_margin(facts: Facts, margin: MarginBounds) -> Grid:
    """Compare labels with the totals of one of several margins."""
    given, sizes = margin.sums(facts.counts), margin.sums(facts.bounds.group_sizes)
    cells = [
        (c, k)
        for c in range(len(margin.names))
        for k in range(len(facts.classes))
        if margin.lower[c, k] > 0 or margin.upper[c, k] < sizes[c]
    ]
    rows = [
        [
            short(_cell_name(margin.names[c])), short(facts.classes[k]),
            span(int(margin.lower[c, k]), int(margin.upper[c, k]), int(sizes[c])),
            f"{given[c, k]:,}", f"{sizes[c]:,}",
            _difference(given[c, k], margin.lower[c, k], margin.upper[c, k]),
        ]
        for c, k in cells[:MOST_ROWS]
    ]  # fmt: skip
    group = ", ".join(short(str(name)) for name in margin.columns)
    header = [group, "class", "known total", "labels given", "rows in group", "off by"]
    note = left_out(len(cells), MOST_ROWS, "lines").strip()
    return Grid(f"Labels and known totals by {group}", header, rows, note, n_names=2)


def _cell_name(cell: Any) -> str:
    return ", ".join(map(str, cell)) if isinstance(cell, tuple) else str(cell)


def _by_group(facts: Facts, group: str) -> Iterator[Part]:
    bounds = facts.bounds
    free = (bounds.group_lower == 0) & (bounds.group_upper >= bounds.group_sizes[:, None])
    # The class that most is known of; of several, the largest.
    place = int(np.lexsort((-facts.counts.sum(axis=0), free.sum(axis=0)))[0])
    yield Picture(
        figures.groups(facts, place),
        f"Share of {quoted(facts.classes[place])} in each group of {quoted(group)}: what is "
        "known, a range where it is one, and what the labels make of it."
        + left_out(len(facts.group_names), figures.MOST_GROUPS, "groups"),
    )
    cells = [(g, k) for g in range(len(facts.group_names)) for k in range(len(facts.classes))]
    rows = [
        [
            short(facts.group_names[g]), short(facts.classes[k]),
            span(
                int(bounds.group_lower[g, k]), int(bounds.group_upper[g, k]),
                int(bounds.group_sizes[g]),
            ),
            f"{facts.counts[g, k]:,}", f"{bounds.group_sizes[g]:,}",
            _difference(facts.counts[g, k], bounds.group_lower[g, k], bounds.group_upper[g, k]),
        ]
        for g, k in cells[:MOST_ROWS]
    ]  # fmt: skip
    header = [short(group), "class", "known total", "labels given", "rows in group", "off by"]
    note = left_out(len(cells), MOST_ROWS, "lines").strip()
    yield Grid("Labels and known totals by group", header, rows, note, n_names=2)
