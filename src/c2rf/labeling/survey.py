"""One look at all unlabeled rows: what their columns hold, how many there are, their groups."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from c2rf._frames import as_pandas
from c2rf.columns.kinds import Column, Look, SeenCells
from c2rf.files.cells import as_text
from c2rf.population import Chunk, Population
from c2rf.totals import Groups

NO_GROUP = "(no group)"
"""The group of rows whose cell is empty."""


class Survey(NamedTuple):
    """What was found.

    Parameters
    ----------
    columns : list of Column
        What each column to learn from holds.
    groups : Groups
        The groups of the rows, in alphabetical order.
    n_repeated : int
        Rows whose id an earlier row has.
    """

    columns: list[Column]
    groups: Groups
    n_repeated: int


def survey(
    rows: Population, looks: Sequence[Look], group: Sequence[str] = (), id: str | None = None
) -> Survey:
    """Read all rows once.

    Parameters
    ----------
    rows : Population
        The unlabeled rows.
    looks : sequence of Look
        Columns to learn from, as the labeled rows have them.
    group : sequence of str
        The columns that make the groups.
    id : str or None
        The column that names the rows.

    Examples
    --------
    >>> from c2rf.population import Memory
    >>> look = Look(pd.Series(["1", "2"], name="age"))
    >>> rows = Memory(pd.DataFrame({"age": ["3", ""], "id": ["a", "a"]}))
    >>> found = survey(rows, [look], id="id")
    >>> found.columns[0].missing, found.n_repeated
    ((0, 1), 1)
    """
    wanted = [*(look.name for look in looks), *group, *([id] if id else [])]
    # What needs no column still needs the rows.
    columns = list(dict.fromkeys(wanted)) or (rows.names or [])[:1]
    seen = rows.reduce(partial(_see, looks, group, id), _merge, columns)
    assert rows.n_rows is not None
    groups = Groups.none(rows.n_rows) if seen.groups is None else seen.groups.in_order()
    repeated = 0 if id is None else _n_repeated(seen.ids)
    found = [look.column(cells) for look, cells in zip(looks, seen.cells, strict=True)]
    return Survey(found, groups, repeated)


def _groups_of(table: pd.DataFrame, columns: Sequence[str]) -> Groups:
    """Return the groups of rows by some columns; a group of several is a tuple of texts."""
    texts = [as_text(table[name]).fillna(NO_GROUP).to_numpy(dtype=object) for name in columns]
    found = Groups.of(texts, tuple(columns))
    return found._replace(codes=found.codes.astype(np.int32))  # four bytes a row are enough


class _Seen(NamedTuple):
    """What was seen of some neighbouring chunks."""

    cells: list[SeenCells]
    groups: Groups | None
    ids: NDArray[np.uint64]


def _see(looks: Sequence[Look], group: Sequence[str], id: str | None, chunk: Chunk) -> _Seen:
    table = as_pandas(chunk.data)
    place = chunk.where or "data row {row} of the unlabeled file"
    cells = [look.at(table[look.name], place) for look in looks]
    groups = _groups_of(table, group) if group else None
    ids = np.empty(0, dtype=np.uint64)
    if id is not None:
        ids = _hashes(table[id])
    return _Seen(cells, groups, ids)


def _hashes(ids: pd.Series[Any]) -> NDArray[np.uint64]:
    """Return a number for each id, the same for the same id; whole numbers need no texts."""
    if isinstance(ids.dtype, np.dtype) and ids.dtype.kind in "iu":
        return pd.util.hash_array(ids.to_numpy())
    return pd.util.hash_array(as_text(ids).fillna("").to_numpy(dtype=object))


def _n_repeated(ids: NDArray[np.uint64]) -> int:
    """Return how many ids an earlier row has; they are sorted in place, since there may be many."""
    ids.sort()
    return int((ids[1:] == ids[:-1]).sum())


def _merge(parts: Sequence[_Seen]) -> _Seen:
    cells = list(parts[0].cells)
    for part in parts[1:]:
        cells = [one.merge(other) for one, other in zip(cells, part.cells, strict=True)]
    grouped = [part.groups for part in parts if part.groups is not None]
    groups = Groups.merged(grouped) if grouped else None
    return _Seen(cells, groups, np.concatenate([part.ids for part in parts]))
