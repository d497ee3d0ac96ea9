"""The methods that are compared: one line each in :data:`BENCH_METHODS`.

A method sees a :class:`~c2rf.bench.protocol.TrialSample`, never the truth, and answers with labels.

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
from c2rf._utils.text import check_choice
from c2rf._utils.types import Floats, Signs
from c2rf.assignment import log_scores
from c2rf.bench.protocol import TrialSample
from c2rf.bench.scores import LEVEL, Interval, IntervalEstimates, pooled_shares, quarters
from c2rf.estimators.known_totals import KnownTotalsClassifier
from c2rf.imputation.poisson import choose
from c2rf.learners.bootstrap import stratified_counts
from c2rf.learners.calibration import inverse_temperature, matching_offsets

N_IMPUTATIONS = 20
OURS, RECIPE = "imputations", "plain recipe"
_N_FOLDS = 5
_N_TREES = 100  # scikit-learn's default
LEAST_PROBABILITY = 1e-3
"""A forest that is certain is not to be believed."""


def impute(sample: TrialSample) -> tuple[Signs, IntervalEstimates]:
    """Label a sample, and estimate shares and how many labels are right."""
    classifier = KnownTotalsClassifier(random_state=sample.seed)
    classifier.fit(
        sample.X_labeled, sample.y_labeled, X_unlabeled=sample.X_unlabeled,
        totals={1: sample.n_positive},
    )  # fmt: skip
    parts = quarters(sample.X_unlabeled)
    shares = {
        OURS: pooled_shares(classifier.impute(N_IMPUTATIONS) > 0, parts),
        RECIPE: pooled_shares(np.array(list(by_recipe(sample))), parts),
    }
    expected = classifier.expected_accuracy(N_IMPUTATIONS, level=LEVEL)
    right = {"overall": Interval.of_shares(expected.overall)}
    for name, label in (("negative", -1), ("positive", 1)):
        if label in expected.by_class:
            right[name] = Interval.of_shares(expected.by_class[label])
    return classifier.transduction_, IntervalEstimates(parts, shares, right)


def by_recipe(sample: TrialSample) -> Iterator[NDArray[np.bool_]]:
    """Yield imputations by the recipe: which rows are positive."""
    codes = (sample.y_labeled > 0).astype(np.intp)
    rate = sample.n_positive / len(sample.X_unlabeled)
    factor = _factor(sample.X_labeled, codes, np.array([1 - rate, rate]), sample.seed)
    for k in range(N_IMPUTATIONS):
        rng = np.random.default_rng([sample.seed, k])
        rows = np.repeat(np.arange(len(codes)), stratified_counts(codes, rng))
        trees = _trees(int(rng.integers(2**31)))
        logs = log_scores(
            trees.fit(sample.X_labeled[rows], codes[rows]).predict_proba(sample.X_unlabeled),
            LEAST_PROBABILITY,
        )
        yield choose(factor * (logs[:, 1] - logs[:, 0]), sample.n_positive, rng)


def _factor(X: Floats, codes: NDArray[np.intp], rates: Floats, seed: int) -> float:
    """Return the factor of log-odds that held-out rows find likeliest."""
    n_folds = min(_N_FOLDS, int(np.bincount(codes).min()))
    if n_folds < 2:
        return 1.0
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    held_out = cross_val_predict(_trees(seed), X, codes, cv=folds, method="predict_proba")
    return inverse_temperature(log_scores(held_out, LEAST_PROBABILITY), codes, rates)


def _trees(seed: int) -> ExtraTreesClassifier:
    return ExtraTreesClassifier(_N_TREES, random_state=seed)


Status = Literal["computed", "optimal", "feasible", "none", "failed"]

OFFSET = (-2000.0, 2000.0)
"""As far as the paper's 20 trees can go at a weight of 100: no cut-off is out of reach."""


@dataclass(frozen=True)
class Solver:
    """Which solver to use and for how many seconds (None: for ever)."""

    backend: str = "highs"
    time_limit: float | None = None


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
    intervals : IntervalEstimates or None
        Interval estimates, by a method that gives some.
    probability : ndarray of float, or None
        Of each unlabeled row to be positive, by a method that says so and meets the total.
    seconds : float
        How long it took.
    """

    labels: Signs | None
    status: Status
    bound: int | None = None
    stats: dict[str, Any] = field(default_factory=dict)
    message: str = ""
    intervals: IntervalEstimates | None = None
    probability: Floats | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class BenchMethod:
    """A method and the name the paper (or we) print.

    Parameters
    ----------
    title : str
        The name.
    label : callable
        Labels a sample with the help of a solver.
    solves : str or None
        The optimisation problem it solves; methods that solve the same one must agree.
    backend : bool
        Whether it runs the solver of ``--backend``.
    """

    title: str
    label: Callable[[TrialSample, Solver], TrialAnswer]
    solves: str | None = None
    backend: bool = False


def majority(sample: TrialSample, _: Solver) -> TrialAnswer:
    """Label by the majority vote."""
    return TrialAnswer(baselines.majority_vote(sample.votes), "computed")


def most_votes(sample: TrialSample, _: Solver) -> TrialAnswer:
    """Make the lambda rows with most votes positive; among equals the seed decides."""
    votes = sample.votes.sum(axis=1, dtype=np.int64)
    labels = baselines.top_lambda(votes, sample.n_positive, random_state=sample.seed)
    return TrialAnswer(labels, "computed")


def weighted(sample: TrialSample, solver: Solver, **options: Any) -> TrialAnswer:
    """Weigh the trees with :func:`c2rf.solve`."""
    try:
        solution = c2rf.solve(
            sample.votes,
            sample.n_positive,
            backend=solver.backend,
            time_limit=solver.time_limit,
            random_state=sample.seed,
            **options,
        )
    except c2rf.NoSolutionError as error:
        return TrialAnswer(None, "none", message=str(error))
    except c2rf.BackendError as error:
        return TrialAnswer(None, "failed", message=str(error))
    status: Status = solution.status
    if "solver_status" in solution.stats:  # solvers are compared by what they say of themselves
        status = "optimal" if solution.stats["solver_status"] == "optimal" else "feasible"
    return TrialAnswer(solution.labels, status, solution.bound, solution.stats)


def learned(
    sample: TrialSample, solver: Solver, *, learn: Callable[[TrialSample], TrialAnswer]
) -> TrialAnswer:
    """Learn from the features; where only one class is labeled there is nothing to learn."""
    if len(np.unique(sample.y_labeled)) == 1:
        return most_votes(sample, solver)
    return learn(sample)


def imputed(sample: TrialSample, solver: Solver) -> TrialAnswer:
    """Label like known-totals, and estimate shares by imputations."""
    if len(np.unique(sample.y_labeled)) == 1:
        return most_votes(sample, solver)
    labels, intervals = impute(sample)
    return _computed(labels, intervals=intervals)


def _top_probabilities(sample: TrialSample) -> TrialAnswer:
    """Label as :func:`c2rf.baselines.top_probabilities` does, and keep the probabilities."""
    X, y, X_unlabeled, n_positive = _known(sample)
    trees = ExtraTreesClassifier(baselines.N_TREES, random_state=sample.seed).fit(X, y)
    found = trees.predict_proba(X_unlabeled)
    labels = baselines.top_lambda(found[:, 1], n_positive, random_state=sample.seed)
    return TrialAnswer(labels, "computed", probability=_shifted_to_total(found, n_positive))


def _shifted_to_total(probabilities: Floats, n_positive: int) -> Floats:
    """Return the probabilities to be positive, with log-odds shifted so that they add up."""
    logs = log_scores(probabilities, LEAST_PROBABILITY)
    rate = n_positive / len(logs)
    shifted: Floats = softmax(logs + matching_offsets(logs, np.array([1 - rate, rate])), axis=1)
    return shifted[:, 1]


def _prior_corrected(sample: TrialSample) -> TrialAnswer:
    return _computed(baselines.prior_corrected(*_known(sample), random_state=sample.seed))


def _self_training(sample: TrialSample) -> TrialAnswer:
    return _computed(baselines.self_training(*_known(sample)[:3], random_state=sample.seed))


def _known_totals(sample: TrialSample) -> TrialAnswer:
    X, y, X_unlabeled, n_positive = _known(sample)
    classifier = KnownTotalsClassifier(random_state=sample.seed)
    classifier.fit(X, y, X_unlabeled=X_unlabeled, totals={1: n_positive})
    probability = classifier.transduction_proba_[:, 1]
    return _computed(classifier.transduction_, probability=probability)


def _computed(labels: Signs, **more: Any) -> TrialAnswer:
    return TrialAnswer(labels.astype(np.int8), "computed", **more)


def _known(sample: TrialSample) -> tuple[Floats, Signs, Floats, int]:
    return sample.X_labeled, sample.y_labeled, sample.X_unlabeled, sample.n_positive


def _paper(title: str, method: str) -> BenchMethod:
    run = partial(weighted, method=method)
    return BenchMethod(title, run, solves="the paper's", backend=method != "auto")


def _learner(title: str, learn: Callable[[TrialSample], TrialAnswer]) -> BenchMethod:
    return BenchMethod(title, partial(learned, learn=learn))


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
    "prior-corrected": _learner("extra trees, prior corrected", _prior_corrected),
    "self-training": _learner("extra trees, self-training", _self_training),
    "extra-trees-top": _learner("extra trees, top λ", _top_probabilities),
    "known-totals": _learner("known totals", _known_totals),
    "imputations": BenchMethod("imputations", imputed),
}
ON_PAPER_S_TREES = ("rf", "c2rf", "p-c2rf", "only-pp", "only-br", "auto", "top-lambda")
"""The methods of the paper's own tables, and those that race with them."""


def check_method(name: str) -> BenchMethod:
    """Return the method of that name, or say which there are.

    Examples
    --------
    >>> check_method("rf").title
    'RF'
    >>> check_method("svm")
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputError: methods must be rf, c2rf, p-c2rf, only-pp, only-br, auto, \
top-lambda, c2rf-offset, prior-corrected, self-training, extra-trees-top, known-totals or \
imputations; found 'svm'
    """
    check_choice("methods", name, BENCH_METHODS)
    return BENCH_METHODS[name]
