"""``c2rf classify`` on Dask: the labels of ``c2rf classify`` in memory, and whole outputs only."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from c2rf.cli import main
from c2rf.cli.on_dask import DaskJob, classify_on_dask
from c2rf.cli.totals import Totals
from c2rf.distributed import parquet
from c2rf.estimators import known_totals
from c2rf.exceptions import ClusterError, InputError

dask = pytest.importorskip("dask")
pytest.importorskip("pyarrow")

RNG = np.random.default_rng(2)
N = 900
ALL = pd.DataFrame(RNG.normal(size=(200 + N, 4)), columns=list("abcd")).round(2)
ALL["town"] = np.array(["Ulm", "Bonn", "Köln"])[RNG.integers(0, 3, len(ALL))]
ALL["who"] = [f"p{k}" for k in range(len(ALL))]
LABELED, PEOPLE = ALL[:200].copy(), ALL[200:].reset_index(drop=True)
SCORE = LABELED["a"] + LABELED["b"] + (LABELED["town"] == "Ulm") + RNG.normal(size=200)
LABELED["sick"] = np.where(SCORE > 0.5, "yes", "no")


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(autouse=True)
def small_forest(monkeypatch):
    """What is learned is not the point here."""
    monkeypatch.setattr(
        known_totals, "default_estimator", lambda: RandomForestClassifier(10, random_state=0)
    )


@pytest.fixture
def job(tmp_path, monkeypatch):
    """Three files of several row groups, read as partitions of at most 100 rows."""
    monkeypatch.setattr(parquet, "MOST_ROWS", 100)
    people = tmp_path / "people"
    people.mkdir()
    for k, part in enumerate((PEOPLE[:350], PEOPLE[350:400], PEOPLE[400:])):
        part.to_parquet(people / f"{k}.parquet", row_group_size=60, index=False)
    LABELED.to_parquet(tmp_path / "labeled.parquet")
    PEOPLE.to_parquet(tmp_path / "people.parquet")
    return DaskJob(
        tmp_path / "labeled.parquet",
        people,
        "sick",
        Totals({"yes": 300}),
        tmp_path / "labels",
        method="c2rf",
        identifier="who",
    )


def in_memory(job, *more):
    """Ask the command line for the same."""
    out = job.out.with_name("memory.parquet")
    command = ["classify", job.labeled, job.out.with_name("people.parquet"), "--target", "sick"]
    command += ["--positive", "yes", "--out", out, "--method", job.method, "--quiet", *more]
    assert main([str(part) for part in command]) == 0
    return pd.read_parquet(out)


@pytest.mark.parametrize("method", ["known-totals", "c2rf"])
@pytest.mark.parametrize("name", ["labels", "labels.parquet"])
def test_labels_are_those_in_memory(job, method, name):
    job = replace(job, method=method, out=job.out.with_name(name))
    outcome = classify_on_dask(job)
    written, expected = pd.read_parquet(job.out), in_memory(job, "--total", "300", "--id", "who")
    assert written["who"].tolist() == PEOPLE["who"].tolist()
    assert written["label"].tolist() == expected["label"].tolist()
    assert written.columns.tolist() == expected.columns.tolist()
    assert outcome.counts == written["label"].value_counts().to_dict()
    assert job.out.is_dir() == (name == "labels")
    if method == "c2rf":
        np.testing.assert_allclose(written["score"], expected["score"])
        np.testing.assert_allclose(written["confidence"], expected["confidence"])
    else:
        assert outcome.counts["yes"] == 300
    assert [path.name for path in job.out.parent.iterdir() if path.name.startswith(".")] == []


def test_groups(job):
    by_group = {"Ulm": {"yes": 150}, "Bonn": {"yes": (0.1, 0.2)}}
    totals = Totals({"yes": 300}, by_group)
    job = replace(job, totals=totals, group="town", identifier=None, method="known-totals")
    classify_on_dask(job)
    written = pd.read_parquet(job.out)
    assert written.columns.tolist() == [*PEOPLE.columns, "label", "score", "confidence"]
    pd.testing.assert_frame_equal(written[PEOPLE.columns], PEOPLE, check_dtype=False)
    counts = written[written["label"] == "yes"]["town"].value_counts()
    assert counts["Ulm"] == 150
    assert counts.sum() == 300


class TestRefused:
    def refused(self, job, message):
        with pytest.raises(InputError, match=message):
            classify_on_dask(job)
        assert not job.out.exists()
        assert not any("parts" in path.name for path in job.out.parent.iterdir())

    def test_other_files(self, job):
        self.refused(replace(job, unlabeled=job.unlabeled / "9.parquet"), "there is no such file")
        csv = job.out.with_name("people.csv")
        PEOPLE.to_csv(csv)
        self.refused(replace(job, unlabeled=csv), "must be a Parquet file or a folder of them")
        self.refused(replace(job, out=job.out.with_name("x.csv")), "writes Parquet")

    def test_other_columns(self, job):
        PEOPLE.drop(columns="b").to_parquet(job.unlabeled / "1.parquet")
        self.refused(job, r"1.parquet must have the columns of .*0.parquet; it lacks 'b'")

    def test_text_of_a_column_that_is_not_there(self, job):
        self.refused(replace(job, text=["zip"]), "--text: 'zip' is not a column to learn from")

    def test_text_among_numbers(self, job):
        PEOPLE.astype({"b": str}).assign(b="many").to_parquet(job.unlabeled / "2.parquet")
        self.refused(
            job, r"partition \d+: column 'b' must hold numbers; found 'many' in data row 1"
        )

    def test_an_unreadable_row_group(self, job):
        path = job.unlabeled / "1.parquet"
        content = bytearray(path.read_bytes())
        content[4 : len(content) // 3] = b"?" * (len(content) // 3 - 4)
        path.write_bytes(bytes(content))
        self.refused(job, r"1.parquet, row group 0 cannot be read: ")

    def test_an_output_that_exists(self, job):
        job.out.mkdir()
        with pytest.raises(InputError, match="exists already; choose another name or use --force"):
            classify_on_dask(job)
        (job.out / "old").touch()
        classify_on_dask(replace(job, force=True))
        assert not (job.out / "old").exists()
        assert len(pd.read_parquet(job.out)) == N
        with pytest.raises(InputError, match="is an input"):
            classify_on_dask(replace(job, out=job.unlabeled, force=True))

    def test_a_scheduler_that_does_not_answer(self, job, monkeypatch):
        monkeypatch.setattr("c2rf.distributed.cluster.ANSWER_SECONDS", 0.3)
        with pytest.raises(ClusterError, match="does not answer"):
            classify_on_dask(replace(job, scheduler="tcp://127.0.0.1:9"))
        assert not job.out.exists()


class TestCommand:
    def command(self, job, *more):
        words = ["classify", job.labeled, job.unlabeled, "--target", "sick", "--positive", "yes"]
        words += ["--total", "300", "--id", "who", "--engine", "dask", "--method", "c2rf", *more]
        return main([str(word) for word in words])

    def test_it_does_the_job(self, job, capsys):
        assert self.command(job, "--out", job.out) == 0
        assert "900" in capsys.readouterr().out
        assert len(pd.read_parquet(job.out)) == N

    def test_options_it_does_not_know(self, job, capsys):
        for more in (["--report", "r.html"], ["--dry-run"], []):
            out = ["--out", job.out] if more else []
            assert self.command(job, *out, *more) == 2
        assert "say where the labels should go" in capsys.readouterr().err
        assert self.command(job, "--out", job.out, "--engine", "memory", "--scheduler", "x") == 2
        assert "--scheduler is an option of --engine dask" in capsys.readouterr().err

    def test_no_scheduler(self, job, capsys, monkeypatch):
        monkeypatch.setattr("c2rf.distributed.cluster.ANSWER_SECONDS", 0.3)
        assert self.command(job, "--out", job.out, "--scheduler", "tcp://127.0.0.1:9") == 1
        assert "does not answer within 0.3 seconds" in capsys.readouterr().err
        assert not job.out.exists()

    def test_a_cluster(self, job):
        distributed = pytest.importorskip("distributed")
        options = {"processes": False, "n_workers": 1, "dashboard_address": None}
        with (
            dask.config.set(scheduler=None),
            distributed.LocalCluster(protocol="tcp", **options) as cluster,
        ):
            more = ["--out", job.out, "--scheduler", cluster.scheduler_address]
            assert self.command(job, *more) == 0
        expected = in_memory(job, "--total", "300", "--id", "who")
        assert pd.read_parquet(job.out)["label"].tolist() == expected["label"].tolist()
