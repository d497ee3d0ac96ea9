"""Time and peak memory of labels that meet totals, against points, classes, groups and ties.

usage: python -m benchmarks.transport [--quick]

Every measurement is a process of its own, so that its peak memory is its own. ``ties`` is the
number of trees whose shares are the probabilities; without trees they are all different.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.output import Table
from c2rf.assignment import assign, log_scores
from c2rf.totals.bounds import Bounds

COLUMNS = ("points", "classes", "groups", "coupled", "trees", "seconds", "peak_GB", "met")
CASES = [
    # points, classes, groups, whether overall totals couple the groups, trees
    (10_000, 3, 1, False, 0),
    (100_000, 10, 1, False, 0),
    (100_000, 10, 100, False, 0),
    (100_000, 10, 100, True, 0),
    (1_000_000, 2, 1, False, 0),
    (1_000_000, 10, 1, False, 0),
    (1_000_000, 10, 1, False, 20),
    (1_000_000, 10, 20, False, 0),
    (1_000_000, 10, 20, True, 0),
]


def main() -> None:
    """Measure all cases, or only the smaller ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(measured(*json.loads(options.case))))
        return
    table = Table(options.out, "transport", COLUMNS)
    for case in CASES:
        if case[0] <= 100_000 or not options.quick:
            command = [sys.executable, "-m", "benchmarks.transport", "--case", json.dumps(case)]
            found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
            table.add(dict(zip(COLUMNS, [*case, *found], strict=True)))
    table.finish()


def measured(
    n_points: int, n_classes: int, n_groups: int, coupled: bool, trees: int
) -> tuple[float, float, bool]:
    """Return seconds, peak memory in GB, and whether all bounds were met."""
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.full(n_classes, 0.5), n_points)
    scores = log_scores(rng.multinomial(trees, shares) / trees if trees else shares)
    groups = np.arange(n_points) % n_groups
    truth = rng.choice(n_classes, n_points, p=rng.dirichlet(np.full(n_classes, 2.0)))
    bounds = known(truth, groups, (n_groups, n_classes), coupled, rng)
    start = time.perf_counter()
    counts = assign(scores, bounds, groups, random_state=0).counts
    seconds = time.perf_counter() - start
    met = (counts >= bounds.group_lower).all() and (counts <= bounds.group_upper).all()
    met &= (counts.sum(axis=0) >= bounds.lower).all() and (counts.sum(axis=0) <= bounds.upper).all()
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, bool(met)


def known(
    truth: np.ndarray,
    groups: np.ndarray,
    shape: tuple[int, int],
    coupled: bool,
    rng: np.random.Generator,
) -> Bounds:
    """Return all sizes of classes in groups, or overall ones beside a half of those in groups."""
    inner = np.bincount(groups * shape[1] + truth, minlength=shape[0] * shape[1]).reshape(shape)
    told = rng.random(shape) < 0.5 if coupled else np.full(shape, True)
    total, free = inner.sum(axis=0), len(truth)
    return Bounds(
        total if coupled else 0 * total,
        total if coupled else 0 * total + free,
        np.where(told, inner, 0),
        np.where(told, inner, free),
        inner.sum(axis=1),
    )


if __name__ == "__main__":
    main()
