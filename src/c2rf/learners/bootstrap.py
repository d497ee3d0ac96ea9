"""Bootstrap replicates: the learner fitted again to labeled rows drawn with replacement.

Rows are drawn within each class, so that every class keeps labeled rows. A learner that offers
``prepare`` (the blend) is prepared once and fitted again; any other one is fitted to the rows
drawn, and its inverse temperature is estimated from the rows that were not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing

from c2rf._utils.types import Codes, Floats, Ints
from c2rf.assignment import log_scores
from c2rf.forest.ensembles import seeded
from c2rf.learners.calibration import inverse_temperature

_MOST_SEEDS = np.iinfo(np.int32).max
_LEAST_PROBABILITY = 1e-3


class Replicate(NamedTuple):
    """A learner fitted to one bootstrap sample.

    Parameters
    ----------
    learned_rows, learned_logs : ndarray, or None
        Rows of the sample of the population, and the logarithms of their probabilities, where the
        learner has better ones for these than ``predict_log_proba``.
    predict_log_proba : callable
        Returns the logarithms of the probabilities of any rows.
    inverse_temperature : float
        The factor of the logarithms.
    """

    learned_rows: Codes | None
    learned_logs: Floats | None
    predict_log_proba: Callable[[Any], Floats]
    inverse_temperature: float


def stratified_counts(codes: Codes, rng: np.random.Generator) -> Ints:
    """Draw how often each labeled row is in a bootstrap that keeps the size of every class.

    Examples
    --------
    >>> counts = stratified_counts(np.array([0, 0, 0, 1]), np.random.default_rng(0))
    >>> int(counts[:3].sum()), int(counts[3])
    (3, 1)
    """
    counts = np.zeros(len(codes), dtype=np.int64)
    for k in np.unique(codes):
        rows = np.flatnonzero(codes == k)
        np.add.at(counts, rng.choice(rows, len(rows)), 1)
    return counts


class BlendBootstrap:
    """Replicates of the blend: cross-validated once, its base learners and student fitted again."""

    def __init__(self, template: Any, teacher: Any) -> None:
        self._template, self._teacher = template, teacher

    def replicate(self, rng: np.random.Generator) -> Replicate:
        """Fit to a bootstrap sample of the labeled rows."""
        logits, model = self._teacher.refit(self._counts(rng), int(rng.integers(_MOST_SEEDS)))
        rows = getattr(self._template, "learned_rows_", None)
        return Replicate(
            rows, None if rows is None else logits, partial(_log_proba_of_logits, model),
            self.inverse_temperature(rng),
        )  # fmt: skip

    def inverse_temperature(self, rng: np.random.Generator) -> float:
        """Return the inverse temperature of a bootstrap sample, relative to that of all rows."""
        teacher = self._teacher
        return teacher.inverse_temperature_of(self._counts(rng)) / teacher.inverse_temperature

    def _counts(self, rng: np.random.Generator) -> Floats:
        return stratified_counts(self._teacher.training.codes, rng).astype(float)


class RefitBootstrap:
    """Replicates of any classifier: fitted to the rows drawn, calibrated by the others."""

    def __init__(
        self, template: Any, X: Any, y: NDArray[Any], options: dict[str, Any], rates: Floats | None
    ) -> None:
        self._template, self._X, self._y = template, X, y
        self._options, self._rates = options, rates
        self._codes = np.unique(y, return_inverse=True)[1]
        # A pipeline takes the weights of rows under the name of its last step.
        self._weight = {k: v for k, v in options.items() if k.endswith("sample_weight")}

    def replicate(self, rng: np.random.Generator) -> Replicate:
        """Fit to a bootstrap sample of the labeled rows."""
        if isinstance(self._template, FrozenEstimator):  # it cannot be fitted again
            return Replicate(None, None, partial(_log_proba, self._template), 1.0)
        counts = stratified_counts(self._codes, rng)
        rows = np.repeat(np.arange(len(counts)), counts)
        model = clone(self._template)
        seeded(model, np.random.RandomState(int(rng.integers(_MOST_SEEDS))))
        options = self._options | {name: weight[rows] for name, weight in self._weight.items()}
        model.fit(_safe_indexing(self._X, rows), self._y[rows], **options)
        left = np.flatnonzero(counts == 0)
        factor = 1.0
        if len(left):
            own = next((weight[left] for weight in self._weight.values()), None)
            logs = _log_proba(model, _safe_indexing(self._X, left))
            factor = inverse_temperature(logs, self._codes[left], self._rates, own)
        return Replicate(None, None, partial(_log_proba, model), factor)

    def inverse_temperature(self, rng: np.random.Generator) -> float:
        """Return the inverse temperature of a bootstrap sample."""
        return self.replicate(rng).inverse_temperature


Bootstrap = BlendBootstrap | RefitBootstrap


def make_bootstrap(
    template: Any, X: Any, y: NDArray[Any], options: Mapping[str, Any], rates: Floats | None
) -> Bootstrap:
    """Return what makes replicates of a learner.

    Parameters
    ----------
    template : classifier
        Unfitted, with all its seeds set.
    X, y : array or frame, and ndarray
        The labeled rows and their classes.
    options : mapping
        Other arguments of ``fit``.
    rates : ndarray of shape (n_classes,), or None
        The rates of the classes in the population, where they are known.
    """
    if hasattr(template, "prepare"):
        return BlendBootstrap(template, template.prepare(X, y, **options))
    return RefitBootstrap(template, X, y, dict(options), rates)


# Functions of modules, so that they can be sent to other processes.


def _log_proba_of_logits(model: Any, rows: Any) -> Floats:
    return log_softmax(model.logits(np.asarray(rows, dtype=float)), axis=1)


def _log_proba(model: Any, rows: Any) -> Floats:
    return log_scores(model.predict_proba(rows), _LEAST_PROBABILITY)
