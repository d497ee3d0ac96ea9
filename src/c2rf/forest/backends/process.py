"""Solvers in a process of their own, so that limits and Ctrl-C hold whatever a solver does.

A solver looks up from its work only now and then, some not for minutes. Here it is asked to stop,
and if it does not, its process is ended; the best solution it has told of is not lost. The
process is kept for the next model. Where no such process can be started (programs that are frozen
into one file, or that embed Python), solvers run in this one, and stop when they look up.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from c2rf.exceptions import BackendError
from c2rf.forest.backends.base import (
    MatrixModel,
    Options,
    Progress,
    RawResult,
    RawStatus,
    Watch,
    watching,
)

# Seconds a solver has to stop by itself, after its time limit or a request.
_GRACE = 1.0
# Seconds between two looks at Ctrl-C and the clock.
_LOOK = 0.05
# The same path as here, so that the same modules are found, and none of the working folder.
_BEGIN = "import sys; sys.path[:] = {}; from c2rf.forest.backends.worker import main; main()"


class _NoProcessError(BackendError):
    """The process ended before it said anything: it is none that runs solvers."""


def run(model: MatrixModel, backend: str, options: Options) -> RawResult:
    """Solve a model with a solver in another process, in this one if there can be no other."""
    try:
        return _run_elsewhere(model, backend, options)
    except _NoProcessError:
        here: RawResult = import_module(f"c2rf.forest.backends.{backend}").run(model, options)
        return here


def _run_elsewhere(model: MatrixModel, backend: str, options: Options) -> RawResult:
    worker = _take()
    try:
        with watching(options) as watch:
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
        self.alive = True  # before anybody listens: the process may be gone at once
        threading.Thread(target=self._listen, daemon=True).start()

    def solve(
        self, model: MatrixModel, backend: str, options: Options, watch: Watch
    ) -> RawResult | Exception:
        """Return the solver's answer, or what is known if it must be ended."""
        job = backend, model, replace(options, on_progress=None)
        # A process that is only just starting reads late: nobody waits for that without a look.
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
                if sending.is_alive():  # it has not begun: there is nothing to wait for
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
        # That it is gone, or was ended while we wrote, is seen where it should answer.
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
    """Return a worker that nobody uses; a new one if there is none."""
    while _idle:
        with contextlib.suppress(IndexError):  # another thread was quicker
            worker = _idle.pop()
            if worker.alive and worker.owner == os.getpid():  # a fork has its parent's list
                return worker
    return _Worker()


def end_all() -> None:
    """End all workers that nobody uses."""
    while _idle:
        _idle.pop().end()
