"""How a text file is written: separator, quotes, and marks of its numbers.

How a text file is written: separator, quotes, encoding, and marks of its numbers.

Everything is found by looking at a sample: the start of the file, and some places further on.

What can go wrong in reading a file, as an error that names it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from c2rf._utils.text import for_user
from c2rf.data.numerals import MISSING, NAMES, Marks, find_marks, readings
from c2rf.data.opening import (
    check_encoding,
    compression,
    encoding_name,
    find_encoding,
    opened,
    plain_name,
)
from c2rf.exceptions import InputError

SEPARATORS = {"\t": "tabs", ";": "semicolons", "|": "bars", ",": "commas"}
"""What may stand between cells. The comma comes last: it may be a decimal mark, too."""

TAB_ENDINGS = (".tsv", ".tab")
_WORDS = {"tab": "\t", "\\t": "\t", "semicolon": ";", "comma": ",", "bar": "|", "pipe": "|"}
_TOLD = re.compile(r"sep=([;,|\t])\r?\n", re.IGNORECASE)
_START, _PLACES, _PLACE = 1 << 18, 8, 1 << 15


@dataclass(frozen=True)
class ReadAs:
    """How the user wants files to be read; None where it is to be found out.

    Parameters
    ----------
    sep, decimal, encoding : str, optional
        Of text files.
    sheet : str, optional
        The sheet of a workbook.
    text : sequence of str
        Columns whose cells are not numbers.
    likely : str, optional
        The decimal mark of files that belong to this one, for numbers with two readings.
    """

    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    text: Sequence[str] = ()
    likely: str | None = None

    def __post_init__(self) -> None:
        if self.sep is not None:
            object.__setattr__(self, "sep", _check_separator(self.sep))
        if self.encoding is not None:
            object.__setattr__(self, "encoding", check_encoding(self.encoding))
        if self.decimal not in (None, *NAMES):
            option = for_user("decimal", "--decimal")
            raise InputError(f"{option} must be '.' or ','; found {self.decimal!r}")


AS_FOUND = ReadAs()
"""Nothing is said: all is to be found out."""


@dataclass(frozen=True)
class Dialect:
    """How a text file is written.

    Parameters
    ----------
    separator, quote, escape : str
        Between cells, around cells, and before quotes in cells ("" if they are doubled).
    encoding : str
        As Python calls it.
    decimal : str or None
        The decimal mark, None if no cell tells it.
    marks : dict
        How numbers are written, for each column of numbers.
    """

    separator: str = ","
    quote: str = '"'
    escape: str = ""
    encoding: str = "utf-8"
    decimal: str | None = None
    marks: dict[str, Marks] = field(default_factory=dict)

    def __str__(self) -> str:
        """Say all of it.

        Examples
        --------
        >>> str(Dialect(";", encoding="cp1252", decimal=","))
        'semicolons, decimal comma, Windows-1252'
        """
        words = [SEPARATORS.get(self.separator, f"{self.separator!r} between cells")]
        if self.decimal is not None:
            words.append(f"decimal {NAMES[self.decimal]}")
        marks = {mark.decimal for mark in self.marks.values()}
        if len(marks) > 1:
            words.append("decimal point and comma, by column")
        if any(mark.group for mark in self.marks.values()):
            words.append("marks between thousands")
        words.append(encoding_name(self.encoding))
        return ", ".join(words + (["single quotes"] if self.quote == "'" else []))

    def records(self, text: str) -> Iterator[list[str]]:
        """Split a text into rows of cells; lines without any are left out."""
        rows = csv.reader(
            io.StringIO(text, newline=""),
            delimiter=self.separator,
            quotechar=self.quote,
            escapechar=self.escape or None,
            doublequote=not self.escape,
        )
        return (row for row in rows if row)


@dataclass(frozen=True)
class Layout:
    """A text file as it was understood: its dialect, and the names of its columns.

    ``n_cells`` counts the cells of a row; those after the named ones are empty in all rows.
    ``n_above`` counts the lines above the names.
    """

    dialect: Dialect
    names: tuple[str, ...]
    n_cells: int
    n_above: int = 0


def find_layout(path: Path, how: ReadAs = AS_FOUND) -> Layout:
    """Find out how a text file is written.

    Parameters
    ----------
    path : Path
        The file, compressed or not.
    how : ReadAs
        What the user has said about it.
    """
    encoding = how.encoding or find_encoding(path)
    start, places, is_cut = _sample(path, encoding)
    if not start.strip():
        raise InputError(f"{path} is empty or has a header but no rows")
    told, start = _take_separator(start)
    dialect = _find_dialect(start, is_cut, how.sep or told, path)
    records = _whole_records(dialect, start, is_cut)
    header, rows = records[0], records[1:]
    for place in places:
        more = _whole_records(dialect, place, is_cut=True)[1:]
        rows += [row for row in more if len(row) == len(header)]
    names = _names(header, rows)
    cells = {
        name: [row[k] for row in rows if len(row) > k]
        for k, name in enumerate(names)
        if name not in how.text
    }
    check_one_header(path, cells)
    marks, decimal = find_marks(cells, how.decimal, path, how.likely)
    found = Dialect(dialect.separator, dialect.quote, dialect.escape, encoding, decimal, marks)
    return Layout(found, tuple(names), len(header), int(told is not None))


def _take_separator(start: str) -> tuple[str | None, str]:
    r"""Return the separator that a first line tells Excel, if there is one, and what is below it.

    Examples
    --------
    >>> _take_separator("sep=;\na;b\n"), _take_separator("a;b\n")
    ((';', 'a;b\n'), (None, 'a;b\n'))
    """
    told = _TOLD.match(start)
    return (told[1], start[told.end() :]) if told else (None, start)


def _sample(path: Path, encoding: str) -> tuple[str, list[str], bool]:
    """Return the start of a file, the text at some places further on, and whether that is all."""
    with opened(path) as file:
        start = file.read(_START)
        rest: list[bytes] = []
        size = path.stat().st_size
        is_cut = len(start) == _START
        if compression(path) is None and size > 2 * _START and "16" not in encoding:
            for k in range(1, _PLACES + 1):
                file.seek(_START + k * (size - _START - _PLACE) // _PLACES)
                rest.append(file.read(_PLACE))
    return (
        start.decode(encoding, errors="replace"),
        [place.decode(encoding, errors="replace") for place in rest],
        is_cut,
    )


def _find_dialect(start: str, is_cut: bool, separator: str | None, path: Path) -> Dialect:
    """Return separator and quotes by the start of a file."""
    quote = '"' if '"' in start or not _has_single_quotes(start) else "'"
    escape = "\\" if f"\\{quote}" in start else ""
    if separator is not None:
        return Dialect(separator, quote, escape)
    order = sorted(SEPARATORS, key=lambda sign: sign != "\t" or not has_tabs(path))
    tried = [Dialect(sign, quote, escape) for sign in order]
    widths = [[len(row) for row in _whole_records(one, start, is_cut)] for one in tried]
    for dialect, found in zip(tried, widths, strict=True):
        if len(set(found)) == 1 and found[0] > 1:
            return dialect
    # No separator gives rows of equal length: the header decides, or under a title the rows; the
    # reader says where.
    first, most = ([pick(found) for found in widths] for pick in (lambda row: row[0], max))
    by_name = first if max(first) > 1 else most
    return tried[by_name.index(max(by_name))] if max(by_name) > 1 else Dialect(",", quote, escape)


def _whole_records(dialect: Dialect, text: str, is_cut: bool) -> list[list[str]]:
    """Return the rows of a sample, without the last one where it may go on."""
    rows: list[list[str]] = []
    try:
        rows.extend(dialect.records(text))
    except csv.Error:
        is_cut = True  # the reader of the whole file says where
    return rows[:-1] if is_cut and len(rows) > 1 else rows or [[""]]


def _has_single_quotes(start: str) -> bool:
    """Whether many cells are in single quotes."""
    lines = start.splitlines()[1:100]
    wrapped = sum(
        len(cell) > 1 and cell[0] == cell[-1] == "'"
        for line in lines
        for cell in line.replace(";", ",").replace("\t", ",").split(",")
    )
    return len(lines) > 0 and wrapped >= len(lines)


def _names(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the names of the columns without empty ones at the end that have no cells."""
    names = [name.strip() for name in header]
    while len(names) > 1 and names[-1] == "":
        k = len(names) - 1
        if any(len(row) > k and row[k].strip() for row in rows):
            break
        names.pop()
    return names


def check_one_header(path: Path, cells: Mapping[str, Sequence[str]]) -> None:
    """Refuse a second line of names or units above numbers."""
    odd = []
    for name, column in cells.items():
        rest = [cell for cell in column[1:] if cell.strip() not in MISSING]
        if len(rest) >= 3 and all(map(readings, rest)):
            if column[0].strip() in MISSING:
                continue
            if readings(column[0]):
                return
            odd.append((name, column[0]))
    if odd:
        name, cell = odd[0]
        raise InputError(
            f"{path} seems to have two header lines: below {name!r} stands {cell!r}, and then only "
            "numbers. Keep one line of names above the data"
        )


def has_tabs(path: Path) -> bool:
    """Whether a text file of this name has tabs between its values."""
    return plain_name(path).suffix.lower() in TAB_ENDINGS


def _check_separator(given: str) -> str:
    sign = _WORDS.get(given.lower(), given)
    if len(sign) != 1 or sign in "\r\n\"'" or sign.isalnum():
        option = for_user("sep", "--sep")
        raise InputError(
            f"{option} must be the one sign between cells, like ';' or ',' or tab; found {given!r}"
        )
    return sign


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what can go wrong in reading ``path`` into an error that names it."""
    try:
        yield
    except FileNotFoundError as error:
        raise InputError(f"{path}: there is no such file") from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not {encoding_name(error.encoding)} text; save it as UTF-8, or name its "
            f"encoding with {for_user('encoding', '--encoding')}"
        ) from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error


def check_names(path: object, names: Sequence[str], separator: str = "") -> None:
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
    if len(names) == 1 and (found := (set(SEPARATORS) - {separator}) & set(names[0])):
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
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"{path}: column names must differ; found {name!r} more than once")
        seen.add(name)
