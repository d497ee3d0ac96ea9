"""The paper's way: the big-M model, given to a solver, and its answer made true.

A solver's z may be one that no alpha realises, because big-M times the integrality tolerance is
a real margin. So alpha is repaired (scaled, or sought again with z fixed), and a z that is
proven to be impossible is cut off and the model solved again.
"""

from __future__ import annotations

import numpy as np

from c2rf.exceptions import BackendError
from c2rf.formulation import Clause, big_m_model
from c2rf.infeasible import raise_infeasible
from c2rf.lattice import odd_lattice_point
from c2rf.run import Run, require
from c2rf.signs import realise


def solve_big_m(run: Run, *, priorities: bool) -> None:
    """Solve the run's problem by its big-M model, to the end or to the limit."""
    problem, clauses = run.problem, list[Clause]()
    while not run.over:
        model = big_m_model(problem, priorities=priorities, clauses=clauses)
        raw = require(run.solve(model, "big-M model"), run.backend)
        if raw.status == "infeasible":
            if odd_lattice_point(problem) is not None:
                raise BackendError(
                    f"{run.backend} calls a model infeasible that has a solution; "
                    "try another backend or a box with a smaller upper / lower"
                )
            raise_infeasible(run)
        clause = None if raw.x is None else _repair(run, raw.x)
        if clause is None:
            break
        run.stats["impossible_z"] = run.stats.get("impossible_z", 0) + 1
        clauses.append(clause)
        if raw.status != "optimal":
            break


def _repair(run: Run, x: np.ndarray) -> Clause | None:
    """Offer true weights from a solver's answer; return a clause if its z is impossible."""
    q = run.problem.n_columns
    run.offer(x[:q])
    if run.done:
        return None
    answer = realise(run.problem, np.where(x[q:-1] > 0.5, 1, -1).astype(np.int8))
    if answer.weights is not None:
        run.offer(answer.weights)
    return None if answer.contradiction is None else answer.contradiction.clause
