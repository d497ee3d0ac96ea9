"""Interval estimates: how often they cover the truth, how wide they are, and their page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from c2rf.bench.methods import N_IMPUTATIONS, OURS, RECIPE
from c2rf.bench.paper_tables import UNSOLVED, BenchFigure, Check, bold
from c2rf.bench.records import Record, Results, tuned_and_others
from c2rf.bench.scores import LEVEL
from c2rf.report.figures import LOOK, images
from c2rf.report.page import Table

SINGLE = "single labels"
LEAST_COVERED, MOST_COVERED = 0.88, 0.99
"""Between which the mean coverage of shares should be, ..."""
LEAST_RIGHT, MOST_RIGHT = 0.85, 0.99
"""... and the coverage of the share of right labels."""
LEAST_GAIN = 0.15
"""By how much the error of shares should be below that of single labels."""
RARE = 0.2
"""A class with a smaller rate than this is called rare."""


def interval_results(records: Sequence[Record]) -> Results:
    """Return the results that hold interval estimates, of the biased protocol if there are any."""
    own = [record for record in records if record.intervals is not None]
    found = Results(own, "biased")
    return found if found.records else Results(own, "simple")


def _halves(results: Results) -> Iterator[tuple[str, list[Record]]]:
    """Yield the records of samples that settings were chosen by, of the others, and all."""
    yield from tuned_and_others(results.records)
    yield "all", results.records


def _of(results: Results, data: str) -> list[Record]:
    return [record for record in results.records if record.data == data]


def share_mean(records: Sequence[Record], way: str, measure: str) -> float:
    """Return the mean over records of a measure of interval estimates of shares."""
    return float(np.mean([_intervals(record)["shares"][way][measure] for record in records]))


def gain(records: Sequence[Record], way: str = OURS) -> float:
    """Return by what part the mean error of shares is below that of single labels.

    Where these have no error at all it is zero, or minus infinity.
    """
    error, single = (share_mean(records, each, "error") for each in (way, SINGLE))
    if single == 0:
        return 0.0 if error == 0 else -np.inf
    return 1 - error / single


def accuracy_intervals(records: Sequence[Record], which: str) -> list[dict[str, float]]:
    """Return the intervals of the share of right labels: "overall", "negative", "positive", "rare".

    A rare class is one with few rows in the population.
    """
    found = []
    for record in records:
        rate = record.n_positive / record.n_unlabeled
        name = which
        if which == "rare":
            if min(rate, 1 - rate) >= RARE:
                continue
            name = "positive" if rate < RARE else "negative"
        intervals = _intervals(record)["right"]
        if name in intervals:
            found.append(intervals[name])
    return found


def accuracy_coverage(records: Sequence[Record], which: str) -> float:
    """Return how often the interval of the share of right labels holds the truth."""
    intervals = accuracy_intervals(records, which)
    return float(np.mean([c["low"] <= c["true"] <= c["high"] for c in intervals]))


def coverage_checks(results: Results) -> Iterator[Check]:
    """Check the goals, on samples that settings were chosen by and on the others."""
    for name, records in _halves(results):
        covered, rival = (share_mean(records, way, "coverage") for way in (OURS, RECIPE))
        yield Check(
            f"{name}: intervals of shares hold the truth in {100 * LEAST_COVERED:g} to "
            f"{100 * MOST_COVERED:g} %",
            LEAST_COVERED <= covered <= MOST_COVERED,
            f"{100 * covered:.1f} % ({RECIPE}: {100 * rival:.1f} %)",
        )
        ours, theirs = (share_mean(records, way, "score") for way in (OURS, RECIPE))
        yield Check(
            f"{name}: a better mean interval score than the {RECIPE}",
            ours < theirs,
            f"{100 * ours:.1f} against {100 * theirs:.1f} points",
        )
        yield Check(
            f"{name}: a mean error of shares at least {100 * LEAST_GAIN:g} % below that of "
            "single labels",
            gain(records) >= LEAST_GAIN,
            f"{100 * gain(records):.1f} % below",
        )
        for which in ("overall", "rare"):
            yield from _accuracy_check(name, records, which)


def _accuracy_check(name: str, records: Sequence[Record], which: str) -> Iterator[Check]:
    n_intervals = len(accuracy_intervals(records, which))
    if n_intervals == 0:
        return
    of = "all labels" if which == "overall" else f"labels of a class below {100 * RARE:g} %"
    share = accuracy_coverage(records, which)
    yield Check(
        f"{name}: intervals of how many of {of} are right hold the truth in "
        f"{100 * LEAST_RIGHT:g} to {100 * MOST_RIGHT:g} %",
        LEAST_RIGHT <= share <= MOST_RIGHT,
        f"{100 * share:.1f} % of {n_intervals}",
    )


def _intervals(record: Record) -> dict[str, Any]:
    assert record.intervals is not None
    return record.intervals


ABOUT = (
    "Shares of the positive class in quarters of six columns are computed from "
    f"{N_IMPUTATIONS} imputations and pooled; an interval should hold the true share in "
    f"{100 * LEVEL:g} % of cases. The {RECIPE} is extra trees on bootstraps of the labeled rows, "
    "with log-odds multiplied by the factor that held-out rows find likeliest at the known rates, "
    "and the same way to draw labels that meet the total. All methods get the same samples. "
    "Widths, scores and errors are in percentage points."
)
_COLORS = {OURS: "#0072B2", RECIPE: "#D55E00"}
_MARKS = {OURS: "o", RECIPE: "s"}


def shares_table(results: Results) -> Table:
    """Make the table of estimated shares, by data set and over all."""
    header = ["data set", "samples"]
    for measure in ("coverage, %", "width", "interval score", "error"):
        header += [f"{measure}: {way}" for way in (OURS, RECIPE)]
    header += [f"error: {SINGLE}", "error below that, %"]
    rows = [_shares_row(data, _of(results, data)) for data in results.data_sets]
    rows += [_shares_row(f"mean, {name}", own) for name, own in _halves(results)]
    note = (
        "The interval score is that of Gneiting and Raftery: the width, and for a miss its "
        "distance times 40; the lower the better. Of these data, settings were chosen by samples 0 "
        "and 1 only."
    )
    return Table("Shares in quarters of columns", header, rows, note)


def _shares_row(name: str, records: Sequence[Record]) -> list[str]:
    row = [name, str(len(records))]
    for measure in ("coverage", "width", "score", "error"):
        both = [100 * share_mean(records, way, measure) for way in (OURS, RECIPE)]
        better = both[0] > both[1] if measure == "coverage" else both[0] < both[1]
        row += [bold(f"{both[0]:.1f}", better), f"{both[1]:.1f}"]
    single, below = 100 * share_mean(records, SINGLE, "error"), 100 * gain(records)
    return [*row, f"{single:.1f}", f"{below:+.0f}" if np.isfinite(below) else UNSOLVED]


def accuracy_table(results: Results) -> Table:
    """Make the table of how many labels are right, as estimated and as is true."""
    kinds = {"overall": "all labels", "positive": "positive ones", "negative": "negative ones"}
    header = ["data set"]
    for words in kinds.values():
        header += [f"{words}: {what}" for what in ("true, %", "from", "to", "covered")]
    rows = []
    for name, own in [*((d, _of(results, d)) for d in results.data_sets), *_halves(results)]:
        rows.append([name, *(text for which in kinds for text in _accuracy_cells(own, which))])
    rare = accuracy_intervals(results.records, "rare")
    share = f"{100 * accuracy_coverage(results.records, 'rare'):.0f} %" if rare else UNSOLVED
    note = (
        "Means over samples of the true share of right labels and of the ends of its interval, and "
        f"in how many of the samples the interval holds the truth. Of classes below "
        f"{100 * RARE:g} % of the rows, {share} of {len(rare)} intervals do."
    )
    return Table("How many labels are right", header, rows, note)


def _accuracy_cells(records: Sequence[Record], which: str) -> list[str]:
    intervals = accuracy_intervals(records, which)
    if not intervals:
        return [UNSOLVED] * 4
    means = [100 * np.mean([c[key] for c in intervals]) for key in ("true", "low", "high")]
    n_covered = sum(c["low"] <= c["true"] <= c["high"] for c in intervals)
    return [*(f"{mean:.1f}" for mean in means), f"{n_covered} of {len(intervals)}"]


def coverage_figure(results: Results) -> BenchFigure:
    """Draw coverage against width: a point per data set and way."""
    with mpl.rc_context(LOOK):
        figure = Figure(figsize=(7, 4.4), layout="constrained")
        axes = figure.subplots()
        axes.axhline(100 * LEVEL, color="#444444", linewidth=0.8, linestyle="--")
        for way in (OURS, RECIPE):
            widths, covered = (
                [100 * share_mean(_of(results, data), way, measure) for data in results.data_sets]
                for measure in ("width", "coverage")
            )
            axes.scatter(widths, covered, s=26, color=_COLORS[way], marker=_MARKS[way], label=way)
            for data, x, y in zip(results.data_sets, widths, covered, strict=True):
                axes.annotate(
                    data, (x, y), (4, 3), textcoords="offset points", fontsize=6.5,
                    color=_COLORS[way],
                )  # fmt: skip
        axes.set(
            xlabel="mean width of the intervals, percentage points",
            ylabel="intervals that hold the true share, %",
        )
        axes.set_xlim(left=0)
        axes.legend(loc="lower right", fontsize=8)
        drawn = images(figure)
    note = (
        f"Means over the samples of each data set; the line is what intervals promise, "
        f"{100 * LEVEL:g} %. Up and to the left is better."
    )
    return BenchFigure("coverage", "Coverage against width", note, *drawn)
