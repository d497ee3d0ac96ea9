"""What every solver is asked for and what it answers, in one vocabulary.

"Has a solution" (``x is not None``) and "is proven optimal" (``status``) are two facts: an
incumbent at a limit is never thrown away.
"""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Literal

from c2rf.problem import Floats
from c2rf.tolerances import BOUND_TOLERANCE

RawStatus = Literal["optimal", "infeasible", "limit", "interrupted", "stopped", "failed"]


@dataclass(frozen=True)
class Progress:
    """A moment of a solve: incumbent and bound as floats (infinite if there is none)."""

    incumbent: float
    bound: float
    nodes: int
    seconds: float


@dataclass(frozen=True)
class Options:
    """How to run a solver.

    Parameters
    ----------
    time_limit : float or None
        Seconds.
    threads : int
        Threads the solver may use.
    seed : int
        Makes a run repeatable.
    node_limit : int or None
        Stop after so many branch-and-bound nodes: a limit that does not depend on the clock.
    cutoff : float or None
        Only solutions with a smaller objective are of interest; a run that finds there are none
        answers "infeasible".
    target : float or None
        Stop at the first solution with an objective not greater than this.
    extra : dict
        Options of the solver under its own names; an unknown one is an error.
    """

    time_limit: float | None = None
    threads: int = 1
    seed: int = 0
    node_limit: int | None = None
    cutoff: float | None = None
    target: float | None = None
    extra: dict[str, object] = field(default_factory=dict)
    on_progress: Callable[[Progress], bool | None] | None = None
    """Called now and then; returning True stops the solver."""


@dataclass(frozen=True, eq=False)
class RawResult:
    """What a solver answered, unchecked.

    Parameters
    ----------
    status : str
        "optimal", "infeasible", "limit" (time, nodes or target), "interrupted" (Ctrl-C),
        "stopped" (by the progress callback) or "failed".
    x : ndarray or None
        The incumbent, if there is one.
    bound : float
        Lower bound on the objective, -inf if none.
    """

    status: RawStatus
    x: Floats | None
    bound: float
    nodes: int
    seconds: float
    log: str = ""


def integer_bound(bound: float) -> int:
    """Return the integer that a float lower bound on an integer objective proves, at least 0.

    Examples
    --------
    >>> integer_bound(2.0000000001), integer_bound(2.1), integer_bound(float("-inf"))
    (2, 3, 0)
    """
    if not math.isfinite(bound):
        return 0
    return max(0, math.ceil(bound - BOUND_TOLERANCE * max(1.0, abs(bound))))


class StopRequest:
    """Set by Ctrl-C while a solver runs."""

    requested = False


@contextmanager
def interruptible() -> Iterator[StopRequest]:
    """Turn Ctrl-C into a request the solver's callback can see, so that the incumbent survives.

    Outside the main thread signals cannot be caught and the request is never set.
    """
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return

    def on_interrupt(signum: int, frame: FrameType | None) -> None:
        request.requested = True

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield request
    finally:
        signal.signal(signal.SIGINT, before)
