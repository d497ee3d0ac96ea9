"""Race ``auto`` against Algorithm 1 of the paper on each solver, on the same samples in one run.

usage: python -m benchmarks.race [--data-dir FOLDER] [--samples 2] [--rivals highs,scip,gurobi]

A rival that does not finish within the cap counts as the cap, which flatters it. Ratios are rival
seconds by auto seconds, both at least 10 ms.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import c2rf
from benchmarks.instances import GENERATED, Regime, draw
from benchmarks.output import Table, save_plot
from c2rf.bench.samples import NAMES
from c2rf.exceptions import BackendError

_FLOOR = 0.01


def main() -> None:
    """Run the race."""
    args = _arguments()
    names = list(NAMES) if args.data_dir else list(GENERATED)
    rivals = args.rivals.split(",")
    columns = ["data", "sample", "patterns", "eta", "bound", "auto"]
    columns += [name for rival in rivals for name in (rival, f"{rival} ratio")]
    table = Table(args.out, "race", columns)
    for how in [{"method": "auto"}, *({"method": "p-c2rf", "backend": r} for r in rivals)]:
        c2rf.solve([[1, -1, 1], [-1, 1, -1]], 1, **how)  # warm up
    for name in names:
        for sample in range(args.samples):
            table.add(_row(name, sample, rivals, args))
    for rival in rivals:
        ratios = [row[f"{rival} ratio"] for row in table.rows if row[f"{rival} ratio"] != "-"]
        print(f"p-c2rf on {rival}: {_mean(ratios):.1f} times slower, over {len(ratios)} samples")
    table.finish()
    _plot(table, rivals, args.cap)


def _row(name: str, sample: int, rivals: list[str], args: argparse.Namespace) -> dict[str, object]:
    patterns, total = draw(name, Regime(), sample, args.data_dir)
    own = c2rf.solve(patterns, total, time_limit=args.cap)
    seconds = own.runtime if own.status == "optimal" else args.cap
    row: dict[str, object] = {
        "data": name,
        "sample": sample,
        "patterns": patterns.n_patterns,
        "eta": own.eta,
        "bound": own.bound,
        "auto": seconds,
    }
    for rival in rivals:
        try:
            theirs = c2rf.solve(
                patterns, total, method="p-c2rf", backend=rival, time_limit=args.cap
            )
        except BackendError:  # too large for the free licence
            row[rival] = row[f"{rival} ratio"] = "-"
            continue
        if theirs.eta < own.bound or own.eta < theirs.bound:
            raise SystemExit(f"contradicting proofs on {name} #{sample}: {own} and {theirs}")
        # By the rival's own claim and time, before anything is certified
        done = theirs.stats["solver_status"] == "optimal"
        taken = min(theirs.stats["solver_seconds"], args.cap) if done else args.cap
        row[rival] = taken
        row[f"{rival} ratio"] = max(taken, _FLOOR) / max(seconds, _FLOOR)
    return row


def _mean(ratios: list[float]) -> float:
    """Return the geometric mean."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def _plot(table: Table, rivals: list[str], cap: float) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4))
    for method in ["auto", *rivals]:
        times = sorted(row[method] for row in table.rows if row[method] != "-")
        solved = [seconds for seconds in times if seconds < cap]
        part = [(k + 1) / len(times) for k in range(len(solved))]
        label = method if method == "auto" else f"Algorithm 1, {method}"
        axes.step(
            [_FLOOR, *solved, cap],
            [0, *part, *part[-1:]] if part else [0, 0],
            "-",
            label=label,
            where="post",
        )
    axes.set(xscale="log", xlabel="seconds", ylabel="part of samples proven", ylim=(0, 1.02))
    axes.legend()
    save_plot(figure, table.folder, "race")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, help="cache folder of the pmlb package")
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--rivals", default=",".join(c2rf.forest.backends.installed()))
    parser.add_argument("--cap", type=float, default=60.0, help="seconds a solve may take")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
