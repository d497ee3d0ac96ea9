"""Bootstrap replicates of the blend, of any classifier, and of one that is frozen."""

import pickle

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from c2rf import BlendClassifier
from c2rf.learners.bootstrap import make_bootstrap, stratified_counts

RATES = np.array([0.4, 0.6])


def rows(n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    return rng.normal(size=(n, 2)) + y[:, None], y


def replicates(template, n=2, **options):
    X, y = rows()
    bootstrap = make_bootstrap(template, X, y, options, RATES)
    return [bootstrap.replicate(np.random.default_rng(k)) for k in range(n)]


def test_every_class_keeps_its_size():
    codes = np.array([0] * 10 + [1] + [2] * 5)
    counts = stratified_counts(codes, np.random.default_rng(0))
    assert np.bincount(codes, counts).tolist() == [10, 1, 5]


@pytest.mark.parametrize(
    "template",
    [
        LogisticRegression(),
        BlendClassifier(base_learners=("trees", "ridge"), n_estimators=5, random_state=0),
    ],
)
def test_replicates_differ_and_can_be_had_again(template):
    X, _ = rows(20, seed=1)
    one, other = replicates(template)
    again = replicates(template, n=1)[0]
    logs = one.predict_log_proba(X)
    assert np.exp(logs).sum(axis=1) == pytest.approx(1)
    assert (logs == again.predict_log_proba(X)).all()
    assert one.inverse_temperature == again.inverse_temperature > 0
    assert (logs != other.predict_log_proba(X)).any()
    assert one.inverse_temperature != other.inverse_temperature
    sent = pickle.loads(pickle.dumps(one.predict_log_proba))  # to another process
    assert (sent(X) == logs).all()


def test_the_blend_knows_more_of_the_rows_it_learned_from():
    template = BlendClassifier(base_learners=("trees", "ridge"), n_estimators=5, random_state=0)
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
    assert one.inverse_temperature == 1.0


def test_weights_of_rows_are_drawn_with_them():
    X, y = rows()
    other = np.arange(len(y)) % 2 == 0
    flipped = np.where(other, 1 - y, y)
    weight = np.where(other, 1e-9, 1.0)  # rows with wrong classes do not count
    model = make_pipeline(StandardScaler(), LogisticRegression())
    options = {"logisticregression__sample_weight": weight}
    bootstrap = make_bootstrap(model, X, flipped, options, RATES)
    predict = bootstrap.replicate(np.random.default_rng(0)).predict_log_proba
    assert (predict(X).argmax(axis=1) == y).mean() > 0.7
