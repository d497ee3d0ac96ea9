"""Duals of the totals, the best class of each row under them, and moves to other classes.

Handicaps of the totals, nearly right: the dual problem of crossing margins, smoothed.

Every total has a handicap, and a row's class is where its score plus the handicaps of all totals
that count it there is largest. The right handicaps lambda minimize the convex function

    sum_i w_i max_k (s_ik + (A' lambda)_{g(i) k}) + sum_f max(-lambda_f lo_f, -lambda_f up_f)

With both maxima smoothed at a temperature T (max becomes T log sum exp(./T)) this is Newton's
method in as many variables as there are totals, whatever the number of rows. Cooled in steps, the
handicaps come as near to the right ones as the temperature. At temperature one the same function
gives probabilities whose sums are the totals.

Moves of single rows to other classes, as the columns of a linear or integer program.

Rows stand in a class of their group. A move takes a row (or some of many equal rows) to another
class at a loss. The cheapest moves that bring all totals within their bounds are

    min  sum loss y + penalty (short + over)
    s.t. lower <= A (counts + sum of moves y) + short - over <= upper,
         sum of y over the moves of a row <= its mass,  y >= 0

Where rows stand: the best class of each by score and offset, and how far the next one is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import Bounds as Box
from scipy.optimize import LinearConstraint, linprog, milp
from scipy.sparse import csr_array, eye_array, hstack, vstack
from scipy.special import expit

from c2rf._utils.types import Bools, Codes, Floats
from c2rf.totals.bounds import LinearConstraints

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
    system: LinearConstraints,
    offsets: Floats,
    duals: Floats,
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
        duals = smooth_duals(scored, system, offsets, duals, temperature, 1e-3)
    return duals


def smooth_duals(
    scored: ScoredRows,
    system: LinearConstraints,
    offsets: Floats,
    duals: Floats,
    temperature: float,
    accuracy: float,
) -> Floats:
    """Return the handicaps with which expected sizes meet the totals at a temperature.

    The ``accuracy`` is the part of all rows by which the expected sizes may miss.
    """
    total = float(scored.weight_of(slice(None)).sum())
    here = _look(scored, system, offsets, duals, temperature)
    for _ in range(_MOST_STEPS):
        if np.abs(here.gap).max(initial=0.0) <= accuracy * total:
            break
        step = _newton_step(here)
        longest = np.abs(step).max()
        step *= min(1.0, _LONGEST_STEP * temperature / longest) if longest else 1.0
        for _ in range(_MOST_HALVINGS):
            there = _look(scored, system, offsets, duals + step, temperature)
            if there.value <= here.value + 1e-4 * float(here.gap @ step) + 1e-13 * abs(here.value):
                break
            step /= 2
        else:
            break
        duals, here = duals + step, there
    return duals


def offsets_by(system: LinearConstraints, duals: Floats, offsets: Floats) -> Floats:
    """Add the handicaps of all totals to the offsets of groups and classes."""
    return offsets + (system.matrix.T @ duals).reshape(offsets.shape)


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
    scored: ScoredRows,
    system: LinearConstraints,
    offsets: Floats,
    duals: Floats,
    temperature: float,
) -> _Look:
    value, sizes, products = expected(scored, offsets_by(system, duals, offsets), temperature)
    low, width = system.lower, system.upper - system.lower
    # max(-lambda lo, -lambda up), smoothed: the share of the width that is wanted.
    share = expit(-duals / temperature)
    wanted = low + width * share
    value += float(-duals @ low + (width * temperature) @ np.logaddexp(0, -duals / temperature))
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


MOST_NODES = 2000
"""The most nodes an integer program may take; it is the same on every machine."""


class NoAnswerError(AssertionError):
    """A solver gave up on a linear program that has an answer."""


@dataclass(frozen=True, eq=False)
class Moves:
    """Possible moves.

    Parameters
    ----------
    row : ndarray of int, shape (n_moves,)
        Which of the (distinct) rows moves.
    source, target : ndarray of int, shape (n_moves,)
        From which group and class to which, as group * n_classes + class.
    loss : ndarray of shape (n_moves,)
        What the move of a unit loses.
    mass : ndarray of shape (n_rows,)
        How many equal rows, or what weight, there is to move.
    """

    row: Codes
    source: Codes
    target: Codes
    loss: Floats
    mass: Floats

    def effect(self, system: LinearConstraints) -> csr_array:
        """Return what a unit of each move adds to each total."""
        columns = system.matrix.tocsc()
        return csr_array(columns[:, self.target] - columns[:, self.source])

    def some(self, kept: Bools) -> Moves:
        """Return only some of the moves."""
        return Moves(
            self.row[kept], self.source[kept], self.target[kept], self.loss[kept], self.mass
        )


@dataclass(frozen=True, eq=False)
class Answer:
    """How much of each move, the prices of the totals, and what is still missed.

    ``bound`` is the least that any answer loses, as far as it is proven.
    """

    amounts: Floats
    prices: Floats
    missed: float
    loss: float
    bound: float


def fractional_moves(
    moves: Moves,
    system: LinearConstraints,
    counts: Floats,
    penalty: float,
    limits: tuple[Floats, Floats] | None = None,
    scale: float | None = None,
) -> Answer:
    """Return the cheapest moves, in fractions, and the prices of the totals.

    Adding the prices to the handicaps of the totals makes them right for these rows. With
    ``limits`` there is no less and no more of each move. Losses are divided by a ``scale`` for the
    solver, whose tolerances are absolute.
    """
    found = system.matrix @ counts.ravel()
    if not len(moves.row) or not len(found):
        missed = float(np.abs(system.missed(counts)).sum())
        return Answer(0 * moves.loss, 0 * found, missed, 0.0, 0.0)
    effect = moves.effect(system)
    low, high = system.lower - found, system.upper - found
    n_totals, n_moves = effect.shape
    slack = eye_array(n_totals, format="csr")
    table = hstack([effect, slack, -slack], format="csr")
    same = low == high
    scale = scale or typical_loss(moves)
    costs = np.concatenate([moves.loss, np.full(2 * n_totals, penalty)]) / scale
    of_rows = hstack([_row_matrix(moves), csr_array((len(moves.mass), 2 * n_totals))], format="csr")
    upper_rows = [table[~same], -table[~same]]
    above = np.concatenate([high[~same], -low[~same], moves.mass])
    result = linprog(
        costs,
        A_ub=vstack([*upper_rows, of_rows], format="csr"),
        b_ub=above,
        A_eq=table[same] if same.any() else None,
        b_eq=low[same] if same.any() else None,
        bounds=_box(moves, n_totals, limits),
        method="highs",
    )
    if result.x is None:
        raise NoAnswerError(f"a linear program with slack has no answer: {result.message}")
    # A marginal is what the optimum gains by one more of the right-hand side.
    prices = np.zeros(n_totals)
    n_free = int((~same).sum())
    if same.any():
        prices[same] = result.eqlin.marginals
    prices[~same] = (
        result.ineqlin.marginals[:n_free] - result.ineqlin.marginals[n_free : 2 * n_free]
    )
    amounts = result.x[:n_moves]
    missed = float(result.x[n_moves:].sum())
    loss = float(moves.loss @ amounts)
    return Answer(amounts, scale * prices, missed, loss, loss)


def typical_loss(moves: Moves) -> float:
    """Return the median of the losses that are not zero."""
    some = moves.loss[moves.loss > 0]
    return float(np.median(some)) if len(some) else 1.0


def _box(moves: Moves, n_totals: int, limits: tuple[Floats, Floats] | None) -> Floats:
    """Return between which ends moves, and what totals are short and over, must be."""
    low, high = limits or (0 * moves.loss, moves.mass[moves.row])
    slack = np.full(2 * n_totals, np.inf)
    return np.column_stack(
        [np.concatenate([low, np.zeros(2 * n_totals)]), np.concatenate([high, slack])]
    )


def whole_moves(
    moves: Moves, system: LinearConstraints, counts: Floats, scale: float
) -> Answer | None:
    """Return the cheapest moves in whole numbers that meet all totals; None if none were found.

    Losses are divided by a scale for the solver, whose tolerances are absolute.
    """
    if not len(moves.row):
        nothing = np.empty(0)
        fits = not np.abs(system.missed(counts)).max(initial=0.0) > 0
        return Answer(nothing, nothing, 0.0, 0.0, 0.0) if fits else None
    effect, found = moves.effect(system), system.matrix @ counts.ravel()
    limits = [LinearConstraint(effect, system.lower - found, system.upper - found)]
    if len(moves.mass) < len(moves.row):
        limits.append(LinearConstraint(_row_matrix(moves), -np.inf, moves.mass))
    result = milp(
        moves.loss / scale,
        integrality=np.ones(len(moves.loss)),
        bounds=Box(0, moves.mass[moves.row]),
        constraints=limits,
        options={"mip_rel_gap": 0.0, "node_limit": MOST_NODES},
    )
    if result.x is None:
        return None
    amounts = np.rint(result.x)
    loss = float(moves.loss @ amounts)
    proven = result.status == 0
    bound = loss if proven else float(result.mip_dual_bound or 0.0) * scale
    return Answer(amounts, np.zeros(len(found)), 0.0, loss, min(bound, loss))


def _row_matrix(moves: Moves) -> csr_array:
    shape = (len(moves.mass), len(moves.row))
    each = np.arange(len(moves.row))
    return csr_array((np.ones(len(each)), (moves.row, each)), shape=shape)


@dataclass(frozen=True, eq=False)
class BestClasses:
    """The class of each row, its lead over the next best class, and the sizes in the groups."""

    labels: Codes
    leads: Floats
    counts: Floats


def stand(scored: ScoredRows, offsets: Floats) -> BestClasses:
    """Put every row where its score plus the offset of its group is largest."""
    n_rows, n_classes = scored.scores.shape
    labels = np.zeros(n_rows, dtype=np.intp)
    leads = np.empty(n_rows)
    for rows in scored.blocks():
        scores, groups = np.asarray(scored.scores[rows]), scored.groups[rows]
        best = scores[:, 0] + offsets[:, 0][groups]
        second = np.full(len(best), -np.inf)
        for k in range(1, n_classes):  # a class at a time: far quicker than sorting short rows
            worth = scores[:, k] + offsets[:, k][groups]
            labels[rows][worth > best] = k
            np.maximum(second, np.minimum(best, worth), out=second)
            np.maximum(best, worth, out=best)
        leads[rows] = best - second
    return BestClasses(labels, leads, sizes_in_groups(scored, labels, n_classes))


def sizes_in_groups(scored: ScoredRows, labels: Codes, n_classes: int) -> Floats:
    """Return the sizes of the classes in the groups; with weights, sums of them."""
    cells = np.asarray(scored.groups) * n_classes + labels
    n_cells = scored.n_groups * n_classes
    if scored.weights is None:
        found = np.bincount(cells, minlength=n_cells).astype(float)
    else:
        found = np.bincount(cells, scored.weights, minlength=n_cells)
    return found.reshape(scored.n_groups, n_classes)


@dataclass(frozen=True, eq=False)
class NearRows:
    """Rows that may move; equal ones are one.

    Parameters
    ----------
    rows : ndarray of int
        Their numbers.
    kind : ndarray of int
        Of each the number of its distinct row.
    moves : Moves
        The moves of the distinct rows.
    """

    rows: Codes
    kind: Codes
    moves: Moves


def near_rows(scored: ScoredRows, offsets: Floats, labels: Codes, rows: Codes) -> NearRows:
    """Return the moves of some rows to all classes that are open to them."""
    some, own = scored.taken(rows), labels[rows]
    n_classes = some.scores.shape[1]
    shifted = some.scores + offsets[some.groups]
    kind, first, mass = _distinct(some, own)
    table, groups, base = shifted[first], some.groups[first], own[first]
    losses = table[np.arange(len(first)), base][:, None] - table
    losses[np.arange(len(first)), base] = np.inf
    row, target = np.nonzero(np.isfinite(losses))
    start = groups[row] * n_classes
    # Rounding may have put the best class an ulp behind: no move gains anything.
    loss = np.maximum(losses[row, target], 0.0)
    return NearRows(rows, kind, Moves(row, start + base[row], start + target, loss, mass))


def _distinct(scored: ScoredRows, labels: Codes) -> tuple[Codes, Codes, Floats]:
    """Return the number of each row among the distinct ones, one row of each, and their masses."""
    if scored.weights is not None:
        each = np.arange(len(labels))
        return each, each, scored.weights
    key = np.column_stack([scored.groups, labels, scored.scores + 0.0])
    packed = np.ascontiguousarray(key).view(np.dtype((np.void, key.itemsize * key.shape[1])))
    _, first, kind, mass = np.unique(
        packed.ravel(), return_index=True, return_inverse=True, return_counts=True
    )
    return kind, first, mass.astype(float)


def moved(
    near: NearRows, moves: Moves, amounts: Floats, labels: Codes, rng: np.random.Generator
) -> Codes:
    """Return labels after whole moves; which of equal rows move is drawn."""
    labels = labels.copy()
    order = rng.permutation(len(near.rows))
    order = order[np.argsort(near.kind[order], kind="stable")]
    starts = np.searchsorted(near.kind[order], np.arange(len(near.moves.mass)))
    for m in np.flatnonzero(amounts):
        kind, amount = int(moves.row[m]), int(amounts[m])
        taken = order[starts[kind] : starts[kind] + amount]
        starts[kind] += amount
        labels[near.rows[taken]] += int(moves.target[m] - moves.source[m])
    return labels
