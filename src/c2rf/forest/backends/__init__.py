"""The solvers of the paper's integer programs: what they are asked, what they answer, who they are.

A solver sees a :class:`MatrixModel` and :class:`SolverOptions`, and answers with a
:class:`RawResult` in one vocabulary for all. "Has a solution" (``x is not None``) and "is proven
optimal" (``status``) are two facts: an incumbent at a limit is never thrown away.

A solver is added by a file with ``run(model, options, watch)`` and ``version()``, a line in
:data:`BACKENDS`, its name in :mod:`c2rf.workflow.options`, and an extra in ``pyproject.toml``.
They run in a process of their own (:mod:`c2rf.forest.backends.process`).
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
    """

    time_limit: float | None = None
    threads: int = 1
    seed: int = 0
    extra: dict[str, object] = field(default_factory=dict)


# What it answers

RawStatus = Literal["optimal", "infeasible", "limit", "interrupted", "failed"]

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
        "optimal", "infeasible", "limit" (time, nodes or memory), "interrupted" (Ctrl-C) or
        "failed" (numerical problems).
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
    interrupted: bool = False


def settled(name: str) -> RawStatus:
    """Return the status that a solver calls by that name.

    All models have finite boxes: what is infeasible or unbounded is infeasible.

    Examples
    --------
    >>> settled("kTimeLimit"), settled("inforunbd"), settled("NUMERIC")
    ('limit', 'infeasible', 'failed')
    """
    name = name.lower().removeprefix("k").replace("_", "")
    known: dict[str, RawStatus] = {
        **dict.fromkeys(["optimal", "modelempty", "gaplimit"], "optimal"),
        **dict.fromkeys(["infeasible", "unboundedorinfeasible", "inforunbd"], "infeasible"),
        **dict.fromkeys(["interrupt", "interrupted", "userinterrupt"], "interrupted"),
    }
    return known.get(name, "limit" if "limit" in name else "failed")


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
    """Passes the progress of a solver on, and says when it must stop."""

    often = 0.1
    """Seconds between two reports, but for better solutions."""

    def __init__(self, report: Callable[[RawResult], None]) -> None:
        self.report = report
        self.interrupted = False
        self._started, self._last = time.perf_counter(), -math.inf

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._started

    def see(self, bound: float, nodes: float, x: Floats | None = None) -> bool:
        """Pass on what is known, x being a better solution; return whether the solver must stop."""
        if x is not None or self.seconds - self._last > self.often:
            self._last = self.seconds
            self.report(RawResult("limit", x, float_bound(bound), int(nodes), self._last))
        return self.interrupted


@contextmanager
def catching_interrupts() -> Iterator[threading.Event]:
    """Set an event at Ctrl-C; outside of the main thread Ctrl-C is left alone."""
    pressed = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield pressed
        return
    before = signal.signal(signal.SIGINT, lambda *_: pressed.set())
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)


# Which solvers there are


@dataclass(frozen=True)
class Backend:
    """A solver that can be asked for by name; it refuses coefficients from ``too_large`` on."""

    name: str
    title: str
    package: str
    note: str
    priorities: bool = True
    too_large: float = math.inf

    @property
    def install(self) -> str:
        """How to get it; the first comes with the package."""
        is_first = self.name == next(iter(BACKENDS))
        return f"pip install {self.package}" if is_first else f'pip install "c2rf[{self.name}]"'

    @property
    def is_installed(self) -> bool:
        """Whether the solver's package is there; it is not imported to find out."""
        return find_spec(self.package) is not None

    def version(self) -> str:
        """Return the version of the installed solver."""
        return str(import_module(f"c2rf.forest.backends.{self.name}").version())


LIMITED = "commercial; without a licence up to 2000 variables and 2000 rows"
BACKENDS = {
    backend.name: backend
    for backend in (
        Backend("highs", "HiGHS", "highspy", "open source, the default", False, 1e15),
        Backend("scip", "SCIP", "pyscipopt", "open source, one thread", too_large=1e20),
        Backend("gurobi", "Gurobi", "gurobipy", LIMITED),
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
