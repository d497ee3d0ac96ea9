"""The same labels, bit for bit, wherever the rows are: seven places in one run."""

from __future__ import annotations

import shutil
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from c2rf import KnownTotalsClassifier
from c2rf.assignment.passes import FEW

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")
duckdb = pytest.importorskip("duckdb")
pytestmark = pytest.mark.filterwarnings("ignore")  # of versions, and of what py4j leaves open

RNG = np.random.default_rng(4)
N = FEW + 5000  # so many that rows far from the boundaries are set apart
ASKED = pd.DataFrame(RNG.normal(size=(100, 3)).round(1), columns=list("abc"))
PEOPLE = pd.DataFrame(RNG.normal(size=(N, 3)).round(1), columns=list("abc")).assign(  # ties
    region=np.array(["n", "s"])[RNG.integers(0, 2, N)],
    sex=np.array(["f", "m"])[RNG.integers(0, 2, N)],
    people=RNG.integers(1, 4, N),
    id=np.arange(N) * 3,
)
CASES = {  # classes, grouping columns, weights
    "two": (2, [], False),
    "groups": (3, ["region"], False),
    "crossing": (3, ["region", "sex"], False),
    "weights": (2, [], True),
}
ENDS = [0, 5, 50_000, N]


def fitted(case, rows, **options):
    n_classes, groups, is_weighted = CASES[case]
    scores = ASKED["a"] + np.random.default_rng(0).normal(size=100)
    y = np.digitize(scores, [0.0] if n_classes == 2 else [-0.5, 0.5])
    each = PEOPLE["people"] if is_weighted else pd.Series(np.ones(N, dtype=int))
    known = [
        [
            {name: group, "class": label, "total": (n // 4 - 3, n // 4 + 3)}
            for group, n in each.groupby(PEOPLE[name]).sum().items()
            for label in range(1, n_classes)
        ]
        for name in groups
    ]
    model = KnownTotalsClassifier(LogisticRegression(), random_state=0)
    return model.fit(
        ASKED, y, X_unlabeled=rows, totals=known or {1: int(each.sum()) // 4},
        unlabeled_weight="people" if is_weighted else None, **options,
    )  # fmt: skip


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """The rows in seven places; those without an order are mixed."""
    folder, mixed = tmp_path_factory.mktemp("people"), PEOPLE.sample(frac=1, random_state=0)
    parts = [PEOPLE[start:end] for start, end in pairwise(ENDS)]
    for name in ("csv", "parquet"):
        (folder / name).mkdir()
        for k, part in enumerate(parts):
            getattr(part, f"to_{name}")(folder / name / f"{k}.{name}", index=False)
    yield {
        "csv": (folder / "csv", {}),
        "parquet": (folder / "parquet", {}),
        "dask": (dd.from_delayed([dask.delayed(part) for part in parts], meta=parts[0]), {}),
        "duckdb": (duckdb.sql("SELECT * FROM mixed"), {"unlabeled_id": "id"}),
    }
    del mixed


@pytest.fixture(scope="module")
def workers():
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(**options, silence_logs=60) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def spark():
    pytest.importorskip("pyspark")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, which is not here")
    from c2rf.data.population.spark import start_session

    session = start_session("local[2,3]")
    session.conf.set("spark.sql.shuffle.partitions", "3")
    frame = session.createDataFrame(PEOPLE.sample(frac=1, random_state=0)).repartition(3)
    yield frame.persist(), {"unlabeled_id": "id"}
    session.stop()


@pytest.mark.parametrize("case", CASES)
def test_labels_are_the_same_in_seven_places(case, places, workers, spark):
    _, groups, is_weighted = CASES[case]
    expected = fitted(case, PEOPLE[["a", "b", "c", *groups, *["people"] * is_weighted]])
    found = {}
    for place, (rows, options) in places.items():
        found[place] = fitted(case, rows, **options)
    with workers.as_current():
        found["dask processes"] = fitted(case, places["dask"][0])
        labels = {place: np.asarray(model.transduction_) for place, model in found.items()}
    found["spark"] = fitted(case, spark[0], **spark[1])
    labels["spark"] = np.asarray(found["spark"].transduction_)
    for place, model in found.items():
        np.testing.assert_array_equal(labels[place], expected.transduction_, err_msg=place)
        np.testing.assert_array_equal(model.offsets_, expected.offsets_, err_msg=place)
        assert model.assignment_["gap"] == expected.assignment_["gap"], place
    assert len(found) == 6
