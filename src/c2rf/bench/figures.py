"""The paper's three figures from records, beside what can be drawn of the paper's.

The paper's plots are not published as numbers; its tables are. So its side of a figure is drawn
from the medians in its tables, and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from c2rf.bench import data as published
from c2rf.bench.records import Record
from c2rf.bench.results import Results, Runner
from c2rf.bench.tables import SHOWN, caps
from c2rf.report.page import LOOK, images

# Okabe and Ito's colours: told apart by everybody.
_COLORS = {
    "rf": "#000000",
    "c2rf": "#D55E00",
    "p-c2rf": "#0072B2",
    "only-pp": "#56B4E9",
    "only-br": "#E69F00",
    "auto": "#009E73",
    "top-lambda": "#CC79A7",
}
_STYLES = {None: "-", "highs": "-", "scip": "--", "gurobi": ":"}


@dataclass(frozen=True)
class BenchFigure:
    """A drawn figure: its name, what it shows, what differs from the paper's and why."""

    name: str
    title: str
    note: str
    svg: bytes
    png: bytes


def figure_1(results: Results) -> BenchFigure:
    """Draw Figure 1: for every time, the share of samples solved by then."""
    with mpl.rc_context(LOOK):
        figure = Figure(figsize=(9, 4), layout="constrained")
        ours, paper = figure.subplots(1, 2, sharex=True, sharey=True)
        n_problems = len({(r.data, r.seed) for r in results.records})
        for runner in results.runners:
            run = [r for r in results.records if _is(r, runner)]
            until = max((r.time_limit for r in run if r.time_limit is not None), default=None)
            times = [r.seconds["total"] for r in run if r.solved]
            _ecdf(ours, times, n_problems, runner, until)
        table = published.run_times()
        for method in table.columns:
            limit = None if method == "rf" else published.TIME_LIMIT
            _ecdf(paper, table[method].dropna().tolist(), len(table), Runner(method), limit)
        ours.set(title="Ours: all samples", ylabel="share solved", ylim=(0, 1.03))
        paper.set(title="The paper: medians of its Table 2")
        for method, share in (("c2rf", 0.58), ("p-c2rf", 0.94)):
            paper.plot(published.TIME_LIMIT, share, "D", color=_COLORS[method], clip_on=False)
        for axes in (ours, paper):
            axes.set(xscale="log", xlabel="seconds")
            axes.legend(fontsize=7, ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.16))
        drawn = images(figure)
    shares = "; ".join(_solved_share(results, runner, n_problems) for runner in results.runners)
    note = (
        f"Solved, that is proven, within the cap: {shares}. {caps(results).capitalize()}. A sample "
        "that a method was not run on counts as not solved by it. The paper's curves are not "
        "published; on the right are the medians of its Table 2, and as diamonds the shares of "
        f"samples that its text gives for {published.TIME_LIMIT} s: 58 % for C²RF, 94 % for "
        "p-C²RF. Solver, machine and samples differ."
    )
    return BenchFigure("figure1", "Figure 1. Run times, biased samples", note, *drawn)


def figure_gains(results: Results, number: int) -> BenchFigure:
    """Draw Figure 2 (biased) or 3 (simple): gains over RF in accuracy and MCC."""
    runners = [r for method in SHOWN[1:] if (r := results.main_runner(method)) is not None]
    name = results.protocol.name
    paper = published.quality(name)
    with mpl.rc_context(LOOK):
        figure = Figure(figsize=(9, 3.8), layout="constrained")
        for axes, metric in zip(figure.subplots(1, 2), ("accuracy", "mcc"), strict=True):
            gains = [results.differences(runner, metric) for runner in runners]
            boxes = [
                (r.title, _all(gain), r.method) for r, gain in zip(runners, gains, strict=True)
            ]
            if runners:
                medians = np.array([np.median(gain) for gain in gains[0].values()])
                boxes.append((f"{runners[0].title}\nmedians", medians, runners[0].method))
            scale = 100 if metric == "accuracy" else 50
            theirs = (paper[metric]["p-c2rf"] - paper[metric]["rf"]) / scale
            boxes.append(("p-C²RF, paper\nmedians", theirs.to_numpy(), ""))
            _boxes(axes, boxes)
            axes.set_title({"accuracy": "AC - AC of RF", "mcc": "MCC - MCC of RF"}[metric])
        drawn = images(figure)
    sampled = "biased" if name == "biased" else "simple random"
    title = f"Figure {number}. Gains over RF, {sampled} samples"
    return BenchFigure(f"figure{number}", title, _gain_note(results, runners), *drawn)


def _gain_note(results: Results, runners: Sequence[Runner]) -> str:
    shares = []
    for runner in runners:
        gains = _all(results.differences(runner, "accuracy"))
        if len(gains):
            near = np.mean(np.abs(gains) <= 0.05)
            shares.append(
                f"{runner.title} {100 * np.mean(gains > 0):.0f} % above zero and "
                f"{100 * near:.0f} % within 0.05 of it"
            )
    lock = {
        "biased": "The paper's text has 75 % of its gains in accuracy above zero.",
        "simple": "The paper's text has 75 % of its gains in accuracy within 0.05 of zero.",
    }.get(results.protocol.name, "")
    return (
        f"Gains in accuracy of all samples: {'; '.join(shares) or 'none'}. {lock} "
        "AC runs from 0 to 1, MCC from -1 to 1. The paper's boxes are of samples, which are not "
        "published; its box here is of the differences of the medians in its table, and beside it "
        f"are our medians. Samples and trees differ; {caps(results)}."
    )


def _solved_share(results: Results, runner: Runner, n_problems: int) -> str:
    solved = sum(r.solved for r in results.records if _is(r, runner))
    return f"{runner.title} {100 * solved / n_problems:.0f} %"


def _is(record: Record, runner: Runner) -> bool:
    return (record.method, record.backend) == (runner.method, runner.backend)


def _ecdf(
    axes: Axes, times: Sequence[float], n_problems: int, runner: Runner, until: float | None
) -> None:
    """Draw gamma(s) = |{p : t_p <= s}| / |P|, up to the time limit if there is one."""
    steps = np.sort(times)
    heights = np.arange(1, len(steps) + 1) / n_problems
    if until is not None:
        steps = np.append(steps, max([until, *times]))
        heights = np.append(heights, len(times) / n_problems)
    axes.step(
        steps,
        heights,
        where="post",
        label=runner.title,
        color=_COLORS[runner.method],
        linestyle=_STYLES.get(runner.backend, "-"),
    )


def _boxes(axes: Axes, boxes: Sequence[tuple[str, NDArray[np.float64], str]]) -> None:
    axes.axhline(0, color="#444444", linewidth=0.8)
    drawn = axes.boxplot(
        [values for _, values, _ in boxes],
        tick_labels=[title.replace(", ", "\n", 1) for title, _, _ in boxes],
        patch_artist=True,
        widths=0.6,
        medianprops={"color": "black"},
        flierprops={"marker": ".", "markersize": 4},
    )
    for patch, (_, _, method) in zip(drawn["boxes"], boxes, strict=True):
        patch.set(facecolor=_COLORS.get(method, "#ffffff"), alpha=0.55)
        if not method:
            patch.set(hatch="///")
    axes.tick_params(axis="x", labelsize=7)


def _all(gains: dict[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.concatenate([np.empty(0), *gains.values()])
