"""A Dask DataFrame or Array as a population: the work is done where its partitions are.

Also the connection to a cluster: schedulers that do not answer, and clusters that are lost, are
reported clearly and in finite time. Dask is optional: nothing here imports it before a Dask
collection is at hand.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from c2rf._utils.frames import names_of
from c2rf._utils.types import Columns
from c2rf.assignment.parts import Merge, merged
from c2rf.data.formats import PARQUET, naming_source, wanted_columns
from c2rf.data.population.files import find_files
from c2rf.data.population.interface import (
    AS_IT_IS,
    SPAN,
    Chunk,
    KeptArray,
    Population,
    View,
    Work,
    as_asked,
    check_still,
    in_blocks,
    typed,
)
from c2rf.exceptions import C2RFError, ClusterError, InputError, InputTypeError
from c2rf.progress import Countdown

ANSWER_SECONDS = 30.0
"""A scheduler that is silent for so long is taken for dead."""


@contextmanager
def connected(address: str | None, seconds: float | None = None) -> Iterator[None]:
    """Compute on the cluster of the scheduler at this address; None means threads of this process.

    Parameters
    ----------
    address : str or None
        Such as ``tcp://10.0.0.1:8786``.
    seconds : float, optional
        How long to wait for the scheduler, and for a first worker; else ``ANSWER_SECONDS``.

    Examples
    --------
    >>> with connected("tcp://127.0.0.1:9", seconds=0.2):
    ...     pass
    Traceback (most recent call last):
    ...
    c2rf.exceptions.ClusterError: the scheduler tcp://127.0.0.1:9 does not answer within 0.2 \
seconds; check the address, and that it is running
    """
    need_dask()
    if address is None:
        yield
        return
    from distributed import Client

    seconds = ANSWER_SECONDS if seconds is None else seconds
    try:
        asyncio.run(asyncio.wait_for(_greet(address, seconds), seconds))
    except (OSError, ValueError, TimeoutError) as error:
        raise _silent(address, seconds) from error
    with Client(address, timeout=seconds) as client:
        try:
            client.wait_for_workers(1, timeout=seconds)
        except TimeoutError as error:
            raise ClusterError(
                f"the scheduler {address} has no workers, and none came within {seconds:g} "
                "seconds; start one with: dask worker " + address
            ) from error
        yield


def using_threads(n_jobs: int | None) -> AbstractContextManager[Any]:
    """Let Dask use this number of threads where it has no cluster; -1 is one per processor."""
    if n_jobs is None:
        return nullcontext()
    from dask import config
    from joblib import effective_n_jobs

    return config.set(num_workers=effective_n_jobs(n_jobs))


@contextmanager
def naming_cluster() -> Iterator[None]:
    """Turn the errors of a lost cluster into one of our own; check first that it answers."""
    try:
        if _cluster() is None:
            yield
            return
        from dask import config

        # A forest of many megabytes is sent without a warning: it is sent once.
        with config.set({"distributed.admin.large-graph-warning-threshold": "10GB"}):
            yield
    except Exception as error:
        package = type(error).__module__.partition(".")[0]
        if not isinstance(error, CancelledError) and package != "distributed":
            raise
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ClusterError(f"the Dask cluster was lost during the work: {reason}") from error


def need_dask() -> None:
    """Refuse to go on without Dask, and say how to get it."""
    if find_spec("dask") is None or find_spec("distributed") is None:
        raise InputError('Dask is not installed; pip install "c2rf[dask]"')


async def _greet(address: str, seconds: float) -> None:
    """Connect to a scheduler; a Client would wait forever for one that never answers."""
    from distributed import Security
    from distributed.comm.core import connect

    comm = await connect(address, timeout=seconds, **Security().get_connection_args("client"))
    await comm.close()


def _cluster() -> Any:
    """Return the client of the cluster that Dask computes on, which must answer; None without."""
    if "distributed" not in sys.modules:
        return None
    from distributed import Client

    try:
        client = Client.current()
    except ValueError:
        return None
    if client.status != "running" or client.scheduler is None or client.asynchronous:
        return None
    try:
        client.sync(client.scheduler.identity, callback_timeout=ANSWER_SECONDS)
    except (OSError, TimeoutError) as error:
        raise _silent(client.scheduler.address, ANSWER_SECONDS) from error
    return client


def _compute(*jobs: Any) -> Sequence[Any]:
    """Compute here or on the cluster; a lost cluster is one of our errors."""
    from dask.base import compute

    with naming_cluster():
        client = _cluster()
        if client is None:
            found: Sequence[Any] = compute(*jobs)
            return found
        futures = client.compute(list(jobs))
        for _ in _finished(futures):
            pass
        return tuple(client.gather(futures))


def _finished(futures: Sequence[Any]) -> Iterator[Any]:
    """Yield futures as they finish; a cluster that has no workers for long is given up."""
    from distributed import as_completed

    ready, client = as_completed(futures), futures[0].client
    asked = last = time.monotonic()
    while not ready.is_empty():
        if ready.has_ready():
            yield next(ready)
            continue
        time.sleep(0.01)
        if time.monotonic() < asked + 1:
            continue
        asked = time.monotonic()
        last = asked if client.nthreads() else last
        if asked - last > ANSWER_SECONDS:
            client.cancel(futures)
            raise ClusterError(
                f"the scheduler {client.scheduler.address} has lost all its workers, and none came "
                f"within {ANSWER_SECONDS:g} seconds; start some, and run again"
            )


def _silent(address: str, seconds: float) -> ClusterError:
    return ClusterError(
        f"the scheduler {address} does not answer within {seconds:g} seconds; check the address, "
        "and that it is running"
    )


SPANS_AT_ONCE = 4
"""The number of spans that are worked on before the next are begun, which bounds the memory."""

ROWS_PER_PARTITION = 1 << 18
"""Row groups of a Parquet file are put together in a partition up to this number of rows."""

LABEL = "label"


def is_dask(given: Any) -> bool:
    """Say whether something is a Dask collection, without importing Dask.

    Examples
    --------
    >>> import dask.array
    >>> is_dask(dask.array.zeros((4, 2))), is_dask(np.zeros((4, 2)))
    (True, False)
    """
    return type(given).__module__.partition(".")[0] == "dask"


def read_parquet(path: Path, most_rows: int = ROWS_PER_PARTITION) -> Any:
    """Return a Parquet file, or all in a folder, as a Dask DataFrame of Arrow types.

    Parameters
    ----------
    path : Path
        All files must have the same columns, in any order.
    most_rows : int
        Row groups of one file are put together in a partition up to this number of rows.

    Returns
    -------
    dask DataFrame
        Only columns that are used are read.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in "ab":
    ...     pd.DataFrame({"x": [1, 2]}).to_parquet(folder / f"{name}.parquet")
    >>> frame = read_parquet(folder)
    >>> frame.npartitions, frame["x"].compute().tolist()
    (2, [1, 2, 1, 2])
    """
    import dask.dataframe as dd

    from c2rf.data.formats import arrow

    files = find_files([path])
    if files.kind is not PARQUET:
        raise InputError(f"{path} must be a Parquet file or a folder of them; found other files")
    schema, sources = files.schema, list(arrow.row_groups(files.paths, most_rows))
    if not sources:
        raise InputError(f"{path} has columns but no rows")
    header = arrow.as_table(schema.empty_table())
    return dd.from_map(arrow.read_row_groups, sources, schema=schema, meta=header)


class DaskRows(Population):
    """The partitions of a Dask DataFrame, or the row blocks of a 2-D Dask Array.

    ``sizes`` are the numbers of rows of the partitions, once they have been counted.

    Parameters
    ----------
    collection : dask DataFrame or Array
        The population.

    Examples
    --------
    >>> import dask.array
    >>> rows = DaskRows(dask.array.ones((5, 2), chunks=(2, 2)))
    >>> int(rows.reduce(lambda chunk: chunk.data.sum(), sum)), rows.sizes
    (10, (2, 2, 1))
    >>> rows.map(lambda chunk: chunk.data[:, 0] * chunk.start, np.zeros(1)).compute()
    array([0., 0., 2., 2., 4.])
    """

    is_distributed = True

    def __init__(self, collection: Any) -> None:
        if getattr(collection, "ndim", None) != 2:
            raise InputTypeError(
                "X_unlabeled must be a Dask DataFrame or a 2-D Dask Array; found a Dask "
                f"{type(collection).__name__}"
            )
        self.collection, self.sizes = collection, ()
        self.names = names_of(collection)

    sizes: tuple[int, ...]

    def read(self, columns: Columns = None) -> Iterator[tuple[Any, str]]:
        """Bring one partition after the other here."""
        for number, partition in enumerate(self._partitions(columns)):
            with naming_source(_name(number)):
                (data,) = _compute(partition)
            yield as_asked(data, columns), _name(number)

    def counted(self) -> Population:
        """Count the rows of each partition."""
        if not self.sizes:
            self.reduce(lambda chunk: None, lambda results: None, self._first_column)
        return self

    def reduce(
        self, work: Work, merge: Merge, columns: Columns = None, aligned: Sequence[Any] = ()
    ) -> Any:
        """Do the work in every partition, and merge the results in a tree."""
        from dask.delayed import delayed

        if aligned:
            self.counted()
        shared, partitions = _shared(work), self._partitions(columns)
        done = []
        for number, partition in enumerate(partitions):
            rows = self._rows(number)
            values = [np.asarray(array[rows]) for array in aligned]
            done.append(delayed(_do)(partition, shared, number, rows, columns, values))
        (results, sizes), *_ = _computed(
            [merged(done, delayed(partial(_merge, merge)))], partitions
        )
        self.sizes = sizes
        self._check_count(sum(sizes))
        return results[0]

    def map(self, work: Work, example: NDArray[Any], columns: Columns = None) -> Any:
        """Return a Dask Series or Array aligned with the collection, to be computed when needed."""
        rows = [self._rows(number) for number in range(self._n_partitions)]
        shared, selected = _shared(work), self._selected(columns)
        if not self._is_frame:
            kind = {"dtype": example.dtype, "meta": example[:0]}
            return selected.map_blocks(_map_array, shared, rows, example.dtype, drop_axis=1, **kind)
        # What pandas makes of an array depends on its values.
        meta = pd.Series(example, name=LABEL)[:0].set_axis(selected._meta.index)
        return selected.map_partitions(_map_frame, shared, rows, columns, meta=meta)

    def blocks(self, work: Work, size: int, view: View = AS_IT_IS) -> Iterator[Any]:
        """Do some work on a given number of rows at a time; results of a span come as one."""
        partitions, spans = self._blocks_of(work, size, view)
        for k in range(0, len(spans), SPANS_AT_ONCE):
            yield from _computed(spans[k : k + SPANS_AT_ONCE], partitions)

    @property
    def keeps_rows(self) -> bool:
        """Whether workers of other processes keep what is computed."""
        return _cluster() is not None

    def keep(self, work: Work, example: NDArray[Any], size: int, view: View = AS_IT_IS) -> Any:
        """Return what the work makes of ``size`` rows at a time, kept by the workers."""
        if not self.keeps_rows:
            return super().keep(work, example, size, view)
        work = partial(typed, example.dtype, work)
        partitions, spans = self._blocks_of(work, size, view)
        kept = _persisted(spans, "ranking rows", partitions)
        return DaskArray(kept, (sum(self.sizes), *example.shape[1:]), example.dtype)

    def aligned(self, values: Any) -> Any:
        """Return the values as a Dask Series or Array aligned with the collection."""
        self.counted()
        work: Any = partial(_rows_of_chunk, values)
        if isinstance(values, KeptArray):  # they are put together where they are needed
            from dask.delayed import delayed

            work = delayed(partial)(_rows_of_chunk, delayed(np.concatenate)(values.spans))
        return self.map(work, np.empty(0, values.dtype), self._first_column)

    def look_up(self, table: NDArray[Any], codes: Any) -> Any:
        """Return the entries as a Dask Series or Array, to be computed when needed."""
        if not self._is_frame:
            return codes.map_blocks(_look_up, table, dtype=table.dtype, meta=table[:0])
        meta = pd.Series(table, name=LABEL)[:0].set_axis(self.collection._meta.index)
        return codes.map_partitions(_look_up, table, meta=meta)

    def _blocks_of(self, work: Work, size: int, view: View) -> tuple[list[Any], list[Any]]:
        """Return the partitions, and what is to be made of each span of their rows."""
        from dask.delayed import delayed

        self.counted()
        shared, partitions = _shared(view.rows_of), self._partitions(view.columns)
        ready = [
            delayed(_prepare)(partition, shared, number, self._rows(number), view.columns)
            for number, partition in enumerate(partitions)
        ]
        touched = [self._touched(start, SPAN) for start in range(0, sum(self.sizes), SPAN)]
        shared = _shared(work)
        return partitions, [
            delayed(in_blocks)(shared, size, ready[which], rows) for which, rows in touched
        ]

    @property
    def _is_frame(self) -> bool:
        return hasattr(self.collection, "map_partitions")

    @property
    def _first_column(self) -> Columns:
        return list(self.collection.columns)[:1] if self._is_frame else None

    @property
    def _n_partitions(self) -> int:
        collection = self.collection
        return collection.npartitions if self._is_frame else len(collection.chunks[0])

    def _rows(self, number: int) -> slice:
        """Return the rows of a partition; without an end where they were not counted."""
        if not self.sizes:
            return slice(0, None)
        start = sum(self.sizes[:number])
        return slice(start, start + self.sizes[number])

    def _touched(self, start: int, size: int) -> tuple[slice, slice]:
        """Return the partitions that a block of rows touches, and where it is among their rows."""
        ends = np.cumsum(self.sizes)
        stop = min(start + size, int(ends[-1]))
        first, last = np.searchsorted(ends, [start, stop - 1], side="right")
        skipped = int(ends[first]) - self.sizes[first]
        return slice(int(first), int(last) + 1), slice(start - skipped, stop - skipped)

    def _selected(self, columns: Columns) -> Any:
        """Return the collection with these columns only, so that no others are read."""
        if not self._is_frame:
            return self.collection.rechunk({1: -1})
        names = list(self.collection.columns)
        wanted = wanted_columns(columns, names, "X_unlabeled")
        return self.collection if wanted == names else self.collection[wanted]

    def _partitions(self, columns: Columns) -> list[Any]:
        """Return the partitions, each to be computed for itself."""
        return list(np.ravel(self._selected(columns).to_delayed()))


def _name(number: int) -> str:
    return f"partition {number}"


def _shared(work: Any) -> Any:
    """Return the work as one node of the graph: it travels once, and survives lost workers."""
    from dask.delayed import Delayed, delayed

    if isinstance(work, Delayed):
        return work
    return delayed(work, name=f"c2rf-work-{uuid4().hex}", traverse=False)


def _computed(jobs: Sequence[Any], partitions: list[Any]) -> Sequence[Any]:
    """Do all jobs; if a partition itself cannot be computed, the error says which."""
    with naming_partition(partitions):
        return _compute(*jobs)


@contextmanager
def naming_partition(partitions: Sequence[Any]) -> Iterator[None]:
    """If something fails, see whether it is a partition, and name it."""
    with naming_cluster():
        try:
            yield
        except Exception as error:
            is_lost = type(error).__module__.startswith("distributed")
            if not is_lost and not isinstance(error, C2RFError):
                for number, partition in enumerate(partitions):
                    with naming_source(_name(number)):
                        partition.compute()
            raise


def _persisted(spans: list[Any], phase: str = "", partitions: Sequence[Any] = ()) -> list[Any]:
    """Let the workers compute spans of rows now and keep them; say how many rows are done."""
    from dask.base import persist
    from distributed import futures_of

    with naming_partition(partitions):
        kept = list(persist(*spans))
        countdown = Countdown(phase, len(kept) * SPAN)
        for future in _finished(futures_of(kept)):
            if future.status == "error":
                future.result()
            if phase:
                countdown.done(SPAN)
    return kept


class DaskArray(KeptArray):
    """An array that the workers of a cluster of Dask keep; ``spans`` is a list of Delayed."""

    def made(self, work: Work, others: Sequence[Any], shape: tuple[int, ...], dtype: Any) -> Self:
        """Let the workers compute something of every span, and keep it."""
        return type(self)(_persisted(self._jobs(work, others)), shape, dtype)

    def results(self, work: Work, others: Sequence[Any], merge: Merge) -> Any:
        """Do the work with every span, and merge the results in a tree."""
        from dask.delayed import delayed

        return _compute(merged(self._jobs(work, others), delayed(merge)))[0]

    def span(self, k: int) -> NDArray[Any]:
        """Bring a span here."""
        return np.asarray(_compute(self.spans[k])[0])

    def aligned(self, values: Any) -> Any:
        """Send every worker the spans that it needs."""
        from dask.delayed import delayed

        if isinstance(values, KeptArray):
            return values
        starts = range(0, len(values), SPAN)
        spans = [delayed(np.asarray(values[k : k + SPAN]), traverse=False) for k in starts]
        return DaskArray(_persisted(spans), values.shape, values.dtype)

    def _jobs(self, work: Work, others: Sequence[Any]) -> list[Any]:
        shared = _shared(work)
        return [
            shared(k * SPAN, own, *(array.spans[k] for array in others))
            for k, own in enumerate(self.spans)
        ]


def _chunk(data: Any, number: int, rows: slice, columns: Columns) -> Chunk:
    """Return a partition, which must have the size that was counted."""
    counted = None if rows.stop is None else rows.stop - rows.start
    check_still(f"{_name(number)} of X_unlabeled", data.shape[0], counted)
    return Chunk(as_asked(data, columns), _name(number), rows.start)


def _do(
    data: Any, work: Work, number: int, rows: slice, columns: Columns, aligned: list[Any]
) -> tuple[list[Any], tuple[int, ...]]:
    """Return the result of a partition, none if it is empty, and its size."""
    chunk = _chunk(data, number, rows, columns)
    n_rows = chunk.data.shape[0]
    return [work(chunk, *aligned)] if n_rows else [], (n_rows,)


def _merge(
    merge: Merge, done: Sequence[tuple[list[Any], tuple[int, ...]]]
) -> tuple[list[Any], tuple[int, ...]]:
    """Merge the results of neighbouring partitions to one, and join their sizes."""
    results = [result for found, _ in done for result in found]
    sizes = tuple(size for _, found in done for size in found)
    return [merge(results)] if len(results) > 1 else results, sizes


def _prepare(data: Any, work: Work, number: int, rows: slice, columns: Columns) -> Any:
    chunk = _chunk(data, number, rows, columns)
    return work(chunk) if chunk.data.shape[0] else chunk.data


def _map_array(
    block: Any, work: Work, rows: list[slice], kind: Any, block_id: tuple[int, ...] = (0,)
) -> Any:
    chunk = _chunk(block, block_id[0], rows[block_id[0]], None)
    return work(chunk) if len(block) else np.empty(0, kind)


def _map_frame(
    frame: Any, work: Work, rows: list[slice], columns: Columns, partition_info: Any = None
) -> Any:
    number = partition_info["number"]
    chunk = _chunk(frame, number, rows[number], columns)
    values = work(chunk) if len(frame) else []
    return pd.Series(values, index=frame.index, name=LABEL)


def _rows_of_chunk(values: NDArray[Any], chunk: Chunk) -> NDArray[Any]:
    return values[chunk.start : chunk.start + chunk.data.shape[0]]


def _look_up(codes: Any, table: NDArray[Any]) -> Any:
    if isinstance(codes, pd.Series):
        return pd.Series(table[codes.to_numpy(dtype=np.intp)], index=codes.index, name=LABEL)
    return table[codes]
