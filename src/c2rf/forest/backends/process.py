"""Solvers in a process of their own, so that limits and Ctrl-C hold whatever a solver does.

Some solvers do not look at a request to stop for minutes. So :func:`solve_model` gives the model to
another process, and ends that process if the solver does not stop in time; the best solution it
has reported is not lost. The process is kept for the next model. Where none can be started
(programs frozen into one file, or that embed Python), the solver runs in this process.

The second half of this file, from :func:`main` on, is what the other process runs. Models come in
on standard input, messages go out on standard output, both pickled; what a solver prints goes
nowhere. The process ends when its input does.
"""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import fields, replace
from importlib import import_module
from typing import Any, BinaryIO

import numpy as np

from c2rf.exceptions import BackendError
from c2rf.forest.backends import (
    MatrixModel,
    Progress,
    RawResult,
    RawStatus,
    SolverOptions,
    Watch,
    check_backend,
    watching,
)

# Seconds a solver has to stop by itself, after its time limit or a request.
_GRACE = 1.0
# Seconds between two looks at Ctrl-C and the clock.
_LOOK = 0.05
# Seconds between two messages about progress.
_OFTEN = 0.1
# The same path as here, so that the same modules are found, and none of the working folder.
_BEGIN = "import sys; sys.path[:] = {}; from c2rf.forest.backends.process import main; main()"


def solve_model(
    model: MatrixModel, backend: str = "highs", options: SolverOptions | None = None
) -> RawResult:
    """Solve a matrix model with the named solver.

    Examples
    --------
    >>> from c2rf.forest.paper import big_m_model
    >>> from c2rf.forest.problem import make_problem
    >>> result = solve_model(big_m_model(make_problem([[1, -1], [1, 1]], 1)))
    >>> result.status, result.bound
    ('optimal', 0.0)
    """
    engine = check_backend(backend)
    options = options or SolverOptions()
    _refuse_unusable(model)
    _refuse_too_large(model, engine.too_large, backend)
    try:
        return _solve_elsewhere(model, backend, options)
    except _NoProcessError:
        here: RawResult = import_module(f"c2rf.forest.backends.{backend}").run(model, options)
        return here


def _refuse_unusable(model: MatrixModel) -> None:
    """Refuse NaN and infinite coefficients, which some solvers would silently change."""
    for part in fields(model):
        values = getattr(model, part.name)
        if values is None:
            continue
        values = values.data if part.name == "matrix" else values
        is_coefficient = part.name in ("matrix", "objective")
        bad = ~np.isfinite(values) if is_coefficient else np.isnan(values)
        if bad.any():
            worst = values[bad][0]
            raise BackendError(f"the model's {part.name} has {worst} in it: no solver takes that")


def _refuse_too_large(model: MatrixModel, too_large: float, backend: str) -> None:
    """Refuse coefficients that the solver does not take, and say what to do."""
    largest = float(np.abs(model.matrix.data).max(initial=0.0))
    if largest >= too_large:
        raise BackendError(
            f"the model has a coefficient of {largest:.3g}, and {backend} takes none from "
            f"{too_large:g} on; the box, the offset or the counts are too large for it: "
            'make them smaller, or use method="auto", which needs no such model'
        )


class _NoProcessError(BackendError):
    """No process that runs solvers could be started."""


def _solve_elsewhere(model: MatrixModel, backend: str, options: SolverOptions) -> RawResult:
    worker = _take()
    try:
        with watching(options.on_progress) as watch:
            answer = worker.solve(model, backend, options, watch)
    except BaseException:  # its answer would be taken for that to the next model
        worker.end()
        raise
    if worker.alive:
        _idle.append(worker)
    else:
        worker.end()
    if isinstance(answer, BaseException):
        raise answer
    if not watch.interrupted:
        return answer
    status: RawStatus = "interrupted" if answer.status == "stopped" else answer.status
    return replace(answer, status=status, interrupted=True)


class _Worker:
    """A process that solves one model after the other."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        # A session of its own: Ctrl-C in a terminal is for the process that asked.
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(
                _command(), stdin=pipe, stdout=pipe, start_new_session=True
            )
        except OSError as error:
            raise _NoProcessError(f"no process can be started: {error}") from error
        self._lost: type[BackendError] = _NoProcessError
        self._messages: queue.Queue[tuple[str, Any]] = queue.Queue()
        self.alive = True  # set before the thread starts, which may set it to False at once
        threading.Thread(target=self._listen, daemon=True).start()

    def solve(
        self, model: MatrixModel, backend: str, options: SolverOptions, watch: Watch
    ) -> RawResult | Exception:
        """Return the solver's answer, or what is known if it must be ended."""
        job = backend, model, replace(options, on_progress=None)
        # In a thread, because a process that is just starting reads late.
        sending = threading.Thread(target=self._send, args=(job,), daemon=True)
        sending.start()
        limit = np.inf if options.time_limit is None else options.time_limit + _GRACE
        best = Progress(np.inf, -np.inf, 0, 0.0)
        asked_at = None
        while True:
            with contextlib.suppress(queue.Empty):
                kind, content = self._messages.get(timeout=_LOOK)
                if kind != "progress":
                    answer: RawResult | Exception = content
                    return answer
                best = replace(content, x=best.x if content.x is None else content.x)
                watch.see(best.incumbent, best.bound, best.nodes)
            if watch.must_stop and asked_at is None:
                if sending.is_alive():  # the solver has not begun
                    asked_at = -np.inf
                else:
                    asked_at = watch.seconds
                    self._send(None)
            late = asked_at is not None and watch.seconds > asked_at + _GRACE
            if late or watch.seconds > limit:
                self.end()
                return _unfinished(best, watch.reason if watch.must_stop else "limit", watch)

    def end(self) -> None:
        """End the process."""
        self.alive = False
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _send(self, job: Any) -> None:
        assert self._process.stdin is not None
        # If the process is gone, _listen reports it.
        with contextlib.suppress(OSError, ValueError):
            pickle.dump(job, self._process.stdin)
            self._process.stdin.flush()

    def _listen(self) -> None:
        """Read messages until the process is gone."""
        pipe = self._process.stdout
        assert pipe is not None
        try:
            while True:
                kind, content = pickle.load(pipe)
                if kind == "ready":
                    self._lost = BackendError
                else:
                    self._messages.put((kind, content))
        except Exception:  # the pipe has ended, or what comes out of it is no message
            self.alive = False
            lost = self._lost("the solver's process ended; memory may be short")
            self._messages.put(("error", lost))


def _command() -> list[str]:
    """Return the command that starts a process for solvers."""
    if getattr(sys, "frozen", False) or not sys.executable:
        raise _NoProcessError("there is no Python to start")
    return [sys.executable, "-c", _BEGIN.format([part for part in sys.path if type(part) is str])]


def _unfinished(best: Progress, status: RawStatus, watch: Watch) -> RawResult:
    """Return what is known of a solve whose process was ended."""
    bound = best.bound if np.isfinite(best.bound) else -np.inf
    log = "the solver did not stop by itself and was ended"
    return RawResult(status, best.x, bound, best.nodes, watch.seconds, log, watch.interrupted)


_idle: list[_Worker] = []


def _take() -> _Worker:
    """Return an idle worker; a new one if there is none."""
    while _idle:
        with contextlib.suppress(IndexError):  # another thread was quicker
            worker = _idle.pop()
            if worker.alive and worker.owner == os.getpid():  # a fork has its parent's list
                return worker
    return _Worker()


# What the other process runs


def main() -> None:
    """Solve the jobs of standard input, and end with it."""
    serve(sys.stdin.buffer, _own_output(), lambda: os._exit(0))


def serve(asked: BinaryIO, answers: BinaryIO, at_end: Callable[[], None]) -> None:
    """Solve one job after the other.

    Parameters
    ----------
    asked, answers : binary streams
        Where jobs come from, and where messages go.
    at_end : callable
        Called when the input ends, perhaps in the middle of a job.
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
    backend: str, model: Any, options: SolverOptions, messages: _Messages, stop: threading.Event
) -> Any:
    def on_progress(progress: Progress) -> bool:
        messages.report(progress)
        return stop.is_set()

    solver = import_module(f"c2rf.forest.backends.{backend}")
    return solver.run(model, replace(options, on_progress=on_progress))


def _portable(error: Exception) -> Exception:
    """Return an error of c2rf or Python as it is, one of another package as its text."""
    ours = type(error).__module__.partition(".")[0] in ("c2rf", "builtins")
    return error if ours else BackendError(f"{type(error).__name__}: {error}")


def _own_output() -> BinaryIO:
    """Keep standard output for messages; what solvers print goes nowhere."""
    own = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
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


class _Messages:
    """Messages to the process that sent the jobs."""

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
        """Send progress if it has a solution or the last message is long enough ago."""
        self._held_back = progress
        if progress.x is not None or time.monotonic() - self._last > self._often:
            self.report_rest()

    def report_rest(self) -> None:
        """Send what was held back."""
        if self._held_back is not None:
            self.send("progress", self._held_back)
            self._held_back, self._last = None, time.monotonic()
