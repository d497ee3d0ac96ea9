"""The base learners of the blend: forests, least squares and support vectors.

A base learner is fitted to some of the labeled rows and returns a score per class for any rows. All
of them take weights of rows, so that a bootstrap of the labeled rows is a fit like any other.

The least-squares fit to the indicator of a class needs two things: the second moments of the
features over the population, which need no labels and are therefore known well, and the mean of
the features within the class. The means of the labeled rows of each class are poor estimates
where these are few; but the means of all classes, weighted with their known rates, must add up to
the mean over the population (:func:`~c2rf.learners.calibration.calibrated_means`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from operator import attrgetter
from typing import Any, Self

import numpy as np
from sklearn.svm import SVC

from c2rf._utils.compiled import can_compile, compiled
from c2rf._utils.types import Codes, Floats, Singles
from c2rf.exceptions import InputError
from c2rf.learners.calibration import calibrated_means
from c2rf.learners.features import FeatureMatrices, Moments, Preprocessor
from c2rf.learners.trees import Forest, Growth, grow_forest, prior_corrected

BASE_LEARNERS = (
    "trees", "rank-trees", "pca-trees", "plain-trees", "svc", "narrow-svc", "rank-svc", "ridge",
    "kernel-ridge", "rank-kernel-ridge",
)  # fmt: skip
"""Extra trees with prior-corrected leaf estimates, that try some columns at a split, some columns
of ranks, or all columns and principal components; the last kind with plain leaf estimates; support
vectors, by Gaussian kernels of two widths and by a Laplacian one of ranks; and ridge regression
with the population's moments, on principal components and in such kernels' spaces."""

RIDGES = 0.01, 0.1
KERNEL_RIDGES = 0.001, 0.01
RANK_KERNEL_RIDGES = 0.5, 2.0
"""Of ridge regression, each a base learner; the last ones are divided by the number of labeled
rows."""

MOST_LEAF_ROWS = 4000
"""Rows of the population, at most, that leaf estimates are corrected by: more add nothing."""

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
        The labeled rows that are kept.
    kept : ndarray of int
        Their numbers among all labeled rows.
    codes : ndarray of int
        Numbers of their classes, each of which has some.
    weight : ndarray
        How much each row counts.
    rates : ndarray of shape (n_classes,)
        The known rates of the classes in the population.
    seed : int
        For all that is random.
    light : bool
        Whether a quarter of the trees will do, as for cross-validation.
    leaf_rows : slice
        The rows of the population that leaf estimates are corrected by. In cross-validation these
        and the rows that set thresholds are disjoint, to avoid optimism.
    """

    features: FeatureMatrices
    kept: Codes
    codes: Codes
    weight: Floats
    rates: Floats
    seed: int
    light: bool = False
    leaf_rows: slice = field(default_factory=lambda: slice(MOST_LEAF_ROWS))

    def take(self, rows: Codes) -> TrainingSet:
        """Return the training set of some of the rows, for a light fit."""
        return TrainingSet(
            self.features.take(rows), self.kept[rows], self.codes[rows], self.weight[rows],
            self.rates, self.seed, light=True, leaf_rows=self.leaf_rows,
        )  # fmt: skip


Fit = Callable[[TrainingSet], Scores]
"""An unfitted base learner."""


def checked_names(names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of base learners that were chosen, None meaning all, or refuse them."""
    if names is None:
        return BASE_LEARNERS
    chosen = tuple(names)
    if not chosen or not set(chosen) <= set(BASE_LEARNERS) or len(set(chosen)) < len(chosen):
        raise InputError(
            f"base_learners must be some of {', '.join(BASE_LEARNERS)}, each at most once, or None "
            f"for all; found {names!r}"
        )
    return chosen


def make_base_learners(
    names: Sequence[str], preprocessor: Preprocessor, n_estimators: int
) -> list[tuple[str, Fit]]:
    """Return names and unfitted base learners; ridge regression comes with two ridges each."""
    labeled, population = preprocessor.labeled, preprocessor.population
    some = Growth(n_estimators, _root(labeled.columns))
    some_ranks = Growth(n_estimators, _root(labeled.ranks))
    all_tried = Growth(n_estimators, labeled.pca_columns.shape[1])
    n_labeled = len(labeled.columns)
    made: dict[str, list[Fit]] = {
        "trees": [partial(fit_trees, some, "columns", population)],
        "rank-trees": [partial(fit_trees, some_ranks, "ranks", population)],
        "pca-trees": [partial(fit_trees, all_tried, "pca_columns", population)],
        "plain-trees": [partial(fit_trees, all_tried, "pca_columns", None)],
        "svc": [partial(fit_support_vectors, "gaussian", 1.0, 1.0)],
        "narrow-svc": [partial(fit_support_vectors, "gaussian", 3.0, 3.0)],
        "rank-svc": [partial(fit_support_vectors, "laplacian", 3.0, 1.0)],
        "ridge": [
            partial(fit_least_squares, "components", preprocessor.component_moments, ridge)
            for ridge in RIDGES
        ],
        "kernel-ridge": [
            partial(
                fit_least_squares, "gaussian.to_landmarks", preprocessor.gaussian_moments, ridge
            )
            for ridge in KERNEL_RIDGES
        ],
        "rank-kernel-ridge": [
            partial(
                fit_least_squares, "laplacian.to_landmarks", preprocessor.laplacian_moments,
                ridge / n_labeled,
            )
            for ridge in RANK_KERNEL_RIDGES
        ],
    }  # fmt: skip
    return [(name, fit) for name in names for fit in made[name]]


def _root(columns: Singles) -> int:
    """Return the square root of the number of columns, which a tree tries at a split."""
    return max(1, int(np.sqrt(columns.shape[1])))


def fit_trees(
    growth: Growth, matrix: str, population: FeatureMatrices | None, training: TrainingSet
) -> Scores:
    """Grow extra trees; with a population, correct their leaf estimates.

    Parameters
    ----------
    growth : Growth
        How.
    matrix : str
        The field of :class:`FeatureMatrices` that they see.
    population : FeatureMatrices or None
        Rows of the population.
    training : TrainingSet
        The labeled rows.
    """
    n_trees = max(1, growth.n_trees // 4) if training.light else growth.n_trees
    indicators = np.eye(len(training.rates))[training.codes]
    seed = training.seed + growth.max_features  # forests of one blend differ in it
    X = getattr(training.features, matrix)
    forest = grow_forest(X, indicators, Growth(n_trees, growth.max_features), seed, training.weight)
    if population is None:
        return partial(_log_probabilities, forest, matrix)
    others = getattr(population, matrix)[training.leaf_rows]
    forest = prior_corrected(forest, X, training.codes, training.weight, training.rates, others)
    return partial(_predictions, forest, matrix)


def _predictions(forest: Forest, matrix: str, features: FeatureMatrices) -> Floats:
    return forest.predict(getattr(features, matrix))


def _log_probabilities(forest: Forest, matrix: str, features: FeatureMatrices) -> Floats:
    """Return log-probabilities, less their mean over the classes."""
    logs = np.log(np.maximum(_predictions(forest, matrix, features), LEAST_PROBABILITY))
    return logs - logs.mean(axis=1, keepdims=True)


def fit_support_vectors(kernel: str, c: float, power: float, training: TrainingSet) -> Scores:
    """Find support vectors.

    Parameters
    ----------
    kernel : str
        The field of :class:`FeatureMatrices` that holds the similarities to labeled rows.
    c, power : float
        The cost of errors, and the power of similarities, which makes the kernel narrower.
    training : TrainingSet
        The labeled rows.
    """
    similarities = partial(_similarities, kernel, training.kept, power)
    model = SupportVectorMachine(c)
    model.fit(similarities(training.features), training.codes, training.weight)
    return partial(_scores, model.scores, similarities)


def _similarities(kernel: str, kept: Codes, power: float, features: FeatureMatrices) -> Floats:
    similar = getattr(features, kernel).to_labeled[:, kept]
    return similar if power == 1.0 else similar**power


def fit_least_squares(matrix: str, moments: Moments, ridge: float, training: TrainingSet) -> Scores:
    """Solve the least squares with the second moments of the population.

    Parameters
    ----------
    matrix : str
        The field of :class:`FeatureMatrices` that they see.
    moments : Moments
        Of this matrix over the population.
    ridge : float
        What is added to the second moments.
    training : TrainingSet
        The labeled rows.
    """
    columns = attrgetter(matrix)
    means = class_means(
        columns(training.features), training.codes, training.rates, moments, training.weight
    )
    coef = least_squares_coef(means, training.rates, moments, ridge)
    return partial(_scores, partial(fitted_indicators, coef), columns)


def _scores(predict: Callable[[Floats], Floats], matrix: Any, features: FeatureMatrices) -> Floats:
    return predict(matrix(features))


def least_squares_coef(means: Floats, rates: Floats, moments: Moments, ridge: float) -> Floats:
    """Return the coefficients of a ridge regression on the indicators of the classes.

    Parameters
    ----------
    means : ndarray of shape (n_classes, n_kept)
        As :func:`class_means` returns them.
    rates : ndarray of shape (n_classes,)
        The known rates of the classes in the population.
    moments : Moments
        Of the population.
    ridge : float
        What is added to the second moments.

    Examples
    --------
    >>> features = np.column_stack([np.linspace(-1, 1, 21), np.ones(21)])
    >>> moments, rates = Moments(features), np.array([0.5, 0.5])
    >>> means = class_means(features[[3, 12]], np.array([0, 1]), rates, moments)
    >>> coef = least_squares_coef(means, rates, moments, ridge=0.1)
    >>> fitted_indicators(coef, features[[0, 20]]).round(2)
    array([[ 0.48, -0.48],
           [-0.48,  0.48]])
    """
    # (C + ridge I) b_k = rate_k mean_k, where C = vectors diag(values) vectors'
    targets = moments.vectors.T @ (rates[:, None] * means).T
    return moments.basis @ (moments.vectors @ (targets / (moments.values + ridge)[:, None]))


def fitted_indicators(coef: Floats, features: Floats) -> Floats:
    """Return the fitted indicators of the classes, less their mean over the classes."""
    scores = features @ coef
    return scores - scores.mean(axis=1, keepdims=True)


def class_means(
    features: Floats, codes: Codes, rates: Floats, moments: Moments, weight: Floats | None = None
) -> Floats:
    """Return the calibrated mean of each class, in the basis of the moments.

    Parameters
    ----------
    features : ndarray of shape (n_labeled, n_features)
        Of the labeled rows, some in every class.
    codes : ndarray of shape (n_labeled,)
        Numbers of their classes.
    rates : ndarray of shape (n_classes,)
        The known rates of the classes in the population.
    moments : Moments
        Of the features over the population.
    weight : ndarray of shape (n_labeled,), optional
        How much each labeled row counts.
    """
    weight = np.ones(len(codes)) if weight is None else weight
    counts = np.bincount(codes, weights=weight, minlength=len(rates)).astype(float)
    sums = np.zeros((len(rates), features.shape[1]))
    for k in range(len(rates)):
        sums[k] = weight[codes == k] @ features[codes == k]
    turned = sums / counts[:, None] @ moments.basis
    return calibrated_means(turned, counts, rates, moments.mean, moments.deviation)


# Support vectors by sequential minimal optimization, compiled: many times faster than SVC for few
# rows. With labels y = -1, 1 and b = y a for the usual multipliers a, the dual problem is to
# maximize y'b - b'Kb / 2 subject to sum(b) = 0 and b between 0 and y C. A step moves one b up and
# another down by the same amount, so that the sum stays. The first is the one whose gradient
# y - Kb is greatest, the second the one that gains most by second order. Where Numba cannot be
# used, scikit-learn solves the same problem.

TOLERANCE = 1e-3
"""The solver stops when gradients of multipliers that could move differ by no more than this."""

_LEAST_CURVATURE = 1e-12
_MOST_STEPS = 1_000_000


@compiled
def solve_dual(kernel: Any, lower: Any, upper: Any, tolerance: float) -> Any:
    """Return the multipliers b of one problem, and its intercept.

    Parameters
    ----------
    kernel : ndarray of shape (n_rows, n_rows)
        Inner products.
    lower, upper : ndarray of shape (n_rows,)
        Bounds of b: 0 and C for the rows of one class, -C and 0 for those of the other.
    tolerance : float
        When to stop.
    """
    n_rows = len(kernel)
    b, gradient = np.zeros(n_rows), np.empty(n_rows)
    for t in range(n_rows):
        gradient[t] = 1.0 if upper[t] > 0 else -1.0
    for _ in range(_MOST_STEPS):
        i, low = _widest_gap(b, gradient, lower, upper)
        if gradient[i] - low <= tolerance:
            break
        j = _best_partner(kernel, b, gradient, lower, i)
        step = (gradient[i] - gradient[j]) / _curvature(kernel, i, j)
        step = min(step, upper[i] - b[i], b[j] - lower[j])
        b[i] += step
        b[j] -= step
        for t in range(n_rows):
            gradient[t] -= step * (kernel[i, t] - kernel[j, t])
    return b, _intercept(b, gradient, lower, upper)


@compiled
def _curvature(kernel: Any, i: int, j: int) -> float:
    return max(kernel[i, i] + kernel[j, j] - 2 * kernel[i, j], _LEAST_CURVATURE)


@compiled
def _widest_gap(b: Any, gradient: Any, lower: Any, upper: Any) -> Any:
    """Return the row that should rise most, and the least gradient of those that could fall."""
    best, high, low = 0, -np.inf, np.inf
    for t in range(len(b)):
        if b[t] < upper[t] and gradient[t] > high:
            best, high = t, gradient[t]
        if b[t] > lower[t]:
            low = min(low, gradient[t])
    return best, low


@compiled
def _best_partner(kernel: Any, b: Any, gradient: Any, lower: Any, i: int) -> int:
    """Return the row that should fall while another rises, by the most that this can gain."""
    best, most = i, 0.0
    for t in range(len(b)):
        gap = gradient[i] - gradient[t]
        if b[t] > lower[t] and gap > 0:
            gain = gap * gap / _curvature(kernel, i, t)
            if gain > most:
                best, most = t, gain
    return best


@compiled
def _intercept(b: Any, gradient: Any, lower: Any, upper: Any) -> float:
    """Return the mean gradient of the rows on the margin; without any, the middle of the gap."""
    total, n_free = 0.0, 0
    for t in range(len(b)):
        if lower[t] < b[t] < upper[t]:
            total += gradient[t]
            n_free += 1
    if n_free:
        return total / n_free
    i, low = _widest_gap(b, gradient, lower, upper)
    return (gradient[i] + low) / 2


class SupportVectorMachine:
    """A support vector classifier of a precomputed kernel; classes are compared in pairs.

    Parameters
    ----------
    c : float
        What a row on the wrong side costs, times its weight.

    Examples
    --------
    >>> X = np.array([[-2.0], [-1.0], [1.0], [3.0]])
    >>> model = SupportVectorMachine(c=1.0).fit(X @ X.T, np.array([0, 0, 1, 1]), np.ones(4))
    >>> model.scores(np.array([[-1.0], [0.0], [2.0]]) @ X.T).round(2).tolist()
    [[1.0, -1.0], [-0.0, 0.0], [-2.0, 2.0]]
    """

    def __init__(self, c: float) -> None:
        self.c = c

    def fit(self, kernel: Floats, codes: Codes, weight: Floats) -> Self:
        """Find the support vectors of each pair of classes."""
        self.pairs_ = list(combinations(range(int(codes.max()) + 1), 2))
        self.coef_ = np.zeros((len(codes), len(self.pairs_)))
        self.intercept_ = np.zeros(len(self.pairs_))
        for p, (one, other) in enumerate(self.pairs_):
            rows = np.flatnonzero((codes == one) | (codes == other))
            costs, second = self.c * weight[rows], codes[rows] == other
            own = np.ascontiguousarray(kernel[np.ix_(rows, rows)])
            solve = _solve_pair if can_compile() else _solve_by_scikit_learn
            self.coef_[rows, p], self.intercept_[p] = solve(own, second, costs)
        return self

    def scores(self, kernel: Floats) -> Floats:
        """Return a score per class from inner products with the rows of the fit.

        Of two classes it is the side of the boundary; of more, the sum over the others of votes
        between -1 and 1, the clearer the further a row is from the boundary.
        """
        sides = kernel @ self.coef_ + self.intercept_
        if len(self.pairs_) == 1:
            return np.hstack([-sides, sides])
        votes = np.tanh(sides)
        scores = np.zeros((len(sides), self.pairs_[-1][1] + 1))
        for p, (one, other) in enumerate(self.pairs_):
            scores[:, one] -= votes[:, p]
            scores[:, other] += votes[:, p]
        return scores


def _solve_pair(kernel: Floats, second: Any, costs: Floats) -> tuple[Floats, float]:
    """Return the multipliers and the intercept of a pair of classes."""
    lower, upper = np.where(second, 0.0, -costs), np.where(second, costs, 0.0)
    return solve_dual(kernel, lower, upper, TOLERANCE)


def _solve_by_scikit_learn(kernel: Floats, second: Any, costs: Floats) -> tuple[Floats, float]:
    """Return the same where nothing is compiled."""
    model = SVC(C=1.0, kernel="precomputed", tol=TOLERANCE)
    model.fit(kernel, second, sample_weight=costs)
    multipliers = np.zeros(len(costs))
    multipliers[model.support_] = model.dual_coef_[0]
    return multipliers, float(model.intercept_[0])
