"""Rounds of refitting on the labels that were found, taken only where they help.

A model refitted on its own labels must not judge the points it was fitted to, or it would merely
confirm itself: their scores come from trees that have not seen them (out of bag), or from models
fitted without them (cross-fitting).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from c2rf.estimators.blocks import probabilities
from c2rf.estimators.teach import learn_by_teaching
from c2rf.problem import Floats

MOST_REFIT_POINTS = 50_000
"""Of more unlabeled points than this, a refit uses a stratified sample of as many."""

MOST_AUTO_ROUNDS = 2
FOLDS = 3

Codes = NDArray[np.intp]
Labeler = Callable[[Floats], Codes]


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model and the scores it gives the unlabeled points.

    Parameters
    ----------
    model : fitted classifier
        For new points.
    scores : ndarray of shape (n_unlabeled, n_classes)
        Probabilities of the unlabeled points that do not rest on their own found labels.
    """

    model: Any
    scores: Floats


@dataclass(frozen=True, eq=False)
class Task:
    """All that is given: labeled and unlabeled points, and how to label by scores.

    Parameters
    ----------
    template : classifier
        Unfitted, with all its seeds set.
    X, y : array or frame, and ndarray
        Labeled points and their classes.
    X_unlabeled : array or frame
        The others.
    label : callable
        Takes probabilities of all unlabeled points, returns the numbers of their classes (in
        sorted order) such that all totals are met.
    seed : int
        For samples and folds.
    rates : ndarray of shape (n_classes,), or None
        Rates of the classes among the unlabeled points, where they are known.
    """

    template: Any
    X: Any
    y: NDArray[Any]
    X_unlabeled: Any
    label: Labeler
    seed: int
    rates: Floats | None = None


def first_fit(task: Task) -> Fit:
    """Fit to the labeled points, with a look at the others if the model wants one."""
    model = clone(task.template)
    if has_fit_parameter(model, "X_unlabeled"):
        model.fit(task.X, task.y, X_unlabeled=task.X_unlabeled, rates=task.rates)
    else:
        model.fit(task.X, task.y)
    return Fit(model, probabilities(model, task.X_unlabeled))


def refine(
    task: Task, first: Fit, rounds: int | Literal["auto"]
) -> tuple[Fit, list[dict[str, Any]]]:
    """Refit on the found labels as long as it helps.

    Parameters
    ----------
    task : Task
        What is given.
    first : Fit
        The fit to the labeled points.
    rounds : int or "auto"
        So many rounds, or those that rank held-out labeled points no worse than before.

    Returns
    -------
    fit : Fit
        The last one taken.
    history : list of dict
        A dict per round: ``round``, ``criterion`` (None where none was needed), ``taken``, ``why``.
    """
    if hasattr(first.model, "student"):
        labeled, crowd = (task.X, task.y), task.X_unlabeled
        model, scores, history = learn_by_teaching(
            first.model, first.scores, *labeled, crowd, task.label, rounds, task.seed
        )
        return Fit(model, scores), history
    fit, history = first, []
    if rounds == "auto":
        criteria = _held_out_quality(task, MOST_AUTO_ROUNDS)
    else:
        criteria = [None] * (rounds + 1)
    history.append(_entry(0, criteria[0], True, "fitted to the labeled points"))
    for k in range(1, len(criteria)):
        helps = rounds != "auto" or _is_better(criteria[k], criteria[k - 1])
        why = "asked for" if rounds != "auto" else "ranks held-out labeled points "
        if rounds == "auto":
            why += "at least as well" if helps else "worse"
        history.append(_entry(k, criteria[k], helps, why))
        if not helps:
            break
        fit = refit(task, fit.scores)
    return fit, history


def refit(task: Task, scores: Floats) -> Fit:
    """Fit to the labeled points and to the unlabeled ones as labeled by their scores."""
    classes = np.unique(task.y)
    found = task.label(scores)
    used = _stratified(found, MOST_REFIT_POINTS, task.seed)
    X = _stacked(task.X, _safe_indexing(task.X_unlabeled, used))
    y = np.concatenate([task.y, classes[found[used]]])
    if _has_bags(task.template):
        model, honest = _out_of_bag(task.template, X, y)
    else:
        model, honest = _cross_fitted(task.template, X, y, len(task.y), task.seed)
    new = np.empty_like(scores)
    others = np.ones(len(scores), dtype=bool)
    others[used] = False
    if others.any():
        rest = np.flatnonzero(others)
        new[rest] = model.predict_proba(_safe_indexing(task.X_unlabeled, rest))
    new[used] = honest[len(task.y) :]
    return Fit(model, new)


def _out_of_bag(template: Any, X: Any, y: NDArray[Any]) -> tuple[Any, Floats]:
    """Return a forest of bags and what its trees say of the points they have not seen."""
    model = clone(template).set_params(bootstrap=True, oob_score=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
        warnings.filterwarnings("ignore", "invalid value encountered")
        model.fit(X, y)
    honest = np.asarray(model.oob_decision_function_)
    # Few trees: some points are in every bag.
    unseen = np.flatnonzero(~(np.isfinite(honest).all(axis=1) & (honest.sum(axis=1) > 0)))
    if len(unseen):
        honest[unseen] = model.predict_proba(_safe_indexing(X, unseen))
    return model, honest


def _cross_fitted(
    template: Any, X: Any, y: NDArray[Any], n_labeled: int, seed: int
) -> tuple[Any, Floats]:
    """Return a model of all points, and what models of the others say of each unlabeled one."""
    model = clone(template).fit(X, y)
    honest = np.zeros((len(y), len(model.classes_)))
    n_found = len(y) - n_labeled
    parts = np.array_split(np.random.default_rng(seed).permutation(n_found), min(FOLDS, n_found))
    for part in parts:
        held = n_labeled + part
        kept = np.delete(np.arange(len(y)), held)
        # Every class is among the labeled points, which are always kept.
        part_model = clone(template).fit(_safe_indexing(X, kept), y[kept])
        honest[held] = part_model.predict_proba(_safe_indexing(X, held))
    return model, honest


def _held_out_quality(task: Task, rounds: int) -> list[float | None]:
    """Return how well labeled points that were held out are ranked, after each round.

    The rounds are run from the beginning without the held-out points, so that their labels have
    had no part in the labels found.
    """
    classes, counts = np.unique(task.y, return_counts=True)
    if counts.min() < FOLDS or not _is_refittable(task.template):
        return [None]
    ranked = np.zeros((rounds + 1, len(task.y), len(classes)))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=task.seed)
    for kept, held in folds.split(np.zeros(len(task.y)), task.y):
        part = Task(
            task.template,
            _safe_indexing(task.X, kept),
            task.y[kept],
            task.X_unlabeled,
            task.label,
            task.seed,
        )
        fit = first_fit(part)
        points = _safe_indexing(task.X, held)
        ranked[0, held] = fit.model.predict_proba(points)
        for k in range(1, rounds + 1):
            fit = refit(part, fit.scores)
            ranked[k, held] = fit.model.predict_proba(points)
    codes = np.searchsorted(classes, task.y)
    return [_ranking(codes, probabilities) for probabilities in ranked]


def _ranking(codes: Codes, probabilities: Floats) -> float:
    """Return the mean over classes of the area under the ROC curve, free of any prior."""
    return float(np.mean([roc_auc_score(codes == k, p) for k, p in enumerate(probabilities.T)]))


def _is_better(new: float | None, old: float | None) -> bool:
    return new is not None and old is not None and new >= old


def _entry(k: int, criterion: float | None, taken: bool, why: str) -> dict[str, Any]:
    return {"round": k, "criterion": criterion, "taken": taken, "why": why}


def _has_bags(template: Any) -> bool:
    return {"bootstrap", "oob_score"} <= set(template.get_params(deep=False))


def _is_refittable(template: Any) -> bool:
    """Say whether fitting changes the model: a frozen one stays as it is."""
    return type(template).__name__ != "FrozenEstimator"


def _stratified(codes: Codes, most: int, seed: int) -> NDArray[np.intp]:
    """Return at most so many rows, of each class the same share, at least one of each."""
    if len(codes) <= most:
        return np.arange(len(codes))
    order = np.random.default_rng(seed).permutation(len(codes))
    by_class = order[np.argsort(codes[order], kind="stable")]
    sizes = np.bincount(codes)
    taken = np.ceil(sizes * (most / len(codes))).astype(np.int64)
    rank = np.arange(len(codes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.sort(by_class[rank < np.repeat(taken, sizes)])


def _stacked(X: Any, more: Any) -> Any:
    """Return the rows of both, as an array or as a frame of the first one's kind."""
    if isinstance(X, np.ndarray):
        return np.vstack([X, np.asarray(more)])
    if isinstance(X, pd.DataFrame):
        return pd.concat([X, more], ignore_index=True)
    return X.vstack(more)
