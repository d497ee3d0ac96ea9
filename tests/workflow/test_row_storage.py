"""Where the rows are kept, and who computes there."""

from __future__ import annotations

import pytest

from c2rf.exceptions import InputError
from c2rf.workflow.prepare import at_scheduler, find_rows

dask = pytest.importorskip("dask")


def test_jobs_are_threads_of_dask():
    before = dask.config.get("num_workers", None)
    with at_scheduler(None, "dask", 3):
        assert dask.config.get("num_workers") == 3
    with at_scheduler(None, "dask", -1):
        assert dask.config.get("num_workers") >= 1
    assert dask.config.get("num_workers", None) == before


def test_a_scheduler_without_dask():
    with (
        pytest.raises(InputError, match='scheduler is an option of engine="dask"'),
        at_scheduler("tcp://127.0.0.1:9", "chunks"),
    ):
        pass


def test_an_engine_that_is_not_possible():
    with pytest.raises(InputError, match="engine='dask' is not possible for a list"):
        find_rows([[1.0, 2.0]], "dask")
