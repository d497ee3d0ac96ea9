"""What is known of each unlabeled row beside its columns: its group, and its weight."""

from __future__ import annotations

from typing import Any

import numpy as np

from c2rf._frames import as_pandas
from c2rf._typing import Floats
from c2rf.exceptions import InputError
from c2rf.population import Chunk, as_population
from c2rf.totals import Bounds, Groups, Totals, read_groups, read_weights
from c2rf.totals.known import check_columns, grouping_columns


def grouping(totals: Totals | Bounds) -> tuple[str, ...]:
    """Return the names of the columns that totals are grouped by."""
    return () if isinstance(totals, Bounds) else tuple(map(str, totals.columns))


def find_groups(X_unlabeled: Any, totals: Totals | Bounds, given: Any, n_rows: int) -> Groups:
    """Return the groups that totals are about.

    Parameters
    ----------
    X_unlabeled : object
        What the user gave as the unlabeled rows: groups are columns of it, unless they are given.
    totals : Totals or Bounds
        Their grouping columns are looked up; bounds come with their groups.
    given : array-like, data frame, mapping, Groups or None
        ``unlabeled_groups``.
    n_rows : int
        Number of unlabeled rows.
    """
    if isinstance(given, Groups):
        return given
    assert isinstance(totals, Totals)
    columns = totals.columns
    if not columns:
        if given is not None:
            raise InputError(
                "unlabeled_groups was given, but totals has no table with columns of groups; give "
                "a table with the columns 'class', 'total' and those of the groups, or no groups"
            )
        return Groups.none(n_rows)
    if given is not None:
        found = read_groups(grouping_columns(given, columns), n_rows)
        return found._replace(columns=columns)
    names = [str(name) for name in columns]
    population = as_population(X_unlabeled)
    if population.names is None or None in columns:
        raise InputError(
            "totals has groups, but X_unlabeled has no columns with names to find them in; give "
            "the group of each row as unlabeled_groups"
        )
    check_columns(names, population.names, "X_unlabeled")
    return population.reduce(_groups_in, Groups.merged, names)._replace(columns=columns)


def find_weights(X_unlabeled: Any, given: Any, n_rows: int) -> Floats | None:
    """Return the weights of the unlabeled rows; a name is that of a column of ``X_unlabeled``."""
    if given is None:
        return None
    if not isinstance(given, str):
        return read_weights(given, n_rows)
    population = as_population(X_unlabeled)
    if population.names is None:
        raise InputError(
            f"unlabeled_weight is the name {given!r}, but X_unlabeled has no columns with names; "
            "give an array with a number per row"
        )
    check_columns([given], population.names, "X_unlabeled", "unlabeled_weight")
    values = population.reduce(_first_column, np.concatenate, [given])
    return read_weights(values, n_rows, f"unlabeled_weight ({given!r})")


def _groups_in(chunk: Chunk) -> Groups:
    try:
        return read_groups(chunk.data, chunk.data.shape[0])
    except InputError as error:
        raise InputError(f"{chunk.where}: {error}" if chunk.where else str(error)) from error


def _first_column(chunk: Chunk) -> Any:
    return np.asarray(as_pandas(chunk.data).iloc[:, 0])
