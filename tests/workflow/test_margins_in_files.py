"""Margins, weights and uncertain totals from files: in memory, chunks and Dask; what is refused."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import c2rf
from c2rf.cli import main
from c2rf.exceptions import InputError

pytest.importorskip("dask")
pytest.importorskip("pyarrow")

CLASSIFY = "--target status --learner logistic"
MARGINS = "--totals-file by_region.csv --totals-file by_age_sex.csv"


def _people(n=260):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "school": rng.normal(size=n).round(3),
            "region": rng.choice(["north", "south", "east"], n),
            "age": rng.choice(["young", "old"], n),
            "sex": rng.choice(["f", "m"], n),
            "w": rng.gamma(4, 10, n).round(2),
        }
    )
    chance = table["school"] + rng.normal(size=n)
    return table.assign(status=np.where(chance > 0.3, "employed", "not"))


PEOPLE = _people()
ASKED, OTHERS = PEOPLE[:80], PEOPLE[80:].reset_index(drop=True)


def counted(*columns, weighted=False):
    """Count the classes in cells, as a long table of totals."""
    cells = OTHERS.assign(total=OTHERS["w"] if weighted else 1)
    table = cells.groupby([*columns, "status"], as_index=False)["total"].sum()
    return table.rename(columns={"status": "class"}).round({"total": 0}).astype({"total": int})


def wide(*columns):
    """Count the same as a census does: a column per class, and sums."""
    table = pd.crosstab([OTHERS[name] for name in columns], OTHERS["status"]).reset_index()
    return table.assign(Total=table["employed"] + table["not"])


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Write all files into a folder of its own, and run there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    ASKED.to_csv("asked.csv", index=False)
    OTHERS.drop(columns="status").to_csv("others.csv", index=False)
    OTHERS.drop(columns="status").to_parquet("others.parquet", index=False)
    counted("region").to_csv("by_region.csv", index=False)
    wide("age", "sex").to_csv("by_age_sex.csv", index=False)
    return tmp_path


def run(options, others="others.csv"):
    return main(shlex.split(f"classify asked.csv {others} {CLASSIFY} {options}"))


def count_of(labels, *columns):
    table = labels.assign(total=1).groupby([*columns, "label"], as_index=False)["total"].sum()
    return table.rename(columns={"label": "class"})


@pytest.mark.parametrize("more", ["--drop w", "--weight w --totals-policy scale"])
def test_the_same_labels_in_memory_in_chunks_and_on_dask(more):
    for engine in ("memory", "chunks", "dask"):
        options = f"{MARGINS} {more} --sensitivity 5% --engine {engine} --out {engine}.parquet"
        assert run(f"{options} --quiet", "others.parquet") == 0
    memory = pd.read_parquet("memory.parquet")
    for engine in ("chunks", "dask"):
        table = pd.read_parquet(f"{engine}.parquet")
        pd.testing.assert_frame_equal(table, memory, check_dtype=False)  # kinds of text
    assert 0 < memory["robust"].sum() < len(memory)
    assert ((memory["sensitive_to"] == "") == memory["robust"]).all()


def test_all_margins_hold_and_python_says_the_same_as_the_command(capsys):
    overall = '--totals "employed=40%+-10%" --sensitivity se --report report.html'
    assert run(f"{MARGINS} --drop w {overall} --out labels.csv") == 0
    labels = pd.read_csv("labels.csv", keep_default_na=False)
    for columns in (["region"], ["age", "sex"]):
        pd.testing.assert_frame_equal(count_of(labels, *columns), counted(*columns))
    said = capsys.readouterr().out
    assert "all 2 met in whole rows; no labels that meet them are likelier (proven)" in said
    assert "total moved" in said
    assert "robust" in said
    page = Path("report.html").read_text(encoding="utf-8")
    assert "If the totals are wrong" in page
    assert "standard errors" in page
    estimate = {"employed": c2rf.Estimate(0.4, se=0.1)}
    result = c2rf.classify(
        ASKED, OTHERS.drop(columns="status"), target="status", drop=["w"], learner="logistic",
        totals=[counted("region"), wide("age", "sex").drop(columns="Total"), estimate],
        sensitivity="se",
    )  # fmt: skip
    assert result.labels["label"].tolist() == labels["label"].tolist()
    assert result.labels["robust"].tolist() == labels["robust"].tolist()
    moved = result.adjustments.iloc[0]
    assert moved["after"] == counted()["total"][0]
    assert moved["standard_errors"] == pytest.approx(moved["moved"] / (0.1 * len(OTHERS)))


def test_weights_of_labeled_rows_are_learned_from():
    """Rows of weight zero say nothing; without the column in the labeled file all count alike."""
    totals = {"employed": 0.4}
    others = OTHERS.drop(columns="status").assign(w=2.0)
    told = ASKED.assign(w=np.where(np.arange(len(ASKED)) < 50, 1.0, 0.0))

    def scores(labeled, **more):
        result = c2rf.classify(
            labeled, others, target="status", totals=totals, learner="logistic", **more
        )
        return result.labels["score"]

    weighted = scores(told, weight="w")
    # A column mean of the imputer and the scale count all rows, so not bit for bit.
    assert np.corrcoef(weighted, scores(ASKED[:50].drop(columns="w"), weight="w"))[0, 1] > 0.999
    plain = scores(ASKED.drop(columns="w"), weight="w")
    assert not np.allclose(weighted, plain)
    np.testing.assert_array_equal(plain, scores(ASKED.assign(w=1.0), weight="w"))


def test_labels_hang_on_the_total_as_labels_with_other_totals_say():
    tables = {"target": "status", "learner": "logistic", "drop": ["w"]}
    others = OTHERS.drop(columns="status")

    def labels(total):
        return c2rf.classify(ASKED, others, totals={"employed": total}, **tables).labels["label"]

    result = c2rf.classify(ASKED, others, totals={"employed": 80}, sensitivity=0.25, **tables)
    now, fewer, more = labels(80), labels(60), labels(100)
    changed = (fewer != now) | (more != now)
    # The total of the other class, 100 of 180, is off by a quarter, too: 75 or 125.
    changed |= (labels(105) != now) | (labels(55) != now)
    assert result.labels["robust"].tolist() == (~changed).tolist()
    assert result.sensitivity.changed.tolist() == [[20, 20], [25, 25]]


@pytest.mark.parametrize(
    ("files", "options", "message"),
    [
        ({"t.csv": "district,class,total\nnorth,employed,3\nsouth,employed,4\n"}, "",
         "'district' is no column of the unlabeled rows, but its values are those of 'region'"),
        ({"t.csv": "district,class,total\nup,employed,3\ndown,employed,4\n"}, "",
         "'district' were ignored, because the unlabeled rows do not have them"),
        ({"t.csv": "region,class,total\nnorth,employed,3\nwest,employed,4\n"}, "",
         "'west', which no unlabeled row is in"),
        ({"t.csv": "age,class,total\nold,Employed,30\n"}, "--totals-file by_region.csv",
         "did you mean 'employed'"),
        ({"t.csv": "region,class,total\nnorth,employed,3\nnorth,employed,4\n"}, "",
         "t.csv has more than one total for 'north', 'employed'"),
        ({"t.csv": "region,class,total,se\nnorth,employed,3,-1\n"}, "",
         "t.csv, row 2: the standard error of an estimate must be above 0; found -1"),
        ({"t.csv": "region,class,total,se\nnorth,employed,3,few\n"}, "",
         "t.csv, row 2: 'se' must be a number like 50; found 'few'"),
        ({"t.csv": "age,employed,not,sum\nold,3,4,8\n"}, "",
         "the classes add up to 7, but the column 'sum' says 8"),
        ({"t.csv": "age,employed,not\nold,30,4\nyoung,1,2\nTotal,32,6\n"}, "",
         "looks like a row of sums, but 'employed' adds up to 31 and not to 32"),
        ({"t.csv": "age,employed,unknown\nold,3,4\n"}, "", "'unknown' that are neither classes"),
        ({}, f"{MARGINS} --weight ww", "did you mean 'w'"),
        ({}, "--totals employed=60 --weight sex", "must be numbers"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_and_nothing_written(folder, capsys, files, options, message):
    for name, text in files.items():
        (folder / name).write_text(text)
    before = sorted(folder.iterdir())
    given = " ".join(f"--totals-file {name}" for name in files)
    assert run(f"{given} {options} --out labels.csv --report r.html") == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert sorted(folder.iterdir()) == before


def test_three_margins_that_contradict_each_other_in_a_cycle(folder, capsys):
    """Each two of them could hold; together they cannot, and the message says which figures."""
    pairs = [("region", "age"), ("age", "sex"), ("region", "sex")]
    names = []
    for k, (first, second) in enumerate(pairs):
        table = counted(first, second)
        if k == 2:  # one more here, one fewer there: the same sums of each column alone
            cell = (table["region"] == "north") & (table["class"] == "employed")
            table.loc[cell, "total"] += [1, -1]
        names.append(f"t{k}.csv")
        table.to_csv(names[-1], index=False)
    given = " ".join(f"--totals-file {name}" for name in names)
    assert run(f"{given} --drop w --out labels.csv") == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "cannot hold together" in said
    assert "--totals-policy scale" in said
    assert not (folder / "labels.csv").exists()
    assert run(f"{given} --drop w --totals-policy scale --out labels.csv") == 0
    assert "total moved" in capsys.readouterr().out


@pytest.mark.parametrize("share", [0, 1.5, "lots", True])
def test_a_share_that_is_none(share):
    with pytest.raises(InputError, match=r"such as 0\.05"):
        c2rf.classify(
            ASKED, OTHERS, target="status", totals={"employed": 50}, sensitivity=share
        )  # fmt: skip
