"""Learning who is of which class: the learner, and the scores of all rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline

from c2rf._text import listed
from c2rf._typing import Floats
from c2rf._validation import naming_missing
from c2rf.estimators.checked_rows import CheckedRows
from c2rf.estimators.meeting import Meeting
from c2rf.exceptions import InputError, InputTypeError
from c2rf.learners.blend import MOST_LEARNED, BlendClassifier
from c2rf.learners.interface import check_learner, takes, uses_population
from c2rf.population import RowSample, draw_sample
from c2rf.population.blocks import BLOCK_ROWS, filled
from c2rf.progress import Countdown, report_progress


@dataclass(frozen=True)
class Limits:
    """Sizes that bound the memory a fit takes.

    Parameters
    ----------
    learned : int
        Rows of the population, at most, that a learner gets to look at.
    cells : int
        The same in cells, for many columns.
    block_rows : int
        Number of rows whose probabilities are computed at a time.
    """

    learned: int = MOST_LEARNED
    cells: int = 1 << 22
    block_rows: int = BLOCK_ROWS


def default_estimator() -> Any:
    """Return the classifier that is used where none is given."""
    return BlendClassifier()


def learner_template(estimator: Any) -> Any:
    """Return an unfitted copy of the user's estimator, or say why it cannot be used."""
    model = default_estimator() if estimator is None else estimator
    is_model = hasattr(model, "__sklearn_tags__") and not isinstance(model, type)
    if not is_model or not is_classifier(model):
        raise InputTypeError(
            "estimator must be None or a classifier with predict_proba; found "
            f"{model!r} of type {type(model).__name__}"
        )
    check_learner(model)
    if not hasattr(model, "predict_proba"):
        raise InputTypeError(
            f"estimator must have predict_proba to rank rows; {type(model).__name__} has "
            "none: wrap it in sklearn.calibration.CalibratedClassifierCV"
        )
    return clone(model)


def draw_rows(rows: CheckedRows, n_columns: int, limits: Limits, seed: int) -> RowSample:
    """Read the rows once, and draw those to learn from: all of them, if they are not many."""
    report_progress("reading the unlabeled rows")
    most = max(1, min(limits.learned, limits.cells // n_columns))
    return draw_sample(rows.counted(), most, [seed, 4])


@dataclass(frozen=True, eq=False)
class Ranking:
    """A fitted model, and how it ranks the unlabeled rows.

    Parameters
    ----------
    model : fitted classifier
        For all rows.
    scores : ndarray of shape (n_rows, n_classes)
        Probabilities of all unlabeled rows.
    history : list of dict
        Who ranks: per member its name, its estimated accuracy (None where it is not known) and
        its weight.
    """

    model: Any
    scores: Floats
    history: list[dict[str, Any]]


class Labeled(NamedTuple):
    """A learner and what it is fitted to.

    Parameters
    ----------
    template : classifier
        Unfitted, with all its seeds set.
    X, y, weight : array or frame, ndarray, and ndarray or None
        The labeled rows, their classes, and how much each counts.
    """

    template: Any
    X: Any
    y: NDArray[Any]
    weight: Floats | None


@dataclass(frozen=True, eq=False)
class Learning:
    """All that there is to learn from.

    Parameters
    ----------
    owner : classifier
        The one that learns: it knows the names of the columns and the classes.
    labeled : Labeled
        The learner, and the labeled rows.
    rows : CheckedRows
        The unlabeled rows.
    sample : RowSample
        Those of them that are in memory, to learn from.
    limits : Limits
        Sizes.
    """

    owner: Any
    labeled: Labeled
    rows: CheckedRows
    sample: RowSample
    limits: Limits

    def rank(self, meeting: Meeting) -> Ranking:
        """Fit the model, and score all rows."""
        with naming_missing(self.owner, self.labeled.X, "X"):
            model = self._fit(meeting.in_sample(self.sample.rows))
            check_classes(model, self.owner.classes_)
        own = getattr(model, "learned_proba_", None)
        if own is not None and len(own) == meeting.n_rows:
            scores = np.empty_like(own)
        else:
            scores = self._score(model, meeting.n_rows)
        if own is not None:  # from models that saw these rows: better than the model's own
            scores[self.sample.rows[model.learned_rows_]] = own
        return Ranking(model, scores, history(model))

    def _fit(self, meeting: Meeting) -> Any:
        """Fit the model to the labeled rows, and to the sample if it has a use for it."""
        template, X, y, weight = self.labeled
        report_progress(f"learning from {len(y):,} labeled rows")
        options = weight_option(template, weight)
        if uses_population(template):
            options |= {"X_unlabeled": self.sample.data, "rates": meeting.bounds.rates()}
        with naming_missing(self.owner, self.sample.data, "X_unlabeled"):
            return template.fit(X, y, **options)

    def _score(self, model: Any, n_rows: int) -> Floats:
        """Return the probabilities of all rows, asked block by block where the rows are."""
        parts = self.rows.spans(model.predict_proba, self.limits.block_rows)
        return filled((n_rows, len(self.owner.classes_)), _showing_progress(parts, n_rows))


def _showing_progress(parts: Iterator[Floats], n_rows: int) -> Iterator[Floats]:
    """Say after each part how many rows are done, and how long the others will take."""
    countdown = Countdown("ranking rows", n_rows)
    for part in parts:
        yield part
        countdown.done(len(part))


def weight_option(template: Any, sample_weight: Floats | None) -> dict[str, Any]:
    """Return the keywords that hand the weights of labeled rows to a learner, or refuse them."""
    if sample_weight is None:
        return {}
    if isinstance(template, Pipeline) and takes(template[-1], "sample_weight"):
        return {f"{template.steps[-1][0]}__sample_weight": sample_weight}
    if not takes(template, "sample_weight"):
        raise InputTypeError(
            f"sample_weight was given, but {type(template).__name__} takes none in its fit; leave "
            "it out, or give an estimator that does"
        )
    return {"sample_weight": sample_weight}


def history(model: Any) -> list[dict[str, Any]]:
    """Return who ranks: a dict per member."""
    if not hasattr(model, "weights_"):
        return [{"member": type(model).__name__, "accuracy": None, "weight": 1.0}]
    return model.history()


def check_classes(model: Any, classes: NDArray[Any]) -> None:
    """Refuse a model that knows other classes than y, as a frozen one may."""
    known = np.ravel(model.classes_)
    if known.tolist() != classes.tolist():
        raise InputError(
            f"the estimator was fitted to the classes {listed(known)}, but the classes in y are "
            f"{listed(classes)}"
        )
