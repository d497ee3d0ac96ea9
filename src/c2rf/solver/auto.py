"""``auto``: search for weights and prove a bound in turns, until they meet.

An easy problem never pays for a hard one's machinery: each method gets little work at first, and
only what is still open then gets more. The methods, cheapest first:

- the search over weights (:mod:`c2rf.solver.search`): where the total can be met, that is all. It
  gets more of the time while the linear programs do not exclude that;
- linear programs over z with pairs and cuts, and a tree of cases when they stall
  (:mod:`c2rf.solver.proof.prover`); the signs they wish for are a start for the search.
"""

from __future__ import annotations

from c2rf.solver.certify import Certifier, infeasible_if_proven
from c2rf.solver.proof.prover import Prover, ProverStep
from c2rf.solver.realise import realise
from c2rf.solver.run import Run
from c2rf.solver.search import Searcher

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
