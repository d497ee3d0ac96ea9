"""Known totals of a population in a Dask collection: the labels of memory and of chunks."""

from __future__ import annotations

import pickle
import time
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from c2rf import BlendClassifier, KnownTotalsClassifier
from c2rf.assignment import parts, passes
from c2rf.data.population import dask as dask_rows
from c2rf.data.population import interface
from c2rf.exceptions import ClusterError, InputError
from margins import totals_of

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

RNG = np.random.default_rng(3)
N = 2400
ALL = pd.DataFrame(RNG.normal(size=(200 + N, 4)), columns=list("abcd"))
FRAME, POPULATION = ALL.iloc[:200], ALL.iloc[200:].reset_index(drop=True)
TWO = np.where(FRAME.sum(axis=1) + RNG.normal(size=200) > 0, "yes", "no")
THREE = np.digitize(FRAME["a"] + RNG.normal(size=200) / 2, [-0.5, 0.5])
GROUPS = pd.Series(np.array(["north", "south", "west"])[RNG.integers(0, 3, N)])
MODELS = {
    "forest": RandomForestClassifier(10, random_state=0),  # full of ties
    "logistic": LogisticRegression(),  # products of matrices round as their shapes tell them
}
BLEND = BlendClassifier(base_learners=("trees", "svc"), n_estimators=8)
LEARNERS = {**MODELS, "blend": BLEND}


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


class Small(KnownTotalsClassifier):
    """Few rows are as many as do not fit into memory."""

    _most_learned, _block_rows = 400, 256


@pytest.fixture
def small(monkeypatch):
    """Few rows are assigned as very many are, some spans at a time."""
    monkeypatch.setattr(dask_rows, "SPANS_AT_ONCE", 1)
    monkeypatch.setattr(passes, "FEW", 1000)
    monkeypatch.setattr(passes, "SAMPLE", 400)


def cut(frame, bounds):
    return [frame[start:end] for start, end in pairwise([0, *sorted(bounds), len(frame)])]


def frame_of(parts):
    return dd.from_delayed([dask.delayed(part) for part in parts], meta=parts[0], verify_meta=False)


def fitted(population, estimator=MODELS["forest"], y=TWO, totals=None, X=FRAME, **options):
    groups, by_group = options.pop("groups", None), options.pop("group_totals", None)
    options = {"random_state": 0} | options
    if totals is None:
        totals = {"yes": 1111} if y is TWO else {0: 0.2, 1: 1200}
    classifier = options.pop("kind", Small)(estimator, **options)
    totals = totals_of(totals, by_group, "region")
    return classifier.fit(X, y, X_unlabeled=population, totals=totals, unlabeled_groups=groups)


def assert_same(model, whole):
    np.testing.assert_array_equal(model.transduction_.compute(), whole.transduction_)
    np.testing.assert_array_equal(model.scores_, whole.scores_)
    np.testing.assert_array_equal(model.offsets_, whole.offsets_)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_labels_are_those_in_memory(name, y):
    whole = fitted(POPULATION, MODELS[name], y)
    assert_same(fitted(dd.from_pandas(POPULATION, npartitions=7), MODELS[name], y), whole)
    X, population = FRAME.to_numpy(), POPULATION.to_numpy()
    whole = fitted(population, MODELS[name], y, X=X)
    array = da.from_array(population, chunks=((1000, 0, 10, 1390), (3, 1)))
    assert_same(fitted(array, MODELS[name], y, X=X), whole)


@given(
    bounds=st.lists(st.integers(0, N), max_size=12), model=st.sampled_from(["logistic", "blend"])
)
@settings(
    max_examples=4,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_partitions_are_chunks(small, bounds, model):
    parts = cut(POPULATION, bounds)
    streamed = fitted(parts, LEARNERS[model])
    found = fitted(frame_of(parts), LEARNERS[model])
    assert_same(found, streamed)
    assert found.history_ == streamed.history_
    for ours, theirs in zip(found.label_chunks(), streamed.label_chunks(), strict=True):
        np.testing.assert_array_equal(ours.labels, theirs.labels)
        np.testing.assert_array_equal(ours.scores, theirs.scores)


@pytest.mark.usefixtures("small")
def test_groups_may_be_a_dask_series():
    group_totals = {"north": {"yes": 300}, "south": {"yes": (0.3, 0.4)}}
    known = {"totals": {"yes": 1000}, "group_totals": group_totals}
    whole = fitted(POPULATION, groups=GROUPS, **known)
    population = dd.from_pandas(POPULATION.assign(region=GROUPS), npartitions=4)
    model = fitted(population, groups=population["region"], **known)
    assert_same(model, whole)
    assert_same(fitted(population, **known), whole)  # they are found in the population, too
    aligned = population.assign(label=model.transduction_).compute()
    assert (aligned["label"] == "yes").sum() == 1000
    assert (aligned.loc[aligned["region"] == "north", "label"] == "yes").sum() == 300


def test_small_populations_are_taken_into_memory():
    options = {"kind": KnownTotalsClassifier}
    whole = fitted(POPULATION, **options)
    model = fitted(dd.from_pandas(POPULATION, npartitions=5), **options)
    assert_same(model, whole)
    assert isinstance(model.transduction_, dd.Series)
    np.testing.assert_array_equal(model.predict_proba(FRAME), whole.predict_proba(FRAME))


@pytest.mark.usefixtures("small")
def test_alignment(tmp_path):
    for k, part in enumerate(cut(POPULATION.assign(who="x"), [50, 50, 400])):
        part.to_parquet(tmp_path / f"{k}.parquet")
    population = dd.read_parquet(tmp_path)
    model = fitted(population)
    labels = model.transduction_
    assert labels.npartitions == population.npartitions
    aligned = population.assign(label=labels).compute()
    assert (aligned["label"] == "yes").sum() == 1111
    np.testing.assert_array_equal(aligned["label"], fitted(POPULATION).transduction_)
    assert not hasattr(pickle.loads(pickle.dumps(model)), "transduction_")
    assert not hasattr(model.fit(FRAME, TWO), "transduction_")


@pytest.mark.usefixtures("small")
class TestRefused:
    def test_missing_values_in_a_partition(self):
        parts = cut(POPULATION, [100, 200])
        parts[1] = parts[1].mask(parts[1] > 1)
        with pytest.raises(InputError, match=r"\(partition 1\) has missing values .* 'a'"):
            fitted(frame_of(parts), MODELS["logistic"])

    def test_numbers_here_and_text_there(self):
        pick = make_column_transformer(("passthrough", ["a", "b"]))
        parts = cut(POPULATION, [100, 200])
        parts[1] = parts[1].assign(c="many")
        with pytest.raises(InputError, match=r"'c' .* numbers in .*partition 0.*partition 1"):
            fitted(frame_of(parts), make_pipeline(pick, LogisticRegression()))

    def test_no_rows(self):
        with pytest.raises(InputError, match="has no rows"):
            fitted(frame_of([POPULATION[:0]] * 2))

    def test_a_population_that_changes(self):
        versions = [POPULATION, POPULATION[:90]]
        part = dask.delayed(lambda: versions.pop(0), pure=False)()
        with pytest.raises(InputError, match=r"partition 0 .* had 2400 rows .* has 90 now"):
            fitted(dd.from_delayed([part], meta=POPULATION, verify_meta=False))

    def test_a_partition_that_cannot_be_read_again(self):
        reads = []

        def second():
            reads.append(1)
            if len(reads) > 2:
                raise OSError("the disk is gone")
            return POPULATION[1000:]

        parts = [dask.delayed(POPULATION[:1000]), dask.delayed(second, pure=False)()]
        with pytest.raises(InputError, match="partition 1 cannot be read: the disk is gone"):
            fitted(dd.from_delayed(parts, meta=POPULATION, verify_meta=False))


def known_totals(y, kind):
    """Totals of POPULATION with two columns of groups: overall, of one column, or of both."""
    first = {"yes": 0.45} if y is TWO else {0: 0.2, 1: 0.5}
    if kind == "overall":
        return first
    tables = []
    for name in ("region", "sex")[: 1 + (kind == "crossing")]:
        sizes = TOWNS.groupby(name).size()
        tables.append([
            {name: group, "class": label, "total": round(n * share)}
            for group, n in sizes.items() for label, share in first.items()
        ])  # fmt: skip
    return tables if len(tables) < 2 else [tables[0], [
        row | {"total": (max(row["total"] - 9, 0), row["total"] + 9)} for row in tables[1]
    ]]  # fmt: skip


TOWNS = POPULATION.assign(
    region=GROUPS, sex=np.array(["f", "m"])[RNG.integers(0, 2, N)], people=RNG.integers(1, 4, N)
)


class TestWorkersKeepRows:
    """On a cluster, probabilities and labels stay with the workers; parts of few rows here."""

    @pytest.fixture(autouse=True)
    def cluster(self, monkeypatch):
        monkeypatch.setattr(passes, "FEW", 1000)
        monkeypatch.setattr(passes, "SAMPLE", 400)
        for module in (parts, interface):
            monkeypatch.setattr(module, "BLOCK", 128)
        monkeypatch.setattr(dask_rows, "SPAN", 128 * 8)
        monkeypatch.setattr(interface, "SPAN", 128 * 8)
        options = {"processes": False, "n_workers": 2, "threads_per_worker": 1}
        with (
            dask.config.set(scheduler=None),
            distributed.Client(**options, dashboard_address=":0") as client,
        ):
            yield client

    @staticmethod
    def fit(population, y, kind, **options):
        model = KnownTotalsClassifier(LogisticRegression(), random_state=0)
        return model.fit(FRAME, y, X_unlabeled=population, totals=known_totals(y, kind), **options)

    @pytest.mark.parametrize("kind", ["overall", "groups", "crossing", "weights"])
    @pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
    def test_labels_are_those_in_memory(self, y, kind):
        extra = {"overall": [], "groups": ["region"]}.get(kind, ["region", "sex"])
        options = {"unlabeled_weight": TOWNS["people"]} if kind == "weights" else {}
        kind = "overall" if options else kind
        columns = [*FRAME, *(extra if not options else [])]
        whole = self.fit(TOWNS[columns], y, kind, **options)
        far = self.fit(frame_of(cut(TOWNS[columns], [7, 7, 900, 1500])), y, kind, **options)
        assert isinstance(far.scores_, dask_rows.DaskArray)
        assert_same(far, whole)
        assert far.assignment_ == whole.assignment_
        assert far.totals_met_.equals(whole.totals_met_)
        np.testing.assert_allclose(far.transduction_proba_, whole.transduction_proba_, atol=1e-8)
        np.testing.assert_allclose(far.expected_confusion_, whole.expected_confusion_, atol=1e-4)
        np.testing.assert_allclose(far.predict_proba(FRAME), whole.predict_proba(FRAME))

    def test_more_groups_and_classes_than_a_byte_counts(self):
        region = np.arange(N) % 100
        truth = np.digitize(POPULATION["a"], [-0.5, 0.5])
        totals = pd.crosstab(region, truth).rename_axis("region").reset_index()
        totals = totals.melt("region", var_name="class", value_name="total")
        rows, X = POPULATION.assign(region=region), FRAME.assign(region=0)
        labels = [
            KnownTotalsClassifier(LogisticRegression(), random_state=0)
            .fit(X, THREE, X_unlabeled=each, totals=totals)
            .transduction_
            for each in (rows, frame_of(cut(rows, [700, 1500])))
        ]
        np.testing.assert_array_equal(np.asarray(labels[1]), labels[0])

    def test_what_is_drawn_and_compared_afterwards(self):
        whole, far = (
            self.fit(rows, TWO, "overall") for rows in (POPULATION, frame_of(cut(POPULATION, [7])))
        )
        np.testing.assert_array_equal(far.impute(2), whole.impute(2))
        assert far.sensitivity(0.1).equals(whole.sensitivity(0.1))
        found = [model.expected_accuracy(2).overall.estimate for model in (far, whole)]
        assert found[0] == pytest.approx(found[1], abs=1e-6)
        assert far.label_next(20).equals(whole.label_next(20))
        chunks = [np.concatenate(each) for each in zip(*far.label_chunks(), strict=True)]
        np.testing.assert_array_equal(chunks[0], whole.transduction_)
        np.testing.assert_array_equal(chunks[1], whole.scores_)

    def test_what_does_not_fit_here_is_refused_by_name(self, monkeypatch):
        far = self.fit(frame_of(cut(POPULATION, [7])), TWO, "overall")
        monkeypatch.setattr(interface, "physical_memory", lambda: 16.0 * N)
        for name in ("impute", "expected_accuracy", "estimates", "label_next"):
            with pytest.raises(InputError, match=f"{name} needs the probabilities of all"):
                getattr(far, name)()
        assert "_here" not in vars(far.scores_)

    def test_parts_of_what_is_kept(self):
        far = self.fit(frame_of(cut(POPULATION, [7])), TWO, "overall").scores_
        here = np.asarray(far)
        assert far.shape == here.shape == (N, 2)
        for rows in (slice(0, 5), slice(1000, 1100), slice(2000, None), np.array([3, 1023, 1024])):
            np.testing.assert_array_equal(far[rows], here[rows])
        np.testing.assert_array_equal(far.compute(), here)

    def test_a_partition_that_cannot_be_read_is_named(self):
        bad = POPULATION[1000:].assign(a=np.inf)
        with pytest.raises(InputError, match=r"partition 1\) has infinite values"):
            self.fit(frame_of([POPULATION[:1000], bad]), TWO, "overall")

    def test_all_workers_are_lost(self, cluster, monkeypatch):
        monkeypatch.setattr(dask_rows, "ANSWER_SECONDS", 1.0)
        rows = dask_rows.DaskRows(frame_of(cut(POPULATION, [7])))
        kept = rows.keep(np.asarray, np.empty((0, 4)), 128, interface.View(list(FRAME)))
        cluster.cluster.scale(0)
        while cluster.nthreads():
            time.sleep(0.05)
        for lost in (
            lambda: kept.reduce(lambda start, rows: len(rows), sum),
            lambda: kept.map(lambda start, rows: rows, np.empty((0, 4))),
            lambda: rows.reduce(lambda chunk: 1, sum),
        ):
            with pytest.raises(ClusterError, match=r"has lost all its workers, and none came with"):
                lost()
