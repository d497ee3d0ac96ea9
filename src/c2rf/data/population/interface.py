"""The one interface to a population: rows wherever they are.

What is done with a population is one of four things: read it in chunks, reduce it to something
small, give every row something, write it out in order. A new kind of storage is a subclass of
:class:`Population` with one method, :meth:`Population.read`; the others follow from it, and are
overridden where the work can be done where the rows are.

Results do not depend on how rows are cut into chunks. Matrix products may round differently in a
table of another size, so models see blocks of the same rows everywhere (:meth:`Population.blocks`).
A random sample is drawn by random numbers of the rows (:func:`draw_sample`).
"""

from __future__ import annotations

import errno
import mmap
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from tempfile import TemporaryFile, gettempdir
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from c2rf._utils.frames import stacked
from c2rf._utils.types import Columns, Floats, Ints
from c2rf.assignment import log_scores
from c2rf.assignment.parts import BLOCK, MERGED_AT_ONCE, Merge, Parts, ScoredRows, merged
from c2rf.data.dialect import Dialect
from c2rf.exceptions import InputError
from c2rf.progress import Countdown

BLOCK_ROWS = 1 << 16
"""Rows that a model is asked about at a time."""

SPAN = BLOCK * MERGED_AT_ONCE
"""Rows that workers keep as one: the parts of an assignment that are merged first."""

LARGE_BYTES = 1 << 26
"""An array of more bytes than this is kept in a temporary file."""

CHANGED = "the population is not the one that was counted; it must be the same each time it is read"


class Chunk(NamedTuple):
    """Some neighbouring rows of a population.

    Parameters
    ----------
    data : array or data frame
        The rows.
    where : str
        Where they come from, for messages; empty if there is only one place.
    start : int
        The number of the first row.
    """

    data: Any
    where: str
    start: int = 0


Work = Callable[..., Any]
"""What is done with a :class:`Chunk`, and with arrays aligned with its rows."""


def _data_of(chunk: Chunk) -> Any:
    return chunk.data


class View(NamedTuple):
    """The columns that are read, as for :meth:`Population.read`, and what makes rows of a chunk."""

    columns: Columns = None
    rows_of: Work = _data_of


AS_IT_IS = View()
"""All columns, and the rows as they are read."""


class Population(ABC):
    """Rows that can be read again and again, always the same ones in the same order.

    ``n_rows`` is the number of rows, None until they are counted. ``name`` is what the user calls
    the population. ``is_distributed`` says whether work is done by other processes or threads,
    many chunks at a time.

    Examples
    --------
    >>> import numpy as np
    >>> class Countdown(Population):
    ...     def read(self, columns=None):
    ...         yield np.array([[3.0], [2.0]]), "the first chunk"
    ...         yield np.array([[1.0]]), "the second chunk"
    >>> rows = Countdown()
    >>> rows.reduce(lambda chunk: chunk.data.sum(), sum).item(), rows.n_rows
    (6.0, 3)
    >>> rows.map(lambda chunk: chunk.data[:, 0] * 10, np.zeros(1)).tolist()
    [30.0, 20.0, 10.0]
    """

    name = "X_unlabeled"
    is_distributed = False
    n_rows: int | None = None
    dialect: Dialect | None = None
    """How text files of the rows are written; None for rows of any other kind."""
    read_as: str = ""
    """How files of the rows were understood, in words."""
    names: list[str] | None = None
    """The names of the columns, None if there are none to ask for."""

    @abstractmethod
    def read(self, columns: Columns = None) -> Iterator[tuple[Any, str]]:
        """Yield the rows from the start, as arrays or frames, and where each chunk comes from.

        Parameters
        ----------
        columns : sequence of str, optional
            Only these columns, in this order, as frames. Without, all columns as plain arrays;
            a table that the user gives, or chunks of one, as they are. What has no names of its own
            ignores this.
        """

    def counted(self) -> Population:
        """Return the population ready for work that needs the numbers of its rows."""
        return self

    def close(self) -> None:  # noqa: B027
        """Let go of what is open; it is opened again when rows are read."""

    def chunks(self, columns: Columns = None) -> Iterator[Chunk]:
        """Read all rows from the start, numbered; chunks without rows are left out."""
        start = 0
        for data, where in self.read(columns):
            if data.shape[0]:
                yield Chunk(data, where, start)
                start += data.shape[0]
        self._check_count(start)

    def reduce(
        self, work: Work, merge: Merge, columns: Columns = None, aligned: Sequence[Any] = ()
    ) -> Any:
        """Do the work with every chunk, and merge the results to one.

        Parameters
        ----------
        work : callable
            Takes a :class:`Chunk`, and for each array of ``aligned`` the entries of its rows.
        merge : callable
            Takes results of neighbouring chunks in their order, and returns one.
        columns : sequence of str, optional
            As for :meth:`read`.
        aligned : sequence of array
            Arrays with an entry per row.

        Returns
        -------
        object
            The merged result.
        """

        def result(chunk: Chunk) -> Any:
            rows = slice(chunk.start, chunk.start + chunk.data.shape[0])
            return work(chunk, *(values[rows] for values in aligned))

        return merged(map(result, self.chunks(columns)), merge)

    def blocks(self, work: Work, size: int, view: View = AS_IT_IS) -> Iterator[Any]:
        """Do some work on ``size`` rows at a time, wherever chunks end.

        Parameters
        ----------
        work : callable
            Takes the rows of a block.
        size : int
            Number of rows of all blocks but the last.
        view : View
            Of which rows.

        Yields
        ------
        object
            The result for each block, in order.
        """
        waiting: list[Any] = []
        n_waiting = done = 0
        for chunk in self.chunks(view.columns):
            waiting.append(view.rows_of(chunk))
            n_waiting += chunk.data.shape[0]
            while n_waiting - done >= size:
                yield work(rows_of(waiting, slice(done, done + size)))
                done += size
            while waiting and done >= waiting[0].shape[0]:
                done -= waiting[0].shape[0]
                n_waiting -= waiting.pop(0).shape[0]
        if n_waiting > done:
            yield work(rows_of(waiting, slice(done, n_waiting)))

    @property
    def keeps_rows(self) -> bool:
        """Whether what is computed of each row should stay where the rows are."""
        return False

    def keep(self, work: Work, example: NDArray[Any], size: int, view: View = AS_IT_IS) -> Any:
        """Return what the work makes of ``size`` rows at a time, kept where the rows are.

        The arguments are those of :meth:`blocks`, and a result without rows for its shape and
        type. In memory it is an array, of many rows in a temporary file.
        """
        n_rows = self._count()
        countdown = Countdown("ranking rows", n_rows)

        def counting(blocks: Iterator[Any]) -> Iterator[Any]:
            for block in blocks:
                yield block
                countdown.done(len(block))

        blocks = self.blocks(work, size, view)
        return filled((n_rows, *example.shape[1:]), counting(blocks), example.dtype)

    def map(self, work: Work, example: NDArray[Any], columns: Columns = None) -> Any:
        """Return what the work makes of each row.

        Parameters
        ----------
        work : callable
            Takes a :class:`Chunk`, returns an array with a value per row.
        example : ndarray
            Some such values, for their type.
        columns : sequence of str, optional
            As for :meth:`read`.

        Returns
        -------
        ndarray of shape (n_rows,), or a lazy collection
            In the order of the rows; lazy where the rows are computed elsewhere.
        """
        return filled((self._count(),), map(work, self.chunks(columns)), example.dtype)

    def aligned(self, values: NDArray[Any]) -> Any:
        """Return an array with an entry per row as :meth:`map` returns one."""
        return values

    def look_up(self, table: NDArray[Any], codes: Any) -> Any:
        """Return the entry of a table for each row, given its code as :meth:`map` returned it."""
        return table[np.asarray(codes)]

    def _count(self) -> int:
        """Return the number of rows."""
        if self.n_rows is None:
            for _ in self.chunks():
                pass
        assert self.n_rows is not None
        return self.n_rows

    def _check_count(self, n_rows: int) -> None:
        """Remember the number of rows; it must be the same each time."""
        if n_rows == 0:
            raise InputError(f"{self.name} has no rows")
        check_still(self.name, n_rows, self.n_rows)
        self.n_rows = n_rows


class Transformed(Population):
    """The rows of another population, changed where they are.

    Parameters
    ----------
    rows : Population
        The rows as they are.
    change : callable
        Takes a :class:`Chunk` of them, returns it changed, with as many rows.
    columns : sequence of str, optional
        The columns that it needs, as for :meth:`Population.read`.

    Examples
    --------
    >>> import numpy as np
    >>> from c2rf.data.population.memory import Memory
    >>> def double(chunk):
    ...     return chunk._replace(data=2 * chunk.data)
    >>> rows = Transformed(Memory(np.array([[1.0], [2.0]])), double)
    >>> [chunk.data.tolist() for chunk in rows.chunks()]
    [[[2.0], [4.0]]]
    """

    def __init__(
        self, rows: Population, change: Callable[[Chunk], Chunk], columns: Columns = None
    ) -> None:
        self.rows, self.change, self.columns = rows, change, columns
        self.is_distributed = rows.is_distributed

    @property
    def n_rows(self) -> int | None:  # type: ignore[override]
        """Number of rows, once they have been counted."""
        return self.rows.n_rows

    def read(self, columns: Columns = None) -> Iterator[tuple[Any, str]]:
        """Read and change all rows."""
        return ((chunk.data, chunk.where) for chunk in self.chunks())

    def chunks(self, columns: Columns = None) -> Iterator[Chunk]:
        """Read and change all rows, numbered."""
        return map(self.change, self.rows.chunks(self.columns))

    def counted(self) -> Population:
        """Count the rows."""
        self.rows = self.rows.counted()
        return self

    def reduce(
        self, work: Work, merge: Merge, columns: Columns = None, aligned: Sequence[Any] = ()
    ) -> Any:
        """Do the work with changed chunks."""
        return self.rows.reduce(self._after_change(work), merge, self.columns, aligned)

    def blocks(self, work: Work, size: int, view: View = AS_IT_IS) -> Iterator[Any]:
        """Do some work on a given number of changed rows at a time."""
        return self.rows.blocks(work, size, self._view(view))

    def keep(self, work: Work, example: NDArray[Any], size: int, view: View = AS_IT_IS) -> Any:
        """Return what the work makes of changed rows, kept where the rows are."""
        return self.rows.keep(work, example, size, self._view(view))

    def map(self, work: Work, example: NDArray[Any], columns: Columns = None) -> Any:
        """Return what the work makes of each changed row."""
        return self.rows.map(self._after_change(work), example, self.columns)

    def _view(self, view: View) -> View:
        return View(self.columns, self._after_change(view.rows_of))

    def _after_change(self, work: Work) -> Work:
        change = self.change
        return lambda chunk, *more: work(change(chunk), *more)


class KeptArray(ABC):
    """An array with an entry per row that the workers of a cluster keep.

    Where numpy needs an array, it is brought here; a part of it by its rows.

    Parameters
    ----------
    spans : object
        Arrays of ``SPAN`` rows, as the cluster knows them; the last one may have fewer.
    shape : tuple of int
        As of an array.
    dtype : dtype
        As of an array.
    """

    def __init__(self, spans: Any, shape: tuple[int, ...], dtype: Any) -> None:
        self.spans, self.shape, self.dtype = spans, shape, np.dtype(dtype)

    @abstractmethod
    def made(self, work: Work, others: Sequence[Any], shape: tuple[int, ...], dtype: Any) -> Self:
        """Let the workers compute something of every span, and keep it.

        The work gets the number of the first row of a span, the span, and those of ``others``.
        """

    @abstractmethod
    def results(self, work: Work, others: Sequence[Any], merge: Merge) -> Any:
        """Do the work with every span as :meth:`made` does, and bring the merged results here."""

    @abstractmethod
    def span(self, k: int) -> NDArray[Any]:
        """Bring a span here."""

    def aligned(self, values: Any) -> Any:
        """Send an array to where the rows are, unless it is there already."""
        if isinstance(values, KeptArray):
            return values
        values = np.asarray(values)

        def own(start: int, span: NDArray[Any]) -> NDArray[Any]:
            return values[start : start + len(span)]

        return self.made(own, (), values.shape, values.dtype)

    def check_fits(self, name: str) -> None:
        """Refuse work that brings all of it here, where it would not fit twice in the memory."""
        size, memory = self.dtype.itemsize * np.prod(self.shape, dtype=float), physical_memory()
        if 2 * size > memory:
            raise InputError(
                f"{name} needs the probabilities of all {len(self):,} rows in this process, "
                f"{size / 1e9:,.1f} GB and work space of that size; this machine has "
                f"{memory / 1e9:,.1f} GB: label a sample of the rows for it, or start c2rf on a "
                "machine with more memory"
            )

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self._here, dtype)

    def compute(self) -> NDArray[Any]:
        """Bring all of it here."""
        return np.asarray(self)

    @cached_property
    def _here(self) -> NDArray[Any]:
        return filled(self.shape, map(self.span, range(-(-len(self) // SPAN))), self.dtype)

    def __getitem__(self, rows: Any) -> NDArray[Any]:
        """Bring some neighbouring rows here, or rows by their numbers in ascending order."""
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(len(self))
            touched = range(start // SPAN, max(-(-stop // SPAN), start // SPAN + 1))
            found = np.concatenate([self.span(k) for k in touched])
            return found[start - touched[0] * SPAN : stop - touched[0] * SPAN]
        return np.asarray(self.reduce(partial(_taken, np.asarray(rows)), np.concatenate))

    def map(self, work: Work, example: Any, *others: Any) -> Self:
        """Return what the work makes of neighbouring rows; it gets the number of the first."""
        shape = (len(self), *example.shape[1:])

        def on_span(start: int, *arrays: Any) -> NDArray[Any]:
            return np.concatenate(list(_of_blocks(work, start, arrays)))

        return self.made(on_span, others, shape, example.dtype)

    def reduce(self, work: Work, merge: Merge, *others: Any) -> Any:
        """Do the work with ``BLOCK`` rows at a time, and merge the results as everywhere."""

        def on_span(start: int, *arrays: Any) -> Any:
            return merged(_of_blocks(work, start, arrays), merge)

        return self.results(on_span, others, merge)

    def label(self, work: Work, merge: Merge, *others: Any) -> tuple[Self, Any]:
        """Do work that returns a class per row, which is kept, and something to be merged."""
        kind = np.min_scalar_type(self.shape[1] - 1)

        def on_span(start: int, *arrays: Any) -> tuple[NDArray[Any], Any]:
            labels, rest = zip(*_of_blocks(work, start, arrays), strict=True)
            return np.concatenate(labels).astype(kind), merged(rest, merge)

        pairs = self.made(on_span, others, self.shape, object)
        labels = pairs.made(lambda start, pair: pair[0], (), (len(self),), kind)
        return labels, pairs.results(lambda start, pair: pair[1], (), merge)

    def bincount(self, minlength: int) -> NDArray[np.int64]:
        """Count how often each number is there."""
        counted = self.reduce(lambda start, codes: np.bincount(codes, minlength=minlength), sum)
        return np.asarray(counted)


def physical_memory() -> float:
    """Return the bytes of memory of this machine; infinite where the system does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError):  # Windows
        return float("inf")


def map_rows(table: Any, work: Work, *others: Any) -> Any:
    """Return what the work makes of blocks of rows, where they are, as :meth:`KeptArray.map`."""
    if isinstance(table, KeptArray):
        return table.map(work, table, *map(table.aligned, others))
    return filled(table.shape, _by_blocks(work, table, *others), table.dtype)


def reduce_rows(table: Any, work: Work, merge: Merge, *others: Any) -> Any:
    """Do the work with blocks of rows, where they are, as :meth:`KeptArray.reduce`."""
    if isinstance(table, KeptArray):
        return table.reduce(work, merge, *map(table.aligned, others))
    return merged(_by_blocks(work, table, *others), merge)


def _by_blocks(work: Work, *tables: Any) -> Iterator[Any]:
    for rows in row_blocks(len(tables[0]), reading=tables):
        yield work(rows.start, *(np.asarray(table[rows]) for table in tables))


@dataclass(eq=False)
class KeptRows(Parts):
    """Rows whose probabilities are kept by workers, as parts of an assignment.

    Parameters
    ----------
    scores : KeptArray
        Probabilities.
    floor : float
        What a probability of zero counts as: scores are logarithms.
    sizes : ndarray of int, shape (n_groups,)
        Numbers of rows of the groups.
    groups, weights : KeptArray, ndarray or None
        Of each row.
    factor : float
        What logarithms are multiplied by.
    """

    scores: KeptArray
    floor: float
    sizes: Ints
    groups: Any
    weights: Any
    factor: float = 1.0

    def __post_init__(self) -> None:
        self.n_groups, self.n_classes = len(self.sizes), self.scores.shape[1]
        self.groups = self.scores.aligned(self.groups) if self.n_groups > 1 else None
        self.weights = None if self.weights is None else self.scores.aligned(self.weights)
        self.is_weighted = self.weights is not None
        self.logs = partial(_logs, self.floor, self.factor)

    @cached_property
    def weight(self) -> float:
        """What all rows count together."""
        if self.weights is None:
            return float(self.n_rows)
        return float(self.weights.reduce(lambda start, weights: float(weights.sum()), sum))

    def ungrouped(self) -> KeptRows:
        """Return the same rows as one group."""
        return replace(self, sizes=self.sizes.sum(keepdims=True), groups=None)

    def multiplied(self, factor: float) -> KeptRows:
        """Return the same rows with logarithms times a factor."""
        return replace(self, factor=factor * self.factor)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(map_rows(np.asarray(self.scores), lambda start, some: self.logs(some)))

    def __getitem__(self, rows: Any) -> NDArray[Any]:
        return self.logs(self.scores[rows])

    def reduce(self, work: Callable[[ScoredRows], Any], merge: Merge) -> Any:
        """Do the work with every part where it is, and merge the results."""
        return self.scores.reduce(self._on_rows(work), merge, *self._others)

    def label(
        self, work: Callable[[ScoredRows], tuple[NDArray[Any], Any]], merge: Merge
    ) -> tuple[KeptArray, Any]:
        """Label every part where it is, and merge what else the work returns."""
        return self.scores.label(self._on_rows(work), merge, *self._others)

    @property
    def _others(self) -> list[Any]:
        return [each for each in (self.groups, self.weights) if each is not None]

    def _on_rows(self, work: Callable[[ScoredRows], Any]) -> Work:
        logs, n_groups = self.logs, self.n_groups
        has_groups, has_weights = self.groups is not None, self.weights is not None

        def on_rows(start: int, scores: NDArray[Any], *others: NDArray[Any]) -> Any:
            groups = others[0] if has_groups else np.zeros(len(scores), dtype=np.intp)
            weights = others[-1] if has_weights else None
            return work(ScoredRows(logs(scores), groups, weights, n_groups, start))

        return on_rows


def _logs(floor: float, factor: float, scores: NDArray[Any]) -> NDArray[Any]:
    logs = log_scores(scores, floor)
    return logs if factor == 1 else factor * logs


def _taken(rows: NDArray[Any], start: int, values: NDArray[Any]) -> NDArray[Any]:
    first, last = np.searchsorted(rows, [start, start + len(values)])
    return values[rows[first:last] - start]


def _of_blocks(work: Work, start: int, arrays: Sequence[NDArray[Any]]) -> Iterator[Any]:
    for k in range(0, len(arrays[0]), BLOCK):
        yield work(start + k, *(array[k : k + BLOCK] for array in arrays))


_SPARE = 10.0  # standard deviations drawn beyond what is needed: too few once in 10^20 runs


class RowSample(NamedTuple):
    """Rows that were drawn.

    Parameters
    ----------
    data : array or data frame
        The rows, in the order of the population.
    rows : ndarray of int
        Their numbers.
    draws : ndarray of float
        Their random numbers: the smallest of all rows.
    """

    data: Any
    rows: Ints
    draws: Floats


def draw_sample(population: Any, most: int, key: Sequence[int]) -> RowSample:
    """Draw rows without replacement, all of them if there are not more than ``most``.

    Every row gets a random number, and the rows with the smallest are drawn. The numbers are those
    of one generator for all rows in turn: the sample depends on row numbers and the seed alone.

    Parameters
    ----------
    population : Population, or another object with ``reduce`` and ``n_rows``
        It is read once.
    most : int
        How many rows to draw.
    key : sequence of int
        Seed of the random numbers.

    Examples
    --------
    >>> from c2rf.data.population.memory import Memory
    >>> draw_sample(Memory(np.arange(10)[:, None]), 3, [0]).rows.tolist()
    [1, 2, 3]
    >>> random_rows(10, 3, [0]).tolist()
    [1, 2, 3]
    """
    n_rows, limit = population.n_rows, 1.0
    if n_rows is not None and n_rows > most:
        limit = (most + _SPARE * (most + 1) ** 0.5) / n_rows
    drawn = population.reduce(partial(_draw, key, limit, most), partial(_merge_samples, most))
    return drawn._replace(data=plain(drawn.data))


def random_rows(n_rows: int, most: int, key: Sequence[int]) -> Ints:
    """Return the numbers of the rows that :func:`draw_sample` would draw."""
    if n_rows <= most:
        return np.arange(n_rows)
    draws = np.random.default_rng(list(key)).random(n_rows)
    return np.flatnonzero(draws < np.partition(draws, most)[most])


def _draw(key: Sequence[int], limit: float, most: int, chunk: Chunk) -> RowSample:
    """Draw rows from a chunk."""
    rng = np.random.default_rng(list(key))
    rng.bit_generator.advance(chunk.start)  # type: ignore[attr-defined]
    draws = rng.random(chunk.data.shape[0])
    among = np.flatnonzero(draws < limit)
    table = _safe_indexing(chunk.data, among)
    return _smallest(RowSample(table, chunk.start + among, draws[among]), most)


def _merge_samples(most: int, samples: Sequence[RowSample]) -> RowSample:
    """Put together what was drawn from neighbouring chunks."""
    filled = [each.data for each in samples if len(each.rows)] or [samples[0].data]
    rows = np.concatenate([each.rows for each in samples])
    draws = np.concatenate([each.draws for each in samples])
    return _smallest(RowSample(stacked(filled), rows, draws), most)


def _smallest(sample: RowSample, most: int) -> RowSample:
    """Return the rows with the smallest random numbers."""
    if len(sample.draws) <= most:
        return sample
    kept = np.flatnonzero(sample.draws < np.partition(sample.draws, most)[most])
    return RowSample(_safe_indexing(sample.data, kept), sample.rows[kept], sample.draws[kept])


def probabilities(model: Any, X: Any, block_rows: int | None = None) -> Floats:
    """Return the probabilities that a fitted model gives to all rows, asked block by block.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> probabilities(DummyClassifier().fit([[0], [1]], [0, 1]), np.zeros((2, 1)))
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    table = np.empty((X.shape[0], len(model.classes_)))
    for rows in row_blocks(X.shape[0], block_rows or BLOCK_ROWS):
        table[rows] = model.predict_proba(plain(_safe_indexing(X, rows)))
    return table


def rows_of(tables: list[Any], rows: slice) -> Any:
    """Return some rows of several tables that follow each other.

    Examples
    --------
    >>> rows_of([np.array([[0], [1]]), np.array([[2], [3]])], slice(1, 3)).tolist()
    [[1], [2]]
    """
    wanted, start = [], 0
    for table in tables:
        first, last = max(rows.start - start, 0), min(rows.stop - start, table.shape[0])
        if first < last:
            wanted.append(_safe_indexing(table, slice(first, last)))
        start += table.shape[0]
    return plain(stacked(wanted))


def check_still(where: str, n_rows: int, counted: int | None) -> None:
    """Refuse another number of rows than was counted, if they have been counted."""
    if counted not in (None, n_rows):
        raise InputError(
            f"{where} had {counted} rows when they were counted, but has {n_rows} now: {CHANGED}"
        )


def in_blocks(work: Work, size: int, tables: list[Any], rows: slice) -> NDArray[Any]:
    """Return what the work makes of some rows of several tables, ``size`` at a time."""
    starts = range(rows.start, rows.stop, size)
    blocks = (slice(k, min(k + size, rows.stop)) for k in starts)
    return np.concatenate([np.asarray(work(rows_of(tables, each))) for each in blocks])


def typed(kind: Any, work: Work, rows: Any) -> NDArray[Any]:
    """Return what the work makes of rows, in a type of numbers."""
    return np.asarray(work(rows), kind)


def row_blocks(
    n_rows: int, size: int = BLOCK_ROWS, reading: Sequence[NDArray[Any]] = ()
) -> Iterator[slice]:
    """Yield the rows of one block after the other, and release what is read after each.

    Examples
    --------
    >>> list(row_blocks(5, 3))
    [slice(0, 3, None), slice(3, 5, None)]
    """
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))
        for table in reading:
            release(table)


def filled(
    shape: tuple[int, ...], blocks: Iterable[NDArray[Any]], dtype: Any = float
) -> NDArray[Any]:
    """Concatenate blocks in an array; a large one is in a file."""
    table, start = large_array(shape, dtype), 0
    for block in blocks:
        there = table[start : start + len(block)]
        there[:] = block[: len(there)]  # too many rows are an error in the end
        start += len(block)
        release(table)
    return table


def large_array(shape: tuple[int, ...], dtype: Any = float) -> NDArray[Any]:
    """Return an array to be filled; a large one is in a temporary file that goes with it."""
    if np.prod(shape) * np.dtype(dtype).itemsize <= LARGE_BYTES:
        return np.empty(shape, dtype)
    with TemporaryFile() as file:
        _reserve(file.fileno(), int(np.prod(shape)) * np.dtype(dtype).itemsize)
        return np.memmap(file, dtype, "w+", shape=shape)


def _reserve(file: int, n_bytes: int) -> None:
    """Take room on the disk, where it can be taken: a full one would end the process later."""
    if not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(file, 0, n_bytes)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise InputError(
                f"the temporary folder {gettempdir()} has no room for {n_bytes:,} bytes of "
                f"intermediate results ({error.strerror}); name another one in TMPDIR"
            ) from error


def release(table: NDArray[Any]) -> None:
    """Give back the memory that an array in a file has taken; it is read again when needed.

    The system would do so, too, but only when there is no other memory left.
    """
    base = getattr(table, "base", None)
    if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)


def as_asked(table: Any, columns: Columns) -> Any:
    """Return a frame as a plain array where no columns were named."""
    return table.to_numpy() if columns is None and hasattr(table, "columns") else table


def plain(X: Any) -> Any:
    """Return an array row by row, a frame column by column in memory: else sums may round anew."""
    if isinstance(X, pd.DataFrame):
        return pd.DataFrame(dict(X.items()), copy=True)
    return np.ascontiguousarray(X) if isinstance(X, np.ndarray) else X
