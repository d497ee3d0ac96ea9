"""A population in chunks gets the labels that it gets in memory, bit for bit."""

from __future__ import annotations

import copy
import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import c2rf
from c2rf import C2RFClassifier
from c2rf.exceptions import InputError, InputTypeError

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")
ds = pytest.importorskip("pyarrow.dataset")

RNG = np.random.default_rng(7)
N, KNOWN = 900, 400
NAMES = [f"x{k}" for k in range(5)]
ALL = pd.DataFrame(RNG.normal(size=(150 + N, 5)), columns=NAMES)
ALL["x1"] = ALL["x1"].round(1)
ALL["x2"] = ALL["x2"].astype(np.float32).astype(float)
FRAME, POPULATION = ALL.iloc[:150], ALL.iloc[150:].reset_index(drop=True)
Y = np.where(FRAME.sum(axis=1) + RNG.normal(size=150) > 0, "yes", "no")


def classifier(estimator=None, **options):
    options = {"n_estimators": 7, "random_state": 0, "pos_label": "yes"} | options
    if isinstance(estimator, (RandomForestClassifier, ExtraTreesClassifier, BaggingClassifier)):
        options.pop("n_estimators")
    return C2RFClassifier(estimator, **options)


def fitted(population, estimator=None, n_positive=KNOWN, X=FRAME, **options):
    return classifier(estimator, **options).fit(X, Y, X_unlabeled=population, n_positive=n_positive)


def cut(frame, bounds):
    edges = [0, *sorted(bounds), len(frame)]
    return [frame[start:end] for start, end in pairwise(edges)]


@pytest.fixture
def folder(tmp_path):
    for k, part in enumerate(cut(POPULATION.assign(id="x"), [200, 200, 650])):
        part.to_parquet(tmp_path / f"part-{k}.parquet", row_group_size=90)
    return tmp_path


def assert_same(streamed, whole):
    np.testing.assert_array_equal(streamed.transduction_, whole.transduction_)
    assert streamed.transduction_.dtype == whole.transduction_.dtype
    np.testing.assert_array_equal(streamed.weights_, whole.weights_)
    assert streamed.solution_.eta == whole.solution_.eta
    assert streamed.solution_.bound == whole.solution_.bound


ENSEMBLES = {
    "default": None,
    "forest": RandomForestClassifier(15, random_state=0),
    "extra": ExtraTreesClassifier(70, max_depth=2, random_state=0),
    "bag": BaggingClassifier(DecisionTreeClassifier(max_depth=3), 9, max_features=0.6),
    "logistic": LogisticRegression(),
}


@pytest.mark.parametrize("name", ENSEMBLES)
def test_streamed_labels_are_those_in_memory(name, folder):
    options = {"random_state": 3, "time_limit": None, "method": "auto"}
    whole = fitted(POPULATION, ENSEMBLES[name], **options)
    populations = [
        folder,
        cut(POPULATION, [1, 1, 500]),
        [str(path) for path in sorted(folder.iterdir())],
        ds.dataset(folder),
        pl.scan_parquet(folder / "*.parquet"),
        lambda: iter(cut(POPULATION, [899])),
    ]
    # Who votes and where the rows are have nothing to do with each other: not all pairs are tried.
    for population in populations if name == "default" else populations[:2]:
        assert_same(fitted(population, ENSEMBLES[name], **options), whole)


@given(bounds=st.lists(st.integers(0, N), max_size=6), plain=st.booleans())
@settings(max_examples=15, deadline=None)
def test_cuts_do_not_matter(bounds, plain):
    X, population = (FRAME, POPULATION) if not plain else (FRAME.to_numpy(), POPULATION.to_numpy())
    whole = fitted(population, X=X, n_positive=0.3)
    streamed = fitted(cut(population, bounds), X=X, n_positive=0.3)
    assert_same(streamed, whole)


def test_types_of_chunks_do_not_matter():
    exact = POPULATION.round(0)
    parts = cut(exact, [300, 600])
    mixed = [parts[0].astype(int), parts[1].astype(np.float32), parts[2].astype(object)]
    assert_same(fitted(mixed), fitted(exact))


@pytest.mark.parametrize("pos_label", ["yes", "no"])
def test_chunk_by_chunk(folder, pos_label):
    model = fitted(folder, pos_label=pos_label)
    whole = fitted(POPULATION, pos_label=pos_label)
    chunks = list(model.label_chunks())
    labels, scores = (np.concatenate(parts) for parts in zip(*chunks, strict=True))
    np.testing.assert_array_equal(labels, whole.transduction_)
    np.testing.assert_allclose(scores, whole.decision_function(POPULATION))
    np.testing.assert_array_equal(labels, model.classes_[(scores > 0).astype(int)])


def test_solution_is_of_the_patterns(folder):
    model = fitted(folder)
    assert model.patterns_.n_points == N
    assert len(model.solution_.labels) == model.patterns_.n_patterns
    c2rf.verify(model.patterns_, KNOWN, model.solution_)
    np.testing.assert_array_equal(model.predict(POPULATION), model.transduction_)


def test_a_rate_is_of_all_chunks():
    assert_same(fitted(cut(POPULATION, [100]), n_positive=KNOWN / N), fitted(POPULATION))


def test_asking_for_labels_reads_nothing():
    reads = []

    def chunks():
        reads.append(1)
        return cut(POPULATION, [100])

    model = fitted(chunks)
    assert len(reads) == 2  # to count and to label
    assert hasattr(model, "transduction_")
    assert len(model.transduction_) == N
    assert model.transduction_ is model.transduction_
    assert len(reads) == 2


def test_copies_forget_the_population():
    model = fitted(lambda: cut(POPULATION, [100]))
    for copied in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert not hasattr(copied, "transduction_")
        with pytest.raises(InputError, match="only the classifier that was fitted"):
            next(copied.label_chunks())
        np.testing.assert_array_equal(copied.predict(POPULATION), model.predict(POPULATION))
    whole = fitted(POPULATION)  # few labels, and nowhere else
    again = pickle.loads(pickle.dumps(whole))
    np.testing.assert_array_equal(again.transduction_, whole.transduction_)
    assert not hasattr(clone(model), "transduction_")


def test_another_fit_forgets_the_population():
    model = fitted(cut(POPULATION, [100])).fit(FRAME, Y)
    for name in ("transduction_", "patterns_"):
        assert not hasattr(model, name)
    with pytest.raises(InputError, match="there is no population to label"):
        next(model.label_chunks())
    model.fit(FRAME, Y, X_unlabeled=POPULATION, n_positive=KNOWN)
    assert not hasattr(model, "patterns_")


def test_frames_go_to_pipelines_as_they_are(tmp_path):
    def with_text(frame):
        return frame.assign(town=np.where(frame["x0"] > 0, "Ulm", "Bonn"))

    encode = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
    pipeline = make_pipeline(encode, LogisticRegression())
    X, population = with_text(FRAME), with_text(POPULATION)
    whole = fitted(population, pipeline, X=X)
    for k, part in enumerate(cut(population, [400])):
        part.to_parquet(tmp_path / f"{k}.parquet")
    for source in (cut(population, [10, 20]), tmp_path):
        assert_same(fitted(source, pipeline, X=X), whole)
    population.iloc[:100].assign(x3="many").to_parquet(tmp_path / "1.parquet")
    with pytest.raises(InputError, match=r"1.parquet, row group 0\): could not convert .* 'many'"):
        fitted(tmp_path, pipeline, X=X)


class TestRefused:
    def test_a_generator(self):
        with pytest.raises(InputTypeError, match="a generator can be read only once; give"):
            fitted(part for part in cut(POPULATION, [100]))

    @pytest.mark.parametrize("empty", [[POPULATION[:0]], lambda: iter([])])
    def test_no_rows_at_all(self, empty):
        with pytest.raises(InputError, match="X_unlabeled has no rows"):
            fitted(empty)

    def test_missing_values_in_a_chunk(self, folder):
        parts = cut(POPULATION, [100, 200])
        parts[1] = parts[1].mask(parts[1] > 1)
        assert len(fitted(parts).transduction_) == N  # trees take them
        with pytest.raises(InputError, match=r"X_unlabeled \(chunk 1\) has missing values .* 'x0'"):
            fitted(parts, LogisticRegression())
        parts[1].assign(id="x").to_parquet(folder / "part-2.parquet")
        with pytest.raises(InputError, match=r"\(.*part-2.parquet, row group 0\) has missing"):
            fitted(folder, LogisticRegression())

    def test_infinite_values_and_text(self):
        parts = cut(POPULATION, [100])
        with pytest.raises(InputError, match=r"\(chunk 1\) has infinite values .* 'x4'"):
            fitted([parts[0], parts[1].assign(x4=np.inf)])
        with pytest.raises(InputError, match=r"\(chunk 1\) must hold numbers; .* 'x4'"):
            fitted([parts[0], parts[1].assign(x4="a")])

    def test_other_columns(self, folder):
        parts = cut(POPULATION, [100])
        with pytest.raises(InputError, match=r"columns of X_unlabeled \(chunk 1\) must .* 'x3'"):
            fitted([parts[0], parts[1].drop(columns="x3")])
        with pytest.raises(InputError, match=r"\(chunk 0\) must have the 5 columns of X; found 4"):
            fitted([POPULATION.to_numpy()[:, 1:]], X=FRAME.to_numpy())
        with pytest.raises(InputError, match=r"part-0.parquet lacks columns of X: 'y0'"):
            fitted(folder, X=FRAME.rename(columns={"x0": "y0"}))
        with pytest.raises(InputError, match=r"\(.*part-0.parquet, row group 0\) must h.* found 6"):
            fitted(folder, X=FRAME.to_numpy())

    def test_too_large_a_total(self):
        with pytest.raises(InputError, match="n_positive must be a count from 0 to 900"):
            fitted(cut(POPULATION, [100]), n_positive=901)

    def test_a_population_that_changes_between_two_readings(self):
        versions = [cut(POPULATION, [100]), cut(POPULATION[:-1], [100])]
        with pytest.raises(InputError, match=r"had 900 rows .* but has 899 .* the same each"):
            fitted(lambda: versions.pop(0))
        versions = [cut(POPULATION, [100]), [POPULATION, POPULATION[:5]]]
        with pytest.raises(InputError, match=r"had 900 rows .* but has 905 now"):
            fitted(lambda: versions.pop(0))
        versions = [cut(POPULATION[:200], [100]), cut(POPULATION[200:400], [100])]
        deep = RandomForestClassifier(30, random_state=0)
        with pytest.raises(InputError, match=r"\(chunk 0\) has votes that were not counted"):
            fitted(lambda: versions.pop(0), deep, n_positive=0.5)
