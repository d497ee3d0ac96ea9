"""Margins that cross, against a second solver; what is claimed is true whatever solvers say."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from c2rf.assignment import assign, passes
from c2rf.assignment import crossing_margins as crossing
from c2rf.assignment.crossing_margins import (
    IntegerProgram,
    Node,
    Reassignments,
    branch_and_bound,
    exact_bound,
)
from c2rf.exceptions import BackendError
from c2rf.totals.bounds import Bounds, LinearConstraints, MarginBounds
from c2rf.totals.reconcile import nearest_table
from margin_cases import best_objective, crossing_case, large_case


def is_possible(bounds):
    constraints = LinearConstraints.of(bounds)
    if (constraints.lower > constraints.upper).any():  # more than there are rows
        return False
    _, missed, _ = nearest_table(constraints, whole=True)
    return not missed.any()


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_the_best_labels_as_a_second_solver_finds_them(first):
    claimed = 0
    cases = [crossing_case(seed) for seed in range(first, first + 20)]
    possible = [case for case in cases if is_possible(case[2])]
    for scores, groups, bounds in cases:
        assert (best_objective(scores, groups, bounds) is not None) == is_possible(bounds)
    for scores, groups, bounds in possible:
        found = assign(scores, bounds, groups, 0)
        best = best_objective(scores, groups, bounds)
        assert not LinearConstraints.of(bounds).missed(found.counts).any()
        assert found.objective >= best - found.gap - 1e-9
        assert found.objective <= best + 1e-9
        claimed += found.gap <= 1e-9
    assert claimed >= 0.99 * len(possible)


def test_many_rows_as_few(monkeypatch):
    """Starting near the boundary or with all rows in one linear program: the same optimum."""
    scores, groups, bounds = large_case()
    quick = assign(scores, bounds, groups, 0)
    monkeypatch.setattr(crossing, "FEW", len(scores))
    whole = assign(scores, bounds, groups, 0)
    assert max(quick.gap, whole.gap) <= 1e-9
    assert quick.objective == pytest.approx(whole.objective, abs=1e-9)


@pytest.mark.parametrize("width", [0.1, 0.6])
def test_wide_ranges_are_proven_as_well(width):
    """The first duals of a range may be far off: what they say is no part of the program."""
    scores, groups, bounds = large_case(width=width)
    assert assign(scores, bounds, groups, 0).gap <= 1e-9


def test_a_sample_of_the_rows_gives_the_start(monkeypatch):
    scores, groups, bounds = large_case()
    best = assign(scores, bounds, groups, 0).objective
    monkeypatch.setattr(passes, "FEW", 2000)
    monkeypatch.setattr(passes, "SAMPLE", 1000)
    assert assign(scores, bounds, groups, 0).objective == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("share", [0.01, 1.0])
def test_most_cells_without_any_row_of_a_class(share):
    """Where only one class is open, rows are infinitely far from any boundary."""
    rng = np.random.default_rng(0)
    n = 3000
    first, second = rng.integers(4, size=(2, n))
    groups = first * 4 + second
    scores = np.log(rng.dirichlet(np.ones(2), size=n))
    truth = (first == 0) & (second == 0) & (rng.random(n) < share)
    counts = np.zeros((16, 2), dtype=np.int64)
    np.add.at(counts, (groups, truth.astype(int)), 1)
    _, _, example = crossing_case(0)
    margins = []
    for cells in (np.arange(16) // 4, np.arange(16) % 4):
        margin = replace(example.margins[0], names=list(range(4)), codes=cells)
        total = margin.sums(counts)
        margins.append(replace(margin, lower=total, upper=total))
    sizes, free = counts.sum(axis=1), 0 * counts
    everything = np.zeros(2, dtype=np.int64), np.full(2, n)
    bounds = Bounds(*everything, free, free + sizes[:, None], sizes, tuple(margins))
    found = assign(scores, bounds, groups, 0)
    assert not LinearConstraints.of(bounds).missed(found.counts).any()
    assert found.gap <= 1e-9
    weighted = assign(scores, bounds, groups, 0, np.full(n, 1.0))
    assert weighted.missed == 0


# Of these cases the linear program splits rows: the best labels are below its bound.
SPLIT = (128, 143)


@pytest.mark.parametrize("seed", SPLIT)
def test_split_rows_are_proven_by_branching(seed, monkeypatch):
    scores, groups, bounds = crossing_case(seed)
    best = best_objective(scores, groups, bounds)
    found = assign(scores, bounds, groups, 0)
    assert found.gap <= 1e-9
    assert found.objective == pytest.approx(best, abs=1e-9)
    monkeypatch.setattr(crossing, "MOST_WORK", 0)  # without it, only the linear bound is known
    linear = assign(scores, bounds, groups, 0)
    assert linear.gap > 0.1
    assert linear.objective + linear.gap >= best


@pytest.mark.parametrize("seed", [0, 5, 128, 143])
def test_a_poor_first_answer_is_made_better_or_the_gap_says_so(seed, monkeypatch):
    """The integer program is replaced by one that takes the first answer it finds."""
    scores, groups, bounds = crossing_case(seed)
    honest = crossing.solve_integer

    def worst(own, constraints, counts, scale):
        return honest(replace(own, loss=-own.loss), constraints, counts, scale)

    monkeypatch.setattr(crossing, "solve_integer", worst)
    best = best_objective(scores, groups, bounds)
    found = assign(scores, bounds, groups, 0)
    assert not LinearConstraints.of(bounds).missed(found.counts).any()
    assert best - 1e-9 <= found.objective + found.gap
    if found.gap <= 1e-9:
        assert found.objective == pytest.approx(best, abs=1e-9)


def test_a_solver_that_finds_no_labels_is_named(monkeypatch):
    monkeypatch.setattr(crossing, "solve_integer", lambda *_: None)
    scores, groups, bounds = crossing_case(SPLIT[0])
    with pytest.raises(BackendError, match=r"no labels that meet all totals.*give ranges"):
        assign(scores, bounds, groups, 0)


def test_duals_that_are_nonsense_prove_little_and_nothing_wrong(monkeypatch):
    scores, groups, bounds = crossing_case(SPLIT[0])
    best = best_objective(scores, groups, bounds)
    honest = crossing._node_relaxation

    def faulty(*given):
        amounts, duals = honest(*given)
        return amounts, np.random.default_rng(0).normal(size=len(duals))

    monkeypatch.setattr(crossing, "_node_relaxation", faulty)
    monkeypatch.setattr(crossing, "MOST_WORK", 3000)
    found = assign(scores, bounds, groups, 0)
    assert best - 1e-9 <= found.objective + found.gap


def test_a_solver_that_gives_up_leaves_what_is_proven(monkeypatch):
    def gives_up(*given):
        raise BackendError("not today")

    monkeypatch.setattr(crossing, "_node_relaxation", gives_up)
    scores, groups, bounds = crossing_case(SPLIT[1])
    found = assign(scores, bounds, groups, 0)
    assert found.gap > 0.1
    assert best_objective(scores, groups, bounds) <= found.objective + found.gap


def _triangle():
    """Return reassignments of three rows, of which two totals need three halves each."""
    free = np.zeros((3, 2), dtype=np.int64)
    margins = tuple(
        MarginBounds((name,), [0, 1], np.array(cells), low, low + 9 * (low == 0))
        for name, cells in (("a", [0, 0, 1]), ("b", [1, 0, 0]))
        for low in [np.array([[0, 1], [0, 0]])]
    )
    sizes = np.ones(3, dtype=np.int64)
    bounds = Bounds(free[0], free[0] + 3, free, free + 1, sizes, margins)
    row = np.arange(3)
    loss = np.array([1.0, 2.5, 1.0])
    own = Reassignments(row, 2 * row, 2 * row + 1, loss, np.ones(3))
    counts = np.array([[1.0, 0.0]] * 3)
    constraints = LinearConstraints.of(bounds)
    losses = [Fraction(x) for x in loss.tolist()]
    return IntegerProgram(own, losses, np.zeros(len(constraints.lower)), constraints, counts)


def test_branch_and_bound_finds_the_cheapest_whole_amounts():
    program = _triangle()
    start = np.array([0.0, 1.0, 0.0])
    assert program.meets(start)
    best, gap = branch_and_bound(program, start)
    assert best.tolist() == [1, 0, 1]
    assert (program.loss(best), gap) == (2, 0)


def test_any_duals_bound_the_loss_from_below():
    program = _triangle()
    root = Node(np.zeros(3), np.ones(3))
    rng = np.random.default_rng(0)
    for _ in range(50):
        duals = rng.normal(0, 2, len(program.duals))
        assert exact_bound(program, root, duals) <= 2
