"""A method at work in a process of its own: what it does to memory or to the clock ends there.

Solvers check their time limit now and then only. One that is a good while over it is ended.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait

from threadpoolctl import threadpool_limits

from c2rf.bench.methods import BENCH_METHODS, Solver, TrialAnswer
from c2rf.bench.protocol import TrialSample
from c2rf.solver.backends import BACKENDS

GRACE_SECONDS = 60.0
"""How far over its time limit a solve may be before it is ended by force."""

_processes = multiprocessing.get_context("forkserver")


@dataclass(frozen=True, eq=False)
class TrialOutcome:
    """What a method answered, and its seconds."""

    answer: TrialAnswer
    seconds: float


def label(method: str, sample: TrialSample, solver: Solver) -> TrialOutcome:
    """Run a method here and now, on one thread.

    Examples
    --------
    >>> from c2rf.bench.data import load
    >>> from c2rf.bench.protocol import PROTOCOLS, draw
    >>> sample = draw(load("made-twonorm-500"), PROTOCOLS["biased"], seed=0).sample
    >>> outcome = label("top-lambda", sample, Solver())
    >>> int((outcome.answer.labels > 0).sum()) == sample.n_positive
    True
    """
    if BENCH_METHODS[method].solves:
        BACKENDS[solver.backend].version()  # imports the solver, which is not the method's time
    with threadpool_limits(1):
        start = time.perf_counter()
        answer = BENCH_METHODS[method].label(sample, solver)
        seconds = time.perf_counter() - start
    # Of the paper's methods the solver's seconds, without those of the proof that comes after.
    return TrialOutcome(answer, answer.stats.get("solver_seconds", seconds))


class Work:
    """A method that runs in another process.

    Parameters
    ----------
    method, sample, solver
        See :func:`label`.
    grace : float
        Seconds over the time limit after which it is ended.
    """

    def __init__(
        self, method: str, sample: TrialSample, solver: Solver, grace: float = GRACE_SECONDS
    ) -> None:
        _processes.set_forkserver_preload([__name__, "highspy"])
        self.connection, theirs = _processes.Pipe(duplex=False)
        self._process = _processes.Process(
            target=_work, args=(theirs, method, sample, solver), daemon=True
        )
        self._started = time.monotonic()
        self._hard_limit = None if solver.time_limit is None else solver.time_limit + grace
        self._process.start()
        theirs.close()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._started

    def outcome(self) -> TrialOutcome | None:
        """Return what came out, None while it is at work; ends what is over its time."""
        if self.connection.poll():
            return self._receive()
        if self._hard_limit is not None and self.seconds > self._hard_limit:
            seconds = self.seconds
            self.end()
            message = f"ended by force after {seconds:.0f} s: it did not keep to its time limit"
            return TrialOutcome(TrialAnswer(None, "none", message=message), seconds)
        return None

    def _receive(self) -> TrialOutcome:
        seconds = self.seconds
        try:
            outcome: TrialOutcome = self.connection.recv()
        except EOFError:  # it died without a word, perhaps for want of memory
            self._process.join()
            message = f"its process died with exit code {self._process.exitcode}"
            outcome = TrialOutcome(TrialAnswer(None, "failed", message=message), seconds)
        self.end()
        return outcome

    def end(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.join()
        self._process.close()
        self.connection.close()


def _work(connection: Connection, method: str, sample: TrialSample, solver: Solver) -> None:
    threading.Thread(target=_die_with_parent, daemon=True).start()
    try:
        outcome = label(method, sample, solver)
    except Exception as error:  # recorded, so that one failure does not stop a night's run
        message = f"{type(error).__name__}: {error}"
        outcome = TrialOutcome(TrialAnswer(None, "failed", message=message), 0.0)
    connection.send(outcome)


def _die_with_parent() -> None:
    """End this process when the one that started it is gone, even if it was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
