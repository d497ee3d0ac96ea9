"""Dask collections as populations: the same results as in memory; errors name partitions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from c2rf.data.population.dask import DaskRows, read_parquet
from c2rf.exceptions import InputError, InputTypeError

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

ROWS = np.arange(40.0).reshape(20, 2)
FRAME = pd.DataFrame(ROWS, columns=["a", "b"])


@pytest.fixture(params=["array", "frame"])
def rows(request):
    if request.param == "array":
        return DaskRows(da.from_array(ROWS, chunks=(6, 1)))
    return DaskRows(dd.from_pandas(FRAME, npartitions=11))


def test_reduced_in_order_with_aligned_arrays(rows):
    np.testing.assert_array_equal(rows.reduce(lambda chunk: chunk.data, np.concatenate), ROWS)
    assert (rows.n_rows, sum(rows.sizes)) == (20, 20)
    total = rows.reduce(lambda chunk, x: chunk.data[:, 0] @ x, sum, aligned=[ROWS[:, 1]])
    assert total == ROWS[:, 0] @ ROWS[:, 1]


def test_blocks_do_not_end_where_partitions_do(rows):
    blocks = list(rows.blocks(np.asarray, 7))
    assert sum(map(len, blocks)) == 20
    np.testing.assert_array_equal(np.concatenate(blocks), ROWS)


def test_values_are_aligned_with_the_collection(rows):
    np.testing.assert_array_equal(np.asarray(rows.aligned(ROWS[:, 1]).compute()), ROWS[:, 1])
    codes = rows.map(lambda chunk: (chunk.data[:, 0] > 9).astype(int), np.zeros(1, int))
    names = rows.look_up(np.array(["low", "high"]), codes).compute()
    assert list(names) == ["low"] * 5 + ["high"] * 15


def test_a_partition_that_fails_is_named():
    def fail(frame):
        raise OSError("the disk is gone")

    broken = dd.from_pandas(FRAME, npartitions=2).map_partitions(fail, meta=FRAME[:0])
    with pytest.raises(InputError, match="partition 0 cannot be read: the disk is gone"):
        DaskRows(broken).counted()


def test_parquet_files_are_partitions_of_a_common_type(tmp_path):
    pd.DataFrame({"n": [1, 2, 3]}).to_parquet(tmp_path / "0.parquet", row_group_size=1)
    pd.DataFrame({"n": [1.5]}).to_parquet(tmp_path / "1.parquet")
    frame = read_parquet(tmp_path, most_rows=2)
    assert frame.npartitions == 3
    assert frame["n"].compute().tolist() == [1, 2, 3, 1.5]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x.csv").write_text("n\n1\n")
    with pytest.raises(InputError, match="must be a Parquet file or a folder of them"):
        read_parquet(tmp_path / "other")


def test_what_has_no_rows_and_columns_is_refused():
    with pytest.raises(InputTypeError, match="a Dask DataFrame or a 2-D Dask Array"):
        DaskRows(da.ones(3))
