"""A classification in the background: what it is doing, how far it is, and how to stop it."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from typing import Any

from c2rf._text import for_command_line
from c2rf.app.words import OPTIONS
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
