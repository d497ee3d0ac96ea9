"""Populations given as Python objects: a table in memory or in chunks, a dataset, a LazyFrame.

A population is read more than once, first to count and then to label, so chunks are produced anew
for each reading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np

from c2rf._utils.frames import names_of
from c2rf._utils.types import Columns
from c2rf.data.formats import ROWS_PER_CHUNK, naming_source, wanted_columns
from c2rf.data.population.interface import Population, as_asked
from c2rf.exceptions import InputError, InputTypeError


class Memory(Population):
    """The rows of a table in memory.

    Parameters
    ----------
    table : array or data frame of shape (n_rows, n_columns)
        The rows.
    name : str
        The name of the argument, for error messages.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = Memory(pd.DataFrame({"age": [41, 14], "town": ["Ulm", "Bonn"]}))
    >>> rows.n_rows, rows.names
    (2, ['age', 'town'])
    >>> [chunk.data.columns.tolist() for chunk in rows.chunks(["town"])]
    [['town']]
    """

    def __init__(self, table: Any, name: str = "X_unlabeled") -> None:
        self.table, self.name = table, name
        self.n_rows, self.names = table.shape[0], names_of(table)

    def read(self, columns: Columns = None) -> Iterator[tuple[Any, str]]:
        """Yield the whole table as one chunk."""
        has_names = hasattr(self.table, "columns")
        yield self.table[list(columns)] if columns is not None and has_names else self.table, ""


class Chunks(Population):
    """The rows of a table that a function yields in chunks.

    Parameters
    ----------
    make : callable
        Takes the columns to read, None for all; yields each chunk and a text that says where it
        is from, for error messages.
    names : sequence of str, optional
        The column names, if they are known.
    name : str
        The name of the argument, for error messages.
    """

    def __init__(
        self,
        make: Callable[[Columns], Iterator[tuple[Any, str]]],
        names: Sequence[str] | None = None,
        name: str = "X_unlabeled",
    ) -> None:
        self.make, self.name = make, name
        self.names = None if names is None else list(names)

    def read(self, columns: Columns = None) -> Iterator[tuple[Any, str]]:
        """Return a new iterator over the chunks."""
        return self.make(columns)


def user_chunks(
    given: Iterable[Any] | Callable[[], Iterable[Any]], name: str = "X_unlabeled"
) -> Chunks:
    """Return a population from an iterable of chunks, or from a callable that returns one.

    Examples
    --------
    >>> rows = user_chunks([np.zeros((2, 3)), np.ones((1, 3))])
    >>> [(chunk.where, chunk.data.shape) for chunk in rows.chunks()]
    [('chunk 0', (2, 3)), ('chunk 1', (1, 3))]
    """
    return Chunks(partial(_read_user_chunks, given, name, []), name=name)


def _read_user_chunks(
    given: Any, name: str, used: list[Iterator[Any]], columns: Columns
) -> Iterator[tuple[Any, str]]:
    """Yield the chunks; an iterator that was read before, the last one of ``used``, is refused."""
    made = given() if callable(given) else given
    if not isinstance(made, Iterable):
        raise InputTypeError(
            f"the callable given as {name} must return an iterator of chunks; it returned "
            f"{_description(made)}"
        )
    if isinstance(made, Iterator):
        if any(made is last for last in used):
            raise InputTypeError(
                f"the callable given as {name} must return a fresh iterator each time; it returned "
                "the same one again"
            )
        used[:] = [made]
    for k, data in enumerate(made):
        if not hasattr(data, "shape") or len(data.shape) != 2:
            raise InputTypeError(
                f"chunk {k} of {name} must be a 2-D array or a data frame; found "
                f"{_description(data)}"
            )
        is_arrow = type(data).__module__.partition(".")[0] == "pyarrow"
        yield data.to_pandas(ignore_metadata=True) if is_arrow else data, f"chunk {k}"


def arrow_dataset(dataset: Any) -> Chunks:
    """Return the population of a pyarrow dataset, read file by file unless it is filtered."""
    return Chunks(partial(_read_dataset, dataset), dataset.schema.names)


def _read_dataset(dataset: Any, columns: Columns) -> Iterator[tuple[Any, str]]:
    wanted = wanted_columns(columns, dataset.schema.names, "the dataset")
    # Larger values read further ahead, which costs memory.
    options = {"batch_size": ROWS_PER_CHUNK, "batch_readahead": 2, "fragment_readahead": 1}
    for source, where, schema in _fragments(dataset):
        with naming_source(where):
            for batch in source.to_batches(columns=wanted, **options, **schema):
                table = batch.select(wanted).to_pandas(ignore_metadata=True)
                yield as_asked(table, columns), where


def _fragments(dataset: Any) -> Iterator[tuple[Any, str, dict[str, Any]]]:
    """Yield each fragment, its name for error messages, and options for reading it."""
    try:
        fragments = list(dataset.get_fragments())
    except ValueError:  # a filtered dataset does not list its fragments
        yield dataset, "the dataset", {}
        return
    for k, fragment in enumerate(fragments):
        where = getattr(fragment, "path", f"fragment {k} of the dataset")
        yield fragment, where, {"schema": dataset.schema}


def lazy_frame(frame: Any) -> Chunks:
    """Return the population of a Polars LazyFrame; its rows must always come in the same order."""
    with naming_source("the LazyFrame"):
        names = frame.collect_schema().names()
    return Chunks(partial(_read_lazy_frame, frame, names), names)


def _read_lazy_frame(
    frame: Any, names: Sequence[str], columns: Columns
) -> Iterator[tuple[Any, str]]:
    installed = tuple(int(part) for part in version("polars").split(".")[:2])
    if installed < (1, 37):  # older ones swallow errors of reading
        raise InputError("a LazyFrame needs polars 1.37 or later; pip install -U polars")
    where, start = "the LazyFrame", 0
    wanted = wanted_columns(columns, names, where)
    with naming_source(where):
        for batch in frame.select(wanted).collect_batches(chunk_size=ROWS_PER_CHUNK):
            yield as_asked(batch, columns), f"{where}, from row {start}"
            start += len(batch)


def _description(found: Any) -> str:
    shape = np.shape(found) if hasattr(found, "shape") else None
    return f"a {type(found).__name__}" + (f" of shape {shape}" if shape is not None else "")
