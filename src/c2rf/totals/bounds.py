"""Checked bounds on the sizes of classes: overall, in groups, and in the categories of margins.

Every row is in one group, and every group in one category of each margin. So all that is known is
about one table of counts, groups by classes: about its entries (bounds of groups), its sums over
the groups of a category (bounds of a margin), and its sums over all groups (overall bounds).

:class:`Bounds` holds these as arrays. :class:`LinearConstraints` is the same as the rows of one
matrix, for linear and integer programs:

    lower <= matrix @ counts.ravel() <= upper

:func:`can_be_met` says whether overall bounds and those of groups can be met together; bounds of
margins that cross are checked by :mod:`c2rf.totals.reconcile`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array, eye_array, kron, vstack
from scipy.sparse.csgraph import maximum_flow

from c2rf._utils.types import Bools, Codes, Floats, Ints
from c2rf.totals.groups import Groups
from c2rf.totals.stated import Totals

_KNOWN_WITHIN = 0.1  # of all rows: wider ranges of a class say too little to be used as its rate


def named_values(columns: Sequence[str | None], values: Sequence[Any]) -> str:
    """Name a group.

    Examples
    --------
    >>> named_values(("region", None), ("north", 3)), named_values((), ())
    ("region 'north', group 3", '')
    """
    named = zip(columns, values, strict=True)
    return ", ".join(f"{name or 'group'} {value!r}" for name, value in named)


@dataclass(frozen=True)
class Adjustment:
    """A total that was changed, because it contradicted others.

    Parameters
    ----------
    columns, group : tuple
        The grouping columns and their values; none for a total over all rows.
    label : object
        The class.
    stated : str
        The total as it was given.
    before, after : float
        In rows: what was given, and what is met.
    se : float
        The standard error of the total, 0 for an exact one.
    labeled : float
        The labeled rows among these, where totals are of everybody.
    """

    columns: tuple[str | None, ...]
    group: tuple[Any, ...]
    label: Any
    stated: str
    before: float
    after: float
    se: float
    labeled: float = 0.0

    @property
    def where(self) -> str:
        """The group in words."""
        return named_values(self.columns, self.group) or "all rows"

    @property
    def standard_errors(self) -> float | None:
        """By how many standard errors it was changed; None for an exact total."""
        return (self.after - self.before) / self.se if self.se else None

    def __str__(self) -> str:
        errors = self.standard_errors
        by = "" if errors is None else f", {errors:+.1f} standard errors"
        among = f" (with {self.labeled:,.12g} labeled ones)" if self.labeled else ""
        ends = f"{self.before:,.12g} became {self.after:,.12g}"
        return f"{self.label!r} in {self.where}: {ends}{by}{among}"


@dataclass(frozen=True, eq=False)
class MarginBounds:
    """Bounds in the categories of one margin; a category is a set of groups.

    Parameters
    ----------
    columns : tuple of str
        The columns that make the categories; none where all rows are one category.
    names : list
        The categories: values of the column, or tuples of values of several.
    codes : ndarray of int, shape (n_groups,)
        The number of the category of each group.
    lower, upper : ndarray of shape (n_categories, n_classes)
        Between which the size of every class in every category must lie.
    """

    columns: tuple[str | None, ...]
    names: list[Any]
    codes: Codes
    lower: NDArray[Any]
    upper: NDArray[Any]

    def sums(self, counts: NDArray[Any]) -> NDArray[Any]:
        """Return the sums over the groups of each category.

        Examples
        --------
        >>> free = np.zeros((2, 2), dtype=int)
        >>> margin = MarginBounds(("sex",), ["f", "m"], np.array([0, 1, 0]), free, free)
        >>> margin.sums(np.array([[1, 2], [3, 4], [5, 6]])).tolist()
        [[6, 8], [3, 4]]
        """
        total = np.zeros((len(self.names), *counts.shape[1:]), dtype=counts.dtype)
        np.add.at(total, self.codes, counts)
        return total

    def is_known(self, group_sizes: NDArray[Any]) -> Bools:
        """Say of which class in which category more is known than the number of rows."""
        return (self.lower > 0) | (self.upper < self.sums(group_sizes)[:, None])

    def values(self, category: int) -> tuple[Any, ...]:
        """Return the value of each grouping column in a category."""
        name = self.names[category]
        return () if not self.columns else name if len(self.columns) > 1 else (name,)


def open_margins(
    totals: Totals, groups: Groups, sizes: NDArray[Any], n_classes: int
) -> list[MarginBounds]:
    """Return all margins that totals are about, overall first, with nothing known in them yet."""
    grouping = groups.columns or totals.columns
    values = [name if len(grouping) > 1 else (name,) for name in groups.names]
    margins = []
    for columns in ((), *(margin.columns for margin in totals.margins)):
        places = [grouping.index(name) for name in columns]
        names = [tuple(each[place] for place in places) for each in values]
        numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
        codes = np.array([numbers[name] for name in names], dtype=np.intp)
        categories = [name[0] if len(columns) == 1 else name for name in numbers]
        margin = MarginBounds(columns, categories, codes, np.empty(0), np.empty(0))
        upper = np.repeat(margin.sums(sizes)[:, None], n_classes, axis=1)
        margins.append(replace(margin, lower=np.zeros_like(upper), upper=upper))
    return margins


@dataclass(frozen=True, eq=False)
class Bounds:
    """Whole numbers between which the size of every class must lie, overall and in each group.

    The size of a class in rows with weights is the sum of the weights, and bounds need not be
    whole numbers then.

    Parameters
    ----------
    lower, upper : ndarray of int64, shape (n_classes,)
        Over all rows.
    group_lower, group_upper : ndarray of int64, shape (n_groups, n_classes)
        In each group.
    group_sizes : ndarray of int64, shape (n_groups,)
        Number of rows in each group.
    margins : tuple of MarginBounds
        Bounds in sets of groups. All of them hold at once.
    adjustments : tuple of Adjustment
        Totals that were changed because they contradicted each other.
    errors : ndarray of shape (n_groups, n_classes), optional
        What estimates are off by if each is one standard error higher, in rows of each group.
    unrounded : mapping of place to (lower, upper)
        Totals as they were stated, where weights cannot add up to them but for rounding. Places are
        those of :class:`LinearConstraints`.

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
    adjustments: tuple[Adjustment, ...] = ()
    errors: Floats | None = None
    unrounded: Mapping[tuple[int, int, int], tuple[float, float]] = field(default_factory=dict)

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

    def all_margins(self) -> list[MarginBounds]:
        """Return all bounds as margins: overall, of the groups themselves, and the margins."""
        each = np.arange(self.n_groups)
        return [
            MarginBounds((), [None], 0 * each, self.lower[None], self.upper[None]),
            MarginBounds((), list(each), each, self.group_lower, self.group_upper),
            *self.margins,
        ]

    def with_all_margins(self, margins: Sequence[MarginBounds]) -> Bounds:
        """Return the bounds with others for all margins, in the order of :meth:`all_margins`."""
        overall, groups, *others = margins
        return replace(
            self, lower=overall.lower[0], upper=overall.upper[0], group_lower=groups.lower,
            group_upper=groups.upper, margins=tuple(others),
        )  # fmt: skip

    def overall_binds(self) -> bool:
        """Say whether the overall bounds are tighter than the sums of the bounds of groups."""
        highest = np.minimum(self.group_upper, self.group_sizes[:, None]).sum(axis=0)
        lowest = self.group_lower.sum(axis=0)
        return bool((self.lower > lowest).any() or (self.upper < highest).any())

    def rates(self) -> Floats | None:
        """Return the rates of the classes, None unless each is known to within a tenth of all rows.

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
            low = np.maximum(margin.lower, margin.sums(inner[0]))
            high = np.minimum(margin.upper, margin.sums(inner[1]))
            low, high = _implied(low, high, margin.sums(sizes))
            lowest, highest = np.maximum(lowest, low.sum(axis=0)), np.minimum(highest, high.sum(0))
            margins.append(replace(margin, lower=low, upper=high))
        lower, upper = _implied(lowest, highest, self.group_sizes.sum())
        return replace(
            self, lower=lower, upper=upper, group_lower=inner[0], group_upper=inner[1],
            margins=tuple(margins),
        )  # fmt: skip

    def narrowed_to(self, counts: NDArray[Any], *, move_points: bool = False) -> Bounds:
        """Return the bounds with every range narrowed to the number that counts add up to.

        Totals that are not known stay open, and those of one number stay as they are, unless
        ``move_points``. ``counts`` are of groups by classes.
        """
        narrowed = []
        for margin in self.all_margins():
            moves = margin.is_known(self.group_sizes)
            if not move_points:
                moves = moves & (margin.lower < margin.upper)
            found, ends = margin.sums(counts), (margin.lower, margin.upper)
            lower, upper = (np.where(moves, found, end) for end in ends)
            narrowed.append(replace(margin, lower=lower, upper=upper))
        return self.with_all_margins(narrowed)

    def restricted_to(self, kept: Codes, present: Codes | None = None) -> Bounds:
        """Return the bounds of some groups, loosened by the rows of all others.

        Parameters
        ----------
        kept : ndarray of int
            The groups that are kept.
        present : ndarray of int, optional
            Those of them that have any rows; by default all.
        """
        absent = self.group_sizes.copy()
        absent[kept if present is None else present] = 0
        margins = tuple(
            replace(
                margin,
                codes=margin.codes[kept],
                lower=np.maximum(margin.lower - margin.sums(absent[:, None]), 0),
            )
            for margin in self.margins
        )
        low = self.group_lower * (absent == 0)[:, None]
        return Bounds(
            np.maximum(self.lower - absent.sum(), 0), self.upper, low[kept],
            self.group_upper[kept], (self.group_sizes - absent)[kept], margins,
        )  # fmt: skip

    def without(self, counts: NDArray[Any]) -> Bounds:
        """Return the bounds of the rows that are left if counts of groups by classes are known.

        Examples
        --------
        >>> left = Bounds.overall([2, 0], [2, 5], 5).without(np.array([[1, 1]]))
        >>> left.lower, left.upper, left.n_rows
        (array([1, 0]), array([1, 4]), 3)
        """
        margins = []
        for margin in self.all_margins():
            most = np.minimum(margin.upper, margin.sums(self.group_sizes)[:, None])
            ends = (margin.lower, most)
            lower, upper = (np.maximum(end - margin.sums(counts), 0) for end in ends)
            margins.append(replace(margin, lower=lower, upper=upper))
        left = replace(self, group_sizes=self.group_sizes - counts.sum(axis=1))
        return left.with_all_margins(margins)

    def of_group(self, g: int) -> Bounds:
        """Return the bounds of one group alone, as overall ones."""
        return Bounds.overall(self.group_lower[g], self.group_upper[g], int(self.group_sizes[g]))


def _implied(lower: Ints, upper: Ints, sizes: Any) -> tuple[Ints, Ints]:
    """Tighten bounds of classes by those of the other classes and the number of rows."""
    others_lower = lower.sum(axis=-1, keepdims=True) - lower
    others_upper = upper.sum(axis=-1, keepdims=True) - upper
    return np.maximum(lower, sizes - others_upper), np.minimum(upper, sizes - others_lower)


def can_be_met(bounds: Bounds) -> bool:
    """Say whether some table of counts meets the bounds of groups and the overall ones.

    Rows flow from their group to a class of that group and on to the class: the bounds can be met
    if and only if a circulation within them exists, which a maximum flow finds.

    Examples
    --------
    >>> can_be_met(Bounds.overall([2, 0], [2, 3], 5)), can_be_met(Bounds.overall([2, 0], [2, 2], 5))
    (True, False)
    """
    left, wanted = _network(bounds)
    return _max_flow(left) == wanted


def _max_flow(left: csr_array) -> int:
    """Return the value of a maximum flow from the last node but one to the last.

    The solver counts in 32 bits: it is given the leading digits first, then what is left of them.
    Each arc can be short of less than a unit of these, so that what is left has few digits.
    """
    source, sink, value = left.shape[0] - 2, left.shape[0] - 1, 0
    digits = int(left.max()).bit_length()
    at_once = 30 - left.nnz.bit_length()
    for shift in [*range(max(digits - 31, 0), 0, -at_once), 0]:
        data = np.minimum(left.data >> shift, np.iinfo(np.int32).max)
        parts = (each.astype(np.int32) for each in (data, left.indices, left.indptr))
        scaled = csr_array(tuple(parts), left.shape)
        found = maximum_flow(scaled, source, sink)
        value += int(found.flow_value) << shift
        left = csr_array(left - csr_array(found.flow).astype(np.int64) * (1 << shift))
        left.eliminate_zeros()
    return value


def _network(bounds: Bounds) -> tuple[csr_array, int]:
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
    capacity = np.concatenate([high - low, supply[gives], -supply[takes]]).astype(np.int64)
    shape = (sink + 1, sink + 1)
    network = csr_array(coo_array((capacity, (rows, columns)), shape=shape))
    return network, int(supply[gives].sum())


@dataclass(frozen=True, eq=False)
class LinearConstraints:
    """Bounds on sums of the table of counts, groups by classes; one row for each bound.

    The counts also add up to the sizes of the groups, and none is negative.

    Parameters
    ----------
    matrix : csr_array of shape (n_bounds, n_groups * n_classes)
        Ones for the groups and the class that a bound is about.
    lower, upper : ndarray of shape (n_bounds,)
        The bounds.
    places : ndarray of int, shape (n_bounds, 3)
        The numbers of the margin, the category and the class of each bound.
    group_sizes : ndarray of shape (n_groups,)
        Rows of each group, or the sums of their weights.
    sizes_within : float or ndarray of shape (n_groups,)
        By how much counts need not add up to these sizes.
    """

    matrix: csr_array
    lower: Floats
    upper: Floats
    places: Ints
    group_sizes: Floats
    sizes_within: Floats | float = 0.0

    @classmethod
    def at(
        cls, places: Ints, margins: Sequence[MarginBounds], group_sizes: NDArray[Any],
        lower: NDArray[Any], upper: NDArray[Any],
    ) -> LinearConstraints:  # fmt: skip
        """Return constraints at given places of margins; places are in the order of margins."""
        n_groups, n_classes = len(group_sizes), margins[0].lower.shape[1]
        rows = []
        for m, margin in enumerate(margins):
            shape = (len(margin.names), n_groups)
            members = coo_array((np.ones(n_groups), (margin.codes, np.arange(n_groups))), shape)
            _, categories, classes = places[places[:, 0] == m].T
            every = csr_array(kron(members, eye_array(n_classes), format="csr"))
            rows.append(every[categories * n_classes + classes])
        matrix = csr_array(vstack(rows, format="csr"))
        sizes = np.asarray(group_sizes, dtype=float)
        return cls(matrix, lower.astype(float), upper.astype(float), places, sizes)

    @classmethod
    def of(cls, bounds: Bounds) -> LinearConstraints:
        """Return the bounds that say more than how many rows there are.

        Margins are numbered as in :meth:`Bounds.all_margins`.

        Examples
        --------
        >>> constraints = LinearConstraints.of(Bounds.overall([2, 0], [2, 5], 5))
        >>> constraints.matrix.toarray(), constraints.lower, constraints.upper
        (array([[1., 0.]]), array([2.]), array([2.]))
        """
        margins, places, lower, upper = bounds.all_margins(), [], [], []
        for m, margin in enumerate(margins):
            is_known, most = margin.is_known(bounds.group_sizes), margin.sums(bounds.group_sizes)
            found = np.argwhere(is_known)
            places.append(np.column_stack([np.full(len(found), m), found]).astype(np.int64))
            lower.append(margin.lower[is_known])
            upper.append(np.minimum(margin.upper, most[:, None])[is_known])
        ends = np.concatenate(lower), np.concatenate(upper)
        return cls.at(np.vstack(places), margins, bounds.group_sizes, *ends)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.matrix.shape[1] // len(self.group_sizes)

    def between(self, lower: Floats, upper: Floats) -> LinearConstraints:
        """Return the same sums with other bounds."""
        return replace(self, lower=lower, upper=upper)

    def divided(self, scale: float) -> LinearConstraints:
        """Return the same constraints on smaller counts."""
        numbers = ("lower", "upper", "group_sizes", "sizes_within")
        return replace(self, **{name: getattr(self, name) / scale for name in numbers})

    def some(self, rows: Codes | Bools) -> LinearConstraints:
        """Return only some of the bounds."""
        return replace(
            self, matrix=csr_array(self.matrix[rows]), lower=self.lower[rows],
            upper=self.upper[rows], places=self.places[rows],
        )  # fmt: skip

    def missed(self, counts: NDArray[np.generic]) -> Floats:
        """Return by how much counts miss each bound: negative below, positive above."""
        found: Floats = self.matrix @ counts.ravel().astype(float)
        return np.minimum(found - self.lower, 0.0) + np.maximum(found - self.upper, 0.0)


def adjustments_table(adjustments: Sequence[Adjustment]) -> pd.DataFrame:
    """Return a row for each total that was changed, because totals contradicted each other.

    Returns
    -------
    DataFrame
        ``where`` and ``class``, ``given`` as it was stated, ``before`` and ``after`` in rows,
        ``moved`` by how many, and in how many ``standard_errors`` (NaN for an exact total).

    Examples
    --------
    >>> moved = Adjustment(("region",), ("north",), "yes", "120+-5", 120.0, 114.0, 5.0)
    >>> print(adjustments_table([moved]).to_string(index=False))
             where class  given  before  after  moved  standard_errors
    region 'north'   yes 120+-5   120.0  114.0   -6.0             -1.2
    """
    names = ["where", "class", "given", "before", "after", "moved", "standard_errors"]
    rows = [
        (a.where, a.label, a.stated, a.before, a.after, a.after - a.before, a.standard_errors)
        for a in adjustments
    ]
    return pd.DataFrame(rows, columns=names).astype({"standard_errors": float})


def totals_table(
    bounds: Bounds, groups: Groups, classes: Any, counts: NDArray[Any]
) -> pd.DataFrame:
    """Return a row for each total that is known.

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
    known, margins = LinearConstraints.of(bounds), bounds.all_margins()
    for f, place in enumerate(map(tuple, known.places.tolist())):
        if place in bounds.unrounded:
            known.lower[f], known.upper[f] = bounds.unrounded[place]
    margins[1] = replace(margins[1], columns=groups.columns, names=groups.names)
    names, off = [str(name) for name in groups.columns], known.missed(counts)
    off[np.abs(off) <= 1e-12 * bounds.n_rows] = 0.0  # sums of weights are floats
    number = float if np.asarray(counts).dtype.kind == "f" else int
    numbers = {
        "lower": known.lower,
        "upper": known.upper,
        "labels": known.matrix @ counts.ravel(),
        "off": off,
    }
    rows = []
    for f, (m, category, k) in enumerate(known.places.tolist()):
        values = zip(map(str, margins[m].columns), margins[m].values(category), strict=True)
        at = dict.fromkeys(names, "") | dict(values) | {"class": classes[k]}
        rows.append(at | {name: number(values[f]) for name, values in numbers.items()})
    return pd.DataFrame(rows, columns=[*names, "class", *numbers])
