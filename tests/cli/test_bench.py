"""``c2rf bench``: what is refused, and what is printed about a run."""

from __future__ import annotations

from collections import Counter

import pytest

from c2rf.cli import main


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


def test_a_summary_names_what_was_made_and_skipped(tmp_path, monkeypatch, capsys):
    def run(keys, there, append, say, **how):
        say("a line")
        return Counter(optimal=2, failed=1), Counter({"no network": 1})

    monkeypatch.setattr("c2rf.bench.run.run", run)
    path = tmp_path / "r.jsonl"
    given = ["--data", "ring", "--methods", "rf", "--samples", "7", "--records", str(path)]
    assert main(["bench", "run", *given]) == 1
    said = capsys.readouterr()
    assert said.err == "a line\n"
    for words in ("0 of 7 before", "1 failed, 2 optimal", "1 record: no network"):
        assert words in said.out
    assert main(["bench", "run", *given, "--quiet"]) == 1
    assert capsys.readouterr().err == ""
