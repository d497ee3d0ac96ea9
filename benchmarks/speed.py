"""Time of the default learner, as ratios to 200 extra trees with the same exact totals, in one run.

usage: python -m benchmarks.speed [--quick] [--labeled 50,500,2000,5000,20000,200000]

For each number of rows the two take turns on the same rows, one thread each, after a first call
that compiles. With --labeled, for each number of labeled rows, and as many others, 5 000 at least,
20 columns. Extra trees are not calibrated, which would fit them again. The last columns compare one
thread with two, and the rows per second of scoring beyond the learned part.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from threadpoolctl import threadpool_limits

from benchmarks.output import Table
from benchmarks.timing import best_of
from c2rf import KnownTotalsClassifier
from c2rf.baselines import N_TREES
from c2rf.datasets import biased_sample, make_waveform

COLUMNS = ["rows", "labeled", "extra_trees_s", "default_s", "times", "two_threads", "scoring"]
N_LABELED = 50
LEAST_ROWS = 5000


def main() -> None:
    """Measure populations of growing size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="5 000 and 50 000 rows only")
    parser.add_argument("--labeled", help="numbers of labeled rows, separated by commas")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    args = parser.parse_args()
    table = Table(args.out, "speed", COLUMNS)
    with threadpool_limits(limits=1):
        sizes = [
            (n, N_LABELED) for n in ((5000, 50_000) if args.quick else (5000, 50_000, 500_000))
        ]
        if args.labeled:
            numbers = map(int, args.labeled.split(","))
            sizes = [(max(LEAST_ROWS, number), number) for number in numbers]
        for n_rows, n_labeled in sizes:
            few = n_rows * max(1, n_labeled // 1000) < 500_000
            table.add(measure(n_rows, n_labeled, args.repeat if few else 1))
    print(table.finish())


def measure(n_rows: int, n_labeled: int, repeat: int) -> dict[str, Any]:
    X, y = make_waveform(n_rows + n_labeled, binary=True, random_state=0)
    X = X[:, :20]
    labeled, rest = biased_sample(y, n_labeled / len(y), positive_weight=0.7, random_state=0)
    known = (X[labeled], y[labeled]), {"X_unlabeled": X[rest], "totals": {1: int(y[rest].sum())}}

    def fit(estimator: Any, n_jobs: int) -> KnownTotalsClassifier:
        data, about = known
        classifier = KnownTotalsClassifier(
            estimator,
            calibration="auto" if estimator is None else None,
            n_jobs=n_jobs,
            random_state=0,
        )
        return classifier.fit(*data, **about)

    trees = ExtraTreesClassifier(N_TREES, random_state=0)
    seconds = best_of(repeat, lambda: fit(trees, 1), lambda: fit(None, 1), lambda: fit(None, 2))
    rate = scoring(fit(trees, 1).estimator_, fit(None, 1).estimator_, X[:20_000], repeat)
    return {
        "rows": n_rows,
        "labeled": len(labeled),
        "extra_trees_s": seconds[0],
        "default_s": seconds[1],
        "times": seconds[1] / seconds[0],
        "two_threads": seconds[1] / seconds[2],
        "scoring": rate,
    }


def scoring(trees: Any, ours: Any, X: np.ndarray, repeat: int) -> float:
    """Return how many times the rows per second of extra trees the default scores."""
    theirs, own = best_of(repeat, lambda: trees.predict_proba(X), lambda: ours.predict_proba(X))
    return theirs / own


if __name__ == "__main__":
    main()
