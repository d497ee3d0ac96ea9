"""The groups that rows are in, and the weights of rows.

A group is a combination of values of the grouping columns. With totals by region and totals by age,
the groups are the combinations of a region and an age that occur: each of them lies in one category
of each margin.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from c2rf._utils.text import all_of, count, for_user, listed, nearest
from c2rf._utils.types import Codes, Floats, not_masked
from c2rf.exceptions import InputError, InputTypeError

LARGEST_WEIGHT = 1e15
"""Weights that add up to no more are counted exactly, by linear programs, too."""


class Groups(NamedTuple):
    """The names of groups, and the number of the group of each row.

    ``columns`` are the names of the columns that make the groups; none without groups, and then
    all rows are of one group whose name is None.
    """

    names: list[Any]
    codes: NDArray[Any]
    columns: tuple[str | None, ...] = ()

    @classmethod
    def none(cls, n_rows: int) -> Groups:
        """Return one group for all rows, without taking memory for each."""
        return cls([None], np.broadcast_to(np.intp(0), n_rows))

    @classmethod
    def of(cls, values: Sequence[NDArray[Any]], columns: tuple[str, ...] = ()) -> Groups:
        """Return the groups that columns of values make, numbered as they first appear.

        Examples
        --------
        >>> Groups.of([np.array(["AT", "AT", "CH"]), np.array([1, 2, 1])]).names
        [('AT', 1), ('AT', 2), ('CH', 1)]
        """
        rows = values[0] if len(values) == 1 else pd.MultiIndex.from_arrays(list(values))
        codes, names = pd.factorize(rows)
        return cls(names.tolist(), codes, columns)

    @classmethod
    def merged(cls, chunks: Sequence[Groups]) -> Groups:
        """Put the groups of chunks of rows together, numbered as they first appear.

        Examples
        --------
        >>> chunks = [read_groups(["b", "a"], 2), read_groups(["c", "b"], 2)]
        >>> merged = Groups.merged(chunks)
        >>> [merged.names[code] for code in merged.codes]
        ['b', 'a', 'c', 'b']
        """
        numbers: dict[Any, int] = {}
        codes = []
        for chunk in chunks:
            places = [numbers.setdefault(name, len(numbers)) for name in chunk.names]
            codes.append(np.array(places, dtype=chunk.codes.dtype)[chunk.codes])
        return cls(list(numbers), np.concatenate(codes), chunks[0].columns)

    def in_order(self) -> Groups:
        """Return the same groups, numbered in the order of their names."""
        order = sorted(range(len(self.names)), key=self.names.__getitem__)
        places = np.empty(len(order), dtype=self.codes.dtype)
        places[order] = np.arange(len(order))
        return self._replace(names=[self.names[k] for k in order], codes=places[self.codes])

    def look_up(self, known: Mapping[Any, Floats], default: Floats) -> Floats:
        """Return what is known of each group, by its name; the default of the others."""
        return np.array([known.get(name, default) for name in self.names])

    def warn_of_new(self, known: Mapping[Any, Floats]) -> None:
        """Warn of groups of other rows that are not known from the population."""
        new = [name for name in self.names if name not in known]
        if new:
            warnings.warn(
                f"{count(len(new), 'group')} not seen in fit, {listed(new)}: rows there get the "
                f"overall offsets; seen were {listed(list(known))}",
                UserWarning,
                stacklevel=4,
            )

    def places_of(self, others: Groups) -> Codes:
        """Return the number here of the group of each row of others, -1 where there is none.

        Examples
        --------
        >>> read_groups(["b", "a"], 2).places_of(read_groups(["a", "c"], 2))
        array([ 1, -1])
        """
        numbers = {name: number for number, name in enumerate(self.names)}
        return np.array([numbers.get(name, -1) for name in others.names], dtype=np.intp)[
            others.codes
        ]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of rows of each group."""
        if len(self.names) == 1:
            return np.array([len(self.codes)])
        if hasattr(self.codes, "bincount"):  # codes that are elsewhere are counted there
            sizes: NDArray[np.int64] = self.codes.bincount(len(self.names))
            return sizes
        return np.bincount(self.codes, minlength=len(self.names))

    def weight(self, weights: Floats) -> Floats:
        """Return the sum of the weights of the rows of each group."""
        return np.bincount(self.codes, weights, minlength=len(self.names)).astype(float)


def read_groups(groups: Any, n_rows: int) -> Groups:
    """Return the groups of rows.

    Parameters
    ----------
    groups : array-like of shape (n_rows,) or (n_rows, n_columns), or None
        An entry per row; with several columns a group is a tuple of values. None is one group
        without a name.
    n_rows : int
        Number of rows.

    Examples
    --------
    >>> read_groups(["south", "north", "south"], 3)[:2]
    (['south', 'north'], array([0, 1, 0]))
    >>> read_groups([["AT", 1], ["AT", 2]], 2).names
    [('AT', 1), ('AT', 2)]
    """
    if groups is None:
        return Groups.none(n_rows)
    if isinstance(groups, (list, tuple)):
        table = np.array(groups, dtype=object)  # else numbers mixed with text would become text
    else:
        table = groups.to_numpy() if hasattr(groups, "to_numpy") else np.asarray(groups)
    if len(table) != n_rows or table.ndim not in (1, 2):
        raise InputError(
            f"unlabeled_groups must have one entry per unlabeled row, {n_rows}; found the shape "
            f"{table.shape}"
        )
    missing = np.flatnonzero(pd.isna(table).reshape(n_rows, -1).any(axis=1))
    if len(missing):
        raise InputError(
            f"unlabeled_groups has no entry in row {missing[0]} ({len(missing)} are missing); give "
            "rows without a group a name of their own"
        )
    return Groups.of([table] if table.ndim == 1 else list(table.T))


def grouping_columns(
    groups: Any, columns: Sequence[str | None], name: str = "unlabeled_groups"
) -> Any:
    """Return the columns that totals are grouped by, from all that an argument holds.

    Parameters
    ----------
    groups : array-like, data frame or mapping
        By name where it has names, else by position.
    columns : sequence of str or None
        The grouping columns of the totals.
    name : str
        What the argument is called.
    """
    if hasattr(groups, "compute"):
        groups = groups.compute()
    if isinstance(groups, dict):
        groups = pd.DataFrame(groups)
    names = getattr(groups, "columns", None)
    if names is not None and None not in columns:
        wanted = [str(each) for each in columns]
        check_columns(wanted, [str(each) for each in names], name)
        return groups[wanted]
    shape = np.shape(groups)
    n_columns = 1 if len(shape) < 2 else shape[1]
    if n_columns != len(columns):
        raise InputError(
            f"{name} must have the {len(columns)} grouping columns of totals, "
            f"{all_of(columns)}; found {n_columns}"
        )
    return groups


def check_columns(
    wanted: Sequence[str], names: Sequence[str], where: str, what: str = "totals"
) -> None:
    """Refuse columns that are not there, and list those that are."""
    for name in wanted:
        if name not in names:
            raise InputError(
                f"{what} has the column {name!r}, which {where} does not have; it has "
                f"{all_of(names)}{nearest(name, names)}"
            )


def read_weights(values: Any, n_rows: int, name: str = "unlabeled_weight") -> Floats | None:
    """Return weights as numbers; None where all are one, because then nothing is weighted.

    Parameters
    ----------
    values : array-like of shape (n_rows,)
        Numbers, none negative; rows of weight zero are labeled, and count nothing.
    n_rows : int
        How many there must be.
    name : str
        The name of the argument, for error messages.

    Examples
    --------
    >>> read_weights([2, 0.5], 2), read_weights([1, 1.0], 2)
    (array([2. , 0.5]), None)
    >>> read_weights([2, -1], 2)
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputError: unlabeled_weight must not be negative; found -1 in row 1
    """
    if hasattr(values, "compute"):
        values = values.compute()
    series = pd.Series(np.asarray(not_masked(values)).ravel() if np.ndim(values) < 2 else [])
    if len(series) != n_rows:
        raise InputError(
            f"{name} must have one number per row, {n_rows}; found the shape {np.shape(values)}"
        )
    empty = series.isna() | (series.astype(str).str.strip() == "")
    if empty.any():
        raise InputError(
            f"{name} has no number in {_row(empty)} ({int(empty.sum())} are missing); "
            "give rows that count nothing the weight 0"
        )
    if series.dtype == bool:
        raise InputTypeError(f"{name} must be numbers; found truth values")
    numbers = pd.to_numeric(series, errors="coerce")
    for wrong, error, what in (
        (numbers.isna(), InputTypeError, "must be numbers"),
        (numbers < 0, InputError, "must not be negative"),
        (np.isinf(numbers), InputError, "must be finite"),
    ):
        if wrong.any():
            raise error(f"{name} {what}; found {series[wrong].tolist()[0]!r} in {_row(wrong)}")
    weights = numbers.to_numpy(dtype=float)
    if not weights.any():
        raise InputError(f"{name} has only zeros: no row counts anything")
    if weights.sum() > LARGEST_WEIGHT:
        raise InputError(
            f"{name} adds up to {weights.sum():g}; beyond {LARGEST_WEIGHT:g} sums are not exact: "
            "count in thousands, or in millions, the totals as well"
        )
    return None if bool((weights == 1).all()) else weights


def _row(wrong: pd.Series[Any]) -> str:
    """Name the first row that is wrong: in Python from 0, in files from 1."""
    place = int(np.asarray(wrong).argmax())
    return for_user(f"row {place}", f"data row {place + 1}")
