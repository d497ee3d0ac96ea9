"""Imputations in the experiment: ours, and those of a plain recipe to compare them with.

The recipe: extra trees learn again from bootstraps of the labeled rows; their log-odds are
multiplied by one factor, which held-out rows find likeliest at the known rates; labels are drawn
given that the total holds. It differs from ours in the learner, and in that nothing but the
bootstrap says how uncertain it is.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from c2rf._typing import Floats, Signs
from c2rf.assignment import log_scores
from c2rf.bench.claims import LEVEL, Claims, Interval, claimed_shares, quarters
from c2rf.bench.protocol import TrialSample
from c2rf.estimators.known_totals import KnownTotalsClassifier
from c2rf.imputation.poisson import choose
from c2rf.learners.bootstrap import best_sharpness, stratified_counts

N_IMPUTATIONS = 20
OURS, RECIPE = "imputations", "plain recipe"
_N_FOLDS = 5
_N_TREES = 100  # scikit-learn's default
LEAST_PROBABILITY = 1e-3
"""A forest that is certain is not to be believed."""


def impute(sample: TrialSample) -> tuple[Signs, Claims]:
    """Label a sample, and claim shares and how many labels are right."""
    classifier = KnownTotalsClassifier(random_state=sample.seed)
    classifier.fit(
        sample.X_labeled, sample.y_labeled, X_unlabeled=sample.X_unlabeled,
        totals={1: sample.n_positive},
    )  # fmt: skip
    parts = quarters(sample.X_unlabeled)
    shares = {
        OURS: claimed_shares(classifier.impute(N_IMPUTATIONS) > 0, parts),
        RECIPE: claimed_shares(np.array(list(by_recipe(sample))), parts),
    }
    expected = classifier.expected_accuracy(N_IMPUTATIONS, level=LEVEL)
    right = {"overall": Interval.of_shares(expected.overall)}
    for name, label in (("negative", -1), ("positive", 1)):
        if label in expected.by_class:
            right[name] = Interval.of_shares(expected.by_class[label])
    return classifier.transduction_, Claims(parts, shares, right)


def by_recipe(sample: TrialSample) -> Iterator[NDArray[np.bool_]]:
    """Yield imputations by the recipe: which rows are positive."""
    codes = (sample.y_labeled > 0).astype(np.intp)
    rate = sample.n_positive / len(sample.X_unlabeled)
    sharpness = _sharpness(sample.X_labeled, codes, np.array([1 - rate, rate]), sample.seed)
    for k in range(N_IMPUTATIONS):
        rng = np.random.default_rng([sample.seed, k])
        rows = np.repeat(np.arange(len(codes)), stratified_counts(codes, rng))
        trees = _trees(int(rng.integers(2**31)))
        logs = log_scores(
            trees.fit(sample.X_labeled[rows], codes[rows]).predict_proba(sample.X_unlabeled),
            LEAST_PROBABILITY,
        )
        yield choose(sharpness * (logs[:, 1] - logs[:, 0]), sample.n_positive, rng)


def _sharpness(X: Floats, codes: NDArray[np.intp], rates: Floats, seed: int) -> float:
    """Return the factor of log-odds that held-out rows find likeliest."""
    n_folds = min(_N_FOLDS, int(np.bincount(codes).min()))
    if n_folds < 2:
        return 1.0
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    held_out = cross_val_predict(_trees(seed), X, codes, cv=folds, method="predict_proba")
    return best_sharpness(log_scores(held_out, LEAST_PROBABILITY), codes, rates)


def _trees(seed: int) -> ExtraTreesClassifier:
    return ExtraTreesClassifier(_N_TREES, random_state=seed)
