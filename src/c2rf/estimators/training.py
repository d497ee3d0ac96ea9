"""Learning probabilities: the learner, what it is fitted to, and the probabilities of all rows.

Frames of text, categories and dates are encoded as :mod:`c2rf.data.encoding` does for files, by
what the labeled rows hold; frames of numbers alone need no encoder. A :class:`Training` fits the
learner and scores all rows, and :func:`probability_offsets` makes their probabilities add up to the
totals.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_consistent_length

from c2rf._utils.frames import as_pandas, names_of, stacked
from c2rf._utils.text import listed
from c2rf._utils.types import Codes, Floats
from c2rf._utils.validation import check_one_output, naming_missing
from c2rf.assignment import AssignmentProblem, log_scores, zero_floor
from c2rf.data.encoding import fit_encoder
from c2rf.data.population.interface import (
    RowSample,
    draw_sample,
    plain,
    probabilities,
)
from c2rf.data.profile import ColumnProfile, check_single_values, why_left_out
from c2rf.estimators.labeled_population import CheckedRows
from c2rf.exceptions import InputError, InputTypeError
from c2rf.inference.estimates import LEAST_LABELED, bootstrap_rates, label_shift_by_columns
from c2rf.learners.bootstrap import LabeledSample, held_out_calibration, held_out_models
from c2rf.learners.calibration import Calibration
from c2rf.learners.default_classifier import (
    BlendClassifier,
    check_learner,
    most_learned,
    takes,
    uses_population,
)
from c2rf.progress import report_progress


def frame_encoder(X: Any, y: Any) -> Any:
    """Return an encoder of a frame that holds more than numbers, and its rows as numbers.

    None if no encoder is needed.

    Parameters
    ----------
    X : array or data frame
        The labeled rows.
    y : array-like
        Their classes.

    Examples
    --------
    >>> people = pd.DataFrame({"age": [41, 14], "town": ["Ulm", "Bonn"]})
    >>> frame_encoder(people, [0, 1])[1].tolist()
    [[41.0, 0.0, 1.0], [14.0, 1.0, 0.0]]
    >>> frame_encoder(people[["age"]], [0, 1]) is None
    True
    """
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return None
    if all(map(_is_plain, frame.schema.values())):
        return None
    table = _named(X)
    check_consistent_length(table, y)
    for name in table:
        check_single_values(table[name])
    columns = [_column(table[name]) for name in table]
    kept = [column for column in columns if column is not None]
    if not kept:
        raise InputError(
            "X must have a column to learn from; found only text that differs in nearly every row, "
            "or nothing but empty cells"
        )
    return fit_encoder(kept, y)


def encode_frame(encoder: Any, X: Any, name: str) -> NDArray[Any]:
    """Return a frame as numbers, as the encoder learned it."""
    if names_of(X) is None:
        raise InputError(f"{name} must be a frame with the columns of X, which holds text")
    try:
        return np.asarray(encoder.encode(_named(X)))
    except InputError as error:
        raise InputError(f"{name}: {error}") from error


def _is_plain(kind: Any) -> bool:
    """Whether cells of a type are numbers as they are; decimal ones are objects."""
    return (kind.is_numeric() and kind != nw.Decimal) or kind == nw.Boolean


def _named(X: Any) -> pd.DataFrame:
    table = as_pandas(X)
    return table.set_axis(names_of(table), axis=1).reset_index(drop=True)


def _column(cells: pd.Series[Any]) -> ColumnProfile | None:
    """Say what a column holds; None if nothing can be learned from it."""
    profile = ColumnProfile(cells)
    column = profile.with_unlabeled(profile.count(cells, "row {row} of X"))
    if column.kind in ("one-hot", "target"):
        why = why_left_out(cells, cells[:0])
        if why is not None:
            report_progress(f"column {column.name!r} {why}: it is not learned from")
            return None
    return column


MOST_CALIBRATING = 2000
"""Rows of the population, at most, that models of folds are asked about."""


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
    check_one_output(model)
    check_learner(model)
    if not hasattr(model, "predict_proba"):
        raise InputTypeError(
            f"estimator must have predict_proba to rank rows; {type(model).__name__} has "
            "none: wrap it in sklearn.calibration.CalibratedClassifierCV"
        )
    return clone(model)


@dataclass(frozen=True, eq=False)
class Training:
    """A learner, and all that there is to learn from.

    Parameters
    ----------
    owner : classifier
        The one that is fitted: it knows the names of the columns, the classes, and how many rows
        are ranked at a time.
    template : classifier
        The learner: unfitted, with all its seeds set.
    X, y, weight : array or frame, ndarray, and ndarray or None
        The labeled rows, their classes, and how much each counts.
    rows : CheckedRows
        The unlabeled rows.
    sample : RowSample
        Those of them that are in memory, to learn from.
    """

    owner: Any
    template: Any
    X: Any
    y: NDArray[Any]
    weight: Floats | None
    rows: CheckedRows
    sample: RowSample

    def labeled(self, problem: AssignmentProblem) -> LabeledSample:
        """Return what the learner is fitted to: with the sample, if it has a use for it.

        The ``problem`` is that of all rows.
        """
        options = weight_option(self.template, self.weight)
        if uses_population(self.template):
            rates = problem.in_sample(self.sample.rows).bounds.rates()
            options |= {"X_unlabeled": self.sample.data, "rates": rates}
        return LabeledSample(self.X, self.y, options)

    def fit(self, problem: AssignmentProblem) -> Any:
        """Fit the learner to the labeled rows and the sample."""
        with naming_missing(self.owner, self.X, "X"):
            report_progress(f"learning from {len(self.y):,} labeled rows")
            options = self.labeled(problem).options
            with naming_missing(self.owner, self.sample.data, "X_unlabeled"):
                model = self.template.fit(self.X, self.y, **options)
            check_classes(model, self.owner.classes_)
        return model

    def out_of_fold(self, problem: AssignmentProblem, counts: Any) -> tuple[Floats, Floats]:
        """Return probabilities of the labeled rows and of the sample by the same models.

        The labeled rows of a fold get the probabilities of a model that learned from the other
        folds, and the sample the mean over these models.
        """
        overall, total = problem.overall_only(counts), counts.sum(axis=0, keepdims=True)
        n_classes, n_drawn = len(self.owner.classes_), len(self.sample.rows)
        labeled = np.full((len(self.y), n_classes), 1 / n_classes)
        drawn = np.zeros((n_drawn, n_classes))
        rows, doing = self.labeled(problem), "learning without the held-out rows"
        for model, held, number in held_out_models(self.template, rows, problem.seed, doing):
            both = stacked([self.sample.data, plain(_safe_indexing(self.X, held))])
            table = probabilities(model, both, self.owner._block_rows)
            if hasattr(model, "learned_proba_"):
                table[model.learned_rows_] = model.learned_proba_
            factor = getattr(self.owner, "inverse_temperature_", 1.0)
            logs = factor * log_scores(table, zero_floor(table))
            logs += probability_offsets(overall, logs[:n_drawn], total, self.sample.rows)[0]
            table = softmax(logs, axis=1)
            labeled[held] = table[n_drawn:]
            drawn += table[:n_drawn] / number
        return labeled, drawn

    def score(self, model: Any, n_rows: int) -> Floats:
        """Return the probabilities of all rows, asked block by block where the rows are."""
        own = getattr(model, "learned_proba_", None)
        if own is not None and len(own) == n_rows:
            scores = np.empty_like(own)
        else:
            example = np.empty((0, len(self.owner.classes_)))
            scores = self.rows.keep(model.predict_proba, example, self.owner._block_rows)
        if own is not None:  # from models that saw these rows: better than the model's own
            learned = self.sample.rows[model.learned_rows_]
            if not isinstance(scores, np.ndarray):
                order = np.argsort(learned)
                return scores.map(partial(_replaced, learned[order], own[order]), own)
            scores[learned] = own
        return scores

    def calibrate(self, problem: AssignmentProblem, floor: float) -> Calibration:
        """Calibrate the learner by labeled rows that are held out; the ``problem`` is of all rows.

        A row of the sample stands for as many rows as its weight says.
        """
        inside, n_rows = problem.in_sample(self.sample.rows), len(self.sample.rows)
        rng = np.random.default_rng([problem.seed, 13])
        chance = None if inside.weights is None else inside.weights / inside.weights.sum()
        most = MOST_CALIBRATING if chance is not None else min(n_rows, MOST_CALIBRATING)
        drawn = rng.choice(n_rows, most, replace=chance is not None, p=chance)
        population = plain(_safe_indexing(self.sample.data, drawn))
        rates = inside.bounds.rates()
        return held_out_calibration(
            self.template, self.labeled(problem), population, rates, floor, problem.seed
        )

    def score_sample(self, model: Any) -> Floats:
        """Return the probabilities that the model gives to the sample, as to any other rows."""
        return probabilities(model, self.sample.data, self.owner._block_rows)


N_BOOTSTRAP = 200
"""How many bootstraps give the standard errors of estimated totals."""


def estimate_rates(
    template: Any, X: Any, y: NDArray[Any], weight: Floats | None, drawn: Any, groups: Codes,
    n_groups: int, people: Floats | None, n_bootstrap: int, seed: int,
) -> tuple[Floats, Floats, float]:  # fmt: skip
    """Return the rates of the classes in groups, standard errors, and the p-value of label shift.

    The p-value is NaN with groups, and where columns are not numbers.

    Parameters
    ----------
    template : classifier
        The learner.
    X, y, weight : array or frame, ndarray, and ndarray or None
        The labeled rows, their classes, and how much each counts.
    drawn : array or frame
        Rows of the population.
    groups, n_groups : ndarray of int, and int
        Their groups, and how many there are.
    people : ndarray, optional
        How many people each of them stands for.
    n_bootstrap, seed : int
        How many bootstraps, and the seed.
    """
    codes = np.unique(y, return_inverse=True)[1]
    least = int(np.bincount(codes).min())
    if least < LEAST_LABELED:
        raise InputError(
            f"totals can be estimated with {LEAST_LABELED} labeled rows of each class or more; "
            f"{np.unique(y).tolist()[np.bincount(codes).argmin()]!r} has {least}"
        )
    held = np.zeros((len(y), len(np.unique(y))))
    others = np.zeros((len(groups), held.shape[1]))
    labeled, floor = LabeledSample(X, y, weight_option(template, weight)), 1 / (10 * len(y))
    for model, rows, number in held_out_models(
        template, labeled, seed, "learning to estimate totals"
    ):
        held[rows] = log_scores(model.predict_proba(_safe_indexing(X, rows)), floor)
        others += log_scores(probabilities(model, drawn), floor) / number
    each = np.ones(len(y)) if weight is None else weight
    rng = np.random.default_rng([seed, 19])
    found = bootstrap_rates(held, codes, each, others, groups, n_groups, n_bootstrap, rng, people)
    tables, p_value = [plain(table) for table in (X, drawn)], float("nan")
    are_numbers = all(isinstance(t, np.ndarray) and t.dtype.kind in "fiu" for t in tables)
    if n_groups == 1 and are_numbers:
        whom = np.ones(len(groups)) if people is None else people
        rates = found[0][0], found[1][0]
        p_value = label_shift_by_columns(tables[0], codes, each, tables[1], whom, rates, rng)
    return *found, p_value


def draw_rows(
    rows: Any, n_labeled: int, n_columns: int, seed: int, most: float = np.inf
) -> RowSample:
    """Read the rows once, and draw those to learn from: all of them, if they are not many."""
    report_progress("reading the unlabeled rows")
    return draw_sample(
        rows.counted(), int(min(most_learned(n_labeled, n_columns), most)), [seed, 4]
    )


def _replaced(rows: Codes, values: Floats, start: int, table: Floats) -> Floats:
    """Return a table whose first row has a number, with the values of some rows."""
    first, last = np.searchsorted(rows, [start, start + len(table)])
    table = table.copy()
    table[rows[first:last] - start] = values[first:last]
    return table


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
    """Return a dict per base learner: its name, estimated accuracy and weight."""
    if not hasattr(model, "weights_"):
        return [{"base_learner": type(model).__name__, "accuracy": None, "weight": 1.0}]
    return model.history()


def check_classes(model: Any, classes: NDArray[Any]) -> None:
    """Refuse a model that knows other classes than y, as a frozen one may."""
    known = np.ravel(model.classes_)
    if known.tolist() != classes.tolist():
        raise InputError(
            f"the estimator was fitted to the classes {listed(known)}, but the classes in y are "
            f"{listed(classes)}"
        )


def probability_offsets(
    problem: AssignmentProblem, logs: Floats, counts: Any, rows: Codes | None = None
) -> Floats:
    """Return class offsets with which probabilities in every group add up to given numbers.

    Parameters
    ----------
    problem : AssignmentProblem
        The totals, and the group of each row.
    logs : ndarray of shape (n_rows, n_classes)
        Logarithms of probabilities.
    counts : ndarray of shape (n_groups, n_classes)
        What they are to add up to.
    rows : ndarray of int, optional
        The rows that these are, if not all.

    Returns
    -------
    ndarray of shape (n_groups, n_classes)
        Zeros for a group without any rows.
    """
    if problem.known is not None:
        open_rows, left = problem.left
        given = np.arange(problem.n_rows) if rows is None else rows
        is_open = problem.known[given] < 0
        rest = counts - (problem.known_counts if len(counts) > 1 else problem.known_counts.sum(0))
        return probability_offsets(
            left, logs[is_open], rest, np.searchsorted(open_rows, given[is_open])
        )
    if rows is not None and len(rows) == problem.n_rows:
        rows = None
    return problem.smooth_offsets(logs, counts, rows)
