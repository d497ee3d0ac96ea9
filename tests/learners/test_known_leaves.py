"""Leaves that know how much of the population they hold: against plain least squares."""

import numpy as np
import pytest

from c2rf.datasets import biased_sample, make_twonorm
from c2rf.learners import trees
from c2rf.learners.features import calibrated
from c2rf.learners.trees import RIDGE, Growth, grow_forest, knowing_leaves


@pytest.fixture(params=["compiled", "plain"])
def way(request, monkeypatch):
    if request.param == "plain":
        monkeypatch.setattr(trees, "kernel", lambda: None)
    return request.param


def problem(n_classes=3, n_labeled=20, n_rows=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_labeled, 4)).astype(np.float32)
    population = rng.normal(size=(n_rows, 4)).astype(np.float32)
    codes = np.arange(n_labeled) % n_classes
    return X, codes, rng.random(n_labeled) + 0.5, rng.dirichlet(np.ones(n_classes)), population


def test_sums_are_those_of_the_rows_in_a_leaf(way):
    X, codes, _, _, population = problem()
    forest = grow_forest(X, np.eye(3)[codes], Growth(5, 2), seed=0)
    each = forest.leaf_sums(population, np.ones((len(population), 1)))
    assert each.sum() == pytest.approx(5 * len(population))
    one = grow_forest(X, np.eye(3)[codes], Growth(1, 2), seed=0)
    alone = one.leaf_sums(population[:1], np.ones((1, 1)))
    together = one.leaf_sums(population, np.ones((len(population), 1)))
    said = one.means(population)
    same = (said == said[0]).all(axis=1)  # same values, so maybe the same leaf
    assert 1 <= together[alone[:, 0] > 0].sum() <= same.sum()


def test_is_least_squares_on_the_indicators_of_leaves(way):
    X, codes, weight, rates, population = problem()
    forest = grow_forest(X, np.eye(3)[codes], Growth(1, 2), seed=0, weight=weight)
    known = knowing_leaves(forest, X, codes, weight, rates, population)
    n_nodes = len(forest.leaf_sums(X, np.ones((len(X), 1))))

    # Each row's leaf, by asking for one row at a time.
    def indicators(rows):
        return np.array([forest.leaf_sums(row[None], np.ones((1, 1)))[:, 0] for row in rows])

    own, there = indicators(X), indicators(population)
    counts = np.bincount(codes, weight)
    means = np.array([weight[codes == k] @ own[codes == k] for k in range(3)]) / counts[:, None]
    moments = there.T @ there / len(there) + RIDGE * np.eye(n_nodes)
    targets = rates[:, None] * calibrated(means, counts, rates, there.mean(axis=0))
    expected = there @ np.linalg.solve(moments, targets.T)
    expected -= expected.mean(axis=1, keepdims=True)
    assert known.means(population) == pytest.approx(expected, abs=1e-4)


def test_labels_better_where_the_sample_is_biased():
    X, y = make_twonorm(3000, random_state=0)
    X[:, 10:] = np.random.default_rng(0).normal(size=(3000, 10))  # half of it is noise
    right = []
    for seed in range(5):
        own, rest = biased_sample(y, 0.01, positive_weight=0.85, random_state=seed)
        codes, rates = (y[own] > 0).astype(int), np.bincount(y[rest] > 0) / len(rest)
        Z, there = X[own].astype(np.float32), X[rest].astype(np.float32)
        plain = grow_forest(Z, np.eye(2)[codes], Growth(100, 4), seed)
        known = knowing_leaves(plain, Z, codes, np.ones(len(codes)), rates, there)
        n_positive = (y[rest] > 0).sum()
        right.append([
            np.mean(y[rest][np.argsort(-forest.means(there)[:, 1])[:n_positive]] > 0)
            for forest in (plain, known)
        ])  # fmt: skip
    plain, known = np.mean(right, axis=0)
    assert known > plain
