"""Something closer, or a solver's word that there is nothing: the programs given to a solver."""

from __future__ import annotations

import numpy as np

from c2rf.exceptions import BackendError
from c2rf.solver.near_majority.incumbent import Nearest, same
from c2rf.solver.near_majority.program import PARTS, Program, programs

# Nodes of branch and bound times entries of the matrix; what takes more is left unproven.
_WORK = 5 * 10**5
MOST_FREE = 500
"""Programs with more free signs are not tried."""


def search(nearest: Nearest) -> float:
    """Look for something closer than what is known; return what the solver says is the least."""
    bound = np.inf
    for program in programs(nearest):
        bound = min(bound, _settle(nearest, program))
        if bound <= nearest.bound:  # nothing will be proven: save the rest
            break
    return float(bound)


def _settle(nearest: Nearest, program: Program) -> float:
    """Look among the weights of a program; return the solver's bound on their distance."""
    most = program.most / PARTS
    while not nearest.over:
        if program.empty:
            return most
        if len(program.free) > MOST_FREE:
            break
        model = program.model()
        try:
            raw = nearest.run.solve_raw(model, node_limit=max(1, _WORK // model.matrix.nnz))
        except BackendError as error:
            nearest.run.trouble(str(error))
            break
        if raw.status == "infeasible":
            return most
        if raw.status == "failed" or raw.x is None:
            return min(max(0.0, raw.bound), most)
        nearest.try_signs(program.signs(raw.x[program.size :]))
        if nearest.distance <= raw.bound + same(raw.bound) or not program.tighten(raw.x):
            return max(0.0, raw.bound)
    return 0.0
