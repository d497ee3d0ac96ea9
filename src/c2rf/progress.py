"""Showing long work as it goes.

A solve shows itself, if asked: one live line on a terminal, plain lines elsewhere. Classifiers tell
whoever listens what they are at.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from c2rf.run import Event, Listener

Ear = Callable[[str], None]
_ear: ContextVar[Ear | None] = ContextVar("ear", default=None)


@contextmanager
def hearing(ear: Ear) -> Iterator[None]:
    """Call ``ear`` with what classifiers are at, as long as this lasts.

    Examples
    --------
    >>> with hearing(print):
    ...     tell("meeting the totals")
    meeting the totals
    >>> tell("nobody listens")
    """
    token = _ear.set(ear)
    try:
        yield
    finally:
        _ear.reset(token)


def tell(what: str) -> None:
    """Tell whoever listens what is going on."""
    ear = _ear.get()
    if ear is not None:
        ear(what)


def told() -> Listener | bool:
    """Return the ``progress`` argument for a solve whose events are told, too."""
    return False if _ear.get() is None else lambda event: tell(line(event))


def line(event: Event) -> str:
    """Return an event as one line.

    Examples
    --------
    >>> line(Event("search", 12, 3, 1.25))
    'search           eta 12       bound 3           1.2 s'
    """
    eta = "-" if event.eta is None else str(event.eta)
    return f"{event.phase:<16} eta {eta:<8} bound {event.bound:<8} {event.seconds:6.1f} s"


@contextmanager
def listening(progress: bool | Callable[[Event], None]) -> Iterator[Listener | None]:
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
