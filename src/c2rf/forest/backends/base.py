"""What is the same for all solvers, done once around each of them.

The plain matrix problem that a solver sees.

What every solver is asked for and what it answers, in one vocabulary.

"Has a solution" (``x is not None``) and "is proven optimal" (``status``) are two facts: an
incumbent at a limit is never thrown away.

What is the same for all solvers, done once around each of them.

The cutoff is a row, so no solver's own idea of a cutoff matters; a start is an incumbent even if
the solver had no time to look at it.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from types import FrameType
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from c2rf._utils.types import Floats
from c2rf.exceptions import BackendError
from c2rf.forest.problem import BOUND_TOLERANCE


@dataclass(frozen=True, eq=False)
class MatrixModel:
    """min c'x  s.t.  row_lower <= A x <= row_upper, col_lower <= x <= col_upper, some x integer.

    All a backend ever sees. ``priorities`` (greater first) steer branching where the solver can
    be steered.

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


RawStatus = Literal["optimal", "infeasible", "limit", "interrupted", "stopped", "failed"]

SOLVER_INFINITY: Final = 1e20
"""Solvers without a float infinity mean infinity from here on."""


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


@dataclass(frozen=True)
class Options:
    """How to run a solver.

    Parameters
    ----------
    time_limit : float or None
        Seconds.
    threads : int
        Threads the solver may use; SCIP always uses one.
    seed : int
        Makes a run repeatable.
    node_limit : int or None
        Stop after this number of branch-and-bound nodes: a limit that does not depend on the clock.
    cutoff : float or None
        Only solutions with a smaller objective are of interest; a run that finds there are none
        answers "infeasible" and the cutoff as bound. Smaller means by ``BOUND_TOLERANCE``,
        relative above 1; with an integral objective, half a step less says more to the solver.
    gap : float
        Distance of incumbent and bound at which the incumbent counts as optimal. For an integral
        objective anything below 1 is a proof.
    extra : dict
        Options of the solver under its own names, which win over all others; an unknown one is
        an error.
    on_progress : callable or None
        Called now and then while a model with integer columns is solved; returning True stops
        the solver. What it raises stops the solver, too, and is then raised by the run.
    """

    time_limit: float | None = None
    threads: int = 1
    seed: int = 0
    node_limit: int | None = None
    cutoff: float | None = None
    gap: float = 1e-6
    extra: dict[str, object] = field(default_factory=dict)
    on_progress: Callable[[Progress], bool | None] | None = None


@dataclass(frozen=True, eq=False)
class RawResult:
    """What a solver answered, unchecked.

    Parameters
    ----------
    status : str
        "optimal", "infeasible", "limit" (time, nodes or memory), "interrupted" (Ctrl-C),
        "stopped" (by the progress callback) or "failed" (unbounded, numerical trouble).
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
    return max(0, math.ceil(bound - tolerance(bound)))


def tolerance(value: float) -> float:
    """Return by how much objectives near ``value`` must differ to count as different."""
    return BOUND_TOLERANCE * max(1.0, abs(value))


def float_bound(value: float) -> float:
    """Return a solver's bound with its infinity made a float's.

    Examples
    --------
    >>> float_bound(1e100), float_bound(-1e20), float_bound(3.0)
    (inf, -inf, 3.0)
    """
    return math.copysign(math.inf, value) if abs(value) >= SOLVER_INFINITY else float(value)


def infeasible_or_unbounded(model: MatrixModel) -> RawStatus:
    """Settle what a solver's presolve leaves open: a finite box cannot be unbounded."""
    cheapest = np.where(model.objective > 0, model.col_lower, model.col_upper)
    bounded = np.isfinite(cheapest[model.objective != 0]).all()
    return "infeasible" if bounded else "failed"


class SizeLimitError(BackendError):
    """The licence at hand does not cover a model of this size."""


class Watch:
    """Looks on while a solver runs: passes progress on and knows when, and why, to stop."""

    def __init__(self, options: Options) -> None:
        self.on_progress = options.on_progress
        self.started = time.perf_counter()
        self.interrupted = self.stopped = False
        self.error: BaseException | None = None

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started

    @property
    def must_stop(self) -> bool:
        """Whether somebody wants the solver to stop."""
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


@contextmanager
def watching(options: Options) -> Iterator[Watch]:
    """Turn Ctrl-C into a request the solver's callback can see, so that the incumbent survives.

    The handler found is put back afterwards. Outside the main thread Ctrl-C stays what it was:
    a matter of the main thread.
    """
    watch = Watch(options)
    before = signal.getsignal(signal.SIGINT)
    watch.listen()
    try:
        yield watch
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)
    if watch.error is not None:
        raise watch.error


def refuse_unusable(model: MatrixModel) -> None:
    """Stop numbers that some solvers would silently take for others."""
    for part in fields(model):
        values = getattr(model, part.name)
        values = values.data if part.name == "matrix" else values
        usable = np.isfinite if part.name in ("matrix", "objective") else _is_number
        if values is not None and not usable(values).all():
            worst = values[~usable(values)][0]
            raise BackendError(f"the model's {part.name} has {worst} in it: no solver takes that")


def refuse_too_large(model: MatrixModel, too_large: float, backend: str) -> None:
    """Say why a solver will not take a model with huge numbers, and what will."""
    largest = float(np.abs(model.matrix.data).max(initial=0.0))
    if largest >= too_large:
        raise BackendError(
            f"the model has a coefficient of {largest:.3g}, and {backend} takes none from "
            f"{too_large:g} on; the box, the offset or the counts are too large for it: "
            'make them smaller, or use method="auto", which needs no such model'
        )


def _is_number(values: Floats) -> NDArray[np.bool_]:
    return ~np.isnan(values)


def cut_off(model: MatrixModel, cutoff: float) -> MatrixModel:
    """Add c'x <= cutoff, a little less, as a row: it means the same to every solver."""
    limit = cutoff - tolerance(cutoff)
    return replace(
        model,
        matrix=sparse.vstack([model.matrix, sparse.csr_array(model.objective[None])], "csr"),
        row_lower=np.append(model.row_lower, -np.inf),
        row_upper=np.append(model.row_upper, limit),
    )


def with_cutoff(answer: RawResult, cutoff: float) -> RawResult:
    """Return the answer with a bound for the model without the cutoff."""
    limit = cutoff - tolerance(cutoff)
    bound = limit if answer.status == "infeasible" else min(answer.bound, limit)
    return replace(answer, bound=bound)
