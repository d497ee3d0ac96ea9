"""Showing long work as it goes.

A solve shows itself, if asked: one live line on a terminal, plain lines elsewhere. Classifiers
report what they are doing to a callback, if there is one.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from c2rf.forest.incumbent import Event, Listener


Callback = Callable[[str], None]
_callback: ContextVar[Callback | None] = ContextVar("callback", default=None)


@contextmanager
def progress_callback(callback: Callback) -> Iterator[None]:
    """Call ``callback`` with each progress message of classifiers while the block runs.

    Examples
    --------
    >>> with progress_callback(print):
    ...     report_progress("meeting the totals")
    meeting the totals
    >>> report_progress("nobody listens")
    """
    token = _callback.set(callback)
    try:
        yield
    finally:
        _callback.reset(token)


@contextmanager
def showing_progress(verbose: bool) -> Iterator[None]:
    """Print progress messages on standard error, if wanted and nobody else listens."""
    if not verbose or _callback.get() is not None:
        yield
        return
    start = time.monotonic()

    def show(message: str) -> None:
        print(f"c2rf: {message} ({time.monotonic() - start:.1f} s)", file=sys.stderr, flush=True)

    with progress_callback(show):
        yield


def report_progress(message: str) -> None:
    """Say what is being done, to whoever listens."""
    callback = _callback.get()
    if callback is not None:
        callback(message)


class Countdown:
    """Says after each step how many are done, and how long the others will take.

    Parameters
    ----------
    what : str
        What is being done.
    n_steps : int
        Number of steps, of about equal length.

    Examples
    --------
    >>> with progress_callback(print):
    ...     Countdown("ranking rows", 2000).done(1000)
    ranking rows: 1,000 of 2,000, about 0 s left
    """

    def __init__(self, what: str, n_steps: int) -> None:
        self.what, self.n_steps = what, n_steps
        self._done, self._start = 0, time.monotonic()

    def done(self, n_steps: int = 1) -> None:
        """Count some more steps, and say so."""
        self._done += n_steps
        left = (time.monotonic() - self._start) * (self.n_steps - self._done) / self._done
        report_progress(f"{self.what}: {self._done:,} of {self.n_steps:,}, about {left:.0f} s left")


def solver_progress() -> Listener | bool:
    """Return the ``progress`` argument for a solve whose events are reported, too."""
    return False if _callback.get() is None else lambda event: report_progress(line(event))


def line(event: Event) -> str:
    """Return an event as one line.

    Examples
    --------
    >>> from c2rf.forest.incumbent import Event
    >>> line(Event("search", 12, 3, 1.25))
    'search           eta 12       bound 3           1.2 s'
    """
    eta = "-" if event.eta is None else str(event.eta)
    return f"{event.phase:<16} eta {eta:<8} bound {event.bound:<8} {event.seconds:6.1f} s"


@contextmanager
def solve_listener(progress: bool | Callable[[Event], None]) -> Iterator[Listener | None]:
    """Turn the ``progress`` argument of ``solve`` into a listener for as long as it runs.

    False is silence, a function is called with every event, True shows a live line on a
    terminal and a plain line for every change elsewhere, both on standard error.
    """
    if callable(progress):
        yield progress
    elif not progress:
        yield None
    elif sys.stderr.isatty():
        from rich.console import Console

        with Console(stderr=True).status("starting") as status:
            yield lambda event: status.update(line(event))
    else:
        yield _plain_lines()


def _plain_lines() -> Listener:
    last: tuple[object, ...] = ()

    def listener(event: Event) -> None:
        nonlocal last
        now = (event.phase, event.eta, event.bound)
        if now != last:
            last = now
            print(line(event), file=sys.stderr, flush=True)

    return listener


class Clock:
    """Shows the last message and the time that has passed, also between messages.

    Parameters
    ----------
    for_what : str
        The whole work.
    show : callable
        Takes the text to show.
    every : float
        Seconds between two texts.
    hint, hint_after : str and float
        What to add after this number of seconds.
    """

    def __init__(
        self, for_what: str, show: Callback, every: float, hint: str = "", hint_after: float = 0.0
    ) -> None:
        self.for_what, self.show, self.every = for_what, show, every
        self.hint, self.hint_after = hint, hint_after
        self.doing, self.start = "", time.monotonic()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._done.set()
        self._thread.join()

    @property
    def text(self) -> str:
        """What to show now."""
        seconds = time.monotonic() - self.start
        doing = f"{self.for_what}: {self.doing}" if self.doing else self.for_what
        hint = f" {self.hint}" if self.hint and seconds >= self.hint_after else ""
        return f"{doing} ({seconds:.0f} s){hint}"

    def report(self, message: str) -> None:
        """Remember what is being done."""
        self.doing = message

    def report_at_once(self, message: str) -> None:
        """Show what is being done."""
        self.doing = message
        self.show(self.text)

    def _tick(self) -> None:
        while not self._done.wait(self.every):
            self.show(self.text)
