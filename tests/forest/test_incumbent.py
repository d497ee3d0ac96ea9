from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from c2rf.forest.backends import RawResult
from c2rf.forest.incumbent import SolveState, with_margins
from c2rf.forest.paper import big_m_model
from c2rf.forest.problem import make_problem
from c2rf.forest.verify import certain_signs
from c2rf.progress import Event
from strategies import problems, weights_of

VOTES = [[1, -1, -1], [1, -1, -1], [-1, 1, -1], [1, 1, -1]]
# one tree outweighs the others: the first makes 3 points positive, the second 2
FIRST, SECOND = np.array([10.0, 1.0, 2.0]), np.array([1.0, 10.0, 2.0])


def raw(status="optimal", x=None, bound=0.0, **more):
    return RawResult(status, x, bound, nodes=3, seconds=0.0, **more)


@given(st.data(), problems())
@settings(max_examples=60)
def test_offered_weights_come_back_in_the_box_with_all_margins(data, problem):
    weights = data.draw(weights_of(problem))
    found = with_margins(problem, weights)
    score = problem.patterns @ weights
    if found is None:
        assert np.abs(score).min() < 1 + 1e-6
        return
    assert (found >= problem.lower).all()
    assert (found <= problem.upper).all()
    signs = certain_signs(problem.patterns, found)  # raises where a margin does not hold
    np.testing.assert_array_equal(signs, np.where(score > 0, 1, -1))


@given(st.data(), problems())
@settings(max_examples=60)
def test_weights_outside_the_box_are_brought_inside(data, problem):
    weights = data.draw(weights_of(problem))
    moved = weights + data.draw(st.sampled_from([-1e3, -1e-12, 1e-12, 1e3]))
    found = with_margins(problem, moved)
    if found is not None:
        assert (found >= problem.lower).all()
        assert (found <= problem.upper).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_weights_that_are_no_numbers_never_get_in(bad):
    problem = make_problem([[1, -1], [1, 1]], 1)
    state = SolveState(problem)
    kept = state.offer(np.array([bad, 2.0]))
    assert kept == (state.best is not None)
    assert state.best is None or np.isfinite(state.best).all()


def test_scaling_meets_margins_without_leaving_the_box():
    problem = make_problem([[1, -1]], 1, 1.0, 4.0)
    assert with_margins(problem, np.array([1.5, 1.0])).tolist() == [4.0, 4.0 / 1.5]
    assert with_margins(problem, np.array([1.5, 1.0]), scale=False) is None
    assert with_margins(problem, np.array([1.2, 1.0])) is None  # 4 - 4 / 1.2 < 1
    assert with_margins(problem, np.array([3.5, 2.0])).tolist() == [3.5, 2.0]


def test_scaling_minds_a_shift_of_either_sign():
    for sign in (1, -1):
        problem = make_problem([[sign, sign, sign]], 1, 0.1, 0.2, offset=(-0.6, 0.6))
        shift = 0.3 * sign
        found = with_margins(problem, np.array([0.1, 0.1, 0.1, shift]))
        np.testing.assert_allclose(found, [0.2, 0.2, 0.2, 2 * shift])
    zero = make_problem([[1, 1]], 1, 0.3, 2.0, offset=(-1, 1))
    np.testing.assert_allclose(with_margins(zero, np.array([0.3, 0.3, 0.0])), [2.0, 2.0, 0.0])


def test_only_better_weights_replace_the_best():
    state = SolveState(make_problem(VOTES, 4))
    assert (state.eta, state.done, state.over) == (None, False, False)
    assert state.offer(SECOND)
    assert (state.eta, state.best.tolist()) == (2, SECOND.tolist())
    assert state.offer(FIRST)
    assert state.eta == 1
    assert state.offer(SECOND)  # they hold, but are worse
    assert (state.eta, state.best.tolist()) == (1, FIRST.tolist())
    assert not state.offer(np.array([2.0, 1.0, 1.0]))  # a tie that no scaling helps
    assert state.eta == 1


def test_bounds_end_the_run_when_they_meet_eta():
    state = SolveState(make_problem(VOTES, 4))
    state.raise_bound(1)
    state.raise_bound(0)  # what was proven stays proven
    assert (state.bound, state.done) == (1, False)
    state.offer(FIRST)
    assert state.done
    assert state.over


def test_listeners_are_told_eta_and_bound_of_the_whole_problem():
    events: list[Event] = []
    state = SolveState(make_problem(VOTES, 4), eta_shift=5, listener=events.append)
    with state.phase("outer"):
        state.raise_bound(1)
        with state.phase("inner"):
            state.offer(FIRST)
        state.report_progress()
    told = [(event.phase, event.eta, event.bound) for event in events]
    assert told == [
        ("outer", None, 5),
        ("outer", None, 6),
        ("inner", None, 6),
        ("inner", 6, 6),
        ("outer", 6, 6),
    ]
    assert set(state.stats["phases"]) == {"outer", "inner"}
    assert 0 <= state.stats["phases"]["inner"] <= state.stats["phases"]["outer"] <= state.elapsed()


def test_phases_are_timed_through_errors_and_added_up():
    state = SolveState(make_problem(VOTES, 4))
    for _ in range(2):
        with pytest.raises(KeyError), state.phase("search"):
            raise KeyError
    assert list(state.stats["phases"]) == ["search"]


def test_time_limits():
    problem = make_problem(VOTES, 4)
    assert SolveState(problem).time_left() is None
    assert SolveState(problem, time_limit=0).time_left() == 0
    assert SolveState(problem, time_limit=0).over
    assert 0 < SolveState(problem, time_limit=np.float32(1000)).time_left() <= 1000


def test_a_solver_gets_what_the_run_has_left(monkeypatch):
    seen = []

    def backend(model, name, options, *_):
        seen.append((name, options))
        return raw(bound=0.5)

    monkeypatch.setattr("c2rf.forest.incumbent.solve_model", backend)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    problem = make_problem(VOTES, 4)
    state = SolveState(problem, backend="highs", time_limit=100, threads=10**6, seed=7)
    assert "backend" not in state.stats
    for _ in range(2):
        state.solve_raw(big_m_model(problem))
    (name, first), (_, second) = seen
    assert (name, first.threads, first.seed) == ("highs", 2, 7)
    assert second.time_limit <= first.time_limit <= 100
    assert state.stats["nodes"] == 6
    assert state.stats["backend"] == "highs"
    assert state.stats["backend_version"][0].isdigit()
    assert state.bound == 0  # what a solver says is no proof
    SolveState(problem).solve_raw(big_m_model(problem))
    assert seen[-1][1].time_limit is None


def test_ctrl_c_ends_the_run(monkeypatch):
    answer = raw("interrupted", interrupted=True)
    monkeypatch.setattr("c2rf.forest.incumbent.solve_model", lambda *_: answer)
    problem = make_problem(VOTES, 4)
    state = SolveState(problem)
    state.solve_raw(big_m_model(problem))
    assert state.interrupted
    assert state.over
