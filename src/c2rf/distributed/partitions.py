"""A Dask DataFrame or Array as a population: its partitions counted and labeled where they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self
from uuid import uuid4

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from c2rf.chunks import Chunk, Columns, naming_source, wanted_columns
from c2rf.distributed.cluster import naming_cluster
from c2rf.exceptions import C2RFError, InputTypeError
from c2rf.sources import Source, as_source

MERGED_AT_ONCE = 8
"""So many partial results become one, and so many of these again."""

SPANS_AT_ONCE = 32
"""So many spans of rows are worked on before the next are begun, which bounds the memory."""

Work = Callable[[Any, int], Any]
"""What is done with the rows of a partition and its number."""
SpanWork = Callable[[list[Any], slice], Any]
"""What is done with some rows of neighbouring partitions."""


def is_dask(given: Any) -> bool:
    """Say whether something is a Dask collection, without importing Dask.

    Examples
    --------
    >>> import dask.array
    >>> is_dask(dask.array.zeros((4, 2))), is_dask(np.zeros((4, 2)))
    (True, False)
    """
    return type(given).__module__.partition(".")[0] == "dask"


def as_population(given: Any, name: str = "X_unlabeled") -> Source | None:
    """Return a Dask collection as partitions, anything else as :func:`c2rf.sources.as_source`."""
    return Partitions(given) if is_dask(given) else as_source(given, name)


@dataclass(frozen=True, eq=False)
class Partitions:
    """The partitions of a Dask DataFrame, or the row blocks of a 2-D Dask Array.

    Parameters
    ----------
    collection : dask DataFrame or Array
        The population.
    sizes : tuple of int, optional
        Numbers of rows of the partitions, once they have been counted.

    Examples
    --------
    >>> import dask.array
    >>> population = Partitions(dask.array.ones((5, 2), chunks=(2, 2)))
    >>> int(population.reduce(lambda rows, number: rows.sum(), sum))
    10
    >>> population.map(lambda rows, number: rows[:, 0] * number, np.zeros(1)).compute()
    array([0., 0., 1., 1., 2.])
    """

    collection: Any
    sizes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if getattr(self.collection, "ndim", None) != 2:
            raise InputTypeError(
                "X_unlabeled must be a Dask DataFrame or a 2-D Dask Array; found a Dask "
                f"{type(self.collection).__name__}"
            )

    def chunks(self, columns: Columns = None) -> Iterator[Chunk]:
        """Bring one partition after the other here."""
        for number, part in enumerate(self._parts(columns)):
            with naming_cluster(), naming_source(partition_name(number)):
                data = part.compute()
            yield Chunk(_as_wanted(data, columns), partition_name(number))

    def reduce(
        self, work: Work, merge: Callable[[Sequence[Any]], Any], columns: Columns = None
    ) -> Any:
        """Do the work in every partition, and merge the results, some neighbours at a time.

        Parameters
        ----------
        work : callable
            Takes the rows of a partition and its number. It is sent to the cluster once.
        merge : callable
            Takes a list of results in the order of the partitions, and returns one.
        columns : sequence of str, optional
            As for :meth:`chunks`.

        Returns
        -------
        object
            The merged result of all partitions.
        """
        from dask.delayed import delayed

        shared = _shared(work)
        parts = self._parts(columns)
        done = [delayed(_do)(part, shared, number, columns) for number, part in enumerate(parts)]
        with naming_cluster():
            try:
                return _merged(done, merge).compute()
            except Exception as error:
                _blame(error, parts)
                raise

    def map(self, work: Work, example: NDArray[Any], columns: Columns = None) -> Any:
        """Return what the work makes of each row, as a lazy collection aligned with this one.

        Parameters
        ----------
        work : callable
            Takes the rows of a partition and its number, returns an array with a value per row.
        example : ndarray
            Some such values, for their type.
        columns : sequence of str, optional
            As for :meth:`chunks`.

        Returns
        -------
        dask Series or Array
            With the index and divisions, or the row chunks, of this collection.
        """
        shared, selected = _shared(work), self._selected(columns)
        if not self._is_frame:
            kind = {"dtype": example.dtype, "meta": example[:0]}
            return selected.map_blocks(_do_block, work=shared, drop_axis=1, **kind)
        # What pandas makes of an array depends on its values.
        meta = pd.Series(example, name=LABEL)[:0].set_axis(selected._meta.index)
        return selected.map_partitions(_do_frame, shared, columns=columns, meta=meta)

    def spans(
        self,
        prepare: Work,
        work: SpanWork,
        size: int,
        columns: Columns = None,
    ) -> Iterator[Any]:
        """Do some work on so many rows at a time, wherever partitions end.

        Parameters
        ----------
        prepare : callable
            What is done with each partition first, as in :meth:`reduce`.
        work : callable
            Takes the prepared partitions that a span touches, and which of their rows it is.
        size : int
            Number of rows of all spans but the last.
        columns : sequence of str, optional
            As for :meth:`chunks`.

        Yields
        ------
        object
            The result for each span, in order. Some spans are worked on at once.

        Examples
        --------
        >>> import dask.array
        >>> rows = dask.array.arange(5, chunks=2)[:, None]
        >>> population = Partitions(rows).counted()
        >>> def add(pieces, span):
        ...     return int(np.vstack(pieces)[span].sum())
        >>> list(population.spans(lambda rows, number: rows, add, 3))
        [3, 7]
        """
        from dask.base import compute
        from dask.delayed import delayed

        first, second, parts = _shared(prepare), _shared(work), self._parts(columns)
        ready = [delayed(_do)(part, first, number, columns) for number, part in enumerate(parts)]
        starts = range(0, sum(self.sizes), size)
        for k in range(0, len(starts), SPANS_AT_ONCE):
            touched = [self._touched(start, size) for start in starts[k : k + SPANS_AT_ONCE]]
            jobs = [delayed(_do_span)(ready[which], second, rows) for which, rows in touched]
            with naming_cluster():
                try:
                    done = compute(*jobs)
                except Exception as error:
                    _blame(error, parts)
                    raise
            yield from done

    def counted(self) -> Self:
        """Return the same population with the numbers of rows of its partitions."""
        return self.with_sizes(self.reduce(_size, _concatenated, self.narrow))

    def _touched(self, start: int, size: int) -> tuple[slice, slice]:
        """Return the partitions that a span of rows touches, and where it is among their rows."""
        ends = np.cumsum(self.sizes)
        stop = min(start + size, int(ends[-1]))
        first, last = np.searchsorted(ends, [start, stop - 1], side="right")
        skipped = int(ends[first]) - self.sizes[first]
        return slice(int(first), int(last) + 1), slice(start - skipped, stop - skipped)

    @property
    def narrow(self) -> Columns:
        """A single column, for what needs only the rows."""
        return list(self.collection.columns)[:1] if self._is_frame else None

    def with_sizes(self, sizes: Sequence[int]) -> Self:
        """Return the same population with the numbers of rows of its partitions."""
        return replace(self, sizes=tuple(sizes))

    @property
    def _is_frame(self) -> bool:
        return hasattr(self.collection, "map_partitions")

    def _selected(self, columns: Columns) -> Any:
        """Return the collection with these columns only, so that no others are read."""
        if not self._is_frame:
            return self.collection.rechunk({1: -1})
        names = list(self.collection.columns)
        wanted = wanted_columns(columns, names, "X_unlabeled")
        return self.collection if wanted == names else self.collection[wanted]

    def _parts(self, columns: Columns) -> list[Any]:
        """Return the partitions, each to be computed for itself."""
        return list(np.ravel(self._selected(columns).to_delayed()))


LABEL = "label"


def partition_name(number: int) -> str:
    """Return what a partition is called in messages."""
    return f"partition {number}"


def _shared(work: Work | SpanWork) -> Any:
    """Return the work as one node of the graph: it travels once, and survives lost workers."""
    from dask.delayed import delayed

    return delayed(work, name=f"c2rf-work-{uuid4().hex}", traverse=False)


def _merged(results: list[Any], merge: Callable[[Sequence[Any]], Any]) -> Any:
    """Return the root of a tree of merges."""
    from dask.delayed import delayed

    while len(results) > 1:
        starts = range(0, len(results), MERGED_AT_ONCE)
        results = [delayed(merge)(results[k : k + MERGED_AT_ONCE]) for k in starts]
    return results[0]


def _do(data: Any, work: Work, number: int, columns: Columns) -> Any:
    return work(_as_wanted(data, columns), number)


def _do_span(pieces: list[Any], work: SpanWork, rows: slice) -> Any:
    return work(pieces, rows)


def _size(data: Any, number: int) -> tuple[int, ...]:
    return (data.shape[0],)


def _concatenated(parts: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(size for part in parts for size in part)


def _do_block(block: Any, work: Work, block_id: tuple[int, ...] = (0,)) -> Any:
    return work(block, block_id[0])


def _do_frame(frame: Any, work: Work, columns: Columns, partition_info: Any = None) -> Any:
    values = work(_as_wanted(frame, columns), partition_info["number"])
    return pd.Series(values, index=frame.index, name=LABEL)


def _as_wanted(data: Any, columns: Columns) -> Any:
    """Return a frame as a plain array where no columns were named."""
    return data.to_numpy() if columns is None and hasattr(data, "columns") else data


def _blame(error: Exception, parts: list[Any]) -> None:
    """Say which partition cannot be computed, if that is what went wrong."""
    if isinstance(error, C2RFError) or type(error).__module__.startswith("distributed"):
        return
    for number, part in enumerate(parts):
        with naming_source(partition_name(number)):
            part.compute()
