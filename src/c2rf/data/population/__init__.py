"""Populations: rows wherever they are, in memory, in files, in a database or on a cluster.

A new kind of storage is a module in this folder with a subclass of
:class:`~c2rf.data.population.interface.Population`, and a line in :func:`as_population`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from c2rf.data.population.dask import DaskRows, is_dask
from c2rf.data.population.duckdb import DuckDBRows, is_relation
from c2rf.data.population.files import find_files
from c2rf.data.population.interface import Population
from c2rf.data.population.memory import Memory, arrow_dataset, lazy_frame, user_chunks
from c2rf.data.population.spark import SparkRows, is_spark
from c2rf.exceptions import InputTypeError

_ONCE = ("RecordBatchReader", "Scanner")


def as_population(given: Any, name: str = "X_unlabeled", id: str | None = None) -> Population:
    """Return whatever a user has as a population.

    Parameters
    ----------
    given : object
        A population; a table in memory; a path or a list of paths (files or folders of Parquet or
        CSV); a pyarrow dataset or table; a Polars LazyFrame; a Dask DataFrame or Array; a list or
        another re-iterable of chunks (arrays or frames), or a callable that returns a fresh
        iterator of chunks; a relation of DuckDB; a DataFrame of Spark.
    name : str
        The name of the argument, for error messages.
    id : str, optional
        The column that numbers the rows where these have no order of their own, as in a database.

    Examples
    --------
    >>> type(as_population([[1.0, 2.0]])).__name__
    'Memory'
    >>> as_population(iter([np.zeros((2, 3))]))
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputTypeError: X_unlabeled is read more than once, to count and to label, but \
a list_iterator can be read only once; give a list of chunks, a callable that returns a fresh \
iterator (lambda: ...), or a path
    """
    kind = type(given)
    package = kind.__module__.partition(".")[0]
    if isinstance(given, Population):
        return given
    if is_relation(given):
        return DuckDBRows(given, id)
    if is_spark(given):
        return SparkRows(given, id)
    if is_dask(given):
        return DaskRows(given)
    if _is_path(given):
        return find_files([given])
    if isinstance(given, (list, tuple)) and given and all(map(_is_path, given)):
        return find_files(given)
    if package == "pyarrow" and kind.__name__ == "Table":
        from pyarrow import dataset

        return arrow_dataset(dataset.dataset(given))
    if package == "pyarrow" and hasattr(given, "get_fragments"):
        return arrow_dataset(given)
    if package == "polars" and kind.__name__ == "LazyFrame":
        return lazy_frame(given)
    if isinstance(given, Iterator) or (package == "pyarrow" and kind.__name__ in _ONCE):
        raise InputTypeError(
            f"{name} is read more than once, to count and to label, but a {kind.__name__} can be "
            "read only once; give a list of chunks, a callable that returns a fresh iterator "
            "(lambda: ...), or a path"
        )
    if _is_chunks(given):
        return user_chunks(given, name)
    return Memory(given if hasattr(given, "shape") else np.asarray(given), name)


def _is_path(given: Any) -> bool:
    return isinstance(given, (str, os.PathLike))


def _is_chunks(given: Any) -> bool:
    """Say whether it is a collection of tables, not a table."""
    if any(hasattr(given, name) for name in ("shape", "__array__", "__dataframe__")):
        return False
    if isinstance(given, (list, tuple)):  # of rows, or of chunks?
        return bool(given) and all(len(getattr(each, "shape", ())) == 2 for each in given)
    return callable(given) or isinstance(given, Iterable)
