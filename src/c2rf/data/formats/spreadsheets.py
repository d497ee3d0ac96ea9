"""Read one sheet of an Excel or OpenDocument workbook, with column names in the first row."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

from c2rf._utils.text import all_of, for_user, nearest
from c2rf.data.cells import TypedCells
from c2rf.data.dialect import MORE_BYTES, ReadAs, check_unpacked, most_bytes
from c2rf.data.formats import ReadTable, columns_of, find_format
from c2rf.data.numerals import readings
from c2rf.exceptions import InputError

_TIMES_THE_FILE = 4  # bytes of memory allowed for each byte of the unpacked file


class Sheet(NamedTuple):
    """The cells of a sheet as they stand.

    ``merged`` are the first and the last place, row and column, of cells that are merged; ``first``
    and ``left`` are the numbers of the first row and column that are not empty, ``others`` are
    sheets that were not read, and ``note`` says what was.
    """

    name: str
    rows: list[list[Any]]
    merged: list[tuple[tuple[int, int], tuple[int, int]]]
    first: int
    left: int
    others: list[str]
    note: str

    def filled(self, header: int) -> Sheet:
        """Return the sheet with texts in all cells that are merged downwards below its header."""
        rows, others = [list(row) for row in self.rows], []
        for (top, left), (bottom, right) in self.merged:
            own = rows[top - self.first : bottom + 1 - self.first]
            is_below = left == right and top > header + self.first and len(own) > 0
            text = own[0][left - self.left] if is_below else None
            if isinstance(text, str) and not readings(text):
                for row in own:
                    row[left - self.left] = text
            else:
                others.append(((top, left), (bottom, right)))
        return self._replace(rows=rows, merged=others)

    def check_merged(self, path: Path, start: int, end: int) -> None:
        """Refuse merged cells in some rows: only the first of them has a value."""
        start, end = start + self.first, end + self.first
        found = [place for place, last in self.merged if start <= last[0] and place[0] < end]
        if found:
            row, column = found[0]
            raise InputError(
                f"{path}: the sheet {self.name!r} has merged cells, the first in row {row + 1}, "
                f"column {column + 1}; of these only the first has a value. Unmerge them and fill "
                "each cell"
            )


def read(path: Path, how: ReadAs) -> ReadTable:
    """Read a sheet; numbers that are stored as text are parsed as in CSV files."""
    sheet = read_sheet(path, how)
    sheet.check_merged(path, 0, len(sheet.rows))
    cells = TypedCells(path, how)
    frame = cells.table(columns_of(sheet.rows, f"{path}: the sheet {sheet.name!r}"))
    return ReadTable(frame, f"{sheet.note}{cells.note}")


def read_sheet(path: Path, how: ReadAs) -> Sheet:
    """Read the wanted sheet, or the first that can be seen and is not empty."""
    found = _in_process(path, how.sheet)
    name, others = _choose(found, how.sheet, path)
    rows = found["rows"]
    if not rows:
        raise InputError(f"{path}: the sheet {name!r} is empty")
    kind = find_format(path).name
    unread = f" (not read: {all_of(others)})" if others else ""
    note = f"{kind}, sheet {name!r}{unread}"
    return Sheet(name, rows, found["merged"], found["start"][0], found["start"][1], others, note)


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
