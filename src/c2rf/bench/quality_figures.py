"""The figures of the page on quality: average ranks, and what other settings cost."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from c2rf.bench.figures import BenchFigure
from c2rf.bench.quality import METRICS, SETTINGS, Quality, Ranks, Setting
from c2rf.bench.quality_tables import told_apart
from c2rf.report.page.pictures import LOOK, images

_INK, _BAR = "#1c2430", "#0072B2"
_AXES = {
    "fraction": "labeled rows, %",
    "positive_weight": "weight of positive rows when drawn",
    "total_error": "error of the total that is told, %",
}
_MARKS = "osD^vPX*<>"


def figure_ranks(quality: Quality) -> BenchFigure | None:
    """Draw average ranks, and bars over those that cannot be told apart."""
    ranked = {metric: ranks for metric in METRICS if (ranks := quality.ranks(metric)) is not None}
    if not ranked:
        return None
    with mpl.rc_context(LOOK):
        figure = Figure(figsize=(9, 5.6), layout="constrained")
        panels = figure.subplots(len(ranked), 1, squeeze=False)[:, 0]
        for axes, (metric, ranks) in zip(panels, ranked.items(), strict=True):
            _critical_differences(axes, ranks)
            axes.set_title(f"Average rank by {METRICS[metric]}", fontsize=10, loc="left", pad=14)
        drawn = images(figure)
    tests = "; ".join(f"{METRICS[metric]}: {told_apart(ranks)}" for metric, ranks in ranked.items())
    ranks = next(iter(ranked.values()))
    left_out = [runner.short for runner in quality.runners if runner not in ranks.runners]
    note = f"Best on the left. A bar joins methods that cannot be told apart. {tests}."
    if left_out:
        note += f" Not ranked, as scores are missing: {', '.join(left_out)}."
    return BenchFigure("ranks", "Average ranks over data sets", note, *drawn)


def _critical_differences(axes: Axes, ranks: Ranks) -> None:
    """Draw a ruler of ranks, the methods hanging from it, and the bars between."""
    k = len(ranks.runners)
    bars = ranks.cliques()
    order = np.argsort(ranks.average, kind="stable")
    first = 0.8 + 0.35 * len(bars)  # where the uppermost name hangs, below all bars
    depth = first + 0.7 * ((k + 1) // 2)
    side = (k - 1) * 0.48  # room for a name, wherever the figure ends
    axes.set(xlim=(1 - side, k + side), ylim=(depth, -1.2))
    axes.axis("off")
    axes.plot([1, k], [0, 0], color=_INK, linewidth=1)
    for tick in range(1, k + 1):
        axes.plot([tick, tick], [0, -0.2], color=_INK, linewidth=1)
        axes.text(tick, -0.3, str(tick), ha="center", va="bottom", fontsize=8)
    for place, method in enumerate(order):
        on_left = place < (k + 1) // 2
        height = first + 0.7 * (place if on_left else k - 1 - place)
        rank, end = ranks.average[method], 1 - 0.06 * side if on_left else k + 0.06 * side
        axes.plot([rank, rank, end], [0, height, height], color=_INK, linewidth=0.8)
        text = f" {ranks.runners[method].short}  {rank:.2f} "
        axes.text(end, height, text, ha="right" if on_left else "left", va="center")
    for number, (start, end) in enumerate(bars):
        height = 0.4 + 0.35 * number
        beyond = 0.01 * side
        axes.plot([start - beyond, end + beyond], [height, height], color=_BAR, linewidth=3.5)
    width = min(ranks.critical_difference, k - 1)
    axes.plot([1, 1 + width], [-0.95, -0.95], color=_BAR, linewidth=2, marker="|")
    label = f"  critical difference {ranks.critical_difference:.2f}"
    axes.text(1 + width, -0.95, label, va="center", fontsize=8)


def figure_settings(quality: Quality, settings: Sequence[Setting]) -> BenchFigure | None:
    """Draw what fewer labels, another bias and a wrong total cost each method."""
    drawable = [name for name in SETTINGS if name != "few_labels"]  # which has no usual place
    names = [name for name in drawable if any(setting.name == name for setting in settings)]
    if not names:
        return None
    with mpl.rc_context(LOOK):
        figure = Figure(figsize=(3.4 * len(names) + 0.6, 4.2), layout="constrained")
        panels = figure.subplots(1, len(names), squeeze=False)[0]
        for axes, name in zip(panels, names, strict=True):
            _costs(axes, quality, [setting for setting in settings if setting.name == name])
        panels[0].set_ylabel("points of accuracy against the usual setting")
        lines = {line.get_label(): line for axes in panels for line in axes.get_lines()[1:]}
        figure.legend(lines.values(), lines.keys(), fontsize=8, ncols=4, loc="outside lower center")
        drawn = images(figure)
    note = (
        "Means over data sets of the differences to the usual setting, which is where all lines "
        "meet zero, on the same data sets and samples. The table below has the figures."
    )
    return BenchFigure("settings", "What other settings cost", note, *drawn)


def _costs(axes: Axes, quality: Quality, settings: Sequence[Setting]) -> None:
    name = settings[0].name
    scale = 1 if name == "positive_weight" else 100
    usual = scale * getattr(quality.results.protocol, name)
    axes.axhline(0, color="#444444", linewidth=0.8)
    colors = mpl.colormaps["tab10"]
    for number, runner in enumerate(quality.runners):
        points = [(usual, 0.0)]
        for setting in settings:
            if (cost := setting.cost(quality, runner, "accuracy")) is not None:
                points.append((scale * setting.value, cost[1]))
        if len(points) > 1:
            axes.plot(
                *zip(*sorted(points), strict=True),
                marker=_MARKS[number % len(_MARKS)],
                markersize=4.5,
                linewidth=1.2,
                color=colors(number % 10),
                label=runner.short,
            )
    axes.set_xlabel(_AXES[name])
    if name == "fraction":
        axes.set_xscale("log")
    places = sorted({usual, *(scale * setting.value for setting in settings)})
    axes.set_xticks(places, [f"{place:g}" for place in places])
    axes.minorticks_off()
