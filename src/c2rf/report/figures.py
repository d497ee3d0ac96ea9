"""The pictures of a report, each drawn from the facts alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, PercentFormatter

from c2rf._utils.text import short
from c2rf._utils.types import Floats
from c2rf.report.facts import BalanceFact, Facts, ForestFact, SensitivityFact
from c2rf.report.page import THEME, inline_svg

MOST_BARS = 12
MOST_GROUPS = 24
MOST_TREES = 200
FARTHEST = 5.0
"""Standardised differences beyond this are drawn here."""
_BINS = 40
_NAME = 18  # letters of a name on an axis


def shares(facts: Facts) -> str:
    """Draw the classes' shares in the labeled sample, in the known totals and in the labels."""
    shown = np.argsort(-facts.counts.sum(axis=0), kind="stable")[:MOST_BARS]
    places = np.arange(len(shown))
    known = facts.bounds.lower == facts.bounds.upper
    rows = (
        ("labeled sample", facts.sample_counts / len(facts.sample), THEME["soft"]),
        ("known total", np.where(known, facts.bounds.lower / facts.n, np.nan), THEME["second"]),
        ("labels given", facts.counts.sum(axis=0) / facts.n, THEME["first"]),
    )

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for step, (title, values, color) in enumerate(rows):
            heights = values[shown]
            where = places + (step - 1) * 0.27
            axes.barh(where, np.nan_to_num(heights), 0.24, color=color, label=title)
            for y, height in zip(where, heights, strict=True):
                text = "not known" if np.isnan(height) else f"{100 * height:.1f} %"
                axes.annotate(
                    text, (np.nan_to_num(height), y), (3, 0), textcoords="offset points",
                    va="center", fontsize=7.5,
                )  # fmt: skip
        _name_rows(axes, [facts.classes[k] for k in shown])
        axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        axes.set_xlim(0, 1.15 * max(np.nan_to_num(values[shown]).max() for _, values, _ in rows))
        _legend(figure, axes)

    title = "Share of each class in the labeled sample, by the known total, and in the labels"
    return inline_svg("shares", title, draw, 0.9 + 0.62 * len(shown))


def groups(facts: Facts, place: int) -> str:
    """Draw the share of one class in each group beside what is known of it."""
    shown = np.argsort(-facts.bounds.group_sizes, kind="stable")[:MOST_GROUPS]
    sizes = np.maximum(facts.bounds.group_sizes[shown], 1)
    low, high = (
        part[shown, place] / sizes for part in (facts.bounds.group_lower, facts.bounds.group_upper)
    )
    given = facts.counts[shown, place] / sizes

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        rows = np.arange(len(shown))
        axes.hlines(rows, low, high, color=THEME["second"], linewidth=5, alpha=0.35)
        axes.scatter(low, rows, marker="|", s=90, color=THEME["second"], label="known")
        axes.scatter(high, rows, marker="|", s=90, color=THEME["second"])
        axes.scatter(given, rows, s=22, color=THEME["first"], label="labels given", zorder=3)
        _name_rows(axes, [facts.group_names[k] for k in shown])
        axes.xaxis.set_major_formatter(PercentFormatter(1))
        axes.set_ylim(len(shown) - 0.4, -0.6)
        _legend(figure, axes)

    title = f"Share of {short(facts.classes[place])} in each group, known and given"
    return inline_svg("groups", title, draw, 0.8 + 0.24 * len(shown))


def scores(facts: Facts) -> str:
    """Draw how the scores spread, and where they are cut."""
    names = list(facts.classes) if facts.positive is not None else []
    colors = (THEME["second"], THEME["first"])

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        edges = _edges(facts.scores)
        if names:
            ordered = sorted(names, key=lambda name: name == facts.positive)
            parts = [facts.scores[facts.labels == name] for name in ordered]
            axes.hist(parts, edges, stacked=True, color=colors, label=[*map(_cut, ordered)])
            axes.axvline(0, color=THEME["ink"], linewidth=1, linestyle="--")
            _legend(figure, axes)
        else:
            axes.hist(facts.scores, edges, color=THEME["first"])
        axes.set(xlabel="score; the cut-off is 0", ylabel="rows")
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:,.0f}"))

    return inline_svg("scores", "Histogram of the scores, by label", draw)


def confidences(facts: Facts) -> str:
    """Draw how many rows have at least which confidence."""

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        levels = np.quantile(facts.confidence, np.linspace(1, 0, 201))
        axes.fill_between(np.linspace(0, 1, 201), levels, color=THEME["first"], alpha=0.25)
        axes.plot(np.linspace(0, 1, 201), levels, color=THEME["first"])
        axes.set(xlabel="rows, the surest first", ylabel="confidence", xlim=(0, 1), ylim=(0, 1.03))
        axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))

    return inline_svg("confidence", "Confidence of the labels, the surest first", draw, 2.2)


def weights(forest: ForestFact) -> str:
    """Draw the weights of the trees, the heaviest first."""
    heights = np.sort(forest.solution.weights)[::-1][:MOST_TREES]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        axes.bar(np.arange(1, len(heights) + 1), heights, 0.8, color=THEME["first"])
        axes.set(xlabel="trees, the heaviest first", ylabel="weight")
        axes.set_xlim(0.4, len(heights) + 0.6)
        axes.set_ylim(0, 1.05 * float(heights.max()))
        axes.xaxis.set_major_locator(MaxNLocator(10, integer=True))
        axes.grid(axis="x", visible=False)

    return inline_svg("weights", "Weights of the trees", draw, 2.2)


def balance(entries: Sequence[BalanceFact]) -> str:
    """Draw standardised differences, the worst first: hollow before weighting, filled after."""
    rows = np.arange(len(entries))
    before = np.clip([e.before for e in entries], -FARTHEST, FARTHEST)
    after = np.clip([e.after for e in entries], -FARTHEST, FARTHEST)

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        axes.axvspan(-0.1, 0.1, color=THEME["line"], alpha=0.6, linewidth=0)
        axes.axvline(0, color=THEME["soft"], linewidth=0.8)
        axes.hlines(rows, before, after, color=THEME["soft"], linewidth=0.8)
        axes.scatter(
            before, rows, s=24, facecolors="none", edgecolors=THEME["second"], zorder=3,
            label="as they are",
        )  # fmt: skip
        axes.scatter(after, rows, s=24, color=THEME["first"], zorder=3, label="weighted to totals")
        _name_rows(axes, [e.name for e in entries])
        axes.set_ylim(len(entries) - 0.4, -0.6)
        axes.set_xlabel("difference in standard deviations")
        _legend(figure, axes)

    title = "Standardised differences between labeled rows and rows to be labeled, by column"
    return inline_svg("balance", title, draw, 1.0 + 0.22 * len(entries))


def robust_labels(classes: Sequence[str], found: SensitivityFact) -> str:
    """Draw how many labels of each class stay, and how many hang on a total."""
    shown = np.argsort(-found.labels, kind="stable")[:MOST_BARS]
    sizes = np.maximum(found.labels[shown], 1)
    robust = found.robust[shown] / sizes

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        rows = np.arange(len(shown))
        axes.barh(rows, robust, 0.6, color=THEME["first"], label="robust")
        rest = np.where(found.labels[shown] > 0, 1 - robust, 0.0)
        axes.barh(rows, rest, 0.6, left=robust, color=THEME["second"], label="depends on a total")
        _name_rows(axes, [classes[k] for k in shown])
        axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        axes.set_xlim(0, 1)
        _legend(figure, axes)

    title = "Share of the labels of each class that stay if totals are off"
    return inline_svg("robust", title, draw, 0.8 + 0.4 * len(shown))


def importance(entries: Sequence[tuple[str, float]]) -> str:
    """Draw the share of labels that change if a column is shuffled."""

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        axes.barh(np.arange(len(entries)), [x for _, x in entries], 0.7, color=THEME["first"])
        _name_rows(axes, [name for name, _ in entries])
        axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        axes.set_xlim(0, max(0.01, 1.1 * max(x for _, x in entries)))

    title = "Share of labels that change if a column is shuffled"
    return inline_svg("importance", title, draw, 0.7 + 0.22 * len(entries))


def _edges(values: Floats) -> Any:
    """Return bins that part at zero, so that no bar is of both sides of the cut-off."""
    low, high = float(values.min()), float(values.max())
    if low >= 0 or high <= 0:
        return np.linspace(low, high if high > low else low + 1, _BINS + 1)
    width = (high - low) / _BINS
    below, above = np.ceil(-low / width), np.ceil(high / width)
    return width * np.arange(-below, above + 1)


def _name_rows(axes: Any, names: list[str]) -> None:
    axes.set_yticks(np.arange(len(names)), [short(name, _NAME) for name in names])
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)


def _cut(name: str) -> str:
    # A name that starts with an underscore would be left out of a legend.
    return f"\N{LEFT DOUBLE QUOTATION MARK}{short(name, _NAME)}\N{RIGHT DOUBLE QUOTATION MARK}"


def _legend(figure: Figure, axes: Any) -> None:
    handles, titles = axes.get_legend_handles_labels()
    figure.legend(handles, titles, loc="outside upper left", ncols=3, fontsize=7.5)
