"""Rows wherever they are: the one interface that everything else is written against.

What is done with a population is one of four things: read it in chunks, reduce it to something
small, give every row something, write it out in order. A new kind of storage is a subclass of
:class:`Population` with one method, :meth:`Population.read`; the others follow from it, and are
overridden where the work can be done where the rows are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from numpy.typing import NDArray

from c2rf._typing import Columns
from c2rf.exceptions import InputError
from c2rf.files.dialect import Dialect
from c2rf.population.blocks import large_array, release, rows_of

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
"""What is done with a :class:`Chunk`, and with values that lie beside its rows."""
Merge = Callable[[Sequence[Any]], Any]
"""Turns results of neighbouring chunks, in their order, into one."""


def data_of(chunk: Chunk) -> Any:
    """Return the rows of a chunk."""
    return chunk.data


class Population(ABC):
    """Rows that can be read again and again, always the same ones in the same order.

    ``n_rows`` is the number of rows, None as long as nobody has counted them. ``name`` is what
    the user calls the population, ``parts`` what its parts are called. ``is_elsewhere`` says
    whether work is done by other processes or threads, many chunks at a time.

    Examples
    --------
    >>> import numpy as np
    >>> class Countdown(Population):
    ...     def read(self, columns=None):
    ...         yield np.array([[3.0], [2.0]]), "the first part"
    ...         yield np.array([[1.0]]), "the second part"
    >>> rows = Countdown()
    >>> rows.reduce(lambda chunk: chunk.data.sum(), sum).item(), rows.n_rows
    (6.0, 3)
    >>> rows.map(lambda chunk: chunk.data[:, 0] * 10, np.zeros(1)).tolist()
    [30.0, 20.0, 10.0]
    """

    name = "X_unlabeled"
    parts = "chunks"
    is_elsewhere = False
    n_rows: int | None = None
    dialect: Dialect | None = None
    """How the text files of the rows are written, where they are from such."""
    read_as: str = ""
    """How their files were understood, in words."""

    @abstractmethod
    def read(self, columns: Columns = None) -> Iterator[tuple[Any, str]]:
        """Yield the rows from the start, as arrays or frames, and where each part comes from.

        Parameters
        ----------
        columns : sequence of str, optional
            Only these columns, in this order, as frames. Without, all columns as plain arrays.
            What has no names of its own ignores this.
        """

    @property
    def names(self) -> list[str] | None:
        """The names of the columns, None if there are none to ask for."""
        return None

    def counted(self) -> Population:
        """Return the population ready for work that needs the numbers of its rows."""
        return self

    def chunks(self, columns: Columns = None) -> Iterator[Chunk]:
        """Read all rows from the start, numbered; parts without rows are left out."""
        start = 0
        for data, where in self.read(columns):
            if data.shape[0]:
                yield Chunk(data, where, start)
                start += data.shape[0]
        self._check_count(start)

    def reduce(
        self, work: Work, merge: Merge, columns: Columns = None, beside: Sequence[Any] = ()
    ) -> Any:
        """Do the work with every chunk, and merge the results to one.

        Parameters
        ----------
        work : callable
            Takes a :class:`Chunk`, and for each array of ``beside`` the part that belongs to it.
        merge : callable
            Takes results of neighbouring chunks in their order, and returns one.
        columns : sequence of str, optional
            As for :meth:`read`.
        beside : sequence of array
            Arrays with an entry per row.

        Returns
        -------
        object
            The merged result.
        """
        levels: list[list[Any]] = [[]]
        for chunk in self.chunks(columns):
            rows = slice(chunk.start, chunk.start + chunk.data.shape[0])
            _carry(levels, work(chunk, *(values[rows] for values in beside)), merge)
        left = [result for level in reversed(levels) for result in level]
        return left[0] if len(left) == 1 else merge(left)

    def spans(
        self, work: Work, size: int, columns: Columns = None, prepare: Work = data_of
    ) -> Iterator[Any]:
        """Do some work on ``size`` rows at a time, wherever chunks end.

        Parameters
        ----------
        work : callable
            Takes the rows of a span.
        size : int
            Number of rows of all spans but the last.
        columns : sequence of str, optional
            As for :meth:`read`.
        prepare : callable
            What is done with each chunk first; it returns its rows.

        Yields
        ------
        object
            The result for each span, in order.
        """
        pieces: list[Any] = []
        n_waiting = done = 0
        for chunk in self.chunks(columns):
            pieces.append(prepare(chunk))
            n_waiting += chunk.data.shape[0]
            while n_waiting - done >= size:
                yield work(rows_of(pieces, slice(done, done + size)))
                done += size
            while pieces and done >= pieces[0].shape[0]:
                done -= pieces[0].shape[0]
                n_waiting -= pieces.pop(0).shape[0]
        if n_waiting > done:
            yield work(rows_of(pieces, slice(done, n_waiting)))

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
        n_rows = self.n_rows if self.n_rows is not None else _count(self)
        values = large_array((n_rows,), example.dtype)
        for chunk in self.chunks(columns):
            end = chunk.start + chunk.data.shape[0]
            if end <= n_rows:  # too many rows are an error in the end
                values[chunk.start : end] = work(chunk)
                release(values)
        return values

    def beside(self, values: NDArray[Any]) -> Any:
        """Return an array with an entry per row as :meth:`map` returns one."""
        return values

    def look_up(self, table: NDArray[Any], codes: Any) -> Any:
        """Return the entry of a table for each row, given its code as :meth:`map` returned it."""
        return table[codes]

    def _check_count(self, n_rows: int) -> None:
        """Remember the number of rows; it must be the same each time."""
        if n_rows == 0:
            raise InputError(f"{self.name} has no rows; found none in any of its {self.parts}")
        if self.n_rows is not None and n_rows != self.n_rows:
            raise InputError(
                f"{self.name} had {self.n_rows} rows when they were counted, but has {n_rows} "
                f"now: {CHANGED}"
            )
        self.n_rows = n_rows


def _count(population: Population) -> int:
    for _ in population.chunks():
        pass
    assert population.n_rows is not None
    return population.n_rows


def _carry(levels: list[list[Any]], result: Any, merge: Merge) -> None:
    """Add a result; two of a level become one of the next, so that each is merged rarely."""
    level = 0
    levels[0].append(result)
    while len(levels[level]) == 2:
        merged = merge(levels[level])
        levels[level] = []
        level += 1
        if level == len(levels):
            levels.append([])
        levels[level].append(merged)
