"""Every installed solver goes through the same tests: matrices in, the same facts out."""

from __future__ import annotations

import itertools
import os
import re
import signal
import threading
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from scipy import sparse

from c2rf.exceptions import BackendError, BackendNotInstalledError, InputError
from c2rf.forest import backends
from c2rf.forest.backends import MatrixModel, RawResult, SolverOptions, Watch, check_backend
from c2rf.forest.backends.process import solve_model
from c2rf.forest.paper import big_m_model
from c2rf.forest.problem import make_problem
from matrix_models import INF, brute_force, covering, make_model, market_split, with_time

GUARD = 30.0  # seconds after which a long solve ends by itself, so that a broken stop is seen


@pytest.fixture(params=backends.installed())
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


LONG = market_split()


def run_here(model: MatrixModel, backend: str, options: SolverOptions) -> list[RawResult]:
    """Solve without a process of the solver's own; return all reports, the answer last."""
    seen: list[RawResult] = []
    watch = Watch(seen.append)
    watch.often = -1.0
    solver = import_module(f"c2rf.forest.backends.{backend}")
    answer = solver.run(model, options, watch)
    return [*seen, answer]


def node_limit(backend: str, nodes: int) -> dict[str, object]:
    """Return the solver's own option for a limit that does not depend on the clock."""
    own = {"highs": "mip_max_nodes", "scip": "limits/totalnodes", "gurobi": "NodeLimit"}
    return {own[backend]: nodes}


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
    result = solve_model(model, backend)
    best = brute_force(model)
    assert result.status == "optimal"
    assert value(model, result) == pytest.approx(best)
    assert result.bound == pytest.approx(best)


@pytest.mark.parametrize("seed", range(6))
def test_bounds_are_never_above_the_optimum(backend, seed):
    model = covering(seed, n=12)
    best = brute_force(model)
    for options in (SolverOptions(), SolverOptions(extra=node_limit(backend, 1))):
        result = solve_model(model, backend, options)
        assert result.bound <= best + 1e-6
        if result.status == "optimal":
            assert backends.integer_bound(result.bound) == round(value(model, result))


def test_gap_is_zero(backend):
    # Relative to the objective, the two best points differ by 1e-6.
    model = make_model([1_000_001, 1_000_000], [[1, 1]], [(1, 1)], [(0, 1)] * 2, [True] * 2)
    result = solve_model(model, backend)
    assert value(model, result) == 1_000_000
    assert result.bound == pytest.approx(1_000_000, abs=1e-3)


def test_models_without_rows(backend):
    model = make_model([1, -1], [], [], [(0, 1), (-3, 2)], [True] * 2)
    result = solve_model(model, backend)
    assert result.status == "optimal"
    np.testing.assert_allclose(result.x, [0, 2])
    assert result.bound == pytest.approx(-2)


def test_infeasible(backend):
    for model in (
        make_model([1], [[1]], [(2, 3)], [(0, 1)], [True]),
        make_model([1], [[1]], [(0, 9)], [(2, 1)], [True]),  # an empty box
        make_model([1, 1], [[1, 1], [1, -1]], [(3, INF), (5, INF)], [(0, 2)] * 2, [True] * 2),
    ):
        result = solve_model(model, backend)
        assert (result.status, result.x, result.bound) == ("infeasible", None, -INF)


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
    assert value(
        model, solve_model(model, backend, SolverOptions(extra=no_presolve))
    ) == pytest.approx(1)


def test_the_papers_model_with_priorities(backend):
    # The two scores add up to 2 alpha_1 > 0: one of the points is positive, or both are.
    votes = [[1, 1, -1], [1, -1, 1]]
    for target, eta in ((0, 1), (1, 0), (2, 0)):
        model = big_m_model(make_problem(votes, target), priorities=True)
        assert value(model, solve_model(model, backend)) == pytest.approx(eta, abs=1e-6)


# Limits


def test_time_limit_zero(backend):
    result = solve_model(LONG, backend, SolverOptions(time_limit=0))
    assert (result.status, result.x, result.bound) == ("limit", None, -INF)
    assert solve_model(covering(0), backend, SolverOptions(time_limit=-1)).status == "limit"


def test_time_limit_with_incumbent(backend):
    result = with_time(
        lambda seconds: solve_model(LONG, backend, SolverOptions(time_limit=seconds))
    )
    assert result.status == "limit"
    assert value(LONG, result) > 0
    assert result.bound <= 1e-6


def test_time_limit_is_per_run(backend):
    # HiGHS counts the time of all runs of one object.
    solve_model(LONG, backend, SolverOptions(time_limit=0.3))
    assert solve_model(covering(1), backend, SolverOptions(time_limit=GUARD)).status == "optimal"


# Being told and being stopped


def test_progress_tells_bound_nodes_and_better_solutions(backend):
    """So that they are not lost if the solver's process must be ended."""
    *seen, result = run_here(LONG, backend, SolverOptions(extra=node_limit(backend, 8)))
    assert len(seen) > 1
    assert -1e-6 <= seen[-1].bound <= 1e-6
    assert 0 < max(now.nodes for now in seen) <= result.nodes
    for before, after in itertools.pairwise(seen):
        assert after.nodes >= before.nodes
        assert after.seconds >= before.seconds
    found = [value(LONG, now) for now in seen if now.x is not None]
    assert found[-1] == pytest.approx(value(LONG, result))
    assert found == sorted(found, reverse=True)


def test_error_in_the_callback_comes_out(backend, capfd):
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError):
        solve_model(LONG, backend, SolverOptions(time_limit=GUARD), lambda now: 1 / 0)
    assert signal.getsignal(signal.SIGINT) is before
    assert capfd.readouterr() == ("", "")


def press_once_there_is_an_incumbent(threads: list[threading.Thread]):
    """Return a callback whose first incumbent makes another thread send Ctrl-C."""

    def press(now: RawResult) -> None:
        if now.x is not None and not threads:
            thread = threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT))
            threads.append(thread)
            thread.start()

    return press


def test_interrupt_returns_the_incumbent(backend, capfd):
    before = signal.getsignal(signal.SIGINT)
    threads: list[threading.Thread] = []
    press = press_once_there_is_an_incumbent(threads)
    result = solve_model(LONG, backend, SolverOptions(time_limit=GUARD), press)
    threads[0].join()
    assert (result.status, result.interrupted) == ("interrupted", True)
    assert value(LONG, result) > 0
    assert result.bound <= 1e-6
    assert signal.getsignal(signal.SIGINT) is before
    assert capfd.readouterr() == ("", "")


def test_solving_in_another_thread_leaves_interrupts_to_the_main_thread(backend):
    pressed: list[int] = []
    threads: list[threading.Thread] = []
    results: list[RawResult] = []
    press = press_once_there_is_an_incumbent(threads)
    options = SolverOptions(extra=node_limit(backend, 8))
    solving = threading.Thread(
        target=lambda: results.append(solve_model(LONG, backend, options, press))
    )
    before = signal.signal(signal.SIGINT, lambda *_: pressed.append(1))
    try:
        solving.start()
        while solving.is_alive():
            solving.join(0.01)
    finally:
        signal.signal(signal.SIGINT, before)
    assert pressed == [1]
    assert (results[0].status, results[0].interrupted) == ("limit", False)


def test_interrupt_that_comes_too_late_is_remembered():
    with backends.catching_interrupts() as pressed:
        os.kill(os.getpid(), signal.SIGINT)
        assert pressed.wait(GUARD)


def test_nothing_is_printed(backend, capfd):
    solve_model(covering(1), backend)
    assert capfd.readouterr() == ("", "")


def test_same_seed_same_run(backend):
    first, second = (
        solve_model(LONG, backend, SolverOptions(extra=node_limit(backend, 8), seed=7))
        for _ in range(2)
    )
    np.testing.assert_array_equal(first.x, second.x)
    assert (first.nodes, first.bound) == (second.nodes, second.bound)


def test_seeds_of_any_solver_are_taken(backend):
    assert solve_model(covering(1), backend, SolverOptions(seed=2**31 - 1)).status == "optimal"


def test_threads_may_change_between_runs(backend):
    model = covering(1)
    for threads in (1, 2, 1):
        result = solve_model(model, backend, SolverOptions(threads=threads))
        assert value(model, result) == pytest.approx(brute_force(model))


def test_several_threads_may_solve_at_once(backend):
    models = [covering(seed) for seed in range(4)]
    found: dict[int, RawResult] = {}
    threads = [
        threading.Thread(target=lambda i=i, m=model: found.update({i: solve_model(m, backend)}))
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
    result = solve_model(
        LONG, backend, SolverOptions(extra=node_limit(backend, 7), time_limit=GUARD)
    )
    assert (result.status, result.nodes) == ("limit", 7)


@pytest.mark.parametrize(
    "bad", [{"no_such_option": 1}, {"TimeLimit" * 2: 1.0}], ids=["unknown", "nearly"]
)
def test_unknown_option_is_refused(backend, bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        solve_model(covering(1), backend, SolverOptions(extra=bad))


@pytest.mark.parametrize("bad", ["much", None, {}])
def test_option_of_the_wrong_type_is_refused(backend, bad):
    name = {"highs": "time_limit", "scip": "limits/time", "gurobi": "TimeLimit"}[backend]
    with pytest.raises(InputError, match=re.escape(f"'{name}' that takes {bad!r}")):
        solve_model(covering(1), backend, SolverOptions(extra={name: bad}))


@pytest.mark.parametrize("backend", [b for b in backends.installed() if b != "gurobi"])
def test_too_large_numbers_are_refused_with_advice(backend):
    votes = [[1, 1, -1], [1, -1, 1]]
    model = big_m_model(make_problem(votes, 1, 1, 10, offset=(-1e30, 1e30)))
    with pytest.raises(BackendError, match='method="auto"'):
        solve_model(model, backend)


# Single solvers


def test_highs_refusal_is_an_error():
    model = replace(covering(1), col_lower=np.full(8, INF))
    with pytest.raises(BackendError, match="HiGHS refused a model of 8 columns and 4 rows"):
        solve_model(model, "highs")


def test_scip_gets_the_priorities():
    pytest.importorskip("pyscipopt")
    from pyscipopt import Model

    from c2rf.forest.backends import scip

    given = []

    class Recorder(Model):
        def chgVarBranchPriority(self, variable, priority):  # noqa: N802
            given.append((variable.name, priority))
            super().chgVarBranchPriority(variable, priority)

    solver = Recorder()
    model = replace(covering(1), priorities=np.arange(8)[::-1])
    columns = scip._pass_model(solver, model)
    assert given == [(column.name, 7 - i) for i, column in enumerate(columns)]


def test_scip_error_is_a_backend_error(monkeypatch):
    pytest.importorskip("pyscipopt")
    from c2rf.forest.backends import scip

    class Broken(scip.Model):
        def optimizeNogil(self):  # noqa: N802
            raise Exception("SCIP: error in LP solver!")

    monkeypatch.setattr(scip, "Model", Broken)
    with pytest.raises(BackendError, match="error in LP solver"):
        scip.run(covering(1), SolverOptions(), Watch(print))


def test_gurobi_gets_priorities_and_both_sides_of_rows():
    pytest.importorskip("gurobipy")
    from c2rf.forest.backends import gurobi

    model = replace(covering(1), priorities=np.arange(8)[::-1])
    with gurobi._environment() as environment, gurobi._load(environment, model) as solver:
        solver.update()
        variables = solver.getVars()
        assert solver.getAttr("BranchPriority", variables) == list(range(8))[::-1]
        assert solver.NumConstrs == 5  # one of the four rows is a range


def test_gurobi_without_a_licence_says_the_limit_and_who_can():
    pytest.importorskip("gurobipy")
    n = 2001
    model = make_model(
        np.ones(n), sparse.eye_array(n).toarray(), [(1, 2)] * n, [(0, 3)] * n, [True] * n
    )
    try:
        solve_model(model, "gurobi")
    except BackendError as error:
        message = str(error)
    else:
        pytest.skip("there is a full Gurobi licence")
    assert "up to 2000 variables and 2000 rows" in message
    assert "2001 variables and 4002 rows" in message
    assert "'highs'" in message
    assert "'gurobi'" not in message
    assert solve_model(model, "highs").bound == pytest.approx(n)


def test_gurobi_without_any_licence_is_a_backend_error(monkeypatch):
    gurobipy = pytest.importorskip("gurobipy")
    from c2rf.forest.backends import gurobi

    def no_licence():
        raise gurobipy.GurobiError(10009, "No Gurobi license found")

    monkeypatch.setattr(gurobi, "_environment", no_licence)
    with pytest.raises(BackendError, match="No Gurobi license found"):
        gurobi.run(covering(1), SolverOptions(), Watch(print))


# The registry


def test_the_registry_knows_all_and_who_is_installed():
    assert list(backends.BACKENDS) == ["highs", "scip", "gurobi"]
    for name in backends.installed():
        assert check_backend(name).version()[0].isdigit()
    assert not backends.BACKENDS["highs"].priorities


def test_unknown_backend_lists_the_known():
    with pytest.raises(InputError, match="highs, scip or gurobi; found 'cplex'"):
        solve_model(covering(1), "cplex")


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("highs", "pip install highspy"),
        ("scip", 'pip install "c2rf[scip]"'),
        ("gurobi", 'pip install "c2rf[gurobi]"'),
    ],
)
def test_missing_backend_says_how_to_install_it(monkeypatch, name, command):
    package = backends.BACKENDS[name].package
    found = backends.find_spec
    monkeypatch.setattr(
        backends, "find_spec", lambda wanted: None if wanted == package else found(wanted)
    )
    assert name not in backends.installed()
    assert backends.BACKENDS[name].install == command
    with pytest.raises(BackendNotInstalledError) as caught:
        solve_model(covering(1), name)
    assert command in str(caught.value)
