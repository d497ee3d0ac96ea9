"""People in both tables: labeled rows that are among the rows to label.

By ids they are found, keep their label, and count once. Without ids, rows that mean the same in all
columns are counted, and the user is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from c2rf._utils.frames import as_pandas
from c2rf._utils.text import count, for_user, listed
from c2rf._utils.types import Bools, Codes, Texts
from c2rf.data.cells import as_text, read_cells
from c2rf.data.population.interface import Chunk, Population
from c2rf.exceptions import InputError
from c2rf.workflow.predictions import UNKNOWN

Hashes = NDArray[np.uint64]


def hash_ids(ids: pd.Series[Any]) -> Hashes:
    """Return a number for each id, the same for the same id; whole numbers need no texts."""
    if isinstance(ids.dtype, np.dtype) and ids.dtype.kind in "iu":
        return pd.util.hash_array(ids.to_numpy())
    return pd.util.hash_array(as_text(ids).fillna("").to_numpy(dtype=object))


def remarks_on_ids(rows: Population, ids: Hashes, id: str | None) -> list[str]:
    """Say which ids several rows have; ``ids`` are the hashes of all, sorted."""
    repeated = ids[1:][ids[1:] == ids[:-1]]
    if id is None or not len(repeated):
        return []
    found = rows.reduce(partial(_with_hashes, np.unique(repeated), id), pd.concat, [id])
    names = listed(sorted(set(found.fillna(""))), 3)
    return [f"{len(repeated):,} ids are not unique in {id!r}: {names}."]


def _with_hashes(hashes: Hashes, id: str, chunk: Chunk) -> pd.Series[Any]:
    """Return those ids of a chunk, as texts, that have one of some hashes."""
    ids = as_pandas(chunk.data)[id]
    return as_text(ids[np.isin(hash_ids(ids), hashes)])


def people_in_both(
    table: pd.DataFrame, labels: Texts, rows: Population, ids: Hashes, id: str | None
) -> tuple[Bools, Codes] | None:
    """Find labeled people among the rows to label; None without ids, or where nobody is.

    Parameters
    ----------
    table, labels : DataFrame, ndarray of str
        The labeled rows and their classes.
    rows, ids : Population, ndarray
        The rows to label, and the hashes of their ids, sorted.
    id : str or None
        The column that names the rows.

    Returns
    -------
    in_rows : ndarray of bool, shape (n_labeled,)
        Which labeled rows are among the rows to label.
    known : ndarray of int, shape (n_rows,)
        The class of each row to label that is known to have one, else -1.
    """
    if id is None or id not in table:
        return None
    own = as_text(table[id]).fillna("")
    there = _are_there(own, ids)
    _refuse_lost_zeros(own, there, ids, id)
    if not there.any():
        return None
    found = rows.reduce(partial(_with_ids, set(own) - {""}, id), pd.concat, [id])
    found = found[~found.duplicated(keep=False)]
    by_id: dict[str, str] = {}
    for name, label in zip(own, labels, strict=True):
        if by_id.setdefault(name, label) != label and (found == name).any():
            raise InputError(
                f"the id {name!r} has two labels, {by_id[name]!r} and {label!r}, in the labeled "
                "table; keep one of them"
            )
    if not len(found):
        return None
    known: Codes = np.full(rows.n_rows or 0, UNKNOWN, dtype=np.int32)
    known[found.index] = np.searchsorted(sorted(set(labels)), [by_id[name] for name in found])
    return np.asarray(own.isin(set(found))), known


def _are_there(own: pd.Series[Any], ids: Hashes) -> Bools:
    """Say which ids, as texts, are among those with sorted hashes; there, they may be numbers."""

    def found(hashes: Hashes) -> Bools:
        places = np.minimum(np.searchsorted(ids, hashes), max(len(ids) - 1, 0))
        return np.asarray(ids[places] == hashes)

    there, whole = (
        found(hash_ids(own)),
        own.str.fullmatch("0|[1-9][0-9]{0,17}").to_numpy(dtype=bool),
    )
    there[whole] |= found(pd.util.hash_array(own[whole].astype(np.int64).to_numpy()))
    return there


MOST_DIGITS = 18
"""Of ids that may have lost their leading zeros."""


def _refuse_lost_zeros(own: pd.Series[Any], there: Bools, ids: Hashes, name: str) -> None:
    """Refuse ids of which more are among the others with leading zeros changed than as they are."""
    left = own[~there]
    left = left[left.str.fullmatch(f"[0-9]{{1,{MOST_DIGITS}}}").to_numpy(dtype=bool)]
    plain = left.str.lstrip("0").replace("", "0")
    pairs: dict[str, str] = {}
    for width in range(1, MOST_DIGITS + 1):
        other = plain.str.zfill(width)
        found = _are_there(other, ids)
        pairs |= dict(zip(left[found], other[found], strict=True))
    if len(pairs) > there.sum():
        one, other_one = next(iter(pairs.items()))
        raise InputError(
            f"{name!r}: {one!r} in the labeled table is {other_one!r} in the other one, and so are "
            f"{len(pairs):,} ids: leading zeros are lost in one of them, and people who are in "
            "both would count twice; write the ids in both tables in the same way, as text"
        )


def _with_ids(wanted: set[str], id: str, chunk: Chunk) -> pd.Series[Any]:
    """Return those ids of a chunk that are wanted, by the numbers of their rows."""
    texts = as_text(as_pandas(chunk.data)[id])
    texts.index = pd.RangeIndex(chunk.start, chunk.start + len(texts))
    return texts[texts.isin(wanted)]


ALL_DIFFER = 0.9
"""Labeled rows of which this share differs are unlikely to equal other people by chance."""


def n_equal_rows(table: pd.DataFrame, rows: Population, columns: Sequence[str]) -> int:
    """Count the labeled rows that equal a row to label in all columns; 0 if many equal each other.

    Cells are equal that mean the same: a number may be a text in one of the tables.

    Examples
    --------
    >>> from c2rf.data.population.memory import Memory
    >>> table = pd.DataFrame({"age": [41, 52], "town": ["Ulm", "Bonn"]})
    >>> rows = Memory(pd.DataFrame({"age": ["52.0", "41"], "town": "Bonn"}))
    >>> n_equal_rows(table, rows, ["age", "town"])
    1
    """
    own = {name: _hash_cells(table[name]) for name in columns}
    # The columns with the most values come first: they leave few rows to compare.
    own = dict(sorted(own.items(), key=lambda item: -len(np.unique(item[1]))))
    hashes = _equal_rows(own, Chunk(table, ""))
    if len(np.unique(hashes)) < ALL_DIFFER * len(table):
        return 0
    found = rows.reduce(partial(_equal_rows, own), np.concatenate, columns)
    return int(np.isin(hashes, found).sum())


def _equal_rows(own: dict[str, Hashes], chunk: Chunk) -> Hashes:
    """Return the hashes of the rows of a chunk whose every cell is one of a labeled row."""
    table = as_pandas(chunk.data)
    rows, found = np.arange(len(table)), np.zeros(len(table), dtype=np.uint64)
    for name, labeled in own.items():
        cells = _hash_cells(table[name].iloc[rows])
        kept = np.isin(cells, labeled)
        rows, found = rows[kept], found[kept] * np.uint64(31) + cells[kept]
    return found


def _hash_cells(column: pd.Series[Any]) -> Hashes:
    """Return a number for each cell, the same for cells that mean the same; 0 for empty ones."""
    cells = read_cells(column)
    no_number = np.isnan(cells.numbers)
    found = pd.util.hash_array(cells.numbers + 0.0)  # no zero is negative
    texts = np.zeros(1, dtype=np.uint64)
    codes = np.zeros(len(found), dtype=np.intp)
    if cells.texts is not None:
        texts, codes = np.append(pd.util.hash_array(cells.texts.values), texts), cells.texts.codes
    return np.where(no_number, texts[codes], found)


def remarks_on_both(
    both: tuple[Bools, Codes] | None, table: pd.DataFrame, rows: Population,
    columns: Sequence[str], id: str | None,
) -> list[str]:  # fmt: skip
    """Say how many people are, or seem to be, in both tables."""
    if both is not None:
        n = count(int((both[1] != UNKNOWN).sum()), "labeled row")
        return [
            f"{n} are among the rows to label, by {id!r}: they keep their label, and count once."
        ]
    n_equal = 0 if id in table else n_equal_rows(table, rows, columns)
    if not n_equal:
        return []
    return [
        f"{count(n_equal, 'labeled row')} equal a row to label in all columns. If they are the "
        f"same people, say which column names them: {for_user('id=', '--id')}."
    ]
