"""A file of records that is appended to and never rewritten.

Safe against being killed: a line is appended in one piece and synced, a torn last line is set
aside, and claims are locks of the operating system, which die with their process. Safe against
each other: before a record is made or written, its process holds its claim and has seen that it
is not there yet.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from c2rf.bench.records import Key, Record, parse_lines
from c2rf.exceptions import InputError

_FAR = 1 << 60
"""The byte that stands for the file; those behind it stand for records."""


class RecordFile:
    """A file of records that several processes may append to at the same time.

    Use it as a context manager. What is locked are bytes far behind the end of the file, one for
    the file and one for each record. The system gives a process's locks up when it closes the
    file anywhere, so open a file only once in a process that claims.

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
            self._file = self.path.open("ab+")
        except OSError as error:
            raise InputError(
                f"{self.path} cannot be written: {error.strerror or error}; choose another file "
                "with --records"
            ) from error
        try:
            with self._file_locked():
                self._refresh()
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __contains__(self, key: Key) -> bool:
        return key in self._known

    def claim(self, key: Key) -> bool:
        """Take a record upon us; False if it is there already or another process makes it."""
        if not self._lock(_place(key), wait=False):
            return False
        with self._file_locked():
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
        with self._file_locked():
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

    @contextmanager
    def _file_locked(self) -> Iterator[None]:
        self._lock(_FAR, wait=True)
        try:
            yield
        finally:
            self._unlock(_FAR)

    def _lock(self, place: int, *, wait: bool) -> bool:
        """Lock one byte; no matter how we end, the system unlocks it."""
        import fcntl

        try:
            how = fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB
            fcntl.lockf(self._file, how, 1, place)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def _unlock(self, place: int) -> None:
        import fcntl

        fcntl.lockf(self._file, fcntl.LOCK_UN, 1, place)


def _place(key: Key) -> int:
    """Return the byte that stands for a record."""
    return _FAR + 1 + zlib.crc32(repr(key).encode())
