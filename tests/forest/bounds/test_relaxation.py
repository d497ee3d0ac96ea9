"""Propagation in whole numbers against enumeration; rows of the relaxation that come and go."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import c2rf.forest.bounds.relaxation
from c2rf.forest.bounds.conflict_graph import Cut, pair_cuts
from c2rf.forest.bounds.cuts import CutPool
from c2rf.forest.bounds.relaxation import Aggregation, Node, Propagation, Relaxation, Relaxed
from c2rf.forest.problem import make_problem, make_statement
from c2rf.forest.votes import PatternTable
from proving import certifier_of

ONE_EACH = [[1, -1, -1], [-1, 1, -1], [-1, -1, 1]]


def known(votes, counts, total):
    """A problem without fixed patterns and its pool of cuts."""
    table = PatternTable.from_votes(np.array(votes))
    table = PatternTable(table.words, np.array(counts), table.n_trees)
    pool = CutPool(make_statement(table, total, 1.0, 100.0), np.arange(table.n_patterns))
    return make_problem(table, total), pool


def free_node(n, interval):
    return Node(np.zeros(n, np.int8), np.ones(n, np.int8), interval)


def points(node, counts):
    """All z of a node whose count is in its interval."""
    ends = zip(node.lower.tolist(), node.upper.tolist(), strict=True)
    low, high = node.interval or (0, sum(counts))
    return {
        z for z in product(*(range(a, b + 1) for a, b in ends)) if low <= np.dot(z, counts) <= high
    }


@st.composite
def nodes(draw):
    """Counts of three patterns, of which one is positive at most, and a node."""
    counts = draw(st.lists(st.integers(1, 12), min_size=3, max_size=3))
    low = draw(st.integers(0, sum(counts)))
    node = free_node(3, (low, draw(st.integers(low, sum(counts)))))
    for i in range(3):
        if draw(st.booleans()) and draw(st.booleans()):
            node = node.child(i, draw(st.integers(0, 1)))
    return counts, node


@given(nodes(), st.data())
@settings(max_examples=80)
def test_an_aggregation_excludes_nothing_that_its_cuts_allow(drawn, data):
    counts, node = drawn
    problem, pool = known(ONE_EACH, counts, 1)
    cuts = [Cut((0, 1, 2), 1), Cut((0, 1), 1), Cut((1, 2), 1), Cut((0, 2), 1)]
    pool.add(cuts)
    exact = Propagation(problem, pool)
    multipliers = data.draw(st.tuples(*[st.integers(0, 5)] * 4))
    rule = Aggregation(data.draw(st.integers(-3, 3)), (0, 1, 2, 3), multipliers)
    allowed = {z for z in points(node, counts) if sum(z) <= 1}
    n_free = node.free.sum()
    closed = exact.apply(node, rule)
    assert not (closed and allowed)
    assert allowed <= points(node, counts)
    assert bool(node.rules) == (closed or node.free.sum() < n_free)


@given(nodes())
@settings(max_examples=80)
def test_divisors_and_subset_sums_exclude_no_count(drawn):
    counts, node = drawn
    problem, pool = known(ONE_EACH, counts, 1)
    exact = Propagation(problem, pool)
    allowed = points(node, counts)
    anywhere = points(Node(node.lower, node.upper, None), counts)
    assert exact.distance(node, 5) <= min(abs(int(np.dot(z, counts)) - 5) for z in anywhere)
    assert not (exact.sums(node) and allowed)
    closed = exact.steps(node)
    assert not (closed and allowed)
    if not closed:
        assert points(node, counts) == allowed


def test_counts_with_a_common_divisor_move_the_interval():
    problem, pool = known(ONE_EACH, [6, 10, 4], 3)
    exact, node = Propagation(problem, pool), free_node(3, (3, 7))
    assert (exact.next_count(node, 3, up=True), exact.next_count(node, 3, up=False)) == (4, 2)
    assert exact.distance(node, 3) == 1
    assert not exact.steps(node)
    assert (node.interval, node.rules) == ((4, 6), [("steps",)])
    node.interval = (5, 5)
    assert exact.steps(node)


def test_subset_sums_of_large_counts_close_a_node():
    problem, pool = known(ONE_EACH, [1000, 301, 7], 450)
    exact = Propagation(problem, pool)
    closed, open_ = free_node(3, (309, 600)), free_node(3, (308, 600))
    assert exact.sums(closed)
    assert closed.rules == [("sums", 1)]
    assert not exact.sums(open_)
    assert open_.rules == []


@pytest.mark.parametrize("size", [1, 10**15])
def test_the_bound_of_a_rule_is_that_of_the_linear_program(size):
    """At most one of three patterns is positive: 5 of 9 rows cannot be."""
    problem, pool = known(ONE_EACH, [3 * size, 3 * size, 3 * size], 9 * size)
    relaxation = Relaxation(problem, pool, pair_cuts(problem))
    relaxation.add([Cut((0, 1, 2), 1)])
    exact = Propagation(problem, pool)
    node = exact.root(9 * size)
    relaxed = relaxation.solve(node, (9 * size, 9 * size))
    assert relaxed.eta == pytest.approx(6 * size)
    assert not exact.apply_duals(node, relaxed)
    assert node.bound == 6 * size
    tight = exact.root(6 * size)
    assert exact.apply_duals(tight, relaxed)


def test_duals_of_cuts_without_a_proof_are_left_out():
    problem, pool = known(ONE_EACH, [1, 1, 1], 3)
    false, true = Cut((0, 5), 0), Cut((0, 1, 2), 1)  # nothing proves the first
    relaxation = Relaxation(problem, pool, [false, true])
    exact = Propagation(problem, pool)
    relaxed = Relaxed(None, np.inf, -1.0, np.array([0, 1]), np.array([2.0, 1.0]))
    assert exact.rounded(relaxed, 20, with_count=True) == Aggregation(-1, (1,), (1,))
    assert relaxation.drop_unproven(relaxed.rows)
    assert not relaxation.drop_unproven(np.array([1]))
    assert relaxation.add([false]) == 0  # it does not come back


def test_cuts_that_are_slack_are_set_aside_and_come_back(monkeypatch):
    """What the program says is the same as with all cuts in it."""
    monkeypatch.setattr(c2rf.forest.bounds.relaxation, "_MOST_ROWS", 1)
    rows = np.random.default_rng(0).choice([-1, 1], size=(60, 7))
    certifier, kept = certifier_of(rows, 5), certifier_of(rows, 5)
    prover = certifier.prover()
    while not prover.stalled:
        prover.step()
    relaxation = prover.relaxation
    assert len(relaxation._rows) < len(prover.pool.cuts)
    every = kept.prover().relaxation
    every._most_rows = 10**6
    every.add(prover.pool.cuts)
    for positive in (True, False):
        node = prover.propagation.root(60)
        for pattern in range(0, prover.problem.n_patterns, 9):
            node = node.child(pattern, int(positive))
        ends = [program.solve(node, (5, 5)) for program in (relaxation, every)]
        assert (ends[0].z is None) == (ends[1].z is None)
        assert ends[0].eta == pytest.approx(ends[1].eta)


def test_a_node_with_all_signs_fixed_violates_a_cut_or_none():
    problem, pool = known(ONE_EACH, [1, 1, 1], 1)
    pool.add([Cut((0, 1, 2), 1)])
    exact, node = Propagation(problem, pool), free_node(3, None)
    for i, z in enumerate((1, 0, 1)):
        node = node.child(i, z)
    rule = exact.violated(node)
    assert rule == Aggregation(0, (0,), (1,))
    assert exact.apply(node, rule)
    assert exact.violated(node.child(0, 0)) is None
