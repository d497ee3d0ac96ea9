"""Solvers in processes of their own: found from any folder, and done without where need be."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from c2rf.core.problem import make_problem
from c2rf.solver.backends import isolated, run
from c2rf.solver.formulation import big_m_model

MODEL = big_m_model(make_problem([[1, -1], [1, 1]], 1))


@pytest.fixture(autouse=True)
def _new_processes():
    isolated.end_all()
    yield
    isolated.end_all()


def test_modules_of_the_working_folder_are_not_taken(tmp_path, monkeypatch):
    (tmp_path / "pickle.py").write_text("raise SystemExit")
    monkeypatch.chdir(tmp_path)
    assert run(MODEL).status == "optimal"
    assert len(isolated._idle) == 1


@pytest.mark.parametrize("python", ["", "/nowhere/python", "/bin/true"])
def test_without_a_python_to_start_solvers_run_here(monkeypatch, python):
    monkeypatch.setattr(sys, "executable", python)
    assert run(MODEL).status == "optimal"
    assert not isolated._idle


def test_frozen_programs_are_not_started_again(monkeypatch):
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    result = run(MODEL)
    assert result.status == "optimal"
    assert np.isfinite(result.bound)


def test_a_process_is_kept_for_the_next_model():
    run(MODEL)
    (kept,) = isolated._idle
    run(MODEL)
    assert isolated._idle == [kept]
