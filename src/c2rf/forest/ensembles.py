"""The voting members of any ensemble, and their votes of ±1 on any data.

Ensembles of scikit-learn differ in what their members know: those of forests, bagging and voting
predict class codes, those of boosting and plain classifiers the classes themselves; bagging may
show each member some columns only. An :class:`Ensemble` knows these differences, so that nothing
after it has to. :func:`make_ensemble` fits one or takes a fitted one, and refuses what cannot vote.

Trees are asked in compiled code. The votes are those of scikit-learn to the last bit: rounding a
threshold down to single precision changes no comparison with values of single precision. Rows with
missing values are asked of scikit-learn, whose nodes name the side that these go to.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import effective_n_jobs, parallel_config
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import _safe_indexing, gen_batches, gen_even_slices
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from c2rf._utils.compiled import can_compile, flat_tree, leaves_of
from c2rf._utils.text import listed
from c2rf._utils.types import MOST_SEEDS
from c2rf._utils.validation import CODED, ENSEMBLES, TREES, check_one_output, unfrozen
from c2rf.exceptions import InputError, InputTypeError
from c2rf.forest.votes import pack, unpack

Names = NDArray[np.object_] | None

DEFAULT_N_ESTIMATORS = 20
DEFAULT_MAX_SAMPLES = 0.2
_CHUNK_CELLS = 1 << 22
_MANY_OUTPUTS = (
    "predicts several outputs for each row, and a vote is one class; give classifiers that were "
    "fitted to one column of labels"
)


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Fitted members and how to read their predictions.

    Parameters
    ----------
    members : list of fitted classifiers
        The members that vote.
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
        """Return the votes packed into words, as :func:`c2rf.forest.votes.pack` has them.

        Parameters
        ----------
        X, n_jobs
            As for :meth:`votes`.

        Returns
        -------
        ndarray of uint64, shape (n_points, n_words)
        """
        n_rows, n_members = X.shape[0], len(self.members)
        words = np.zeros((n_rows, -(-n_members // 64)), dtype=np.uint64)
        are_trees = all(type(member) in TREES for member in self.members)
        are_trees = are_trees and isinstance(X, np.ndarray)
        flat = self._flat() if are_trees and can_compile() else None
        with Parallel(n_jobs=n_jobs, prefer="threads") as parallel:
            for rows in gen_batches(n_rows, max(1, _CHUNK_CELLS // max(X.shape[1], n_members))):
                data = _safe_indexing(X, rows)
                data = as_single(data) if are_trees else data
                # Where a missing value goes, only a node of scikit-learn knows.
                if flat is not None and not np.isnan(data).any():
                    chunk, n_parts = words[rows], min(effective_n_jobs(n_jobs), len(data))
                    parts = gen_even_slices(len(data), n_parts)
                    parallel(delayed(_down)(data[part], *flat, chunk[part]) for part in parts)
                else:
                    votes = parallel(delayed(self._predict)(k, data) for k in range(n_members))
                    words[rows] = pack(np.column_stack(votes))
        return words

    def _flat(self) -> tuple[Any, Any, Any]:
        """Return all trees in flat arrays: nodes, their votes, and the size and depth of trees."""
        all_nodes, all_votes, shape = [], [], []
        for k, member in enumerate(self.members):
            nodes, number = flat_tree(member.tree_)
            if self.columns is not None:
                nodes["column"] = self.columns[k][nodes["column"]]
            votes = np.empty(len(nodes), dtype=bool)
            votes[number] = self._node_votes(k)
            all_nodes.append(nodes)
            all_votes.append(votes)
            shape.append((len(nodes), member.tree_.max_depth))
        return np.concatenate(all_nodes), np.concatenate(all_votes), np.array(shape)

    def _predict(self, k: int, X: Any) -> NDArray[np.bool_]:
        """Return the votes of a member by its own predict."""
        member = self.members[k]
        if self.columns is not None:
            X = X[:, self.columns[k]]
        if type(member) in TREES and isinstance(X, np.ndarray):
            return self._node_votes(k)[member.tree_.apply(as_single(X))]
        return self._are_positive(np.asarray(member.predict(X)), k)

    def _node_votes(self, k: int) -> NDArray[np.bool_]:
        """Return the vote of each node of a tree: as its predict, but per node, not per row."""
        member = self.members[k]
        predicted = member.classes_.take(member.tree_.value[:, 0, :].argmax(axis=1))
        return self._are_positive(predicted, k)

    def _are_positive(self, predicted: NDArray[Any], k: int) -> NDArray[np.bool_]:
        """Return which predictions are votes of +1, and refuse any that is neither class."""
        if predicted.size != len(predicted):
            name = type(self.members[k]).__name__
            raise InputError(f"member {k} ({name}) {_MANY_OUTPUTS}")
        positive = predicted == self.labels[1]
        strange = ~positive & (predicted != self.labels[0])
        if strange.any():
            raise InputError(
                f"member {k} ({type(self.members[k]).__name__}) predicts "
                f"{predicted[strange].tolist()[0]!r}; a vote must be one of {listed(self.labels)}"
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
        return _members_of(given, order)
    if estimator is None:
        estimator = DecisionTreeClassifier(max_depth=2)
    check_classifier(estimator)
    if is_ensemble:
        unfitted = seeded(clone(estimator), random_state)
        # Where the ensemble does not say how many jobs it wants, it gets ours.
        with nullcontext() if n_jobs is None else parallel_config("threading", n_jobs=n_jobs):
            fitted = unfitted.fit(X, y)
        return _members_of(fitted, order)
    n_drawn = _n_drawn(max_samples, len(y))
    seeds = random_state.randint(MOST_SEEDS, size=n_estimators)
    copies = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(_fit_copy)(estimator, X, y, n_drawn, seed) for seed in seeds
    )
    return Ensemble(copies, classes[order])


def _members_of(fitted: Any, order: list[int]) -> Ensemble:
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
            model.set_params(**{name: int(rng.randint(MOST_SEEDS))})
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


# Which models can vote, and what data they can take

# By name: most of them are of packages that need not be installed.
_GRADIENT_BOOSTING = {
    "GradientBoostingClassifier",
    "HistGradientBoostingClassifier",
    "XGBClassifier",
    "LGBMClassifier",
    "CatBoostClassifier",
}


def check_classifier(estimator: Any) -> None:
    """Refuse what is no classifier, or has no voting members."""
    name = type(estimator).__name__
    is_model = hasattr(estimator, "__sklearn_tags__") and not isinstance(estimator, type)
    if not is_model or not is_classifier(estimator):
        raise InputTypeError(
            "estimator must be None, a classifier, an ensemble of classifiers, or fitted ones in "
            f"a FrozenEstimator or a list; found {estimator!r} of type {name}"
        )
    check_one_output(estimator)
    if _GRADIENT_BOOSTING & {base.__name__ for base in type(estimator).__mro__}:
        raise InputError(
            f"{name} cannot vote: its trees are regression trees that add up to one score, none "
            "of them predicts a class; use RandomForestClassifier, ExtraTreesClassifier, "
            "BaggingClassifier, AdaBoostClassifier or VotingClassifier, or give several fitted "
            "models as a list, where each has one vote"
        )


def check_defaults(estimator: Any, n_estimators: Any, max_samples: Any) -> None:
    """Refuse parameters of copies where no copies are made."""
    if (n_estimators, max_samples) == (DEFAULT_N_ESTIMATORS, DEFAULT_MAX_SAMPLES):
        return
    name = type(estimator).__name__
    raise InputError(
        "n_estimators and max_samples say how copies of a plain classifier are made; with a "
        f"{name} its members vote, so they must stay at {DEFAULT_N_ESTIMATORS} and "
        f"{DEFAULT_MAX_SAMPLES}; found {n_estimators} and {max_samples}: set them on the {name}"
    )


def check_frozen(model: Any, classes: NDArray[Any], n_features: int, feature_names: Names) -> None:
    """Refuse a frozen model that is no ensemble or does not fit the data."""
    name = type(model).__name__
    if not isinstance(model, ENSEMBLES):
        kinds = ", ".join(kind.__name__ for kind in ENSEMBLES)
        raise InputTypeError(
            f"a frozen estimator must be an ensemble whose members vote ({kinds}); "
            f"found {name}: give fitted models as a list, where each has one vote"
        )
    _check_fitted(model, f"the frozen {name}")
    _check_classes(model, f"the frozen {name}", classes, all_of_them=True)
    _check_columns(model, f"the frozen {name}", n_features, feature_names)


def check_list(
    members: Sequence[Any], classes: NDArray[Any], n_features: int, feature_names: Names
) -> None:
    """Refuse a list with a member that is not fitted or does not fit the data."""
    if not members:
        raise InputError("a list of fitted classifiers must have at least one; found none")
    for k, member in enumerate(members):
        who = f"member {k} of the list, {type(member).__name__},"
        if not hasattr(member, "predict"):
            raise InputTypeError(f"{who} has no predict; give fitted classifiers")
        _check_fitted(member, who)
        _check_classes(member, who, classes)
        _check_columns(member, who, n_features, feature_names)


def _check_fitted(model: Any, who: str) -> None:
    # Models of other libraries need not follow scikit-learn's rule for what is fitted.
    if not isinstance(model, BaseEstimator):
        return
    try:
        check_is_fitted(model)
    except NotFittedError as error:
        raise InputError(
            f"{who} is not fitted; fit it, and keep it in sklearn.frozen.FrozenEstimator, because "
            "clone forgets fits"
        ) from error


def _check_classes(
    model: Any, who: str, classes: NDArray[Any], *, all_of_them: bool = False
) -> None:
    """Refuse a model that knows other classes than those in y, or not all where it must."""
    own = getattr(model, "classes_", classes)
    if isinstance(own, list) and any(np.ndim(of_output) for of_output in own):
        raise InputError(f"{who} {_MANY_OUTPUTS}")
    known = np.ravel(own).tolist()
    wrong, missing = set(known) - set(classes.tolist()), set(classes.tolist()) - set(known)
    if wrong or (all_of_them and missing):
        raise InputError(
            f"{who} was fitted to the classes {listed(known)}, but the classes in y are "
            f"{listed(classes)}"
        )


def _check_columns(model: Any, who: str, n_features: int, feature_names: Names) -> None:
    """Refuse a fitted model of other columns: by name where both have names, else by number."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None and feature_names is not None:
        if list(names) != list(feature_names):
            raise InputError(
                f"{who} was fitted to the columns {listed(names)}, but the columns of X are "
                f"{listed(feature_names)}"
            )
    elif getattr(model, "n_features_in_", n_features) != n_features:
        raise InputError(
            f"{who} was fitted to {model.n_features_in_} columns, but X has {n_features}"
        )


# Trees

_ROWS_DOWN = 1 << 12  # that go down all trees at a time


def _down(X: Any, nodes: Any, votes: Any, shape: Any, words: Any) -> None:
    """Write the packed votes of flat trees on rows."""
    for rows in gen_batches(len(X), _ROWS_DOWN):
        words[rows] = pack(votes.take(leaves_of(X[rows], nodes, shape)).T)


def as_single(X: NDArray[Any]) -> NDArray[np.float32]:
    """Return X as trees want it; a number too large becomes infinite, on the same side."""
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(X, dtype=np.float32)
