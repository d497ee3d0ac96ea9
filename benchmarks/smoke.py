"""A small run of the whole experiment: two generated data sets, two seeds, all methods, a report.

Needs no network and less than two minutes. Run it with ``make bench-smoke``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from c2rf.bench.methods import METHODS
from c2rf.bench.records import read_records
from c2rf.cli import main as c2rf

# So small that P1 with a row per point is solved in a moment, too.
SIZES = ["--data", "made-twonorm-80,made-waveform-80", "--fraction", "0.25", "--trees", "5"]
EXPECTED = 2 * 2 * 2 * len(METHODS)


def smoke(folder: Path) -> list[str]:
    """Run and report into a folder; return what is wrong with the outcome."""
    records = folder / "records.jsonl"
    run = ["bench", "run", *SIZES, "--protocol", "biased,simple", "--samples", "2", "--jobs", "2"]
    wrong = []
    if c2rf([*run, "--methods", ",".join(METHODS), "--records", str(records)]):
        wrong.append("the run failed")
    if c2rf(["bench", "report", "--records", str(records), "--out", str(folder / "report")]):
        wrong.append("the report failed")
    found, torn = read_records(records)
    if torn or len(found) != EXPECTED:
        wrong.append(f"{EXPECTED} records expected; found {len(found)}")
    wrong += [f"{r.data} {r.sample} {r.method}: {r.status}" for r in found if not r.solved]
    for name in ("report.html", "report.md", "figure1.svg", "figure2.svg", "figure3.png"):
        if not (folder / "report" / name).is_file():
            wrong.append(f"no {name} was written")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/smoke"))
    folder = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "records.jsonl").unlink(missing_ok=True)  # else there would be nothing left to run
    for wrong in (found := smoke(folder)):
        print(f"wrong: {wrong}", file=sys.stderr)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
