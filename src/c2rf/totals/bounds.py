"""Checked integer bounds on class sizes: overall, by group, and in margins.

Bounds on the sizes of classes: overall, per group, and in the cells of margins.

A row is of one group, and a group is of one cell of each margin: with margins by region and by age,
groups are the combinations of a region and an age that rows are in. So all that is known is about
the table of counts of groups by classes: its entries (the groups), its sums over some of its
rows (the cells of margins), and over all (overall). ``Bounds.parts`` has all of them in one form.

With one grouping and nothing else there are no margins, and :func:`find_conflict` says whether
the bounds can be met together. Rows flow from their group to a class of that group and on to the
class. Bounds can be met if and only if, for every set of groups and classes, what must enter it
fits through what may leave it (Hoffman's theorem); a maximum flow finds a set where it does not.

Weights of rows: how many people a row stands for.

All bounds as the rows of one matrix over the table of counts of groups by classes.

    lower <= matrix @ counts.ravel() <= upper

This is what linear and integer programs are made of, here and in the assignment of labels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array, vstack
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from c2rf._utils.text import for_user
from c2rf._utils.types import Bools, Codes, Floats, Ints
from c2rf.exceptions import InputError, InputTypeError

if TYPE_CHECKING:
    from c2rf.totals.reconcile import Adjustment


_KNOWN_WITHIN = 0.1


@dataclass(frozen=True, eq=False)
class MarginBounds:
    """Bounds in the cells of one margin; a cell is a set of groups.

    Parameters
    ----------
    columns : tuple of str
        The columns that make the cells; none for all rows as one cell.
    names : list
        The cells: values of the column, or tuples of values of several.
    cells : ndarray of int, shape (n_groups,)
        The cell of each group.
    lower, upper : ndarray of shape (n_cells, n_classes)
        Between which the size of every class in every cell must lie.
    """

    columns: tuple[str | None, ...]
    names: list[Any]
    cells: Codes
    lower: NDArray[Any]
    upper: NDArray[Any]

    def counted(self, counts: NDArray[Any]) -> NDArray[Any]:
        """Return the sizes in the cells, given those in the groups.

        Examples
        --------
        >>> free = np.zeros((2, 2), dtype=int)
        >>> margin = MarginBounds(("sex",), ["f", "m"], np.array([0, 1, 0]), free, free)
        >>> margin.counted(np.array([[1, 2], [3, 4], [5, 6]])).tolist()
        [[6, 8], [3, 4]]
        """
        return counted(self.cells, len(self.names), counts)


def counted(cells: Codes, n_cells: int, counts: NDArray[Any]) -> NDArray[Any]:
    """Add up the rows of a table that are of the same cell."""
    total = np.zeros((n_cells, *counts.shape[1:]), dtype=counts.dtype)
    np.add.at(total, cells, counts)
    return total


@dataclass(frozen=True, eq=False)
class Bounds:
    """Whole numbers between which the size of every class must lie, overall and per group.

    Of rows with weights, sizes are sums of weights: then nothing here need be whole.

    Parameters
    ----------
    lower, upper : ndarray of int64, shape (n_classes,)
        Over all rows.
    group_lower, group_upper : ndarray of int64, shape (n_groups, n_classes)
        Within each group.
    group_sizes : ndarray of int64, shape (n_groups,)
        Number of rows of each group.
    margins : tuple of MarginBounds
        Bounds in sets of groups, all of which hold at once.
    changes : tuple of Change
        Totals that were moved because they contradicted each other.
    errors : ndarray of shape (n_classes,), optional
        The mean standard error of the estimates of each class, as a share of them; 0 if exact.

    Examples
    --------
    >>> bounds = Bounds.overall([2, 0], [2, 5], 5)
    >>> bounds.group_upper, bounds.n_rows
    (array([[5, 5]]), 5)
    """

    lower: Ints
    upper: Ints
    group_lower: Ints
    group_upper: Ints
    group_sizes: Ints
    margins: tuple[MarginBounds, ...] = ()
    changes: tuple[Adjustment, ...] = ()
    errors: Floats | None = None

    @classmethod
    def overall(cls, lower: ArrayLike, upper: ArrayLike, n_rows: int) -> Bounds:
        """Return bounds of rows that are all of one group, whose own bounds say nothing."""
        low, high = np.asarray(lower, dtype=np.int64), np.asarray(upper, dtype=np.int64)
        free = np.full((1, len(low)), n_rows, dtype=np.int64)
        return cls(low, high, np.zeros_like(free), free, np.array([n_rows], dtype=np.int64))

    @property
    def n_rows(self) -> int:
        """Number of rows; of weighted ones the sum of their weights."""
        total = self.group_sizes.sum()
        return int(total) if total == int(total) else total

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.lower)

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.group_sizes)

    def parts(self) -> list[MarginBounds]:
        """Return all bounds as margins: overall, of the groups themselves, and the margins."""
        each = np.arange(self.n_groups)
        return [
            MarginBounds((), [None], 0 * each, self.lower[None], self.upper[None]),
            MarginBounds((), list(each), each, self.group_lower, self.group_upper),
            *self.margins,
        ]

    def couple(self) -> bool:
        """Say whether the overall bounds ask for more than the bounds of the groups do."""
        highest = np.minimum(self.group_upper, self.group_sizes[:, None]).sum(axis=0)
        lowest = self.group_lower.sum(axis=0)
        return bool((self.lower > lowest).any() or (self.upper < highest).any())

    def rates(self) -> Floats | None:
        """Return the rates of the classes, None unless every one is known to a tenth of all.

        Examples
        --------
        >>> Bounds.overall([2, 7], [3, 8], 10).rates()
        array([0.25, 0.75])
        >>> Bounds.overall([0, 7], [10, 7], 10).rates()  # one class has the rest
        array([0.3, 0.7])
        """
        known = self.with_implied_bounds()
        width = (known.upper - known.lower).max()
        if self.n_rows == 0 or width > _KNOWN_WITHIN * self.n_rows:
            return None
        middle = (known.lower + known.upper) / 2
        return middle / middle.sum()

    def with_implied_bounds(self) -> Bounds:
        """Return the bounds with what they imply for each other.

        Examples
        --------
        >>> known = Bounds.overall([0, 7], [10, 7], 10).with_implied_bounds()
        >>> known.lower, known.upper
        (array([3, 7]), array([3, 7]))
        """
        sizes = self.group_sizes[:, None]
        inner = _implied(self.group_lower, np.minimum(self.group_upper, sizes), sizes)
        lowest = np.maximum(self.lower, inner[0].sum(axis=0))
        highest = np.minimum(self.upper, inner[1].sum(axis=0))
        margins = []
        for margin in self.margins:
            low = np.maximum(margin.lower, margin.counted(inner[0]))
            high = np.minimum(margin.upper, margin.counted(inner[1]))
            low, high = _implied(low, high, margin.counted(sizes))
            lowest, highest = np.maximum(lowest, low.sum(axis=0)), np.minimum(highest, high.sum(0))
            margins.append(replace(margin, lower=low, upper=high))
        lower, upper = _implied(lowest, highest, self.group_sizes.sum())
        return replace(
            self, lower=lower, upper=upper, group_lower=inner[0], group_upper=inner[1],
            margins=tuple(margins),
        )  # fmt: skip

    def met_by(self, counts: NDArray[Any]) -> Bounds:
        """Return the bounds with ranges narrowed to what counts of groups by classes add up to.

        What is free stays free.
        """
        sizes = self.group_sizes[:, None]

        def narrow(low: Any, high: Any, most: Any, found: Any) -> tuple[Any, Any]:
            is_range = ((low > 0) | (high < most)) & (low < high)
            return np.where(is_range, found, low), np.where(is_range, found, high)

        margins = []
        for margin in self.margins:
            most = margin.counted(sizes)
            low, high = narrow(margin.lower, margin.upper, most, margin.counted(counts))
            margins.append(replace(margin, lower=low, upper=high))
        lower, upper = narrow(self.lower, self.upper, sizes.sum(), counts.sum(axis=0))
        inner = narrow(self.group_lower, self.group_upper, sizes, counts)
        return Bounds(lower, upper, *inner, self.group_sizes, tuple(margins))

    def of_some_groups(self, kept: Codes, there: Codes | None = None) -> Bounds:
        """Return the bounds with room for groups that are not looked at.

        Parameters
        ----------
        kept : ndarray of int
            The groups that are kept.
        there : ndarray of int, optional
            Those of them that have any rows; by default all.
        """
        seen = kept if there is None else there
        absent = self.group_sizes.copy()
        absent[seen] = 0
        margins = tuple(
            replace(
                margin,
                cells=margin.cells[kept],
                lower=np.maximum(margin.lower - margin.counted(absent[:, None]), 0),
            )
            for margin in self.margins
        )
        low = self.group_lower * (absent == 0)[:, None]
        return Bounds(
            np.maximum(self.lower - absent.sum(), 0), self.upper, low[kept],
            self.group_upper[kept], (self.group_sizes - absent)[kept], margins,
        )  # fmt: skip

    def of_group(self, g: int) -> Bounds:
        """Return the bounds of one group alone, as overall ones."""
        return Bounds.overall(self.group_lower[g], self.group_upper[g], int(self.group_sizes[g]))


def _implied(lower: Ints, upper: Ints, sizes: Any) -> tuple[Ints, Ints]:
    """Return what bounds of classes imply for each other, given how many rows there are."""
    others_lower = lower.sum(axis=-1, keepdims=True) - lower
    others_upper = upper.sum(axis=-1, keepdims=True) - upper
    return np.maximum(lower, sizes - others_upper), np.minimum(upper, sizes - others_lower)


@dataclass(frozen=True, eq=False)
class Conflict:
    """Groups and classes whose bounds cannot be met together.

    Parameters
    ----------
    groups : ndarray of bool, shape (n_groups,)
        The groups whose bounds are involved.
    classes : ndarray of bool, shape (n_classes,)
        The classes whose overall bounds are involved.
    crowded : bool
        True: this number of rows must be in these classes, but their upper bounds have less room.
        False: these classes' lower bounds ask for this number of rows, but fewer can be in them.
    must, can : int
        How many at least, and how many at most; ``must > can``.
    """

    groups: Bools
    classes: Bools
    crowded: bool
    must: int
    can: int


def find_conflict(bounds: Bounds) -> Conflict | None:
    """Return a set of groups and classes with impossible bounds, None if all can be met.

    Examples
    --------
    >>> find_conflict(Bounds.overall([2, 0], [2, 3], 5)) is None
    True
    >>> conflict = find_conflict(Bounds.overall([2, 0], [2, 2], 5))
    >>> conflict.crowded, conflict.must, conflict.can
    (True, 5, 4)
    """
    network, wanted, n_groups = _network(bounds)
    source, sink = network.shape[0] - 2, network.shape[0] - 1
    flow = maximum_flow(network, source, sink)
    if flow.flow_value == wanted:
        return None
    left = csr_array(network - flow.flow)
    left.eliminate_zeros()
    reached = np.zeros(network.shape[0], dtype=bool)
    reached[breadth_first_order(left, source, return_predecessors=False)] = True
    groups, classes = reached[:n_groups], reached[n_groups : n_groups + bounds.n_classes]
    return _violated(bounds, groups, classes)


def _network(bounds: Bounds) -> tuple[csr_array, int, int]:
    """Return the network of a circulation without its lower bounds, and the flow it must have.

    Nodes are groups, classes, the end of all flow, source and sink. An arc with bounds (lo, up)
    has capacity up - lo; its lo leaves the source for its head and its tail for the sink.
    """
    n_groups, n_classes = bounds.group_lower.shape
    end, source, sink = range(n_groups + n_classes, n_groups + n_classes + 3)
    groups, classes = np.arange(n_groups), n_groups + np.arange(n_classes)
    tails = np.concatenate([np.repeat(groups, n_classes), classes])
    heads = np.concatenate([np.tile(classes, n_groups), np.full(n_classes, end)])
    low = np.concatenate([bounds.group_lower.ravel(), bounds.lower])
    high = np.minimum(np.concatenate([bounds.group_upper.ravel(), bounds.upper]), bounds.n_rows)
    supply = np.zeros(end + 1, dtype=np.int64)
    supply[:n_groups] = bounds.group_sizes
    supply[end] = -bounds.n_rows
    np.add.at(supply, heads, low)
    np.subtract.at(supply, tails, low)
    gives, takes = np.flatnonzero(supply > 0), np.flatnonzero(supply < 0)
    rows = np.concatenate([tails, np.full(len(gives), source), takes])
    columns = np.concatenate([heads, gives, np.full(len(takes), sink)])
    capacity = np.concatenate([high - low, supply[gives], -supply[takes]]).astype(np.int32)
    shape = (sink + 1, sink + 1)
    network = csr_array(coo_array((capacity, (rows, columns)), shape=shape))
    return network, int(supply[gives].sum()), n_groups


def _violated(bounds: Bounds, groups: Bools, classes: Bools) -> Conflict:
    """Say how the condition fails for these groups and classes, in the form of fewer classes."""
    high = np.minimum(bounds.group_upper, bounds.n_rows)
    low_inside = bounds.group_lower * (~groups[:, None] & classes)
    high_outside = high * (groups[:, None] & ~classes)
    involved = groups | low_inside.any(axis=1)
    surplus = int(low_inside.sum() - high_outside.sum())
    crowded = Conflict(
        involved,
        classes,
        True,
        must=int(bounds.group_sizes[groups].sum()) + surplus,
        can=int(bounds.upper[classes].sum()),
    )
    empty = Conflict(
        involved,
        ~classes,
        False,
        must=int(bounds.lower[~classes].sum()),
        can=int(bounds.group_sizes[~groups].sum()) - surplus,
    )
    told = [conflict for conflict in (crowded, empty) if conflict.must > conflict.can]
    return min(told, key=lambda conflict: conflict.classes.sum())


def read_weights(values: Any, n_rows: int, name: str = "unlabeled_weight") -> Floats | None:
    """Return weights as numbers; None where all are one, because then nothing is weighted.

    Parameters
    ----------
    values : array-like of shape (n_rows,)
        Numbers, none negative; rows of weight zero are labeled, and count nothing.
    n_rows : int
        How many there must be.
    name : str
        What the user calls them.

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
    series = pd.Series(np.asarray(values).ravel() if np.ndim(values) < 2 else [])
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
    if numbers.isna().any():
        wrong = numbers.isna()
        found = series[wrong].iloc[0]
        raise InputTypeError(f"{name} must be numbers; found {found!r} in {_row(wrong)}")
    weights = numbers.to_numpy(dtype=float)
    for wrong, what in (
        (numbers < 0, "must not be negative"),
        (np.isinf(numbers), "must be finite"),
    ):
        if wrong.any():
            raise InputError(f"{name} {what}; found {series[wrong].iloc[0]} in {_row(wrong)}")
    if not weights.any():
        raise InputError(f"{name} has only zeros: no row counts anything")
    return None if bool((weights == 1).all()) else weights


def _row(wrong: pd.Series[Any]) -> str:
    """Name the first row that is wrong: in Python from 0, in files from 1."""
    place = int(np.asarray(wrong).argmax())
    return for_user(f"row {place}", f"data row {place + 1}")


@dataclass(frozen=True, eq=False)
class LinearConstraints:
    """Bounds that say something, one per row.

    Parameters
    ----------
    matrix : csr_array of shape (n_bounds, n_groups * n_classes)
        Ones where a group and class count for a bound.
    lower, upper : ndarray of shape (n_bounds,)
        The bounds.
    places : ndarray of int, shape (n_bounds, 3)
        Of each bound the number of its part (see :meth:`Bounds.parts`), its cell and its class.
    """

    matrix: csr_array
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    places: Ints

    @classmethod
    def of(cls, bounds: Bounds) -> LinearConstraints:
        """Return the bounds that say more than how many rows there are.

        Examples
        --------
        >>> system = LinearConstraints.of(Bounds.overall([2, 0], [2, 5], 5))
        >>> system.matrix.toarray(), system.lower, system.upper
        (array([[1., 0.]]), array([2.]), array([2.]))
        """
        parts = [
            _rows(k, part, bounds.group_sizes, bounds.n_classes)
            for k, part in enumerate(bounds.parts())
        ]
        return cls(
            csr_array(vstack([part.matrix for part in parts], format="csr")),
            np.concatenate([part.lower for part in parts]),
            np.concatenate([part.upper for part in parts]),
            np.vstack([part.places for part in parts]),
        )

    def some(self, rows: Codes | Bools) -> LinearConstraints:
        """Return only some of the bounds."""
        return LinearConstraints(
            csr_array(self.matrix[rows]), self.lower[rows], self.upper[rows], self.places[rows]
        )

    def missed(self, counts: NDArray[np.generic]) -> Floats:
        """Return by how much counts miss each bound: negative below, positive above."""
        found: Floats = self.matrix @ counts.ravel().astype(float)
        return np.minimum(found - self.lower, 0.0) + np.maximum(found - self.upper, 0.0)


def sizes_matrix(n_groups: int, n_classes: int) -> csr_array:
    """Return the matrix that adds up the classes of each group."""
    ones = np.ones(n_groups * n_classes)
    starts = np.arange(n_groups + 1) * n_classes
    return csr_array((ones, np.arange(n_groups * n_classes), starts))


def cell_matrix(cells: Codes, n_classes: int, places: Ints) -> csr_array:
    """Return rows with a one for each group of a cell, in the column of the class."""
    order = np.argsort(cells, kind="stable")
    ends = np.searchsorted(cells[order], [places[:, 0], places[:, 0] + 1])
    members = [order[first:last] for first, last in ends.T]
    columns = [
        groups * n_classes + k for groups, k in zip(members, places[:, 1].tolist(), strict=True)
    ]
    starts = np.concatenate([[0], np.cumsum([len(each) for each in columns], dtype=np.int64)])
    indices = np.concatenate([*columns, np.empty(0, dtype=np.int64)])
    shape = (len(places), len(cells) * n_classes)
    return csr_array((np.ones(len(indices)), indices, starts), shape=shape)


def _rows(number: int, part: MarginBounds, sizes: Ints, n_classes: int) -> LinearConstraints:
    """Return the rows of one part; a cell's bounds are left out where they say nothing."""
    most = counted(part.cells, len(part.names), sizes)[:, None]
    says = (part.lower > 0) | (part.upper < most)
    places = np.argwhere(says)
    return LinearConstraints(
        cell_matrix(part.cells, n_classes, places),
        part.lower[says].astype(float),
        np.minimum(part.upper, most)[says].astype(float),
        np.column_stack([np.full(len(places), number), places]).astype(np.int64),
    )
