"""The lines of a summary say what was done, and no more; tables as they were understood."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import c2rf
from c2rf.data.dialect import ReadAs
from c2rf.datasets import make_twonorm
from c2rf.inference.sensitivity import Sensitivity
from c2rf.report import report_content
from c2rf.totals.bounds import Adjustment, Bounds
from c2rf.totals.stated import Margin, Totals
from c2rf.workflow.options import Options
from c2rf.workflow.prepare import prepare
from c2rf.workflow.summary import MOST_COLUMNS, plan_lines, preview, previews, summary_lines
from made_up import column, forest, made_up, ranking
from people import make_people


def lines(**changes):
    return dict(summary_lines(made_up(**changes)))


def test_labels_beside_known_totals():
    found = lines(bounds=Bounds.overall([30, 20], [40, 20], 60))
    assert found["labeled"] == "40 rows"
    assert found["unlabeled"] == "60 rows"
    assert found["label no"] == "40 (known: 30 to 40)"
    assert found["label yes"] == "20 (known: 20)"
    found = lines(bounds=Bounds.overall([0, 0], [60, 60], 60))
    assert found["label no"] == "40 (not known)"


def test_estimated_totals_are_not_called_known():
    X, y = make_twonorm(600, random_state=0)
    people = pd.DataFrame(X).add_prefix("x").assign(sick=np.where(y == 1, "yes", "no"))
    result = c2rf.classify(
        people[:100], people[100:].drop(columns="sick"), target="sick", totals="estimate",
        learner="logistic",
    )  # fmt: skip
    said = dict(summary_lines(result))
    assert "(estimated: " in said["label yes"]
    page = report_content(result)
    first = " ".join(sentence for _, sentences in page.lead for sentence in sentences)
    assert "totals that are estimated over all rows" in first
    assert "All estimated totals are met exactly" in first
    assert "The totals are not known but estimated" in first
    others = [str(b.text) for s in page.sections for b in s.blocks if b.kind in ("text", "key")]
    known = [text for text in others if "known" in text]
    assert not known


def test_a_plan_has_totals_and_no_labels():
    data = made_up().data
    data.options.method = "known-totals"
    found = dict(plan_lines(data))
    assert found["method"] == "known-totals"
    assert found["total of yes"] == "20"
    assert not any(name.startswith("label ") for name in found)


def test_adjusted_totals_are_named_up_to_a_number():
    moved = Adjustment((), (), "yes", "30", 30.0, 20.0, 0.0)
    result = made_up()
    bounds = Bounds(**{**vars(result.data.bounds), "adjustments": (moved,) * 22})
    found = summary_lines(made_up(bounds=bounds))
    assert [name for name, _ in found].count("total moved") == 20
    assert ("totals moved", "and 2 more") in found


def test_what_is_proven_of_weighted_trees():
    assert "none can do better" in lines(classifier=forest(0, 0))["proof"]
    assert "proof" not in lines()


def test_how_closely_sums_of_weights_are_met():
    met = pd.DataFrame({"off": [0.25, -0.5]})
    classifier = ranking(assignment_={"closest": True}, totals_met_=met)
    found = lines(weights=np.full(60, 2.0), classifier=classifier)
    assert found["weights"] == "they add up to 120; totals met to 0.5 each; no labels come closer"
    assert "known in sums of weights" in found["label yes"]


def test_how_many_labels_are_right():
    confusion = np.array([[38.0, 2.0], [9.0, 11.0]])
    found = lines(classifier=ranking(expected_confusion_=confusion))
    assert found["right"] == "about 81.7 % of the labels"
    assert found["unreliable"].startswith("yes (55.0 %): fewer than 60.0 % of these labels")
    assert "right" not in lines(classifier=forest(0, 0))


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("exact", "drawn exactly"),
        ("markov-chain", "drawn by a Markov chain"),
        ("perturb-and-map", "perturb-and-MAP"),
    ],
)
def test_how_imputations_were_drawn(method, words):
    classifier = ranking(expected_confusion_=np.eye(2), imputation_method_=method)
    said = lines(classifier=classifier)["imputations"]
    assert words in said
    assert ("Markov chain" in said) == (method == "markov-chain")
    assert "imputations" not in lines()


def test_how_many_labels_are_robust():
    result = made_up()
    kinds = np.array(["", "yes"], dtype=object)
    codes = np.repeat([0, 1], [54, 6])
    result.sensitivity = Sensitivity(
        0.05, np.array([2.0, 1.0]), np.array([[1, 1], [4, 5]]), kinds, codes
    )
    assert dict(summary_lines(result))["robust"] == (
        "with any total 5.0 % off, 54 labels (90.0 %) stay; most others depend on the total of yes"
    )


def test_columns_that_are_special_or_left_out():
    columns = [column("age", "numbers", 9, (0, 0), 0), column("town", "one-hot", 2, (0, 1), 3)]
    found = lines(columns=columns, left_out={"id": "is an id"}, codes=["plz"], remarks=["Hm."])
    assert "column age" not in found
    assert found["column town"] == (
        "text with 2 values, a column of 0 and 1 for each; 1 empty cell, treated as a value of "
        "their own; 3 rows with a value that no labeled row has"
    )
    assert found["left out"] == "id: is an id (keep=['id'] brings it back)"
    assert "look like codes" in found["column plz"]
    assert found["careful"] == "Hm."


def test_groups_with_totals():
    totals = Totals({"yes": 20}, (Margin(("region",), {"n": {}, "s": {}}),))
    assert lines(totals=totals)["groups"] == "2 groups of region with totals"


def test_types_first_cells_values_and_empty_cells(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age;born;town;none\n41,5;2001-02-03;Ulm;\n;2001-02-04;Bonn;\n7,5;;Ulm;\n")
    found = preview(path, name="people.csv")
    assert found.title.startswith("people.csv: 3 rows, 4 columns; read as: semicolons")
    assert found.decimal == ","
    columns = found.columns.set_index("column")
    assert columns["type"].tolist() == ["number", "date", "text", "empty"]
    assert columns.loc["town"].tolist() == ["text", "Ulm", "Bonn", "Ulm", 2, 0]
    assert columns.loc["none", "empty"] == 3


def test_wide_tables_are_cut():
    wide = pd.DataFrame([[1] * (MOST_COLUMNS + 5)]).add_prefix("x")
    found = preview(wide)
    assert len(found.columns) == MOST_COLUMNS
    assert len(found.names) == MOST_COLUMNS + 5


@pytest.mark.parametrize("decimal", [None, ".", ","])
def test_the_preview_of_totals_claims_no_decimal_mark(tmp_path, decimal):
    """How their numbers are read depends on all of them, and is said elsewhere."""
    data, totals = tmp_path / "people.csv", tmp_path / "totals.csv"
    data.write_text("a;b\n1;x\n")
    totals.write_text("class;total\nyes;1.234\n")
    _, found = previews([data], ReadAs(decimal=decimal), [totals])
    assert found.columns.set_index("column").loc["total", "type"] == "number"
    assert "decimal" not in found.title
    assert "thousands" not in found.title


def test_a_summary_says_that_nothing_was_calibrated():
    calibrated = lines(classifier=ranking(expected_confusion_=np.eye(2)))
    assert "careful" not in calibrated
    found = lines(classifier=ranking(expected_confusion_=np.eye(2), calibrated_by_=None))
    assert "without calibration" in found["careful"]


def test_robust_to_one_standard_error_is_said_so():
    result = made_up()
    result.sensitivity = Sensitivity(
        None, np.array([0.0, 3.0]), np.zeros((2, 2)), np.array([""], object), np.zeros(60, int)
    )
    assert "with any total one standard error off, all labels stay" in str(result.summary())


def test_estimates_by_a_number_of_many_values_are_named_with_the_cure():
    people = make_people(200)
    options = Options(target="sick", totals=people.totals(), estimates_by=["a"])
    (said,) = prepare(people.labeled, people.unlabeled, options).remarks
    assert "by 'a' have a domain for each of its numbers, of which there are" in said
    assert 'bin="group=a:0-14,15+"' in said
