"""Checks of what users pass to an estimator: data, labels and the positive class.

Which data are accepted depends on the model: see :func:`takes_missing` and
:func:`takes_only_numbers`.
"""

from __future__ import annotations

import numbers
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, validate_data

from c2rf._utils.frames import check_different_names
from c2rf._utils.text import listed
from c2rf._utils.types import LARGEST
from c2rf.exceptions import C2RFError, InputError, InputTypeError

TREES = (DecisionTreeClassifier, ExtraTreeClassifier)
FORESTS = (RandomForestClassifier, ExtraTreesClassifier)
# The estimators inside of these predict class codes (0, 1, ...), not classes.
CODED = (*FORESTS, BaggingClassifier, VotingClassifier)
ENSEMBLES = (*CODED, AdaBoostClassifier)


def unfrozen(estimator: Any) -> Any:
    """Return the estimator inside a FrozenEstimator; return any other unchanged."""
    while isinstance(estimator, FrozenEstimator):
        estimator = estimator.estimator
    return estimator


def check_one_output(estimator: Any) -> None:
    """Refuse a model of several columns of labels: here, there is one.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.multioutput import MultiOutputClassifier
    >>> check_one_output(MultiOutputClassifier(LogisticRegression()))
    Traceback (most recent call last):
    c2rf.exceptions.InputTypeError: MultiOutputClassifier is for several columns of labels, ...
    """
    model = estimator
    while isinstance(model, Pipeline):
        model = model.steps[-1][1]
    if hasattr(model, "__sklearn_tags__") and not get_tags(model).target_tags.single_output:
        raise InputTypeError(
            f"{type(model).__name__} is for several columns of labels, and here there is one; give "
            "the classifier that is inside of it as the estimator"
        )


def takes_missing(estimator: Any) -> bool:
    """Say whether a model accepts missing values; True for a pipeline, which checks by itself.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> takes_missing(None), takes_missing(LogisticRegression())
    (True, False)
    """
    model = unfrozen(estimator)
    if model is None or isinstance(model, Pipeline):
        return True
    if isinstance(model, (list, tuple)):
        return all(takes_missing(member) for member in model)
    return hasattr(model, "__sklearn_tags__") and bool(get_tags(model).input_tags.allow_nan)


def takes_only_numbers(estimator: Any) -> bool:
    """Say whether data frames are converted to arrays of numbers before the model gets them.

    Other models get the data frame itself, because a pipeline may select columns by name.

    Examples
    --------
    >>> takes_only_numbers(RandomForestClassifier()), takes_only_numbers(Pipeline([]))
    (True, False)
    """
    model = unfrozen(estimator)
    if isinstance(model, (list, tuple)):
        return all(takes_only_numbers(member) for member in model)
    return model is None or isinstance(
        model, (*TREES, *FORESTS, BaggingClassifier, AdaBoostClassifier)
    )


_MOST_CELLS = 1 << 27  # of a sparse matrix; as an array of floats, 1 GiB


def check_data(
    classifier: Any, X: Any, *, reset: bool = False, name: str = "X", y: Any = None
) -> Any:
    """Check X; return an array of numbers, or the data frame itself for models that take one.

    Parameters
    ----------
    classifier : estimator
        Its ``estimator`` decides what is accepted; names and number of columns are stored in it.
    X : array-like or data frame
        The data as the user passed them.
    reset : bool
        Whether to store the columns of X (in ``fit``) or to compare X with the stored ones.
    name : str
        The name of the argument, for error messages.
    y : array, optional
        In ``fit``, the classes of the rows.
    """
    check_different_names(X, name)
    encode = getattr(classifier, "_encode", None)
    if encode is not None and issparse(X):
        X = _dense(X, name)
    if name != "X":
        _check_same_columns(classifier, X, name)
    if encode is not None and (encoded := encode(X, y, name)) is not None:
        return encoded
    if hasattr(X, "columns") and not takes_only_numbers(classifier.estimator):
        checked = validate_data(classifier, X, reset=reset, skip_check_array=True)
    else:
        checked = _numbers(classifier, X, reset, name)
    _check_finite(classifier, checked, name)
    return checked


def _dense(X: Any, name: str) -> NDArray[Any]:
    """Convert a sparse matrix to an array; refuse one that is too large."""
    n_cells = X.shape[0] * X.shape[1]
    if n_cells > _MOST_CELLS:
        raise InputError(
            f"{name} is a sparse matrix of {n_cells:,} cells, which are {8 * n_cells / 1e9:.0f} GB "
            f"as an array; at most {_MOST_CELLS:,} are taken: reduce its columns first, by "
            "sklearn.decomposition.TruncatedSVD, say"
        )
    return np.asarray(X.toarray())


def check_labels(classifier: Any, y: Any, *, only_two: bool = True) -> NDArray[Any]:
    """Return y as a 1-D array; refuse fewer than two classes, and with ``only_two`` also more."""
    _check_no_missing(y)
    y = _of_one_kind(validate_data(classifier, y=y))
    check_classification_targets(y)
    classes = np.unique(y)
    if len(classes) == 1:
        raise InputError(f"y must have two classes; found one class only, {listed(classes)}")
    if only_two and len(classes) > 2:
        raise InputError(
            "Only binary classification is supported. The type of the target is multiclass: "
            f"found the classes {listed(classes)} (rows without a label go into X_unlabeled)"
        )
    return y


def check_labeled(
    classifier: Any, X: Any, y: Any, *, only_two: bool = True
) -> tuple[Any, NDArray[Any]]:
    """Check labeled rows and their labels; store columns and classes in the classifier."""
    y = check_labels(classifier, y, only_two=only_two)
    X = check_data(classifier, X, reset=True, y=y)
    check_consistent_length(X, y)
    classifier.classes_ = np.unique(y)
    return X, y


def positive_index(pos_label: Any, classes: NDArray[Any], *, has_total: bool) -> int:
    """Return which of the two classes is the positive one.

    Examples
    --------
    >>> positive_index(None, np.array([-1, 1]), has_total=True)
    1
    >>> positive_index("no", np.array(["no", "yes"]), has_total=True)
    0
    >>> positive_index(None, np.array(["no", "yes"]), has_total=True)
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputError: pos_label must say which class n_positive counts, because the \
classes are not numbers; found None, the classes are 'no', 'yes'
    """
    known = classes.tolist()
    if pos_label is None:
        if has_total and not all(isinstance(label, numbers.Number) for label in known):
            raise InputError(
                "pos_label must say which class n_positive counts, because the classes are not "
                f"numbers; found None, the classes are {listed(classes)}"
            )
        return 1
    if pos_label not in known:
        raise InputError(
            f"pos_label must be one of the classes in y, {listed(classes)}; found {pos_label!r}"
        )
    return int(known.index(pos_label))


@contextmanager
def naming_missing(classifier: Any, X: Any, name: str) -> Iterator[None]:
    """If the model fails because of missing values, raise an error that names their columns.

    Other errors of a user's own estimator come through as they are, with a line that says whose
    they are, and of which columns.
    """
    try:
        yield
    except C2RFError:
        raise
    except Exception as error:
        columns = _columns_with(pd.isna, classifier, X)
        if isinstance(error, ValueError) and columns and re.search("NaN|missing", str(error)):
            raise InputError(
                f"{name} has missing values (NaN) in the columns {listed(columns)}, which "
                f"{_learner(classifier)} cannot take: {error}"
            ) from error
        named = getattr(X, "columns", getattr(classifier, "feature_names_in_", None))
        of = "" if named is None else f", with the columns {listed(list(named))}"
        if not getattr(error, "__notes__", None):  # the innermost rows are those it was given
            error.add_note(f"This error is from {_learner(classifier)}, for {name}{of}.")
        raise


def _learner(classifier: Any) -> str:
    """Say who learns: the estimator of the user, by its name; of a pipeline its last step."""
    estimator = getattr(classifier, "estimator", None)
    if estimator is None:
        return "the default learner"
    steps = getattr(estimator, "steps", None)
    inner = f" with {type(steps[-1][1]).__name__}" if steps else ""
    return f"the estimator {type(estimator).__name__}{inner}"


def _check_no_missing(y: Any) -> None:
    """Refuse labels that are None or NaN; scikit-learn says of some only that "Input" has them."""
    given = np.asarray(y, dtype=object)
    missing = np.flatnonzero(pd.isna(given))
    if given.ndim and len(missing):
        raise InputError(
            f"y has no label in row {missing[0]} ({len(missing)} are missing); rows without a "
            "label go into X_unlabeled"
        )


def _of_one_kind(y: NDArray[Any]) -> NDArray[Any]:
    """Convert an object array of numbers or bools to its own dtype; refuse mixed types."""
    if y.dtype != object:
        return y
    if all(isinstance(label, str) for label in y):
        return y
    if all(isinstance(label, numbers.Number) for label in y):
        return np.array(y.tolist())
    kinds = {type(label).__name__ for label in y}
    raise InputTypeError(
        f"the labels in y must be all text or all numbers; found {', '.join(sorted(kinds))}"
    )


def _numbers(classifier: Any, X: Any, reset: bool, name: str) -> NDArray[Any]:
    """Convert X to an array of numbers; an error names the columns that hold text."""
    try:
        array = validate_data(classifier, X, reset=reset, ensure_all_finite=False)
        # For some kinds of data frames scikit-learn returns an array of objects.
        return array.astype(float) if array.dtype == object else array
    except (TypeError, ValueError) as error:
        text = [column for column in getattr(X, "columns", []) if not _is_numeric(X[column])]
        if text:
            raise InputError(
                f"{name} must hold numbers; found text in the columns {listed(text)}: encode them, "
                "or give as the estimator a pipeline that encodes them"
            ) from error
        if name == "X":
            raise
        raise InputError(f"{name}: {error}") from error


def _check_same_columns(classifier: Any, X: Any, name: str) -> None:
    """Refuse other columns than the labeled data have: compare names, without names the number."""
    known = getattr(classifier, "feature_names_in_", None)
    found = getattr(X, "columns", None)
    if known is None or found is None:
        expected = classifier.n_features_in_
        n_columns = np.shape(X)[1] if np.ndim(X) == 2 else expected
        if n_columns != expected:
            raise InputError(f"{name} must have the {expected} columns of X; found {n_columns}")
        return
    if list(known) == list(found):
        return
    missing = [column for column in known if column not in list(found)]
    unknown = [column for column in found if column not in list(known)]
    wrong = [f"missing: {listed(missing)}"] * bool(missing)
    wrong += [f"unknown: {listed(unknown)}"] * bool(unknown)
    raise InputError(
        f"the columns of {name} must be those of X; "
        + ("; ".join(wrong) or f"they must be in the same order, {listed(known)}")
    )


def _check_finite(classifier: Any, X: Any, name: str) -> None:
    """Refuse infinite and huge values, and missing ones where the ensemble cannot take them."""
    with np.errstate(all="ignore"):
        if isinstance(X, np.ndarray) and np.isfinite(X.sum(dtype=np.float32)):
            return
    infinite = _columns_with(lambda column: np.isinf(_sizes(column)), classifier, X)
    if infinite:
        raise InputError(f"{name} has infinite values (inf) in the columns {listed(infinite)}")
    check_not_huge(classifier, X, name)
    missing = [] if takes_missing(classifier.estimator) else _columns_with(pd.isna, classifier, X)
    if missing:
        raise InputError(
            f"{name} has missing values (NaN) in the columns {listed(missing)}, which "
            f"{_learner(classifier)} cannot take: fill or drop them, or use trees, which can"
        )


def check_not_huge(classifier: Any, X: Any, name: str) -> None:
    """Refuse numbers that are too large to be learned from."""
    huge = _columns_with(lambda column: _sizes(column) > LARGEST, classifier, X)
    if huge:
        raise InputError(
            f"{name} has numbers beyond {LARGEST:.3g}, the largest that can be learned from, in "
            f"the columns {listed(huge)}: write them in another unit"
        )


def _columns_with(test: Callable[[Any], Any], classifier: Any, X: Any) -> list[Any]:
    """Return the names (or else indices) of the columns in which any value passes the test."""
    if isinstance(X, np.ndarray):
        names = getattr(classifier, "feature_names_in_", range(X.shape[1]))
        return [name for name, column in zip(names, X.T, strict=True) if np.any(test(column))]
    return [name for name in X.columns if np.any(test(np.asarray(X[name])))]


def _sizes(column: NDArray[Any]) -> NDArray[Any]:
    return np.abs(column) if column.dtype.kind == "f" else np.zeros(1)


def _is_numeric(column: Any) -> bool:
    try:
        np.asarray(column).astype(float)
    except (TypeError, ValueError):
        return False
    return True
