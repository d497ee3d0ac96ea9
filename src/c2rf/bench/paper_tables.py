"""The paper's four tables, three figures and statements from records, with its own results.

Columns named "..., paper" are the paper's. Its plots are not published as numbers; its tables are.
So its side of a figure is drawn from the medians in its tables, and says so.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from c2rf.bench import data as published
from c2rf.bench.data import NAMES
from c2rf.bench.methods import BENCH_METHODS
from c2rf.bench.records import METRICS, Record, Results, Runner
from c2rf.report.figures import LOOK, images
from c2rf.report.page import Table

UNSOLVED = "---"
"""The paper's sign for fewer than 3 of 5 samples solved within the time limit."""
UNPROVEN = "†"
"""Our sign for a quality of which fewer than 3 of 5 answers are proven to be optimal."""
SHOWN = ("rf", "p-c2rf", "auto", "top-lambda")
"""Methods whose quality is printed; c2rf, only-pp and only-br solve what p-c2rf solves."""


_NAMES = ("ID", "data set")


@dataclass(frozen=True)
class Check:
    """A statement, whether the records bear it out, and the figures behind it."""

    statement: str
    holds: bool
    detail: str


def bold(text: str, best: bool) -> str:
    """Mark the best of a row, as Markdown does."""
    return f"**{text}**" if best else text


def table_1(records: Sequence[Record]) -> Table:
    """Make Table 1: the data sets."""
    known = published.data_sets().reset_index().set_index("name")
    found = {record.data: record for record in records}
    ours = Results(records, "biased").data_sets + Results(records, "simple").data_sets
    rows = []
    for name in dict.fromkeys([*known.index, *ours]):
        here = there = ["", "", ""]
        if (record := found.get(name)) is not None:
            here = [str(record.n_points), str(record.n_features), str(record.n_rescaled)]
        if name in known.index:
            of_paper = known.loc[name]
            rescaled = "yes" if of_paper["rescaled"] else "no"
            there = [str(of_paper["n_points"]), str(of_paper["n_features"]), rescaled]
        pairs = zip(here, there, strict=True)
        rows.append([_id(name), name, *(figure for pair in pairs for figure in pair)])
    header = [*_NAMES, "N", "N, paper", "p", "p, paper", "columns rescaled", "rescaled, paper"]
    return Table("Table 1. The data sets", header, rows, _note_1(found, known), n_names=2)


def _note_1(found: dict[str, Record], known: pd.DataFrame) -> str:
    here = [name for name in known.index if name in found]
    same = sum(
        (found[name].n_points, found[name].n_features)
        == tuple(known.loc[name, ["n_points", "n_features"]])
        for name in here
    )
    also = [name for name in here if found[name].n_rescaled and not known.loc[name, "rescaled"]]
    note = (
        f"N and p are those of the paper for {same} of {len(here)} data sets of the paper in these "
        "records: duplicate and incomplete rows dropped, label 1 positive, all others negative."
    )
    if also:
        note += (
            f" By the paper's own rule (a centred column that leaves [-100, 100]) "
            f"{', '.join(also)} must be rescaled, too; trees do not care."
        )
    return note


def table_2(results: Results) -> Table:
    """Make Table 2: median run times in seconds, of the trees and the solve together."""
    paper = published.run_times()
    order = _with_the_paper_s(results.runners, paper.columns)
    rows, medians = [], results.median_seconds()
    # As in the paper, the best of the methods that solve the problem is in bold.
    best = medians[[r for r in results.runners if BENCH_METHODS[r.method].solves]].min(axis=1)
    for name in results.data_sets:
        row = [_id(name), name]
        for who in order:
            if isinstance(who, Runner):
                median = medians.loc[name, who]
                row.append(bold(_seconds(median, results.ran(name, who)), median == best[name]))
            else:
                row.append(_seconds(_of_paper(paper[who], name), name in NAMES))
        rows.append(row)
    note = (
        f"Seconds for the trees and the solve. {caps(results).capitalize()}; the paper's limit was "
        f'{published.TIME_LIMIT} s. "{UNSOLVED}" means that fewer than 3 of 5 samples were solved, '
        "that is proven, within the limit; an empty cell that the method was not run. "
        "The paper solved with Gurobi (MIPFocus=3) on one core of a Xeon 6126 at 2.6 GHz, other "
        f"samples and other tree code; ours ran on {machines(results.records)}. A time beside "
        "another solver's compares solvers as much as methods."
    )
    title = "Table 2. Median run times, biased samples"
    return Table(title, [*_NAMES, *map(_column, order)], rows, note, n_names=2)


def quality_table(results: Results, number: int) -> Table:
    """Make Table 3 (biased) or 4 (simple): medians of accuracy and MCC."""
    name = results.protocol.name
    runners = results.main_runners(SHOWN)
    order = _with_the_paper_s(runners, ("rf", "p-c2rf"))
    header, rows = [*_NAMES], [[_id(data), data] for data in results.data_sets]
    for metric, short in METRICS.items():
        header += [_column(who, short) for who in order]
        medians = results.summary(metric, "median")[runners]
        paper = published.quality(name)[metric]
        for data, row in zip(results.data_sets, rows, strict=True):
            top = medians.loc[data].max()
            for who in order:
                if isinstance(who, str):
                    theirs = _of_paper(paper[who], data)
                    row.append("" if pd.isna(theirs) else f"{theirs:.2f}")
                elif pd.isna(value := medians.loc[data, who]):
                    row.append(UNSOLVED if results.ran(data, who) else "")
                else:
                    mark = "" if results.proven(data, who) else UNPROVEN
                    row.append(bold(f"{value:.2f}{mark}", value == top))
    sampled = "biased" if name == "biased" else "simple random"
    note = (
        "Medians over samples, in percent, on the unlabeled rows. The paper's tables print "
        "100 (1 + MCC) / 2 under the name of MCC in percentage; so do these columns, under its "
        f"own name: 50 means MCC = 0. {UNPROVEN} marks answers of which fewer than 3 of 5 are "
        f"proven to be optimal ({caps(results)}; the paper's was {published.TIME_LIMIT} s); the "
        "best weights found by then are judged. Ours are other samples and other trees than the "
        "paper's, and with as few as 50 labeled rows the samples of one data set differ by ten "
        "points and more. Weights with the same eta are many and label differently, so methods "
        "that agree on eta need not agree here."
    )
    title = f"Table {number}. Median quality, {sampled} samples"
    return Table(title, header, rows, note, n_names=2)


def _with_the_paper_s(runners: Sequence[Runner], of_paper: Iterable[str]) -> list[Runner | str]:
    """Order columns: after each of the paper's methods as we ran it, the paper's own (a name)."""
    order: list[Runner | str] = []
    for method in of_paper:
        order += [runner for runner in runners if runner.method == method]
        order.append(method)
    return order + [runner for runner in runners if runner not in order]


def _column(who: Runner | str, prefix: str = "") -> str:
    title = who.title if isinstance(who, Runner) else f"{Runner(who).title}, paper"
    return f"{prefix} {title}".strip()


def caps(results: Results) -> str:
    """Say how long solves were allowed to take."""
    limits = sorted({r.time_limit for r in results.records if r.time_limit is not None})
    if not limits:
        return "nothing had a time limit"
    listed = " or ".join(f"{limit:g} s" for limit in limits)
    return f"our cap was {listed} per solve, building the model included"


def machines(records: Sequence[Record]) -> str:
    """Say what machines and solvers the records come from."""
    hosts = sorted({f"{r.machine['processor']} ({r.machine['cores']} cores)" for r in records})
    solvers = sorted({f"{r.backend} {r.versions[r.backend]}" for r in records if r.backend})
    return " and ".join(hosts) + (f" with {', '.join(solvers)}" if solvers else "")


def _id(name: str) -> str:
    return str(published.ids().get(name, ""))


def _of_paper(column: Any, name: str) -> float:
    """Return the paper's figure for a data set; NaN for "---" and for one it does not have."""
    return float(column.get(published.ids().get(name), np.nan))


def _seconds(value: float, ran: bool) -> str:
    if np.isnan(value):
        return UNSOLVED if ran else ""
    return f"{value:.3f}" if value < 100 else f"{value:.1f}"


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
            run = [r for r in results.records if r.runner == runner]
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
    solved = 100 * results.samples["solved"].sum() / n_problems
    shares = "; ".join(f"{runner.title} {solved[runner]:.0f} %" for runner in results.runners)
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
    runners = results.main_runners(SHOWN[1:])
    name = results.protocol.name
    paper = published.quality(name)
    with mpl.rc_context(LOOK):
        figure = Figure(figsize=(9, 3.8), layout="constrained")
        for axes, metric in zip(figure.subplots(1, 2), ("accuracy", "mcc"), strict=True):
            scale = 100 if metric == "accuracy" else 50
            gains = [results.gains(runner, Runner("rf"), metric) / scale for runner in runners]
            boxes = [(r.title, g.to_numpy(), r.method) for r, g in zip(runners, gains, strict=True)]
            if runners:
                medians = gains[0].groupby("data").median().to_numpy()
                boxes.append((f"{runners[0].title}\nmedians", medians, runners[0].method))
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
        gains = results.gains(runner, Runner("rf"), "accuracy") / 100
        if len(gains):
            near = np.mean(np.abs(gains) <= 0.05)
            shares.append(
                f"{runner.title} {100 * np.mean(gains > 0):.0f} % above zero and "
                f"{100 * near:.0f} % within 0.05 of it"
            )
    in_text = {
        "biased": "The paper's text has 75 % of its gains in accuracy above zero.",
        "simple": "The paper's text has 75 % of its gains in accuracy within 0.05 of zero.",
    }.get(results.protocol.name, "")
    return (
        f"Gains in accuracy of all samples: {'; '.join(shares) or 'none'}. {in_text} "
        "AC runs from 0 to 1, MCC from -1 to 1. The paper's boxes are of samples, which are not "
        "published; its box here is of the differences of the medians in its table, and beside it "
        f"are our medians. Samples and trees differ; {caps(results)}."
    )


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


NEAR = 8.0
"""Points of accuracy within which medians of five samples count as near the paper's."""


def all_checks(protocols: Sequence[Results]) -> list[Check]:
    """Return every check that the records allow."""
    found = [check for results in protocols for check in _of_protocol(results)]
    return [*found, *agreement([record for results in protocols for record in results.records])]


def agreement(records: Sequence[Record]) -> Iterator[Check]:
    """Check that no two methods that solve a problem contradict each other on a sample."""
    by_sample: dict[tuple[object, ...], list[Record]] = defaultdict(list)
    for record in records:
        if record.eta is not None and record.bound is not None:
            solved = BENCH_METHODS[record.method].solves
            by_sample[solved, record.protocol, record.data, record.seed].append(record)
    shared = 0
    wrong = []
    for found in by_sample.values():
        shared += sum(record.status == "optimal" for record in found) > 1
        for one, other in combinations(found, 2):
            if one.eta < other.bound or other.eta < one.bound:  # type: ignore[operator]
                wrong.append(f"{one.data} {one.sample} ({one.method}, {other.method})")
    if by_sample:
        yield Check(
            "Methods that solve the same problem agree on eta, none's is below another's bound",
            not wrong,
            f"{shared} samples are proven by more than one method; contradictions: "
            f"{', '.join(wrong) or 'none'}",
        )


def _of_protocol(results: Results) -> Iterator[Check]:
    known = [data for data in results.data_sets if data in NAMES]
    if known:
        for runner in results.main_runners(("rf", "p-c2rf", "auto")):
            yield _near_the_paper(results, runner, known)
    if known and results.protocol.name == "biased":
        for runner in results.main_runners(("p-c2rf", "auto")):
            yield _not_worse_than_rf(results, runner)
    both = results.main_runners(("auto", "top-lambda"))
    if len(both) == 2:
        yield _against_top_lambda(results, *both)


def _near_the_paper(results: Results, runner: Runner, known: Sequence[str]) -> Check:
    # auto solves the problem of p-C²RF, and to the end.
    column = ("accuracy", "rf" if runner.method == "rf" else "p-c2rf")
    paper = published.quality(results.protocol.name)[column].to_dict()
    medians = results.summary("accuracy", "median")[runner].fillna(np.inf)
    apart = {data: abs(medians[data] - paper[published.ids()[data]]) for data in known}
    far = [
        f"{data} by {gap:.1f}" if np.isfinite(gap) else f"{data} (too few answers)"
        for data, gap in apart.items()
        if gap > NEAR
    ]
    return Check(
        f"{runner.title}, {results.protocol.name}: median accuracy within {NEAR:g} points of the "
        f"paper's on at least {_most(known)} of {len(known)} data sets",
        len(known) - len(far) >= _most(known),
        f"{len(known) - len(far)} of {len(known)}; apart: {', '.join(far) or 'none'}",
    )


def _not_worse_than_rf(results: Results, runner: Runner) -> Check:
    medians = results.gains(runner, Runner("rf"), "accuracy").groupby("data").median()
    gains = {data: medians[data] for data in results.data_sets if data in NAMES and data in medians}
    good = [data for data, gain in gains.items() if gain > -0.5]
    worse = [f"{data} by {-gain:.1f}" for data, gain in gains.items() if gain <= -0.5]
    return Check(
        f"{runner.title}, biased: the median gain in accuracy over RF is positive or within half "
        f"a point of zero on at least {_most(gains)} of {len(gains)} data sets",
        len(good) >= _most(gains),
        f"{len(good)} of {len(gains)}; worse: {', '.join(worse) or 'none'}",
    )


def _against_top_lambda(results: Results, weighted: Runner, plain: Runner) -> Check:
    """Compare with the simplest thing a user could do with the same votes and the total."""
    medians = results.summary("accuracy", "median")[[weighted, plain]].dropna()
    ahead = list(medians.index[medians[weighted] > medians[plain]])
    means = medians.mean().to_list()
    return Check(
        f"{results.protocol.name}: weights found by auto label better than taking the lambda "
        "points with most votes on most data sets",
        2 * len(ahead) > len(medians),
        f"better on {len(ahead)} of {len(medians)} ({', '.join(ahead) or 'none'}); mean of the "
        f"median accuracies {means[0]:.1f} against {means[1]:.1f}",
    )


def _most(data_sets: Sized) -> int:
    """Return 11 of 13, or as large a share of fewer."""
    return math.ceil(len(data_sets) * 11 / 13)
