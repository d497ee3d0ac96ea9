"""A population in a Dask collection gets the labels that it gets in memory, bit for bit."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import c2rf
from c2rf import C2RFClassifier
from c2rf.data.population import dask as cluster_rows
from c2rf.data.population.dask import DaskRows, connected, is_dask
from c2rf.exceptions import ClusterError, InputError, InputTypeError

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

RNG = np.random.default_rng(5)
N, KNOWN = 600, 250
NAMES = [f"x{k}" for k in range(5)]
ALL = pd.DataFrame(RNG.normal(size=(120 + N, 5)), columns=NAMES).round(1)
FRAME, POPULATION = ALL.iloc[:120], ALL.iloc[120:].reset_index(drop=True)
Y = np.where(FRAME.sum(axis=1) + RNG.normal(size=120) > 0, "yes", "no")
PLAIN = FRAME.to_numpy()


@pytest.fixture(autouse=True)
def one_thread():
    """Tests that say nothing else run where an error is easiest to see."""
    with dask.config.set(scheduler="synchronous"):
        yield


def fitted(population, estimator=None, X=FRAME, n_positive=KNOWN, **options):
    options = {"random_state": 0, "pos_label": "yes"} | options
    if estimator is None:
        options = {"n_estimators": 7} | options
    model = C2RFClassifier(estimator, **options)
    return model.fit(X, Y, X_unlabeled=population, n_positive=n_positive)


def cut(frame, bounds):
    return [frame[start:end] for start, end in pairwise([0, *sorted(bounds), len(frame)])]


def frame_of(parts):
    """Make a DataFrame of these partitions, of unknown divisions."""
    return dd.from_delayed([dask.delayed(part) for part in parts], meta=parts[0], verify_meta=False)


def array_of(parts):
    """Make an Array of these blocks of rows, of unknown length."""
    shape = (np.nan, parts[0].shape[1])
    blocks = [da.from_delayed(dask.delayed(part), shape, dtype=float) for part in parts]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def assert_same(model, whole):
    labels = np.asarray(model.transduction_.compute())
    np.testing.assert_array_equal(labels, whole.transduction_)
    np.testing.assert_array_equal(model.weights_, whole.weights_)
    assert (model.solution_.eta, model.solution_.bound) == (
        whole.solution_.eta,
        whole.solution_.bound,
    )


ENSEMBLES = {
    "default": None,
    "forest": RandomForestClassifier(15, random_state=0),
    "many words": ExtraTreesClassifier(70, max_depth=2, random_state=0),
    "logistic": LogisticRegression(),
}


@pytest.mark.parametrize("name", ENSEMBLES)
def test_labels_are_those_in_memory_and_in_chunks(name):
    whole = fitted(POPULATION, ENSEMBLES[name])
    plain = fitted(POPULATION.to_numpy(), ENSEMBLES[name], X=PLAIN)
    assert_same(fitted(dd.from_pandas(POPULATION, npartitions=9), ENSEMBLES[name]), whole)
    blocks = da.from_array(POPULATION.to_numpy(), chunks=(170, 2))
    assert_same(fitted(blocks, ENSEMBLES[name], X=PLAIN), plain)
    streamed = fitted(cut(POPULATION, [100, 300]), ENSEMBLES[name])
    np.testing.assert_array_equal(streamed.transduction_, whole.transduction_)


@given(bounds=st.lists(st.integers(0, N), max_size=20), plain=st.booleans())
@settings(max_examples=12, deadline=None)
def test_empty_and_uneven_partitions(bounds, plain):
    parts = cut(POPULATION, bounds)
    if plain:
        population = array_of([part.to_numpy() for part in parts])
        whole = fitted(POPULATION.to_numpy(), X=PLAIN)
    else:
        population, whole = frame_of(parts), fitted(POPULATION)
    model = fitted(population, X=PLAIN if plain else FRAME)
    assert_same(model, whole)
    assert model._rows.population.sizes == tuple(map(len, parts))


def test_a_frame_for_a_model_without_names():
    population = dd.from_pandas(POPULATION, npartitions=4)
    assert_same(fitted(population, X=PLAIN), fitted(POPULATION.to_numpy(), X=PLAIN))


class TestAlignment:
    def test_known_divisions(self):
        moved = POPULATION.set_index(pd.Index(range(5, 5 + N), name="who"))
        population = dd.from_pandas(moved, npartitions=6)
        labels = fitted(population).transduction_
        assert isinstance(labels, dd.Series)
        assert labels.divisions == population.divisions
        assert labels.name == "label"
        computed = labels.compute()
        assert computed.dtype == labels.dtype
        pd.testing.assert_index_equal(computed.index, moved.index)
        aligned = population.assign(label=labels).compute()
        np.testing.assert_array_equal(aligned["label"], fitted(POPULATION).transduction_)

    def test_unknown_divisions(self, tmp_path):
        for k, part in enumerate(cut(POPULATION.assign(who="x"), [50, 50, 400])):
            part.to_parquet(tmp_path / f"{k}.parquet")
        population = dd.read_parquet(tmp_path)
        model = fitted(population)
        assert not model.transduction_.known_divisions
        aligned = population.assign(label=model.transduction_).compute()
        np.testing.assert_array_equal(aligned["label"], fitted(POPULATION).transduction_)
        np.testing.assert_array_equal(aligned[NAMES], POPULATION)

    def test_chunks(self):
        blocks = da.from_array(POPULATION.to_numpy(), chunks=((200, 0, 400), (3, 2)))
        labels = fitted(blocks, X=PLAIN).transduction_
        assert isinstance(labels, da.Array)
        assert labels.chunks == ((200, 0, 400),)
        assert labels.dtype == labels.compute().dtype == Y.dtype
        unknown = fitted(array_of(cut(POPULATION.to_numpy(), [7])), X=PLAIN).transduction_
        assert np.isnan(unknown.chunks).all()

    @pytest.mark.parametrize("y", [Y == "yes", (Y == "yes") * 3, Y.astype(object)])
    def test_any_type_of_label(self, y):
        model = C2RFClassifier(n_estimators=5, random_state=0, pos_label=max(y))
        population = dd.from_pandas(POPULATION, npartitions=3)
        labels = model.fit(FRAME, y, X_unlabeled=population, n_positive=0.4).transduction_
        assert labels.dtype == labels.compute().dtype
        whole = model.fit(FRAME, y, X_unlabeled=POPULATION, n_positive=0.4).transduction_
        np.testing.assert_array_equal(labels.compute(), whole)


class TestTypes:
    def test_numbers_of_different_types(self):
        exact = POPULATION.round(0)
        parts = cut(exact, [200, 400])
        mixed = [parts[0].astype(int), parts[1].astype(np.float32), parts[2].astype("Float64")]
        assert_same(fitted(frame_of(mixed)), fitted(exact))

    def test_files_of_different_types(self, tmp_path):
        exact = POPULATION.round(0)
        first, second = cut(exact, [250])
        first.to_parquet(tmp_path / "0.parquet")
        second.astype(np.int32).to_parquet(tmp_path / "1.parquet")
        assert_same(fitted(dd.read_parquet(tmp_path)), fitted(exact))

    def test_categories_differ_from_partition_to_partition(self):
        def with_town(frame):
            town = np.select([frame["x0"] > 1, frame["x0"] > 0], ["Ulm", "Bonn"], "Köln")
            return frame.assign(town=town)

        encode = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
        pipeline = make_pipeline(encode, LogisticRegression())
        population = with_town(POPULATION).sort_values("x0", ignore_index=True)
        parts = [part.astype({"town": "category"}) for part in cut(population, [200, 350])]
        assert len({tuple(part["town"].cat.categories) for part in parts}) > 1
        whole = fitted(population, pipeline, X=with_town(FRAME))
        assert_same(fitted(frame_of(parts), pipeline, X=with_town(FRAME)), whole)
        parts[1] = parts[1].assign(x3="many")
        with pytest.raises(InputError, match=r"\(partition 1\): could not convert .* 'many'"):
            fitted(frame_of(parts), pipeline, X=with_town(FRAME))

    def test_numbers_here_and_text_there(self):
        pick = make_column_transformer(("passthrough", ["x0", "x1"]))
        pipeline = make_pipeline(pick, LogisticRegression())
        parts = cut(POPULATION, range(50, 600, 50))
        parts[9] = parts[9].assign(x3="many")
        with pytest.raises(InputError, match=r"'x3' .* numbers in .*partition 8.*partition 9"):
            fitted(frame_of(parts), pipeline)


def test_patterns_are_those_of_a_table_in_memory():
    model = fitted(dd.from_pandas(POPULATION, npartitions=30))
    table = c2rf.PatternTable.from_votes(model.votes(POPULATION))
    np.testing.assert_array_equal(model.patterns_.words, table.words)
    np.testing.assert_array_equal(model.patterns_.counts, table.counts)
    c2rf.verify(model.patterns_, KNOWN, model.solution_)


def test_labels_come_part_by_part_too():
    population = dd.from_pandas(POPULATION.assign(other=1), npartitions=5)
    model = fitted(population)
    labels = np.concatenate([chunk.labels for chunk in model.label_chunks()])
    np.testing.assert_array_equal(labels, model.transduction_.compute())


def test_copies_forget_the_population():
    model = fitted(dd.from_pandas(POPULATION, npartitions=2))
    copied = pickle.loads(pickle.dumps(model))
    assert not hasattr(copied, "transduction_")
    np.testing.assert_array_equal(copied.predict(POPULATION), model.transduction_.compute())


def test_jobs_stay_outside_of_workers(monkeypatch):
    asked = []
    words = c2rf.forest.ensembles.Ensemble.words
    monkeypatch.setattr(
        c2rf.forest.ensembles.Ensemble,
        "words",
        lambda self, X, n_jobs=None: asked.append(n_jobs) or words(self, X, n_jobs),
    )
    model = fitted(dd.from_pandas(POPULATION, npartitions=3), n_jobs=2)
    model.transduction_.compute()
    assert asked == [1] * 6
    assert model.n_jobs == 2


def test_import_leaves_dask_alone():
    code = "import sys, c2rf; assert not {'dask', 'distributed'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_is_dask():
    assert is_dask(da.zeros(3))
    assert not any(map(is_dask, (PLAIN, FRAME, None, "dask", [FRAME])))


class TestRefused:
    def test_missing_values_in_a_partition(self):
        parts = cut(POPULATION, [100, 200])
        parts[1] = parts[1].mask(parts[1] > 1)
        assert len(fitted(frame_of(parts)).transduction_.compute()) == N  # trees take them
        with pytest.raises(InputError, match=r"\(partition 1\) has missing values .* 'x0'"):
            fitted(frame_of(parts), LogisticRegression())
        with pytest.raises(InputError, match=r"\(partition 1\) has missing values .* 0, 1"):
            fitted(array_of([part.to_numpy() for part in parts]), LogisticRegression(), X=PLAIN)

    def test_infinite_values_and_text(self):
        parts = cut(POPULATION, [100])
        with pytest.raises(InputError, match=r"\(partition 1\) has infinite values .* 'x4'"):
            fitted(frame_of([parts[0], parts[1].assign(x4=np.inf)]))
        with pytest.raises(InputError, match=r"\(partition 1\) must hold numbers; .* 'x4'"):
            fitted(frame_of([parts[0], parts[1].assign(x4="a")]))

    def test_other_columns(self):
        parts = cut(POPULATION, [100])
        with pytest.raises(InputError, match="X_unlabeled lacks columns of X: 'x3'; it has 'x0'"):
            fitted(frame_of([part.drop(columns="x3") for part in parts]))
        with pytest.raises(InputError, match=r"X_unlabeled \(partition 1\) must be .* 'x3'"):
            fitted(frame_of([parts[0], parts[1].drop(columns="x3")]))
        with pytest.raises(InputError, match=r"\(partition 0\) must have the 5 columns of X"):
            fitted(da.ones((10, 4)), X=PLAIN)

    def test_other_columns_where_some_are_chosen(self):
        parts = cut(POPULATION.assign(other=1), [100])
        with pytest.raises(InputError, match=r"partition 1 cannot be read: .*x3"):
            fitted(frame_of([parts[0], parts[1].drop(columns="x3")]))

    def test_a_file_that_cannot_be_read(self, tmp_path):
        for k, part in enumerate(cut(POPULATION, [100, 200])):
            part.to_parquet(tmp_path / f"{k}.parquet")
        population = dd.read_parquet(tmp_path)
        path = tmp_path / "1.parquet"
        content = path.read_bytes()
        path.write_bytes(content[:4] + b"?" * (len(content) // 2) + content[len(content) // 2 :])
        with pytest.raises(InputError, match=r"partition 1 cannot be read: "):
            fitted(population)

    def test_no_rows(self):
        for empty in (frame_of([POPULATION[:0]] * 3), da.ones((0, 5))):
            with pytest.raises(InputError, match="has no rows"):
                fitted(empty, X=FRAME if isinstance(empty, dd.DataFrame) else PLAIN)

    def test_too_large_a_total(self):
        with pytest.raises(InputError, match="n_positive must be a count from 0 to 600"):
            fitted(dd.from_pandas(POPULATION, npartitions=2), n_positive=601)

    def test_collections_that_are_no_tables(self):
        for other, name in ((da.ones(5), "Array"), (frame_of([POPULATION])["x0"], "Series")):
            with pytest.raises(InputTypeError, match=f"a Dask DataFrame or .* found a Dask {name}"):
                fitted(other)

    def test_a_population_that_changes(self):
        versions = [POPULATION[:100], POPULATION[:90]]

        def changing():
            return versions.pop(0)

        part = dask.delayed(changing, pure=False)()
        model = fitted(dd.from_delayed([part], meta=POPULATION, verify_meta=False), n_positive=0.5)
        with pytest.raises(InputError, match=r"partition 0 .* had 100 rows .* has 90 now"):
            model.transduction_.compute()


class TestCluster:
    def test_threads(self):
        with dask.config.set(scheduler="threads"):
            assert_same(fitted(dd.from_pandas(POPULATION, npartitions=7)), fitted(POPULATION))

    def test_a_client_in_this_process(self):
        whole = fitted(POPULATION)
        options = {"processes": False, "n_workers": 1, "dashboard_address": ":0"}
        with (
            dask.config.set(scheduler=None),
            distributed.Client(**options, set_as_default=True) as client,
        ):
            model = fitted(dd.from_pandas(POPULATION, npartitions=7))
            assert_same(model, whole)
            parts = cut(POPULATION, [100])
            with pytest.raises(InputError, match=r"\(partition 1\) has infinite values"):
                fitted(frame_of([parts[0], parts[1].assign(x4=np.inf)]))
            client.cluster.close()

    def test_a_worker_that_is_killed(self, tmp_path):
        whole = fitted(POPULATION)
        patience = {"distributed.comm.timeouts.connect": "120s", "scheduler": None}
        with (
            dask.config.set(patience),
            # Another worker takes over: a nanny that restarts a killed one can hang.
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=60
            ) as cluster,
            distributed.Client(cluster),
        ):
            population = dd.from_pandas(POPULATION, npartitions=12).map_partitions(
                dies_once, tmp_path / "died", meta=POPULATION[:0]
            )
            model = fitted(population)
            assert (tmp_path / "died").exists()
            assert_same(model, whole)

    def test_a_scheduler_that_is_silent(self):
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
            with (
                pytest.raises(ClusterError, match=f"{address} does not answer within"),
                connected(address, seconds=0.5),
            ):
                pass

    @pytest.mark.parametrize("address", ["nonsense", "tcp://", "http://x:1"])
    def test_an_address_that_is_none(self, address):
        with pytest.raises(ClusterError, match="does not answer"), connected(address, seconds=0.5):
            pass

    def test_a_scheduler_without_workers(self):
        options = {"processes": False, "n_workers": 0, "dashboard_address": ":0"}
        with (
            distributed.LocalCluster(**options) as cluster,
            pytest.raises(ClusterError, match="has no workers, and none came within"),
            connected(cluster.scheduler_address, seconds=2),  # enough to be answered
        ):
            pass

    def test_a_cluster_that_is_lost(self):
        population = DaskRows(da.ones((4, 2), chunks=2))
        lost = distributed.client.FutureCancelledError("sum", "scheduler-connection-lost")

        def fails(chunk):
            raise lost

        with pytest.raises(ClusterError, match=r"was lost during the work: .*connection-lost"):
            population.reduce(fails, sum)

    def test_dask_is_not_there(self, monkeypatch):
        monkeypatch.setattr(cluster_rows, "find_spec", lambda name: None)
        with pytest.raises(InputError, match=r'pip install "c2rf\[dask\]"'), connected(None):
            pass


def dies_once(frame: pd.DataFrame, mark: Path, partition_info=None) -> pd.DataFrame:
    """Kill the process that computes the sixth partition, the first time."""
    if partition_info is not None and partition_info["number"] == 5 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return frame
