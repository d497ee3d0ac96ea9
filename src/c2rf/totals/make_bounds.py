"""From totals, as counts, rates and ranges, to integer bounds that can be met together.

From totals, as counts, rates and ranges, to whole-number bounds that can be met together.

Totals that contradict each other are refused with the sums that show it, or rescaled if the user
wants that.

From several margins, estimates and weights to bounds that can be met together.

Overall totals are a margin with one cell. All figures are checked at once:

1. those that fit together in fractions of rows are taken as they are;
2. else estimates are moved to fit, by generalised least squares, and exact figures stay;
3. exact figures that contradict each other are refused, with a small set of them that cannot hold
   together, or with ``policy="scale"`` changed by as small a share of each as will do;
4. what is not whole by then (rates, estimates) is rounded up or down such that a table of whole
   counts exists. Where none exists, the smallest deviation is named, or accepted.

Weighted rows need no whole numbers: a total in people is one to half a person.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, vstack

from c2rf._utils.text import count, for_user, listed
from c2rf._utils.types import Bools, Codes, Floats, Ints
from c2rf.exceptions import InputError
from c2rf.totals.bounds import Bounds, Conflict, MarginBounds, cell_matrix, counted, find_conflict
from c2rf.totals.reconcile import (
    Adjustment,
    Figures,
    contradiction,
    fit_together,
    least_squares,
    nearest_table,
    relative_variances,
    rounded,
)
from c2rf.totals.stated import (
    SLACK,
    Policy,
    StatedTotal,
    check_classes,
    check_groups,
    read_stated,
    scale_hint,
    written,
)

# Rates whose sum misses the whole by less than half a row are just rounded rates.
_ROUNDING = 0.5
_ALL_ROWS: tuple[Any, ...] = ()


def make_bounds(
    overall: Mapping[Any, Any],
    by_group: Mapping[Any, Mapping[Any, Any]],
    classes: ArrayLike,
    group_names: Sequence[Any],
    group_sizes: ArrayLike,
    policy: Policy = "strict",
) -> Bounds:
    """Turn what the user knows into bounds that can be met.

    Parameters
    ----------
    overall : mapping of class to total
        Over all rows; one class may be left out, or all. A total is a count (an integer), a rate
        (a float in [0, 1]) or a range ``(lo, hi)`` of counts or of rates. Rates that add up are
        rounded by largest remainders, so that the counts add up, too.
    by_group : mapping of group to mapping of class to total
        Within groups; what is not named is free.
    classes : array-like of shape (n_classes,)
        The known classes.
    group_names : sequence
        The groups there are.
    group_sizes : array-like of int, shape (n_groups,)
        Their numbers of rows.
    policy : {"strict", "scale"}
        Refuse totals that contradict each other, or rescale them with a warning. Where totals of
        groups contradict overall ones, the overall ones give way.

    Returns
    -------
    Bounds
        Its ``changes`` are the totals that were rescaled or moved.

    Examples
    --------
    >>> classes = ["a", "b", "c"]
    >>> bounds = make_bounds({"a": 0.333, "b": (1, 4)}, {}, classes, ["all"], [10])
    >>> bounds.lower, bounds.upper
    (array([3, 1, 0]), array([ 3,  4, 10]))
    >>> make_bounds({"a": 5, "b": 4, "c": 2}, {}, classes, ["all"], [10])
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputError: totals add up to 11 ('a': 5, 'b': 4, 'c': 2), but there are 10 \
rows; correct them, or use totals_policy="scale" to have them rescaled
    """
    names, sizes = list(group_names), np.asarray(group_sizes, dtype=np.int64)
    labels = np.asarray(classes).tolist()
    _check_names(overall, by_group, labels, names)
    total = _row(overall, labels, int(sizes.sum()), _ALL_ROWS, policy)
    rows = [
        _row(by_group.get(name, {}), labels, int(size), (name,), policy)
        for name, size in zip(names, sizes, strict=True)
    ]
    bounds = Bounds(
        total.lower,
        total.upper,
        np.array([row.lower for row in rows]),
        np.array([row.upper for row in rows]),
        sizes,
        changes=sum((row.changes for row in rows), start=total.changes),
    )
    conflict = find_conflict(bounds)
    if conflict is not None and policy == "scale":
        bounds = _give_way(bounds, labels, overall)
        conflict = find_conflict(bounds)
    if conflict is not None:
        raise InputError(_explained(conflict, labels, names))
    return bounds


def largest_remainder(values: ArrayLike, total: int) -> Ints:
    """Round values such that they add up to a total; the largest remainders are rounded up.

    Parameters
    ----------
    values : array-like of float
        Values whose sum is within their number of the total.
    total : int
        What the whole numbers add up to.

    Examples
    --------
    >>> largest_remainder([3.4, 3.3, 3.3], 10)
    array([4, 3, 3])
    """
    exact = np.asarray(values, dtype=float)
    rounded = np.floor(exact + SLACK).astype(np.int64)
    # Equal remainders: the larger value first, it is changed least by one row.
    order = np.lexsort((-exact, rounded - exact))
    missing = total - int(rounded.sum())
    rounded[order[:missing] if missing >= 0 else order[missing:]] += np.sign(missing)
    return rounded


@dataclass(frozen=True, eq=False)
class _Row:
    """Bounds of the classes over one set of rows."""

    lower: Ints
    upper: Ints
    changes: tuple[Adjustment, ...] = ()


def _row(
    said: Mapping[Any, Any], labels: list[Any], n: int, cell: tuple[Any, ...], policy: Policy
) -> _Row:
    """Read the totals of one set of rows and make them add up."""
    where = f"the totals of group {cell[0]!r}" if cell else "totals"
    ranges = {
        label: read_stated(total, n, f"{where}: the total of {label!r}", policy)
        for label, total in said.items()
    }
    low = np.array([ranges[k].low if k in ranges else 0.0 for k in labels])
    high = np.array([ranges[k].high if k in ranges else float(n) for k in labels])
    rates = np.array([k in ranges and ranges[k].is_rate for k in labels])
    if _adds_up(low, high, n, rates):
        return _rounded(low, high, n, rates)
    if policy == "strict":
        raise InputError(_sums(low, high, n, ranges, where))
    if high.sum() == 0:
        raise InputError(f"{where} has only zeros, which cannot be scaled to the {n} rows")
    row = _scaled(low, high, n, np.array([label in said for label in labels]))
    warnings.warn(
        f"{where} add up to {_misfit(low, high, n):g}, but there are {n} rows: scaled to "
        f"{_spans(labels, row.lower, row.upper)}",
        UserWarning,
        stacklevel=2,
    )
    return replace(row, changes=_changes(said, labels, cell, (low, high), (row.lower, row.upper)))


def _changes(
    said: Mapping[Any, Any],
    labels: list[Any],
    cell: tuple[Any, ...],
    before: tuple[Any, Any],
    after: tuple[Any, Any],
) -> tuple[Adjustment, ...]:
    """Return which of the totals that were said are others now, of ranges which ends."""
    found: dict[Adjustment, None] = {}  # both ends of a single number are one change
    for k, label in enumerate(labels):
        for old, new in zip(before, after, strict=True):
            if label in said and abs(old[k] - new[k]) >= _ROUNDING:
                change = Adjustment(
                    columns=("group",) if cell else (), cell=cell, label=label,
                    said=str(said[label]), before=float(old[k]), after=float(new[k]), se=0.0,
                )  # fmt: skip
                found[change] = None
    return tuple(found)


def _scaled(low: Floats, high: Floats, n: int, said: Bools) -> _Row:
    """Multiply what was said by what makes it add up; a single number stays a single number."""
    factor = n / _misfit(low, high, n)
    if low.sum() > n:
        lower = largest_remainder(low * factor, n)
        upper = np.maximum(lower, np.floor(high * factor + SLACK).astype(np.int64))
        return _Row(lower, np.where(low == high, lower, np.where(said, upper, n)))
    upper = largest_remainder(high * factor, n)
    lower = np.minimum(upper, np.ceil(low * factor - SLACK).astype(np.int64))
    return _Row(np.where(low == high, upper, lower), upper)


def _misfit(low: Floats, high: Floats, n: int) -> float:
    """Return the sum that is not the number of rows."""
    return float(low.sum() if low.sum() > n else high.sum())


def _adds_up(low: Floats, high: Floats, n: int, rates: Bools) -> bool:
    slack = _ROUNDING - SLACK if rates.any() else 0.0
    return bool(low.sum() <= n + slack and high.sum() >= n - slack)


def _rounded(low: Floats, high: Floats, n: int, rates: Bools) -> _Row:
    """Round rates, together where they are all that is open."""
    lower, upper = np.ceil(low - SLACK).astype(np.int64), np.floor(high + SLACK).astype(np.int64)
    single = rates & (low == high)
    if single.any():
        others = np.delete(np.arange(len(low)), np.flatnonzero(single))
        known = bool((lower[others] == upper[others]).all())
        total = n - int(lower[others].sum()) if known else round(low[single].sum())
        lower[single] = upper[single] = largest_remainder(low[single], total)
    return _Row(lower, upper)


def _check_names(
    overall: Mapping[Any, Any],
    by_group: Mapping[Any, Mapping[Any, Any]],
    labels: list[Any],
    groups: list[Any],
) -> None:
    """Refuse classes and groups nobody knows, and totals that leave out more than one class."""
    if not overall and not by_group:
        raise InputError("totals must hold at least one total; found none")
    check_classes(overall, labels, "totals")
    check_left_out(overall, labels)
    check_groups(by_group, groups, "totals")
    for group, row in by_group.items():
        check_classes(row, labels, f"the totals of group {group!r}")


def check_left_out(overall: Mapping[Any, Any], labels: Sequence[Any]) -> None:
    """Refuse overall totals that leave out more than one class."""
    missing = [label for label in labels if label not in overall]
    if overall and len(missing) > 1:
        anything = for_user("(0.0, 1.0)", "0%..100%")
        raise InputError(
            f"totals leaves out the classes {listed(missing)}; it may leave out one class (which "
            f"gets the rest): give the others a total, or the range {anything} where nothing is "
            "known"
        )


def _give_way(bounds: Bounds, labels: list[Any], overall: Mapping[Any, Any]) -> Bounds:
    """Move the overall bounds into what the groups allow, the rest in proportion."""
    most = np.minimum(bounds.group_upper, bounds.group_sizes[:, None]).sum(axis=0)
    least = bounds.group_lower.sum(axis=0)
    lower, upper = np.clip(bounds.lower, least, most), np.clip(bounds.upper, least, most)
    single = lower == upper
    if lower.sum() > bounds.n_rows:
        lower = _shrunk(lower, least, bounds.n_rows)
        upper = np.where(single, lower, upper)
    elif upper.sum() < bounds.n_rows:
        upper = most - _shrunk(most - upper, 0 * most, int(most.sum()) - bounds.n_rows)
        lower = np.where(single, upper, lower)
    warnings.warn(
        "overall totals contradict those of groups, which are kept: the overall ones are moved "
        f"from {_spans(labels, bounds.lower, bounds.upper)} to {_spans(labels, lower, upper)}",
        UserWarning,
        stacklevel=2,
    )
    moved = _changes(overall, labels, _ALL_ROWS, (bounds.lower, bounds.upper), (lower, upper))
    return replace(bounds, lower=lower, upper=upper, changes=(*bounds.changes, *moved))


def _shrunk(values: Ints, least: Ints, total: int) -> Ints:
    """Lower values in proportion to what they have above the least, to a total."""
    spare = values - least
    return least + largest_remainder(
        spare * ((total - least.sum()) / spare.sum()), total - int(least.sum())
    )


def _sums(low: Floats, high: Floats, n: int, ranges: dict[Any, StatedTotal], where: str) -> str:
    said = ", ".join(f"{label!r}: {written(found.written)}" for label, found in ranges.items())
    most = "" if np.array_equal(low, high) else "at least " if low.sum() > n else "at most "
    return (
        f"{where} add up to {most}{_misfit(low, high, n):g} ({said}), but there are {n} rows; "
        f"{scale_hint()}"
    )


def _explained(conflict: Conflict, labels: list[Any], groups: list[Any]) -> str:
    """Say which groups and classes contradict each other, with the sums."""
    classes = listed([k for k, inside in zip(labels, conflict.classes, strict=True) if inside])
    names = [g for g, inside in zip(groups, conflict.groups, strict=True) if inside]
    because = f" (because of the groups {listed(names)})" if names else ""
    if conflict.crowded:
        clash = f"at least {conflict.must}{because}, but overall totals allow {conflict.can}"
    else:
        clash = f"at most {conflict.can}{because}, but overall totals want {conflict.must}"
    return (
        f"totals contradict each other: by those of groups the classes {classes} have together "
        f"{clash}; {scale_hint()}"
    )


def _spans(labels: list[Any], lower: Ints, upper: Ints) -> str:
    """Write bounds in words: a number for a class, or a range."""
    ends = zip(labels, lower.tolist(), upper.tolist(), strict=True)
    return ", ".join(
        f"{label!r}: {low}" if low == high else f"{label!r}: {low} to {high}"
        for label, low, high in ends
    )


_MOST_NAMED = 12


@dataclass(frozen=True, eq=False)
class Part:
    """A margin that totals are about: its columns, its cells, and the cell of each group."""

    columns: tuple[str | None, ...]
    names: list[Any]
    cells: Codes

    def cell(self, number: int) -> tuple[Any, ...]:
        """Return the values that a cell is made of."""
        name = self.names[number]
        if not self.columns:
            return ()
        return name if len(self.columns) > 1 else (name,)


@dataclass(frozen=True, eq=False)
class Figure:
    """One total: its margin, cell and class by their numbers, and what was said."""

    part: int
    cell: int
    label: int
    said: StatedTotal


def margin_parts(
    margins: Sequence[tuple[tuple[str | None, ...], Mapping[Any, Any]]],
    columns: tuple[str | None, ...],
    groups: Sequence[Any],
) -> list[Part]:
    """Return overall totals and all margins as sets of groups.

    Parameters
    ----------
    margins : sequence of (columns, by_group)
        The grouping columns of each margin, some of ``columns``.
    columns : tuple of str
        The columns that the groups are made of.
    groups : sequence
        The groups: values of the only column, or tuples.
    """
    parts = [Part((), [None], np.zeros(len(groups), dtype=np.intp))]
    tuples = [name if len(columns) > 1 else (name,) for name in groups]
    for own, _ in margins:
        places = [columns.index(name) for name in own]
        found = [tuple(name[place] for place in places) for name in tuples]
        if len(own) == 1:
            found = [name[0] for name in found]
        numbers: dict[Any, int] = {}
        cells = np.array([numbers.setdefault(name, len(numbers)) for name in found], dtype=np.intp)
        parts.append(Part(own, list(numbers), cells))
    return parts


def crossing_bounds(
    said: Sequence[Mapping[Any, Mapping[Any, Any]]],
    parts: Sequence[Part],
    classes: Sequence[Any],
    sizes: NDArray[Any],
    policy: Policy = "strict",
    *,
    weighted: bool = False,
) -> Bounds:
    """Turn what the user knows into bounds that can be met.

    Parameters
    ----------
    said : sequence of mapping of cell to mapping of class to total
        One for each part; what is not named is free.
    parts : sequence of Part
        Overall first.
    classes : sequence
        The known classes.
    sizes : ndarray of shape (n_groups,)
        Rows of each group, or sums of their weights.
    policy : {"strict", "scale"}
        Refuse figures that contradict each other, or change them with a warning.
    weighted : bool
        Whether sizes are sums of weights, and no total need be whole.
    """
    labels = list(classes)
    figures = _read(said, parts, labels, sizes, policy)
    table = _Table.of(figures, parts, len(labels), sizes, weighted)
    met, changes = _settled(table, labels, policy)
    if changes:
        told = "; ".join(map(str, changes[:_MOST_NAMED]))
        more = f"; and {len(changes) - _MOST_NAMED} more" if len(changes) > _MOST_NAMED else ""
        number = count(len(changes), "total")
        warnings.warn(f"{number} changed to fit together: {told}{more}", UserWarning, stacklevel=2)
    return _as_bounds(table, met, len(labels), changes)


@dataclass(frozen=True, eq=False)
class _Table:
    """All figures, as numbers and as what was said.

    ``low`` and ``high`` are what was said; ``figures`` allows for rounding.
    """

    said: list[Figure]
    parts: Sequence[Part]
    low: Floats
    high: Floats
    errors: Floats
    figures: Figures
    weighted: bool

    @classmethod
    def of(
        cls,
        said: list[Figure],
        parts: Sequence[Part],
        n_classes: int,
        sizes: NDArray[Any],
        weighted: bool,
    ) -> _Table:
        """Put figures into a matrix."""
        rows = [
            cell_matrix(parts[f.part].cells, n_classes, np.array([[f.cell, f.label]])) for f in said
        ]
        low, high = (np.array([getattr(f.said, end) for f in said]) for end in ("low", "high"))
        errors = np.array([f.said.se for f in said])
        loose = np.array([f.said.is_rate for f in said]) & (low == high) & (errors == 0)
        if weighted:
            below, above = np.maximum(low - 0.5, 0.0), high + 0.5
        else:
            below, above = np.floor(low + 1e-9), np.ceil(high - 1e-9)
        matrix = csr_array(vstack(rows, format="csr"))
        lower, upper = (
            np.where(loose | weighted, below, low),
            np.where(loose | weighted, above, high),
        )
        numbers = Figures(matrix, lower, upper, np.asarray(sizes, dtype=float))
        return cls(said, parts, low, high, errors, numbers, weighted)

    @property
    def exact(self) -> Bools:
        """Figures without a standard error."""
        return self.errors == 0

    def words(self, f: int, labels: Sequence[Any]) -> str:
        """Name a figure."""
        figure = self.said[f]
        part = self.parts[figure.part]
        named = zip(part.columns, part.cell(figure.cell), strict=True)
        where = ", ".join(f"{name} {value!r}" for name, value in named) or "all rows"
        return f"{where}: {labels[figure.label]!r} {written(figure.said.written)}"

    def changes(self, labels: Sequence[Any], met: Floats) -> list[Adjustment]:
        """Return the figures that are not what was said, but for rounding."""
        found = []
        away = np.maximum(self.low - met, 0) + np.maximum(met - self.high, 0)
        whole = (self.low == np.rint(self.low)) & (self.high == np.rint(self.high))
        # A figure that is not whole must be rounded: only more than that is a change.
        least = np.where(whole & (not self.weighted), 0.5, 1.0 - 1e-9)
        for f in np.flatnonzero(away >= least):
            figure = self.said[f]
            part = self.parts[figure.part]
            before = self.low[f] if met[f] < self.low[f] else self.high[f]
            found.append(
                Adjustment(
                    part.columns, part.cell(figure.cell), labels[figure.label],
                    written(figure.said.written), float(before), float(met[f]), figure.said.se,
                )
            )  # fmt: skip
        return found


def _settled(
    table: _Table, labels: Sequence[Any], policy: Policy
) -> tuple[Floats, list[Adjustment]]:
    """Return what each figure becomes (of a range NaN, where it stays one), and the changes."""
    figures = table.figures
    ranges = (table.low < table.high) & table.exact
    aim = (table.low + table.high) / 2
    robust = table.exact & (figures.lower == figures.upper) | ranges
    if not fit_together(figures):
        aim, kept = _moved(table, labels, policy)
        robust = robust & kept
        figures = figures.between(
            np.where(kept, figures.lower, aim), np.where(kept, figures.upper, aim)
        )
    if table.weighted:
        near = nearest_table(figures.between(*_inner(table, figures, aim, ranges)))
        met = figures.matrix @ near.counts.ravel()
    else:
        near = rounded(figures, aim, robust)
        met = figures.matrix @ near.counts.ravel()
        if near.missed.any() and policy == "strict":
            raise InputError(_not_whole(table, labels, near.missed, near.proven))
    stays = ranges & (met >= table.low - 1e-6) & (met <= table.high + 1e-6)
    return np.where(stays, np.nan, met), table.changes(labels, np.where(stays, aim, met))


def _inner(table: _Table, figures: Figures, aim: Floats, ranges: Bools) -> tuple[Floats, Floats]:
    """Return the bounds of weighted figures without what is allowed for rounding."""
    lower, upper = np.where(ranges, table.low, aim), np.where(ranges, table.high, aim)
    return np.clip(lower, figures.lower, figures.upper), np.clip(
        upper, figures.lower, figures.upper
    )


def _moved(table: _Table, labels: Sequence[Any], policy: Policy) -> tuple[Floats, Bools]:
    """Move estimates, or with ``scale`` all figures; return them and which were not to move."""
    figures, exact = table.figures, table.exact
    if (~exact).any():
        found = _by_least_squares(figures, table.errors**2, exact)
        if found is not None:
            return found, exact
    if policy == "strict":
        alone = figures.some(np.flatnonzero(exact))
        whose = np.flatnonzero(exact)[contradiction(alone)]
        raise InputError(_contradicting(table, labels, whose))
    said = figures.between(table.low, table.high)
    variances = np.where(exact, relative_variances(said), table.errors**2)
    found = _by_least_squares(
        _with_class_totals(table, said), variances, np.zeros(len(exact), bool)
    )
    if found is None:
        found = _by_least_squares(said, variances, np.zeros(len(exact), dtype=bool))
    if found is None:  # zeros that cannot stay: the nearest table in rows
        found = figures.matrix @ nearest_table(said).counts.ravel()
    return found, np.zeros(len(exact), dtype=bool)


def _by_least_squares(figures: Figures, variances: Floats, kept: Bools) -> Floats | None:
    """Return moved figures, given which are kept; a kept rate may be rounded."""
    n_said = len(kept)
    extra = len(figures.lower) - n_said
    spread = np.concatenate([np.where(kept, 0.0, variances), np.zeros(extra)])
    found = least_squares(figures, spread)
    return None if found is None else found[:n_said]


def _with_class_totals(table: _Table, figures: Figures) -> Figures:
    """Add a common total of each class that several margins, or all, claim to know.

    It is the mean of what they add up to, scaled to the number of rows.
    """
    n_classes = figures.n_classes
    claims: dict[int, list[float]] = {}
    middle = (table.low + table.high) / 2
    for p, part in enumerate(table.parts):
        for k in range(n_classes):
            own = [f for f, said in enumerate(table.said) if said.part == p and said.label == k]
            if own and len(own) == len(part.names):
                claims.setdefault(k, []).append(float(middle[own].sum()))
    common = {k: float(np.mean(values)) for k, values in claims.items()}
    if len(common) == n_classes and sum(common.values()) > 0:
        scale = float(figures.sizes.sum()) / sum(common.values())
        common = {k: value * scale for k, value in common.items()}
    if not common:
        return figures
    everywhere = np.zeros(len(figures.sizes), dtype=np.intp)
    places = np.array([[0, k] for k in common])
    totals = np.array(list(common.values()))
    return Figures(
        csr_array(vstack([figures.matrix, cell_matrix(everywhere, n_classes, places)])),
        np.concatenate([figures.lower, totals]),
        np.concatenate([figures.upper, totals]),
        figures.sizes,
    )


def _read(
    said: Sequence[Mapping[Any, Mapping[Any, Any]]],
    parts: Sequence[Part],
    labels: list[Any],
    sizes: NDArray[Any],
    policy: Policy,
) -> list[Figure]:
    """Read all figures, and refuse cells and classes that are not there."""
    figures = []
    for number, (part, by_cell) in enumerate(zip(parts, said, strict=True)):
        known = {name: place for place, name in enumerate(part.names)}
        inside = counted(part.cells, len(part.names), np.asarray(sizes))
        by = f"the totals by {', '.join(map(str, part.columns))}" if part.columns else "totals"
        check_groups(by_cell, part.names, by)
        for name, row in by_cell.items():
            check_classes(row, labels, by)
            for label, total in row.items():
                where = f"{by}: the total of {label!r}" + (f" in {name!r}" if part.columns else "")
                size = inside[known[name]]
                read = read_stated(total, size.item(), where, policy)
                figures.append(Figure(number, known[name], labels.index(label), read))
    if not figures:
        raise InputError("totals must hold at least one total; found none")
    return figures


def _contradicting(table: _Table, labels: Sequence[Any], whose: Any) -> str:
    """Name figures that cannot hold together."""
    named = [table.words(f, labels) for f in whose[:_MOST_NAMED]]
    more = f" and {len(whose) - _MOST_NAMED} more" if len(whose) > _MOST_NAMED else ""
    if len(whose) == 1:
        return f"totals: {named[0]} cannot hold with the rows that are there; {scale_hint()}"
    return (
        f"totals contradict each other: these {count(len(whose), 'figure')} cannot hold together "
        f"with the rows that are there (any one fewer could): {'; '.join(named)}{more}; "
        f"{scale_hint()}"
    )


def _not_whole(table: _Table, labels: Sequence[Any], missed: Floats, proven: bool) -> str:
    """Say by how much whole numbers must miss figures that fit in fractions."""
    off = np.flatnonzero(missed)
    named = [f"{table.words(f, labels)} ({missed[f]:+g})" for f in off[:_MOST_NAMED]]
    scale = for_user('totals_policy="scale"', "--totals-policy scale")
    least = "the smallest deviation is" if proven else "a deviation is known of"
    return (
        "totals fit together in fractions of rows, but not in whole rows: "
        f"{least} {np.abs(missed).sum():g} in all, in {'; '.join(named)}; correct them, or use "
        f"{scale} to label with that deviation"
    )


def _as_bounds(table: _Table, met: Floats, n_classes: int, changes: Sequence[Adjustment]) -> Bounds:
    """Return the figures as bounds: of groups where there is one margin, else of margins."""
    sizes = table.figures.sizes
    kind = float if table.weighted else np.int64
    made = []
    for number, part in enumerate(table.parts):
        inside = counted(part.cells, len(part.names), sizes)
        lower = np.zeros((len(part.names), n_classes))
        upper = np.repeat(inside[:, None], n_classes, axis=1)
        for f, figure in enumerate(table.said):
            if figure.part == number:
                place = figure.cell, figure.label
                stays = np.isnan(met[f])
                lower[place] = table.low[f] if stays else met[f]
                upper[place] = table.high[f] if stays else met[f]
        if not table.weighted:
            lower, upper = np.ceil(lower - 1e-9), np.floor(upper + 1e-9)
        upper = np.minimum(upper, inside[:, None])
        made.append(
            MarginBounds(
                part.columns, part.names, part.cells, lower.astype(kind), upper.astype(kind)
            )
        )
    free = np.zeros((len(sizes), n_classes), dtype=kind)
    full = free + sizes.astype(kind)[:, None]
    overall, *margins = made
    if len(margins) == 1 and len(margins[0].names) == len(sizes):
        order = margins[0].cells
        free, full, margins = margins[0].lower[order], margins[0].upper[order], []
    return Bounds(
        overall.lower[0], overall.upper[0], free, full, sizes.astype(kind), tuple(margins),
        tuple(changes), _relative_errors(table, n_classes),
    )  # fmt: skip


def _relative_errors(table: _Table, n_classes: int) -> Floats | None:
    """Return the mean standard error of the estimates of each class as a share of them."""
    if table.exact.all():
        return None
    shares = np.zeros(n_classes)
    labels = np.array([figure.label for figure in table.said])
    relative = table.errors / np.maximum(table.low, 1.0)
    for k in range(n_classes):
        own = (labels == k) & ~table.exact
        shares[k] = relative[own].mean() if own.any() else 0.0
    return shares
