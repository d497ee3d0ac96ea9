"""Formats with types in chunks: the same cells as in memory, whatever the size of a chunk."""

from __future__ import annotations

import gzip
import json
import sqlite3
from contextlib import closing

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather

from c2rf import InputError, classify
from c2rf.data.cells import as_numbers, as_text
from c2rf.data.formats import TEXT, find_format, read_file
from c2rf.data.population.files import Files, find_files
from c2rf.workflow.tables import find_rows, is_large

N = 50


def people() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "id": range(N),
            "size": [k / 4 for k in range(N)],
            "town": ["Köln" if k % 3 else None for k in range(N)],
            "late": [None] * 40 + ["1,5", "1.234,5"] * 5,
            "kind": ["ab"[k * k % 7 > 2] for k in range(N)],
        }
    )


def write_lines(path, frame):
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    rows[0].pop("town")  # a key that comes later
    text = "\n".join(json.dumps(row) for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def write_base(path, frame):
    with closing(sqlite3.connect(str(path).partition("::")[0])) as base:
        frame.to_sql("people", base, index=False)
        frame[:3].to_sql("others", base, index=False)


def write_stream(path, frame):
    table = pa.Table.from_pandas(frame, preserve_index=False)
    with pa.ipc.new_stream(path, table.schema) as stream:
        stream.write_table(table, max_chunksize=7)


WRITE = {
    "x.jsonl": write_lines,
    "x.db::people": write_base,
    "x.feather": lambda path, frame: feather.write_feather(frame, str(path), chunksize=11),
    "x.arrow": write_stream,
}


@pytest.mark.parametrize("name", WRITE)
@pytest.mark.parametrize("rows", [1, 7, 100])
def test_chunks_hold_what_the_whole_holds(tmp_path, name, rows):
    path = tmp_path / name
    WRITE[name](path, people())
    whole = read_file(path).frame
    files = Files([path], find_format(path), as_tables=True, rows=rows)
    assert files.names == list(whole)
    wanted = ["late", "size", "town"]
    chunks = [frame for frame, _ in files.read(wanted)]
    assert max(map(len, chunks)) <= rows
    for column in wanted:
        texts = [text for chunk in chunks for text in as_text(chunk[column])]
        assert texts == as_text(whole[column]).tolist()
    if "feather" not in name and "arrow" not in name and rows > 40:  # text is not touched there
        assert as_numbers(chunks[-1]["late"]).iloc[-1] == 1234.5


@pytest.mark.parametrize("name", WRITE)
def test_labels_are_the_same_in_chunks_and_in_memory(tmp_path, name):
    path = tmp_path / name
    WRITE[name](path, people().drop(columns=["kind", "late"]))
    labels = [
        classify(
            people().drop(columns="late").assign(id=range(N, 2 * N)), path, target="kind",
            totals={"a": 30}, id="id", learner="logistic", engine=engine,
        ).labels
        for engine in ("memory", "chunks")
    ]  # fmt: skip
    assert labels[0].astype(str).equals(labels[1].astype(str))
    assert (labels[0]["label"] == "a").sum() == 30


def test_a_packed_text_file_stays_packed(tmp_path):
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(("a;b\n" + "1,5;x\n" * 999).encode()))
    size = path.stat().st_size
    assert is_large(path, 3 * size)  # much larger, once it is unpacked
    assert not is_large(path, 10 * size)
    rows = find_rows(path, "chunks")
    assert isinstance(rows, Files)
    assert rows.kind is TEXT
    assert rows.read_as == "semicolons, decimal comma, UTF-8"
    assert next(iter(rows.read(["a"])))[0]["a"].tolist() == ["1.5"] * 999


def test_what_is_not_read_in_chunks_is_refused(tmp_path):
    path = tmp_path / "x.xlsx"
    people().to_excel(path, index=False)
    with pytest.raises(InputError, match=r"Excel is not read in chunks.*save it as CSV or Parquet"):
        find_rows(path, "chunks")
    with pytest.raises(InputError, match="Excel is not read in chunks"):
        find_files([path])
    assert find_rows(path, "auto").n_rows == N
