"""``c2rf classify --engine chunks``: the labels of files in parts are those of files in memory."""

from __future__ import annotations

import os
import random
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from c2rf.chunks import ParquetFiles, TextFiles
from c2rf.cli import engines, main, shown
from c2rf.cli.in_chunks import RowsDone
from c2rf.tables import read_table
from people import People, make_people, quick_estimator

pytest.importorskip("pyarrow")

C2RF = "--target sick --method c2rf --trees 5 --positive yes --total 100"
KNOWN = "--target sick --positive yes --total 100 --rounds 0"
GROUPS = "--target sick --group region --totals-file totals.csv --rounds 0"
PARTS = [(0, 90), (90, 90), (90, 240)]  # with an empty file


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """Run in a folder of its own, in parts of 37 rows."""
    monkeypatch.setattr("c2rf.estimators.known_totals.default_estimator", quick_estimator)
    for files in (ParquetFiles, TextFiles):
        monkeypatch.setattr(files.__init__, "__defaults__", (37,))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


@pytest.fixture(scope="module")
def people() -> People:
    people = make_people()
    odd = people.unlabeled.reset_index(drop=True)
    odd.loc[5, "town"], odd.loc[200, "town"] = "Aalen", None
    odd.loc[[7, 150], "a"] = np.nan
    return People(people.labeled, odd, people.truth.reset_index(drop=True))


def write(people: People, ending: str) -> None:
    """Write both files, the unlabeled also as a folder of files, and totals of groups."""
    people.write(ending)
    Path("parts").mkdir()
    for k, (start, end) in enumerate(PARTS):
        part = people.unlabeled.iloc[start:end]
        if ending == ".parquet":
            part.to_parquet(f"parts/{k}.parquet", row_group_size=50, index=False)
        else:
            part.to_csv(f"parts/{k}{ending}", index=False)
    people.totals_by("region").to_csv("totals.csv", index=False)


def run(line: str) -> int:
    return main(shlex.split(line))


class TestLabels:
    @pytest.mark.parametrize("asked", [C2RF, KNOWN, GROUPS], ids=["c2rf", "known", "groups"])
    @pytest.mark.parametrize("ending", [".csv", ".parquet"])
    def test_are_those_in_memory(self, people, ending, asked):
        write(people, ending)
        asked += " --drop id --quiet"
        assert run(f"classify labeled{ending} unlabeled{ending} {asked} --out memory.csv") == 0
        assert run(f"classify labeled{ending} parts {asked} --out parts.csv") == 0
        assert Path("memory.csv").read_bytes() == Path("parts.csv").read_bytes()

    @pytest.mark.parametrize("ending", [".tsv.gz", ".parquet"])
    def test_beside_ids_in_every_format(self, people, ending):
        write(people, ".parquet")
        asked = f"{C2RF} --id id"
        for engine in ("memory", "chunks"):
            line = f"labeled.parquet unlabeled.parquet {asked} --engine {engine}"
            assert run(f"classify {line} --out {engine}{ending}") == 0
        memory, chunks = (read_table(Path(f"{name}{ending}")) for name in ("memory", "chunks"))
        pd.testing.assert_frame_equal(memory, chunks, check_exact=True)

    def test_of_numbers_in_several_types(self, people):
        write(people, ".parquet")
        whole = people.unlabeled.assign(a=people.unlabeled["a"].fillna(0).astype(int))
        for k, (kind, rows) in enumerate(
            {"int32": slice(0, 90), "float64": slice(90, 240)}.items()
        ):
            whole.iloc[rows].astype({"a": kind}).to_parquet(f"parts/{2 * k}.parquet", index=False)
        Path("parts/1.parquet").unlink()
        whole.to_parquet("unlabeled.parquet", index=False)
        assert run(f"classify labeled.parquet parts {C2RF} --id id --out a.csv") == 0
        assert run(f"classify labeled.parquet unlabeled.parquet {C2RF} --id id --out b.csv") == 0
        assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()

    def test_model_and_what_is_told(self, people, capsys):
        write(people, ".parquet")
        told = []
        for engine in ("memory", "chunks"):
            line = f"labeled.parquet unlabeled.parquet {C2RF} --drop id --engine {engine}"
            assert run(f"classify {line} --save-model {engine}.skops") == 0
            told.append(capsys.readouterr().out.replace(engine, ""))
            assert run(f"predict {engine}.skops unlabeled.parquet --out {engine}.csv") == 0
            capsys.readouterr()
        assert told[0] == told[1]
        assert "cells are empty" in told[0]
        assert Path("memory.csv").read_bytes() == Path("chunks.csv").read_bytes()


class TestReport:
    def test_large_ones_by_a_sample_and_it_says_so(self, people, monkeypatch):
        pytest.importorskip("matplotlib")
        monkeypatch.setattr(shown, "MOST_SHOWN", 40)
        write(people, ".parquet")
        for engine in ("memory", "chunks"):
            line = f"labeled.parquet unlabeled.parquet {C2RF} --id id --engine {engine}"
            assert run(f"classify {line} --report {engine}.html") == 0
        memory, chunks = (Path(f"{name}.html").read_text() for name in ("memory", "chunks"))
        assert "40 rows drawn at random" in chunks
        assert "unique was not looked at" in chunks
        nearest = "The rows nearest to the cut-off"
        assert _table(memory, nearest) == _table(chunks, nearest)
        assert _table(memory, "Labels and known") == _table(chunks, "Labels and known")


def _table(page: str, title: str) -> str:
    return page[page.index(title) :].partition("</table>")[0]


class TestEngine:
    def test_auto_looks_at_the_size(self, people, monkeypatch):
        write(people, ".csv")
        path = Path("unlabeled.csv")
        assert isinstance(engines.pick_engine("auto", path, True), engines.InMemory)
        assert not isinstance(engines.pick_engine("auto", Path("parts"), True), engines.InMemory)
        monkeypatch.setattr(engines, "LARGE_FILE", path.stat().st_size - 1)
        assert not isinstance(engines.pick_engine("auto", path, True), engines.InMemory)

    def test_dry_run_reads_all_and_writes_nothing(self, people, capsys):
        write(people, ".parquet")
        before = sorted(Path().iterdir())
        assert run(f"classify labeled.parquet parts {C2RF} --drop id --out o.csv --dry-run") == 0
        assert "2 cells are empty" in capsys.readouterr().out
        assert sorted(Path().iterdir()) == before

    def test_progress(self, people, capsys):
        write(people, ".parquet")
        assert run(f"classify labeled.parquet parts {C2RF} --id id --out o.csv") == 0
        assert "labeling: 240 of 240 rows" in capsys.readouterr().err
        assert run(f"classify labeled.parquet parts {C2RF} --id id --out p.csv --quiet") == 0
        assert capsys.readouterr() == ("", "")

    def test_progress_of_many_rows_is_a_few_lines(self, capsys):
        progress = RowsDone(quiet=False)
        progress.n_rows = 20_000_000
        for done in range(0, 20_000_001, 50_000):
            progress("labeling", done)
        assert len(capsys.readouterr().err.splitlines()) == 10


class TestRefused:
    @pytest.fixture(autouse=True)
    def files(self, people):
        write(people, ".parquet")

    def refused(self, capsys) -> str:
        code = run(f"classify labeled.parquet parts {C2RF} --drop id --out o.csv")
        assert code == 2
        assert not [path for path in Path().iterdir() if "o.csv" in path.name]
        return capsys.readouterr().err

    def test_other_columns(self, people, capsys):
        people.unlabeled.drop(columns="b").to_parquet("parts/2.parquet", index=False)
        assert "parts/2.parquet must have the columns of parts/0.parquet" in self.refused(capsys)

    def test_other_types(self, people, capsys):
        people.unlabeled.assign(b="x").to_parquet("parts/2.parquet", index=False)
        assert "parts/2.parquet must have the types of parts/0.parquet" in self.refused(capsys)

    def test_unreadable_row_group(self, capsys):
        path = Path("parts/2.parquet")
        content = bytearray(path.read_bytes())
        content[4:2000] = os.urandom(1996)
        path.write_bytes(content)
        assert "parts/2.parquet, row group 0 cannot be read" in self.refused(capsys)

    def test_infinite_numbers(self, people, capsys):
        people.unlabeled.assign(b=np.inf).to_parquet("parts/2.parquet", index=False)
        message = self.refused(capsys)
        assert "parts/2.parquet" in message
        assert "infinite" in message

    def test_no_rows(self, people, capsys):
        for path in Path("parts").iterdir():
            people.unlabeled.iloc[:0].to_parquet(path, index=False)
        assert "has columns but no rows" in self.refused(capsys)

    def test_unknown_engine(self, capsys):
        line = f"classify labeled.parquet parts {C2RF} --out o.csv --engine steam"
        assert run(line) == 2
        assert "--engine must be" in capsys.readouterr().err


def test_killed_runs_leave_all_or_nothing(folder, people):
    """A run is killed at some moment; the next one cleans up and ends well."""
    people.write(".parquet")
    many = pd.concat([people.unlabeled] * 100, ignore_index=True)
    many.to_parquet("many.parquet", row_group_size=1000, index=False)
    asked = f"{C2RF.replace('100', '10000')} --drop id --engine chunks --force --quiet"
    line = [sys.executable, "-m", "c2rf", "classify", "labeled.parquet", "many.parquet"]
    line += [*shlex.split(asked), "--out", "o.csv"]
    start = time.monotonic()
    subprocess.run(line, check=True)
    seconds, expected = time.monotonic() - start, Path("o.csv").read_bytes()
    draw = random.Random(0)
    for _ in range(int(os.environ.get("C2RF_TEST_KILLS", "2"))):
        Path("o.csv").unlink(missing_ok=True)
        process = subprocess.Popen(line)
        time.sleep(seconds * draw.uniform(0.5, 1))
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert not Path("o.csv").exists() or Path("o.csv").read_bytes() == expected
    Path(".0123abcd-o.csv").write_text("half of it")
    subprocess.run(line, check=True)
    assert Path("o.csv").read_bytes() == expected
    assert [path.name for path in Path().iterdir() if "o.csv" in path.name] == ["o.csv"]
