from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from brute import realisable, sign_vectors, widest
from c2rf.forest.bounds import feasibility as module
from c2rf.forest.bounds.feasibility import Clause, contradicts, realise
from c2rf.forest.problem import make_problem
from strategies import problems, weights_of


@st.composite
def wishes(draw):
    problem = draw(problems())
    signs = st.lists(
        st.sampled_from([-1, 1]), min_size=problem.n_patterns, max_size=problem.n_patterns
    )
    return problem, np.array(draw(signs), dtype=np.int8)


@given(wishes())
@settings(max_examples=40)
def test_weights_or_a_contradiction_as_the_lp_says(wish):
    problem, signs = wish
    answer = realise(problem, signs)
    possible = realisable(problem, list(range(problem.n_patterns)), signs.tolist())
    if answer.weights is not None:
        assert possible
        assert (signs * (problem.patterns @ answer.weights) >= 1).all()
        assert (answer.weights >= problem.lower).all()
        assert (answer.weights <= problem.upper).all()
    elif answer.contradiction is not None:
        clause = answer.contradiction.clause
        assert not possible
        assert not realisable(problem, clause.patterns.tolist(), clause.signs.tolist())
        np.testing.assert_array_equal(clause.signs, signs[clause.patterns])
    else:  # only where the widest margin is one, to within rounding
        margin, _ = widest(signs[:, None] * problem.patterns, problem.lower, problem.upper)
        assert margin == pytest.approx(1, abs=1e-5)


@given(st.data(), problems())
@settings(max_examples=40)
def test_signs_of_weights_are_realised(data, problem):
    weights = data.draw(weights_of(problem))
    score = problem.patterns @ weights
    assume((np.abs(score) >= 1 + 1e-6).all())
    answer = realise(problem, np.sign(score).astype(np.int8))
    assert answer.weights is not None


@given(wishes())
@settings(max_examples=40)
def test_multipliers_never_contradict_what_some_weights_do(wish):
    problem, _ = wish
    rng = np.random.default_rng(problem.n_points)
    vectors = sign_vectors(problem)
    everywhere = np.arange(problem.n_patterns)
    for signs in vectors:
        clause = Clause(everywhere, np.array(signs, dtype=np.int8))
        for _ in range(5):
            assert not contradicts(problem, clause, rng.exponential(size=problem.n_patterns))


def impossible():
    """Opposite patterns both positive, a third one that does not matter."""
    problem = make_problem([[1, -1, -1], [-1, 1, 1], [1, 1, 1]], 1)
    signs = np.ones(3, dtype=np.int8)
    return problem, signs, realise(problem, signs).contradiction


def test_a_contradiction_holds_the_patterns_that_matter():
    problem, _, contradiction = impossible()
    rows = problem.patterns[contradiction.clause.patterns]
    assert sorted(map(tuple, rows)) == [(-1, 1, 1), (1, -1, -1)]
    assert contradicts(problem, contradiction.clause, contradiction.multipliers)


def test_tampered_contradictions_are_refused():
    problem, _, found = impossible()
    clause, multipliers = found.clause, found.multipliers
    assert not contradicts(problem, clause, -multipliers)
    assert not contradicts(problem, clause, np.zeros(2))
    assert not contradicts(problem, clause, multipliers * [1, 0])
    assert not contradicts(problem, clause, multipliers * np.nan)
    assert not contradicts(problem, Clause(clause.patterns, -clause.signs * [1, -1]), multipliers)


def test_more_patterns_than_go_into_the_first_lp():
    rng = np.random.default_rng(0)
    problem = make_problem(rng.choice([-1, 1], size=(3000, 15)), 10)
    weights = rng.uniform(1, 100, size=15)
    score = problem.patterns @ weights
    far = np.abs(score) >= 1
    part = make_problem(problem.patterns[far], 10)
    signs = np.sign(part.patterns @ weights).astype(np.int8)
    answer = realise(part, signs)
    assert (signs * (part.patterns @ answer.weights)).min() >= 1
    # The weighted majority of all trees turned round on everything cannot be had.
    turned = realise(part, -np.sign(part.patterns.sum(axis=1)).astype(np.int8))
    assert turned.weights is None
    assert contradicts(part, turned.contradiction.clause, turned.contradiction.multipliers)


def test_no_patterns_are_realised_by_anything():
    problem = make_problem([[1, 1]], 1)
    nothing = type(problem)(
        problem.patterns[:0], problem.counts[:0], 0, problem.lower, problem.upper
    )
    assert realise(nothing, np.zeros(0, dtype=np.int8)).weights is not None


def test_a_failing_lp_is_no_answer(monkeypatch):
    problem, signs, _ = impossible()
    monkeypatch.setattr(module, "linprog", lambda *a, **k: SimpleNamespace(status=4))
    answer = realise(problem, signs)
    assert (answer.weights, answer.contradiction) == (None, None)


@pytest.mark.parametrize("margin", [0.5, 2.0])
def test_an_lp_that_lies_is_no_answer(monkeypatch, margin):
    """Its margin is not in its weights, its multipliers prove nothing."""
    problem, signs, _ = impossible()

    def liar(cost, A_ub, **_):
        x = np.append(problem.lower, margin)
        return SimpleNamespace(
            status=0, x=x, ineqlin=SimpleNamespace(marginals=-(np.arange(1.0, len(A_ub) + 1) ** 3))
        )

    monkeypatch.setattr(module, "linprog", liar)
    feasible = np.array([1, 1, -1], dtype=np.int8)
    for wished in (signs, feasible):
        answer = realise(problem, wished)
        assert answer.weights is None
        if answer.contradiction is not None:
            clause = answer.contradiction.clause
            assert not realisable(problem, clause.patterns.tolist(), clause.signs.tolist())


@given(wishes())
@settings(max_examples=30)
def test_the_same_question_has_the_same_answer(wish):
    one, other = realise(*wish), realise(*wish)
    if one.weights is not None:
        np.testing.assert_array_equal(one.weights, other.weights)
    if one.contradiction is not None:
        np.testing.assert_array_equal(
            one.contradiction.clause.patterns, other.contradiction.clause.patterns
        )
