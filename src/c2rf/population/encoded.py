"""A population whose rows are turned into numbers on the way, wherever they are."""

from __future__ import annotations

from functools import partial
from typing import Any

from c2rf._frames import as_pandas
from c2rf.columns.encoding import encode, input_columns
from c2rf.exceptions import InputError
from c2rf.population.interface import Chunk, Population
from c2rf.population.memory import Memory
from c2rf.population.transformed import Transformed


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
    return Transformed(rows, partial(_encode, encoder), input_columns(encoder))


def _encode(encoder: Any, chunk: Chunk) -> Chunk:
    try:
        return chunk._replace(data=encode(encoder, as_pandas(chunk.data)))
    except InputError as error:
        raise InputError(f"{chunk.where}: {error}") from error
