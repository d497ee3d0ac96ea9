"""``auto``: search for weights and prove a bound in turns, until they meet.

An easy problem never pays for a hard one's machinery: each means gets little work at first, and
only what is still open then gets more. The means, cheapest first:

- the search over weights (:mod:`c2rf.search`): where the total can be met, it ends the matter;
- linear programs over z with pairs and cuts, and an integer one when they stall
  (:mod:`c2rf.proof.prover`); the signs they wish for are a start for the search;
- the model with alpha, pairs and cuts (:mod:`c2rf.strengthen`), which is exact.
"""

from __future__ import annotations

import math

from c2rf.backends import RawResult
from c2rf.exceptions import BackendError
from c2rf.formulation import MatrixModel, eta_bar
from c2rf.infeasible import raise_infeasible
from c2rf.milp import repair, run_big_m
from c2rf.proof.prover import Prover, ProverStep
from c2rf.run import Run
from c2rf.search import Searcher
from c2rf.signs import realise
from c2rf.strengthen import strengthened_model
from c2rf.structure import MAX_PATTERNS, Structure, find_structure

# Work of the search, in about nanoseconds, per pattern: what it competes with grows with them, too.
_SEARCH = 4 * 10**4
_LONG_SEARCH = 3 * 10**5  # before the first integer program
_FIRST_SEARCH = 40  # per pair of patterns: before the pairs and the first linear program
_LONGEST_SEARCH = 4 * 10**10
# Part of the work of the linear programs that the search is allowed as well.
_SHARE = 0.5
# Nodes of branch and bound, first time; four times as many each time after.
_FIRST_NODES = 500


def solve_auto(run: Run) -> None:
    """Solve the run's problem, to the end or to the limit."""
    searcher = Searcher(run.problem, run.seed)
    h = run.problem.n_patterns
    _search(run, searcher, min(h * max(_SEARCH, _FIRST_SEARCH * h), _LONGEST_SEARCH))
    if run.over:
        return
    with run.phase("pairs"):
        structure = _find_pairs(run)
        if len(structure.impossible):
            raise_infeasible(run)
        prover = Prover(run.problem, structure, seed=run.seed)
    nodes = _FIRST_NODES
    while not run.over:
        settled, before = False, prover.work
        if _prove(run, prover, searcher, nodes):
            settled = _branch(run, prover, searcher, nodes)
            nodes *= 4
        long = prover.stalled and prover.integer_programs == 0
        least = h * (_LONG_SEARCH if long else _SEARCH)
        _search(run, searcher, max(least, int(_SHARE * (prover.work - before))))
        if settled and not run.over:
            run.trouble("all means are exhausted without a proof")
            break
    run.stats["cuts"] = len(prover.cuts)


def _find_pairs(run: Run) -> Structure:
    """Return the pairs, among fewer patterns if memory is short."""
    most = MAX_PATTERNS
    while True:
        try:
            structure = find_structure(run.problem, most)
            break
        except MemoryError:
            if most == 0:
                raise
            most = most // 4 if most > 100 else 0
            run.trouble(f"memory is short: pairs are looked for among {most} patterns only")
    run.stats["pairs"] = structure.n_pairs
    return structure


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


def _prove(run: Run, prover: Prover, searcher: Searcher, nodes: int) -> bool:
    """Raise the bound by a step, and learn from its wishes; say whether it can do no more."""
    with run.phase("bound"):
        step = prover.step(
            run.eta, lambda model: _ask(run, model, nodes), run.time_left(), lambda: run.over
        )
        if run.eta is None and step.bound > eta_bar(run.problem):
            raise_infeasible(run)
        run.raise_bound(step.bound, "cuts")
        if not run.over:
            _learn(run, searcher, step)
    return step.done


def _ask(run: Run, model: MatrixModel, nodes: int) -> RawResult:
    """Give a model to the solver; one that it refuses is not the end."""
    try:
        return run.solve_raw(model, node_limit=nodes)
    except BackendError as error:
        run.trouble(str(error))
        return RawResult("failed", None, -math.inf, 0, 0.0)


def _learn(run: Run, searcher: Searcher, step: ProverStep) -> None:
    """Look for weights with the signs the relaxation wishes for; close ones are a start."""
    weights = step.weights
    if weights is None and step.signs is not None:
        answer = realise(run.problem, step.signs)
        weights = answer.nearest if answer.weights is None else answer.weights
    if weights is not None:
        run.offer(weights)
        searcher.offer(weights)


def _branch(run: Run, prover: Prover, searcher: Searcher, nodes: int) -> bool:
    """Ask the exact model for something better than what is known; say whether that is settled.

    It may be settled without a proof, where rounding hides the answer.
    """
    if run.over:
        return True
    with run.phase("model"):
        model = strengthened_model(run.problem, prover.rows, (prover.lower, prover.upper))
        better = None if run.eta is None else run.eta - 0.5
        try:
            raw = run_big_m(run, model, "exact model", cutoff=better, node_limit=nodes, gap=0.99)
        except BackendError as error:
            run.trouble(str(error))
            return True
        if raw.status == "infeasible" and run.eta is None:
            raise_infeasible(run)
        if raw.x is None:
            return raw.status != "limit"
        before = run.eta
        searcher.offer(raw.x[: run.problem.n_columns])
        impossible = repair(run, raw.x)
        if impossible is not None:
            return not prover.forbid(impossible)
        return raw.status == "optimal" and run.eta == before
