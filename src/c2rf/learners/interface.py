"""What a classifier must have to learn from the population as well as from labeled rows.

Any classifier with ``predict_proba`` can rank rows. One that also looks at the unlabeled rows, or
at the known rates of the classes, declares it: its ``fit`` takes them as keywords,

``fit(X, y, *, X_unlabeled=None, rates=None)``

and gets what is known of each, of a large population a part. It may leave what it has learned of
these rows, which can be more than it says of any other: ``learned_proba_`` of the rows
``learned_rows_``. A meta-estimator such as a pipeline does not hand them on, so what
it hides is refused: such a learner would work, but without all that it is there for.
"""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import has_fit_parameter

from c2rf.exceptions import InputTypeError

POPULATION = ("X_unlabeled", "rates")
"""Keywords of ``fit`` of a learner that uses the population."""


def uses_population(model: Any) -> bool:
    """Return whether a learner takes the unlabeled rows and the rates of the classes.

    Examples
    --------
    >>> from c2rf import BlendClassifier
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> uses_population(BlendClassifier()), uses_population(DecisionTreeClassifier())
    (True, False)
    """
    return all(takes(model, name) for name in POPULATION)


def takes(model: Any, name: str) -> bool:
    """Return whether the ``fit`` of a learner takes a keyword."""
    return hasattr(model, "fit") and has_fit_parameter(model, name)


def check_learner(model: Any) -> None:
    """Refuse a model that would not get what it learns from.

    Examples
    --------
    >>> from c2rf import BlendClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> check_learner(make_pipeline(BlendClassifier()))
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputTypeError: BlendClassifier uses the unlabeled rows and the known totals, \
which a Pipeline does not hand on to it; give it as the estimator itself, and prepare the columns \
before
    """
    name = type(model).__name__
    if has_fit_parameter(model, "totals"):
        raise InputTypeError(
            f"{name} meets totals itself; give the classifier that it ranks rows with as the "
            "estimator instead"
        )
    for inner in _inner_models(model):
        if uses_population(inner):
            raise InputTypeError(
                f"{type(inner).__name__} uses the unlabeled rows and the known totals, which a "
                f"{name} does not hand on to it; give it as the estimator itself, and prepare the "
                "columns before"
            )


def _inner_models(model: Any) -> list[Any]:
    """Return the models that are parameters of a model, however deep."""
    values = model.get_params(deep=True).values() if hasattr(model, "get_params") else []
    return [value for value in values if isinstance(value, BaseEstimator)]
