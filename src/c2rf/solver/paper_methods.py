"""The paper's methods: the big-M model, given to a solver, and its answer made true.

A solver's z may be one that no alpha realises, because big-M times the integrality tolerance is
a real margin. So alpha is repaired (scaled, or sought again with z fixed), and a z that is shown
to be impossible is cut off and the model solved again. What the solver says of its bound is kept
apart as its own word; the bound that is claimed is proven afterwards, by other means.
"""

from __future__ import annotations

import math
import time

import numpy as np

from c2rf.exceptions import BackendError, NoSolutionError
from c2rf.solver.backends import RawResult, integer_bound
from c2rf.solver.certify import Certifier, infeasible_if_proven
from c2rf.solver.formulation import big_m_model
from c2rf.solver.realise import Clause, realise
from c2rf.solver.run import Run
from c2rf.solver.search.odd_lattice import odd_lattice_point

# Seconds for the proof where the solver has used up the time limit.
_LEAST_SECONDS = 1.0


def solve_big_m(run: Run, certifier: Certifier, *, priorities: bool) -> None:
    """Solve the run's problem by its big-M model; then prove of its answer what can be proven."""
    started = time.perf_counter()
    with run.phase("model"):
        raw = _solve_models(run, priorities)
    run.stats["solver_seconds"] = time.perf_counter() - started
    run.stats["solver_status"] = _status(run, raw)
    run.stats["solver_bound"] = _bound(run, raw)
    left = run.time_left()
    seconds = None if left is None else max(left, _LEAST_SECONDS)
    with run.phase("bound"):
        if run.eta is not None:
            certifier.prove(run.eta + run.eta_shift, seconds)
        elif raw is not None and raw.status == "infeasible":
            _deal_with_infeasible(run, certifier, seconds)


def _solve_models(run: Run, priorities: bool) -> RawResult | None:
    """Solve the model, again and again while its answer is an impossible z that can be cut off."""
    clauses: dict[tuple[bytes, bytes], Clause] = {}
    raw = None
    while not run.over:
        model = big_m_model(run.problem, priorities=priorities, clauses=list(clauses.values()))
        raw = run.solve_raw(model, on_progress=lambda _: run.report_progress())
        if raw.status == "failed":
            raise BackendError(
                f"{run.backend} failed; its log ends:\n{raw.log[-500:]}\nTry another backend."
            )
        clause = None if raw.x is None else repair(run, raw.x)
        if clause is None:
            break
        run.stats["impossible_z"] = run.stats.get("impossible_z", 0) + 1
        name = clause.patterns.tobytes(), clause.signs.tobytes()
        if name in clauses:
            run.trouble(f"{run.backend} returned a z that was cut off")
            break
        clauses[name] = clause
        if raw.status != "optimal":
            break
    return raw


def _status(run: Run, raw: RawResult | None) -> str:
    """Return what the solver claims of the weights that were made of its answer."""
    if raw is None:
        return "limit"
    if raw.status == "optimal" and (run.eta is None or run.eta > integer_bound(raw.bound)):
        return "limit"  # optimal for the model, but its weights are not what it promised
    return raw.status


def _bound(run: Run, raw: RawResult | None) -> int:
    """Return the bound that the solver claims."""
    if raw is None or not math.isfinite(raw.bound):
        return 0
    return integer_bound(raw.bound) + run.eta_shift


def _deal_with_infeasible(run: Run, certifier: Certifier, seconds: float | None) -> None:
    """Say that there are no weights if that can be proven; else that none were found."""
    if odd_lattice_point(run.problem) is not None:
        raise BackendError(
            f"{run.backend} calls a model infeasible that has a solution; "
            "try another backend or a box with a smaller upper / lower"
        )
    certifier.prove(None, seconds)
    infeasible_if_proven(certifier.prover())
    raise NoSolutionError(
        f"{run.backend} found no weights and says that there are none, but that could not be "
        'proven; try method="auto" or a longer time_limit'
    )


def repair(run: Run, x: np.ndarray) -> Clause | None:
    """Offer true weights from a solver's answer; return a clause if its z is impossible."""
    q = run.problem.n_columns
    run.offer(x[:q])
    if run.done or (run.over and run.best is not None):  # no time for the linear program
        return None
    answer = realise(run.problem, np.where(x[q:-1] > 0.5, 1, -1).astype(np.int8))
    if answer.weights is not None:
        run.offer(answer.weights)
    return None if answer.contradiction is None else answer.contradiction.clause
