"""Best classes and smoothed duals; the exact gap of an assignment, against enumeration."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import softmax

from c2rf.assignment import assign, one_margin
from c2rf.assignment.duals import (
    anneal_to_few,
    annealed_duals,
    class_offsets,
    expected_sizes,
    matching_offsets,
    optimality_gap,
    smooth_duals,
)
from c2rf.assignment.parts import ScoredRows, best_classes
from c2rf.totals.bounds import Bounds, LinearConstraints, MarginBounds
from margin_cases import crossing_case


def problem(seed, n=7, classes=3, groups=2):
    """Whole scores, so that ties and sums are exact, and sizes that some labels have."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(-9, 10, (n, classes)).astype(float)
    where = rng.permutation(np.arange(n) % groups)
    some = rng.integers(0, classes, n)
    sizes = np.zeros((groups, classes), dtype=np.int64)
    np.add.at(sizes, (where, some), 1)
    return scores, where, sizes


def of_groups(scores, groups=None, n_groups=3):
    """Rows as parts of an assignment, of one group if none are given."""
    if groups is None:
        groups, n_groups = np.zeros(len(scores), dtype=int), 1
    return ScoredRows(scores, groups, None, n_groups)


def margin(lower, upper, cells=None):
    """Bounds in groups, or in cells of groups."""
    cells = np.arange(len(lower)) if cells is None else cells
    return MarginBounds((), list(range(len(lower))), cells, lower, upper)


def best_by_enumeration(scores, where, lower, upper, total=None):
    best = None
    for labels in product(range(scores.shape[1]), repeat=len(scores)):
        sizes = np.zeros_like(lower)
        np.add.at(sizes, (where, np.array(labels)), 1)
        as_in_all = total is None or (sizes.sum(axis=0) == total).all()
        if as_in_all and (sizes >= lower).all() and (sizes <= upper).all():
            value = scores[np.arange(len(scores)), labels].sum()
            best = value if best is None else max(best, value)
    return best


@pytest.mark.parametrize("seed", range(12))
def test_the_gap_is_never_below_what_enumeration_finds(seed):
    scores, where, sizes = problem(seed)
    lower, upper = np.maximum(sizes - seed % 2, 0), sizes + seed % 3
    best = best_by_enumeration(scores, where, lower, upper)
    rng = np.random.default_rng(seed)
    for _ in range(20):
        labels = rng.integers(0, 3, len(scores))
        duals = rng.integers(-6, 7, sizes.shape) / 2
        try:
            gap = optimality_gap(
                of_groups(scores, where, 2), labels, [margin(lower, upper)], [duals]
            )
        except ValueError:
            continue
        assert gap >= Fraction(best - scores[np.arange(len(scores)), labels].sum())


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_assignments_are_proven_by_their_offsets(n_classes, seed):
    """Real scores, groups with totals of their own: within rounding of ties, nothing is better."""
    rng = np.random.default_rng(seed)
    scores = np.log(rng.dirichlet(np.ones(n_classes), 400))
    where = rng.integers(0, 3, 400)
    sizes = np.zeros((3, n_classes), dtype=np.int64)
    np.add.at(sizes, (where, rng.integers(0, n_classes, 400)), 1)
    bounds = Bounds(sizes.sum(axis=0), sizes.sum(axis=0), sizes, sizes, sizes.sum(axis=1))
    found = assign(scores, bounds, where, random_state=seed)
    own, certificate = of_groups(scores, where), ([margin(sizes, sizes)], [found.offsets])
    gap = optimality_gap(own, found.labels, *certificate)
    assert 0 <= gap <= 1e-9
    # Two rows of a group that change places lose exactly what the gap says, or less.
    members = np.flatnonzero(where == 0)
    one = members[0]
    other = members[found.labels[members] != found.labels[one]][0]
    swapped = found.labels.copy()
    swapped[[one, other]] = swapped[[other, one]]
    rows = np.arange(400)
    lost = scores[rows, found.labels].sum() - scores[rows, swapped].sum()
    worse = optimality_gap(own, swapped, *certificate)
    assert worse >= lost - 1e-9


def test_margins_that_cross():
    """Totals by one grouping and by another: duals of a linear program prove its optimum."""
    rng = np.random.default_rng(0)
    n = 40
    scores = rng.integers(-50, 51, (n, 2)).astype(float)
    groupings = [rng.integers(0, 3, n), rng.integers(0, 4, n)]
    labels = rng.integers(0, 2, n)
    rows, sides, tables = [], [], []
    for where in groupings:
        sizes = np.zeros((where.max() + 1, 2), dtype=np.int64)
        np.add.at(sizes, (where, labels), 1)
        tables.append(sizes)
        rows += [(where == g).astype(float) for g in range(len(sizes))]
        sides += sizes[:, 1].tolist()
    gain = scores[:, 1] - scores[:, 0]
    answer = linprog(-gain, A_eq=np.array(rows), b_eq=np.array(sides, float), bounds=(0, 1))
    chosen = np.rint(answer.x).astype(int)
    assert np.abs(answer.x - chosen).max() < 1e-9
    duals = np.rint(answer.eqlin.marginals)
    by_first, by_second = duals[: len(tables[0])], duals[len(tables[0]) :]
    both = [np.column_stack([0 * own, own]) for own in (by_first, by_second)]
    cells = np.arange(3 * 4) // 4, np.arange(3 * 4) % 4
    margins = [margin(sizes, sizes, own) for sizes, own in zip(tables, cells, strict=True)]
    own = of_groups(scores, 4 * groupings[0] + groupings[1], 12)
    assert optimality_gap(own, chosen, margins, both) == 0
    assert optimality_gap(own, labels, margins, both) == Fraction(
        gain[chosen == 1].sum() - gain[labels == 1].sum()
    )


def test_labels_that_miss_a_bound_are_refused():
    two = margin(np.array([[2, 0]]), np.array([[2, 0]]))
    with pytest.raises(ValueError, match="do not meet the bounds"):
        optimality_gap(of_groups(np.zeros((2, 2))), np.array([0, 1]), [two], [np.zeros(2)])


def test_a_difference_below_the_rounding_of_floats_is_seen():
    """1e16 + 1 is 1e16 in floats: only exact sums see which label is better."""
    rows = of_groups(np.array([[1e16, 1e16], [0.0, 1.0]]))
    one_each = margin(np.array([[1, 1]]), np.array([[1, 1]]))
    for duals in (np.array([[0.0, 0.0]]), np.array([[1e16, 1e16]])):
        assert optimality_gap(rows, np.array([0, 1]), [one_each], [duals]) == 0
        assert optimality_gap(rows, np.array([1, 0]), [one_each], [duals]) == 1


@pytest.mark.parametrize("seed", range(12))
def test_assign_proves_its_labels(seed):
    """Ranges in groups, and overall totals that couple them, against enumeration."""
    scores, where, sizes = problem(seed)
    lower, upper = np.maximum(sizes - 1, 0), sizes + 1
    total = sizes.sum(axis=0) if seed % 2 else None
    free = np.zeros(3, dtype=np.int64), np.full(3, len(scores))
    overall = free if total is None else (total, total)
    bounds = Bounds(*overall, lower, upper, sizes.sum(axis=1))
    found = assign(scores, bounds, where, seed)
    assert found.gap == 0
    best = best_by_enumeration(scores, where, lower, upper, total)
    assert scores[np.arange(len(scores)), found.labels].sum() == best


def test_assign_does_not_claim_what_is_not_so(monkeypatch):
    """Labels that are not the best ones are found out, by how much they lose at most."""

    def swapped(*args):
        labels = honest(*args)
        one, other = np.argmax(labels == 0), np.argmax(labels == 1)
        labels[[one, other]] = labels[[other, one]]
        return labels

    honest = one_margin.label
    monkeypatch.setattr(one_margin, "label", swapped)
    scores = np.log(np.random.default_rng(0).dirichlet(np.ones(3), 60))
    bounds = Bounds.overall([20, 20, 20], [20, 20, 20], 60)
    worse = assign(scores, bounds, random_state=0)
    monkeypatch.undo()
    best = assign(scores, bounds, random_state=0)
    assert best.gap == 0
    assert worse.gap >= best.objective - worse.objective > 0


def test_best_classes_with_distances_and_sizes():
    rng = np.random.default_rng(0)
    scores, groups = rng.normal(size=(50, 4)), rng.integers(0, 3, 50)
    offsets = rng.normal(size=(3, 4))
    offsets[1, 2] = -np.inf
    found = best_classes(ScoredRows(scores, groups, None, 3), offsets)
    shifted = np.sort(scores + offsets[groups], axis=1)
    np.testing.assert_array_equal(found.labels, (scores + offsets[groups]).argmax(axis=1))
    np.testing.assert_array_equal(found.distances, shifted[:, -1] - shifted[:, -2])
    assert found.counts.sum() == 50
    assert found.counts[1, 2] == 0


def smooth_case():
    scores, groups, bounds = crossing_case(3)
    constraints = LinearConstraints.of(bounds.with_implied_bounds())
    kept = constraints.some(constraints.upper > 0)
    scored = ScoredRows(scores, groups, None, bounds.n_groups)
    return scored, kept, np.zeros(bounds.group_lower.shape)


def test_expected_sizes_meet_the_totals():
    """At temperature one, sums of probabilities are within the totals, at their ends or inside."""
    scored, constraints, offsets = smooth_case()
    exact = constraints.some(constraints.lower == constraints.upper)
    duals = smooth_duals(scored, exact, offsets, np.zeros(len(exact.lower)), 1.0, 1e-12)
    _, sizes, _ = expected_sizes(scored, class_offsets(exact, duals, offsets), 1.0)
    np.testing.assert_allclose(exact.matrix @ sizes.ravel(), exact.lower, atol=1e-8)


def test_annealed_duals_come_near_the_dual_optimum():
    """The lower the temperature, the lower the dual function without smoothing."""
    scored, constraints, offsets = smooth_case()

    def dual_function(duals):
        best = scored.scores + class_offsets(constraints, duals, offsets)[scored.groups]
        sides = np.maximum(-duals * constraints.lower, -duals * constraints.upper)
        return best.max(axis=1).sum() + sides.sum()

    none = np.zeros(len(constraints.lower))
    warm = smooth_duals(scored, constraints, offsets, none, 1.0, 1e-3)
    cold, temperature = annealed_duals(scored, constraints, offsets, none)
    colder, last = anneal_to_few(scored, constraints, offsets, cold, temperature, 2)
    assert last < temperature < 1
    assert dual_function(warm) > dual_function(cold) > dual_function(colder)


def test_matching_offsets_where_the_rows_of_a_group_leave_no_doubt():
    sure = np.log([[1e-80, 1.0], [1.0, 1e-20], [0.5, 0.5], [1.0, 1e-20], [0.99999, 1e-5]])
    rows = ScoredRows(sure, np.array([0, 0, 1, 1, 1]), None, 2)
    found = matching_offsets(rows, np.array([[1, 1], [2, 1]]))
    shares = softmax(sure + found[rows.groups], axis=1)
    np.testing.assert_allclose(shares[2:].sum(axis=0), [2, 1], atol=1e-9)


@pytest.mark.parametrize("n_groups", [1, 3])
def test_matching_offsets_give_the_known_sizes_in_every_group(n_groups):
    rng = np.random.default_rng(n_groups)
    scores, groups = 3 * rng.normal(size=(400, 3)), rng.integers(0, n_groups, 400)
    sizes = np.bincount(groups, minlength=n_groups)
    counts = sizes[:, None] * rng.dirichlet(np.ones(3), n_groups)
    counts[0] = [sizes[0] / 4, 0, 3 * sizes[0] / 4]
    found = matching_offsets(ScoredRows(scores, groups, None, n_groups), counts)
    assert found[0, 1] == -np.inf
    share = softmax(scores + found[groups], axis=1)
    for g in range(n_groups):
        np.testing.assert_allclose(share[groups == g].sum(axis=0), counts[g], atol=1e-6)
    empty = ScoredRows(scores, groups, None, n_groups + 1)
    none = matching_offsets(empty, np.vstack([counts, np.zeros(3)]))
    np.testing.assert_allclose(none, np.vstack([found, np.zeros(3)]), atol=1e-12)
    weighted = ScoredRows(scores, groups, np.full(400, 2.0), n_groups)
    np.testing.assert_allclose(matching_offsets(weighted, 2 * counts), found, atol=1e-6)
