"""``solve``: checks what it is given, runs the method, returns a verified solution.

``auto``: search for weights and prove a bound in turns, until they meet.

An easy problem never pays for a hard one's machinery: each method gets little work at first, and
only what is still open then gets more. The methods, cheapest first:

- the search over weights (:mod:`c2rf.forest.search`): where the total can be met, that is all. It
  gets more of the time while the linear programs do not exclude that;
- linear programs over z with pairs and cuts, and a tree of cases when they stall
  (:mod:`c2rf.forest.bounds.branch_and_bound`); the signs they wish for are a start for the search.

``solve``: checks what it is given, runs the method, returns a verified solution.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from c2rf._utils.scalars import check_number, check_whole
from c2rf._utils.text import check_choice
from c2rf._utils.types import Floats
from c2rf.exceptions import InputError, NoSolutionError
from c2rf.forest.backends import BACKENDS, check_backend
from c2rf.forest.bounds.branch_and_bound import Prover, ProverStep
from c2rf.forest.bounds.certify import Certifier, infeasible_if_proven
from c2rf.forest.bounds.feasibility import realise
from c2rf.forest.near_majority import nearest_to_majority
from c2rf.forest.paper import Reduction, reduce, solve_big_m, spread
from c2rf.forest.problem import Problem, Solution, make_problem
from c2rf.forest.run import Event, Run
from c2rf.forest.search.lattice import odd_lattice_point
from c2rf.forest.search.searcher import Searcher
from c2rf.forest.verify import certain_signs, make_statement, verify
from c2rf.forest.votes import PatternTable
from c2rf.progress import solve_listener

# Work of the search, in about nanoseconds, per pattern: what it competes with grows with them, too.
_SEARCH = 4 * 10**4
_LONG_SEARCH = 3 * 10**5  # before the first tree
# Longer than that, up to so many times, the more numbers there are that the count can miss.
_LONGER, _FEW_POINTS = 10, 10**5
_FIRST_SEARCH = 40  # per pair of patterns: before the pairs and the first linear program
_LONGEST_SEARCH = 4 * 10**10
# Part of the work of the proof that the search is allowed as well, the greater one where the
# linear programs do not exclude that the search can reach the bound.
_SHARE, _GREAT_SHARE = 0.5, 1.0
# Work of a case of a tree beside its linear programs and cuts.
_CASE = 2 * 10**6


def solve_auto(run: Run, certifier: Certifier) -> None:
    """Solve the run's problem, to the end or to the limit."""
    searcher = Searcher(run.problem, run.seed)
    h = run.problem.n_patterns
    _search(run, searcher, min(h * max(_SEARCH, _FIRST_SEARCH * h), _LONGEST_SEARCH))
    if run.over:
        return
    with run.phase("pairs"):
        prover = certifier.prover()
    trees = 0
    while not run.over:
        before = _work(prover)
        stuck = _prove(run, prover, searcher)
        first_tree = prover.stalled and trees == 0
        trees += prover.stalled
        least = _long_search(run, prover) if first_tree else h * _SEARCH
        share = _GREAT_SHARE if prover.is_reachable else _SHARE
        _search(run, searcher, max(least, int(share * (_work(prover) - before))))
        if stuck and not run.over:
            run.trouble("no method could close the gap")
            break


def _long_search(run: Run, prover: Prover) -> int:
    """Return how long to search before the first tree."""
    longer = run.problem.n_points / _FEW_POINTS if prover.is_reachable else 1.0
    return int(run.problem.n_patterns * _LONG_SEARCH * min(max(1.0, longer), _LONGER))


def _search(run: Run, searcher: Searcher, work: int) -> None:
    """Search on for a while, and keep what is found."""
    if run.over:
        return

    def look() -> bool:
        found, best = searcher.eta, searcher.best
        if best is not None and found is not None and (run.eta is None or found < run.eta):
            run.offer(best)
        return run.over

    with run.phase("search"):
        searcher.target = run.bound
        searcher.run(work, look)
        look()


def _prove(run: Run, prover: Prover, searcher: Searcher) -> bool:
    """Raise the bound by some steps, and learn from their wishes; say whether it is stuck."""
    with run.phase("bound"):
        enough = _work(prover) + run.problem.n_patterns * _SEARCH
        while True:
            eta = None if run.eta is None else run.eta + run.eta_shift
            step = prover.step(eta, run.time_left, lambda: run.over)
            infeasible_if_proven(prover)
            run.raise_bound(step.bound - run.eta_shift)
            if step.weights is not None:
                run.offer(step.weights)
            if run.over or not prover.stalled or _work(prover) > enough or step.stuck:
                break
        if not run.over:
            _learn(run, searcher, step)
    return step.stuck


def _work(prover: Prover) -> int:
    """Return how much work the proof was so far."""
    return prover.work + _CASE * prover.cases


def _learn(run: Run, searcher: Searcher, step: ProverStep) -> None:
    """Look for weights with the signs the relaxation wishes for; close ones are a start."""
    weights = step.weights
    if weights is None and step.signs is not None:
        answer = realise(run.problem, step.signs)
        weights = answer.nearest if answer.weights is None else answer.weights
    if weights is not None:
        run.offer(weights)
        searcher.offer(weights)


@dataclass(frozen=True)
class SolveMethod:
    """A way to solve: what is done to the problem first, what then."""

    prepare: Callable[[Problem], Reduction]
    solve: Callable[[Run, Certifier], None]
    priorities: bool = False


SOLVE_METHODS = {
    # Search and bound in turns
    "auto": SolveMethod(reduce, solve_auto),
    # Algorithm 1
    "p-c2rf": SolveMethod(reduce, lambda *job: solve_big_m(*job, priorities=True), priorities=True),
    # Algorithm 1 without the branching rule
    "only-pp": SolveMethod(reduce, lambda *job: solve_big_m(*job, priorities=False)),
    # P1 as printed, every row for itself, with the branching rule of Section 4
    "only-br": SolveMethod(
        spread, lambda *job: solve_big_m(*job, priorities=True), priorities=True
    ),
    # P1 as printed
    "c2rf": SolveMethod(spread, lambda *job: solve_big_m(*job, priorities=False)),
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
    certificate: bool = False,
) -> Solution:
    """Find tree weights whose weighted vote makes ``n_positive`` rows positive, or nearly so.

    Minimises eta, the distance between the number of rows with a positive weighted vote and
    the wished number, over all weights in [lower, upper] that give every row a margin of at
    least one.

    Parameters
    ----------
    votes : array-like of shape (n_rows, n_trees), or PatternTable
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
    certificate : bool
        Whether the solution carries the proof of its bound, ``solution.certificate``. The bound
        is proven and checked in either case.

    Returns
    -------
    Solution
        Verified by :func:`c2rf.verify`. ``stats["proof"]`` counts the rows, cases and leaves of
        the proof, the bits of its largest number and the seconds its check took. For the
        paper's methods ``stats["solver_status"]``, ``stats["solver_bound"]`` and
        ``stats["solver_seconds"]`` hold what the solver said of itself, unchecked.

    Raises
    ------
    InfeasibleError
        If no weights in the box give every row a margin of one; the error has the proof.
    NoSolutionError
        If no weights were found, because of a limit or because rounding hides whether there
        are any.

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
    check_choice("method", method, SOLVE_METHODS)
    chosen = SOLVE_METHODS[method]
    check_backend(backend)
    if prefer is not None:
        check_choice("prefer", prefer, PREFERENCES)
    _check_limits(time_limit, threads)
    if isinstance(votes, PatternTable):
        table, expand = votes, None
    else:
        table = PatternTable.from_votes(votes, inverse=True)
        expand = table.inverse
    problem = make_problem(table, n_positive, lower, upper, offset)
    statement = make_statement(table, problem.n_positive, lower, upper, offset)
    reduction = chosen.prepare(problem)
    with solve_listener(progress) as listener:
        run = Run(
            reduction.problem,
            backend=backend,
            time_limit=time_limit,
            threads=threads,
            seed=_seed(random_state),
            eta_shift=reduction.eta_shift,
            listener=listener,
        )
        certifier = Certifier(statement, reduce(problem), run)
        _solve(run, chosen, certifier)
        weights = reduction.lift(_best(run))
        if prefer is not None:
            weights = PREFERENCES[prefer](run, problem, table.n_trees, weights)
    solution = _solution(table, problem, weights, run, certifier)
    solution.stats.update(_sizes(table, reduction), **_run_info(method, chosen, run))
    verify(
        table, problem.n_positive, replace(solution, certificate=None), lower, upper, offset=offset
    )
    if not certificate:
        solution = replace(solution, certificate=None)
    return solution if expand is None else replace(solution, labels=solution.labels[expand])


def _solve(run: Run, method: SolveMethod, certifier: Certifier) -> None:
    """Run the method; Ctrl-C ends it in good order."""
    try:
        certifier.refuse_hopeless()
        if run.problem.n_patterns == 0:  # all signs are fixed: any weights do
            run.offer(run.problem.upper)
        else:
            method.solve(run, certifier)
    except KeyboardInterrupt:
        run.interrupted = True


def _best(run: Run) -> Floats:
    """Return the best weights found; at worst those that need no search."""
    if run.best is None:
        instant = odd_lattice_point(run.problem)
        if instant is None or not run.offer(instant):
            found = f"no weights with all margins were found within {run.elapsed():.1f} seconds"
            if not run.over:
                found += ", and rounding hides whether there are any"
            advice = "allow more time, or" if run.over else "try"
            raise NoSolutionError(f"{found}; {advice} a box that holds two consecutive integers")
    assert run.best is not None
    return run.best


def _solution(
    table: PatternTable, problem: Problem, weights: Floats, run: Run, certifier: Certifier
) -> Solution:
    """Recount everything from the weights, and have the bound checked."""
    trees, shift = weights[: table.n_trees], float(weights[table.n_trees :].sum())
    labels = certain_signs(table.patterns, trees, shift)
    eta = abs(int(table.counts[labels > 0].sum()) - problem.n_positive)
    proof = certifier.certified(eta)
    run.stats["proof"] = proof.stats
    return Solution(
        weights=trees,
        offset=shift,
        labels=labels,
        eta=eta,
        bound=proof.bound,
        status="optimal" if proof.bound == eta else "feasible",
        runtime=run.elapsed(),
        stats=run.stats,
        certificate=proof.certificate,
    )


def _sizes(table: PatternTable, reduction: Reduction) -> dict[str, Any]:
    return {
        "points": table.n_points,
        "patterns": table.n_patterns,
        "trees": table.n_trees,
        "fixed": table.n_patterns - len(np.unique(reduction.kept)),
        "columns": reduction.problem.n_columns,
    }


def _run_info(name: str, method: SolveMethod, run: Run) -> dict[str, Any]:
    engine = BACKENDS[run.backend]
    able = "used" if engine.priorities else f"not supported by {run.backend}"
    return {
        "method": name,
        "backend": run.backend,
        "backend_version": engine.version(),
        "branching_priorities": able if method.priorities else "not asked for",
        "interrupted": run.interrupted,
    }


def _check_limits(time_limit: Any, threads: Any) -> None:
    if time_limit is not None:
        check_number("time_limit", time_limit)
        if not float(time_limit) >= 0:
            raise InputError(f"time_limit must be None or seconds >= 0; found {time_limit}")
    check_whole("threads", threads, least=1)


def _seed(random_state: Any) -> int:
    """Return a seed every solver accepts."""
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(_SEEDS))
    if isinstance(random_state, numbers.Integral) and int(random_state) >= 0:
        return int(random_state) % _SEEDS
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(_SEEDS))
    raise InputError(
        "random_state must be None, an integer >= 0, a Generator or a RandomState; "
        f"found {random_state!r}"
    )
