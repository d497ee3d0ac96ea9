"""Progress of long computations: events, and their text.

A computation reports each :class:`Event` to the current callback, if one is set. The terminal and
the web page each set their own, which turns events into text.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class Event:
    """A report of progress.

    Parameters
    ----------
    phase : str
        What is being done.
    eta, bound : int or None
        In a solve: by how much the best weights so far miss the total (None before any are found),
        and the proven lower bound on that for all weights.
    seconds : float
        Seconds since the solve or the phase began; of counted steps, until the last of them was
        done.
    done, total : int or None
        Steps of the phase that are done, and the number of all steps, if they can be counted.
    since : float
        Seconds since the last of these was done.

    Examples
    --------
    >>> event = Event("ranking rows", seconds=3.0, done=500, total=2000)
    >>> event.share, event.seconds_left
    (0.25, 9.0)
    """

    phase: str
    eta: int | None = None
    bound: int | None = None
    seconds: float = 0.0
    done: int | None = None
    total: int | None = None
    since: float = 0.0

    @property
    def share(self) -> float | None:
        """The share of the steps that are done, None if they are not counted."""
        return None if self.done is None or not self.total else min(1.0, self.done / self.total)

    @property
    def seconds_left(self) -> float | None:
        """Estimated seconds for the steps left; None if not known, or if it takes longer."""
        if not self.done or self.total is None:
            return None
        left = self.seconds * max(0, self.total - self.done) / self.done
        return left - self.since if left > self.since else None


Listener = Callable[[Event], None]

_FAST = 1000
"""From so many steps per second on, these are rows, and their rate says something."""
_callback: ContextVar[Listener | None] = ContextVar("callback", default=None)


@contextmanager
def progress_callback(callback: Listener) -> Iterator[None]:
    """Call ``callback`` with each event that is reported while the block runs.

    Examples
    --------
    >>> with progress_callback(lambda event: print(line(event))):
    ...     report_progress("meeting the totals")
    meeting the totals
    >>> report_progress("nobody listens")
    """
    token = _callback.set(callback)
    try:
        yield
    finally:
        _callback.reset(token)


def report_progress(phase: str) -> None:
    """Report that a phase begins."""
    callback = _callback.get()
    if callback is not None:
        callback(Event(phase))


class Countdown:
    """Reports after each step of a phase how many are done.

    Parameters
    ----------
    phase : str
        What is being done.
    n_steps : int
        Number of steps, of about equal length.

    Examples
    --------
    >>> with progress_callback(lambda event: print(phase_text(event))):
    ...     Countdown("ranking rows", 2000).done(1000)
    ranking rows: 1,000 of 2,000
    """

    def __init__(self, phase: str, n_steps: int) -> None:
        self.phase, self.n_steps = phase, n_steps
        self._done, self._start = 0, time.monotonic()
        self._last = self._start

    def done(self, n_steps: int = 1) -> None:
        """Add to the number of steps done, and report it."""
        self._done += n_steps
        self._last = time.monotonic()
        callback = _callback.get()
        if callback is not None:
            callback(self._event())

    def _event(self) -> Event:
        seconds, since = self._last - self._start, time.monotonic() - self._last
        return Event(self.phase, None, None, seconds, self._done, self.n_steps, since)

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Report the steps of this phase, at once and for those of shorter phases inside of it.

        Examples
        --------
        >>> with progress_callback(lambda event: print(phase_text(event))):
        ...     steps = Countdown("drawing imputations", 20)
        ...     with steps.inside():
        ...         Countdown("ranking rows", 2000).done(2000)
        drawing imputations: 0 of 20
        drawing imputations: 0 of 20
        """
        callback = _callback.get()
        if callback is None:
            yield
            return
        callback(self._event())
        with progress_callback(lambda _: callback(self._event())):
            yield


def solver_progress() -> Listener | bool:
    """Return the ``progress`` argument that makes a solve report to the current callback."""
    return _callback.get() or False


def phase_text(event: Event) -> str:
    """Return the phase of an event, with the steps that are done.

    Examples
    --------
    >>> phase_text(Event("search", 12, 3, 1.25))
    'search           eta 12       bound 3       '
    >>> phase_text(Event("ranking rows", done=1000, total=2000))
    'ranking rows: 1,000 of 2,000'
    """
    if event.bound is not None:
        eta = "-" if event.eta is None else str(event.eta)
        return f"{event.phase:<16} eta {eta:<8} bound {event.bound:<8}"
    if event.done is None:
        return event.phase
    return f"{event.phase}: {event.done:,} of {event.total:,}"


def line(event: Event) -> str:
    """Return an event as one line of text.

    Examples
    --------
    >>> line(Event("drawing imputations", seconds=3, done=5, total=20))
    'drawing imputations: 5 of 20, about 9 s left'
    >>> line(Event("ranking rows", seconds=2, done=10**6, total=2 * 10**6))
    'ranking rows: 1,000,000 of 2,000,000, 500,000 per second, about 2 s left'
    """
    left, text = event.seconds_left, phase_text(event)
    if event.done and event.seconds and event.done / event.seconds >= _FAST:
        text += f", {event.done / event.seconds:,.0f} per second"
    return text + ("" if left is None else f", about {left:.0f} s left")


@contextmanager
def shown(
    for_what: str = "", every: float | None = None, hint: str = "", hint_after: float = 60.0,
    say: Callable[[str], str] = str,
) -> Iterator[Listener]:  # fmt: skip
    """Show events on standard error while the block runs; yield what takes them.

    On a terminal there is one line, which changes with every event and every second. Elsewhere
    there is a line for every change; with ``every`` there is one after each so many seconds.

    Parameters
    ----------
    for_what : str
        The whole work; the text begins with it.
    every : float, optional
        Seconds between two lines where there is no terminal.
    hint, hint_after : str and float
        A text to add at the end, once this number of seconds has passed.
    say : callable
        Returns a text in the language of the user.
    """
    start, is_over, is_live = time.monotonic(), threading.Event(), sys.stderr.isatty()
    last = ""

    def text() -> str:
        seconds = time.monotonic() - start
        now = say(f"{': '.join(filter(None, (for_what, last)))} ({seconds:.0f} s)")
        return f"{now} {hint}" if hint and seconds >= hint_after else now

    def listen(event: Event) -> None:
        nonlocal last
        before, last = last, line(event)
        if is_live or (every is None and last != before):
            show(text())

    def tick(seconds: float) -> None:
        while not is_over.wait(seconds):
            show(text())

    with ExitStack() as stack:
        show: Callable[[str], None] = _print_line
        if is_live:
            from rich.console import Console

            show = stack.enter_context(Console(stderr=True).status(for_what or "starting")).update
        if is_live or every is not None:
            clock = threading.Thread(target=tick, args=(1.0 if is_live else every,), daemon=True)
            clock.start()
            stack.callback(clock.join)
            stack.callback(is_over.set)
        yield listen


def _print_line(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@contextmanager
def showing_progress(verbose: bool) -> Iterator[None]:
    """Show progress if ``verbose`` is true and no other callback is set."""
    if not verbose or _callback.get() is not None:
        yield
        return
    with shown("c2rf") as listener, progress_callback(listener):
        yield


def solve_listener(progress: bool | Listener) -> AbstractContextManager[Listener | None]:
    """Turn the ``progress`` argument of ``solve`` into a listener for as long as it runs.

    With False nothing is shown, with True every event; a function is called with every event.
    """
    return nullcontext(progress or None) if callable(progress) or not progress else shown()
