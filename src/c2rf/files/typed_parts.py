"""Files of formats with types, other than Parquet, read a part at a time, again and again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pandas as pd

from c2rf._typing import Columns
from c2rf.files.cell_files import CellFiles
from c2rf.files.dialect import AS_FOUND, ReadAs
from c2rf.files.parquet_parts import ROWS_PER_CHUNK, check_same_columns, wanted_columns
from c2rf.files.reading_errors import check_names, reading
from c2rf.files.tables import Format, plain_path


@dataclass(frozen=True)
class TypedFiles(CellFiles):
    """Files of one format with the same columns."""

    paths: tuple[Path, ...]
    kind: Format
    how: ReadAs = AS_FOUND
    rows: int = ROWS_PER_CHUNK

    def tables(self, columns: Columns = None) -> Iterator[tuple[pd.DataFrame, str]]:
        """Read these columns, in this order, and say where they are."""
        first = self.names
        for path in self.paths:
            names = self._names(path)
            check_same_columns(names, first, path, self.paths[0])
            wanted = wanted_columns(columns, names, str(path))
            for part, start in self.kind.module.parts(path, self.how, wanted, self.rows):
                yield part, f"{path}, from data row {start}"

    n_rows: None = None

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return self._names(self.paths[0])

    def _names(self, path: Path) -> list[str]:
        self.kind.check_package(path)
        with reading(path):
            status = plain_path(path).stat()
        return list(_find_names(path, self.kind, self.how, status.st_size, status.st_mtime_ns))


@lru_cache(maxsize=256)
def _find_names(path: Path, kind: Format, how: ReadAs, size: int, changed: int) -> tuple[str, ...]:
    """Look at a file once, and again if it has changed: JSON lines name columns anywhere."""
    names = kind.module.names(path, how)
    check_names(path, names)
    return tuple(names)
