"""Rows per second and peak memory against rows, trees and features, of Parquet files.

usage: python -m benchmarks.scale --scratch FOLDER [--rows 100000 1000000 ...] [--engines ...]

A population is made by the generators, a chunk at a time, and classified from its file: in one
process (``stream``: C2RFClassifier, ``totals``: KnownTotalsClassifier), on a local Dask cluster of
processes (``dask-1``, ``dask-2``: so many workers of one thread each), and by the command line
(``cli``: c2rf, ``cli-totals``). Every measurement is a process of its own, so that its peak
memory is its own; of several processes the largest counts. What has been measured is not measured
again: records are kept in ``scale.jsonl``, and the files in the scratch folder.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.output import Table, save_plot
from benchmarks.scale_data import make_population
from benchmarks.scale_runs import ENGINES

BASE = {"rows": 1_000_000, "trees": 20, "features": 20}
GROWTH = {
    "rows": (100_000, 1_000_000, 5_000_000, 20_000_000),
    "trees": (5, 10, 20, 50, 100),
    "features": (5, 10, 20, 40, 80),
}
DEFAULT = ("stream", "totals", "dask-1", "dask-2", "cli")
COLUMNS = [
    "engine", "rows", "trees", "features", "seconds", "solve", "rows_per_s", "megabytes",
    "positives", "known", "eta",
]  # fmt: skip


def main() -> None:
    """Measure what has not been measured yet, and write the table and the plot."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scratch", type=Path, required=True, help="where large files may go")
    parser.add_argument("--rows", type=int, nargs="+", default=list(GROWTH["rows"]))
    parser.add_argument("--base-rows", type=int, default=BASE["rows"], help="of trees and features")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(DEFAULT))
    parser.add_argument("--grows", nargs="+", choices=GROWTH, default=list(GROWTH))
    parser.add_argument("--repeat", type=int, default=1, help="the fastest of so many runs counts")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--publish", type=Path, help="a folder for copies of the table and plot")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        asked = json.loads(args.one)
        print(json.dumps(ENGINES[asked.pop("engine")](args.scratch, **asked)))
        return
    args.out.mkdir(parents=True, exist_ok=True)
    args.scratch.mkdir(parents=True, exist_ok=True)
    records = Records(args.out / "scale.jsonl")
    base = BASE | {"rows": args.base_rows}
    for grows in args.grows:
        for size in args.rows if grows == "rows" else GROWTH[grows]:
            for engine in args.engines:
                asked = {"engine": engine, **base, grows: size}
                if not records.know(asked):
                    records.add(asked, measure(asked, args.scratch, args.repeat))
    write(records, args.out, base)
    if args.publish:
        args.publish.mkdir(parents=True, exist_ok=True)
        for name in ("scale.csv", "scale.png"):
            shutil.copy(args.out / name, args.publish / name)


class Records:
    """What has been measured, a line of JSON each."""

    def __init__(self, path: Path) -> None:
        self.path = path
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self.found = {self._key(record): record for record in map(json.loads, lines)}

    def know(self, asked: dict[str, Any]) -> bool:
        """Say whether this has been measured."""
        return self._key(asked) in self.found

    def add(self, asked: dict[str, Any], measured: dict[str, Any]) -> None:
        """Keep a measurement."""
        record = asked | measured
        self.found[self._key(asked)] = record
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        print(record, flush=True)

    def of(self, grows: str, engine: str, base: dict[str, int]) -> list[dict[str, Any]]:
        """Return the records of an engine where only one thing differs from the base."""
        same = {name: value for name, value in base.items() if name != grows}
        chosen = [
            record
            for record in self.found.values()
            if record["engine"] == engine
            and all(record[name] == value for name, value in same.items())
        ]
        return sorted(chosen, key=lambda record: int(record[grows]))

    @staticmethod
    def _key(record: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(record[name] for name in ("engine", *BASE))


def measure(asked: dict[str, Any], scratch: Path, repeat: int) -> dict[str, Any]:
    """Run a measurement in a process of its own."""
    make_population(scratch, asked["rows"], asked["features"])
    command = [sys.executable, "-m", "benchmarks.scale", "--scratch", str(scratch)]
    command += ["--one", json.dumps(asked)]
    runs = []
    for _ in range(repeat):
        answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        runs.append(json.loads(answer.splitlines()[-1]))
    best = min(runs, key=lambda run: run["seconds"])
    best["rows_per_s"] = round(asked["rows"] / (best["seconds"] - best["solve"]))
    return best


def write(records: Records, folder: Path, base: dict[str, int]) -> None:
    """Write the table as CSV and Markdown, and the plot."""
    table = Table(folder, "scale", COLUMNS)
    for record in sorted(records.found.values(), key=lambda r: [str(r["engine"]), *_sizes(r)]):
        table.add({name: record.get(name, "") for name in COLUMNS})
    table.finish()
    _plot(records, folder, base)


def _sizes(record: dict[str, Any]) -> list[int]:
    return [int(record[name]) for name in BASE]


def _plot(records: Records, folder: Path, base: dict[str, int]) -> None:
    """Plot what was measured for more than one size, a column of panels each."""
    import matplotlib.pyplot as plt

    measured_sizes = {grows: {r[grows] for r in records.found.values()} for grows in GROWTH}
    shown = [grows for grows, sizes in measured_sizes.items() if len(sizes) > 1] or ["rows"]
    figure, axes = plt.subplots(
        2, len(shown), figsize=(4 * len(shown), 6), sharey="row", squeeze=False
    )
    for column, grows in enumerate(shown):
        for engine in ENGINES:
            rows = records.of(grows, engine, base)
            if not rows:
                continue
            for axis, measured in zip(axes[:, column], ("rows_per_s", "megabytes"), strict=True):
                points = [row[grows] for row in rows], [row[measured] for row in rows]
                axis.plot(*points, "o-", label=engine)
                axis.set(xscale="log", yscale="log", xlabel=grows)
                axis.grid(alpha=0.3)
    axes[0, 0].set_ylabel("rows per second")
    axes[1, 0].set_ylabel("peak memory, MB")
    axes[0, 0].legend(fontsize="small")
    save_plot(figure, folder, "scale")


if __name__ == "__main__":
    main()
