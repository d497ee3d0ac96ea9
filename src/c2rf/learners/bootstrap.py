"""A learner fitted again to some of the labeled rows: for calibration, and for imputations.

Calibration of any learner rests on rows that were held out, in up to :data:`N_FOLDS` folds. The
blend has held out rows itself.

Bootstrap replicates are fitted to rows drawn with replacement within each class, so that every
class keeps labeled rows. A learner that offers ``prepare`` (the blend) is prepared once and fitted
again; any other one is fitted to the rows drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing

from c2rf._utils.frames import stacked
from c2rf._utils.types import MOST_SEEDS, Codes, Floats, Ints
from c2rf.assignment import log_scores
from c2rf.forest.ensembles import seeded
from c2rf.learners.calibration import WIDE_PRIOR, Calibration, HeldOut, calibrate
from c2rf.learners.stacking import folds
from c2rf.progress import Countdown

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


class LabeledSample(NamedTuple):
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

    @property
    def counting(self) -> Codes:
        """The numbers of the rows that have a weight."""
        return np.flatnonzero(np.ones(len(self.y)) if self.weight is None else self.weight)

    def fit(self, model: Any, rows: Codes) -> Any:
        """Fit a model to some of the rows, which may be repeated."""
        options = {**self.options, **{k: weight[rows] for k, weight in self._weights().items()}}
        return model.fit(_safe_indexing(self.X, rows), self.y[rows], **options)

    def _weights(self) -> dict[str, Floats]:
        # A pipeline takes the weights of rows under the name of its last step.
        return {k: v for k, v in self.options.items() if k.endswith("sample_weight")}


Bootstrap = Callable[[np.random.Generator], Replicate]
"""Draws labeled rows, and fits a learner to them."""


def make_bootstrap(template: Any, labeled: LabeledSample) -> Bootstrap:
    """Return what makes replicates of a learner.

    Parameters
    ----------
    template : classifier
        Unfitted, with all its seeds set.
    labeled : LabeledSample
        What it is fitted to.
    """
    if hasattr(template, "prepare"):
        teacher = template.prepare(labeled.X, labeled.y, **labeled.options)
        return partial(_fitted_again, teacher, getattr(template, "learned_rows_", None))
    if isinstance(template, FrozenEstimator):  # it cannot be fitted again
        return lambda _: Replicate(None, None, partial(_log_proba, template))
    return partial(_fitted_anew, template, labeled)


def _fitted_again(teacher: Any, rows: Codes | None, rng: np.random.Generator) -> Replicate:
    """Fit the base learners and the student of the blend again, cross-validated before."""
    counts = stratified_counts(teacher.training.codes, rng).astype(float)
    logits, model = teacher.refit(counts, int(rng.integers(MOST_SEEDS)))
    own = None if rows is None else logits
    return Replicate(rows, own, partial(_log_proba_of_logits, model))


def _fitted_anew(template: Any, labeled: LabeledSample, rng: np.random.Generator) -> Replicate:
    """Fit any classifier to the rows drawn."""
    counts = stratified_counts(labeled.codes, rng)
    model = clone(template)
    seeded(model, np.random.RandomState(int(rng.integers(MOST_SEEDS))))
    labeled.fit(model, np.repeat(np.arange(len(counts)), counts))
    return Replicate(None, None, partial(_log_proba, model))


N_FOLDS = 5
"""In how many parts labeled rows are held out, one at a time."""

FOLDS_BY_SIZE = ((2_000, N_FOLDS), (20_000, 3))
"""To calibrate: folds up to a number of labeled rows; of more rows a fifth is held out once."""


def held_out_models(
    template: Any, labeled: LabeledSample, seed: int, doing: str, n_folds: int = N_FOLDS
) -> Iterator[tuple[Any, Codes, int]]:
    """Yield models that learned without a fold of the labeled rows.

    A learner that offers ``prepare`` is prepared once, by all rows, and fitted again without each
    fold: what is chosen by cross-validation is the same in all.

    Parameters
    ----------
    template : classifier
        The learner. Any other one that looks at the population is shown the fold among it, so that
        both are on the same footing.
    labeled : LabeledSample
        What it is fitted to.
    seed : int
        Draws the folds.
    doing : str
        What is reported as progress.
    n_folds : int
        How many folds; the only row of a class is in none, nor are rows without a weight.

    Yields
    ------
    tuple
        The model, the numbers of the rows in the fold, and how many folds there are.
    """
    rows = labeled.counting
    parts = list(folds(labeled.codes[rows], n_folds, np.random.RandomState(seed)))
    steps = Countdown(doing, len(parts))
    refit = None
    for kept, held in parts:
        with steps.inside():
            refit = refit or _fitted_without(template, labeled)
            model = refit(rows[kept], rows[held])
        yield model, rows[held], len(parts)
        steps.done(1)


def _fitted_without(template: Any, labeled: LabeledSample) -> Callable[[Codes, Codes], Any]:
    """Return what fits a learner to rows that are kept, without those that are held out."""
    if hasattr(template, "prepare"):
        model = clone(template)
        teacher = model.prepare(labeled.X, labeled.y, **labeled.options)
        return lambda kept, _: model.refitted(
            teacher, np.isin(labeled.counting, kept).astype(float)
        )

    def fitted(kept: Codes, held: Codes) -> Any:
        own = dict(labeled.options)
        if "X_unlabeled" in own:
            own["X_unlabeled"] = stacked([own["X_unlabeled"], _safe_indexing(labeled.X, held)])
        return labeled._replace(options=own).fit(clone(template), kept)

    return fitted


def held_out_calibration(
    template: Any, labeled: LabeledSample, population: Any, rates: Floats | None, floor: float,
    seed: int,
) -> Calibration:  # fmt: skip
    """Calibrate a learner by labeled rows that it has not seen.

    Parameters
    ----------
    template : classifier
        Unfitted, with all its seeds set.
    labeled : LabeledSample
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
    found, doing = [], "calibrating"
    for model, held, _ in held_out_models(template, labeled, seed, doing, n_folds or N_FOLDS):
        scores = log_scores(model.predict_proba(_safe_indexing(labeled.X, held)), floor)
        others = scores if rates is None else log_scores(model.predict_proba(population), floor)
        found.append(HeldOut(scores, codes[held], weight[held], others))
        if not n_folds:
            break
    if rates is None:
        rates = np.bincount(codes) / len(codes)
    return calibrate(found, rates, WIDE_PRIOR)


# Functions of modules, so that they can be sent to other processes.


def _log_proba_of_logits(model: Any, rows: Any) -> Floats:
    return log_softmax(model.logits(np.asarray(rows, dtype=float)), axis=1)


def _log_proba(model: Any, rows: Any) -> Floats:
    return log_scores(model.predict_proba(rows), _LEAST_PROBABILITY)
