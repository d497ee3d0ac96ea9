"""A sample of a population that depends on row numbers and the seed alone.

Every row gets a random number, and the rows with the smallest are drawn. The numbers are those of
one generator for all rows in turn: how the population is cut into chunks, and where these are,
does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import _safe_indexing

from c2rf._frames import stacked
from c2rf._typing import Floats, Ints
from c2rf.population.blocks import plain
from c2rf.population.interface import Chunk

# Standard deviations drawn beyond what is needed: too few once in 10^20 runs.
_SPARE = 10.0


class RowSample(NamedTuple):
    """Rows of a population.

    Parameters
    ----------
    data : array or data frame
        The rows, in the order of the population.
    rows : ndarray of int
        Their numbers.
    """

    data: Any
    rows: Ints


def draw_sample(population: Any, most: int, key: Sequence[int]) -> RowSample:
    """Draw rows without replacement, all of them if there are not more than ``most``.

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
    >>> from c2rf.population.memory import Memory
    >>> draw_sample(Memory(np.arange(10)[:, None]), 3, [0]).rows.tolist()
    [1, 2, 3]
    >>> random_rows(10, 3, [0]).tolist()
    [1, 2, 3]
    """
    n_rows, limit = population.n_rows, 1.0
    if n_rows is not None and n_rows > most:
        limit = (most + _SPARE * (most + 1) ** 0.5) / n_rows
    drawn = population.reduce(partial(_draw, key, limit, most), partial(_merged, most))
    return RowSample(plain(stacked(drawn.tables)), drawn.rows)


def random_rows(n_rows: int, most: int, key: Sequence[int]) -> Ints:
    """Return the numbers of the rows that :func:`draw_sample` would draw."""
    if n_rows <= most:
        return np.arange(n_rows)
    numbers = np.random.default_rng(list(key)).random(n_rows)
    return np.flatnonzero(numbers < np.partition(numbers, most)[most])


class _Drawn(NamedTuple):
    """Rows of some neighbouring chunks with small random numbers."""

    numbers: Floats
    rows: Ints
    tables: list[Any]

    def pruned(self, most: int) -> _Drawn:
        """Return the rows with the smallest numbers."""
        if len(self.numbers) <= most:
            return self
        limit = np.partition(self.numbers, most)[most]
        kept = np.flatnonzero(self.numbers < limit)
        table = _safe_indexing(stacked(self.tables), kept)
        return _Drawn(self.numbers[kept], self.rows[kept], [table])


def _draw(key: Sequence[int], limit: float, most: int, chunk: Chunk) -> _Drawn:
    """Draw rows from a chunk."""
    rng = np.random.default_rng(list(key))
    rng.bit_generator.advance(chunk.start)  # type: ignore[attr-defined]
    numbers = rng.random(chunk.data.shape[0])
    among = np.flatnonzero(numbers < limit)
    table = _safe_indexing(chunk.data, among)
    return _Drawn(numbers[among], chunk.start + among, [table]).pruned(most)


def _merged(most: int, parts: Sequence[_Drawn]) -> _Drawn:
    """Put together what was drawn from neighbouring chunks."""
    filled = [table for part in parts for table in part.tables if table.shape[0]]
    return _Drawn(
        np.concatenate([part.numbers for part in parts]),
        np.concatenate([part.rows for part in parts]),
        filled or parts[0].tables,
    ).pruned(most)
