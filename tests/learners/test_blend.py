"""The blend and its parts: encoding, least squares, the judgement by held-out points."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import parametrize_with_checks

from c2rf import BlendClassifier, InputError
from c2rf.datasets import biased_sample, make_ringnorm, make_twonorm
from c2rf.learners import blend
from c2rf.learners.base_learners import FAMILIES
from c2rf.learners.features import Encoder, count_values
from c2rf.learners.stacking import LARGEST_LEAD, Cuts, accuracy_at_rates, folds, row_weights
from c2rf.progress import progress_callback

LIGHT = {"n_estimators": 8, "random_state": 0}


def sample(make, n_points=800, fraction=0.08, seed=0):
    X, y = make(n_points, random_state=seed)
    labeled, rest = biased_sample(y, fraction, positive_weight=0.8, random_state=seed)
    return X[labeled], y[labeled], X[rest], y[rest]


REPETITIONS = {
    "check_sample_weight_equivalence_on_dense_data": "rows that are repeated are drawn apart"
}


@parametrize_with_checks(
    [BlendClassifier(n_estimators=5, families=("trees", "kernel", "svc"))],
    expected_failed_checks=lambda _: REPETITIONS,
)
def test_rules_of_scikit_learn(estimator, check):
    check(estimator)


class TestBlend:
    def test_trusts_who_is_right(self):
        X, y, rest, truth = sample(make_ringnorm)
        rates = [1 - truth.mean(), truth.mean()]
        blend = BlendClassifier(**LIGHT).fit(X, y, rest, rates=rates)
        weight = dict.fromkeys(FAMILIES, 0.0)
        for family, share in blend.weights_:
            weight[family] += share
        # Spheres within spheres: no single column tells them apart.
        assert weight["turned-trees"] < 0.1
        assert sum(weight.values()) == pytest.approx(1)
        assert (blend.predict(rest) == truth).mean() > 0.9

    def test_classes_are_numbers_to_no_one(self):
        X, y, rest, truth = sample(make_twonorm)
        rates = [1 - truth.mean(), truth.mean()]
        numbers = BlendClassifier(**LIGHT).fit(X, y, rest, rates=rates)
        names = np.array(["no", "yes"])
        words = BlendClassifier(**LIGHT).fit(X, names[y], rest, rates=rates)
        assert (words.predict(rest) == names[numbers.predict(rest)]).all()

    def test_flipped(self):
        X, y, rest, truth = sample(make_twonorm)
        rate = truth.mean()
        # forests draw by the order of classes
        families = ("svc", "rank-svc", "kernel", "rank-kernel")
        options = {**LIGHT, "families": families}
        one = BlendClassifier(**options).fit(X, y, rest, rates=[1 - rate, rate])
        other = BlendClassifier(**options).fit(X, 1 - y, rest, rates=[rate, 1 - rate])
        same = one.predict(rest) == 1 - other.predict(rest)
        assert same.mean() > 0.98

    def test_jobs_change_nothing(self):
        X, y, rest, _ = sample(make_twonorm, 400)
        one, two = (BlendClassifier(**LIGHT, n_jobs=n).fit(X, y, rest) for n in (1, 2))
        assert (one.predict_proba(rest) == two.predict_proba(rest)).all()
        assert (one.learned_proba_ == two.learned_proba_).all()

    def test_rows_that_were_learned_from_are_ranked_better_than_others(self):
        X, y, rest, truth = sample(make_twonorm, 1500)
        blend = BlendClassifier(**LIGHT).fit(X, y, rest, rates=[0.5, 0.5])
        own = np.empty(len(rest), dtype=int)
        own[blend.learned_rows_] = blend.learned_proba_.argmax(axis=1)
        assert (own == truth).mean() > 0.93
        assert (blend.predict(rest) == own).mean() > 0.93

    def test_refits_are_fits_of_a_reweighted_sample(self):
        X, y, rest, _ = sample(make_twonorm)
        teacher = BlendClassifier(**LIGHT).prepare(X, y, rest, rates=[0.5, 0.5])
        rng = np.random.default_rng(0)
        weight = rng.multinomial(len(y), np.full(len(y), 1 / len(y)))
        found = teacher.refit(weight.astype(float), seed=1)
        again = teacher.refit(weight.astype(float), seed=1)
        assert (found.logits == again.logits).all()
        assert found.logits.shape == (len(rest), 2)
        other = teacher.refit(np.ones(len(y)), seed=2)
        assert (found.logits != other.logits).any()
        assert np.isfinite(found.model.logits(rest[:5])).all()

    def test_many_classes_one_of_a_single_point(self):
        rng = np.random.default_rng(0)
        centers = rng.normal(size=(4, 3)) * 6
        codes = np.repeat(np.arange(4), [12, 9, 3, 1])
        X = centers[codes] + rng.normal(size=(25, 3))
        crowd = centers[rng.integers(4, size=200)] + rng.normal(size=(200, 3))
        blend = BlendClassifier(**LIGHT).fit(X, codes, crowd, rates=[0.25] * 4)
        chances = blend.predict_proba(crowd)
        assert chances.shape == (200, 4)
        assert chances.sum(axis=1) == pytest.approx(1)
        assert (blend.predict(centers) == np.arange(4)).all()

    def test_of_very_many_labeled_rows_a_part_is_learned_from(self, monkeypatch):
        X, y, rest, truth = sample(make_twonorm, fraction=0.3)
        monkeypatch.setattr(blend, "MOST_LABELED", 60)
        said = []
        with progress_callback(said.append):
            model = BlendClassifier(**LIGHT).fit(X, y, rest, rates=[1 - truth.mean(), truth.mean()])
        assert f"learning from 60 of {len(y)} labeled rows" in said
        assert (model.predict(rest) == truth).mean() > 0.9
        teacher = BlendClassifier(**LIGHT).prepare(X, y, rest)
        assert np.bincount(teacher.lesson.codes).tolist() == [30, 30]
        assert model.rates_ == pytest.approx([1 - truth.mean(), truth.mean()])

    def test_a_column_that_is_the_class(self):
        X = np.repeat([[0.0], [1.0]], [30, 20], axis=0)
        rest = np.repeat([[0.0], [1.0]], [70, 30], axis=0)
        blend = BlendClassifier(**LIGHT).fit(X, X[:, 0] > 0, rest, rates=[0.7, 0.3])
        assert min(accuracy for _, accuracy in blend.accuracies_) > 0.9
        assert blend.predict_proba([[0.0], [1.0]])[[0, 1], [0, 1]].min() > 0.95

    def test_a_rate_of_zero(self):
        X, y, rest, _ = sample(make_twonorm, 300)
        blend = BlendClassifier(**LIGHT).fit(X, y, rest, rates=[1.0, 0.0])
        assert blend.predict_proba(rest)[:, 0].min() > 0.9
        few = np.append(np.flatnonzero(y == 0)[:9], np.flatnonzero(y == 1)[:1])
        blend = BlendClassifier(**LIGHT).fit(X[few], y[few], rest, rates=[0.0, 1.0])
        assert blend.accuracies_ == []  # no held-out row is of a class that is there
        assert (blend.predict(rest) == 1).all()

    def test_the_order_of_labeled_rows_tells_nothing(self):
        X, y, _, _ = sample(make_twonorm, fraction=0.4)
        order = np.argsort(y, kind="stable")
        accuracies = [
            np.mean([a for _, a in BlendClassifier(**LIGHT).fit(X[o], y[o]).accuracies_])
            for o in (np.arange(len(y)), order)
        ]
        assert accuracies[0] == pytest.approx(accuracies[1], abs=0.08)

    def test_two_points(self):
        blend = BlendClassifier(**LIGHT).fit([[0.0], [1.0]], ["a", "b"])
        assert blend.accuracies_ == []
        assert blend.predict([[0.0], [1.0]]).tolist() == ["a", "b"]

    def test_missing_values_and_constant_columns(self):
        X, y, rest, truth = sample(make_twonorm, 400)
        X, rest = (np.column_stack([part, np.full(len(part), 7.0)]) for part in (X, rest))
        X[::7, 0], rest[::5, 1] = np.nan, np.nan
        rates = [1 - truth.mean(), truth.mean()]
        blend = BlendClassifier(**LIGHT).fit(X, y, rest, rates=rates)
        assert (blend.predict(rest) == truth).mean() > 0.85

    def test_nothing_to_tell_by(self):
        chances = (
            BlendClassifier(**LIGHT)
            .fit(np.ones((9, 2)), [0, 1, 0] * 3)
            .predict_proba(np.ones((2, 2)))
        )
        assert (chances[0] == chances[1]).all()

    @pytest.mark.parametrize("families", [(), ("trees", "oaks"), ("svc", "svc")])
    def test_bad_families(self, families):
        with pytest.raises(InputError, match="families must be some of trees"):
            BlendClassifier(families=families).fit([[0], [1]], [0, 1])

    @pytest.mark.parametrize("rates", [[1.0], [0.7, 0.7], [-0.5, 1.5], [np.nan, 1.0]])
    def test_bad_rates(self, rates):
        with pytest.raises(InputError, match="rates must be 2 numbers"):
            BlendClassifier().fit([[0], [1]], [0, 1], rates=rates)


class TestHeldOut:
    @given(
        st.lists(st.integers(0, 3), min_size=2, max_size=30), st.integers(2, 6), st.integers(0, 9)
    )
    def test_folds(self, codes, n_folds, seed):
        codes = np.unique(codes, return_inverse=True)[1]
        held = []
        for kept, out in folds(codes, n_folds, np.random.RandomState(seed)):
            assert set(codes[kept]) == set(codes)
            assert not set(kept) & set(out)
            assert len(kept) + len(out) == len(codes)
            held.extend(out)
        counts = np.bincount(codes)
        assert sorted(held) == np.flatnonzero(counts[codes] > 1).tolist()

    @given(st.lists(st.floats(-9, 9), min_size=2, max_size=40, unique=True), st.floats(0.05, 0.95))
    def test_as_many_rows_lead_as_the_rate_says(self, values, rate):
        scores = np.column_stack([np.negative(values), values])
        leads = Cuts.of(scores, np.array([1 - rate, rate])).leads(scores)
        assert (leads[:, 1] > 0).sum() == pytest.approx(rate * len(values), abs=1)
        assert (leads[:, 0] > 0).sum() == pytest.approx((1 - rate) * len(values), abs=1)
        assert np.abs(leads).max() <= LARGEST_LEAD

    @given(st.floats(0.01, 100), st.floats(-50, 50))
    def test_leads_do_not_depend_on_the_scale_of_scores(self, factor, shift):
        scores, rates = np.random.default_rng(0).normal(size=(30, 3)), np.array([0.2, 0.3, 0.5])
        moved = factor * scores + shift
        expected = Cuts.of(scores, rates).leads(scores)
        assert Cuts.of(moved, rates).leads(moved) == pytest.approx(expected, abs=1e-6)

    def test_rates_of_none_and_all(self):
        scores = np.array([[1.0, 4.0], [2.0, 3.0]])
        leads = Cuts.of(scores, np.array([0.0, 1.0])).leads(scores)
        assert (leads[:, 0] == -LARGEST_LEAD).all()
        assert (leads[:, 1] >= 0).all()

    def test_scores_that_tell_nothing(self):
        same = np.zeros((4, 2))
        cuts = Cuts.of(same, np.array([0.5, 0.5]))
        assert (cuts.leads(same) == 0).all()
        assert np.abs(cuts.leads(np.array([[-9.0, 9.0]]))).max() == LARGEST_LEAD

    @given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.floats(0.0, 1.0))
    def test_equal_scores_are_above_in_part(self, values, rate):
        scores = np.column_stack([values, np.negative(values)]).astype(float)
        cuts = Cuts.of(scores, np.array([rate, 1 - rate]))
        mean = cuts.above(scores).mean(axis=0)
        assert mean == pytest.approx([rate, 1 - rate], abs=1.01 / len(values))

    @pytest.mark.parametrize("rate", [0.25, 0.3, 0.35])
    def test_most_of_equal_scores_decide(self, rate):
        scores = np.repeat([[1.0, 0.0], [0.0, 1.0]], [7, 3], axis=0)
        leads = Cuts.of(scores, np.array([1 - rate, rate])).leads(scores)
        assert ((leads > 0) == (scores > 0)).all()

    def test_who_cannot_rank_is_not_right(self):
        above = Cuts.of(np.zeros((9, 2)), np.array([0.25, 0.75])).above(np.zeros((4, 2)))
        codes, rates = np.array([0, 1, 1, 1]), np.array([0.25, 0.75])
        assert accuracy_at_rates(above, codes, rates) == pytest.approx(0.25**2 + 0.75**2)

    def test_accuracy_is_not_fooled_by_a_biased_sample(self):
        rng = np.random.default_rng(1)
        truth = rng.random(40_000) < 0.3
        scores = truth + rng.normal(size=len(truth))
        places = np.argsort(np.argsort(scores)) / len(scores)
        real = ((places > 0.7) == truth).mean()
        labeled = rng.choice(len(truth), 4000, p=(w := np.where(truth, 0.9, 0.1)) / w.sum())
        assert truth[labeled].mean() > 0.7
        both = np.column_stack([places <= 0.7, places > 0.7])[labeled]
        found = accuracy_at_rates(both, truth[labeled].astype(int), np.array([0.7, 0.3]))
        assert found == pytest.approx(real, abs=0.02)

    def test_accuracy_with_points_of_one_class_only(self):
        above = np.array([[1.0, 0.0], [0.0, 1.0]])
        found = accuracy_at_rates(above, np.array([0, 0]), np.array([0.5, 0.5]))
        assert found == pytest.approx(0.5)

    def test_weights_have_the_rates(self):
        codes, rates = np.array([0, 1, 1, 2, 2, 2]), np.array([0.2, 0.3, 0.5])
        assert np.bincount(codes, weights=row_weights(codes, rates)) == pytest.approx(rates)


class TestEncoder:
    def test_every_column_weighs_the_same(self):
        rng = np.random.default_rng(0)
        X = np.column_stack(
            [rng.normal(5, 9, 500), rng.integers(2, size=500), rng.integers(9, size=500)]
        )
        encoded = Encoder(count_values(X)).encode(X)
        assert encoded.mean(axis=0) == pytest.approx(0)
        assert encoded.shape[1] == 1 + 2 + 9
        variance = encoded.var(axis=0)
        assert [variance[:1].sum(), variance[1:3].sum(), variance[3:].sum()] == pytest.approx(
            [1] * 3
        )

    def test_missing_and_unknown_values(self):
        encoder = Encoder(count_values(np.array([[1.0], [2.0], [np.nan]])))
        assert encoder.encode(np.array([[np.nan]])).tolist() == [[0.0, 0.0]]
        assert encoder.encode(np.array([[3.0]])).tolist() == [[-0.5 / np.sqrt(0.5)] * 2]


def test_learning_says_how_long_it_will_take():
    X, y = make_twonorm(120, random_state=0)
    said = []
    with progress_callback(said.append):
        BlendClassifier(families=("trees", "kernel"), n_estimators=5).fit(X[:40], y[:40], X[40:])
    judged = [line for line in said if line.startswith("judging members")]
    assert judged[-1] == "judging members by held-out rows: 10 of 10, about 0 s left"
    assert any(line.startswith("fitting members: 1 of ") for line in said)
