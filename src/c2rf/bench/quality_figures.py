"""The figures of the page on quality: average ranks, other settings, few labels in a class."""

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
_WITH_FEW_LABELS = {"known-totals": ("o", "#0072B2"), "extra-trees-top": ("s", "#D55E00")}


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


def figure_few_labels(settings: Sequence[Setting]) -> BenchFigure | None:
    """Draw the accuracy on each data set where a class has few labeled rows."""
    few = {s.title: Quality(s.results) for s in settings if s.name == "few_labels"}
    if not few:
        return None
    with mpl.rc_context(LOOK):
        figure = Figure(figsize=(9, 4.6), layout="constrained")
        panels = figure.subplots(1, len(few), squeeze=False, sharex=True, sharey=True)[0]
        for axes, (title, quality) in zip(panels, few.items(), strict=True):
            _by_data_set(axes, quality)
            axes.set_title(title, fontsize=10, loc="left")
            axes.set_xlabel("accuracy, %")
        panels[0].invert_yaxis()
        marks = {mark.get_label(): mark for axes in panels for mark in axes.collections[1:]}
        figure.legend(marks.values(), marks.keys(), fontsize=8, ncols=2, loc="outside lower center")
        drawn = images(figure)
    note = (
        "Means over the samples of each data set, in which the class with fewest labeled rows has "
        "that many of them at most. Over all data sets, "
        + "; ".join(f"{title}: {_in_words(quality)}" for title, quality in few.items())
        + "."
    )
    return BenchFigure("few_labels", "Few labels in a class", note, *drawn)


def _by_data_set(axes: Axes, quality: Quality) -> None:
    """Draw a row for each data set, a mark for each method, and the line between them."""
    names = quality.results.data_sets
    rows = np.arange(len(names))
    found = [
        (runner, np.array(list(quality.by_data_set(runner, "accuracy").values()), dtype=float))
        for method in _WITH_FEW_LABELS
        if (runner := quality.runner(method)) is not None
    ]
    means = np.array([values for _, values in found]).reshape(-1, len(names))
    axes.hlines(rows, means.min(axis=0), means.max(axis=0), color="#888888", linewidth=1.5)
    for place, (runner, values) in enumerate(found):
        mark, color = _WITH_FEW_LABELS[runner.method]
        axes.scatter(
            values, rows, s=34, marker=mark, color=color, label=runner.short, zorder=4 - place
        )
    axes.set_yticks(rows, names)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)


def _in_words(quality: Quality) -> str:
    """Return the means of both methods, and where ours is least ahead."""
    ours, rival = (quality.runner(method) for method in _WITH_FEW_LABELS)
    means = {r.short: quality.mean(r, "accuracy") for r in (ours, rival) if r is not None}
    words = [f"{name} {mean:.1f}" for name, mean in means.items() if mean is not None]
    if ours and rival and (found := quality.smallest_gain(ours, rival)) is not None:
        words.append(f"smallest gain {found[1]:+.1f} on {found[0]}")
    return ", ".join(words)
