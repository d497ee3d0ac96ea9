"""``c2rf classify`` and ``predict`` end to end: real files in, labels that add up out; ``app``."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from c2rf import C2RFClassifier, KnownTotalsClassifier
from c2rf.cli import main
from c2rf.data.cells import as_numbers
from c2rf.data.encoding import fit_encoder
from c2rf.data.profile import ColumnProfile
from people import People, make_people, quick_estimator, read_table

BASE = "--target sick --method c2rf --drop id --trees 5"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """Run in a folder of its own, quickly, with lines that are not broken."""
    monkeypatch.setattr("c2rf.estimators.training.default_estimator", quick_estimator)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


@pytest.fixture(scope="module")
def people() -> People:
    return make_people()


def run(line: str) -> int:
    return main(shlex.split(line))


def classify(options: str, ending: str = ".csv") -> None:
    assert run(f"classify labeled{ending} unlabeled{ending} {options}") == 0


class TestOutput:
    @pytest.mark.parametrize("ending", [".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet"])
    def test_every_format_gives_the_same_labels_in_the_order_of_the_input(self, people, ending):
        people.write()
        classify(f"{BASE} --positive yes --total 100 --out out.csv")
        if ending != ".csv":
            people.write(ending)
        classify(f"{BASE} --positive yes --total 100 --out again{ending}", ending)
        before, after = read_table(Path(f"unlabeled{ending}")), read_table(Path(f"again{ending}"))
        assert list(after) == [*before, "label", "score", "confidence"]
        assert after[list(before)].equals(before)
        expected = read_table(Path("out.csv"))
        assert after["label"].tolist() == expected["label"].tolist()
        for name in ("score", "confidence"):
            assert as_numbers(after[name]).tolist() == as_numbers(expected[name]).tolist()

    def test_files_of_different_formats_go_together(self, people):
        people.write()
        people.write(".parquet")
        line = f"{BASE} --positive yes --total 100"
        assert run(f"classify labeled.csv unlabeled.parquet {line} --out a.csv") == 0
        classify(f"{line} --out b.csv")
        assert read_table(Path("a.csv"))["label"].equals(read_table(Path("b.csv"))["label"])

    @pytest.mark.parametrize("positive", ["yes", "no"])
    def test_score_and_confidence_speak_for_the_label(self, people, positive):
        people.write()
        classify(f"{BASE} --positive {positive} --total 45% --out out.csv")
        out = pd.read_csv("out.csv")
        is_positive = out["label"] == positive
        assert ((out["score"] > 0) == is_positive).all()
        assert out["confidence"].between(0.5, 1).all()
        order = out[is_positive].sort_values("score")["confidence"]
        assert order.is_monotonic_increasing

    def test_only_the_id_is_kept_if_there_is_one(self, people):
        people.write()
        line = BASE.replace("--drop", "--id")
        classify(f"{line} --positive yes --total 100 --out out.parquet")
        out = read_table(Path("out.parquet"))
        assert list(out) == ["id", "label", "score", "confidence"]
        assert out["id"].tolist() == people.unlabeled["id"].tolist()

    def test_what_the_library_finds_is_what_is_written(self, people):
        people.write()
        options = (
            "--lower 2 --upper 9 --solve-method only-pp --offset=-1..1 --prefer majority --seed 3"
        )
        classify(f"{BASE} {options} --positive yes --total 100 --out out.csv --jobs 2")
        X, Xu = (table[["a", "b", "c", "d"]] for table in (people.labeled, people.unlabeled))
        for frame, source in ((X, people.labeled), (Xu, people.unlabeled)):
            for column, levels in (("town", "Bonn Ulm"), ("region", "north south west")):
                for level in levels.split():
                    frame.insert(frame.shape[1], f"{column}_{level}", source[column] == level)
        classifier = C2RFClassifier(
            n_estimators=5, lower=2, upper=9, method="only-pp", offset=(-1, 1),
            random_state=3, pos_label="yes",
        )  # fmt: skip
        y = people.labeled["sick"].to_numpy()
        classifier.fit(X.astype(float), y, X_unlabeled=Xu.astype(float), n_positive=100)
        assert pd.read_csv("out.csv")["label"].tolist() == classifier.transduction_.tolist()

    def test_same_seed_same_files_whatever_the_jobs(self, people):
        people.write()
        for name, jobs in (("one", 1), ("two", 2)):
            classify(f"{BASE} --positive yes --total 90 --seed 7 --jobs {jobs} --out {name}.csv")
        assert Path("one.csv").read_bytes() == Path("two.csv").read_bytes()

    def test_the_order_of_columns_and_a_target_in_both_files_do_not_matter(self, people):
        people.write()
        classify(f"{BASE} --positive yes --total 100 --out out.csv")
        table = people.unlabeled
        table[table.columns[::-1]].assign(sick="").to_csv("unlabeled.csv", index=False)
        classify(f"{BASE} --positive yes --total 100 --out again.csv")
        assert read_table(Path("out.csv"))["score"].equals(read_table(Path("again.csv"))["score"])

    def test_a_mark_at_the_start_and_windows_lines_are_no_trouble(self, people):
        people.write()
        classify(f"{BASE} --positive yes --total 100 --out out.csv")
        for name in ("labeled.csv", "unlabeled.csv"):
            text = Path(name).read_text()
            Path(name).write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
        classify(f"{BASE} --positive yes --total 100 --out again.csv")
        # The mark, which Excel needs, is in the output as it was in the input.
        assert b"\xef\xbb\xbf" + Path("out.csv").read_bytes() == Path("again.csv").read_bytes()


class TestTotals:
    @pytest.mark.parametrize(
        "options",
        [
            "--positive yes --total 96",
            "--positive yes --total 40%",
            "--positive yes --total 0.4",
            "--totals yes=96,no=144",
            "--totals no=60%",
            "--totals-file totals.csv",
        ],
    )
    def test_every_way_of_giving_them_is_the_same(self, people, options):
        people.write()
        Path("totals.csv").write_text("class,total\nyes,96\nno,60%\n")
        assert len(people.unlabeled) == 240
        classify(f"{BASE} --positive yes --total 96 --out out.csv")
        classify(f"{BASE} {options} --out again.csv")
        out, again = pd.read_csv("out.csv"), pd.read_csv("again.csv")
        assert again["label"].tolist() == out["label"].tolist()
        assert again["score"].abs().tolist() == out["score"].abs().tolist()
        assert again["confidence"].tolist() == out["confidence"].tolist()

    def test_the_screen_says_totals_proof_and_columns(self, people, capsys):
        people.write()
        classify(f"{BASE} --positive yes --total 100 --out out.csv")
        said = capsys.readouterr().out
        n_positive = (pd.read_csv("out.csv")["label"] == "yes").sum()
        assert f"label yes      {n_positive} (known: 100)" in said
        assert "of these 5 trees" in said
        assert "text with 2 values, a column of 0 and 1 for each" in said

    def test_quiet_is_silent(self, people, capsys):
        people.write()
        classify(f"{BASE} --positive yes --total 100 --out out.csv --quiet")
        assert capsys.readouterr() == ("", "")

    def test_a_dry_run_says_all_and_writes_nothing(self, people, capsys):
        people.write()
        before = sorted(Path().iterdir())
        classify(f"{BASE} --positive yes --total 25% --out out.csv --report r.html --dry-run")
        said = capsys.readouterr().out
        assert sorted(Path().iterdir()) == before
        for word in ("240 rows", "total of yes", "60", "out.csv", "r.html", "c2rf"):
            assert word in said


def counts(path: str, *by: str) -> dict:
    """Count the labels of an output file."""
    return read_table(Path(path)).value_counts([*by, "label"]).to_dict()


class TestKnownTotals:
    """Any number of classes, groups and ranges; every total is met exactly."""

    FAST = "--target sick --id id"

    @pytest.mark.parametrize("ending", [".csv", ".parquet"])
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_totals_of_classes(self, ending, n_classes):
        people = make_people(200, n_classes)
        people.write(ending)
        totals = ",".join(f"{name}={n}" for name, n in people.totals().items())
        classify(f"{self.FAST} --totals {totals} --out out{ending}", ending)
        assert counts(f"out{ending}") == {(k,): n for k, n in people.totals().items()}
        out = read_table(Path(f"out{ending}"))
        assert out["id"].tolist() == people.unlabeled["id"].tolist()
        assert as_numbers(out["confidence"]).between(0, 1).all()

    @pytest.mark.parametrize("ending", [".csv", ".parquet"])
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_totals_of_groups(self, ending, n_classes):
        people = make_people(200, n_classes)
        people.write(ending)
        people.totals_by("region").to_csv("totals.csv", index=False)
        line = f"{self.FAST.replace('--id', '--drop')} --totals-file totals.csv --group region"
        classify(f"{line} --out out{ending}", ending)
        expected = people.totals_by("region").set_index(["region", "class"])["total"].to_dict()
        assert counts(f"out{ending}", "region") == expected

    def test_totals_of_a_part_of_the_groups_beside_overall_ones(self, people):
        people.write()
        Path("totals.csv").write_text("region,sick,total\nnorth,yes,25%\n")
        line = f"{self.FAST} --totals-file totals.csv --group region --totals no=150"
        classify(f"{line.replace('--id', '--drop')} --out out.csv")
        found = counts("out.csv", "region")
        north = (people.unlabeled["region"] == "north").sum()
        assert found["north", "yes"] == round(0.25 * north)
        assert sum(n for (_, label), n in found.items() if label == "no") == 150

    def test_groups_that_the_labeled_do_not_have(self, people, capsys):
        people.write()
        people.labeled.drop(columns="region").to_csv("labeled.csv", index=False)
        people.totals_by("region").to_csv("totals.csv", index=False)
        line = f"{self.FAST} --totals-file totals.csv --group region --save-model m.skops"
        classify(f"{line} --out out.csv")
        assert counts("out.csv") == {(k,): n for k, n in people.totals().items()}
        # The model knows the groups of further rows, and where these stand.
        assert run("predict m.skops unlabeled.csv --id id --out new.csv") == 0
        same = read_table(Path("new.csv"))["label"] == read_table(Path("out.csv"))["label"]
        assert same.mean() > 0.95
        assert "c2rf:" not in capsys.readouterr().err
        people.unlabeled.assign(region="moon").to_csv("moon.csv", index=False)
        assert run("predict m.skops moon.csv --out moon-out.csv") == 0
        assert capsys.readouterr().err.startswith("c2rf: 1 group not seen in fit, 'moon': rows")
        people.unlabeled.drop(columns="region").to_csv("other.csv", index=False)
        assert run("predict m.skops other.csv --out other-out.csv") == 2

    def test_a_range_is_kept(self, people):
        people.write()
        classify(f"{self.FAST} --positive yes --total 20%..30% --out out.csv")
        assert 0.2 <= (read_table(Path("out.csv"))["label"] == "yes").mean() <= 0.3

    def test_the_cut_off_is_zero(self, people):
        people.write()
        classify(f"{self.FAST} --positive no --total 60% --out out.csv")
        out = pd.read_csv("out.csv", dtype={"id": str})
        beyond = out["score"].abs() > 1e-9  # at the cut-off a tie is broken by lot
        assert ((out["score"] > 0) == (out["label"] == "no"))[beyond].all()

    @pytest.mark.parametrize("total", ["0", "100%"])
    def test_nobody_and_everybody(self, people, total):
        people.write()
        classify(f"{self.FAST} --positive yes --total {total} --out out.csv --report r.html")
        out = pd.read_csv("out.csv")
        assert set(out["label"]) == {"no" if total == "0" else "yes"}
        assert np.isfinite(out["score"]).all()

    def test_totals_that_do_not_add_up_are_scaled_if_wished_and_told(self, people, capsys):
        people.write()
        line = f"{self.FAST} --totals yes=100,no=100 --out out.csv"
        assert run(f"classify labeled.csv unlabeled.csv {line}") == 2
        assert "add up to 200" in capsys.readouterr().err
        classify(f"{line} --totals-policy scale")
        assert counts("out.csv") == {("yes",): 120, ("no",): 120}
        said = capsys.readouterr().out
        assert said.count("total moved") == 2
        assert "'yes' in all rows: 100 became 120" in said

    def test_same_seed_same_file_whatever_the_jobs(self, people):
        people.write()
        for name, jobs in (("one", 1), ("two", 2)):
            line = f"{self.FAST} --positive yes --total 90 --seed 7 --jobs {jobs}"
            classify(f"{line} --out {name}.csv")
        assert Path("one.csv").read_bytes() == Path("two.csv").read_bytes()

    def test_is_the_default_and_what_the_library_finds(self, people):
        people.write()
        classify("--target sick --drop id,town,region --totals yes=90 --out out.csv")
        X, Xu = (t[["a", "b", "c", "d"]].to_numpy() for t in (people.labeled, people.unlabeled))
        classifier = KnownTotalsClassifier(random_state=0)
        classifier.fit(X, people.labeled["sick"], X_unlabeled=Xu, totals={"yes": 90})
        assert pd.read_csv("out.csv")["label"].tolist() == classifier.transduction_.tolist()

    @pytest.mark.parametrize("learner", ["blend", "boosting", "extra-trees", "logistic"])
    def test_learners_meet_totals_and_are_saved(self, people, learner):
        people.write()
        line = f"{self.FAST} --positive yes --total 90 --learner {learner} --out out.csv"
        classify(f"{line} --save-model model.skops")
        assert counts("out.csv") == {("yes",): 90, ("no",): 150}
        assert run("predict model.skops unlabeled.csv --out again.csv") == 0

    def test_unknown_learner(self, people, capsys):
        people.write()
        line = f"classify labeled.csv unlabeled.csv {self.FAST} --positive yes --total 90"
        assert run(f"{line} --learner oracle --out out.csv") == 2
        assert (
            "--learner must be blend, boosting, extra-trees or logistic" in capsys.readouterr().err
        )


def make_features(labeled, unlabeled, names, text=()):
    """Return both tables as numbers, what their columns hold, and the encoder."""
    profiles = [ColumnProfile(labeled[name], name in text) for name in names]
    columns = [each.with_unlabeled(each.count(unlabeled[each.name])) for each in profiles]
    encoder, X = fit_encoder(columns, np.arange(len(labeled)) % 2)
    return X, encoder.encode(unlabeled), columns, encoder


class TestFeatures:
    def test_missing_stays_missing_and_text_is_encoded(self):
        labeled = pd.DataFrame({"n": ["1.5", "NA"], "code": ["7", ""], "mixed": ["1", "x"]})
        unlabeled = pd.DataFrame({"n": [" -2e3"], "code": ["007"], "mixed": [""]})
        X, Xu, columns, _ = make_features(labeled, unlabeled, ["n", "code", "mixed"])
        np.testing.assert_array_equal(X, [[1.5, 7, 1, 0], [np.nan, np.nan, 0, 1]])
        np.testing.assert_array_equal(Xu, [[-2000, 7, 0, 0]])
        assert [c.kind for c in columns] == ["numbers", "numbers", "one-hot"]
        assert columns[1].missing == (1, 0)

    def test_text_of_many_levels_is_learned_from_and_the_unseen_is_zero(self):
        labeled = pd.DataFrame({"code": [f"k{k:02d}" for k in range(30)] * 2 + [None]})
        unlabeled = pd.DataFrame({"code": ["k07", "new", None]})
        _, Xu, (column,), _ = make_features(labeled, unlabeled, ["code"])
        assert Xu[1].tolist() == [0, 0, 29.5]
        np.testing.assert_allclose(Xu[[0, 2], 1:], [[np.log1p(2), 7], [np.log1p(1), np.nan]])
        assert (column.kind, column.levels, column.missing, column.unseen) == (
            "target", 30, (1, 1), 1,
        )  # fmt: skip

    def test_codes_can_be_taken_as_text(self):
        table = pd.DataFrame({"code": ["1", "2", "3"]})
        assert make_features(table, table, ["code"])[2][0].kind == "numbers"
        assert make_features(table, table, ["code"], ["code"])[2][0].kind == "one-hot"

    def test_types_of_parquet_mean_what_they_mean_in_csv(self, folder):
        table = pd.DataFrame(
            {
                "int": pd.array([1, None, 3], dtype="Int64"),
                "bool": [True, False, True],
                "when": pd.to_datetime(["1970-01-03", None, "1970-01-02"]),
                "kind": pd.Categorical(["u", None, "v"]),
            }
        )
        table.to_parquet("t.parquet")
        read = read_table(Path("t.parquet"))
        X, _, _, encoder = make_features(read, read, list(read))
        # A number; of a date its day, year and month on a circle; a bool; a category.
        expected = [
            [1, 2, 1970, 0, 1, 0, 1, 1, 0, 0],
            [*[np.nan] * 5, 1, 0, 0, 0, 1],
            [3, 1, 1970, 0, 1, 0, 1, 0, 1, 0],
        ]
        np.testing.assert_array_equal(X, expected)
        np.testing.assert_array_equal(encoder.encode(read), X)


class TestPredict:
    @pytest.fixture
    def model(self, people) -> Path:
        people.write()
        classify(f"{BASE} --positive yes --total 100 --out out.csv --save-model m.skops --quiet")
        return Path("m.skops")

    def test_says_of_the_same_rows_the_same(self, people, model, capsys):
        assert run("predict m.skops unlabeled.csv --out again.csv") == 0
        assert Path("again.csv").read_bytes() == Path("out.csv").read_bytes()
        assert "240 rows" in capsys.readouterr().out

    def test_other_columns_and_formats_do_not_matter(self, people, model):
        people.unlabeled.drop(columns="id").assign(more=1).to_parquet("other.parquet")
        assert run("predict m.skops other.parquet --out again.csv.gz --quiet") == 0
        again = pd.read_csv("again.csv.gz")
        assert again["label"].tolist() == pd.read_csv("out.csv")["label"].tolist()

    def test_levels_and_gaps_that_the_model_never_saw(self, people, model):
        people.unlabeled.assign(town="Rom", region=None, a=None).to_csv("new.csv", index=False)
        assert run("predict m.skops new.csv --id id --out new.parquet --quiet") == 0
        new = read_table(Path("new.parquet"))
        assert set(new["label"]) <= {"yes", "no"}
        assert list(new) == ["id", "label", "score", "confidence"]


@pytest.mark.parametrize("code", [0, 3])
def test_options_go_to_the_server(monkeypatch, tmp_path, code):
    calls = []

    def serve(port: int | None, **options: object) -> int:
        calls.append((port, options))
        return code

    monkeypatch.setattr("c2rf.app.server.serve", serve)
    line = ["app", "--port", "1234", "--no-browser", "--folder", str(tmp_path)]
    assert main([*line, "--max-upload", "1GB"]) == code
    folder = Path(tmp_path)
    assert calls == [(1234, {"browser": False, "folder": folder, "max_upload": "1GB"})]


def test_a_folder_that_is_none(capsys):
    assert main(["app", "--folder", "absent", "--no-browser"]) == 2
    assert "is not a folder" in capsys.readouterr().err
