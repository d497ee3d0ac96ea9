"""How well methods label: means, ranks, gains, calibration, other settings, and our goals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.stats import friedmanchisquare, rankdata, studentized_range

from c2rf.bench.data import NAMES
from c2rf.bench.methods import BENCH_METHODS
from c2rf.bench.paper_tables import UNSOLVED, BenchFigure, Check, bold
from c2rf.bench.protocol import PROTOCOLS, Protocol
from c2rf.bench.records import METRICS, Record, Results, Runner, tuned_and_others
from c2rf.bench.scores import MEASURES, N_BINS
from c2rf.report.figures import LOOK, images
from c2rf.report.page import Table

COMPARED = tuple(name for name in BENCH_METHODS if name not in ("c2rf", "only-pp", "only-br"))
"""Methods that are compared; the others solve what p-c2rf solves."""

TIE = 0.5
"""Points within which two methods count as equally good on a data set."""

SIGNIFICANCE = 0.05
"""Significance level of the test for different average ranks."""


def mean_scores(results: Results, metric: str) -> Any:
    """Return the mean score by data set of each compared method.

    Of a method that ran with several solvers the one with most records is taken.
    """
    return results.summary(metric, "mean")[results.main_runners(COMPARED)]


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


def make_ranks(results: Results, metric: str) -> Ranks | None:
    """Rank the methods that have a score on every data set.

    None where there is nothing to rank: fewer than three methods or two data sets.
    """
    whole = mean_scores(results, metric).dropna(axis=1)
    if whole.shape[0] < 2 or whole.shape[1] < 3:
        return None
    return Ranks(list(whole.columns), whole.to_numpy())


SETTINGS: dict[str, Callable[[float], str]] = {
    "fraction": lambda value: f"{100 * value:g} % labeled",
    "positive_weight": lambda value: f"weight {value:g}",
    "total_error": lambda value: f"λ off by {100 * value:+g} %",
    "few_labels": lambda value: f"{value:g} labeled in a class",
}
"""What is changed, one at a time, to see what it costs, and how a value of it is printed."""


def changed_settings(records: Sequence[Record], usual: Protocol) -> dict[str, Results]:
    """Return the results where one thing is not as usual, by what that is, in order."""
    variants = {r.protocol for r in records}
    found = {}
    for name, in_words in SETTINGS.items():
        # Those that would be the usual one if this were as usual
        as_usual = {name: getattr(usual, name)}
        alike = {v: getattr(v, name) for v in variants if replace(v, **as_usual) == usual != v}
        for variant, value in sorted(alike.items(), key=lambda pair: pair[1]):
            found[in_words(value)] = Results(records, usual.name, variant)
    return found


def cost(here: Results, usual: Results, runner: Runner, metric: str) -> str:
    """Return the mean in a setting, and how far it is from the usual one on the same samples.

    A sign for nothing if a data set of this setting is missing on either side.
    """
    scores, others = here.samples[metric], usual.samples[metric]
    if runner not in scores or runner not in others:
        return UNSOLVED
    change = scores[runner] - others[runner]
    both = pd.DataFrame({"here": scores[runner], "change": change}).dropna()
    means = both.groupby("data").mean()
    if len(means) < len(here.data_sets):
        return UNSOLVED
    return f"{means['here'].mean():.1f} ({means['change'].mean():+.1f})"


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


def calibration_tables(results: Results) -> Iterator[Table]:
    """Make a table of the samples that settings were chosen by, and one of the others."""
    found = pd.DataFrame(
        [
            {"data": r.data, "sample": r.sample, "method": r.method, **r.calibration}
            for r in results.records
            if r.calibration is not None
        ],
        columns=["data", "sample", "method", *MEASURES],
    )
    for name, measured in tuned_and_others(found):
        runners = [r for r in results.main_runners(COMPARED) if r.method in set(measured["method"])]
        header = ["data set", *(f"{m}: {r.short}" for m in MEASURES.values() for r in runners)]
        means: Any = measured.groupby(["data", "method"]).mean().unstack()
        means = 100 * means.reindex(results.data_sets)
        means.loc["mean"] = means.mean(skipna=False)
        rows = []
        for data in means.index:
            row = [data]
            for measure in MEASURES:
                values = means.loc[data, measure][[r.method for r in runners]]
                texts = [UNSOLVED if np.isnan(v) else f"{v:.1f}" for v in values]
                row += [bold(text, text == f"{values.min():.1f}") for text in texts]
            rows.append(row)
        yield Table(f"Calibration of the probabilities, {name}", header, rows, NOTE)


ABOUT = (
    "A method sees the labeled rows, the features of the others and the total, never a true "
    "label of a row that is to be labeled. AC is the accuracy and (1+MCC)/2 Matthews' "
    "correlation as the paper prints it, both in percent, on the unlabeled rows; scores of a "
    "data set are means over its samples, and samples are the same for all methods. "
    f'"{UNSOLVED}" stands where records are missing, so that no mean is of other data sets than '
    "its neighbours; a data set counts where more than half of its samples have a score."
)
"""What all tables of the page have in common."""


def means_table(results: Results) -> Table:
    """Make the table of means over data sets, with average ranks and times."""
    ranks = {}
    for metric in METRICS:
        found = make_ranks(results, metric)
        ranks[metric] = dict(zip(found.runners, found.average, strict=True)) if found else {}
    header = ["method", "name in bench run"]
    header += [f"{what} {short}" for what in ("mean", "rank") for short in METRICS.values()]
    header += ["median seconds", "data sets"]
    scores = {metric: mean_scores(results, metric) for metric in METRICS}
    means = {metric: scores[metric].mean(skipna=False) for metric in METRICS}
    rows = []
    for runner in results.main_runners(COMPARED):
        row = [runner.short, runner.method]
        row += [_top(means[metric][runner], means[metric].max()) for metric in METRICS]
        row += [_number(ranks[metric].get(runner, np.nan)) for metric in METRICS]
        seconds = [r.seconds["total"] for r in results.records if r.runner == runner]
        row.append(_number(float(np.median(seconds))))
        n_scored = scores["accuracy"][runner].count()
        rows.append([*row, f"{n_scored} of {len(results.data_sets)}"])
    note = (
        f"Means over the {len(results.data_sets)} data sets. Ranks are averages over data "
        "sets, 1 for the best, of the methods that have a score on all of them. Seconds are those "
        "of the trees and the method together, medians over all samples, one thread. RF (the "
        "majority vote), p-C²RF and auto (both the paper's weights), top λ and C²RF with offset "
        "label by the votes of the paper's trees, all others by the features."
    )
    return Table("Means over data sets", header, rows, note, n_names=2)


def scores_table(results: Results, metric: str) -> Table:
    """Make the table of the scores on each data set, with their spread over samples."""
    rows, scores = [], mean_scores(results, metric)
    for data in results.data_sets:
        means = scores.loc[data]
        spreads = results.samples[metric].loc[data].std()
        row = [data]
        for runner in results.main_runners(COMPARED):
            spread = "" if np.isnan(spreads[runner]) else f" ± {spreads[runner]:.1f}"
            row.append(_top(means[runner], means.max(), spread))
        rows.append(row)
    header = ["data set", *(runner.short for runner in results.main_runners(COMPARED))]
    note = "Means over samples ± their standard deviation over samples; the best are in bold."
    return Table(f"{METRICS[metric]} on each data set", header, rows, note)


def against_table(results: Results, baseline_method: str) -> Table | None:
    """Make the table of gains in accuracy over a baseline: wins, ties and losses by data set."""
    baseline = results.main_runner(baseline_method)
    others = [runner for runner in results.main_runners(COMPARED) if runner != baseline]
    if baseline is None or not others:
        return None
    rows = []
    outcomes: dict[Runner, list[int]] = {runner: [] for runner in others}
    for data in results.data_sets:
        row = [data]
        for runner in others:
            both = results.gains(runner, baseline, "accuracy")
            gains = both[both.index.get_level_values("data") == data]
            row.append(_gain(gains))
            if len(gains):
                outcomes[runner].append(_outcome(gains))
        rows.append(row)
    totals = ["/".join(str(outcomes[r].count(sign)) for sign in (1, 0, -1)) for r in others]
    rows.append(["wins/ties/losses", *totals])
    title = baseline.short
    note = (
        f"Points of accuracy ahead of {title} on the same samples: the mean, and from the worst "
        f"to the best sample. A mean within {TIE:g} of zero is a tie; wins are in bold."
    )
    header = ["data set", *(runner.short for runner in others)]
    return Table(f"Against {title}", header, rows, note)


def samples_table(results: Results) -> Table:
    """Make the table of means over data sets for each sample on its own."""
    numbers = sorted({record.sample for record in results.records})
    by_number = {
        metric: scores.groupby("sample").mean(skipna=False)
        for metric, scores in results.samples.items()
        if metric in METRICS
    }
    header = ["method"]
    header += [f"{short}, sample {number}" for short in METRICS.values() for number in numbers]
    rows = [
        [r.short, *(_number(by_number[metric].loc[n, r]) for metric in METRICS for n in numbers)]
        for r in results.main_runners(COMPARED)
    ]
    note = (
        "Means over data sets of the first sample of each, of the second, and so on: what was "
        "decided by looking at some samples can be judged by the others."
    )
    return Table("Sample by sample", header, rows, note)


def settings_table(results: Results, settings: dict[str, Results], metric: str) -> Table | None:
    """Make the table of what other settings do to a score."""
    if not settings:
        return None
    rows = []
    for runner in results.main_runners(COMPARED):
        row = [cost(here, results, runner, metric) for here in settings.values()]
        if set(row) != {UNSOLVED}:
            rows.append([runner.short, *row])
    usual = results.protocol
    names = {title: ", ".join(here.data_sets) for title, here in settings.items()}
    if len(set(names.values())) == 1:
        listed = f"Data sets: {next(iter(names.values()))}."
    else:
        listed = "Data sets: " + "; ".join(f"{title}: {of}" for title, of in names.items())
    note = (
        "The mean, and in brackets how far it is from the usual setting's on the same samples, "
        f"which has {100 * usual.fraction:g} % labeled, weight {usual.positive_weight:g} for "
        "positive rows when these are drawn, and the true λ. Where λ is off, methods are told a "
        f"total that is wrong by so much; labels are scored with the truth. {listed}"
    )
    header = ["method", *settings]
    return Table(f"{METRICS[metric]} in other settings", header, rows, note)


def told_apart(ranks: Ranks) -> str:
    """Say what the tests on ranks show."""
    return (
        f"Friedman's test over {ranks.n_data_sets} data sets says "
        f"p = {ranks.p_value:.2g} for all methods being equally good; average ranks that are less "
        f"than {ranks.critical_difference:.2f} apart cannot be told apart (Nemenyi's test at "
        f"{SIGNIFICANCE:g})"
    )


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


def figure_ranks(results: Results) -> BenchFigure | None:
    """Draw average ranks, and bars over those that cannot be told apart."""
    ranked = {
        metric: ranks for metric in METRICS if (ranks := make_ranks(results, metric)) is not None
    }
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
    left_out = [
        runner.short for runner in results.main_runners(COMPARED) if runner not in ranks.runners
    ]
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
    side = (k - 1) * 0.48  # space for a name, wherever the figure ends
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


GOALS = {"known-totals": (88.8, 82.2), "c2rf-offset": (82.0, 74.3)}
"""Means over the paper's data sets that we want to reach, in the order of METRICS."""

MOST_BEHIND = 1.0
"""Points that the default may be behind plain extra trees on a data set."""

EXACT = ("top-lambda", "extra-trees-top", "known-totals")
"""Methods that promise to meet a total exactly."""


def goals(results: Results) -> Iterator[Check]:
    """Check what we set ourselves as goals, where all of the paper's data sets are there."""
    if results.protocol != PROTOCOLS["biased"] or results.data_sets != list(NAMES):
        return
    means = {metric: mean_scores(results, metric).mean(skipna=False) for metric in METRICS}
    for runner in results.main_runners(GOALS):
        found, wanted = [means[metric][runner] for metric in METRICS], GOALS[runner.method]
        if not np.isnan(found).any():
            yield Check(
                f"{runner.short}: means of at least {' / '.join(map(str, wanted))}",
                bool(np.all(np.greater_equal(found, wanted))),
                f"{' / '.join(f'{mean:.2f}' for mean in found)} ({' / '.join(METRICS.values())})",
            )
    compared = results.main_runners(("known-totals", "extra-trees-top"))
    if len(compared) == 2:
        ours, baseline = compared
        gains = results.gains(ours, baseline, "accuracy").groupby("data").mean()
        if len(gains) == len(results.data_sets):
            yield Check(
                f"{ours.short}: on no data set more than {MOST_BEHIND:g} points of accuracy behind "
                f"{baseline.short}",
                gains.min() >= -MOST_BEHIND,
                f"{gains.min():+.2f} on {gains.idxmin()}, its worst",
            )
    scored = [r for r in results.records if r.method in EXACT and r.eta is not None]
    methods = [method for method in EXACT if any(r.method == method for r in scored)]
    missed = [f"{r.method} on {r.data} {r.sample} by {r.eta}" for r in scored if r.eta]
    if scored:
        yield Check(
            f"Totals are met exactly by {', '.join(methods)}",
            not missed,
            f"{len(scored)} records; missed: {', '.join(missed) or 'none'}",
        )
