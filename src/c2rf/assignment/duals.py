"""Dual variables of the totals: what they do to rows, how they are found, and what they prove.

Every total has a dual variable. A row goes to the class where its score plus the duals of all
totals that count it there is largest; what the duals add up to in a group and class is its class
offset. The right duals lambda minimize the convex dual function

    sum_i w_i max_k (s_ik + (A' lambda)_{g(i) k}) + sum_f max(-lambda_f lo_f, -lambda_f up_f)

**Annealed smoothing.** With both maxima smoothed at a temperature T (max becomes
T log sum exp(./T)), Newton's method finds the duals in as many variables as there are totals,
whatever the number of rows. As the temperature falls, they approach the right ones. At temperature
one the same function gives probabilities whose sums are the totals.

**Optimality gap.** By weak duality, any duals p bound the score of all labels that meet the bounds:

    sum over rows of max_k (s_ik + p_ik)  -  the least that duals add up to within the bounds,

p_ik being the sum of the duals that count row i in class k. The difference to the score of given
labels is their gap, computed here in exact fractions. Bad duals only give a larger gap; at a gap of
zero no labels are better, and no solver and no rounding needs to be trusted for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse import csr_array, diags_array, eye_array
from scipy.sparse.linalg import splu
from scipy.special import expit

from c2rf._utils.types import Codes, Floats, Ints
from c2rf.assignment.parts import Parts, ScoredRows, best_classes, distinct_rows
from c2rf.totals.bounds import Bounds, LinearConstraints, MarginBounds

_COOLING = 4.0
_MOST_STEPS = 60
_MATCHED = 1e-10  # share of a group's rows by which expected sizes may be off
_MANY_TOTALS = 400  # with more totals equations are sparse: most of them share no rows
# Far from the solution the Hessian says little: no step is longer than this many temperatures.
_LONGEST_STEP = 20.0
_MOST_HALVINGS = 30
_COLDEST_RANGES = 1e-6  # where sums of probabilities are within a range


@dataclass(frozen=True, eq=False)
class Assignment:
    """Labels of rows, and the class offsets that certify them.

    Parameters
    ----------
    labels : ndarray of int, shape (n_rows,)
        Class of each row, from 0.
    offsets : ndarray of shape (n_groups, n_classes)
        Every row is where score + offset of its group is largest, but for ties. Zero where the
        bounds change nothing, -inf where there may be no rows of the class.
    counts : ndarray of int, shape (n_groups, n_classes)
        Sizes of the classes in the groups.
    objective : float
        Total score; of weighted rows the sum of weight times score.
    gap : float
        No labels that meet the bounds have a total score higher by more than this: proven in exact
        arithmetic, of weighted rows to rounding.
    missed : float
        Of weighted rows: by how much the bounds are missed in sum. Else 0.
    cost : float
        Of weighted rows: the weighted score that rows lose in the swaps that bring sums of
        weights near to the totals.
    closest : bool
        Whether it is proven that no labels come closer to the totals in sum.
    """

    labels: Codes
    offsets: Floats
    counts: Any
    objective: float
    gap: float = 0.0
    missed: float = 0.0
    cost: float = 0.0
    closest: bool = True


def class_offsets(constraints: LinearConstraints, duals: Floats, offsets: Floats) -> Floats:
    """Add the duals of all totals to the offsets of groups and classes."""
    return offsets + (constraints.matrix.T @ duals).reshape(offsets.shape)


def drop_zero_totals(
    constraints: LinearConstraints, bounds: Bounds
) -> tuple[LinearConstraints, Floats]:
    """Return the totals that are not zero, and offsets that forbid classes where they are."""
    closed = np.zeros(bounds.group_lower.size)
    none = constraints.upper <= 0
    closed[constraints.matrix[none].indices] = -np.inf
    offsets = closed.reshape(bounds.group_lower.shape)
    # Rows of weight zero have some class, too, and those of so small weights that totals of zero
    # are met nearly.
    offsets[(offsets < 0).all(axis=1) | (bounds.group_sizes == 0)] = 0.0
    return constraints.some(~none), offsets


def annealed_duals(
    scored: ScoredRows, constraints: LinearConstraints, offsets: Floats, duals: Floats
) -> tuple[Floats, float]:
    """Return duals at a temperature well below the differences of scores, and the temperature.

    Parameters
    ----------
    scored : ScoredRows
        The rows.
    constraints : LinearConstraints
        The totals.
    offsets : ndarray of shape (n_groups, n_classes)
        Added to all scores; -inf forbids a class in a group.
    duals : ndarray of shape (n_totals,)
        To begin with.
    """
    temperature = max(spread_of(scored), 1e-9) / _COOLING
    for _ in range(4):
        temperature /= _COOLING
        duals = smooth_duals(scored, constraints, offsets, duals, temperature, 1e-3)
    return duals, temperature


def anneal_to_few(
    scored: ScoredRows,
    constraints: LinearConstraints,
    offsets: Floats,
    duals: Floats,
    temperature: float,
    n_near: int,
) -> tuple[Floats, float]:
    """Lower the temperature until few rows are near a boundary; return duals and temperature."""
    distances = best_classes(scored, class_offsets(constraints, duals, offsets)).distances
    distances = distances[np.isfinite(distances)]  # no boundary where only one class is open
    if not len(distances):
        return duals, temperature
    near = float(np.quantile(distances, min(1.0, n_near / len(distances))))
    last = min(max(near / 4, 1e-6 * temperature), temperature)
    while temperature > _COOLING * last:
        temperature /= _COOLING
        duals = smooth_duals(scored, constraints, offsets, duals, temperature, 1e-3)
    return smooth_duals(scored, constraints, offsets, duals, last, 2 / scored.n_rows), last


def spread_of(scored: ScoredRows) -> float:
    """Return the largest difference of two scores of a row."""
    tables = (np.asarray(scored.scores[rows]) for rows in scored.blocks())
    return max(float(np.ptp(table, axis=1).max(initial=0.0)) for table in tables) or 1.0


def smooth_duals(
    scored: Parts,
    constraints: LinearConstraints,
    offsets: Floats,
    duals: Floats,
    temperature: float,
    accuracy: float,
    range_temperature: float | None = None,
) -> Floats:
    """Return the duals with which expected sizes meet the totals at a temperature.

    The ``accuracy`` is the part of all rows by which the expected sizes may miss. Ranges have the
    same temperature, unless theirs is given.
    """
    total = scored.weight
    temperatures = temperature, range_temperature or temperature
    dual = partial(_smoothed_dual, scored, constraints, offsets, temperatures)
    value, gradient, hessian = dual(duals)
    for _ in range(_MOST_STEPS):
        if np.abs(gradient).max(initial=0.0) <= accuracy * total:
            break
        step = _newton_step(gradient, hessian)
        longest = np.abs(step).max()
        step *= min(1.0, _LONGEST_STEP * temperature / longest) if longest else 1.0
        for _ in range(_MOST_HALVINGS):
            there = dual(duals + step)
            if there[0] <= value + 1e-4 * float(gradient @ step) + 1e-13 * abs(value):
                break
            step /= 2
        else:
            break
        duals, (value, gradient, hessian) = duals + step, there
    return duals


def sums_within(scored: Parts, few: Parts, bounds: Bounds) -> Floats:
    """Return what probabilities add up to if they are changed as little as the bounds ask for.

    Within its range a sum has no dual: the ranges are cooled, and the probabilities are not.

    Parameters
    ----------
    scored, few : Parts
        The rows, and those of them by which first duals are found.
    bounds : Bounds
        They can be met.
    """
    constraints, closed = drop_zero_totals(LinearConstraints.of(bounds), bounds)
    duals, temperature = np.zeros(len(constraints.lower)), 1.0
    while temperature > _COLDEST_RANGES:
        duals = smooth_duals(few, constraints, closed, duals, 1.0, 1e-6, temperature)
        temperature /= _COOLING
    duals = smooth_duals(scored, constraints, closed, duals, 1.0, 1e-12, temperature)
    sums: Floats = expected_sizes(scored, class_offsets(constraints, duals, closed), 1.0)[1]
    return sums


def matching_offsets(scored: Parts, counts: Any, start: Floats | None = None) -> Floats:
    """Return class offsets with which the expected sizes of the classes are known in every group.

    Parameters
    ----------
    scored : Parts
        The rows; their groups are independent of each other.
    counts : ndarray of shape (n_groups, n_classes)
        The sizes. A class of size zero gets -inf; a group without rows gets zeros.
    start : ndarray of shape (n_groups, n_classes), optional
        Offsets to begin with, from a sample, say.

    Notes
    -----
    With s the expected sizes at temperature one and P the sums of products of shares, Newton's step
    in a group solves (diag(s) - P + 1 1') step = counts - s: a constant for all classes changes
    nothing, and 1 1' closes that direction.
    """
    sizes = np.asarray(counts, dtype=float)
    rows, closed = sizes.sum(axis=1), sizes == 0
    closed[rows == 0] = False
    unmoved = closed | (rows == 0)[:, None]
    offsets = np.where(closed, -np.inf, 0.0 if start is None else start)
    each = np.arange(sizes.shape[1])
    scale = np.maximum(rows, 1.0)[:, None]

    def dual(at: Floats) -> tuple[float, Floats, Floats]:
        value, found, products = expected_sizes(scored, at, 1.0)
        value -= float((sizes * np.where(closed, 0.0, at)).sum())
        curvature = -products / scale[:, :, None]
        curvature[:, each, each] += found / scale + unmoved
        return value, (sizes - found) / scale, curvature

    value, gap, curvature = dual(offsets)
    for _ in range(_MOST_STEPS):
        worst = np.abs(gap).max(axis=1, initial=0.0)
        if worst.max(initial=0.0) <= _MATCHED:
            break
        is_done = worst <= _MATCHED  # its curvature may be zero
        damping = np.where(is_done, 1.0, 1e-6 * worst)[:, None, None] * np.eye(len(each))
        damped = curvature + damping + 1 / len(each)
        step = np.where(unmoved, 0.0, np.linalg.solve(damped, gap[:, :, None])[..., 0])
        step[is_done] = 0.0
        longest = np.abs(step).max(axis=1, keepdims=True)
        step *= np.minimum(1.0, _LONGEST_STEP / np.maximum(longest, _LONGEST_STEP))
        there = dual(offsets + step)
        while there[0] > value + 1e-13 * abs(value) and np.abs(step).max() > _MATCHED:
            step /= 2
            there = dual(offsets + step)
        offsets, (value, gap, curvature) = offsets + step, there
    middle = np.where(closed, 0.0, offsets).sum(axis=1) / np.maximum((~closed).sum(axis=1), 1)
    return offsets - middle[:, None]


def _newton_step(gradient: Floats, hessian: csr_array) -> Floats:
    # Duals that shift all classes of a row alike change nothing: those directions are flat.
    scale = np.abs(hessian.diagonal()).max(initial=0.0)
    damped = hessian + (1e-10 * scale + 1e-300) * eye_array(len(gradient), format="csr")
    if len(gradient) > _MANY_TOTALS:
        return -np.asarray(splu(damped.tocsc()).solve(gradient))
    try:
        return -cho_solve(cho_factor(damped.toarray(), check_finite=False), gradient)
    except LinAlgError:  # flat to rounding
        return -np.linalg.lstsq(damped.toarray(), gradient, rcond=1e-12)[0]


def _smoothed_dual(
    scored: Parts,
    constraints: LinearConstraints,
    offsets: Floats,
    temperatures: tuple[float, float],
    duals: Floats,
) -> tuple[float, Floats, csr_array]:
    """Return the smoothed dual function, its gradient and its Hessian.

    The temperatures are those of rows and of ranges.
    """
    temperature, of_ranges = temperatures
    value, sizes, products = expected_sizes(
        scored, class_offsets(constraints, duals, offsets), temperature
    )
    low, width = constraints.lower, constraints.upper - constraints.lower
    # max(-lambda lo, -lambda up), smoothed: the share of the width that is wanted.
    share = expit(-duals / of_ranges)
    wanted = low + width * share
    value += float(-duals @ low + (width * of_ranges) @ np.logaddexp(0, -duals / of_ranges))
    blocks = _block_diagonal(sizes, products) / temperature
    hessian = constraints.matrix @ blocks @ constraints.matrix.T
    hessian += diags_array(width * share * (1 - share) / of_ranges)
    return value, constraints.matrix @ sizes.ravel() - wanted, hessian


def expected_sizes(
    scored: Parts, offsets: Floats, temperature: float
) -> tuple[float, Floats, Floats]:
    """Return T log sum exp of all rows, the expected sizes, and sums of products of shares.

    The products are of shape (n_groups, n_classes, n_classes).
    """
    value, sizes, products = scored.reduce(partial(_expected, offsets, temperature), _added)
    fixed = scored.elsewhere if isinstance(scored, ScoredRows) else None
    if fixed is not None:
        value += float((fixed.counts * np.where(fixed.counts > 0, offsets, 0.0)).sum())
        sizes = sizes + fixed.counts
        each = np.arange(scored.n_classes)
        products = products.copy()
        products[:, each, each] += fixed.counts  # they have one class for sure
    return value, sizes, products


def _added(sums: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(sum(own[1:], start=own[0]) for own in zip(*sums, strict=True))


def _expected(
    offsets: Floats, temperature: float, part: ScoredRows
) -> tuple[float, Floats, Floats]:
    n_groups, n_classes = offsets.shape
    weights = None if part.weights is None else part.weight_of(slice(None))
    members = part.groups if n_groups > 1 else None
    shifted = np.ascontiguousarray(part.scores.T)
    shifted = shifted + (offsets[0][:, None] if members is None else offsets[members].T)
    shifted /= temperature
    top = shifted.max(axis=0)
    share = np.exp(np.subtract(shifted, top, out=shifted), out=shifted)
    total = share.sum(axis=0)
    share /= total
    logs = np.log(total, out=total)
    logs += top
    value = temperature * float(logs.sum() if weights is None else weights @ logs)
    own = share if weights is None else share * weights
    if members is None:
        return value, own.sum(axis=1)[None], np.einsum("ai,bi->ab", own, share)[None]
    sizes = np.array([np.bincount(members, each, n_groups) for each in own])
    products = np.zeros((n_classes, n_classes, n_groups))
    for a in range(n_classes):
        for b in range(a, n_classes):
            products[a, b] = products[b, a] = np.bincount(members, own[a] * share[b], n_groups)
    return value, sizes.T, products.transpose(2, 0, 1)


def _block_diagonal(sizes: Floats, products: Floats) -> csr_array:
    """Return diag(sizes) - products, a block per group."""
    n_groups, n_classes = sizes.shape
    blocks = -products
    blocks[:, np.arange(n_classes), np.arange(n_classes)] += sizes
    columns = np.arange(n_groups * n_classes).reshape(n_groups, 1, n_classes)
    columns = np.broadcast_to(columns, blocks.shape)
    starts = np.arange(n_groups * n_classes + 1) * n_classes
    return csr_array((blocks.ravel(), columns.ravel(), starts))


def optimality_gap(
    rows: ScoredRows, labels: Codes, margins: Sequence[MarginBounds], duals: Sequence[Floats]
) -> Fraction:
    """Return a number that no other labels within the bounds gain more than; 0 proves optimality.

    Parameters
    ----------
    rows : ScoredRows
        Rows without weights. Those elsewhere are known to have their best class.
    labels : ndarray of int, shape (n_rows,)
        The class of each row; they must meet all bounds.
    margins : sequence of MarginBounds
        All bounds, in whole numbers.
    duals : sequence of ndarray of shape (n_cells, n_classes)
        For each margin any numbers; optimal duals give the smallest gap. -inf stands for a class
        that no row of the cell may have (its upper bound is 0).

    Raises
    ------
    ValueError
        If the labels do not meet the bounds.

    Examples
    --------
    >>> scores, duals = np.array([[3.0, 0.0], [2.0, 1.0], [5.0, 0.0]]), np.array([[0.0, 3.0]])
    >>> rows = ScoredRows(scores, np.zeros(3, dtype=int), None, 1)
    >>> lower, upper = np.array([[0, 2]]), np.array([[3, 2]])
    >>> two_of_the_second = MarginBounds((), [None], np.array([0]), lower, upper)
    >>> optimality_gap(rows, np.array([1, 1, 0]), [two_of_the_second], [duals])
    Fraction(0, 1)
    >>> optimality_gap(rows, np.array([0, 1, 1]), [two_of_the_second], [duals])
    Fraction(2, 1)
    """
    total, counts = Fraction(0), rows.counts(labels).astype(np.int64)
    for margin, own in zip(margins, duals, strict=True):
        sizes = margin.sums(counts)
        if (sizes < margin.lower).any() or (sizes > margin.upper).any():
            raise ValueError("the labels do not meet the bounds")
        total += _slack(margin, own, sizes)
    tables = [own[margin.codes] for margin, own in zip(margins, duals, strict=True)]
    for block in rows.blocks():
        scores = np.asarray(rows.scores[block])
        total += regret(scores, labels[block], rows.groups[block], tables)
    return total


def _slack(margin: MarginBounds, duals: Floats, sizes: Ints) -> Fraction:
    """Return by how much duals times sizes exceed the least within the bounds."""
    total = Fraction(0)
    lower, upper = (bound.astype(np.int64).tolist() for bound in (margin.lower, margin.upper))
    for here, low, high, own in zip(sizes.tolist(), lower, upper, duals, strict=True):
        usable = [k for k in range(len(here)) if own[k] != -np.inf]
        dual = {k: Fraction(float(own[k])) for k in usable}
        if any(high[k] for k in range(len(here)) if k not in dual):
            raise ValueError("a class whose dual is -inf may have rows")
        # All rows of a group have some class: the cheapest classes are filled first.
        left = sum(here) - sum(low[k] for k in usable)
        total += sum((dual[k] * (here[k] - low[k]) for k in usable), Fraction(0))
        for k in sorted(usable, key=lambda k: dual[k]):
            more = min(left, high[k] - low[k])
            total -= dual[k] * more
            left -= more
    return total


def regret(
    scores: Floats,
    labels: Codes,
    groups: Codes,
    duals: Sequence[Floats],
    judged: NDArray[np.bool_] | None = None,
) -> Fraction:
    """Return exactly what rows miss by not having the class with the best score plus duals.

    The ``duals`` are tables of shape (n_groups, n_classes) that are added up. If not all rows are
    judged, ``judged`` says which.
    """
    tables = [own for own in duals if own.any()]
    terms = [scores, *(own[groups] for own in tables)]
    rows = np.arange(len(labels))
    values = terms[0].copy()
    for term in terms[1:]:
        values += term
    own = values[rows, labels]
    # A float sum of n terms is off by less than n * eps * sum |terms|, and so is the difference.
    size = np.abs(scores).max(axis=1, initial=0.0)
    for table in tables:
        size += np.abs(np.where(np.isfinite(table), table, 0.0)).max(axis=1)[groups]
    error = 4 * len(terms) * np.finfo(float).eps * size
    values[rows, labels] = -np.inf
    is_tied = values.max(axis=1) + error >= own
    tied = np.flatnonzero(is_tied if judged is None else is_tied & judged)
    total = Fraction(0)
    first, _, numbers = distinct_rows(np.column_stack([labels[tied], *(t[tied] for t in terms)]))
    for row, times in zip(tied[first].tolist(), numbers.tolist(), strict=True):
        near = np.flatnonzero(values[row] + error[row] >= own[row])
        mine = _exact(terms, row, int(labels[row]))
        total += times * max(Fraction(0), *(_exact(terms, row, k) - mine for k in near.tolist()))
    return total


def _exact(terms: list[Floats], row: int, k: int) -> Fraction:
    return sum((Fraction(float(term[row, k])) for term in terms), Fraction(0))


def rounded_up(gap: Fraction) -> float:
    """Return a float that is not below an exact gap.

    Examples
    --------
    >>> rounded_up(Fraction(0)), rounded_up(Fraction(1, 3)) >= Fraction(1, 3)
    (0.0, True)
    """
    near = float(gap)
    return near if Fraction(near) >= gap else float(np.nextafter(near, np.inf))
