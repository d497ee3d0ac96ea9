"""HiGHS, the default solver."""

from __future__ import annotations

from typing import Any

import highspy
import numpy as np

from c2rf.exceptions import BackendError, InputError
from c2rf.forest.backends import (
    ABSOLUTE_GAP,
    MatrixModel,
    RawResult,
    SolverOptions,
    Watch,
    settled,
)

# The tightest tolerances keep big-M times tolerance small.
_ALWAYS = {
    "log_to_console": False,
    "mip_rel_gap": 0.0,
    "mip_feasibility_tolerance": 1e-9,
    "primal_feasibility_tolerance": 1e-9,
}

_Highs: Any = highspy.Highs


def run(model: MatrixModel, options: SolverOptions, watch: Watch) -> RawResult:
    """Solve a matrix model with HiGHS."""
    _Highs.resetGlobalScheduler(True)  # the thread count may differ from the last run's
    solver = _Highs()  # a fresh one: its time limit counts all runs of the object
    _set_options(solver, options)
    _pass_model(solver, model)
    solver.cbMipInterrupt += lambda event: _see(event, watch)
    solver.cbMipImprovingSolution += lambda event: _see(event, watch, better=True)
    solver.cbSimplexInterrupt += lambda event: event.interrupt(watch.interrupted)
    solver.run()
    return _result(solver, watch)


def version() -> str:
    """Return the version of the installed solver."""
    return str(_Highs().version())


def _see(event: Any, watch: Watch, *, better: bool = False) -> None:
    seen = event.data_out
    x = np.array(seen.mip_solution, dtype=float) if better else None
    if watch.see(seen.mip_dual_bound, seen.mip_node_count, x) and not better:
        event.interrupt()


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
    n_rows, n_cols = model.matrix.shape
    status = solver.passModel(
        n_cols,
        n_rows,
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
        raise BackendError(f"HiGHS refused a model of {n_cols} columns and {n_rows} rows")


def _result(solver: Any, watch: Watch) -> RawResult:
    status = settled(solver.getModelStatus().name)
    info = solver.getInfo()
    x, bound = None, -np.inf
    if status not in ("infeasible", "failed"):
        bound = float(info.mip_dual_bound)
        if info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
            x = np.array(solver.getSolution().col_value)
    return RawResult(status, x, bound, max(0, int(info.mip_node_count)), watch.seconds)
