"""Rows to label whose class is known: people in both tables, and rows checked by hand.

They keep their class and count in the totals. People in both tables are labeled rows that are among
the rows to label: by ids they are found, and count once; without ids, rows that mean the same in
all columns are counted, and the user is told.

A checked row was not drawn as the labeled sample was: doubtful rows were drawn more often. Within
its class it gets a weight in proportion to one over its inclusion probability, so that a class
looks as it does in the population, in learning and in cross-validation. All checked rows of a class
together count as much as their effective number [Kish 1965].
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from c2rf._utils.frames import as_pandas
from c2rf._utils.text import all_of, count, for_user, listed, nearest, option_name
from c2rf._utils.types import Bools, Codes, Floats, Texts
from c2rf.data.cells import as_text, read_cells
from c2rf.data.population.interface import Chunk, Population
from c2rf.data.write import unescaped
from c2rf.exceptions import InputError
from c2rf.workflow.predictions import UNKNOWN

# --- People in both tables ----------------------------------------------------------------------

Hashes = NDArray[np.uint64]


def hash_ids(ids: pd.Series[Any]) -> Hashes:
    """Return a number for each id, the same for the same id; whole numbers need no texts."""
    if isinstance(ids.dtype, np.dtype) and ids.dtype.kind in "iu":
        return _hash_whole(ids.to_numpy())
    return pd.util.hash_array(as_text(ids).fillna("").to_numpy(dtype=object))


def _hash_whole(numbers: NDArray[Any]) -> Hashes:
    """Return a number for each whole number of any type, in 64 bits."""
    return pd.util.hash_array(numbers.astype(np.int64).view(np.uint64))


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
                f"the id {name!r} has two labels, {by_id[name]!r} and {label!r}; keep one of them"
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

    there = found(hash_ids(own))
    whole = own.str.fullmatch("0|-?[1-9][0-9]{0,19}").to_numpy(dtype=bool)
    numbers = np.array([int(name) % 2**64 for name in own[whole]], dtype=np.uint64)
    there[whole] |= found(_hash_whole(numbers))
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


# --- Rows checked by hand ----------------------------------------------------------------------

TRUE, PROBABILITY, AUDIT = "true", "inclusion_probability", "audit"
"""Columns of a sheet: to be filled in, how likely the row was drawn, and its fingerprint."""


def with_checked(
    table: pd.DataFrame, rows: Population, sheet: pd.DataFrame, target: str, id: str | None
) -> tuple[pd.DataFrame, Floats]:
    """Return the labeled table with the checked rows at its end, and how likely they were drawn.

    Those that are in the labeled table already, with the same class, are there once.

    Parameters
    ----------
    table : DataFrame
        The labeled rows.
    rows : Population
        The rows to label, among which are the checked ones.
    sheet : DataFrame
        Their ids, and ``true``; rows where it is empty are left out.
    target, id : str
        The columns with the class, and with the ids.
    """
    option = option_name("checked")
    if id is None:
        raise InputError(f"{option} needs {option_name('id')}, the column that names the rows")
    require_columns(sheet, [id, TRUE], "the check file")
    classes = sorted(set(as_text(table[target]).dropna()))
    truth = check_classes(sheet, TRUE, classes)
    ids = unescaped(as_text(sheet[id]).fillna("")).to_numpy(dtype=object)
    check_unique(ids, id, "the check file")
    decided = truth.notna().to_numpy()
    if not decided.any():
        raise InputError(f"the check file: all cells of the column {TRUE!r} are empty")
    wanted = {*ids[decided], *("'" + ids[decided])}  # as spreadsheet_safe writes some
    found = rows.reduce(partial(_of_ids, wanted, id), pd.concat, rows.names)
    own = unescaped(as_text(found[id]))
    places = pd.Series(np.arange(len(found)), index=own)
    places = places[~places.index.duplicated()].reindex(ids[decided])
    if places.isna().any():
        where = int(np.flatnonzero(decided)[int(np.argmax(places.isna()))])
        raise InputError(
            f"{in_sheet(sheet, np.arange(len(ids)) == where)}, column {id!r}: {ids[where]!r} is "
            "not among the rows to label"
        )
    own = pd.Series(table[target].to_numpy(), index=as_text(table[target]))
    values = own[~own.index.duplicated()].loc[truth[decided]]  # classes of the same type
    found = found.iloc[places.astype(int)].assign(**{target: values.to_numpy()})
    names = [*table.columns, *([] if id in table else [id])]
    likely = np.ones(int(decided.sum()))
    if PROBABILITY in sheet:
        numbers = pd.to_numeric(sheet[PROBABILITY], errors="coerce")
        wrong = ~((numbers > 0) & (numbers <= 1))
        if wrong.any():
            raise InputError(
                f"{in_sheet(sheet, wrong)}, column {PROBABILITY!r}: a probability is "
                f"above 0 and at most 1; found {sheet[PROBABILITY][wrong].iloc[0]}"
            )
        likely = numbers.to_numpy(dtype=float)[decided]
    if id in table:
        asked = set(zip(as_text(table[id]), as_text(table[target]), strict=True))
        pairs = zip(as_text(found[id]), truth[decided], strict=True)
        new = np.array([pair not in asked for pair in pairs])
        found, likely = found[new], likely[new]
    parts = [table, found.reindex(columns=names)]
    return pd.concat(parts, ignore_index=True), likely


def checked_weights(labels: Texts, weights: Floats | None, likely: Floats) -> Floats:
    """Return the weights of labeled rows of which the last ones were checked.

    Examples
    --------
    >>> checked_weights(np.array(["a", "a", "b", "a", "a"]), None, np.array([0.5, 0.25]))
    array([1. , 1. , 1. , 0.6, 1.2])
    """
    n_before = len(labels) - len(likely)
    found = np.ones(len(labels)) if weights is None else np.array(weights, dtype=float)
    for name in set(labels[n_before:]):
        is_class = labels == name
        own = n_before + np.flatnonzero(is_class[n_before:])
        asked = found[:n_before][is_class[:n_before]]
        usual = float(asked.mean()) if asked.sum() > 0 else 1.0
        each = found[own] / likely[own - n_before]
        effective = each.sum() ** 2 / (each**2).sum()
        found[own] = usual * effective * each / each.sum()
    return found


def check_classes(sheet: pd.DataFrame, target: str, classes: Sequence[str]) -> pd.Series[Any]:
    """Return the classes that were filled in, None where empty; refuse other spellings."""
    require_columns(sheet, [target], "the check file")
    truth = as_text(sheet[target])
    wrong = truth.notna() & ~truth.isin(classes)
    if wrong.any():
        name = truth[wrong].iloc[0]
        raise InputError(
            f"{in_sheet(sheet, wrong)}, column {target!r}: {name!r} is not a class; the "
            f"classes are {listed(classes)}{nearest(name, classes)}"
        )
    return truth


def require_columns(table: pd.DataFrame, names: Sequence[str], what: str, cure: str = "") -> None:
    """Refuse a table that lacks a column.

    Examples
    --------
    >>> require_columns(pd.DataFrame(columns=["region"]), ["regin"], "--by")
    Traceback (most recent call last):
    c2rf.exceptions.InputError: --by: there is no column 'regin'; found 'region'; did you mean...
    """
    for name in names:
        if name not in table:
            raise InputError(
                f"{what}: there is no column {name!r}; found {all_of(list(table))}"
                f"{nearest(name, list(table)) or cure}"
            )


def check_unique(ids: Any, id: str, what: str) -> None:
    """Refuse an id that is there twice."""
    repeated = pd.Series(ids).duplicated()
    if repeated.any():
        where = int(np.argmax(repeated))
        raise InputError(
            f"{what}: {row_of(repeated)}, column {id!r}: the id {ids[where]!r} is there twice; "
            "every row needs an id of its own"
        )


FILE = "file"
"""Where a table keeps the name of the file that it was read from."""


def in_sheet(sheet: pd.DataFrame, wrong: Any) -> str:
    """Name the first row of a check file that is wrong, in a file as a spreadsheet counts.

    Examples
    --------
    >>> sheet = pd.DataFrame({"true": ["yes", "yse"]})
    >>> in_sheet(sheet, [False, True])
    'the check file: data row 2'
    >>> sheet.attrs[FILE] = "check.xlsx"
    >>> in_sheet(sheet, [False, True])
    'the check file check.xlsx: row 3 (with the header, without empty rows)'
    """
    name = sheet.attrs.get(FILE)
    if name is None:
        return f"the check file: {row_of(wrong)}"
    row = int(np.argmax(np.asarray(wrong))) + 2
    return f"the check file {name}: row {row} (with the header, without empty rows)"


def row_of(wrong: Any) -> str:
    """Name the first row that is wrong.

    Examples
    --------
    >>> row_of([False, True])
    'data row 2'
    """
    return f"data row {int(np.argmax(np.asarray(wrong))) + 1}"


def _of_ids(wanted: set[str], id: str, chunk: Chunk) -> pd.DataFrame:
    """Return the rows of a chunk whose ids are wanted."""
    table = as_pandas(chunk.data)
    return table[as_text(table[id]).isin(wanted).to_numpy()]
