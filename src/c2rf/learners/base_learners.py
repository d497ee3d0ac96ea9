"""The base learners of the blend: forests, support vectors and boosted trees.

A base learner is fitted to some of the labeled rows and returns a score per class for any rows. All
of them take weights of rows, so that a bootstrap of the labeled rows is a fit like any other. Each
takes part in a range of sizes (:data:`BASE_LEARNERS`), where it is worth its time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from c2rf._utils.types import Codes, Floats
from c2rf.exceptions import InputError
from c2rf.learners.calibration import poststratified
from c2rf.learners.features import FeatureMatrices, Preprocessor, take
from c2rf.learners.threads import in_row_parts, owned_threads
from c2rf.learners.trees import Forest, Growth, correct_leaves, grow_forest

BASE_LEARNERS = {
    "trees": ("columns", 0, 500, 10),
    "rank-trees": ("ranks", 0, np.inf, np.inf),
    "pca-trees": ("pca_columns", 0, 4000, np.inf),
    "svc": ("gaussian", 0, 500, np.inf),
    "rank-svc": ("laplacian", 0, 10_000, np.inf),
    "linear-svc": ("linear", 0, np.inf, np.inf),
    "boosting": ("bins", 300, np.inf, 10),
    "large-boosting": ("bins", 10_000, np.inf, 10),
}
"""Of each the matrix that it sees, the least and the greatest number of labeled rows with which it
takes part, and the greatest number of classes.

Extra trees that try some of the columns at a split, some of the encoded columns, or all columns
and principal components (some of these where labeled rows are many); support vectors by a Gaussian
kernel, by a Laplacian one of ranks, and by encoded columns as they are; and gradient boosting, of
small trees and of more and larger ones."""

MOST_CORRECTED = 1000, 10
"""Labeled rows and classes up to which leaf estimates are corrected by the population: with more,
leaves are too small for it. Of more classes forests have half the trees."""

MOST_ITERATED = 3000, 10
"""Labeled rows and classes up to which support vectors are iterated; beyond, least squares."""

FEW_LABELED = 500
"""With more labeled rows pca-trees try some of the columns, and have plain leaves."""

MOST_LEAF_ROWS = 4000
"""Rows of the population, at most, that leaf estimates are corrected by: more add nothing."""

MOST_IN_TREE = 50_000
"""Labeled rows that a tree is grown on, at most; every tree draws others."""

MOST_TRIED = 250
"""Columns that a tree tries at a split, at most."""

LEAST_PROBABILITY = 0.01
"""Smaller probabilities of plain trees are raised to this before their logarithm is taken."""

Scores = Callable[[FeatureMatrices], Floats]
"""A fitted base learner: from rows to a score per class, higher for the more likely."""


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """What a base learner is fitted to.

    Parameters
    ----------
    features : FeatureMatrices
        The labeled rows.
    codes : ndarray of int
        Numbers of their classes, each of which has some.
    weight : ndarray
        How much each row counts.
    rates : ndarray of shape (n_classes,)
        The known rates of the classes in the population.
    seed : int
        For all that is random.
    light : bool
        Whether fewer trees will do, as for cross-validation: a quarter, or half of boosted ones.
    leaf_rows : slice
        The rows of the population that leaf estimates are corrected by. In cross-validation these
        and the rows that set thresholds are disjoint, to avoid optimism.
    """

    features: FeatureMatrices
    codes: Codes
    weight: Floats
    rates: Floats
    seed: int
    light: bool = False
    leaf_rows: slice = field(default_factory=lambda: slice(MOST_LEAF_ROWS))

    def take(self, rows: Codes) -> TrainingSet:
        """Return the training set of some of the rows, for a light fit."""
        return TrainingSet(
            take(self.features, rows), self.codes[rows], self.weight[rows], self.rates, self.seed,
            light=True, leaf_rows=self.leaf_rows,
        )  # fmt: skip

    def poststratified(self) -> Floats:
        """Return weights with which the rows have the known rates, one in the mean, none zero."""
        n_rows = len(self.codes)
        return poststratified(self.codes, self.rates, self.weight) * n_rows + _LEAST_WEIGHT


_LEAST_WEIGHT = 1e-3

Fit = Callable[[TrainingSet], Scores]
"""An unfitted base learner."""


def chosen_names(names: Sequence[str] | None, n_labeled: int, n_classes: int) -> tuple[str, ...]:
    """Return the names of base learners that take part; None means all whose range it is.

    Examples
    --------
    >>> chosen_names(None, 50, 2)
    ('trees', 'rank-trees', 'pca-trees', 'svc', 'rank-svc', 'linear-svc')
    >>> chosen_names(None, 1_000_000, 2)
    ('rank-trees', 'linear-svc', 'boosting', 'large-boosting')
    """
    if names is None:
        return tuple(
            name
            for name, (_, least, most, most_classes) in BASE_LEARNERS.items()
            if least <= n_labeled <= most and n_classes <= most_classes
        )
    chosen = tuple(names)
    if not chosen or not set(chosen) <= set(BASE_LEARNERS) or len(set(chosen)) < len(chosen):
        raise InputError(
            f"base_learners must be some of {', '.join(BASE_LEARNERS)}, each at most once, or None "
            f"for those that suit the number of labeled rows; found {names!r}"
        )
    return chosen


def make_base_learners(
    names: Sequence[str],
    preprocessor: Preprocessor,
    n_estimators: int,
    n_labeled: int,
    n_classes: int,
) -> dict[str, Fit]:
    """Return unfitted base learners by their names."""
    others = preprocessor.population
    made: dict[str, Fit] = {}
    for name in names:
        kind = BASE_LEARNERS[name][0]
        width = others[kind].shape[1]
        if name.endswith("trees"):
            few_classes = n_classes <= MOST_CORRECTED[1]
            tries_all = name == "pca-trees" and few_classes and n_labeled <= FEW_LABELED
            tried = min(width, MOST_TRIED) if tries_all else max(1, int(np.sqrt(width)))
            growth = Growth(n_estimators if few_classes else -(-n_estimators // 2), tried)
            corrected = few_classes and n_labeled <= MOST_CORRECTED[0]
            corrected &= tries_all or name != "pca-trees"
            made[name] = partial(fit_trees, growth, kind, others if corrected else None)
        elif name.endswith("svc"):
            made[name] = partial(fit_support_vectors, kind, preprocessor.bases[kind])
        else:
            assert name.endswith("boosting"), name
            made[name] = partial(fit_boosting, name == "large-boosting")
    return made


def fit_trees(
    growth: Growth, kind: str, population: FeatureMatrices | None, training: TrainingSet
) -> Scores:
    """Grow extra trees; with a population, correct their leaf estimates.

    Parameters
    ----------
    growth : Growth
        How.
    kind : str
        The matrix that they see.
    population : FeatureMatrices or None
        Rows of the population.
    training : TrainingSet
        The labeled rows.
    """
    n_trees = max(1, growth.n_trees // 4) if training.light else growth.n_trees
    indicators = np.eye(len(training.rates))[training.codes]
    seed, X = training.seed + growth.max_features, training.features[kind]
    bags = None
    if len(X) > MOST_IN_TREE:
        rng = np.random.default_rng([seed, 7])
        bags = np.stack([_drawn(rng, len(X), MOST_IN_TREE) for _ in range(n_trees)])
    growth = Growth(n_trees, growth.max_features)
    forest = grow_forest(X, indicators, growth, seed, training.weight, bags)
    if population is None:
        return partial(_log_probabilities, forest, kind)
    others = population[kind][training.leaf_rows]
    forest = correct_leaves(forest, X, training.codes, training.weight, training.rates, others)
    return partial(_predictions, forest, kind)


def _drawn(rng: np.random.Generator, n_rows: int, n_drawn: int) -> Any:
    return np.sort(rng.choice(n_rows, n_drawn, replace=False).astype(np.int32))


def _predictions(forest: Forest, kind: str, features: FeatureMatrices) -> Floats:
    return forest.predict(features[kind])


def _log_probabilities(forest: Forest, kind: str, features: FeatureMatrices) -> Floats:
    """Return log-probabilities, less their mean over the classes."""
    logs = np.log(np.maximum(_predictions(forest, kind, features), LEAST_PROBABILITY))
    return logs - logs.mean(axis=1, keepdims=True)


N_BOOSTED = 100
MOST_BOOSTED = 1000
MANY_ROWS = 3000
"""Boosted trees of a class, and of all classes at most, half of them for cross-validation; with
more labeled rows than the last they have 31 leaves, with fewer 15."""


def fit_boosting(are_large: bool, training: TrainingSet) -> Scores:
    """Boost trees, each on the gradient of what those before it leave (scikit-learn's).

    Large ones are twice as many with twice as many leaves.
    """
    n_rows, n_classes = len(training.codes), len(training.rates)
    n_trees = N_BOOSTED if n_classes == 2 else min(N_BOOSTED, MOST_BOOSTED // n_classes)
    n_trees = n_trees // 2 if training.light else n_trees
    model = HistGradientBoostingClassifier(
        max_iter=n_trees * (1 + are_large),
        learning_rate=min(0.3, 10 / n_trees),
        max_leaf_nodes=15 if n_rows < MANY_ROWS else 31 * (1 + are_large),
        max_features=min(0.5, MOST_TRIED / training.features["bins"].shape[1]),
        early_stopping=False,
        random_state=training.seed,
    )
    with owned_threads():
        weight = training.poststratified()
        model.fit(training.features["bins"], training.codes, sample_weight=weight)
    return partial(_boosted, model)


def _boosted(model: Any, features: FeatureMatrices) -> Floats:
    with owned_threads():
        scores = np.asarray(model.decision_function(features["bins"]))
    if scores.ndim == 1:
        return np.column_stack([-scores / 2, scores / 2])
    return scores - scores.mean(axis=1, keepdims=True)


SUPPORT_RIDGE = 0.3
_MOST_STEPS = 10
_FREE = 30.0  # the constant's factor: it is hardly penalized


def fit_support_vectors(kind: str, basis: Floats, training: TrainingSet) -> Scores:
    """Find support vectors: the squared hinge loss, one class against the others.

    Newton's method: least squares on the rows that are not yet on the right side of the margin,
    until these stay the same. Of many rows its first step, plain least squares, is as good.

    Parameters
    ----------
    kind : str
        The matrix that they see, similarities to landmarks say; its last column is a constant.
    basis : ndarray
        Turns it into features.
    training : TrainingSet
        The labeled rows.
    """
    n_classes = len(training.rates)
    basis = basis.copy()
    basis[:, -1] *= _FREE
    X, signs = training.features[kind] @ basis, 2.0 * np.eye(n_classes)[training.codes] - 1.0
    iterated = len(X) <= MOST_ITERATED[0] and n_classes <= MOST_ITERATED[1]
    weight = training.weight if iterated else training.poststratified()
    coef = ridge_coef(X, signs, weight, SUPPORT_RIDGE)
    if iterated:
        for k in range(n_classes if n_classes > 2 else 1):
            coef[:, k] = _squared_hinge(X, signs[:, k], weight, coef[:, k])
        if n_classes == 2:
            coef[:, 1] = -coef[:, 0]
    return partial(_linear_scores, basis @ coef, kind)


def _squared_hinge(X: Floats, sign: Floats, weight: Floats, coef: Floats) -> Floats:
    """Return the coefficients that minimize the squared hinge loss, from those of least squares."""
    inside = np.ones(len(X), dtype=bool)
    for _ in range(_MOST_STEPS):
        support = sign * (X @ coef) < 1
        if (support == inside).all() or not support.any():
            break
        inside = support
        coef = ridge_coef(X[inside], sign[inside], weight[inside], SUPPORT_RIDGE)
    return coef


def ridge_coef(X: Floats, targets: Floats, weight: Floats, ridge: float) -> Floats:
    """Return the coefficients of a weighted ridge regression, in the smaller of two systems.

    Examples
    --------
    >>> X, two = np.array([[-1.0, 1.0], [1.0, 1.0], [0.0, 1.0]]), np.array([1.0, 5.0, 3.0])
    >>> ridge_coef(X, two, np.ones(3), 1e-9).round(6).tolist()
    [2.0, 3.0]
    >>> ridge_coef(X[:1], two[:1], np.ones(1), 1e-9).round(6).tolist()
    [-0.5, 0.5]
    """
    if len(X) < X.shape[1]:
        dual = X @ X.T
        dual[np.diag_indices_from(dual)] += ridge / weight
        return np.asarray(X.T @ np.linalg.solve(dual, targets))
    weighted = (X * weight[:, None]).T
    moments = weighted @ X
    moments[np.diag_indices_from(moments)] += ridge
    return np.asarray(np.linalg.solve(moments, weighted @ targets))


_SCORED_ROWS = 1 << 12


def _linear_scores(coef: Floats, kind: str, features: FeatureMatrices) -> Floats:
    """Return a linear function of rows, less its mean over the classes.

    In double precision, so that scores do not depend on the rows beside them.
    """
    X = features[kind]
    parts = in_row_parts(lambda rows: X[rows].astype(float) @ coef, len(X), _SCORED_ROWS, 1)
    scores = np.concatenate(parts)
    return scores - scores.mean(axis=1, keepdims=True)
