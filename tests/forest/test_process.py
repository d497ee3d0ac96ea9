"""Solvers in processes of their own: found from any folder, and done without where need be."""

from __future__ import annotations

import io
import pickle
import sys
import threading
from typing import Any

import numpy as np
import pytest

from c2rf.exceptions import BackendError
from c2rf.forest.backends import SolverOptions, Watch, highs, process
from c2rf.forest.backends.process import solve_model
from c2rf.forest.paper import big_m_model
from c2rf.forest.problem import make_problem
from matrix_models import market_split, with_time

MODEL = big_m_model(make_problem([[1, -1], [1, 1]], 1))


def end_idle():
    while process._idle:
        process._idle.pop().end()


@pytest.fixture(autouse=True)
def _new_processes():
    end_idle()
    yield
    end_idle()


def test_modules_of_the_working_folder_are_not_taken(tmp_path, monkeypatch):
    (tmp_path / "pickle.py").write_text("raise SystemExit")
    monkeypatch.chdir(tmp_path)
    assert solve_model(MODEL).status == "optimal"
    assert len(process._idle) == 1


@pytest.mark.parametrize("python", ["", "/nowhere/python"])
def test_without_a_python_to_start_the_message_says_what_to_do(monkeypatch, python):
    monkeypatch.setattr(sys, "executable", python)
    with pytest.raises(BackendError, match='method="auto"'):
        solve_model(MODEL)


def test_a_process_that_is_no_python_is_an_error(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/true")
    with pytest.raises(BackendError, match="process ended"):
        solve_model(MODEL)
    assert not process._idle


def test_frozen_programs_are_not_started_again(monkeypatch):
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    with pytest.raises(BackendError, match='method="auto"'):
        solve_model(MODEL)


def test_a_process_is_kept_for_the_next_model():
    solve_model(MODEL)
    (kept,) = process._idle
    solve_model(MODEL)
    assert process._idle == [kept]


def test_a_solver_that_does_not_stop_is_ended_and_what_it_told_is_kept():
    asleep = {"time_limit": 1e9}  # the solver's own option wins, so it knows no limit
    result = with_time(
        lambda seconds: solve_model(
            market_split(), "highs", SolverOptions(time_limit=seconds, extra=asleep)
        )
    )
    assert result.status == "limit"
    assert not process._idle


def told(out: io.BytesIO) -> list[tuple[str, Any]]:
    """Return the messages that were sent."""
    size = out.tell()
    out.seek(0)
    found = []
    while out.tell() < size:
        found.append(pickle.load(out))
    return found


def test_the_first_and_solutions_are_told_at_once():
    told: list[Any] = []
    watch = Watch(told.append)
    watch.often = 1e9
    for x in (None, None, np.ones(2), None):
        assert not watch.see(0.0, 1, x)
    assert [known.x is None for known in told] == [True, False]


def test_everything_is_told_where_it_may_be_often():
    told: list[Any] = []
    watch = Watch(told.append)
    watch.often = -1.0
    for bound in (3.0, 2.0, 2.0):
        watch.see(bound, 1)
    assert [known.bound for known in told] == [3.0, 2.0, 2.0]


def test_the_other_end_stops_when_it_is_told_to():
    watch = Watch(lambda _: None)
    watch.interrupted = True
    assert highs.run(market_split(), SolverOptions(), watch).status == "interrupted"


@pytest.mark.parametrize("end", [b"", b"no pickle"])
def test_the_other_end_solves_one_job_after_the_other_and_ends_with_its_input(end):
    asked, out, ended = io.BytesIO(), io.BytesIO(), threading.Event()
    for job in (("highs", MODEL, SolverOptions()), None, ("highs", None, SolverOptions())):
        pickle.dump(job, asked)
    asked.write(end)
    asked.seek(0)
    process.serve(asked, out, ended.set)
    answers = [content for kind, content in told(out) if kind == "answer"]
    assert ended.is_set()
    assert answers[0].status == "optimal"
    assert isinstance(answers[1], AttributeError)  # the second one was no model


def test_errors_of_other_packages_are_told_in_words():
    own = BackendError("ours")
    assert process._portable(own) is own
    other = process._portable(pickle.PicklingError("of a package that may be missing here"))
    assert type(other) is BackendError
    assert str(other) == "PicklingError: of a package that may be missing here"


def test_a_process_that_does_not_read_its_model_is_ended(monkeypatch):
    """The model is larger than a pipe: writing it would wait for the reader."""
    monkeypatch.setattr(process, "_BEGIN", "import time; {}; time.sleep(30)")
    monkeypatch.setattr(process, "_GRACE", 0.1)
    votes = np.where(np.random.default_rng(0).random((300, 40)) < 0.5, 1, -1)
    large = big_m_model(make_problem(votes, 9))
    result = solve_model(large, "highs", SolverOptions(time_limit=0.1))
    assert (result.status, result.x) == ("limit", None)
    assert not process._idle
