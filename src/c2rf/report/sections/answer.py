"""The answer: labels beside known totals, overall and by group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from c2rf._text import percent, quoted, short, span
from c2rf.report import figures
from c2rf.report.facts import Facts
from c2rf.report.parts import Grid, Picture, Text
from c2rf.report.sections.common import MOST_ROWS, Part, left_out
from c2rf.report.sections.headline import changes, how_met
from c2rf.totals.bounds import MarginBounds


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
    given, sizes = margin.counted(facts.counts), margin.counted(facts.bounds.group_sizes)
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
