"""Handicaps of the totals, nearly right: the dual problem of crossing margins, smoothed.

Every total has a handicap, and a row's class is where its score plus the handicaps of all totals
that count it there is largest. The right handicaps lambda minimize the convex function

    sum_i w_i max_k (s_ik + (A' lambda)_{g(i) k}) + sum_f max(-lambda_f lo_f, -lambda_f up_f)

With both maxima smoothed at a temperature T (max becomes T log sum exp(./T)) this is Newton's
method in as many variables as there are totals, whatever the number of rows. Cooled in steps, the
handicaps come as near to the right ones as the temperature. At temperature one the same function
gives probabilities whose sums are the totals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse import csr_array
from scipy.special import expit

from c2rf._typing import Codes, Floats
from c2rf.totals.system import System

_BLOCK = 1 << 16
_MOST_STEPS = 60
# Far from the solution the curvature says little: no step goes further than this many degrees.
_LONGEST_STEP = 20.0
_MOST_HALVINGS = 30


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Rows that are to be labeled: their scores, groups and weights.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
        Finite scores; they may be mapped from disk.
    groups : ndarray of int, shape (n_rows,)
        The group of each row.
    weights : ndarray of shape (n_rows,) or None
        How much a row counts; None for one each.
    n_groups : int
        Number of groups.
    """

    scores: Floats
    groups: Codes
    weights: Floats | None
    n_groups: int

    def blocks(self) -> list[slice]:
        """Return parts of the rows, some at a time."""
        return [slice(k, k + _BLOCK) for k in range(0, len(self.scores), _BLOCK)]

    def taken(self, rows: Codes) -> ScoredRows:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        return ScoredRows(self.scores[rows], np.asarray(self.groups[rows]), weights, self.n_groups)

    def weight_of(self, rows: slice | Codes) -> Floats:
        """Return the weights of some rows."""
        if self.weights is None:
            return np.ones(len(self.groups[rows]))
        return self.weights[rows]


def cooled(
    scored: ScoredRows,
    system: System,
    offsets: Floats,
    handicaps: Floats,
    temperatures: list[float],
) -> Floats:
    """Return handicaps near the right ones.

    Parameters
    ----------
    scored : ScoredRows
        The rows.
    system : System
        The totals.
    offsets : ndarray of shape (n_groups, n_classes)
        Added to all scores; -inf forbids a class in a group.
    handicaps : ndarray of shape (n_totals,)
        To begin with.
    temperatures : list of float
        One after the other.
    """
    for temperature in temperatures:
        handicaps = smooth_handicaps(scored, system, offsets, handicaps, temperature, 1e-3)
    return handicaps


def smooth_handicaps(
    scored: ScoredRows,
    system: System,
    offsets: Floats,
    handicaps: Floats,
    temperature: float,
    accuracy: float,
) -> Floats:
    """Return the handicaps with which expected sizes meet the totals at a temperature.

    The ``accuracy`` is the part of all rows by which the expected sizes may miss.
    """
    total = float(scored.weight_of(slice(None)).sum())
    here = _look(scored, system, offsets, handicaps, temperature)
    for _ in range(_MOST_STEPS):
        if np.abs(here.gap).max(initial=0.0) <= accuracy * total:
            break
        step = _newton_step(here)
        longest = np.abs(step).max()
        step *= min(1.0, _LONGEST_STEP * temperature / longest) if longest else 1.0
        for _ in range(_MOST_HALVINGS):
            there = _look(scored, system, offsets, handicaps + step, temperature)
            if there.value <= here.value + 1e-4 * float(here.gap @ step) + 1e-13 * abs(here.value):
                break
            step /= 2
        else:
            break
        handicaps, here = handicaps + step, there
    return handicaps


def offsets_by(system: System, handicaps: Floats, offsets: Floats) -> Floats:
    """Add the handicaps of all totals to the offsets of groups and classes."""
    return offsets + (system.matrix.T @ handicaps).reshape(offsets.shape)


@dataclass(frozen=True, eq=False)
class _Look:
    """The smoothed function, its gradient and its curvature."""

    value: float
    gap: Floats
    curvature: Floats


def _newton_step(here: _Look) -> Floats:
    # Handicaps that shift all classes of a row alike change nothing: those directions are flat.
    scale = np.abs(np.diag(here.curvature)).max(initial=0.0)
    damped = here.curvature + (1e-10 * scale + 1e-300) * np.eye(len(here.gap))
    try:
        return -cho_solve(cho_factor(damped, check_finite=False), here.gap, check_finite=False)
    except LinAlgError:  # flat to rounding
        return -np.linalg.lstsq(damped, here.gap, rcond=1e-12)[0]


def _look(
    scored: ScoredRows, system: System, offsets: Floats, handicaps: Floats, temperature: float
) -> _Look:
    value, sizes, products = expected(scored, offsets_by(system, handicaps, offsets), temperature)
    low, width = system.lower, system.upper - system.lower
    # max(-lambda lo, -lambda up), smoothed: the share of the width that is wanted.
    share = expit(-handicaps / temperature)
    wanted = low + width * share
    value += float(
        -handicaps @ low + (width * temperature) @ np.logaddexp(0, -handicaps / temperature)
    )
    blocks = _block_diagonal(sizes, products) / temperature
    curvature = (system.matrix @ blocks @ system.matrix.T).toarray()
    curvature += np.diag(width * share * (1 - share) / temperature)
    return _Look(value, system.matrix @ sizes.ravel() - wanted, curvature)


def expected(
    scored: ScoredRows, offsets: Floats, temperature: float
) -> tuple[float, Floats, Floats]:
    """Return T log sum exp of all rows, the expected sizes, and sums of products of shares.

    The products are of shape (n_groups, n_classes, n_classes).
    """
    n_groups, n_classes = offsets.shape
    value, sizes = 0.0, np.zeros((n_classes, n_groups))
    products = np.zeros((n_classes, n_classes, n_groups))
    for rows in scored.blocks():
        members, weights = scored.groups[rows], scored.weight_of(rows)
        shifted = (np.asarray(scored.scores[rows]) + offsets[members]).T / temperature
        top = shifted.max(axis=0)
        share = np.exp(shifted - top)
        total = share.sum(axis=0)
        share /= total
        value += temperature * float(weights @ (top + np.log(total)))
        for a in range(n_classes):
            part = share[a] * weights
            sizes[a] += np.bincount(members, part, minlength=n_groups)
            for b in range(a, n_classes):
                products[a, b] += np.bincount(members, part * share[b], minlength=n_groups)
    for a in range(n_classes):
        products[a + 1 :, a] = products[a, a + 1 :]
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
