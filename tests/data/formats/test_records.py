"""JSON lines, whose keys are columns wherever they first occur, and SQLite, never changed."""

from __future__ import annotations

import gzip
import signal
import sqlite3
import threading
from contextlib import closing

import pytest

from c2rf.data.dialect import AS_FOUND
from c2rf.data.formats import read_file, records
from c2rf.exceptions import InputError


def test_keys_that_some_lines_lack(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": 1}\n\n{"b": "x", "a": 2.5}\n')
    assert records.names(path, AS_FOUND) == ["a", "b"]
    assert read_file(path).frame.to_dict("list") == {"a": [1, 2.5], "b": ["", "x"]}
    found = list(records.chunks(path, AS_FOUND, ["b"], 1))
    assert [(table["b"].tolist(), where) for table, where in found] == [
        ([""], f"{path}, from data row 1"),
        (["x"], f"{path}, from data row 2"),
    ]


def test_a_compressed_file(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(gzip.compress(b'{"a": 1}\n'))
    assert records.read(path, AS_FOUND).frame["a"].tolist() == [1]


@pytest.mark.parametrize(
    ("line", "said"), [("[1]", "must be an object"), ("{", "line 1 is not JSON"), ("", "is empty")]
)
def test_what_is_no_object(tmp_path, line, said):
    path = tmp_path / "x.jsonl"
    path.write_text(line)
    with pytest.raises(InputError, match=said):
        read_file(path)


def test_whole_numbers_that_no_float_holds(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(f'{{"id": {2**53 + 1}, "n": {2**63}}}\n{{"id": {1 - 2**63}, "n": 1.5}}\n')
    frame = read_file(path).frame
    assert frame["id"].tolist() == [2**53 + 1, 1 - 2**63]
    assert frame["n"].tolist() == [str(2**63), "1.5"]


@pytest.fixture
def base(tmp_path):
    path = tmp_path / "x.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute('create table "odd ""name""" (a, "b c")')
        connection.executemany('insert into "odd ""name""" values (?, ?)', [(1, "x"), (None, "y")])
        connection.execute("create table empty (a)")
        connection.commit()
    return path


def test_names_may_need_quotes(base):
    path = base.with_name('x.db::odd "name"')
    before = base.read_bytes()
    table = read_file(path)
    assert table.frame["b c"].tolist() == ["x", "y"]
    assert table.frame["a"].isna().tolist() == [False, True]
    (first, where), (second, _) = records.chunks(path, AS_FOUND, ["b c"], 1)
    assert (first["b c"].tolist(), second["b c"].tolist()) == (["x"], ["y"])
    assert where == f"{path}, from data row 1"
    assert base.read_bytes() == before


def test_tables_that_are_not_there_or_empty(base):
    with pytest.raises(InputError, match=r"has several tables.*name one, like .*x.db::"):
        read_file(base)
    with pytest.raises(InputError, match=r"has no table 'emty'.*did you mean 'empty'"):
        read_file(base.with_name("x.db::emty"))
    with pytest.raises(InputError, match="has columns but no rows"):
        read_file(base.with_name("x.db::empty"))


def test_ctrl_c_ends_a_view_that_never_ends(tmp_path):
    path = tmp_path / "x.db"
    with closing(sqlite3.connect(path)) as base:
        base.execute(
            "create view v as with recursive c(x) as (select 1 union all select x + 1 from c) "
            "select count(*) as n from c"
        )
        base.commit()
    timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        read_file(path)
    timer.join()
