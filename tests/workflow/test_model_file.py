"""Model files: what comes back predicts the same, and what is not ours is not brought to life."""

from __future__ import annotations

import copy
import json
import os
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from scipy.sparse import csr_matrix
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.preprocessing import FunctionTransformer

import c2rf
from c2rf import C2RFClassifier, KnownTotalsClassifier
from c2rf.data.encoding import fit_encoder
from c2rf.data.profile import ColumnProfile
from c2rf.datasets import make_twonorm
from c2rf.exceptions import InputError
from c2rf.learners import trees
from c2rf.learners.features import Encoder, count_values
from c2rf.workflow.classify import make_learner
from c2rf.workflow.model_file import (
    FORMAT,
    FORMAT_VERSION,
    TRUSTED,
    StoredModel,
    _check_tree,
    _check_trees,
    predict_rows,
    versions,
)
from margins import margin
from people import make_people

PEOPLE = make_people(200)
NAMES = ["a", "b", "c", "d", "town", "region", "id"]
PROFILES = [ColumnProfile(PEOPLE.labeled[name], name == "id") for name in NAMES]
ENCODER, X = fit_encoder(
    [each.with_unlabeled(each.count(PEOPLE.unlabeled[each.name])) for each in PROFILES],
    PEOPLE.labeled["sick"],
)
X_UNLABELED = ENCODER.encode(PEOPLE.unlabeled)
GROUPS = PEOPLE.unlabeled["region"].to_numpy(dtype=object)


def fitted(name: str) -> object:
    data, rows = (X, PEOPLE.labeled["sick"].to_numpy(dtype=str)), {"X_unlabeled": X_UNLABELED}
    if name == "c2rf":
        classifier = C2RFClassifier(n_estimators=5, random_state=0, pos_label="yes")
        return classifier.fit(*data, **rows, n_positive=70)
    if name == "paper with a forest":
        forest = RandomForestClassifier(5, max_depth=2)
        classifier = C2RFClassifier(forest, random_state=0, pos_label="yes")
        return classifier.fit(*data, **rows, n_positive=70)
    estimator = RandomForestClassifier(20, max_depth=3)
    if name in ("default", "logistic", "boosting"):
        estimator = make_learner(name)
    classifier = KnownTotalsClassifier(estimator, random_state=0)
    if name != "groups":
        return classifier.fit(*data, **rows, totals={"yes": 70})
    known = {"totals": margin({"north": {"yes": 20}}), "unlabeled_groups": GROUPS}
    return classifier.fit(*data, **rows, **known)


def stored(name: str = "c2rf", groups: tuple[str, ...] = ()) -> StoredModel:
    return StoredModel(ENCODER, fitted(name), "sick", "yes", groups)


@pytest.mark.parametrize(
    "name",
    ["c2rf", "paper with a forest", "known-totals", "groups", "logistic", "boosting", "default"],
)
def test_what_comes_back_predicts_the_same(tmp_path, name):
    before = stored(name, ("region",) if name == "groups" else ())
    before.write(tmp_path / "m.skops")
    after = StoredModel.read(tmp_path / "m.skops")
    assert (after.target, after.positive, tuple(after.groups)) == ("sick", "yes", before.groups)
    table = after.encoder.encode(PEOPLE.unlabeled)
    np.testing.assert_array_equal(table, X_UNLABELED)
    groups = {"groups": GROUPS} if name == "groups" else {}
    expected = before.classifier.predict(table, **groups)
    np.testing.assert_array_equal(after.classifier.predict(table, **groups), expected)


@pytest.mark.parametrize("name", ["c2rf", "known-totals"])
def test_nobody_s_label_is_in_the_file(tmp_path, name):
    model = stored(name)
    model.write(tmp_path / "m.skops")
    after = StoredModel.read(tmp_path / "m.skops").classifier
    for attribute in ("transduction_", "solution_", "patterns_", "scores_"):
        assert not hasattr(after, attribute)
    assert len(model.classifier.transduction_) == len(PEOPLE.unlabeled)  # ours is untouched
    with zipfile.ZipFile(tmp_path / "m.skops") as file:
        arrays = [np.load(file.open(n)) for n in file.namelist() if n.endswith(".npy")]
    # The trees are small: only what is of individuals has so many entries.
    assert max(array.size for array in arrays) < len(PEOPLE.unlabeled)


def test_the_trusted_types_are_just_those_that_are_needed(tmp_path, monkeypatch):
    for name in ("c2rf", "known-totals", "logistic", "boosting", "default"):
        stored(name).write(tmp_path / name)
    many_columns = Encoder(count_values(np.random.default_rng(0).normal(size=(20, 500))))
    skops.io.dump(many_columns, tmp_path / "wide")
    three_classes = make_learner("boosting").fit(np.eye(30), np.arange(30) % 3)
    skops.io.dump(three_classes, tmp_path / "three classes")
    monkeypatch.setattr(trees, "are_compiled", lambda: False)  # as without Numba
    stored("default").write(tmp_path / "plain")
    unknown: set[str] = set()  # to skops, which knows more of them with every version
    used: set[str] = set()
    for path in tmp_path.iterdir():
        unknown |= set(skops.io.get_untrusted_types(file=path))
        with zipfile.ZipFile(path) as file:
            used |= types_in(json.loads(file.read("schema.json")))
    assert unknown <= set(TRUSTED) <= used


def types_in(schema: object) -> set[str]:
    """All types of a file, known or not."""
    if isinstance(schema, list):
        return set().union(*map(types_in, schema))
    if not isinstance(schema, dict):
        return set()
    own = {f"{schema['__module__']}.{schema['__class__']}"} if "__class__" in schema else set()
    return own.union(*map(types_in, schema.values()))


class Bomb:
    """What somebody else might put into a file."""

    def __reduce__(self) -> object:
        return os.mkdir, ("exploded",)


def dumped(path: Path, **changes: object) -> Path:
    """Write a document that is almost a model."""
    document = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "encoder": None,
        "classifier": None,
        "target": "sick",
        "positive": "yes",
        "group": None,
        "versions": versions(),
    }
    skops.io.dump({k: v for k, v in (document | changes).items() if v is not ...}, path)
    return path


@pytest.mark.parametrize(
    "stranger", [Bomb(), FunctionTransformer(os.system), np.vectorize(os.system)]
)
def test_strangers_are_named_and_stay_dead(tmp_path, monkeypatch, stranger):
    monkeypatch.chdir(tmp_path)
    path = dumped(tmp_path / "evil.skops", classifier=stranger)
    with pytest.raises(InputError, match=r"evil\.skops is not trusted: it holds '.*could run any"):
        StoredModel.read(path)
    assert not Path("exploded").exists()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"format": "other"}, "is not a model of c2rf"),
        ({"format": ...}, "is not a model of c2rf"),
        ({"format_version": FORMAT_VERSION + 1}, "use the c2rf that wrote it"),
        ({"versions": versions() | {"scikit-learn": "0.24.2"}}, "made with scikit-learn 0.24.2"),
        ({"versions": ...}, "made with scikit-learn None"),
        ({"target": ...}, "'target' is missing"),
    ],
)
def test_other_documents_are_told_apart(tmp_path, changes, said):
    with pytest.raises(InputError, match=said):
        StoredModel.read(dumped(tmp_path / "m.skops", **changes))


@pytest.mark.parametrize("content", [b"", b"PK", b"not a zip", b"PK\x05\x06" + bytes(18)])
def test_what_is_no_model_file_is_refused(tmp_path, content):
    path = tmp_path / "m.skops"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"m\.skops is not a model file"):
        StoredModel.read(path)


def test_a_schema_that_makes_no_sense_is_refused(tmp_path):
    path = tmp_path / "m.skops"
    for schema in ({}, [], {"__class__": "x", "__module__": "y", "__loader__": "z"}):
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("schema.json", json.dumps(schema))
        with pytest.raises(InputError, match="is not a model file, or damaged"):
            StoredModel.read(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"absent\.skops: there is no such file"):
        StoredModel.read(tmp_path / "absent.skops")


def test_a_loaded_model_predicts_frames(tmp_path):
    people = make_people(200)
    result = c2rf.classify(
        people.labeled, people.unlabeled, target="sick", learner="logistic",
        totals=people.totals_by("region"), drop=["id"],
    )  # fmt: skip
    result.save_model(tmp_path / "m.skops")
    model = c2rf.load_model(tmp_path / "m.skops")
    found, chances = model.predict(people.unlabeled), model.predict_proba(people.unlabeled)
    assert (found == result.labels["label"]).mean() > 0.9
    assert model.classes_.tolist() == ["no", "yes"]
    assert chances.sum(axis=1) == pytest.approx(np.ones(len(found)))
    assert chances[:, 1].mean() == pytest.approx((people.truth == "yes").mean(), abs=0.02)
    for predict in (model.predict, model.predict_proba):
        with pytest.warns(UserWarning, match="1 group not seen in fit, 'moon'"):
            predict(people.unlabeled[:2].assign(region=["moon", "north"]))


def test_trees_whose_links_lead_out_of_their_arrays_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("c2rf.workflow.classify.N_TREES", 10)
    X, y = make_twonorm(200, random_state=0)
    table = pd.DataFrame(X).add_prefix("x").assign(sick=y)
    result = c2rf.classify(
        table[:60], table[60:].drop(columns="sick"), target="sick", totals={1: 70},
        learner="extra-trees",
    )  # fmt: skip
    forest = result.classifier.estimator_
    path = tmp_path / "m.skops"
    result.save_model(path)
    StoredModel.read(path)
    trees = [each.tree_ for each in forest.estimators_]
    damages = [("left_child", 1 << 20), ("right_child", 0), ("feature", 1 << 20)]
    for name, value in damages:
        damaged = copy.deepcopy(trees[0])
        state = copy.deepcopy(trees[0].__getstate__())
        state["nodes"][name][0] = value
        damaged.__setstate__(state)
        with pytest.raises(InputError, match="links that lead nowhere"):
            _check_tree(damaged, 20)
    _check_tree(trees[0], 20)
    with pytest.raises(InputError, match="links that lead nowhere"):
        _check_tree(trees[0], 1)


@pytest.mark.parametrize(
    ("name", "value"), [("left", 1 << 20), ("right", 0), ("feature_idx", 1 << 20)]
)
def test_boosted_trees_whose_links_lead_out_of_their_arrays_are_refused(name, value):
    X, y = make_twonorm(200, random_state=0)
    model = HistGradientBoostingClassifier(max_iter=2).fit(X, y)
    _check_trees({"classifier": model})
    model._predictors[1][0].nodes[name][0] = value
    with pytest.raises(InputError, match="links that lead nowhere"):
        _check_trees({"classifier": model})


def test_bitsets_of_categories_that_are_not_there_are_refused():
    X = np.random.default_rng(0).integers(0, 5, (200, 1))
    model = HistGradientBoostingClassifier(max_iter=1, categorical_features=[0]).fit(X, X[:, 0] % 2)
    _check_trees([model])
    tampered = [copy.deepcopy(model) for _ in range(3)]
    tampered[0]._predictors[0][0].nodes["bitset_idx"][0] = 1 << 20
    tampered[1]._bin_mapper.is_categorical_ = np.zeros(1, dtype=bool)
    tampered[2]._predictors[0][0].raw_left_cat_bitsets = np.zeros((1, 0), dtype=np.uint32)
    for each in tampered:
        with pytest.raises(InputError, match="links that lead nowhere"):
            _check_trees([each])


def test_a_model_whose_parts_do_not_fit_together_is_refused():
    model = stored("c2rf")
    model.classifier.weights_ = model.classifier.weights_[:2]
    with pytest.raises(InputError, match="the model does not fit together"):
        predict_rows(model, PEOPLE.unlabeled)


def test_what_the_output_does_not_hold_is_refused_before_the_work(monkeypatch):
    model, long = stored("c2rf"), PEOPLE.unlabeled.assign(note="x" * 40_000)
    monkeypatch.setattr("c2rf.workflow.model_file.score_rows", pytest.fail)
    with pytest.raises(InputError, match="a text in column 'note' has more"):
        predict_rows(model, long, out=Path("labels.xlsx"))


def test_a_sparse_table_whose_places_lead_out_of_it_is_refused():
    table = csr_matrix(np.eye(3))
    table.indices[1] = 1 << 20
    with pytest.raises(ValueError, match=r"ind(ex|ices)"):
        _check_trees([table])


def test_a_model_that_would_fill_the_memory_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "m.skops"
    stored().write(path)
    monkeypatch.setenv("C2RF_MOST_BYTES", "1000")
    with pytest.raises(InputError, match="more than 1,000 bytes when unpacked"):
        StoredModel.read(path)
