"""Detect inconsistent totals, find which ones contradict each other, and reconcile them.

Totals are consistent if some table of counts, groups by classes, adds up to them:

    lower <= A n <= upper,   sum_k n_jk = size_j,   n >= 0

Inconsistent totals are reconciled by generalised least squares: of all consistent x, take the one
with the least

    sum_f (x_f - stated_f)^2 / variance_f

Totals of variance zero do not change. Consistency gives equations, which are solved in closed form,
and inequalities, because no count is negative; these are found one by one by a linear program and
added as cuts. This is the adjustment of national accounts by Stone, Champernowne and Meade (1942),
extended by the inequalities that hold for counts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import null_space
from scipy.optimize import Bounds as Box
from scipy.optimize import LinearConstraint, linprog, milp, nnls
from scipy.sparse import csr_array, eye_array, hstack, kron, vstack

from c2rf._utils.types import Bools, Floats
from c2rf.exceptions import BackendError
from c2rf.totals.bounds import LinearConstraints, MarginBounds

# Totals in fractions of rows are met to within rounding: a sum of 1e9 rows has about 1e-7 of it.
_MET, _MET_OF_ALL = 1e-6, 1e-12
_LARGEST = 2.0**30  # numbers of rows are scaled down to this for the linear program
_SMALL = 1e-9
# Integer programs of tables of counts are nearly always solved at the root.
_MOST_NODES = 5000
_MOST_CUTS = 200

Cut = tuple[Floats, float]
"""An inequality a'x <= b as (a, b)."""


def rounding(constraints: LinearConstraints) -> float:
    """Return how far a total in fractions of rows may be off for rounding alone."""
    return max(_MET, _MET_OF_ALL * float(constraints.group_sizes.sum()))


def nearest_table(
    constraints: LinearConstraints,
    *,
    whole: bool = False,
    slope: Floats | None = None,
    most: float = np.inf,
) -> tuple[Floats, Floats, bool]:
    """Return the table of counts that misses the constraints by the least in sum.

    Parameters
    ----------
    constraints : LinearConstraints
        The constraints that the table should meet.
    whole : bool
        Whether counts must be whole numbers.
    slope : ndarray of shape (n_bounds,), optional
        Cost of each sum per unit, from -1 to 1: which sums to prefer within the bounds. Missing a
        bound costs more.
    most : float
        By how much a bound may be missed.

    Returns
    -------
    counts : ndarray of shape (n_groups, n_classes)
    missed : ndarray of shape (n_bounds,)
        By how much each bound is missed: negative below, positive above.
    is_proven : bool
        Whether it is proven that no table misses them by less.
    """
    n_bounds, n_counts = constraints.matrix.shape
    scale = 1.0 if whole else _scale(constraints)
    sizes, within = constraints.group_sizes / scale, constraints.sizes_within / scale
    price = np.full(n_bounds, 1.0 if slope is None else 4.0 * n_bounds)
    slack = eye_array(n_bounds, format="csr")
    no_slack = csr_array((len(sizes), 2 * n_bounds))
    limits = [
        LinearConstraint(
            hstack([_group_sums(constraints), no_slack], format="csr"),
            sizes - within,
            sizes + within,
        )
    ]
    if n_bounds:
        sums = hstack([constraints.matrix, slack, -slack], format="csr")
        ends = constraints.lower / scale, constraints.upper / scale
        limits.append(LinearConstraint(sums, *ends))
    preference = np.zeros(n_bounds) if slope is None else slope
    largest = np.repeat(sizes + within, constraints.n_classes)
    result = milp(
        np.concatenate([constraints.matrix.T @ preference, price, price]),
        integrality=np.concatenate([np.full(n_counts, int(whole)), np.zeros(2 * n_bounds)]),
        bounds=Box(0, np.concatenate([largest, np.full(2 * n_bounds, most / scale)])),
        constraints=limits,
        options={"mip_rel_gap": 0.0, "node_limit": _MOST_NODES},
    )
    if result.x is None:
        raise BackendError(
            "the linear program that compares totals failed; the numbers may be too large for it: "
            f"{result.message}"
        )
    counts = result.x[:n_counts] * scale
    counts = np.rint(counts) if whole else counts
    missed = constraints.missed(counts)
    if not whole:
        missed[np.abs(missed) <= rounding(constraints)] = 0.0
    return counts.reshape(len(sizes), -1), missed, result.status == 0


def _scale(constraints: LinearConstraints) -> float:
    """Return by what numbers of rows are divided: a power of two, which is exact."""
    large = float(constraints.group_sizes.sum()) / _LARGEST
    return 1.0 if large <= 1 else float(2.0 ** np.ceil(np.log2(large)))


def _group_sums(constraints: LinearConstraints) -> csr_array:
    """Return the matrix that adds up the classes of each group."""
    groups = eye_array(len(constraints.group_sizes))
    return csr_array(kron(groups, np.ones((1, constraints.n_classes))))


def is_consistent(constraints: LinearConstraints) -> bool:
    """Say whether all constraints can hold at once, if counts may be fractional."""
    if (constraints.lower > constraints.upper).any():
        return False
    _, missed, _ = nearest_table(constraints)
    return not missed.any()


def smallest_inconsistency(constraints: LinearConstraints) -> list[int]:
    """Return constraints that cannot all hold, but can if any one of them is removed.

    Such an irreducible infeasible subset is found by QuickXplain (Junker, 2004).

    Examples
    --------
    >>> from c2rf.totals.bounds import Bounds
    >>> smallest_inconsistency(LinearConstraints.of(Bounds.overall([3, 3], [3, 4], 5)))
    [0, 1]
    """

    def find(kept: list[int], candidates: list[int], check: bool) -> list[int]:
        if check and not is_consistent(constraints.some(np.array(kept, dtype=np.intp))):
            return []
        if len(candidates) <= 1:
            return candidates
        half = len(candidates) // 2
        first, second = candidates[:half], candidates[half:]
        of_second = find(kept + first, second, True)
        of_first = find(kept + of_second, first, bool(of_second))
        return of_first + of_second

    return sorted(find([], list(range(len(constraints.lower))), False))


def round_table(
    constraints: LinearConstraints, target: Floats, fixed: Bools
) -> tuple[Floats, Floats, bool]:
    """Round totals that a table of fractional counts meets; return a table of whole counts.

    Parameters
    ----------
    constraints : LinearConstraints
        The totals as constraints; bounds of fixed ones are kept.
    target : ndarray of shape (n_bounds,)
        The totals to round; each that is not fixed is rounded up or down.
    fixed : ndarray of bool, shape (n_bounds,)
        Which totals are ranges or exact counts.

    Returns
    -------
    counts, missed, is_proven
        As of :func:`nearest_table`.
    """
    lower, upper = constraints.lower, constraints.upper
    low = np.where(fixed, np.ceil(lower - _SMALL), np.floor(target + _SMALL))
    high = np.where(fixed, np.floor(upper + _SMALL), np.ceil(target - _SMALL))
    # By how much rounding up is further from the target than rounding down.
    slope = np.where(fixed | (low == high), 0.0, 1 - 2 * (target - low))
    return nearest_table(constraints.between(low, high), whole=True, slope=slope)


def least_squares(constraints: LinearConstraints, variances: Floats) -> Floats | None:
    """Return consistent totals, by generalised least squares.

    Parameters
    ----------
    constraints : LinearConstraints
        Totals with ``lower == upper`` are adjusted; the others are ranges, which are kept.
    variances : ndarray of shape (n_bounds,)
        Variance of each total; zero if it must not change.

    Returns
    -------
    ndarray of shape (n_bounds,) or None
        The adjusted totals; for a range, its value in a table that has these totals. None if the
        totals that must not change are inconsistent, or if all totals are ranges.

    Examples
    --------
    >>> from c2rf.totals.bounds import Bounds
    >>> constraints = LinearConstraints.of(Bounds.overall([12, 90], [12, 90], 100))
    >>> least_squares(constraints, np.array([1.0, 9.0])).round(3).tolist()
    [11.8, 88.2]
    """
    if (scale := _scale(constraints)) > 1:
        found = least_squares(constraints.divided(scale), variances / scale**2)
        return None if found is None else found * scale
    points = constraints.lower == constraints.upper
    if not points.any():
        return None
    stated, deviations = constraints.lower[points], np.sqrt(variances[points])
    equations, right = _equations(constraints, points)
    # The least |z| with C (stated + D z) = right, where D holds the standard deviations.
    scaled = equations * deviations
    step, *_ = np.linalg.lstsq(scaled, right - equations @ stated, rcond=1e-11)
    start = stated + deviations * step
    size = max(1.0, float(np.abs(right).max(initial=0.0)))
    if np.abs(equations @ start - right).max(initial=0.0) > 1e-7 * size:
        return None
    # All totals that meet the equations are start + directions @ y; the nearest has the least |y|.
    # Without equations that is everything, which scipy 1.13 does not say.
    free = null_space(scaled, rcond=1e-11) if len(scaled) else np.eye(len(stated))
    directions = deviations[:, None] * free
    cuts: list[Cut] = []
    for _ in range(_MOST_CUTS):
        found = _nearest_within(cuts, start, directions)
        if found is None:
            return None
        cut, counts = _find_cut(constraints, points, found)
        if cut is None:
            result: Floats = constraints.matrix @ counts
            result[points] = found
            return result
        cuts.append(cut)
    return None


def _equations(constraints: LinearConstraints, points: Bools) -> tuple[Floats, Floats]:
    """Return C and d with C x = d for the totals x of any table with the right group sizes."""
    n_groups, n_classes = len(constraints.group_sizes), constraints.n_classes
    dense = constraints.matrix[points].toarray().reshape(-1, n_groups, n_classes)
    # The last class of a group is its size minus the other classes, so it is eliminated.
    free = (dense[:, :, :-1] - dense[:, :, -1:]).reshape(len(dense), -1)
    if not free.shape[1]:
        free = np.zeros((len(dense), 1))
    equations = null_space(free.T, rcond=1e-9).T
    return equations, equations @ (dense[:, :, -1] @ constraints.group_sizes)


def _nearest_within(cuts: list[Cut], start: Floats, directions: Floats) -> Floats | None:
    """Return ``start + directions @ y`` with the least ``|y|`` that meets all cuts."""
    if not cuts:
        return start
    # The least y with G y >= h is a nonnegative least squares problem (Lawson and Hanson, 1974).
    G = -np.array([cut @ directions for cut, _ in cuts])
    h = np.array([cut @ start - most for cut, most in cuts])
    scale = np.maximum(np.linalg.norm(G, axis=1), 1e-300)
    G, h = G / scale[:, None], h / scale
    size = max(1.0, float(np.abs(h).max()))
    matrix = np.vstack([G.T, h / size])
    aim = np.zeros(len(matrix))
    aim[-1] = 1.0
    found, _ = nnls(matrix, aim, maxiter=100 * len(cuts) + 1000)
    residual = matrix @ found - aim
    if abs(residual[-1]) < 1e-12:
        return None
    y = -residual[:-1] / residual[-1] * size
    return start + directions @ y


def _find_cut(
    constraints: LinearConstraints, points: Bools, x: Floats
) -> tuple[Cut | None, Floats]:
    """Return a cut that x violates and all tables meet, and the table nearest to x.

    The cut is None if the totals of that table are x.
    """
    n_points, n_counts = len(x), constraints.matrix.shape[1]
    slack = eye_array(n_points, format="csr")
    no_slack = csr_array((len(constraints.group_sizes), 2 * n_points))
    others = constraints.matrix[~points]
    ranges = vstack([others, -others], format="csr")
    ends = np.concatenate([constraints.upper[~points], -constraints.lower[~points]])
    no_slack_ranges = hstack([ranges, csr_array((ranges.shape[0], 2 * n_points))], format="csr")
    result = linprog(
        np.concatenate([np.zeros(n_counts), np.ones(2 * n_points)]),
        A_ub=no_slack_ranges if len(ends) else None,
        b_ub=ends if len(ends) else None,
        A_eq=vstack(
            [
                hstack([constraints.matrix[points], slack, -slack]),
                hstack([_group_sums(constraints), no_slack]),
            ],
            format="csr",
        ),
        b_eq=np.concatenate([x, constraints.group_sizes]),
        method="highs",
    )
    if result.x is None:  # the ranges alone are inconsistent: there is no table
        return (np.zeros(n_points), -1.0), np.zeros(n_counts)
    counts = result.x[:n_counts]
    if result.fun <= _SMALL * max(1.0, float(constraints.group_sizes.sum())):
        return None, counts
    prices = result.eqlin.marginals[:n_points]
    return (prices, float(prices @ x) - float(result.fun)), counts


def rescale(
    constraints: LinearConstraints, errors: Floats, margins: Sequence[MarginBounds]
) -> Floats:
    """Return consistent totals, as near as possible to the stated ones in relative terms.

    Exact totals get a variance in proportion to their square, so that all change by about the same
    percentage; estimates keep their own variance.

    Parameters
    ----------
    constraints : LinearConstraints
        The totals as they were stated.
    errors : ndarray of shape (n_bounds,)
        Their standard errors, 0 for exact ones.
    margins : sequence of MarginBounds
        The margins that the totals are about, overall first.
    """
    middle = (constraints.lower + constraints.upper) / 2
    variances = np.where(errors == 0, middle**2, errors**2)
    common = _with_common_class_totals(constraints, margins)
    no_variance = np.zeros(len(common.lower) - len(errors))
    found = least_squares(common, np.concatenate([variances, no_variance]))
    if found is None:
        found = least_squares(constraints, variances)
    if found is None:  # totals of zero must change, or only ranges: the table nearest in counts
        counts, *_ = nearest_table(constraints)
        found = constraints.matrix @ counts.ravel()
    return found[: len(errors)]


def _with_common_class_totals(
    constraints: LinearConstraints, margins: Sequence[MarginBounds]
) -> LinearConstraints:
    """Add an overall total for each class that has a total in every group of some margin.

    It is the mean of the sums over such margins; if every class has one, they are scaled to add up
    to the number of rows.
    """
    middle = (constraints.lower + constraints.upper) / 2
    sums: dict[int, list[float]] = {}
    for m, margin in enumerate(margins):
        for k in range(constraints.n_classes):
            own = (constraints.places[:, 0] == m) & (constraints.places[:, 2] == k)
            if own.sum() == len(margin.names):
                sums.setdefault(k, []).append(float(middle[own].sum()))
    common = {k: float(np.mean(values)) for k, values in sums.items()}
    if len(common) == constraints.n_classes and sum(common.values()) > 0:
        scale = float(constraints.group_sizes.sum()) / sum(common.values())
        common = {k: value * scale for k, value in common.items()}
    if not common:
        return constraints
    places, totals = np.array([[0, 0, k] for k in common]), np.array(list(common.values()))
    added = LinearConstraints.at(places, margins[:1], constraints.group_sizes, totals, totals)
    return LinearConstraints(
        csr_array(vstack([constraints.matrix, added.matrix])),
        np.concatenate([constraints.lower, added.lower]),
        np.concatenate([constraints.upper, added.upper]),
        np.vstack([constraints.places, places]),
        constraints.group_sizes,
    )
