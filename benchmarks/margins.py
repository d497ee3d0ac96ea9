"""Crossing margins, weights and uncertain totals against second opinions, and their time.

python -m benchmarks.margins cases 1000    # labels of crossing margins against scipy.optimize.milp
python -m benchmarks.margins weights 1000  # closest weights against enumeration
python -m benchmarks.margins tables 300    # contradicting tables against generalised least squares
python -m benchmarks.margins time          # a million rows, by the time of one grouping
"""

from __future__ import annotations

import resource
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from c2rf.assignment import PROVEN, assign
from c2rf.exceptions import InputError
from c2rf.totals.bounds import Bounds, LinearConstraints, MarginBounds
from c2rf.totals.groups import read_groups
from c2rf.totals.make_bounds import make_bounds
from c2rf.totals.stated import read_totals

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from margin_cases import (
    best_objective,
    contradicting_case,
    crossing_case,
    least_deviation,
    reconciled,
    weighted_case,
)


def million(n: int = 1_000_000, n_classes: int = 3):
    """Return scores, the two groupings of 16 cells, and labels that the totals are of."""
    rng = np.random.default_rng(0)
    first, second = rng.integers(16, size=n), rng.integers(16, size=n)
    scores = np.log(rng.dirichlet(np.ones(n_classes), n))
    truth = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    return scores, first, second, truth


def bounds_of(groupings, truth, weights, n_classes):
    """Return the groups of one grouping, or of two that cross, and the bounds of all cells."""
    groups, n_groups = groupings[0], 16
    if len(groupings) == 2:
        groups, n_groups = groupings[0] * 16 + groupings[1], 256
    sized = np.ones(len(groups)) if weights is None else weights
    counts = np.bincount(groups * n_classes + truth, sized, n_groups * n_classes)
    counts = counts.reshape(n_groups, n_classes)
    counts = counts if weights is not None else counts.astype(np.int64)
    sizes, free = counts.sum(axis=1), 0 * counts
    overall = 0 * counts.sum(axis=0), sizes.sum() + 0 * counts.sum(axis=0)
    if len(groupings) == 1:
        return groups, Bounds(*overall, counts, counts, sizes)
    margins = []
    for name, cells in (("region", np.arange(256) // 16), ("age", np.arange(256) % 16)):
        margin = MarginBounds((name,), list(range(16)), cells, free[:16], free[:16])
        total = margin.sums(counts)
        margins.append(replace(margin, lower=total, upper=total))
    return groups, Bounds(*overall, free, free + sizes[:, None], sizes, tuple(margins))


def timed(scores, groupings, truth, weights=None):
    """Return the processor time of an assignment, and by how much totals are off at most."""
    groups, bounds = bounds_of(groupings, truth, weights, scores.shape[1])
    start = time.process_time()
    found = assign(scores, bounds, groups, 0, weights)
    seconds = time.process_time() - start
    return seconds, np.abs(LinearConstraints.of(bounds).missed(found.counts)).max(), found.gap


def run_time() -> None:
    """Print ratios within one run."""
    scores, first, second, truth = million()
    weights = np.random.default_rng(1).gamma(2, 50, len(first))
    timed(scores, [first], truth)  # what is compiled and loaded first is not counted
    one, off, _ = timed(scores, [first], truth)
    print(f"one grouping: {one:.2f} s, off {off:g}")
    weighted, off, _ = timed(scores, [first], truth, weights)
    print(f"one grouping, weighted: {weighted:.2f} s, {weighted / one:.1f} x one grouping, "
          f"off {off / weights.mean():.2g} of the mean weight")  # fmt: skip
    crossing, off, gap = timed(scores, [first, second], truth)
    print(f"crossing: {crossing:.2f} s, {crossing / one:.1f} x one grouping, off {off:g}, "
          f"proven to {gap:.2g}")  # fmt: skip
    weighted, off, _ = timed(scores, [first, second], truth, weights)
    print(f"crossing, weighted: {weighted:.2f} s, {weighted / crossing:.1f} x crossing, "
          f"off {off / weights.mean():.2g} of the mean weight")  # fmt: skip
    print(f"memory at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


def as_user_gives(bounds, groups):
    """Return a column per margin, and the margins as tables of totals."""
    columns, tables = {}, []
    for margin in bounds.margins:
        (name,), cells = margin.columns, margin.codes[groups]
        columns[name] = np.array(margin.names)[cells]
        sizes = np.bincount(cells, minlength=len(margin.names))
        ends = np.stack([margin.lower, margin.upper], axis=-1)
        rows = [
            {name: margin.names[c], "class": k, "total": low if low == high else (low, high)}
            for c, row in enumerate(ends.tolist())
            for k, (low, high) in enumerate(row)
            if low > 0 or high < sizes[c]
        ]
        tables += [rows] if rows else []
    return pd.DataFrame(columns), tables


def run_cases(n_cases: int) -> None:
    """Print how often the best labels are claimed, and whether they are, from user tables on."""
    possible = claimed = wrong = disagreed = 0
    for seed in range(n_cases):
        scores, groups, bounds = crossing_case(seed)
        best = best_objective(scores, groups, bounds)
        table, tables = as_user_gives(bounds, groups)
        known = read_totals(tables or {}, list(range(scores.shape[1])))
        names = [str(name) for name in known.columns]
        codes = read_groups(table[names] if names else None, len(table))
        try:
            met = make_bounds(known, codes._replace(columns=tuple(names)), range(scores.shape[1]))
        except InputError:
            disagreed += best is not None
            continue
        disagreed += best is None
        if best is None:
            continue
        found = assign(scores, met, codes.codes, 0)
        possible += 1
        claimed += found.gap <= PROVEN
        wrong += found.gap <= PROVEN and abs(found.objective - best) > 1e-9
    print(f"{n_cases} cases, {possible} possible; another opinion on that in {disagreed}")
    print(f"claimed optimal {claimed} ({claimed / possible:.1%}), wrongly {wrong}")


def run_weights(n_cases: int) -> None:
    """Print how often labels are called closest, and whether enumeration finds closer ones."""
    claimed = whole = wrong = 0
    for seed in range(n_cases):
        scores, groups, weights, bounds = weighted_case(seed)
        found = assign(scores, bounds, groups, 0, weights)
        least = least_deviation(weights, scores.shape[1], groups, bounds)
        is_whole = bool((weights == np.rint(weights)).all())
        whole, claimed = whole + is_whole, claimed + found.closest
        wrong += found.closest and found.missed > least + 1e-9
        wrong += found.missed < least - 1e-9
    print(f"{n_cases} cases, {whole} with whole weights; closest claimed {claimed}, wrong {wrong}")


def run_tables(n_cases: int) -> None:
    """Print how often reconciled tables are those of least squares, and are met by labels."""
    same = met = 0
    for seed in range(n_cases):
        people, tables, n_classes = contradicting_case(seed)
        groups = read_groups(people, len(people))._replace(columns=tuple(people.columns))
        known = read_totals(tables, list(range(n_classes)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            bounds = make_bounds(known, groups, range(n_classes))
        wanted = reconciled(people, tables, n_classes)
        own = np.concatenate([m.lower.ravel() for m in bounds.margins])
        same += bool(np.abs(own - wanted).max() < 1 and bool(bounds.adjustments))
        scores = np.log(np.random.default_rng(seed).dirichlet(np.ones(n_classes), len(people)))
        found = assign(scores, bounds, groups.codes, 0)
        met += not LinearConstraints.of(bounds).missed(found.counts).any()
    print(f"{n_cases} contradicting tables: {same} as least squares but for rounding, {met} met")


RUNS = {"cases": run_cases, "weights": run_weights, "tables": run_tables}

if __name__ == "__main__":
    if sys.argv[1] == "time":
        run_time()
    else:
        RUNS[sys.argv[1]](int(sys.argv[2]))
