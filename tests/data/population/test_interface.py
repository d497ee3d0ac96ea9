"""A new kind of storage is one small class: rows of a database, read by the standard library."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import c2rf
from c2rf._utils.types import Columns
from c2rf.data.population.interface import (
    Population,
    Transformed,
    draw_sample,
    filled,
    random_rows,
    row_blocks,
)
from c2rf.data.population.memory import Memory, user_chunks
from people import make_people

LOGISTIC = {"learner": "logistic"}


class DatabaseRows(Population):
    """The rows of a table of a SQLite database, some at a time."""

    def __init__(self, path: Path, table: str, size: int) -> None:
        self.path, self.table, self.size = path, table, size

    def read(self, columns: Columns = None) -> Iterator[tuple[Any, str]]:
        wanted = self.names if columns is None else list(columns)
        listed = ", ".join(f'"{name}"' for name in wanted)
        with sqlite3.connect(self.path) as database:
            found = database.execute(f"SELECT {listed} FROM {self.table} ORDER BY rowid")
            start = 0
            while rows := found.fetchmany(self.size):
                frame = pd.DataFrame(rows, columns=wanted)
                yield frame if columns else frame.to_numpy(), f"{self.table}, from row {start}"
                start += len(rows)
        database.close()

    @property
    def names(self) -> list[str]:
        with sqlite3.connect(self.path) as database:
            found = database.execute(f"SELECT * FROM {self.table} LIMIT 0")
            names = [column[0] for column in found.description]
        database.close()
        return names


@pytest.fixture(scope="module")
def people():
    return make_people()


@pytest.fixture
def database(people, tmp_path) -> DatabaseRows:
    path = tmp_path / "people.db"
    with sqlite3.connect(path) as connection:
        people.unlabeled.to_sql("people", connection, index=False)
    connection.close()
    return DatabaseRows(path, "people", 77)


def test_what_it_has_to_be_able_to_do(database, people):
    rows = people.unlabeled
    assert database.reduce(lambda chunk: len(chunk.data), sum, ["a"]) == len(rows)
    doubled = database.map(lambda chunk: 2 * chunk.data["a"].to_numpy(), np.zeros(1), ["a"])
    np.testing.assert_array_equal(doubled, 2 * rows["a"].to_numpy())
    sample = draw_sample(database, 1000, [0, 4])
    assert len(sample.rows) == len(rows)


@pytest.mark.parametrize("options", [LOGISTIC, {"method": "c2rf", "trees": 5}])
def test_the_labels_are_those_in_memory(database, people, options):
    asked = {"target": "sick", "totals": {"yes": 100}, "id": "id", **options}
    whole = c2rf.classify(people.labeled, people.unlabeled, **asked).labels
    found = c2rf.classify(people.labeled, database, **asked).labels
    pd.testing.assert_frame_equal(found, whole, check_exact=True, check_dtype=False)


def test_classifiers_take_it(database, people):
    numbers = list("abcd")
    model = c2rf.KnownTotalsClassifier(LogisticRegression(), random_state=0)
    fit = {"totals": people.totals_by("region"), "unlabeled_groups": people.unlabeled[["region"]]}
    X, y = people.labeled[numbers], people.labeled["sick"]
    whole = model.fit(X, y, X_unlabeled=people.unlabeled[numbers], **fit).transduction_
    np.testing.assert_array_equal(model.fit(X, y, X_unlabeled=database, **fit).transduction_, whole)


def test_rows_that_change_meanwhile_are_noticed(database):
    database.reduce(lambda chunk: len(chunk.data), sum)
    with sqlite3.connect(database.path) as connection:
        connection.execute("DELETE FROM people WHERE rowid = 1")
    connection.close()
    with pytest.raises(c2rf.InputError, match="had 240 rows when they were counted, but has 239"):
        database.reduce(lambda chunk: len(chunk.data), sum)


ROWS = np.arange(20.0).reshape(10, 2)
CUTS = [[10], [3, 7], [1, 2, 3, 4], [4, 0, 6]]


def cut(sizes):
    ends = np.cumsum(sizes)
    return user_chunks([ROWS[end - size : end] for size, end in zip(sizes, ends, strict=True)])


@pytest.mark.parametrize("sizes", CUTS)
def test_results_do_not_depend_on_the_chunks(sizes):
    rows = cut(sizes)
    np.testing.assert_array_equal(rows.reduce(lambda chunk: chunk.data, np.concatenate), ROWS)
    aligned = rows.reduce(lambda chunk, more: chunk.data[:, 0] @ more, sum, aligned=[ROWS[:, 1]])
    assert aligned == ROWS[:, 0] @ ROWS[:, 1]
    assert [len(block) for block in rows.blocks(np.asarray, 4)] == [4, 4, 2]
    np.testing.assert_array_equal(np.concatenate(list(rows.blocks(np.asarray, 4))), ROWS)
    sample, whole = draw_sample(rows, 4, [7]), draw_sample(Memory(ROWS), 4, [7])
    assert sample.rows.tolist() == whole.rows.tolist() == random_rows(10, 4, [7]).tolist()
    np.testing.assert_array_equal(sample.data, whole.data)
    np.testing.assert_array_equal(sample.data, ROWS[sample.rows])


def test_changed_rows_are_changed_everywhere():
    rows = Transformed(cut([3, 7]), lambda chunk: chunk._replace(data=2 * chunk.data))
    assert rows.reduce(lambda chunk: chunk.data.sum(), sum) == 2 * ROWS.sum()
    doubled = rows.map(lambda chunk: chunk.data[:, 1], np.zeros(1))
    np.testing.assert_array_equal(doubled, 2 * ROWS[:, 1])
    np.testing.assert_array_equal(np.concatenate(list(rows.blocks(np.asarray, 4))), 2 * ROWS)
    assert rows.n_rows == 10


def test_large_arrays_are_in_files(monkeypatch):
    monkeypatch.setattr("c2rf.data.population.interface.LARGE_BYTES", 100)
    table = filled(ROWS.shape, (ROWS[rows] for rows in row_blocks(10, 3)))
    assert isinstance(table, np.memmap)
    np.testing.assert_array_equal(table, ROWS)
    assert not isinstance(filled((2, 2), [ROWS[:2]]), np.memmap)
