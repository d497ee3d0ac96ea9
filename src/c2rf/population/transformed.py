"""A population whose rows are changed on the way, chunk by chunk, wherever they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from numpy.typing import NDArray

from c2rf._typing import Columns
from c2rf.population.interface import Chunk, Merge, Population, Work, data_of


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
    >>> from c2rf.population.memory import Memory
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
        self.parts, self.is_elsewhere = rows.parts, rows.is_elsewhere

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
        self, work: Work, merge: Merge, columns: Columns = None, beside: Sequence[Any] = ()
    ) -> Any:
        """Do the work with changed chunks."""
        return self.rows.reduce(self._after_change(work), merge, self.columns, beside)

    def spans(
        self, work: Work, size: int, columns: Columns = None, prepare: Work = data_of
    ) -> Iterator[Any]:
        """Do some work on a given number of changed rows at a time."""
        return self.rows.spans(work, size, self.columns, self._after_change(prepare))

    def map(self, work: Work, example: NDArray[Any], columns: Columns = None) -> Any:
        """Return what the work makes of each changed row."""
        return self.rows.map(self._after_change(work), example, self.columns)

    def beside(self, values: NDArray[Any]) -> Any:
        """Return values beside the rows, where these are."""
        return self.rows.beside(values)

    def look_up(self, table: NDArray[Any], codes: Any) -> Any:
        """Return entries of a table beside the rows, where these are."""
        return self.rows.look_up(table, codes)

    def _after_change(self, work: Work) -> Work:
        return partial(_work_on_changed, self.change, work)


def _work_on_changed(change: Callable[[Chunk], Chunk], work: Work, chunk: Chunk, *more: Any) -> Any:
    return work(change(chunk), *more)
