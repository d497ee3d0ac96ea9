"""Bootstrap replicates of the blend, of any classifier, and of one that is frozen."""

import pickle
from typing import ClassVar

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from c2rf import BlendClassifier
from c2rf.learners.bootstrap import (
    FOLDS_BY_SIZE,
    LabeledSample,
    held_out_calibration,
    held_out_models,
    make_bootstrap,
    stratified_counts,
)

RATES = np.array([0.4, 0.6])


def rows(n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    return rng.normal(size=(n, 2)) + y[:, None], y


def replicates(template, n=2, **options):
    X, y = rows()
    bootstrap = make_bootstrap(template, LabeledSample(X, y, options))
    return [bootstrap(np.random.default_rng(k)) for k in range(n)]


def test_every_class_keeps_its_size():
    codes = np.array([0] * 10 + [1] + [2] * 5)
    counts = stratified_counts(codes, np.random.default_rng(0))
    assert np.bincount(codes, counts).tolist() == [10, 1, 5]


@pytest.mark.parametrize(
    "template",
    [
        LogisticRegression(),
        BlendClassifier(base_learners=("trees", "svc"), n_estimators=5, random_state=0),
    ],
)
def test_replicates_differ_and_can_be_had_again(template):
    X, _ = rows(20, seed=1)
    one, other = replicates(template)
    again = replicates(template, n=1)[0]
    logs = one.predict_log_proba(X)
    assert np.exp(logs).sum(axis=1) == pytest.approx(1)
    assert (logs == again.predict_log_proba(X)).all()
    assert (logs != other.predict_log_proba(X)).any()
    sent = pickle.loads(pickle.dumps(one.predict_log_proba))  # to another process
    assert (sent(X) == logs).all()


def test_the_blend_knows_more_of_the_rows_it_learned_from():
    template = BlendClassifier(base_learners=("trees", "svc"), n_estimators=5, random_state=0)
    population, _ = rows(80, seed=2)
    found = replicates(template, n=1, X_unlabeled=population, rates=RATES)[0]
    assert sorted(found.learned_rows) == list(range(80))
    assert found.learned_logs.shape == (80, 2)
    assert replicates(template, n=1)[0].learned_rows is None


def test_a_frozen_one_is_not_fitted_again():
    frozen = FrozenEstimator(LogisticRegression().fit(*rows()))
    X, _ = rows(20, seed=1)
    one, other = replicates(frozen)
    assert (one.predict_log_proba(X) == other.predict_log_proba(X)).all()


def test_weights_of_rows_are_drawn_with_them():
    X, y = rows()
    other = np.arange(len(y)) % 2 == 0
    flipped = np.where(other, 1 - y, y)
    weight = np.where(other, 1e-9, 1.0)  # rows with wrong classes do not count
    model = make_pipeline(StandardScaler(), LogisticRegression())
    options = {"logisticregression__sample_weight": weight}
    bootstrap = make_bootstrap(model, LabeledSample(X, flipped, options))
    predict = bootstrap(np.random.default_rng(0)).predict_log_proba
    assert (predict(X).argmax(axis=1) == y).mean() > 0.7


class CountingFits(LogisticRegression):
    """Counts how often all copies were fitted, and with how many rows."""

    sizes: ClassVar[list[int]] = []

    def fit(self, X, y, sample_weight=None):
        self.sizes.append(len(y))
        return super().fit(X, y, sample_weight)


def calibrated(model, n, options=None, rates=RATES):
    X, y = rows(n)
    population, _ = rows(300, seed=9)
    return held_out_calibration(
        model, LabeledSample(X, y, options or {}), population, rates, 1e-3, 0
    )


@pytest.mark.parametrize(
    ("n", "n_fits"), [(50, 5), (FOLDS_BY_SIZE[0][0] + 1, 3), (FOLDS_BY_SIZE[1][0] + 1, 1)]
)
def test_there_are_fewer_folds_of_many_rows(n, n_fits):
    CountingFits.sizes.clear()
    calibrated(CountingFits(), n)
    assert len(CountingFits.sizes) == n_fits
    assert max(CountingFits.sizes) < n  # never all of the rows


def test_rows_learned_from_do_not_calibrate():
    """A tree is always right about its own rows; those held out show that it is not."""
    model = DecisionTreeClassifier(random_state=0)
    assert calibrated(model, 200).inverse_temperature < 0.5


def test_a_calibrated_model_stays_as_it_is():
    assert calibrated(LogisticRegression(), 4000).inverse_temperature == pytest.approx(1, rel=0.1)
    unknown = calibrated(LogisticRegression(), 4000, rates=None)
    assert unknown.inverse_temperature == pytest.approx(1, rel=0.1)


def test_weights_count_in_calibration():
    """Rows with wrong classes weigh nothing: else nothing would be known."""
    X, y = rows(1000)
    wrong = np.arange(1000) % 2 == 0
    weight, population = np.where(wrong, 1e-9, 1.0), rows(300, seed=9)[0]
    labeled = LabeledSample(X, np.where(wrong, 1 - y, y), {"sample_weight": weight})
    found = held_out_calibration(LogisticRegression(), labeled, population, RATES, 1e-3, 0)
    assert 0.6 < found.inverse_temperature < 1.6


def test_the_blend_is_prepared_once_and_fitted_without_each_fold():
    class Counted(BlendClassifier):
        prepared: ClassVar[list[int]] = []

        def prepare(self, X, *others, **options):
            self.prepared.append(len(X))
            return super().prepare(X, *others, **options)

    X, y = rows()
    weight = np.where(np.arange(60) < 50, 1.0, 0.0)
    population = np.random.default_rng(1).normal(size=(80, 2)) + 0.5
    options = {"sample_weight": weight, "X_unlabeled": population, "rates": RATES}
    template = Counted(base_learners=("trees", "svc"), n_estimators=5, random_state=0)
    labeled = LabeledSample(X, y, options)
    found = list(held_out_models(template, labeled, 0, "learning"))
    assert Counted.prepared == [60]
    held = np.concatenate([own for _, own, _ in found])
    assert sorted(held) == list(range(50))  # rows without a weight are never held out
    teacher = template.prepare(X, y, **options)
    for model, own, number in found:
        assert number == 5
        kept = (~np.isin(np.arange(50), own)).astype(float)
        logits = teacher.refit(kept, teacher.training.seed)[1].logits(X)
        chances = model.predict_proba(X)
        assert np.ptp(np.diff(np.log(chances) - logits, axis=1)) < 1e-9  # offsets of the classes
    tables = [model.predict_proba(X) for model, _, _ in found]
    assert (tables[0] != tables[1]).any()
