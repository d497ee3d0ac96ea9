"""Gurobi: commercial; its package runs small models without a licence."""

from __future__ import annotations

from typing import Any

import gurobipy
import numpy as np
from gurobipy import GRB, GurobiError
from scipy import sparse

from c2rf.exceptions import BackendError, InputError
from c2rf.forest.backends import (
    ABSOLUTE_GAP,
    MatrixModel,
    OpenStatus,
    RawResult,
    SolverOptions,
    Watch,
    float_bound,
    installed,
    settle,
    watching,
)

_ALWAYS = {
    "MIPFocus": 3,  # the bound, as in the paper's experiments
    "MIPGap": 0.0,
    # The tightest there are: big-M times tolerance stays small.
    "IntFeasTol": 1e-9,
    "FeasibilityTol": 1e-9,
}

_MAX_SEED = 2_000_000_000

_STATUS: dict[int, OpenStatus] = {
    GRB.INTERRUPTED: "interrupted",
    GRB.INF_OR_UNBD: "infeasible or unbounded",
    GRB.OPTIMAL: "optimal",
    GRB.INFEASIBLE: "infeasible",
    GRB.TIME_LIMIT: "limit",
    GRB.NODE_LIMIT: "limit",
    GRB.ITERATION_LIMIT: "limit",
    GRB.SOLUTION_LIMIT: "limit",
    GRB.WORK_LIMIT: "limit",
    GRB.MEM_LIMIT: "limit",
    GRB.USER_OBJ_LIMIT: "limit",
}


def run(model: MatrixModel, options: SolverOptions) -> RawResult:
    """Solve a matrix model with Gurobi."""
    log: list[str] = []
    try:
        with _environment() as environment, _load(environment, model) as solver:
            _set_options(solver, options)
            with watching(options.on_progress) as watch:
                _optimize(solver, _Callback(watch, log))
            return _result(solver, model, watch, "".join(log))
    except GurobiError as error:
        raise BackendError(f"Gurobi failed: {error}") from error


def version() -> str:
    """Return the version of the installed solver."""
    return ".".join(map(str, gurobipy.gurobi.version()))


class _Callback:
    """The callback: keeps the log, lets the watch see what happens, stops when it says so."""

    def __init__(self, watch: Watch, log: list[str]) -> None:
        self.watch, self.log = watch, log
        self.listening = False

    def __call__(self, solver: gurobipy.Model, where: int) -> None:
        if not self.listening:
            # Gurobi has put its own handler of Ctrl-C over ours, which prints.
            self.watch.listen()
            self.listening = True
        kind = GRB.Callback
        if where == kind.MESSAGE:
            self.log.append(solver.cbGet(kind.MSG_STRING))
        elif where == kind.MIP:
            self.watch.see(
                solver.cbGet(kind.MIP_OBJBST),
                solver.cbGet(kind.MIP_OBJBND),
                solver.cbGet(kind.MIP_NODCNT),
            )
        elif where == kind.MIPSOL:
            self.watch.see(
                min(solver.cbGet(kind.MIPSOL_OBJ), solver.cbGet(kind.MIPSOL_OBJBST)),
                solver.cbGet(kind.MIPSOL_OBJBND),
                solver.cbGet(kind.MIPSOL_NODCNT),
                np.array(solver.cbGetSolution(solver.getVars())),
            )
        if self.watch.must_stop:
            solver.terminate()


def _optimize(solver: gurobipy.Model, callback: _Callback) -> None:
    try:
        solver.optimize(callback)
    except GurobiError as error:
        if error.errno != GRB.Error.SIZE_LIMIT_EXCEEDED:
            raise
        others = ", ".join(repr(name) for name in installed() if name != "gurobi")
        raise BackendError(
            "Gurobi without a licence solves models of up to 2000 variables and 2000 rows; "
            f"this one has {solver.NumVars} variables and {solver.NumConstrs} rows; "
            f"installed backends without a limit: {others}"
        ) from error


def _environment() -> gurobipy.Env:
    """Return an environment that prints nothing, not even about its licence."""
    environment = gurobipy.Env(empty=True)
    environment.setParam("LogToConsole", 0)
    environment.start()
    return environment


def _set_options(solver: gurobipy.Model, options: SolverOptions) -> None:
    chosen: dict[str, Any] = {
        **_ALWAYS,
        "MIPGapAbs": ABSOLUTE_GAP,
        "Threads": options.threads,
        "Seed": options.seed % _MAX_SEED,
    }
    if options.time_limit is not None:
        chosen["TimeLimit"] = max(0.0, options.time_limit)
    for name, value in {**chosen, **options.extra}.items():
        try:
            solver.setParam(name, value)
        except (GurobiError, TypeError) as error:
            raise InputError(f"Gurobi has no option {name!r} that takes {value!r}") from error


def _load(environment: gurobipy.Env, model: MatrixModel) -> gurobipy.Model:
    # A row of Gurobi has one side; a range becomes two rows.
    equal = model.row_lower == model.row_upper
    below = np.isfinite(model.row_upper) & ~equal
    above = np.isfinite(model.row_lower) & ~equal
    parts = (equal, below, above)
    rows = np.concatenate([np.flatnonzero(part) for part in parts])
    matrix = sparse.csc_array(model.matrix[rows])
    solver = gurobipy.loadModel(
        env=environment,
        numvars=model.n_cols,
        numconstrs=len(rows),
        obj=model.objective,
        lb=model.col_lower,
        ub=model.col_upper,
        vtype=np.where(model.integrality, GRB.INTEGER, GRB.CONTINUOUS),
        constr_csc=(matrix.data, matrix.indices, matrix.indptr),
        sense=np.repeat(
            [GRB.EQUAL, GRB.LESS_EQUAL, GRB.GREATER_EQUAL], [part.sum() for part in parts]
        ),
        rhs=np.concatenate(
            [model.row_lower[equal], model.row_upper[below], model.row_lower[above]]
        ),
    )
    if model.priorities is not None:
        solver.setAttr("BranchPriority", solver.getVars(), model.priorities.tolist())
    return solver


def _result(solver: gurobipy.Model, model: MatrixModel, watch: Watch, log: str) -> RawResult:
    status = settle(_STATUS.get(solver.Status, "failed"), model, watch)
    x, bound = None, -np.inf
    if status not in ("infeasible", "failed"):
        if solver.IsMIP or status == "optimal":
            bound = float_bound(solver.ObjBound)
        if solver.SolCount > 0:
            x = np.array(solver.getAttr("X", solver.getVars()))
    interrupted = watch.interrupted or status == "interrupted"
    return RawResult(status, x, bound, int(solver.NodeCount), watch.seconds, log, interrupted)
