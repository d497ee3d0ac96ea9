"""How ``auto`` does off the beaten track: other samples, forests and boxes than the paper's.

usage: python -m benchmarks.regimes [--data-dir FOLDER] [--samples 1] [--only t50] [--time-limit 60]
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import c2rf
from benchmarks.instances import GENERATED, Regime, draw
from benchmarks.output import Table
from c2rf.bench.samples import NAMES, PROTOCOLS

PAPER = PROTOCOLS["biased"]

REGIMES = {
    "other seeds": Regime(replace(PAPER, name="other seeds")),
    "simple": Regime(PROTOCOLS["simple"]),
    "t10": Regime(replace(PAPER, n_trees=10)),
    "t30": Regime(replace(PAPER, n_trees=30)),
    "depth 3": Regime(replace(PAPER, depth=3)),
    "box 1-2": Regime(upper=2.0),
    "box 1-10": Regime(upper=10.0),
    "box 1-1000": Regime(upper=1000.0),
    "t50": Regime(replace(PAPER, n_trees=50)),
    "t100": Regime(replace(PAPER, n_trees=100)),
}

COLUMNS = ("regime", "data", "sample", "patterns", "eta", "bound", "status", "seconds")


def main() -> None:
    """Solve every regime on every data set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, help="cache folder of the pmlb package")
    parser.add_argument("--samples", type=int, default=1)
    parser.add_argument("--only", default="", help="only regimes whose name has this in it")
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    args = parser.parse_args()
    names = list(NAMES) if args.data_dir else list(GENERATED)
    table = Table(args.out, "regimes", COLUMNS)
    for called, regime in REGIMES.items():
        if args.only not in called:
            continue
        for name in names:
            for sample in range(args.samples):
                patterns, total = draw(name, regime, sample, args.data_dir)
                solution = c2rf.solve(
                    patterns, total, regime.lower, regime.upper, time_limit=args.time_limit
                )
                table.add(
                    {
                        "regime": called,
                        "data": name,
                        "sample": sample,
                        "patterns": patterns.n_patterns,
                        "eta": solution.eta,
                        "bound": solution.bound,
                        "status": solution.status,
                        "seconds": solution.runtime,
                    }
                )
    table.finish()


if __name__ == "__main__":
    main()
