"""``c2rf.assign``: labels by the probabilities of any model, and the rule as SQL."""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest

import c2rf
from c2rf.cli import main

CLASSES = ["a", "b", "c"]


def chances(n_rows: int, seed: int = 0, n_classes: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(n_classes), n_rows)


def best_by_enumeration(table, is_allowed):
    logs = np.log(table)
    values = (
        (sum(logs[i, k] for i, k in enumerate(labels)), labels)
        for labels in itertools.product(range(table.shape[1]), repeat=len(table))
        if is_allowed(np.bincount(labels, minlength=table.shape[1]))
    )
    return max(values)[1]


@pytest.mark.parametrize("seed", range(5))
def test_no_other_labels_that_meet_the_totals_are_likelier(seed):
    table = chances(6, seed)
    found = c2rf.assign(table, {"a": 3, "c": (1, 2)}, classes=CLASSES)
    best = best_by_enumeration(table, lambda n: n[0] == 3 and 1 <= n[2] <= 2)
    assert found.labels.tolist() == [CLASSES[k] for k in best]
    assert found.gap <= 1e-12


def test_classes_are_the_columns_of_a_frame_or_numbers_and_keep_their_type():
    table = chances(20, 1)
    named = c2rf.assign(pd.DataFrame(table, columns=CLASSES), {"a": 7, "b": 8})
    numbered = c2rf.assign(table, {0: 7, 1: 8})
    lazy = c2rf.assign(pl.DataFrame(table, schema=CLASSES), {"a": 7, "b": 8})
    assert named.labels.tolist() == [CLASSES[k] for k in numbered.labels] == lazy.labels.tolist()
    assert numbered.labels.dtype.kind == "i"
    assert named.classes == CLASSES


def test_the_same_labels_as_the_classifier_that_gave_the_probabilities():
    from sklearn.linear_model import LogisticRegression

    from c2rf.datasets import make_twonorm

    X, y = make_twonorm(500, random_state=3)
    classifier = c2rf.KnownTotalsClassifier(LogisticRegression(), calibration=None, random_state=0)
    classifier.fit(X[:50], y[:50], X_unlabeled=X[50:], totals={1: 200})
    found = c2rf.assign(classifier.scores_, {1: 200})
    assert (found.labels == classifier.transduction_).all()
    assert found.probabilities == pytest.approx(classifier.transduction_proba_)


def test_groups_margins_and_a_class_that_cannot_be_there():
    table = chances(400, 2)
    groups = pd.DataFrame({"region": np.arange(400) % 2, "sex": np.arange(400) % 4 // 2})
    by_region = pd.DataFrame({"region": [0, 1], "class": "a", "total": [0, 90]})
    by_sex = pd.DataFrame({"sex": [0, 1], "class": "b", "total": [60, 80]})
    found = c2rf.assign(table, [by_region, by_sex], classes=CLASSES, groups=groups)
    labels = pd.Series(found.labels)
    assert (labels == "a").groupby(groups["region"]).sum().tolist() == [0, 90]
    assert (labels == "b").groupby(groups["sex"]).sum().tolist() == [60, 80]
    assert found.totals_met["off"].eq(0).all()
    assert found.offsets.index.names == ["region", "sex"]
    assert (found.offsets.loc[0]["a"] == -np.inf).all()


def test_weights_count_people():
    table, weights = chances(300, 4), np.random.default_rng(1).integers(1, 9, 300)
    total = int(weights.sum()) // 4
    found = c2rf.assign(table, {"a": total, "b": total}, classes=CLASSES, weights=weights)
    assert weights[found.labels == "a"].sum() == pytest.approx(total, abs=1)


@pytest.mark.parametrize("groups", [None, "region"])
def test_the_rule_in_a_database_gives_the_labels(groups):
    duckdb = pytest.importorskip("duckdb")
    rows = pd.DataFrame(chances(2000, 5), columns=["p'a", 'p"b', "p_c"])
    rows["region"] = np.where(np.arange(2000) % 3, "it's", "north")
    totals = {"a": 500, "b": 700}
    if groups:
        totals = pd.DataFrame({"region": ["it's", "north"], "class": "a", "total": [300, 210]})
    found = c2rf.assign(
        rows.iloc[:, :3].to_numpy(), totals, classes=CLASSES,
        groups=rows[[groups]] if groups else None,
    )  # fmt: skip
    rule = found.sql(dict(zip(CLASSES, rows.columns, strict=False)))
    by_rule = duckdb.sql(f"SELECT {rule} FROM rows").fetchnumpy()
    two_best = np.sort(found.scores, axis=1)[:, -2:]
    clear = np.diff(two_best).ravel() > 1e-12  # but for ties
    assert (~clear).sum() <= 2
    assert (next(iter(by_rule.values())) == found.labels)[clear].all()
    relation = duckdb.sql("SELECT * EXCLUDE region FROM rows")
    again = c2rf.assign(
        relation, totals, classes=CLASSES, groups=rows[[groups]] if groups else None
    )
    assert again.labels.tolist() == found.labels.tolist()


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ([[0.5, 0.6], [0.5, 0.5]], {}, "add up to 1.1 in row 0"),
        ([[0.5, 0.5], [np.nan, 0.5]], {}, "found nan for 0 in row 1"),
        ([[1.5, -0.5]], {}, "found 1.5 for 0 in row 0"),
        ([[0.5, 0.5]], {"classes": ["a"]}, "must name the 2 columns of probabilities; found 1"),
        ([[0.5, 0.5]], {"classes": ["a", "a"]}, "every class must have one column"),
        ([[1.0]], {}, "two classes at least"),
        ([0.5, 0.5], {}, "must be a table of numbers"),
        ([["x", "y"]], {}, "must be a table of numbers"),
    ],
)
def test_refuses_by_name_what_are_no_probabilities(table, options, message):
    with pytest.raises(c2rf.C2RFError, match=message):
        c2rf.assign(table, {0: 1}, **options)


def test_refuses_groups_that_were_not_given():
    by_region = pd.DataFrame({"region": [0], "class": [0], "total": [1]})
    with pytest.raises(c2rf.InputError, match="give the group of each row as groups"):
        c2rf.assign(chances(3), by_region)


class TestCommand:
    @pytest.fixture
    def scores(self, tmp_path):
        rows = pd.DataFrame(chances(300, 6, 2), columns=["p_no", "p_yes"]).round(6)
        rows.insert(0, "person", [f"n{k:03d}" for k in range(300)])
        rows["region"] = np.where(np.arange(300) % 3, "south", "north")
        path = tmp_path / "scores.csv"
        rows.to_csv(path, index=False)
        return path

    def test_labels_offsets_and_rule(self, scores, tmp_path, capsys):
        totals = tmp_path / "totals.csv"
        totals.write_text("region,class,total\nnorth,yes,20\nsouth,yes,0\n")
        out, offsets, rule = tmp_path / "l.csv", tmp_path / "o.csv", tmp_path / "r.sql"
        assert main([
            "assign", str(scores), "--probabilities", "no=p_no,yes=p_yes", "--totals-file",
            str(totals), "--id", "person", "--out", str(out), "--offsets-out", str(offsets),
            "--sql-out", str(rule),
        ]) == 0  # fmt: skip
        labels = pd.read_csv(out)
        assert labels.columns.tolist() == ["person", "label", "score", "confidence"]
        region = pd.read_csv(scores)["region"]
        assert (labels["label"] == "yes").groupby(region).sum().to_dict() == {
            "north": 20, "south": 0,
        }  # fmt: skip
        assert set(pd.read_csv(offsets)["region"]) == {"north", "south"}
        assert rule.read_text().startswith("CASE")
        assert "all met" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("probabilities", "message"),
        [
            ("yes=p_yes", "two classes at least"),
            ("yes=p_yse,no=p_no", "did you mean 'p_yes'"),
            ("p_yes,p_no", "must be like yes=p_yes,no=p_no"),
            ("yes=p_yes,yes=p_no", "twice"),
            ("yes=person,no=p_no", "found nan for 'yes' in data row 1"),
        ],
    )
    def test_refuses_by_name(self, scores, tmp_path, capsys, probabilities, message):
        out = tmp_path / "l.csv"
        command = ["assign", str(scores), "--probabilities", probabilities, "--totals", "yes=10"]
        assert main([*command, "--out", str(out)]) == 2
        assert message in " ".join(capsys.readouterr().err.split())
        assert not out.exists()

    def test_refuses_what_the_output_does_not_hold_before_the_work(
        self, scores, tmp_path, capsys, monkeypatch
    ):
        monkeypatch.setattr("c2rf.workflow.assign.make_bounds", pytest.fail)
        pd.read_csv(scores).assign(note="x" * 40_000).to_csv(scores, index=False)
        line = f"assign {scores} --probabilities no=p_no,yes=p_yes --totals yes=10 --out"
        assert main([*line.split(), str(tmp_path / "l.xlsx")]) == 2
        assert "a text in column 'note' has more" in capsys.readouterr().err


def test_rows_rounded_to_two_places_add_up_well_enough():
    found = c2rf.assign([[0.33, 0.33, 0.33], [0.34, 0.34, 0.33]], {0: 1, 1: 1}, random_state=0)
    assert (found.labels == 0).sum() == 1


def test_masked_numbers_are_missing():
    mask = [[False, False], [True, True]]
    hidden = np.ma.masked_array([[0.5, 0.5], [0.01, 0.99]], mask=mask)
    with pytest.raises(c2rf.C2RFError, match="found nan for 0 in row 1"):
        c2rf.assign(hidden, {0: 1})
    weights = np.ma.masked_array([1, 1], mask=[False, True])
    with pytest.raises(c2rf.C2RFError, match="weights has no number in row 1"):
        c2rf.assign(hidden.data, {0: 1}, weights=weights)
    with pytest.raises(c2rf.C2RFError, match="found nan in imputation 1"):
        c2rf.pool(np.ma.masked_array([0.5, 0.4], mask=[False, True]))


def test_classes_that_contradict_the_columns_are_refused():
    table = pd.DataFrame({"b": [0.9, 0.2], "a": [0.1, 0.8]})
    with pytest.raises(c2rf.C2RFError, match="the order of the columns, 'b', 'a'; found 'a', 'b'"):
        c2rf.assign(table, {"a": 1}, classes=["a", "b"])
    with pytest.raises(c2rf.C2RFError, match="classes must be single values"):
        c2rf.assign(table, {"a": 1}, classes=[("a", 1), ("b", 2)])


def test_the_rule_of_a_group_with_one_possible_class_is_that_class():
    duckdb = pytest.importorskip("duckdb")
    rows = pd.DataFrame(chances(40, 5)[:, :2], columns=["a", "b"])
    rows = rows.div(rows.sum(axis=1), axis=0)
    rows["region"] = np.repeat(["n", "s"], 20)
    totals = pd.DataFrame({"region": ["n", "s"], "class": "a", "total": [0, 7]})
    found = c2rf.assign(rows[["a", "b"]], totals, groups=rows[["region"]])
    labels = duckdb.sql(f"SELECT {found.sql()} AS label FROM rows").df()["label"]
    assert labels.tolist() == found.labels.tolist()


@pytest.mark.parametrize(
    "options", [["--probabilities", ""], ["--probabilities", "a=a,b=b", "--seed", "4294967296"]]
)
def test_mistakes_on_the_command_line_are_the_users(tmp_path, monkeypatch, capsys, options):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"a": [0.5, 0.4], "b": [0.5, 0.6]}).to_csv("p.csv", index=False)
    given = ["assign", "p.csv", "--totals", "a=1,b=1", "--out", "out.csv", *options]
    assert main(given) == 2
    assert "mistake in c2rf" not in capsys.readouterr().err


@pytest.mark.filterwarnings("error")
def test_the_rule_for_probabilities_without_doubt():
    duckdb = pytest.importorskip("duckdb")
    rows = pd.DataFrame({"g": list("zzxx"), "h": list("xxzx"), "c0": [1.0, 1.0, 1e-100, 1e-5]})
    rows["c1"] = [1e-99, 1e-20, 1.0, 0.99999]
    totals = [
        {"c1": 3},
        [{"g": "x", "h": "x", "class": "c0", "total": 1}],
        [{"h": "x", "class": "c0", "total": 1}],
    ]
    found = c2rf.assign(rows[["c0", "c1"]], totals, groups=rows[["g", "h"]])
    assert found.offsets.abs().min().max() > 900  # no exponential
    labels = duckdb.sql(f"SELECT {found.sql()} AS label FROM rows").df()["label"]
    assert labels.tolist() == found.labels.tolist() == ["c1", "c1", "c1", "c0"]


def test_totals_of_zero_for_a_group_of_hardly_any_weight():
    table = [[1.0, 0.0], [0.83, 0.17], [1.0, 0.0], [0.6, 0.4], [0.46, 0.54]]
    totals = [
        {"g": "x", "class": "a", "total": (1, 3)},
        {"g": "y", "class": "a", "total": 0},
        {"g": "y", "class": "b", "total": 0},
    ]
    weights = [3, 3, 1, 1e-6, 1]
    groups = {"g": list("xxxyx")}
    found = c2rf.assign(table, totals, classes=["a", "b"], groups=groups, weights=weights)
    assert found.totals_met["off"].abs().sum() == 1e-6


@pytest.mark.filterwarnings("ignore:.*changed to fit together")
@pytest.mark.parametrize("seed", range(20))
def test_estimates_of_very_different_errors_end_in_totals_that_can_be_met(seed):
    rng = np.random.default_rng(seed)
    groups = pd.DataFrame({"a": list("zyyx"), "b": list("uuuu")})

    def estimate(most):
        return c2rf.Estimate(float(rng.integers(0, most)), se=10.0 ** rng.uniform(-2, 1))

    totals = [
        [{"a": "x", "class": "c0", "total": estimate(2)}],
        [{"b": "u", "class": label, "total": estimate(5)} for label in ("c0", "c1")],
        [
            {"a": a, "b": "u", "class": label, "total": estimate(3)}
            for a, label in [("x", "c1"), ("y", "c0"), ("y", "c1"), ("z", "c1")]
        ],
    ]
    table = [[0.4, 0.6], [0.3, 0.7], [0.8, 0.2], [0.05, 0.95]]
    found = c2rf.assign(table, totals, classes=["c0", "c1"], groups=groups)
    assert not found.totals_met["off"].any()


@pytest.mark.filterwarnings("ignore:.*changed to fit together")
@pytest.mark.parametrize("mean", [1e7, 1e9])
def test_a_census_and_a_survey_of_many_people(mean):
    rng = np.random.default_rng(0)
    table, truth = rng.dirichlet(np.ones(3), 200), rng.integers(0, 3, 200)
    weights = np.round(rng.gamma(2, mean / 2, 200))
    groups = pd.DataFrame({"g": rng.integers(0, 2, 200), "h": rng.integers(0, 2, 200)})
    sums = {
        name: groups.assign(**{"class": truth, "total": weights.astype(np.int64)})
        .groupby([name, "class"])["total"].sum().reset_index()
        for name in groups
    }  # fmt: skip
    survey = [
        row | {"total": c2rf.Estimate(row["total"] * rng.uniform(0.96, 1.04), row["total"] * 0.02)}
        for row in sums["h"].to_dict("records")
    ]
    found = c2rf.assign(table, [sums["g"], survey], groups=groups, weights=weights)
    assert found.totals_met["off"].abs().max() < 2 * weights.max()
