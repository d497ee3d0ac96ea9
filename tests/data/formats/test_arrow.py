"""Parquet and Arrow files: types are kept, and cast to those of all files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from c2rf.data.dialect import AS_FOUND
from c2rf.data.formats import arrow, read_file
from c2rf.data.population.files import find_files
from c2rf.exceptions import InputError


def write(path, **columns):
    parquet.write_table(pa.table(columns), path, row_group_size=2)
    return path


@pytest.fixture
def two(tmp_path):
    first = write(tmp_path / "0.parquet", n=[1, 2, 3], t=["a", "b", None])
    return first, write(tmp_path / "1.parquet", t=["c"], n=[1.5])


def test_a_common_schema_holds_the_numbers_of_all_files(two):
    schema = arrow.common_schema(two)
    assert str(schema.field("n").type) == "double"
    chunks = [table for path in two for table, _ in arrow.chunks(path, AS_FOUND, ["n"], 9, schema)]
    assert [table["n"].tolist() for table in chunks] == [[1, 2], [3], [1.5]]
    assert {str(table["n"].dtype) for table in chunks} == {"double[pyarrow]"}


def test_files_whose_types_do_not_go_together(two, tmp_path):
    other = write(tmp_path / "2.parquet", n=["x"], t=["c"])
    with pytest.raises(InputError, match="Field n has incompatible types: double vs string"):
        arrow.common_schema([*two, other])


def test_row_groups_are_read_together_up_to_a_number_of_rows(two):
    found = list(arrow.row_groups(two, 2))
    assert [(path.name, groups) for path, groups, _ in found] == [
        ("0.parquet", (0,)),
        ("0.parquet", (1,)),
        ("1.parquet", (0,)),
    ]
    assert [groups for _, groups, _ in arrow.row_groups(two, 3)] == [(0, 1), (0,)]
    whole = arrow.read_row_groups(
        next(arrow.row_groups(two, 3)), arrow.common_schema(two), ["t", "n"]
    )
    assert list(whole) == ["t", "n"]
    assert whole["n"].tolist() == [1, 2, 3]
    assert arrow.n_rows(two[0]) == 3


def test_columns_that_hold_lists_are_refused(tmp_path):
    path = write(tmp_path / "x.parquet", n=[1], many=[[1, 2]])
    with pytest.raises(InputError, match="found 'many' of type list"):
        read_file(path)


def test_an_index_without_a_name_is_no_column(tmp_path):
    pd.DataFrame({"a": [1, 2]}, index=[5, 6]).to_parquet(tmp_path / "x.parquet")
    assert list(read_file(tmp_path / "x.parquet").frame) == ["a"]


@pytest.mark.parametrize("kind", ["text", "category"])
def test_places_that_lead_out_of_the_memory_are_refused(tmp_path, kind):
    cells = pa.array(["a", "b"])
    if kind == "category":
        cells = pa.DictionaryArray.from_arrays(pa.array([1, 2], pa.int32()), pa.array([*"abc"]))
    path = tmp_path / "x.arrow"
    feather.write_feather(pa.table({"n": [7, 8], "t": cells}), path, compression="uncompressed")
    good, bad = (np.array([1, last], dtype=np.int32).tobytes() for last in (2, 1 << 20))
    content = path.read_bytes()
    assert good in content
    path.write_bytes(content.replace(good, bad))
    with pytest.raises(InputError, match="cannot be read"):
        read_file(path)
    with pytest.raises(InputError, match="cannot be read"):
        list(find_files([path]).read(["n", "t"]))
