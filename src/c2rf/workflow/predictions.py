"""Label, score and confidence of rows: by a fitted classifier, a chunk at a time.

Label, score and confidence of rows, by a fitted classifier.

Rows with their labels, a part at a time: read, put into one frame, or written.

A name without an ending is a folder of Parquet files. They are written where the rows are, on a
cluster by its workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import softmax

from c2rf._utils.frames import as_pandas
from c2rf._utils.types import Codes, Floats
from c2rf.assignment import log_scores
from c2rf.data.atomic import atomic_folder, atomic_output
from c2rf.data.dialect import Dialect
from c2rf.data.formats import PARQUET
from c2rf.data.population.interface import (
    BLOCK_ROWS,
    Chunk,
    Population,
    large_array,
    release,
    row_blocks,
)
from c2rf.data.population.memory import Memory
from c2rf.data.write import TableWriter
from c2rf.estimators.c2rf import C2RFClassifier
from c2rf.estimators.known_totals import KnownTotalsClassifier
from c2rf.exceptions import InputError
from c2rf.inference.sensitivity import Sensitivity
from c2rf.totals.groups import Groups

MOST_SCORE = 100.0
"""Log-odds beyond this say no more than this."""


class Scored(NamedTuple):
    """Of each row the number of its label, its score, and the confidence of the label.

    With two classes, positive scores predict the positive class. With more, the score is the lead
    of the label over the next best class.
    """

    codes: NDArray[Any]
    scores: Floats
    confidence: Floats


def score_unlabeled(classifier: Any, positive: str | None) -> Scored:
    """Score the rows that a classifier was fitted to; their labels meet the totals."""
    rows = classifier._rows
    if isinstance(classifier, C2RFClassifier):
        votes, patterns = _by_votes(classifier, rows.scores), rows.codes_here
        return _gathered(len(patterns), lambda part: _taken(votes, patterns[part]))
    groups = rows.problem.groups
    offsets = _offsets(classifier, groups)
    probabilities = classifier.transduction_proba_

    def score(part: slice) -> Scored:
        # Each score is from a model that was not trained on that row's label.
        logs = log_scores(rows.scores[part], rows.floor)
        shifted = logs + offsets[groups.codes[part]]
        codes = np.asarray(rows.codes_here[part])
        return _by_lead(shifted, probabilities[part], codes, _place(classifier, positive))

    return _gathered(len(rows.scores), score, reading=[rows.scores, probabilities])


def score_rows(classifier: Any, X: Population, groups: Groups, positive: str | None) -> Scored:
    """Score any rows, each for itself.

    Parameters
    ----------
    classifier : C2RFClassifier or KnownTotalsClassifier
        Fitted.
    X : Population
        The rows as numbers; the work is done where they are.
    groups : Groups
        The group of each row, for totals that were met in groups.
    positive : str or None
        The class that positive scores predict.
    """
    if isinstance(classifier, C2RFClassifier):
        blocks = X.blocks(classifier.decision_function, BLOCK_ROWS)
        return _joined([_by_votes(classifier, said) for said in blocks])
    if not isinstance(classifier, KnownTotalsClassifier):
        raise InputError(f"{type(classifier).__name__} is not a classifier of c2rf")
    offsets, priors = _offsets(classifier, groups), _priors(classifier, groups)
    parts, start = [], 0
    for table in X.blocks(classifier.estimator_.predict_proba, BLOCK_ROWS):
        own = groups.codes[start : start + len(table)]
        logs = log_scores(table, classifier._floor)
        shifted, start = logs + offsets[own], start + len(table)
        probabilities = softmax(logs + priors[own], axis=1)
        codes = shifted.argmax(axis=1)
        parts.append(_by_lead(shifted, probabilities, codes, _place(classifier, positive)))
    return _joined(parts)


def _by_votes(classifier: C2RFClassifier, decision: Floats) -> Scored:
    """Score by the weighted vote; the confidence is the share of the weight for the label."""
    second_is_positive = bool(classifier.classes_[1] == classifier.pos_label_)
    scores = decision if second_is_positive else -decision
    vote = (scores - classifier.offset_) / classifier.weights_.sum()
    is_positive = scores > 0
    confidence = np.clip((1 + np.where(is_positive, vote, -vote)) / 2, 0, 1)
    codes = (is_positive == second_is_positive).astype(np.intp)
    return Scored(codes, scores, confidence)


def _by_lead(shifted: Floats, probabilities: Floats, codes: Codes, positive: int | None) -> Scored:
    """Score by the lead over the next best class; the confidence is the label's probability."""
    rows = np.arange(len(shifted))
    others = shifted.copy()
    others[rows, codes] = -np.inf
    lead = np.clip(shifted[rows, codes] - others.max(axis=1), -MOST_SCORE, MOST_SCORE)
    if positive is not None:
        lead = np.where(codes == positive, lead, -lead)
    return Scored(codes, lead, probabilities[rows, codes])


def _place(classifier: Any, positive: str | None) -> int | None:
    return None if positive is None else classifier.classes_.tolist().index(positive)


def _offsets(classifier: KnownTotalsClassifier, groups: Groups) -> Floats:
    """Return what is added to log-probabilities for labels, for each group."""
    known = getattr(classifier, "group_offsets_", {})
    return np.array([known.get(name, classifier.offsets_) for name in groups.names])


def _priors(classifier: KnownTotalsClassifier, groups: Groups) -> Floats:
    """Return what is added to log-probabilities for confidences, for each group."""
    known = getattr(classifier, "_group_proba_offsets", {})
    return np.array([known.get(name, classifier._proba_offsets) for name in groups.names])


def _taken(scored: Scored, codes: NDArray[Any]) -> Scored:
    return Scored(*(values[codes] for values in scored))


def _joined(parts: list[Scored]) -> Scored:
    return Scored(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _gathered(
    n_rows: int, score: Callable[[slice], Scored], reading: Sequence[Floats] = ()
) -> Scored:
    """Score all rows, a block at a time; many of them are kept in files, as is what is read."""
    kinds = (np.int32, np.float64, np.float64)
    columns = [large_array((n_rows,), kind) for kind in kinds]
    for part in row_blocks(n_rows, reading=[*columns, *reading]):
        for column, values in zip(columns, score(part), strict=True):
            column[part] = values
    return Scored(*columns)


LABEL = "label"
ADDED = (LABEL, "score", "confidence")
"""Columns that an output has on top of those that name the rows."""


class AddedColumn(NamedTuple):
    """A column that an output has on top of those that name the rows.

    Parameters
    ----------
    name : str
        Its name.
    values : ndarray
        An entry per row, in the order of the population.
    table : ndarray, optional
        What the entries stand for, if they are numbers of it.
    """

    name: str
    values: Any
    table: Any = None

    def cells(self, values: Any) -> Any:
        """Return what some of the values stand for."""
        return np.asarray(values) if self.table is None else self.table[np.asarray(values)]


@dataclass(frozen=True, eq=False)
class Predictions:
    """Rows with added columns; iterating reads them part by part, again and again.

    Parameters
    ----------
    rows : Population
        The rows.
    shown : list of str
        The columns that name a row; without, the first added one does.
    added : list of AddedColumn
        What is added.

    Examples
    --------
    >>> from c2rf.data.population import Memory
    >>> rows = Memory(pd.DataFrame({"id": ["a", "b"]}))
    >>> label = AddedColumn("label", np.array([1, 0]), np.array(["no", "yes"]))
    >>> Predictions(rows, ["id"], [label]).frame()["label"].tolist()
    ['yes', 'no']
    """

    rows: Population
    shown: list[str]
    added: list[AddedColumn]

    def __iter__(self) -> Iterator[pd.DataFrame]:
        for chunk in self.rows.chunks(self._read):
            part = slice(chunk.start, chunk.start + chunk.data.shape[0])
            yield self._table(chunk, *(column.values[part] for column in self.added))
            for column in self.added:
                release(column.values)

    def __len__(self) -> int:
        return len(self.added[0].values)

    @property
    def counts(self) -> list[tuple[Any, int]]:
        """The classes, and how many rows got each as their label."""
        label = next(column for column in self.added if column.name == LABEL)
        found = np.bincount(label.values, minlength=len(label.table)).tolist()
        return list(zip(label.table, found, strict=True))

    def frame(self) -> pd.DataFrame:
        """Return all rows at once."""
        return pd.concat(list(self), ignore_index=True)

    def save(self, path: Path, *, force: bool = False) -> None:
        """Write all rows; nothing is there before all of it is."""
        if is_folder(path):
            self.write(path, force=force)
            return
        with atomic_output(path, force=force) as temporary:
            self.write(temporary)

    def write(self, path: Path, *, force: bool = False, spreadsheet_safe: bool = False) -> int:
        """Write all rows to a place that was checked before.

        Returns
        -------
        int
            How many cells of a text file a spreadsheet would run as a formula.
        """
        if is_folder(path):
            PARQUET.check_package(path)
            with atomic_folder(path, force=force) as folder:
                aligned = [column.values for column in self.added]
                work = partial(_write_part, folder, self._without_values())
                self.rows.reduce(work, _first, self._read, aligned=aligned)
            return 0
        with TableWriter(path, self._dialect(), spreadsheet_safe=spreadsheet_safe) as writer:
            for part in self:
                writer.write(part)
        return writer.n_formulas

    @property
    def _read(self) -> list[str]:
        return self.shown or (self.rows.names or [])[:1]

    def _table(self, chunk: Chunk, *values: Any) -> pd.DataFrame:
        """Return the rows of a chunk with the added columns, given their values there."""
        made = {
            column.name: column.cells(own) for column, own in zip(self.added, values, strict=True)
        }
        table = as_pandas(chunk.data)[self.shown].reset_index(drop=True)
        return pd.concat([table, pd.DataFrame(made)], axis="columns")

    def _without_values(self) -> Predictions:
        """Return what a worker needs, who gets the values of its own rows."""
        light = [column._replace(values=()) for column in self.added]
        return replace(self, rows=Memory(np.empty((0, 0))), added=light)

    def _dialect(self) -> Dialect | None:
        """Return how the input is written; with classes that it cannot say, as UTF-8."""
        dialect = self.rows.dialect
        if dialect is None:
            return None
        texts = [map(str, column.table) for column in self.added if column.table is not None]
        try:
            "".join(chain.from_iterable(texts)).encode(dialect.encoding)
        except UnicodeEncodeError:
            return replace(dialect, encoding="utf-8-sig")
        return dialect


def label_columns(
    classes: Any, scored: Scored, sensitivity: Sensitivity | None = None
) -> list[AddedColumn]:
    """Return label, score and confidence of rows, and on which totals the labels hang."""
    added = [
        AddedColumn(LABEL, scored.codes, classes),
        AddedColumn("score", scored.scores),
        AddedColumn("confidence", scored.confidence),
    ]
    if sensitivity is not None:
        codes, kinds = sensitivity.codes, sensitivity.kinds
        added += [
            AddedColumn("robust", codes, kinds == ""),
            AddedColumn("sensitive_to", codes, kinds),
        ]
    return added


def shown_columns(names: list[str], id: str | None) -> list[str]:
    """Return the columns that name a row: the id, else all; none may be one that is added."""
    shown = [id] if id is not None else names
    refuse_taken(shown, ADDED)
    return shown


def refuse_taken(shown: Sequence[str], added: Sequence[str]) -> None:
    """Refuse columns that an output would have twice."""
    taken = [name for name in added if name in shown]
    if taken:
        raise InputError(
            f"the unlabeled table has a column {taken[0]!r}, which the output adds; rename it"
        )


def is_folder(path: Path) -> bool:
    """Return whether labels go to a folder of files: a name without an ending asks for that."""
    return not path.suffix


def _write_part(folder: Path, parts: Predictions, chunk: Chunk, *values: Any) -> None:
    """Write the rows of a chunk to a file whose name keeps the order."""
    path = folder / f"part-{chunk.start:012d}.parquet"
    parts._table(chunk, *values).to_parquet(path, index=False, engine="pyarrow")


def _first(results: Sequence[Any]) -> Any:
    return results[0]
