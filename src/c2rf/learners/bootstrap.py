"""Learning again from a bootstrap of the labeled rows: what another sample could have taught.

A bootstrap is drawn within each class, so that every class keeps labeled rows. A learner that
offers ``prepare`` (the blend) is prepared once and fitted again; any other one is fitted to the
rows drawn, and how sharp its probabilities should be is learned from the rows that were not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing

from c2rf._utils.types import Codes, Floats, Ints
from c2rf.assignment import log_scores
from c2rf.forest.ensembles import seeded
from c2rf.learners.calibration import matching_offsets

# The prior of log-sharpness is normal around 0 (probabilities as they are) with this deviation.
_PRIOR_DEVIATION = 1.0
_SHARPNESS_RANGE = (np.log(0.2), np.log(8.0))
_MOST_SEEDS = np.iinfo(np.int32).max


class Relearned(NamedTuple):
    """What a bootstrap has taught.

    Parameters
    ----------
    learned_rows, learned_logs : ndarray, or None
        Rows of the sample of the population, and the logarithms of their probabilities, where the
        learner knows more of them than the model says.
    ask : callable
        Returns the logarithms of the probabilities of any rows.
    sharpness : float
        By what to multiply the logarithms.
    """

    learned_rows: Codes | None
    learned_logs: Floats | None
    ask: Any
    sharpness: float


class Relearner(Protocol):
    """A learner that can learn again and again."""

    def learn(self, rng: np.random.Generator) -> Relearned:
        """Learn from a bootstrap of the labeled rows."""

    def sharpness(self, rng: np.random.Generator) -> float:
        """Return how sharp a bootstrap says that probabilities should be."""


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


def make_relearner(
    template: Any, X: Any, y: NDArray[Any], options: Mapping[str, Any], rates: Floats | None
) -> Relearner:
    """Return what learns again from bootstraps.

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
        return _Prepared(template, template.prepare(X, y, **options))
    return _Refitted(template, X, y, dict(options), rates)


class _Prepared:
    """The blend: judged once, its members and their student are fitted again."""

    def __init__(self, template: Any, teacher: Any) -> None:
        self.template, self.teacher = template, teacher

    def learn(self, rng: np.random.Generator) -> Relearned:
        codes = self.teacher.lesson.codes
        taught = self.teacher.refit(
            stratified_counts(codes, rng).astype(float), int(rng.integers(_MOST_SEEDS))
        )
        rows = getattr(self.template, "learned_rows_", None)
        return Relearned(
            rows, None if rows is None else taught.logits, _Logits(taught.model),
            self.sharpness(rng),
        )  # fmt: skip

    def sharpness(self, rng: np.random.Generator) -> float:
        counts = stratified_counts(self.teacher.lesson.codes, rng).astype(float)
        return self.teacher.sharpness_of(counts) / self.teacher.sharpness


class _Logits(NamedTuple):
    """The work of asking a taught model."""

    model: Any

    def __call__(self, rows: Any) -> Floats:
        return log_softmax(self.model.logits(np.asarray(rows, dtype=float)), axis=1)


class _LogScores(NamedTuple):
    """The work of asking any classifier."""

    model: Any

    def __call__(self, rows: Any) -> Floats:
        return log_scores(self.model.predict_proba(rows), 1e-3)


class _Refitted:
    """Any classifier: fitted to the rows drawn, judged by the others."""

    def __init__(
        self, template: Any, X: Any, y: NDArray[Any], options: dict[str, Any], rates: Floats | None
    ) -> None:
        self.template, self.X, self.y, self.options, self.rates = template, X, y, options, rates
        self.codes = np.unique(y, return_inverse=True)[1]
        # A pipeline takes the weights of rows under the name of its last step.
        self.weight = {k: v for k, v in options.items() if k.endswith("sample_weight")}

    def learn(self, rng: np.random.Generator) -> Relearned:
        if isinstance(self.template, FrozenEstimator):  # it cannot learn again
            return Relearned(None, None, _LogScores(self.template), 1.0)
        counts = stratified_counts(self.codes, rng)
        rows = np.repeat(np.arange(len(counts)), counts)
        model = clone(self.template)
        seeded(model, np.random.RandomState(int(rng.integers(_MOST_SEEDS))))
        options = dict(self.options)
        for name, weight in self.weight.items():
            options[name] = weight[rows]
        model.fit(_safe_indexing(self.X, rows), self.y[rows], **options)
        ask = _LogScores(model)
        left = np.flatnonzero(counts == 0)
        sharpness = 1.0
        if len(left):
            own = next((weight[left] for weight in self.weight.values()), None)
            logs = ask(_safe_indexing(self.X, left))
            sharpness = best_sharpness(logs, self.codes[left], self.rates, own)
        return Relearned(None, None, ask, sharpness)

    def sharpness(self, rng: np.random.Generator) -> float:
        return self.learn(rng).sharpness


def best_sharpness(
    logs: Floats, codes: Codes, rates: Floats | None, weight: Floats | None = None
) -> float:
    """Return the factor of log-probabilities with the highest likelihood of held-out rows.

    Parameters
    ----------
    logs : ndarray of shape (n_rows, n_classes)
        Logarithms of probabilities of held-out labeled rows.
    codes : ndarray of int, shape (n_rows,)
        Their classes.
    rates : ndarray of shape (n_classes,), or None
        Rates of the classes in the population: rows are weighted such that classes have them.
    weight : ndarray of shape (n_rows,), optional
        How much each row counts.

    Examples
    --------
    >>> logs = np.log([[0.6, 0.4], [0.6, 0.4], [0.4, 0.6], [0.4, 0.6]] * 20)
    >>> best_sharpness(logs, np.array([0, 0, 1, 1] * 20), None) > 2  # they were always right
    True
    """
    own = np.ones(len(codes)) if weight is None else weight
    sizes = np.bincount(codes, own, minlength=logs.shape[1])
    there = sizes > 0 if rates is None else (sizes > 0) & (rates > 0)
    if there.sum() < 2:
        return 1.0
    # Only of classes that are here and in the population there is anything to learn.
    kept = there[codes]
    logs, codes = logs[kept][:, there], (np.cumsum(there) - 1)[codes[kept]]
    own = own[kept] / own[kept].mean()
    here = sizes[there] / sizes[there].sum()
    shares = here if rates is None else rates[there] / rates[there].sum()
    weights = own * (shares / here)[codes]
    centred = logs + matching_offsets(logs, here)

    def loss(log_sharpness: float) -> float:
        # With these offsets classes are as frequent as they are here; from there to the rates of
        # the population is a change of priors.
        chances = log_softmax(np.exp(log_sharpness) * centred + np.log(shares / here), axis=1)
        fit = float(weights @ chances[np.arange(len(codes)), codes])
        return -fit + (log_sharpness / _PRIOR_DEVIATION) ** 2 / 2

    best = minimize_scalar(loss, bounds=_SHARPNESS_RANGE, method="bounded")
    return float(np.exp(best.x))
