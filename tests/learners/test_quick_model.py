"""The quick model of what a teacher says: linear, not linear, several classes, threads."""

import numpy as np
import pytest

from c2rf.learners.distillation import make_quick_model
from c2rf.learners.features import Scenery

ROWS = np.random.default_rng(0).normal(size=(3000, 4))


def quick(targets, n_classes=2, X=ROWS[:2000]):
    return make_quick_model(Scenery(X[:20], X), targets, n_classes, seed=0)


def likeness(model, targets):
    said = model.logits(ROWS[2000:])
    return np.corrcoef(said[:, 1] - said[:, 0], targets[2000:])[0, 1]


def test_a_linear_teacher_is_copied():
    truth = ROWS @ [1.0, -2.0, 0.5, 0.0]
    assert likeness(quick(truth[:2000, None]), truth) > 0.999


def test_what_is_not_linear_is_left_to_trees():
    truth = 3 * (ROWS[:, 0] > 0) * (ROWS[:, 1] > 0) + ROWS[:, 2]
    model = quick(truth[:2000, None])
    assert likeness(model, truth) > 0.97
    without = type(model)(model.filler, model.encoder, model.coef, [], 2)
    assert likeness(without, truth) < 0.93


def test_three_classes_and_missing_cells():
    X = ROWS[:2000].copy()
    X[::7, 3] = np.nan
    targets = X[:, :3] - X[:, :3].mean(axis=1, keepdims=True)
    model = quick(targets, 3, X)
    said = model.logits(X)
    assert said.shape == (2000, 3)
    assert (said.argmax(axis=1) == targets.argmax(axis=1)).mean() > 0.95


def test_threads_change_nothing():
    model = quick(ROWS[:2000, :1] ** 2)
    many = np.vstack([ROWS] * 4)
    assert (model.logits(many, n_jobs=2) == model.logits(many, n_jobs=1)).all()
    assert model.logits(many[:0]).shape == (0, 2)


@pytest.mark.parametrize("n_rows", [1, 2, 3])
def test_hardly_any_rows(n_rows):
    model = quick(ROWS[:n_rows, :1], X=ROWS[:n_rows])
    assert np.isfinite(model.logits(ROWS[:5])).all()
