"""Records: what is kept of a method on a sample, one line of JSON each, never rewritten.

Safe if a process is killed: a line is appended in one piece and synced, a torn last line is set
aside, and locks are those of the operating system, which end with their process. Safe if several
processes write: before a record is made or written, its process holds its lock and has seen that
it is not there yet.
"""

from __future__ import annotations

import json
import os
import zlib
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from c2rf.bench.methods import BENCH_METHODS
from c2rf.bench.protocol import Protocol
from c2rf.exceptions import InputError

FORMAT = 6
"""What is written. Formats 2 and 4 added ``total_error`` and ``few_labels`` to the protocol; 3 and
5 added ``intervals``, called claims before format 6, and ``calibration``."""
READABLE = (1, 2, 3, 4, 5, FORMAT)
"""What is read. In records of format 1 every total was told as it is: ``total_error`` is 0."""


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
    def solved(self) -> bool:
        """Whether the method did all it set out to do, within its time limit."""
        limit = float("inf") if self.time_limit is None else self.time_limit
        return self.status in ("computed", "optimal") and self.seconds["solve"] <= limit

    def to_line(self) -> str:
        """Return the record as a line of JSON."""
        return json.dumps({"format": FORMAT, **asdict(self)}, ensure_ascii=False) + "\n"

    @classmethod
    def from_line(cls, line: str | bytes) -> Record:
        """Undo :meth:`to_line`."""
        entries = json.loads(line)
        if not isinstance(entries, dict):
            raise ValueError("not a JSON object")
        if (found := entries.pop("format", None)) not in READABLE:
            raise _OtherFormatError(found)
        if "claims" in entries:  # before format 6
            entries["intervals"] = entries.pop("claims")
        method = BENCH_METHODS.get(entries["method"])
        if method is not None and not method.backend:  # some older records name a solver here
            entries["backend"] = None
        return cls(**{**entries, "protocol": Protocol(**entries["protocol"])})


class _OtherFormatError(Exception):
    """A record of another version of the format."""


def read_records(path: Path) -> tuple[list[Record], str]:
    """Read all records, and what there is of a last line that was never finished.

    Parameters
    ----------
    path : Path
        A file of records; it is not changed.

    Returns
    -------
    records : list of Record
    torn : str
        The unfinished last line, empty if there is none.

    Raises
    ------
    InputError
        If the file cannot be read, or a line other than an unfinished last one is no record of
        this version.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    records, torn = parse_lines(path, raw, first=1)
    return records, torn.decode("utf-8", errors="replace")


def parse_lines(path: Path, raw: bytes, first: int) -> tuple[list[Record], bytes]:
    """Return the records of complete lines, and the rest."""
    *lines, rest = raw.split(b"\n")
    if rest and _is_record(rest):  # all that is missing is the end of the line
        lines, rest = [*lines, rest], b""
    records = [_parse(path, number, line) for number, line in enumerate(lines, first)]
    return records, rest


def _is_record(line: bytes) -> bool:
    try:
        Record.from_line(line)
    except (_OtherFormatError, ValueError, TypeError, KeyError):
        return False
    return True


def _parse(path: Path, number: int, line: bytes) -> Record:
    try:
        return Record.from_line(line)
    except _OtherFormatError as error:
        raise InputError(
            f"{path}, line {number}: this is a record of format {error.args[0]!r}, this version "
            f"of c2rf reads formats {', '.join(map(str, READABLE))}; nothing was changed: use "
            "another file, or the version of c2rf that wrote it"
        ) from error
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(
            f"{path}, line {number} is not a record ({error}); nothing was changed: repair or "
            "remove that line"
        ) from error


try:
    from filelock import FileLock, Timeout
except ImportError as error:
    raise InputError('records need the package filelock; pip install "c2rf[bench]"') from error


class RecordFile:
    """A file of records that several processes may append to at the same time.

    Use it as a context manager. Locks are hidden files beside it: one for the file, which stays,
    and one for each record while it is being made.

    Parameters
    ----------
    path : Path
        The file; made if it is not there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.torn = ""
        self._known: set[Key] = set()
        self._seen_bytes = 0
        self._whole = FileLock(self._lock_path("file"))
        self._locks: dict[Key, FileLock] = {}

    def __enter__(self) -> RecordFile:
        try:
            self._file = self.path.open("ab+")
        except OSError as error:
            raise InputError(
                f"{self.path} cannot be written: {error.strerror or error}; choose another file "
                "with --records"
            ) from error
        try:
            with self._whole:
                self._refresh()
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for key in list(self._locks):
            self.release(key)
        self._file.close()

    def __contains__(self, key: Key) -> bool:
        return key in self._known

    def lock(self, key: Key) -> bool:
        """Take a record upon us; False if it is there already or another process makes it."""
        lock = FileLock(self._lock_path(f"{zlib.crc32(repr(key).encode()):08x}"))
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return False
        self._locks[key] = lock
        with self._whole:
            self._refresh()
        if key in self._known:
            self.release(key)
            return False
        return True

    def release(self, key: Key) -> None:
        """Leave a locked record to others."""
        lock = self._locks.pop(key, None)
        if lock is not None:
            # Who opened the lock before it is removed may lock the record beside another, but
            # looks at the records again before it writes.
            lock.release()
            Path(lock.lock_file).unlink(missing_ok=True)

    def append(self, record: Record) -> None:
        """Write a record that was locked, unless it is there already."""
        with self._whole:
            self._refresh()
            if record.key not in self._known:
                self._file.write(record.to_line().encode("utf-8"))
                self._file.flush()
                os.fsync(self._file.fileno())
                self._refresh()
        self.release(record.key)

    def _refresh(self) -> None:
        """Take note of what others have appended; set aside a line its writer never finished."""
        self._file.seek(self._seen_bytes)
        raw = self._file.read()
        if not raw:
            return
        records, torn = parse_lines(self.path, raw, first=len(self._known) + 1)
        # Whoever wrote an unfinished line held the lock that we hold now: it is dead.
        if torn:
            self._set_aside(torn, self._seen_bytes + len(raw) - len(torn))
        elif not raw.endswith(b"\n"):
            self._file.write(b"\n")
            self._file.flush()
        self._known.update(record.key for record in records)
        self._seen_bytes = self._file.seek(0, os.SEEK_END)

    def _set_aside(self, torn: bytes, begin: int) -> None:
        """Move an unfinished line into a file of its own."""
        with Path(f"{self.path}.torn").open("ab") as aside:
            aside.write(torn + b"\n")
        self._file.truncate(begin)
        self.torn = torn.decode("utf-8", errors="replace")

    def _lock_path(self, name: str) -> Path:
        return self.path.with_name(f".{self.path.name}.{name}.lock")
