"""A scorer for held-out labeled rows that counts them as the known totals do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer

from c2rf._utils.types import Floats
from c2rf.exceptions import InputError
from c2rf.learners.calibration import poststratified
from c2rf.totals.bounds import Bounds
from c2rf.totals.groups import Groups
from c2rf.totals.make_bounds import make_bounds
from c2rf.totals.stated import read_totals

_OF = 1_000_000  # rates of totals are found as counts of so many rows


def totals_scorer(
    metric: str = "accuracy", *, totals: Mapping[Any, Any] | None = None
) -> Callable[..., float]:
    """Return a scorer that weights held-out rows such that classes have their known totals.

    A biased sample has too many rows of some classes, and so have its held-out rows: a score of
    them favours what is wrong of the population. Weighted, each class counts by its total.

    Parameters
    ----------
    metric : str, default="accuracy"
        A scorer of scikit-learn by its name, which must take weights.
    totals : mapping of class to total, optional
        Rates of the classes, or counts, of which only the shares matter. Without, those of the
        labels of the fitted :class:`KnownTotalsClassifier`, which may be the last step of a
        pipeline.

    Returns
    -------
    callable
        Takes a fitted estimator, rows and their classes: what ``scoring`` of scikit-learn is.

    Examples
    --------
    >>> import c2rf
    >>> from sklearn.dummy import DummyClassifier
    >>> score = c2rf.totals_scorer(totals={"no": 0.9, "yes": 0.1})
    >>> always = DummyClassifier(strategy="constant", constant="no")
    >>> X, y = [[0]] * 4, ["no", "yes", "yes", "yes"]
    >>> round(score(always.fit(X, y), X, y), 3)
    0.9
    """
    return partial(_score, get_scorer(metric), totals)


def _score(scorer: Any, totals: Mapping[Any, Any] | None, estimator: Any, X: Any, y: Any) -> float:
    """Score rows; those of each class count together as the class does in the totals."""
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    known = _rates_of(estimator) if totals is None else _rates(totals, estimator.classes_)
    rates = np.array([known[label] for label in classes.tolist()])
    weights = poststratified(codes, rates / rates.sum())
    return float(scorer(estimator, X, y, sample_weight=weights * len(codes)))


def _rates(totals: Mapping[Any, Any], classes: Any) -> dict[Any, float]:
    """Return the rates that are given; counts count by their share, and one class has the rest."""
    given = read_totals(totals).overall
    are_counts = all(isinstance(n, Integral) for n in given.values())
    n_rows = sum(given.values()) if are_counts else _OF
    known: Floats | None = None
    if given:
        bounds: Bounds = make_bounds(read_totals(totals), Groups.none(int(n_rows)), classes)
        known = bounds.rates()
    if known is None:
        raise InputError("totals must be a rate or a count of each class; one may be left out")
    return dict(zip(np.asarray(classes).tolist(), known.tolist(), strict=True))


def _rates_of(estimator: Any) -> dict[Any, float]:
    """Return the shares of the labels that met the totals."""
    classifier = estimator[-1] if hasattr(estimator, "steps") else estimator
    rows = getattr(classifier, "_rows", None)
    if rows is None:
        raise InputError(
            "totals_scorer needs totals: give them as totals=, or fit a KnownTotalsClassifier with "
            f"totals; found a {type(classifier).__name__} without"
        )
    counts = np.bincount(rows.codes_here, rows.problem.weights, len(rows.table))
    return dict(zip(rows.table.tolist(), (counts / counts.sum()).tolist(), strict=True))
