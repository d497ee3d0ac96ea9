"""Students: what they say of rows never comes from trees that have seen them."""

import numpy as np
import pytest

from c2rf.learners.distillation import ask_student, from_targets, to_targets


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
    said = ask_student(X, noise, seed=0)
    assert abs(np.corrcoef(said.ravel(), noise.ravel())[0, 1]) < 0.15


def test_what_can_be_learned_is():
    X = np.random.default_rng(0).normal(size=(2401, 3)).astype(np.float32)
    said = ask_student(X, X[:, :1].astype(float), seed=0)
    assert np.corrcoef(said.ravel(), X[:, 0])[0, 1] > 0.95
