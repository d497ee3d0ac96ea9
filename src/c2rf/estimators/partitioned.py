"""Populations on a Dask cluster: each partition is checked, counted and labeled where it is.

What a partition adds is small: its patterns with their counts, the kinds of its columns, its size.
These are merged in a tree; what was found for the patterns then travels back to the partitions.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from c2rf.distributed import Partitions
from c2rf.distributed.partitions import partition_name
from c2rf.estimators.checked import (
    CHANGED,
    Checked,
    Kinds,
    check_chunk,
    kinds_of,
    known_columns,
    same_kinds,
)
from c2rf.exceptions import C2RFError, InputError
from c2rf.votes import PatternTable


class Counted(NamedTuple):
    """What some neighbouring partitions add to the count."""

    tables: tuple[PatternTable, ...]
    kinds: Kinds
    sizes: tuple[int, ...]


def count_partitions(classifier: Any, population: Partitions) -> tuple[PatternTable, Partitions]:
    """Count the patterns of a population where it is.

    Parameters
    ----------
    classifier : estimator
        It counts the patterns of checked data.
    population : Partitions
        Partitions without rows add nothing.

    Returns
    -------
    table : PatternTable
        Of all partitions.
    population : Partitions
        The same, with the sizes of its partitions.
    """
    work = _Count(for_workers(classifier))
    counted = population.reduce(work, _merge, known_columns(classifier))
    if not counted.tables:
        raise InputError("X_unlabeled has no rows; found none in any of its partitions")
    return counted.tables[0], population.with_sizes(counted.sizes)


def label_partitions(
    classifier: Any, population: Partitions, label: Callable[[Checked], Any]
) -> Any:
    """Return the labels of a counted population, lazily, as a Dask Series or Array."""
    work = _Label(for_workers(classifier), label, population.sizes)
    return population.map(work, classifier.classes_, known_columns(classifier))


def for_workers(classifier: Any) -> Any:
    """Return a copy that knows no population and leaves the other cores to other partitions."""
    return copy.copy(classifier).set_params(n_jobs=1)


def check_size(data: Any, number: int, sizes: Sequence[int]) -> int:
    """Return the number of a partition's first row; it must have the size that was counted."""
    if data.shape[0] != sizes[number]:
        raise InputError(
            f"{partition_name(number)} of X_unlabeled had {sizes[number]} rows when they were "
            f"counted, but has {data.shape[0]} now: {CHANGED}"
        )
    return sum(sizes[:number])


@dataclass(frozen=True, eq=False)
class _Count:
    """The work of counting a partition."""

    classifier: Any

    def __call__(self, data: Any, number: int) -> Counted:
        n_rows, where = data.shape[0], partition_name(number)
        if n_rows == 0:
            return Counted((), {}, (0,))
        kinds = kinds_of(self.classifier, data, where)
        chunk = check_chunk(self.classifier, data, where)
        with _naming(chunk.name):
            table = self.classifier._count_patterns(chunk.data, chunk.name)
        return Counted((table,), kinds, (n_rows,))


@dataclass(frozen=True, eq=False)
class _Label:
    """The work of labeling a partition."""

    classifier: Any
    label: Callable[[Checked], Any]
    sizes: tuple[int, ...]

    def __call__(self, data: Any, number: int) -> NDArray[Any]:
        start = check_size(data, number, self.sizes)
        if data.shape[0] == 0:
            return np.empty(0, dtype=self.classifier.classes_.dtype)
        chunk = check_chunk(self.classifier, data, partition_name(number), start)
        return np.asarray(self.label(chunk).labels)


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Name the partition where a member complains of what it finds there."""
    try:
        yield
    except C2RFError:
        raise
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: {error}") from error


def _merge(parts: Sequence[Counted]) -> Counted:
    tables = [table for part in parts for table in part.tables]
    return Counted(
        (PatternTable.merged(tables),) if tables else (),
        reduce(same_kinds, (part.kinds for part in parts)),
        tuple(size for part in parts for size in part.sizes),
    )
