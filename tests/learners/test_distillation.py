"""Distilled models and students: what they copy, and what they never see."""

import numpy as np
import pytest

from c2rf.learners import distillation
from c2rf.learners.distillation import (
    SHRINKAGE,
    distil,
    from_targets,
    student_predictions,
    to_targets,
)
from c2rf.learners.features import Preprocessor

ROWS = np.random.default_rng(0).normal(size=(3000, 4))


def distilled(targets, n_classes=2, X=ROWS[:2000]):
    return distil(Preprocessor(X[:20], X, ()), targets, n_classes, seed=0)


def likeness(model, targets):
    said = model.logits(ROWS[2000:])
    return np.corrcoef(said[:, 1] - said[:, 0], targets[2000:])[0, 1]


def test_a_linear_teacher_is_copied():
    truth = ROWS @ [1.0, -2.0, 0.5, 0.0]
    model = distilled(truth[:2000, None])
    assert likeness(model, truth) > 0.999


def test_a_copy_is_less_sure_than_its_teacher():
    truth = ROWS @ [1.0, -2.0, 0.5, 0.0]
    logits = distilled(truth[:2000, None]).logits(ROWS[2000:])
    slope = np.polyfit(truth[2000:], logits[:, 1] - logits[:, 0], 1)[0]
    assert slope == pytest.approx(SHRINKAGE, abs=0.03)
    assert slope < 0.95


def test_what_is_not_linear_is_left_to_trees():
    truth = 3 * (ROWS[:, 0] > 0) * (ROWS[:, 1] > 0) + ROWS[:, 2]
    model = distilled(truth[:2000, None])
    assert likeness(model, truth) > 0.97
    without = type(model)(model.imputer, model.encoder, model.coef, [], 2)
    assert likeness(without, truth) < 0.93


def test_three_classes_and_missing_cells():
    X = ROWS[:2000].copy()
    X[::7, 3] = np.nan
    targets = X[:, :3] - X[:, :3].mean(axis=1, keepdims=True)
    model = distilled(targets, 3, X)
    said = model.logits(X)
    assert said.shape == (2000, 3)
    assert (said.argmax(axis=1) == targets.argmax(axis=1)).mean() > 0.95


def test_threads_change_nothing():
    model = distilled(ROWS[:2000, :1] ** 2)
    many = np.vstack([ROWS] * 4)
    assert (model.logits(many, n_jobs=2) == model.logits(many, n_jobs=1)).all()
    assert model.logits(many[:0]).shape == (0, 2)


@pytest.mark.parametrize("n_rows", [1, 2, 3])
def test_hardly_any_rows(n_rows):
    model = distilled(ROWS[:n_rows, :1], X=ROWS[:n_rows])
    assert np.isfinite(model.logits(ROWS[:5])).all()


def test_targets_and_back():
    logits = np.log([[0.2, 0.8], [0.6, 0.4]])
    back = from_targets(to_targets(logits), 2)
    assert np.exp(back) / np.exp(back).sum(axis=1, keepdims=True) == pytest.approx(np.exp(logits))
    three = np.log([[0.2, 0.3, 0.5]])
    back = from_targets(to_targets(three), 3)
    assert np.exp(back) / np.exp(back).sum() == pytest.approx(np.exp(three))


def test_noise_is_not_learned_by_heart():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3)).astype(np.float32)
    noise = rng.normal(size=(600, 1))
    said = student_predictions(X, noise, seed=0)
    assert abs(np.corrcoef(said.ravel(), noise.ravel())[0, 1]) < 0.15


def test_what_can_be_learned_is():
    X = np.random.default_rng(0).normal(size=(2401, 3)).astype(np.float32)
    said = student_predictions(X, X[:, :1].astype(float), seed=0)
    assert np.corrcoef(said.ravel(), X[:, 0])[0, 1] > 0.95


def test_of_many_classes_a_few_directions_choose_the_splits(monkeypatch):
    X = ROWS[:1500].astype(np.float32)
    directions = np.random.default_rng(1).normal(size=(4, 12))
    targets = np.sign(X) @ directions
    predicted = student_predictions(X, targets, seed=0)
    assert np.corrcoef(predicted.ravel(), targets.ravel())[0, 1] > 0.8
    grown, grow = [], distillation.grow_forest
    monkeypatch.setattr(
        distillation,
        "grow_forest",
        lambda *given, **named: grown.append(given) or grow(*given, **named),
    )
    student_predictions(X, targets, seed=0)
    ((_, turned, growth, _),) = grown
    assert growth.n_scored == distillation.MOST_SCORED == 4
    assert (turned[:, 4:] ** 2).sum() < 1e-9 * (turned**2).sum()
