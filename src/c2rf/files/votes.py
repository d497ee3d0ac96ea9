"""Files of votes: CSV, or arrays of numpy."""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from c2rf._text import all_of
from c2rf.core.votes import check_votes
from c2rf.exceptions import InputError, InputTypeError
from c2rf.files.dialect import SEPARATORS
from c2rf.files.reading_errors import reading

ZEROS = "votes are 0 and 1; 0 is taken as -1"
"""What is said of votes without -1."""


def read_votes(
    path: Path, rows_at_once: int = 1 << 16, *, say: Callable[[str], None] | None = None
) -> NDArray[np.int8]:
    r"""Read a file of votes, -1 or +1 or else 0 or 1, a line per row to label, a column per tree.

    The first line of a CSV file may be a header: names, or the numbers from 0 that pandas writes.
    Arrays of numpy (.npy, or .npz with one array) are read, too.

    Parameters
    ----------
    path : Path
        The file.
    rows_at_once : int
        How many rows of a CSV file are looked at together.
    say : callable, optional
        Is called with what was found out about the votes.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "votes.csv"
    >>> _ = path.write_text("a,b\n1,-1\n1,0\n")
    >>> read_votes(path)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputError: ... found '0' in data row 2, column 2 ('b')
    >>> _ = path.write_text("a,b\n1,0\n1,1\n")
    >>> read_votes(path, say=print).tolist()
    votes are 0 and 1; 0 is taken as -1
    [[1, -1], [1, 1]]
    """
    with reading(path), path.open("rb") as file:
        start = file.read(6)
    if start == b"\x93NUMPY" or start.startswith(b"PK"):
        return _checked(_array(path), path, say)
    try:
        with reading(path), path.open(encoding="utf-8-sig", newline="") as text:
            return _read_text(text, path, rows_at_once, say)
    except pd.errors.EmptyDataError as error:
        raise InputError(f"{path} is empty or has a header but no rows") from error
    except pd.errors.ParserError as error:
        reason = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        raise InputError(f"{path} is not a table of votes: {reason}") from error


def _read_text(
    text: TextIO, path: Path, rows_at_once: int, say: Callable[[str], None] | None
) -> NDArray[np.int8]:
    separator, header = _take_header(text)
    chunks = pd.read_csv(
        text,
        sep=separator,
        header=None,
        na_filter=False,
        chunksize=rows_at_once,
        low_memory=False,
    )
    parts: list[NDArray[np.int8]] = []
    has_minus = has_zero = False
    for chunk in chunks:
        cells = chunk.to_numpy()
        numbers = np.issubdtype(cells.dtype, np.number)
        has_minus |= bool(numbers and (cells == -1).any())
        has_zero |= bool(numbers and (cells == 0).any())
        allowed = (0, 1) if has_zero and not has_minus else (-1, 1)
        if not numbers or not np.isin(cells, allowed).all() or (has_minus and has_zero):
            raise InputError(f"{path}: {_first_bad_vote(chunk, header, allowed)}")
        parts.append(cells.astype(np.int8))
    votes = np.concatenate(parts)
    if header and len(header) != votes.shape[1]:
        raise InputError(
            f"{path}: the header names {len(header)} columns; found rows of {votes.shape[1]} votes"
        )
    return _checked(votes, path, say)


def _array(path: Path) -> NDArray[Any]:
    """Return the array of a file of numpy, which must not hold objects."""
    try:
        with path.open("rb") as file:  # numpy leaves what it opens open where it fails
            found = np.load(file, allow_pickle=False)
            if isinstance(found, np.ndarray):
                return found
            if len(found.files) != 1:
                raise InputError(f"{path} must hold one array; it holds {all_of(found.files)}")
            return np.asarray(found[found.files[0]])
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} is not a complete file of numpy's numbers: {error}") from error


def _checked(
    votes: NDArray[Any], path: Path, say: Callable[[str], None] | None
) -> NDArray[np.int8]:
    """Return votes of -1 and +1; a file without -1 may have 0 for it."""
    try:
        if votes.dtype == bool:
            votes = votes.astype(np.int8)
        if votes.size and np.issubdtype(votes.dtype, np.number):
            values = np.unique(votes)
            if values[0] == 0 and values[-1] <= 1:
                votes = votes.astype(np.result_type(votes, np.int8))  # some types have no -1
                votes[votes == 0] = -1
                if say is not None:
                    say(ZEROS)
        return check_votes(votes)
    except (InputError, InputTypeError) as error:
        raise InputError(f"{path}: {error}") from error


def _take_header(file: TextIO) -> tuple[str, list[str]]:
    """Return the separator and the names in the first line, and stay behind it if it has any."""
    for line in file:
        if line.strip():
            separator = max(SEPARATORS, key=lambda sign: (line.count(sign), sign == ","))
            cells = [cell.strip() for cell in next(csv.reader([line], delimiter=separator))]
            numbered = len(cells) > 1 and cells == [str(k) for k in range(len(cells))]
            numbered = numbered and cells != ["0", "1"]  # which may be votes
            # A line with some numbers is a row with a mistake: never drop it as a header.
            if numbered or not any(cell == "" or _is_number(cell) for cell in cells):
                return separator, cells
            break
    else:
        separator = ","
    file.seek(0)
    return separator, []


def _is_number(text: str) -> bool:
    """Whether Python reads the text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _first_bad_vote(chunk: pd.DataFrame, header: Sequence[str], allowed: tuple[int, int]) -> str:
    """Say which cell of a chunk of the file is the first that is no vote."""
    text = chunk.astype(str)
    votes = text.apply(pd.to_numeric, errors="coerce").isin(allowed)
    row, column = (int(k) for k in np.argwhere(~votes.to_numpy())[0])
    name = f" ({header[column]!r})" if column < len(header) else ""
    return (
        f"votes must be -1 or +1, or else all 0 or 1; found {text.iat[row, column]!r} "
        f"in data row {int(chunk.index[row]) + 1}, column {column + 1}{name}"
    )
