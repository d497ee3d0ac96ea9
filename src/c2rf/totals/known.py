"""What is known of the unlabeled rows, and how labels compare with it.

What is known of the unlabeled rows: totals, and the group of each row.

Known totals beside what labels add up to, as a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from c2rf._utils.text import all_of, nearest
from c2rf._utils.types import Floats
from c2rf.exceptions import InputError
from c2rf.totals.bounds import Bounds, LinearConstraints
from c2rf.totals.make_bounds import check_left_out, crossing_bounds, make_bounds, margin_parts
from c2rf.totals.reconcile import Adjustment
from c2rf.totals.stated import Policy, Totals


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
    def merged(cls, parts: Sequence[Groups]) -> Groups:
        """Put groups of neighbouring rows together, numbered as they first appear.

        Examples
        --------
        >>> parts = [read_groups(["b", "a"], 2), read_groups(["c", "b"], 2)]
        >>> merged = Groups.merged(parts)
        >>> [merged.names[code] for code in merged.codes]
        ['b', 'a', 'c', 'b']
        """
        numbers: dict[Any, int] = {}
        codes = []
        for part in parts:
            places = [numbers.setdefault(name, len(numbers)) for name in part.names]
            codes.append(np.array(places, dtype=part.codes.dtype)[part.codes])
        return cls(list(numbers), np.concatenate(codes), parts[0].columns)

    def in_order(self) -> Groups:
        """Return the same groups, numbered in the order of their names."""
        order = sorted(range(len(self.names)), key=self.names.__getitem__)
        places = np.empty(len(order), dtype=self.codes.dtype)
        places[order] = np.arange(len(order))
        return self._replace(names=[self.names[k] for k in order], codes=places[self.codes])

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of rows of each group."""
        if len(self.names) == 1:
            return np.array([len(self.codes)])
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
        table = np.array(groups, dtype=object)  # else numbers beside text would become text
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


def grouping_columns(groups: Any, columns: Sequence[str | None]) -> Any:
    """Return the columns that totals are grouped by, from all that ``unlabeled_groups`` holds.

    Parameters
    ----------
    groups : array-like, data frame or mapping
        By name where it has names, else by position.
    columns : sequence of str or None
        The grouping columns of the totals.
    """
    if hasattr(groups, "compute"):
        groups = groups.compute()
    if isinstance(groups, dict):
        groups = pd.DataFrame(groups)
    names = getattr(groups, "columns", None)
    if names is not None and None not in columns:
        wanted = [str(name) for name in columns]
        check_columns(wanted, [str(name) for name in names], "unlabeled_groups")
        return groups[wanted]
    shape = np.shape(groups)
    n_columns = 1 if len(shape) < 2 else shape[1]
    if n_columns != len(columns):
        raise InputError(
            f"unlabeled_groups must have the {len(columns)} grouping columns of totals, "
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


def known_bounds(
    totals: Totals,
    groups: Groups,
    classes: Any,
    policy: Policy = "strict",
    weights: Floats | None = None,
) -> Bounds:
    """Return the bounds that all totals are: over all rows, in groups, in cells of margins.

    Parameters
    ----------
    totals : Totals
        What is known.
    groups : Groups
        The group of each row by all columns of the totals.
    classes : sequence
        The classes.
    policy : {"strict", "scale"}
        Refuse totals that contradict each other, or change them.
    weights : ndarray of shape (n_rows,), optional
        How many people a row stands for; totals are about people then.

    Examples
    --------
    >>> known_bounds(Totals({"yes": 0.5}), read_groups(None, 4), ["no", "yes"]).lower
    array([0, 2])
    """
    one_grouping = len(totals.margins) <= 1 and weights is None and not totals.has_estimates
    if one_grouping:
        by_group = totals.margins[0].by_group if totals.margins else {}
        return make_bounds(totals.overall, by_group, classes, groups.names, groups.sizes, policy)
    labels = np.asarray(classes).tolist()
    if totals.overall:
        check_left_out(totals.overall, labels)
    own = [(margin.columns, margin.by_group) for margin in totals.margins]
    parts = margin_parts(own, groups.columns, groups.names)
    said = [{None: totals.overall}, *(by_group for _, by_group in own)]
    sizes = groups.sizes if weights is None else groups.weight(weights)
    return crossing_bounds(said, parts, labels, sizes, policy, weighted=weights is not None)


def are_given(X_unlabeled: Any, totals: Any, *about: Any) -> bool:
    """Return whether totals were given; raise if only some of the arguments were."""
    if X_unlabeled is None and any(each is not None for each in (totals, *about)):
        raise InputError(
            "totals, unlabeled_groups or unlabeled_weight were given without X_unlabeled, the rows "
            "they are about; give X_unlabeled, too, or none of them"
        )
    if X_unlabeled is not None and totals is None:
        raise InputError(
            "X_unlabeled was given without totals, how many of its rows are of each class; give "
            "both or neither"
        )
    return totals is not None


def changes_table(changes: Sequence[Adjustment]) -> pd.DataFrame:
    """Return a row per total that was moved, because totals contradicted each other.

    Returns
    -------
    DataFrame
        ``where`` and ``class``, ``given`` as it was said, ``before`` and ``after`` in rows,
        ``moved`` by how many, and in how many ``standard_errors`` (NaN for an exact total).

    Examples
    --------
    >>> moved = Adjustment(("region",), ("north",), "yes", "120+-5", 120.0, 114.0, 5.0)
    >>> print(changes_table([moved]).to_string(index=False))
           where class  given  before  after  moved  standard_errors
    region north   yes 120+-5   120.0  114.0   -6.0             -1.2
    """
    names = ["where", "class", "given", "before", "after", "moved", "standard_errors"]
    rows = [
        (c.where, c.label, c.said, c.before, c.after, c.after - c.before, c.in_errors)
        for c in changes
    ]
    return pd.DataFrame(rows, columns=names).astype({"standard_errors": float})


def totals_table(
    bounds: Bounds, groups: Groups, classes: Any, counts: NDArray[Any]
) -> pd.DataFrame:
    """Return a row per total that is known.

    Parameters
    ----------
    bounds : Bounds
        What is known.
    groups : Groups
        Their names and columns.
    classes : sequence
        The classes.
    counts : ndarray of shape (n_groups, n_classes)
        What the labels add up to.

    Returns
    -------
    DataFrame
        The grouping columns (empty where a total is not about them), ``class``, ``lower``,
        ``upper``, ``labels``, ``off``.

    Examples
    --------
    >>> table = totals_table(
    ...     Bounds.overall([2, 0], [2, 5], 5), Groups.none(5), ["no", "yes"], np.array([[2, 3]])
    ... )
    >>> table.to_dict("records")
    [{'class': 'no', 'lower': 2, 'upper': 2, 'labels': 2, 'off': 0}]
    """
    system, parts = LinearConstraints.of(bounds), bounds.parts()
    names = [str(name) for name in groups.columns]
    number = float if np.asarray(counts).dtype.kind == "f" else int
    found, off = system.matrix @ counts.ravel().astype(float), system.missed(counts)
    rows = []
    for f, (p, cell, k) in enumerate(system.places.tolist()):
        columns = groups.columns if p == 1 else parts[p].columns
        name = groups.names[cell] if p == 1 else parts[p].names[cell]
        place = name if len(columns) > 1 else (name,)
        at = dict.fromkeys(names, "") | dict(zip(map(str, columns), place, strict=False))
        known = {
            "lower": system.lower[f],
            "upper": system.upper[f],
            "labels": found[f],
            "off": off[f],
        }
        rows.append(at | {"class": classes[k]} | {key: number(v) for key, v in known.items()})
    header = [*names, "class", "lower", "upper", "labels", "off"]
    return pd.DataFrame(rows, columns=header)
