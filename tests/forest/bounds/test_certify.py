"""Certificates are accepted and say what was proven; boxes without weights are refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import c2rf.forest.bounds.certify
from brute import optimum, widest
from c2rf.exceptions import InfeasibleError
from c2rf.forest.bounds.certify import (
    blank_certificate,
    certificates,
    infeasible_patterns,
    least_steps,
    raise_if_infeasible,
)
from c2rf.forest.bounds.relaxation import END
from c2rf.forest.certificate import Box, Budget, check_certificate
from c2rf.forest.problem import make_problem
from proving import certifier_of, prove
from strategies import cases


def hard_votes(seed, n_points=100, n_trees=7):
    """Few positives among votes that are mostly positive: eta is far from zero."""
    rng = np.random.default_rng(seed)
    return np.where(rng.uniform(size=(n_points, n_trees)) < 0.6, 1, -1), n_points // 5


@given(cases())
@settings(max_examples=40)
def test_infeasible_patterns_are_those_without_either_sign(case):
    problem = make_problem(*case)
    expected = [
        i
        for i, row in enumerate(problem.patterns)
        if max(widest(s * row[None, :], problem.lower, problem.upper)[0] for s in (1, -1))
        < 1 - 1e-8
    ]
    assert infeasible_patterns(problem).tolist() == expected


def test_a_pattern_with_neither_sign_is_refused_with_a_proof():
    certifier = certifier_of([[1, -1], [1, 1]], 1, 1.0, 1.0)
    with pytest.raises(InfeasibleError, match=r"the pattern \+- a margin of 1") as caught:
        certifier.refuse_infeasible()
    assert check_certificate(certifier.statement, caught.value.certificate) is None
    certifier_of([[1, -1], [1, 1]], 1, 1.0, 2.0).refuse_infeasible()


def test_patterns_that_have_no_signs_together_are_refused_with_a_proof():
    rng = np.random.default_rng(0)
    certifier = certifier_of(rng.choice([-1, 1], size=(60, 8)), 20, 1, 1.26)
    prover = certifier.prover()
    raise_if_infeasible(prover)  # nothing is proven yet
    assert prove(prover) is None
    with pytest.raises(InfeasibleError, match="these patterns") as caught:
        raise_if_infeasible(prover)
    assert check_certificate(certifier.statement, caught.value.certificate) is None


def test_the_greatest_bound_up_to_eta_is_certified():
    certifier = certifier_of(*hard_votes(1))
    certifier.prove(100, None)
    best = certifier.prover().bound
    bound, certificate, stats = certifier.certified(best)
    assert bound == certificate["bound"] == best > 0
    assert check_certificate(certifier.statement, certificate) == best
    assert stats["rows"] == len(certificate["rows"])
    assert {"leaves", "bits", "seconds", "cuts", "rounds", "nodes"} <= stats.keys()
    with pytest.raises(AssertionError, match="a mistake of c2rf"):
        certifier.certified(best - 1)  # one of the proof and the weights is wrong


@given(cases(max_points=8, max_trees=4))
@settings(max_examples=30, deadline=None)
def test_without_any_search_what_the_box_decides_is_certified(case):
    best = optimum(make_problem(*case))
    if best is not None:
        certifier = certifier_of(*case)
        bound, certificate, _ = certifier.certified(best)
        assert 0 <= bound <= best
        assert check_certificate(certifier.statement, certificate) == bound
        assert certificate["rows"] == []


def test_a_unanimous_pattern_alone_proves_a_bound():
    bound, certificate, _ = certifier_of([[1, 1, 1]] * 4 + [[1, -1, -1]], 1).certified(3)
    assert (bound, certificate["tree"]) == (3, [["add", 1]])


def test_no_time_proves_nothing():
    certifier = certifier_of(*hard_votes(1))
    certifier.prove(100, 0.0)
    assert certifier.certified(50)[:2] == (0, blank_certificate(certifier.statement))


def test_rules_that_are_not_needed_are_left_out(monkeypatch):
    prover = certifier_of(*hard_votes(2)).prover()
    prove(prover, 100)
    (short,) = [c for c in certificates(prover) if c["bound"] == prover.bound]
    bound, rules = next(prover.proofs())
    monkeypatch.setattr(prover, "proofs", lambda: [(bound, [("steps",), ("steps",), *rules])])
    (longer,) = certificates(prover)
    assert longer["tree"].count(["steps"]) <= 2
    assert len(longer["tree"]) <= len(short["tree"]) + 1
    monkeypatch.setattr(prover, "proofs", lambda: [(bound, [END])])  # does not close the root
    assert not list(certificates(prover))


def test_a_proof_that_is_too_long_to_check_is_not_even_tried(monkeypatch):
    certifier = certifier_of(*hard_votes(1))
    certifier.prove(100, None)
    best = certifier.prover().bound
    costs = [least_steps(certifier.statement, proof) for proof in certificates(certifier.prover())]
    monkeypatch.setattr(c2rf.forest.bounds.certify, "MOST_STEPS", max(costs) - 1)
    checked = []

    def check(statement, certificate):
        checked.append(least_steps(statement, certificate))
        return check_certificate(statement, certificate)

    monkeypatch.setattr(c2rf.forest.bounds.certify, "check_certificate", check)
    assert 0 < certifier.certified(best)[0] < best
    assert len(checked) == 1
    assert checked[0] < max(costs)
    assert [w for w in certifier.state.stats["warnings"] if "too long to check" in w] == [
        "a greater bound is not claimed: its proof is too long to check"
    ]


@pytest.mark.parametrize("size", [3, 30])
def test_the_steps_of_rows_are_at_most_those_of_the_check(size):
    votes = np.full((size, size), -1)
    np.fill_diagonal(votes, 1)  # no two trees have a majority each
    certifier = certifier_of(votes, 0)
    literals = list(range(1, size + 1))
    proof = blank_certificate(certifier.statement) | {"rows": [[literals, [1] * size, 1]]}
    box = Box(certifier.statement, Budget())
    start = box.budget.left
    box.proven_row(proof["rows"][0], 0)
    spent = start - box.budget.left
    assert spent / 2 < least_steps(certifier.statement, proof) <= spent
