"""The run: every method on every sample, a record of each, as many at a time as asked for."""

from __future__ import annotations

import itertools
import os
import platform
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import version
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any
from typing import Protocol as Interface

from sklearn.metrics import accuracy_score, matthews_corrcoef

from c2rf.bench.calibration import score_probabilities
from c2rf.bench.claims import score_claims
from c2rf.bench.data import DataSet, UnavailableError, load
from c2rf.bench.methods import BENCH_METHODS, Solver
from c2rf.bench.protocol import PROTOCOLS, DrawnSample, Protocol, draw, sample_seed
from c2rf.bench.record_file import RecordFile
from c2rf.bench.records import Key, Record
from c2rf.bench.work import TrialOutcome, Work
from c2rf.solver.backends import BACKENDS

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
    >>> plan = Plan([PROTOCOLS["simple"]], ["magic"], ["rf", "auto"], samples=2)
    >>> [(key.sample, key.method, key.backend) for key in plan.keys()]
    [(0, 'rf', None), (0, 'auto', 'highs'), (1, 'rf', None), (1, 'auto', 'highs')]
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
        solves = BENCH_METHODS[method].solves
        return Key(
            protocol,
            data,
            sample,
            sample_seed(self.seed, protocol.name, data, sample),
            method,
            self.solver.backend if solves else None,
            self.solver.time_limit if solves else None,
        )


class Watcher(Interface):
    """Who is called as the run goes on."""

    def planned(self, missing: Sequence[Key], there: int) -> None:
        """Is called with the records to make, and how many others are there already."""

    def started(self, key: Key) -> None:
        """Is called when a method has started."""

    def finished(self, record: Record) -> None:
        """Is called when a method is done, and recorded."""

    def unavailable(self, key: Key, reason: str) -> None:
        """Is called when a record cannot be made, as its data set cannot be had."""

    def elsewhere(self, key: Key) -> None:
        """Is called when another process makes a record, or has made it meanwhile."""

    def tick(self) -> None:
        """Is called again and again, as time goes by."""


@dataclass(frozen=True, eq=False)
class Trial:
    """One record to make: its key, its sample, its data set."""

    key: Key
    drawn: DrawnSample
    data: DataSet


def run(plan: Plan, records: RecordFile, watcher: Watcher) -> None:
    """Make all records of a plan that are not there yet.

    Parameters
    ----------
    plan : Plan
        What to run.
    records : RecordFile
        An open file; what it holds is not run again.
    watcher : Watcher
        Who is told. A data set that cannot be had is told to it and left out.
    """
    keys = plan.keys()
    missing = [key for key in keys if key not in records]
    watcher.planned(missing, len(keys) - len(missing))
    tasks = _tasks(plan, missing, records, watcher)
    working: dict[Work, Trial] = {}
    try:
        while True:
            for task in itertools.islice(tasks, plan.jobs - len(working)):
                watcher.started(task.key)
                solver = replace(plan.solver, time_limit=task.key.time_limit)
                working[Work(task.key.method, task.drawn.sample, solver)] = task
            if not working:
                break
            wait([work.connection for work in working], timeout=LOOK_SECONDS)
            for work, task in list(working.items()):
                if (outcome := work.outcome()) is not None:
                    del working[work]
                    if outcome.answer.stats.get("interrupted"):
                        raise KeyboardInterrupt  # half an answer is no record
                    record = make_record(task, outcome)
                    records.append(record)
                    watcher.finished(record)
            watcher.tick()
    finally:
        for work in working:
            work.end()


def _tasks(
    plan: Plan, missing: Sequence[Key], records: RecordFile, watcher: Watcher
) -> Iterator[Trial]:
    """Claim records one after the other; the trees of a sample are grown once for all methods."""
    draw(load("made-twonorm-500"), PROTOCOLS["biased"], seed=0)  # imports are not trees' time
    for (protocol, name), of_data in itertools.groupby(
        missing, lambda key: (key.protocol, key.data)
    ):
        keys = list(of_data)
        try:
            data = load(name, plan.folder)
        except UnavailableError as error:
            for key in keys:
                watcher.unavailable(key, str(error))
            continue
        for seed, of_sample in itertools.groupby(keys, lambda key: key.seed):
            drawn = draw(data, protocol, seed)
            for key in of_sample:
                if records.claim(key):
                    yield Trial(key, drawn, data)
                else:
                    watcher.elsewhere(key)


def make_record(task: Trial, outcome: TrialOutcome) -> Record:
    """Put together what is kept, and score the labels with the truth that methods never see."""
    sample, answer = task.drawn.sample, outcome.answer
    stats, labels, truth = answer.stats, answer.labels, task.drawn.truth
    columns = stats.get("columns")
    scores = dict[str, Any](eta=None, accuracy=None, mcc=None)
    if labels is not None:
        scores["eta"] = abs(int((labels > 0).sum()) - sample.n_positive)
        scores["accuracy"] = float(accuracy_score(truth, labels))
        scores["mcc"] = float(matthews_corrcoef(truth, labels))
        if answer.claims is not None:
            scores["claims"] = score_claims(answer.claims, labels, truth)
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
            "solve": outcome.seconds,
            "total": task.drawn.tree_seconds + outcome.seconds,
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
