"""``solve``: checks what it is given, runs the method, returns a verified solution."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from c2rf.auto import solve_auto
from c2rf.backends import BACKENDS, check_backend
from c2rf.exceptions import InputError, InputTypeError, NoSolutionError
from c2rf.infeasible import hopeless_patterns, raise_infeasible
from c2rf.lattice import odd_lattice_point
from c2rf.milp import solve_big_m
from c2rf.prefer import nearest_to_majority
from c2rf.problem import Floats, Problem, Solution, Status, make_problem
from c2rf.progress import listening
from c2rf.reduce import Reduction, reduce, spread
from c2rf.run import Event, Run
from c2rf.verify import certain_signs, verify
from c2rf.votes import PatternTable


@dataclass(frozen=True)
class Method:
    """A way to solve: what is done to the problem first, what then."""

    prepare: Callable[[Problem], Reduction]
    solve: Callable[[Run], None]
    priorities: bool = False


METHODS = {
    # Search and bound in turns
    "auto": Method(reduce, solve_auto),
    # Algorithm 1
    "p-c2rf": Method(reduce, lambda run: solve_big_m(run, priorities=True), priorities=True),
    # Algorithm 1 without the branching rule
    "only-pp": Method(reduce, lambda run: solve_big_m(run, priorities=False)),
    # P1 as printed, a row per point, with the branching rule of Section 4
    "only-br": Method(spread, lambda run: solve_big_m(run, priorities=True), priorities=True),
    # P1 as printed
    "c2rf": Method(spread, lambda run: solve_big_m(run, priorities=False)),
}
_SEEDS = 2**31 - 1

PREFERENCES = {"majority": nearest_to_majority}


def solve(
    votes: ArrayLike | PatternTable,
    n_positive: int | float,
    lower: float = 1.0,
    upper: float = 100.0,
    *,
    method: str = "auto",
    backend: str = "highs",
    offset: tuple[float, float] | None = None,
    prefer: str | None = None,
    time_limit: float | None = None,
    threads: int = 1,
    random_state: int | np.random.Generator | np.random.RandomState | None = None,
    progress: bool | Callable[[Event], None] = False,
) -> Solution:
    """Find tree weights whose weighted vote makes ``n_positive`` points positive, or nearly so.

    Minimises eta, the distance between the number of points with a positive weighted vote and
    the wished number, over all weights in [lower, upper] that give every point a margin of at
    least one.

    Parameters
    ----------
    votes : array-like of shape (n_points, n_trees), or PatternTable
        Votes of -1/+1. For a table, labels are per pattern.
    n_positive : int or float
        The known number of positives (an integer), or their rate (a float in [0, 1]).
    lower, upper : float
        The box of the weights, 0 < lower <= upper.
    method : {"auto", "c2rf", "p-c2rf", "only-pp", "only-br"}
        "auto" is the fastest; the others are the paper's, for comparison.
    backend : {"highs", "scip", "gurobi"}
        The solver of linear and integer programs.
    offset : (lo, hi) or None
        Range of a free shift added to every score; ``(-t * upper, t * upper)`` with t trees
        allows every cut-off of the vote.
    prefer : {"majority"} or None
        Among weights with the smallest eta, those with the smallest L1 distance to a common
        level. ``stats["prefer"]`` has the ``distance``, a proven lower ``bound`` on it, and
        whether it is ``proven``: "yes", "for these labels" or "no".
    time_limit : float or None
        Seconds. At the limit (and at Ctrl-C) the best weights and bound so far are returned.
    threads : int
        Threads of the solver.
    random_state : int, Generator, RandomState or None
        Seed; None means 0. The same seed gives the same result unless a time limit is hit.
    progress : bool or callable
        Show progress on standard error, or call a function with each event.

    Returns
    -------
    Solution
        Verified by :func:`c2rf.verify`.

    Raises
    ------
    InfeasibleError
        If no weights in the box give every point a margin of one.
    NoSolutionError
        If a limit ended the work before any weights were found.

    Examples
    --------
    >>> import c2rf
    >>> votes = [[1, 1, -1], [-1, 1, -1], [-1, 1, 1], [-1, -1, 1]]
    >>> solution = c2rf.solve(votes, 1)
    >>> solution.labels
    array([ 1, -1, -1, -1], dtype=int8)
    >>> solution.eta, solution.status
    (0, 'optimal')
    """
    chosen: Method = _check_choice("method", method, METHODS)
    check_backend(backend)
    if prefer is not None:
        _check_choice("prefer", prefer, PREFERENCES)
    _check_limits(time_limit, threads)
    if isinstance(votes, PatternTable):
        table, expand = votes, None
    else:
        table = PatternTable.from_votes(votes, inverse=True)
        expand = table.inverse
    problem = make_problem(table, n_positive, lower, upper, offset)
    reduction = chosen.prepare(problem)
    with listening(progress) as listener:
        run = Run(
            reduction.problem,
            backend=backend,
            time_limit=time_limit,
            threads=threads,
            seed=_seed(random_state),
            eta_shift=reduction.eta_shift,
            listener=listener,
            votes=table.patterns[reduction.kept],
        )
        _solve(run, chosen)
        weights = reduction.lift(_best(run))
        if prefer is not None:
            weights = PREFERENCES[prefer](run, problem, table.n_trees, weights)
    solution = _solution(table, problem, weights, run)
    solution.stats.update(_sizes(table, reduction), **_means(method, chosen, run))
    verify(table, problem.n_positive, solution, lower, upper, offset=offset)
    return solution if expand is None else replace(solution, labels=solution.labels[expand])


def _solve(run: Run, method: Method) -> None:
    """Run the method unless the problem is hopeless or already solved."""
    if len(hopeless_patterns(run.problem)):
        raise_infeasible(run)
    if run.problem.n_patterns == 0:  # all signs are fixed: any weights do
        run.offer(run.problem.upper)
        run.raise_bound(run.problem.n_positive, "all patterns fixed")
        return
    try:
        method.solve(run)
    except KeyboardInterrupt:  # between two runs of a solver; within one the solver sees to it
        run.interrupted = True


def _best(run: Run) -> Floats:
    """Return the best weights found; at worst those that need no search."""
    if run.best is None:
        instant = odd_lattice_point(run.problem)
        if instant is None or not run.offer(instant):
            raise NoSolutionError(
                f"no weights with all margins were found within {run.elapsed():.1f} seconds; "
                "allow more time, or a box that holds two consecutive integers"
            )
    assert run.best is not None
    return run.best


def _solution(table: PatternTable, problem: Problem, weights: Floats, run: Run) -> Solution:
    """Recount everything from the weights."""
    trees, shift = weights[: table.n_trees], float(weights[table.n_trees :].sum())
    labels = certain_signs(table.patterns, trees, shift)
    eta = abs(int(table.counts[labels > 0].sum()) - problem.n_positive)
    bound = min(eta, run.bound + run.eta_shift)
    status: Status = "optimal" if bound == eta else "feasible"
    return Solution(trees, shift, labels, eta, bound, status, run.elapsed(), run.stats)


def _sizes(table: PatternTable, reduction: Reduction) -> dict[str, Any]:
    return {
        "points": table.n_points,
        "patterns": table.n_patterns,
        "trees": table.n_trees,
        "fixed": table.n_patterns - len(np.unique(reduction.kept)),
        "columns": reduction.problem.n_columns,
    }


def _means(name: str, method: Method, run: Run) -> dict[str, Any]:
    engine = BACKENDS[run.backend]
    able = "used" if engine.priorities else f"not supported by {run.backend}"
    return {
        "method": name,
        "backend": run.backend,
        "backend_version": engine.version(),
        "branching_priorities": able if method.priorities else "not asked for",
        "interrupted": run.interrupted,
    }


def _check_choice(name: str, value: Any, known: dict[str, Any]) -> Any:
    if not isinstance(value, str) or value not in known:
        raise InputError(f"unknown {name} {value!r}; known are {', '.join(map(repr, known))}")
    return known[value]


def _check_limits(time_limit: Any, threads: Any) -> None:
    if time_limit is not None:
        if isinstance(time_limit, bool) or not isinstance(time_limit, numbers.Real):
            raise InputTypeError(f"time_limit must be None or seconds; found {time_limit!r}")
        if not float(time_limit) >= 0:
            raise InputError(f"time_limit must be None or seconds >= 0; found {time_limit}")
    if isinstance(threads, bool) or not isinstance(threads, numbers.Integral):
        raise InputTypeError(f"threads must be a positive integer; found {threads!r}")
    if int(threads) < 1:
        raise InputError(f"threads must be a positive integer; found {threads}")


def _seed(random_state: Any) -> int:
    """Return a seed every solver accepts."""
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(_SEEDS))
    if isinstance(random_state, numbers.Integral) and int(random_state) >= 0:
        return int(random_state) % _SEEDS
    try:
        return int(check_random_state(random_state).randint(_SEEDS))
    except ValueError as error:
        raise InputError(
            "random_state must be None, an integer >= 0, a Generator or a RandomState; "
            f"found {random_state!r}"
        ) from error
