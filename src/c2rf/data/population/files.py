"""A population in files of one format, read a chunk at a time from the start, again and again.

Every chunk comes with its place, so that an error can say where to look.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from c2rf._utils.types import Columns
from c2rf.data.cells import numbers_or_text
from c2rf.data.dialect import AS_FOUND, PACKED_ENDINGS, ReadAs
from c2rf.data.formats import (
    PARQUET,
    ROWS_PER_CHUNK,
    TEXT,
    Format,
    check_same_columns,
    check_unchanged,
    file_identity,
    find_format,
    naming_source,
    plain_path,
    wanted_columns,
)
from c2rf.data.population.interface import CHANGED, Population
from c2rf.exceptions import InputError

_TABLE_ENDINGS = (
    *PARQUET.endings,
    *(text + packed for text in (".csv", ".tsv", ".tab") for packed in ("", *PACKED_ENDINGS)),
)


class Files(Population):
    """Files of one format with the same columns.

    Parameters
    ----------
    paths : sequence of Path
        The files, in the order in which they are read.
    kind : Format
        Their format.
    how : ReadAs
        What the user has named.
    as_tables : bool
        Whether cells are as ``read_file`` has them, those of text files as text; else columns
        have the types of numpy, and text is numbers where all cells of a chunk are.
    rows : int
        The most rows of a chunk.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        kind: Format,
        how: ReadAs = AS_FOUND,
        *,
        as_tables: bool = False,
        rows: int = ROWS_PER_CHUNK,
    ) -> None:
        kind.check_in_chunks(paths[0])
        self.paths, self.kind, self.how = tuple(paths), kind, how
        self.as_tables, self.rows = as_tables, rows
        self.folders: tuple[Path, ...] = ()
        self._identities = [file_identity(path) for path in self.paths]
        if kind is PARQUET:
            self.n_rows = sum(map(kind.module.n_rows, paths))
        if kind is TEXT:
            self.dialect = kind.module.dialect(paths[0], how)
        self.read_as = str(self.dialect or kind.name)

    @cached_property
    def names(self) -> list[str]:  # type: ignore[override]
        """The names of the columns."""
        return self.kind.names(self.paths[0], self.how)

    @cached_property
    def schema(self) -> Any:
        """The common types of the columns of Parquet and Arrow files."""
        return self.kind.module.common_schema(self.paths)

    def read(self, columns: Columns = None) -> Iterator[tuple[Any, str]]:
        """Read the files one after the other."""
        options = {"schema": self.schema} if self.as_tables and self._has_types else {}
        there = {path for folder in self.folders for path in _files_in(folder)}
        if added := there.difference(self.paths):
            raise InputError(
                f"{min(added)} was not there when its folder was first read; {CHANGED}"
            )
        for path, identity in zip(self.paths, self._identities, strict=True):
            check_unchanged(path, identity)
            names = self.kind.names(path, self.how)
            check_same_columns(names, self.names, path, self.paths[0])
            wanted = wanted_columns(self.names if columns is None else columns, names, path)
            chunks = self.kind.module.chunks(path, self.how, wanted, self.rows, **options)
            for table, where in chunks:
                if not self.as_tables and not self._has_types:
                    table = table.apply(numbers_or_text)
                yield table if self.as_tables or columns is not None else table.to_numpy(), where
            check_unchanged(path, identity)

    @property
    def _has_types(self) -> bool:
        return self.kind.reader == "formats.arrow"


def find_files(given: Sequence[Any], how: ReadAs = AS_FOUND, *, as_tables: bool = False) -> Files:
    """Return the rows of all these files and folders, which must be of one format."""
    paths = [path for each in given for path in _files_in(Path(each))]
    kinds = [find_format(path) for path in paths]
    for path, kind in zip(paths, kinds, strict=True):
        if kind is not kinds[0]:
            raise InputError(
                f"files must be of one format, all Parquet or all CSV; found both {paths[0]} and "
                f"{path}: name the ones to read"
            )
    files = Files(paths, kinds[0], how, as_tables=as_tables)
    files.folders = tuple(folder for folder in map(Path, given) if folder.is_dir())
    return files


def _files_in(path: Path) -> list[Path]:
    """Return the file itself, or the tables in a folder and its subfolders, in order."""
    if not path.is_dir():
        with naming_source(path), plain_path(path).open("rb"):
            return [path]
    found = sorted(each for each in path.rglob("*") if each.is_file() and _is_table(each, path))
    if not found:
        raise InputError(f"the folder {path} holds no Parquet or CSV file")
    return found


def _is_table(file: Path, folder: Path) -> bool:
    """Say whether a file in a folder is a table; dots and underscores mark what is not data."""
    hidden = any(name.startswith((".", "_")) for name in file.relative_to(folder).parts)
    return not hidden and file.name.lower().endswith(_TABLE_ENDINGS)
