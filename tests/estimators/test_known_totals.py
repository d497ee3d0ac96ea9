"""KnownTotalsClassifier: scikit-learn's rules, totals that hold, and nothing forced on new data."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from c2rf import BlendClassifier, Estimate, KnownTotalsClassifier
from c2rf.assignment import AssignmentProblem, log_scores
from c2rf.datasets import make_twonorm
from c2rf.exceptions import InputError, InputTypeError
from c2rf.learners.base_learners import chosen_names
from c2rf.learners.calibration import matching_offsets
from c2rf.totals.groups import Groups
from c2rf.totals.make_bounds import make_bounds
from c2rf.totals.stated import read_totals
from margins import margin, totals_of

NAMES = np.array(["blue", "green", "red"])
X_ALL, CODES = make_classification(
    460, 6, n_informative=4, n_classes=3, weights=[0.5, 0.3, 0.2], random_state=0
)
X, X_UNLABELED = X_ALL[:60], X_ALL[60:]
Y, TRUTH = NAMES[CODES[:60]], NAMES[CODES[60:]]
TOTALS = {name: int((name == TRUTH).sum()) for name in NAMES.tolist()}
REGIONS = np.array(["east", "north", "west"])[np.arange(400) % 3]
FOREST = ExtraTreesClassifier(20)


def classifier(estimator=None, **options):
    """A quick one: nearest to a plain fit unless told otherwise."""
    model = LogisticRegression() if estimator is None else estimator
    return KnownTotalsClassifier(model, **{"random_state": 0, **options})


def fitted(estimator=None, y=Y, totals=TOTALS, groups=None, group_totals=None, **options):
    columns = ["group"] if np.ndim(groups) < 2 else ["region", "year"]
    totals = totals_of(totals, group_totals, *columns)
    known = {"X_unlabeled": X_UNLABELED, "totals": totals, "unlabeled_groups": groups}
    return classifier(estimator, **options).fit(X, y, **known)


def counted(labels):
    names, counts = np.unique(labels, return_counts=True)
    return dict(zip(names.tolist(), counts.tolist(), strict=True))


def region_totals(*regions):
    return {region: counted(TRUTH[region == REGIONS]) for region in regions}


@parametrize_with_checks([classifier(), classifier(ExtraTreesClassifier(5))])
def test_rules_of_scikit_learn(estimator, check):
    check(estimator)


class TestTotals:
    @pytest.mark.parametrize("model", [LogisticRegression(), FOREST, GaussianNB()])
    def test_hold_exactly(self, model):
        found = fitted(model)
        assert counted(found.transduction_) == TOTALS
        assert found.scores_.shape == (400, 3)
        np.testing.assert_allclose(found.scores_.sum(axis=1), 1)

    def test_default(self):
        found = KnownTotalsClassifier(random_state=0).fit(
            X, Y, X_unlabeled=X_UNLABELED, totals=TOTALS
        )
        assert counted(found.transduction_) == TOTALS
        assert {entry["base_learner"] for entry in found.history_} == set(
            chosen_names(None, len(Y), 2)
        )
        assert sum(entry["weight"] for entry in found.history_) == pytest.approx(1)

    @pytest.mark.parametrize(
        "kind", [np.array([1, 2, 5]), np.array([1.0, 2.0, 7.0]), NAMES, NAMES.astype(object)]
    )
    def test_labels_of_any_kind(self, kind):
        y = kind[CODES[:60]]
        totals = dict(zip(kind.tolist(), TOTALS.values(), strict=True))
        found = fitted(y=y, totals=totals)
        assert counted(found.transduction_) == totals
        assert found.transduction_.dtype == found.classes_.dtype == kind.dtype
        np.testing.assert_array_equal(found.classes_, kind)

    def test_two_classes_are_a_cut_off(self):
        y = Y == "blue"
        found = fitted(y=y, totals={True: 150})
        chosen = found.scores_[:, 1] >= np.sort(found.scores_[:, 1])[-150]
        np.testing.assert_array_equal(found.transduction_, chosen)

    def test_rates_and_the_rest(self):
        found = fitted(totals={"blue": 0.25, "red": 0.5})
        assert counted(found.transduction_) == {"blue": 100, "green": 100, "red": 200}

    def test_a_range_that_does_not_bind_changes_nothing(self):
        found = fitted(totals=dict.fromkeys(NAMES.tolist(), (0, 400)))
        plain = classifier().fit(X, Y)
        np.testing.assert_array_equal(found.transduction_, plain.predict(X_UNLABELED))
        np.testing.assert_array_equal(found.offsets_, np.zeros(3))

    def test_a_class_without_points(self):
        found = fitted(totals={"blue": 0, "green": 250})
        assert counted(found.transduction_) == {"green": 250, "red": 150}
        assert found.offsets_[0] == -np.inf
        assert "blue" not in found.predict(X_UNLABELED)
        np.testing.assert_array_equal(found.predict_proba(X_UNLABELED)[:, 0], 0)

    def test_knowing_helps(self):
        right = (fitted().transduction_ == TRUTH).mean()
        assert right > (classifier().fit(X, Y).predict(X_UNLABELED) == TRUTH).mean()

    def test_scaled(self):
        with pytest.warns(UserWarning, match="scaled"):
            found = fitted(totals={"blue": 5, "green": 3, "red": 2}, totals_policy="scale")
        assert counted(found.transduction_) == {"blue": 200, "green": 120, "red": 80}

    @settings(max_examples=25)
    @given(st.data())
    def test_any_totals_and_groups(self, data):
        """Whatever a true labeling adds up to can be met, whatever part of it is told."""
        seed = data.draw(st.integers(0, 1000))
        rng = np.random.default_rng(seed)
        truth, regions = rng.integers(0, 3, 400), rng.integers(0, data.draw(st.integers(1, 4)), 400)
        tell = data.draw(st.floats(0, 1))
        width = data.draw(st.sampled_from([0, 3]))

        def told(rows, everything):
            counts = np.bincount(truth[rows], minlength=3).tolist()
            said = {
                name: count if rng.random() < 0.5 else (max(count - width, 0), count + width)
                for name, count in zip(NAMES.tolist(), counts, strict=True)
            }
            return {k: v for k, v in said.items() if everything or rng.random() < tell}

        table = {int(g): told(regions == g, False) for g in np.unique(regions)}
        totals = told(truth >= 0, True)
        groups = regions if any(table.values()) else None
        found = fitted(DecisionTreeClassifier(max_depth=2), Y, totals, groups, table)
        for rows, row in [(truth >= 0, totals), *[(regions == g, table[g]) for g in table]]:
            for name, total in row.items():
                low, high = total if isinstance(total, tuple) else (total, total)
                assert low <= (found.transduction_[rows] == name).sum() <= high


class TestGroups:
    def test_beside_totals(self):
        found = fitted(groups=REGIONS, group_totals=region_totals("east", "west"))
        assert counted(found.transduction_) == TOTALS
        for region in ("east", "north", "west"):
            assert counted(found.transduction_[region == REGIONS]) == counted(
                TRUTH[region == REGIONS]
            )

    def test_instead_of_totals(self):
        found = fitted(totals=None, groups=REGIONS, group_totals={"east": {"red": 0}})
        assert "red" not in found.transduction_[REGIONS == "east"]
        others = REGIONS != "east"
        plain = classifier().fit(X, Y).predict(X_UNLABELED)
        np.testing.assert_array_equal(found.transduction_[others], plain[others])

    @pytest.mark.parametrize("kind", [list, np.asarray, pd.Series, pl.Series, pd.Categorical])
    def test_columns_of_any_kind(self, kind):
        table = region_totals("east")
        expected = fitted(groups=REGIONS, group_totals=table)
        found = fitted(groups=kind(REGIONS.tolist()), group_totals=table)
        np.testing.assert_array_equal(found.transduction_, expected.transduction_)

    def test_several_columns(self):
        years = np.arange(400) % 2
        frame = pd.DataFrame({"region": REGIONS, "year": years})
        chosen = (REGIONS == "east") & (years == 1)
        found = fitted(groups=frame, group_totals={("east", 1): counted(TRUTH[chosen])})
        assert counted(found.transduction_[chosen]) == counted(TRUTH[chosen])
        assert ("west", 0) in found.group_offsets_

    def test_prediction_by_the_offsets_of_the_group(self):
        table = region_totals("east", "north", "west")
        found = fitted(totals=None, groups=REGIONS, group_totals=table)
        np.testing.assert_array_equal(
            found.predict(X_UNLABELED, groups=REGIONS), found.transduction_
        )
        means = found.predict_proba(X_UNLABELED, groups=REGIONS)[REGIONS == "east"].mean(axis=0)
        expected = np.array(list(table["east"].values())) / (REGIONS == "east").sum()
        np.testing.assert_allclose(means, expected, atol=1e-6)
        # Groups nobody has heard of are treated as all points are.
        for predict in (found.predict, found.predict_proba):
            with pytest.warns(UserWarning, match="1 group not seen in fit, 'mars': rows there"):
                on_mars = predict(X_UNLABELED, groups=np.full(400, "mars"))
            np.testing.assert_array_equal(on_mars, predict(X_UNLABELED))

    def test_missing_and_wrong_length(self):
        table = region_totals("east")
        with pytest.raises(InputError, match="one entry per unlabeled row, 400"):
            fitted(groups=REGIONS[:-1], group_totals=table)
        with pytest.raises(InputError, match="no entry in row 3"):
            fitted(groups=np.where(np.arange(400) == 3, None, REGIONS), group_totals=table)
        with pytest.raises(InputError, match="without totals of groups"):
            fitted().predict(X, groups=REGIONS[:60])


class TestNewData:
    def test_offsets_explain_the_labels(self):
        found = fitted()
        shifted = log_scores(found.scores_) + found.offsets_
        labels = found.classes_[shifted.argmax(axis=1)]
        np.testing.assert_array_equal(labels, found.transduction_)
        np.testing.assert_array_equal(found.predict(X_UNLABELED), found.transduction_)

    def test_counts_are_not_forced(self):
        """A point gets the same label whatever points come with it."""
        found = fitted()
        together = found.predict(X_UNLABELED)
        alone = np.concatenate([found.predict(X_UNLABELED[k : k + 1]) for k in range(20)])
        np.testing.assert_array_equal(alone, together[:20])

    @pytest.mark.parametrize(
        "model",
        [LogisticRegression(), FOREST, GaussianNB(), DecisionTreeClassifier(), BlendClassifier()],
    )
    def test_mean_probabilities_are_the_totals(self, model):
        found = fitted(model)
        np.testing.assert_allclose(
            found.transduction_proba_.mean(axis=0), np.array(list(TOTALS.values())) / 400, atol=1e-6
        )
        probabilities = found.predict_proba(X_UNLABELED)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)
        expected = np.array(list(TOTALS.values())) / 400
        np.testing.assert_allclose(probabilities.mean(axis=0), expected, atol=1e-6)

    @pytest.mark.parametrize("rates", [[0.001, 0.009, 0.99], [0.98, 0.01, 0.01], [0, 0.5, 0.5]])
    @pytest.mark.parametrize("spread", [0.01, 1, 30, 300])
    def test_any_rates_can_be_matched(self, rates, spread):
        scores = spread * np.random.default_rng(0).normal(size=(2000, 3))
        shifted = np.exp(log_softmax(scores + matching_offsets(scores, np.array(rates))))
        np.testing.assert_allclose(shifted.mean(axis=0), rates, atol=1e-6)

    def test_without_totals_it_is_the_plain_classifier(self):
        found = fitted().fit(X, Y)
        plain = LogisticRegression().fit(X, Y)
        np.testing.assert_array_equal(found.predict(X_UNLABELED), plain.predict(X_UNLABELED))
        np.testing.assert_array_equal(
            found.predict_proba(X_UNLABELED), plain.predict_proba(X_UNLABELED)
        )
        for name in ("transduction_", "scores_", "offsets_", "history_"):
            assert not hasattr(found, name)
        with pytest.raises(InputError, match="groups"):
            found.predict(X, groups=REGIONS[:60])

    def test_not_fitted(self):
        with pytest.raises(NotFittedError):
            classifier().predict(X)


class TestModels:
    def test_frames_with_text(self):
        columns = [f"x{k}" for k in range(6)]
        frames = [pd.DataFrame(x, columns=columns) for x in (X, X_UNLABELED)]
        for frame in frames:
            frame["sign"] = np.where(frame["x0"] > 0, "plus", "minus")
        encoder = make_column_transformer((OneHotEncoder(), ["sign"]), remainder=StandardScaler())
        model = make_pipeline(encoder, LogisticRegression())
        found = classifier(model).fit(frames[0], Y, X_unlabeled=frames[1], totals=TOTALS)
        assert counted(found.transduction_) == TOTALS
        assert found.feature_names_in_.tolist() == [*columns, "sign"]
        polars = [pl.from_pandas(frame) for frame in frames]
        same = classifier(model).fit(polars[0], Y, X_unlabeled=polars[1], totals=TOTALS)
        np.testing.assert_array_equal(same.transduction_, found.transduction_)

    def test_frozen_ones_stay_as_they_are(self):
        model = RandomForestClassifier(10, random_state=0).fit(X, Y)
        found = fitted(FrozenEstimator(model))
        np.testing.assert_array_equal(found.scores_, model.predict_proba(X_UNLABELED))
        assert counted(found.transduction_) == TOTALS

    def test_frozen_ones_must_know_the_classes(self):
        model = LogisticRegression().fit(X, np.where(Y == "red", "pink", Y))
        with pytest.raises(InputError, match="'pink'"):
            fitted(FrozenEstimator(model))

    def test_calibrated_ones(self):
        assert counted(fitted(CalibratedClassifierCV(LinearSVC())).transduction_) == TOTALS

    @pytest.mark.parametrize(
        ("model", "match"),
        [
            (LinearSVC(), "CalibratedClassifierCV"),
            (LinearRegression(), "LinearRegression"),
            (LogisticRegression, "of type"),
            ("trees", "'trees'"),
            (MultiOutputClassifier(LogisticRegression()), "MultiOutputClassifier is for several"),
            (make_pipeline(ClassifierChain(LogisticRegression())), "ClassifierChain is for"),
        ],
    )
    def test_others_are_refused(self, model, match):
        with pytest.raises(InputTypeError, match=match):
            fitted(model)

    def test_pickle_and_clone(self):
        found = fitted(BlendClassifier(n_estimators=8))
        again = pickle.loads(pickle.dumps(found))
        np.testing.assert_array_equal(again.predict_proba(X), found.predict_proba(X))
        assert clone(found).get_params()["estimator__n_estimators"] == 8

    def test_missing_values_are_named(self):
        holed = X_UNLABELED.copy()
        holed[0, 2] = np.nan
        with pytest.raises(InputError, match="X_unlabeled has missing values"):
            classifier().fit(X, Y, X_unlabeled=holed, totals=TOTALS)
        found = classifier(FOREST).fit(X, Y, X_unlabeled=holed, totals=TOTALS)
        assert counted(found.transduction_) == TOTALS


class TestRepeatable:
    @pytest.mark.parametrize("model", [FOREST, LogisticRegression(), BlendClassifier()])
    def test_same_seed_same_result_for_any_jobs(self, model):
        one, two = (fitted(model, n_jobs=n_jobs) for n_jobs in (1, 2))
        np.testing.assert_array_equal(one.transduction_, two.transduction_)
        np.testing.assert_allclose(one.scores_, two.scores_)

    def test_cross_validation_with_rates(self):
        rates = {name: count / 400 for name, count in TOTALS.items()}
        params = {"X_unlabeled": X_UNLABELED, "totals": rates}
        scores = cross_val_score(classifier(), X, Y, params=params, cv=3)
        assert len(scores) == 3


class TestLearners:
    def test_history_tells_who_ranked(self):
        assert fitted(FOREST).history_ == [
            {"base_learner": "ExtraTreesClassifier", "accuracy": None, "weight": 1.0}
        ]

    def test_large_populations_are_sampled(self, monkeypatch):
        monkeypatch.setattr(KnownTotalsClassifier, "_most_learned", 150)
        monkeypatch.setattr(KnownTotalsClassifier, "_block_rows", 64)
        found = fitted(BlendClassifier(n_estimators=8))
        assert counted(found.transduction_) == TOTALS
        assert len(found.estimator_.learned_proba_) == 150
        np.testing.assert_allclose(found.scores_.sum(axis=1), 1)
        # Rows that were not learned from are ranked by what any row is ranked by.
        ranked = found.estimator_.predict_proba(X_UNLABELED)
        assert (ranked == found.scores_).all(axis=1).sum() >= 250

    @pytest.mark.parametrize("model", [BlendClassifier(), FOREST, LogisticRegression()])
    def test_weights_of_labeled_rows(self, model):
        """A row of weight zero is as good as absent."""
        wrong = NAMES[(CODES[:60] + 1) % 3]
        both, labels = np.vstack([X, X]), np.concatenate([Y, wrong])
        weight = np.repeat([1.0, 0.0], len(Y))
        found = fit(model, both, labels, weight)
        assert counted(found.transduction_) == TOTALS
        alone = fit(model, X, Y, np.ones(len(Y)))
        assert (found.transduction_ == alone.transduction_).mean() > 0.9
        assert (fit(model, both, labels, 1 - weight).transduction_ == TRUTH).mean() < 0.5

    def test_weights_for_a_learner_without(self):
        with pytest.raises(InputTypeError, match="KNeighborsClassifier takes none"):
            fit(KNeighborsClassifier(), X, Y, np.ones(len(Y)))

    def test_weights_leave_no_class_out(self):
        with pytest.raises(InputError, match="every class"):
            fit(BlendClassifier(), X, Y, (Y == "red").astype(float))


def fit(model, X, y, weight):
    return classifier(model).fit(X, y, X_unlabeled=X_UNLABELED, totals=TOTALS, sample_weight=weight)


class TestInput:
    @pytest.mark.parametrize(
        ("given", "match"),
        [
            ({"totals": TOTALS}, "without X_unlabeled"),
            ({"X_unlabeled": X_UNLABELED}, "without totals"),
            (
                {"X_unlabeled": X_UNLABELED, "totals": TOTALS, "unlabeled_groups": REGIONS},
                "totals has no table with columns of groups",
            ),
            (
                {"X_unlabeled": X_UNLABELED, "totals": margin(region_totals("east"))},
                "X_unlabeled has no columns with names",
            ),
            ({"X_unlabeled": X_UNLABELED[:, :-1], "totals": TOTALS}, "6 columns of X"),
            ({"X_unlabeled": X_UNLABELED, "totals": {"blue": 1}}, "'green', 'red'"),
            ({"X_unlabeled": X_UNLABELED, "totals": {**TOTALS, "pink": 0}}, "'pink'"),
        ],
    )
    def test_named(self, given, match):
        with pytest.raises(InputError, match=match):
            classifier().fit(X, Y, **given)


def log_softmax(scores):
    top = scores.max(axis=1, keepdims=True)
    return scores - top - np.log(np.exp(scores - top).sum(axis=1, keepdims=True))


class TestCheckedTotals:
    def test_an_assignment_problem_says_what_totals_and_groups_do(self):
        """Totals that were checked before give the same labels, also drawn ones."""
        X, y = make_twonorm(200, random_state=0)
        stated = read_totals({1: Estimate(80, se=5)}, [0, 1])
        groups = Groups.none(150)
        problem = AssignmentProblem(make_bounds(stated, groups, [0, 1]), groups, stated=stated)
        found = []
        for totals in ({1: Estimate(80, se=5)}, problem):
            model = KnownTotalsClassifier(LogisticRegression(), random_state=0)
            model.fit(X[:50], y[:50], X_unlabeled=X[50:], totals=totals)
            found.append((model.transduction_.tolist(), model.impute(3).tolist()))
        assert found[0] == found[1]
        assert len({sum(labels) for labels in found[0][1]}) > 1  # the estimate was drawn anew

    def test_a_new_fit_forgets_how_labels_were_drawn(self):
        X, y = make_twonorm(100, random_state=0)
        model = KnownTotalsClassifier(LogisticRegression(), random_state=0)
        model.fit(X[:50], y[:50], X_unlabeled=X[50:], totals={1: 20}).impute(1)
        assert model.imputation_method_ == "exact"
        assert not hasattr(model.fit(X[:50], y[:50]), "imputation_method_")


class TestCalibration:
    """Labels are what they were; probabilities are as true as held-out rows say."""

    ROWS = np.random.default_rng(0).normal(size=(3100, 3))
    LOGITS = 1.2 * ROWS[:, 0] - 2.5
    CLASSES = (np.random.default_rng(1).random(3100) < 1 / (1 + np.exp(-LOGITS))).astype(int)

    def rare(self, model, calibration="auto", **options):
        """One row in nine is positive, and hard to tell."""
        known = int(self.CLASSES[100:].sum())
        return KnownTotalsClassifier(model, calibration=calibration, random_state=0).fit(
            self.ROWS[:100], self.CLASSES[:100], X_unlabeled=self.ROWS[100:],
            totals={1: known}, **options,
        )  # fmt: skip

    @pytest.mark.parametrize(
        "model", [DecisionTreeClassifier(random_state=0), ExtraTreesClassifier(50), None]
    )
    def test_probabilities_promise_what_is_true(self, model):
        found = self.rare(model)
        right = (found.transduction_ == self.CLASSES[100:]).mean()
        expected = found.expected_confusion_.trace() / 3000
        assert expected == pytest.approx(right, abs=0.05)
        assert found.calibrated_by_ == ("learner" if model is None else "held-out rows")
        probabilities = found.transduction_proba_[:, 1]
        assert probabilities.sum() == pytest.approx(self.CLASSES[100:].sum())

    def test_labels_do_not_depend_on_it(self):
        for model in (FOREST, DecisionTreeClassifier(max_depth=3)):
            by_group = pd.crosstab(REGIONS, TRUTH)
            for more in ({}, {"unlabeled_groups": REGIONS, "totals": by_group}):
                both = [
                    classifier(model, calibration=way).fit(
                        X, Y, X_unlabeled=X_UNLABELED, **{"totals": TOTALS, **more}
                    )
                    for way in ("auto", None)
                ]
                assert (both[0].transduction_ == both[1].transduction_).all()
                assert (both[0].scores_ == both[1].scores_).all()
                assert (both[0].predict(X) == both[1].predict(X)).all()
                assert both[0].inverse_temperature_ != both[1].inverse_temperature_ == 1
                assert (both[0].transduction_proba_ != both[1].transduction_proba_).any()

    def test_the_probabilities_of_other_rows_are_corrected_alike(self):
        found = self.rare(DecisionTreeClassifier(max_depth=2, random_state=0))
        again = found.predict_proba(self.ROWS[100:])
        assert again == pytest.approx(found.transduction_proba_)

    def test_a_frozen_one_is_taken_as_it_is(self):
        fitted = LogisticRegression().fit(self.ROWS[:100], self.CLASSES[:100])
        for model in (
            FrozenEstimator(fitted),
            make_pipeline(StandardScaler(), FrozenEstimator(fitted)),
        ):
            found = self.rare(model)
            assert found.calibrated_by_ is None
            assert found.inverse_temperature_ == 1

    def test_any_number_of_jobs(self):
        one, two = (
            classifier(FOREST, n_jobs=n).fit(X, Y, X_unlabeled=X_UNLABELED, totals=TOTALS)
            for n in (1, 2)
        )
        assert one.inverse_temperature_ == two.inverse_temperature_

    def test_weights_of_the_population_count(self):
        """Rows of weight zero are not of the population, whatever their scores."""
        model = DecisionTreeClassifier(max_depth=2, random_state=0)
        far = self.ROWS + np.array([9, 0, 0])
        weight = np.repeat([1.0, 0.0], [3000, 3100])
        known = int(self.CLASSES[100:].sum())
        found = KnownTotalsClassifier(model, random_state=0).fit(
            self.ROWS[:100], self.CLASSES[:100], X_unlabeled=np.vstack([self.ROWS[100:], far]),
            totals={1: known}, unlabeled_weight=weight,
        )  # fmt: skip
        alone = self.rare(model).inverse_temperature_
        assert found.inverse_temperature_ == pytest.approx(alone, rel=0.1)

    def test_a_learner_that_cannot_be_fitted_to_parts(self):
        neighbors = KNeighborsClassifier(n_neighbors=90)
        with pytest.raises(InputError, match="calibration=None leaves it out"):
            self.rare(neighbors)
        assert self.rare(neighbors, calibration=None).calibrated_by_ is None
