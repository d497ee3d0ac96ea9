"""Chunks of a population, each checked as data in memory is, and named in errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pandas as pd

from c2rf.estimators.data import check_data
from c2rf.exceptions import InputError
from c2rf.members import takes_only_numbers
from c2rf.sources import Source

CHANGED = "the population is not the one that was counted; it must be the same each time it is read"

Kinds = dict[str, tuple[str, str]]
"""For each column of frames what it holds, and where that was seen first."""


class Checked(NamedTuple):
    """A chunk that an ensemble can read, what to call it in errors, and its first row's number."""

    data: Any
    name: str
    start: int


def checked_chunks(classifier: Any, source: Source, name: str = "X_unlabeled") -> Iterator[Checked]:
    """Read a population from the start, checked against the columns the classifier knows.

    Parameters
    ----------
    classifier : estimator
        Its ``feature_names_in_`` are the columns to read; without names, all are read.
    source : Source
        The population. Chunks without rows are skipped.
    name : str
        What the user calls it.

    Yields
    ------
    Checked
        Arrays of numbers, or frames where the ensemble takes them.
    """
    kinds: Kinds = {}
    n_rows = 0
    for data, where in source.chunks(known_columns(classifier)):
        if data.shape[0] == 0:
            continue
        kinds = same_kinds(kinds, kinds_of(classifier, data, where))
        yield check_chunk(classifier, data, where, n_rows, name)
        n_rows += data.shape[0]
    if n_rows == 0:
        raise InputError(f"{name} has no rows; found none in any of its chunks")


def check_chunk(
    classifier: Any, data: Any, where: str, start: int = 0, name: str = "X_unlabeled"
) -> Checked:
    """Return one chunk, checked."""
    chunk_name = f"{name} ({where})"
    return Checked(check_data(classifier, data, name=chunk_name), chunk_name, start)


def known_columns(classifier: Any) -> list[str] | None:
    """Return the names of the columns the classifier was fitted to, if they have any."""
    known = getattr(classifier, "feature_names_in_", None)
    return None if known is None else list(known)


def kinds_of(classifier: Any, data: Any, where: str) -> Kinds:
    """Return what the columns of a frame hold, where the ensemble gets it as a frame."""
    if not hasattr(data, "columns") or takes_only_numbers(classifier.estimator):
        return {}
    return {
        column: ("numbers" if _is_number(data[column].dtype) else "something else", where)
        for column in data.columns
        # Nothing but missing values is of any kind.
        if not (isinstance(data, pd.DataFrame) and pd.isna(data[column]).all())
    }


def same_kinds(kinds: Kinds, more: Kinds) -> Kinds:
    """Put both together, and refuse a column that holds numbers here, something else there."""
    for column, (kind, where) in more.items():
        first, there = kinds.get(column, (kind, where))
        if kind != first:
            raise InputError(
                f"column {column!r} must be of one kind throughout; it holds {first} in {there}, "
                f"but {kind} in {where}"
            )
    return more | kinds


def _is_number(dtype: Any) -> bool:
    if hasattr(dtype, "is_numeric"):  # of Polars
        return bool(dtype.is_numeric())
    return bool(pd.api.types.is_numeric_dtype(dtype))
