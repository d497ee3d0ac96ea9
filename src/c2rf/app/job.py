"""A visitor of the page: their files, and their run in the background.

A classification in the background: what it is doing, how far it is, and how to stop it.

One visitor of the page: a folder for their files, and their run; both end with the visit.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

from c2rf._utils.text import for_command_line
from c2rf.app.choices import OPTIONS
from c2rf.exceptions import C2RFError
from c2rf.progress import progress_callback

_COUNTED = re.compile(r"([\d,]+) of ([\d,]+)")
_LEFT = re.compile(r", about \d+ s left")


class StoppedError(Exception):
    """The visitor has stopped the run."""


class Pace:
    """How far a step is that counts, and how long the rest of it will take.

    Examples
    --------
    >>> pace = Pace()
    >>> pace.hear("drawing imputation 1 of 20", 10.0)
    >>> pace.hear("drawing imputation 5 of 20", 12.0)
    >>> pace.share, pace.seconds_left(12.5)
    (0.25, 7.0)
    >>> pace.hear("meeting the totals", 20.0)
    >>> pace.share is None
    True
    """

    def __init__(self) -> None:
        self.share: float | None = None
        self._step, self._first, self._last = "", (0.0, 0), (0.0, 0)
        self._of = 0

    def hear(self, message: str, now: float) -> None:
        """Take in a message of a time."""
        found = _COUNTED.search(message)
        if found is None:
            self.share, self._step = None, ""
            return
        done, self._of = (int(number.replace(",", "")) for number in found.groups())
        step = message[: found.start()]
        if step != self._step:
            self._step, self._first = step, (now, done)
        self._last, self.share = (now, done), min(1.0, done / max(1, self._of))

    def seconds_left(self, now: float) -> float | None:
        """Return how long the step will take from now, None where that is not known."""
        (start, first), (end, last) = self._first, self._last
        if self.share is None or last == first:
            return None
        return max(0.0, (end - start) / (last - first) * (self._of - last) - (now - end))


class Job:
    """Work in a thread that reports its progress.

    Parameters
    ----------
    work : callable
        What is to be done; its result is kept.

    Examples
    --------
    >>> job = Job(lambda: 6 * 7)
    >>> job.wait()
    >>> job.result, job.error
    (42, None)
    """

    def __init__(self, work: Callable[[], Any]) -> None:
        self.result: Any = None
        self.error: str | None = None
        self.doing = "starting"
        self.pace = Pace()
        self.start = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    @property
    def is_running(self) -> bool:
        """Whether it is not done."""
        return self._thread.is_alive()

    @property
    def is_stopping(self) -> bool:
        """Whether it was asked to stop and has not yet."""
        return self._stop.is_set() and self.is_running

    @property
    def said(self) -> str:
        """What it is doing, for how long, and how long the step will take."""
        now = time.monotonic()
        left = self.pace.seconds_left(now)
        rest = "" if left is None else f", about {left:.0f} s left for this step"
        doing = "stopping after this step" if self.is_stopping else _LEFT.sub("", self.doing)
        return f"{doing} ({now - self.start:.0f} s so far{rest})"

    def stop(self) -> None:
        """Ask it to stop; it does so at its next step."""
        self._stop.set()

    def wait(self, timeout: float | None = None) -> None:
        """Wait until it is done."""
        self._thread.join(timeout)

    def _run(self, work: Callable[[], Any]) -> None:
        try:
            with for_command_line(OPTIONS), progress_callback(self._hear):
                result = work()
                self._hear("done")
            self.result = result
        except StoppedError:
            self.error = "stopped; nothing was written"
        except C2RFError as error:
            self.error = str(error)
        except Exception as error:  # a mistake in c2rf: the page must say so and live on
            self.error = f"unexpected {type(error).__name__}: {error} (please report it)"

    def _hear(self, message: str) -> None:
        if self._stop.is_set():
            raise StoppedError
        self.doing = message
        self.pace.hear(message, time.monotonic())


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
