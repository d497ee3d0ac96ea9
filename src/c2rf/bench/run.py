"""Run every method on every sample, some at a time, and record each result.

Each method works in a process of its own: what it does to memory or to the clock ends there. A line
per record shows how the run goes.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import platform
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from concurrent import futures
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from multiprocessing import connection
from pathlib import Path
from typing import Any, NamedTuple

from sklearn.metrics import accuracy_score, matthews_corrcoef
from threadpoolctl import threadpool_limits

from c2rf._utils.types import Signs
from c2rf.bench.methods import BENCH_METHODS, TrialAnswer, most_votes
from c2rf.bench.records import Key, Record
from c2rf.bench.samples import PROTOCOLS, DataSet, Protocol, TrialSample, draw, load, sample_seed
from c2rf.bench.scores import quarters, score_intervals, score_probabilities
from c2rf.exceptions import InputError
from c2rf.forest.backends import BACKENDS
from c2rf.forest.votes import PatternTable
from c2rf.progress import Event, line

_CAN_FORK = "forkserver" in multiprocessing.get_all_start_methods()  # not on Windows
_processes = multiprocessing.get_context("forkserver" if _CAN_FORK else "spawn")


def label(
    method: str, sample: TrialSample, backend: str | None = None, time_limit: float | None = None
) -> TrialAnswer:
    """Run a method here and now, on one thread.

    Parameters
    ----------
    method : str
        Its name.
    sample : TrialSample
        What it sees. Where only one class is labeled there is nothing to learn, and methods that
        learn make the rows with most votes positive.
    backend, time_limit
        Of the methods that solve; None means HiGHS, and no limit.

    Examples
    --------
    >>> from c2rf.bench.samples import load
    >>> from c2rf.bench.samples import PROTOCOLS, draw
    >>> sample, _ = draw(load("made-twonorm-500"), PROTOCOLS["biased"], seed=0)
    >>> answer = label("top-lambda", sample)
    >>> int((answer.labels > 0).sum()) == sample.n_positive
    True
    """
    chosen = BENCH_METHODS[method]
    options: dict[str, Any] = {"time_limit": time_limit} if chosen.solves else {}
    if chosen.backend:
        options["backend"] = backend or "highs"
        BACKENDS[options["backend"]].version()  # imports the solver, which is not the method's time
    one_class = len(set(sample.y_labeled.tolist())) == 1
    act = most_votes if chosen.learns and one_class else chosen.label
    with threadpool_limits(1):
        start = time.perf_counter()
        answer = act(sample, **options)
        seconds = time.perf_counter() - start
    # Of the paper's methods the solver's seconds, without those of the proof that comes after.
    return replace(answer, seconds=answer.stats.get("solver_seconds", seconds))


def _answer(key: Key, sample: TrialSample) -> TrialAnswer:
    """Run a method in a process of its own; one that fails or dies has an answer, too."""
    with futures.ProcessPoolExecutor(1, _processes, initializer=_watch_parent) as process:
        asked = process.submit(label, key.method, sample, key.backend, key.time_limit)
        try:
            return asked.result()
        except Exception as error:  # recorded, so that one failure does not stop a night's run
            return TrialAnswer(None, "failed", message=f"{type(error).__name__}: {error}")


def _watch_parent() -> None:
    threading.Thread(target=_die_with_parent, daemon=True).start()


def _die_with_parent() -> None:
    """End this process when the one that started it is gone, even if it was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def make_keys(
    protocols: Sequence[Protocol],
    data: Sequence[str],
    methods: Sequence[str],
    samples: int = 5,
    *,
    seed: int = 0,
    backend: str = "highs",
    time_limit: float | None = None,
) -> list[Key]:
    """Return the keys of the records of an experiment, those of a sample together.

    Parameters
    ----------
    protocols : sequence of Protocol
        How to draw.
    data, methods : sequence of str
        Names of data sets and of methods.
    samples : int
        Number of samples of each data set.
    seed : int
        Of the whole experiment.
    backend, time_limit
        For the methods that solve.

    Examples
    --------
    >>> from c2rf.bench.samples import PROTOCOLS
    >>> keys = make_keys([PROTOCOLS["simple"]], ["magic"], ["rf", "p-c2rf"], samples=2)
    >>> [(key.sample, key.method, key.backend) for key in keys]
    [(0, 'rf', None), (0, 'p-c2rf', 'highs'), (1, 'rf', None), (1, 'p-c2rf', 'highs')]
    """
    keys = []
    for protocol, name, k, method in itertools.product(protocols, data, range(samples), methods):
        chosen = BENCH_METHODS[method]
        solver = backend if chosen.backend else None
        limit = time_limit if chosen.solves else None
        own_seed = sample_seed(seed, protocol.name, name, k)
        keys.append(Key(protocol, name, k, own_seed, method, solver, limit))
    return keys


def run(
    keys: Sequence[Key],
    recorded: Set[Key],
    append: Callable[[Record], None],
    say: Callable[[str], None],
    *,
    jobs: int = 1,
    folder: Path | None = None,
) -> tuple[Counter[str], Counter[str]]:
    """Make all records that are not there yet.

    Parameters
    ----------
    keys : sequence of Key
        What to run, from :func:`make_keys`.
    recorded : set of Key
        What is not run again.
    append : callable
        Gets each new record; see :func:`~c2rf.bench.records.record_file`.
    say : callable
        Gets a line of text for each step. A data set that is not available is
        reported and left out.
    jobs : int
        Number of methods at work at the same time, each on one thread.
    folder : Path or None
        PMLB's cache.

    Returns
    -------
    made, skipped : Counter
        How many records were made, by status, and how many left out, by the reason.
    """
    missing = [key for key in keys if key not in recorded]
    say(f"{len(keys)} records wanted, {len(keys) - len(missing)} there already")
    made, skipped = Counter[str](), Counter[str]()
    trials = _trials(missing, skipped, say, folder)
    start = time.monotonic()
    if _CAN_FORK:
        _processes.set_forkserver_preload([__name__, "highspy"])
    with futures.ThreadPoolExecutor(jobs) as pool:
        working: dict[futures.Future[TrialAnswer], Trial] = {}
        try:
            while True:
                for trial in itertools.islice(trials, jobs - len(working)):
                    working[pool.submit(_answer, trial.key, trial.sample)] = trial
                if not working:
                    return made, skipped
                for answered in futures.wait(working, return_when=futures.FIRST_COMPLETED).done:
                    trial, answer = working.pop(answered), answered.result()
                    if answer.stats.get("interrupted"):
                        raise KeyboardInterrupt  # half an answer is no record
                    record = make_record(*trial, answer)
                    append(record)
                    made[record.status] += 1
                    done, seconds = (made + skipped).total(), time.monotonic() - start
                    event = Event("records", seconds=seconds, done=done, total=len(missing))
                    say(f"{_line(record)}   {line(event)}")
        finally:
            for process in multiprocessing.active_children() if working else ():
                process.kill()


class Trial(NamedTuple):
    """A record to make, the data set, the sample that its method sees, and the truth."""

    key: Key
    data: DataSet
    sample: TrialSample
    truth: Signs


def _trials(
    missing: Sequence[Key], skipped: Counter[str], say: Callable[[str], None], folder: Path | None
) -> Iterator[Trial]:
    """Yield what to run; the trees of a sample are grown once for all methods."""
    draw(load("made-twonorm-500"), PROTOCOLS["biased"], seed=0)  # imports are not trees' time
    for (protocol, name), of_data in itertools.groupby(
        missing, lambda key: (key.protocol, key.data)
    ):
        try:
            data = load(name, folder)
        except InputError as error:
            skipped[str(error)] += len(list(of_data))
            say(f"skipped: {error}")
            continue
        for seed, of_sample in itertools.groupby(of_data, lambda key: key.seed):
            sample, truth = draw(data, protocol, seed)
            for key in of_sample:
                yield Trial(key, data, sample, truth)


def make_record(
    key: Key, data: DataSet, sample: TrialSample, truth: Signs, answer: TrialAnswer
) -> Record:
    """Put together what is kept, and score the labels with the truth that methods never see."""
    stats, labels = answer.stats, answer.labels
    columns = stats.get("columns")
    scores = dict[str, Any](eta=None, accuracy=None, mcc=None)
    if labels is not None:
        scores["eta"] = abs(int((labels > 0).sum()) - sample.n_positive)
        scores["accuracy"] = float(accuracy_score(truth, labels))
        scores["mcc"] = float(matthews_corrcoef(truth, labels))
        if answer.intervals is not None:
            parts = quarters(sample.X_unlabeled)
            scores["intervals"] = score_intervals(
                **answer.intervals, parts=parts, labels=labels, truth=truth
            )
        if answer.probability is not None:
            scores["calibration"] = score_probabilities(answer.probability, labels, truth)
    return Record(
        **vars(key),
        n_points=len(data.y),
        n_features=data.X.shape[1],
        n_rescaled=data.rescaled,
        n_labeled=len(sample.y_labeled),
        n_labeled_positive=int((sample.y_labeled > 0).sum()),
        n_unlabeled=len(truth),
        n_positive=sample.n_positive,
        patterns=PatternTable.from_votes(sample.votes).n_patterns,
        trees_merged=None if columns is None else sample.votes.shape[1] - columns,
        fixed=stats.get("fixed"),
        status=answer.status,
        bound=answer.bound,
        **scores,
        nodes=stats.get("nodes"),
        priorities=stats.get("branching_priorities"),
        message=answer.message,
        seconds={
            "trees": sample.tree_seconds,
            "solve": answer.seconds,
            "total": sample.tree_seconds + answer.seconds,
            "phases": stats.get("phases", {}),
        },
        versions=_versions(key.backend),
        machine=machine(),
    )


@cache
def _versions(backend: str | None) -> dict[str, str]:
    """Return the versions that matter for a record."""
    names = ("c2rf", "numpy", "scikit-learn")
    found = {"python": platform.python_version(), **{name: version(name) for name in names}}
    return found if backend is None else {**found, backend: BACKENDS[backend].version()}


@cache
def machine() -> dict[str, str | int | None]:
    """Describe the hardware, without the name of the machine."""
    processor = platform.processor()
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                processor = line.partition(":")[2].strip()
                break
    return {"system": platform.system(), "processor": processor, "cores": os.cpu_count()}


def _line(record: Record) -> str:
    """Return a record as one line."""
    where = f"{record.protocol.title} {record.data} {record.sample}"
    eta = "-" if record.eta is None else record.eta
    accuracy = "-" if record.accuracy is None else f"{100 * record.accuracy:.2f}"
    return (
        f"{where:<28} {record.runner:<16} {record.status:<9} eta {eta:<6} AC {accuracy:<6} "
        f"{record.seconds['total']:7.2f} s"
    )
