"""The paper's way: the big-M model, given to a solver, and its answer made true.

A solver's z may be one that no alpha realises, because big-M times the integrality tolerance is
a real margin. So alpha is repaired (scaled, or sought again with z fixed), and a z that is
proven to be impossible is cut off and the model solved again. Where M is so great that the
tolerance blurs whole margins, the solver's weights are welcome but its bound is not believed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from c2rf.backends import RawResult
from c2rf.exceptions import BackendError
from c2rf.formulation import Clause, MatrixModel, big_m, big_m_model
from c2rf.infeasible import raise_infeasible
from c2rf.lattice import odd_lattice_point
from c2rf.run import Run, require
from c2rf.signs import realise

# Solvers keep rows to about 1e-9 of M; from here on that is a tenth of a margin.
_LARGEST_M = 1e8


def solve_big_m(run: Run, *, priorities: bool) -> None:
    """Solve the run's problem by its big-M model, to the end or to the limit."""
    clauses: dict[tuple[bytes, bytes], Clause] = {}
    while not run.over:
        model = big_m_model(run.problem, priorities=priorities, clauses=list(clauses.values()))
        raw = require(run_big_m(run, model, "big-M model"), run.backend)
        if raw.status == "infeasible":
            _deal_with_infeasible(run)
            break
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


def run_big_m(run: Run, model: MatrixModel, source: str, **options: Any) -> RawResult:
    """Solve a model with big-M; believe its bound only where M leaves the tolerance harmless."""
    size = big_m(run.problem)
    if size <= _LARGEST_M:
        return run.solve(model, source, **options)
    run.trouble(f"M = {size:.3g} is too great for a solver's tolerance: its bound is not used")
    return run.solve_raw(model, **options)


def _deal_with_infeasible(run: Run) -> None:
    """Say that the box is empty, unless weights are known: then the solver is wrong."""
    if run.best is not None:
        run.trouble(f"{run.backend} called a model infeasible that has a solution")
    elif odd_lattice_point(run.problem) is not None:
        raise BackendError(
            f"{run.backend} calls a model infeasible that has a solution; "
            "try another backend or a box with a smaller upper / lower"
        )
    else:
        raise_infeasible(run)


def repair(run: Run, x: np.ndarray) -> Clause | None:
    """Offer true weights from a solver's answer; return a clause if its z is impossible."""
    q = run.problem.n_columns
    run.offer(x[:q])
    if run.done:
        return None
    answer = realise(run.problem, np.where(x[q:-1] > 0.5, 1, -1).astype(np.int8))
    if answer.weights is not None:
        run.offer(answer.weights)
    return None if answer.contradiction is None else answer.contradiction.clause
