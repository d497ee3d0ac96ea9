"""Solvers in a process of their own, so that limits and Ctrl-C hold whatever a solver does.

Some solvers do not look at a request to stop for minutes. So :func:`solve_model` gives the model to
another process, and ends that process if the solver does not stop in time; the best solution it
has reported is not lost. The process is kept for the next model.

The second half of this file, from :func:`main` on, is what the other process runs. Models come in
on standard input, messages go out on standard output, both pickled; what a solver prints goes
nowhere. The process ends when its input does.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any, BinaryIO

import numpy as np

from c2rf._utils.interrupts import own_group
from c2rf.exceptions import BackendError
from c2rf.forest.backends import (
    MatrixModel,
    RawResult,
    RawStatus,
    SolverOptions,
    Watch,
    catching_interrupts,
    check_backend,
)

# Seconds a solver has to stop by itself, after its time limit or a request.
_GRACE = 1.0
# Seconds between two looks at Ctrl-C and the clock.
_LOOK = 0.05
# The same path as here, so that the same modules are found, and none of the working folder.
_BEGIN = "import sys; sys.path[:] = {}; from c2rf.forest.backends.process import main; main()"


def solve_model(
    model: MatrixModel,
    backend: str = "highs",
    options: SolverOptions | None = None,
    on_progress: Callable[[RawResult], None] = lambda _: None,
) -> RawResult:
    """Solve a matrix model with the named solver.

    What is known so far is passed to ``on_progress`` from time to time.

    Examples
    --------
    >>> from c2rf.forest.paper import big_m_model
    >>> from c2rf.forest.problem import make_problem
    >>> result = solve_model(big_m_model(make_problem([[1, -1], [1, 1]], 1)))
    >>> result.status, result.bound
    ('optimal', 0.0)
    """
    engine = check_backend(backend)
    _refuse_too_large(model, engine.too_large, backend)
    worker = _take()
    try:
        with catching_interrupts() as pressed:
            job = backend, model, options or SolverOptions()
            answer = worker.solve(job, on_progress, pressed)
    except BaseException:  # its answer would be taken for that to the next model
        worker.end()
        raise
    if worker.alive:
        _idle.append(worker)
    else:
        worker.end()
    if isinstance(answer, Exception):
        raise answer
    return replace(answer, interrupted=pressed.is_set())


def _refuse_too_large(model: MatrixModel, too_large: float, backend: str) -> None:
    """Refuse coefficients that the solver does not take, and say what to do."""
    largest = float(np.abs(model.matrix.data).max(initial=0.0))
    if largest >= too_large:
        raise BackendError(
            f"the model has a coefficient of {largest:.3g}, and {backend} takes none from "
            f"{too_large:g} on; the box, the offset or the counts are too large for it: "
            'make them smaller, or use method="auto", which needs no such model'
        )


class _Worker:
    """A process that solves one model after the other."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(_command(), stdin=pipe, stdout=pipe, **own_group())
        except OSError as error:
            raise BackendError(_NO_PYTHON) from error
        self._messages: queue.Queue[tuple[str, Any]] = queue.Queue()
        self.alive = True  # set before the thread starts, which may set it to False at once
        threading.Thread(target=self._listen, daemon=True).start()

    def solve(
        self,
        job: tuple[str, MatrixModel, SolverOptions],
        on_progress: Callable[[RawResult], None],
        pressed: threading.Event,
    ) -> RawResult | Exception:
        """Return the solver's answer, or what is known if it must be ended."""
        # In a thread, because a process that is just starting reads late.
        sending = threading.Thread(target=self._send, args=(job,), daemon=True)
        sending.start()
        started, limit = time.perf_counter(), job[2].time_limit
        end = np.inf if limit is None else started + limit + _GRACE
        best = RawResult("limit", None, -np.inf, 0, 0.0)
        asked = False
        while True:
            with contextlib.suppress(queue.Empty):
                kind, content = self._messages.get(timeout=_LOOK)
                if kind == "answer":
                    answer: RawResult | Exception = content
                    return answer
                best = replace(content, x=best.x if content.x is None else content.x)
                on_progress(best)
            if pressed.is_set() and not asked:
                asked, grace = True, 0.0 if sending.is_alive() else _GRACE
                end = min(end, time.perf_counter() + grace)
                if grace:  # the solver has begun
                    self._send(None)
            if time.perf_counter() > end:
                self.end()
                seconds = time.perf_counter() - started
                status: RawStatus = "interrupted" if asked else "limit"
                return replace(best, status=status, seconds=seconds)

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
                self._messages.put(pickle.load(pipe))
        except Exception:  # the pipe has ended, or what comes out of it is no message
            self.alive = False
            lost = BackendError("the solver's process ended; memory may be short")
            self._messages.put(("answer", lost))


_NO_PYTHON = (
    "the solvers of the paper's methods run in a process of their own, and no Python can be "
    'started for them here; use method="auto", which needs none'
)


def _command() -> list[str]:
    """Return the command that starts a process for solvers."""
    if getattr(sys, "frozen", False) or not sys.executable:
        raise BackendError(_NO_PYTHON)
    return [sys.executable, "-c", _BEGIN.format([part for part in sys.path if type(part) is str])]


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
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    serve(sys.stdin.buffer, answers, lambda: os._exit(0))


def serve(asked: BinaryIO, answers: BinaryIO, at_end: Callable[[], None]) -> None:
    """Solve one job after the other.

    Parameters
    ----------
    asked, answers : binary streams
        Where jobs come from, and where messages go.
    at_end : callable
        Called when the input ends, perhaps in the middle of a job.
    """

    def tell(kind: str, content: Any) -> None:
        pickle.dump((kind, content), answers)
        answers.flush()

    jobs: queue.Queue[Any] = queue.Queue()
    threading.Thread(target=_listen, args=(asked, jobs, at_end), daemon=True).start()
    while (job := jobs.get()) is not None:
        (backend, model, options), watch = job
        watch.report = lambda known: tell("progress", known)
        try:
            solver = import_module(f"c2rf.forest.backends.{backend}")
            tell("answer", solver.run(model, options, watch))
        except Exception as error:
            tell("answer", _portable(error))


def _portable(error: Exception) -> Exception:
    """Return an error of c2rf or Python as it is, one of another package as its text."""
    ours = type(error).__module__.partition(".")[0] in ("c2rf", "builtins")
    return error if ours else BackendError(f"{type(error).__name__}: {error}")


def _listen(asked: BinaryIO, jobs: queue.Queue[Any], at_end: Callable[[], None]) -> None:
    """Read jobs, and requests to stop the last one, until the input ends."""
    watch = Watch(lambda _: None)
    with contextlib.suppress(EOFError, OSError, pickle.UnpicklingError):
        while True:
            job = pickle.load(asked)
            if job is None:
                watch.interrupted = True
            else:
                watch = Watch(lambda _: None)
                jobs.put((job, watch))
    at_end()
    jobs.put(None)
