"""JSON lines: an object on each line, its keys are the columns."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from c2rf.data.cells import TypedCells
from c2rf.data.dialect import ReadAs, compression, opened, read_blocks
from c2rf.data.formats import ReadTable, naming_source
from c2rf.exceptions import InputError


def read(path: Path, how: ReadAs) -> ReadTable:
    """Read a file; a key that a line lacks is an empty cell."""
    rows, cells = list(_rows(path, how)), TypedCells(path, how)
    frame = cells.table(_columns(rows, _keys(rows, path)))
    return ReadTable(frame, f"JSON lines{cells.note}")


def names(path: Path, how: ReadAs) -> list[str]:
    """Return the keys of all lines, in the order in which they are first met."""
    return _keys(_rows(path, how), path)


def chunks(
    path: Path, how: ReadAs, columns: Sequence[str], n_rows: int
) -> Iterator[tuple[pd.DataFrame, str]]:
    """Yield some columns of at most so many rows at a time, and where they are from."""
    cells, start, lines = TypedCells(path, how), 1, _rows(path, how)
    while rows := list(islice(lines, n_rows)):
        yield cells.table(_columns(rows, columns), start), f"{path}, from data row {start}"
        start += len(rows)


def _rows(path: Path, how: ReadAs) -> Iterator[dict[str, Any]]:
    encoding = how.encoding or "utf-8-sig"
    if compression(path) is not None:
        for _ in read_blocks(path):  # one line may be all of it
            pass
    with naming_source(path), opened(path) as file, io.TextIOWrapper(file, encoding) as text:
        for number, line in enumerate(text, 1):
            if line.strip():
                yield _row(line, f"{path}, line {number}")


def _keys(rows: Iterable[dict[str, Any]], path: Path) -> list[str]:
    found = list(dict.fromkeys(name for row in rows for name in row))
    if not found:
        raise InputError(f"{path} is empty or has no rows")
    return found


def _columns(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> dict[str, list[Any]]:
    return {name: [row.get(name) for row in rows] for name in names}


def _row(line: str, where: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
        if "\\u" in line:
            str(row).encode()  # half of a character
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is not JSON: {error}") from error
    if not isinstance(row, dict):
        raise InputError(f'{where} must be an object like {{"age": 41}}; found {line[:40]!r}')
    for name, value in row.items():
        if isinstance(value, (list, dict)):
            raise InputError(
                f"{where}: cells must hold numbers, text, true or false; {name!r} holds a list or "
                "an object: remove it, or make columns of what it holds"
            )
    return row
