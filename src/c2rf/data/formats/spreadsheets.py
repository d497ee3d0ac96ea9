"""Read one sheet of an Excel or OpenDocument workbook, with column names in the first row."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from c2rf._utils.text import all_of, for_user, nearest
from c2rf.data.cells import TypedCells
from c2rf.data.dialect import (
    MORE_BYTES,
    ReadAs,
    check_one_header,
    check_unpacked,
    most_bytes,
    named_columns,
)
from c2rf.data.formats import ReadTable, check_names
from c2rf.exceptions import InputError

_TIMES_THE_FILE = 4  # memory of the cells, for each byte of the unpacked file
_HEADER_CHECK_ROWS = 1000  # rows that are looked at to find a second header line


def read(path: Path, how: ReadAs) -> ReadTable:
    """Read a sheet; numbers that are stored as text are parsed as in CSV files."""
    found = _in_process(path, how.sheet)
    name, others = _choose(found, how.sheet, path)
    rows = found["rows"]
    if not rows:
        raise InputError(f"{path}: the sheet {name!r} is empty")
    _check_merged(path, name, found["merged"])
    cells = TypedCells(path, how)
    frame = cells.table(_columns(rows, path, name))
    kind = "OpenDocument" if path.suffix.lower() == ".ods" else "Excel"
    unread = f" (not read: {all_of(others)})" if others else ""
    return ReadTable(frame, f"{kind}, sheet {name!r}{unread}{cells.note}")


def _in_process(path: Path, sheet: str | None) -> dict[str, Any]:
    """Read a sheet in a process of its own: a workbook may ask for more memory than there is."""
    most = most_bytes(path)
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            check_unpacked(path, sum(each.file_size for each in archive.infolist()))
    words = [sys.executable, "-P", str(Path(__file__).with_name("workbook_process.py")), str(path)]
    done = subprocess.run(
        words + ([] if sheet is None else [sheet]),
        input=f"{_TIMES_THE_FILE * most}\n".encode(),
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise InputError(
            f"{path} cannot be read: its cells take more memory than there is, or than is allowed; "
            f"a cell far to the right or down makes a sheet large. Save it as CSV, {MORE_BYTES}"
        )
    found = pickle.loads(done.stdout)
    if isinstance(found, str):
        raise InputError(f"{path} is not a complete workbook: {found}")
    return dict(found)


def _choose(found: dict[str, Any], wanted: str | None, path: Path) -> tuple[str, list[str]]:
    """Return the name of the sheet to read, and of other visible sheets that are not empty."""
    names, option = found["names"], for_user("sheet", "--sheet")
    if wanted is not None:
        if wanted not in names:
            raise InputError(
                f"{path}: {option}: there is no sheet {wanted!r}; the sheets are {all_of(names)}"
                f"{nearest(wanted, names)}"
            )
        return wanted, []
    if not found["filled"]:
        has_hidden = len(found["visible"]) < len(names)
        hidden = f"; hidden ones: {all_of(names)}, see {option}" if has_hidden else ""
        raise InputError(f"{path} has no sheet with cells{hidden}")
    return found["filled"][0], found["filled"][1:]


def _check_merged(path: Path, sheet: str, merged: Sequence[Any]) -> None:
    """Refuse merged cells: only the first of them has a value."""
    if merged:
        (row, column), _ = merged[0]
        raise InputError(
            f"{path}: the sheet {sheet!r} has merged cells, the first in row {row + 1}, column "
            f"{column + 1}; of these only the first has a value. Unmerge them and fill each cell"
        )


def _columns(rows: list[list[Any]], path: Path, sheet: str) -> dict[str, list[Any]]:
    """Return the cells of each column; empty rows, and empty columns at the right, are left out."""
    names = [_as_name(name) for name in rows[0]]
    below = [row for row in rows[1:] if any(cell not in ("", None) for cell in row)]
    if not below:
        raise InputError(f"{path}: the sheet {sheet!r} has a header but no rows")
    names = named_columns(names, below)
    check_names(path, names)
    columns = {name: [row[k] for row in below] for k, name in enumerate(names)}
    first = {name: cells[:_HEADER_CHECK_ROWS] for name, cells in columns.items()}
    check_one_header(path, {name: list(map(_as_name, cells)) for name, cells in first.items()})
    return columns


def _as_name(name: Any) -> str:
    if name is None:
        return ""
    is_whole = isinstance(name, float) and name.is_integer()
    return str(int(name)) if is_whole else str(name).strip()
