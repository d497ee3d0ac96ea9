"""The run: every method on every sample, a record of each, as many at a time as asked for.

Each method works in a process of its own: what it does to memory or to the clock ends there.
Solvers check their time limit now and then only; one that is well over it is ended. A live table
on a terminal, or a line per record elsewhere, shows how the run goes.
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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import version
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table
from sklearn.metrics import accuracy_score, matthews_corrcoef
from threadpoolctl import threadpool_limits

from c2rf.bench.data import DataSet, UnavailableError, load
from c2rf.bench.methods import BENCH_METHODS, Solver, TrialAnswer
from c2rf.bench.protocol import PROTOCOLS, DrawnSample, Protocol, TrialSample, draw, sample_seed
from c2rf.bench.records import Key, Record, RecordFile
from c2rf.bench.scores import score_intervals, score_probabilities
from c2rf.forest.backends import BACKENDS

GRACE_SECONDS = 60.0
"""How far over its time limit a solve may be before it is ended by force."""

_processes = multiprocessing.get_context("forkserver")


def label(method: str, sample: TrialSample, solver: Solver) -> TrialAnswer:
    """Run a method here and now, on one thread.

    Examples
    --------
    >>> from c2rf.bench.data import load
    >>> from c2rf.bench.protocol import PROTOCOLS, draw
    >>> sample = draw(load("made-twonorm-500"), PROTOCOLS["biased"], seed=0).sample
    >>> answer = label("top-lambda", sample, Solver())
    >>> int((answer.labels > 0).sum()) == sample.n_positive
    True
    """
    if BENCH_METHODS[method].backend:
        BACKENDS[solver.backend].version()  # imports the solver, which is not the method's time
    with threadpool_limits(1):
        start = time.perf_counter()
        answer = BENCH_METHODS[method].label(sample, solver)
        seconds = time.perf_counter() - start
    # Of the paper's methods the solver's seconds, without those of the proof that comes after.
    return replace(answer, seconds=answer.stats.get("solver_seconds", seconds))


class Work:
    """A method that runs in another process.

    Parameters
    ----------
    method, sample, solver
        See :func:`label`.
    grace : float
        Seconds over the time limit after which it is ended.
    """

    def __init__(
        self, method: str, sample: TrialSample, solver: Solver, grace: float = GRACE_SECONDS
    ) -> None:
        _processes.set_forkserver_preload([__name__, "highspy"])
        self.connection, theirs = _processes.Pipe(duplex=False)
        self._process = _processes.Process(
            target=_work, args=(theirs, method, sample, solver), daemon=True
        )
        self._started = time.monotonic()
        self._hard_limit = None if solver.time_limit is None else solver.time_limit + grace
        self._process.start()
        theirs.close()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._started

    def answer(self) -> TrialAnswer | None:
        """Return what came out, None while it is at work; ends what is over its time."""
        if self.connection.poll():
            return self._receive()
        if self._hard_limit is not None and self.seconds > self._hard_limit:
            seconds = self.seconds
            self.end()
            message = f"ended by force after {seconds:.0f} s: it did not keep to its time limit"
            return TrialAnswer(None, "none", message=message, seconds=seconds)
        return None

    def _receive(self) -> TrialAnswer:
        seconds = self.seconds
        try:
            answer: TrialAnswer = self.connection.recv()
        except EOFError:  # it died without a word, perhaps for want of memory
            self._process.join()
            message = f"its process died with exit code {self._process.exitcode}"
            answer = TrialAnswer(None, "failed", message=message, seconds=seconds)
        self.end()
        return answer

    def end(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.join()
        self._process.close()
        self.connection.close()


def _work(connection: Connection, method: str, sample: TrialSample, solver: Solver) -> None:
    threading.Thread(target=_die_with_parent, daemon=True).start()
    try:
        answer = label(method, sample, solver)
    except Exception as error:  # recorded, so that one failure does not stop a night's run
        message = f"{type(error).__name__}: {error}"
        answer = TrialAnswer(None, "failed", message=message)
    connection.send(answer)


def _die_with_parent() -> None:
    """End this process when the one that started it is gone, even if it was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


LOOK_SECONDS = 0.5
"""How often the screen is renewed and limits are looked at."""


@dataclass(frozen=True)
class Plan:
    """What to run.

    Parameters
    ----------
    protocols : sequence of Protocol
        How to draw.
    data : sequence of str
        Names of data sets.
    methods : sequence of str
        Names of methods.
    samples : int
        Number of samples of each data set.
    seed : int
        Of the whole experiment.
    solver : Solver
        For the methods that solve.
    jobs : int
        Number of methods at work at the same time, each on one thread.
    folder : Path or None
        PMLB's cache.

    Examples
    --------
    >>> from c2rf.bench.protocol import PROTOCOLS
    >>> plan = Plan([PROTOCOLS["simple"]], ["magic"], ["rf", "p-c2rf"], samples=2)
    >>> [(key.sample, key.method, key.backend) for key in plan.keys()]
    [(0, 'rf', None), (0, 'p-c2rf', 'highs'), (1, 'rf', None), (1, 'p-c2rf', 'highs')]
    """

    protocols: Sequence[Protocol]
    data: Sequence[str]
    methods: Sequence[str]
    samples: int = 5
    seed: int = 0
    solver: Solver = field(default_factory=Solver)
    jobs: int = 1
    folder: Path | None = None

    def keys(self) -> list[Key]:
        """Return the keys of all records, those of a sample together."""
        every = itertools.product(self.protocols, self.data, range(self.samples), self.methods)
        return [self._key(*which) for which in every]

    def _key(self, protocol: Protocol, data: str, sample: int, method: str) -> Key:
        chosen = BENCH_METHODS[method]
        return Key(
            protocol,
            data,
            sample,
            sample_seed(self.seed, protocol.name, data, sample),
            method,
            self.solver.backend if chosen.backend else None,
            self.solver.time_limit if chosen.solves else None,
        )


@dataclass(frozen=True, eq=False)
class Trial:
    """One record to make: its key, its sample, its data set."""

    key: Key
    drawn: DrawnSample
    data: DataSet


def run(plan: Plan, records: RecordFile, screen: Screen) -> None:
    """Make all records of a plan that are not there yet.

    Parameters
    ----------
    plan : Plan
        What to run.
    records : RecordFile
        An open file; what it holds is not run again.
    screen : Screen
        Shows how it goes. A data set that cannot be had is shown and left out.
    """
    keys = plan.keys()
    missing = [key for key in keys if key not in records]
    screen.planned(missing, len(keys) - len(missing))
    tasks = _tasks(plan, missing, records, screen)
    working: dict[Work, Trial] = {}
    try:
        while True:
            for task in itertools.islice(tasks, plan.jobs - len(working)):
                screen.started(task.key)
                solver = replace(plan.solver, time_limit=task.key.time_limit)
                working[Work(task.key.method, task.drawn.sample, solver)] = task
            if not working:
                break
            wait([work.connection for work in working], timeout=LOOK_SECONDS)
            for work, task in list(working.items()):
                if (answer := work.answer()) is not None:
                    del working[work]
                    if answer.stats.get("interrupted"):
                        raise KeyboardInterrupt  # half an answer is no record
                    record = make_record(task, answer)
                    records.append(record)
                    screen.finished(record)
            screen.tick()
    finally:
        for work in working:
            work.end()


def _tasks(
    plan: Plan, missing: Sequence[Key], records: RecordFile, screen: Screen
) -> Iterator[Trial]:
    """Lock records one after the other; the trees of a sample are grown once for all methods."""
    draw(load("made-twonorm-500"), PROTOCOLS["biased"], seed=0)  # imports are not trees' time
    for (protocol, name), of_data in itertools.groupby(
        missing, lambda key: (key.protocol, key.data)
    ):
        keys = list(of_data)
        try:
            data = load(name, plan.folder)
        except UnavailableError as error:
            for key in keys:
                screen.unavailable(key, str(error))
            continue
        for seed, of_sample in itertools.groupby(keys, lambda key: key.seed):
            drawn = draw(data, protocol, seed)
            for key in of_sample:
                if records.lock(key):
                    yield Trial(key, drawn, data)
                else:
                    screen.made_by_another(key)


def make_record(task: Trial, answer: TrialAnswer) -> Record:
    """Put together what is kept, and score the labels with the truth that methods never see."""
    sample = task.drawn.sample
    stats, labels, truth = answer.stats, answer.labels, task.drawn.truth
    columns = stats.get("columns")
    scores = dict[str, Any](eta=None, accuracy=None, mcc=None)
    if labels is not None:
        scores["eta"] = abs(int((labels > 0).sum()) - sample.n_positive)
        scores["accuracy"] = float(accuracy_score(truth, labels))
        scores["mcc"] = float(matthews_corrcoef(truth, labels))
        if answer.intervals is not None:
            scores["intervals"] = score_intervals(answer.intervals, labels, truth)
        if answer.probability is not None:
            scores["calibration"] = score_probabilities(answer.probability, labels, truth)
    return Record(
        **vars(task.key),
        n_points=len(task.data.y),
        n_features=task.data.X.shape[1],
        n_rescaled=task.data.rescaled,
        n_labeled=len(sample.y_labeled),
        n_labeled_positive=int((sample.y_labeled > 0).sum()),
        n_unlabeled=len(truth),
        n_positive=sample.n_positive,
        patterns=task.drawn.patterns,
        trees_merged=None if columns is None else sample.votes.shape[1] - columns,
        fixed=stats.get("fixed"),
        status=answer.status,
        bound=answer.bound,
        **scores,
        nodes=stats.get("nodes"),
        priorities=stats.get("branching_priorities"),
        message=answer.message,
        seconds={
            "trees": task.drawn.tree_seconds,
            "solve": answer.seconds,
            "total": task.drawn.tree_seconds + answer.seconds,
            "phases": stats.get("phases", {}),
        },
        versions=_versions(task.key.backend),
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
    """Return what the machine is, but not which."""
    processor = platform.processor()
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                processor = line.partition(":")[2].strip()
                break
    return {"system": platform.system(), "processor": processor, "cores": os.cpu_count()}


class Screen:
    """Watches a run and shows it on standard error.

    Use it as a context manager.

    Parameters
    ----------
    jobs : int
        Number of methods at work at the same time.
    quiet : bool
        Show nothing, only remember how it went.
    """

    def __init__(self, jobs: int = 1, quiet: bool = False) -> None:
        self.skipped: Counter[str] = Counter()
        self.others = 0
        self.statuses: Counter[str] = Counter()
        self.total, self.there = 0, 0
        self._jobs, self._quiet = jobs, quiet
        self._console = Console(stderr=True, highlight=False, quiet=quiet)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._working: dict[Key, float] = {}
        self._open: Counter[str] = Counter()
        self._caps: dict[str, float | None] = {}
        self._done: Counter[str] = Counter()
        self._seconds: Counter[str] = Counter()

    def __enter__(self) -> Screen:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    # What the runner tells

    def planned(self, missing: Sequence[Key], there: int) -> None:
        """Note which records have to be made and how many are there."""
        self.total, self.there = len(missing) + there, there
        self._open.update(key.method for key in missing)
        self._caps.update((key.method, key.time_limit) for key in missing)
        self._say(f"{self.total} records wanted, {there} there already")

    def started(self, key: Key) -> None:
        """Note that a method has started."""
        self._working[key] = time.monotonic()
        self.tick()

    def finished(self, record: Record) -> None:
        """Note that a method is done."""
        del self._working[record.key]
        self._open[record.method] -= 1
        self._done[record.method] += 1
        self._seconds[record.method] += record.seconds["total"]
        self.statuses[record.status] += 1
        self._say(_line(record) + f"   {self._progress()}")
        self.tick()

    def unavailable(self, key: Key, reason: str) -> None:
        """Note that a data set cannot be had, and say so once."""
        self._open[key.method] -= 1
        if reason not in self.skipped:
            self._say(f"skipped: {reason}")
        self.skipped[reason] += 1

    def made_by_another(self, key: Key) -> None:
        """Note that another process makes a record."""
        self._open[key.method] -= 1
        self.others += 1

    def tick(self) -> None:
        """Renew the live table."""
        if self._live.is_started:
            self._live.update(self.table(), refresh=True)

    # What is shown

    def table(self) -> Table:
        """Return the live table: what runs, what is done, time left."""
        table = Table("protocol", "data set", "sample", "method", "seconds", title=self._progress())
        now = time.monotonic()
        for key, since in self._working.items():
            cap = "" if key.time_limit is None else f" of {key.time_limit:g}"
            at = (key.protocol.title, key.data, str(key.sample), key.method)
            table.add_row(*at, f"{now - since:.0f}{cap}")
        done = ", ".join(f"{name} {n}" for name, n in self._done.items())
        table.caption = f"done: {done or 'nothing yet'}"
        return table

    def seconds_left(self) -> float | None:
        """Return a guess of the time left: methods go on taking what they took on average.

        One that was not seen yet takes all the time it may.
        """
        n_done = self._done.total()
        if n_done == 0:
            return None
        expected = 0.0
        for name, n in self._open.items():
            unseen = self._caps[name] or self._seconds.total() / n_done
            seen = self._done[name]
            expected += n * (self._seconds[name] / seen if seen else unseen)
        return expected / self._jobs

    def _progress(self) -> str:
        done = self.there + self._done.total()
        left = self.seconds_left()
        guess = "" if left is None else f", about {_duration(left)} left"
        return f"{done} of {self.total}{guess}"

    def _say(self, line: str) -> None:
        self._console.print(line, markup=False, soft_wrap=True)


def _line(record: Record) -> str:
    """Return a record as one line."""
    where = f"{record.protocol.title} {record.data} {record.sample}"
    what = record.method if record.backend is None else f"{record.method}/{record.backend}"
    eta = "-" if record.eta is None else record.eta
    accuracy = "-" if record.accuracy is None else f"{100 * record.accuracy:.2f}"
    return (
        f"{where:<28} {what:<16} {record.status:<9} eta {eta:<6} AC {accuracy:<6} "
        f"{record.seconds['total']:7.2f} s"
    )


def _duration(seconds: float) -> str:
    """Return seconds as people say them.

    Examples
    --------
    >>> _duration(40), _duration(170), _duration(7000)
    ('40 s', '3 min', '1.9 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
