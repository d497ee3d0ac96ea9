from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import c2rf.forest.bounds.branch_and_bound
import c2rf.forest.bounds.relaxation
from brute import optimum, optimum_by_milp
from c2rf.forest.bounds.certify import certificates
from c2rf.forest.certificate import check_certificate
from c2rf.forest.problem import make_problem
from proving import certifier_of, prove
from strategies import cases


def hard_votes(seed: int, n_points: int = 150, n_trees: int = 7) -> tuple[np.ndarray, int]:
    """Few positives among votes that are mostly positive: eta is far from zero."""
    rng = np.random.default_rng(seed)
    return np.where(rng.uniform(size=(n_points, n_trees)) < 0.6, 1, -1), n_points // 5


def true_eta(rows, target, *box) -> int:
    return optimum_by_milp(make_problem(rows, target, *box))


@given(cases(max_points=8, max_trees=5))
@settings(deadline=None, max_examples=80)
def test_the_bound_ends_at_the_optimum(case):
    best = optimum(make_problem(*case))
    assert prove(certifier_of(*case).prover(), at_most=best) == best
    if best is not None:
        assert prove(certifier_of(*case).prover(), cutoff=best, at_most=best) == best
        worse = best + 3
        assert prove(certifier_of(*case).prover(), cutoff=worse, at_most=best) == best


@pytest.mark.parametrize("seed", range(6))
def test_larger_problems_against_the_full_model(seed):
    votes, target = hard_votes(seed)
    best = true_eta(votes, target)
    assert best > 0
    assert prove(certifier_of(votes, target).prover(), best + 20, at_most=best) == best


@pytest.mark.parametrize("box", [(1, 2), (1, 10), (1, 1000), (3, 3.4)])
def test_other_boxes_against_the_full_model(box):
    votes, target = hard_votes(11, n_points=100)
    best = true_eta(votes, target, *box)
    assert prove(certifier_of(votes, target, *box).prover(), best + 20) == best


def test_cliques_take_the_place_of_too_many_pairs(monkeypatch):
    votes, target = hard_votes(0)
    best = prove(certifier_of(votes, target).prover(), 150)
    monkeypatch.setattr(c2rf.forest.bounds.relaxation, "_MOST_PAIRS", 5)
    assert prove(certifier_of(votes, target).prover(), 150, at_most=best) == best


def test_each_bound_that_branch_and_bound_raises_is_proven(monkeypatch):
    monkeypatch.setattr(c2rf.forest.bounds.cuts.Separator, "cuts", lambda *_: [])
    votes, target = hard_votes(0, n_points=300, n_trees=9)
    best = 114  # what optimum_by_milp finds, in six seconds
    prover = certifier_of(votes, target).prover()
    bounds = set()
    while not prover.done:
        prover.step(best)
        bounds.add(prover.bound)
        for certificate in certificates(prover):
            assert check_certificate(prover.pool.statement, certificate) == prover.bound
            break
    assert max(bounds) == best
    assert len(bounds) > 3
    assert prover.nodes > 10
    # Parts of the tree prove less, and are shorter.
    proofs = list(certificates(prover))
    claimed = [check_certificate(prover.pool.statement, proof) for proof in proofs]
    assert claimed == [proof["bound"] for proof in proofs] == sorted(claimed, reverse=True)
    splits = [sum(rule[0] == "split" for rule in proof["tree"]) for proof in proofs]
    assert splits[0] > splits[1] > splits[-1] == 0


def test_a_cutoff_settles_what_is_asked_only():
    prover = certifier_of(*hard_votes(1)).prover()
    assert prove(prover, cutoff=1) == 1
    prover.step(cutoff=1)
    assert prover.done


def test_limits_keep_the_bound_valid():
    votes, target = hard_votes(2)
    prover = certifier_of(votes, target).prover()
    best = true_eta(votes, target)
    for _ in range(3):
        prover.step(150, lambda: True)
        assert 0 <= prover.bound <= best


def test_the_same_seed_takes_the_same_way():
    def trace(seed):
        prover = certifier_of(*hard_votes(3), seed=seed).prover()
        prove(prover, 150)
        return prover.rounds, prover.nodes, prover.pool.cuts

    assert trace(1) == trace(1)


@pytest.mark.parametrize("size", [1, 10**6, 10**12, 2**50])
def test_counts_of_any_size(size):
    """The proof of a multiple of a problem is that of the problem, whatever floats make of it."""
    votes, target = hard_votes(4, n_points=60)
    best = true_eta(votes, target)
    certifier = certifier_of(votes, target)
    stated = certifier.statement
    table = c2rf.PatternTable.from_votes(votes)
    large = c2rf.PatternTable(table.words, table.counts * size, table.n_trees)
    solution = c2rf.solve(large, target * size, certificate=True, time_limit=60)
    c2rf.verify(large, target * size, solution)
    assert len(stated.patterns) == large.n_patterns
    assert solution.eta == solution.bound == best * size


@pytest.mark.parametrize(("n_trees", "found", "rounds"), [(60, 60, 11), (60, 59, 5), (49, 60, 5)])
def test_many_cuts_of_a_large_forest_are_progress_while_eta_is_0(
    monkeypatch, n_trees, found, rounds
):
    """With a hundred deep trees eta rises after nine rounds only, and then to 99 % of the best."""
    monkeypatch.setattr(c2rf.forest.bounds.branch_and_bound, "_BLIND_ROUNDS", 8)
    votes = np.random.default_rng(0).choice([-1, 1], size=(120, n_trees))
    prover = certifier_of(votes, 60).prover()
    monkeypatch.setattr(prover.relaxation, "separate", lambda *_: found)
    while not prover.stalled and prover.rounds < 20:
        prover.step(60)
    assert (prover.bound, prover.rounds) == (0, rounds)
