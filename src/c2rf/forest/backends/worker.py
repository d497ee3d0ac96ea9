"""The other end of :mod:`c2rf.forest.backends.process`: a process that runs solvers.

Jobs come in on standard input, messages go out on standard output, both pickled. What a solver
prints goes to standard error. The process ends when its input does.
"""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import queue
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any, BinaryIO

from c2rf.exceptions import BackendError
from c2rf.forest.backends.base import Options, Progress

# Seconds between two messages about progress.
_OFTEN = 0.1


class _Messages:
    """Messages to the process that asked."""

    def __init__(self, out: BinaryIO, often: float = _OFTEN) -> None:
        self._out, self._often = out, often
        self.begin()

    def begin(self) -> None:
        """Begin a new job: its first progress is never held back."""
        self._last = -math.inf
        self._held_back: Progress | None = None

    def send(self, kind: str, content: Any) -> None:
        pickle.dump((kind, content), self._out)
        self._out.flush()

    def report(self, progress: Progress) -> None:
        """Pass progress on, unless that was done a moment ago and nothing better was found."""
        self._held_back = progress
        if progress.x is not None or time.monotonic() - self._last > self._often:
            self.report_rest()

    def report_rest(self) -> None:
        """Pass on what was held back."""
        if self._held_back is not None:
            self.send("progress", self._held_back)
            self._held_back, self._last = None, time.monotonic()


def main() -> None:
    """Solve the jobs of standard input, and end with it: nobody waits for an answer then."""
    serve(sys.stdin.buffer, _own_output(), lambda: os._exit(0))


def serve(asked: BinaryIO, answers: BinaryIO, at_end: Callable[[], None]) -> None:
    """Solve one job after the other.

    Parameters
    ----------
    asked, answers : binary streams
        Where jobs come from, and where messages go.
    at_end : callable
        Called when there is nobody left who asks, perhaps in the middle of a job.
    """
    messages = _Messages(answers)
    messages.send("ready", None)
    jobs: queue.Queue[Any] = queue.Queue()
    stop = threading.Event()
    threading.Thread(target=_listen, args=(asked, jobs, stop, at_end), daemon=True).start()
    while (job := jobs.get()) is not None:
        backend, model, options = job
        stop.clear()
        messages.begin()
        try:
            answer = _solve(backend, model, options, messages, stop)
            messages.report_rest()
            messages.send("result", answer)
        except Exception as error:
            messages.send("error", _portable(error))


def _solve(
    backend: str, model: Any, options: Options, messages: _Messages, stop: threading.Event
) -> Any:
    def on_progress(progress: Progress) -> bool:
        messages.report(progress)
        return stop.is_set()

    solver = import_module(f"c2rf.forest.backends.{backend}")
    return solver.run(model, replace(options, on_progress=on_progress))


def _portable(error: Exception) -> Exception:
    """Return an error of ours as it is, one of a solver's package in words."""
    ours = type(error).__module__.partition(".")[0] in ("c2rf", "builtins")
    return error if ours else BackendError(f"{type(error).__name__}: {error}")


def _own_output() -> BinaryIO:
    """Keep standard output for messages; what others print goes to standard error."""
    own = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return own


def _listen(
    asked: BinaryIO, jobs: queue.Queue[Any], stop: threading.Event, at_end: Callable[[], None]
) -> None:
    """Read jobs, and requests to stop, until the input ends."""
    with contextlib.suppress(EOFError, OSError, pickle.UnpicklingError):
        while True:
            job = pickle.load(asked)
            if job is None:
                stop.set()
            else:
                jobs.put(job)
    at_end()
    jobs.put(None)
