"""Support vectors: the same as scikit-learn's, and optimal by the conditions of Karush et al."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from c2rf.learners import support_vectors
from c2rf.learners.support_vectors import SupportVectorMachine, solve_dual


def problem(n_rows, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    X, codes = rng.normal(size=(n_rows, 3)), np.arange(n_rows) % n_classes
    X[:, 0] += codes
    return X, codes, rng.uniform(0.1, 3.0, size=n_rows), rng.normal(size=(50, 3))


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("c", [0.3, 5.0])
def test_same_scores_as_scikit_learn(n_classes, c):
    X, codes, weight, others = problem(40, n_classes)
    reference = SVC(C=c, kernel="precomputed", tol=1e-6, decision_function_shape="ovo")
    sides = reference.fit(rbf_kernel(X), codes, sample_weight=weight).decision_function(
        rbf_kernel(others, X)
    )
    ours = SupportVectorMachine(c).fit(rbf_kernel(X), codes, weight).scores(rbf_kernel(others, X))
    if n_classes == 2:
        expected = np.column_stack([-sides, sides])
    else:
        expected = np.zeros_like(ours)
        for (one, other), votes in zip(combinations(range(n_classes), 2), sides.T, strict=True):
            expected[:, one] += np.tanh(votes)
            expected[:, other] -= np.tanh(votes)
    assert ours == pytest.approx(expected, abs=1e-2)


def test_multipliers_are_optimal():
    X, codes, weight, _ = problem(60, 2, seed=1)
    kernel, sign = rbf_kernel(X), 2.0 * codes - 1
    b, intercept = solve_dual(
        kernel, np.minimum(0, sign * weight), np.maximum(0, sign * weight), 1e-6
    )
    margin = sign * (kernel @ b + intercept)
    assert abs(b.sum()) < 1e-9
    assert (margin[np.abs(b) == 0] >= 1 - 1e-5).all()
    assert (margin[np.abs(b) == weight] <= 1 + 1e-5).all()
    inside = (np.abs(b) > 0) & (np.abs(b) < weight)
    assert inside.sum() > 5
    assert margin[inside] == pytest.approx(1.0, abs=1e-5)


def test_a_row_without_weight_counts_for_nothing():
    X, codes, weight, others = problem(30, 2)
    weight[4] = 0.0
    kept = np.delete(np.arange(30), 4)
    all_rows = SupportVectorMachine(1.0).fit(rbf_kernel(X), codes, weight)
    without = SupportVectorMachine(1.0).fit(rbf_kernel(X[kept]), codes[kept], weight[kept])
    expected = without.scores(rbf_kernel(others, X[kept]))
    assert all_rows.scores(rbf_kernel(others, X)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_without_numba_scikit_learn_does_the_same(n_classes, monkeypatch):
    X, codes, weight, others = problem(40, n_classes)
    near = rbf_kernel(others, X)
    ours = SupportVectorMachine(1.0).fit(rbf_kernel(X), codes, weight).scores(near)
    monkeypatch.setattr(support_vectors, "can_compile", lambda: False)
    theirs = SupportVectorMachine(1.0).fit(rbf_kernel(X), codes, weight).scores(near)
    assert not (theirs == ours).all()  # by another way indeed
    assert theirs == pytest.approx(ours, abs=2e-3)
