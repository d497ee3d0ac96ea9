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
    RawResult,
    SolverOptions,
    Watch,
    float_bound,
    installed,
    settled,
)

_ALWAYS = {
    "MIPFocus": 3,  # the bound, as in the paper's experiments
    "MIPGap": 0.0,
    # The tightest there are: big-M times tolerance stays small.
    "IntFeasTol": 1e-9,
    "FeasibilityTol": 1e-9,
}

_MAX_SEED = 2_000_000_000

_STATUS = {getattr(GRB.Status, name): name for name in dir(GRB.Status) if name.isupper()}


def run(model: MatrixModel, options: SolverOptions, watch: Watch) -> RawResult:
    """Solve a matrix model with Gurobi."""
    try:
        with _environment() as environment, _load(environment, model) as solver:
            _set_options(solver, options)
            _optimize(solver, watch)
            return _result(solver, watch)
    except GurobiError as error:
        raise BackendError(f"Gurobi failed: {error}") from error


def version() -> str:
    """Return the version of the installed solver."""
    return ".".join(map(str, gurobipy.gurobi.version()))


def _optimize(solver: gurobipy.Model, watch: Watch) -> None:
    kind = GRB.Callback

    def callback(solver: gurobipy.Model, where: int) -> None:
        if where == kind.MIP:
            watch.see(solver.cbGet(kind.MIP_OBJBND), solver.cbGet(kind.MIP_NODCNT))
        elif where == kind.MIPSOL:
            x = np.array(solver.cbGetSolution(solver.getVars()))
            watch.see(solver.cbGet(kind.MIPSOL_OBJBND), solver.cbGet(kind.MIPSOL_NODCNT), x)
        if watch.interrupted:
            solver.terminate()

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
        numvars=len(model.objective),
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


def _result(solver: gurobipy.Model, watch: Watch) -> RawResult:
    status = settled(_STATUS[solver.Status])
    x, bound = None, -np.inf
    if status not in ("infeasible", "failed"):
        bound = float_bound(solver.ObjBound)
        if solver.SolCount > 0:
            x = np.array(solver.getAttr("X", solver.getVars()))
    return RawResult(status, x, bound, int(solver.NodeCount), watch.seconds)
