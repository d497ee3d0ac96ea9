"""Records: what is kept of a method on a sample, in a file and as tables.

A file holds one line of JSON each, never rewritten. Safe if a process is killed: a line is appended
in one piece and synced, half a last line does not count, and the lock that keeps other processes
from writing is the operating system's, which ends with its process.

:class:`Results` are the records of one protocol as tables: samples of data sets by methods, and
their means and medians by data set.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from c2rf.bench.methods import BENCH_METHODS
from c2rf.bench.samples import NAMES, PROTOCOLS, Protocol
from c2rf.exceptions import InputError
from c2rf.forest.backends import BACKENDS

FORMAT = 6
"""What is written and read."""


def method_of(runner: str) -> str:
    """Return the name of a method without that of its solver."""
    return runner.partition("/")[0]


def method_title(runner: str) -> str:
    """Return what to print where the solver does not matter."""
    return BENCH_METHODS[method_of(runner)].title


def runner_title(runner: str) -> str:
    """Return what to print.

    Examples
    --------
    >>> runner_title("p-c2rf/highs"), runner_title("rf")
    ('p-C²RF, HiGHS', 'RF')
    """
    solver = BACKENDS.get(runner.partition("/")[2])
    return method_title(runner) + (f", {solver.title}" if solver else "")


@dataclass(frozen=True)
class Key:
    """What makes a record this one and no other."""

    protocol: Protocol
    data: str
    sample: int
    seed: int
    method: str
    backend: str | None
    time_limit: float | None


@dataclass(frozen=True, kw_only=True)
class Record(Key):
    """What is kept of one method on one sample.

    Parameters
    ----------
    protocol, data, sample, seed, method, backend, time_limit
        The key. Methods that run no solver have no backend, those that solve nothing no time limit.
    n_points, n_features, n_rescaled : int
        Of the data set: rows and features, and how many of these were rescaled.
    n_labeled, n_labeled_positive, n_unlabeled, n_positive : int
        Of the sample; ``n_positive`` is the total lambda that the method was told.
    patterns : int
        Distinct rows of votes.
    trees_merged, fixed : int or None
        Trees and patterns that preprocessing took out.
    status : str
        See :class:`c2rf.bench.methods.TrialAnswer`.
    eta, bound : int or None
        Distance from the total that the method was told, right or wrong; proven lower bound on
        it.
    accuracy, mcc : float or None
        On the unlabeled rows, in [0, 1] and [-1, 1].
    nodes : int or None
        Of branch and bound.
    priorities : str or None
        Whether branching priorities were used.
    message : str
        What went wrong.
    seconds : dict
        "trees", "solve" (the cap is on this one, building the model included; of the paper's
        methods without the proof that comes after), "total" of the two, "phases" of the solve.
    versions, machine : dict
        What it ran with and on.
    intervals : dict or None
        How good its interval estimates are, see :func:`c2rf.bench.scores.score_intervals`.
    calibration : dict or None
        How true its probabilities are, see
        :func:`c2rf.bench.scores.score_probabilities`.
    """

    n_points: int
    n_features: int
    n_rescaled: int
    n_labeled: int
    n_labeled_positive: int
    n_unlabeled: int
    n_positive: int
    patterns: int
    trees_merged: int | None
    fixed: int | None
    status: str
    eta: int | None
    bound: int | None
    accuracy: float | None
    mcc: float | None
    nodes: int | None
    priorities: str | None
    message: str
    seconds: dict[str, Any]
    versions: dict[str, str]
    machine: dict[str, Any]
    intervals: dict[str, Any] | None = None
    calibration: dict[str, float] | None = None

    @property
    def key(self) -> Key:
        """What makes this record unique."""
        return Key(*(getattr(self, field.name) for field in fields(Key)))

    @property
    def runner(self) -> str:
        """The method with the solver it used, which is half of a run time: "p-c2rf/highs"."""
        return self.method if self.backend is None else f"{self.method}/{self.backend}"

    @property
    def limit(self) -> float:
        """The time limit as a number."""
        return np.inf if self.time_limit is None else self.time_limit

    @property
    def solved(self) -> bool:
        """Whether the method did all it set out to do, within its time limit."""
        return self.status in ("computed", "optimal") and self.seconds["solve"] <= self.limit

    def to_line(self) -> str:
        """Return the record as a line of JSON."""
        return json.dumps({"format": FORMAT, **asdict(self)}, ensure_ascii=False) + "\n"

    @classmethod
    def from_line(cls, line: str | bytes) -> Record:
        """Undo :meth:`to_line`."""
        entries = json.loads(line)
        if not isinstance(entries, dict):
            raise ValueError("not a JSON object")
        if (found := entries.pop("format", None)) != FORMAT:
            raise InputError(f"it has format {found!r}, this version of c2rf reads format {FORMAT}")
        return cls(**{**entries, "protocol": Protocol(**entries["protocol"])})


def read_records(path: Path) -> list[Record]:
    """Read all records of a file, which is not changed.

    A last line that was never finished, by a process that was killed or is at work, is left out.

    Raises
    ------
    InputError
        If the file cannot be read, or another line is no record of this version.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    return parse_lines(path, raw)[0]


_NO_RECORD = (ValueError, TypeError, KeyError)
"""What a line that is no record raises."""


def parse_lines(path: Path, raw: bytes) -> tuple[list[Record], bytes]:
    """Return the records of complete lines, and the rest."""
    *lines, rest = raw.split(b"\n")
    records = []
    for number, line in enumerate(lines, 1):
        try:
            records.append(Record.from_line(line))
        except _NO_RECORD as error:
            is_other_format = isinstance(error, InputError)
            raise InputError(
                f"{path}, line {number} is not a record ({error}); nothing was changed: use "
                "another file, or "
                + ("another version of c2rf" if is_other_format else "repair or remove that line")
            ) from error
    with suppress(*_NO_RECORD):  # perhaps all that is missing is the end of the line
        records.append(Record.from_line(rest))
        rest = b""
    return records, rest


try:
    from filelock import FileLock, Timeout
except ImportError as error:
    raise InputError('records need the package filelock; pip install "c2rf[bench]"') from error


@contextmanager
def record_file(path: Path) -> Iterator[tuple[set[Key], Callable[[Record], None]]]:
    """Open a file of records, which is made if it is not there, for one process at a time.

    Yields the keys of what it holds and a function that writes a record. A last line that was never
    finished is removed. A hidden file in the same folder is the lock.
    """
    with ExitStack() as opened:
        try:
            file = opened.enter_context(path.open("ab+"))
            opened.enter_context(FileLock(path.with_name(f".{path.name}.lock"), timeout=0))
        except Timeout as error:
            raise InputError(
                f"another process is writing to {path}; wait until it ends, or choose another "
                "file with --records"
            ) from error
        except OSError as error:
            raise InputError(
                f"{path} cannot be written: {error.strerror or error}; choose another file with "
                "--records"
            ) from error
        file.seek(0)
        raw = file.read()
        records, torn = parse_lines(path, raw)
        keys = {record.key for record in records}
        if torn:
            file.truncate(len(raw) - len(torn))
        elif raw and not raw.endswith(b"\n"):
            file.write(b"\n")

        def append(record: Record) -> None:
            file.write(record.to_line().encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
            keys.add(record.key)

        yield keys, append


METRICS = {"accuracy": "AC", "mcc": "(1+MCC)/2"}
"""What is scored, and how it is printed: both in percent."""

TUNED_ON = (0, 1)
"""Numbers of the samples that settings were chosen by; the others judge them."""


class Results:
    """The records of one protocol.

    Where a file holds several variants of a protocol the paper's own is taken, else the one with
    most records; where it holds several time limits for the same run, the longest.

    Parameters
    ----------
    records : sequence of Record
        Of any protocol.
    name : str
        The protocol's name.
    variant : Protocol or None
        The variant to take, if it is to be another.

    Attributes
    ----------
    samples : dict of str to DataFrame
        For "accuracy" and "mcc" (in percent, as the paper's tables print them), "seconds" of what
        was solved, and "solved": a row per data set and sample, a column per :attr:`Record.runner`,
        NaN where there is none.
    """

    def __init__(
        self, records: Sequence[Record], name: str, variant: Protocol | None = None
    ) -> None:
        variants = Counter(r.protocol for r in records if r.protocol.name == name)
        usual = PROTOCOLS[name]
        if variant is None and variants and usual not in variants:
            variant = variants.most_common(1)[0][0]
        self.protocol = variant or usual
        own = sorted((r for r in records if r.protocol == self.protocol), key=lambda r: r.limit)
        longest = {(r.data, r.seed, r.method, r.backend): r for r in own}
        self.records = list(longest.values())
        found = {record.data for record in self.records}
        # The paper's data sets first, in its order; methods in the order of the paper
        self.data_sets = [name for name in NAMES if name in found] + sorted(found - set(NAMES))
        order = list(BENCH_METHODS)
        self.runners = sorted(
            {record.runner for record in self.records},
            key=lambda runner: (order.index(method_of(runner)), runner),
        )
        rows = pd.DataFrame(
            [
                {
                    "data": r.data,
                    "sample": r.sample,
                    "seed": r.seed,
                    "runner": r.runner,
                    "accuracy": np.nan if r.accuracy is None else 100 * r.accuracy,
                    # What the paper's tables call MCC is 100 (1 + MCC) / 2.
                    "mcc": np.nan if r.mcc is None else 50 * (1 + r.mcc),
                    "seconds": r.seconds["total"] if r.solved else np.inf,
                    "solved": float(r.solved),
                }
                for r in self.records
            ],
            columns=["data", "sample", "seed", "runner", *METRICS, "seconds", "solved"],
        ).set_index(["data", "sample", "seed", "runner"])
        self.samples: dict[str, Any] = {
            str(name): rows[name].unstack().reindex(columns=self.runners) for name in rows
        }

    @classmethod
    def usual(cls, records: Sequence[Record]) -> Results:
        """Return the results of the biased protocol, of the simple one if there are none."""
        found = cls(records, "biased")
        return found if found.records else cls(records, "simple")

    def main_runners(self, methods: Iterable[str]) -> list[str]:
        """Return the methods that have records, each with the solver that has most."""
        rarest_first = reversed(Counter(record.runner for record in self.records).most_common())
        main = {method_of(runner): runner for runner, _ in rarest_first}
        return [main[method] for method in methods if method in main]

    def summary(self, table: str, how: str) -> Any:
        """Return the "mean" or "median" by data set, NaN where too few samples have a value."""
        values = self.samples[table].groupby("data")
        enough = values.count().mul(2).gt(values.size(), axis=0)
        return values.agg(how).where(enough).reindex(self.data_sets)

    def median_seconds(self) -> Any:
        """Return median run times; NaN where not more than half of the samples were solved."""
        medians = self.samples["seconds"].fillna(np.inf).groupby("data").median()
        return medians.replace(np.inf, np.nan).reindex(self.data_sets)

    def ran(self) -> Any:
        """Return by data set and method whether there are records."""
        return self.samples["solved"].notna().groupby("data").any().reindex(self.data_sets)

    def proven(self) -> Any:
        """Return whether more than half of the samples were solved within the time limit."""
        shares = self.samples["solved"].fillna(0).groupby("data").mean()
        return shares.gt(0.5).reindex(self.data_sets)

    def gains(self, runner: str, over: str, metric: str) -> Any:
        """Return how many points a method is ahead of another, on the samples that both have."""
        table = self.samples[metric].reindex(columns=[runner, over])
        return (table[runner] - table[over]).dropna()


def tuned_and_others(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the rows of samples that settings were chosen by, and those of the others."""
    tuned = table["sample"].isin(TUNED_ON)
    for name, own in (("samples 0 and 1", table[tuned]), ("the other samples", table[~tuned])):
        if len(own):
            yield name, own
