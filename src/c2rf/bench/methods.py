"""The methods that are compared: one line each in :data:`BENCH_METHODS`.

A method sees a :class:`~c2rf.bench.samples.TrialSample`, never the truth, and answers with labels.

Imputations are compared with a plain recipe: extra trees learn again from bootstraps of the labeled
rows; their log-odds are multiplied by one factor, which held-out rows find likeliest at the known
rates; labels are drawn given that the total holds. It differs from ours in the learner, and in that
nothing but the bootstrap says how uncertain it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import c2rf
from c2rf import baselines
from c2rf._utils.types import Floats, Signs
from c2rf.assignment import log_scores
from c2rf.bench.samples import TrialSample
from c2rf.bench.scores import LEVEL, pooled_shares, quarters
from c2rf.estimators.known_totals import KnownTotalsClassifier
from c2rf.imputation.poisson import choose
from c2rf.imputation.rubin import Pooled
from c2rf.learners.bootstrap import stratified_counts
from c2rf.learners.calibration import WIDE_PRIOR, HeldOut, calibrate, matching_offsets

N_IMPUTATIONS = 20
OURS, RECIPE = "imputations", "plain recipe"
_N_FOLDS = 5
_N_TREES = 100  # scikit-learn's default
LEAST_PROBABILITY = 1e-3
"""A forest that is certain is not to be believed."""
OFFSET = (-2000.0, 2000.0)
"""As far as the paper's 20 trees can go at a weight of 100: no cut-off is out of reach."""

Status = Literal["computed", "optimal", "feasible", "none", "failed"]


@dataclass(frozen=True, eq=False)
class TrialAnswer:
    """What a method found.

    Parameters
    ----------
    labels : ndarray of ±1, or None
        Labels of the unlabeled rows; None if there are none.
    status : str
        "computed" by a method that proves nothing, "optimal" (proven) or "feasible" (stopped
        early) by one that does, "none" if a limit left no labels, "failed" if it broke. Of the
        paper's methods it is the solver's own word.
    bound : int or None
        Proven lower bound on eta.
    stats : dict
        Sizes, nodes, phases and their seconds.
    message : str
        What went wrong.
    intervals : dict or None
        Interval estimates, by a method that gives some: ``shares`` and ``right`` of
        :func:`c2rf.bench.scores.score_intervals`.
    probability : ndarray of float, or None
        Of each unlabeled row to be positive, by a method that says so and meets the total.
    seconds : float
        How long it took.
    """

    labels: Signs | None
    status: Status = "computed"
    bound: int | None = None
    stats: dict[str, Any] = field(default_factory=dict)
    message: str = ""
    intervals: dict[str, dict[str, Pooled]] | None = None
    probability: Floats | None = None
    seconds: float = 0.0


# By the votes of the paper's trees


def majority(sample: TrialSample) -> TrialAnswer:
    """Label by the majority vote."""
    return TrialAnswer(baselines.majority_vote(sample.votes))


def most_votes(sample: TrialSample) -> TrialAnswer:
    """Make the lambda rows with most votes positive; among equals the seed decides."""
    votes = sample.votes.sum(axis=1, dtype=np.int64)
    return TrialAnswer(baselines.top_lambda(votes, sample.n_positive, random_state=sample.seed))


def weighted(sample: TrialSample, **options: Any) -> TrialAnswer:
    """Weigh the trees with :func:`c2rf.solve`."""
    try:
        solution = c2rf.solve(sample.votes, sample.n_positive, random_state=sample.seed, **options)
    except c2rf.NoSolutionError as error:
        return TrialAnswer(None, "none", message=str(error))
    except c2rf.BackendError as error:
        return TrialAnswer(None, "failed", message=str(error))
    status: Status = solution.status
    if "solver_status" in solution.stats:  # solvers are compared by what they say of themselves
        status = "optimal" if solution.stats["solver_status"] == "optimal" else "feasible"
    return TrialAnswer(solution.labels, status, solution.bound, solution.stats)


# By the features


def _known(sample: TrialSample) -> tuple[Floats, Signs, Floats, int]:
    return sample.X_labeled, sample.y_labeled, sample.X_unlabeled, sample.n_positive


def prior_corrected(sample: TrialSample) -> TrialAnswer:
    """Cut the probabilities of extra trees, corrected for the known rate, at one half."""
    return TrialAnswer(baselines.prior_corrected(*_known(sample), random_state=sample.seed))


def self_training(sample: TrialSample) -> TrialAnswer:
    """Label with scikit-learn's self-training."""
    return TrialAnswer(baselines.self_training(*_known(sample)[:3], random_state=sample.seed))


def top_probabilities(sample: TrialSample) -> TrialAnswer:
    """Label as :func:`c2rf.baselines.top_probabilities` does, and keep the probabilities.

    Their log-odds are shifted so that they add up to the total.
    """
    X, y, X_unlabeled, n_positive = _known(sample)
    trees = ExtraTreesClassifier(baselines.N_TREES, random_state=sample.seed).fit(X, y)
    found = trees.predict_proba(X_unlabeled)
    labels = baselines.top_lambda(found[:, 1], n_positive, random_state=sample.seed)
    logs = log_scores(found, LEAST_PROBABILITY)
    shifted = softmax(logs + matching_offsets(logs, _rates(sample)), axis=1)
    return TrialAnswer(labels, probability=shifted[:, 1])


def known_totals(sample: TrialSample) -> TrialAnswer:
    """Label with the default classifier."""
    classifier = _classifier(sample)
    probability = classifier.transduction_proba_[:, 1]
    return TrialAnswer(classifier.transduction_, probability=probability)


def imputed(sample: TrialSample) -> TrialAnswer:
    """Label like known-totals; estimate shares and how many labels are right by imputations."""
    classifier = _classifier(sample)
    parts = quarters(sample.X_unlabeled)
    shares = {
        OURS: pooled_shares(classifier.impute(N_IMPUTATIONS) > 0, parts),
        RECIPE: pooled_shares(np.array(list(by_recipe(sample))), parts),
    }
    expected = classifier.expected_accuracy(N_IMPUTATIONS, level=LEVEL)
    right = {"overall": expected.overall}
    for name, label in (("negative", -1), ("positive", 1)):
        if label in expected.by_class:
            right[name] = expected.by_class[label]
    intervals = {"shares": shares, "right": right}
    return TrialAnswer(classifier.transduction_, intervals=intervals)


def _classifier(sample: TrialSample) -> KnownTotalsClassifier:
    X, y, X_unlabeled, n_positive = _known(sample)
    classifier = KnownTotalsClassifier(random_state=sample.seed)
    return classifier.fit(X, y, X_unlabeled=X_unlabeled, totals={1: n_positive})


def _rates(sample: TrialSample) -> Floats:
    rate = sample.n_positive / len(sample.X_unlabeled)
    return np.array([1 - rate, rate])


def by_recipe(sample: TrialSample) -> Iterator[NDArray[np.bool_]]:
    """Yield imputations by the recipe: which rows are positive."""
    codes = (sample.y_labeled > 0).astype(np.intp)
    factor = _factor(sample, codes)
    for k in range(N_IMPUTATIONS):
        rng = np.random.default_rng([sample.seed, k])
        rows = np.repeat(np.arange(len(codes)), stratified_counts(codes, rng))
        trees = ExtraTreesClassifier(_N_TREES, random_state=int(rng.integers(2**31)))
        trees.fit(sample.X_labeled[rows], codes[rows])
        logs = log_scores(trees.predict_proba(sample.X_unlabeled), LEAST_PROBABILITY)
        yield choose(factor * (logs[:, 1] - logs[:, 0]), sample.n_positive, rng)


def _factor(sample: TrialSample, codes: NDArray[np.intp]) -> float:
    """Return the factor of log-odds that held-out rows find likeliest."""
    n_folds = min(_N_FOLDS, int(np.bincount(codes).min()))
    if n_folds < 2:
        return 1.0
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=sample.seed)
    trees = ExtraTreesClassifier(_N_TREES, random_state=sample.seed)
    held_out = cross_val_predict(trees, sample.X_labeled, codes, cv=folds, method="predict_proba")
    scores = log_scores(held_out, LEAST_PROBABILITY)
    others = log_scores(trees.fit(sample.X_labeled, codes).predict_proba(sample.X_unlabeled))
    rows = HeldOut(scores, codes, np.ones(len(codes)), others)
    return calibrate([rows], _rates(sample), WIDE_PRIOR).inverse_temperature


@dataclass(frozen=True)
class BenchMethod:
    """A method and the name the paper (or we) print.

    Parameters
    ----------
    title : str
        The name.
    label : callable
        Labels a sample; one that solves takes a ``time_limit``, one with a backend a ``backend``.
    solves : str or None
        The optimisation problem it solves; methods that solve the same one must agree.
    backend : bool
        Whether it runs the solver of ``--backend``.
    learns : bool
        Whether it learns from the features, for which it takes labeled rows of both classes.
    """

    title: str
    label: Callable[..., TrialAnswer]
    solves: str | None = None
    backend: bool = False
    learns: bool = False


def _paper(title: str, method: str) -> BenchMethod:
    run = partial(weighted, method=method)
    return BenchMethod(title, run, solves="the paper's", backend=method != "auto")


_SHIFTED = partial(weighted, offset=OFFSET, prefer="majority")

BENCH_METHODS = {
    "rf": BenchMethod("RF", majority),
    "c2rf": _paper("C²RF", "c2rf"),
    "p-c2rf": _paper("p-C²RF", "p-c2rf"),
    "only-pp": _paper("only PP", "only-pp"),
    "only-br": _paper("only BR", "only-br"),
    "auto": _paper("auto", "auto"),
    "top-lambda": BenchMethod("top λ", most_votes),
    "c2rf-offset": BenchMethod("C²RF with offset", _SHIFTED, solves="with offset"),
    "prior-corrected": BenchMethod("extra trees, prior corrected", prior_corrected, learns=True),
    "self-training": BenchMethod("extra trees, self-training", self_training, learns=True),
    "extra-trees-top": BenchMethod("extra trees, top λ", top_probabilities, learns=True),
    "known-totals": BenchMethod("known totals", known_totals, learns=True),
    "imputations": BenchMethod("imputations", imputed, learns=True),
}
ON_PAPER_S_TREES = ("rf", "c2rf", "p-c2rf", "only-pp", "only-br", "auto", "top-lambda")
"""The methods of the paper's own tables, and those that race with them."""
