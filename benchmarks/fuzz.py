"""Tables made at random and damaged at random: read right, or refused with one of our errors.

``python -m benchmarks.fuzz --minutes 20`` writes a table in some format, reads it and compares
every cell; then changes bytes of the file and reads that. What is neither right nor refused is kept
in ``benchmarks/results/fuzz`` and printed. ``CORPUS`` has what failed once; it is tried first.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd

from c2rf.data.cells import as_text
from c2rf.data.dialect import Dialect, ReadAs
from c2rf.data.formats import read_file
from c2rf.data.numerals import MISSING
from c2rf.data.write import TableWriter
from c2rf.exceptions import C2RFError

KEPT = Path("benchmarks/results/fuzz")
ENDINGS = ("csv", "tsv", "csv.gz", "parquet", "xlsx", "jsonl")
PIECES = [
    *"aé=+-@ ,;|\t\r\n\"'\\.0123456789",
    "1.5",
    "1,5",
    "007",
    "NA",
    "\u2212",
    "\u00a0",
    "\uff1d",
    "-",
]
CORPUS: list[tuple[str, dict[str, list[str]]]] = [
    ("csv", {"a": ["1\r2", "x"], "b": ["", "y"]}),
    ("csv", {"a": ['say "hi"\\', "x"], "b": ['\\"', "y"]}),
    ("csv", {"a": ["C:\\dir\\", "x"], "b": ['"', "y"]}),
    ("csv", {"a": ["x"], '";b': ["y;z"], "c": ["\t,"], "d": [""]}),
    ("csv", {"a\rb": ["1", "2"], "c": ["x", "y"]}),
    ("csv", {"id": ["r0"], "81.5-x0": ["''"]}),
    ("jsonl", {"id": [str(2**53 + 1), "7"], "b": ["x", "y"]}),
    ("xlsx", {"id": [str(2**53 + 1), "7"], "b": ["x", "y"]}),
]
"""Endings and tables that were once changed silently."""


def main() -> int:
    """Fuzz for some minutes; print what came out how often, and return 1 if any of it is bad."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng, end, found = random.Random(given.seed), time.monotonic() + 60 * given.minutes, Counter()
    with tempfile.TemporaryDirectory() as folder:
        for ending, cells in CORPUS:
            found[try_one(Path(folder), ending, cells, rng)] += 1
        while time.monotonic() < end:
            found[try_one(Path(folder), rng.choice(ENDINGS), made_up(rng), rng)] += 1
    for outcome, number in sorted(found.items()):
        print(f"{number:>9,}  {outcome}")
    return int(any("!" in outcome for outcome in found))


def made_up(rng: random.Random) -> dict[str, list[str]]:
    """Return columns of cells of random pieces."""
    n_rows = rng.randint(1, 12)
    names = [f"{made_cell(rng).strip()}x{k}" for k in range(rng.randint(1, 4))]
    columns = {name: [made_cell(rng) for _ in range(n_rows)] for name in names}
    return {"id": [f"r{k}" for k in range(n_rows)]} | columns  # empty rows of a sheet are left out


def made_cell(rng: random.Random) -> str:
    """Return a short text."""
    return "".join(rng.choices(PIECES, k=rng.choice([0, 1, 1, 2, 3, 8])))


def try_one(folder: Path, ending: str, cells: dict[str, list[str]], rng: random.Random) -> str:
    """Write and read a table; then damage it and read it. Return what came out; bad has a "!"."""
    path = folder / f"x.{ending}"
    table = pd.DataFrame(cells, dtype="str")
    try:
        with TableWriter(path, Dialect(rng.choice(",;\t|"))) as writer:
            writer.write(table)
        kept = path.read_bytes()
        outcome = read_again(path, table)
        if rng.random() < 0.5:
            path.write_bytes(damaged(kept, rng))
            outcome = read_damaged(path)
    except C2RFError:
        return f"{ending}: refused in writing"
    except Exception:
        outcome = "! unexpected"
        traceback.print_exc()
    if "!" in outcome:
        KEPT.mkdir(parents=True, exist_ok=True)
        (KEPT / f"{time.time_ns()}.{ending}").write_bytes(path.read_bytes())
        print(outcome, ending, cells, file=sys.stderr)
    return f"{ending}: {outcome}"


def read_again(path: Path, table: pd.DataFrame) -> str:
    """Compare what is read with what was written."""
    try:
        found = read_file(path, ReadAs(text=tuple(table))).frame
    except C2RFError:
        return "refused"
    same = list(found) == list(table) and len(found) == len(table)
    same = same and all(cells(found[name]) == cells(table[name]) for name in table)
    return "read as it was" if same else "! silently changed"


def cells(column: Any) -> list[str]:
    """Return cells as text, with empty ones alike."""
    texts = as_text(column)
    return ["" if text is None or text.strip() in MISSING else plain(text) for text in texts]


def plain(text: str) -> str:
    """Return a number as it is counted, other text as it is."""
    try:
        return repr(float(text)) if len(text) < 17 else text
    except ValueError:
        return text


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Change, cut or repeat some bytes."""
    changed = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(changed) + 1)
        kind = rng.randrange(3)
        if kind == 0 and place < len(changed):
            changed[place] = rng.randrange(256)
        elif kind == 1:
            del changed[place:]
            changed = changed or bytearray(b"x")
        else:
            changed[place:place] = bytes(rng.choices(range(256), k=rng.randint(1, 8)))
    return bytes(changed)


def read_damaged(path: Path) -> str:
    """Read a damaged file, which may hold anything."""
    try:
        read_file(path)
    except C2RFError:
        return "damaged: refused"
    return "damaged: still a table"


if __name__ == "__main__":
    sys.exit(main())
