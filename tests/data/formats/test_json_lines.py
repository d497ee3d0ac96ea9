"""JSON lines: keys are columns wherever they first occur."""

from __future__ import annotations

import gzip

import pytest

from c2rf.data.dialect import AS_FOUND
from c2rf.data.formats import json_lines, read_file
from c2rf.exceptions import InputError


def test_keys_that_some_lines_lack(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": 1}\n\n{"b": "x", "a": 2.5}\n')
    assert json_lines.names(path, AS_FOUND) == ["a", "b"]
    assert read_file(path).frame.to_dict("list") == {"a": [1, 2.5], "b": ["", "x"]}
    found = list(json_lines.chunks(path, AS_FOUND, ["b"], 1))
    assert [(table["b"].tolist(), where) for table, where in found] == [
        ([""], f"{path}, from data row 1"),
        (["x"], f"{path}, from data row 2"),
    ]


def test_a_compressed_file(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(gzip.compress(b'{"a": 1}\n'))
    assert json_lines.read(path, AS_FOUND).frame["a"].tolist() == [1]


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
