"""Crossing margins and weights: time and memory at a million rows, and a second solver's opinion.

python -m benchmarks.margins time       # ratio to the assignment with one grouping
python -m benchmarks.margins cases 1000 # small random cases against scipy.optimize.milp
"""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from c2rf.assignment import assign
from c2rf.totals.bounds import Bounds, MarginBounds
from c2rf.totals.system import System


def million(n: int = 1_000_000, n_classes: int = 3):
    """Return scores, the two groupings of 16 cells, and labels that the totals are of."""
    rng = np.random.default_rng(0)
    first, second = rng.integers(16, size=n), rng.integers(16, size=n)
    scores = np.log(rng.dirichlet(np.ones(n_classes), n))
    truth = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    return scores, first, second, truth


def bounds_of(first, second, truth, weights, n_classes):
    """Return the groups, and bounds of both margins."""
    groups, sized = first * 16 + second, np.ones(len(first)) if weights is None else weights
    counts = np.bincount(groups * n_classes + truth, sized, 256 * n_classes).reshape(256, -1)
    counts = counts if weights is not None else counts.astype(np.int64)
    sizes, free, margins = counts.sum(axis=1), 0 * counts, []
    for name, cells in (("region", np.arange(256) // 16), ("age", np.arange(256) % 16)):
        margin = MarginBounds((name,), list(range(16)), cells, free[:16], free[:16])
        total = margin.counted(counts)
        margins.append(replace(margin, lower=total, upper=total))
    overall = 0 * counts.sum(axis=0), sizes.sum() + 0 * counts.sum(axis=0)
    return groups, Bounds(*overall, free, free + sizes[:, None], sizes, tuple(margins))


def timed(scores, bounds, groups, weights=None):
    """Return the processor time of an assignment, and the assignment."""
    start = time.process_time()
    found = assign(scores, bounds, groups, 0, weights)
    return time.process_time() - start, found


def run_time() -> None:
    """Print ratios within one run."""
    scores, first, second, truth = million()
    n_classes = scores.shape[1]
    counts = np.bincount(first * n_classes + truth, minlength=16 * n_classes).reshape(16, -1)
    everything = 0 * counts[0], len(first) + 0 * counts[0]
    one, _ = timed(scores, Bounds(*everything, counts, counts, counts.sum(axis=1)), first)
    groups, bounds = bounds_of(first, second, truth, None, n_classes)
    crossing, found = timed(scores, bounds, groups)
    missed = np.abs(System.of(bounds).missed(found.counts)).max()
    print(f"one grouping {one:.2f} s, crossing {crossing:.2f} s, ratio {crossing / one:.1f}")
    print(f"missed {missed:g}, gap {found.gap:g}")
    weights = np.random.default_rng(1).gamma(2, 50, len(first))
    groups, bounds = bounds_of(first, second, truth, weights, n_classes)
    weighted, found = timed(scores, bounds, groups, weights)
    missed = np.abs(System.of(bounds).missed(found.counts)).max() / weights.mean()
    print(f"weighted {weighted:.2f} s, ratio to unweighted {weighted / crossing:.1f}")
    print(f"missed {missed:.2g} of the mean weight")
    print(f"memory at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


def run_cases(n_cases: int) -> None:
    """Print how often the best answer is claimed, and whether it is one."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from margin_cases import best_objective, crossing_case

    possible = claimed = wrong = 0
    for seed in range(n_cases):
        scores, groups, bounds = crossing_case(seed)
        best = best_objective(scores, groups, bounds)
        if best is None:
            continue
        found = assign(scores, bounds, groups, 0)
        possible += 1
        claimed += found.gap == 0
        wrong += found.gap == 0 and abs(found.objective - best) > 1e-9
    print(f"{possible} of {n_cases} possible, {claimed} claimed optimal, {wrong} wrongly")


if __name__ == "__main__":
    run_cases(int(sys.argv[2])) if sys.argv[1] == "cases" else run_time()
