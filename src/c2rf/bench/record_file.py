"""A file of records that is appended to and never rewritten.

Safe if a process is killed: a line is appended in one piece and synced, a torn last line is set
aside, and claims are locks of the operating system, which end with their process. Safe if several
processes write: before a record is made or written, its process holds its claim and has seen that
it is not there yet.
"""

from __future__ import annotations

import os
import zlib
from pathlib import Path

from c2rf.bench.records import Key, Record, parse_lines
from c2rf.exceptions import InputError

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
        self._claims: dict[Key, FileLock] = {}

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
        for key in list(self._claims):
            self.release(key)
        self._file.close()

    def __contains__(self, key: Key) -> bool:
        return key in self._known

    def claim(self, key: Key) -> bool:
        """Take a record upon us; False if it is there already or another process makes it."""
        claim = FileLock(self._lock_path(f"{zlib.crc32(repr(key).encode()):08x}"))
        try:
            claim.acquire(timeout=0)
        except Timeout:
            return False
        self._claims[key] = claim
        with self._whole:
            self._refresh()
        if key in self._known:
            self.release(key)
            return False
        return True

    def release(self, key: Key) -> None:
        """Leave a claimed record to others."""
        claim = self._claims.pop(key, None)
        if claim is not None:
            # Who opened the lock before it is removed may claim the record beside another, but
            # looks at the records again before it writes.
            claim.release()
            Path(claim.lock_file).unlink(missing_ok=True)

    def append(self, record: Record) -> None:
        """Write a record that was claimed, unless it is there already."""
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
