"""HiGHS, the default solver."""

from __future__ import annotations

from typing import Any

import highspy
import numpy as np

from c2rf.exceptions import BackendError, InputError
from c2rf.forest.backends import (
    ABSOLUTE_GAP,
    MatrixModel,
    OpenStatus,
    RawResult,
    SolverOptions,
    Watch,
    settle,
    watching,
)

# The tightest tolerances keep big-M times tolerance small.
_ALWAYS = {
    "log_to_console": False,
    "mip_rel_gap": 0.0,
    "mip_feasibility_tolerance": 1e-9,
    "primal_feasibility_tolerance": 1e-9,
}

_Highs: Any = highspy.Highs
_Kind = highspy.HighsModelStatus
_STATUS: dict[object, OpenStatus] = {
    _Kind.kInterrupt: "interrupted",
    _Kind.kUnboundedOrInfeasible: "infeasible or unbounded",
    _Kind.kOptimal: "optimal",
    _Kind.kModelEmpty: "optimal",
    _Kind.kInfeasible: "infeasible",
    _Kind.kTimeLimit: "limit",
    _Kind.kSolutionLimit: "limit",
    _Kind.kIterationLimit: "limit",
    _Kind.kObjectiveTarget: "limit",
    _Kind.kMemoryLimit: "limit",
}


def run(model: MatrixModel, options: SolverOptions) -> RawResult:
    """Solve a matrix model with HiGHS."""
    _Highs.resetGlobalScheduler(True)  # the thread count may differ from the last run's
    solver = _Highs()  # a fresh one: its time limit counts all runs of the object
    _set_options(solver, options)
    _pass_model(solver, model)
    log: list[str] = []
    solver.cbLogging += lambda event: log.append(event.message)
    with watching(options.on_progress) as watch:
        solver.cbMipInterrupt += lambda event: _check_stop(event, watch)
        solver.cbMipImprovingSolution += lambda event: _keep(event, watch)
        solver.cbSimplexInterrupt += lambda event: event.interrupt(watch.must_stop)
        solver.run()
    return _result(solver, model, watch, "".join(log))


def version() -> str:
    """Return the version of the installed solver."""
    return str(_Highs().version())


def _check_stop(event: Any, watch: Watch) -> None:
    seen = event.data_out
    if watch.see(seen.mip_primal_bound, seen.mip_dual_bound, seen.mip_node_count):
        event.interrupt()


def _keep(event: Any, watch: Watch) -> None:
    """Report a better solution as soon as it is found."""
    seen = event.data_out
    x = np.array(seen.mip_solution, dtype=float)
    watch.see(seen.objective_function_value, seen.mip_dual_bound, seen.mip_node_count, x)


def _set_options(solver: Any, options: SolverOptions) -> None:
    chosen: dict[str, object] = {
        **_ALWAYS,
        "mip_abs_gap": ABSOLUTE_GAP,
        "threads": options.threads,
        "random_seed": options.seed,
        "parallel": "on" if options.threads > 1 else "off",
    }
    if options.time_limit is not None:
        chosen["time_limit"] = max(0.0, options.time_limit)
    for name, value in {**chosen, **options.extra}.items():
        try:
            taken = solver.setOptionValue(name, value) == highspy.HighsStatus.kOk
        except TypeError:
            taken = False
        if not taken:
            raise InputError(f"HiGHS has no option {name!r} that takes {value!r}")


def _pass_model(solver: Any, model: MatrixModel) -> None:
    status = solver.passModel(
        model.n_cols,
        model.n_rows,
        model.matrix.nnz,
        int(highspy.MatrixFormat.kRowwise),
        int(highspy.ObjSense.kMinimize),
        0.0,
        model.objective,
        model.col_lower,
        model.col_upper,
        model.row_lower,
        model.row_upper,
        model.matrix.indptr.astype(np.int32),
        model.matrix.indices.astype(np.int32),
        model.matrix.data,
        model.integrality.astype(np.int32),
    )
    if status == highspy.HighsStatus.kError:
        raise BackendError(
            f"HiGHS refused a model of {model.n_cols} columns and {model.n_rows} rows"
        )


def _result(solver: Any, model: MatrixModel, watch: Watch, log: str) -> RawResult:
    status = settle(_STATUS.get(solver.getModelStatus(), "failed"), model, watch)
    info = solver.getInfo()
    x = None
    if (
        info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        and status not in ("failed", "infeasible")
    ):
        x = np.array(solver.getSolution().col_value)
    integer = bool(model.integrality.any())
    bound = info.mip_dual_bound if integer else info.objective_function_value
    if status in ("infeasible", "failed") or (not integer and status != "optimal"):
        bound = -np.inf
    nodes = max(0, int(info.mip_node_count))
    return RawResult(status, x, float(bound), nodes, watch.seconds, log, watch.interrupted)
