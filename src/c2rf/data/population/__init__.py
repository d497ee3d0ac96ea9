"""Rows wherever they are: one interface, and memory, files and Dask behind it."""

from __future__ import annotations

from typing import Any

from c2rf.data.population.dask import DaskRows, is_dask
from c2rf.data.population.files import outside_memory
from c2rf.data.population.interface import Chunk, Population, RowSample, draw_sample
from c2rf.data.population.memory import Memory

__all__ = ["Chunk", "Memory", "Population", "RowSample", "as_population", "draw_sample"]


def as_population(given: Any, name: str = "X_unlabeled") -> Population:
    """Return whatever a user has as a population.

    Parameters
    ----------
    given : object
        A population; a table in memory; a path or a list of paths; a pyarrow dataset or table; a
        Polars LazyFrame; a Dask DataFrame or Array; chunks, or a callable that returns them.
    name : str
        What the user calls it.

    Examples
    --------
    >>> type(as_population([[1.0, 2.0]])).__name__
    'Memory'
    """
    if isinstance(given, Population):
        return given
    if is_dask(given):
        return DaskRows(given)
    found = outside_memory(given, name)
    if found is not None:
        return found
    if not hasattr(given, "shape"):
        import numpy as np

        given = np.asarray(given)
    return Memory(given, name)
