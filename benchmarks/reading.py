"""How fast a CSV file is read with all of the guessing, beside ``polars.read_csv``.

``python -m benchmarks.reading`` makes a file of 1 GB, reads it with both, and prints their rates.
The ratio of one run is what counts: at least a third.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from c2rf.data.population.files import find_files


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--german", action="store_true", help="semicolons and decimal commas")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.csv"
        make_file(path, options.megabytes, options.german)
        size = path.stat().st_size / 1e6
        ours, theirs = by_c2rf(path), by_polars(path, options.german)
    print(f"file      {size:,.0f} MB")
    print(f"c2rf      {size / ours:,.0f} MB/s ({ours:.1f} s)")
    print(f"polars    {size / theirs:,.0f} MB/s ({theirs:.1f} s)")
    print(f"ratio     {theirs / ours:.2f}")


def make_file(path: Path, megabytes: int, german: bool) -> None:
    """Write rows of numbers and text, the same block again and again."""
    source = np.random.default_rng(0)
    numbers = source.normal(size=(20_000, 6)).round(4)
    ages, towns = source.integers(18, 90, 20_000), source.choice(["Ulm", "Bonn", "Köln"], 20_000)
    lines = [
        ",".join([*map(str, row), str(age), town])
        for row, age, town in zip(numbers.tolist(), ages, towns, strict=True)
    ]
    text = "\n".join(lines) + "\n"
    header = "a,b,c,d,e,f,age,town\n"
    if german:
        text, header = text.replace(",", ";").replace(".", ","), header.replace(",", ";")
    block = text.encode()
    with path.open("wb") as file:
        file.write(header.encode())
        for _ in range(max(1, megabytes * 1_000_000 // len(block))):
            file.write(block)


def by_c2rf(path: Path) -> float:
    """Guess the dialect and read all chunks."""
    start = time.perf_counter()
    n_rows = sum(len(frame) for frame, _ in find_files([path], as_tables=True).read())
    assert n_rows > 0
    return time.perf_counter() - start


def by_polars(path: Path, german: bool) -> float:
    """Read with polars, which is told the dialect."""
    import polars

    start = time.perf_counter()
    polars.read_csv(path, separator=";" if german else ",", decimal_comma=german)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
