"""HiGHS, the default solver."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from c2rf.backends.base import Options, Progress, RawResult, RawStatus, StopRequest, interruptible
from c2rf.exceptions import BackendError, InputError
from c2rf.formulation import MatrixModel

# The tightest integrality tolerance keeps big-M times tolerance small.
_ALWAYS = {
    "log_to_console": False,
    "mip_rel_gap": 0.0,
    "mip_abs_gap": 1e-6,
    "mip_feasibility_tolerance": 1e-9,
    "primal_feasibility_tolerance": 1e-9,
}


def run(model: MatrixModel, options: Options) -> RawResult:
    """Solve a matrix model with HiGHS."""
    import highspy

    highspy.Highs.resetGlobalScheduler(True)  # the thread count may differ from the last run's
    solver = highspy.Highs()
    _set_options(solver, options)
    _pass_model(solver, model)
    log: list[str] = []
    solver.cbLogging += lambda event: log.append(event.message)
    with interruptible() as request:
        watch = _Watch(options, request)
        for event in (solver.cbMipInterrupt, solver.cbSimplexInterrupt):
            event += watch.look
        solver.cbMipImprovingSolution += watch.improve
        started = time.perf_counter()
        solver.run()
        seconds = time.perf_counter() - started
    return _result(solver, model, watch, seconds, "".join(log))


def version() -> str:
    """Return the version of the installed solver."""
    import highspy

    return str(highspy.Highs().version())


class _Watch:
    """The callback: passes progress on and asks HiGHS to stop when somebody wants it to."""

    def __init__(self, options: Options, request: StopRequest) -> None:
        self.options, self.request = options, request
        self.stopped = self.reached = False

    def look(self, event: Any) -> None:
        out = event.data_out
        if self.options.on_progress is not None and self.options.on_progress(
            Progress(
                out.mip_primal_bound, out.mip_dual_bound, int(out.mip_node_count), out.running_time
            )
        ):
            self.stopped = True
        if self.request.requested or self.stopped or self.reached:
            event.interrupt()

    def improve(self, event: Any) -> None:
        target = self.options.target
        if target is not None and event.data_out.objective_function_value <= target + 1e-6:
            self.reached = True


def _set_options(solver: Any, options: Options) -> None:
    import highspy

    chosen: dict[str, object] = {
        **_ALWAYS,
        "threads": options.threads,
        "random_seed": options.seed,
        "parallel": "on" if options.threads > 1 else "off",
    }
    if options.time_limit is not None:
        chosen["time_limit"] = max(0.0, options.time_limit)
    if options.node_limit is not None:
        chosen["mip_max_nodes"] = options.node_limit
    if options.cutoff is not None:
        chosen["objective_bound"] = options.cutoff
    for name, value in {**chosen, **options.extra}.items():
        if solver.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise InputError(f"HiGHS has no option {name!r} that takes {value!r}")


def _pass_model(solver: Any, model: MatrixModel) -> None:
    import highspy

    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = model.n_cols, model.n_rows
    lp.col_cost_ = model.objective
    lp.col_lower_, lp.col_upper_ = model.col_lower, model.col_upper
    lp.row_lower_, lp.row_upper_ = model.row_lower, model.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = model.matrix.indptr
    lp.a_matrix_.index_ = model.matrix.indices
    lp.a_matrix_.value_ = model.matrix.data
    kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
    lp.integrality_ = [kinds[k] for k in model.integrality.astype(int)]
    if solver.passModel(lp) == highspy.HighsStatus.kError:
        raise BackendError("HiGHS refused the model")
    if model.start is not None:
        start = highspy.HighsSolution()
        start.col_value = list(model.start)
        solver.setSolution(start)


def _result(
    solver: Any, model: MatrixModel, watch: _Watch, seconds: float, log: str
) -> RawResult:
    import highspy

    kinds = highspy.HighsModelStatus
    status: RawStatus = {
        kinds.kOptimal: "optimal",
        kinds.kModelEmpty: "optimal",
        kinds.kInfeasible: "infeasible",
        kinds.kObjectiveBound: "infeasible",
        kinds.kTimeLimit: "limit",
        kinds.kSolutionLimit: "limit",
        kinds.kIterationLimit: "limit",
    }.get(solver.getModelStatus(), "failed")
    if solver.getModelStatus() == kinds.kInterrupt:
        status = "interrupted" if watch.request.requested else "stopped"
        status = "limit" if watch.reached else status
    info = solver.getInfo()
    x = None
    if info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
        x = np.array(solver.getSolution().col_value)
    integer = bool(model.integrality.any())
    bound = info.mip_dual_bound if integer else info.objective_function_value
    if status in ("infeasible", "failed") or (not integer and status != "optimal"):
        bound = -np.inf
    return RawResult(status, x, float(bound), max(0, int(info.mip_node_count)), seconds, log)
