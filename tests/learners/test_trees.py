"""Forests: the compiled ones against an independent reading of them, the plain ones, leaves."""

import sys
import warnings

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesRegressor

from c2rf._utils.compiled import can_compile
from c2rf.datasets import biased_sample, make_ringnorm, make_twonorm
from c2rf.exceptions import InputError
from c2rf.learners import trees
from c2rf.learners.calibration import calibrated_means
from c2rf.learners.trees import (
    LEAF_RIDGE,
    Forest,
    Growth,
    correct_leaves,
    grow_forest,
)
from plain import plain_copy


@pytest.fixture
def without_numba(monkeypatch):
    monkeypatch.setattr(trees, "are_compiled", lambda: False)


def rows(n_rows=300, seed=0):
    X, y = make_twonorm(n_rows, random_state=seed)
    return X.astype(np.float32), np.eye(2)[y]


def walked(forest, row):
    """Send a row down every tree, one step at a time."""
    first, said = 0, 0.0
    for n_nodes, _ in forest.shape:
        place = 0
        nodes = forest.nodes[first : first + n_nodes]
        while nodes[place]["left"] != place:
            node = nodes[place]
            place = node["left"] + int(row[node["column"]] > node["threshold"])
        said = said + forest.values[first + place]
        first += n_nodes
    return said / len(forest.shape)


class TestCompiled:
    def test_means_are_those_of_the_leaves(self):
        X, targets = rows()
        forest = grow_forest(X, targets, Growth(7, 4), seed=0)
        means = forest.predict(X)
        for k in range(20):
            assert means[k] == pytest.approx(walked(forest, X[k]), abs=1e-6)

    def test_a_tree_knows_what_it_has_seen(self):
        X, targets = rows()
        assert grow_forest(X, targets, Growth(5, 4), seed=0).predict(X) == pytest.approx(targets)

    def test_leaves_hold_enough_rows(self):
        X, targets = rows(200)
        forest = grow_forest(X, targets, Growth(1, 20, min_samples_leaf=9), seed=0)
        leaves = {tuple(row) for row in forest.predict(X)}
        counts = [np.all(forest.predict(X) == leaf, axis=1).sum() for leaf in leaves]
        assert len(leaves) > 1
        assert min(counts) >= 9

    def test_weights_are_repetitions_for_the_values(self):
        X = np.array([[0.0], [0.0], [1.0]], dtype=np.float32)
        targets = np.array([[0.0], [3.0], [5.0]])
        weight = np.array([2.0, 1.0, 1.0])
        forest = grow_forest(X, targets, Growth(3, 1), seed=0, weight=weight)
        assert forest.predict(X).ravel() == pytest.approx([1, 1, 5])

    def test_threads_and_order_change_nothing(self):
        X, targets = rows(20_000)
        one, two = (grow_forest(X[:400], targets[:400], Growth(9, 4), 3, n_jobs=n) for n in (1, 2))
        assert (one.nodes == two.nodes).all()
        assert (one.predict(X, n_jobs=2) == one.predict(X, n_jobs=1)).all()
        apart = [one.some(slice(0, 4)).predict(X), one.some(slice(4, 9)).predict(X)]
        assert (4 * apart[0] + 5 * apart[1]) / 9 == pytest.approx(one.predict(X))

    def test_no_rows_and_constant_columns(self):
        X = np.ones((4, 3), dtype=np.float32)
        forest = grow_forest(X, np.array([[1.0], [2.0], [3.0], [4.0]]), Growth(2, 2), seed=0)
        assert forest.predict(X[:1]).tolist() == [[2.5]]
        assert forest.predict(X[:0]).shape == (0, 1)

    def test_bags_are_all_that_a_tree_sees(self):
        X, targets = rows(100)
        bag = np.arange(0, 100, 2, dtype=np.int32)
        forest = grow_forest(X, targets, Growth(2, 4), 0, bags=np.stack([bag, bag]))
        alone = grow_forest(X[bag], targets[bag], Growth(2, 4), 0)
        assert (forest.predict(X) == alone.predict(X)).all()

    @pytest.mark.parametrize("least", [1, 4])
    def test_what_is_compiled_is_what_is_written(self, least):
        X, targets = rows(60)
        X[:, 0] = 1.0  # a constant column among those that may be tried
        X, weight = np.hstack([X[:, :3], X[:, :1]]), np.arange(60) % 3 + 0.5
        bags = np.random.default_rng(0).integers(60, size=(9, 60)).astype(np.int32)
        growth = Growth(9, 3, least)
        compiled = grow_forest(X, targets, growth, 1, weight, bags)
        means = compiled.predict(X)
        copy = plain_copy("c2rf.learners.trees")
        with np.errstate(over="ignore"):  # random numbers are what is left of large products
            plain = copy.grow_forest(X, targets, growth, 1, weight, bags)
            said = plain.predict(X)
        assert (plain.shape == compiled.shape).all()
        for name in ("column", "left"):
            assert (plain.nodes[name] == compiled.nodes[name]).all()
        thresholds = [forest.nodes["threshold"] for forest in (plain, compiled)]
        np.testing.assert_allclose(*thresholds, atol=1e-6)  # the last digit is rounded elsewhere
        assert (plain.values == compiled.values).all()
        assert (said == means).all()


class TestAgainstScikitLearn:
    def test_equally_good(self):
        X, targets = rows(2100, seed=1)
        train, test = slice(0, 100), slice(100, None)
        ours = grow_forest(X[train], targets[train], Growth(100, 4), seed=0).predict(X[test])
        theirs = ExtraTreesRegressor(100, max_features=4, random_state=0)
        said = theirs.fit(X[train], targets[train]).predict(X[test])
        truth = targets[test].argmax(axis=1)
        right = [(table.argmax(axis=1) == truth).mean() for table in (ours, said)]
        assert right[0] == pytest.approx(right[1], abs=0.02)

    @pytest.mark.usefixtures("without_numba")
    def test_plain_path(self):
        X, targets = rows()
        forest = grow_forest(X, targets, Growth(6, 4), seed=0)
        assert forest.n_trees == 6
        assert forest.predict(X) == pytest.approx(targets)
        for k in range(20):
            assert forest.predict(X)[k] == pytest.approx(walked(forest, X[k]), abs=1e-6)
        assert forest.some(slice(0, 2)).n_trees == 2
        one = grow_forest(X, targets[:, :1], Growth(2, 4, min_samples_leaf=5), seed=0)
        assert one.predict(X).shape == (300, 1)


def test_without_numba_trees_are_scikit_learns_and_it_says_so_once(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)  # importing it fails
    can_compile.cache_clear()
    trees.are_compiled.cache_clear()
    X, targets = rows(20)
    with pytest.warns(RuntimeWarning, match="Numba cannot be used"):
        grow_forest(X, targets, Growth(1, 4), seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grow_forest(X, targets, Growth(1, 4), seed=0)
    monkeypatch.undo()
    can_compile.cache_clear()
    trees.are_compiled.cache_clear()
    assert trees.are_compiled()


class TestPriorCorrected:
    @pytest.fixture(params=["compiled", "plain"], autouse=True)
    def _way(self, request, monkeypatch):
        if request.param == "plain":
            monkeypatch.setattr(trees, "are_compiled", lambda: False)

    @staticmethod
    def problem(n_classes=3, n_labeled=20, n_rows=300):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n_labeled, 4)).astype(np.float32)
        population = rng.normal(size=(n_rows, 4)).astype(np.float32)
        codes = np.arange(n_labeled) % n_classes
        return X, codes, rng.random(n_labeled) + 0.5, rng.dirichlet(np.ones(n_classes)), population

    @staticmethod
    def leaf(forest, row):
        """Return the number of a row's leaf in a forest of one tree, found without its code."""
        place = 0
        while forest.nodes[place]["left"] != place:
            node = forest.nodes[place]
            place = node["left"] + int(row[node["column"]] > node["threshold"])
        return int(place)

    def indicators(self, forest, X, n_nodes):
        return np.eye(n_nodes)[[self.leaf(forest, row) for row in X]]

    def test_sums_are_those_of_the_rows_in_a_leaf(self):
        X, codes, _, _, population = self.problem()
        forest = grow_forest(X, np.eye(3)[codes], Growth(1, 2), seed=0)
        amounts = np.random.default_rng(1).random((len(population), 2))
        sums = forest.leaf_sums(population, amounts)
        inside = self.indicators(forest, population, len(sums))
        assert sums == pytest.approx(inside.T @ amounts)
        many = grow_forest(X, np.eye(3)[codes], Growth(5, 2), seed=0)
        assert many.leaf_sums(population, amounts).sum(axis=0) == pytest.approx(
            5 * amounts.sum(axis=0)
        )

    def test_is_least_squares_on_the_indicators_of_leaves(self):
        X, codes, weight, rates, population = self.problem()
        forest = grow_forest(X, np.eye(3)[codes], Growth(1, 2), seed=0, weight=weight)
        corrected = correct_leaves(forest, X, codes, weight, rates, population)
        n_nodes = len(forest.leaf_sums(X, np.ones((len(X), 1))))
        own, others = (self.indicators(forest, rows, n_nodes) for rows in (X, population))
        counts = np.bincount(codes, weight)
        means = np.array([weight[codes == k] @ own[codes == k] for k in range(3)]) / counts[:, None]
        moments = others.T @ others / len(others) + LEAF_RIDGE * np.eye(n_nodes)
        targets = rates[:, None] * calibrated_means(means, counts, rates, others.mean(axis=0))
        expected = others @ np.linalg.solve(moments, targets.T)
        expected -= expected.mean(axis=1, keepdims=True)
        assert corrected.predict(population) == pytest.approx(expected, abs=1e-4)

    def test_a_leaf_of_little_mass_is_damped(self):
        # Without the ridge a leaf of a thousandth would count as much as one of a tenth.
        X = np.array([[0.0], [1.0]], dtype=np.float32)
        forest = grow_forest(X, np.eye(2), Growth(1, 1), seed=0)
        scores = []
        for n_rows in (1, 100):
            population = np.repeat(X, [1000 - n_rows, n_rows], axis=0)
            rates = np.array([1 - n_rows / 1000, n_rows / 1000])
            corrected = correct_leaves(forest, X, np.array([0, 1]), np.ones(2), rates, population)
            scores.append(corrected.predict(X)[1, 1])
        assert scores[0] < 0.5 * scores[1]

    def test_labels_much_better_where_the_sample_is_biased(self):
        X, y = make_ringnorm(2000, random_state=0)
        for seed in range(3):
            own, rest = biased_sample(y, 0.02, positive_weight=0.9, random_state=seed)
            codes, n_positive = y[own], y[rest].sum()
            rates = np.array([len(rest) - n_positive, n_positive]) / len(rest)
            Z, others = X[own].astype(np.float32), X[rest].astype(np.float32)
            plain = grow_forest(Z, np.eye(2)[codes], Growth(60, 4), seed)
            corrected = correct_leaves(plain, Z, codes, np.ones(len(codes)), rates, others)
            shares = [
                y[rest][np.argsort(-forest.predict(others)[:, 1])[:n_positive]].mean()
                for forest in (plain, corrected)
            ]
            assert shares[1] > shares[0] + 0.02


@pytest.mark.parametrize(
    "damage",
    ["left", "column", "shape", "values", "depth", "kind"],
)
def test_forests_from_files_whose_links_lead_nowhere(damage):
    X = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    found = grow_forest(X, np.eye(2)[(X[:, 0] > 0).astype(int)], Growth(3, 2), 0, np.ones(40))
    found.check()
    nodes, values, shape = found.nodes.copy(), found.values.copy(), found.shape.copy()
    if damage == "left":
        nodes["left"][0] = 1 << 20
    elif damage == "column":
        nodes["column"][0] = -1
    elif damage == "shape":
        shape[0, 0] += 1
    elif damage == "values":
        values = values[:-1]
    elif damage == "depth":
        shape[0, 1] = 1 << 40
    else:
        values = values.astype(float)
    with pytest.raises(InputError, match="links that lead nowhere"):
        Forest(nodes, values, shape).check()
    with pytest.raises(InputError, match="ask for more columns than the 1 of the rows"):
        found.predict(X[:, :1])
