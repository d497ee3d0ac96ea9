"""A solve in progress: the incumbent, the proven bound, the clock and the listener.

The incumbent are the best weights known so far. All methods report here: weights are kept only if
their margins hold, and a bound only if it is proven in whole numbers.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from c2rf._utils.types import Floats
from c2rf.exceptions import VerificationError
from c2rf.forest.backends import BACKENDS, MatrixModel, RawResult, SolverOptions
from c2rf.forest.backends.process import solve_model
from c2rf.forest.problem import Problem, scores
from c2rf.forest.verify import certain_signs
from c2rf.progress import Event, Listener

# A float margin below 1 - this is certainly below one; no exact arithmetic is needed to see it.
_CERTAINLY = 1e-3


class Incumbent:
    """The best weights of a problem so far.

    ``best`` are the weights, all margins met, None as long as none are known; ``eta`` is how far
    their number of positives is from the target.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.best: Floats | None = None
        self.eta: int | None = None

    def _keep(self, weights: Floats) -> bool:
        """Keep weights that meet all margins if they are the best so far; say if they meet them."""
        feasible = with_margins(self.problem, weights)
        if feasible is None:
            return False
        eta = self.problem.eta(feasible)
        if self.eta is None or eta < self.eta:
            self.best, self.eta = feasible, eta
        return True


class SolveState(Incumbent):
    """What all methods share while they solve a problem.

    Parameters
    ----------
    problem : Problem
        What is being solved; weights and bounds are of this problem.
    eta_shift : int
        Added to eta and bound in the events that listeners get.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        backend: str = "highs",
        time_limit: float | None = None,
        threads: int = 1,
        seed: int = 0,
        solver_options: Mapping[str, Any] | None = None,
        eta_shift: int = 0,
        listener: Listener | None = None,
    ) -> None:
        super().__init__(problem)
        self.backend, self.seed = backend, seed
        self.threads = min(threads, os.cpu_count() or 1)  # more only cost memory
        self.solver_options = dict(solver_options or {})
        self.eta_shift, self.listener = eta_shift, listener
        self.started = time.perf_counter()
        self.deadline = None if time_limit is None else self.started + float(time_limit)
        self.interrupted = False
        self.stats: dict[str, Any] = {"phases": {}, "nodes": 0, "warnings": []}
        self.bound = 0
        """Proven: no weights come closer."""
        self._phase = "start"

    # What is known

    @property
    def done(self) -> bool:
        """Whether the best weights are proven to be optimal."""
        return self.eta is not None and self.eta <= self.bound

    @property
    def over(self) -> bool:
        """Whether to stop: proven, out of time or interrupted."""
        return self.done or self.interrupted or self.time_left() == 0

    def offer(self, weights: Floats) -> bool:
        """Keep weights if their margins hold and they are better; say whether they hold."""
        before = self.eta
        holds = self._keep(weights)
        if self.eta != before:
            self.report_progress()
        return holds

    def raise_bound(self, bound: int) -> None:
        """Note a bound that is proven in whole numbers."""
        if bound > self.bound:
            self.bound = bound
            self.report_progress()

    def warn(self, what: str) -> None:
        """Note, once, that something went wrong and was dealt with."""
        if what not in self.stats["warnings"]:
            self.stats["warnings"].append(what)

    # Time and progress

    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started

    def time_left(self) -> float | None:
        """Seconds left, None without a limit."""
        return None if self.deadline is None else max(0.0, self.deadline - time.perf_counter())

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time a phase under its name."""
        outer, self._phase = self._phase, name
        start = time.perf_counter()
        self.report_progress()
        try:
            yield
        finally:
            phases = self.stats["phases"]
            phases[name] = phases.get(name, 0.0) + time.perf_counter() - start
            self._phase = outer

    def report_progress(self) -> None:
        """Call the listener with the phase, eta and bound of now."""
        if self.listener is not None:
            eta = None if self.eta is None else self.eta + self.eta_shift
            self.listener(Event(self._phase, eta, self.bound + self.eta_shift, self.elapsed()))

    # Solvers

    def solve_raw(self, model: MatrixModel) -> RawResult:
        """Run the backend within the time left, and note in ``stats`` that it ran."""
        options = SolverOptions(
            time_limit=self.time_left(),
            threads=self.threads,
            seed=self.seed,
            extra=self.solver_options,
        )
        raw = solve_model(model, self.backend, options, lambda _: self.report_progress())
        self.stats["backend"] = self.backend
        self.stats["backend_version"] = BACKENDS[self.backend].version()
        self.stats["nodes"] += raw.nodes
        self.interrupted |= raw.interrupted
        return raw


def with_margins(problem: Problem, weights: Floats, *, scale: bool = True) -> Floats | None:
    """Return weights in the box whose margins all hold, scaled up if that helps; else None.

    Scaling up within the box only widens margins.

    Examples
    --------
    >>> from c2rf.forest.problem import make_problem
    >>> problem = make_problem([[1, -1]], 1)
    >>> with_margins(problem, np.array([1.5, 1.0]))
    array([100.        ,  66.66666667])
    >>> with_margins(problem, np.array([1.0, 1.0])) is None
    True
    """
    inside = np.clip(weights, problem.lower, problem.upper)
    if problem.n_patterns == 0:
        return inside
    margin = float(np.abs(scores(problem.patterns, inside)).min())
    if margin < 1 and scale:
        factor = _greatest_factor(problem, inside)
        margin *= factor
        inside = np.clip(inside * factor, problem.lower, problem.upper)
    if not margin >= 1 - _CERTAINLY:  # NaN, too
        return None
    try:
        certain_signs(problem.patterns, inside)
    except VerificationError:
        return None
    return inside


def _greatest_factor(problem: Problem, weights: Floats) -> float:
    """Return the greatest factor that keeps the weights in the box."""
    bounds = np.where(weights > 0, problem.upper, problem.lower)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratios = np.where(weights == 0, np.inf, bounds / weights)
    factor = float(ratios.min())
    return max(1.0, factor) if np.isfinite(factor) else 1.0  # zeros stay zeros
