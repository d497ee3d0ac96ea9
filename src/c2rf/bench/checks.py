"""What the records show about the paper's claims, and about ourselves."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence, Sized
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from c2rf.bench import data as published
from c2rf.bench.data import NAMES
from c2rf.bench.methods import BENCH_METHODS
from c2rf.bench.protocol import PROTOCOLS
from c2rf.bench.quality import Quality
from c2rf.bench.records import Record
from c2rf.bench.results import METRICS, Results, Runner

NEAR = 8.0
"""Points of accuracy within which medians of five samples count as near the paper's."""

GOALS = {"known-totals": (88.8, 82.2), "c2rf-offset": (82.0, 74.3)}
"""Means over the paper's data sets that we want to reach, in the order of METRICS."""

MOST_BEHIND = 1.0
"""Points that the default may be behind plain extra trees on a data set."""

EXACT = ("top-lambda", "extra-trees-top", "known-totals")
"""Methods that promise to meet a total exactly."""


@dataclass(frozen=True)
class Check:
    """A statement, whether the records bear it out, and the figures behind it."""

    statement: str
    holds: bool
    detail: str


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
    shared = wrong = 0
    where = []
    for found in by_sample.values():
        shared += sum(record.status == "optimal" for record in found) > 1
        for one, other in combinations(found, 2):
            if one.eta < other.bound or other.eta < one.bound:  # type: ignore[operator]
                wrong += 1
                where.append(f"{one.data} {one.sample} ({one.method}, {other.method})")
    if by_sample:
        yield Check(
            "Methods that solve the same problem agree on eta, none's is below another's bound",
            wrong == 0,
            f"{shared} samples are proven by more than one method; contradictions: "
            f"{', '.join(where) or 'none'}",
        )


def _of_protocol(results: Results) -> Iterator[Check]:
    name = results.protocol.name
    known = [data for data in results.data_sets if data in NAMES]
    for method in ("rf", "p-c2rf", "auto"):
        runner = results.main_runner(method)
        if known and runner is not None:
            yield _near_the_paper(results, runner, known)
    for method in ("p-c2rf", "auto"):
        runner = results.main_runner(method)
        if known and runner is not None and name == "biased":
            yield _not_worse_than_rf(results, runner)
    if results.main_runner("auto") and results.main_runner("top-lambda"):
        yield _against_top_lambda(results)


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


def _against_top_lambda(results: Results) -> Check:
    """Compare with the simplest thing a user could do with the same votes and the total."""
    weighted, plain = results.main_runner("auto"), results.main_runner("top-lambda")
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


def goals(quality: Quality) -> Iterator[Check]:
    """Check what we set ourselves as goals, where all of the paper's data sets are there."""
    if quality.results.protocol != PROTOCOLS["biased"] or quality.results.data_sets != list(NAMES):
        return
    for method, goals_of in GOALS.items():
        runner = quality.runner(method)
        found = [] if runner is None else [quality.mean(runner, metric) for metric in METRICS]
        if runner is not None and not np.isnan(found).any():
            yield Check(
                f"{runner.short}: means of at least {' / '.join(map(str, goals_of))}",
                all(mean >= goal for mean, goal in zip(found, goals_of, strict=True)),
                f"{' / '.join(f'{mean:.2f}' for mean in found)} ({' / '.join(METRICS.values())})",
            )
    yield from _never_far_behind(quality)
    yield from _totals_are_met(quality)


def _never_far_behind(quality: Quality) -> Iterator[Check]:
    ours, rival = quality.runner("known-totals"), quality.runner("extra-trees-top")
    if ours is None or rival is None:
        return
    found = quality.smallest_gain(ours, rival)
    if found is None:
        return
    worst, gain = found
    yield Check(
        f"{ours.short}: on no data set more than {MOST_BEHIND:g} points of accuracy behind "
        f"{rival.short}",
        gain >= -MOST_BEHIND,
        f"{gain:+.2f} on {worst}, its worst",
    )


def _totals_are_met(quality: Quality) -> Iterator[Check]:
    found = [r for r in quality.results.records if r.method in EXACT and r.eta is not None]
    methods = [method for method in EXACT if any(r.method == method for r in found)]
    missed = [f"{r.method} on {r.data} {r.sample} by {r.eta}" for r in found if r.eta]
    if found:
        yield Check(
            f"Totals are met exactly by {', '.join(methods)}",
            not missed,
            f"{len(found)} records; missed: {', '.join(missed) or 'none'}",
        )
