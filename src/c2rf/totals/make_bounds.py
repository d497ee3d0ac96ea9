"""What happens to a total after it is read: stated, checked, rounded or reconciled, bounds.

:func:`make_bounds` is the only way from totals to bounds. From top to bottom:

1. Every total is checked and read as a range of rows, a :class:`~c2rf.totals.stated.StatedTotal`.
2. With one grouping and exact totals, the totals of each group are made to add up to its rows:
   rates are rounded by largest remainders (Hamilton's method), and with ``policy="scale"`` totals
   that do not add up are scaled in proportion.
3. With several margins, estimates or weights, or where overall totals do not fit to those of
   groups, all totals are checked at once: consistent ones are kept; else estimates are reconciled
   by generalised least squares, and exact totals are kept or, with ``policy="scale"``, changed as
   well. Then a table of whole counts near to them is sought.
4. The result is filled into :class:`~c2rf.totals.bounds.Bounds`, with every adjustment that was
   made.

The two ways of steps 2 and 3 differ by intent. A sum that does not add up can be shown, and scaled
in proportion; a contradiction between totals can only be named, and spread over all of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from c2rf._utils.text import count, for_user, listed, nearest
from c2rf._utils.types import Bools, Floats, Ints, rows_at_rate
from c2rf.exceptions import InputError
from c2rf.totals.bounds import (
    Adjustment,
    Bounds,
    LinearConstraints,
    MarginBounds,
    can_be_met,
    named_values,
    open_margins,
)
from c2rf.totals.everybody import sum_of, with_labeled
from c2rf.totals.groups import Groups
from c2rf.totals.reconcile import (
    is_consistent,
    least_squares,
    nearest_table,
    rescale,
    round_table,
    rounding,
    smallest_inconsistency,
)
from c2rf.totals.stated import (
    ROUNDING,
    SLACK,
    Policy,
    StatedTotal,
    Totals,
    read_stated,
    scale_hint,
    wrong_sum,
)

_TOLERANCE = 1e-6  # of the solver, in rows
_MOST_WITHIN = 0.01  # rows: with less precise sums no message is about whole rows
_MOST_NAMED = 12

Stated = dict[tuple[int, int], dict[int, StatedTotal]]
"""Totals by the numbers of their margin and category, then by that of their class."""


def make_bounds(
    totals: Totals,
    groups: Groups,
    classes: ArrayLike,
    policy: Policy = "strict",
    weights: Floats | None = None,
) -> Bounds:
    """Turn what the user knows into bounds that can be met together.

    Parameters
    ----------
    totals : Totals
        What is known; what is not named is open.
    groups : Groups
        The group of each row, by all grouping columns of the totals.
    classes : array-like of shape (n_classes,)
        The known classes.
    policy : {"strict", "scale"}
        Refuse totals that contradict each other, or change them with a warning.
    weights : ndarray of shape (n_rows,), optional
        How many people a row stands for. Totals are about people then, and need not be whole.

    Returns
    -------
    Bounds

    Examples
    --------
    >>> from c2rf.totals.groups import read_groups
    >>> classes = ["a", "b", "c"]
    >>> bounds = make_bounds(Totals({"a": 0.333, "b": (1, 4)}), read_groups(None, 10), classes)
    >>> bounds.lower, bounds.upper
    (array([3, 1, 0]), array([ 3,  4, 10]))
    >>> make_bounds(Totals({"a": 5, "b": 4, "c": 4}), read_groups(None, 10), classes)
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputError: totals add up to 13 ('a': 5, 'b': 4, 'c': 4), but there are 10 \
rows; correct them, or use totals_policy="scale" to have them rescaled
    """
    labels = np.asarray(classes).tolist()
    sizes = groups.sizes if weights is None else groups.weight(weights)
    margins = open_margins(totals, groups, sizes, len(labels))
    stated = _read(totals, groups, margins, sizes, labels, policy)
    is_one_grouping = all(len(margin.names) == len(sizes) for margin in margins[1:])
    is_plain = len(margins) <= 2 and is_one_grouping and weights is None
    if is_plain and not totals.has_estimates:
        bounds = _bounds_in_one_grouping(stated, margins, sizes, labels, policy)
        if can_be_met(bounds):
            return bounds
    bounds = _bounds_in_margins(stated, margins, sizes, labels, policy, weights is not None)
    if is_plain and not can_be_met(bounds):  # numbers too large for the linear program
        raise InputError(f"totals of groups contradict overall ones; {scale_hint()}")
    return bounds


# --- 1. Stated totals, checked -----------------------------------------------------------------

_UNKNOWN_CLASS = "{}: there is no labeled row of the classes {{}}; the classes are"


def _read(
    totals: Totals,
    groups: Groups,
    margins: Sequence[MarginBounds],
    sizes: NDArray[Any],
    labels: list[Any],
    policy: Policy,
) -> Stated:
    """Read all totals, without the labeled rows; refuse classes and groups that are not there."""
    everybody, labeled = list(margins), [np.zeros_like(margin.lower) for margin in margins]
    if totals.labeled is not None:
        everybody, labeled = with_labeled(totals, groups, sizes, totals.labeled)
    _refuse_unknown(totals.overall, labels, _UNKNOWN_CLASS.format(_whose(everybody[0], 0)))
    _check_left_out(totals.overall, labels)
    stated: Stated = {}
    for m, (margin, table) in enumerate(zip(everybody, totals.tables, strict=True)):
        message = (
            f"the totals by {_columns(margin)}: there are the groups {{}}, which no unlabeled row "
            "is in; the groups are"
        )
        _refuse_unknown(table, margin.names, message)
        numbers, n_there = {name: k for k, name in enumerate(margin.names)}, len(margins[m].names)
        for name, row in table.items():
            c, where = numbers[name], _whose(margin, numbers[name])
            _refuse_unknown(row, labels, _UNKNOWN_CLASS.format(where))
            n, own = margin.upper[c, 0].item(), dict(zip(labels, labeled[m][c], strict=True))
            rest = _rest(row, n, own, where, policy)
            if c < n_there:
                stated[m, c] = {labels.index(label): total for label, total in rest.items()}
            elif any(total.high for total in rest.values()):
                _refuse_unknown([name], margins[m].names, message)
    if not any(stated.values()):
        raise InputError("totals must hold at least one total; found none")
    return stated


def _rest(
    row: Mapping[Any, Any], n: float, labeled: Mapping[Any, float], where: str, policy: Policy
) -> dict[Any, StatedTotal]:
    """Read the totals of a category and subtract its labeled rows; ``n`` are the other rows."""
    n_labeled = sum(labeled.values())
    everybody: Policy = "scale" if n_labeled else policy  # their sum is checked here
    stated = {
        label: read_stated(total, n + n_labeled, f"{where}: the total of {label!r}", everybody)
        for label, total in row.items()
    }
    if not n_labeled:
        return stated
    found = None if any(total.se for total in stated.values()) else sum_of(row, list(labeled))
    is_whole = float(n + n_labeled).is_integer()  # sums of weights need not be
    most = ROUNDING * (1 if is_whole else len(labeled))
    if policy == "strict" and found is not None and abs(found[0] - n - n_labeled) > most:
        who = f"{where} (everybody, {n_labeled:g} labeled rows among them) add up to"
        raise InputError(wrong_sum(stated, found[0], n + n_labeled, who))
    below = [
        f"{label!r} {total.high:g}, labeled {labeled[label]:g}"
        for label, total in stated.items()
        if total.high < labeled[label] - SLACK and not total.se
    ]
    if below:
        option = for_user('totals_of="unlabeled"', "--totals-of unlabeled")
        raise InputError(
            f"{where}: totals of everybody cannot be below the labeled rows, who are among them: "
            f"{_first(below)}; correct them, or say {option} if they are about the rows to label "
            "alone"
        )
    return {label: total.without(labeled[label]) for label, total in stated.items()}


def _refuse_unknown(given: Iterable[Any], known: Sequence[Any], message: str) -> None:
    """Refuse names that are not known; the message has a place for them."""
    there = set(known)
    unknown = [name for name in given if name not in there]
    if unknown:
        suggestion = nearest(unknown[0], known)
        raise InputError(f"{message.replace('{}', listed(unknown))} {listed(known)}{suggestion}")


def _check_left_out(overall: Mapping[Any, Any], labels: list[Any]) -> None:
    """Refuse overall totals that leave out more than one class."""
    missing = [label for label in labels if label not in overall]
    if overall and len(missing) > 1:
        anything = for_user("(0.0, 1.0)", "0%..100%")
        raise InputError(
            f"totals leaves out the classes {listed(missing)}; it may leave out one class (which "
            f"gets the rest): give the others a total, or the range {anything} where nothing is "
            "known"
        )


# --- 2. One grouping of exact totals -----------------------------------------------------------


def _bounds_in_one_grouping(
    stated: Stated,
    margins: Sequence[MarginBounds],
    sizes: NDArray[Any],
    labels: list[Any],
    policy: Policy,
) -> Bounds:
    """Make the totals of each group, and those over all rows, add up to its rows."""
    margins = [replace(m, lower=m.lower.copy(), upper=m.upper.copy()) for m in margins]
    adjustments: dict[Adjustment, None] = {}  # both ends of a single number are one adjustment
    for (m, category), row in sorted(stated.items()):
        margin = margins[m]
        n, where = int(margin.upper[category, 0]), _whose(margin, category)
        low, high = np.zeros(len(labels)), np.full(len(labels), float(n))
        for k, total in row.items():
            low[k], high[k] = total.low, total.high
        is_rate = np.array([k in row and row[k].is_rate for k in range(len(labels))])
        slack = ROUNDING - SLACK if is_rate.any() else 0.0
        if low.sum() <= n + slack and high.sum() >= n - slack:
            lower, upper = _rounded(low, high, n, is_rate)
        elif policy == "strict":
            most = "" if np.array_equal(low, high) else "at least " if low.sum() > n else "at most "
            given = {labels[k]: total for k, total in row.items()}
            raise InputError(
                wrong_sum(given, _sum_off(low, high, n), n, f"{where} add up to {most}".rstrip())
            )
        elif high.sum() == 0:
            raise InputError(f"{where} has only zeros, which cannot be scaled to the {n} rows")
        else:
            lower, upper = _scaled(low, high, n, np.isin(np.arange(len(labels)), list(row)))
            warnings.warn(
                f"{where} add up to {_sum_off(low, high, n):g}, but there are {n} rows: scaled to "
                f"{_ranges(labels, lower, upper)}",
                UserWarning,
                stacklevel=3,
            )
            for k in sorted(row):
                for before, after in ((low[k], lower[k]), (high[k], upper[k])):
                    if abs(before - after) >= ROUNDING:
                        adjusted = _adjustment(margin, category, labels[k], row[k], before, after)
                        adjustments[adjusted] = None
        margin.lower[category], margin.upper[category] = lower, upper
    return _filled(margins, sizes, list(adjustments))


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
    # Equal remainders: the larger value first, because one row is a smaller share of it; of equal
    # values the last, as the second of two classes is the positive one.
    order = np.lexsort((-np.arange(len(exact)), -exact, rounded - exact))
    missing = total - int(rounded.sum())
    rounded[order[:missing] if missing >= 0 else order[missing:]] += np.sign(missing)
    return rounded


def _rounded(low: Floats, high: Floats, n: int, is_rate: Bools) -> tuple[Ints, Ints]:
    """Round ranges inwards, and single rates together, to the rest if all else is known."""
    lower, upper = np.ceil(low - SLACK).astype(np.int64), np.floor(high + SLACK).astype(np.int64)
    single = is_rate & (low == high)
    if single.any():
        is_known = bool((lower[~single] == upper[~single]).all())
        rest = n - int(lower[~single].sum())
        total = rest if is_known else rows_at_rate(low[single].sum() / max(n, 1), n)
        lower[single] = upper[single] = largest_remainder(low[single], total)
    return lower, upper


def _scaled(low: Floats, high: Floats, n: int, is_stated: Bools) -> tuple[Ints, Ints]:
    """Multiply what was stated by what makes it add up; a single number stays a single number."""
    factor = n / _sum_off(low, high, n)
    if low.sum() > n:
        lower = largest_remainder(low * factor, n)
        upper = np.maximum(lower, np.floor(high * factor + SLACK).astype(np.int64))
        return lower, np.where(low == high, lower, np.where(is_stated, upper, n))
    upper = largest_remainder(high * factor, n)
    lower = np.minimum(upper, np.ceil(low * factor - SLACK).astype(np.int64))
    return np.where(low == high, upper, lower), upper


def _sum_off(low: Floats, high: Floats, n: int) -> float:
    """Return the sum that is not the number of rows."""
    return float(low.sum() if low.sum() > n else high.sum())


# --- 3. Several margins, estimates, weights ----------------------------------------------------


def _bounds_in_margins(
    stated: Stated,
    margins: list[MarginBounds],
    sizes: NDArray[Any],
    labels: list[Any],
    policy: Policy,
    is_weighted: bool,
) -> Bounds:
    """Check all totals at once; reconcile what is not consistent; round what is not whole."""
    totals = [total for row in stated.values() for total in row.values()]
    places = np.array([(*place, k) for place, row in stated.items() for k in row])
    low, high, errors = (
        np.array([getattr(total, name) for total in totals]) for name in ("low", "high", "se")
    )
    exact = errors == 0
    is_range = exact & (low < high)
    as_stated = LinearConstraints.at(places, margins, sizes, low, high)
    allowed = _allowing_for_rounding(as_stated, totals, is_weighted)

    def name(f: int) -> str:
        m, category, k = places[f]
        where = _group(margins[m], category) or "all rows"
        return f"{where}: {labels[k]!r} {totals[f].written}"

    if is_weighted and policy == "strict":
        _check_whole_totals(as_stated, totals, name)
    target, kept = (low + high) / 2, np.ones(len(totals), dtype=bool)
    if not is_consistent(allowed):
        target, kept = _reconciled(as_stated, allowed, errors, margins, policy, name)
        allowed = allowed.between(
            np.where(kept, allowed.lower, target), np.where(kept, allowed.upper, target)
        )
    if is_weighted:
        ends = np.where(is_range, low, target), np.where(is_range, high, target)
        lower, upper = (np.clip(end, allowed.lower, allowed.upper) for end in ends)
        # No total is moved by more than what rounding explains.
        most = ROUNDING + rounding(allowed)
        counts, *_ = nearest_table(allowed.between(lower, upper), most=most)
    else:
        fixed = kept & (is_range | exact & (allowed.lower == allowed.upper))
        counts, missed, is_proven = round_table(allowed, target, fixed)
        if missed.any() and policy == "strict":
            raise InputError(_not_whole(missed, is_proven, rounding(allowed), name))
    met = allowed.matrix @ counts.ravel()
    if is_weighted:
        met = np.where(np.abs(met - target) <= rounding(allowed), np.maximum(target, 0.0), met)
    stays = is_range & (met >= low - _TOLERANCE) & (met <= high + _TOLERANCE)
    changed = dict(_changed(as_stated, np.where(stays, target, met), is_weighted))
    adjustments = [
        _adjustment(margins[m], category, labels[k], totals[f], *numbers)
        for f, numbers in changed.items()
        for m, category, k in [places[f]]
    ]
    if adjustments:
        warnings.warn(
            f"{count(len(adjustments), 'total')} changed to fit together: "
            f"{_first([str(each) for each in adjustments])}",
            UserWarning,
            stacklevel=3,
        )
    lower, upper = np.where(stays, low, met), np.where(stays, high, met)
    if not is_weighted:
        lower, upper = np.ceil(lower - SLACK), np.floor(upper + SLACK)
    for (m, category, k), least, most in zip(places, lower, upper, strict=True):
        margins[m].lower[category, k] = least
        margins[m].upper[category, k] = min(most, margins[m].upper[category, k])
    in_groups = None if exact.all() else _errors_in_groups(places, errors, margins, counts, sizes)
    bounds = _filled(margins, sizes, adjustments)
    moved = np.flatnonzero((met != low) & ~stays & is_weighted)
    after_groups = int(len(bounds.margins) == len(margins) - 1)  # their number in all_margins
    unrounded = {
        (m and m + after_groups, category, k): (low[f], high[f])
        for f in moved
        if f not in changed and not errors[f]
        for m, category, k in [places[f].tolist()]
    }
    return replace(bounds, errors=in_groups, unrounded=unrounded)


def _allowing_for_rounding(
    as_stated: LinearConstraints, totals: Sequence[StatedTotal], is_weighted: bool
) -> LinearConstraints:
    """Return what totals may be: single rates rounded, weighted totals to within half a unit."""
    low, high = as_stated.lower, as_stated.upper
    if is_weighted:
        return as_stated.between(np.maximum(low - ROUNDING, 0.0), high + ROUNDING)
    is_rate = np.array([total.is_rate and total.se == 0 for total in totals]) & (low == high)
    return as_stated.between(
        np.where(is_rate, np.floor(low + SLACK), low),
        np.where(is_rate, np.ceil(high - SLACK), high),
    )


def _check_whole_totals(
    as_stated: LinearConstraints, totals: Sequence[StatedTotal], name: Callable[[int], str]
) -> None:
    """Refuse whole totals of weighted rows that do not agree with each other as whole numbers.

    Only the weights may not add up to them: where their sum in a group is no whole number, that of
    the totals may differ by the rounding of each class.
    """
    sizes = as_stated.group_sizes
    is_whole = np.array([not total.is_rate and total.se == 0 for total in totals])
    is_whole &= (as_stated.lower == np.rint(as_stated.lower)) & (
        as_stated.upper == np.rint(as_stated.upper)
    )
    within = np.where(sizes == np.rint(sizes), 0.0, ROUNDING * as_stated.n_classes)
    own = np.flatnonzero(is_whole)
    whole = replace(as_stated.some(own), sizes_within=within)
    if not is_consistent(whole):
        found = smallest_inconsistency(whole)
        raise InputError(_inconsistency_in_words([name(own[f]) for f in found]))


def _reconciled(
    as_stated: LinearConstraints,
    allowed: LinearConstraints,
    errors: Floats,
    margins: Sequence[MarginBounds],
    policy: Policy,
    name: Callable[[int], str],
) -> tuple[Floats, Bools]:
    """Change estimates, or with ``scale`` all totals; return them, and which were kept."""
    exact = errors == 0
    if not exact.all():
        lower = np.where(exact, allowed.lower, as_stated.lower)
        upper = np.where(exact, allowed.upper, as_stated.upper)
        found = least_squares(allowed.between(lower, upper), errors**2)
        if found is not None:
            return found, exact
    if policy == "strict":
        own = np.flatnonzero(exact)
        raise InputError(
            _inconsistency_in_words(
                [name(own[f]) for f in smallest_inconsistency(allowed.some(own))]
            )
        )
    return rescale(as_stated, errors, margins), np.zeros(len(errors), dtype=bool)


def _changed(
    as_stated: LinearConstraints, met: Floats, is_weighted: bool
) -> Iterator[tuple[int, tuple[float, float]]]:
    """Yield the totals that are changed by more than rounding, with the numbers before and after.

    A total that is not whole must be rounded: only more than that is a change.
    """
    low, high = as_stated.lower, as_stated.upper
    away = np.maximum(low - met, 0) + np.maximum(met - high, 0)
    is_whole = (low == np.rint(low)) & (high == np.rint(high)) & (not is_weighted)
    for f in np.flatnonzero(away >= np.where(is_whole, ROUNDING, 1.0 - SLACK)):
        yield int(f), (low[f] if met[f] < low[f] else high[f], met[f])


def _errors_in_groups(
    places: Ints,
    errors: Floats,
    margins: Sequence[MarginBounds],
    counts: NDArray[Any],
    sizes: NDArray[Any],
) -> Floats:
    """Spread the standard errors of estimates over groups, in proportion to the counts there.

    Of a class with estimates in several margins, those of the margin with the most categories
    count; the sums over its categories follow from them.
    """
    off = np.zeros(counts.shape)
    by_detail = sorted(range(len(margins)), key=lambda m: len(margins[m].names))
    for m in by_detail:
        for k in np.unique(places[(places[:, 0] == m) & (errors > 0), 2]):
            off[:, k] = 0.0
            # Where no row has the class, rows count alike.
            shares = counts[:, k] + 1e-9 * sizes
            whole = np.maximum(margins[m].sums(shares), np.finfo(float).tiny)  # 0 of 0: 0
            for f in np.flatnonzero((places[:, 0] == m) & (places[:, 2] == k)):
                here = margins[m].codes == places[f, 1]
                off[here, k] = errors[f] * shares[here] / whole[places[f, 1]]
    return off


# --- 4. Bounds ---------------------------------------------------------------------------------


def _filled(
    margins: Sequence[MarginBounds], sizes: NDArray[Any], adjustments: Sequence[Adjustment]
) -> Bounds:
    """Return bounds of groups if the only margin has a category for each, else of margins."""
    overall, *others = margins
    upper = np.repeat(sizes[:, None], overall.lower.shape[1], axis=1)
    lower = np.zeros_like(upper)
    if len(others) == 1 and len(others[0].names) == len(sizes):
        codes = others[0].codes
        lower, upper, others = others[0].lower[codes], others[0].upper[codes], []
    return Bounds(
        overall.lower[0], overall.upper[0], lower, upper, sizes, tuple(others), tuple(adjustments)
    )


def _adjustment(
    margin: MarginBounds,
    category: int,
    label: Any,
    total: StatedTotal,
    before: float,
    after: float,
) -> Adjustment:
    return Adjustment(
        margin.columns, margin.values(category), label, total.written,
        float(before + total.labeled), float(after + total.labeled), total.se, total.labeled,
    )  # fmt: skip


# --- Messages ----------------------------------------------------------------------------------


def _columns(margin: MarginBounds) -> str:
    return ", ".join(name or "group" for name in margin.columns)


def _group(margin: MarginBounds, category: int) -> str:
    """Name a category, as "region 'north', age 'old'"; nothing for all rows."""
    return named_values(margin.columns, margin.values(category))


def _whose(margin: MarginBounds, category: int) -> str:
    return f"the totals of {_group(margin, category)}" if margin.columns else "totals"


def _first(named: Sequence[str]) -> str:
    """Join what is named, only the first few of many."""
    more = f"; and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return "; ".join(named[:_MOST_NAMED]) + more


def _ranges(labels: list[Any], lower: Ints, upper: Ints) -> str:
    """Write bounds in words: a number for a class, or a range."""
    ends = zip(labels, lower.tolist(), upper.tolist(), strict=True)
    return ", ".join(
        f"{label!r}: {low}" if low == high else f"{label!r}: {low} to {high}"
        for label, low, high in ends
    )


def _inconsistency_in_words(named: list[str]) -> str:
    if len(named) == 1:
        return f"totals: {named[0]} cannot hold with the rows that are there; {scale_hint()}"
    return (
        f"totals contradict each other: these {count(len(named), 'total')} cannot hold together "
        "with the rows that are there, not even in fractions of rows (without any one of them, the "
        f"others could in fractions): {_first(named)}; {scale_hint()}"
    )


def _not_whole(missed: Floats, is_proven: bool, within: float, name: Callable[[int], str]) -> str:
    """Say by how much whole numbers must miss totals that are consistent in fractions.

    Of very many rows the linear program knows sums only to ``within`` so many.
    """
    named = [f"{name(f)} ({missed[f]:+g})" for f in np.flatnonzero(missed).tolist()]
    is_sure = is_proven and within < _MOST_WITHIN
    least = "the smallest deviation is" if is_sure else "a deviation is known of"
    fit = (
        "totals fit together in fractions of rows, but not in whole rows"
        if within < _MOST_WITHIN
        else f"totals fit together to within {within:g} rows, the precision of numbers of this "
        "size, but no whole rows that meet them were found"
    )
    return (
        f"{fit}: {least} {np.abs(missed).sum():g} in all, in {_first(named)}; "
        f"{scale_hint('label with that deviation')}"
    )
