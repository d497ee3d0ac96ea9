"""The solvers of the paper's integer programs: what they are asked, what they answer, who they are.

A solver sees a :class:`MatrixModel` and :class:`SolverOptions`, and answers with a
:class:`RawResult` in one vocabulary for all. "Has a solution" (``x is not None``) and "is proven
optimal" (``status``) are two facts: an incumbent at a limit is never thrown away.

A solver is added by a file with ``run(model, options)`` and ``version()``, a line in
:data:`BACKENDS` and an extra in ``pyproject.toml``. They run in a process of their own
(:mod:`c2rf.forest.backends.process`).
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from types import FrameType
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from c2rf._utils.text import check_choice
from c2rf._utils.types import Floats
from c2rf.exceptions import BackendNotInstalledError
from c2rf.forest.problem import BOUND_TOLERANCE

# What a solver is asked


@dataclass(frozen=True, eq=False)
class MatrixModel:
    """min c'x  s.t.  row_lower <= A x <= row_upper, col_lower <= x <= col_upper, some x integer.

    All a backend ever sees. ``priorities`` (greater first) are for solvers that have branching
    priorities.

    Examples
    --------
    >>> from c2rf.forest.problem import make_problem
    >>> from c2rf.forest.paper import big_m_model
    >>> model = big_m_model(make_problem([[1, -1], [1, 1]], 1))
    >>> model.matrix.shape, int(model.integrality.sum())
    ((6, 5), 2)
    """

    objective: Floats
    matrix: sparse.csr_array
    row_lower: Floats
    row_upper: Floats
    col_lower: Floats
    col_upper: Floats
    integrality: NDArray[np.bool_]
    priorities: NDArray[np.int64] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.row_lower)

    @property
    def n_cols(self) -> int:
        """Number of columns."""
        return len(self.col_lower)


@dataclass(frozen=True)
class Progress:
    """A moment of a solve: incumbent and bound as floats (infinite if there is none).

    ``x`` is the incumbent itself where the solver has just found it and tells.
    """

    incumbent: float
    bound: float
    nodes: int
    seconds: float
    x: Floats | None = None


OnProgress = Callable[[Progress], bool | None]


@dataclass(frozen=True)
class SolverOptions:
    """How to run a solver.

    Parameters
    ----------
    time_limit : float or None
        Seconds.
    threads : int
        Threads the solver may use; SCIP always uses one.
    seed : int
        Makes a run repeatable.
    extra : dict
        Options of the solver under its own names, which override all others; an unknown one is
        an error.
    on_progress : callable or None
        Called from time to time while a model with integer columns is solved; returning True
        stops the solver. What it raises stops the solver, too, and is raised again afterwards.
    """

    time_limit: float | None = None
    threads: int = 1
    seed: int = 0
    extra: dict[str, object] = field(default_factory=dict)
    on_progress: OnProgress | None = None


# What it answers

RawStatus = Literal["optimal", "infeasible", "limit", "interrupted", "stopped", "failed"]
OpenStatus = RawStatus | Literal["infeasible or unbounded"]

SOLVER_INFINITY: Final = 1e20
"""Solvers without a float infinity mean infinity from here on."""


ABSOLUTE_GAP: Final = 1e-6
"""Distance of incumbent and bound at which an incumbent counts as optimal."""


@dataclass(frozen=True, eq=False)
class RawResult:
    """What a solver answered, unchecked.

    Parameters
    ----------
    status : str
        "optimal", "infeasible", "limit" (time, nodes or memory), "interrupted" (Ctrl-C),
        "stopped" (by the progress callback) or "failed" (unbounded, numerical problems).
    x : ndarray or None
        The incumbent, if there is one.
    bound : float
        Lower bound on the objective, -inf if none.
    interrupted : bool
        Whether Ctrl-C was pressed, even if the solver was done before it could stop.
    """

    status: RawStatus
    x: Floats | None
    bound: float
    nodes: int
    seconds: float
    log: str = ""
    interrupted: bool = False


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


def float_bound(value: float) -> float:
    """Return a solver's bound with its infinity made a float's.

    Examples
    --------
    >>> float_bound(1e100), float_bound(-1e20), float_bound(3.0)
    (inf, -inf, 3.0)
    """
    return math.copysign(math.inf, value) if abs(value) >= SOLVER_INFINITY else float(value)


# Progress and Ctrl-C while it runs


class Watch:
    """Passes the progress of a solver on, and knows when and why it must stop."""

    def __init__(self, on_progress: OnProgress | None = None) -> None:
        self.on_progress = on_progress
        self.started = time.perf_counter()
        self.interrupted = self.stopped = False
        self.error: BaseException | None = None

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started

    @property
    def must_stop(self) -> bool:
        """Whether the solver is to stop."""
        return self.interrupted or self.stopped or self.error is not None

    @property
    def reason(self) -> RawStatus:
        """Why a solver that stopped on request did so."""
        return "stopped" if self.stopped else "interrupted"

    def see(self, incumbent: float, bound: float, nodes: int, x: Floats | None = None) -> bool:
        """Pass progress on and return whether the solver must stop."""
        if self.on_progress is not None and not self.must_stop:
            now = Progress(float_bound(incumbent), float_bound(bound), int(nodes), self.seconds, x)
            # An error must not unwind through the solver's own frames.
            try:
                self.stopped = bool(self.on_progress(now))
            except BaseException as error:
                self.error = error
        return self.must_stop

    def listen(self) -> None:
        """Take Ctrl-C as a request to stop; outside the main thread that is not possible."""
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self._on_interrupt)

    def _on_interrupt(self, signum: int, frame: FrameType | None) -> None:
        self.interrupted = True


def settle(status: OpenStatus, model: MatrixModel, watch: Watch) -> RawStatus:
    """Settle what a solver leaves open: who stopped it, and what its presolve could not tell."""
    if status == "interrupted":
        return watch.reason
    if status == "infeasible or unbounded":  # a finite box cannot be unbounded
        cheapest = np.where(model.objective > 0, model.col_lower, model.col_upper)
        bounded = np.isfinite(cheapest[model.objective != 0]).all()
        return "infeasible" if bounded else "failed"
    return status


@contextmanager
def watching(on_progress: OnProgress | None = None) -> Iterator[Watch]:
    """Turn Ctrl-C into a request that the solver's callback sees, so that the incumbent is kept.

    The handler before is put back afterwards. Outside the main thread Ctrl-C is left alone.
    """
    watch = Watch(on_progress)
    before = signal.getsignal(signal.SIGINT)
    watch.listen()
    try:
        yield watch
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)
    if watch.error is not None:
        raise watch.error


# Which solvers there are


@dataclass(frozen=True)
class Backend:
    """A solver that can be asked for by name; it refuses coefficients from ``too_large`` on."""

    name: str
    package: str
    install: str
    priorities: bool
    note: str
    too_large: float = math.inf

    @property
    def is_installed(self) -> bool:
        """Whether the solver's package is there; it is not imported to find out."""
        return find_spec(self.package) is not None

    def version(self) -> str:
        """Return the version of the installed solver."""
        return str(import_module(f"c2rf.forest.backends.{self.name}").version())


BACKENDS = {
    backend.name: backend
    for backend in (
        Backend("highs", "highspy", "pip install highspy", False, "open source, the default", 1e15),
        Backend(
            "scip", "pyscipopt", 'pip install "c2rf[scip]"', True, "open source, one thread", 1e20
        ),
        Backend(
            "gurobi",
            "gurobipy",
            'pip install "c2rf[gurobi]"',
            True,
            "commercial; without a licence up to 2000 variables and 2000 rows",
        ),
    )
}


def installed() -> list[str]:
    """Return the names of the solvers that are installed.

    Examples
    --------
    >>> "highs" in installed()
    True
    """
    return [name for name, backend in BACKENDS.items() if backend.is_installed]


def check_backend(name: str) -> Backend:
    """Return the backend of that name, or say which there are and how to get them."""
    check_choice("backend", name, BACKENDS)
    backend = BACKENDS[name]
    if not backend.is_installed:
        raise BackendNotInstalledError(
            f"backend {name!r} is not installed; install it with: {backend.install} "
            f"(installed are {', '.join(map(repr, installed()))})"
        )
    return backend
