"""Tables of people and things: read from files of many formats, as they are found.

Each format is one file in this folder and one line in :data:`FORMATS`. Cells of text files stay
the text they are; other formats keep their types. What a column means, numbers or text, is asked
for with :func:`~c2rf.data.cells.as_numbers` and :func:`~c2rf.data.cells.as_text`, which give the
same answer for all.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from c2rf.data.dialect import AS_FOUND, Dialect, ReadAs, check_names, reading
from c2rf.data.formats.arrow import naming_source
from c2rf.data.formats.text import read_text
from c2rf.exceptions import InputError


@dataclass(frozen=True, eq=False)
class ReadTable:
    """A table in memory, and how it was read.

    Parameters
    ----------
    frame : DataFrame
        The rows.
    read_as : str
        How the file was understood, in words.
    dialect : Dialect or None
        How a text file is written; others have None.
    """

    frame: pd.DataFrame
    read_as: str
    dialect: Dialect | None = None


@dataclass(frozen=True)
class Format:
    """A format that is known by the first bytes of a file or by its name.

    ``reader`` names a module of this folder with a function ``read(path, how)`` that returns a
    frame and how it was understood; ``package`` is what it needs, from the extra ``extra``. Where
    ``in_parts``, the module has ``names`` and ``parts``, too, for files larger than memory.
    """

    name: str
    endings: tuple[str, ...]
    signs: tuple[bytes, ...]
    reader: str
    package: str = ""
    extra: str = ""
    in_parts: bool = False

    @property
    def module(self) -> Any:
        """The module that reads it."""
        return import_module(f"c2rf.data.formats.{self.reader}")

    def check_package(self, path: Path) -> None:
        """Refuse a file where nothing can read it."""
        if self.package and find_spec(self.package) is None:
            raise InputError(
                f'{path}: {self.name} needs {self.package}; pip install "c2rf[{self.extra}]", or '
                "use CSV"
            )

    def read(self, path: Path, how: ReadAs) -> tuple[pd.DataFrame, str]:
        """Read a table."""
        self.check_package(path)
        with naming_source(str(path)):  # libraries fail on damaged files in many ways
            return self.module.read(path, how)


PARQUET = Format("Parquet", (".parquet", ".pq"), (b"PAR1",), "arrow", "pyarrow", "parquet")
FORMATS = (
    PARQUET,
    Format("Arrow", (".arrow", ".feather", ".ipc"), (b"ARROW1", b"FEA1"), "arrow", "pyarrow",
           "parquet", in_parts=True),
    Format("Excel", (".xlsx", ".xlsm", ".xlsb", ".xls"), (b"\xd0\xcf\x11\xe0",), "spreadsheets",
           "python_calamine", "files"),
    Format("OpenDocument", (".ods",), (), "spreadsheets", "python_calamine", "files"),
    Format("SPSS", (".sav", ".zsav", ".por"), (b"$FL2", b"$FL3"), "statistics_packages",
           "pyreadstat", "files"),
    Format("Stata", (".dta",), (b"<stata_dta>",), "statistics_packages", "pyreadstat", "files"),
    Format("SAS", (".xpt", ".sas7bdat"), (b"HEADER RECORD",), "statistics_packages", "pyreadstat",
           "files"),
    Format("SQLite", (".db", ".sqlite", ".sqlite3"), (b"SQLite format 3\0",), "sqlite",
           in_parts=True),
    Format("JSON lines", (".jsonl", ".ndjson"), (), "json_lines", in_parts=True),
)  # fmt: skip
"""All formats but text."""

TEXT_ENDINGS = (".csv", ".txt", ".tsv", ".tab")


def read_file(path: Path | str, how: ReadAs = AS_FOUND) -> ReadTable:
    r"""Read a table with named columns and at least one row, and say how it was understood.

    Parameters
    ----------
    path : Path or str
        The file; of a database with several tables, ``file.db::table``.
    how : ReadAs
        What the user has said about it.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = path.write_text("id;price\n007;1,5\n008;\n")
    >>> table = read_file(path)
    >>> table.frame.to_dict("list"), table.read_as
    ({'id': ['007', '008'], 'price': ['1.5', '']}, 'semicolons, decimal comma, UTF-8')
    """
    path = Path(path)
    kind = find_format(path)
    if kind is None:
        frame, layout = read_text(path, how)
        return ReadTable(frame, str(layout.dialect), layout.dialect)
    frame, said = kind.read(path, how)
    check_names(path, [str(name) for name in frame])
    if not len(frame):
        raise InputError(f"{path} has columns but no rows")
    return ReadTable(frame, said)


def read_table(path: Path | str, how: ReadAs = AS_FOUND) -> pd.DataFrame:
    """Read a table with named columns and at least one row, see :func:`read_file`."""
    return read_file(path, how).frame


def find_format(path: Path) -> Format | None:
    """Return the format of a file that is there, by its content or its name; None for text."""
    file = plain_path(path)
    with reading(file), file.open("rb") as content:
        start = content.read(16)
    if start.startswith(b"PK\x03\x04"):
        return _workbook(file)
    for kind in FORMATS:
        if kind.signs and start.startswith(kind.signs):
            return kind
    return format_by_name(file)


def format_by_name(path: Path) -> Format | None:
    """Return the format that a name stands for, None for text."""
    ending = path.suffix.lower()
    return next((kind for kind in FORMATS if ending in kind.endings), None)


def plain_path(path: Path) -> Path:
    """Return the file of ``file.db::table``."""
    return path if path.exists() else Path(str(path).partition("::")[0])


def _workbook(path: Path) -> Format | None:
    """Return which workbook a zip archive is, None if it is none."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
    except zipfile.BadZipFile:
        return format_by_name(path)
    excel, open_document = FORMATS[2:4]
    if any(name.startswith("xl/workbook") for name in names):
        return excel
    return open_document if "content.xml" in names else None


def is_parquet(path: Path) -> bool:
    """Whether a file of this name is a Parquet file."""
    return format_by_name(path) is PARQUET


def check_pyarrow(path: Path) -> None:
    """Refuse a Parquet file where nothing can read or write it."""
    PARQUET.check_package(path)
