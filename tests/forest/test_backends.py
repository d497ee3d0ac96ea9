"""Every installed solver goes through the same tests: matrices in, the same facts out."""

from __future__ import annotations

import itertools
import os
import re
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

from c2rf.exceptions import BackendError, InputError
from c2rf.forest import backends
from c2rf.forest.backends import base, run
from c2rf.forest.backends.base import MatrixModel, Options, Progress, RawResult
from c2rf.forest.paper import big_m_model
from c2rf.forest.problem import make_problem
from matrix_models import INF, brute_force, covering, make_model, market_split, with_time

GUARD = 30.0  # seconds after which a long solve ends by itself, so that a broken stop is seen


@pytest.fixture(params=backends.installed())
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


LONG = market_split()
Run = Callable[[MatrixModel, str, Options], RawResult]


def run_here(model: MatrixModel, backend: str, options: Options) -> RawResult:
    """Solve without a process of the solver's own."""
    here: RawResult = import_module(f"c2rf.forest.backends.{backend}").run(model, options)
    return here


@pytest.fixture(params=[run, run_here], ids=["elsewhere", "here"])
def run_either_way(request: pytest.FixtureRequest) -> Run:
    chosen: Run = request.param
    return chosen


def value(model: MatrixModel, result: RawResult) -> float:
    """Return the incumbent's objective after a look at its feasibility."""
    assert result.x is not None
    rounded = np.where(model.integrality, np.round(result.x), result.x)
    np.testing.assert_allclose(result.x, rounded, atol=1e-8)
    activity = model.matrix @ result.x
    assert (activity >= model.row_lower - 1e-6).all()
    assert (activity <= model.row_upper + 1e-6).all()
    return float(model.objective @ result.x)


# Optima


@pytest.mark.parametrize("seed", range(6))
def test_optimum_is_that_of_brute_force(backend, seed):
    model = covering(seed)
    result = run(model, backend)
    best = brute_force(model)
    assert result.status == "optimal"
    assert value(model, result) == pytest.approx(best)
    assert result.bound == pytest.approx(best)


@pytest.mark.parametrize("seed", range(6))
def test_bounds_are_never_above_the_optimum(backend, seed):
    model = covering(seed, n=12)
    best = brute_force(model)
    for options in (Options(node_limit=1), Options(gap=0.99)):
        result = run(model, backend, options)
        assert result.bound <= best + 1e-6
        if result.status == "optimal":
            assert backends.integer_bound(result.bound) == round(value(model, result))


def test_gap_is_zero(backend):
    # Relative to the objective, the two best points differ by 1e-6.
    model = make_model([1_000_001, 1_000_000], [[1, 1]], [(1, 1)], [(0, 1)] * 2, [True] * 2)
    result = run(model, backend)
    assert value(model, result) == 1_000_000
    assert result.bound == pytest.approx(1_000_000, abs=1e-3)


def test_linear_models(backend):
    # min -x - y  s.t.  x + 2y <= 4, 3x + y <= 6: the corner (1.6, 1.2)
    model = make_model(
        [-1, -1], [[1, 2], [3, 1]], [(-INF, 4), (-INF, 6)], [(0, 10)] * 2, [False] * 2
    )
    result = run(model, backend)
    assert result.status == "optimal"
    np.testing.assert_allclose(result.x, [1.6, 1.2])
    assert result.bound == pytest.approx(-2.8)
    assert run(model, backend, Options(cutoff=-2.8)).status == "infeasible"


@pytest.mark.parametrize("integer", [True, False])
def test_models_without_rows(backend, integer):
    model = make_model([1, -1], [], [], [(0, 1), (-3, 2)], [integer] * 2)
    result = run(model, backend)
    assert result.status == "optimal"
    np.testing.assert_allclose(result.x, [0, 2])
    assert result.bound == pytest.approx(-2)


@pytest.mark.parametrize("integer", [True, False])
def test_infeasible(backend, integer):
    for model in (
        make_model([1], [[1]], [(2, 3)], [(0, 1)], [integer]),
        make_model([1], [[1]], [(0, 9)], [(2, 1)], [integer]),  # an empty box
        make_model([1, 1], [[1, 1], [1, -1]], [(3, INF), (5, INF)], [(0, 2)] * 2, [integer] * 2),
    ):
        result = run(model, backend)
        assert (result.status, result.x, result.bound) == ("infeasible", None, -INF)


@pytest.mark.parametrize("integer", [True, False])
def test_unbounded_is_a_failure(backend, integer):
    model = make_model([-1, 0], [[1, -1]], [(0, INF)], [(0, INF)] * 2, [integer] * 2)
    result = run(model, backend)
    assert (result.status, result.x, result.bound) == ("failed", None, -INF)


def test_big_m_times_tolerance_is_small(backend):
    # x_i <= M z_i with M = 1e7 lets z = 1e-7 buy x = 1 where the integrality tolerance is 1e-6.
    big = 1e7
    model = make_model(
        [0, 0, 1, 1.1],
        [[1, 1, 0, 0], [1, 0, -big, 0], [0, 1, 0, -big]],
        [(1, INF), (-INF, 0), (-INF, 0)],
        [(0, big)] * 2 + [(0, 1)] * 2,
        [False, False, True, True],
    )
    no_presolve = {
        "highs": {"presolve": "off"},
        "scip": {"presolving/maxrounds": 0},
        "gurobi": {"Presolve": 0},
    }[backend]
    assert value(model, run(model, backend, Options(extra=no_presolve))) == pytest.approx(1)


def test_the_papers_model_with_priorities(backend):
    # The two scores add up to 2 alpha_1 > 0: one of the points is positive, or both are.
    votes = [[1, 1, -1], [1, -1, 1]]
    for wished, eta in ((0, 1), (1, 0), (2, 0)):
        model = big_m_model(make_problem(votes, wished), priorities=True)
        assert value(model, run(model, backend)) == pytest.approx(eta, abs=1e-6)


# Limits


def test_time_limit_zero(backend):
    result = run(LONG, backend, Options(time_limit=0))
    assert (result.status, result.x, result.bound) == ("limit", None, -INF)
    assert run(covering(0), backend, Options(time_limit=-1)).status == "limit"


def test_time_limit_with_incumbent(backend):
    result = with_time(lambda seconds: run(LONG, backend, Options(time_limit=seconds)))
    assert result.status == "limit"
    assert value(LONG, result) > 0
    assert result.bound <= 1e-6


def test_time_limit_is_per_run(backend):
    # HiGHS counts the time of all runs of one object.
    run(LONG, backend, Options(time_limit=0.3))
    assert run(covering(1), backend, Options(time_limit=GUARD)).status == "optimal"


def test_node_limit(backend):
    few, more = (run(LONG, backend, Options(node_limit=n)) for n in (3, 8))
    assert (few.status, more.status) == ("limit", "limit")
    assert 0 < few.nodes < more.nodes <= 9
    assert value(LONG, more) <= value(LONG, few)


def test_cutoff(backend):
    model = covering(1)
    best = brute_force(model)
    for cutoff in (best, best - 0.5, best - 3):
        none = run(model, backend, Options(cutoff=cutoff))
        assert (none.status, none.x) == ("infeasible", None)
        assert cutoff - 1e-4 <= none.bound <= best
    assert backends.integer_bound(run(model, backend, Options(cutoff=best)).bound) == best
    for cutoff in (best + 1e-3, best + 0.5, best + 100):
        result = run(model, backend, Options(cutoff=cutoff))
        assert result.status == "optimal"
        assert value(model, result) == pytest.approx(best)
        assert result.bound <= best + 1e-6


# Being told and being stopped


def test_progress_tells_incumbent_bound_and_nodes(backend):
    seen: list[Progress] = []
    # From a process of its own a solver tells less often, how often depends on the machine.
    result = run_here(LONG, backend, Options(node_limit=8, on_progress=seen.append))
    assert len(seen) > 1
    assert seen[-1].incumbent == pytest.approx(value(LONG, result))
    assert -1e-6 <= seen[-1].bound <= 1e-6
    assert 0 < seen[-1].nodes <= result.nodes
    for before, after in itertools.pairwise(seen):
        assert after.incumbent <= before.incumbent
        assert after.nodes >= before.nodes
        assert after.seconds >= before.seconds


def test_better_solutions_come_as_soon_as_they_are_found(backend):
    """So that they are not lost if the solver's process must be ended."""
    seen: list[Progress] = []
    result = run_here(LONG, backend, Options(node_limit=8, on_progress=seen.append))
    found = [now for now in seen if now.x is not None]
    for now in found:
        assert now.incumbent == pytest.approx(LONG.objective @ now.x)
    assert found[-1].incumbent == pytest.approx(value(LONG, result))


def test_stopped_by_the_callback(backend, run_either_way):
    options = Options(time_limit=GUARD, on_progress=lambda now: now.incumbent < INF)
    result = run_either_way(LONG, backend, options)
    assert (result.status, result.interrupted) == ("stopped", False)
    assert value(LONG, result) > 0


def test_error_in_the_callback_comes_out(backend, run_either_way, capfd):
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError):
        run_either_way(LONG, backend, Options(time_limit=GUARD, on_progress=lambda now: 1 / 0))
    assert signal.getsignal(signal.SIGINT) is before
    assert capfd.readouterr() == ("", "")


def press_once_there_is_an_incumbent(threads: list[threading.Thread]):
    """Return a callback whose first incumbent makes another thread send Ctrl-C."""

    def press(now: Progress) -> None:
        if now.incumbent < INF and not threads:
            thread = threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT))
            threads.append(thread)
            thread.start()

    return press


def test_interrupt_returns_the_incumbent(backend, run_either_way, capfd):
    before = signal.getsignal(signal.SIGINT)
    threads: list[threading.Thread] = []
    press = press_once_there_is_an_incumbent(threads)
    result = run_either_way(LONG, backend, Options(time_limit=GUARD, on_progress=press))
    threads[0].join()
    assert (result.status, result.interrupted) == ("interrupted", True)
    assert value(LONG, result) > 0
    assert result.bound <= 1e-6
    assert signal.getsignal(signal.SIGINT) is before
    assert capfd.readouterr() == ("", "")


def test_solving_in_another_thread_leaves_interrupts_to_the_main_thread(backend):
    pressed: list[int] = []
    threads: list[threading.Thread] = []
    press = press_once_there_is_an_incumbent(threads)
    results: list[RawResult] = []

    def on_progress(now: Progress) -> bool:
        press(now)
        return bool(pressed)

    options = Options(time_limit=GUARD, on_progress=on_progress)
    solving = threading.Thread(target=lambda: results.append(run(LONG, backend, options)))
    before = signal.signal(signal.SIGINT, lambda *_: pressed.append(1))
    try:
        solving.start()
        while solving.is_alive():
            solving.join(0.01)
    finally:
        signal.signal(signal.SIGINT, before)
    assert results[0].status == "stopped"
    assert value(LONG, results[0]) > 0


def test_interrupt_that_comes_too_late_is_remembered():
    with base.watching(Options()) as watch:
        os.kill(os.getpid(), signal.SIGINT)
        while not watch.interrupted:
            pass
    assert watch.must_stop
    assert watch.reason == "interrupted"


def test_log_is_kept_and_nothing_is_printed(backend, capfd):
    result = run(covering(1), backend)
    assert len(result.log.splitlines()) > 5
    assert capfd.readouterr() == ("", "")


def test_same_seed_same_run(backend):
    first, second = (run(LONG, backend, Options(node_limit=8, seed=7)) for _ in range(2))
    np.testing.assert_array_equal(first.x, second.x)
    assert (first.nodes, first.bound) == (second.nodes, second.bound)


def test_seeds_of_any_solver_are_taken(backend):
    assert run(covering(1), backend, Options(seed=2**31 - 1)).status == "optimal"


def test_threads_may_change_between_runs(backend):
    model = covering(1)
    for threads in (1, 2, 1):
        result = run(model, backend, Options(threads=threads))
        assert value(model, result) == pytest.approx(brute_force(model))


def test_several_threads_may_solve_at_once(backend):
    models = [covering(seed) for seed in range(4)]
    found: dict[int, RawResult] = {}
    threads = [
        threading.Thread(target=lambda i=i, m=model: found.update({i: run(m, backend)}))
        for i, model in enumerate(models)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, model in enumerate(models):
        assert found[i].status == "optimal"
        assert value(model, found[i]) == pytest.approx(brute_force(model))


# What cannot be done


def test_options_of_the_solver(backend):
    own = {
        "highs": {"mip_max_nodes": 7},
        "scip": {"limits/totalnodes": 7},
        "gurobi": {"NodeLimit": 7},
    }[backend]
    result = run(LONG, backend, Options(extra=own, time_limit=GUARD))
    assert (result.status, result.nodes) == ("limit", 7)


@pytest.mark.parametrize(
    "bad", [{"no_such_option": 1}, {"TimeLimit" * 2: 1.0}], ids=["unknown", "nearly"]
)
def test_unknown_option_is_refused(backend, bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        run(covering(1), backend, Options(extra=bad))


@pytest.mark.parametrize("bad", ["much", None, {}])
def test_option_of_the_wrong_type_is_refused(backend, bad):
    name = {"highs": "time_limit", "scip": "limits/time", "gurobi": "TimeLimit"}[backend]
    with pytest.raises(InputError, match=re.escape(f"'{name}' that takes {bad!r}")):
        run(covering(1), backend, Options(extra={name: bad}))


@pytest.mark.parametrize(
    ("part", "bad"),
    [("objective", np.nan), ("objective", INF), ("row_lower", np.nan), ("col_upper", np.nan)],
)
def test_unusable_numbers_are_refused(backend, part, bad):
    model = covering(1)
    values = getattr(model, part).copy()
    values[-1] = bad
    with pytest.raises(BackendError, match=f"{part} has {bad}"):
        run(replace(model, **{part: values}), backend)


def test_unusable_matrix_is_refused(backend):
    model = covering(1)
    matrix = model.matrix.copy()
    matrix.data[0] = np.nan
    with pytest.raises(BackendError, match="matrix has nan"):
        run(replace(model, matrix=matrix), backend)


@pytest.mark.parametrize("backend", [b for b in backends.installed() if b != "gurobi"])
def test_too_large_numbers_are_refused_with_advice(backend):
    votes = [[1, 1, -1], [1, -1, 1]]
    model = big_m_model(make_problem(votes, 1, 1, 10, offset=(-1e30, 1e30)))
    with pytest.raises(BackendError, match='method="auto"'):
        run(model, backend)
