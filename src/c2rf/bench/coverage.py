"""Interval estimates: how often they cover the truth, how wide they are, and their page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from c2rf.bench.methods import N_IMPUTATIONS, OURS, RECIPE
from c2rf.bench.paper_tables import UNSOLVED, BenchFigure, Check, bold
from c2rf.bench.records import Record, Results, tuned_and_others
from c2rf.bench.scores import LEVEL
from c2rf.report.figures import LOOK, images
from c2rf.report.page import Table

SINGLE = "single labels"
LEAST_COVERED, MOST_COVERED = 88, 99
"""Percent between which the mean coverage of shares should be, ..."""
LEAST_RIGHT, MOST_RIGHT = 85, 99
"""... and the coverage of the share of right labels."""
LEAST_GAIN = 15
"""By how many percent the error of shares should be below that of single labels."""
RARE = 0.2
"""A class with a smaller rate than this is called rare."""


def interval_results(records: Sequence[Record]) -> Results:
    """Return the results that hold interval estimates, of the biased protocol if there are any."""
    own = [record for record in records if record.intervals is not None]
    found = Results(own, "biased")
    return found if found.records else Results(own, "simple")


def interval_table(records: Sequence[Record]) -> pd.DataFrame:
    """Return a row per record: data set, sample, rate of positives, and its interval estimates.

    Their columns are "shares.WAY.MEASURE" and "right.LABELS.END", as
    :func:`~c2rf.bench.scores.score_intervals` names them.
    """
    rows = [
        {"data": r.data, "sample": r.sample, "rate": r.n_positive / r.n_unlabeled} | r.intervals
        for r in records
        if r.intervals is not None
    ]
    return pd.json_normalize(rows)


def share_mean(table: pd.DataFrame, way: str, measure: str) -> float:
    """Return the mean over records of a measure of interval estimates of shares, times 100."""
    return float(100 * table[f"shares.{way}.{measure}"].mean())


def gain(table: pd.DataFrame) -> float:
    """Return by how many percent the mean error of shares is below that of single labels.

    Where these have no error at all it is zero, or minus infinity.
    """
    error, single = (share_mean(table, each, "error") for each in (OURS, SINGLE))
    if single == 0:
        return 0.0 if error == 0 else -np.inf
    return 100 * (1 - error / single)


def right_intervals(table: pd.DataFrame, which: str) -> pd.DataFrame:
    """Return the intervals of the share of right labels, in percent, and whether they hold it.

    Of "overall", "negative", "positive" labels, or of those of a "rare" class: one with few rows in
    the population.
    """
    if which == "rare":
        rare = {
            "positive": table[table["rate"] < RARE],
            "negative": table[1 - table["rate"] < RARE],
        }
        return pd.concat([right_intervals(own, name) for name, own in rare.items()])
    ends = ["true", "low", "high"]
    found = table.reindex(columns=[f"right.{which}.{end}" for end in ends]).set_axis(ends, axis=1)
    found = 100 * found.dropna()
    return found.assign(covered=found["true"].between(found["low"], found["high"]))


def _halves(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the samples that settings were chosen by, the others, and all."""
    yield from tuned_and_others(table)
    yield "all", table


def coverage_checks(results: Results) -> Iterator[Check]:
    """Check the goals, on samples that settings were chosen by and on the others."""
    for name, table in _halves(interval_table(results.records)):
        covered, of_recipe = (share_mean(table, way, "coverage") for way in (OURS, RECIPE))
        yield Check(
            f"{name}: intervals of shares hold the truth in {LEAST_COVERED} to {MOST_COVERED} %",
            LEAST_COVERED <= covered <= MOST_COVERED,
            f"{covered:.1f} % ({RECIPE}: {of_recipe:.1f} %)",
        )
        ours, theirs = (share_mean(table, way, "score") for way in (OURS, RECIPE))
        yield Check(
            f"{name}: a better mean interval score than the {RECIPE}",
            ours < theirs,
            f"{ours:.1f} against {theirs:.1f} points",
        )
        yield Check(
            f"{name}: a mean error of shares at least {LEAST_GAIN} % below that of single labels",
            gain(table) >= LEAST_GAIN,
            f"{gain(table):.1f} % below",
        )
        of = {"overall": "all labels", "rare": f"labels of a class below {100 * RARE:g} %"}
        for which, labels in of.items():
            holds = right_intervals(table, which)["covered"]
            if len(holds):
                yield Check(
                    f"{name}: intervals of how many of {labels} are right hold the truth in "
                    f"{LEAST_RIGHT} to {MOST_RIGHT} %",
                    LEAST_RIGHT <= 100 * holds.mean() <= MOST_RIGHT,
                    f"{100 * holds.mean():.1f} % of {len(holds)}",
                )


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


def _data_sets_and_halves(results: Results) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the rows of each data set, then those of :func:`_halves`."""
    table = interval_table(results.records)
    for data in results.data_sets:
        yield data, table[table["data"] == data]
    yield from _halves(table)


def shares_table(results: Results) -> Table:
    """Make the table of estimated shares, by data set and over all."""
    measures = {"coverage": "coverage, %", "width": "width", "score": "interval score"}
    measures["error"] = "error"
    header = ["data set", "samples"]
    header += [f"{words}: {way}" for words in measures.values() for way in (OURS, RECIPE)]
    header += [f"error: {SINGLE}", "error below that, %"]
    rows = []
    for name, own in _data_sets_and_halves(results):
        row = [name if name in results.data_sets else f"mean, {name}", str(len(own))]
        for measure in measures:
            ours, theirs = (share_mean(own, way, measure) for way in (OURS, RECIPE))
            better = ours > theirs if measure == "coverage" else ours < theirs
            row += [bold(f"{ours:.1f}", better), f"{theirs:.1f}"]
        below = f"{gain(own):+.0f}" if np.isfinite(gain(own)) else UNSOLVED
        rows.append([*row, f"{share_mean(own, SINGLE, 'error'):.1f}", below])
    note = (
        "The interval score is that of Gneiting and Raftery: the width, and for a miss its "
        "distance times 40; the lower the better. Of these data, settings were chosen by samples 0 "
        "and 1 only."
    )
    return Table("Shares in quarters of columns", header, rows, note)


def accuracy_table(results: Results) -> Table:
    """Make the table of how many labels are right, as estimated and as is true."""
    kinds = {"overall": "all labels", "positive": "positive ones", "negative": "negative ones"}
    header = ["data set"]
    for words in kinds.values():
        header += [f"{words}: {what}" for what in ("true, %", "from", "to", "covered")]
    rows = []
    for name, own in _data_sets_and_halves(results):
        row = [name]
        for which in kinds:
            found = right_intervals(own, which)
            means = [f"{found[end].mean():.1f}" for end in ("true", "low", "high")]
            covered = f"{found['covered'].sum()} of {len(found)}"
            row += [*means, covered] if len(found) else [UNSOLVED] * 4
        rows.append(row)
    rare = right_intervals(interval_table(results.records), "rare")["covered"]
    share = f"{100 * rare.mean():.0f} %" if len(rare) else UNSOLVED
    note = (
        "Means over samples of the true share of right labels and of the ends of its interval, and "
        f"in how many of the samples the interval holds the truth. Of classes below "
        f"{100 * RARE:g} % of the rows, {share} of {len(rare)} intervals do."
    )
    return Table("How many labels are right", header, rows, note)


def coverage_figure(results: Results) -> BenchFigure:
    """Draw coverage against width: a point per data set and way."""
    means = interval_table(results.records).groupby("data").mean()
    with mpl.rc_context(LOOK):
        figure = Figure(figsize=(7, 4.4), layout="constrained")
        axes = figure.subplots()
        axes.axhline(100 * LEVEL, color="#444444", linewidth=0.8, linestyle="--")
        for way in (OURS, RECIPE):
            columns = [f"shares.{way}.width", f"shares.{way}.coverage"]
            widths, covered = (100 * means.loc[results.data_sets, columns]).to_numpy().T
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
