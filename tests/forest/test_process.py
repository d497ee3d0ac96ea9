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
from c2rf.forest.backends import Progress, SolverOptions, process
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


@pytest.mark.parametrize("python", ["", "/nowhere/python", "/bin/true"])
def test_without_a_python_to_start_solvers_run_here(monkeypatch, python):
    monkeypatch.setattr(sys, "executable", python)
    assert solve_model(MODEL).status == "optimal"
    assert not process._idle


def test_frozen_programs_are_not_started_again(monkeypatch):
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    result = solve_model(MODEL)
    assert result.status == "optimal"
    assert np.isfinite(result.bound)


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
    assert "was ended" in result.log
    assert not process._idle


def told(out: io.BytesIO) -> list[tuple[str, Any]]:
    """Return the messages that were sent."""
    size = out.tell()
    out.seek(0)
    found = []
    while out.tell() < size:
        found.append(pickle.load(out))
    return found


def progress(incumbent: float, x: np.ndarray | None = None) -> Progress:
    return Progress(incumbent, 0.0, 1, 0.5, x)


def test_the_first_and_solutions_are_told_at_once_and_the_last_of_the_rest():
    out = io.BytesIO()
    messages = process._Messages(out, often=1e9)
    for now in (progress(9.0), progress(8.5), progress(8.0, np.ones(2)), progress(7.5)):
        messages.report(now)
    messages.report_rest()
    messages.report_rest()
    found = told(out)
    assert {kind for kind, _ in found} == {"progress"}
    assert [now.incumbent for _, now in found] == [9.0, 8.0, 7.5]


def test_everything_is_told_where_it_may_be_often():
    out = io.BytesIO()
    messages = process._Messages(out, often=-1.0)
    for incumbent in (3.0, 2.0, 2.0):
        messages.report(progress(incumbent))
    assert [now.incumbent for _, now in told(out)] == [3.0, 2.0, 2.0]


def test_the_other_end_stops_when_it_is_told_to():
    messages, stop = process._Messages(io.BytesIO(), often=1e9), threading.Event()
    stop.set()
    assert (
        process._solve("highs", market_split(), SolverOptions(), messages, stop).status == "stopped"
    )


@pytest.mark.parametrize("end", [b"", b"no pickle"])
def test_the_other_end_solves_one_job_after_the_other_and_ends_with_its_input(end):
    asked, out, ended = io.BytesIO(), io.BytesIO(), threading.Event()
    for job in (("highs", MODEL, SolverOptions()), None, ("highs", None, SolverOptions())):
        pickle.dump(job, asked)
    asked.write(end)
    asked.seek(0)
    process.serve(asked, out, ended.set)
    found = dict(told(out))
    assert ended.is_set()
    assert found["ready"] is None
    assert found["result"].status == "optimal"
    assert isinstance(found["error"], AttributeError)  # the second one was no model


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
    assert "was ended" in result.log
    assert not process._idle
