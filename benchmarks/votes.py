"""Votes per second, as ratios to scikit-learn within one run, for forests of all depths.

usage: python -m benchmarks.votes [--quick]

For each forest the same points are asked of the trees of scikit-learn in turn, of the whole forest
by its own ``predict``, and of :class:`c2rf.forest.ensembles.Ensemble`, one thread each and in
alternation, so that a busy machine slows all of them alike. The best of several rounds counts.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from benchmarks.output import Table
from benchmarks.timing import best_of
from c2rf.forest.ensembles import Ensemble
from c2rf.forest.votes import PatternTable

DEPTHS = (1, 2, 3, 4, 5, 6, 8, 12, None)
COLUMNS = ["depth", "trees", "points", "million_per_s", "each_tree", "forest_predict"]
N_FEATURES = 20


def main() -> None:
    """Measure forests of growing depth."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="depth 2 and full depth only")
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--trees", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    args = parser.parse_args()
    table = Table(args.out, "votes", COLUMNS)
    for depth in (2, None) if args.quick else DEPTHS:
        table.add(measure(depth, args.trees, args.points, args.rounds))
    table.finish()


def measure(depth: int | None, n_trees: int, n_points: int, rounds: int) -> dict[str, Any]:
    """Return points per second, and how many times faster that is than scikit-learn."""
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(2000, N_FEATURES)), rng.normal(scale=4.0, size=2000)
    y = (X.sum(axis=1) + noise > 0).astype(int)
    forest = RandomForestClassifier(n_trees, max_depth=depth, n_jobs=1, random_state=0).fit(X, y)
    ensemble = Ensemble(list(forest.estimators_), np.arange(2))
    points = rng.normal(size=(n_points, N_FEATURES))
    seconds = best_of(
        rounds,
        lambda: [tree.predict(points) for tree in forest.estimators_],
        lambda: forest.predict(points),
        lambda: PatternTable.from_words(ensemble.words(points), n_trees),
    )
    return {
        "depth": depth or "full",
        "trees": n_trees,
        "points": n_points,
        "million_per_s": n_points / seconds[2] / 1e6,
        "each_tree": seconds[0] / seconds[2],
        "forest_predict": seconds[1] / seconds[2],
    }


if __name__ == "__main__":
    main()
