"""How well methods label: means, ranks, gains, calibration, and what other settings cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.stats import friedmanchisquare, rankdata, studentized_range

from c2rf.bench.methods import BENCH_METHODS
from c2rf.bench.paper import UNSOLVED, BenchFigure, bold
from c2rf.bench.protocol import Protocol
from c2rf.bench.records import Record
from c2rf.bench.results import METRICS, Results, Runner, runner_of, tuned_and_others
from c2rf.bench.scores import MEASURES, N_BINS
from c2rf.report.figures import LOOK, images
from c2rf.report.page import Table

COMPARED = tuple(name for name in BENCH_METHODS if name not in ("c2rf", "only-pp", "only-br"))
"""Methods that are compared; the others solve what p-c2rf solves."""

TIE = 0.5
"""Points within which two methods count as equally good on a data set."""

SIGNIFICANCE = 0.05
"""Of the test that tells average ranks apart."""

SETTINGS = ("fraction", "positive_weight", "total_error", "few_labels")
"""What is changed, one at a time, to see what it costs."""


class Quality:
    """The scores of all compared methods in one setting.

    Parameters
    ----------
    results : Results
        The records. Of a method that ran with several solvers the one with most records is taken.
    """

    def __init__(self, results: Results) -> None:
        self.results = results
        found = (results.main_runner(method) for method in COMPARED)
        self.runners = [runner for runner in found if runner is not None]
        self.means: dict[str, Any] = {m: results.summary(m, "mean")[self.runners] for m in METRICS}

    def runner(self, method: str) -> Runner | None:
        """Return a method with its solver, None if it has no records."""
        return next((runner for runner in self.runners if runner.method == method), None)

    def mean(self, runner: Runner, metric: str) -> float:
        """Return the mean over all data sets, NaN if one is missing."""
        return float(self.means[metric][runner].mean(skipna=False))

    def smallest_gain(self, runner: Runner, other: Runner) -> tuple[str, float] | None:
        """Return the data set on which a method is least ahead of another, and by how much.

        None if a data set is missing on either side.
        """
        gains = self.results.gains(runner, other, "accuracy").groupby("data").mean()
        if len(gains) < len(self.results.data_sets) or gains.empty:
            return None
        return str(gains.idxmin()), float(gains.min())

    def ranks(self, metric: str) -> Ranks | None:
        """Rank the methods that have a score on every data set.

        None where there is nothing to rank: fewer than three methods or two data sets.
        """
        whole = self.means[metric].dropna(axis=1)
        if whole.shape[0] < 2 or whole.shape[1] < 3:
            return None
        return Ranks(list(whole.columns), whole.to_numpy())


class Ranks:
    """Average ranks over data sets, 1 for the best, and which of them can be told apart.

    Parameters
    ----------
    runners : sequence of Runner
        At least three methods.
    scores : ndarray of shape (n_data_sets, n_methods)
        The greater the better; equal scores share their ranks.

    Examples
    --------
    >>> scores = np.array([[90.0, 80.0, 70.0], [85.0, 80.0, 80.0], [99.0, 98.0, 60.0]])
    >>> ranks = Ranks([Runner("auto"), Runner("rf"), Runner("top-lambda")], scores)
    >>> ranks.average.round(2).tolist(), round(ranks.critical_difference, 3)
    ([1.0, 2.17, 2.83], 1.914)
    """

    def __init__(self, runners: Sequence[Runner], scores: NDArray[np.float64]) -> None:
        n_blocks, k = scores.shape
        self.runners = runners
        self.n_data_sets = n_blocks
        self.average: NDArray[np.float64] = rankdata(-scores, axis=1).mean(axis=0)
        same = (scores == scores[:, :1]).all()
        self.p_value = 1.0 if same else float(friedmanchisquare(*scores.T).pvalue)
        # Nemenyi: q sqrt(k (k + 1) / 6 n), q from the studentized range over sqrt(2)
        q = studentized_range.ppf(1 - SIGNIFICANCE, k, np.inf) / np.sqrt(2)
        self.critical_difference = float(q * np.sqrt(k * (k + 1) / (6 * n_blocks)))

    def cliques(self) -> list[tuple[float, float]]:
        """Return the longest stretches of average ranks that cannot be told apart."""
        ranks = np.sort(self.average)
        ends = [float(ranks[ranks <= rank + self.critical_difference][-1]) for rank in ranks]
        found: list[tuple[float, float]] = []
        for start, end in zip(ranks.tolist(), ends, strict=True):
            if end > start and (not found or end > found[-1][1]):
                found.append((start, end))
        return found


@dataclass(frozen=True, eq=False)
class Setting:
    """A setting that differs from the usual one in one thing, and its records."""

    name: str
    value: float
    results: Results

    @property
    def title(self) -> str:
        """What to print.

        Examples
        --------
        >>> Setting("total_error", -0.2, Results([], "biased")).title
        'λ off by -20 %'
        """
        if self.name == "total_error":
            return f"λ off by {100 * self.value:+g} %"
        if self.name == "few_labels":
            return f"{self.value:g} labeled in a class"
        if self.name == "fraction":
            return f"{100 * self.value:g} % labeled"
        return f"weight {self.value:g}"

    def cost(self, usual: Quality, runner: Runner, metric: str) -> tuple[float, float] | None:
        """Return the mean here, and how far it is from the usual one on the same samples.

        None if a data set of this setting is missing on either side.
        """
        here, there = (r.samples[metric] for r in (self.results, usual.results))
        if runner not in here or runner not in there:
            return None
        both = pd.DataFrame({"here": here[runner], "change": here[runner] - there[runner]}).dropna()
        means = both.groupby("data").mean()
        if len(means) < len(self.results.data_sets):
            return None
        return float(means["here"].mean()), float(means["change"].mean())


def changed_settings(records: Sequence[Record], usual: Protocol) -> list[Setting]:
    """Return the settings in which one thing is not as usual, in order."""
    variants = {r.protocol for r in records if r.protocol.name == usual.name}
    found = [
        Setting(name, getattr(variant, name), Results(records, usual.name, variant))
        for variant in variants
        for name in _single_difference(variant, usual)
    ]
    return sorted(found, key=lambda setting: (SETTINGS.index(setting.name), setting.value))


def _single_difference(variant: Protocol, usual: Protocol) -> Iterator[str]:
    """Yield the one thing that differs, nothing if it is another or there are more."""
    ours = asdict(usual)
    changed = [name for name, value in asdict(variant).items() if value != ours[name]]
    if len(changed) == 1 and changed[0] in SETTINGS:
        yield changed[0]


NOTE = (
    "All times 100, means over samples; the lower the better, the best in bold. Calibration "
    f"error: rows are put in {N_BINS} bins of equal width by the confidence, which is the "
    "probability of the label they got; in each bin the distance of the mean confidence to the "
    "share of right labels counts, times the share of rows in it. By class: the same among the "
    "rows that got one label, and the plain mean over the two labels, so that a rare class counts "
    "as much as a frequent one. Brier score: the mean square of the distance of the probability "
    "to be positive to the truth, 1 or 0. Log loss: the mean of minus the natural logarithm of "
    "the true class' probability. Extra trees' log-odds are shifted by a constant so that their "
    "probabilities, 0.001 at least, add up to the total; those of known totals add up by "
    "themselves. Of these data, settings were chosen by samples 0 and 1 only."
)


def calibration_tables(quality: Quality) -> Iterator[Table]:
    """Make a table of the samples that settings were chosen by, and one of the others."""
    found = [record for record in quality.results.records if record.calibration is not None]
    for name, records in tuned_and_others(found):
        measured = pd.DataFrame(
            [{"data": r.data, "method": r.method, **(r.calibration or {})} for r in records]
        )
        runners = [r for r in quality.runners if r.method in set(measured["method"])]
        header = ["data set", *(f"{m}: {r.short}" for m in MEASURES.values() for r in runners)]
        means: Any = measured.groupby(["data", "method"]).mean().unstack()
        means = 100 * means.reindex(quality.results.data_sets)
        means.loc["mean"] = means.mean(skipna=False)
        rows = []
        for data in means.index:
            row = [data]
            for measure in MEASURES:
                values = means.loc[data, measure][[r.method for r in runners]]
                texts = [UNSOLVED if np.isnan(v) else f"{v:.1f}" for v in values]
                row += [bold(text, text == f"{values.min():.1f}") for text in texts]
            rows.append(row)
        yield Table(f"How true probabilities are, {name}", header, rows, NOTE)


ABOUT = (
    "A method sees the labeled rows, the features of the others and the total, never a true "
    "label of a row that is to be labeled. AC is the accuracy and (1+MCC)/2 Matthews' "
    "correlation as the paper prints it, both in percent, on the unlabeled rows; scores of a "
    "data set are means over its samples, and samples are the same for all methods. "
    f'"{UNSOLVED}" stands where records are missing, so that no mean is of other data sets than '
    "its neighbours; a data set counts where more than half of its samples have a score."
)
"""What all tables of the page have in common."""


def means_table(quality: Quality) -> Table:
    """Make the table of means over data sets, with average ranks and times."""
    ranked = {metric: _ranked(quality.ranks(metric)) for metric in METRICS}
    header = ["method", "name in bench run"]
    header += [f"{what} {short}" for what in ("mean", "rank") for short in METRICS.values()]
    header += ["median seconds", "data sets"]
    means = {m: quality.means[m].mean(skipna=False) for m in METRICS}
    rows = []
    for runner in quality.runners:
        row = [runner.short, runner.method]
        row += [_top(means[metric][runner], means[metric].max()) for metric in METRICS]
        row += [_number(ranked[metric].get(runner, np.nan)) for metric in METRICS]
        n_scored = quality.means["accuracy"][runner].count()
        n_data_sets = len(quality.results.data_sets)
        row.append(_number(_seconds(quality, runner)))
        rows.append([*row, f"{n_scored} of {n_data_sets}"])
    note = (
        f"Means over the {len(quality.results.data_sets)} data sets. Ranks are averages over data "
        "sets, 1 for the best, of the methods that have a score on all of them. Seconds are those "
        "of the trees and the method together, medians over all samples, one thread. RF (the "
        "majority vote), p-C²RF and auto (both the paper's weights), top λ and C²RF with offset "
        "label by the votes of the paper's trees, all others by the features."
    )
    return Table("Means over data sets", header, rows, note, n_names=2)


def scores_table(quality: Quality, metric: str) -> Table:
    """Make the table of the scores on each data set, with their spread over samples."""
    rows = []
    for data in quality.results.data_sets:
        means = quality.means[metric].loc[data]
        spreads = quality.results.samples[metric].loc[data].std()
        row = [data]
        for runner in quality.runners:
            spread = "" if np.isnan(spreads[runner]) else f" ± {spreads[runner]:.1f}"
            row.append(_top(means[runner], means.max(), spread))
        rows.append(row)
    header = ["data set", *(runner.short for runner in quality.runners)]
    note = "Means over samples ± their standard deviation over samples; the best are in bold."
    return Table(f"{METRICS[metric]} on each data set", header, rows, note)


def against_table(quality: Quality, rival_method: str) -> Table | None:
    """Make the table of gains in accuracy over a rival: wins, ties and losses by data set."""
    rival = quality.runner(rival_method)
    others = [runner for runner in quality.runners if runner != rival]
    if rival is None or not others:
        return None
    rows = []
    outcomes: dict[Runner, list[int]] = {runner: [] for runner in others}
    for data in quality.results.data_sets:
        row = [data]
        for runner in others:
            both = quality.results.gains(runner, rival, "accuracy")
            gains = both[both.index.get_level_values("data") == data]
            row.append(_gain(gains))
            if len(gains):
                outcomes[runner].append(_outcome(gains))
        rows.append(row)
    totals = ["/".join(str(outcomes[r].count(sign)) for sign in (1, 0, -1)) for r in others]
    rows.append(["wins/ties/losses", *totals])
    title = rival.short
    note = (
        f"Points of accuracy ahead of {title} on the same samples: the mean, and from the worst "
        f"to the best sample. A mean within {TIE:g} of zero is a tie; wins are in bold."
    )
    header = ["data set", *(runner.short for runner in others)]
    return Table(f"Against {title}", header, rows, note)


def samples_table(quality: Quality) -> Table:
    """Make the table of means over data sets for each sample on its own."""
    numbers = sorted({record.sample for record in quality.results.records})
    by_number = {
        metric: scores.groupby("sample").mean(skipna=False)
        for metric, scores in quality.results.samples.items()
        if metric in METRICS
    }
    header = ["method"]
    header += [f"{short}, sample {number}" for short in METRICS.values() for number in numbers]
    rows = [
        [r.short, *(_number(by_number[metric].loc[n, r]) for metric in METRICS for n in numbers)]
        for r in quality.runners
    ]
    note = (
        "Means over data sets of the first sample of each, of the second, and so on: what was "
        "decided by looking at some samples can be judged by the others."
    )
    return Table("Sample by sample", header, rows, note)


def settings_table(quality: Quality, settings: Sequence[Setting], metric: str) -> Table | None:
    """Make the table of what other settings do to a score."""
    if not settings:
        return None
    rows = []
    for runner in quality.runners:
        costs = [setting.cost(quality, runner, metric) for setting in settings]
        if any(cost is not None for cost in costs):
            row = [UNSOLVED if c is None else f"{c[0]:.1f} ({c[1]:+.1f})" for c in costs]
            rows.append([runner.short, *row])
    usual = quality.results.protocol
    data_sets = {setting.title: ", ".join(setting.results.data_sets) for setting in settings}
    listed = (
        f"Data sets: {next(iter(data_sets.values()))}."
        if len(set(data_sets.values())) == 1
        else "Data sets: " + "; ".join(f"{title}: {names}" for title, names in data_sets.items())
    )
    note = (
        "The mean, and in brackets how far it is from the usual setting's on the same samples, "
        f"which has {100 * usual.fraction:g} % labeled, weight {usual.positive_weight:g} for "
        "positive rows when these are drawn, and the true λ. Where λ is off, methods are told a "
        f"total that is wrong by so much; labels are scored with the truth. {listed}"
    )
    header = ["method", *(setting.title for setting in settings)]
    return Table(f"{METRICS[metric]} in other settings", header, rows, note)


def told_apart(ranks: Ranks) -> str:
    """Say what the tests on ranks show."""
    return (
        f"Friedman's test over {ranks.n_data_sets} data sets says "
        f"p = {ranks.p_value:.2g} for all methods being equally good; average ranks that are less "
        f"than {ranks.critical_difference:.2f} apart cannot be told apart (Nemenyi's test at "
        f"{SIGNIFICANCE:g})"
    )


def _ranked(ranks: Ranks | None) -> dict[Runner, float]:
    if ranks is None:
        return {}
    return dict(zip(ranks.runners, ranks.average.tolist(), strict=True))


def _seconds(quality: Quality, runner: Runner) -> float:
    own = [r.seconds["total"] for r in quality.results.records if runner_of(r) == runner]
    return float(np.median(own))


def _outcome(gains: Any) -> int:
    """Return 1 for a win, 0 for a tie, -1 for a loss."""
    mean = float(gains.mean())
    return 0 if abs(mean) <= TIE else int(np.sign(mean))


def _gain(gains: Any) -> str:
    if gains.empty:
        return UNSOLVED
    text = f"{gains.mean():+.1f} ({gains.min():+.1f} to {gains.max():+.1f})"
    return bold(text, _outcome(gains) > 0)


def _top(value: float, best: float, spread: str = "") -> str:
    """Return a score, in bold if it is as printed the best."""
    if np.isnan(value):
        return UNSOLVED
    return bold(f"{value:.1f}{spread}", f"{value:.1f}" == f"{best:.1f}")


def _number(value: float) -> str:
    return UNSOLVED if np.isnan(value) else f"{value:.2f}"


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
    found = [r for method in _WITH_FEW_LABELS if (r := quality.runner(method)) is not None]
    means = quality.means["accuracy"][found]
    axes.hlines(rows, means.min(axis=1), means.max(axis=1), color="#888888", linewidth=1.5)
    for place, runner in enumerate(found):
        mark, color = _WITH_FEW_LABELS[runner.method]
        axes.scatter(
            means[runner],
            rows,
            s=34,
            marker=mark,
            color=color,
            label=runner.short,
            zorder=4 - place,
        )
    axes.set_yticks(rows, names)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)


def _in_words(quality: Quality) -> str:
    """Return the means of both methods, and where ours is least ahead."""
    ours, rival = (quality.runner(method) for method in _WITH_FEW_LABELS)
    means = {r.short: quality.mean(r, "accuracy") for r in (ours, rival) if r is not None}
    words = [f"{name} {mean:.1f}" for name, mean in means.items() if not np.isnan(mean)]
    if ours and rival and (found := quality.smallest_gain(ours, rival)) is not None:
        words.append(f"smallest gain {found[1]:+.1f} on {found[0]}")
    return ", ".join(words)
