"""Shallow trees as formulas over comparisons, asked of many rows at once.

A tree walks every row down by itself. A shallow one is cheaper as a formula: compare whole
columns with its thresholds, and combine the answers by operations on arrays of bits. The answers
are those of scikit-learn to the last bit, which rests on two facts:

- scikit-learn tests ``float32(x) <= threshold`` with a threshold in double precision; that is
  ``float32(x) <= t`` with t the greatest number in single precision that is not above it;
- a missing value goes to the side the node names. Both ``x <= t`` and ``x > t`` are false for it,
  so a node that sends it to the left asks the second, and nothing is ever tested for missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.bool_]

# A block of some twenty columns in single precision stays in the cache of a core; rows become
# columns a tile at a time, because a tile stays in its smallest cache.
_BLOCK_ROWS = 1 << 14
_TILE_ROWS = 1 << 11
# From here on walking down is cheaper; see benchmarks/votes.py.
MOST_SPLITS = 64
_NO_CHILD = -1


@dataclass(frozen=True)
class Choice:
    """One question to a column, ``x > threshold`` or else ``x <= threshold``, and what follows."""

    feature: int
    threshold: np.float32
    above: bool
    yes: Formula
    no: Formula

    @property
    def depth(self) -> int:
        """Number of questions on the longest way down."""
        return 1 + max(_depth(self.yes), _depth(self.no))


Formula = bool | Choice


def is_shallow(tree: Any) -> bool:
    """Say whether a tree may become a short formula, if many of its leaves agree."""
    return bool(tree.node_count <= 4 * MOST_SPLITS)


def as_formula(
    tree: Any,
    positive: Bits,
    columns: NDArray[np.intp] | None = None,
    most_splits: int = MOST_SPLITS,
) -> Formula | None:
    """Write a scikit-learn tree as a formula that says where it ends in a positive leaf.

    Splits between leaves that say the same are left out.

    Parameters
    ----------
    tree : sklearn.tree._tree.Tree
        The fitted tree, ``DecisionTreeClassifier.tree_``.
    positive : ndarray of bool, shape (n_nodes,)
        What each node says.
    columns : ndarray of int, or None
        The columns of the data that the tree sees; None means all.
    most_splits : int
        A tree with more splits is not worth it.

    Returns
    -------
    bool, Choice, or None
        The formula; None for a tree that should be walked down.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]).tree_
    >>> formula = as_formula(tree, tree.value[:, 0, 1] > 0.5)
    >>> answer([formula], np.array([[0.2], [0.7]]))
    array([[False,  True]])
    """
    said: list[Formula] = list(positive.tolist())
    sizes = [0] * len(said)
    thresholds = _floor_single(tree.threshold)
    lefts, rights = tree.children_left.tolist(), tree.children_right.tolist()
    seen = np.maximum(tree.feature, 0)  # leaves have none
    features = seen if columns is None else columns[seen]
    goes_left = tree.missing_go_to_left.tolist()
    # Children come after their parents: from the last node on, they are known when needed.
    for node in reversed(range(len(said))):
        left, right = lefts[node], rights[node]
        if left == _NO_CHILD:
            continue
        yes, no = said[left], said[right]
        if isinstance(yes, bool) and yes is no:
            said[node] = yes
            continue
        above = bool(goes_left[node])
        yes, no = (no, yes) if above else (yes, no)
        said[node] = Choice(int(features[node]), thresholds[node], above, yes, no)
        sizes[node] = 1 + sizes[left] + sizes[right]
    return said[0] if sizes[0] <= most_splits else None


def answer(formulas: Sequence[Formula], X: NDArray[Any]) -> Bits:
    """Evaluate formulas on all rows.

    Parameters
    ----------
    formulas : sequence of bool or Choice
        What :func:`as_formula` returns.
    X : ndarray of shape (n_rows, n_features)
        Numbers of any type; compared in single precision, as scikit-learn does.

    Returns
    -------
    ndarray of bool, shape (n_formulas, n_points)
    """
    n_points = X.shape[0]
    out = np.empty((len(formulas), n_points), dtype=bool)
    features = sorted({feature for formula in formulas for feature in _features(formula)})
    place = {feature: k for k, feature in enumerate(features)}
    n_rows = min(n_points, _BLOCK_ROWS)
    columns = np.empty((len(features), n_rows), dtype=np.float32)
    spare = np.empty((2 * max(map(_depth, formulas), default=0), n_rows), dtype=bool)
    for start in range(0, n_points, _BLOCK_ROWS):
        rows = slice(start, min(start + n_rows, n_points))
        size = rows.stop - start
        _copy_columns(X[rows], features, columns[:, :size])
        for formula, said in zip(formulas, out, strict=True):
            _write(formula, columns[:, :size], place, said[rows], spare[:, :size])
    return out


def _copy_columns(X: NDArray[Any], features: list[int], out: NDArray[np.float32]) -> None:
    """Copy the columns of these features into the rows of ``out``."""
    everything = len(features) == X.shape[1]
    for start in range(0, X.shape[0], _TILE_ROWS):
        rows = slice(start, start + _TILE_ROWS)
        tile = X[rows].T if everything else X[rows].T[features]
        with np.errstate(over="ignore"):  # as in as_single
            np.copyto(out[:, rows], tile, casting="unsafe")


def as_single(X: NDArray[Any]) -> NDArray[np.float32]:
    """Return X as trees want it; a number too large becomes infinite, on the same side."""
    with np.errstate(over="ignore"):
        return np.asarray(X, dtype=np.float32)


def _write(
    formula: Formula, columns: NDArray[np.float32], place: dict[int, int], out: Bits, spare: Bits
) -> None:
    """Write into ``out`` where the formula is true; ``spare`` is overwritten."""
    if isinstance(formula, bool):
        out[:] = formula
        return
    compare = np.greater if formula.above else np.less_equal
    compare(columns[place[formula.feature]], formula.threshold, out=out)
    yes, no = formula.yes, formula.no
    if isinstance(yes, bool) and isinstance(no, bool):
        if no:
            np.logical_not(out, out=out)
        return
    if isinstance(yes, bool):
        _write(no, columns, place, spare[0], spare[1:])
        # test or no, else no and not test
        np.logical_or(out, spare[0], out=out) if yes else np.less(out, spare[0], out=out)
        return
    _write(yes, columns, place, spare[0], spare[1:])
    if isinstance(no, bool):
        # yes or not test, else yes and test
        np.less_equal(out, spare[0], out=out) if no else np.logical_and(out, spare[0], out=out)
        return
    _write(no, columns, place, spare[1], spare[2:])
    # no ^ (test & (yes ^ no))  is  yes where the test says so
    np.not_equal(spare[0], spare[1], out=spare[0])
    np.logical_and(out, spare[0], out=out)
    np.not_equal(out, spare[1], out=out)


def _features(formula: Formula) -> set[int]:
    if isinstance(formula, bool):
        return set()
    return {formula.feature} | _features(formula.yes) | _features(formula.no)


def _depth(formula: Formula) -> int:
    return 0 if isinstance(formula, bool) else formula.depth


def _floor_single(thresholds: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the greatest numbers in single precision that are not above the thresholds.

    Examples
    --------
    >>> _floor_single(np.array([0.5, 0.1])) <= np.array([0.5, 0.1])
    array([ True,  True])
    """
    with np.errstate(over="ignore"):
        single = thresholds.astype(np.float32)
        down = np.nextafter(single, np.float32(-np.inf))
    return np.where(single > thresholds, down, single)
