"""The first sentences: what the labels are, and how they stand to what was known."""

from __future__ import annotations

import numpy as np

from c2rf._text import count, listed_names, percent, quoted
from c2rf.report.facts import UNRELIABLE, Facts
from c2rf.report.parts import Grid, Text

MOST_NAMED = 5
"""So many classes, at most, are named in a sentence."""


def lead(facts: Facts) -> str:
    """Say how many labels of each class there are, and whether that is what was known."""
    return (
        f"{count(facts.n, 'row')} got a label of {quoted(facts.target)}: {_amounts(facts)}. "
        f"{how_met(facts)}"
    )


def how_met(facts: Facts) -> str:
    """Say how the labels stand to the known totals: what is true, and no more."""
    off = rows_off(facts)
    if off > 0:
        return (
            f"The known totals are missed by {count(off, 'row')}: with these trees they are not "
            "attainable, or were not reached in the time."
            if facts.forest is not None
            else f"The known totals are missed by {count(off, 'row')}."
        )
    met = " ".join(_ranges(facts)) or "All known totals are met exactly."
    if facts.changes:
        n = count(len(facts.changes), "total")
        changed = (
            f"{n} had to be changed, because they contradict each other or the number of rows: the "
            "table below says from what to what."
        )
        return f"{changed} {met.replace('All known totals are', 'The changed totals are')}"
    return met


def _ranges(facts: Facts) -> list[str]:
    """Say where in its range each total is; nothing if all totals are single numbers."""
    bounds, given = facts.bounds, facts.counts.sum(axis=0)
    said, n_free = [], 0
    for place, name in enumerate(facts.classes):
        low, high = int(bounds.lower[place]), int(bounds.upper[place])
        if low == high:
            continue
        if low == 0 and high >= facts.n:
            n_free += 1
            continue
        where = {low: ", at its lower end", high: ", at its upper end"}.get(int(given[place]), "")
        said.append(f"{quoted(name)} is within its range of {low:,} to {high:,}{where}.")
    if said and len(said) + n_free < len(facts.classes):
        said.append("All other totals are met exactly.")
    if not said and n_free:
        return ["All totals that are known are met exactly."]
    return [*said[:MOST_NAMED], *["…"] * (len(said) > MOST_NAMED)]


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
    rows = [[c.where, c.label, c.before, c.after, c.why] for c in facts.changes]
    header = ["where", "class", "given", "met", "moved by"]
    return Grid("Totals that were changed", header, rows[:200], n_names=2)


def _amounts(facts: Facts) -> str:
    totals = facts.counts.sum(axis=0)
    order = np.argsort(-totals, kind="stable")[:MOST_NAMED]
    said = [f"{totals[k]:,} {quoted(facts.classes[k])}" for k in order]
    return ", ".join(said) + (", …" if len(totals) > len(order) else "")


def rows_off(facts: Facts) -> int:
    """Return how many rows are on the wrong side of a known total, overall or in a group."""

    def outside(given: np.ndarray, low: np.ndarray, high: np.ndarray) -> int:
        return int(np.maximum(low - given, 0).sum() + np.maximum(given - high, 0).sum())

    bounds = facts.bounds
    overall = outside(facts.counts.sum(axis=0), bounds.lower, bounds.upper)
    # With two classes, one too many is one too few of the other.
    overall = -(-overall // 2) if len(facts.classes) == 2 else overall
    return max(overall, outside(facts.counts, bounds.group_lower, bounds.group_upper))
