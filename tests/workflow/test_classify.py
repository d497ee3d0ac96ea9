"""The same answer wherever the rows are: memory, CSV and Parquet parts, Dask threads, a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import c2rf
from c2rf.report import report_content
from c2rf.workflow.model_file import StoredModel, predict_rows
from c2rf.workflow.predictions import score_rows
from c2rf.workflow.result import Classification
from people import make_people

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
pytest.importorskip("pyarrow")


PARTS = [(0, 90), (90, 90), (90, 240)]  # with an empty one
STORAGES = ("csv parts", "parquet", "threads", "processes")
LOGISTIC = {"learner": "logistic"}


@dataclass(frozen=True)
class Case:
    """What is asked, of how many classes."""

    options: dict[str, Any]
    n_classes: int = 2
    by_region: bool = False
    overall: dict[str, Any] = field(default_factory=dict)


CASES = {
    "ties": Case(LOGISTIC, overall={"yes": 100}),
    "blend": Case({}, overall={"yes": 0.4}),
    "a range": Case(LOGISTIC, overall={"yes": (90, 110)}),
    "groups": Case(LOGISTIC, by_region=True),
    "groups and all": Case({"learner": "blend"}, by_region=True, overall={"yes": (100, 110)}),
    "three classes": Case(LOGISTIC, 3, overall={"yes": 70, "maybe": (0.1, 0.3)}),
    "three classes, trees": Case(
        {"learner": "extra-trees"}, 3, overall={"yes": 70, "maybe": 40, "no": 130}
    ),
    "three classes in groups": Case(LOGISTIC, 3, by_region=True),
    "text": Case({"text": ["a"], "drop": ["b"], **LOGISTIC}, overall={"no": 120}),
    "weighted trees": Case({"method": "c2rf", "trees": 6}, overall={"yes": 100}),
    "weighted, negative": Case({"method": "c2rf", "trees": 6}, overall={"no": 0.5}),
}


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    """Where rows are does not depend on the number of trees."""
    monkeypatch.setattr("c2rf.workflow.classify.N_TREES", 20)


@pytest.fixture(scope="module")
def places(tmp_path_factory) -> dict[int, dict[str, Any]]:
    """The same rows of two and of three classes in every kind of place."""
    found = {}
    for n_classes in (2, 3):
        folder = tmp_path_factory.mktemp(f"{n_classes}-classes")
        people = make_people(n_classes=n_classes)
        rows = people.unlabeled.reset_index(drop=True)
        rows.loc[5, "town"], rows.loc[200, "town"] = "Aalen", None
        rows.loc[[7, 150], "a"] = np.nan
        same = [*"abcd", "town"]
        rows.loc[100:159, same] = rows.loc[30, same].tolist()  # who of them is "yes" is drawn
        for kind in ("csv", "parquet"):
            (folder / kind).mkdir()
        for k, (start, end) in enumerate(PARTS):
            part = rows.iloc[start:end]
            part.to_csv(folder / "csv" / f"{k}.csv", index=False)
            part.to_parquet(folder / "parquet" / f"{k}.parquet", row_group_size=37, index=False)
        found[n_classes] = {
            "labeled": people.labeled,
            "memory": rows,
            "csv parts": folder / "csv",
            "parquet": folder / "parquet",
            "threads": folder / "parquet",
            "processes": folder / "parquet",
            "totals": people.totals_by("region"),
        }
    return found


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of a scheduler whose worker is another process; it may be a slow one."""
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        pytest.MonkeyPatch.context() as patch,
        dask.config.set({"distributed.comm.timeouts.connect": "500s"}),
        distributed.LocalCluster(**options, processes=True, silence_logs=60) as cluster,
    ):
        patch.setattr("c2rf.data.population.dask.ANSWER_SECONDS", 500.0)
        yield cluster.scheduler_address


def classified(places: dict[int, dict[str, Any]], case: Case, storage: str, **more: Any) -> Any:
    place = places[case.n_classes]
    totals = [*([case.overall] if case.overall else []), *([place["totals"]] * case.by_region)]
    engine = {"threads": "dask", "processes": "dask", "memory": "memory"}.get(storage, "chunks")
    return c2rf.classify(
        place["labeled"], place[storage], target="sick", totals=totals, id="id", engine=engine,
        **case.options, **more,
    )  # fmt: skip


@pytest.fixture(scope="module")
def expected(places) -> Any:
    """What memory says, asked once for each case."""
    known: dict[str, Any] = {}

    def ask(name: str) -> Any:
        if name not in known:
            known[name] = classified(places, CASES[name], "memory")
        return known[name]

    return ask


def reported(result: Any) -> dict[str, Any]:
    """Return all that a report says, and the numbers that its plots are drawn from."""
    # Times differ; of files, memory knows neither names nor how they were read.
    data = replace(result.data, names=("l", "u"), read_as=(), seconds={})
    same = Classification(data, result.classifier, result.predictions, result.command)
    found = result.predictions
    return {
        "content": report_content(same),
        "rows": same.shown_rows,
        "scores": found.scores[same.shown_rows],
        "confidence": found.confidence[same.shown_rows],
        "counts": same.group_counts,
        "bounds": vars(same.bounds),
        "balance": same.balance,
        "importance": same.importance,
    }


@pytest.fixture
def without_pictures(monkeypatch):
    """Drawing takes longer than labeling; what is drawn is compared as numbers."""
    monkeypatch.setattr("c2rf.report.figures.inline_svg", lambda name, *_: name)


def assert_equal(one: Any, other: Any, where: str = "") -> None:
    """Compare nested values, floats bit for bit."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for name in one:
            assert_equal(one[name], other[name], f"{where} {name}")
    elif isinstance(one, np.ndarray):
        np.testing.assert_array_equal(one, other, where)
    elif isinstance(one, pd.DataFrame):
        pd.testing.assert_frame_equal(one, other, check_exact=True)
    elif hasattr(one, "__dict__"):
        assert_equal(vars(one), vars(other), where)
    else:
        assert one == other, where


@pytest.mark.usefixtures("without_pictures")
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("storage", STORAGES)
def test_labels_scores_report_and_model(places, expected, request, tmp_path, name, storage):
    case, whole = CASES[name], expected(name)
    more = {}
    if storage == "processes":
        more["scheduler"] = request.getfixturevalue("cluster")
    found = classified(places, case, storage, **more)
    pd.testing.assert_frame_equal(found.labels, whole.labels, check_exact=True, check_dtype=False)
    assert found.counts == whole.counts
    assert_equal(reported(found), reported(whole))
    found.save_model(tmp_path / "model.skops")
    model, data = StoredModel.read(tmp_path / "model.skops"), whole.data
    again = predict_rows(model, places[case.n_classes]["memory"], id="id").added
    direct = score_rows(whole.classifier, data.X_unlabeled, data.groups, data.positive)
    for column, other in zip(again.values(), direct, strict=True):
        np.testing.assert_array_equal(column, other)


@pytest.mark.parametrize("name", ["blend", "weighted trees", "groups"])
def test_predictions_of_a_model(places, expected, tmp_path, name):
    """Other rows are labeled the same wherever they are."""
    expected(name).save_model(tmp_path / "model.skops")
    model, place = StoredModel.read(tmp_path / "model.skops"), places[2]
    whole = predict_rows(model, place["memory"], id="id").frame()
    for storage, engine in (("csv parts", "chunks"), ("parquet", "chunks"), ("parquet", "dask")):
        found = predict_rows(model, place[storage], id="id", engine=engine).frame()
        pd.testing.assert_frame_equal(found, whole, check_exact=True, check_dtype=False)


@pytest.mark.parametrize("storage", ["memory", "parquet", "threads"])
def test_a_folder_of_parts(places, expected, tmp_path, storage):
    """A name without an ending is a folder of files, in the order of the rows."""
    found = classified(places, CASES["ties"], storage)
    found.write(tmp_path / "labels")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["labels"]
    written = pd.read_parquet(tmp_path / "labels")
    pd.testing.assert_frame_equal(written, expected("ties").labels, check_dtype=False)
    with pytest.raises(c2rf.InputError, match="exists already"):
        found.write(tmp_path / "labels")


def test_frames_of_dask_and_lazy_ones(places, expected):
    """What is at hand in Python is a population, too."""
    dd = pytest.importorskip("dask.dataframe")
    pl = pytest.importorskip("polars")
    place, whole = places[2], expected("ties").labels
    rows = place["memory"]
    frames = dd.from_pandas(rows, npartitions=3), pl.from_pandas(rows).lazy(), pl.from_pandas(rows)
    for given in frames:
        found = c2rf.classify(
            place["labeled"], given, target="sick", totals={"yes": 100}, id="id", **LOGISTIC
        )
        pd.testing.assert_frame_equal(found.labels, whole, check_dtype=False, check_exact=True)


def test_a_column_that_is_there_twice_is_named(places):
    place = places[2]
    rows = pd.concat([place["memory"], place["memory"][["town"]]], axis=1)
    with pytest.raises(c2rf.InputError, match="more than one 'town': rename or remove"):
        c2rf.classify(place["labeled"], rows, target="sick", totals={"yes": 100}, **LOGISTIC)


@pytest.mark.parametrize("long", [False, True])
def test_tables_of_totals_of_polars(long):
    """They are read as those of pandas are, by a column per class or by a row per total."""
    pl = pytest.importorskip("polars")
    people = pd.DataFrame({"x": np.arange(80.0) % 7, "town": ["Ulm", "Bonn"] * 40})
    labeled = people[:20].assign(sick=np.where(people.x[:20] > 3, "yes", "no"))
    totals = pd.DataFrame({"town": ["Bonn", "Ulm"], "no": [20, 10], "yes": [10, 20]})
    if long:
        totals = totals.melt("town", var_name="class", value_name="total")
    one, other = (
        c2rf.classify(labeled, people[20:], target="sick", totals=each, **LOGISTIC)
        for each in (totals, pl.from_pandas(totals))
    )
    pd.testing.assert_frame_equal(one.labels, other.labels)


def test_large_results_come_in_parts(places, monkeypatch):
    monkeypatch.setattr("c2rf.workflow.result.LARGE_RESULT", 100)
    found = classified(places, CASES["ties"], "parquet")
    parts = list(found.labels)
    assert len(parts) > 1
    assert sum(map(len, parts)) == len(found.labels) == 240
