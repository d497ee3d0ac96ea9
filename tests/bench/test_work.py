"""What a trial's process does, done in this one; runs that go on, or are stopped."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import c2rf
from bench_records import toy
from c2rf.bench import methods
from c2rf.bench.records import Key
from c2rf.bench.run import _answer
from c2rf.bench.samples import PROTOCOLS
from c2rf.cli import main
from c2rf.cli.common import INTERRUPTED

RUN = ["bench", "run", "--data", "made-twonorm-60", "--samples", "1", "--methods", "rf"]


class Fatal:
    """What ends the process that it is sent to."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (3,)


def test_answers_errors_and_deaths_are_recorded():
    key = Key(PROTOCOLS["biased"], "any", 0, 0, "rf", None, None)
    sample = toy([[1, -1, 1], [1, 1, 1]], 1)
    right = _answer(key, sample)
    assert right.status == "computed"
    assert right.labels is not None
    wrong = _answer(replace(key, method="no-such-method"), sample)
    assert wrong.status == "failed"
    assert wrong.message.startswith("KeyError: ")
    dead = _answer(key, Fatal())
    assert dead.status == "failed"
    assert dead.message.startswith("BrokenProcessPool: ")


@pytest.mark.parametrize(
    ("error", "status"), [(c2rf.NoSolutionError, "none"), (c2rf.BackendError, "failed")]
)
def test_solves_without_an_answer_are_told_apart(monkeypatch, error, status):
    def fails(*args: Any, **options: Any) -> None:
        raise error("no luck")

    monkeypatch.setattr(c2rf, "solve", fails)
    answer = methods.weighted(toy([[1, -1, 1]], 1))
    assert (answer.status, answer.labels, answer.message) == (status, None, "no luck")


def test_after_a_torn_line_the_run_goes_on(tmp_path: Path):
    records = tmp_path / "records.jsonl"
    records.write_text('{"half of a li')
    assert main([*RUN, "--records", str(records)]) == 0
    assert len(records.read_text().splitlines()) == 1


def test_ctrl_c_says_how_to_go_on(tmp_path: Path, capsys, monkeypatch):
    def pressed(*given: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("c2rf.bench.run._answer", pressed)
    assert main([*RUN, "--records", str(tmp_path / "records.jsonl")]) == INTERRUPTED
    assert "stopped; the same command goes on from here" in capsys.readouterr().err
