"""Populations too large for memory: sources of chunks that can be read again and again.

A population is read more than once, first to count and then to label. :func:`as_source` turns what
a user has, files, datasets, lazy frames or chunks of his own, into a source that starts afresh each
time. Every chunk knows where it comes from, so that an error can say where to look.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from c2rf.chunks import (
    ROWS_PER_CHUNK,
    Chunk,
    Columns,
    ParquetFiles,
    TextFiles,
    as_frame,
    named,
    naming_source,
    wanted_columns,
)
from c2rf.exceptions import InputError, InputTypeError
from c2rf.files import reading
from c2rf.tables import (
    check_pyarrow,
    is_parquet,
)

_TEXT_ENDINGS = (".csv", ".tsv", ".tab", ".csv.gz", ".tsv.gz", ".tab.gz")
_ONCE = ("RecordBatchReader", "Scanner")


class Source(Protocol):
    """A population that can be read again and again."""

    def chunks(self, columns: Columns = None) -> Iterator[Chunk]:
        """Read it from the start: only these columns, in this order, as frames.

        Without columns, all of them as plain arrays. What has no names of its own ignores this.
        """


def as_source(given: Any, name: str = "X_unlabeled") -> Source | None:
    """Return a population as a source of chunks, or None if it is a table in memory.

    Parameters
    ----------
    given : object
        A path or a list of paths (files or folders of Parquet or CSV), a pyarrow dataset or table,
        a Polars LazyFrame, a list or another re-iterable of chunks (arrays or frames), or a
        callable that returns a fresh iterator of chunks.
    name : str
        What the user calls it.

    Returns
    -------
    Source or None

    Examples
    --------
    >>> source = as_source([np.zeros((2, 3)), np.ones((1, 3))])
    >>> [(chunk.where, chunk.data.shape) for chunk in source.chunks()]
    [('chunk 0', (2, 3)), ('chunk 1', (1, 3))]
    >>> as_source(np.zeros((2, 3))) is None
    True
    >>> as_source(iter([np.zeros((2, 3))]))
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputTypeError: X_unlabeled is read more than once, to count and to label, but \
a list_iterator can be read only once; give a list of chunks, a callable that returns a fresh \
iterator (lambda: ...), or a path
    """
    kind = type(given)
    package = kind.__module__.partition(".")[0]
    if _is_path(given) or (_is_listing(given) and all(map(_is_path, given))):
        return _of_files([given] if _is_path(given) else given)
    if package == "pyarrow" and kind.__name__ == "Table":
        return _of_table(given)
    if package == "pyarrow" and hasattr(given, "get_fragments"):
        return ArrowDataset(given)
    if package == "polars" and kind.__name__ == "LazyFrame":
        return LazyFrames(given)
    if isinstance(given, Iterator) or (package == "pyarrow" and kind.__name__ in _ONCE):
        raise InputTypeError(
            f"{name} is read more than once, to count and to label, but a {kind.__name__} can be "
            "read only once; give a list of chunks, a callable that returns a fresh iterator "
            "(lambda: ...), or a path"
        )
    if _is_chunks(given):
        return Chunks(given, name)
    return None


@dataclass(frozen=True)
class Chunks:
    """Chunks that the user makes: a re-iterable of them, or a callable that returns one."""

    made_by: Iterable[Any] | Callable[[], Iterable[Any]]
    name: str = "X_unlabeled"
    _seen: list[Any] = field(default_factory=list, repr=False, compare=False)

    def chunks(self, columns: Columns = None) -> Iterator[Chunk]:
        """Read them from the start."""
        for k, data in enumerate(self._fresh()):
            if not hasattr(data, "shape") or len(data.shape) != 2:
                raise InputTypeError(
                    f"chunk {k} of {self.name} must be a 2-D array or a data frame; found "
                    f"{_description(data)}"
                )
            package = type(data).__module__.partition(".")[0]
            yield Chunk(as_frame(data) if package == "pyarrow" else data, f"chunk {k}")

    def _fresh(self) -> Iterable[Any]:
        if not callable(self.made_by):
            return self.made_by
        made = self.made_by()
        if not isinstance(made, Iterable):
            raise InputTypeError(
                f"the callable given as {self.name} must return an iterator of chunks; it returned "
                f"{_description(made)}"
            )
        if isinstance(made, Iterator):
            if any(made is seen for seen in self._seen):
                raise InputTypeError(
                    f"the callable given as {self.name} must return a fresh iterator each time; it "
                    "returned the same one again"
                )
            self._seen[:] = [made]
        return made


@dataclass(frozen=True)
class ArrowDataset:
    """A pyarrow dataset, read file by file; a filtered one as a whole."""

    dataset: Any
    rows: int = ROWS_PER_CHUNK

    def chunks(self, columns: Columns = None) -> Iterator[Chunk]:
        """Read it from the start, in its own order."""
        wanted = wanted_columns(columns, self.dataset.schema.names, "the dataset")
        for part, where, schema in self._parts():
            batches = part.to_batches(columns=wanted, batch_size=self.rows, **_READ_AHEAD, **schema)
            for batch in named(batches, where):
                yield Chunk(_data(batch, wanted, columns), where)

    def _parts(self) -> Iterator[tuple[Any, str, dict[str, Any]]]:
        """Yield what can be read on its own, and what to call it."""
        try:
            fragments = list(self.dataset.get_fragments())
        except ValueError:  # a filtered dataset does not tell its fragments
            yield self.dataset, "the dataset", {}
            return
        for k, fragment in enumerate(fragments):
            where = getattr(fragment, "path", f"fragment {k} of the dataset")
            yield fragment, where, {"schema": self.dataset.schema}


@dataclass(frozen=True)
class LazyFrames:
    """A Polars LazyFrame, collected batch by batch; its rows must have a fixed order."""

    frame: Any
    rows: int = ROWS_PER_CHUNK

    def chunks(self, columns: Columns = None) -> Iterator[Chunk]:
        """Run the query from the start."""
        if not hasattr(self.frame, "collect_batches"):
            raise InputError("a LazyFrame needs polars 1.34 or later; pip install -U polars")
        where = "the LazyFrame"
        with naming_source(where):
            names = self.frame.collect_schema().names()
        wanted = wanted_columns(columns, names, where)
        batches = self.frame.select(wanted).collect_batches(chunk_size=self.rows)
        start = 0
        for batch in named(batches, where):
            data = batch.to_numpy() if columns is None else batch
            yield Chunk(data, f"{where}, from row {start}")
            start += len(batch)


# More would be read far ahead, which costs memory.
_READ_AHEAD = {"batch_readahead": 2, "fragment_readahead": 1}


def _of_files(given: Sequence[Any]) -> Source:
    """Return the files in all these files and folders, which must be of one kind."""
    paths = [path for each in given for path in _files_in(Path(each))]
    parquet = [path for path in paths if is_parquet(path)]
    if not parquet:
        return TextFiles(tuple(paths))
    if len(parquet) < len(paths):
        other = next(path for path in paths if not is_parquet(path))
        raise InputError(
            f"files must be all Parquet or all CSV; found both {parquet[0]} and {other}: name the "
            "ones to read"
        )
    check_pyarrow(parquet[0])
    return ParquetFiles(tuple(parquet))


def _files_in(path: Path) -> list[Path]:
    """Return a file as it is, and the tables in a folder and its folders, in order."""
    if not path.is_dir():
        with reading(path), path.open("rb"):
            return [path]
    found = sorted(each for each in path.rglob("*") if each.is_file() and _is_table(each, path))
    if not found:
        raise InputError(f"the folder {path} holds no Parquet or CSV file")
    return found


def _is_table(file: Path, folder: Path) -> bool:
    """Say whether a file in a folder is a table; dots and underscores mark what is not data."""
    hidden = any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
    return not hidden and (is_parquet(file) or file.name.lower().endswith(_TEXT_ENDINGS))


def _of_table(table: Any) -> Source:
    from pyarrow import dataset

    return ArrowDataset(dataset.dataset(table))


def _is_path(given: Any) -> bool:
    return isinstance(given, (str, os.PathLike))


def _is_listing(given: Any) -> bool:
    return isinstance(given, (list, tuple)) and len(given) > 0


def _is_chunks(given: Any) -> bool:
    """Say whether it is a collection of tables, not a table."""
    if any(hasattr(given, sign) for sign in ("shape", "__array__", "__dataframe__")):
        return False
    if isinstance(given, (list, tuple)):  # of rows, or of chunks?
        return _is_listing(given) and all(len(getattr(part, "shape", ())) == 2 for part in given)
    return callable(given) or isinstance(given, Iterable)


def _data(batch: Any, wanted: list[str], columns: Columns) -> Any:
    """Return an Arrow batch as a frame, or as a plain array where no columns were named."""
    frame = as_frame(batch.select(wanted))
    return frame if columns is not None else frame.to_numpy()


def _description(found: Any) -> str:
    shape = np.shape(found) if hasattr(found, "shape") else None
    return f"a {type(found).__name__}" + (f" of shape {shape}" if shape is not None else "")
