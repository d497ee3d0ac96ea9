"""The run: processes, and records that survive everything."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from c2rf.bench.methods import BENCH_METHODS, BenchMethod, TrialAnswer
from c2rf.bench.records import Key, Record, read_records, record_file
from c2rf.bench.run import label, make_keys, make_record, run
from c2rf.bench.samples import PROTOCOLS, DataSet, TrialSample, draw, load
from c2rf.cli import main
from c2rf.exceptions import InputError

QUICK = ["rf", "auto", "top-lambda", "p-c2rf"]
SMALL = replace(PROTOCOLS["biased"], fraction=0.1, n_trees=6)
ARGUMENTS = [
    *("bench", "run", "--data", "made-twonorm-150", "--fraction", "0.1"),
    *("--trees", "6", "--samples", "2", "--methods", ",".join(QUICK)),
]


@pytest.fixture(scope="module")
def small() -> DataSet:
    return load("made-waveform-300")


@pytest.fixture(scope="module")
def record(small: DataSet) -> Record:
    sample, truth = draw(small, SMALL, seed=1)
    key = Key(SMALL, small.name, 0, 1, "rf", None, None)
    return make_record(key, small, sample, truth, label("rf", sample))


def timeless(path: Path) -> list[dict[str, object]]:
    """Records without their times, in the order of their keys."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        del line["seconds"]
    return sorted(lines, key=lambda line: (line["data"], line["sample"], line["method"]))


# Records


def test_a_record_is_scored_and_survives_its_line(record: Record, small: DataSet) -> None:
    assert Record.from_line(record.to_line()) == record
    sample, truth = draw(small, SMALL, seed=1)
    right = TrialAnswer(truth, seconds=0.5)
    perfect = make_record(record.key, small, sample, truth, right)
    assert (perfect.accuracy, perfect.mcc, perfect.eta) == (1.0, pytest.approx(1.0), 0)
    nothing = TrialAnswer(None, "none", message="no time", seconds=0.5)
    assert make_record(record.key, small, sample, truth, nothing).accuracy is None


def test_solved_means_proven_within_the_limit(record: Record) -> None:
    late = {"trees": 0.0, "solve": 61.0, "total": 61.0}
    assert record.solved
    assert not replace(record, status="feasible").solved
    assert not replace(record, status="optimal", time_limit=60.0, seconds=late).solved
    assert replace(record, status="optimal", time_limit=62.0, seconds=late).solved


def test_a_torn_last_line_does_not_count_and_nothing_is_lost(
    tmp_path: Path, record: Record
) -> None:
    path = tmp_path / "records.jsonl"
    second = replace(record, sample=1)
    path.write_text(record.to_line() + second.to_line()[:100])
    assert read_records(path) == [record]
    with record_file(path) as (there, append):
        assert there == {record.key}
        append(second)
    assert read_records(path) == [record, second]
    assert path.read_text() == record.to_line() + second.to_line()


def test_a_last_line_without_its_end_is_a_record(tmp_path: Path, record: Record) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text(record.to_line().rstrip())
    with record_file(path) as (there, append):
        assert there == {record.key}
        append(replace(record, sample=1))
    assert len(read_records(path)) == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"format": 0}\n', r"\(it has format 0.*, or another version of c2rf"),
        ("{}\n", r"\(it has format None.*, or another version of c2rf"),
        ("no json\n", "or repair or remove that line"),
        ("[1]\n", r"\(not a JSON object.*, or repair or remove that line"),
        ('{"format": 6, "data": "ring"}\n', "or repair or remove that line"),
    ],
)
def test_other_lines_are_refused_and_left_alone(
    tmp_path: Path, record: Record, line: str, message: str
) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text(record.to_line() + line)
    for read in (lambda: read_records(path), lambda: record_file(path).__enter__()):
        with pytest.raises(InputError, match=f"line 2 is not a record.*{message}"):
            read()
    assert path.read_text() == record.to_line() + line


def test_one_process_writes_at_a_time(tmp_path: Path, record: Record) -> None:
    path = tmp_path / "records.jsonl"
    command = [sys.executable, "-m", "c2rf", *ARGUMENTS, "--records", str(path)]
    with record_file(path) as (_, append):
        append(record)
        other = subprocess.run(command, capture_output=True, text=True)
    assert other.returncode == 2
    assert "another process is writing to" in other.stderr
    assert read_records(path) == [record]


# The whole run


def test_killed_and_started_again_is_as_if_never_killed(tmp_path: Path) -> None:
    straight, killed = tmp_path / "straight.jsonl", tmp_path / "killed.jsonl"
    assert main([*ARGUMENTS, "--records", str(straight), "--quiet", "--jobs", "2"]) == 0
    command = [sys.executable, "-m", "c2rf", *ARGUMENTS, "--records", str(killed), "--jobs", "2"]
    runner = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert runner.stderr is not None
    for line in runner.stderr:
        if "3 of 8" in line:
            break
    runner.send_signal(signal.SIGKILL)
    runner.stderr.close()
    runner.wait()
    there = read_records(killed)
    assert 3 <= len(there) <= 8  # all, if this process was too slow to kill the other
    assert main([*ARGUMENTS, "--records", str(killed), "--quiet"]) == 0
    assert read_records(killed)[: len(there)] == there
    assert timeless(killed) == timeless(straight)
    assert len(timeless(straight)) == 8
    assert {line["status"] for line in timeless(straight)} == {"optimal", "computed"}


def test_what_is_there_is_not_run_again(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    path = tmp_path / "records.jsonl"
    once = ["bench", "run", "--data", "made-ringnorm-200", "--samples", "1", "--methods", "rf"]
    assert main([*once, "--records", str(path)]) == 0
    before = path.read_bytes()
    assert main([*once, "--records", str(path)]) == 0
    assert path.read_bytes() == before
    assert "1 of 1 before" in capsys.readouterr().out


def test_a_data_set_that_cannot_be_had_is_told_and_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    (tmp_path / "ring").mkdir()
    (tmp_path / "ring" / "ring.tsv.gz").write_bytes(b"not a table")
    path = tmp_path / "records.jsonl"
    arguments = ["--data", "ring,made-twonorm-200", "--methods", "rf", "--samples", "1"]
    where = ["--data-dir", str(tmp_path), "--records", str(path)]
    assert main(["bench", "run", *arguments, *where]) == 1
    said = capsys.readouterr()
    assert "data set ring cannot be read" in said.err
    assert "data set ring cannot be read" in said.out
    assert [record.data for record in read_records(path)] == ["made-twonorm-200"]


def test_every_setting_has_records_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    many = ["--fraction", "0.1,20%", "--positive-weight", "0.5,0.85", "--total-error", "0,-20%,+5%"]
    what = ["--data", "made-twonorm-200", "--samples", "1", "--methods", "rf", "--quiet"]
    assert main(["bench", "run", *what, *many, "--records", str(path)]) == 0
    records = read_records(path)
    assert len({r.key for r in records}) == len(records) == 12
    assert {r.protocol.total_error for r in records} == {0.0, -0.2, 0.05}
    assert {(r.n_labeled, r.protocol.fraction) for r in records} == {(20, 0.1), (40, 0.2)}
    assert main(["bench", "run", *what, *many, "--records", str(path)]) == 0
    assert read_records(path) == records


def test_few_labels_are_a_setting(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    what = ["--data", "made-twonorm-200", "--samples", "2", "--methods", "top-lambda", "--quiet"]
    many = ["--fraction", "20%", "--records", str(path), "--few-labels"]
    assert main(["bench", "run", *what, *many, "1,2"]) == 0
    for record in read_records(path):
        other = record.n_labeled - record.n_labeled_positive
        assert min(other, record.n_labeled_positive) == record.protocol.few_labels
        assert record.n_labeled + record.n_unlabeled == 200
    assert main(["bench", "run", *what, *many, "0"]) == 2


def test_methods_that_solve_nothing_have_no_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = []

    def spied(key: Key, sample: TrialSample) -> TrialAnswer:
        given.append((key.method, key.backend, key.time_limit))
        return TrialAnswer(None, "none")

    monkeypatch.setattr("c2rf.bench.run._answer", spied)
    methods = ["rf", "auto", "p-c2rf"]
    keys = make_keys([SMALL], ["made-twonorm-300"], methods, 1, time_limit=50.0)
    with record_file(tmp_path / "records.jsonl") as opened:
        run(keys, *opened, lambda line: None)
    assert given == [("rf", None, None), ("auto", None, 50.0), ("p-c2rf", "highs", 50.0)]


def test_an_interrupted_answer_is_not_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = TrialAnswer(None, "feasible", stats={"interrupted": True}, seconds=1.0)
    monkeypatch.setattr("c2rf.bench.run._answer", lambda *given: half)
    keys = make_keys([SMALL], ["made-twonorm-300"], ["rf"], samples=1)
    with record_file(tmp_path / "records.jsonl") as opened, pytest.raises(KeyboardInterrupt):
        run(keys, *opened, lambda line: None)
    assert read_records(tmp_path / "records.jsonl") == []


def test_a_run_says_what_is_done_and_counts_it(tmp_path: Path) -> None:
    said: list[str] = []
    keys = make_keys([SMALL], ["ring", "made-twonorm-100"], ["rf"], samples=2)
    with record_file(tmp_path / "records.jsonl") as opened:
        (tmp_path / "ring").mkdir()
        (tmp_path / "ring" / "ring.tsv.gz").write_bytes(b"not a table")
        made, skipped = run(keys, *opened, said.append, folder=tmp_path)
        run(keys[2:], *opened, said.append)
    assert said[0] == "4 records wanted, 0 there already"
    assert said[1].startswith("skipped: data set ring cannot be read")
    assert "rf               computed" in said[2]
    assert "records: 3 of 4" in said[2]
    assert said[4:] == ["2 records wanted, 2 there already"]
    assert made == {"computed": 2}
    assert list(skipped.values()) == [2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "iris"], "unknown data set 'iris'; known are phoneme"),
        (["--methods", "rf,svm"], "--methods must be rf, "),
        (["--methods", ","], "at least one name"),
        (["--protocol", "fair"], "--protocol must be biased or simple; found 'fair'"),
        (["--backend", "cplex"], "--backend must be highs, scip or gurobi; found 'cplex'"),
        (["--fraction", "1"], "--fraction must be above 0 and below 1, as 0.05 or 5%; found '1'"),
        (["--fraction", "5%,many"], "--fraction must be above 0 and below 1, as 0.05 or 5%"),
        (["--positive-weight", "0.5,1"], "--positive-weight must be above 0 and below 1"),
        (["--total-error", "-100%"], "--total-error must be above -1, as 0.05 or 5%; found"),
        (["--total-error", "nan"], "--total-error must be above -1"),
        (["--few-labels", "1.5"], "--few-labels must be above 0, a whole number; found '1.5'"),
        (["--time-limit", "-5"], "--time-limit must be"),
        (["--records", "no-such-folder/records.jsonl"], "cannot be written: No such file"),
    ],
)
def test_mistakes_are_told(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture
) -> None:
    assert main(["bench", "run", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_the_help_knows_all_methods(capsys: pytest.CaptureFixture) -> None:
    assert main(["bench", "run", "--help"]) == 0
    said = re.sub(r"-\s+", "-", capsys.readouterr().out)  # lines may break at a hyphen
    assert all(name in said for name in BENCH_METHODS)


def test_every_method_has_a_title() -> None:
    assert all(
        isinstance(method, BenchMethod) and method.title for method in BENCH_METHODS.values()
    )


def test_methods_that_run_no_solver_name_none():
    methods = ["auto", "c2rf-offset", "p-c2rf"]
    keys = make_keys([PROTOCOLS["simple"]], ["magic"], methods, samples=1)
    assert [key.backend for key in keys] == [None, None, "highs"]
