"""A learner fitted again to some of the labeled rows: for calibration, and for imputations.

Calibration of any learner rests on rows that were held out, in up to :data:`MOST_FOLDS` folds. The
blend has held out rows itself.

Bootstrap replicates are fitted to rows drawn with replacement within each class, so that every
class keeps labeled rows. A learner that offers ``prepare`` (the blend) is prepared once and fitted
again; any other one is fitted to the rows drawn.
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
from c2rf.learners.calibration import WIDE_PRIOR, Calibration, HeldOut, calibrate
from c2rf.learners.stacking import folds

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
    """

    learned_rows: Codes | None
    learned_logs: Floats | None
    predict_log_proba: Callable[[Any], Floats]


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
        own = None if rows is None else logits
        return Replicate(rows, own, partial(_log_proba_of_logits, model))

    def _counts(self, rng: np.random.Generator) -> Floats:
        return stratified_counts(self._teacher.training.codes, rng).astype(float)


class LabeledRows(NamedTuple):
    """What a learner is fitted to.

    Parameters
    ----------
    X, y : array or frame, and ndarray
        The labeled rows and their classes.
    options : mapping
        Other arguments of ``fit``.
    """

    X: Any
    y: NDArray[Any]
    options: Mapping[str, Any]

    @property
    def codes(self) -> Codes:
        """The numbers of the classes."""
        return np.unique(self.y, return_inverse=True)[1]

    @property
    def weight(self) -> Floats | None:
        """How much each row counts."""
        return next(iter(self._weights().values()), None)

    def fit(self, model: Any, rows: Codes) -> Any:
        """Fit a model to some of the rows, which may be repeated."""
        options = {**self.options, **{k: weight[rows] for k, weight in self._weights().items()}}
        return model.fit(_safe_indexing(self.X, rows), self.y[rows], **options)

    def _weights(self) -> dict[str, Floats]:
        # A pipeline takes the weights of rows under the name of its last step.
        return {k: v for k, v in self.options.items() if k.endswith("sample_weight")}


class RefitBootstrap:
    """Replicates of any classifier: fitted to the rows drawn."""

    def __init__(self, template: Any, labeled: LabeledRows) -> None:
        self._template, self._labeled = template, labeled

    def replicate(self, rng: np.random.Generator) -> Replicate:
        """Fit to a bootstrap sample of the labeled rows."""
        if isinstance(self._template, FrozenEstimator):  # it cannot be fitted again
            return Replicate(None, None, partial(_log_proba, self._template))
        counts = stratified_counts(self._labeled.codes, rng)
        model = clone(self._template)
        seeded(model, np.random.RandomState(int(rng.integers(_MOST_SEEDS))))
        self._labeled.fit(model, np.repeat(np.arange(len(counts)), counts))
        return Replicate(None, None, partial(_log_proba, model))


Bootstrap = BlendBootstrap | RefitBootstrap


def make_bootstrap(template: Any, labeled: LabeledRows) -> Bootstrap:
    """Return what makes replicates of a learner.

    Parameters
    ----------
    template : classifier
        Unfitted, with all its seeds set.
    labeled : LabeledRows
        What it is fitted to.
    """
    if hasattr(template, "prepare"):
        X, y, options = labeled
        return BlendBootstrap(template, template.prepare(X, y, **options))
    return RefitBootstrap(template, labeled)


MOST_FOLDS = 5
FOLDS_BY_SIZE = ((2_000, 5), (20_000, 3))
"""Folds up to a number of labeled rows; of more rows a fifth is held out once."""


def held_out_calibration(
    template: Any, labeled: LabeledRows, population: Any, rates: Floats | None, floor: float,
    seed: int,
) -> Calibration:  # fmt: skip
    """Calibrate a learner by labeled rows that it has not seen.

    Parameters
    ----------
    template : classifier
        Unfitted, with all its seeds set.
    labeled : LabeledRows
        What it is fitted to.
    population : array or frame
        Rows of the population, in random order.
    rates : ndarray of shape (n_classes,), or None
        Their known rates of the classes; without, held-out rows stand for the population.
    floor : float
        What a probability of zero counts as.
    seed : int
        Draws the folds.
    """
    codes = labeled.codes
    weight = np.ones(len(codes)) if labeled.weight is None else labeled.weight
    n_folds = next((number for most, number in FOLDS_BY_SIZE if len(codes) <= most), 0)
    parts = list(folds(codes, n_folds or MOST_FOLDS, np.random.RandomState(seed)))
    found = []
    for kept, held in parts if n_folds else parts[:1]:
        model = labeled.fit(clone(template), kept)
        scores = log_scores(model.predict_proba(_safe_indexing(labeled.X, held)), floor)
        others = scores if rates is None else log_scores(model.predict_proba(population), floor)
        found.append(HeldOut(scores, codes[held], weight[held], others))
    if rates is None:
        rates = np.bincount(codes) / len(codes)
    return calibrate(found, rates, WIDE_PRIOR)


# Functions of modules, so that they can be sent to other processes.


def _log_proba_of_logits(model: Any, rows: Any) -> Floats:
    return log_softmax(model.logits(np.asarray(rows, dtype=float)), axis=1)


def _log_proba(model: Any, rows: Any) -> Floats:
    return log_scores(model.predict_proba(rows), _LEAST_PROBABILITY)
