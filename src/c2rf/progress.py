"""Showing a solve as it goes: one live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from c2rf.run import Event, Listener


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
