"""SCIP: open source, takes branching priorities, runs on one thread."""

from __future__ import annotations

from typing import Any

import numpy as np
from pyscipopt import Eventhdlr, Model
from pyscipopt.scip import PY_SCIP_EVENTTYPE, Expr, ExprCons

from c2rf._utils.types import Floats
from c2rf.exceptions import BackendError, InputError
from c2rf.forest.backends import (
    ABSOLUTE_GAP,
    SOLVER_INFINITY,
    MatrixModel,
    RawResult,
    SolverOptions,
    Watch,
    float_bound,
    settled,
)

_ALWAYS = {
    "misc/catchctrlc": False,  # Ctrl-C is seen by the event handler
    "limits/gap": 0.0,
    "numerics/feastol": 1e-9,  # of rows and of integrality: big-M times tolerance stays small
}

_EVENTS = (
    PY_SCIP_EVENTTYPE.PRESOLVEROUND,
    PY_SCIP_EVENTTYPE.LPSOLVED,
    PY_SCIP_EVENTTYPE.NODESOLVED,
    PY_SCIP_EVENTTYPE.BESTSOLFOUND,
)


def run(model: MatrixModel, options: SolverOptions, watch: Watch) -> RawResult:
    """Solve a matrix model with SCIP."""
    solver = Model()
    try:
        solver.hideOutput()
        _set_options(solver, options)
        columns = _pass_model(solver, model)
        solver.includeEventhdlr(
            _EventHandler(watch, columns), "watch", "passes progress on and stops"
        )
        try:
            solver.optimizeNogil()  # other threads go on
        except Exception as error:
            raise BackendError(f"SCIP failed: {error}") from error
        return _result(solver, columns, watch)
    finally:
        solver.free()  # solver and event handler hold each other


def version() -> str:
    """Return the version of the installed solver."""
    solver = Model()
    numbers = (solver.getMajorVersion(), solver.getMinorVersion(), solver.getTechVersion())
    return ".".join(map(str, numbers))


class _EventHandler(Eventhdlr):
    """Lets the watch see what happens and stops SCIP when the watch says so."""

    def __init__(self, watch: Watch, columns: list[Any]) -> None:
        self.watch, self.columns = watch, columns

    def eventinit(self) -> None:
        for event in _EVENTS:
            self.model.catchEvent(event, self)

    def eventexec(self, event: Any) -> None:
        solver, x = self.model, None
        if event.getType() == PY_SCIP_EVENTTYPE.BESTSOLFOUND:
            x = _best(solver, self.columns)
        if self.watch.see(solver.getDualbound(), solver.getNTotalNodes(), x):
            solver.interruptSolve()


def _set_options(solver: Model, options: SolverOptions) -> None:
    chosen: dict[str, object] = {
        **_ALWAYS,
        "limits/absgap": ABSOLUTE_GAP,
        "randomization/randomseedshift": options.seed,
    }
    if options.time_limit is not None:
        chosen["limits/time"] = min(max(0.0, options.time_limit), SOLVER_INFINITY)
    for name, value in {**chosen, **options.extra}.items():
        try:
            solver.setParam(name, value)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"SCIP has no option {name!r} that takes {value!r}") from error


def _pass_model(solver: Model, model: MatrixModel) -> list[Any]:
    """Build columns, rows and priorities; return the columns."""
    columns = [
        solver.addVar("", "I" if integer else "C", lower, upper, cost)
        for integer, lower, upper, cost in zip(
            model.integrality.tolist(),
            _finite(model.col_lower),
            _finite(model.col_upper),
            model.objective.tolist(),
            strict=True,
        )
    ]
    indptr, indices, data = (
        part.tolist() for part in (model.matrix.indptr, model.matrix.indices, model.matrix.data)
    )
    limits = zip(_finite(model.row_lower), _finite(model.row_upper), strict=True)
    for i, (lower, upper) in enumerate(limits):
        # An empty row filled afterwards: no expression trees are built.
        row = solver.addCons(ExprCons(Expr(), lower, upper))
        for k in range(indptr[i], indptr[i + 1]):
            solver.addCoefLinear(row, columns[indices[k]], data[k])
    if model.priorities is not None:
        for column, priority in zip(columns, model.priorities.tolist(), strict=True):
            solver.chgVarBranchPriority(column, priority)
    return columns


def _finite(bounds: Floats) -> list[float]:
    """Return bounds with SCIP's infinity."""
    clipped: list[float] = np.clip(bounds, -SOLVER_INFINITY, SOLVER_INFINITY).tolist()
    return clipped


def _best(solver: Model, columns: list[Any]) -> Floats:
    best: Any = solver.getBestSol()
    return np.array([best[column] for column in columns])


def _result(solver: Model, columns: list[Any], watch: Watch) -> RawResult:
    status = settled(solver.getStatus())
    x, bound = None, -np.inf
    if status not in ("infeasible", "failed"):
        bound = float_bound(solver.getDualbound())
        if solver.getNSols() > 0:
            x = _best(solver, columns)
    return RawResult(status, x, bound, int(solver.getNTotalNodes()), watch.seconds)
