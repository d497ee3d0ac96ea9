"""``solve``: from votes and a total to verified weights with a proven bound.

:func:`solve` checks its arguments, runs the method and has the result verified. The methods of the
paper are in :mod:`c2rf.forest.paper`; ``auto`` is here. It alternates between two things until
they meet:

- a search for weights (:mod:`c2rf.forest.search`), which is all that is needed where the total can
  be met. It gets more of the time while the linear programs do not exclude that;
- a proof of a bound (:mod:`c2rf.forest.bounds.branch_and_bound`): linear programs over z with
  cuts, and branch and bound where they stall. The search starts from what they suggest.

Each gets little work at first and more the longer the problem stays open, so that easy problems
are quick.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from c2rf._utils.interrupts import is_interrupt
from c2rf._utils.text import all_of, check_choice
from c2rf._utils.types import MOST_SEEDS, Floats, check_whole
from c2rf.exceptions import InputError, InputTypeError, NoSolutionError
from c2rf.forest.backends import BACKENDS, check_backend
from c2rf.forest.bounds.branch_and_bound import Prover
from c2rf.forest.bounds.certify import Certifier, raise_if_infeasible
from c2rf.forest.bounds.feasibility import find_weights
from c2rf.forest.incumbent import SolveState
from c2rf.forest.minimal_change import (
    closest_to_equal,
    distance_from_equal,
    start_near_majority,
)
from c2rf.forest.paper import (
    PAPER_METHODS,
    Reduction,
    check_counts,
    merge_points,
    reduce,
    solve_big_m,
)
from c2rf.forest.problem import (
    Problem,
    Solution,
    box_with_weights,
    check_time_limit,
    make_problem,
    make_statement,
)
from c2rf.forest.search.lattice import odd_lattice_point
from c2rf.forest.search.searcher import LARGE_FOREST, Searcher
from c2rf.forest.verify import certain_signs, verify
from c2rf.forest.votes import PatternTable
from c2rf.progress import Event, solve_listener

SOLVE_METHODS = ("auto", *PAPER_METHODS)
PREFERENCES = ("majority",)


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
    solver_options: Mapping[str, Any] | None = None,
) -> Solution:
    """Find tree weights whose weighted vote makes ``n_positive`` rows positive, or nearly so.

    Minimises eta, the distance between the number of rows with a positive weighted vote and
    ``n_positive``, over all weights in [lower, upper] that give every row a margin of at least
    one.

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
        The solver of the paper's methods; "auto" runs none of them. HiGHS has no branching
        priorities: with it "p-c2rf" is "only-pp", and "only-br" is "c2rf".
    offset : (lo, hi) or None
        Range of a free shift added to every score; ``(-t * upper, t * upper)`` with t trees
        allows every cut-off of the vote.
    prefer : {"majority"} or None
        Among weights that give the labels found, those with the smallest L1 distance to a
        common level. ``stats["distance_from_equal"]`` is this distance.
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
    solver_options : mapping or None
        Options of the solver of the paper's methods under its own names, such as
        ``{"MIPFocus": 1}``; they override all others.

    Returns
    -------
    Solution
        Verified by :func:`c2rf.verify`: its claims hold within the tolerance of 1e-9 that weights
        have at the ends of the box and margins at one. ``stats["proof"]`` counts the rows, nodes
        and leaves of the proof, the bits of its largest number and the seconds its check took.
        For the paper's methods ``stats["solver_status"]``, ``stats["solver_bound"]`` and
        ``stats["solver_seconds"]`` hold what the solver says about itself, unchecked.
        ``stats["backend"]`` and ``stats["backend_version"]`` are there if a solver ran.

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
    check_backend(backend)
    if prefer is not None:
        check_choice("prefer", prefer, PREFERENCES)
    check_time_limit(time_limit)
    _check_solver_options(solver_options, method)
    check_whole("threads", threads, least=1)
    if isinstance(votes, PatternTable):
        table, expand = votes, None
    else:
        table = merge_points(votes)
        expand = table.inverse
    problem = make_problem(table, n_positive, lower, upper, offset)
    if method != "auto":
        check_counts(problem, method)
    statement = make_statement(table, problem.n_positive, lower, upper, offset)
    reduction = reduce(problem) if method == "auto" else PAPER_METHODS[method].prepare(problem)
    with solve_listener(progress) as listener:
        state = SolveState(
            reduction.problem,
            backend=backend,
            time_limit=time_limit,
            threads=threads,
            seed=_seed(random_state),
            solver_options=solver_options,
            eta_shift=reduction.eta_shift,
            listener=listener,
        )
        certifier = Certifier(statement, reduce(problem), state)
        if prefer == "majority":
            start = start_near_majority(problem, table.n_trees, state.seed)
            if start is not None:
                state.offer(np.bincount(reduction.group, weights=start).astype(float))
        _run_method(state, method, certifier)
        weights = reduction.lift(_best(state, offset is not None))
        if prefer == "majority":
            weights = _closest_to_equal(state, problem, table.n_trees, weights)
    solution = _solution(table, problem, weights, state, certifier)
    solution.stats.update(_sizes(table, reduction), **_method_stats(method, state))
    verify(
        table, problem.n_positive, replace(solution, certificate=None), lower, upper, offset=offset
    )
    if not certificate:
        solution = replace(solution, certificate=None)
    return solution if expand is None else replace(solution, labels=solution.labels[expand])


def _run_method(state: SolveState, method: str, certifier: Certifier) -> None:
    """Run the method; Ctrl-C ends it in good order."""
    try:
        certifier.refuse_infeasible()
        if state.problem.n_patterns == 0:  # all signs are fixed: any weights do
            state.offer(state.problem.upper)
        elif method == "auto":
            solve_auto(state, certifier)
        else:
            solve_big_m(state, certifier, priorities=PAPER_METHODS[method].priorities)
    except BaseException as error:
        if not is_interrupt(error):
            raise
        state.interrupted = True


def _closest_to_equal(state: SolveState, problem: Problem, n_trees: int, weights: Floats) -> Floats:
    """Return the weights closest to equal ones, those found if there is no time for that."""
    with state.phase("prefer"):
        try:
            if not state.interrupted and state.time_left() != 0:
                weights = closest_to_equal(problem, n_trees, weights, state.time_left())
        except KeyboardInterrupt:
            state.interrupted = True
    state.stats["distance_from_equal"] = distance_from_equal(weights[:n_trees])
    return weights


def _best(state: SolveState, with_offset: bool) -> Floats:
    """Return the best weights found; at worst those that need no search."""
    if state.best is None:
        instant = odd_lattice_point(state.problem)
        if instant is None or not state.offer(instant):
            found = f"no weights with all margins were found within {state.elapsed():.1f} seconds"
            if not state.over:
                found += ", and rounding hides whether there are any"
            advice = "allow more time, or" if state.over else "try"
            raise NoSolutionError(f"{found}; {advice} {box_with_weights(with_offset)}")
    assert state.best is not None
    return state.best


def _solution(
    table: PatternTable, problem: Problem, weights: Floats, state: SolveState, certifier: Certifier
) -> Solution:
    """Recount everything from the weights, and have the bound checked."""
    trees, shift = weights[: table.n_trees], float(weights[table.n_trees :].sum())
    labels = certain_signs(table.patterns, trees, shift)
    eta = abs(int(table.counts[labels > 0].sum()) - problem.n_positive)
    bound, certificate, state.stats["proof"] = certifier.certified(eta)
    return Solution(
        weights=trees,
        offset=shift,
        labels=labels,
        eta=eta,
        bound=bound,
        status="optimal" if bound == eta else "feasible",
        runtime=state.elapsed(),
        stats=state.stats,
        certificate=certificate,
    )


def _sizes(table: PatternTable, reduction: Reduction) -> dict[str, Any]:
    return {
        "points": table.n_points,
        "patterns": table.n_patterns,
        "trees": table.n_trees,
        "fixed": table.n_patterns - len(np.unique(reduction.kept)),
        "columns": reduction.problem.n_columns,
    }


def _method_stats(name: str, state: SolveState) -> dict[str, Any]:
    """Say which method ran, and whether the solver, if one ran, used branching priorities."""
    stats: dict[str, Any] = {"method": name, "interrupted": state.interrupted}
    if "backend" in state.stats:
        method = PAPER_METHODS[name]
        if not method.priorities:
            stats["branching_priorities"] = "not asked for"
        elif BACKENDS[state.backend].priorities:
            stats["branching_priorities"] = "used"
        else:
            same = method.without_priorities
            stats["branching_priorities"] = f"not supported by {state.backend}: same as {same}"
    return stats


def _check_solver_options(given: Any, method: str) -> None:
    """Refuse options that are no mapping, or that no solver gets; a solver refuses the others."""
    if given is None:
        return
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise InputTypeError(
            f"solver_options must be a mapping from names of options to values; found {given!r}"
        )
    if given and method == "auto":
        raise InputError(
            f'solver_options are for the solver of the paper\'s methods, and method="auto" runs '
            f"none; leave out {all_of(list(given))}, or choose one of {', '.join(PAPER_METHODS)}"
        )


def _seed(random_state: Any) -> int:
    """Return a seed every solver accepts."""
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(MOST_SEEDS))
    if isinstance(random_state, numbers.Integral) and int(random_state) >= 0:
        return int(random_state) % MOST_SEEDS
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(MOST_SEEDS))
    raise InputError(
        "random_state must be None, an integer >= 0, a Generator or a RandomState; "
        f"found {random_state!r}"
    )


# The method "auto". Work is counted in about nanoseconds, not measured, so that the same seed
# gives the same result on any machine.

# Work of a search, per pattern; before branch and bound begins; and up to how many times that much
# the more rows there are.
_SEARCH = 4 * 10**4
_LONG_SEARCH = 3 * 10**5
_LONGER, _FEW_POINTS = 10, 10**5
# Work of the first search, per pair of patterns, and its limit.
_FIRST_SEARCH = 40
_LONGEST_SEARCH = 4 * 10**10
# The search may take this part of the work of the proof; the greater part where the linear
# programs do not exclude that weights reach the bound.
_SHARE, _GREAT_SHARE = 0.5, 1.0
# A large forest of whose eta less than this part is proven when cuts stall, or after that work, is
# only searched; without a time limit for this much more work, a minute or two.
_USEFUL, _LAST_SEARCH = 0.1, 10**11
# Tried on twonorm: with 100 deep trees a tenth is proven by 10^10; with 500 nothing by 3 * 10^10.
_ENOUGH_CUTS = 3 * 10**10
# Work of a node of branch and bound besides its linear programs and cuts.
_NODE = 2 * 10**6


def solve_auto(state: SolveState, certifier: Certifier) -> None:
    """Search and prove in turn until eta meets the bound, or a limit is reached."""
    searcher = Searcher(state.problem, state.seed)
    h = state.problem.n_patterns
    _search(state, searcher, min(h * max(_SEARCH, _FIRST_SEARCH * h), _LONGEST_SEARCH))
    if state.over:
        return
    with state.phase("pairs"):
        prover = certifier.prover()
    branchings = 0
    while not state.over:
        if _bound_stalls(state, prover):
            _search_only(state, searcher)
            break
        before = _work(prover)
        _prove(state, prover, searcher)
        first_branching = prover.stalled and branchings == 0
        branchings += prover.stalled
        least = _long_search(state, prover) if first_branching else h * _SEARCH
        share = _GREAT_SHARE if prover.is_reachable else _SHARE
        _search(state, searcher, max(least, int(share * (_work(prover) - before))))
        if prover.stuck and not state.over:
            state.warn("no method could close the gap")
            break


def _bound_stalls(state: SolveState, prover: Prover) -> bool:
    """Say whether no useful bound will be proven: many trees, and cuts that raise it to nothing."""
    if state.problem.n_columns < LARGE_FOREST or state.eta is None:
        return False
    tried = prover.stalled or _work(prover) > _ENOUGH_CUTS
    return tried and prover.bound - state.eta_shift < _USEFUL * state.eta


def _search_only(state: SolveState, searcher: Searcher) -> None:
    """Search to the end of the time; without a limit, for as much work as is worth it."""
    state.warn(
        "no useful bound can be proven for so many trees: all time goes into the search for weights"
    )
    state.stats["bound_stalled"] = True
    while not state.over:
        _search(state, searcher, _LAST_SEARCH)
        if state.deadline is None:
            break


def _long_search(state: SolveState, prover: Prover) -> int:
    """Return the work of the search before branch and bound begins."""
    longer = state.problem.n_points / _FEW_POINTS if prover.is_reachable else 1.0
    return int(state.problem.n_patterns * _LONG_SEARCH * min(max(1.0, longer), _LONGER))


def _search(state: SolveState, searcher: Searcher, work: int) -> None:
    """Search on for a while, and keep what is found."""
    if state.over:
        return

    def keep_best() -> bool:
        found, best = searcher.eta, searcher.best
        if best is not None and found is not None and (state.eta is None or found < state.eta):
            state.offer(best)
        return state.over

    with state.phase("search"):
        searcher.goal = state.bound
        searcher.run(work, keep_best)
        keep_best()


def _prove(state: SolveState, prover: Prover, searcher: Searcher) -> None:
    """Raise the bound by some steps, and try the weights that these suggest."""
    with state.phase("bound"):
        enough = _work(prover) + state.problem.n_patterns * _SEARCH
        while True:
            eta = None if state.eta is None else state.eta + state.eta_shift
            prover.step(eta, lambda: state.over)
            raise_if_infeasible(prover)
            state.raise_bound(prover.bound - state.eta_shift)
            if prover.weights is not None:
                state.offer(prover.weights)
            if state.over or not prover.stalled or _work(prover) > enough or prover.stuck:
                break
        if not state.over:
            _offer_suggestion(state, searcher, prover)


def _work(prover: Prover) -> int:
    """Return the work of the proof so far."""
    return prover.work + _NODE * prover.nodes


def _offer_suggestion(state: SolveState, searcher: Searcher, prover: Prover) -> None:
    """Offer weights with the signs that the relaxation suggests, or weights close to that."""
    weights = prover.weights
    if weights is None and prover.signs is not None:
        weights, _, _ = find_weights(state.problem, prover.signs)
    if weights is not None:
        state.offer(weights)
        searcher.offer(weights)
