"""``c2rf classify --engine``: files in parts and on Dask, what is refused, what is left behind."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from c2rf.cli import main
from c2rf.data.population.memory import Memory
from c2rf.exceptions import InputError
from c2rf.workflow.tables import find_rows, is_large
from people import People, make_people, read_table

pytest.importorskip("pyarrow")
pytest.importorskip("dask")

WEIGHTED = "--target sick --method c2rf --trees 5 --positive yes --total 100"
RANKED = "--target sick --positive yes --total 100 --learner logistic"
PARTS = [(0, 90), (90, 90), (90, 240)]  # with an empty file
ENGINES = ("chunks", "dask")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """Run in a folder of its own."""
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


@pytest.fixture
def files(people) -> None:
    """Both files, and the unlabeled also as a folder of files of several row groups."""
    people.write(".parquet")
    Path("parts").mkdir()
    for k, (start, end) in enumerate(PARTS):
        part = people.unlabeled.iloc[start:end]
        part.to_parquet(f"parts/{k}.parquet", row_group_size=37, index=False)


def run(line: str) -> int:
    return main(shlex.split(line))


@pytest.mark.usefixtures("files")
class TestOutputs:
    @pytest.mark.parametrize("engine", ENGINES)
    @pytest.mark.parametrize(("asked", "ending"), [(WEIGHTED, ".tsv.gz"), (RANKED, ".parquet")])
    def test_every_file_and_what_is_told(self, capsys, engine, asked, ending):
        told = []
        for name, given in (("memory", "unlabeled.parquet"), (engine, "parts")):
            line = f"classify labeled.parquet {given} {asked} --id id --engine {name} --jobs 2"
            more = f"--out {name}{ending} --save-model {name}.skops --report {name}.html"
            assert run(f"{line} {more}") == 0
            out = capsys.readouterr().out.replace(name, "")
            assert f"read as        {given}: Parquet" in out
            told.append(out.replace(given, ""))
            assert run(f"predict {name}.skops {given} --engine {name} --out {name}.csv") == 0
            capsys.readouterr()
        assert told[0] == told[1]
        assert "2 empty cells" in told[0]
        one, other = (read_table(Path(f"{name}{ending}")) for name in ("memory", engine))
        pd.testing.assert_frame_equal(one, other, check_exact=True)
        assert Path("memory.csv").read_bytes() == Path(f"{engine}.csv").read_bytes()
        pages = [Path(f"{name}.html").read_text() for name in ("memory", engine)]
        for title in ("Labels and known totals", "The rows nearest to the cut-off"):
            tables = [page[page.index(title) :].partition("</table>")[0] for page in pages]
            assert tables[0] == tables[1]

    def test_numbers_of_several_types(self, people):
        whole = people.unlabeled.assign(a=people.unlabeled["a"].fillna(0).astype(int))
        whole[:90].astype({"a": "int32"}).to_parquet("parts/0.parquet", index=False)
        whole[90:].astype({"a": "float64"}).to_parquet("parts/2.parquet", index=False)
        Path("parts/1.parquet").unlink()
        whole.to_parquet("unlabeled.parquet", index=False)
        for given in ("parts", "unlabeled.parquet"):
            line = f"classify labeled.parquet {given} {WEIGHTED} --id id"
            assert run(f"{line} --out {Path(given).stem}.csv") == 0
        assert Path("parts.csv").read_bytes() == Path("unlabeled.csv").read_bytes()

    @pytest.mark.parametrize("engine", ENGINES)
    def test_a_dry_run_reads_all_and_writes_nothing(self, capsys, engine):
        before = sorted(Path().iterdir())
        line = f"classify labeled.parquet parts {WEIGHTED} --drop id --engine {engine}"
        assert run(f"{line} --out o.csv --dry-run") == 0
        assert "2 empty cells" in capsys.readouterr().out
        assert sorted(Path().iterdir()) == before


class TestAuto:
    def test_it_looks_at_the_size(self, people):
        people.write()
        Path("parts").mkdir()
        people.unlabeled.to_csv("parts/a.csv", index=False)
        path = Path("unlabeled.csv")
        assert isinstance(find_rows(path), Memory)
        assert not isinstance(find_rows(Path("parts")), Memory)
        assert not isinstance(find_rows(path, "chunks"), Memory)
        assert not is_large(path)
        assert is_large(path, limit=path.stat().st_size - 1)

    def test_a_frame_is_in_memory(self, people):
        assert isinstance(find_rows(people.unlabeled), Memory)
        with pytest.raises(InputError, match="is not possible for a DataFrame"):
            find_rows(people.unlabeled, "dask")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("engine", ENGINES)
class TestRefused:
    def refused(self, capsys, engine, more="", code=2) -> str:
        line = f"classify labeled.parquet parts {WEIGHTED} --drop id --out o.csv --quiet"
        assert run(f"{line} --engine {engine} {more}") == code
        assert not [path for path in Path().iterdir() if "o.csv" in path.name]
        return capsys.readouterr().err

    def test_other_columns(self, people, capsys, engine):
        people.unlabeled.drop(columns="b").to_parquet("parts/2.parquet", index=False)
        message = self.refused(capsys, engine)
        assert "parts/2.parquet must have the columns of parts/0.parquet" in message

    def test_other_types(self, people, capsys, engine):
        people.unlabeled.assign(b="x").to_parquet("parts/2.parquet", index=False)
        message = self.refused(capsys, engine)
        assert "parts/2.parquet must have the types of parts/0.parquet" in message

    def test_an_unreadable_row_group(self, capsys, engine):
        path = Path("parts/2.parquet")
        content = bytearray(path.read_bytes())
        content[4:2000] = os.urandom(1996)
        path.write_bytes(content)
        assert "parts/2.parquet, row group 0 cannot be read" in self.refused(capsys, engine)

    def test_infinite_numbers(self, people, capsys, engine):
        people.unlabeled.assign(b=np.inf).to_parquet("parts/2.parquet", index=False)
        assert "found an infinite one in column 'b'" in self.refused(capsys, engine)

    def test_no_rows(self, people, capsys, engine):
        for path in Path("parts").iterdir():
            people.unlabeled.iloc[:0].to_parquet(path, index=False)
        assert "no rows" in self.refused(capsys, engine)

    def test_text_of_a_column_that_is_not_there(self, capsys, engine):
        message = self.refused(capsys, engine, "--text zip")
        assert "--text: 'zip' is not a column to learn from" in message

    def test_an_unknown_engine(self, capsys, engine):
        assert "did you mean" in self.refused(capsys, f"{engine}s")


@pytest.mark.usefixtures("files")
class TestDask:
    LINE = f"classify labeled.parquet parts {WEIGHTED} --id id --quiet"

    def test_only_parquet(self, people, capsys):
        people.unlabeled.to_csv("people.csv", index=False)
        line = self.LINE.replace(" parts ", " people.csv ")
        assert run(f"{line} --engine dask --out o.csv") == 2
        assert "must be a Parquet file or a folder of them" in capsys.readouterr().err

    def test_a_scheduler_needs_dask(self, capsys):
        assert run(f"{self.LINE} --engine memory --scheduler x --out o.csv") == 2
        assert "--scheduler is an option of --engine dask" in capsys.readouterr().err

    def test_a_scheduler_that_does_not_answer(self, capsys, monkeypatch):
        monkeypatch.setattr("c2rf.data.population.dask.ANSWER_SECONDS", 0.3)
        line = f"{self.LINE} --engine dask --scheduler tcp://127.0.0.1:9 --out o.csv"
        assert run(line) == 1
        assert "does not answer within 0.3 seconds" in capsys.readouterr().err
        assert not Path("o.csv").exists()

    def test_a_folder_that_exists(self, capsys):
        Path("labels").mkdir()
        Path("labels/part-7.parquet").touch()
        assert run(f"{self.LINE} --engine dask --out labels") == 2
        assert "exists already" in capsys.readouterr().err
        Path("labels/mine").touch()
        assert run(f"{self.LINE} --engine dask --out labels --force") == 2
        assert "other things than labels, such as mine" in capsys.readouterr().err
        Path("labels/mine").unlink()
        assert run(f"{self.LINE} --engine dask --out labels --force") == 0
        assert not Path("labels/part-7.parquet").exists()
        assert len(pd.read_parquet("labels")) == 240
        assert run(f"{self.LINE} --engine dask --out parts --force") == 2
        assert "is an input" in capsys.readouterr().err
        assert [path.name for path in Path().iterdir() if path.name.startswith(".")] == []


def outputs() -> list[Path]:
    """The output and what is on its way to be it."""
    return [path for path in Path().iterdir() if "o.csv" in path.name]


def has_begun() -> bool:
    """Whether something of the output is written."""
    try:
        return any(path.stat().st_size for path in outputs())
    except FileNotFoundError:  # it was just moved to its place
        return True


def test_killed_runs_leave_all_or_nothing(people):
    """A run is killed while it writes; the next one cleans up and ends well."""
    people.write(".parquet")
    many = pd.concat([people.unlabeled] * 100, ignore_index=True)
    many.to_parquet("many.parquet", row_group_size=1000, index=False)
    asked = f"{WEIGHTED.replace('100', '10000')} --drop id --engine chunks --force --quiet"
    line = [sys.executable, "-m", "c2rf", "classify", "labeled.parquet", "many.parquet"]
    line += [*shlex.split(asked), "--out", "o.csv"]
    assert main(line[3:]) == 0
    expected = Path("o.csv").read_bytes()
    Path("o.csv").unlink()
    process = subprocess.Popen(line)
    while process.poll() is None and not has_begun():
        time.sleep(0.001)
    process.kill()
    process.wait()
    assert not Path("o.csv").exists() or Path("o.csv").read_bytes() == expected
    Path(".0123abcd-o.csv").write_text("half of it")
    assert main(line[3:]) == 0
    assert Path("o.csv").read_bytes() == expected
    assert [path.name for path in outputs()] == ["o.csv"]
