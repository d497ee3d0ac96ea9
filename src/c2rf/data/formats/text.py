"""Read CSV and TSV files of any dialect (separator, quotes, encoding, decimal mark).

Cells are kept as text, so that 007 is written back as 007 and not as 7. Only numbers with a decimal
comma or thousands separators are converted, to the form 1234.5; the dialect, which is returned too,
says how to write them back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from c2rf._utils.text import for_user
from c2rf.data.cells import plain_numbers
from c2rf.data.dialect import BLOCK, Dialect, ReadAs, compression, find_dialect, opened
from c2rf.data.formats import ROWS_PER_CHUNK, ReadTable, check_names, naming_source, once_per_file
from c2rf.exceptions import C2RFError, InputError


def read(path: Path, how: ReadAs) -> ReadTable:
    """Read a whole file."""
    tables = [table for table, _ in chunks(path, how, names(path, how), ROWS_PER_CHUNK)]
    if not tables:
        raise InputError(f"{path} has a header but no rows")
    found = dialect(path, how)
    return ReadTable(pd.concat(tables, ignore_index=True), str(found), found)


def names(path: Path, how: ReadAs) -> list[str]:
    """Return the names of the columns."""
    return list(dialect(path, how).names)


def chunks(
    path: Path, how: ReadAs, columns: Sequence[str], n_rows: int
) -> Iterator[tuple[pd.DataFrame, str]]:
    """Yield the columns in chunks of at most ``n_rows`` rows, as text, and where each begins."""
    found, start = dialect(path, how), 1
    for block in _blocks(path, found):
        _check_unnamed_columns(block, found, path)
        table = block.iloc[:, : len(found.names)].set_axis(list(found.names), axis="columns")
        table = plain_numbers(table[list(columns)], found, path, start)
        for k in range(0, len(table), n_rows):
            yield table.iloc[k : k + n_rows], f"{path}, from data row {start + k}"
        start += len(table)


@once_per_file
def dialect(path: Path, how: ReadAs) -> Dialect:
    """Return how a file is written, and the names of its columns."""
    found = find_dialect(path, how)
    check_names(path, found.names, found)
    return found


def _blocks(path: Path, dialect: Dialect) -> Iterator[pd.DataFrame]:
    """Yield the rows below the header as frames of text, read with Arrow if possible."""
    use_arrow = find_spec("pyarrow") is not None and not dialect.escape
    with naming_source(path):
        try:
            yield from (_by_arrow if use_arrow else _by_python)(path, dialect)
        except (C2RFError, OSError, UnicodeError):
            raise
        except Exception as error:  # whatever the parser raises
            reason = str(error).strip().splitlines()[0]
            if reason == "unexpected end of data":
                reason = "a quote is opened and never closed"
            raise InputError(f"{path} is not a table of separated values: {reason}") from error


def _by_arrow(path: Path, dialect: Dialect) -> Iterator[pd.DataFrame]:
    """Read with Arrow; if it fails, read with Python, whose error message names the line."""
    import pyarrow as pa

    start, last = 1, None  # row 0 is the header
    with ExitStack() as stack:
        source: Any = path
        if compression(path) is not None:
            source = stack.enter_context(opened(path))
        try:
            for batch in _batches(source, dialect):
                frame = batch.slice(start).to_pandas()
                start = max(0, start - batch.num_rows)
                last = frame.iloc[-1, -1] if len(frame) else last
                yield frame
        except pa.ArrowInvalid:
            for _ in _by_python(path, dialect):
                pass
            raise
    _check_last_quote(path, dialect, last)


def _batches(source: Any, dialect: Dialect) -> Any:
    import pyarrow as pa
    from pyarrow import csv as arrow

    kinds = {f"f{k}": pa.string() for k in range(dialect.n_cells)}
    return arrow.open_csv(
        source,
        arrow.ReadOptions(
            block_size=BLOCK,
            skip_rows=dialect.n_above,
            autogenerate_column_names=True,
            encoding=dialect.encoding,
        ),
        arrow.ParseOptions(
            delimiter=dialect.separator, quote_char=dialect.quote, newlines_in_values=True
        ),
        arrow.ConvertOptions(column_types=kinds, strings_can_be_null=False),
    )


def _by_python(path: Path, dialect: Dialect) -> Iterator[pd.DataFrame]:
    """Read with Python's csv module, which is slower but knows line numbers."""
    rows = records(path, dialect)
    next(rows)  # the header
    while some := list(islice(rows, ROWS_PER_CHUNK)):
        yield pd.DataFrame(some, dtype=str)


def records(path: Path, dialect: Dialect) -> Iterator[list[str]]:
    """Yield the names and the rows that are not empty; refuse one with more or fewer cells."""
    n_cells = dialect.n_cells
    for row, line in dialect.rows(path):
        if len(row) != n_cells:
            hint = "" if len(row) < n_cells else " If there is a title above the names, remove it."
            if n_cells == 1:
                hint += f" Or give the separator with {for_user('sep', '--sep')}."
            raise InputError(
                f"{path}: line {line} has {len(row)} cells, but the header has {n_cells}. Correct "
                f"the line; a cell with the separator in it needs quotes.{hint}"
            )
        yield row


def _check_unnamed_columns(frame: pd.DataFrame, dialect: Dialect, path: Path) -> None:
    """Refuse columns without a name that are not empty."""
    for k in range(len(dialect.names), dialect.n_cells):
        if (frame.iloc[:, k].str.strip() != "").any():
            raise InputError(
                f"{path}: column {k + 1} has no name; name it in the first line, or empty it"
            )


def _check_last_quote(path: Path, dialect: Dialect, last: str | None) -> None:
    """Refuse a quote that is never closed: Arrow puts the rest of the file into the last cell."""
    if last is not None and "\n" in last:
        for _ in _by_python(path, dialect):  # raises an error if the quote is not closed
            pass
