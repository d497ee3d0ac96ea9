"""Exact totals on a cluster: rows made where they are labeled, so that no disk is a limit.

usage: python -m benchmarks.cluster --rows 10000000 --workers 1 2 [--classes 2 5] [--crossing]

A population is a function of row numbers: 20 columns, a region and an age, made by the workers when
they need them. Workers are processes of one thread each with 2 GB, and the scheduler is a process
of its own, so what reaches the client can be counted: all bytes of its connections. A line of JSON
per run says how long it took, from the end of learning to the labels and in all, the processor time
of the client and of each worker after learning, what reached the client, its peak memory, and what
totals are off by. ``--passes`` is for numbers of rows that nobody has: probabilities alone are
made, in this process, and assigned. ``--kill`` kills a worker in every pass, ``--fail`` lets tasks
of Spark fail twice in every pass; both compare the labels with those of the rows in memory.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import resource
import signal
import time
from functools import partial
from multiprocessing import Pipe, Process
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from c2rf import KnownTotalsClassifier
from c2rf.assignment import assign
from c2rf.assignment.parts import BLOCK, Merge, Parts, ScoredRows, merged
from c2rf.progress import progress_callback
from c2rf.totals.bounds import Bounds, MarginBounds

N_COLUMNS, N_LABELED = 20, 200
PARTITION = 1 << 18
REGIONS, AGES = 16, 8
MEMORY = "2GB"
MOST_KILLED = 12
"""Workers that may be killed, one in a pass."""


def make_rows(start: int, n_rows: int = PARTITION, columns: Any = None) -> pd.DataFrame:
    """Make the rows from a row number on."""
    rng = np.random.default_rng([5, start])
    X = rng.standard_normal((n_rows, N_COLUMNS), dtype=np.float32)
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(N_COLUMNS)])
    frame["region"] = rng.integers(0, REGIONS, n_rows, dtype=np.int8)
    frame["age"] = rng.integers(0, AGES, n_rows, dtype=np.int8)
    return frame if columns is None else frame[columns]


def labeled_rows(n_classes: int) -> tuple[pd.DataFrame, Any]:
    """Return labeled rows, whose class depends on two columns."""
    X = make_rows(10**15, N_LABELED).drop(columns=["region", "age"])
    noise = np.random.default_rng(0).normal(size=N_LABELED)
    scores = X["x0"] + X["x1"] + noise
    return X, np.digitize(scores, np.quantile(scores, np.arange(1, n_classes) / n_classes))


def totals_of(rows: int, n_classes: int, crossing: bool) -> list[Any]:
    """Return known totals: overall, or of regions and of ages, of one class."""
    if not crossing:
        return [dict.fromkeys(range(n_classes - 1), rows // (n_classes + 1))]
    region, age = np.zeros(REGIONS, np.int64), np.zeros(AGES, np.int64)
    for start in range(0, rows, PARTITION):
        part = make_rows(start, min(PARTITION, rows - start))
        region += np.bincount(part["region"], minlength=REGIONS)
        age += np.bincount(part["age"], minlength=AGES)
    known = []
    for name, sizes in (("region", region), ("age", age)):
        shares = (sizes * (0.3 / (n_classes - 1))).astype(np.int64)
        shares[0] += int(rows * 0.3 / (n_classes - 1)) - shares.sum()
        known += [
            [{name: k, "class": c, "total": int(n)} for k, n in enumerate(shares)]
            for c in range(1, n_classes)
        ]
    return [pd.DataFrame([row for table in known for row in table if name in row])
            for name in ("region", "age")]  # fmt: skip


def _cluster(n_workers: int, pipe: Any) -> None:
    from dask import config
    from distributed import LocalCluster

    # A task is blamed for the death of the worker that did it: here all may die in every pass.
    config.set({"distributed.scheduler.allowed-failures": 100})
    with LocalCluster(
        n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", memory_limit=MEMORY
    ) as cluster:
        pipe.send(cluster.scheduler_address)
        pipe.recv()


def run(rows: int, workers: int, n_classes: int, crossing: bool) -> dict[str, Any]:
    """Label a population on a cluster."""
    import dask.dataframe as dd
    from distributed import Client
    from distributed.comm import tcp

    received, read = [0], tcp.from_frames

    async def counting(frames: Any, *args: Any, **options: Any) -> Any:
        received[0] += sum(memoryview(frame).nbytes for frame in frames)
        return await read(frames, *args, **options)

    tcp.from_frames = counting
    here, there = Pipe()
    process = Process(target=_cluster, args=(workers, there))
    process.start()
    learned: list[tuple[float, float, dict[str, float]]] = []
    try:
        X, y = labeled_rows(n_classes)
        totals = totals_of(rows, n_classes, crossing)
        with Client(here.recv()) as client:

            def clocks() -> tuple[float, float, dict[str, float]]:
                return time.perf_counter(), time.process_time(), client.run(time.process_time)

            def note(event: Any) -> None:
                if event.phase == "ranking rows" and not learned:
                    learned.append(clocks())

            client.run(make_rows, 0, 10)
            starts = list(range(0, rows, PARTITION))
            sizes = [min(PARTITION, rows - start) for start in starts]
            frame = dd.from_map(make_rows, starts, sizes, meta=make_rows(0, 0))
            columns = [*X, "region", "age"] if crossing else list(X)
            received[0], start = 0, clocks()
            model = KnownTotalsClassifier(random_state=0)
            with progress_callback(note):
                model.fit(X, y, X_unlabeled=frame[columns], totals=totals)
            counts = model.transduction_.map_partitions(len).compute()
            end = clocks()
    finally:
        here.send(None)
        process.join()
    return {
        "rows": rows, "workers": workers, "classes": n_classes, "crossing": crossing,
        "seconds": round(end[0] - start[0], 1),
        "after_learning": round(end[0] - learned[0][0], 1),
        "client_processor": round(end[1] - learned[0][1], 1),
        "worker_processor": [round(end[2][w] - learned[0][2][w], 1) for w in end[2]],
        "megabytes_received": round(received[0] / 1e6, 1),
        "client_megabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "off": int(model.totals_met_["off"].abs().sum()), "labeled": int(counts.sum()),
        "gap": model.assignment_["gap"],
    }  # fmt: skip


def kill(rows: int, n_classes: int, crossing: bool) -> dict[str, Any]:
    """Label a population on a cluster of which a worker is killed in each of the first passes."""
    import dask.dataframe as dd
    from distributed import Client

    from c2rf.data.population import dask as dask_rows

    here, there = Pipe()
    process = Process(target=_cluster, args=(MOST_KILLED + 1, there))
    process.start()
    X, y = labeled_rows(n_classes)
    totals = totals_of(rows, n_classes, crossing)
    columns = [*X, "region", "age"] if crossing else list(X)
    starts = list(range(0, rows, PARTITION // 8))
    sizes = [min(PARTITION // 8, rows - start) for start in starts]
    frame = dd.from_map(make_rows, starts, sizes, meta=make_rows(0, 0))[columns]
    model, killed = KnownTotalsClassifier(random_state=0), 0
    expected = model.fit(X, y, X_unlabeled=frame.compute(), totals=totals).transduction_
    finished = dask_rows._finished

    def killing(futures: Any) -> Any:
        nonlocal killed
        if killed < MOST_KILLED:  # those that come back may come late
            os.kill(pids[killed], signal.SIGKILL)
            killed += 1
        return finished(futures)

    try:
        with Client(here.recv()) as client:
            pids = list(client.run(os.getpid).values())
            dask_rows._finished = killing
            found = model.fit(X, y, X_unlabeled=frame, totals=totals).transduction_
            dask_rows._finished = finished
            same = bool((np.asarray(found.compute()) == expected).all())
    finally:
        here.send(None)
        process.join()
    return {"rows": rows, "classes": n_classes, "crossing": crossing, "killed": killed,
            "same_labels": same}  # fmt: skip


def fail(rows: int, n_classes: int, crossing: bool) -> dict[str, Any]:
    """Label a population in Spark, of which every task of every pass fails twice."""
    from c2rf.data.population import spark as spark_rows

    session = spark_rows.start_session("local[2,3]")
    session.conf.set("spark.sql.shuffle.partitions", "3")
    session.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
    X, y = labeled_rows(n_classes)
    totals = totals_of(rows, n_classes, crossing)
    columns = [*X, "region", "age"] if crossing else list(X)
    population = make_rows(0, rows)[columns]
    model = KnownTotalsClassifier(random_state=0)
    expected = model.fit(X, y, X_unlabeled=population, totals=totals).transduction_
    people = session.createDataFrame(population.assign(id=range(rows))).repartition(4)
    with TemporaryDirectory() as folder:
        for name in ("_on_partition", "_on_span"):
            setattr(spark_rows, name, partial(_fails_twice, getattr(spark_rows, name), folder))
        found = model.fit(X, y, X_unlabeled=people, totals=totals, unlabeled_id="id").transduction_
        failed = [name.partition(".")[0] for name in os.listdir(folder)]
    return {"rows": rows, "classes": n_classes, "crossing": crossing, "passes": len(set(failed)),
            "failed": len(failed), "same_labels": bool((found == expected).all())}  # fmt: skip


def _fails_twice(work: Any, folder: str, *given: Any) -> Any:
    from pyspark import TaskContext

    task = TaskContext.get()
    if task.attemptNumber() < 2:
        Path(folder, f"{task.stageId()}.{task.attemptNumber()}").touch()
        raise OSError("the disk was busy")
    return work(*given)


class MadeRows(Parts):
    """Probabilities that are made when they are needed, in groups of 16 regions by 8 ages."""

    def __init__(self, n_rows: int, n_classes: int, crossing: bool, decimals: int = 9) -> None:
        self.decimals, self.largest, self.all = decimals, 0, 0
        self.n_classes, self.n_groups = n_classes, REGIONS * AGES if crossing else 1
        self.is_weighted, self.rows = False, n_rows
        self.sizes = np.bincount(np.arange(BLOCK) % self.n_groups, minlength=self.n_groups)
        self.sizes = self.sizes * (n_rows // BLOCK)

    def ungrouped(self) -> MadeRows:
        """Return the same rows as one group."""
        return MadeRows(self.rows, self.n_classes, False, self.decimals)

    def _parts(self) -> Any:
        groups = np.arange(BLOCK) % self.n_groups
        for start in range(0, self.rows, BLOCK):
            rng = np.random.Generator(np.random.SFC64([3, start]))
            scores = rng.standard_normal((BLOCK, self.n_classes), dtype=np.float32).astype(float)
            scores = scores.round(self.decimals)
            yield ScoredRows(scores, groups, None, self.n_groups, start)

    def reduce(self, work: Any, merge: Merge) -> Any:
        """Do the work with every part."""
        self.passes = getattr(self, "passes", 0) + 1
        found = merged(map(work, self._parts()), merge)
        self.largest = max(self.largest, n_bytes := len(pickle.dumps(found)))
        self.all += n_bytes
        return found

    def label(self, work: Any, merge: Merge) -> tuple[Any, Any]:
        """Label every part; only the counts of labels are kept."""
        counts = np.zeros(self.n_classes, dtype=np.int64)

        def label(part: ScoredRows) -> Any:
            labels, other = work(part)
            counts[:] += np.bincount(labels, minlength=self.n_classes)
            return other

        self.passes += 1
        rest = merged(map(label, self._parts()), merge)
        return counts, rest


def passes(rows: int, n_classes: int, crossing: bool, decimals: int) -> dict[str, Any]:
    """Assign made probabilities, without columns and without a cluster."""
    rows = rows // BLOCK * BLOCK
    made = MadeRows(rows, n_classes, crossing, decimals)
    shares = np.linspace(1.0, 2.0, n_classes)
    counts = np.floor(made.sizes[:, None] * (shares / shares.sum())).astype(np.int64)
    counts[:, 0] += made.sizes - counts.sum(axis=1)
    total, free = counts.sum(axis=0), np.zeros_like(counts)
    everything = free, free + made.sizes[:, None]
    bounds = Bounds(total, total, *everything, made.sizes)
    if crossing:
        margins = []
        codes = np.arange(REGIONS * AGES)
        for name, own in (("region", codes // AGES), ("age", codes % AGES)):
            margin = MarginBounds((name,), list(range(own.max() + 1)), own, free, free)
            sums = margin.sums(counts)
            margins.append(MarginBounds((name,), margin.names, own, sums, sums))
        bounds = Bounds(0 * total, total * 0 + rows, *everything, made.sizes, tuple(margins))
    start, used = time.perf_counter(), time.process_time()
    found = assign(made, bounds, random_state=0)
    return {
        "passes_over_rows": made.passes, "rows": rows, "classes": n_classes, "crossing": crossing,
        "decimals": decimals, "largest_result_megabytes": round(made.largest / 1e6, 1),
        "all_results_megabytes": round(made.all / 1e6, 1),
        "seconds": round(time.perf_counter() - start, 1),
        "processor": round(time.process_time() - used, 1), "gap": found.gap,
        "megabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "off": int(np.abs(found.counts.sum(axis=0) - total).sum()),
        "labeled": np.asarray(found.labels).tolist(),
    }  # fmt: skip


def main() -> None:
    """Run what was asked for, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=lambda text: int(float(text)), nargs="+", default=[10**7])
    parser.add_argument("--workers", type=int, nargs="+", default=[2])
    parser.add_argument("--classes", type=int, nargs="+", default=[2])
    parser.add_argument("--crossing", action="store_true", help="totals of regions and of ages")
    parser.add_argument("--passes", action="store_true", help="the assignment alone, no cluster")
    parser.add_argument("--decimals", type=int, default=9, help="of scores: fewer make more ties")
    parser.add_argument("--kill", action="store_true", help="kill a worker in every pass")
    parser.add_argument("--fail", action="store_true", help="tasks of Spark fail in every pass")
    args = parser.parse_args()
    broken = fail if args.fail else kill if args.kill else None
    for rows in args.rows:
        for n_classes in args.classes:
            for workers in [0] if args.passes or broken else args.workers:
                work = partial(run, rows, workers, n_classes, args.crossing)
                if broken:
                    work = partial(broken, rows, n_classes, args.crossing)
                if args.passes:
                    work = partial(passes, rows, n_classes, args.crossing, args.decimals)
                child = Process(target=_print, args=(work,))
                child.start()
                child.join()


def _print(work: Any) -> None:
    print(json.dumps(work()), flush=True)


if __name__ == "__main__":
    main()
