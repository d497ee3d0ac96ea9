"""Known totals of a population on a Dask cluster: sampled and scored where it is.

What comes back are the rows of the sample and the probabilities of all points; what goes there are
the model and, in the end, the number of the class of each point. Rows are numbered throughout, so
that the sample, the probabilities and the labels are those of the same population in one piece.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from c2rf.distributed import Partitions
from c2rf.distributed.partitions import partition_name
from c2rf.estimators.blocks import BLOCK_ROWS, plain, stacked
from c2rf.estimators.checked import Kinds, check_chunk, kinds_of, known_columns, same_kinds
from c2rf.estimators.partitioned import check_size, for_workers
from c2rf.exceptions import InputError
from c2rf.problem import Floats

# So many standard deviations more than needed are drawn: in vain once in 10^20 runs.
_SPARE = 10.0


class Drawn(NamedTuple):
    """Rows of some neighbouring partitions with small random numbers."""

    numbers: Floats
    rows: NDArray[np.int64]
    tables: list[Any]
    kinds: Kinds


def count_rows(population: Partitions) -> Partitions:
    """Return the population with the sizes of its partitions; there must be a row at least."""
    counted = population.counted()
    if not sum(counted.sizes):
        raise InputError("X_unlabeled has no rows; found none in any of its partitions")
    return counted


def draw_rows(
    classifier: Any, population: Partitions, most: int, key: Sequence[int]
) -> tuple[Any, NDArray[np.int64]]:
    """Return the rows with the smallest random numbers, at most so many, and their numbers.

    Parameters
    ----------
    classifier : estimator
        Every partition is checked against the columns it knows.
    population : Partitions
        With sizes.
    most : int
        How many rows to draw.
    key : sequence of int
        Seeds the random numbers, one for each row in turn.
    """
    n_points = sum(population.sizes)
    limit = 1.0 if most >= n_points else (most + _SPARE * (most + 1) ** 0.5) / n_points
    work = _Draw(for_workers(classifier), population.sizes, tuple(key), limit)
    drawn = population.reduce(work, _merge, known_columns(classifier))
    numbers, data = drawn.numbers, stacked(drawn.tables)
    if len(numbers) <= most:
        return data, drawn.rows
    kept = np.flatnonzero(numbers < np.partition(numbers, most)[most])
    return _safe_indexing(data, kept), drawn.rows[kept]


def score_blocks(classifier: Any, population: Partitions) -> Iterator[tuple[int, Floats]]:
    """Yield the number of the first row, and the probabilities, of one block after the other."""
    check = _Check(for_workers(classifier), population.sizes)
    work = _Score(classifier.estimator_)
    columns = known_columns(classifier)
    for k, table in enumerate(population.spans(check, work, BLOCK_ROWS, columns)):
        yield k * BLOCK_ROWS, table


def place_labels(classes: NDArray[Any], codes: NDArray[Any], population: Partitions) -> Any:
    """Return the labels of a population, given the numbers of their classes, where its rows are."""
    return population.map(_Place(classes, codes, population.sizes), classes, population.narrow)


@dataclass(frozen=True, eq=False)
class _Draw:
    """The work of drawing rows from a partition."""

    classifier: Any
    sizes: tuple[int, ...]
    key: tuple[int, ...]
    limit: float

    def __call__(self, data: Any, number: int) -> Drawn:
        start = check_size(data, number, self.sizes)
        where = partition_name(number)
        if not self.sizes[number]:
            return Drawn(np.empty(0), np.empty(0, dtype=np.int64), [], {})
        kinds = kinds_of(self.classifier, data, where)
        checked = check_chunk(self.classifier, data, where).data
        rng = np.random.default_rng(self.key)
        rng.bit_generator.advance(start)  # type: ignore[attr-defined]
        numbers = rng.random(self.sizes[number])
        among = np.flatnonzero(numbers < self.limit)
        table = _safe_indexing(checked, among)
        return Drawn(numbers[among], start + among, [table], kinds)


@dataclass(frozen=True, eq=False)
class _Check:
    """The work of checking a partition."""

    classifier: Any
    sizes: tuple[int, ...]

    def __call__(self, data: Any, number: int) -> Any:
        check_size(data, number, self.sizes)
        if not self.sizes[number]:
            return data
        return check_chunk(self.classifier, data, partition_name(number)).data


@dataclass(frozen=True, eq=False)
class _Score:
    """The work of giving probabilities to a span of rows."""

    model: Any

    def __call__(self, pieces: list[Any], rows: slice) -> Floats:
        table = stacked([piece for piece in pieces if piece.shape[0]])
        return np.asarray(self.model.predict_proba(plain(_safe_indexing(table, rows))))


@dataclass(frozen=True, eq=False)
class _Place:
    """The work of placing labels beside the rows of a partition."""

    classes: NDArray[Any]
    codes: NDArray[Any]
    sizes: tuple[int, ...]

    def __call__(self, data: Any, number: int) -> NDArray[Any]:
        start = check_size(data, number, self.sizes)
        return self.classes[self.codes[start : start + self.sizes[number]]]


def _merge(parts: Sequence[Drawn]) -> Drawn:
    tables = [table for part in parts for table in part.tables]
    return Drawn(
        np.concatenate([part.numbers for part in parts]),
        np.concatenate([part.rows for part in parts]),
        [stacked(tables)] if tables else [],
        reduce(same_kinds, (part.kinds for part in parts)),
    )
