"""Tables to publish, from the command line: files, formats, the report, and mistakes."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import c2rf
from c2rf.cli import main
from c2rf.report import report_content
from people import make_people

USUAL = ["classify", "labeled.csv", "unlabeled.csv", "--target", "sick", "--learner", "logistic",
         "--id", "id", "--imputations", "3", "--quiet"]  # fmt: skip


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    people = make_people(300)
    people.write()
    return [*USUAL, "--totals", ",".join(f"{k}={n}" for k, n in people.totals().items())]


def test_the_nth_table_goes_to_the_nth_file(files: list[str]) -> None:
    words = ["--estimates-by", "region,town", "--estimates-out", "a.xlsx", "--report", "r.html"]
    words += ["--estimates-by", "town", "--estimates-out", "b.csv"]
    assert main([*files, *words]) == 0
    both, town = pd.read_excel("a.xlsx", engine="calamine"), pd.read_csv("b.csv")
    assert len(both.dropna(subset="class")) == 12
    notes = both.iloc[:, 0].astype(str).tolist()
    assert "The shares are of the 240 rows of unlabeled.csv; intervals at a level of 95 %." in notes
    assert list(both)[:4] == ["region", "town", "class", "count"]
    assert list(town)[:3] == ["town", "class", "count"]
    unlabeled = pd.read_csv("unlabeled.csv")
    assert town.groupby("town")["count"].sum().round(6).to_dict() == (
        unlabeled["town"].value_counts().to_dict()
    )
    page = Path("r.html").read_text()
    assert "Figures to publish" in page
    assert "domains-1" in page


def test_python_gives_the_same_table(files: list[str]) -> None:
    assert main([*files, "--estimates-by", "region", "--estimates-out", "a.csv"]) == 0
    totals = make_people(300).totals()
    result = c2rf.classify(
        "labeled.csv", "unlabeled.csv", target="sick", totals=totals, id="id",
        learner="logistic", imputations=3, estimates_by=["region"],
    )  # fmt: skip
    pd.testing.assert_frame_equal(
        pd.read_csv("a.csv"), result.estimates("region"), check_dtype=False, check_names=False
    )
    pd.testing.assert_frame_equal(result.published[0], result.estimates(["region"]))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--estimates-by", "region"], "say where it should go with --estimates-out"),
        (
            ["--estimates-by", "region", "--estimates-by", "town", "--estimates-out", "a.csv"],
            "the nth table goes to the nth file",
        ),
        (["--estimates-by", "regin", "--estimates-out", "a.csv"], "did you mean 'region'"),
        (["--estimates-by", "sick", "--estimates-out", "a.csv"], "'sick'"),
        (["--estimates-by", "region", "--estimates-out", "a.doc"], "a.doc"),
    ],
)
def test_mistakes_write_nothing(
    files: list[str], words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*files, *words, "--out", "labels.csv"]) == 2
    assert message in capsys.readouterr().err
    assert sorted(path.name for path in Path().iterdir()) == ["labeled.csv", "unlabeled.csv"]


def test_a_report_shows_the_table_without_a_file(files: list[str]) -> None:
    assert main([*files, "--estimates-by", "region", "--report", "r.html"]) == 0
    assert "Shares by region" in Path("r.html").read_text()


def test_domains_are_in_the_order_of_the_totals() -> None:
    people = make_people(300)
    regions = ["west", "north", "south"]
    totals = people.totals_by("region").set_index("region").loc[regions].reset_index()
    result = c2rf.classify(
        people.labeled, people.unlabeled, target="sick", id="id", totals=totals, imputations=2,
        learner="logistic",
    )  # fmt: skip
    found = result.estimates(["town", "region"])
    pairs = list(dict.fromkeys(zip(found["town"], found["region"], strict=True)))
    assert pairs == [(town, region) for town in ("Bonn", "Ulm") for region in regions]
    assert found.attrs["whom"].startswith("the shares are of the 240 rows of the unlabeled table; ")
    page = report_content(result)
    tables = [b for b in page.sections[0].blocks if b.kind == "table" and "by region" in b.title]
    assert [row[0] for row in tables[0].rows] == regions
