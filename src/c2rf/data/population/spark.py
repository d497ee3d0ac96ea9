"""A DataFrame of Spark as a population: the work is done where its partitions are, by Arrow.

A frame of Spark has no row numbers: rows are numbered by ascending id, so a column of ids is
needed. Rows are sorted once, and Spark keeps them, in memory or on its disks: every pass sees the
same ones. A task that fails is done again by Spark, with the same result.
"""

from __future__ import annotations

import os
import pickle
import shutil
import socket
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from itertools import groupby
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from c2rf._utils.types import Columns
from c2rf.assignment.parts import Merge, merged
from c2rf.data.formats import wanted_columns
from c2rf.data.formats.arrow import as_table, check_types
from c2rf.data.population.duckdb import check_id, check_ids
from c2rf.data.population.interface import (
    AS_IT_IS,
    CHANGED,
    SPAN,
    Chunk,
    KeptArray,
    Population,
    View,
    Work,
    as_asked,
    check_still,
    in_blocks,
    plain,
    typed,
)
from c2rf.exceptions import C2RFError, ClusterError, InputError

ANSWER_SECONDS = 30.0
"""A master that is silent for so long is taken for dead."""

ROW, SPAN_NUMBER = "c2rf row", "c2rf span"

Results = Iterator[tuple[int, Any]]
Tables = Callable[[int, Iterator[pd.DataFrame]], Results]
"""Work on the tables of a partition, whose number comes first; results are numbered, too."""


def is_spark(given: Any) -> bool:
    """Say whether something is a DataFrame of Spark, without importing Spark."""
    return type(given).__name__ == "DataFrame" and type(given).__module__.startswith("pyspark.sql")


def start_session(master: str | None) -> Any:
    """Start Spark on a master such as ``local[2]`` or ``spark://host:7077``; all cores without.

    A session that runs already is used as it is. It ends with the process, because lazy labels
    need it.
    """
    where = master or "local[*]"
    if find_spec("pyspark") is None:
        raise InputError('Spark is not installed; pip install "c2rf[spark]"')
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        raise InputError(
            "Spark needs Java 17 or later, which was not found; install it (on Debian: apt-get "
            "install default-jre-headless), or set JAVA_HOME"
        )
    if where.startswith("spark://"):
        host, _, port = where.removeprefix("spark://").partition(":")
        try:
            socket.create_connection((host, int(port or 7077)), ANSWER_SECONDS).close()
        except (OSError, ValueError) as error:
            raise ClusterError(
                f"the master {where} does not answer within {ANSWER_SECONDS:g} seconds; check the "
                "address, and that it is running"
            ) from error
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with _quietly():
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master(where).appName("c2rf")
        try:
            spark = builder.config("spark.ui.enabled", "false").getOrCreate()
        except Exception as error:
            raise ClusterError(
                f"Spark could not be started on {where}: {_reason(error)}"
            ) from error
    spark.sparkContext.setLogLevel("OFF")
    return spark


def read_parquet(path: object) -> Any:
    """Return Parquet files as a DataFrame of the session that is running."""
    from pyspark.sql import SparkSession

    with _quietly(), _naming(str(path)):
        return SparkSession.builder.getOrCreate().read.parquet(str(path))


class SparkRows(Population):
    """The rows of a DataFrame of Spark, by ascending id.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        The rows.
    id : str
        The column that names a row; no id is missing or there twice.
    where : str
        What the rows are called in messages.
    """

    names: list[str]
    n_rows: int

    def __init__(self, frame: Any, id: str | None, where: str = "the Spark frame") -> None:
        self.names, self.where, self.read_as = list(frame.columns), where, "Spark"
        self.id = check_id(id, self.names, where)
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        with _quietly(), _naming(where):
            from pyspark.sql.pandas.types import to_arrow_schema

            check_types(to_arrow_schema(frame.schema), where)
            self._ordered = frame.orderBy(_column(self.id)).persist()
        counts = dict(self._results(self._select([self.id]), _count_ids))
        self._starts = np.zeros(max(counts, default=0) + 2, dtype=np.int64)
        for number, (n_rows, *_) in counts.items():
            self._starts[number + 1] = n_rows
        self._starts = np.cumsum(self._starts)
        n_rows, n_ids, n_distinct = np.sum([(0, 0, 0), *counts.values()], axis=0).tolist()
        check_ids(n_rows, n_ids, n_distinct, self.id, where)
        self.n_rows = n_rows

    def close(self) -> None:
        """Let Spark forget the results that it keeps; the rows are sorted again when needed."""
        with _quietly():
            self._ordered.unpersist()

    def read(self, columns: Columns = None) -> Iterator[tuple[Any, str]]:
        """Bring all rows here, in the order of their ids."""
        for number, table in self._results(self._select(columns), _as_they_are, in_order=True):
            yield as_asked(table, columns), f"partition {number} of {self.where}"

    def reduce(
        self, work: Work, merge: Merge, columns: Columns = None, aligned: Sequence[Any] = ()
    ) -> Any:
        """Do the work in every partition, and merge the results here."""
        values = [np.asarray(each) for each in aligned]
        on_tables = partial(_reduced, work, merge, columns, self._starts, values)
        found = sorted(self._results(self._select(columns), on_tables), key=lambda each: each[0])
        return merged((result for _, result in found), merge)

    def blocks(self, work: Work, size: int, view: View = AS_IT_IS) -> Iterator[Any]:
        """Do some work on a given number of rows at a time; results of a span come as one."""
        kept = self._blocks_of(work, size, view)
        return map(kept.span, range(len(kept.spans.places)))

    @property
    def keeps_rows(self) -> bool:
        """Whether Spark keeps what is computed."""
        return True

    def keep(self, work: Work, example: NDArray[Any], size: int, view: View = AS_IT_IS) -> Any:
        """Return what the work makes of ``size`` rows at a time, kept by Spark."""
        kept = self._blocks_of(partial(typed, example.dtype, work), size, view)
        kept.shape, kept.dtype = (self.n_rows, *example.shape[1:]), example.dtype
        return kept

    def _blocks_of(self, work: Work, size: int, view: View) -> SparkArray:
        """Bring the rows of each span together, and keep what is made of them."""
        from pyspark.sql import functions as sql

        n_spans = -(-self.n_rows // SPAN)
        wanted = wanted_columns(view.columns, self.names, self.where)
        on_tables = partial(_on_blocks, partial(in_blocks, work, size), view, SPAN)
        with _quietly(), _naming(self.where):
            starts = sql.array(*(sql.lit(int(start)) for start in self._starts))
            place = sql.monotonically_increasing_id().bitwiseAND((1 << 33) - 1)
            row = sql.element_at(starts, sql.spark_partition_id() + 1) + place
            numbered = self._select(wanted, row.alias(ROW))
            numbered = numbered.withColumn(SPAN_NUMBER, sql.floor(_column(ROW) / SPAN))
            # By a hash of their numbers: spans of other columns are in the same places.
            parts = numbered.repartition(min(n_spans, 200), SPAN_NUMBER).sortWithinPartitions(ROW)
            return SparkArray(_kept(_mapped(parts, on_tables).rdd.map(_unpacked)), (), float)

    def map(self, work: Work, example: NDArray[Any], columns: Columns = None) -> Any:
        """Return what the work makes of each row, by ascending id."""
        return self.reduce(work, np.concatenate, columns)

    def with_columns(self, added: Mapping[str, Any], meanings: Mapping[str, NDArray[Any]]) -> Any:
        """Return a DataFrame of Spark with the id and more columns, made where the rows are.

        Parameters
        ----------
        added : mapping of str to array
            Columns with an entry per row; what Spark keeps does not move.
        meanings : mapping of str to ndarray
            For columns that hold codes: what each code stands for.
        """
        ids = self._blocks_of(lambda rows: rows.iloc[:, 0].to_numpy(), SPAN, View([self.id]))
        ids.shape = (self.n_rows,)
        with _quietly(), _naming(self.where):
            from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

            (field,) = to_arrow_schema(self._select([self.id]).schema)
            work = partial(_labeled, field, list(added), dict(meanings))
            empty = work(
                0, np.empty(0, object), *(np.empty(0, own.dtype) for own in added.values())
            )
            schema = from_arrow_schema(empty.schema)
            columns = [ids.aligned(own) for own in added.values()]
            packed = ids._jobs(partial(_packed, work), columns).sortByKey().values()
            frame = self._ordered.sparkSession.createDataFrame(packed, "packed binary")
            return frame.mapInArrow(_unpack, schema)

    def _select(self, columns: Columns, *more: Any) -> Any:
        wanted = wanted_columns(columns, self.names, self.where)
        with _quietly():
            return self._ordered.select(*map(_column, wanted), *more)

    def _results(self, frame: Any, work: Tables, *, in_order: bool = False) -> Results:
        """Do some work on the tables of every partition; in order, results are kept by Spark."""
        with _quietly(), _naming(self.where):
            made = _mapped(frame, work)
            if in_order:  # all at once there, here one partition after the other
                made = made.persist()
                made.count()
            found = made.toLocalIterator(prefetchPartitions=True) if in_order else made.collect()
            for number, packed in found:
                result = pickle.loads(packed)
                if isinstance(result, C2RFError):
                    raise result
                yield number, result
            if in_order:
                made.unpersist()


class _Blocks(NamedTuple):
    """An RDD of numbered spans, and the number of the partition that holds each of them."""

    rdd: Any
    places: dict[int, int]


class SparkArray(KeptArray):
    """An array that Spark keeps, in memory or on its disks; ``spans`` are :class:`_Blocks`."""

    def made(self, work: Work, others: Sequence[Any], shape: tuple[int, ...], dtype: Any) -> Self:
        """Let Spark compute something of every span, and keep it."""
        return type(self)(_kept(self._jobs(work, others)), shape, dtype)

    def results(self, work: Work, others: Sequence[Any], merge: Merge) -> Any:
        """Do the work with every span, and merge the results here."""
        with _quietly(), _naming("the Spark frame"):
            found = dict(self._jobs(work, others).collect())
        return merged((found[k] for k in sorted(found)), merge)

    def span(self, k: int) -> NDArray[Any]:
        """Bring a span here."""
        with _quietly(), _naming("the Spark frame"):
            rdd = self.spans.rdd.filter(lambda span: span[0] == k)
            ((_, span),) = rdd.context.runJob(rdd, list, [self.spans.places[k]])
        return np.asarray(span)

    def _jobs(self, work: Work, others: Sequence[Any]) -> Any:
        rdd = self.spans.rdd.mapValues(lambda span: (span,))
        for other in others:
            rdd = rdd.zip(other.spans.rdd).map(_zipped)
        return rdd.map(lambda span: (span[0], work(span[0] * SPAN, *span[1])))


def _kept(rdd: Any) -> _Blocks:
    """Let Spark compute numbered spans and keep them; refuse what cannot be computed."""
    from pyspark import StorageLevel

    with _quietly(), _naming("the Spark frame"):
        found = rdd.persist(StorageLevel.MEMORY_AND_DISK).mapPartitionsWithIndex(_places).collect()
    for _, place in found:
        if isinstance(place, C2RFError):
            raise place
    return _Blocks(rdd, dict(found))


def _places(partition: int, spans: Iterator[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
    for k, span in spans:
        yield k, span if isinstance(span, C2RFError) else partition


def _zipped(pair: Any) -> tuple[int, tuple[Any, ...]]:
    (k, spans), (other, span) = pair
    if k != other:
        raise InputError(f"rows of the Spark frame are not where they were: {CHANGED}")
    return k, (*spans, span)


def _labeled(
    field: Any, names: list[str], meanings: dict[str, NDArray[Any]], start: int, ids: Any, *own: Any
) -> Any:
    """Return ids and columns as a table of Arrow; the field says of which type ids are."""
    import pyarrow as pa

    added = [
        pa.array(meanings[name][values] if name in meanings else values)
        for name, values in zip(names, own, strict=True)
    ]
    return pa.table([pa.array(ids, field.type), *added], names=[field.name, *names])


def _packed(work: Work, *arrays: Any) -> tuple[bytearray]:
    import pyarrow as pa

    table, sink = work(*arrays), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return (bytearray(sink.getvalue()),)


def _unpack(batches: Iterator[Any]) -> Iterator[Any]:
    import pyarrow as pa

    for batch in batches:
        for packed in batch.column(0):
            yield from pa.ipc.open_stream(packed.as_buffer())


def _mapped(frame: Any, work: Tables) -> Any:
    return frame.mapInArrow(partial(_on_partition, work), "number long, result binary")


def _unpacked(row: Any) -> tuple[int, Any]:
    return row.number, pickle.loads(row.result)


def _column(name: str) -> Any:
    from pyspark.sql import functions as sql

    return sql.col("`" + name.replace("`", "``") + "`")


@contextmanager
def _quietly() -> Iterator[None]:
    """Leave out what Spark says of the versions of other packages."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def _naming(where: str) -> Iterator[None]:
    try:
        yield
    except (C2RFError, MemoryError):
        raise
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark", "py4j")):
            raise
        raise InputError(f"{where} cannot be read: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """Return what was wrong: the last line of a traceback of Python, else the first one."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return next((line for line in reversed(lines) if "Error:" in line[:60]), lines[0]).strip()


def _on_partition(work: Tables, batches: Iterator[Any]) -> Iterator[Any]:
    """Do the work on a partition, where it is; our own errors travel as results."""
    import pyarrow as pa
    from pyspark import TaskContext

    found = work(TaskContext.get().partitionId(), map(as_table, batches))  # type: ignore[union-attr]
    while True:
        try:
            number, result = next(found)
        except StopIteration:
            return
        except C2RFError as error:
            number, result = -1, error
        packed = pa.array([pickle.dumps(result)], pa.binary())
        yield pa.RecordBatch.from_arrays([pa.array([number]), packed], ["number", "result"])


def _count_ids(number: int, tables: Iterator[pd.DataFrame]) -> Results:
    """Count rows, ids, and different ids, which are sorted."""
    n_rows = n_ids = n_distinct = 0
    last = None
    for table in tables:
        ids = table.iloc[:, 0].dropna().to_numpy()
        n_rows, n_ids = n_rows + len(table), n_ids + len(ids)
        if len(ids):
            n_distinct += int((ids[1:] != ids[:-1]).sum()) + int(last is None or ids[0] != last)
            last = ids[-1]
    yield number, (n_rows, n_ids, n_distinct)


def _as_they_are(number: int, tables: Iterator[pd.DataFrame]) -> Results:
    for table in tables:
        if len(table):
            yield number, table


def _reduced(
    work: Work,
    merge: Merge,
    columns: Columns,
    starts: NDArray[np.int64],
    aligned: Sequence[NDArray[Any]],
    number: int,
    tables: Iterator[pd.DataFrame],
) -> Results:
    start, results = int(starts[number]), []
    for table in tables:
        end = start + len(table)
        if len(table):
            chunk = Chunk(as_asked(table, columns), f"partition {number}", start)
            results.append(work(chunk, *(values[start:end] for values in aligned)))
        start = end
    first, end = starts[number : number + 2]
    check_still(f"partition {number}", start - first, end - first)
    if results:
        yield number, merged(results, merge)


def _on_blocks(
    work: Work, view: View, size: int, number: int, tables: Iterator[pd.DataFrame]
) -> Results:
    """Do the work on the spans of a partition, whose rows follow each other."""
    pieces = ((k, piece) for table in tables for k, piece in table.groupby(SPAN_NUMBER, sort=True))
    for k, own in groupby(pieces, key=lambda each: each[0]):
        table = pd.concat([piece for _, piece in own], ignore_index=True)
        start = int(table[ROW].iloc[0])
        if start != int(k) * size:
            raise InputError(f"row {start} begins a span of rows: {CHANGED}")
        data = as_asked(table.drop(columns=[ROW, SPAN_NUMBER]), view.columns)
        rows = plain(view.rows_of(Chunk(data, f"rows from {start}", start)))
        yield int(k), work([rows], slice(0, rows.shape[0]))
