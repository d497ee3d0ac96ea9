"""What columns of dates and categories cost beside as many columns of numbers, and wide files.

``python -m benchmarks.columns`` makes tables of the same rows and number of columns, all numbers,
all categories or all dates, as CSV and as Parquet. Of each it times, in seconds of the processor,
one pass that reads, one that profiles, one that encodes, and all of a classification by logistic
regression. What counts are the ratios to numbers in one run: at most two.

``--wide`` looks at tables of more and more columns instead: the time for a column must not grow.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import c2rf
from c2rf.data.formats import read_file
from c2rf.workflow.options import Options
from c2rf.workflow.prepare import learned_columns, prepare, profile_population
from c2rf.workflow.tables import find_rows

N_COLUMNS = 6
N_LABELED = 2000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--formats", default="csv,parquet")
    parser.add_argument("--wide", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.wide:
            wide(Path(folder))
            return
        for ending in options.formats.split(","):
            print(f"{ending}: {options.rows:,} rows of {N_COLUMNS} columns, seconds (ratio)")
            usual: dict[str, float] = {}
            for kind in KINDS:
                found = dict(steps(Path(folder), kind, ending, options.rows))
                usual = usual or found
                cells = (f"{step} {s:6.2f} ({s / usual[step]:4.2f})" for step, s in found.items())
                print(f"  {kind:12} {'  '.join(cells)}", flush=True)


def numbers(source: np.random.Generator, n: int) -> Any:
    return source.normal(size=n).round(4)


def few_values(source: np.random.Generator, n: int) -> Any:
    return source.choice(["single", "married", "divorced", "widowed", "other"], n)


def many_values(source: np.random.Generator, n: int) -> Any:
    towns = np.array([f"town {k:03}" for k in range(300)])
    return towns[(300 * source.random(n) ** 2).astype(int)]


def dates(source: np.random.Generator, n: int) -> Any:
    return np.datetime64("1950-01-01") + source.integers(0, 25_000, n).astype("timedelta64[D]")


Maker = Callable[[np.random.Generator, int], Any]
MAKERS: tuple[Maker, ...] = (numbers, few_values, many_values, dates)
KINDS: dict[str, tuple[Maker, ...]] = {
    "numbers": (numbers,),
    "few values": (few_values,),
    "many values": (many_values,),
    "dates": (dates,),
    "mixed": (few_values, few_values, many_values, many_values, dates, dates),
}
"""What the columns of a table are made by, in turn; "mixed" are four categories and two dates."""


def steps(folder: Path, kind: str, ending: str, n_rows: int) -> Iterator[tuple[str, float]]:
    """Yield each step and its seconds."""
    source = np.random.default_rng(0)
    makers = KINDS[kind]
    columns = [makers[k % len(makers)](source, n_rows) for k in range(N_COLUMNS)]
    table = pd.DataFrame({f"c{k}": column for k, column in enumerate(columns)})
    table["class"] = source.choice(["a", "b"], n_rows)
    labeled, unlabeled = folder / f"labeled.{ending}", folder / f"unlabeled.{ending}"
    for path, part in ((labeled, table[:N_LABELED]), (unlabeled, table.drop(columns="class"))):
        if ending == "csv":
            part.to_csv(path, index=False)
        else:
            part.to_parquet(path, index=False, row_group_size=1 << 18)
    known: dict[str, Any] = {"target": "class", "totals": {"a": 0.5}, "learner": "logistic"}
    options = Options(engine="chunks", **known)
    rows, sample = find_rows(unlabeled, "chunks"), read_file(labeled).frame
    yield "read", timed(lambda: sum(len(chunk.data) for chunk in rows.chunks(rows.names)))
    data = prepare(labeled, unlabeled, options)
    profiles = list(data.columns)
    yield "profile", timed(lambda: profile_population(rows, profiles))
    yield "encode", timed(lambda: sum(len(chunk.data) for chunk in data.X_unlabeled.chunks()))
    known |= {"engine": "chunks", "n_jobs": 1}
    yield "all", timed(lambda: c2rf.classify(labeled, unlabeled, **known))
    assert len(sample) == N_LABELED


def wide(folder: Path) -> None:
    """Print the time to look at tables of ever more columns."""
    source = np.random.default_rng(0)
    for n_columns in (30, 120, 480, 1920, 7680, 30_000):
        n_rows = max(100, min(8000, 1_000_000 // n_columns))
        table = pd.DataFrame(
            {f"c{k}": MAKERS[k % len(MAKERS)](source, n_rows) for k in range(n_columns)}
        ).assign(**{"class": source.choice(["a", "b"], n_rows)})
        path = folder / "wide.csv"
        table.to_csv(path, index=False)
        options = Options(target="class", totals={"a": 0.5})
        read = timed(partial(read_file, path))
        whole = read_file(path).frame
        frame, rest = whole[: n_rows // 2], whole[n_rows // 2 :].drop(columns="class")
        rows = find_rows(rest)
        look = timed(partial(learned_columns, frame, rows, (), options))
        both = timed(partial(prepare, frame, rest, options))
        each = 1e6 / n_columns / n_rows
        print(
            f"{n_columns:6} columns of {n_rows:5} rows: microseconds a cell to read "
            f"{read * each:6.2f}, to choose columns {look * each:6.2f}, to prepare all "
            f"{both * each:6.2f} ({both / n_columns * 1e3:.2f} ms a column)",
            flush=True,
        )


def timed(work: Callable[[], Any]) -> float:
    """Return seconds of the processor."""
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    main()
