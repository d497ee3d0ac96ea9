"""The members of a blend: unlike classifiers behind one face, and what they say when held out."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from c2rf.estimators.held_out import Codes, quantiles
from c2rf.estimators.least_squares import CalibratedLeastSquares, KernelSpace, LinearSpace, Moments
from c2rf.exceptions import InputError
from c2rf.problem import Floats

FAMILIES = ("trees", "full-trees", "logistic", "svc", "linear", "kernel")
"""Extra trees on some or all columns per split, logistic regression, support vectors, and least
squares that know the population, on the columns or in a Gaussian kernel's space."""

_LANDMARKS = 300, 400  # of the labeled points, of the population


@dataclass(frozen=True, eq=False)
class Views:
    """Points as they are, for trees, and encoded, for the others."""

    raw: Floats
    encoded: Floats

    def rows(self, index: Any) -> Views:
        """Return some of the points."""
        return Views(self.raw[index], self.encoded[index])


@dataclass(frozen=True, eq=False)
class Member:
    """A classifier of the blend, fitted or not."""

    family: str
    model: Any

    def fitted(self, points: Views, codes: Codes, *, light: bool = False) -> Member:
        """Return a fitted copy; a light one has fewer trees."""
        model = copy.copy(self.model)
        if light and "trees" in self.family:
            model.set_params(n_estimators=max(1, model.n_estimators // 4))
        return Member(self.family, model.fit(self._view(points), codes))

    def scores(self, points: Views) -> Floats:
        """Return a score per class, higher for the more likely."""
        view = self._view(points)
        if hasattr(self.model, "predict_proba"):
            return self.model.predict_proba(view)
        scores = self.model.decision_function(view)
        return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores

    def _view(self, points: Views) -> Floats:
        return points.raw if "trees" in self.family else points.encoded


def checked_families(families: Sequence[str] | None) -> tuple[str, ...]:
    """Return the families asked for, None meaning all, or say which there are."""
    if families is None:
        return FAMILIES
    chosen = tuple(families)
    if not chosen or not set(chosen) <= set(FAMILIES) or len(set(chosen)) < len(chosen):
        raise InputError(
            f"families must be some of {', '.join(FAMILIES)}, each at most once, or None for all; "
            f"found {families!r}"
        )
    return chosen


def make_members(
    families: Sequence[str],
    X: Floats,
    crowd: Floats,
    rates: Floats,
    n_estimators: int,
    rng: np.random.RandomState,
) -> list[Member]:
    """Return the unfitted members of some families."""
    seeds = rng.randint(np.iinfo(np.int32).max, size=2)
    order = rng.permutation(len(X))
    made: dict[str, list[Any]] = {
        "trees": [ExtraTreesClassifier(n_estimators, random_state=seeds[0])],
        "full-trees": [
            ExtraTreesClassifier(n_estimators, max_features=None, random_state=seeds[1])
        ],
        "logistic": [LogisticRegression(C=c, max_iter=1000) for c in (0.1, 1.0)],
        "svc": [SVC(C=c) for c in (1.0, 3.0)],
    }
    if "linear" in families:
        moments = Moments(LinearSpace(), crowd)
        made["linear"] = [
            CalibratedLeastSquares(moments, rates, ridge) for ridge in (0.01, 0.1, 1.0)
        ]
    if "kernel" in families:
        n_own, n_others = _LANDMARKS
        landmarks = np.vstack([X[order[:n_own]], crowd[:n_others]])
        moments = Moments(KernelSpace(landmarks, float(crowd.var(axis=0).sum())), crowd)
        made["kernel"] = [
            CalibratedLeastSquares(moments, rates, ridge) for ridge in (0.001, 0.01, 0.1)
        ]
    return [Member(family, model) for family in families for model in made[family]]


def held_out_places(
    member: Member,
    points: Views,
    codes: Codes,
    parts: Sequence[tuple[Codes, Codes]],
    sample: Views | None,
) -> tuple[Floats, list[Floats]]:
    """Return the places among the population of held-out points, and of its sample by each model.

    NaN where a point was never held out.
    """
    n_classes = int(codes.max()) + 1
    placed = np.full((len(codes), n_classes), np.nan)
    crowd = []
    for kept, held in parts:
        model = member.fitted(points.rows(kept), codes[kept], light=True)
        placed[held] = model.scores(points.rows(held))
        if sample is not None:
            scores = model.scores(sample)
            reference = np.sort(scores, axis=0)
            placed[held] = quantiles(placed[held], reference)
            crowd.append(quantiles(scores, reference))
    if sample is None:  # the held-out points themselves are all there is of the population
        seen = ~np.isnan(placed[:, 0])
        placed[seen] = quantiles(placed[seen], np.sort(placed[seen], axis=0))
    return placed, crowd
