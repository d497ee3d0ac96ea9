"""A DataFrame of Spark: the labels of the frame sorted by id, bit for bit; on one session."""

from __future__ import annotations

import shutil

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import c2rf
from c2rf.data.population import as_population, interface
from c2rf.data.population import spark as spark_rows
from c2rf.exceptions import ClusterError, InputError

pytest.importorskip("pyspark")
pytestmark = [
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, which is not here"),
    pytest.mark.filterwarnings("ignore"),  # of versions, and of what py4j leaves open
]

RNG = np.random.default_rng(2)
N = 900
X = pd.DataFrame(RNG.normal(size=(100 + N, 3)).round(1), columns=list("abc"))
LABELED = X[:100].assign(sick=np.digitize(X["a"][:100] + RNG.normal(size=100) / 2, [-0.5, 0.5]))
PEOPLE = (
    X[100:]
    .reset_index(drop=True)
    .assign(
        id=np.arange(N) * 3,
        region=np.array(["n", "s"])[RNG.integers(0, 2, N)],
        sex=np.array(["f", "m"])[RNG.integers(0, 2, N)],
    )
)


@pytest.fixture(scope="module")
def session():
    found = spark_rows.start_session("local[2,3]")
    found.conf.set("spark.sql.shuffle.partitions", "3")
    found.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
    yield found
    found.stop()


@pytest.fixture(scope="module")
def people(session):
    """The rows in another order than that of their ids."""
    return session.createDataFrame(PEOPLE.sample(frac=1, random_state=0)).repartition(4)


def totals(kind):
    known = []
    for name in {"overall": [], "groups": ["region"], "crossing": ["region", "sex"]}[kind]:
        known.append([
            {name: group, "class": label, "total": (round(n / 3) - 4, round(n / 3) + 4)}
            for group, n in PEOPLE.groupby(name).size().items() for label in (1, 2)
        ])  # fmt: skip
    return known or {1: 300, 2: 250}


@pytest.mark.parametrize("kind", ["overall", "groups", "crossing"])
def test_labels_are_those_of_the_frame_sorted_by_id(people, kind, monkeypatch):
    model = c2rf.KnownTotalsClassifier(LogisticRegression(), random_state=0)
    small = {"X": LABELED[["a", "b", "c"]], "y": LABELED["sick"], "totals": totals(kind)}
    grouping = {"overall": [], "groups": ["region"]}.get(kind, ["region", "sex"])
    rows = PEOPLE[["a", "b", "c", *grouping]]
    expected = model.fit(**small, X_unlabeled=rows).transduction_
    floats, offsets = model.transduction_proba_, model.offsets_
    if kind == "groups":  # several spans
        for module in (spark_rows, interface):
            monkeypatch.setattr(module, "SPAN", 512)
    found = model.fit(**small, X_unlabeled=people, unlabeled_id="id")
    np.testing.assert_array_equal(found.transduction_, expected)
    assert isinstance(found.scores_, spark_rows.SparkArray)
    np.testing.assert_allclose(found.transduction_proba_, floats, atol=1e-12)
    np.testing.assert_allclose(found.offsets_, offsets, atol=1e-12)
    np.testing.assert_array_equal(found.scores_[250:270], np.asarray(found.scores_)[250:270])


def test_classify_gives_a_frame_of_spark(people):
    options = {"target": "sick", "totals": {1: 300, 2: 250}, "learner": "logistic", "id": "id"}
    expected = c2rf.classify(LABELED, PEOPLE[["id", *"abc"]], **options).labels
    result = c2rf.classify(LABELED, people.select("id", *"abc"), **options)
    assert result.counts == expected["label"].astype(str).value_counts().to_dict()
    found = result.labels
    for column in result.predictions.added.values():
        assert "_here" not in vars(column)  # nothing came to the driver
    assert found.columns == ["id", "label", "score", "confidence"]
    found = found.toArrow().to_pandas().astype(expected.dtypes)
    pd.testing.assert_frame_equal(found, expected)


def test_rows_are_read_and_cut_into_blocks_by_id(people):
    rows = as_population(people, id="id")
    assert rows.n_rows == N
    tables = [chunk.data for chunk in rows.chunks(["id", "a"])]
    pd.testing.assert_frame_equal(
        pd.concat(tables, ignore_index=True), PEOPLE[["id", "a"]], check_dtype=False
    )
    blocks = list(rows.blocks(lambda rows: rows["a"].to_numpy(float), 128, interface.View(["a"])))
    assert sum(map(len, blocks)) == N
    np.testing.assert_array_equal(np.concatenate(blocks), PEOPLE["a"])
    doubled = rows.reduce(lambda chunk, own: own.sum(), sum, ["a"], aligned=[np.arange(N)])
    assert doubled == N * (N - 1) // 2


def test_a_task_that_fails_twice(people, tmp_path):
    rows = as_population(people, id="id")

    def fails_twice(chunk):
        for number in range(2 if chunk.start == 0 else 0):
            mark = tmp_path / str(number)
            if not mark.exists():
                mark.touch()
                raise OSError("the disk was busy")
        return len(chunk.data)

    assert rows.reduce(fails_twice, sum, ["a"]) == N
    assert len(list(tmp_path.iterdir())) == 2


def refuses(chunk):
    raise InputError("too bad")


def test_bad_input(session, people):
    with pytest.raises(InputError, match="the Spark frame has no row numbers"):
        as_population(people)
    with pytest.raises(InputError, match="no column 'idd'"):
        as_population(people, id="idd")
    with pytest.raises(InputError, match="values of 'region' are there more than once"):
        as_population(people, id="region")
    with pytest.raises(InputError, match="1 rows have no 'k'"):
        as_population(session.sql("SELECT IF(id = 3, NULL, id) AS k FROM range(5)"), id="k")
    with pytest.raises(InputError, match="found 'l' of type list"):
        as_population(session.sql("SELECT id, array(id) AS l FROM range(5)"), id="id")
    with pytest.raises(InputError, match=r"the Spark frame cannot be read: .*DIVIDE_BY_ZERO"):
        as_population(session.sql("SELECT id, 1 / (id - 3) AS x FROM range(5)"), id="id")
    rows = as_population(people, id="id")
    with pytest.raises(InputError, match="too bad"):
        rows.reduce(refuses, sum)


def test_without_java_and_masters_that_are_silent(monkeypatch):
    with pytest.raises(ClusterError, match=r"the master spark://127.0.0.1:9 does not answer"):
        spark_rows.start_session("spark://127.0.0.1:9")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(InputError, match="Java 17 or later"):
        spark_rows.start_session("local[2]")
