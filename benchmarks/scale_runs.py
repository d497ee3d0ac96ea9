"""What ``benchmarks.scale`` measures: each a function of sizes, run in a process of its own."""

from __future__ import annotations

import functools
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.scale_data import Population, make_population
from c2rf import C2RFClassifier, KnownTotalsClassifier

Measured = dict[str, Any]
ROW_GROUPS = 4
"""Row groups in a partition."""
SOLVER_SECONDS = 5.0  # not what is measured here: it does not grow with the rows


def stream(scratch: Path, rows: int, trees: int, features: int) -> Measured:
    """Label by C2RFClassifier, from a path, chunk by chunk."""
    population = make_population(scratch, rows, features)
    start = time.perf_counter()
    model = _c2rf(trees).fit(
        *_labeled(population), X_unlabeled=population.path, n_positive=population.known
    )
    positives = sum(int(chunk.labels.sum()) for chunk in model.label_chunks())
    return _told(start, population, positives, model.solution_)


def totals(scratch: Path, rows: int, trees: int, features: int) -> Measured:
    """Label by KnownTotalsClassifier, from a path, chunk by chunk."""
    population = make_population(scratch, rows, features)
    start = time.perf_counter()
    model = KnownTotalsClassifier(_forest(trees), random_state=0)
    model.fit(*_labeled(population), X_unlabeled=population.path, totals={1: population.known})
    positives = sum(int(chunk.labels.sum()) for chunk in model.label_chunks())
    return _told(start, population, positives)


def on_dask(scratch: Path, rows: int, trees: int, features: int, *, workers: int) -> Measured:
    """Label by C2RFClassifier on a cluster of processes; its start is not counted."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    population = make_population(scratch, rows, features)
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=":0", memory_limit=0
        ) as cluster,
        Client(cluster) as client,
    ):
        client.run(_c2rf, trees)  # imports are not counted either
        start = time.perf_counter()
        frame = dd.read_parquet(population.path, split_row_groups=ROW_GROUPS)
        model = _c2rf(trees).fit(
            *_labeled(population), X_unlabeled=frame, n_positive=population.known
        )
        positives = int(model.transduction_.sum().compute())
        measured = _told(start, population, positives, model.solution_)
    # Workers have ended by now, so that their memory is known.
    return measured | {"megabytes": _megabytes()}


def command_line(
    scratch: Path, rows: int, trees: int, features: int, *, method: str, extra: Sequence[str] = ()
) -> Measured:
    """Label by ``c2rf classify``, all of it counted: its start, reading, writing."""
    import pyarrow.dataset as ds

    population = make_population(scratch, rows, features)
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        out = Path(folder) / "labels.parquet"
        command = [sys.executable, "-m", "c2rf", "classify", population.labeled, population.path]
        command += ["--target", "sick", "--id", "id", "--positive", "1", "--quiet", "--out", out]
        command += ["--total", str(population.known), "--method", method, *extra]
        command += _OPTIONS[method](trees)
        start = time.perf_counter()
        subprocess.run([str(part) for part in command], check=True, stdout=sys.stderr)
        measured = _told(start, population, 0)
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        counts: Counter[str] = Counter()
        for batch in ds.dataset(out).to_batches(columns=["label"]):
            counts.update(map(str, batch.column("label").to_pylist()))
    if sum(counts.values()) != rows:
        raise RuntimeError(f"{sum(counts.values())} labels were written for {rows} rows")
    return measured | {
        "megabytes": round(usage.ru_maxrss / 1024),
        "positives": counts["1"],
        "eta": abs(counts["1"] - population.known),
    }


ENGINES: dict[str, Callable[..., Measured]] = {
    "stream": stream,
    "totals": totals,
    "dask-1": functools.partial(on_dask, workers=1),
    "dask-2": functools.partial(on_dask, workers=2),
    "cli": functools.partial(command_line, method="c2rf"),
    "cli-totals": functools.partial(command_line, method="known-totals"),
}


_OPTIONS: dict[str, Callable[[int], list[str]]] = {
    "known-totals": lambda trees: [],
    "c2rf": lambda trees: ["--trees", str(trees), "--time-limit", str(SOLVER_SECONDS)],
}


def _c2rf(trees: int) -> C2RFClassifier:
    return C2RFClassifier(n_estimators=trees, random_state=0, time_limit=SOLVER_SECONDS)


def _forest(trees: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(trees, max_depth=6, random_state=0)


def _labeled(population: Population) -> tuple[pd.DataFrame, Any]:
    table = pd.read_parquet(population.labeled)
    return table.drop(columns=["id", "sick"]), np.asarray(table["sick"])


def _told(start: float, population: Population, positives: int, solution: Any = None) -> Measured:
    seconds = time.perf_counter() - start
    return {
        "seconds": round(seconds, 3),
        "solve": round(solution.runtime, 3) if solution is not None else 0.0,
        "megabytes": _megabytes(),
        "positives": positives,
        "known": population.known,
        "eta": abs(positives - population.known),
        "cores": os.cpu_count(),
    }


def _megabytes() -> int:
    """Return the peak memory of this process or of the largest that it has waited for."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return round(max(usage.ru_maxrss for usage in usages) / 1024)
