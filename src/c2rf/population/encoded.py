"""A population whose rows are turned into numbers on the way, wherever they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from c2rf._typing import Floats
from c2rf.columns.encoding import encode, input_columns
from c2rf.exceptions import InputError
from c2rf.population.interface import Chunk, Columns, Merge, Population, Work
from c2rf.population.memory import Memory


def encoded(rows: Population, encoder: Any) -> Population:
    """Return rows as the numbers that an encoder makes of their columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from c2rf.columns.encoding import make_encoder
    >>> from c2rf.columns.kinds import Column
    >>> table = pd.DataFrame({"age": ["41", "14"]})
    >>> encoder = make_encoder(table, [Column("age", "numbers", 2, (0, 0), 0)])
    >>> [chunk.data.tolist() for chunk in encoded(Memory(table), encoder).chunks()]
    [[[41.0], [14.0]]]
    """
    if isinstance(rows, Memory):
        return Memory(encode(encoder, as_pandas(rows.table)))
    return Encoded(rows, encoder)


def as_pandas(table: Any) -> Any:
    """Return a frame of any kind as one of pandas."""
    return table.to_pandas() if hasattr(table, "to_pandas") else table


class Encoded(Population):
    """Rows outside of memory, encoded chunk by chunk where they are."""

    def __init__(self, rows: Population, encoder: Any) -> None:
        self.rows, self.encoder = rows, encoder
        self.parts, self.is_elsewhere = rows.parts, rows.is_elsewhere
        self._inputs = input_columns(encoder)

    @property
    def n_rows(self) -> int | None:  # type: ignore[override]
        """Number of rows, once they have been counted."""
        return self.rows.n_rows

    def read(self, columns: Columns = None) -> Iterator[tuple[Any, str]]:
        """Read and encode all rows."""
        for chunk in self.rows.chunks(self._inputs):
            yield _Encode(self.encoder)(chunk), chunk.where

    def chunks(self, columns: Columns = None) -> Iterator[Chunk]:
        """Read and encode all rows, numbered."""
        for chunk in self.rows.chunks(self._inputs):
            yield chunk._replace(data=_Encode(self.encoder)(chunk))

    def counted(self) -> Population:
        """Count the rows."""
        self.rows = self.rows.counted()
        return self

    def reduce(
        self, work: Work, merge: Merge, columns: Columns = None, beside: Sequence[Any] = ()
    ) -> Any:
        """Do the work with encoded chunks."""
        return self.rows.reduce(_Then(self.encoder, work), merge, self._inputs, beside)

    def spans(
        self, prepare: Work, work: Callable[[Any], Any], size: int, columns: Columns = None
    ) -> Iterator[Any]:
        """Do some work on a given number of encoded rows at a time."""
        return self.rows.spans(_Then(self.encoder, prepare), work, size, self._inputs)

    def map(self, work: Work, example: NDArray[Any], columns: Columns = None) -> Any:
        """Return what the work makes of each encoded row."""
        return self.rows.map(_Then(self.encoder, work), example, self._inputs)

    def beside(self, values: NDArray[Any]) -> Any:
        """Return values beside the rows, where these are."""
        return self.rows.beside(values)

    def look_up(self, table: NDArray[Any], codes: Any) -> Any:
        """Return entries of a table beside the rows, where these are."""
        return self.rows.look_up(table, codes)


@dataclass(frozen=True, eq=False)
class _Encode:
    """The work of encoding a chunk."""

    encoder: Any

    def __call__(self, chunk: Chunk) -> Floats:
        try:
            return encode(self.encoder, as_pandas(chunk.data))
        except InputError as error:
            raise InputError(f"{chunk.where}: {error}") from error


@dataclass(frozen=True, eq=False)
class _Then:
    """Work on a chunk that is encoded first."""

    encoder: Any
    work: Work

    def __call__(self, chunk: Chunk, *beside: Any) -> Any:
        return self.work(chunk._replace(data=_Encode(self.encoder)(chunk)), *beside)
