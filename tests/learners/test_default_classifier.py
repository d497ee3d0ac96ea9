"""The blend: what it learns, what it refuses, and how it is fitted again."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.utils.estimator_checks import parametrize_with_checks

from c2rf import BlendClassifier, InputError
from c2rf.datasets import biased_sample, make_ringnorm, make_twonorm
from c2rf.learners import default_classifier as blend
from c2rf.learners.base_learners import BASE_LEARNERS, chosen_names
from c2rf.learners.calibration import matching_offsets
from c2rf.progress import line as text
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
    [BlendClassifier(n_estimators=5, base_learners=("trees", "linear-svc", "svc"))],
    expected_failed_checks=lambda _: REPETITIONS,
)
def test_rules_of_scikit_learn(estimator, check):
    check(estimator)


class TestBlend:
    def test_trusts_who_is_right(self):
        X, y, rest, truth = sample(make_ringnorm)
        rates = [1 - truth.mean(), truth.mean()]
        blend = BlendClassifier(**LIGHT).fit(X, y, rest, rates=rates)
        weight = dict.fromkeys(BASE_LEARNERS, 0.0)
        for name, own in blend.weights_:
            weight[name] += own
        # Spheres within spheres: no single column tells them apart.
        assert weight["pca-trees"] < 0.1
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
        base_learners = ("svc", "rank-svc", "linear-svc")
        options = {**LIGHT, "base_learners": base_learners}
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

    def test_with_a_student_more_labels_are_right(self, monkeypatch):
        right = []
        for seed in range(6):
            X, y, rest, truth = sample(make_twonorm, 600, 0.05, seed)
            rates = [1 - truth.mean(), truth.mean()]
            model = BlendClassifier(**LIGHT)
            teacher = model.prepare(X, y, rest, rates=rates)
            codes = truth[model.learned_rows_]
            for share in (blend.STUDENT_SHARE, 0.0):
                with monkeypatch.context() as patch:
                    patch.setattr(blend, "STUDENT_SHARE", share)
                    logits, _ = teacher.fit()
                gains = logits[:, 1] - logits[:, 0]
                most = np.argsort(-gains)[: codes.sum()]
                right.append(codes[most].mean())
        both, alone = np.reshape(right, (6, 2)).mean(axis=0)
        assert both > alone + 0.005

    def test_the_mean_with_a_student_is_as_sure_as_the_teacher(self):
        """Means of what differs by chance are nearer to doubt, yet right more often."""
        rng = np.random.default_rng(0)
        centers = rng.normal(size=(9, 4))
        codes = np.arange(2000) % 9
        X = centers[codes] + 0.7 * rng.normal(size=(2000, 4))
        data = X[:60], codes[:60], X[60:]
        model = BlendClassifier(**LIGHT).fit(*data, rates=[1 / 9] * 9)
        teacher = BlendClassifier(**LIGHT).prepare(*data, rates=[1 / 9] * 9)
        margins = [own for _, _, own in teacher._fitted]
        logits = blend.blended_logits(margins, teacher.weights, teacher.inverse_temperature)
        alone = softmax(logits + matching_offsets(logits, teacher.training.rates), axis=1)
        both = model.learned_proba_
        assert (both**2).sum(axis=1).mean() == pytest.approx((alone**2).sum(axis=1).mean(), 0.05)

    def test_refits_are_fits_of_a_reweighted_sample(self):
        X, y, rest, _ = sample(make_twonorm)
        teacher = BlendClassifier(**LIGHT).prepare(X, y, rest, rates=[0.5, 0.5])
        rng = np.random.default_rng(0)
        weight = rng.multinomial(len(y), np.full(len(y), 1 / len(y)))
        logits, model = teacher.refit(weight.astype(float), seed=1)
        again, _ = teacher.refit(weight.astype(float), seed=1)
        assert (logits == again).all()
        assert logits.shape == (len(rest), 2)
        other, _ = teacher.refit(np.ones(len(y)), seed=2)
        assert (logits != other).any()
        assert np.isfinite(model.logits(rest[:5])).all()

    def test_many_classes_one_of_a_single_point(self):
        rng = np.random.default_rng(0)
        centers = rng.normal(size=(4, 3)) * 6
        codes = np.repeat(np.arange(4), [12, 9, 3, 1])
        X = centers[codes] + rng.normal(size=(25, 3))
        population = centers[rng.integers(4, size=200)] + rng.normal(size=(200, 3))
        blend = BlendClassifier(**LIGHT).fit(X, codes, population, rates=[0.25] * 4)
        chances = blend.predict_proba(population)
        assert chances.shape == (200, 4)
        assert chances.sum(axis=1) == pytest.approx(1)
        assert (blend.predict(centers) == np.arange(4)).all()

    def test_all_of_many_labeled_rows_are_learned_from(self):
        X, y, rest, _ = sample(make_twonorm, n_points=7000, fraction=0.8)
        teacher = BlendClassifier(**LIGHT).prepare(X, y, rest)
        assert len(teacher.training.codes) == len(y) == 5600
        assert set(teacher.learners) == {"rank-trees", "rank-svc", "linear-svc", "boosting"}
        assert len(teacher.stacking.held_out) == 1400

    def test_a_linear_law_is_seen_in_few_rows(self):
        """Without "linear-svc" 0.5 points fewer labels are right on generated data (60 rows)."""
        right = []
        for seed in range(4):
            rng = np.random.default_rng(seed)
            X, coef = rng.normal(size=(700, 10)), rng.normal(size=10)
            y = (X @ coef > 0).astype(int)
            for names in (None, chosen_names(None, 50, 2)[:-1]):
                model = BlendClassifier(**LIGHT, base_learners=names)
                model.fit(X[:50], y[:50], X[50:], rates=[0.5, 0.5])
                right.append((model.predict(X[50:]) == y[50:]).mean())
        both, without = np.reshape(right, (4, 2)).mean(axis=0)
        assert both > without + 0.01

    @pytest.mark.parametrize("size", [1e-300, 1e300])
    def test_weights_of_any_size(self, size):
        X, y, rest, truth = sample(make_twonorm, 400)
        rates = [1 - truth.mean(), truth.mean()]
        for weight in (np.full(len(y), size), np.where(np.arange(len(y)) % 3, size, 1 / size)):
            model = BlendClassifier(**LIGHT).fit(X, y, rest, rates, sample_weight=weight)
            assert (model.predict(rest) == truth).mean() > 0.8

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
        X, y, _, _ = sample(make_twonorm, fraction=0.2)
        order = np.argsort(y, kind="stable")
        accuracies = [
            np.mean([a for _, a in BlendClassifier(**LIGHT).fit(X[o], y[o]).accuracies_])
            for o in (np.arange(len(y)), order)
        ]
        assert accuracies[0] == pytest.approx(accuracies[1], abs=0.02)

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

    @pytest.mark.parametrize("base_learners", [(), ("trees", "oaks"), ("svc", "svc")])
    def test_bad_base_learners(self, base_learners):
        with pytest.raises(InputError, match="base_learners must be some of trees"):
            BlendClassifier(base_learners=base_learners).fit([[0], [1]], [0, 1])

    @pytest.mark.parametrize("rates", [[1.0], [0.7, 0.7], [-0.5, 1.5], [np.nan, 1.0]])
    def test_bad_rates(self, rates):
        with pytest.raises(InputError, match="rates must be 2 numbers"):
            BlendClassifier().fit([[0], [1]], [0, 1], rates=rates)


def test_learning_says_how_long_it_will_take():
    X, y = make_twonorm(120, random_state=0)
    said = []
    with progress_callback(lambda event: said.append(text(event))):
        BlendClassifier(base_learners=("trees", "svc"), n_estimators=5).fit(X[:40], y[:40], X[40:])
    lines = [line for line in said if line.startswith("cross-validating")]
    assert lines[-1].startswith("cross-validating base learners: 10 of 10")
    assert any(line.startswith("fitting base learners: 1 of ") for line in said)
