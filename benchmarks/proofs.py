"""Proofs: how large certificates are and how long their check takes; problems with a known optimum.

python -m benchmarks.proofs sizes [FOLDER]
python -m benchmarks.proofs planted --n 300 --largest 1e6 [--shift] [--time-limit 3]

The folder holds .npz files of patterns, weights (their counts), n_positive, lower and upper;
without one the votes are those of forests on generated data. A planted problem has the total of
weights that were drawn first, so its optimum is 0; with ``--shift`` all counts are multiples of a
number, and the total is moved by less than half of it, which is the optimum then. A bound above
the optimum is a wrong claim.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import c2rf
from benchmarks.instances import GENERATED, Regime, draw
from benchmarks.output import Table
from c2rf import PatternTable

COLUMNS = ["name", "patterns", "eta", "status", "solve s", "check s", "rows", "leaves", "kB"]
_LATE = 3.0


def main() -> None:
    """Run one of the two."""
    args = _arguments()
    if args.what == "sizes":
        _sizes(args)
    elif _planted(args):
        raise SystemExit(1)


def _sizes(args: argparse.Namespace) -> None:
    """Solve instances, and print what their certificates weigh."""
    table = Table(args.out, "proofs", COLUMNS)
    for name, *problem in _instances(args.folder):
        table.add({"name": name, **_proof(*problem, args.time_limit)})
    table.finish()
    solving, checking, sizes = (
        [row[key] for row in table.rows] for key in ("solve s", "check s", "kB")
    )
    proven = sum(row["status"] == "optimal" for row in table.rows)
    real = [row["kB"] for row in table.rows if row["eta"]]
    print(
        f"{len(sizes)} instances, {proven} proven; solving {sum(solving):.1f} s, checking "
        f"{sum(checking):.1f} s; kB: median {statistics.median(sizes):.1f}, of those with eta > 0 "
        f"{statistics.median(real or [0]):.1f}, largest {max(sizes):.0f}"
    )


def _proof(
    votes: PatternTable, total: int, lower: float, upper: float, limit: float
) -> dict[str, Any]:
    """Solve one instance, and check its certificate."""
    found = c2rf.solve(
        votes, total, lower, upper, time_limit=limit, random_state=0, certificate=True
    )
    start = time.perf_counter()
    c2rf.verify(votes, total, found, lower, upper)
    return {
        "patterns": votes.n_patterns,
        "eta": found.eta,
        "status": found.status,
        "solve s": found.runtime,
        "check s": time.perf_counter() - start,
        "rows": found.stats["proof"]["rows"],
        "leaves": found.stats["proof"]["leaves"],
        "kB": len(json.dumps(found.certificate)) / 1000,
    }


def _instances(folder: Path | None) -> Iterator[tuple[str, PatternTable, int, float, float]]:
    if folder is None:
        for name in GENERATED:
            for sample in range(2):
                yield f"{name}-{sample}", *draw(name, Regime(), sample, None), 1.0, 100.0
        return
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as found:
            votes = np.repeat(found["patterns"], found["weights"], axis=0)
            numbers = int(found["n_positive"]), float(found["lower"]), float(found["upper"])
        yield path.stem, PatternTable.from_votes(votes), *numbers


def _planted(args: argparse.Namespace) -> bool:
    """Solve planted problems, and say whether anything is wrong or late."""
    tally = dict.fromkeys(("solved", "proven", "wrong", "late"), 0)
    for seed in range(args.seed, args.seed + args.n):
        table, total, upper, best = planted(seed, args.largest, args.shift)
        start = time.perf_counter()
        found = c2rf.solve(
            table, total, 1, upper, time_limit=args.time_limit, random_state=seed, certificate=True
        )
        took = time.perf_counter() - start
        c2rf.verify(table, total, found, 1, upper)
        wrong, late = found.bound > best or found.eta < best, took > args.time_limit + _LATE
        if wrong or late:
            print(f"seed {seed}: optimum {best}, {found}, {took:.1f} s", flush=True)
        tally["solved"] += found.eta == best
        tally["proven"] += found.bound == best == found.eta
        tally["wrong"] += wrong
        tally["late"] += late
    print(f"{args.n} problems:", ", ".join(f"{n} {what}" for what, n in tally.items()))
    return bool(tally["wrong"] or tally["late"])


def planted(seed: int, largest: float, shift: bool) -> tuple[PatternTable, int, int, int]:
    """Return patterns with counts up to a size, a total, the upper end of the box, the optimum."""
    rng = np.random.default_rng([seed, 3])
    n_trees, upper = int(rng.integers(7, 22)), int(rng.choice([3, 5, 9, 20, 100]))
    votes = rng.choice(np.array([-1, 1], np.int8), (int(rng.integers(12, 90)), n_trees))
    table = PatternTable.from_votes(votes)
    step = int(rng.integers(3, 50)) if shift else 1
    sizes = largest ** rng.uniform(0.2, 1.0, table.n_patterns)  # a few large counts, many smaller
    counts = step * np.maximum(1, sizes / step).astype(np.int64)
    table = PatternTable(table.words, counts, n_trees)
    weights = rng.integers(1, upper, n_trees)
    weights[0] += 1 - weights.sum() % 2  # odd: no score is zero
    total = int(counts[table.patterns @ weights > 0].sum())
    best = int(rng.integers(1, (step + 1) // 2)) if shift else 0
    return table, total + (best if total + best <= counts.sum() else -best), upper, best


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["sizes", "planted"])
    parser.add_argument("folder", nargs="?", type=Path, help="of .npz files")
    parser.add_argument("--n", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--largest", type=float, default=1e6, help="count of a pattern")
    parser.add_argument("--shift", action="store_true")
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
