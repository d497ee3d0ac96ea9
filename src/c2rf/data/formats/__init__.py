"""Read tabular files: which formats there are, and how a file is read in any of them.

A new format is a module in this folder and a line in :data:`FORMATS`. The module has a function
``read(path, how)`` that returns a :class:`ReadTable`. If it can read files larger than memory, it
also has ``names(path, how)``, the names of the columns, and ``chunks(path, how, columns, n_rows)``,
which yields frames of these columns, of at most ``n_rows`` rows, and says where each is from. What
it needs, and the extra that installs it, is a line in ``_NEEDED``.

Cells of text files stay the text they are, other formats keep their types; see
:mod:`c2rf.data.cells` for what they mean.
"""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from c2rf._utils.text import all_of, for_user, listed, nearest
from c2rf._utils.types import Columns
from c2rf.data.dialect import (
    AS_FOUND,
    SEPARATORS,
    Dialect,
    ReadAs,
    check_one_header,
    encoding_name,
    named_columns,
    plain_name,
)
from c2rf.exceptions import C2RFError, InputError

ROWS_PER_CHUNK = 1 << 16
"""Rows that are read at a time."""


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
    """A format that is known by the first bytes of a file or by the ending of its name.

    ``reader`` is the module of :mod:`c2rf.data` that reads it.
    """

    name: str
    endings: tuple[str, ...]
    first_bytes: tuple[bytes, ...]
    reader: str

    @property
    def module(self) -> Any:
        """The module that reads it."""
        return import_module(f"c2rf.data.{self.reader}")

    @property
    def in_chunks(self) -> bool:
        """Whether files larger than memory can be read."""
        return hasattr(self.module, "chunks")

    def check_package(self, path: Path) -> None:
        """Refuse a file where nothing can read it."""
        package, extra = _NEEDED.get(self.reader, ("", ""))
        if package and find_spec(package) is None:
            raise InputError(
                f'{path}: {self.name} needs {package}; pip install "c2rf[{extra}]", or use CSV'
            )

    def check_in_chunks(self, path: Path) -> None:
        """Refuse a file that cannot be read in chunks."""
        self.check_package(path)
        if not self.in_chunks:
            option = for_user("with engine='memory' or as a frame", "with --engine memory")
            raise InputError(
                f"{path}: {self.name} is not read in chunks; read it {option}, or save it as CSV "
                "or Parquet"
            )

    def names(self, path: Path, how: ReadAs = AS_FOUND) -> list[str]:
        """Return the names of the columns of a file that is read in chunks."""
        self.check_in_chunks(path)
        names: list[str] = self.module.names(path, how)
        check_names(path, names)
        return names


Found = TypeVar("Found")


def once_per_file(find: Callable[..., Found]) -> Callable[..., Found]:
    """Keep what ``find`` returns for a file until the file changes."""
    cached = lru_cache(maxsize=256)(lambda identity, *given: find(*given))

    def look_up(path: Path, *given: Any) -> Found:
        with naming_source(path):
            return cached(file_identity(path), path, *given)

    return look_up


Identity = tuple[int, ...]


def file_identity(path: Path) -> Identity:
    """Return numbers that change when a file is replaced or changed, even at the same size."""
    file = plain_path(path)
    status = file.stat()
    found = [status.st_ino, status.st_size, status.st_mtime_ns]
    log = Path(f"{file}-wal")  # where SQLite keeps changes at first
    if file.suffix.lower() not in (".csv", ".parquet") and log.exists() and log.stat().st_size:
        found += [log.stat().st_size, log.stat().st_mtime_ns]
    return tuple(found)


def check_unchanged(path: Path, before: Identity) -> None:
    """Refuse a file that has changed: labels would go to the wrong rows."""
    with naming_source(path):
        if file_identity(path) != before:
            raise InputError(f"{path} has changed while it was read; wait until it is complete")


_NEEDED = {
    "formats.arrow": ("pyarrow", "parquet"),
    "formats.spreadsheets": ("python_calamine", "files"),
    "formats.statistics_packages": ("pyreadstat", "files"),
    "population.duckdb": ("duckdb", "duckdb"),
}
"""The package that a reader needs, and the extra that installs it."""

_WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls")
PARQUET = Format("Parquet", (".parquet", ".pq"), (b"PAR1",), "formats.arrow")
EXCEL = Format("Excel", _WORKBOOKS, (b"\xd0\xcf\x11\xe0",), "formats.spreadsheets")
OPEN_DOCUMENT = Format("OpenDocument", (".ods",), (), "formats.spreadsheets")
DUCKDB = Format("DuckDB", (".duckdb", ".ddb"), (), "population.duckdb")
SQLITE = Format(
    "SQLite", (".db", ".sqlite", ".sqlite3"), (b"SQLite format 3\0",), "formats.records"
)
TEXT = Format("CSV", (".csv", ".tsv", ".tab", ".txt"), (), "formats.text")
FORMATS = (
    PARQUET,
    Format("Arrow", (".arrow", ".feather", ".ipc"), (b"ARROW1",), "formats.arrow"),
    EXCEL,
    OPEN_DOCUMENT,
    Format("SPSS", (".sav", ".zsav", ".por"), (), "formats.statistics_packages"),
    Format("Stata", (".dta",), (), "formats.statistics_packages"),
    Format("SAS", (".xpt", ".sas7bdat"), (), "formats.statistics_packages"),
    SQLITE,
    DUCKDB,
    Format("JSON lines", (".jsonl", ".ndjson"), (), "formats.records"),
    TEXT,
)
"""All formats; a file of none of the others is read as text."""


def read_file(path: Path | str, how: ReadAs = AS_FOUND) -> ReadTable:
    r"""Read a table with named columns and at least one row, and say how it was understood.

    Parameters
    ----------
    path : Path or str
        The file; of a database with several tables, ``file.db::table``.
    how : ReadAs
        What the user has named.

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
    kind.check_package(path)
    with naming_source(path):  # libraries fail on damaged files in many ways
        before = file_identity(path)
        table: ReadTable = kind.module.read(path, how)
    check_unchanged(path, before)
    check_names(path, [str(name) for name in table.frame], table.dialect)
    if not len(table.frame):
        raise InputError(f"{path} has columns but no rows")
    named = format_by_name(plain_name(plain_path(path)))
    if named not in (None, kind) and kind in (TEXT, EXCEL, OPEN_DOCUMENT):
        return replace(table, read_as=f"{table.read_as}; it is {kind.name} in spite of its name")
    return table


def find_format(path: Path) -> Format:
    """Return the format of a file that exists, by its content or its name."""
    file = plain_path(path)
    if file.exists() and not file.is_file():
        what = "a folder" if file.is_dir() else "a pipe or a device, which can be read only once"
        raise InputError(f"{file} is {what}; give the name of a file")
    with naming_source(file), file.open("rb") as content:
        start = content.read(16)
    if start[8:12] == b"DUCK":
        return DUCKDB
    if start.startswith(b"PK\x03\x04"):
        return _format_of_archive(file)
    for kind in FORMATS:
        if kind.first_bytes and start.startswith(kind.first_bytes):
            return kind
    kind = format_by_name(file) or TEXT
    # A workbook has first bytes of its own: what begins otherwise, with text, is a renamed CSV.
    is_workbook = kind in (EXCEL, OPEN_DOCUMENT)
    return TEXT if is_workbook and _is_text(start) else kind


def _is_text(start: bytes) -> bool:
    """Return whether first bytes are text: no control characters but white space."""
    return bool(start) and not any(byte < 32 and byte not in b"\t\r\n" for byte in start)


def format_by_name(path: Path) -> Format | None:
    """Return the format that the ending of a name stands for, None if it stands for none.

    Examples
    --------
    >>> format_by_name(Path("people.XLSX")).name, format_by_name(Path("people.pdf"))
    ('Excel', None)
    """
    ending = path.suffix.lower()
    return next((kind for kind in FORMATS if ending in kind.endings), None)


def plain_path(path: Path) -> Path:
    """Return the file of ``file.db::table``."""
    return path if path.exists() else Path(str(path).partition("::")[0])


def table_name(path: Path, names: list[str]) -> str:
    """Return the table of a database that a path names, or the only one; else say what there is."""
    file = plain_path(path)
    wanted = str(path)[len(str(file)) :].removeprefix("::")
    if wanted in names:
        return wanted
    if not names:
        raise InputError(f"{file} is a database without tables")
    if wanted:
        raise InputError(
            f"{file} has no table {wanted!r}; it has {all_of(names)}{nearest(wanted, names)}"
        )
    if len(names) > 1:
        raise InputError(
            f"{file} has several tables, {all_of(names)}; name one, like {file}::{names[0]}"
        )
    return names[0]


def quoted_name(name: str) -> str:
    """Return a name as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


def _format_of_archive(path: Path) -> Format:
    """Return Excel or OpenDocument; any other zip archive is compressed text."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
    except Exception:  # of many kinds, if it is damaged
        return format_by_name(path) or TEXT
    if any(name.startswith("xl/workbook") for name in names):
        return EXCEL
    return OPEN_DOCUMENT if "content.xml" in names else TEXT


@contextmanager
def naming_source(where: object) -> Iterator[None]:
    """Turn whatever goes wrong in reading into an error that names what was read."""
    try:
        yield
    except (C2RFError, MemoryError):
        raise
    except FileNotFoundError as error:
        raise InputError(f"{where}: there is no such file") from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{where} is not {encoding_name(error.encoding)} text; save it as UTF-8, or name its "
            f"encoding with {for_user('encoding', '--encoding')}"
        ) from error
    except Exception as error:
        text = str(getattr(error, "strerror", None) or error).strip() or type(error).__name__
        raise InputError(f"{where} cannot be read: {text.splitlines()[0]}") from error


_HEADER_CHECK_ROWS = 1000  # rows that are looked at to find a second header line


def columns_of(rows: Sequence[Sequence[Any]], where: object) -> dict[str, list[Any]]:
    """Return the cells of each column of rows of cells, of which the first holds the names.

    Empty rows, and empty columns at the right, are left out.
    """
    names = [_as_name(name) for name in rows[0]]
    below = [row for row in rows[1:] if any(cell not in ("", None) for cell in row)]
    if not below:
        raise InputError(f"{where} has a header but no rows")
    names = named_columns(names, below)
    check_names(where, names)
    columns = {name: [row[k] for row in below] for k, name in enumerate(names)}
    first = {name: cells[:_HEADER_CHECK_ROWS] for name, cells in columns.items()}
    check_one_header(where, {name: list(map(_as_name, cells)) for name, cells in first.items()})
    return columns


def _as_name(name: Any) -> str:
    if name is None:
        return ""
    is_whole = isinstance(name, float) and name.is_integer()
    return str(int(name)) if is_whole else str(name).strip()


def check_names(path: object, names: Sequence[str], dialect: Dialect | None = None) -> None:
    """Refuse headers that do not name every column once.

    Examples
    --------
    >>> check_names("people.csv", ["id", ""])
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputError: people.csv: column 2 has no name; name it in the first line, or \
remove it if it only numbers the rows. If the names take two lines, or a title is above them, keep \
one line
    """
    used = dialect.separator if dialect else ""
    if len(names) == 1 and (found := (set(SEPARATORS) - {used}) & set(names[0])):
        option = for_user(f"sep={min(found)!r}", f"--sep {min(found)!r}")
        raise InputError(
            f"{path}: found one column, {names[0][:60]!r}; if {min(found)!r} is between the cells, "
            f"say so with {option}"
        )
    empty = [k for k, name in enumerate(names) if not name.strip()]
    if empty:
        raise InputError(
            f"{path}: column {empty[0] + 1} has no name; name it in the first line, or remove it "
            "if it only numbers the rows. If the names take two lines, or a title is above them, "
            "keep one line"
        )
    _check_differ(path, names)


def _check_differ(where: object, names: Sequence[str]) -> None:
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise InputError(f"{where}: column names must differ; found {twice[0]!r} more than once")


def check_same_columns(names: list[str], first: list[str], path: Path, first_path: Path) -> None:
    """Refuse a file with other columns than the first; their order is free."""
    here, there = set(names), set(first)
    missing = [name for name in first if name not in here]
    added = [name for name in names if name not in there]
    if missing or added:
        differs = f"lacks {listed(missing)}" if missing else f"also has {listed(added)}"
        raise InputError(f"{path} must have the columns of {first_path}; it {differs}")


def wanted_columns(columns: Columns, names: Sequence[str], where: object) -> list[str]:
    """Return the columns to read, all if None are named, or say which are not there."""
    _check_differ(where, names)
    there = set(names)
    missing = [name for name in columns or [] if name not in there]
    if missing:
        raise InputError(
            f"{where} lacks columns of X: {listed(missing)}; it has {listed(list(names))}"
        )
    return list(names if columns is None else columns)
