"""Totals that contradict each other: found, and moved as little as their certainty allows.

Whether figures can hold together: tables of counts of groups by classes that meet them.

The sizes of the groups are counted, so they hold whatever the figures say:

    lower <= A n <= upper,   sum_k n_jk = size_j,   n >= 0

Figures that contradict each other, moved as little as their certainty allows.

Generalised least squares: of all figures x that hold together, those with the least

    sum_f (x_f - said_f)^2 / variance_f

Figures of variance zero do not move. Figures hold together if there is a table of counts of groups
by classes that adds up to them. That gives equations (solved in closed form), and inequalities,
because no count is negative: those are found one by one by a linear program and added as cuts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import Bounds as Box
from scipy.optimize import LinearConstraint, linprog, milp, nnls
from scipy.sparse import csr_array, eye_array, hstack, vstack

from c2rf._utils.types import Bools, Codes, Floats
from c2rf.totals.bounds import sizes_matrix

_MET = 1e-7
# Integer programs of tables of counts are nearly always solved at the root.
_MOST_NODES = 5000


@dataclass(frozen=True, eq=False)
class Figures:
    """Figures about the counts of groups by classes.

    Parameters
    ----------
    matrix : csr_array of shape (n_figures, n_groups * n_classes)
        What each figure adds up.
    lower, upper : ndarray of shape (n_figures,)
        Between which each must be.
    sizes : ndarray of shape (n_groups,)
        Rows of each group, or the sum of their weights.
    """

    matrix: csr_array
    lower: Floats
    upper: Floats
    sizes: Floats

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.matrix.shape[1] // len(self.sizes)

    def between(self, lower: Floats, upper: Floats) -> Figures:
        """Return the same figures with other bounds."""
        return Figures(self.matrix, lower, upper, self.sizes)

    def some(self, rows: Codes) -> Figures:
        """Return only some of the figures."""
        return Figures(csr_array(self.matrix[rows]), self.lower[rows], self.upper[rows], self.sizes)


@dataclass(frozen=True, eq=False)
class NearestTable:
    """Counts, and by how much they miss each figure: negative below, positive above.

    ``proven`` says that no table comes closer.
    """

    counts: Floats
    missed: Floats
    proven: bool

    @property
    def total(self) -> float:
        """How far off all figures are together."""
        return float(np.abs(self.missed).sum())


def nearest_table(
    figures: Figures, *, whole: bool = False, slope: Floats | None = None
) -> NearestTable:
    """Return the counts that miss the figures by the least in sum.

    Parameters
    ----------
    figures : Figures
        What should hold.
    whole : bool
        Whether counts must be whole numbers.
    slope : ndarray of shape (n_figures,), optional
        What a unit more of each figure costs, from -1 to 1: a preference within the bounds. To miss
        a bound costs more than any of that.
    """
    n_figures, n_counts = figures.matrix.shape
    wishes = np.zeros(n_figures) if slope is None else slope
    price = np.full(n_figures, 1.0 if slope is None else 4.0 * n_figures)
    slack = eye_array(n_figures, format="csr")
    sizes = hstack([sizes_matrix(len(figures.sizes), figures.n_classes),
                    csr_array((len(figures.sizes), 2 * n_figures))], format="csr")  # fmt: skip
    limits = [LinearConstraint(sizes, figures.sizes, figures.sizes)]
    if n_figures:
        table = hstack([figures.matrix, slack, -slack], format="csr")
        limits.append(LinearConstraint(table, figures.lower, figures.upper))
    most = np.repeat(figures.sizes, figures.n_classes)
    result = milp(
        np.concatenate([figures.matrix.T @ wishes, price, price]),
        integrality=np.concatenate([np.full(n_counts, int(whole)), np.zeros(2 * n_figures)]),
        bounds=Box(0, np.concatenate([most, np.full(2 * n_figures, np.inf)])),
        constraints=limits,
        options={"mip_rel_gap": 0.0, "node_limit": _MOST_NODES},
    )
    if result.x is None:
        raise AssertionError(f"a table with slack was not found: {result.message}")
    counts = result.x[:n_counts]
    counts = np.rint(counts) if whole else counts
    found = figures.matrix @ counts
    missed = np.minimum(found - figures.lower, 0) + np.maximum(found - figures.upper, 0)
    missed[np.abs(missed) <= _MET * max(1.0, float(figures.sizes.sum()))] = 0.0
    return NearestTable(counts.reshape(len(figures.sizes), -1), missed, result.status == 0)


def fit_together(figures: Figures) -> bool:
    """Say whether the figures can hold together, in fractions of rows."""
    return not nearest_table(figures).missed.any()


def contradiction(figures: Figures) -> list[int]:
    """Return figures that cannot hold together, none of which could be left out.

    By halves, as QuickXplain does it: a part is looked into only if the rest does not contradict
    itself without it.

    Examples
    --------
    >>> from scipy.sparse import eye_array
    >>> figures = Figures(csr_array(eye_array(2)), np.array([3.0, 3.0]), np.array([3.0, 9.0]),
    ...                   np.array([5.0]))
    >>> contradiction(figures)
    [0, 1]
    """

    def find(kept: list[int], candidates: list[int], check: bool) -> list[int]:
        if check and not fit_together(figures.some(np.array(kept, dtype=np.intp))):
            return []
        if len(candidates) == 1:
            return candidates
        half = len(candidates) // 2
        first, second = candidates[:half], candidates[half:]
        of_second = find(kept + first, second, True)
        of_first = find(kept + of_second, first, bool(of_second))
        return of_first + of_second

    return sorted(find([], list(range(len(figures.lower))), False))


_MOST_CUTS = 200
_SMALL = 1e-9


@dataclass(frozen=True)
class Adjustment:
    """A figure that was moved.

    Parameters
    ----------
    columns, cell : tuple
        Where it is: the grouping columns and their values; none for all rows.
    label : object
        The class.
    said : str
        What was given.
    before, after : float
        In rows: what was given, and what was met.
    se : float
        Its standard error, 0 for an exact figure.
    """

    columns: tuple[str | None, ...]
    cell: tuple[Any, ...]
    label: Any
    said: str
    before: float
    after: float
    se: float

    @property
    def where(self) -> str:
        """The cell in words."""
        named = zip(self.columns, self.cell, strict=True)
        return ", ".join(f"{name} {value}" for name, value in named) or "all rows"

    @property
    def in_errors(self) -> float | None:
        """By how many standard errors it moved; None for an exact figure."""
        return (self.after - self.before) / self.se if self.se else None

    def __str__(self) -> str:
        moved = "" if self.in_errors is None else f", {self.in_errors:+.1f} standard errors"
        return f"{self.label!r} in {self.where}: {self.before:g} became {self.after:g}{moved}"


def least_squares(figures: Figures, variances: Floats) -> Floats | None:
    """Return figures that hold together, by generalised least squares.

    Parameters
    ----------
    figures : Figures
        Those with ``lower == upper`` are said to be that; the others must stay within.
    variances : ndarray of shape (n_figures,)
        Of zero for what must not move.

    Returns
    -------
    ndarray of shape (n_figures,) or None
        What each figure becomes, of a range what it is in some table; None if what must not move
        contradicts itself.

    Examples
    --------
    >>> figures = Figures(csr_array(eye_array(2)), np.array([12.0, 90.0]),
    ...                   np.array([12.0, 90.0]), np.array([100.0]))
    >>> least_squares(figures, np.array([1.0, 9.0])).round(3).tolist()
    [11.8, 88.2]
    """
    points = figures.lower == figures.upper
    said, deviations = figures.lower[points], np.sqrt(variances[points])
    space = _Space.of(figures, points, said, deviations)
    if space is None:
        return None
    cuts: list[tuple[Floats, float]] = []
    for _ in range(_MOST_CUTS):
        found = space.nearest(cuts)
        if found is None:
            return None
        cut, table = _cut(figures, points, found)
        if cut is None:
            result = figures.matrix @ table
            result[points] = found
            return result
        cuts.append(cut)
    return None


@dataclass(frozen=True, eq=False)
class _Space:
    """Figures that meet all equations: ``start + directions @ y``, at the distance ``|y|``."""

    start: Floats
    directions: Floats

    @classmethod
    def of(cls, figures: Figures, points: Bools, said: Floats, deviations: Floats) -> _Space | None:
        equations, right = _equations(figures, points)
        # said + D z with C (said + D z) = right, of the least |z|.
        scaled = equations * deviations
        step, *_ = np.linalg.lstsq(scaled, right - equations @ said, rcond=1e-11)
        start = said + deviations * step
        size = max(1.0, float(np.abs(right).max(initial=0.0)))
        if np.abs(equations @ start - right).max(initial=0.0) > 1e-7 * size:
            return None
        return cls(start, deviations[:, None] * _null_space(scaled))

    def nearest(self, cuts: list[tuple[Floats, float]]) -> Floats | None:
        """Return the figures nearest to the start that meet all cuts ``a'x <= b``."""
        if not cuts:
            return self.start
        # The least y with G y >= h (Lawson and Hanson): a nonnegative least squares problem.
        G = -np.array([cut @ self.directions for cut, _ in cuts])
        h = np.array([cut @ self.start - most for cut, most in cuts])
        scale = np.maximum(np.linalg.norm(G, axis=1), 1e-300)
        G, h = G / scale[:, None], h / scale
        size = max(1.0, float(np.abs(h).max()))
        system = np.vstack([G.T, h / size])
        aim = np.zeros(len(system))
        aim[-1] = 1.0
        found, _ = nnls(system, aim, maxiter=100 * len(cuts) + 1000)
        left = system @ found - aim
        if abs(left[-1]) < 1e-12:
            return None
        y = -left[:-1] / left[-1] * size
        return self.start + self.directions @ y


def _equations(figures: Figures, points: Bools) -> tuple[Floats, Floats]:
    """Return C and d with C x = d for all figures x of any table with the right sizes."""
    n_groups, n_classes = len(figures.sizes), figures.n_classes
    dense = figures.matrix[points].toarray().reshape(-1, n_groups, n_classes)
    # Only differences to the last class are free in a group: its size is counted.
    free = (dense[:, :, :-1] - dense[:, :, -1:]).reshape(len(dense), -1)
    if not free.shape[1]:
        free = np.zeros((len(dense), 1))
    left, values, _ = np.linalg.svd(free, full_matrices=True)
    rank = int((values > 1e-9 * max(1.0, values.max(initial=0.0))).sum())
    equations = left[:, rank:].T
    return equations, equations @ (dense[:, :, -1] @ figures.sizes)


def _null_space(matrix: Floats) -> Floats:
    if not matrix.shape[0]:
        return np.eye(matrix.shape[1])
    _, values, right = np.linalg.svd(matrix, full_matrices=True)
    rank = int((values > 1e-11 * max(1e-300, values.max(initial=0.0))).sum())
    return right[rank:].T


def _cut(figures: Figures, points: Bools, x: Floats) -> tuple[tuple[Floats, float] | None, Floats]:
    """Return an inequality that all tables meet and x does not; None if a table adds up to x."""
    n_points, n_counts = len(x), figures.matrix.shape[1]
    slack = eye_array(n_points, format="csr")
    sizes = sizes_matrix(len(figures.sizes), figures.n_classes)
    none = csr_array((len(figures.sizes), 2 * n_points))
    others = figures.matrix[~points]
    ranges = vstack([others, -others], format="csr")
    limits = np.concatenate([figures.upper[~points], -figures.lower[~points]])
    aligned = csr_array((ranges.shape[0], 2 * n_points))
    result = linprog(
        np.concatenate([np.zeros(n_counts), np.ones(2 * n_points)]),
        A_ub=hstack([ranges, aligned], format="csr") if len(limits) else None,
        b_ub=limits if len(limits) else None,
        A_eq=vstack(
            [hstack([figures.matrix[points], slack, -slack]), hstack([sizes, none])], format="csr"
        ),
        b_eq=np.concatenate([x, figures.sizes]),
        method="highs",
    )
    if result.x is None:  # the ranges contradict themselves: no table at all
        return (np.zeros(n_points), -1.0), np.zeros(n_counts)
    if result.fun <= _SMALL * max(1.0, float(figures.sizes.sum())):
        return None, result.x[:n_counts]
    prices = result.eqlin.marginals[:n_points]
    return (prices, float(prices @ x) - float(result.fun)), result.x[:n_counts]


def relative_variances(figures: Figures) -> Floats:
    """Return variances by which all figures change by the same share, other things equal."""
    return ((figures.lower + figures.upper) / 2) ** 2


def rounded(figures: Figures, x: Floats, robust: Bools) -> NearestTable:
    """Return a whole table near to figures that hold together in fractions.

    Parameters
    ----------
    figures : Figures
        Their bounds are kept where they are firm.
    x : ndarray of shape (n_figures,)
        What figures should be near to.
    firm : ndarray of bool, shape (n_figures,)
        Ranges and exact figures; the others are rounded up or down.
    """
    low = np.where(robust, np.ceil(figures.lower - _SMALL), np.floor(x + _SMALL))
    high = np.where(robust, np.floor(figures.upper + _SMALL), np.ceil(x - _SMALL))
    # From the lower to the upper whole number the distance to x grows by 1 - 2 (x - low).
    slope = np.where(robust | (low == high), 0.0, 1 - 2 * (x - low))
    return nearest_table(figures.between(low, high), whole=True, slope=slope)
