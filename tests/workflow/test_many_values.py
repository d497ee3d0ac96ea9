"""Text of hundreds of values: labels are the same wherever rows are, and its bias is seen."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import c2rf
from c2rf.workflow.model_file import StoredModel, predict_rows

KNOWN = {"target": "votes", "id": "nr", "totals": {"left": 700}, "learner": "logistic"}


@pytest.fixture(scope="module")
def tables():
    """300 places, some of them cities, where many vote left; most of the sample is from cities."""
    rng = np.random.default_rng(0)
    sizes = 1 / np.arange(1, 301)
    place = rng.choice(300, 1800, p=sizes / sizes.sum())
    city, left = place < 20, rng.normal(size=300)
    people = pd.DataFrame({"plz": [f"{k:05}" for k in 997 + 7 * place], "nr": np.arange(1800)})
    people["born"] = (np.datetime64("1950-01-01") + rng.integers(0, 9999, 1800)).astype(str)
    chance = 1 / (1 + np.exp(-left[place] - 2 * city + 1))
    people["votes"] = np.where(rng.random(1800) < chance, "left", "right")
    drawn = rng.choice(
        1800, 300, replace=False, p=np.where(city, 4, 1) / np.where(city, 4, 1).sum()
    )
    rest = people.drop(index=drawn)
    return people.loc[drawn], rest.drop(columns="votes"), rest["votes"].to_numpy(), city


@pytest.fixture(scope="module")
def result(tables):
    return c2rf.classify(*tables[:2], **KNOWN)


def test_labels_are_the_same_wherever_rows_are(tables, result, tmp_path):
    labeled, unlabeled, _, _ = tables
    expected = result.labels["label"].tolist()
    labeled.to_csv(tmp_path / "labeled.csv", index=False)
    for name, write in (("csv", "to_csv"), ("parquet", "to_parquet")):
        folder = tmp_path / name
        folder.mkdir()
        for part, k in enumerate((0, 700)):
            rows = unlabeled[k : 700 if k == 0 else None]
            getattr(rows, write)(folder / f"{part}.{name}", index=False)
        for engine in ("chunks", *(["dask"] if name == "parquet" else [])):
            found = c2rf.classify(tmp_path / "labeled.csv", folder, engine=engine, **KNOWN)
            assert pd.concat(found.predictions)["label"].tolist() == expected


def test_places_tell_more_than_their_rank(tables, result):
    truth = tables[2]
    right = (result.labels["label"] == truth).mean()
    codes = c2rf.classify(
        *(table.assign(plz=table["plz"].astype(int)) for table in tables[:2]), **KNOWN
    )
    assert right > (codes.labels["label"] == truth).mean() + 0.03


def test_the_report_sees_that_the_sample_is_from_cities(tables, result):
    labeled, unlabeled, _, _ = tables
    entries = {e.column: e for e in result.balance.itertuples() if e.column.startswith("plz")}
    (worst,) = (entry for name, entry in entries.items() if "most frequent of" in name)
    counts = unlabeled["plz"].value_counts()
    known = counts[counts.index.isin(set(labeled["plz"]))].sort_index()
    known = known.sort_values(ascending=False, kind="stable")
    half = known.index[: 1 + int((known.cumsum() < known.sum() / 2).sum())]
    assert worst.population == pytest.approx(unlabeled["plz"].isin(half).mean())
    assert worst.labeled == pytest.approx(labeled["plz"].isin(half).mean())
    assert worst.before > 0.25
    new = entries["plz: a value that no labeled row has"]
    assert new.labeled == 0
    assert new.population == pytest.approx(1 - unlabeled["plz"].isin(labeled["plz"]).mean())
    first = entries["plz: 00997"]
    assert first.population == pytest.approx((unlabeled["plz"] == "00997").mean())
    assert "column plz" in result.summary()


def test_a_model_in_a_file_labels_rows_with_new_values(tables, result, tmp_path):
    unlabeled = tables[1]
    result.save_model(tmp_path / "m.skops")
    model = StoredModel.read(tmp_path / "m.skops")
    rows = unlabeled[:3].assign(plz=["00997", "99999", ""])
    found = pd.concat(predict_rows(model, rows, id="nr"))
    np.testing.assert_array_equal(model.encoder.encode(rows), result.data.encoder.encode(rows))
    assert found["label"].isin(["left", "right"]).all()
