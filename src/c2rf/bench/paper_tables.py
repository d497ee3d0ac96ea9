"""The paper's four tables, three figures and statements from records, with its own results.

Columns named "..., paper" are the paper's. Its plots are not published as numbers; its tables are.
So its side of a figure is drawn from the medians in its tables, and says so.
"""

from __future__ import annotations

import math
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import combinations
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from c2rf.bench import samples as published
from c2rf.bench.methods import BENCH_METHODS
from c2rf.bench.records import METRICS, Record, Results, method_of, runner_title
from c2rf.bench.samples import NAMES
from c2rf.report.figures import LOOK, as_png
from c2rf.report.page import Table

UNSOLVED = "---"
"""The paper's sign for fewer than 3 of 5 samples solved within the time limit."""
UNPROVEN = "†"
"""Our sign for a quality of which fewer than 3 of 5 answers are proven to be optimal."""
SHOWN = ("rf", "p-c2rf", "auto", "top-lambda")
"""Methods whose quality is printed; c2rf, only-pp and only-br solve what p-c2rf solves."""


Check = tuple[str, str, str]
"""A statement, whether the records bear it out, and what was found."""
_OUTCOMES = {True: "holds", False: "does not hold", None: "not tested"}


@dataclass(frozen=True)
class BenchFigure:
    """A drawn figure: its name, what it shows, what differs from the paper's and why."""

    name: str
    title: str
    note: str
    png: bytes


@cache
def _notes() -> dict[str, str]:
    return tomllib.loads((files("c2rf.bench") / "templates" / "notes.toml").read_text("utf-8"))


def note(name: str, **given: Any) -> str:
    """Return what the file of notes says around a table or a figure, filled in."""
    return " ".join(_notes()[name].split()).format(**given).strip()


def as_table(title: str, cells: pd.DataFrame, note: str) -> Table:
    """Return a table of text; the levels of the index are its columns of names."""
    whole = cells.reset_index()
    return Table(title, list(map(str, whole)), whole.to_numpy().tolist(), note, cells.index.nlevels)


def in_text(
    values: pd.DataFrame, decimals: int, best: str = "", marks: pd.DataFrame | str = ""
) -> pd.DataFrame:
    """Write numbers with marks after them.

    Where there is no number stands "---". The "max" or the "min" of each row, as it is written, is
    in bold as in Markdown.
    """

    def write(value: float) -> str:
        return UNSOLVED if np.isnan(value) else f"{value:.{decimals}f}"

    text = values.map(write)
    marked = (text + marks).where(values.notna(), text)
    if not best:
        return marked
    top = text.eq(values.agg(best, axis=1).map(write), axis=0)
    return marked.mask(top & values.notna(), "**" + marked + "**")


def _of_paper(title: str, cells: pd.DataFrame, note: str) -> Table:
    """Return a table by data set, with the number that each has in the paper."""
    ids = published.data_sets()["id"].astype(str).reindex(cells.index, fill_value="")
    by_id = cells.set_index([pd.Index(ids, name="ID"), pd.Index(cells.index, name="data set")])
    return as_table(title, by_id, note)


def _side_by_side(ours: Any, paper: pd.DataFrame, prefix: str = "") -> pd.DataFrame:
    """Put the paper's column after our columns of the same method."""
    columns: dict[str, Any] = {}
    for name, method in BENCH_METHODS.items():
        own = [runner for runner in ours if method_of(runner) == name]
        columns |= {f"{prefix}{runner_title(runner)}": ours[runner] for runner in own}
        if name in paper:
            columns[f"{prefix}{method.title}, paper"] = paper[name].reindex(ours.index).fillna("")
    return pd.DataFrame(columns)


def table_1(records: Sequence[Record]) -> Table:
    """Make Table 1: the data sets."""
    sizes = {r.data: (r.n_points, r.n_features, r.n_rescaled) for r in records}
    paper = published.data_sets()["rescaled"]
    names = [*(name for name in NAMES if name in sizes), *sorted(set(sizes) - set(NAMES))]
    cells = pd.DataFrame(sizes, index=["N", "p", "columns rescaled"]).T.loc[names].astype(str)
    cells["rescaled, paper"] = paper.map({True: "yes", False: "no"}).reindex(names).fillna("")
    also = [name for name in names if sizes[name][2] and name in NAMES and not paper[name]]
    about = note("table_1")
    if also:
        about += " " + note("also_rescaled", names=", ".join(also))
    return _of_paper("Table 1. The data sets", cells, about)


def table_2(results: Results) -> Table:
    """Make Table 2: median run times in seconds, of the trees and the solve together."""
    medians = results.median_seconds()
    # As in the paper, the best of the methods that solve the problem is in bold.
    best = medians[[r for r in results.runners if BENCH_METHODS[method_of(r)].solves]].min(axis=1)
    cells = medians.map(_seconds)
    cells = cells.mask(medians.eq(best, axis=0), "**" + cells + "**").where(results.ran(), "")
    about = note(
        "table_2", caps=caps(results).capitalize(), machines=machines(results.records),
        TIME_LIMIT=published.TIME_LIMIT, UNSOLVED=UNSOLVED,
    )  # fmt: skip
    beside = _side_by_side(cells, published.run_times().map(_seconds))
    return _of_paper("Table 2. Median run times, biased samples", beside, about)


def _seconds(value: float) -> str:
    if np.isnan(value):
        return UNSOLVED
    return f"{value:.3f}" if value < 100 else f"{value:.1f}"


def quality_table(results: Results, number: int) -> Table:
    """Make Table 3 (biased) or 4 (simple): medians of accuracy and MCC."""
    name = results.protocol.name
    runners = results.main_runners(SHOWN)
    ran, marks = results.ran()[runners], results.proven()[runners].replace(_MARKS)
    halves = []
    for metric, short in METRICS.items():
        medians = results.summary(metric, "median")[runners]
        ours = in_text(medians, 2, "max", marks).where(medians.notna() | ran, "")
        halves.append(_side_by_side(ours, in_text(published.quality(name, metric), 2), f"{short} "))
    limit = published.TIME_LIMIT
    about = note("quality", UNPROVEN=UNPROVEN, caps=caps(results), TIME_LIMIT=limit)
    title = f"Table {number}. Median quality, {_SAMPLED[name]} samples"
    return _of_paper(title, pd.concat(halves, axis=1), about)


_MARKS = {True: "", False: UNPROVEN}
_SAMPLED = {"biased": "biased", "simple": "simple random"}


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
_STYLES = {"scip": "--", "gurobi": ":"}


@mpl.rc_context(LOOK)
def figure_1(results: Results) -> BenchFigure:
    """Draw Figure 1: for every time, the share of samples solved by then."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    ours, paper = figure.subplots(1, 2, sharex=True, sharey=True)
    seconds, solved = results.samples["seconds"], results.samples["solved"]
    for runner in results.runners:
        limits = [r.time_limit or 0.0 for r in results.records if r.runner == runner]
        _ecdf(ours, seconds[runner], runner, max(limits))
    for method, medians in published.run_times().items():
        limit = 0.0 if method == "rf" else published.TIME_LIMIT
        _ecdf(paper, medians.fillna(np.inf), str(method), limit)
    ours.set(title="Ours: all samples", ylabel="share solved", ylim=(0, 1.03))
    paper.set(title="The paper: medians of its Table 2")
    for method, share in (("c2rf", 0.58), ("p-c2rf", 0.94)):
        paper.plot(published.TIME_LIMIT, share, "D", color=_COLORS[method], clip_on=False)
    for axes in (ours, paper):
        axes.set(xscale="log", xlabel="seconds")
        axes.legend(fontsize=7, ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.16))
    shares = 100 * solved.sum() / len(solved)
    listed = "; ".join(f"{runner_title(r)} {shares[r]:.0f} %" for r in results.runners)
    limit = published.TIME_LIMIT
    about = note("figure_1", shares=listed, caps=caps(results).capitalize(), TIME_LIMIT=limit)
    return BenchFigure("figure1", "Figure 1. Run times, biased samples", about, as_png(figure))


def _ecdf(axes: Axes, times: pd.Series[float], runner: str, until: float) -> None:
    """Draw gamma(s) = |{p : t_p <= s}| / |P|, up to the time limit if there is one."""
    steps = np.sort(times[np.isfinite(times)])
    heights = np.arange(1, len(steps) + 1) / len(times)
    if until:
        steps = np.append(steps, max([until, *steps]))
        heights = np.append(heights, len(heights) / len(times))
    method, _, solver = runner.partition("/")
    look: Any = {"color": _COLORS[method], "linestyle": _STYLES.get(solver, "-")}
    axes.step(steps, heights, where="post", label=runner_title(runner), **look)


@mpl.rc_context(LOOK)
def figure_gains(results: Results, number: int) -> BenchFigure:
    """Draw Figure 2 (biased) or 3 (simple): gains over RF in accuracy and MCC."""
    runners = results.main_runners(SHOWN[1:])
    name = results.protocol.name
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    scales = {"accuracy": ("AC - AC of RF", 100), "mcc": ("MCC - MCC of RF", 50)}
    for axes, (metric, (title, scale)) in zip(figure.subplots(1, 2), scales.items(), strict=True):
        gains = {r: results.gains(r, "rf", metric) / scale for r in runners}
        boxes = [(runner_title(r), gains[r], _COLORS[method_of(r)]) for r in runners]
        for runner in runners[:1]:
            medians = gains[runner].groupby("data").median()
            boxes.append((f"{runner_title(runner)}\nmedians", medians, _COLORS[method_of(runner)]))
        paper = published.quality(name, metric)
        theirs = (paper["p-c2rf"] - paper["rf"]) / scale
        _boxes(axes, [*boxes, ("p-C²RF, paper\nmedians", theirs, "#ffffff")])
        axes.set_title(title)
    title = f"Figure {number}. Gains over RF, {_SAMPLED[name]} samples"
    return BenchFigure(f"figure{number}", title, _gain_note(results, runners), as_png(figure))


def _boxes(axes: Axes, boxes: Sequence[tuple[str, pd.Series[float], str]]) -> None:
    titles, values, colors = zip(*boxes, strict=True)
    axes.axhline(0, color="#444444", linewidth=0.8)
    labels = [title.replace(", ", "\n", 1) for title in titles]
    look: Any = {"medianprops": {"color": "black"}, "flierprops": {"marker": ".", "markersize": 4}}
    gains = [each.to_numpy() for each in values]
    drawn = axes.boxplot(gains, tick_labels=labels, patch_artist=True, widths=0.6, **look)
    for patch, color in zip(drawn["boxes"], colors, strict=True):
        patch.set(facecolor=color, alpha=0.55)
    drawn["boxes"][-1].set(hatch="///")  # the paper's
    axes.tick_params(axis="x", labelsize=7)


def _gain_note(results: Results, runners: Sequence[str]) -> str:
    gains = {r: results.gains(r, "rf", "accuracy") / 100 for r in runners}
    shares = [
        f"{runner_title(r)} {100 * np.mean(own > 0):.0f} % above zero and "
        f"{100 * np.mean(np.abs(own) <= 0.05):.0f} % within 0.05 of it"
        for r, own in gains.items()
        if len(own)
    ]
    where = {"biased": "above zero", "simple": "within 0.05 of zero"}[results.protocol.name]
    return note("gains", shares="; ".join(shares) or "none", where=where, caps=caps(results))


NEAR = 8.0
"""Points of accuracy within which medians of five samples count as near the paper's."""


def all_checks(protocols: Sequence[Results]) -> list[Check]:
    """Return every check that the records allow."""
    found = [check for results in protocols for check in _of_protocol(results)]
    return [*found, *agreement([record for results in protocols for record in results.records])]


def agreement(records: Sequence[Record]) -> Iterator[Check]:
    """Check that no two methods that solve a problem contradict each other on a sample."""
    by_sample: dict[tuple[object, ...], list[Record]] = defaultdict(list)
    for r in records:
        if r.eta is not None and r.bound is not None:
            by_sample[BENCH_METHODS[r.method].solves, r.protocol, r.data, r.seed].append(r)
    pairs = [pair for found in by_sample.values() for pair in combinations(found, 2)]
    wrong = [
        f"{one.data} {one.sample} ({one.method}, {other.method})"
        for one, other in pairs
        if one.eta < other.bound or other.eta < one.bound  # type: ignore[operator]
    ]
    shared = sum(sum(r.status == "optimal" for r in found) > 1 for found in by_sample.values())
    if by_sample:
        yield (
            "Methods that solve the same problem agree on eta, none's is below another's bound",
            _OUTCOMES[not wrong if pairs else None],
            f"{shared} samples are proven by more than one method; contradictions: "
            f"{', '.join(wrong) or 'none'}",
        )


def _of_protocol(results: Results) -> Iterator[Check]:
    name = results.protocol.name
    medians = results.summary("accuracy", "median")
    known = [data for data in results.data_sets if data in NAMES]
    for runner in results.main_runners(("rf", "p-c2rf", "auto")) if known else ():
        # auto solves the problem of p-C²RF, and to the end.
        theirs = "rf" if method_of(runner) == "rf" else "p-c2rf"
        apart = (medians[runner] - published.quality(name, "accuracy")[theirs]).loc[known].abs()
        said = f"{runner_title(runner)}, {name}: median accuracy within {NEAR:g} points of the"
        yield _on_most(f"{said} paper's", apart.fillna(np.inf), NEAR, "apart")
    for runner in results.main_runners(("p-c2rf", "auto")) if known and name == "biased" else ():
        gains = results.gains(runner, "rf", "accuracy").groupby("data").median()
        said = f"{runner_title(runner)}, biased: the median gain in accuracy over RF is positive or"
        losses = -gains.reindex([data for data in known if data in gains])
        yield _on_most(f"{said} within half a point of zero", losses, 0.5, "worse")
    # The simplest thing that a user could do with the same votes and the total
    both = results.main_runners(("auto", "top-lambda"))
    if len(both) == 2:
        compared = medians[both].dropna().set_axis(["weighted", "plain"], axis=1)
        ahead = list(compared.query("weighted > plain").index)
        means = compared.mean()
        yield (
            f"{name}: weights found by auto label better than taking the lambda "
            "points with most votes on most data sets",
            _OUTCOMES[2 * len(ahead) > len(compared) if len(compared) else None],
            f"better on {len(ahead)} of {len(compared)} ({', '.join(ahead) or 'none'}); mean of "
            f"the median accuracies {means['weighted']:.1f} against {means['plain']:.1f}",
        )


def _on_most(statement: str, by_data: pd.Series[float], limit: float, off: str) -> Check:
    """Check that 11 of 13 data sets, or as large a share of fewer, are within the limit."""
    most = math.ceil(len(by_data) * 11 / 13)
    beyond = by_data[by_data > limit]
    listed = [
        f"{data} by {gap:.1f}" if np.isfinite(gap) else f"{data} (too few answers)"
        for data, gap in beyond.items()
    ]
    near = len(by_data) - len(beyond)
    return (
        f"{statement} on at least {most} of {len(by_data)} data sets",
        _OUTCOMES[near >= most],
        f"{near} of {len(by_data)}; {off}: {', '.join(listed) or 'none'}",
    )
