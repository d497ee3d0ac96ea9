"""Margins that cross: the likeliest labels that meet them all.

1. *Duals*: nearly right ones by annealed smoothing (:mod:`c2rf.assignment.duals`), of many rows
   those of a sample; only rows near a decision boundary are looked at then
   (:mod:`c2rf.assignment.passes`).
2. *Relaxation*: a linear program for the rows near a decision boundary makes the duals exactly
   right. If any other row would then change its class, it joins the candidates, and again. What the
   program loses bounds all labels.
3. *Integer program*: the relaxation splits a few rows between classes. An integer program over the
   rows with the smallest losses gives first labels. No row whose loss exceeds the gap between these
   and the bound has another class in any better labels: with all others as candidates, the integer
   program finds better labels where there are any.
4. *Proof*: the gap is computed in exact arithmetic, whatever the solver returns. Where it is not
   zero, branch and bound looks through all reassignments of the rows that could matter.

A **reassignment** takes a row (or some of many equal rows) to another class of its group at a loss.
Each is a column of the linear program

    min  sum loss y + penalty (short + over)
    s.t. lower <= A (counts + sum of reassignments y) + short - over <= upper,
         sum of y over the reassignments of a row <= its mass,  y >= 0

In a node of branch and bound some columns have other limits. Whatever duals y of the totals the
linear program gives there, every whole-number solution loses at least

    sum_f min(y_f low_f, y_f high_f)  +  min over x within the limits: sum_m (loss_m - (E'y)_m) x_m

E being what reassignments add to the totals, low and high what these still need. That is computed
in fractions without rounding, so that no proof relies on a solver.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count

import numpy as np
from scipy.optimize import Bounds as Box
from scipy.optimize import LinearConstraint, linprog, milp
from scipy.sparse import csr_array, eye_array, hstack, vstack

from c2rf._utils.types import Codes, Floats
from c2rf.assignment.duals import (
    Assignment,
    anneal_to_few,
    annealed_duals,
    class_offsets,
    drop_zero_totals,
    optimality_gap,
    rounded_up,
    spread_of,
)
from c2rf.assignment.parts import BestClasses, Parts, ScoredRows, best_classes, distinct_rows
from c2rf.assignment.passes import FirstDuals, bracket, first_duals, label_all, reach
from c2rf.exceptions import BackendError
from c2rf.totals.bounds import Bounds, LinearConstraints

FEW = 2000
"""Up to this number of rows are all in the first linear program; of more, about this number."""
MOST_NODES = 2000
"""The most nodes an integer program may take; it is the same on every machine."""
MOST_WORK = 100_000
"""Nodes times columns of branch and bound, at most: it is the same on every machine."""
MOST_FREE = 2000
"""With more rows that better labels may change, the gap of the linear program stays."""
CLOSE = Fraction(1, 10**10)
"""Labels that gain less than this are not looked for."""

SOME = 1 << 16
"""The spread of scores is that of about so many rows."""

FEW_DRAWN = 8
"""Rows that are drawn of each group at least, if it has so many."""

_FIRST_WHOLE = 256
_MOST_WHOLE = 20_000
_WIDEN = 4
_PENALTY = 1e3
_WHOLE = 1e-6
_ROUNDING = 1e-12


def label_crossing(parts: Parts, bounds: Bounds, seed: int) -> Assignment:
    """Return the classes with the highest total score that meet all bounds.

    Parameters
    ----------
    parts : Parts
        The rows, without weights.
    bounds : Bounds
        They can be met in whole numbers.
    seed : int
        Draws the sample, and which of equal rows change their class.
    """
    first, near, relaxed, labels = next(
        (first, near, relaxed, labels)
        for first, near, relaxed in relaxations(parts, bounds, seed)
        if (labels := _whole_labels(relaxed, seed)) is not None and first.hold(near, labels)
    )
    labels, gap = close_gap(relaxed, labels, seed)
    counts = near.counts(labels).astype(np.int64)
    if LinearConstraints.of(bounds).missed(counts).any():
        raise _not_met()
    tables = [
        own[margin.codes]
        for margin, own in zip(relaxed.bounds.all_margins(), relaxed.of_margins(), strict=True)
    ]
    every, total, missed = label_all(parts, first, near, labels, tables)
    return Assignment(every, relaxed.offsets, counts, total, rounded_up(gap + missed))


def _whole_labels(relaxed: Relaxation, seed: int) -> Codes | None:
    """Return labels that meet all totals; None if more rows are needed for that."""
    best, n_rows = relaxed.best, relaxed.scored.n_rows
    order = np.argsort(best.distances, kind="stable")
    n_free = min(_FIRST_WHOLE, n_rows)
    while True:
        near = candidate_rows(relaxed.scored, relaxed.offsets, best.labels, np.sort(order[:n_free]))
        columns = near.columns.with_ranges(relaxed.constraints, relaxed.duals)
        scale = typical_loss(near.columns) * 1e-3
        amounts = solve_integer(columns, relaxed.constraints, best.counts, scale)
        if amounts is None:
            if n_free == n_rows:
                if relaxed.scored.is_alone:
                    raise _not_met()
                return None
            n_free = min(_WIDEN * n_free, n_rows)
            continue
        labels = near.reassigned(amounts, best.labels, np.random.default_rng([seed, 6]))
        needed = len(relaxed.movable(relaxed.gap(labels)))
        if needed <= n_free or n_free >= _MOST_WHOLE:
            return labels
        n_free = min(needed, max(_MOST_WHOLE, n_free + 1))


@dataclass(frozen=True, eq=False)
class Reassignments:
    """Possible reassignments of rows to other classes: the columns of a linear program.

    Parameters
    ----------
    row : ndarray of int, shape (n_columns,)
        Which of the (distinct) rows is reassigned.
    source, target : ndarray of int, shape (n_columns,)
        From which group and class to which, as group * n_classes + class.
    loss : ndarray of shape (n_columns,)
        What the reassignment of a unit loses.
    mass : ndarray of shape (n_rows,)
        How many equal rows, or what weight, there is to reassign.
    """

    row: Codes
    source: Codes
    target: Codes
    loss: Floats
    mass: Floats

    def effect(self, constraints: LinearConstraints) -> csr_array:
        """Return what a unit of each column adds to each total."""
        matrix = constraints.matrix.tocsc()
        return csr_array(matrix[:, self.target] - matrix[:, self.source])

    def with_ranges(self, constraints: LinearConstraints, duals: Floats) -> Reassignments:
        """Add to the losses the duals of ranges: what leaving the active bound costs."""
        ranges = range_duals(constraints, duals)
        return replace(self, loss=self.loss + self.effect(constraints).T @ ranges)


def range_duals(constraints: LinearConstraints, duals: Floats) -> Floats:
    """Return the duals of totals that are ranges, zero for the others."""
    return np.where(constraints.lower < constraints.upper, duals, 0.0)


@dataclass(frozen=True, eq=False)
class CandidateRows:
    """Rows that may be reassigned; equal rows are merged to one.

    Parameters
    ----------
    rows : ndarray of int
        Their numbers.
    kind : ndarray of int
        Of each the number of its distinct row.
    columns : Reassignments
        Of the distinct rows.
    """

    rows: Codes
    kind: Codes
    columns: Reassignments

    def reassigned(self, amounts: Floats, labels: Codes, rng: np.random.Generator) -> Codes:
        """Return labels after whole reassignments; which of equal rows change is drawn."""
        labels, columns = labels.copy(), self.columns
        order = rng.permutation(len(self.rows))
        order = order[np.argsort(self.kind[order], kind="stable")]
        starts = np.searchsorted(self.kind[order], np.arange(len(columns.mass)))
        for m in np.flatnonzero(amounts):
            kind, amount = int(columns.row[m]), int(amounts[m])
            taken = order[starts[kind] : starts[kind] + amount]
            starts[kind] += amount
            labels[self.rows[taken]] += int(columns.target[m] - columns.source[m])
        return labels

    def amounts(self, before: Codes, after: Codes) -> Floats:
        """Return how much of each column turns labels into others."""
        columns = self.columns
        number = {
            (row, step): m
            for m, (row, step) in enumerate(
                zip(columns.row.tolist(), (columns.target - columns.source).tolist(), strict=True)
            )
        }
        amounts = np.zeros(len(columns.row))
        steps = (after - before)[self.rows]
        changed = steps != 0
        for kind, step in zip(self.kind[changed].tolist(), steps[changed].tolist(), strict=True):
            amounts[number[kind, step]] += 1
        return amounts


def candidate_rows(
    scored: ScoredRows, offsets: Floats, labels: Codes, rows: Codes
) -> CandidateRows:
    """Return the reassignments of some rows to all classes that are open to them."""
    some, own = scored.taken(rows), labels[rows]
    n_classes = some.scores.shape[1]
    shifted = some.scores + offsets[some.groups]
    kind, first, mass = _distinct(some, own)
    table, groups, base = shifted[first], some.groups[first], own[first]
    losses = table[np.arange(len(first)), base][:, None] - table
    losses[np.arange(len(first)), base] = np.inf
    row, target = np.nonzero(np.isfinite(losses))
    start = groups[row] * n_classes
    # Rounding may have put the best class an ulp behind: no reassignment gains anything.
    loss = np.maximum(losses[row, target], 0.0)
    columns = Reassignments(row, start + base[row], start + target, loss, mass)
    return CandidateRows(rows, kind, columns)


def _distinct(scored: ScoredRows, labels: Codes) -> tuple[Codes, Codes, Floats]:
    """Return the number of each row among the distinct ones, one row of each, and their masses."""
    if scored.weights is not None:
        each = np.arange(len(labels))
        return each, each, scored.weights
    table = np.column_stack([scored.groups, labels, scored.scores + 0.0])
    first, kind, mass = distinct_rows(table)
    return kind, first, mass.astype(float)


def _not_met() -> BackendError:
    return BackendError(
        "the solver found no labels that meet all totals, although there are some; give ranges "
        "instead of exact totals, or fewer tables of totals"
    )


def solve_relaxation(
    columns: Reassignments,
    constraints: LinearConstraints,
    counts: Floats,
    penalty: float,
    limits: tuple[Floats, Floats] | None = None,
    scale: float | None = None,
) -> tuple[Floats, Floats, float]:
    """Return the cheapest amounts in fractions, the duals of totals, and what is still missed.

    Adding these duals to those of the totals so far makes them right for these rows. With
    ``limits`` there is no less and no more of each column. Losses are divided by a ``scale`` for
    the solver, whose tolerances are absolute.
    """
    found = constraints.matrix @ counts.ravel()
    if not len(columns.row) or not len(found):
        return 0 * columns.loss, 0 * found, float(np.abs(constraints.missed(counts)).sum())
    effect = columns.effect(constraints)
    low, high = constraints.lower - found, constraints.upper - found
    n_totals, n_columns = effect.shape
    slack = eye_array(n_totals, format="csr")
    table = hstack([effect, slack, -slack], format="csr")
    same = low == high
    scale = scale or typical_loss(columns)
    costs = np.concatenate([columns.loss, np.full(2 * n_totals, penalty)]) / scale
    no_slack = csr_array((len(columns.mass), 2 * n_totals))
    of_rows = hstack([_row_matrix(columns), no_slack], format="csr")
    least, most = limits or (0 * columns.loss, columns.mass[columns.row])
    box = [
        np.concatenate([least, np.zeros(2 * n_totals)]),
        np.concatenate([most, np.full(2 * n_totals, np.inf)]),
    ]
    result = linprog(
        costs,
        A_ub=vstack([table[~same], -table[~same], of_rows], format="csr"),
        b_ub=np.concatenate([high[~same], -low[~same], columns.mass]),
        A_eq=table[same] if same.any() else None,
        b_eq=low[same] if same.any() else None,
        bounds=np.column_stack(box),
        method="highs",
    )
    if result.x is None:
        raise BackendError(f"a linear program with slack has no answer: {result.message}")
    # A marginal is what the optimum gains by one more of the right-hand side.
    duals, marginals = np.zeros(n_totals), result.ineqlin.marginals
    n_free = int((~same).sum())
    if same.any():
        duals[same] = result.eqlin.marginals
    duals[~same] = marginals[:n_free] - marginals[n_free : 2 * n_free]
    return result.x[:n_columns], scale * duals, float(result.x[n_columns:].sum())


def solve_integer(
    columns: Reassignments, constraints: LinearConstraints, counts: Floats, scale: float
) -> Floats | None:
    """Return the cheapest whole amounts that meet all totals; None if none were found.

    Losses are divided by a scale for the solver, whose tolerances are absolute.
    """
    if not len(columns.row):
        return None if np.abs(constraints.missed(counts)).max(initial=0.0) > 0 else np.empty(0)
    effect, found = columns.effect(constraints), constraints.matrix @ counts.ravel()
    limits = [LinearConstraint(effect, constraints.lower - found, constraints.upper - found)]
    if len(columns.mass) < len(columns.row):
        limits.append(LinearConstraint(_row_matrix(columns), -np.inf, columns.mass))
    result = milp(
        columns.loss / scale,
        integrality=np.ones(len(columns.loss)),
        bounds=Box(0, columns.mass[columns.row]),
        constraints=limits,
        options={"mip_rel_gap": 0.0, "node_limit": MOST_NODES},
    )
    return None if result.x is None else np.rint(result.x)


def typical_loss(columns: Reassignments) -> float:
    """Return the median of the losses that are not zero."""
    some = columns.loss[columns.loss > 0]
    return float(np.median(some)) if len(some) else 1.0


def _row_matrix(columns: Reassignments) -> csr_array:
    """Return the matrix that adds up the columns of each row."""
    shape = (len(columns.mass), len(columns.row))
    each = np.arange(len(columns.row))
    return csr_array((np.ones(len(each)), (columns.row, each)), shape=shape)


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The optimum in fractions of rows, and what its duals say of any labels.

    Parameters
    ----------
    scored : ScoredRows
        The rows.
    bounds : Bounds
        The totals, with what they imply.
    constraints : LinearConstraints
        Those of them that are not zero.
    duals : ndarray of shape (n_totals,)
        Of the constraints.
    offsets : ndarray of shape (n_groups, n_classes)
        What the duals add up to, as floats.
    best : BestClasses
        The best classes by these offsets: right for all rows but those that are split.
    candidates : CandidateRows
        The rows of the linear program.
    amounts : ndarray
        How much of each of their columns.
    before : ndarray of int, shape (n_rows,)
        The labels that those reassignments begin from.
    """

    scored: ScoredRows
    bounds: Bounds
    constraints: LinearConstraints
    duals: Floats
    offsets: Floats
    best: BestClasses
    candidates: CandidateRows
    amounts: Floats
    before: Codes

    def of_margins(self) -> list[Floats]:
        """Return the duals of each margin, in the order of :meth:`Bounds.all_margins`."""
        margins = self.bounds.all_margins()
        duals = [np.zeros(margin.lower.shape) for margin in margins]
        for dual, (number, cell, k) in zip(self.duals, self.constraints.places, strict=True):
            duals[number][cell, k] = dual
        full = LinearConstraints.of(self.bounds)
        for number, cell, k in full.places[full.upper <= 0]:
            duals[number][cell, k] = -np.inf
        return duals

    def gap(self, labels: Codes) -> Fraction:
        """Return what no labels gain over these, which must meet all totals.

        All rows elsewhere count as being in their best class.
        """
        return optimality_gap(self.scored, labels, self.bounds.all_margins(), self.of_margins())

    def movable(self, gap: Fraction) -> Codes:
        """Return the rows that may change in labels that are better by up to a gap."""
        finite = self.offsets[np.isfinite(self.offsets)]
        size = np.abs(self.scored.scores).max() + np.abs(finite).max(initial=0.0)
        return np.flatnonzero(self.best.distances <= float(gap) * (1 + 1e-9) + _ROUNDING * size)

    def program(self, near: CandidateRows) -> IntegerProgram:
        """Return the integer program of some rows, with all others in their best class."""
        columns, n_classes = near.columns, self.scored.scores.shape[1]
        _, first = np.unique(near.kind, return_index=True)
        scores = np.asarray(self.scored.scores)[near.rows[first]]
        pairs = zip(
            scores[columns.row, columns.source % n_classes].tolist(),
            scores[columns.row, columns.target % n_classes].tolist(),
            strict=True,
        )
        losses = [Fraction(own) - Fraction(other) for own, other in pairs]
        shifted = columns.with_ranges(self.constraints, self.duals)
        duals = self.duals - range_duals(self.constraints, self.duals)
        return IntegerProgram(shifted, losses, duals, self.constraints, self.best.counts)


def relaxations(
    parts: Parts, bounds: Bounds, seed: int
) -> Iterator[tuple[FirstDuals, ScoredRows, Relaxation]]:
    """Yield the relaxation of the rows near the boundaries, and then of more and more of them.

    With it come the duals by which these rows were found, and the rows. Those of weight zero are
    not in the relaxation.
    """
    first, is_moved = first_duals(parts, bounds, seed, FEW_DRAWN), False
    while True:
        near = bracket(parts, first)
        counting = near if near.weights is None else near.taken(np.flatnonzero(near.weights > 0))
        relaxed = relax(counting, bounds, first)
        if relaxed is None:
            first = first.widened()
        elif reach(near.elsewhere, relaxed.offsets) > 0:
            yield first, near, relaxed
            first = first.widened()
        else:  # rows elsewhere would change: their own bracket is around the better duals
            first = first if not is_moved else first.widened()
            first, is_moved = first._replace(duals=relaxed.duals, offsets=relaxed.offsets), True


def relax(scored: ScoredRows, bounds: Bounds, first: FirstDuals) -> Relaxation | None:
    """Return the optimum in fractions of rows, with all rows elsewhere in the class they have.

    None if the totals cannot be met so.
    """
    known = bounds.with_implied_bounds()
    constraints, closed = drop_zero_totals(LinearConstraints.of(known), known)
    # Of weights, what totals imply may be off by rounding.
    least = np.minimum(constraints.lower, constraints.upper)
    constraints = constraints.between(least, constraints.upper)
    offsets, radius, duals = _first_offsets(scored, constraints, closed, first)
    best = best_classes(scored, offsets)
    near = best.distances <= radius
    some = scored.taken(np.arange(0, len(near), max(1, len(near) // SOME)))
    spread, total = spread_of(some), float(known.group_sizes.sum())
    penalty = 4 * spread
    while True:
        own = candidate_rows(scored, offsets, best.labels, np.flatnonzero(near))
        columns = own.columns.with_ranges(constraints, duals)
        amounts, more, missed = solve_relaxation(columns, constraints, best.counts, penalty)
        more -= range_duals(constraints, duals)
        if missed > 1e-9 * total:
            if near.all():
                if not scored.is_alone:
                    return None
                # Chains of reassignments may cost more than the penalty.
                if penalty > 1e6 * spread:
                    raise _not_met()
                penalty *= 8
            # Where totals are not met, these duals are not used: more rows, same offsets.
            radius *= _WIDEN
            near |= best.distances <= radius
            continue
        better = class_offsets(constraints, more, offsets)
        again = best_classes(scored, better)
        elsewhere = (again.labels != best.labels) & ~near
        if not elsewhere.any():
            break
        near |= elsewhere | (again.distances <= radius)
        offsets, duals, best = better, duals + more, again
    return Relaxation(
        scored, known, constraints, duals + more, better, again, own, amounts, best.labels
    )


def _first_offsets(
    scored: ScoredRows, constraints: LinearConstraints, closed: Floats, first: FirstDuals
) -> tuple[Floats, float, Floats]:
    """Return nearly right offsets, the candidate radius around the boundary, and the duals."""
    duals, temperature = first.duals, first.temperature
    if temperature is None and scored.n_rows <= FEW:
        return closed, np.inf, duals
    if temperature is None:
        duals, temperature = annealed_duals(scored, constraints, closed, duals)
    duals, last = anneal_to_few(scored, constraints, closed, duals, temperature, FEW)
    return class_offsets(constraints, duals, closed), 4 * last, duals


def close_gap(relaxed: Relaxation, labels: Codes, seed: int) -> tuple[Codes, Fraction]:
    """Return the labels, or better ones, and what no others gain over them.

    Parameters
    ----------
    relaxed : Relaxation
        The rows and their duals.
    labels : ndarray of int, shape (n_rows,)
        They meet all totals.
    seed : int
        Draws which of equal rows change their class.
    """
    gap = relaxed.gap(labels)
    rows = relaxed.movable(gap)
    # Rows elsewhere cannot change in better labels if they are farther from a boundary than that.
    rest = relaxed.scored.elsewhere
    is_far = gap < reach(rest, relaxed.offsets) and not (rest and rest.n_split)
    if gap <= CLOSE or len(rows) > MOST_FREE or not is_far:
        return labels, gap
    before = relaxed.best.labels
    near = candidate_rows(relaxed.scored, relaxed.offsets, before, rows)
    known = near.amounts(before, labels)
    if not len(known) or (np.delete(labels != before, rows)).any():
        return labels, gap
    amounts, left = branch_and_bound(relaxed.program(near), known)
    if not np.array_equal(amounts, known):
        labels = near.reassigned(amounts, before, np.random.default_rng([seed, 7]))
    return labels, min(left, relaxed.gap(labels))


@dataclass(frozen=True, eq=False)
class IntegerProgram:
    """Reassignments in whole numbers, and what they lose, exactly.

    Parameters
    ----------
    columns : Reassignments
        Their losses are those at the duals so far, as floats.
    losses : list of Fraction
        What a unit of each column loses in total score.
    duals : ndarray of shape (n_totals,)
        Of the totals so far; zero where a total is a range.
    constraints : LinearConstraints
        The totals.
    counts : ndarray of shape (n_groups, n_classes)
        Sizes before any reassignment.
    """

    columns: Reassignments
    losses: list[Fraction]
    duals: Floats
    constraints: LinearConstraints
    counts: Floats

    def loss(self, amounts: Floats) -> Fraction:
        """Return what whole amounts lose in all."""
        return sum((self.losses[m] * int(amounts[m]) for m in np.flatnonzero(amounts)), Fraction(0))

    def meets(self, amounts: Floats) -> bool:
        """Say whether whole amounts meet all totals."""
        change = self.columns.effect(self.constraints) @ amounts
        found = self.constraints.matrix @ self.counts.ravel() + change
        taken = np.bincount(self.columns.row, amounts, minlength=len(self.columns.mass))
        inside = (found >= self.constraints.lower) & (found <= self.constraints.upper)
        return bool(inside.all() and (taken <= self.columns.mass).all() and (amounts >= 0).all())


@dataclass(frozen=True, eq=False)
class Node:
    """A node of branch and bound: bounds on the amount of each column."""

    low: Floats
    high: Floats

    def branches(self, m: int, amount: float) -> tuple[Node, Node]:
        """Return the two nodes in which a column is rounded down at most, and up at least."""
        high, low = self.high.copy(), self.low.copy()
        high[m], low[m] = np.floor(amount), np.floor(amount) + 1
        return Node(self.low, high), Node(low, self.high)

    def fits(self, columns: Reassignments) -> bool:
        """Say whether the lower bounds reassign no more rows than there are."""
        least = np.bincount(columns.row, self.low, minlength=len(columns.mass))
        return bool((least <= columns.mass).all() and (self.low <= self.high).all())


def branch_and_bound(program: IntegerProgram, known: Floats) -> tuple[Floats, Fraction]:
    """Return the best amounts found, and what no others gain more than; 0 for a full proof.

    Parameters
    ----------
    program : IntegerProgram
        The reassignments.
    known : ndarray of shape (n_columns,)
        Whole amounts that meet all totals.
    """
    best, least = known, program.loss(known)
    number, work = count(), 0
    root = Node(np.zeros(len(known)), program.columns.mass[program.columns.row])
    left = [(exact_bound(program, root, program.duals), next(number), root)]
    closed = [least]
    while left and work < MOST_WORK:
        bound, _, node = heapq.heappop(left)
        if bound >= least - CLOSE:
            closed.append(bound)
            continue
        work += len(known)
        try:
            amounts, duals = _node_relaxation(program, node, float(least - bound))
        except BackendError:  # the solver gave up: what is proven of the node stays
            closed.append(bound)
            continue
        bound = max(bound, exact_bound(program, node, duals))
        whole = np.rint(amounts)
        if program.meets(whole) and program.loss(whole) < least:
            best, least = whole, program.loss(whole)
        split = np.abs(amounts - whole)
        if bound >= least - CLOSE or split.max() <= _WHOLE:
            closed.append(bound)
            continue
        m = int(split.argmax())
        for branch in node.branches(m, float(amounts[m])):
            if branch.fits(program.columns):
                heapq.heappush(left, (bound, next(number), branch))
    bounds = [*closed, *(bound for bound, _, _ in left)]
    return best, max(least - min(bounds), Fraction(0))


def _node_relaxation(program: IntegerProgram, node: Node, gap: float) -> tuple[Floats, Floats]:
    """Return amounts in fractions, and duals that need be right to a part of the gap only."""
    columns, limits = program.columns, (node.low, node.high)
    penalty = _PENALTY * float(columns.loss.max(initial=0.0))
    amounts, more, _ = solve_relaxation(
        columns, program.constraints, program.counts, penalty, limits, gap / 16
    )
    return amounts, program.duals + more


def exact_bound(program: IntegerProgram, node: Node, duals: Floats) -> Fraction:
    """Return what all whole amounts of a node lose at least, by any duals of the totals."""
    constraints, columns = program.constraints, program.columns
    found = constraints.matrix @ program.counts.ravel()
    exact = [Fraction(float(dual)) for dual in duals]
    low, high = (constraints.lower - found).tolist(), (constraints.upper - found).tolist()
    needs = zip(exact, low, high, strict=True)
    total = sum((min(y * int(lo), y * int(hi)) for y, lo, hi in needs if y), Fraction(0))
    effect = columns.effect(constraints).tocsc()
    reduced: list[list[tuple[Fraction, int, int]]] = [[] for _ in columns.mass]
    for m, loss in enumerate(program.losses):
        own = slice(effect.indptr[m], effect.indptr[m + 1])
        for f, each in zip(effect.indices[own].tolist(), effect.data[own].tolist(), strict=True):
            loss -= exact[f] * int(each)
        reduced[columns.row[m]].append((loss, int(node.low[m]), int(node.high[m])))
    rows = zip(reduced, columns.mass.tolist(), strict=True)
    return total + sum((_cheapest(own, int(mass)) for own, mass in rows), Fraction(0))


def _cheapest(columns: list[tuple[Fraction, int, int]], mass: int) -> Fraction:
    """Return the least that the columns of one row (or of equal ones) lose."""
    left = mass - sum(low for _, low, _ in columns)
    total = sum((loss * low for loss, low, _ in columns), Fraction(0))
    for loss, low, high in sorted(columns):
        if loss >= 0 or not left:
            break
        more = min(left, high - low)
        total += loss * more
        left -= more
    return total
