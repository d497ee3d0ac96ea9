"""The two tables of a classification, read."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from c2rf._frames import as_pandas
from c2rf.exceptions import InputError
from c2rf.files.cells import as_text
from c2rf.files.dialect import ReadAs
from c2rf.labeling.row_storage import find_rows
from c2rf.labeling.wishes import Wishes
from c2rf.population import Population


class Tables(NamedTuple):
    """Both tables.

    Parameters
    ----------
    labeled : DataFrame
        The rows whose class is known.
    rows : Population
        The rows to label.
    names : tuple of str
        What each is called.
    read_as : list of pairs of str
        Files, and how they were understood.
    decimal : str or None
        The decimal mark of text files, None if no cell tells it.
    """

    labeled: pd.DataFrame
    rows: Population
    names: tuple[str, str]
    read_as: list[tuple[str, str]]
    decimal: str | None = None


def read_tables(labeled: Any, unlabeled: Any, wishes: Wishes) -> Tables:
    """Read the labeled table, and find the rows to label, which may be in the same table."""
    names = _called(labeled, "the labeled table"), _called(unlabeled, "the unlabeled table")
    how = replace(wishes.how, text=tuple(wishes.text))
    table, read = _read_labeled(labeled, how)
    if unlabeled is None:
        table, rest = _by_target(table, wishes.target)
        names, rows = (names[0], names[0]), find_rows(rest, wishes.engine)
        rows.dialect = read.dialect
    else:
        rows = find_rows(unlabeled, wishes.engine, how)
    column_names(rows)
    read_as = [pair for pair in zip(names, (read.read_as, rows.read_as), strict=True) if pair[1]]
    dialects = [each for each in (read.dialect, rows.dialect) if each is not None]
    decimal = next((each.decimal for each in dialects if each.decimal), None)
    return Tables(table, rows, names, read_as, decimal)


def column_names(rows: Population) -> list[str]:
    """Return the names of the columns of a population, which it must have."""
    if rows.names is None:
        raise InputError(
            "the unlabeled rows must have columns with names: give a data frame, a path, a "
            "dataset, a lazy frame or a Dask DataFrame"
        )
    return rows.names


def _read_labeled(given: Any, how: ReadAs) -> tuple[pd.DataFrame, Population]:
    """Return the labeled table as a frame of pandas, and as what was read."""
    if not isinstance(given, (str, os.PathLike)) and not hasattr(given, "columns"):
        raise InputError(
            f"the labeled table must be a data frame or a path; found a {type(given).__name__}"
        )
    rows = find_rows(given, "memory", how)
    if not rows.n_rows:
        raise InputError("the labeled table has no rows")
    return as_pandas(next(rows.read())[0]), rows


def _called(given: Any, otherwise: str) -> str:
    return Path(given).name if isinstance(given, (str, os.PathLike)) else otherwise


def _by_target(table: pd.DataFrame, target: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split one table into the rows whose target is known and the others."""
    if target not in table:
        return table, table  # the check of the target says so
    known = as_text(table[target]).notna()
    rest = table[~known].drop(columns=target).reset_index(drop=True)
    if not len(rest):
        raise InputError(
            f"there are no rows to label: no cell of the target {target!r} is empty, and no "
            "unlabeled table was given"
        )
    return table[known].reset_index(drop=True), rest
