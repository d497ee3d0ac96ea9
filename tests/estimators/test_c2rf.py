"""C2RFClassifier: scikit-learn's rules, and the total met for labels and data of any kind."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import skops.io
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import c2rf
from c2rf.datasets import biased_sample, make_twonorm
from c2rf.estimators.c2rf import C2RFClassifier
from c2rf.exceptions import InfeasibleError, InputError, InputTypeError

X_ALL, Y_ALL = make_twonorm(500, random_state=0)
LABELED, UNLABELED = biased_sample(Y_ALL, 0.2, positive_weight=0.7, random_state=0)
X, Y, X_UNLABELED = X_ALL[LABELED], Y_ALL[LABELED], X_ALL[UNLABELED]
KNOWN = int(Y_ALL[UNLABELED].sum())
NAMES = [f"x{k}" for k in range(20)]
HOLED = np.where(np.arange(20) == 3, np.nan, X_UNLABELED)
FRAME = pd.DataFrame(X, columns=NAMES)
FRAME_UNLABELED = pd.DataFrame(X_UNLABELED, columns=NAMES)
TO_SCALE = make_pipeline(StandardScaler(), GaussianNB())
SAFE_TYPES = {
    "c2rf.forest.ensembles.Ensemble",
    "c2rf.estimators.c2rf.C2RFClassifier",
    "c2rf.forest.problem.Solution",
    "c2rf.estimators.labeled_population.LabeledPopulation",
    "c2rf.data.population.memory.Memory",
    "sklearn.tree._tree.Tree",
}
LABELS = {
    "codes": np.array([0, 1]),
    "signs": np.array([-1, 1]),
    "floats": np.array([1.0, 2.0]),
    "bools": np.array([False, True]),
    "strings": np.array(["no", "yes"]),
    "objects": np.array(["no", "yes"], dtype=object),
}


def classifier(estimator=None, **options):
    """A quick one: few trees, few patterns."""
    if estimator is None:
        options = {"n_estimators": 5, **options}
    return C2RFClassifier(estimator, **{"random_state": 0, **options})


def fitted(estimator=None, y=Y, total=KNOWN, **options):
    return classifier(estimator, **options).fit(X, y, X_unlabeled=X_UNLABELED, n_positive=total)


@parametrize_with_checks([C2RFClassifier(), classifier(LogisticRegression(), n_estimators=5)])
def test_rules_of_scikit_learn(estimator, check):
    check(estimator)


class TestTotal:
    @pytest.mark.parametrize("kind", LABELS)
    @pytest.mark.parametrize("positive", [0, 1])
    def test_labels_of_any_kind(self, kind, positive):
        classes = LABELS[kind]
        total = KNOWN if positive else len(X_UNLABELED) - KNOWN
        model = fitted(y=classes[Y], total=total, pos_label=classes[positive])
        np.testing.assert_array_equal(model.classes_, classes)
        assert model.pos_label_ == classes[positive]
        assert model.transduction_.dtype == model.classes_.dtype == classes.dtype
        n_positive = int((model.transduction_ == classes[positive]).sum())
        assert model.solution_.eta == abs(n_positive - total) == model.solution_.bound
        # Renaming classes, or counting the others, is the same problem.
        plain = fitted()
        assert model.solution_.eta == plain.solution_.eta
        np.testing.assert_array_equal(model.votes(X), plain.votes(X) * (1 if positive else -1))

    @pytest.mark.parametrize("positive", [0, 1])
    def test_solution_is_that_of_the_votes(self, positive):
        model = fitted(pos_label=positive)
        votes = model.votes(X_UNLABELED)
        c2rf.verify(votes, KNOWN, model.solution_)
        assert model.solution_.eta == c2rf.solve(votes, KNOWN).eta
        np.testing.assert_array_equal(model.weights_, model.solution_.weights)
        assert len(model.weights_) == len(model.estimators_) == 5

    @pytest.mark.parametrize("positive", [0, 1])
    def test_prediction_agrees_with_transduction_and_decision(self, positive):
        model = fitted(pos_label=positive)
        decision = model.decision_function(X_UNLABELED)
        np.testing.assert_array_equal(model.predict(X_UNLABELED), model.transduction_)
        np.testing.assert_array_equal(model.transduction_ == 1, decision > 0)
        assert np.abs(decision).min() >= 1 - 1e-9

    def test_it_is_nearer_to_the_total_than_the_majority(self):
        majority = classifier().fit(X, Y).predict(X_UNLABELED)
        assert fitted().solution_.eta < abs(int(majority.sum()) - KNOWN)

    def test_a_rate_is_a_count(self):
        rate = fitted(total=KNOWN / len(X_UNLABELED))
        np.testing.assert_array_equal(rate.transduction_, fitted().transduction_)

    @pytest.mark.parametrize("total", [0, len(X_UNLABELED), 0.0, 1.0])
    def test_none_and_all_are_totals(self, total):
        model = fitted(total=total)
        wished = round(total * len(X_UNLABELED)) if isinstance(total, float) else total
        assert model.solution_.eta == abs(int(model.transduction_.sum()) - wished)

    def test_order_of_the_unlabeled_is_kept(self):
        order = np.random.default_rng(0).permutation(len(X_UNLABELED))
        turned = classifier().fit(X, Y, X_unlabeled=X_UNLABELED[order], n_positive=KNOWN)
        np.testing.assert_array_equal(turned.transduction_, fitted().transduction_[order])

    def test_offset_shifts_the_score(self):
        model = fitted(offset=(-3.0, -1.5))
        assert -3.0 <= model.offset_ <= -1.5
        score = model.votes(X) @ model.weights_ + model.offset_
        np.testing.assert_allclose(model.decision_function(X), score)
        c2rf.verify(model.votes(X_UNLABELED), KNOWN, model.solution_, offset=(-3.0, -1.5))

    def test_options_of_the_solve_are_passed_on(self):
        narrow = fitted(lower=2.0, upper=3.0, method="only-pp", backend="scip", time_limit=100)
        assert ((narrow.weights_ >= 2) & (narrow.weights_ <= 3)).all()
        assert narrow.solution_.stats["method"] == "only-pp"
        assert narrow.solution_.stats["backend"] == "scip"
        with pytest.raises(InfeasibleError):
            fitted(n_estimators=2, lower=1.0, upper=1.0)

    def test_fit_without_a_total_forgets_the_last_one(self):
        model = fitted().fit(X, Y)
        assert model.solution_ is None
        assert not hasattr(model, "transduction_")
        np.testing.assert_array_equal(model.weights_, np.ones(5))


class TestMajority:
    @pytest.mark.parametrize("pos_label", [0, 1, None])
    def test_a_tie_is_negative(self, pos_label):
        model = classifier(n_estimators=4, pos_label=pos_label).fit(X, Y)
        balance = model.votes(X_ALL).sum(axis=1)
        assert (balance == 0).any()
        positive = 1 if pos_label is None else pos_label
        np.testing.assert_array_equal(model.predict(X_ALL) == positive, balance > 0)
        np.testing.assert_array_equal(model.predict(X_ALL) == 1, model.decision_function(X_ALL) > 0)

    def test_strings_need_no_positive_one(self):
        model = classifier().fit(X, LABELS["strings"][Y])
        assert model.pos_label_ == "yes"

    def test_a_forest_of_full_trees_is_itself(self):
        forest = RandomForestClassifier(9, random_state=0).fit(X, Y)
        model = classifier(FrozenEstimator(forest)).fit(X, Y)
        np.testing.assert_array_equal(model.predict(X_ALL), forest.predict(X_ALL))


class TestData:
    @pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
    def test_frames_are_arrays_with_names(self, frame):
        def named(array):
            return frame(dict(zip(NAMES, array.T, strict=True)))

        model = classifier().fit(
            named(X), pd.Series(Y), X_unlabeled=named(X_UNLABELED), n_positive=KNOWN
        )
        np.testing.assert_array_equal(model.feature_names_in_, NAMES)
        np.testing.assert_array_equal(model.transduction_, fitted().transduction_)
        np.testing.assert_array_equal(model.predict(named(X)), fitted().predict(X))

    @pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
    def test_text_goes_to_pipelines_that_read_it(self, frame):
        def text(array):
            columns = {
                "size": array[:, 0],
                "sign": np.where(array[:, 1] > 0, "+", "-").astype(object),
            }
            return frame(columns)

        encode = make_column_transformer(
            (OneHotEncoder(drop="if_binary"), ["sign"]), remainder="passthrough"
        )
        tree = make_pipeline(encode, DecisionTreeClassifier(max_depth=2))
        for estimator in (tree, VotingClassifier([(c, clone(tree)) for c in "abc"])):
            model = classifier(estimator).fit(
                text(X), Y, X_unlabeled=text(X_UNLABELED), n_positive=KNOWN
            )
            np.testing.assert_array_equal(model.predict(text(X_UNLABELED)), model.transduction_)
        with pytest.raises(InputError, match=r"X must hold numbers; .* columns 'sign': encode"):
            classifier().fit(text(X), Y)

    def test_text_only_among_the_unlabeled_is_named(self):
        text = FRAME_UNLABELED.assign(x3="low", x5="high")
        with pytest.raises(InputError, match=r"X_unlabeled must hold numbers; .* 'x3', 'x5'"):
            classifier().fit(FRAME, Y, X_unlabeled=text, n_positive=KNOWN)

    def test_columns_of_numbers_keep_their_names_for_pipelines(self):
        choose = make_column_transformer(("passthrough", ["x4", "x2"]))
        model = classifier(make_pipeline(choose, GaussianNB()), n_estimators=5)
        model.fit(FRAME, Y, X_unlabeled=FRAME_UNLABELED, n_positive=KNOWN)
        direct = classifier(GaussianNB(), n_estimators=5)
        direct.fit(X[:, [4, 2]], Y, X_unlabeled=X_UNLABELED[:, [4, 2]], n_positive=KNOWN)
        np.testing.assert_array_equal(model.transduction_, direct.transduction_)

    def test_trees_take_missing_values(self):
        holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
        model = classifier().fit(holes, Y, X_unlabeled=X_UNLABELED, n_positive=KNOWN)
        assert set(model.predict(holes)) == {0, 1}

    def test_members_fitted_to_names(self):
        members = [FrozenEstimator(GaussianNB().fit(FRAME[k::3], Y[k::3])) for k in range(3)]
        members.append(DecisionTreeClassifier(max_depth=2).fit(FRAME, Y))
        model = classifier(members).fit(FRAME, Y, X_unlabeled=FRAME_UNLABELED, n_positive=KNOWN)
        expected = np.column_stack([2 * m.predict(FRAME_UNLABELED) - 1 for m in members])
        np.testing.assert_array_equal(model.votes(FRAME_UNLABELED), expected)


class TestReproducibility:
    def test_same_seed_same_result_for_any_number_of_jobs(self):
        one, two = (fitted(n_jobs=jobs) for jobs in (1, 2))
        np.testing.assert_array_equal(one.weights_, two.weights_)
        np.testing.assert_array_equal(one.transduction_, two.transduction_)
        np.testing.assert_array_equal(one.decision_function(X_ALL), two.decision_function(X_ALL))

    def test_other_seeds_make_other_trees(self):
        other = classifier(random_state=1).fit(X, Y).votes(X_ALL)
        assert not np.array_equal(other, classifier().fit(X, Y).votes(X_ALL))

    @pytest.mark.parametrize("estimator", [None, RandomForestClassifier(3, max_depth=2)])
    def test_saved_and_loaded_it_predicts_the_same(self, estimator):
        model = fitted(estimator)
        safe = skops.io.dumps(model)
        trusted = skops.io.get_untrusted_types(data=safe)
        assert set(trusted) <= SAFE_TYPES
        for copy in (pickle.loads(pickle.dumps(model)), skops.io.loads(safe, trusted=trusted)):
            np.testing.assert_array_equal(
                copy.decision_function(X_ALL), model.decision_function(X_ALL)
            )
            assert copy.solution_.eta == model.solution_.eta

    def test_clones_forget_fits_but_not_in_the_ice(self):
        forest = RandomForestClassifier(3, max_depth=2).fit(X, Y)
        frozen = clone(classifier(FrozenEstimator(forest))).fit(X, Y)
        assert frozen.estimators_[0] is forest.estimators_[0]
        with pytest.raises(InputError, match="clone forgets fits"):
            clone(classifier(forest.estimators_)).fit(X, Y)


class TestComposition:
    def test_grid_search_passes_the_unlabeled_on(self):
        search = GridSearchCV(classifier(), {"n_estimators": [3, 5]}, cv=2)
        search.fit(X, Y, X_unlabeled=X_UNLABELED, n_positive=KNOWN / len(X_UNLABELED))
        assert len(search.best_estimator_.transduction_) == len(X_UNLABELED)

    def test_grid_search_with_routing(self):
        with config_context(enable_metadata_routing=True):
            model = classifier().set_fit_request(X_unlabeled=True, n_positive=True)
            search = GridSearchCV(model, {"max_samples": [0.2, 0.4]}, cv=2)
            search.fit(X, Y, X_unlabeled=X_UNLABELED, n_positive=0.5)
        assert len(search.best_estimator_.transduction_) == len(X_UNLABELED)

    def test_pipeline_transforms_the_unlabeled_too(self):
        with config_context(enable_metadata_routing=True):
            model = classifier(GaussianNB(), n_estimators=5)
            model.set_fit_request(X_unlabeled=True, n_positive=True)
            steps = [("scale", StandardScaler()), ("classify", model)]
            pipeline = Pipeline(steps, transform_input=["X_unlabeled"])
            pipeline.fit(X, Y, X_unlabeled=X_UNLABELED, n_positive=KNOWN)
        scale = StandardScaler().fit(X)
        direct = clone(model).fit(
            scale.transform(X), Y, X_unlabeled=scale.transform(X_UNLABELED), n_positive=KNOWN
        )
        np.testing.assert_array_equal(pipeline[-1].transduction_, direct.transduction_)
        np.testing.assert_array_equal(pipeline.predict(X_UNLABELED), direct.transduction_)


@pytest.mark.parametrize(
    ("model", "arguments", "message"),
    [
        (classifier(), (X, Y, None, KNOWN), "n_positive was given without X_unlabeled"),
        (classifier(), (X, Y, X_UNLABELED), "X_unlabeled was given without totals"),
        (classifier(), (X, Y, X_UNLABELED, 401), "from 0 to 400, .* found the count 401"),
        (classifier(), (X, Y, X_UNLABELED, 1.5), "a float in .* found the float 1.5"),
        (classifier(), (X, Y * 0), "two classes; found one class only, 0"),
        (classifier(), (X, np.arange(100) % 3), "Only binary .* classes 0, 1, 2"),
        (classifier(pos_label=7), (X, Y), "one of the classes in y, 0, 1; found 7"),
        (classifier(pos_label="1"), (X, Y), "found '1'"),
        (
            classifier(),
            (X, LABELS["strings"][Y], X_UNLABELED, KNOWN),
            "pos_label must say .* found None, the classes are 'no', 'yes'",
        ),
        (classifier(), (X, Y, X_UNLABELED[:, :3], 5), "X_unlabeled .* 20 columns of X; found 3"),
        (
            classifier(GaussianNB()),
            (FRAME, Y, X_UNLABELED[:, :3].tolist(), 5),
            "X_unlabeled must have the 20 columns of X; found 3",
        ),
        (classifier(), (X, Y, X_UNLABELED[0], 5), "X_unlabeled: Expected 2D array"),
        (
            classifier(),
            (FRAME, Y, FRAME_UNLABELED.rename(columns={"x3": "z"}), 5),
            "columns of X_unlabeled must be those of X; missing: 'x3'; unknown: 'z'",
        ),
        (
            classifier(),
            (FRAME, Y, FRAME_UNLABELED[NAMES[::-1]], 5),
            "columns of X_unlabeled .* same order, 'x0', 'x1'",
        ),
        (
            classifier(GaussianNB()),
            (X, Y, HOLED, 5),
            r"missing values \(NaN\) in the columns 3, which the estimator GaussianNB cannot",
        ),
        (
            classifier(GaussianNB()),
            (FRAME, Y, pd.DataFrame(HOLED, columns=NAMES), 5),
            "X_unlabeled has missing values .* columns 'x3', which",
        ),
        (
            classifier(TO_SCALE),
            (FRAME, Y, pd.DataFrame(HOLED, columns=NAMES), 5),
            "missing values .* 'x3', which the estimator Pipeline .* cannot take: Input",
        ),
        (
            classifier(),
            (X, Y, np.where(np.arange(20) == 4, np.inf, X_UNLABELED), 5),
            r"X_unlabeled has infinite values \(inf\) in the columns 4",
        ),
        (
            classifier(GaussianNB()),
            (FRAME, Y, FRAME_UNLABELED.assign(x4=-np.inf), 5),
            "X_unlabeled has infinite values .* columns 'x4'",
        ),
        (classifier(lower=0.0), (X, Y), r"0 < lower <= upper < 1e\+100"),
        (classifier(upper=np.inf), (X, Y), r"0 < lower <= upper < 1e\+100"),
        (classifier(offset=(1, 0)), (X, Y), "lo <= hi"),
    ],
)
def test_bad_input_is_named(model, arguments, message):
    with pytest.raises(InputError, match=message):
        model.fit(
            *arguments[:2], **dict(zip(("X_unlabeled", "n_positive"), arguments[2:], strict=False))
        )


def test_missing_values_in_frames_with_text_are_named():
    frame = pd.DataFrame({"sign": ["+", None, "-", "+"] * 10, "size": range(40)})
    with pytest.raises(InputError, match=r"missing values .* columns 'sign'"):
        classifier(GaussianNB()).fit(frame, np.arange(40) % 2)


def test_pipelines_that_fill_missing_values_may_have_them():
    model = classifier(make_pipeline(SimpleImputer(), GaussianNB())).fit(
        X, Y, X_unlabeled=HOLED, n_positive=KNOWN
    )
    assert len(model.transduction_) == len(HOLED)


@pytest.mark.parametrize("classes", [[0, 1], [False, True], [0.0, 1.0]])
def test_numbers_kept_as_objects_are_numbers(classes):
    model = fitted(y=np.array(classes, dtype=object)[Y])
    assert model.transduction_.dtype == np.array(classes).dtype


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        (np.where(Y, "yes", None), InputError, "y has no label in row 1 .* go into X_unlabeled"),
        (np.array([1, "one"] * 50, dtype=object), InputTypeError, "all numbers; found int, str"),
        (np.where(Y, np.nan, 0.0), ValueError, "y has no label in row"),
    ],
)
def test_labels_must_be_there_and_of_one_kind(y, error, message):
    with pytest.raises(error, match=message):
        classifier().fit(X, y)


@pytest.mark.parametrize(
    "options", [{"n_estimators": 0}, {"max_samples": 0.0}, {"max_samples": 1.5}, {"method": 3}]
)
def test_parameters_out_of_range_are_named(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        classifier(**options).fit(X, Y)


def test_only_a_fitted_one_predicts():
    with pytest.raises(NotFittedError):
        classifier().predict(X)
