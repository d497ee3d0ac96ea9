"""The other end of :mod:`c2rf.solver.backends.isolated`: a process that runs solvers.

Jobs come in on standard input, messages go out on standard output, both pickled. What a solver
prints goes to standard error. The process ends when its input does.
"""

from __future__ import annotations

import math
import os
import pickle
import queue
import sys
import threading
import time
from dataclasses import replace
from importlib import import_module
from typing import Any, BinaryIO

from c2rf.exceptions import BackendError
from c2rf.solver.backends.base import Options, Progress

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
    """Solve one job after the other."""
    messages = _Messages(_own_output())
    messages.send("ready", None)
    jobs: queue.Queue[Any] = queue.Queue()
    stop = threading.Event()
    threading.Thread(target=_listen, args=(jobs, stop), daemon=True).start()
    while True:
        backend, model, options = jobs.get()
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

    solver = import_module(f"c2rf.solver.backends.{backend}")
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


def _listen(jobs: queue.Queue[Any], stop: threading.Event) -> None:
    """Read jobs, and requests to stop, until the input ends."""
    while True:
        try:
            job = pickle.load(sys.stdin.buffer)
        except (EOFError, OSError, pickle.UnpicklingError):
            os._exit(0)  # nobody waits for the answer
        if job is None:
            stop.set()
        else:
            jobs.put(job)
