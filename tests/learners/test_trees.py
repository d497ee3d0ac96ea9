"""Forests: the compiled ones against an independent reading of them, and the plain ones."""

import warnings

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesRegressor

from c2rf.datasets import make_twonorm
from c2rf.learners import trees
from c2rf.learners.trees import CompiledForest, Growth, PlainForest, grow_forest
from plain import plain_copy


@pytest.fixture
def without_numba(monkeypatch):
    monkeypatch.setattr(trees, "kernel", lambda: None)


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
        assert isinstance(forest, CompiledForest)
        means = forest.means(X)
        for k in range(20):
            assert means[k] == pytest.approx(walked(forest, X[k]), abs=1e-6)

    def test_a_tree_knows_what_it_has_seen(self):
        X, targets = rows()
        assert grow_forest(X, targets, Growth(5, 4), seed=0).means(X) == pytest.approx(targets)

    def test_leaves_hold_enough_rows(self):
        X, targets = rows(200)
        forest = grow_forest(X, targets, Growth(1, 20, least=9), seed=0)
        leaves = {tuple(row) for row in forest.means(X)}
        counts = [np.all(forest.means(X) == leaf, axis=1).sum() for leaf in leaves]
        assert len(leaves) > 1
        assert min(counts) >= 9

    def test_weights_are_repetitions_for_the_values(self):
        X = np.array([[0.0], [0.0], [1.0]], dtype=np.float32)
        targets = np.array([[0.0], [3.0], [5.0]])
        weight = np.array([2.0, 1.0, 1.0])
        forest = grow_forest(X, targets, Growth(3, 1), seed=0, weight=weight)
        assert forest.means(X).ravel() == pytest.approx([1, 1, 5])

    def test_threads_and_order_change_nothing(self):
        X, targets = rows(20_000)
        one, two = (grow_forest(X[:400], targets[:400], Growth(9, 4), 3, n_jobs=n) for n in (1, 2))
        assert (one.nodes == two.nodes).all()
        assert (one.means(X, n_jobs=2) == one.means(X, n_jobs=1)).all()
        apart = [one.some(slice(0, 4)).means(X), one.some(slice(4, 9)).means(X)]
        assert (4 * apart[0] + 5 * apart[1]) / 9 == pytest.approx(one.means(X))

    def test_no_rows_and_constant_columns(self):
        X = np.ones((4, 3), dtype=np.float32)
        forest = grow_forest(X, np.array([[1.0], [2.0], [3.0], [4.0]]), Growth(2, 2), seed=0)
        assert forest.means(X[:1]).tolist() == [[2.5]]
        assert forest.means(X[:0]).shape == (0, 1)

    def test_bags_are_all_that_a_tree_sees(self):
        X, targets = rows(100)
        bag = np.arange(0, 100, 2, dtype=np.int32)
        forest = grow_forest(X, targets, Growth(2, 4), 0, bags=np.stack([bag, bag]))
        alone = grow_forest(X[bag], targets[bag], Growth(2, 4), 0)
        assert (forest.means(X) == alone.means(X)).all()

    @pytest.mark.parametrize("least", [1, 4])
    def test_what_is_compiled_is_what_is_written(self, monkeypatch, least):
        X, targets = rows(60)
        X[:, 0] = 1.0  # a constant column among those that may be tried
        X, weight = np.hstack([X[:, :3], X[:, :1]]), np.arange(60) % 3 + 0.5
        bags = np.random.default_rng(0).integers(60, size=(9, 60)).astype(np.int32)
        growth = Growth(9, 3, least)
        compiled = grow_forest(X, targets, growth, 1, weight, bags)
        means = compiled.means(X)
        copy = plain_copy("c2rf.learners.tree_kernel")
        monkeypatch.setattr(trees, "kernel", lambda: copy)
        with np.errstate(over="ignore"):  # random numbers are what is left of large products
            plain = grow_forest(X, targets, growth, 1, weight, bags)
            said = plain.means(X)
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
        ours = grow_forest(X[train], targets[train], Growth(100, 4), seed=0).means(X[test])
        theirs = ExtraTreesRegressor(100, max_features=4, random_state=0)
        said = theirs.fit(X[train], targets[train]).predict(X[test])
        truth = targets[test].argmax(axis=1)
        right = [(table.argmax(axis=1) == truth).mean() for table in (ours, said)]
        assert right[0] == pytest.approx(right[1], abs=0.02)

    @pytest.mark.usefixtures("without_numba")
    def test_plain_path(self):
        X, targets = rows()
        forest = grow_forest(X, targets, Growth(6, 4), seed=0)
        assert isinstance(forest, PlainForest)
        assert forest.n_trees == 6
        assert forest.means(X) == pytest.approx(targets)
        assert forest.some(slice(0, 2)).n_trees == 2
        one = grow_forest(X, targets[:, :1], Growth(2, 4, least=5), seed=0)
        assert one.means(X).shape == (300, 1)


def test_without_numba_it_says_so_once(monkeypatch):
    import builtins

    real = builtins.__import__

    def no_kernel(name, *args, **kwargs):
        if "tree_kernel" in (args[2] or () if len(args) > 2 else ()):
            raise ImportError("no Numba for this Python")
        return real(name, *args, **kwargs)

    trees.kernel.cache_clear()
    monkeypatch.setattr(builtins, "__import__", no_kernel)
    with pytest.warns(RuntimeWarning, match="no Numba for this Python"):
        assert trees.kernel() is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert trees.kernel() is None
    monkeypatch.undo()
    trees.kernel.cache_clear()
    assert trees.kernel() is not None
