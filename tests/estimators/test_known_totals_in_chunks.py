"""Known totals of a population in chunks: the labels that it gets in memory, bit for bit."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from c2rf import BlendClassifier, KnownTotalsClassifier
from c2rf.assignment import passes
from c2rf.data.population.interface import draw_sample
from c2rf.data.population.memory import Memory, user_chunks
from c2rf.exceptions import InputError
from margins import totals_of

RNG = np.random.default_rng(3)
N = 3000
ALL = pd.DataFrame(RNG.normal(size=(200 + N, 4)), columns=list("abcd"))
FRAME, POPULATION = ALL.iloc[:200], ALL.iloc[200:].reset_index(drop=True)
TWO = np.where(FRAME.sum(axis=1) + RNG.normal(size=200) > 0, "yes", "no")
THREE = np.digitize(FRAME["a"] + RNG.normal(size=200) / 2, [-0.5, 0.5])
GROUPS = np.array(["north", "south", "west"])[RNG.integers(0, 3, N)]


class Small(KnownTotalsClassifier):
    """Few rows are as many as do not fit into memory."""

    _most_learned, _block_rows = 500, 256


@pytest.fixture
def small(monkeypatch):
    """Few rows are assigned as very many are."""
    monkeypatch.setattr(passes, "FEW", 1000)
    monkeypatch.setattr(passes, "SAMPLE", 400)


def cut(frame, bounds):
    edges = [0, *sorted(bounds), len(frame)]
    return [frame[start:end] for start, end in pairwise(edges)]


def fitted(population, estimator, y=TWO, totals=None, X=FRAME, **options):
    groups, by_group = options.pop("groups", None), options.pop("group_totals", None)
    columns = options.pop("columns", ["region"])
    options = {"random_state": 0} | options
    if totals is None and by_group is None:
        totals = {"yes": 1111} if y is TWO else {0: 0.2, 1: 1700}
    classifier = options.pop("kind", Small)(estimator, **options)
    totals = totals_of(totals, by_group, *columns)
    return classifier.fit(X, y, X_unlabeled=population, totals=totals, unlabeled_groups=groups)


MODELS = {
    "forest": RandomForestClassifier(10, random_state=0),  # full of ties
    "logistic": LogisticRegression(),
}
GROUP_TOTALS = {"north": {"yes": 300}, "south": {"yes": (0.3, 0.4)}}


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("model", MODELS)
class TestSameModel:
    def same(self, streamed, whole):
        np.testing.assert_array_equal(streamed.transduction_, whole.transduction_)
        assert streamed.transduction_.dtype == whole.transduction_.dtype
        np.testing.assert_array_equal(streamed.scores_, whole.scores_)
        np.testing.assert_array_equal(streamed.offsets_, whole.offsets_)

    @pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
    def test_totals(self, model, y):
        whole = fitted(POPULATION, MODELS[model], y)
        for bounds in ([], [1, 1, 700], list(range(0, N, 100))):
            self.same(fitted(cut(POPULATION, bounds), MODELS[model], y), whole)
        X, population = FRAME.to_numpy(), POPULATION.to_numpy()
        whole = fitted(population, MODELS[model], y, X=X)
        self.same(fitted(lambda: iter(cut(population, [2000])), MODELS[model], y, X=X), whole)

    def test_groups(self, model):
        known = {"groups": GROUPS, "group_totals": GROUP_TOTALS, "totals": {"yes": 1200}}
        whole = fitted(POPULATION, MODELS[model], **known)
        streamed = fitted(cut(POPULATION, [10, 2222]), MODELS[model], **known)
        self.same(streamed, whole)
        assert streamed.group_offsets_.keys() == whole.group_offsets_.keys()
        for name, offsets in whole.group_offsets_.items():
            np.testing.assert_array_equal(streamed.group_offsets_[name], offsets)
        chosen = streamed.transduction_ == "yes"
        assert chosen.sum() == 1200
        assert chosen[GROUPS == "north"].sum() == 300

    def test_a_tiny_group(self, model):
        groups = GROUPS.copy()
        groups[17] = "isle"  # most likely nobody of it is in the sample
        totals = GROUP_TOTALS | {"isle": {"yes": 1}}
        known = {"groups": groups, "group_totals": totals, "totals": {"yes": 1200}}
        streamed = fitted(cut(POPULATION, [10, 2222]), MODELS[model], **known)
        self.same(streamed, fitted(POPULATION, MODELS[model], **known))
        assert streamed.transduction_[17] == "yes"
        assert len(streamed.predict_proba(POPULATION, groups=groups)) == N

    def test_parquet_and_frozen_models(self, model, tmp_path):
        pytest.importorskip("pyarrow")
        # scikit-learn's forests get arrays, other models frames.
        X = FRAME.to_numpy() if model == "forest" else FRAME
        frozen = FrozenEstimator(MODELS[model].fit(X, TWO))
        whole = fitted(POPULATION, frozen)
        for k, part in enumerate(cut(POPULATION.assign(id=7), [1200])):
            part.to_parquet(tmp_path / f"{k}.parquet", row_group_size=500)
        self.same(fitted(tmp_path, frozen), whole)


@pytest.mark.usefixtures("small")
class TestGroupsByName:
    WITH_GROUPS = POPULATION.assign(region=GROUPS, half=np.arange(N) % 2)

    @pytest.fixture
    def folder(self, tmp_path):
        pytest.importorskip("pyarrow")
        for k, part in enumerate(cut(self.WITH_GROUPS, [1200])):
            part.to_parquet(tmp_path / f"{k}.parquet", row_group_size=500)
        return tmp_path

    def test_one_column(self, folder):
        model = MODELS["forest"]
        whole = fitted(POPULATION, model, groups=GROUPS, group_totals=GROUP_TOTALS)
        streamed = fitted(folder, model, group_totals=GROUP_TOTALS)
        np.testing.assert_array_equal(streamed.transduction_, whole.transduction_)
        aligned = fitted(
            self.WITH_GROUPS.drop(columns="half"), model, group_totals=GROUP_TOTALS, X=FRAME
        )
        np.testing.assert_array_equal(aligned.transduction_, whole.transduction_)

    def test_several_columns(self, folder):
        pl = pytest.importorskip("polars")
        table, totals = self.WITH_GROUPS, {(0, "north"): {"yes": 100}}
        known = {"group_totals": totals, "columns": ["half", "region"]}
        whole = fitted(POPULATION, MODELS["forest"], groups=table, **known)
        for source in (folder, pl.scan_parquet(folder / "*.parquet")):
            streamed = fitted(source, MODELS["forest"], **known)
            np.testing.assert_array_equal(streamed.transduction_, whole.transduction_)

    def test_refused(self, folder):
        def fit(source, column, **known):
            options = {"group_totals": GROUP_TOTALS, "columns": [column], **known}
            return fitted(source, MODELS["forest"], **options)

        with pytest.raises(InputError, match=r"column 'town', which X_unlabeled does not have"):
            fit(folder, "town")
        with pytest.raises(InputError, match="X_unlabeled has no columns with names"):
            fit(cut(POPULATION, [10]), "region")
        with pytest.raises(InputError, match="did you mean 'region'"):
            fit(self.WITH_GROUPS, "regio")
        with pytest.raises(InputError, match="grouping columns of totals, 'region'; found 2"):
            fit(POPULATION, "region", groups=np.zeros((N, 2)))
        self.WITH_GROUPS.assign(region=None).to_parquet(folder / "1.parquet")
        with pytest.raises(InputError, match=r"1.parquet, row group 0: .* has no entry in row"):
            fit(folder, "region")


@pytest.mark.usefixtures("small")
def test_learned_from_a_sample_that_does_not_depend_on_the_cuts():
    blend = BlendClassifier(base_learners=("trees", "svc"), n_estimators=8)
    one, two = (fitted(cut(POPULATION, b), blend) for b in ([], [5, 10, 2500]))
    assert len(one.estimator_.learned_proba_) < N
    np.testing.assert_array_equal(one.transduction_, two.transduction_)
    assert (one.transduction_ == "yes").sum() == 1111
    assert one.history_ == two.history_
    np.testing.assert_array_equal(one.predict_proba(POPULATION), two.predict_proba(POPULATION))
    whole = fitted(POPULATION, blend)
    np.testing.assert_array_equal(one.transduction_, whole.transduction_)
    np.testing.assert_array_equal(one.transduction_proba_, whole.transduction_proba_)


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_few_rows_are_taken_into_memory(y):
    known = {"y": y, "kind": KnownTotalsClassifier}
    whole = fitted(POPULATION, MODELS["forest"], **known)
    streamed = fitted(cut(POPULATION, [1000]), MODELS["forest"], **known)
    np.testing.assert_array_equal(streamed.transduction_, whole.transduction_)
    np.testing.assert_array_equal(
        streamed.predict_proba(POPULATION), whole.predict_proba(POPULATION)
    )
    labels = np.concatenate([chunk.labels for chunk in streamed.label_chunks()])
    np.testing.assert_array_equal(labels, whole.transduction_)


@pytest.mark.usefixtures("small")
def test_chunk_by_chunk_and_copies():
    model = fitted(cut(POPULATION, [1000, 1000, 1700]), MODELS["forest"])
    chunks = list(model.label_chunks())
    np.testing.assert_array_equal(np.concatenate([c.labels for c in chunks]), model.transduction_)
    np.testing.assert_array_equal(np.concatenate([c.scores for c in chunks]), model.scores_)
    copied = pickle.loads(pickle.dumps(model))
    assert not hasattr(copied, "transduction_")
    assert not hasattr(copied, "scores_")
    with pytest.raises(InputError, match="there is no population to label"):
        next(copied.label_chunks())
    np.testing.assert_array_equal(copied.predict(POPULATION), model.predict(POPULATION))
    model.fit(FRAME, TWO)
    assert not hasattr(model, "scores_")


@pytest.mark.usefixtures("small")
def test_a_population_that_changes_between_two_readings():
    versions = [cut(POPULATION, [10]), cut(POPULATION[:-1], [10])]
    with pytest.raises(InputError, match=r"had 3000 rows when .*, but has 2999 .* the same each"):
        fitted(lambda: versions.pop(0), MODELS["forest"])
    versions = [cut(POPULATION[:-1], [10]), cut(POPULATION, [10])]
    with pytest.raises(InputError, match="had 2999 rows when they were counted, but has 3000 now"):
        fitted(lambda: versions.pop(0), MODELS["forest"])


@pytest.mark.usefixtures("small")
def test_bad_chunks_are_named():
    parts = cut(POPULATION, [1000])
    with pytest.raises(InputError, match=r"\(chunk 1\) has missing values .* 'b'"):
        fitted([parts[0], parts[1].assign(b=np.nan)], MODELS["logistic"])
    with pytest.raises(
        InputError, match="unlabeled_groups must have one entry per unlabeled row, 3000"
    ):
        fitted(parts, MODELS["forest"], groups=GROUPS[:-1], group_totals=GROUP_TOTALS)
    with pytest.raises(InputError, match="from 0 to 3000, the number of rows"):
        fitted(parts, MODELS["forest"], totals={"yes": 3001})


@given(
    sizes=st.lists(st.integers(1, 700), min_size=1, max_size=8),
    frames=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_blocks_are_the_same_rows_however_chunks_are_cut(sizes, frames):
    table = np.arange(2.0 * sum(sizes)).reshape(-1, 2)
    parts = cut(pd.DataFrame(table) if frames else table, list(np.cumsum(sizes)[:-1]))
    found = list(user_chunks(parts).blocks(np.asarray, 256))
    assert [len(rows) for rows in found[:-1]] == [256] * (len(found) - 1)
    np.testing.assert_array_equal(np.concatenate(found), table)


@pytest.mark.parametrize("sizes", [[1000], [30] * 33 + [10], [1, 998, 1]])
def test_the_rows_with_the_smallest_numbers_are_drawn(sizes):
    numbers = np.random.default_rng([7, 4]).random(1000)
    table = np.arange(1000.0)[:, None]
    parts = cut(table, list(np.cumsum(sizes)[:-1]))
    for population in (user_chunks(parts), Memory(table)):
        sample = draw_sample(population, 50, [7, 4])
        np.testing.assert_array_equal(sample.rows, np.sort(np.argsort(numbers)[:50]))
        np.testing.assert_array_equal(sample.data[:, 0], sample.rows)
