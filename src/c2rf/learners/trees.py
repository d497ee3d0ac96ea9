"""Leaves of trees that know how much of the population they hold.

Forests of extremely randomized trees: compiled where Numba is there, scikit-learn's where not.

The two grow the same kind of trees, with other random numbers, and label equally well. Every tree
has a seed of its own: who grows it, and in how many threads, changes nothing.

Leaves of trees that know how much of the population they hold.

The leaves of a tree grown on few labeled rows are pure: they say 0 or 1, whether they hold a tenth
of the population or a thousandth. But which part m of the population falls in a leaf is known, and
which part f_k of class k is estimated by its labeled rows. In a population of rates r_k these make

    score_k = r_k f_k / (m + ridge),   with f calibrated such that sum of r_k f_k = m:

the least squares of :mod:`c2rf.learners.features`, whose second moments are diagonal here,
because a row is in one leaf only.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import ExtraTreeRegressor

from c2rf._utils.types import Codes, Floats, Singles
from c2rf.learners.features import calibrated
from c2rf.learners.threads import in_threads

WITHOUT_NUMBA = (
    "Numba cannot be used ({reason}): trees are grown by scikit-learn, which labels as well and "
    "takes longer"
)
_ROWS_PER_CALL = 1 << 11  # enough to be worth a thread, and few enough to keep all threads busy
_WORTH_A_THREAD = 1 << 15  # rows of all bags
_MOST_SEED = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Growth:
    """How trees are grown.

    Parameters
    ----------
    n_trees : int
        Number of trees.
    n_tried : int
        Columns that are tried at a node.
    least : int
        Least number of rows in a leaf.
    deepest : int
        Greatest depth of a leaf.
    """

    n_trees: int
    n_tried: int
    least: int = 1
    deepest: int = 1000


@cache
def kernel() -> ModuleType | None:
    """Return the compiled functions, None (and say so once) where they cannot be had."""
    try:
        from c2rf.learners import tree_kernel
    except ImportError as error:
        warnings.warn(WITHOUT_NUMBA.format(reason=error), RuntimeWarning, stacklevel=2)
        return None
    return tree_kernel


class CompiledForest:
    """Trees in flat arrays.

    Parameters
    ----------
    nodes, values, shape : ndarray
        As in :func:`c2rf.learners.tree_kernel.grow`.
    """

    def __init__(self, nodes: Any, values: Any, shape: Any) -> None:
        self.nodes, self.values, self.shape = nodes, values, shape

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.shape)

    def some(self, trees: slice) -> CompiledForest:
        """Return the forest of some neighbouring trees."""
        ends = np.concatenate([[0], np.cumsum(self.shape[:, 0])])
        first, last, _ = trees.indices(self.n_trees)
        part = slice(ends[first], ends[last])
        return CompiledForest(self.nodes[part], self.values[part], self.shape[trees])

    def means(self, X: Singles, n_jobs: int | None = None) -> Floats:
        """Return the mean of the trees' probabilities of rows."""
        found = kernel()
        assert found is not None  # a forest that was grown elsewhere needs what it was grown by
        X = np.ascontiguousarray(X, dtype=np.float32)
        starts = range(0, max(len(X), 1), _ROWS_PER_CALL)
        calls = [
            (X[start : start + _ROWS_PER_CALL], self.nodes, self.values, self.shape)
            for start in starts
        ]
        return np.concatenate(in_threads(found.ask, calls, n_jobs)) / self.n_trees

    def leaf_sums(self, X: Singles, amounts: Floats) -> Floats:
        """Return, of every node, the sum of the amounts of the rows that end there."""
        found = kernel()
        assert found is not None
        X = np.ascontiguousarray(X, dtype=np.float32)
        return np.asarray(found.leaf_sums(X, amounts, self.nodes, self.shape))

    def with_values(self, values: Floats) -> CompiledForest:
        """Return the same trees with other values of their nodes."""
        return CompiledForest(self.nodes, values.astype(np.float32), self.shape)


class PlainForest:
    """Trees of scikit-learn.

    Parameters
    ----------
    trees : list of fitted ExtraTreeRegressor
        The trees.
    values : list of ndarray of shape (n_nodes, n_targets)
        What the nodes of each tree say.
    """

    def __init__(self, trees: Sequence[Any], values: Sequence[Floats]) -> None:
        self.trees, self.values = list(trees), list(values)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.trees)

    def some(self, trees: slice) -> PlainForest:
        """Return the forest of some neighbouring trees."""
        return PlainForest(self.trees[trees], self.values[trees])

    def means(self, X: Singles, n_jobs: int | None = None) -> Floats:
        """Return the mean of the trees' probabilities of rows."""
        calls = [(tree, values, X) for tree, values in zip(self.trees, self.values, strict=True)]
        return np.mean(in_threads(_ask_plain, calls, n_jobs), axis=0)

    def leaf_sums(self, X: Singles, amounts: Floats) -> Floats:
        """Return, of every node, the sum of the amounts of the rows that end there."""
        sums = [np.zeros((len(values), amounts.shape[1])) for values in self.values]
        for tree, here in zip(self.trees, sums, strict=True):
            np.add.at(here, tree.apply(X), amounts)
        return np.concatenate(sums)

    def with_values(self, values: Floats) -> PlainForest:
        """Return the same trees with other values of their nodes."""
        ends = np.cumsum([len(own) for own in self.values])
        return PlainForest(self.trees, np.split(values, ends[:-1]))


Forest = CompiledForest | PlainForest


def grow_forest(
    X: Singles,
    targets: Floats,
    growth: Growth,
    seed: int,
    weight: Floats | None = None,
    bags: NDArray[np.int32] | None = None,
    n_jobs: int | None = None,
) -> Forest:
    """Grow trees that predict one or more numbers.

    Parameters
    ----------
    X : ndarray of float32, shape (n_rows, n_columns)
        Finite numbers.
    targets : ndarray of shape (n_rows, n_targets)
        What is learned; the indicators of classes for their probabilities.
    growth : Growth
        How.
    seed : int
        Source of the seeds of all trees.
    weight : ndarray of shape (n_rows,), optional
        How much each row counts.
    bags : ndarray of int, shape (n_trees, n_drawn), optional
        The rows of each tree; all by default.
    n_jobs : int or None
        Number of threads.

    Examples
    --------
    >>> X = np.arange(8, dtype=np.float32)[:, None]
    >>> forest = grow_forest(X, np.eye(2)[[0, 0, 0, 0, 1, 1, 1, 1]], Growth(20, 1), seed=0)
    >>> forest.means(np.array([[0.0], [7.0]], dtype=np.float32)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    n_trees = growth.n_trees
    seeds = np.random.SeedSequence(seed).generate_state(n_trees, np.uint64)
    weight = np.ones(len(X)) if weight is None else np.ascontiguousarray(weight, dtype=float)
    if bags is None:
        bags = np.tile(np.arange(len(X), dtype=np.int32), (n_trees, 1))
    X = np.asfortranarray(X, dtype=np.float32)
    targets = np.ascontiguousarray(targets, dtype=float)
    found = kernel()
    if found is None:
        plain: list[Any] = [
            (X[bag], targets[bag], weight[bag], growth, int(seeds[t] % _MOST_SEED))
            for t, bag in enumerate(bags)
        ]
        trees = in_threads(_grow_plain, plain, n_jobs)
        return PlainForest(trees, [tree.tree_.value[:, :, 0] for tree in trees])
    # A tree is the same whoever grows it: small forests are grown in one call.
    parts = np.array_split(
        np.arange(n_trees), min(n_trees, 8 if bags.size > _WORTH_A_THREAD else 1)
    )
    calls = [
        (X, targets, weight, bags[part], growth.n_tried, growth.least, growth.deepest, seeds[part])
        for part in parts
    ]
    grown = in_threads(found.grow, calls, n_jobs)
    return CompiledForest(*(np.concatenate(arrays) for arrays in zip(*grown, strict=True)))


def _grow_plain(X: Any, targets: Floats, weight: Floats, growth: Growth, seed: int) -> Any:
    tree = ExtraTreeRegressor(
        max_features=growth.n_tried,
        min_samples_leaf=growth.least,
        max_depth=growth.deepest,
        random_state=seed,
    )
    return tree.fit(X, targets, sample_weight=weight)


def _ask_plain(tree: Any, values: Floats, X: Any) -> Floats:
    return values[tree.apply(X)]


RIDGE = 0.003
"""What is added to the part of the population in a leaf, so that tiny leaves do not shout."""


def knowing_leaves(
    forest: Forest, X: Singles, codes: Codes, weight: Floats, rates: Floats, population: Singles
) -> Forest:
    """Return the same trees with leaves that know what they hold.

    Parameters
    ----------
    forest : Forest
        Grown on the labeled rows.
    X : ndarray of float32, shape (n_labeled, n_columns)
        The labeled rows.
    codes, weight : ndarray of shape (n_labeled,)
        Numbers of their classes, and how much each counts.
    rates : ndarray of shape (n_classes,)
        The known rates of the classes.
    population : ndarray of float32, shape (n_rows, n_columns)
        Rows of the population.

    Examples
    --------
    The two leaves hold 90 and 10 percent of the population; half of it is of each class. So the
    large leaf cannot be of the first class alone, though its only labeled row is.

    >>> from c2rf.learners.trees import Growth, grow_forest
    >>> X = np.array([[0.0], [1.0]], dtype=np.float32)
    >>> forest = grow_forest(X, np.eye(2), Growth(50, 1), seed=0)
    >>> population = np.repeat(X, [90, 10], axis=0)
    >>> codes, half = np.array([0, 1]), np.array([0.5, 0.5])
    >>> forest = knowing_leaves(forest, X, codes, np.ones(2), half, population)
    >>> forest.means(X).round(2).tolist()
    [[0.28, -0.28], [-2.43, 2.43]]
    """
    counts = np.bincount(codes, weights=weight, minlength=len(rates)).astype(float)
    indicators = np.eye(len(rates))[codes] * (weight / counts[codes])[:, None]
    parts = forest.leaf_sums(X, indicators).T
    each = np.full((len(population), 1), 1.0 / len(population))
    held = forest.leaf_sums(population, each)[:, 0]
    parts = calibrated(parts, counts, rates, held)
    scores = rates[:, None] * parts / (held + RIDGE)
    return forest.with_values((scores - scores.mean(axis=0)).T)
