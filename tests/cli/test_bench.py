"""``c2rf bench``: what is refused, and what is printed about a run."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from c2rf.cli import bench, main


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("run --time-limit 0", "--time-limit must be a number of seconds above 0; found 0.0"),
        ("run --methods best", "best"),
        ("run --data nothing", "nothing"),
        ("run --protocol fair", "fair"),
        ("run --backend cplex", "highs, scip or gurobi"),
        ("report --records absent.jsonl", "absent.jsonl"),
    ],
)
def test_refused_before_any_work(tmp_path, monkeypatch, capsys, line, message):
    monkeypatch.chdir(tmp_path)
    assert main(["bench", *line.split()]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_summary_names_what_was_made_and_skipped():
    watcher = SimpleNamespace(
        statuses={"solved": 2, "failed": 1}, there=3, total=7, others=1, skipped={"no network": 1}
    )
    assert bench._summary(watcher, Path("r.jsonl")) == [
        ("records", "r.jsonl"),
        ("there", "3 of 7 before"),
        ("made", "1 failed, 2 solved"),
        ("elsewhere", "1 record by another process"),
        ("skipped", "1 record: no network"),
    ]
