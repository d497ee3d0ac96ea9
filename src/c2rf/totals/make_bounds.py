"""From totals, as counts, rates and ranges, to whole-number bounds that can be met together.

Totals that contradict each other are refused with the sums that show it, or rescaled if the user
wants that.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from c2rf._text import for_user, listed
from c2rf._typing import Bools, Floats, Ints
from c2rf.exceptions import InputError
from c2rf.totals.bounds import Bounds, Conflict, find_conflict
from c2rf.totals.names import check_classes, check_groups
from c2rf.totals.reconcile import Change
from c2rf.totals.stated_total import SLACK, Policy, Said, read_said, scale_hint, written

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
    changes: tuple[Change, ...] = ()


def _row(
    said: Mapping[Any, Any], labels: list[Any], n: int, cell: tuple[Any, ...], policy: Policy
) -> _Row:
    """Read the totals of one set of rows and make them add up."""
    where = f"the totals of group {cell[0]!r}" if cell else "totals"
    ranges = {
        label: read_said(total, n, f"{where}: the total of {label!r}", policy)
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
) -> tuple[Change, ...]:
    """Return which of the totals that were said are others now, of ranges which ends."""
    found: dict[Change, None] = {}  # both ends of a single number are one change
    for k, label in enumerate(labels):
        for old, new in zip(before, after, strict=True):
            if label in said and abs(old[k] - new[k]) >= _ROUNDING:
                change = Change(
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


def _sums(low: Floats, high: Floats, n: int, ranges: dict[Any, Said], where: str) -> str:
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
