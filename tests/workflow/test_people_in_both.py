"""People in both tables keep their label; columns that do not fit are named; so are weights."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import c2rf
from c2rf.exceptions import InputError
from c2rf.report import report_content
from people import make_people

PEOPLE = make_people(200)
BASE = {"target": "sick", "learner": "logistic"}
ALL = pd.concat([PEOPLE.labeled.drop(columns="sick"), PEOPLE.unlabeled])
ALL = ALL.sort_values("a", ignore_index=True)  # the labeled are anywhere
TRUTH = ALL["id"].map(
    dict(zip(PEOPLE.labeled["id"], PEOPLE.labeled["sick"], strict=True))
    | dict(zip(PEOPLE.unlabeled["id"], PEOPLE.truth, strict=True))
)
TOTALS = {"yes": int((TRUTH == "yes").sum()), "no": int((TRUTH == "no").sum())}


@pytest.mark.parametrize("kind", ["frames", "csv", "numbers"])
def test_labeled_people_among_the_others_keep_their_label(tmp_path, kind):
    labeled, others = PEOPLE.labeled, ALL
    if kind == "csv":
        labeled, others = tmp_path / "labeled.csv", tmp_path / "all.csv"
        PEOPLE.labeled.to_csv(labeled, index=False)
        ALL.to_csv(others, index=False, sep=";")
    elif kind == "numbers":  # one table has whole numbers, the other texts
        others = ALL.assign(id=ALL["id"].astype(int))
        labeled = labeled.assign(id=labeled["id"].astype(int).astype(str))
    result = c2rf.classify(labeled, others, totals=TOTALS, id="id", **BASE)
    assert "40 labeled rows are among the rows to label" in result.summary()
    assert result.counts == {"no": TOTALS["no"], "yes": TOTALS["yes"]}
    found = result.labels.set_index(result.labels["id"].astype(int))
    own = found.loc[PEOPLE.labeled["id"].astype(int)]
    assert own["label"].tolist() == PEOPLE.labeled["sick"].tolist()
    assert (own["confidence"] == 1).all()
    assert len(found) == 200


@pytest.mark.parametrize("kind", ["negative", "narrow", "long", "unsigned"])
def test_whole_numbers_of_any_size_are_ids(kind):
    def numbered(table):
        number = table["id"].astype(int)
        if kind == "long":
            return table.assign(id=number + 10**18)
        if kind == "unsigned":
            return table.assign(id=number.astype(np.uint64) + np.uint64(2**63))
        return table.assign(id=(-1 - number).astype(np.int16 if kind == "narrow" else np.int64))

    result = c2rf.classify(numbered(PEOPLE.labeled), numbered(ALL), totals=TOTALS, id="id", **BASE)
    assert "40 labeled rows are among the rows to label" in result.summary()


@pytest.mark.parametrize("padded", ["labeled", "others", "both"])
def test_ids_that_lost_their_zeros_are_refused(padded):
    def with_zeros(table):
        return table.assign(id=table["id"].astype(int).astype(str).str.zfill(6))

    labeled = PEOPLE.labeled if padded == "others" else with_zeros(PEOPLE.labeled)
    others = ALL.assign(id=ALL["id"].astype(int)) if padded == "labeled" else with_zeros(ALL)
    if padded == "both":
        result = c2rf.classify(labeled, others, totals=TOTALS, id="id", **BASE)
        assert "40 labeled rows are among the rows to label" in result.summary()
        return
    with pytest.raises(InputError, match=r"'0*\d+' in the labeled table is '0*\d+' .* 40 ids"):
        c2rf.classify(labeled, others, totals=TOTALS, id="id", **BASE)


def test_everybody_counts_each_person_once():
    half = pd.concat([PEOPLE.labeled.drop(columns="sick")[:15], PEOPLE.unlabeled])
    result = c2rf.classify(PEOPLE.labeled, half, totals=TOTALS, id="id", **BASE)
    summary = " ".join(result.summary().split())
    about = "the 175 rows of the unlabeled table and 25 labeled ones besides; these were subtracted"
    assert f"about The totals are of everybody: {about}." in summary
    assert "unlabeled 160 rows, and 15 more whose label is known" in summary
    n_yes = int((PEOPLE.labeled["sick"][15:] == "yes").sum())
    assert f"(known: {TOTALS['yes']}, less {n_yes} labeled)" in summary
    page = report_content(result)
    data = next(each for each in page.sections if each.name == "data")
    assert "160 rows of the unlabeled table have no label" in data.blocks[0].text
    share = (PEOPLE.truth == "yes").mean()  # of the 160 rows without a label, not of all 175
    assert f"but of the rows without a label {100 * share:.1f} % are" in data.blocks[-1].text
    assert "160 of 175 rows of the unlabeled table" in page.lead[0][1][0]
    assert "160 rows got a label" in page.lead[1][1][0]
    assert len(result.population_sample.rows) == 160
    estimates = result.estimates("region")
    assert estimates.attrs["whom"] == (
        "the shares are of the 175 rows of the unlabeled table alone, not of everybody whom the "
        "totals count; intervals at a level of 95 %"
    )
    expected = PEOPLE.truth.value_counts() + PEOPLE.labeled["sick"][:15].value_counts()
    assert result.counts == expected.to_dict()


def test_two_labels_of_one_person_are_refused_with_the_id():
    twice = pd.concat([PEOPLE.labeled, PEOPLE.labeled[:1].assign(sick="no")])
    twice.iloc[0, -1] = "yes"
    with pytest.raises(InputError, match=f"'{twice['id'].iloc[0]}' has two labels, 'yes' and 'no'"):
        c2rf.classify(twice, ALL, totals=TOTALS, id="id", **BASE)


def test_without_an_id_equal_rows_are_mentioned():
    drop = {"drop": ["id"]}
    said = c2rf.classify(PEOPLE.labeled, ALL, totals=TOTALS, **BASE, **drop).summary()
    assert "40 labeled rows equal a row to label in all columns" in said
    rest = c2rf.classify(PEOPLE.labeled, PEOPLE.unlabeled, totals={"yes": 60}, **BASE, **drop)
    assert "equal a row" not in rest.summary()


def test_totals_that_do_not_fit_because_of_people_in_both_say_so():
    far = {"yes": TOTALS["yes"] - 5, "no": TOTALS["no"] + 30}
    with pytest.raises(InputError, match=r"40 labeled rows equal .* names them: id=\. .*add up"):
        c2rf.classify(PEOPLE.labeled, ALL, totals=far, drop=["id"], **BASE)


def test_rows_are_equal_that_mean_the_same(tmp_path):
    """As in a workbook and in a text file of another program, with empty cells."""
    whole = ALL["a"].round().mask(np.arange(200) % 5 == 0)
    others = ALL.drop(columns="id").assign(
        whole=[f"{each:.1f}".replace(".", ",").replace("nan", "") for each in whole],
        city=ALL["town"].mask(np.arange(200) % 7 == 0),
    )
    labeled = PEOPLE.labeled.merge(
        ALL.assign(whole=whole, city=others["city"])[["id", "whole", "city"]], on="id"
    ).drop(columns="id")
    labeled.to_excel(tmp_path / "labeled.xlsx", index=False)
    others.to_csv(tmp_path / "all.csv", index=False, sep=";", decimal=",")
    result = c2rf.classify(tmp_path / "labeled.xlsx", tmp_path / "all.csv", totals=TOTALS, **BASE)
    assert "40 labeled rows equal a row to label in all columns" in result.summary()


def test_the_paper_has_no_known_rows():
    with pytest.raises(InputError, match=r'remove these 40 rows .*; use method="known-totals"'):
        c2rf.classify(PEOPLE.labeled, ALL, target="sick", totals=TOTALS, id="id", method="c2rf")


SEXES = np.array(["m", "w"])


def with_sex(words: tuple[str, str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return people whose sex is written in two ways."""
    tables = (PEOPLE.labeled, PEOPLE.unlabeled)
    both = (SEXES, np.array(words))
    return tuple(
        table.drop(columns="id").assign(sex=names[np.arange(len(table)) % 2])
        for table, names in zip(tables, both, strict=True)
    )


def test_a_column_without_a_common_value_is_named_with_both():
    result = c2rf.classify(*with_sex(("Mann", "Frau")), totals={"yes": 60}, **BASE)
    remarks = "\n".join(result.data.remarks)
    assert "No value of 'sex' is in both tables: 'm', 'w' in the labeled rows, 'Frau', 'Mann'" in (
        remarks
    )
    assert not c2rf.classify(*with_sex(("m", "w")), totals={"yes": 60}, **BASE).data.remarks


def test_a_grouping_column_without_a_common_value_is_refused_unless_it_is_dropped():
    labeled, rest = with_sex(("Mann", "Frau"))
    totals = pd.DataFrame({"sex": ["Mann", "Frau"], "class": "yes", "total": [30, 40]})
    with pytest.raises(InputError, match=r"Totals are grouped by it.*drop=\['sex'\]"):
        c2rf.classify(labeled, rest, totals=totals, **BASE)
    assert c2rf.classify(labeled, rest, totals=totals, drop=["sex"], **BASE).counts["yes"] == 70


@pytest.mark.parametrize("name", ["wgt", "design_weight", "Hochrechnungsfaktor", "poids_sondage"])
@pytest.mark.parametrize("in_both", [True, False])
def test_design_weights_are_not_learned_from(name, in_both):
    tables = [t.drop(columns="id") for t in (PEOPLE.labeled, PEOPLE.unlabeled)]
    values = np.linspace(1, 9, len(tables[0]))
    tables[0] = tables[0].assign(**{name: values})
    if in_both:
        tables[1] = tables[1].assign(**{name: np.resize(values, len(tables[1]))})
    result = c2rf.classify(*tables, totals={"yes": 60}, **BASE)
    assert result.data.left_out == {name: "is named like the weights of a survey"}
    assert name in result.summary()
    assert name not in [column.name for column in result.data.columns]


def test_a_weight_may_be_kilograms():
    tables = [
        table.drop(columns="id").assign(Gewicht=np.linspace(50, 99, len(table)))
        for table in (PEOPLE.labeled, PEOPLE.unlabeled)
    ]
    result = c2rf.classify(*tables, totals={"yes": 60}, **BASE)
    assert "'Gewicht' is learned from like any number" in result.summary()
    assert "weight='Gewicht'" in result.summary()
    assert not c2rf.classify(*tables, totals={"yes": 60}, keep=["Gewicht"], **BASE).data.remarks


def test_scaled_totals_are_not_called_known():
    result = c2rf.classify(
        PEOPLE.labeled, PEOPLE.unlabeled, totals={"yes": 300, "no": 500}, totals_policy="scale",
        **BASE,
    )  # fmt: skip
    assert "60 (adjusted from 300 to 60)" in result.summary()
    assert "known" not in result.summary()


def test_scaling_asks_whom_totals_are_about_where_everybody_is_nearer():
    n_all = len(PEOPLE.labeled) + len(PEOPLE.unlabeled)
    of_another_year = {"yes": n_all // 4, "no": n_all + 20 - n_all // 4}
    with pytest.raises(c2rf.InputError, match="say whom they are about"):
        c2rf.classify(
            PEOPLE.labeled, PEOPLE.unlabeled, totals=of_another_year, totals_policy="scale",
            target="sick", learner="logistic",
        )  # fmt: skip
