"""What differs on Windows, simulated; names and locks of outputs are in data/test_atomic.py."""

from __future__ import annotations

import importlib.util
import multiprocessing
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import c2rf
from c2rf._utils.interrupts import own_group
from c2rf.data.cells import as_numbers


def imported_again(monkeypatch, name):
    """A module as it is when it is imported under what was changed."""
    path = Path(c2rf.__file__).parent / name
    spec = importlib.util.spec_from_file_location("again", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "again", module)
    spec.loader.exec_module(module)
    return module


def test_processes_are_in_a_group_that_ctrl_c_does_not_reach(monkeypatch):
    monkeypatch.setattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0x200, raising=False)
    assert own_group()["creationflags"] == 0x200


def test_the_bench_starts_processes_where_nothing_forks(monkeypatch):
    kinds, made = multiprocessing.get_context, []

    def get_context(method=None):
        made.append(method)
        return kinds("spawn")

    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    monkeypatch.setattr(multiprocessing, "get_context", get_context)
    assert not imported_again(monkeypatch, "bench/run.py")._CAN_FORK
    assert made == ["spawn"]


def test_the_server_ends_by_the_signals_that_there_are(monkeypatch):
    monkeypatch.delattr(signal, "SIGHUP", raising=False)
    monkeypatch.setattr(signal, "SIGBREAK", 21, raising=False)
    ends = imported_again(monkeypatch, "app/server.py").ENDS
    assert ends == [signal.SIGINT, signal.SIGTERM, 21]


def test_moments_with_a_zone_where_arrow_knows_none(monkeypatch):
    pa = pytest.importorskip("pyarrow")

    def unknown(*given, **named):
        raise pa.ArrowInvalid("Cannot locate timezone 'Asia/Tokyo'")

    monkeypatch.setattr("pyarrow.compute.local_timestamp", unknown)
    kind = pa.timestamp("s", "Asia/Tokyo")
    column = pd.Series(pa.array([0, None], kind), dtype=pd.ArrowDtype(kind))
    np.testing.assert_allclose(as_numbers(column), [9 / 24, np.nan])


def test_a_console_of_few_characters(monkeypatch, tmp_path):
    """The message has a character that the console lacks; nothing fails."""
    path = tmp_path / "\u20ac \u0436.csv"
    done = subprocess.run(
        [sys.executable, "-m", "c2rf", "predict", str(path), str(path), "--out", "x.csv"],
        env={"PYTHONIOENCODING": "cp1252:strict", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert b"\\u0436.csv: there is no such file" in done.stderr
