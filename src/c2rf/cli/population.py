"""A population in files, looked at and turned into numbers a part at a time."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from c2rf.chunks import Chunk, ParquetFiles, TextFiles
from c2rf.cli.columns import Column, Look, are_numbers
from c2rf.cli.features import encode
from c2rf.cli.question import Groups
from c2rf.exceptions import InputError
from c2rf.sources import as_source
from c2rf.tables import holds_parquet

Progress = Callable[[str, int], None]
"""Is told what is being done, and with how many rows."""


class Population:
    r"""The unlabeled individuals in a file, or in a folder of files of the same columns.

    Parameters
    ----------
    path : Path
        A file, or a folder of Parquet or CSV files.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in ("a", "b"):
    ...     _ = (folder / f"{name}.csv").write_text(f"id,age\n{name},41\n")
    >>> population = Population(folder)
    >>> [part["id"].tolist() for part in population.parts(["id"])]
    [['a'], ['b']]
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.files: ParquetFiles | TextFiles
        if path.is_dir():
            self.files = as_source(path)  # type: ignore[assignment]
        else:
            self.files = (ParquetFiles if holds_parquet(path) else TextFiles)((path,))
        self.header = self._header()

    @property
    def names(self) -> list[str]:
        """The names of its columns."""
        return [str(name) for name in self.header]

    def _header(self) -> pd.DataFrame:
        """Return a table without rows that has all columns, with their types if they have any."""
        if isinstance(self.files, TextFiles):
            return pd.DataFrame(columns=self.files.names, dtype=object)
        empty = self.files.schema.empty_table()
        return empty.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True)

    def tables(self, columns: Sequence[str]) -> Iterator[Chunk]:
        """Read some columns from the start, a part at a time; empty parts are left out."""
        return (chunk for chunk in self.files.tables(columns) if len(chunk.data))

    def parts(self, columns: Sequence[str]) -> Generator[pd.DataFrame]:
        """Read some columns from the start, a part at a time."""
        return (chunk.data for chunk in self.tables(columns))

    def survey(self, looks: Sequence[Look], group: str | None, progress: Progress) -> Survey:
        """Find out what the columns hold, how many rows there are and of which groups.

        Columns whose type says that they are numbers need not be read for that.
        """
        wanted = [look for look in looks if not self._says_numbers(look)]
        columns = list(
            dict.fromkeys([*(look.name for look in wanted), *([group] if group else [])])
        )
        if not columns and isinstance(self.files, ParquetFiles):
            return Survey(self.files.n_rows, Groups(None, ["all"], _no_groups(self.files.n_rows)))
        gathering = _Gathering(group)
        for table, where in self.tables(columns or self.names[:1]):
            for look in wanted:
                look.at(table[look.name], where)
            gathering.add(table)
            progress("looking at the columns", gathering.n_rows)
        return Survey(gathering.n_rows, gathering.groups())

    def _says_numbers(self, look: Look) -> bool:
        return look.takes_numbers and are_numbers(self.header[look.name].dtype)


class Survey:
    """How many rows there are, and their groups."""

    def __init__(self, n_rows: int, groups: Groups) -> None:
        self.n_rows, self.groups = n_rows, groups


class _Gathering:
    """The groups of rows, numbered as they appear."""

    def __init__(self, column: str | None) -> None:
        self.column, self.n_rows = column, 0
        self._numbers: dict[str, int] = {}
        self._parts: list[NDArray[np.int32]] = []

    def add(self, table: pd.DataFrame) -> None:
        self.n_rows += len(table)
        if self.column is None:
            return
        part = Groups.of(table, self.column)
        numbers = [self._numbers.setdefault(name, len(self._numbers)) for name in part.names]
        self._parts.append(np.array(numbers, dtype=np.int32)[part.codes])

    def groups(self) -> Groups:
        """Return all groups, in alphabetical order as of a table in memory."""
        if self.column is None:
            return Groups(None, ["all"], _no_groups(self.n_rows))
        names = sorted(self._numbers)
        places: Any = np.empty(len(names), dtype=np.int32)
        places[[self._numbers[name] for name in names]] = np.arange(len(names))
        codes: Any = np.concatenate(self._parts)  # four bytes each are enough
        return Groups(self.column, names, places[codes])


def _no_groups(n_rows: int) -> Any:
    """Return the number 0 for all rows, without taking memory for each."""
    return np.broadcast_to(np.int64(0), n_rows)


class Encoded:
    """The population as numbers: a callable that starts afresh, as classifiers take it.

    ``missing`` counts the empty cells of columns of numbers, once all were read.
    """

    def __init__(
        self, population: Population, encoder: Any, columns: Sequence[Column], progress: Progress
    ) -> None:
        self._population, self._encoder, self._progress = population, encoder, progress
        self._columns = [column.name for column in columns]
        self._numbers = [column.name for column in columns if column.kind == "numbers"]
        self.missing: dict[str, int] = {}

    def __call__(self) -> Iterator[NDArray[np.float64]]:
        """Read it from the start."""
        missing, n_rows = np.zeros(len(self._numbers), dtype=np.int64), 0
        for table, where in self._population.tables(self._columns):
            try:
                encoded = encode(self._encoder, table)
            except InputError as error:
                raise InputError(f"{where}: {error}") from error
            # The encoder puts columns of numbers first.
            missing += np.isnan(encoded[:, : len(missing)]).sum(axis=0)
            n_rows += len(encoded)
            yield encoded
            self._progress("reading", n_rows)
        self.missing = dict(zip(self._numbers, missing.tolist(), strict=True))
