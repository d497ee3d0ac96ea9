"""CSV and TSV files, read a part at a time in the dialect they are written in.

Cells stay text, because what is written back must be what was read: 007 is not 7. Only numbers
with a decimal comma or with marks between thousands are put into plain form, 1234.5; how they
were written is remembered for the output.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from c2rf._utils.text import for_user
from c2rf._utils.types import Columns
from c2rf.data.cells import CellFiles, PlainNumbers
from c2rf.data.dialect import AS_FOUND, Layout, ReadAs, check_names, find_layout, reading
from c2rf.data.formats.arrow import ROWS_PER_CHUNK, check_same_columns, wanted_columns
from c2rf.data.opening import compression, opened
from c2rf.exceptions import C2RFError, InputError

_BLOCK = 1 << 24


@dataclass(frozen=True)
class TextFiles(CellFiles):
    """CSV or TSV files with the same columns."""

    paths: tuple[Path, ...]
    how: ReadAs = AS_FOUND
    rows: int = ROWS_PER_CHUNK

    def tables(self, columns: Columns = None) -> Iterator[tuple[pd.DataFrame, str]]:
        """Read these columns as text, in this order, and say where they are."""
        for path in self.paths:
            names = self._names(path)
            check_same_columns(names, self.names, path, self.paths[0])
            wanted = wanted_columns(columns, names, str(path))
            yield from _parts(path, self.layout(path), wanted, self.rows)

    n_rows: None = None

    @property
    def header(self) -> pd.DataFrame:
        """A table without rows that has all columns."""
        return pd.DataFrame(columns=self.names, dtype=object)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return self._names(self.paths[0])

    def layout(self, path: Path | None = None) -> Layout:
        """Return how a file is written, the first if none is named."""
        path = path or self.paths[0]
        with reading(path):
            status = path.stat()
            return _layout(path, self.how, status.st_size, status.st_mtime_ns)

    def _names(self, path: Path) -> list[str]:
        return list(self.layout(path).names)


@lru_cache(maxsize=256)
def _layout(path: Path, how: ReadAs, size: int, changed: int) -> Layout:
    """Look at a file once, and again if it has changed."""
    layout = find_layout(path, how)
    check_names(path, layout.names, layout.dialect.separator)
    return layout


def read_text(path: Path, how: ReadAs) -> tuple[pd.DataFrame, Layout]:
    """Read a whole text file."""
    files = TextFiles((path,), how)
    parts = [frame for frame, _ in files.tables()]
    if not parts:
        raise InputError(f"{path} has a header but no rows")
    return pd.concat(parts, ignore_index=True), files.layout()


def _parts(
    path: Path, layout: Layout, wanted: Sequence[str], rows: int
) -> Iterator[tuple[pd.DataFrame, str]]:
    """Yield parts of a file, numbers in plain form."""
    size, start = path.stat().st_size, 1
    plain = PlainNumbers(path, layout.dialect)
    for block in _checked(_blocks(path, layout), path):
        _check_no_more_cells(block, layout, path)
        named = block.iloc[:, : len(layout.names)].set_axis(list(layout.names), axis="columns")
        cells = plain(named[list(wanted)], start)
        for k in range(0, len(cells), rows):
            yield cells.iloc[k : k + rows], f"{path}, from data row {start + k}"
        start += len(cells)
    if path.stat().st_size != size:
        raise InputError(f"{path} has changed while it was read; wait until it is complete")


def _checked(blocks: Iterator[pd.DataFrame], path: Path) -> Iterator[pd.DataFrame]:
    """Yield blocks; errors in reading them, not in using them, name the file."""
    while True:
        with reading(path):
            try:
                block = next(blocks, None)
            except (C2RFError, OSError, UnicodeError):
                raise
            except Exception as error:  # of the parser, whatever it is
                reason = str(error).strip().splitlines()[0]
                if reason == "unexpected end of data":
                    reason = "a quote is opened and never closed"
                raise InputError(f"{path} is not a table of separated values: {reason}") from error
        if block is None:
            return
        yield block


def _blocks(path: Path, layout: Layout) -> Iterator[pd.DataFrame]:
    """Yield the rows below the header as frames of text, by the quicker reader that is here."""
    if find_spec("pyarrow") is None or layout.dialect.escape:
        return _by_python(path, layout)
    return _by_arrow(path, layout)


def _by_arrow(path: Path, layout: Layout) -> Iterator[pd.DataFrame]:
    """Read with Arrow; what it refuses is left to Python, which can say where."""
    import pyarrow as pa

    start, last = 1, None  # the header
    with ExitStack() as stack:
        source: Any = path
        if compression(path) is not None:
            source = stack.enter_context(opened(path))
        try:
            for batch in _batches(source, layout):
                frame = batch.slice(start).to_pandas()
                start = max(0, start - batch.num_rows)
                last = frame.iloc[-1, -1] if len(frame) else last
                yield frame
        except pa.ArrowInvalid:
            for _ in _by_python(path, layout):
                pass
            raise
    _check_last_quote(path, layout, last)


def _batches(source: Any, layout: Layout) -> Any:
    import pyarrow as pa
    from pyarrow import csv as arrow

    dialect = layout.dialect
    kinds = {f"f{k}": pa.string() for k in range(layout.n_cells)}
    return arrow.open_csv(
        source,
        arrow.ReadOptions(
            block_size=_BLOCK,
            skip_rows=layout.n_above,
            autogenerate_column_names=True,
            encoding=dialect.encoding,
        ),
        arrow.ParseOptions(
            delimiter=dialect.separator, quote_char=dialect.quote, newlines_in_values=True
        ),
        arrow.ConvertOptions(column_types=kinds, strings_can_be_null=False),
    )


def _by_python(path: Path, layout: Layout) -> Iterator[pd.DataFrame]:
    """Read with Python's own reader, which is slower and knows the lines."""
    dialect, n_cells = layout.dialect, layout.n_cells
    with opened(path) as file, ExitStack() as stack:
        text = stack.enter_context(io.TextIOWrapper(file, dialect.encoding, newline=""))
        rows = csv.reader(
            text,
            delimiter=dialect.separator,
            quotechar=dialect.quote,
            escapechar=dialect.escape or None,
            doublequote=not dialect.escape,
            strict=True,
        )
        below = islice(rows, layout.n_above, None)
        good = _of_equal_length((row for row in below if row), rows, n_cells, path)
        next(good)
        while some := list(islice(good, ROWS_PER_CHUNK)):
            yield pd.DataFrame(some, dtype=str)


def _of_equal_length(
    rows: Iterable[list[str]], reader: Any, n_cells: int, path: Path
) -> Iterator[list[str]]:
    for row in rows:
        if len(row) != n_cells:
            title = " If there is a title above the names, remove it." if len(row) > n_cells else ""
            if n_cells == 1:
                title += f" Or say what is between cells with {for_user('sep', '--sep')}."
            raise InputError(
                f"{path}: line {reader.line_num} has {len(row)} cells, but the header has "
                f"{n_cells}. Correct the line; a cell with the separator in it needs quotes.{title}"
            )
        yield row


def _check_no_more_cells(frame: pd.DataFrame, layout: Layout, path: Path) -> None:
    """Refuse cells right of the columns that have names."""
    for k in range(len(layout.names), layout.n_cells):
        if (frame.iloc[:, k].str.strip() != "").any():
            raise InputError(
                f"{path}: column {k + 1} has no name; name it in the first line, or empty it"
            )


def _check_last_quote(path: Path, layout: Layout, last: str | None) -> None:
    """Refuse a file whose last cell is all that follows a quote that was never closed."""
    if last is not None and "\n" in last:
        for _ in _by_python(path, layout):  # which knows whether it is closed
            pass
