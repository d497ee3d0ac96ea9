"""Linear programs, and weights with given signs: what is found is true, and all is found."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from brute import realisable, widest
from c2rf.forest.bounds import feasibility as module
from c2rf.forest.bounds.conflict_graph import excludes
from c2rf.forest.bounds.feasibility import LinearProgram, find_weights
from c2rf.forest.problem import make_problem
from strategies import problems, weights_of


@st.composite
def signs_of_patterns(draw):
    problem = draw(problems())
    signs = st.lists(
        st.sampled_from([-1, 1]), min_size=problem.n_patterns, max_size=problem.n_patterns
    )
    return problem, np.array(draw(signs), dtype=np.int8)


def signs_and_patterns(cut, n):
    """The patterns of a cut and the signs that they cannot have together."""
    return [name % n for name in cut.literals], [1 if name < n else -1 for name in cut.literals]


def is_proven(problem, cut):
    """Whether the multipliers of a Farkas cut prove it."""
    literals = np.concatenate([problem.patterns, -problem.patterns])[list(cut.literals)]
    y = np.array(cut.multipliers)
    return cut.most == len(literals) - 1 and excludes(problem, literals, y)


@given(signs_of_patterns())
@settings(max_examples=40)
def test_weights_or_a_cut_as_the_lp_says(drawn):
    problem, signs = drawn
    weights, found, cut = find_weights(problem, signs)
    possible = realisable(problem, list(range(problem.n_patterns)), signs.tolist())
    assert (weights >= problem.lower).all()
    assert (weights <= problem.upper).all()
    if found:
        assert possible
        assert cut is None
        assert (signs * (problem.patterns @ weights) >= 1).all()
    elif cut is not None:
        patterns, excluded = signs_and_patterns(cut, problem.n_patterns)
        assert not possible
        assert not realisable(problem, patterns, excluded)
        assert excluded == signs[patterns].tolist()
        assert is_proven(problem, cut)
    else:  # only where the widest margin is one, to within rounding
        margin, _ = widest(signs[:, None] * problem.patterns, problem.lower, problem.upper)
        assert margin == pytest.approx(1, abs=1e-5)


@given(st.data(), problems())
@settings(max_examples=40)
def test_signs_of_weights_are_found(data, problem):
    weights = data.draw(weights_of(problem))
    score = problem.patterns @ weights
    assume((np.abs(score) >= 1 + 1e-6).all())
    assert find_weights(problem, np.sign(score).astype(np.int8))[1]


def impossible():
    """Opposite patterns both positive, a third one that does not matter."""
    return make_problem([[1, -1, -1], [-1, 1, 1], [1, 1, 1]], 1), np.ones(3, dtype=np.int8)


def test_a_cut_has_the_patterns_that_matter():
    problem, signs = impossible()
    _, found, cut = find_weights(problem, signs)
    rows = problem.patterns[list(cut.literals)]
    assert not found
    assert sorted(map(tuple, rows)) == [(-1, 1, 1), (1, -1, -1)]
    assert is_proven(problem, cut)


def test_literals_of_a_cut_are_in_order():
    problem, _ = impossible()
    _, _, cut = find_weights(problem, -np.ones(3, dtype=np.int8))
    assert list(cut.literals) == sorted(cut.literals)
    assert all(name >= problem.n_patterns for name in cut.literals)


def test_more_patterns_than_go_into_the_first_lp():
    rng = np.random.default_rng(0)
    problem = make_problem(rng.choice([-1, 1], size=(3000, 15)), 10)
    weights = rng.uniform(1, 100, size=15)
    score = problem.patterns @ weights
    far = np.abs(score) >= 1
    part = make_problem(problem.patterns[far], 10)
    signs = np.sign(part.patterns @ weights).astype(np.int8)
    weights, found, _ = find_weights(part, signs)
    assert found
    assert (signs * (part.patterns @ weights)).min() >= 1
    # The weighted majority of all trees turned round on everything cannot be had.
    _, found, cut = find_weights(part, -np.sign(part.patterns.sum(axis=1)).astype(np.int8))
    assert not found
    assert is_proven(part, cut)


def test_without_patterns_any_weights_do():
    problem = make_problem([[1, 1]], 1)
    nothing = type(problem)(
        problem.patterns[:0], problem.counts[:0], 0, problem.lower, problem.upper
    )
    assert find_weights(nothing, np.zeros(0, dtype=np.int8))[1]


def test_a_failing_lp_is_no_answer(monkeypatch):
    monkeypatch.setattr(module, "linprog", lambda *a, **k: SimpleNamespace(status=4))
    assert find_weights(*impossible())[1:] == (False, None)


@pytest.mark.parametrize("margin", [0.5, 2.0])
def test_a_faulty_lp_is_no_answer(monkeypatch, margin):
    """Its margin is not in its weights, its multipliers prove nothing."""
    problem, signs = impossible()

    def faulty(cost, A_ub, **_):
        x = np.append(problem.lower, margin)
        return SimpleNamespace(
            status=0, x=x, ineqlin=SimpleNamespace(marginals=-(np.arange(1.0, len(A_ub) + 1) ** 3))
        )

    monkeypatch.setattr(module, "linprog", faulty)
    for asked in (signs, np.array([1, 1, -1], dtype=np.int8)):
        _, found, cut = find_weights(problem, asked)
        assert not found
        assert cut is None or not realisable(problem, *signs_and_patterns(cut, 3))


@given(signs_of_patterns())
@settings(max_examples=30)
def test_the_same_question_has_the_same_answer(drawn):
    (one, *rest), (other, *others) = find_weights(*drawn), find_weights(*drawn)
    np.testing.assert_array_equal(one, other)
    assert rest == others


# The linear program


def test_rows_are_dropped():
    program = LinearProgram(np.array([-1.0, -2.0]), np.zeros(2), np.ones(2))
    rows = sparse.csr_array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    program.add_rows(rows, np.full(3, -np.inf), np.array([1.5, 0.9, 0.7]))
    assert program.solve().x == pytest.approx([0.8, 0.7])
    program.drop_rows(np.array([1]))  # it was not tight
    assert program.solve().x == pytest.approx([0.8, 0.7])
    program.drop_rows(np.array([1]))
    assert program.solve().x == pytest.approx([0.5, 1.0])


def test_the_duals_of_an_infeasible_program_prove_it():
    program = LinearProgram(np.zeros(2), np.zeros(2), np.ones(2))
    rows = np.array([[1.0, 1.0], [1.0, -1.0]])
    program.add_rows(sparse.csr_array(rows), np.array([2.5, -np.inf]), np.full(2, np.inf))
    answer = program.solve()
    assert answer.x is None
    # y'A x >= 2.5 y_0 cannot hold in the box.
    combined = answer.duals @ rows
    assert np.maximum(combined, 0).sum() < 2.5 * answer.duals[0]


def test_a_program_of_too_much_work_has_no_answer(monkeypatch):
    rng = np.random.default_rng(0)
    program = LinearProgram(-rng.random(30), np.zeros(30), np.ones(30))
    program.add_rows(sparse.csr_array(rng.random((30, 30))), np.full(30, -np.inf), np.ones(30))
    monkeypatch.setattr("c2rf.forest.bounds.feasibility._MOST_WORK", 0)
    assert program.solve() is None
    monkeypatch.undo()
    assert program.solve().x is not None


def test_a_program_that_must_stop_has_no_answer():
    rng = np.random.default_rng(0)
    program = LinearProgram(-rng.random(40), np.zeros(40), np.ones(40))
    program.add_rows(sparse.csr_array(rng.random((30, 40))), np.full(30, -np.inf), np.ones(30))
    assert program.solve(lambda: True) is None
    assert program.solve().x is not None
