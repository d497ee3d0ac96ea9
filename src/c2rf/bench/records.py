"""Records: one JSON line per data set, sample and method, appended and never rewritten.

Safe against being killed: a line is appended in one piece and synced, a torn last line is set
aside, and claims are locks of the operating system, which die with their process. Safe against
each other: before a record is made or written, its process holds its claim and has seen that it
is not there yet.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from c2rf.bench.protocol import Protocol
from c2rf.exceptions import InputError

FORMAT = 1


class Key(NamedTuple):
    """What makes a record this one and no other."""

    protocol: Protocol
    data: str
    sample: int
    seed: int
    method: str
    backend: str | None
    time_limit: float | None


@dataclass(frozen=True, kw_only=True)
class Record:
    """What is kept of one method on one sample.

    Parameters
    ----------
    protocol, data, sample, seed, method, backend, time_limit
        The key. Methods that solve nothing have no backend and no time limit.
    n_points, n_features, n_rescaled : int
        Of the data set: points and features, and how many of these were rescaled.
    n_labeled, n_labeled_positive, n_unlabeled, n_positive : int
        Of the sample; ``n_positive`` is the known total lambda.
    patterns : int
        Distinct rows of votes.
    trees_merged, fixed : int or None
        Trees and patterns that preprocessing took out.
    status : str
        See :class:`c2rf.bench.methods.Answer`.
    eta, bound : int or None
        Distance from the total; proven lower bound on it.
    accuracy, mcc : float or None
        On the unlabeled points, in [0, 1] and [-1, 1].
    nodes : int or None
        Of branch and bound.
    priorities : str or None
        Whether branching priorities were used.
    message : str
        What went wrong.
    seconds : dict
        "trees", "solve" (the cap is on this one, building the model included), "total" of the
        two, "phases" of the solve.
    versions, machine : dict
        What it ran with and on.
    """

    protocol: Protocol
    data: str
    sample: int
    seed: int
    method: str
    backend: str | None
    time_limit: float | None
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

    @property
    def key(self) -> Key:
        """What makes this record unique."""
        return Key(*(getattr(self, name) for name in Key._fields))

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
        fields = json.loads(line)
        if not isinstance(fields, dict):
            raise ValueError("not a JSON object")
        if (found := fields.pop("format", None)) != FORMAT:
            raise _OtherFormatError(found)
        return cls(**{**fields, "protocol": Protocol(**fields["protocol"])})


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
    records, torn = _parse_lines(path, raw, first=1)
    return records, torn.decode("utf-8", errors="replace")


def _parse_lines(path: Path, raw: bytes, first: int) -> tuple[list[Record], bytes]:
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
            f"of c2rf reads and writes format {FORMAT}; nothing was changed: use another file, or "
            "the version of c2rf that wrote it"
        ) from error
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(
            f"{path}, line {number} is not a record ({error}); nothing was changed: repair or "
            "remove that line"
        ) from error


class RecordFile:
    """A file of records that several processes may append to at the same time.

    Use it as a context manager. A file of locks, ``<name>.lock``, stands beside it.

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

    def __enter__(self) -> RecordFile:
        try:
            self._locks = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT, 0o666)
            self._file = self.path.open("ab+")
        except OSError as error:
            raise InputError(
                f"{self.path} cannot be written: {error.strerror or error}; choose another file "
                "with --records"
            ) from error
        try:
            with self._locked(0):
                self._refresh()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        os.close(self._locks)

    def __contains__(self, key: Key) -> bool:
        return key in self._known

    def claim(self, key: Key) -> bool:
        """Take a record upon us; False if it is there already or another process makes it."""
        if not self._lock(_place(key), wait=False):
            return False
        with self._locked(0):
            self._refresh()
        if key in self._known:
            self.release(key)
            return False
        return True

    def release(self, key: Key) -> None:
        """Leave a claimed record to others."""
        self._unlock(_place(key))

    def append(self, record: Record) -> None:
        """Write a record that was claimed, unless it is there already."""
        with self._locked(0):
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
        records, torn = _parse_lines(self.path, raw, first=len(self._known) + 1)
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

    @contextmanager
    def _locked(self, place: int) -> Iterator[None]:
        self._lock(place, wait=True)
        try:
            yield
        finally:
            self._unlock(place)

    def _lock(self, place: int, *, wait: bool) -> bool:
        """Lock one byte of the file of locks; no matter how we end, the system unlocks it."""
        import fcntl

        try:
            how = fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB
            fcntl.lockf(self._locks, how, 1, place)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def _unlock(self, place: int) -> None:
        import fcntl

        fcntl.lockf(self._locks, fcntl.LOCK_UN, 1, place)


def _place(key: Key) -> int:
    """Return the byte that stands for a record; 0 stands for the file."""
    return 1 + zlib.crc32(repr(key).encode())
