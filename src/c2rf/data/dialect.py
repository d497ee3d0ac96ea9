"""How a text file is written: compression, encoding, separator, quotes, and marks of its numbers.

The compression is known by the first bytes, the encoding by all bytes. Everything else is found by
a sample: the start of the file, and some places further on.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

from c2rf._utils.text import all_of, for_user, listed
from c2rf.data.numerals import MISSING, MISSING_NUMBERS, NAMES, Marks, find_marks, readings
from c2rf.exceptions import InputError

BLOCK = 1 << 24
"""Bytes of a text file that are read at a time."""

SEPARATORS = {"\t": "tabs", ";": "semicolons", "|": "bars", ",": "commas"}
"""What may stand between cells. The comma comes last: it may be a decimal mark, too."""

TAB_ENDINGS = (".tsv", ".tab")
_WORDS = {"tab": "\t", "\\t": "\t", "semicolon": ";", "comma": ",", "bar": "|", "pipe": "|"}
_EXCEL_SEPARATOR = re.compile(r"sep=([;,|\t])\r?\n", re.IGNORECASE)
_START, _PLACES, _PLACE = 1 << 18, 8, 1 << 15  # bytes at the start, places, bytes of each


@dataclass(frozen=True)
class ReadAs:
    """How the user wants files to be read; None where that is to be found out.

    Parameters
    ----------
    sep, decimal, encoding : str, optional
        Of text files.
    sheet : str, optional
        The sheet of a workbook.
    text : sequence of str
        Columns whose cells are not numbers.
    likely : str, optional
        The decimal mark of related files, for numbers with two readings.
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
"""The user has named nothing: all is to be found out."""


@dataclass(frozen=True)
class Dialect:
    """How a text file is written, and the names of its columns.

    Parameters
    ----------
    separator, quote, escape : str
        Between cells, around cells, and before quotes in cells ("" if they are only doubled).
    encoding : str
        As Python calls it.
    decimal : str or None
        The decimal mark, None if no cell decides it.
    marks : dict
        How numbers are written, for each column of numbers.
    names : tuple of str
        The names of the columns.
    n_cells : int
        The number of cells of a row; those after the named ones are empty in all rows.
    n_above : int
        The number of lines above the names.
    """

    separator: str = ","
    quote: str = '"'
    escape: str = ""
    encoding: str = "utf-8"
    decimal: str | None = None
    marks: dict[str, Marks] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    n_cells: int = 0
    n_above: int = 0

    def __str__(self) -> str:
        """Describe it in words.

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
        if self.escape:
            words.append("backslashes before quotes")
        return ", ".join(words + (["single quotes"] if self.quote == "'" else []))

    def reader(self, lines: Iterable[str], *, strict: bool = False) -> Any:
        """Return a reader of the standard library that splits lines into rows of cells."""
        return csv.reader(
            lines,
            delimiter=self.separator,
            quotechar=self.quote,
            escapechar=self.escape or None,
            strict=strict,
        )

    def rows(self, path: Path) -> Iterator[tuple[list[str], int]]:
        """Yield the names, and the rows that are not empty, each with the line it ends in."""
        marked = re.compile(rf"\\[\\{self.quote}]")

        def checked(lines: Iterable[str]) -> Iterator[str]:
            for line in lines:
                if "\\" in marked.sub("", line):
                    raise csv.Error("a backslash before another character")
                yield line

        with opened(path) as file, io.TextIOWrapper(file, self.encoding, newline="") as text:
            reader = self.reader(checked(text) if self.escape else text, strict=True)
            for row in filter(None, islice(reader, self.n_above, None)):
                yield row, reader.line_num


def find_dialect(path: Path, how: ReadAs = AS_FOUND) -> Dialect:
    """Find out how a text file is written.

    Parameters
    ----------
    path : Path
        The file, compressed or not.
    how : ReadAs
        What the user has named.
    """
    dialect, (header, *rows) = find_shape(path, how)
    names = named_columns([name.strip() for name in header], rows)
    cells = {
        name: [row[k] for row in rows if len(row) > k]
        for k, name in enumerate(names)
        if name not in how.text
    }
    check_one_header(path, cells)
    marks, decimal = find_marks(cells, how.decimal, path, how.likely)
    return replace(dialect, decimal=decimal, marks=marks, names=tuple(names))


def find_shape(path: Path, how: ReadAs) -> tuple[Dialect, list[list[str]]]:
    """Find out how cells are separated; return the names and some rows, too."""
    encoding = how.encoding or find_encoding(path)
    start, places, is_cut = _sample(path, encoding)
    if not start.strip():
        raise InputError(f"{path} is empty or has a header but no rows")
    separator, start = _take_separator(start)
    dialect = _find_separator(start, is_cut, how.sep or separator, path)
    dialect = replace(dialect, encoding=encoding, n_above=int(separator is not None))
    if _holds(path, f"\\{dialect.quote}", encoding):
        dialect = _with_escape(path, dialect)
    rows = _whole_records(dialect, start, is_cut)
    n_cells = len(rows[0])
    for place in places:
        more = _whole_records(dialect, place, is_cut=True)[1:]
        rows += [row for row in more if len(row) == n_cells]
    return replace(dialect, n_cells=n_cells), rows


def _take_separator(start: str) -> tuple[str | None, str]:
    r"""Return the separator that a first line like "sep=;" names, and the text below that line.

    Examples
    --------
    >>> _take_separator("sep=;\na;b\n"), _take_separator("a;b\n")
    ((';', 'a;b\n'), (None, 'a;b\n'))
    """
    found = _EXCEL_SEPARATOR.match(start)
    return (found[1], start[found.end() :]) if found else (None, start)


def _sample(path: Path, encoding: str) -> tuple[str, list[str], bool]:
    """Return the start of a file, text at some places further on, and whether the start is cut."""
    with opened(path) as file:
        start = file.read(_START)
        rest: list[bytes] = []
        size = path.stat().st_size
        if compression(path) is None and size > 2 * _START and "16" not in encoding:
            for k in range(1, _PLACES + 1):
                file.seek(_START + k * (size - _START - _PLACE) // _PLACES)
                rest.append(file.read(_PLACE))
    texts = [place.decode(encoding, errors="replace") for place in (start, *rest)]
    return texts[0], texts[1:], len(start) == _START


def _find_separator(start: str, is_cut: bool, separator: str | None, path: Path) -> Dialect:
    """Return separator and quotes by the start of a file."""
    quote = '"' if '"' in start or not _has_single_quotes(start) else "'"
    if separator is not None:
        return Dialect(separator, quote)
    order = sorted(SEPARATORS, key=lambda mark: mark != "\t" or not has_tabs(path))
    escapes = ["", "\\"] if f"\\{quote}" in start else [""]
    tried = [Dialect(mark, quote, escape) for escape in escapes for mark in order]
    tables = [_whole_records(one, start, is_cut) for one in tried]
    widths = [[len(row) for row in rows] for rows in tables]
    fitting = [
        ((dialect.escape, _has_stray_quotes(rows, start, quote)), dialect)
        for dialect, rows, found in zip(tried, tables, widths, strict=True)
        if len(set(found)) == 1 and found[0] > 1
    ]
    if fitting:
        best = min(how for how, _ in fitting)
        return _only_one([dialect for how, dialect in fitting if how == best], start, path)
    # No separator gives rows of equal length: use the one that gives the widest header, or under
    # a title line the widest row. The reader says where a row is too long or too short.
    headers = [found[0] for found in widths]
    widest = headers if max(headers) > 1 else [max(found) for found in widths]
    return tried[widest.index(max(widest))] if max(widest) > 1 else Dialect(",", quote)


def _only_one(fitting: Sequence[Dialect], start: str, path: Path) -> Dialect:
    """Return the dialect that gives rows of equal length; refuse several of them."""
    if fitting[0].separator == "\t" and has_tabs(path):
        return fitting[0]
    if len(fitting) > 1 and ", " in start.partition("\n")[0]:  # as in text
        fitting = [dialect for dialect in fitting if dialect.separator != ","]
    if len(fitting) > 1:
        marks = [dialect.separator for dialect in fitting]
        option = for_user(f"sep={marks[0]!r}", f"--sep {marks[0]!r}")
        raise InputError(
            f"{path}: all rows have the same number of cells with each of {all_of(marks)} between "
            f"them; say which it is, like {option}"
        )
    return fitting[0]


def _has_stray_quotes(rows: Sequence[Sequence[str]], text: str, quote: str) -> bool:
    """Whether some cells with quotes in them cannot have stood in quotes."""
    found = [cell.count(quote) for row in rows for cell in row if quote in cell]
    return text.count(quote) < 2 * (sum(found) + len(found))


def _holds(path: Path, text: str, encoding: str) -> bool:
    """Whether a text is anywhere in a file."""
    wanted = text.encode(without_mark(encoding))
    last = b""
    for block in read_blocks(path):
        if wanted in last + block:
            return True
        last = block[1 - len(wanted) :]
    return False


def _with_escape(path: Path, dialect: Dialect) -> Dialect:
    r"""Return how quotes in cells are marked: by a backslash, or not if the backslashes are text.

    Both readings are tried on the whole file. The right one gives rows of one length, and all
    quotes are closed.
    """
    tried = replace(dialect, escape=""), replace(dialect, escape="\\")
    widths = [_widths(path, each) for each in tried]
    possible = [each for each, found in zip(tried, widths, strict=True) if len(found) == 1]
    if not possible:  # the reader says which row is longer
        possible = [each for each, found in zip(tried, widths, strict=True) if found][:1]
    if len(possible) == 2:
        rows = ((row for row, _ in each.rows(path)) for each in possible)
        pairs = zip(*map(chain.from_iterable, rows), strict=False)
        differ = next((pair for pair in pairs if pair[0] != pair[1]), None)
        if differ is not None:
            raise InputError(
                f"{path}: a cell is {differ[0]!r} if its backslash is text, and {differ[1]!r} if "
                "it marks a quote that follows; write quotes in cells twice, and all such cells in "
                "quotes"
            )
    if not possible:
        raise InputError(
            f"{path} has backslashes before quotes, and it is not clear whether they are text: "
            "either way some quote is never closed, or another backslash marks nothing; write "
            "quotes in cells twice"
        )
    return possible[0]


def _widths(path: Path, dialect: Dialect) -> set[int]:
    """Return the lengths that rows have in this dialect; none if a quote or backslash is wrong."""
    try:
        return {len(row) for row, _ in dialect.rows(path)}
    except csv.Error:
        return set()


def _whole_records(dialect: Dialect, text: str, is_cut: bool) -> list[list[str]]:
    """Return the rows of a sample, without the last one where it may go on."""
    rows: list[list[str]] = []
    try:
        rows.extend(filter(None, dialect.reader(io.StringIO(text, newline=""))))
    except csv.Error:
        is_cut = True  # the reader of the whole file says where
    return rows[:-1] if is_cut and len(rows) > 1 else rows or [[""]]


def _has_single_quotes(start: str) -> bool:
    """Whether many cells are in single quotes."""
    lines = start.splitlines()[1:100]
    wrapped = sum(
        len(cell) > 2 and cell[0] == cell[-1] == "'"  # two quotes alone may be what was typed
        for line in lines
        for cell in line.replace(";", ",").replace("\t", ",").split(",")
    )
    return len(lines) > 0 and wrapped >= len(lines)


def named_columns(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    """Return the names of columns without empty ones at the end that have no cells."""
    n = len(names)
    while (
        n > 1
        and not names[n - 1]
        and all(_is_blank(cell) for row in rows for cell in row[n - 1 : n])
    ):
        n -= 1
    return list(names[:n])


def _is_blank(cell: Any) -> bool:
    return cell is None or not str(cell).strip()


def check_one_header(where: object, cells: Mapping[str, Sequence[str]]) -> None:
    """Refuse a second line of names or units above numbers."""
    odd, empty = [], {*MISSING, *MISSING_NUMBERS}
    for name, column in cells.items():
        rest = [cell for cell in column[1:] if cell.strip() not in empty]
        if len(rest) >= 3 and all(map(readings, rest)):
            if column[0].strip() in empty:
                continue
            if readings(column[0]):
                return
            odd.append((name, column[0]))
    if odd:
        name, cell = odd[0]
        raise InputError(
            f"{where} seems to have two header lines: below {name!r} stands {cell!r}, and then "
            "only numbers. Keep one line of names above the data"
        )


def has_tabs(path: Path) -> bool:
    """Whether a text file of this name has tabs between its values."""
    return plain_name(path).suffix.lower() in TAB_ENDINGS


def _check_separator(given: str) -> str:
    mark = _WORDS.get(given.lower(), given)
    if len(mark) != 1 or mark in "\r\n\"'" or mark.isalnum():
        option = for_user("sep", "--sep")
        raise InputError(
            f"{option} must be the character between cells, like ';' or ',' or tab; found {given!r}"
        )
    return mark


_FIRST_BYTES = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip", b"\x28\xb5\x2f\xfd": "zstd"}
PACKED_ENDINGS = (".gz", ".zip", ".zst")
"""Endings of the names of compressed files."""


def compression(path: Path) -> str | None:
    """Return how a file is compressed, None if it is not."""
    with path.open("rb") as file:
        start = file.read(4)
    return next((name for first, name in _FIRST_BYTES.items() if start.startswith(first)), None)


def plain_name(path: Path) -> Path:
    """Return the name of a file without the ending of its compression.

    Examples
    --------
    >>> plain_name(Path("people.csv.GZ")).name
    'people.csv'
    """
    return path.with_suffix("") if path.suffix.lower() in PACKED_ENDINGS else path


MOST_BYTES = "C2RF_MOST_BYTES"
"""Variable of the environment with the most bytes that a packed file may have when unpacked."""

MORE_BYTES = f"or raise the limit, {MOST_BYTES} in the environment"
_LEAST_LIMIT, _MOST_TIMES = 1 << 30, 100


def most_bytes(path: Path) -> int:
    """Return how many bytes a packed file may have when unpacked; tables are not packed further."""
    given = os.environ.get(MOST_BYTES, "")
    return int(given) if given.isdigit() else max(_LEAST_LIMIT, _MOST_TIMES * path.stat().st_size)


def check_unpacked(path: Path, n_bytes: int) -> None:
    """Refuse a packed file that would fill the memory."""
    if n_bytes > (most := most_bytes(path)):
        raise InputError(
            f"{path} has more than {most:,} bytes when unpacked, which no table or model has; "
            f"unpack it yourself, {MORE_BYTES}"
        )


def read_blocks(path: Path) -> Generator[bytes, None, None]:
    """Yield the content of a file, and stop where a packed one gets too large."""
    n_bytes, is_packed = 0, compression(path) is not None
    with opened(path) as file:
        while block := file.read(BLOCK):
            n_bytes += len(block)
            if is_packed:
                check_unpacked(path, n_bytes)
            yield block


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """Open a file to read what is in it, wherever it is compressed."""
    kind = compression(path)
    damaged = _DAMAGED if kind else ()
    try:
        with path.open("rb") as file:
            if kind == "gzip":
                yield gzip.GzipFile(fileobj=file)
            elif kind == "zip":
                with _only_member(file, path) as content:
                    yield content
            elif kind == "zstd":
                yield _zstd(file, path)
            else:
                yield file
    except damaged as error:
        raise InputError(f"{path} is a damaged or incomplete {kind} file: {error}") from error


_DAMAGED: tuple[type[Exception], ...] = (
    *(OSError, EOFError, OverflowError, struct.error),
    *(zlib.error, zipfile.BadZipFile, NotImplementedError),  # methods that Python does not know
)


@contextmanager
def _only_member(file: IO[bytes], path: Path) -> Iterator[IO[bytes]]:
    """Open the one file in a zip archive."""
    with zipfile.ZipFile(file) as archive:
        names = [name for name in archive.namelist() if _is_data(name)]
        if len(names) != 1:
            found = f"it holds {listed(names)}" if names else "it is empty"
            raise InputError(f"{path} must hold one file; {found}: unpack it and name the file")
        if archive.getinfo(names[0]).flag_bits & 1:
            raise InputError(f"{path} is encrypted; unpack it first")
        with archive.open(names[0]) as content:
            yield content


def _is_data(name: str) -> bool:
    hidden = name.startswith("__MACOSX/") or name.rpartition("/")[2].startswith(".")
    return not hidden and not name.endswith("/")


def _zstd(file: IO[bytes], path: Path) -> Any:
    if find_spec("pyarrow") is None:
        raise InputError(
            f'{path}: Zstandard needs pyarrow; pip install "c2rf[files]", or unpack the file'
        )
    import pyarrow as pa

    return pa.CompressedInputStream(file, "zstd")


_MARKS = (  # the longer ones first: UTF-32 begins like UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_NAMES = {
    "utf-8": "UTF-8",
    "utf-8-sig": "UTF-8 with a mark",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
    "utf-32": "UTF-32",
    "cp1252": "Windows-1252",
}
_NOT_WINDOWS = bytes([0x81, 0x8D, 0x8F, 0x90, 0x9D])


def encoding_name(encoding: str) -> str:
    """Return the usual name of an encoding.

    Examples
    --------
    >>> encoding_name("cp1252"), encoding_name("latin_1")
    ('Windows-1252', 'latin_1')
    """
    return _NAMES.get(encoding, encoding)


_NO_FILES = ("idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape")


def check_encoding(name: str) -> str:
    """Return the name under which Python knows an encoding of text.

    Examples
    --------
    >>> check_encoding("Windows-1252")
    'cp1252'
    """
    sample = "a..b;1,5\n" * 20
    try:
        if codecs.lookup(name).name in _NO_FILES or sample.encode(name).decode(name) != sample:
            raise LookupError
        return codecs.lookup(name).name
    except (LookupError, ValueError):
        option = for_user("encoding", "--encoding")
        raise InputError(
            f"{option} must be the name of an encoding, like utf-8, cp1252 or utf-16; found "
            f"{name!r}"
        ) from None


def find_encoding(path: Path) -> str:
    """Find the encoding of a text file by reading all of it.

    A byte order mark at the start decides. Else it is UTF-8 if all bytes are; if not, Windows-1252
    if all bytes mean something there. What holds zero bytes is UTF-16 or no text.
    """
    # By hand: charset_normalizer 3.5 took 23 of 38 small Windows-1252 tables of European towns for
    # another encoding, and nobody notices text that is decoded wrongly.
    with closing(read_blocks(path)) as blocks:
        block = next(blocks, b"")
        for mark, name in _MARKS:
            if block.startswith(mark):
                return name
        if wide := _utf16_without_mark(block[:1024]):
            return wide
        decoder = codecs.getincrementaldecoder("utf-8")()
        is_utf8 = is_windows = True
        while block:
            if b"\0" in block:
                raise InputError(f"{path} is not text: it holds zero bytes")
            is_windows = is_windows and not any(byte in block for byte in _NOT_WINDOWS)
            following = next(blocks, b"")
            try:
                if is_utf8:
                    decoder.decode(block, final=not following)
            except UnicodeDecodeError:
                is_utf8 = False
            block = following
    if is_utf8 or is_windows:
        return "utf-8" if is_utf8 else "cp1252"
    option = for_user('encoding="latin2"', "--encoding latin2")
    raise InputError(
        f"{path} is not UTF-8 text, nor Windows-1252; save it as UTF-8, or name its encoding, "
        f"like {option}"
    )


def without_mark(encoding: str) -> str:
    """Return the encoding for text that is not at the start of a file."""
    return {"utf-8-sig": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}.get(
        encoding, encoding
    )


def _utf16_without_mark(start: bytes) -> str | None:
    """Return which UTF-16 it is, if every other byte of most characters is zero."""
    even, odd = start[::2].count(0), start[1::2].count(0)
    if 4 * even < odd > len(start) // 4:
        return "utf-16-le"
    return "utf-16-be" if 4 * odd < even > len(start) // 4 else None
