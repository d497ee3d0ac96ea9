"""The members of any ensemble, and their votes of ±1 on any data.

Ensembles of scikit-learn differ in what their members know: those of forests, bagging and voting
predict class codes, those of boosting and plain classifiers the classes themselves; bagging may
show each member some columns only. An :class:`Ensemble` knows these differences, so that nothing
after it has to.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import effective_n_jobs, parallel_config
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import _safe_indexing, gen_even_slices
from sklearn.utils.parallel import Parallel, delayed

from c2rf._sklearn_models import CODED, ENSEMBLES, TREES, unfrozen
from c2rf._text import listed
from c2rf.core.votes import pack_columns, unpack
from c2rf.ensembles.members import (
    DEFAULT_MAX_SAMPLES,
    DEFAULT_N_ESTIMATORS,
    check_classifier,
    check_defaults,
    check_frozen,
    check_list,
)
from c2rf.ensembles.tree_formulas import Formula, answer, as_formula, as_single, is_shallow
from c2rf.exceptions import InputError

_CHUNK_CELLS = 1 << 22


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Fitted members and how to read their predictions.

    Parameters
    ----------
    members : list of fitted classifiers
        The voters.
    labels : ndarray of shape (2,)
        The predictions that stand for the votes -1 and +1.
    columns : list of ndarray, or None
        The columns each member sees; None where all see all.

    Examples
    --------
    >>> X, y = np.zeros((2, 1)), np.array(["no", "yes"])
    >>> always = [DummyClassifier(strategy="constant", constant=c).fit(X, y) for c in y]
    >>> Ensemble(always, labels=y).votes(X)
    array([[-1,  1],
           [-1,  1]], dtype=int8)
    """

    members: list[Any]
    labels: NDArray[Any]
    columns: list[NDArray[np.intp]] | None = None

    def votes(self, X: Any, n_jobs: int | None = None) -> NDArray[np.int8]:
        """Return the votes of all members on each row.

        Parameters
        ----------
        X : ndarray or data frame of shape (n_rows, n_features)
            Checked data, looked at a chunk of rows at a time.
        n_jobs : int or None
            Number of threads. The votes do not depend on it.

        Returns
        -------
        ndarray of int8, shape (n_points, n_members)
        """
        return unpack(self.words(X, n_jobs), len(self.members))

    def words(self, X: Any, n_jobs: int | None = None) -> NDArray[np.uint64]:
        """Return the votes packed into words, as :func:`c2rf.core.votes.pack` has them.

        Parameters
        ----------
        X, n_jobs
            As for :meth:`votes`.

        Returns
        -------
        ndarray of uint64, shape (n_points, n_words)
        """
        n_members = len(self.members)
        words = np.empty((X.shape[0], -(-n_members // 64)), dtype=np.uint64)
        formulas = self._formulas() if isinstance(X, np.ndarray) else {}
        with Parallel(n_jobs=n_jobs, prefer="threads") as parallel:
            for rows in _row_chunks(X.shape[0], max(X.shape[1], n_members)):
                said = self._predictions(_safe_indexing(X, rows), formulas, parallel)
                words[rows] = pack_columns(said)
        return words

    def _predictions(
        self, X: Any, formulas: dict[int, Formula], parallel: Parallel
    ) -> list[NDArray[np.bool_]]:
        """Return what each member says, true for +1."""
        others = [k for k in range(len(self.members)) if k not in formulas]
        if others and all(type(member) in TREES for member in self.members):
            single = as_single(X) if isinstance(X, np.ndarray) else X
            asked = parallel(delayed(self._ask)(k, single) for k in others)
        else:
            asked = parallel(delayed(self._ask)(k, X) for k in others)
        said = dict(zip(others, asked, strict=True))
        if formulas:
            n_parts = effective_n_jobs(parallel.n_jobs)
            parts = parallel(
                delayed(answer)(list(formulas.values()), X[rows])
                for rows in gen_even_slices(X.shape[0], min(n_parts, X.shape[0]))
            )
            said |= dict(zip(formulas, np.concatenate(parts, axis=1), strict=True))
        return [said[k] for k in range(len(self.members))]

    def _formulas(self) -> dict[int, Formula]:
        """Return the members that are shallow trees, as formulas."""
        formulas = {}
        for k, member in enumerate(self.members):
            if type(member) in TREES and is_shallow(member.tree_):
                columns = None if self.columns is None else self.columns[k]
                formula = as_formula(member.tree_, self._node_votes(k), columns)
                if formula is not None:
                    formulas[k] = formula
        return formulas

    def _ask(self, k: int, X: Any) -> NDArray[np.bool_]:
        """Return what a member says, by its own means."""
        member = self.members[k]
        if self.columns is not None:
            X = X[:, self.columns[k]]
        if type(member) in TREES and isinstance(X, np.ndarray):
            return self._node_votes(k)[member.tree_.apply(as_single(X))]
        return self._are_positive(np.asarray(member.predict(X)), k)

    def _node_votes(self, k: int) -> NDArray[np.bool_]:
        """Return the vote of each node of a tree: as its predict, but per node, not per row."""
        member = self.members[k]
        said = member.classes_.take(member.tree_.value[:, 0, :].argmax(axis=1))
        return self._are_positive(said, k)

    def _are_positive(self, said: NDArray[Any], k: int) -> NDArray[np.bool_]:
        """Say which predictions are votes of +1, and refuse any that is neither class."""
        positive = said == self.labels[1]
        strange = ~positive & (said != self.labels[0])
        if strange.any():
            raise InputError(
                f"member {k} ({type(self.members[k]).__name__}) predicts "
                f"{said[strange].tolist()[0]!r}; a vote must be one of {listed(self.labels)}"
            )
        return positive


def make_ensemble(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    *,
    positive: int = 1,
    n_estimators: int = DEFAULT_N_ESTIMATORS,
    max_samples: float = DEFAULT_MAX_SAMPLES,
    feature_names: NDArray[np.object_] | None = None,
    n_jobs: int | None = None,
    random_state: np.random.RandomState,
) -> Ensemble:
    """Fit the members to labeled data, or take those that are fitted already.

    Parameters
    ----------
    estimator : None, classifier, ensemble, FrozenEstimator, or list of fitted classifiers
        See :class:`c2rf.C2RFClassifier`.
    X : ndarray or data frame of shape (n_rows, n_features)
        Checked data.
    y : ndarray of shape (n_rows,)
        Labels of exactly two classes.
    positive : {0, 1}
        Which of the two, in sorted order, a vote of +1 stands for.
    n_estimators : int
        Number of copies of a plain classifier.
    max_samples : float or int
        The part (float) or number (int) of rows each copy is fitted to.
    feature_names : ndarray of str, or None
        Names of the columns of X; members fitted to other names are refused.
    n_jobs : int or None
        Number of threads. The result does not depend on it.
    random_state : RandomState
        Source of all seeds.

    Returns
    -------
    Ensemble

    Examples
    --------
    >>> X, y = np.arange(10.0)[:, None], np.repeat(["no", "yes"], 5)
    >>> ensemble = make_ensemble(None, X, y, n_estimators=3, max_samples=0.8,
    ...                          random_state=np.random.RandomState(0))
    >>> ensemble.votes(X[[0, 9]])
    array([[-1, -1, -1],
           [ 1,  1,  1]], dtype=int8)
    """
    classes = np.unique(y)
    # A vote of -1 stands for the first of the two, +1 for the other.
    order = [1 - positive, positive]
    given = unfrozen(estimator)
    is_list, is_ensemble = isinstance(given, (list, tuple)), isinstance(given, ENSEMBLES)
    if is_list or is_ensemble:
        check_defaults(given, n_estimators, max_samples)
    if is_list:
        members = [unfrozen(member) for member in given]
        check_list(members, classes, X.shape[1], feature_names)
        return Ensemble(members, classes[order])
    if given is not estimator:
        check_frozen(given, classes, X.shape[1], feature_names)
        return _taken_apart(given, order)
    if estimator is None:
        estimator = DecisionTreeClassifier(max_depth=2)
    check_classifier(estimator)
    if is_ensemble:
        unfitted = seeded(clone(estimator), random_state)
        # Where the ensemble does not say how many jobs it wants, it gets ours.
        with nullcontext() if n_jobs is None else parallel_config("threading", n_jobs=n_jobs):
            fitted = unfitted.fit(X, y)
        return _taken_apart(fitted, order)
    n_drawn = _n_drawn(max_samples, len(y))
    seeds = random_state.randint(np.iinfo(np.int32).max, size=n_estimators)
    copies = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(_fit_copy)(estimator, X, y, n_drawn, seed) for seed in seeds
    )
    return Ensemble(copies, classes[order])


def _taken_apart(fitted: Any, order: list[int]) -> Ensemble:
    """Read the members off a fitted ensemble."""
    labels = np.arange(2) if isinstance(fitted, CODED) else fitted.classes_
    columns = getattr(fitted, "estimators_features_", None)
    return Ensemble(list(fitted.estimators_), labels[order], columns)


def _fit_copy(template: Any, X: Any, y: NDArray[Any], n_drawn: int, seed: int) -> Any:
    """Fit a copy to rows drawn without replacement."""
    rng = np.random.RandomState(seed)
    drawn = rng.choice(len(y), n_drawn, replace=False)
    if len(np.unique(y[drawn])) == 1 and not isinstance(template, TREES):
        # Most classifiers refuse a single class; a tree becomes a single leaf.
        template = DummyClassifier(strategy="most_frequent")
    return seeded(clone(template), rng).fit(_safe_indexing(X, drawn), y[drawn])


def seeded(model: Any, rng: np.random.RandomState) -> Any:
    """Set every seed the user has left open, also those of inner models."""
    for name, value in sorted(model.get_params(deep=True).items(), key=lambda item: item[0]):
        if value is None and name.split("__")[-1] == "random_state":
            model.set_params(**{name: int(rng.randint(np.iinfo(np.int32).max))})
    return model


def _n_drawn(max_samples: float, n_points: int) -> int:
    if isinstance(max_samples, numbers.Integral):
        if max_samples > n_points:
            raise InputError(
                f"max_samples={max_samples} rows are to be drawn without replacement, but y has "
                f"{n_points}; give at most as many, or a float in (0, 1]"
            )
        return int(max_samples)
    return max(1, round(max_samples * n_points))


def _row_chunks(n_rows: int, n_columns: int) -> Iterator[slice]:
    size = max(1, _CHUNK_CELLS // max(1, n_columns))
    return (slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size))
