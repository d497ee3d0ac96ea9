"""Forests of extremely randomized trees, and prior-corrected estimates in their leaves.

Trees are compiled where Numba is there, and grown by scikit-learn where not. The two grow the same
kind of trees, with other random numbers, and label equally well. Every tree has a seed of its own:
the number of threads changes nothing. The compiled ones are much faster on few rows, because a
forest is grown, and predicts, in one call.

Prior-corrected leaf estimates: the leaves of a tree grown on few labeled rows are pure; they say 0
or 1, whether they hold a tenth of the population or a thousandth. But the part m of the population
that falls in a leaf is known, and the part f_k of class k is estimated by its labeled rows. In a
population of rates r_k these make

    score_k = r_k f_k / (m + ridge),   with f calibrated such that sum of r_k f_k = m:

ridge regression on the indicators of leaves, with the second moments of the population. These are
diagonal, because a row is in one leaf only.

There is one criterion for classes and for numbers. A tree reduces the sum of the variances of its
targets; with the indicators of classes as targets that is the Gini impurity. At every node some
columns that are not constant there are drawn, and for each a threshold between its least and its
greatest value; the best of these splits is taken.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import ExtraTreeRegressor

from c2rf._utils.compiled import NODE, can_compile, compiled, flat_tree, leaves_of, summing
from c2rf._utils.types import MOST_SEEDS, Codes, Floats, Ints, Singles
from c2rf.exceptions import InputError
from c2rf.learners.calibration import calibrated_means
from c2rf.learners.threads import in_row_parts, in_threads

WITHOUT_NUMBA = (
    "Numba cannot be used: trees are grown by scikit-learn, which labels as well and takes longer"
)
_ROWS_PER_CALL = 1 << 11  # enough to be worth a thread, and few enough to keep all threads busy
_WORTH_A_THREAD = 1 << 15  # rows of all bags


@cache
def are_compiled() -> bool:
    """Return whether trees are compiled; warn, once, where they are not."""
    if not can_compile():
        warnings.warn(WITHOUT_NUMBA, RuntimeWarning, stacklevel=2)
    return can_compile()


@dataclass(frozen=True)
class Growth:
    """How trees are grown.

    Parameters
    ----------
    n_trees : int
        Number of trees.
    max_features : int
        Columns that are tried at a node.
    min_samples_leaf : int
        Least number of rows in a leaf.
    max_depth : int
        Greatest depth of a leaf.
    n_scored : int
        Splits are chosen by the first targets, at most this number; leaves hold the means of all.
    """

    n_trees: int
    max_features: int
    min_samples_leaf: int = 1
    max_depth: int = 1000
    n_scored: int = 1000


class Forest:
    """Trees in flat arrays.

    Parameters
    ----------
    nodes, values, shape : ndarray
        As :func:`grow` returns them.
    """

    def __init__(self, nodes: Any, values: Any, shape: Any) -> None:
        self.nodes, self.values, self.shape = nodes, values, shape

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.shape)

    def some(self, trees: slice) -> Forest:
        """Return the forest of some neighbouring trees."""
        ends = np.concatenate([[0], np.cumsum(self.shape[:, 0])])
        first, last, _ = trees.indices(self.n_trees)
        part = slice(ends[first], ends[last])
        return Forest(self.nodes[part], self.values[part], self.shape[trees])

    def predict(self, X: Singles, n_jobs: int | None = None) -> Floats:
        """Return the mean of the trees' predictions for rows."""
        X = self._checked(X)
        sums = in_row_parts(lambda rows: self._sums(X[rows]), len(X), _ROWS_PER_CALL, n_jobs)
        return np.concatenate(sums) / self.n_trees

    def _sums(self, X: Singles) -> Floats:
        sums = np.zeros((len(X), self.values.shape[1]))
        for places in leaves_of(X, self.nodes, self.shape, are_compiled()):
            sums += self.values.take(places, axis=0)
        return sums

    def leaf_sums(self, X: Singles, amounts: Floats) -> Floats:
        """Return, for every node, the sum of the amounts of the rows that end there."""
        sums = np.zeros((len(self.nodes), amounts.shape[1]))
        for places in leaves_of(self._checked(X), self.nodes, self.shape, are_compiled()):
            np.add.at(sums, places, amounts)
        return sums

    def _checked(self, X: Any) -> Singles:
        """Return rows in order; compiled loops do not look whether a column is there."""
        if len(self.nodes) and int(self.nodes["column"].max()) >= X.shape[1]:
            raise InputError(f"the trees ask for more columns than the {X.shape[1]} of the rows")
        return np.ascontiguousarray(X, dtype=np.float32)

    def check(self) -> None:
        """Refuse trees from a file whose links lead out of their arrays."""
        nodes, values, shape = (np.asarray(each) for each in (self.nodes, self.values, self.shape))
        fits = (
            nodes.dtype == NODE
            and values.dtype == np.float32
            and shape.dtype == np.int64
            and (nodes.ndim, values.ndim, shape.ndim) == (1, 2, 2)
            and shape.shape[1] == 2
            and len(values) == len(nodes) == shape[:, 0].sum()
            and bool((shape >= 0).all() and (shape[:, 1] <= np.maximum(shape[:, 0], 1)).all())
        )
        if fits:
            n_nodes = np.repeat(shape[:, 0], shape[:, 0])
            last = nodes["left"].astype(np.int64) + (nodes["threshold"] < np.inf)
            fits = bool((last < n_nodes).all() and (last >= 0).all())
            fits &= bool((nodes["column"] >= 0).all())  # how many there are, predict sees
        if not fits:
            raise InputError("its trees have links that lead nowhere")

    def with_values(self, values: Floats) -> Forest:
        """Return the same trees with other values of their nodes."""
        return Forest(self.nodes, values.astype(np.float32), self.shape)


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
    >>> forest.predict(np.array([[0.0], [7.0]], dtype=np.float32)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    n_trees = growth.n_trees
    seeds = np.random.SeedSequence(seed).generate_state(n_trees, np.uint64)
    weight = np.ones(len(X)) if weight is None else np.ascontiguousarray(weight, dtype=float)
    if bags is None:
        bags = np.tile(np.arange(len(X), dtype=np.int32), (n_trees, 1))
    X = np.asfortranarray(X, dtype=np.float32)
    targets = np.ascontiguousarray(targets, dtype=float)
    if are_compiled():
        # A tree is the same whichever thread grows it: small forests are grown in one call.
        n_parts = min(n_trees, 8 if bags.size > _WORTH_A_THREAD else 1)
        parts = np.array_split(np.arange(n_trees), n_parts)
        limits = growth.max_features, growth.min_samples_leaf, growth.max_depth, growth.n_scored
        calls = [(X, targets, weight, bags[part], *limits, seeds[part]) for part in parts]
        grown = in_threads(grow, calls, n_jobs)
    else:
        drawn = zip(bags, seeds % MOST_SEEDS, strict=True)
        plain = [(X[b], targets[b], weight[b], growth, int(s)) for b, s in drawn]
        grown = in_threads(_grow_plain, plain, n_jobs)
    return Forest(*(np.concatenate(arrays) for arrays in zip(*grown, strict=True)))


def _grow_plain(
    X: Any, targets: Floats, weight: Floats, growth: Growth, seed: int
) -> tuple[Any, Any, Any]:
    """Return a tree of scikit-learn in the form of :func:`grow`."""
    model = ExtraTreeRegressor(
        max_features=growth.max_features,
        min_samples_leaf=growth.min_samples_leaf,
        max_depth=growth.max_depth,
        random_state=seed,
    )
    tree = model.fit(X, targets, sample_weight=weight).tree_
    nodes, number = flat_tree(tree)
    values = np.empty((tree.node_count, targets.shape[1]), dtype=np.float32)
    values[number] = tree.value[:, :, 0]
    return nodes, values, np.array([[tree.node_count, tree.max_depth]])


LEAF_RIDGE = 0.003
"""Ridge term that damps leaves with little population mass. Chosen by samples 0 and 1 of the
paper's 13 data sets; samples 2 to 4 test it."""


def correct_leaves(
    forest: Forest, X: Singles, codes: Codes, weight: Floats, rates: Floats, population: Singles
) -> Forest:
    """Return the same trees with prior-corrected leaf estimates.

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

    >>> X = np.array([[0.0], [1.0]], dtype=np.float32)
    >>> forest = grow_forest(X, np.eye(2), Growth(50, 1), seed=0)
    >>> population = np.repeat(X, [90, 10], axis=0)
    >>> codes, half = np.array([0, 1]), np.array([0.5, 0.5])
    >>> forest = correct_leaves(forest, X, codes, np.ones(2), half, population)
    >>> forest.predict(X).round(2).tolist()
    [[0.28, -0.28], [-2.43, 2.43]]
    """
    counts = np.bincount(codes, weights=weight, minlength=len(rates)).astype(float)
    indicators = np.eye(len(rates))[codes] * (weight / counts[codes])[:, None]
    shares = forest.leaf_sums(X, indicators).T
    each = np.full((len(population), 1), 1.0 / len(population))
    mass = forest.leaf_sums(population, each)[:, 0]
    shares = calibrated_means(shares, counts, rates, mass)
    scores = rates[:, None] * shares / (mass + LEAF_RIDGE)
    return forest.with_values((scores - scores.mean(axis=0)).T)


# What follows is compiled.

_NO_GAIN = -1.0


@compiled
def _draw(state: Any) -> Any:
    """Return the next random number of a tree below 2^53 (splitmix64, on all platforms)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))) >> np.uint64(11)


@compiled
def _uniform(state: Any) -> float:
    return float(_draw(state)) / 9007199254740992.0  # 2^53


@compiled
def _gather(X: Any, rows: Any, column: int, seen: Any) -> Any:
    """Copy the values of a column into neighbouring places; return the least and greatest."""
    low = high = X[rows[0], column]
    for i in range(len(rows)):
        value = X[rows[i], column]
        seen[i] = value
        low, high = min(low, value), max(high, value)
    return low, high


@summing
def _sum_left(seen: Any, amounts: Any, threshold: Any) -> float:
    """Return the sum of the amounts of the rows that go left."""
    total = 0.0
    for i in range(len(seen)):
        total += amounts[i] if seen[i] <= threshold else 0.0
    return total


@compiled
def _count_left(seen: Any, threshold: Any) -> int:
    n_left = 0
    for i in range(len(seen)):
        n_left += seen[i] <= threshold
    return n_left


@compiled
def _gain(
    seen: Any, amounts: Any, weight: Any, even: bool, threshold: Any, min_leaf: int, total: Any,
    mass: float
) -> float:  # fmt: skip
    """Return the gain of a split: the squared sums of both sides, over their weights."""
    n_left = _count_left(seen, threshold)
    if n_left < min_leaf or len(seen) - n_left < min_leaf:
        return _NO_GAIN
    left_mass = float(n_left) if even else _sum_left(seen, weight, threshold)
    if left_mass <= 0 or left_mass >= mass:
        return _NO_GAIN
    gain = 0.0
    for k in range(len(total)):
        side = _sum_left(seen, amounts[k, : len(seen)], threshold)
        rest = total[k] - side
        gain += side * side / left_mass + rest * rest / (mass - left_mass)
    return gain


@compiled
def _best_split(
    X: Any, rows: Any, seen: Any, amounts: Any, weight: Any, even: bool, columns: Any,
    max_features: int, min_leaf: int, total: Any, mass: float, state: Any
) -> Any:  # fmt: skip
    """Return the best of some random splits; the column is -1 where there is none."""
    best, best_column, best_threshold = _NO_GAIN, -1, np.float32(0.0)
    tried, n_left = 0, len(columns)
    while tried < max_features and n_left > 0:
        place = int(_draw(state) % np.uint64(n_left))
        n_left -= 1
        column = columns[place]
        columns[place], columns[n_left] = columns[n_left], column
        low, high = _gather(X, rows, column, seen)
        if not low < high:
            continue
        tried += 1
        threshold = np.float32(low + _uniform(state) * (high - low))
        if threshold >= high:  # rounded up
            threshold = low
        gain = _gain(seen, amounts, weight, even, threshold, min_leaf, total, mass)
        if gain > best:
            best, best_column, best_threshold = gain, column, threshold
    return best_column, best_threshold


@compiled
def _partition(X: Any, rows: Any, column: int, threshold: Any) -> int:
    """Move the rows of the left side to the front, and return how many they are."""
    front, back = 0, len(rows) - 1
    while front <= back:
        if X[rows[front], column] <= threshold:
            front += 1
        else:
            rows[front], rows[back] = rows[back], rows[front]
            back -= 1
    return front


@compiled
def _collect(Y: Any, weight: Any, rows: Any, amounts: Any, masses: Any, total: Any) -> Any:
    """Copy weighted targets and weights of a node's rows; return its weight, and if all agree."""
    mass, pure = 0.0, True
    for i in range(len(rows)):
        masses[i] = weight[rows[i]]
        mass += masses[i]
    for k in range(len(total)):
        total[k], first = 0.0, Y[rows[0], k]
        for i in range(len(rows)):
            value = Y[rows[i], k]
            amounts[k, i] = masses[i] * value
            total[k] += amounts[k, i]
            pure = pure and value == first
    return mass, pure


@compiled
def _push(stack: Any, place: int, start: int, end: int, node: int, level: int) -> None:
    """Note a node to be split: its first row, its end, its number and its depth."""
    stack[place, 0], stack[place, 1] = start, end
    stack[place, 2], stack[place, 3] = node, level


@compiled
def _grow_tree(
    X: Any, Y: Any, weight: Any, even: bool, rows: Any, max_features: int, min_leaf: int,
    max_depth: int, n_scored: int, state: Any, nodes: Any, values: Any, stack: Any, seen: Any,
    amounts: Any, masses: Any
) -> tuple[int, int]:  # fmt: skip
    """Grow one tree into scratch arrays; return the number of its nodes and its depth."""
    n_targets = Y.shape[1]
    total = np.empty(n_targets)
    columns = np.arange(X.shape[1])
    _push(stack, 0, 0, len(rows), 0, 0)
    n_stacked, n_nodes, depth = 1, 1, 0
    while n_stacked:
        n_stacked -= 1
        start, end = stack[n_stacked, 0], stack[n_stacked, 1]
        node, level = stack[n_stacked, 2], stack[n_stacked, 3]
        own, size = rows[start:end], end - start
        depth = max(depth, level)
        mass, pure = _collect(Y, weight, own, amounts, masses, total)
        column = -1
        if not pure and size >= 2 * min_leaf and level < max_depth:
            column, threshold = _best_split(
                X, own, seen[:size], amounts, masses[:size], even, columns, max_features, min_leaf,
                total[:n_scored], mass, state
            )  # fmt: skip
        for k in range(n_targets):
            values[node, k] = total[k] / mass if mass > 0 else 0.0
        if column < 0:
            nodes[node]["column"] = 0
            nodes[node]["threshold"] = np.inf
            nodes[node]["left"] = node
            continue
        middle = start + _partition(X, own, column, threshold)
        nodes[node]["column"] = column
        nodes[node]["threshold"] = threshold
        nodes[node]["left"] = n_nodes
        _push(stack, n_stacked, middle, end, n_nodes + 1, level + 1)
        _push(stack, n_stacked + 1, start, middle, n_nodes, level + 1)
        n_stacked += 2
        n_nodes += 2
    return n_nodes, depth


@compiled
def grow(
    X: Any, Y: Any, weight: Any, bags: Any, max_features: int, min_leaf: int, max_depth: int,
    n_scored: int, seeds: Any
) -> tuple[Any, Any, Ints]:  # fmt: skip
    """Grow a forest, one tree for each bag of rows.

    Parameters
    ----------
    X : ndarray of float32, shape (n_rows, n_columns)
        Finite; column by column in memory is quickest.
    Y : ndarray of float64, shape (n_rows, n_targets)
        Indicators of classes, or numbers.
    weight : ndarray of float64, shape (n_rows,)
        How much each row counts.
    bags : ndarray of int32, shape (n_trees, n_drawn)
        The rows of each tree.
    max_features, min_leaf, max_depth, n_scored : int
        Columns that are tried at a node, the fewest rows of a leaf, its greatest depth, and how
        many targets choose splits.
    seeds : ndarray of uint64, shape (n_trees,)
        One per tree, so that it does not matter which thread grows it.

    Returns
    -------
    nodes : ndarray of NODE
        Of all trees; places of children are counted from the first node of the tree.
    values : ndarray of float32, shape (n_nodes, n_targets)
        Weighted means.
    shape : ndarray of int64, shape (n_trees, 2)
        Number of nodes and depth of each tree.
    """
    n_trees, n_drawn = bags.shape
    n_targets = Y.shape[1]
    most = 2 * n_drawn - 1
    shape = np.empty((n_trees, 2), dtype=np.int64)
    stack = np.empty((n_drawn + 1, 4), dtype=np.int64)
    # Room for the largest trees: memory that is not written to costs nothing.
    nodes = np.empty(n_trees * most, dtype=NODE)
    values = np.empty((n_trees * most, n_targets), dtype=np.float32)
    used, state = 0, np.empty(1, dtype=np.uint64)
    seen, masses = np.empty(n_drawn, dtype=np.float32), np.empty(n_drawn)
    amounts = np.empty((n_targets, n_drawn))
    even = bool((weight == 1.0).all())
    for tree in range(n_trees):
        state[0] = seeds[tree]
        rows = bags[tree].copy()
        n_nodes, depth = _grow_tree(
            X, Y, weight, even, rows, max_features, min_leaf, max_depth, n_scored, state,
            nodes[used:], values[used:], stack, seen, amounts, masses
        )  # fmt: skip
        shape[tree, 0], shape[tree, 1] = n_nodes, depth
        used += n_nodes
    return nodes[:used].copy(), values[:used].copy(), shape
