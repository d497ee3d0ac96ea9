"""A small run of the whole experiment: generated data, all methods, a wrong total, a report.

Needs no network and less than two minutes. Run it with ``make bench-smoke``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from c2rf.bench.methods import BENCH_METHODS, ON_PAPER_S_TREES
from c2rf.bench.records import read_records
from c2rf.cli import main as c2rf

# So small that P1 as printed is solved in a moment, too.
SIZES = ["--fraction", "0.25", "--trees", "5", "--jobs", "2"]
BOTH = ["--data", "made-twonorm-80,made-waveform-80"]
QUICK = [*ON_PAPER_S_TREES, "c2rf-offset"]
SLOW = [name for name in BENCH_METHODS if name not in QUICK]
RUNS = [
    [*BOTH, "--protocol", "biased,simple", "--methods", ",".join(QUICK)],
    [*BOTH, "--total-error", "-20%,+5%", "--methods", "rf,top-lambda"],
    ["--data", "made-twonorm-80", "--samples", "1", "--methods", ",".join(SLOW)],
]


def smoke(folder: Path, n_samples: int = 2) -> list[str]:
    """Run and report into a folder; return what is wrong with the outcome."""
    expected = n_samples * (2 * 2 * len(QUICK) + 2 * 2 * 2) + len(SLOW)
    records = folder / "records.jsonl"
    wrong = []
    for options in RUNS:
        samples = [] if "--samples" in options else ["--samples", str(n_samples)]
        if c2rf(["bench", "run", *SIZES, *samples, *options, "--records", str(records)]):
            wrong.append(f"the run with {' '.join(options)} failed")
    if c2rf(["bench", "report", "--records", str(records), "--out", str(folder / "report")]):
        wrong.append("the report failed")
    found = read_records(records)
    if len(found) != expected:
        wrong.append(f"{expected} records expected; found {len(found)}")
    wrong += [f"{r.data} {r.sample} {r.method}: {r.status}" for r in found if not r.solved]
    pages = [f"{page}.{kind}" for page in ("report", "quality") for kind in ("html", "md")]
    for name in (*pages, "figure1.png", "figure2.png", "figure3.png"):
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
