"""Time and peak memory of ``auto`` against points, patterns, trees and u / l, one at a time.

usage: python -m benchmarks.growth [--quick]

The total can be attained by weights from 1 to 100. Every measurement is a process of its own, so
that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from pathlib import Path

import c2rf
from benchmarks.instances import random_table
from benchmarks.output import Table, save_plot
from c2rf.forest.votes import PatternTable

BASE = {"points": 100_000, "patterns": 10_000, "trees": 50, "ratio": 100.0}
GROWTH = {
    "points": (10_000, 100_000, 1_000_000, 10_000_000),
    "patterns": (1_000, 10_000, 100_000, 1_000_000),
    "trees": (10, 20, 50, 100, 200, 500),
    "ratio": (2.0, 10.0, 100.0, 1000.0, 10_000.0),
}


def main() -> None:
    """Measure, or be the process that is measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="only the two smallest of each")
    parser.add_argument("--time-limit", type=float, default=120.0)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(_measure(json.loads(args.one), args.time_limit)))
        return
    columns = ["grows", *BASE, "eta", "bound", "seconds", "megabytes"]
    table = Table(args.out, "growth", columns)
    for grows, sizes in GROWTH.items():
        for size in sizes[:2] if args.quick else sizes:
            asked = {**BASE, grows: size}
            asked["patterns"] = min(asked["patterns"], 2 ** asked["trees"] // 4)
            asked["points"] = max(asked["points"], asked["patterns"])
            command = [sys.executable, "-m", "benchmarks.growth", "--one", json.dumps(asked)]
            command += ["--time-limit", str(args.time_limit)]
            answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            table.add({"grows": grows, **asked, **json.loads(answer)})
    table.finish()
    _plot(table)


def _measure(asked: dict[str, float], time_limit: float) -> dict[str, float]:
    n_patterns, n_points = int(asked["patterns"]), int(asked["points"])
    table, total = random_table(n_patterns, int(asked["trees"]), seed=0)
    each = n_points // n_patterns
    table = PatternTable(table.words, table.counts * 0 + each, table.n_trees)
    solution = c2rf.solve(table, total * each, 1.0, float(asked["ratio"]), time_limit=time_limit)
    return {
        "eta": solution.eta,
        "bound": solution.bound,
        "seconds": solution.runtime,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _plot(table: Table) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, len(GROWTH), figsize=(3 * len(GROWTH), 5), sharey="row")
    for column, grows in enumerate(GROWTH):
        rows = [row for row in table.rows if row["grows"] == grows]
        for axis, measured in zip(axes[:, column], ("seconds", "megabytes"), strict=True):
            axis.plot([row[grows] for row in rows], [row[measured] for row in rows], "o-")
            axis.set(xscale="log", yscale="log", xlabel=grows)
            axis.set_ylabel(measured if column == 0 else "")
    save_plot(figure, table.folder, "growth")


if __name__ == "__main__":
    main()
