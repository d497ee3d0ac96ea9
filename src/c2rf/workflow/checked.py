"""Rows to label that were checked by hand: they are learned from, and keep the class found.

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

from c2rf._utils.frames import as_pandas
from c2rf._utils.text import all_of, listed, nearest, option_name
from c2rf._utils.types import Floats, Texts
from c2rf.data.cells import as_text
from c2rf.data.population.interface import Chunk, Population
from c2rf.data.write import unescaped
from c2rf.exceptions import InputError

TRUE, PROBABILITY, AUDIT = "true", "inclusion_probability", "audit"
"""Columns of a sheet: to be filled in, how likely the row was drawn, and its fingerprint."""


def with_checked(
    table: pd.DataFrame, rows: Population, sheet: pd.DataFrame, target: str, id: str | None
) -> tuple[pd.DataFrame, Floats]:
    """Return the labeled table with the checked rows at its end, and how likely they were drawn.

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
    found = rows.reduce(partial(_with_ids, wanted, id), pd.concat, rows.names)
    own = unescaped(as_text(found[id]))
    places = pd.Series(np.arange(len(found)), index=own)
    places = places[~places.index.duplicated()].reindex(ids[decided])
    if places.isna().any():
        where = int(np.flatnonzero(decided)[int(np.argmax(places.isna()))])
        raise InputError(
            f"{in_sheet(sheet, np.arange(len(ids)) == where)}, column {id!r}: {ids[where]!r} is "
            "not among the rows to label"
        )
    found = found.iloc[places.astype(int)].assign(**{target: truth[decided].to_numpy()})
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


def _with_ids(wanted: set[str], id: str, chunk: Chunk) -> pd.DataFrame:
    """Return the rows of a chunk whose ids are wanted."""
    table = as_pandas(chunk.data)
    return table[as_text(table[id]).isin(wanted).to_numpy()]
