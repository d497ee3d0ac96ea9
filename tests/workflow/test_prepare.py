"""Tables as users have them: one file, useless columns, known classes, and where rows are kept."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import c2rf
from c2rf.cli import main
from c2rf.data.formats import read_file
from c2rf.exceptions import InputError
from c2rf.workflow.tables import at_scheduler, find_rows
from people import make_people

PEOPLE = make_people(200)
BASE = {"target": "sick", "totals": {"yes": 60}, "learner": "logistic"}


def test_one_file_is_enough(tmp_path):
    both = pd.concat([PEOPLE.labeled, PEOPLE.unlabeled.assign(sick="")])
    both.to_csv(tmp_path / "people.csv", sep=";", decimal=",", index=False)
    result = c2rf.classify(tmp_path / "people.csv", **BASE)
    assert result.counts["yes"] == 60
    assert "people.csv: semicolons, decimal comma, UTF-8" in result.summary()
    two = c2rf.classify(PEOPLE.labeled, PEOPLE.unlabeled, **BASE)
    assert result.labels["label"].tolist() == two.labels["label"].tolist()
    result.write(tmp_path / "out.csv")
    again = read_file(tmp_path / "out.csv")
    assert again.read_as == "semicolons, decimal comma, UTF-8"
    assert again.frame["a"].tolist() == [f"{number}" for number in PEOPLE.unlabeled["a"]]


def test_known_classes_score_the_labels(tmp_path):
    truth = PEOPLE.unlabeled.assign(sick=PEOPLE.truth)
    truth.iloc[0, -1] = None
    result = c2rf.classify(PEOPLE.labeled, truth, **BASE)
    right = (result.labels["label"].to_numpy() == truth["sick"].to_numpy())[1:]
    assert result.accuracy == (int(right.sum()), len(truth) - 1, "sick")
    assert "accuracy" in result.summary()
    result.report(tmp_path / "report.html")
    assert "of the labels are right" in (tmp_path / "report.html").read_text()


def test_columns_that_say_nothing_are_left_out_and_codes_are_named():
    tables = [
        table.assign(
            name=[f"person {k} of {len(table)}" for k in range(len(table))],
            country="DE",
            nothing=None,
            plz=[70000 + k % 40 for k in range(len(table))],
        )
        for table in (PEOPLE.labeled, PEOPLE.unlabeled)
    ]
    result = c2rf.classify(*tables, **BASE)
    assert set(result.data.left_out) == {"id", "name", "country", "nothing"}
    assert result.data.codes == ["plz"]
    assert "text=['plz']" in result.summary()
    kept = c2rf.classify(*tables, keep=["name"], text=["plz"], **BASE)
    assert "name" not in kept.data.left_out
    assert not kept.data.codes
    with pytest.raises(InputError, match="there is no column to learn from"):
        c2rf.classify(
            *(table[["id", *table.columns.intersection(["sick"])]] for table in tables), **BASE
        )


@pytest.mark.parametrize("ending", [".csv", ".xlsx", ".jsonl"])
def test_formulas_are_text(tmp_path, capsys, monkeypatch, ending):
    monkeypatch.chdir(tmp_path)
    PEOPLE.labeled.to_csv("labeled.csv", index=False)
    people = PEOPLE.unlabeled.copy()
    people["id"] = ["=1+1", "@home", *people["id"].iloc[2:]]
    people.to_csv("unlabeled.csv", index=False)
    line = f"classify labeled.csv unlabeled.csv --target sick --totals yes=60 --out out{ending} "
    assert main(shlex.split(line + "--learner logistic --id id")) == 0
    assert ("2 cells of the output begin like formulas" in capsys.readouterr().err) == (
        ending == ".csv"
    )
    assert read_file(Path(f"out{ending}")).frame["id"].tolist()[:2] == ["=1+1", "@home"]
    if ending == ".csv":
        assert main(shlex.split(line + "--learner logistic --force --spreadsheet-safe")) == 0
        assert read_file(Path("out.csv")).frame["id"].tolist()[:2] == ["'=1+1", "'@home"]


def test_a_dry_run_shows_the_tables_and_needs_no_output(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    PEOPLE.write()
    line = "classify labeled.csv unlabeled.csv --target sick --totals yes=60 --dry-run"
    assert main(shlex.split(line)) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "labeled.csv: 40 rows, 8 columns; read as: commas, decimal point, UTF-8" in said
    for word in ("row 3", "values", "empty", "number", "Bonn"):
        assert word in said


def test_a_dry_run_shows_totals_too_and_needs_none(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PEOPLE.write()
    Path("totals.csv").write_text("town;yes\nBonn;12\nUlm;9\n")
    line = "classify labeled.csv unlabeled.csv --target sick --dry-run"
    assert main(shlex.split(line)) == 0
    assert "none given; with --totals or --totals-file" in capsys.readouterr().out
    assert main(shlex.split(f"{line} --totals-file totals.csv")) == 0
    assert "totals.csv: 2 rows, 2 columns; read as: semicolons, UTF-8" in capsys.readouterr().out


def test_a_result_shows_itself():
    people = make_people(60)
    rows = people.unlabeled.rename(columns={"a": "<b>a"})
    labeled = people.labeled.rename(columns={"a": "<b>a"})
    result = c2rf.classify(
        labeled, rows, target="sick", totals={"yes": 20}, id="id", learner="logistic"
    )
    assert repr(result) == "<c2rf classification of 48 rows: no: 28, yes: 20>"
    shown = result._repr_html_()
    assert shown.startswith("<table><tr><th")
    assert "<b>" not in shown


def test_jobs_are_threads_of_dask():
    dask = pytest.importorskip("dask")
    before = dask.config.get("num_workers", None)
    with at_scheduler(None, "dask", 3):
        assert dask.config.get("num_workers") == 3
    with at_scheduler(None, "dask", -1):
        assert dask.config.get("num_workers") >= 1
    assert dask.config.get("num_workers", None) == before


def test_a_scheduler_without_dask():
    with (
        pytest.raises(InputError, match='scheduler is an option of engine="dask"'),
        at_scheduler("tcp://127.0.0.1:9", "chunks"),
    ):
        pass


def test_an_engine_that_is_not_possible():
    with pytest.raises(InputError, match="engine='dask' is not possible for a list"):
        find_rows([[1.0, 2.0]], "dask")


def test_a_frame_of_an_office_is_read_as_its_file_is(tmp_path):
    """Sums, thousands and a total under any name: the same totals, and the same said of them."""
    people = pd.DataFrame({"Alter": range(60), "Land": ["Bayern", "Hessen", "Saarland"] * 20})
    people["Status"] = ["aktiv" if age % 7 else "inaktiv" for age in people["Alter"]]
    rest = pd.concat([people.drop(columns="Status")] * 60)
    table = pd.DataFrame(
        {
            "Land": ["Bayern", "Hessen", "Süden", "Saarland", "Deutschland"],
            "aktiv": ["1.000", "900", "1.900", "800", "2.700"],
            "Gesamt": ["1.200", "1.200", "2.400", "1.200", "3.600"],
        }
    )
    table.to_csv(tmp_path / "t.csv", sep=";", index=False)
    found = [
        c2rf.classify(people, rest, target="Status", totals=given, learner="logistic")
        for given in (table, tmp_path / "t.csv", [table])
    ]
    for result in found:
        assert result.counts == {"aktiv": 2700, "inaktiv": 900}
        assert "'Deutschland', 'Gesamt', 'Süden' were checked and left out" in result.summary()
        assert "6 totals of the rows to label" in result.summary()
        pd.testing.assert_frame_equal(result.totals_met, found[0].totals_met)


@pytest.mark.parametrize("totals", ["rows", "everybody", "groups", "rates"])
def test_a_misspelled_class_of_the_sample_is_named(totals):
    people = make_people(200)
    found, labeled = people.totals(), people.labeled.reset_index(drop=True)
    labeled.loc[labeled.index[labeled["sick"] == "yes"][:2], "sick"] = "yess"
    given = {
        "rows": found,
        "everybody": {
            name: n + int((people.labeled["sick"] == name).sum()) for name, n in found.items()
        },
        "groups": people.totals_by("region"),
        "rates": {name: n / sum(found.values()) for name, n in found.items()},
    }[totals]
    with pytest.raises(InputError, match=r"'yess' of 2 labeled rows .* did you mean 'yes'\?"):
        c2rf.classify(labeled, people.unlabeled, **BASE | {"totals": given})


def test_classes_that_differ_in_blanks_only_are_refused():
    people = make_people(200)
    labeled = people.labeled.reset_index(drop=True)
    labeled.loc[labeled.index[labeled["sick"] == "yes"][:2], "sick"] = "yes "
    with pytest.raises(InputError, match=r"'yes' .* and 'yes ' \(2\), which differ in blanks"):
        c2rf.classify(labeled, people.unlabeled, **BASE)


def test_a_class_without_total_that_has_room_is_kept():
    people = make_people(200, n_classes=3)
    labeled = people.labeled.replace({"sick": {"maybe": "not yes"}})
    totals = {"yes": 30, "no": 60}
    found = c2rf.classify(labeled, people.unlabeled, **BASE | {"totals": totals})
    assert found.counts["not yes"] == len(people.unlabeled) - 90


def test_a_group_without_totals_is_named_and_so_is_a_sum_that_misses_it(tmp_path):
    table = PEOPLE.totals_by("region")
    rest = table[table["region"] != "west"].reset_index(drop=True)
    result = c2rf.classify(PEOPLE.labeled, PEOPLE.unlabeled, **BASE | {"totals": rest})
    n = int((PEOPLE.unlabeled["region"] == "west").sum())
    said = f"'region': there are no totals for 'west' ({n} rows), but for 2 other groups."
    assert said in result.summary()
    all_rows = c2rf.classify(PEOPLE.labeled, PEOPLE.unlabeled, **BASE | {"totals": table})
    assert "no totals for" not in all_rows.summary()
    sums = table.groupby("class", as_index=False)["total"].sum().assign(region="Germany")
    with pytest.raises(InputError, match=r"'Germany' is no group .* off by .* totals for 'west'"):
        c2rf.classify(
            PEOPLE.labeled,
            PEOPLE.unlabeled,
            **BASE | {"totals": pd.concat([rest, sums], ignore_index=True)},
        )


def test_groups_without_totals_are_named_in_german():
    rest = PEOPLE.totals_by("region").query("region != 'west'")  # its index has gaps
    given = BASE | {"totals": rest, "language": "de"}
    result = c2rf.classify(PEOPLE.labeled, PEOPLE.unlabeled, **given)
    assert "für 'west'" in result.summary()
    assert "gibt es keine Eckwerte, aber für 2 andere Gruppen." in result.summary()


def test_design_weights_of_the_sample_alone_weigh_in_learning():
    weight = np.linspace(1, 9, len(PEOPLE.labeled))
    labeled = PEOPLE.labeled.assign(hrf=weight)
    found = c2rf.classify(labeled, PEOPLE.unlabeled, weight="hrf", **BASE)
    plain = c2rf.classify(labeled, PEOPLE.unlabeled, **BASE)
    assert found.counts == plain.counts == {"no": 100, "yes": 60}  # people are rows
    np.testing.assert_array_equal(found.data.labeled_weights, weight)
    assert "40 rows, learned from by their weights" in found.summary()
    assert found.predictions.confidence.tolist() != plain.predictions.confidence.tolist()
    everybody = {"yes": 60 + int((labeled["sick"] == "yes").sum())}
    everybody["no"] = 200 - everybody["yes"]
    of_all = c2rf.classify(labeled, PEOPLE.unlabeled, weight="hrf", **BASE | {"totals": everybody})
    assert of_all.counts == found.counts
    with pytest.raises(InputError, match="weight: there is no column 'hrf'"):
        c2rf.classify(PEOPLE.labeled, PEOPLE.unlabeled, weight="hrf", **BASE)


def test_swapped_tables_are_recognised():
    with pytest.raises(InputError, match=r"no column 'sick' in the labeled table.*swapped"):
        c2rf.classify(PEOPLE.unlabeled, PEOPLE.labeled, **BASE)


@pytest.mark.parametrize("engine", ["memory", "dask"])
def test_ids_that_are_there_twice_are_named(engine):
    twice = pd.concat([PEOPLE.unlabeled, PEOPLE.unlabeled[3:5]], ignore_index=True)
    names = ", ".join(sorted(repr(name) for name in PEOPLE.unlabeled["id"][3:5]))
    if engine == "dask":
        twice = pytest.importorskip("dask.dataframe").from_pandas(twice, npartitions=3)
    totals = {"totals": PEOPLE.totals(), "id": "id"}
    with pytest.raises(InputError, match=f"2 ids are not unique in 'id': {names}\\. .*add up"):
        c2rf.classify(PEOPLE.labeled, twice, **BASE | totals)
    result = c2rf.classify(PEOPLE.labeled, twice, id="id", **BASE)
    assert f"2 ids are not unique in 'id': {names}." in result.summary()


def test_a_learner_is_a_name():
    with pytest.raises(InputError, match=r"own classifiers go into c2rf\.KnownTotalsClassifier"):
        c2rf.classify(PEOPLE.labeled, PEOPLE.unlabeled, **BASE | {"learner": LogisticRegression()})


def test_estimates_that_are_not_whole_are_no_rates():
    labeled = pd.DataFrame({"x": range(30), "state": ["sick", "sickly", "well"] * 10})
    unlabeled = pd.DataFrame({"x": range(1000)})
    totals = {"sick": c2rf.Estimate(300.4, se=5), "well": c2rf.Estimate(500.2, se=5)}
    result = c2rf.classify(
        labeled, unlabeled, target="state", totals=totals, learner="logistic", totals_of="unlabeled"
    )
    assert result.labels["label"].value_counts()["sickly"] == 200
