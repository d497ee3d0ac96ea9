"""The tables of the page on quality: means, scores and gains by data set, other settings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from c2rf.bench.quality import METRICS, SIGNIFICANCE, TIE, Quality, Ranks, Setting
from c2rf.bench.results import Runner
from c2rf.bench.tables import UNSOLVED, Cell, Table, TableColumn

_METHOD = TableColumn("method", text=True)
_DATA_SET = TableColumn("data set", text=True)


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
    columns = [_METHOD, TableColumn("name in bench run", text=True)]
    columns += [TableColumn(f"mean {short}") for short in METRICS.values()]
    columns += [TableColumn(f"rank {short}") for short in METRICS.values()]
    columns += [TableColumn("median seconds"), TableColumn("data sets")]
    means = {m: {r: quality.mean(r, m) for r in quality.runners} for m in METRICS}
    rows = []
    for runner in quality.runners:
        row = [Cell(runner.short), Cell(runner.method)]
        row += [_top(means[metric][runner], means[metric].values()) for metric in METRICS]
        row += [_number(ranked[metric].get(runner)) for metric in METRICS]
        rows.append([*row, _number(_seconds(quality, runner)), Cell(_coverage(quality, runner))])
    note = (
        f"Means over the {len(quality.results.data_sets)} data sets. Ranks are averages over data "
        "sets, 1 for the best, of the methods that have a score on all of them. Seconds are those "
        "of the trees and the method together, medians over all samples, one thread. RF (the "
        "majority vote), p-C²RF and auto (both the paper's weights), top λ and C²RF with offset "
        "label by the votes of the paper's trees, all others by the features."
    )
    return Table("Means over data sets", columns, rows, note)


def scores_table(quality: Quality, metric: str) -> Table:
    """Make the table of the scores on each data set, with their spread over samples."""
    rows = []
    for data in quality.results.data_sets:
        means = {r: quality.by_data_set(r, metric)[data] for r in quality.runners}
        row = [Cell(data)]
        for runner in quality.runners:
            best = _top(means[runner], means.values())
            scores = list(quality.results.scores(data, runner, metric).values())
            spread = f" ± {np.std(scores, ddof=1):.1f}" if len(scores) > 1 else ""
            row.append(best if means[runner] is None else Cell(best.text + spread, best.best))
        rows.append(row)
    columns = [_DATA_SET, *(TableColumn(runner.short) for runner in quality.runners)]
    note = "Means over samples ± their standard deviation over samples; the best are in bold."
    return Table(f"{METRICS[metric]} on each data set", columns, rows, note)


def against_table(quality: Quality, rival_method: str) -> Table | None:
    """Make the table of gains in accuracy over a rival: wins, ties and losses by data set."""
    rival = quality.runner(rival_method)
    others = [runner for runner in quality.runners if runner != rival]
    if rival is None or not others:
        return None
    rows = []
    outcomes: dict[Runner, list[int]] = {runner: [] for runner in others}
    for data in quality.results.data_sets:
        row = [Cell(data)]
        for runner in others:
            gains = quality.gains(runner, rival, data)
            row.append(_gain(gains))
            if len(gains):
                outcomes[runner].append(_outcome(gains))
        rows.append(row)
    totals = ["/".join(str(outcomes[r].count(sign)) for sign in (1, 0, -1)) for r in others]
    rows.append([Cell("wins/ties/losses"), *map(Cell, totals)])
    title = rival.short
    note = (
        f"Points of accuracy ahead of {title} on the same samples: the mean, and from the worst "
        f"to the best sample. A mean within {TIE:g} of zero is a tie; wins are in bold."
    )
    columns = [_DATA_SET, *(TableColumn(runner.short) for runner in others)]
    return Table(f"Against {title}", columns, rows, note)


def samples_table(quality: Quality) -> Table:
    """Make the table of means over data sets for each sample on its own."""
    numbers = sorted({record.sample for record in quality.results.records})
    columns = [_METHOD]
    for short in METRICS.values():
        columns += [TableColumn(f"{short}, sample {number}") for number in numbers]
    rows = [
        [Cell(r.short)]
        + [_number(quality.mean_of_sample(r, metric, n)) for metric in METRICS for n in numbers]
        for r in quality.runners
    ]
    note = (
        "Means over data sets of the first sample of each, of the second, and so on: what was "
        "decided by looking at some samples can be judged by the others."
    )
    return Table("Sample by sample", columns, rows, note)


def settings_table(quality: Quality, settings: Sequence[Setting], metric: str) -> Table | None:
    """Make the table of what other settings do to a score."""
    if not settings:
        return None
    rows = []
    for runner in quality.runners:
        costs = [setting.cost(quality, runner, metric) for setting in settings]
        if any(cost is not None for cost in costs):
            row = [UNSOLVED if c is None else f"{c[0]:.1f} ({c[1]:+.1f})" for c in costs]
            rows.append([Cell(runner.short), *map(Cell, row)])
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
    columns = [_METHOD, *(TableColumn(setting.title) for setting in settings)]
    return Table(f"{METRICS[metric]} in other settings", columns, rows, note)


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


def _seconds(quality: Quality, runner: Runner) -> float | None:
    times = [
        record.seconds["total"]
        for data in quality.results.data_sets
        for record in quality.results.cell(data, runner)
    ]
    return float(np.median(times)) if times else None


def _coverage(quality: Quality, runner: Runner) -> str:
    found = quality.by_data_set(runner, "accuracy").values()
    return f"{sum(value is not None for value in found)} of {len(found)}"


def _outcome(gains: np.ndarray) -> int:
    """Return 1 for a win, 0 for a tie, -1 for a loss."""
    mean = float(gains.mean())
    return 0 if abs(mean) <= TIE else int(np.sign(mean))


def _gain(gains: np.ndarray) -> Cell:
    if len(gains) == 0:
        return Cell(UNSOLVED)
    text = f"{gains.mean():+.1f} ({gains.min():+.1f} to {gains.max():+.1f})"
    return Cell(text, best=_outcome(gains) > 0)


def _top(value: float | None, rivals: Iterable[float | None]) -> Cell:
    """Return a score, in bold if it is as printed the best."""
    if value is None:
        return Cell(UNSOLVED)
    best = max(rival for rival in rivals if rival is not None)
    return Cell(f"{value:.1f}", best=f"{value:.1f}" == f"{best:.1f}")


def _number(value: float | None) -> Cell:
    return Cell(UNSOLVED if value is None else f"{value:.2f}")
