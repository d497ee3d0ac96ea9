"""Votes of ensembles: whoever the members are, the ensemble's own prediction follows from them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import ClassifierMixin, clone
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

import c2rf.forest.ensembles
from c2rf._utils.validation import takes_missing
from c2rf.datasets import make_twonorm
from c2rf.exceptions import InputError, InputTypeError
from c2rf.forest.ensembles import Ensemble, make_ensemble
from c2rf.forest.votes import pack

X, CODES = make_twonorm(400, random_state=0)
X_NEW = make_twonorm(300, random_state=1)[0]
LABELS = {
    "codes": CODES,
    "signs": 2 * CODES - 1,
    "bools": CODES == 1,
    "strings": np.array(["no", "yes"])[CODES],
    "objects": np.array(["no", "yes"], dtype=object)[CODES],
}
VOTERS = [("nb", GaussianNB()), ("none", "drop"), ("tree", DecisionTreeClassifier(max_depth=3))]
ENSEMBLES = {
    "forest": RandomForestClassifier(7),
    "extra": ExtraTreesClassifier(8, max_depth=3),
    "bagging": BaggingClassifier(n_estimators=6),
    "subspaces": BaggingClassifier(
        LogisticRegression(), 6, max_features=0.4, bootstrap_features=True
    ),
    "boosting": AdaBoostClassifier(n_estimators=9),
    "voting": VotingClassifier(VOTERS),
}


def fitted(estimator, y=CODES, X=X, seed=0, **options):
    return make_ensemble(estimator, X, y, random_state=np.random.RandomState(seed), **options)


def vote(model, **options):
    return fitted(model, **options).votes(X_NEW)


def majority(votes, classes):
    """The class with more votes; of a tie the first, as scikit-learn has it."""
    return classes[(votes.sum(axis=1) > 0).astype(int)]


@pytest.mark.parametrize("kind", LABELS)
class TestOwnPrediction:
    """An ensemble's own rule, applied to the votes, gives the ensemble's own prediction."""

    def test_forest_of_full_trees(self, kind):
        # Leaves are pure, so that the mean probability of a forest is the share of votes.
        y = LABELS[kind]
        forest = RandomForestClassifier(7, random_state=0).fit(X, y)
        votes = vote(FrozenEstimator(forest), y=y)
        np.testing.assert_array_equal(majority(votes, forest.classes_), forest.predict(X_NEW))

    def test_bagging_without_probabilities(self, kind):
        y = LABELS[kind]
        bag = BaggingClassifier(LinearSVC(), 6, max_features=0.3, random_state=0).fit(X, y)
        votes = vote(FrozenEstimator(bag), y=y)
        np.testing.assert_array_equal(majority(votes, bag.classes_), bag.predict(X_NEW))

    def test_boosting_by_its_weights(self, kind):
        y = LABELS[kind]
        boost = AdaBoostClassifier(n_estimators=9, random_state=0).fit(X, y)
        score = vote(FrozenEstimator(boost), y=y) @ boost.estimator_weights_
        np.testing.assert_array_equal(boost.classes_[(score > 0) * 1], boost.predict(X_NEW))

    def test_voting(self, kind):
        y = LABELS[kind]
        voting = VotingClassifier([*VOTERS, ("lr", LogisticRegression())]).fit(X, y)
        votes = vote(FrozenEstimator(voting), y=y)
        assert votes.shape == (len(X_NEW), 3)
        np.testing.assert_array_equal(majority(votes, voting.classes_), voting.predict(X_NEW))

    def test_copies_and_lists(self, kind):
        y = LABELS[kind]
        for template in (None, GaussianNB()):
            ensemble = fitted(template, y=y, n_estimators=4)
            said = np.column_stack([member.predict(X_NEW) for member in ensemble.members])
            expected = np.where(said == np.unique(y)[1], 1, -1)
            np.testing.assert_array_equal(ensemble.votes(X_NEW), expected)
            np.testing.assert_array_equal(vote(ensemble.members, y=y), expected)


@pytest.mark.parametrize("name", ENSEMBLES)
def test_a_vote_does_not_depend_on_the_names_of_the_classes(name):
    votes = [vote(ENSEMBLES[name], y=y) for y in LABELS.values()]
    for other in votes[1:]:
        np.testing.assert_array_equal(votes[0], other)
    assert votes[0].dtype == np.int8
    assert set(np.unique(votes[0])) == {-1, 1}


@pytest.mark.parametrize("name", ["default", *ENSEMBLES])
def test_the_other_class_as_positive_turns_every_vote(name):
    estimator = ENSEMBLES.get(name)
    votes, turned = (vote(estimator, positive=k) for k in (1, 0))
    np.testing.assert_array_equal(votes, -turned)


@pytest.mark.parametrize("name", ["default", "copies", *ENSEMBLES])
def test_jobs_and_chunks_change_nothing(name, monkeypatch):
    estimator = GaussianNB() if name == "copies" else ENSEMBLES.get(name)
    alone = vote(estimator)
    monkeypatch.setattr(c2rf.forest.ensembles, "_CHUNK_CELLS", 7 * X.shape[1])
    together = fitted(estimator, n_jobs=2).votes(X_NEW, n_jobs=2)
    np.testing.assert_array_equal(alone, together)


@pytest.mark.parametrize("name", ENSEMBLES)
def test_frozen_members_are_taken_as_they_are(name):
    model = ENSEMBLES[name].fit(X, CODES)
    ensemble = fitted(FrozenEstimator(FrozenEstimator(model)))
    assert [id(member) for member in ensemble.members] == [id(m) for m in model.estimators_]
    # Without the ice, the fit is forgotten.
    assert fitted(model).members[0] is not model.estimators_[0]


def test_lists_of_fitted_models_in_and_out_of_the_ice():
    models = [GaussianNB().fit(X, CODES), RandomForestClassifier(3).fit(X, CODES)]
    expected = vote(models)
    frozen = [FrozenEstimator(model) for model in models]
    for listed in (tuple(models), frozen, FrozenEstimator(models), clone(FrozenEstimator(models))):
        np.testing.assert_array_equal(vote(listed), expected)


@pytest.mark.parametrize(
    ("max_samples", "n_drawn"), [(0.2, 80), (0.504, 202), (0.99, 396), (1.0, 400), (17, 17)]
)
def test_copies_see_points_drawn_without_replacement(max_samples, n_drawn):
    ensemble = fitted(KNeighborsClassifier(1), max_samples=max_samples, n_estimators=3)
    drawn = [member._fit_X[:, 0] for member in ensemble.members]
    assert {len(np.unique(points)) for points in drawn} == {n_drawn}
    assert {len(points) for points in drawn} == {n_drawn}
    differ = set(drawn[0]) != set(drawn[1])
    assert differ == (n_drawn < len(X))


def test_a_tiny_part_is_one_point():
    ensemble = fitted(None, max_samples=1e-9, n_estimators=4)
    assert {int(member.tree_.n_node_samples[0]) for member in ensemble.members} == {1}


def test_default_members_are_trees_of_depth_two_on_a_fifth():
    members = fitted(None).members
    assert len(members) == 20
    assert all(type(member) is DecisionTreeClassifier for member in members)
    assert max(member.get_depth() for member in members) == 2
    assert {int(member.tree_.n_node_samples[0]) for member in members} == {80}


def test_fewer_copies_are_the_first_of_more():
    np.testing.assert_array_equal(vote(None)[:, :5], vote(None, n_estimators=5))


def test_seeds_left_open_are_drawn_and_given_ones_stay():
    seeds = [member.random_state for member in fitted(ExtraTreeClassifier()).members]
    assert len(set(seeds)) == 20
    assert {m.random_state for m in fitted(ExtraTreeClassifier(random_state=3)).members} == {3}
    inner = make_pipeline(SimpleImputer(), DecisionTreeClassifier())
    assert all(isinstance(m[-1].random_state, int) for m in fitted(inner).members)
    assert not np.array_equal(vote(None, seed=0), vote(None, seed=1))


@pytest.mark.parametrize("template", [None, LogisticRegression(), LinearSVC()])
def test_a_member_that_saw_one_class_votes_for_it(template):
    y = np.array(["rare"] + ["usual"] * 399)
    ensemble = fitted(template, y=y, max_samples=0.01, n_estimators=5)
    np.testing.assert_array_equal(ensemble.votes(X_NEW), np.ones((300, 5)))


def test_a_listed_member_may_know_one_class_only():
    members = [DecisionTreeClassifier().fit(X, np.ones(400)), GaussianNB().fit(X, CODES)]
    assert (vote(members)[:, 0] == 1).all()


def test_trees_compare_in_single_precision_as_scikit_learn_does():
    tree = DecisionTreeClassifier(max_depth=3).fit(X, CODES)
    root, feature = float(tree.tree_.threshold[0]), tree.tree_.feature[0]
    near = np.repeat(X_NEW, 3, axis=0)
    near[:, feature] = np.tile([root - 1e-12, root, root + 1e-12], len(X_NEW))
    near[:3, feature] = [1e300, -1e300, np.nan]
    sane = np.abs(near[:, feature]) < 1e30
    votes = fitted([tree]).votes(near)
    np.testing.assert_array_equal(votes[sane, 0], 2 * tree.predict(near[sane]) - 1)
    # Too large for single precision: on the same side as any large number.
    large = near[:2].copy()
    large[:, feature] = [1e30, -1e30]
    np.testing.assert_array_equal(votes[:2, 0], 2 * tree.predict(large) - 1)


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (None, True),
        (RandomForestClassifier(), True),
        (LogisticRegression(), False),
        (BaggingClassifier(), True),
        (BaggingClassifier(GaussianNB()), False),
        (AdaBoostClassifier(), False),
        (make_pipeline(SimpleImputer(), GaussianNB()), True),
        (VotingClassifier([("a", DecisionTreeClassifier()), ("b", "drop")]), True),
        (VotingClassifier(VOTERS), False),
        ([DecisionTreeClassifier(), FrozenEstimator(GaussianNB())], False),
        ([object()], False),
    ],
)
def test_who_takes_missing_values(estimator, expected):
    assert takes_missing(estimator) is expected


class Sevens(ClassifierMixin):
    """Not of scikit-learn, and always wrong."""

    def predict(self, X):
        return np.full(len(X), 7)


def test_a_prediction_outside_the_classes_is_refused():
    ensemble = fitted([Sevens()], y=LABELS["strings"])
    with pytest.raises(InputError, match=r"member 0 \(Sevens\) predicts 7; .* 'no', 'yes'"):
        ensemble.votes(X_NEW)
    with pytest.raises(InputError, match="a vote must be one of 0, 1"):
        Ensemble([Sevens()], np.arange(2)).votes(X_NEW)


def test_members_of_several_outputs_are_refused():
    two = np.column_stack([CODES, 1 - CODES])
    forest = RandomForestClassifier(3, random_state=0)
    for model in (DecisionTreeClassifier(max_depth=2), KNeighborsClassifier(), forest):
        with pytest.raises(InputError, match=r"member 0 of the list, .* several outputs"):
            fitted([model.fit(X, two)])
    with pytest.raises(InputError, match="the frozen RandomForestClassifier predicts several"):
        fitted(FrozenEstimator(forest))
    with pytest.raises(InputError, match=r"member 0 \(RidgeClassifier\) predicts several outputs"):
        vote([RidgeClassifier().fit(X, two)])
    column = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, CODES[:, None])
    assert vote([column]).shape == (300, 1)


@pytest.mark.parametrize(
    ("estimator", "options", "error", "message"),
    [
        (GradientBoostingClassifier(), {}, InputError, "cannot vote: its trees are regression"),
        (HistGradientBoostingClassifier(), {}, InputError, "none of them predicts a class"),
        (LinearRegression(), {}, InputTypeError, "found LinearRegression"),
        (MultiOutputClassifier(GaussianNB()), {}, InputTypeError, "here there is one; give the"),
        (RandomForestRegressor(), {}, InputTypeError, "must be None, a classifier, an ensemble"),
        ("forest", {}, InputTypeError, "found 'forest' of type str"),
        (GaussianNB, {}, InputTypeError, "found <class"),
        (RandomForestClassifier(), {"n_estimators": 30}, InputError, "must stay at 20 and 0.2"),
        (RandomForestClassifier(), {"max_samples": 0.5}, InputError, "found 20 and 0.5: set them"),
        ([], {}, InputError, "at least one; found none"),
        ([GaussianNB()], {}, InputError, "member 0 of the list, GaussianNB, is not fitted"),
        ([object()], {}, InputTypeError, "member 0 of the list, object, has no predict"),
        ([GaussianNB().fit(X, CODES)], {"max_samples": 0.5}, InputError, "with a list its"),
        ([GaussianNB().fit(X, CODES + 1)], {}, InputError, "classes 1, 2, .* y are 0, 1"),
        ([GaussianNB().fit(X[:, :3], CODES)], {}, InputError, "3 columns, but X has 20"),
        (FrozenEstimator(RandomForestClassifier()), {}, InputError, "is not fitted; fit it"),
        (FrozenEstimator(GaussianNB().fit(X, CODES)), {}, InputTypeError, "found GaussianNB"),
        (
            FrozenEstimator(RandomForestClassifier(2).fit(X, LABELS["strings"])),
            {},
            InputError,
            "fitted to the classes 'no', 'yes', but the classes in y are 0, 1",
        ),
        (
            FrozenEstimator(RandomForestClassifier(2).fit(X[:, :3], CODES)),
            {},
            InputError,
            "was fitted to 3 columns, but X has 20",
        ),
        (
            [GaussianNB().fit(pd.DataFrame(X).add_prefix("a"), CODES)],
            {"feature_names": np.array([f"b{k}" for k in range(20)], dtype=object)},
            InputError,
            "columns 'a0', 'a1', .* columns of X are 'b0'",
        ),
        (None, {"max_samples": 401}, InputError, "max_samples=401 .* y has 400"),
    ],
)
def test_bad_input_is_named(estimator, options, error, message):
    with pytest.raises(error, match=message):
        fitted(estimator, **options)


LEAST = np.finfo(np.float32).smallest_subnormal
GREATEST = np.finfo(np.float32).max


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
        votes = Ensemble([tree, tree], np.arange(2)).votes(data)
        np.testing.assert_array_equal(votes[:, 1] > 0, said_by(tree, data))


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
@pytest.mark.parametrize("compiled", [False, True])
def test_votes_of_ensembles_are_those_of_their_members(name, dtype, compiled, monkeypatch):
    monkeypatch.setattr(c2rf.forest.ensembles, "can_compile", lambda: compiled)
    monkeypatch.setattr(c2rf.forest.ensembles, "_ROWS_DOWN", 50)
    monkeypatch.setattr(c2rf.forest.ensembles, "_CHUNK_CELLS", 64 * 70)
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
