"""What is known about the unlabeled points: totals per class, overall and per group.

A user says counts, rates or ranges; everything after this room sees whole-numbered bounds that can
be met together. What contradicts itself is refused with the sums that show it, or rescaled if
the user wants that.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from c2rf.exceptions import InputError, InputTypeError
from c2rf.members import listed
from c2rf.transport.bounds import Bounds, Conflict, find_conflict

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Policy = Literal["strict", "scale"]

_ALLOWED = (
    "a count (an integer), a rate (a float in [0, 1]) or a range (lo, hi) of two counts or two "
    "rates"
)
_SCALE_HINT = 'correct them, or set totals_policy="scale" to have them rescaled'
# Rates whose sum misses the whole by less than half a point are just rounded rates.
_ROUNDING = 0.5
# Rates times points are floats: 0.1 * 30 is three points.
_SLACK = 1e-9


def make_bounds(
    totals: Mapping[Any, Any] | None,
    group_totals: Mapping[Any, Mapping[Any, Any]] | None,
    classes: ArrayLike,
    group_names: Sequence[Any],
    group_sizes: ArrayLike,
    policy: Policy = "strict",
) -> Bounds:
    """Turn what the user knows into bounds that can be met.

    Parameters
    ----------
    totals : mapping of class to total, or None
        Over all points; one class may be left out. A total is a count (an integer), a rate (a
        float in [0, 1]) or a range ``(lo, hi)`` of counts or of rates. Rates that add up are
        rounded by largest remainders, so that the counts add up, too.
    group_totals : mapping of group to mapping of class to total, or None
        Within groups; what is not named is free.
    classes : array-like of shape (n_classes,)
        The known classes.
    group_names : sequence
        The groups there are.
    group_sizes : array-like of int, shape (n_groups,)
        Their numbers of points.
    policy : {"strict", "scale"}
        Refuse totals that contradict each other, or rescale them with a warning. Where
        ``group_totals`` and ``totals`` contradict each other, ``totals`` give way.

    Returns
    -------
    Bounds

    Examples
    --------
    >>> classes = ["a", "b", "c"]
    >>> bounds = make_bounds({"a": 0.333, "b": (1, 4)}, None, classes, ["all"], [10])
    >>> bounds.lower, bounds.upper
    (array([3, 1, 0]), array([ 3,  4, 10]))
    >>> make_bounds({"a": 5, "b": 4, "c": 2}, None, classes, ["all"], [10])
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputError: totals add up to 11 ('a': 5, 'b': 4, 'c': 2), but there are 10 \
points; correct them, or set totals_policy="scale" to have them rescaled
    """
    names, sizes = list(group_names), np.asarray(group_sizes, dtype=np.int64)
    labels = np.asarray(classes).tolist()
    n_points = int(sizes.sum())
    if totals is None and group_totals is None:
        raise InputError("totals or group_totals must be given; found neither")
    _check_names(totals, group_totals, labels, names)
    overall = _row(totals or {}, labels, n_points, "totals", policy)
    rows = [
        _row(
            (group_totals or {}).get(name, {}),
            labels,
            int(size),
            f"group_totals of {name!r}",
            policy,
        )
        for name, size in zip(names, sizes, strict=True)
    ]
    bounds = Bounds(
        overall.lower,
        overall.upper,
        np.array([row.lower for row in rows]),
        np.array([row.upper for row in rows]),
        sizes,
    )
    conflict = find_conflict(bounds)
    if conflict is not None and policy == "scale":
        bounds = _give_way(bounds, labels)
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
    rounded = np.floor(exact + _SLACK).astype(np.int64)
    # Equal remainders: the larger value first, it is changed least by a point.
    order = np.lexsort((-exact, rounded - exact))
    missing = total - int(rounded.sum())
    rounded[order[:missing] if missing >= 0 else order[missing:]] += np.sign(missing)
    return rounded


@dataclass(frozen=True, eq=False)
class _Row:
    """Bounds of the classes over one set of points."""

    lower: Ints
    upper: Ints


def _row(said: Mapping[Any, Any], labels: list[Any], n: int, where: str, policy: Policy) -> _Row:
    """Read the totals of one set of points and make them add up."""
    ranges = {
        label: _read(total, n, f"{where}: the total of {label!r}", policy)
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
        raise InputError(f"{where} has only zeros, which cannot be scaled to the {n} points")
    row = _scaled(low, high, n, np.array([label in said for label in labels]))
    warnings.warn(
        f"{where} add up to {_misfit(low, high, n):g}, but there are {n} points: scaled to "
        f"{_spans(labels, row.lower, row.upper)}",
        UserWarning,
        stacklevel=2,
    )
    return row


def _scaled(low: Floats, high: Floats, n: int, said: NDArray[np.bool_]) -> _Row:
    """Multiply what was said by what makes it add up; a single number stays a single number."""
    factor = n / _misfit(low, high, n)
    if low.sum() > n:
        lower = largest_remainder(low * factor, n)
        upper = np.maximum(lower, np.floor(high * factor + _SLACK).astype(np.int64))
        return _Row(lower, np.where(low == high, lower, np.where(said, upper, n)))
    upper = largest_remainder(high * factor, n)
    lower = np.minimum(upper, np.ceil(low * factor - _SLACK).astype(np.int64))
    return _Row(np.where(low == high, upper, lower), upper)


def _misfit(low: Floats, high: Floats, n: int) -> float:
    """Return the sum that is not the number of points."""
    return float(low.sum() if low.sum() > n else high.sum())


def _adds_up(low: Floats, high: Floats, n: int, rates: NDArray[np.bool_]) -> bool:
    slack = _ROUNDING - _SLACK if rates.any() else 0.0
    return bool(low.sum() <= n + slack and high.sum() >= n - slack)


def _rounded(low: Floats, high: Floats, n: int, rates: NDArray[np.bool_]) -> _Row:
    """Round rates, together where they are all that is open."""
    lower, upper = np.ceil(low - _SLACK).astype(np.int64), np.floor(high + _SLACK).astype(np.int64)
    single = rates & (low == high)
    if single.any():
        others = np.delete(np.arange(len(low)), np.flatnonzero(single))
        known = bool((lower[others] == upper[others]).all())
        total = n - int(lower[others].sum()) if known else round(low[single].sum())
        lower[single] = upper[single] = largest_remainder(low[single], total)
    return _Row(lower, upper)


@dataclass(frozen=True)
class _Range:
    """One total: a range in points, not yet rounded, and what the user wrote."""

    low: float
    high: float
    is_rate: bool
    written: Any


def _read(total: Any, n: int, what: str, policy: Policy) -> _Range:
    """Read a count, a rate or a range of either, or say what is wrong with it."""
    is_range = isinstance(total, (tuple, list, np.ndarray))
    ends = list(total) if is_range else [total, total]
    if len(ends) != 2:
        raise InputError(f"{what} must be {_ALLOWED}; found {total!r}")
    kinds = [_is_rate(end, what, total) for end in ends]
    if kinds[0] != kinds[1]:
        raise InputTypeError(
            f"{what} must be a range of two counts or of two rates, not of one each; found "
            f"{total!r}"
        )
    low, high = (float(end) * n if kinds[0] else float(end) for end in ends)
    if low > high:
        raise InputError(f"{what} must be a range (lo, hi) with lo <= hi; found {total!r}")
    if kinds[0] and not 0 <= float(ends[0]) <= float(ends[1]) <= 1:
        raise InputError(
            f"{what}: a float is a rate in [0, 1]; found {total!r} (write counts as integers)"
        )
    if low < 0 or (policy == "strict" and (low if is_range else high) > n):
        raise InputError(
            f"{what} must be a count from 0 to {n}, the number of points; found {total!r}"
            + ("" if low < 0 else f": {_SCALE_HINT}")
        )
    if is_range and np.ceil(low - _SLACK) > np.floor(high + _SLACK):
        raise InputError(
            f"{what}, {total!r}, is a range without a whole number in it: from {low:g} to "
            f"{high:g} of {n} points; widen it"
        )
    return _Range(low, high, kinds[0], total)


def _is_rate(value: Any, what: str, total: Any) -> bool:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise InputTypeError(
            f"{what} must be {_ALLOWED}; found {total!r} of type {type(total).__name__}"
        )
    if not np.isfinite(float(value)):
        raise InputError(f"{what} must be {_ALLOWED}; found {total!r}")
    return not isinstance(value, Integral)


def _check_names(
    totals: Mapping[Any, Any] | None,
    group_totals: Mapping[Any, Mapping[Any, Any]] | None,
    labels: list[Any],
    groups: list[Any],
) -> None:
    """Refuse classes and groups nobody knows, and totals that leave out more than one class."""
    if totals is not None:
        _check_mapping(totals, "totals", "{class: total}")
        _check_classes(totals, labels, "totals")
        missing = [label for label in labels if label not in totals]
        if len(missing) > 1:
            raise InputError(
                f"totals leaves out the classes {listed(missing)}; it may leave out one class "
                "(which gets the rest): give the others a total, or a range such as (0.0, 1.0) "
                "where nothing is known"
            )
    if group_totals is None:
        return
    _check_mapping(group_totals, "group_totals", "{group: {class: total}}")
    unknown = [group for group in group_totals if group not in groups]
    if unknown:
        raise InputError(
            f"group_totals has the groups {listed(unknown)}, which no unlabeled point is in; "
            f"groups has {listed(groups)}"
        )
    for group, row in group_totals.items():
        _check_mapping(row, f"group_totals of {group!r}", "{class: total}")
        _check_classes(row, labels, f"group_totals of {group!r}")


def _check_mapping(said: Any, where: str, shape: str) -> None:
    if not isinstance(said, Mapping):
        raise InputTypeError(
            f"{where} must be {shape}; found {said!r} of type {type(said).__name__}"
        )


def _check_classes(said: Mapping[Any, Any], labels: list[Any], where: str) -> None:
    unknown = [label for label in said if label not in labels]
    if unknown:
        raise InputError(
            f"{where} has the classes {listed(unknown)}, of which y has no example; the classes "
            f"in y are {listed(labels)}"
        )


def _give_way(bounds: Bounds, labels: list[Any]) -> Bounds:
    """Move the overall bounds into what the groups allow, the rest in proportion."""
    most = np.minimum(bounds.group_upper, bounds.group_sizes[:, None]).sum(axis=0)
    least = bounds.group_lower.sum(axis=0)
    lower, upper = np.clip(bounds.lower, least, most), np.clip(bounds.upper, least, most)
    single = lower == upper
    if lower.sum() > bounds.n_points:
        lower = _shrunk(lower, least, bounds.n_points)
        upper = np.where(single, lower, upper)
    elif upper.sum() < bounds.n_points:
        upper = most - _shrunk(most - upper, 0 * most, int(most.sum()) - bounds.n_points)
        lower = np.where(single, upper, lower)
    warnings.warn(
        "totals contradict group_totals: the group totals are kept, and the totals moved from "
        f"{_spans(labels, bounds.lower, bounds.upper)} to {_spans(labels, lower, upper)}",
        UserWarning,
        stacklevel=2,
    )
    return replace(bounds, lower=lower, upper=upper)


def _shrunk(values: Ints, least: Ints, total: int) -> Ints:
    """Lower values in proportion to what they have above the least, to a total."""
    spare = values - least
    return least + largest_remainder(
        spare * ((total - least.sum()) / spare.sum()), total - int(least.sum())
    )


def _sums(low: Floats, high: Floats, n: int, ranges: dict[Any, _Range], where: str) -> str:
    said = ", ".join(f"{label!r}: {found.written!r}" for label, found in ranges.items())
    most = "" if np.array_equal(low, high) else "at least " if low.sum() > n else "at most "
    return (
        f"{where} add up to {most}{_misfit(low, high, n):g} ({said}), but there are {n} points; "
        f"{_SCALE_HINT}"
    )


def _explained(conflict: Conflict, labels: list[Any], groups: list[Any]) -> str:
    """Say which groups and classes contradict each other, with the sums."""
    classes = listed([k for k, inside in zip(labels, conflict.classes, strict=True) if inside])
    names = [g for g, inside in zip(groups, conflict.groups, strict=True) if inside]
    because = f" (because of the groups {listed(names)})" if names else ""
    if conflict.crowded:
        clash = f"at least {conflict.must}{because}, but totals allow {conflict.can}"
    else:
        clash = f"at most {conflict.can}{because}, but totals want {conflict.must}"
    return (
        f"totals and group_totals contradict each other: by group_totals the classes {classes} "
        f"have together {clash}; {_SCALE_HINT}"
    )


def _pairs(labels: list[Any], counts: Ints) -> str:
    said = zip(labels, counts.tolist(), strict=True)
    return "{" + ", ".join(f"{label!r}: {count}" for label, count in said) + "}"


def _spans(labels: list[Any], lower: Ints, upper: Ints) -> str:
    if np.array_equal(lower, upper):
        return _pairs(labels, lower)
    ends = zip(labels, lower.tolist(), upper.tolist(), strict=True)
    return "{" + ", ".join(f"{label!r}: ({low}, {high})" for label, low, high in ends) + "}"
