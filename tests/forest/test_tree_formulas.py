"""Trees as formulas say what scikit-learn says, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

import c2rf.forest.ensembles
from c2rf.forest.ensembles import (
    MOST_SPLITS,
    Ensemble,
    Split,
    _floor_single,
    as_formula,
    evaluate,
    is_shallow,
    make_ensemble,
)
from c2rf.forest.votes import pack

LEAST = np.finfo(np.float32).smallest_subnormal
GREATEST = np.finfo(np.float32).max


def formula_of(tree, most_splits=10**6):
    said = tree.tree_.value[:, 0, :].argmax(axis=1) == 1
    return as_formula(tree.tree_, said, most_splits=most_splits)


def said_by(tree, X):
    """What scikit-learn says; its predict refuses what float32 cannot hold, its apply does not."""
    with np.errstate(over="ignore"):
        leaves = tree.tree_.apply(np.asarray(X, dtype=np.float32))
    return tree.tree_.value[leaves, 0, :].argmax(axis=1) == 1


def hard_values(tree, rng, n_points):
    """Points that lie on, and next to, the thresholds of a tree, in double and single precision."""
    inner = tree.tree_.children_left >= 0
    at = np.concatenate([tree.tree_.threshold[inner], [0.0, 1e300, -1e300, GREATEST, LEAST]])
    with np.errstate(over="ignore", under="ignore"):
        single = at.astype(np.float32)
        near = [at, single, np.nextafter(single, np.float32(np.inf)), np.nextafter(at, np.inf)]
        near += [np.nextafter(single, np.float32(-np.inf)), np.nextafter(at, -np.inf), [np.nan]]
    # The middle of two neighbours in single precision, where rounding decides.
    near += [(near[1].astype(float) + near[2]) / 2, (near[1].astype(float) + near[4]) / 2]
    values = np.concatenate([np.asarray(each, dtype=float) for each in near])
    return rng.choice(values, size=(n_points, tree.n_features_in_))


@given(seed=st.integers(0, 2**31 - 1), depth=st.integers(1, 7), missing=st.booleans())
@settings(max_examples=60, deadline=None)
def test_on_and_next_to_the_thresholds(seed, depth, missing):
    rng = np.random.default_rng(seed)
    X = rng.choice([rng.normal(size=(60, 3)), rng.integers(-2, 3, size=(60, 3)) / 3])
    X[:, 1] = X[:, 1] if seed % 3 else 7.0  # a constant column
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    y = rng.integers(0, 2, size=60)
    kind = DecisionTreeClassifier if seed % 2 else ExtraTreeClassifier
    tree = kind(max_depth=depth, random_state=0).fit(X, y)
    points = hard_values(tree, rng, 500)
    for data in (points, np.asfortranarray(points), points[::2, :]):
        np.testing.assert_array_equal(evaluate([formula_of(tree)], data)[0], said_by(tree, data))


@given(st.floats(allow_nan=False, width=64), st.floats(allow_nan=False, width=32))
def test_single_precision_thresholds_decide_alike(threshold, x):
    (single,) = _floor_single(np.array([threshold]))
    assert (np.float32(x) <= single) == (np.float64(np.float32(x)) <= threshold)


FORESTS = {
    "forest": RandomForestClassifier(11, max_depth=3, random_state=0),
    "extra": ExtraTreesClassifier(9, max_depth=2, random_state=0),
    "bag": BaggingClassifier(
        DecisionTreeClassifier(max_depth=2), 70, max_features=0.4, random_state=0
    ),
    "one column each": BaggingClassifier(
        DecisionTreeClassifier(max_depth=2), 5, max_features=1, random_state=0
    ),
    "boost": AdaBoostClassifier(n_estimators=8, random_state=0),
    "best first": RandomForestClassifier(5, max_leaf_nodes=6, random_state=0),
    "deep and shallow": RandomForestClassifier(6, min_samples_leaf=30, random_state=0),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, bool])
@pytest.mark.parametrize("name", FORESTS)
def test_votes_of_ensembles_are_those_of_their_members(name, dtype, monkeypatch):
    monkeypatch.setattr(c2rf.forest.ensembles, "_BLOCK_ROWS", 64)
    monkeypatch.setattr(c2rf.forest.ensembles, "_TILE_ROWS", 20)
    rng = np.random.default_rng(1)
    X = rng.normal(scale=3, size=(400, 10)).astype(dtype)
    y = (X.sum(axis=1) + rng.normal(size=400) > np.median(X.sum(axis=1))).astype(int)
    model = FORESTS[name].fit(X, y)
    ensemble = make_ensemble(FrozenEstimator(model), X, y, random_state=np.random.RandomState(0))
    columns = getattr(model, "estimators_features_", [slice(None)] * len(model.estimators_))
    pairs = zip(model.estimators_, columns, strict=True)
    expected = np.column_stack([2 * member.predict(X[:, seen]) - 1 for member, seen in pairs])
    for n_jobs in (1, 3):
        votes = ensemble.votes(X, n_jobs=n_jobs)
        np.testing.assert_array_equal(votes, expected)
        np.testing.assert_array_equal(ensemble.words(X, n_jobs=n_jobs), pack(votes))


def test_shallow_trees_are_never_walked_and_deep_ones_always():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(4000, 5)), rng.integers(0, 2, size=4000)
    shallow, deep = (DecisionTreeClassifier(max_depth=d).fit(X, y) for d in (3, None))
    assert is_shallow(shallow.tree_)
    assert not is_shallow(deep.tree_)
    assert list(Ensemble([deep, shallow], np.arange(2))._formulas()) == [1]
    # Not deep, but with too many splits that matter.
    wide = DecisionTreeClassifier(max_leaf_nodes=MOST_SPLITS + 40).fit(X, y)
    assert formula_of(wide, MOST_SPLITS) is None
    votes = Ensemble([deep, wide, shallow], np.arange(2)).votes(X)
    expected = [2 * tree.predict(X) - 1 for tree in (deep, wide, shallow)]
    np.testing.assert_array_equal(votes, np.column_stack(expected))


def test_splits_between_equal_leaves_are_left_out():
    X, y = np.arange(12.0)[:, None], np.repeat([0, 0, 0, 1], 3)
    X, y = np.vstack([X, X]), np.concatenate([y, np.zeros(12)])
    tree = DecisionTreeClassifier(max_depth=1).fit(X, y)
    assert tree.tree_.node_count == 3
    assert formula_of(tree) is False  # both leaves say 0
    assert not evaluate([False], X).any()
    assert evaluate([True, False], X).tolist() == [[True] * 24, [False] * 24]


FIRST, SECOND = (Split(k, np.float32(0.5), k == 2, True, False) for k in (1, 2))


@pytest.mark.parametrize(
    ("yes", "no"),
    [
        (yes, no)
        for yes in (True, False, FIRST)
        for no in (True, False, SECOND)
        if yes is not no  # nothing to choose: as_formula leaves it out
    ],
)
def test_every_way_to_combine_two_answers(yes, no):
    X = np.array(np.meshgrid([0, 1], [0, 1], [0, 1])).reshape(3, -1).T
    test, first, second = X[:, 0] <= 0.5, X[:, 1] <= 0.5, X[:, 2] > 0.5
    expected = np.where(
        test, yes if isinstance(yes, bool) else first, no if isinstance(no, bool) else second
    )
    said = evaluate([Split(0, np.float32(0.5), False, yes, no)], X)
    np.testing.assert_array_equal(said[0], expected)


def test_no_points_and_no_formulas():
    assert evaluate([True, False], np.empty((0, 3))).shape == (2, 0)
    assert evaluate([], np.empty((4, 3))).shape == (0, 4)
