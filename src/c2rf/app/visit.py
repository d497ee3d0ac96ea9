"""One visitor of the page: a folder for their files, and their run; both end with the visit."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

from c2rf.app.job import Job

MOST_REMEMBERED = 30
"""Looks at files that are remembered; the oldest are forgotten."""


class Visit:
    """A folder for the files of one visitor, removed when nobody holds the visit any more.

    ``end()`` does so at once.

    Examples
    --------
    >>> visit = Visit()
    >>> path = visit.keep("labeled", "../people.csv", b"a,b")
    >>> path.name, path.read_bytes(), path.is_relative_to(visit.folder)
    ('people.csv', b'a,b', True)
    >>> visit.remember(("rows", path), lambda: 7), visit.remember(("rows", path), lambda: 8)
    (7, 7)
    >>> del visit
    >>> path.exists()
    False
    """

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="c2rf-"))
        self.job: Job | None = None
        self._stops: list[Callable[[], None]] = []
        self._remembered: dict[Hashable, Any] = {}
        self.end = weakref.finalize(self, _end, self.folder, self._stops)

    def keep(self, place: str, name: str, content: Any) -> Path:
        """Write a file to a place of its own; of its name only the last part counts."""
        last = Path(name.replace("\\", "/")).name
        path = self.folder / place / (last if last.strip(".") else "table")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def start(self, work: Callable[[], Any]) -> None:
        """Start a run, which is stopped when the visit ends."""
        self.job = Job(work)
        self._stops[:] = [self.job.stop]

    def remember(self, key: Hashable, find: Callable[[], Any]) -> Any:
        """Return what was found for a key before, else find it."""
        if key not in self._remembered:
            self._remembered[key] = find()
            while len(self._remembered) > MOST_REMEMBERED:
                del self._remembered[next(iter(self._remembered))]
        return self._remembered[key]


def end_when_left(
    visit: Visit, is_there: Callable[[], bool], patience: float = 150.0, every: float = 10.0
) -> threading.Thread:
    """End a visit once the visitor has been away for some seconds.

    Parameters
    ----------
    visit : Visit
        The visit.
    is_there : callable
        Whether the visitor has the page open.
    patience, every : float
        Seconds after which a visitor does not come back, and between two looks.
    """
    gone = weakref.ref(visit)

    def watch() -> None:
        seen = time.monotonic()
        while (here := gone()) is not None:
            if is_there():
                seen = time.monotonic()
            elif time.monotonic() - seen > patience:
                here.end()
                return
            del here
            time.sleep(every)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    return watcher


def _end(folder: Path, stops: list[Callable[[], None]]) -> None:
    for stop in stops:
        stop()
    shutil.rmtree(folder, ignore_errors=True)
