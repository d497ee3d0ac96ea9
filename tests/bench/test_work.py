"""What a trial's process does, done in this one; runs that go on, or are stopped."""

from __future__ import annotations

import multiprocessing
from pathlib import Path
from typing import Any

import pytest

import c2rf
from bench_records import toy
from c2rf.bench import methods
from c2rf.bench.methods import TrialAnswer
from c2rf.bench.run import Work, _work
from c2rf.cli import main
from c2rf.cli.options import INTERRUPTED

RUN = ["bench", "run", "--data", "made-twonorm-60", "--samples", "1", "--methods", "rf"]


def outcome_of(method: str) -> TrialAnswer:
    ours, theirs = multiprocessing.Pipe(duplex=False)
    with ours, theirs:
        _work(theirs, method, toy([[1, -1, 1], [1, 1, 1]], 1))
        outcome: TrialAnswer = ours.recv()
    return outcome


def test_answers_and_errors_are_sent():
    right = outcome_of("rf")
    assert right.status == "computed"
    assert right.labels is not None
    wrong = outcome_of("no-such-method")
    assert wrong.status == "failed"
    assert wrong.message.startswith("KeyError: ")


@pytest.mark.parametrize(
    ("error", "status"), [(c2rf.NoSolutionError, "none"), (c2rf.BackendError, "failed")]
)
def test_solves_without_an_answer_are_told_apart(monkeypatch, error, status):
    def fails(*args: Any, **options: Any) -> None:
        raise error("no luck")

    monkeypatch.setattr(c2rf, "solve", fails)
    answer = methods.weighted(toy([[1, -1, 1]], 1))
    assert (answer.status, answer.labels, answer.message) == (status, None, "no luck")


def test_a_torn_line_is_told_and_the_run_goes_on(tmp_path: Path, capsys):
    records = tmp_path / "records.jsonl"
    records.write_text('{"half of a li')
    assert main([*RUN, "--records", str(records)]) == 0
    assert f"moved to {records}.torn" in " ".join(capsys.readouterr().out.split())
    assert len(records.read_text().splitlines()) == 1


def test_ctrl_c_says_how_to_go_on(tmp_path: Path, capsys, monkeypatch):
    def pressed(self: Work) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Work, "answer", pressed)
    assert main([*RUN, "--records", str(tmp_path / "records.jsonl")]) == INTERRUPTED
    assert "stopped; the same command goes on from here" in capsys.readouterr().err
