"""Label, score and confidence of rows, by a fitted classifier, and how they are written.

Rows are scored a block at a time. :class:`Predictions` adds the new columns to the rows: as
one frame, chunk by chunk, or in a file. A name without an ending is a folder of Parquet files;
they are written where the rows are, on a cluster by its workers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import softmax

from c2rf._utils.frames import as_pandas
from c2rf._utils.text import count, percent
from c2rf._utils.types import Codes, Floats
from c2rf.assignment import log_scores
from c2rf.data.atomic import atomic_output, check_output, scratch_folder
from c2rf.data.dialect import Dialect
from c2rf.data.formats import PARQUET
from c2rf.data.population.duckdb import check_table, is_database_table, store_table
from c2rf.data.population.interface import (
    BLOCK_ROWS,
    Chunk,
    KeptArray,
    Population,
    large_array,
    release,
    row_blocks,
)
from c2rf.data.population.memory import Memory
from c2rf.data.population.spark import SparkArray
from c2rf.data.write import TableWriter, check_size, check_texts, check_writable
from c2rf.estimators.c2rf import C2RFClassifier
from c2rf.estimators.known_totals import KnownTotalsClassifier
from c2rf.exceptions import InputError
from c2rf.totals.groups import Groups

LABEL, SCORE, CONFIDENCE = PREDICTED = ("label", "score", "confidence")
"""Columns that a classification adds to the rows."""

MOST_SCORE = 100.0
"""Scores are clipped to plus and minus this: log-odds of 100 are certain."""

UNKNOWN = -1
"""The code of a row whose class is not known."""

Columns = tuple[NDArray[Any], Floats, Floats]
"""Of each row the code of its label, its score, and the confidence of the label."""


class Accuracy(NamedTuple):
    """How many labels are right, of how many rows whose class is known."""

    right: int
    known: int
    target: str

    def __str__(self) -> str:
        """Say it.

        Examples
        --------
        >>> str(Accuracy(3, 4, "sick"))
        "75.0 % of the labels are right, by the 4 rows whose 'sick' is filled in"
        """
        rows = count(self.known, "row")
        share = percent(self.right / self.known)
        return f"{share} of the labels are right, by the {rows} whose {self.target!r} is filled in"


@dataclass(frozen=True, eq=False)
class Predictions:
    """Rows with added columns; iterating reads them chunk by chunk, again and again.

    Of two classes, positive scores predict the positive one. Of more, the score is how far the
    label is ahead of the next best class.

    Parameters
    ----------
    rows : Population
        The rows.
    shown : list of str
        The columns that name a row; without, the first added one does.
    added : mapping of str to ndarray
        The added columns, an entry per row.
    meanings : mapping of str to ndarray
        For added columns that hold codes: what each code stands for.

    Examples
    --------
    >>> from c2rf.data.population.memory import Memory
    >>> rows = Memory(pd.DataFrame({"id": ["a", "b"]}))
    >>> classes = np.array(["no", "yes"])
    >>> found = Predictions(rows, ["id"], {"label": np.array([1, 0])}, {"label": classes})
    >>> found.frame()["label"].tolist()
    ['yes', 'no']
    """

    rows: Population
    shown: list[str]
    added: Mapping[str, Any]
    meanings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def codes(self) -> NDArray[Any]:
        """The code of each label."""
        codes: NDArray[Any] = self.added[LABEL]
        return codes

    @property
    def scores(self) -> Floats:
        """The score of each row."""
        scores: Floats = self.added[SCORE]
        return scores

    @property
    def confidence(self) -> Floats:
        """How sure each label is: a probability, or the share of the weight of trees."""
        confidence: Floats = self.added[CONFIDENCE]
        return confidence

    @property
    def counts(self) -> list[tuple[Any, int]]:
        """The classes, and how many rows got each as their label."""
        classes = self.meanings[LABEL]
        count_codes = (
            self.codes.bincount
            if isinstance(self.codes, KeptArray)
            else partial(np.bincount, self.codes)
        )
        return list(zip(classes, count_codes(minlength=len(classes)).tolist(), strict=True))

    def accuracy(self, truth: Codes | None, target: str) -> Accuracy | None:
        """Count the labels that are right, by the codes of the classes that are known."""
        if truth is None:
            return None
        known = truth != UNKNOWN
        return Accuracy(int((truth == self.codes)[known].sum()), int(known.sum()), target)

    def __len__(self) -> int:
        return len(next(iter(self.added.values())))

    def __iter__(self) -> Iterator[pd.DataFrame]:
        added = [np.asarray(v) if isinstance(v, KeptArray) else v for v in self.added.values()]
        for chunk in self.rows.chunks(self._read):
            here = slice(chunk.start, chunk.start + chunk.data.shape[0])
            yield self._table(chunk, *(values[here] for values in added))
            for values in added:
                release(values)

    def frame(self) -> pd.DataFrame:
        """Return all rows at once."""
        return pd.concat(list(self), ignore_index=True)

    def save(
        self, path: Path, *, force: bool = False, spreadsheet_safe: bool = False
    ) -> Counter[str]:
        """Write all rows; nothing is there before all of it is. See :meth:`write`."""
        if is_database_table(path):
            return self.write(path, force=force)
        check_size(path, len(self), len(self.shown) + len(self.added))
        with atomic_output(path, force=force, as_folder=is_folder(path)) as temporary:
            return self.write(temporary, spreadsheet_safe=spreadsheet_safe)

    def write(
        self, path: Path, *, force: bool = False, spreadsheet_safe: bool = False
    ) -> Counter[str]:
        """Write all rows to a place that was checked before.

        Returns
        -------
        Counter
            The ``cautions`` of a :class:`TableWriter`.
        """
        if is_database_table(path):
            with scratch_folder() as folder:
                parquet = folder / "labels.parquet"
                self.write(parquet)
                self.rows.close()  # a database is open to read, or to write
                store_table(path, parquet, force=force)
            return Counter()
        if is_folder(path):
            PARQUET.check_package(path)
            # A worker gets the values of its own rows.
            light = dict.fromkeys(self.added, ())
            empty = replace(self, rows=Memory(np.empty((0, 0))), added=light)
            work = partial(_write_chunk, path, empty)
            aligned = list(self.added.values())
            self.rows.reduce(work, lambda results: None, self._read, aligned=aligned)
            return Counter()
        with TableWriter(path, self._dialect(), spreadsheet_safe=spreadsheet_safe) as writer:
            for table in self:
                writer.write(table)
        return writer.cautions

    @property
    def _read(self) -> list[str]:
        return self.shown or (self.rows.names or [])[:1]

    def _table(self, chunk: Chunk, *values: Any) -> pd.DataFrame:
        """Return the rows of a chunk with the added columns, given their values there."""
        made = {
            name: self.meanings[name][np.asarray(own)] if name in self.meanings else np.asarray(own)
            for name, own in zip(self.added, values, strict=True)
        }
        table = as_pandas(chunk.data)[self.shown].reset_index(drop=True)
        return pd.concat([table, pd.DataFrame(made)], axis="columns")

    def _dialect(self) -> Dialect | None:
        """Return how the input is written; with classes that its encoding lacks, as UTF-8."""
        dialect = self.rows.dialect
        if dialect is None:
            return None
        texts = chain.from_iterable(map(str, each) for each in self.meanings.values())
        try:
            "".join(texts).encode(dialect.encoding)
        except UnicodeEncodeError:
            return replace(dialect, encoding="utf-8-sig")
        return dialect


def _write_chunk(folder: Path, predictions: Predictions, chunk: Chunk, *values: Any) -> None:
    """Write the rows of a chunk to a file whose name keeps the order."""
    path = folder / f"part-{chunk.start:012d}.parquet"
    with TableWriter(path) as writer:
        writer.write(predictions._table(chunk, *values))


def is_folder(path: Path) -> bool:
    """Return whether labels go to a folder of files: the name has no ending."""
    return not path.suffix


def check_labels_name(path: Path, *, force: bool = False, inputs: Sequence[Path] = ()) -> None:
    """Refuse a name for labels that cannot or should not be written."""
    if is_database_table(path):
        check_table(path, force=force)
    else:
        check_output(path, force=force, inputs=inputs, as_folder=is_folder(path))
        for other in path.iterdir() if path.is_dir() else ():
            if not re.fullmatch(r"part-\d+\.parquet", other.name):
                raise InputError(
                    f"{path} is a folder that holds other things than labels, such as "
                    f"{other.name}; choose another name"
                )
        is_named = not path.name.startswith(".")  # not just by an ending
        (PARQUET.check_package if is_folder(path) and is_named else check_writable)(path)


def check_shown(path: Path | None, rows: Population, shown: list[str]) -> None:
    """Refuse, before any work is done, longer texts than a format holds."""
    if path is not None:
        check_texts(path, (as_pandas(chunk.data)[shown] for chunk in rows.chunks(shown)))


def shown_columns(names: list[str], id: str | None, added: Sequence[str] = PREDICTED) -> list[str]:
    """Return the columns that name a row, the id or else all; refuse names of added columns."""
    shown = [id] if id is not None else names
    for name in added:
        if name in shown:
            raise InputError(
                f"the unlabeled table has a column {name!r}, which the output adds; rename it"
            )
    return shown


def score_unlabeled(classifier: Any, positive: str | None) -> Columns:
    """Score the rows that a classifier was fitted to; their labels meet the totals."""
    rows = classifier._rows
    if isinstance(classifier, C2RFClassifier):
        votes, patterns = _by_votes(classifier, rows.scores), rows.codes_here
        return _gathered(len(patterns), lambda part: tuple(v[patterns[part]] for v in votes))
    groups, probabilities = rows.problem.groups, classifier.transduction_proba_
    offsets = groups.look_up(getattr(classifier, "group_offsets_", {}), classifier.offsets_)
    work = partial(_score_block, rows.floor, offsets, _place(classifier, positive))
    if isinstance(rows.scores, KeptArray):
        own = [groups.codes] if len(offsets) > 1 else []
        beside = map(rows.scores.aligned, [probabilities, rows.codes, *own])
        table = rows.scores.map(partial(_as_table, work), np.empty((0, 3)), *beside)
        kept: Any = [
            table.map(partial(_column_of, k, kind), np.empty(0, kind))
            for k, kind in enumerate((np.int32, float, float))
        ]
        # A session of Spark lasts as long as the process does; a cluster of Dask may be left.
        return tuple(kept if isinstance(table, SparkArray) else map(np.asarray, kept))

    def score(part: slice) -> Columns:
        codes, known = np.asarray(rows.codes_here[part]), rows.problem.known
        known = None if known is None else known[part]
        return work(rows.scores[part], probabilities[part], codes, groups.codes[part], known)

    return _gathered(len(rows.scores), score, reading=[rows.scores, probabilities])


def _score_block(
    floor: float,
    offsets: Floats,
    positive: int | None,
    scores: Floats,
    probabilities: Floats,
    codes: Codes,
    groups: Any = 0,
    known: Codes | None = None,
) -> Columns:
    # Each score is from a model that was not trained on that row's label.
    shifted = log_scores(scores, floor) + offsets[groups]
    if known is not None:  # certain
        certain = np.flatnonzero(known >= 0)
        shifted[certain] = -np.inf
        shifted[certain, codes[certain]] = 0.0
    return by_probabilities(shifted, probabilities, codes, positive)


def _as_table(work: Callable[..., Columns], start: int, *arrays: Any) -> Floats:
    return np.column_stack(work(*arrays))


def _column_of(number: int, kind: Any, start: int, table: Floats) -> NDArray[Any]:
    return table[:, number].astype(kind)


def score_rows(classifier: Any, X: Population, groups: Groups, positive: str | None) -> Columns:
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
        return _joined([_by_votes(classifier, decision) for decision in blocks])
    if not isinstance(classifier, KnownTotalsClassifier):
        raise InputError(f"{type(classifier).__name__} is not a classifier of c2rf")
    place = _place(classifier, positive)
    return _joined(
        [
            by_probabilities(shifted, probabilities, shifted.argmax(axis=1), place)
            for shifted, probabilities in shifted_and_probabilities(classifier, X, groups)
        ]
    )


def shifted_and_probabilities(
    classifier: Any, X: Population, groups: Groups
) -> Iterator[tuple[Floats, Floats]]:
    """Yield what decides labels of any rows, and their probabilities, a block at a time."""
    if not isinstance(classifier, KnownTotalsClassifier):
        raise InputError(f"{type(classifier).__name__} gives no probabilities")
    if hasattr(classifier, "group_offsets_"):
        groups.warn_of_new(classifier.group_offsets_)
    offsets = groups.look_up(getattr(classifier, "group_offsets_", {}), classifier.offsets_)
    priors = groups.look_up(
        getattr(classifier, "_group_proba_offsets", {}), classifier._proba_offsets
    )
    start = 0
    for table in X.blocks(classifier.estimator_.predict_proba, BLOCK_ROWS):
        own = groups.codes[start : start + len(table)]
        logs = log_scores(table, classifier._floor)
        start += len(table)
        calibrated = classifier.inverse_temperature_ * logs + priors[own]
        yield logs + offsets[own], softmax(calibrated, axis=1)


def _by_votes(classifier: C2RFClassifier, decision: Floats) -> Columns:
    """Score by the weighted vote; the confidence is the share of the weight for the label."""
    second_is_positive = bool(classifier.classes_[1] == classifier.pos_label_)
    scores = decision if second_is_positive else -decision
    vote = (scores - classifier.offset_) / classifier.weights_.sum()
    is_positive = scores > 0
    confidence = np.clip((1 + np.where(is_positive, vote, -vote)) / 2, 0, 1)
    codes = (is_positive == second_is_positive).astype(np.intp)
    return codes, scores, confidence


def by_probabilities(
    shifted: Floats, probabilities: Floats, codes: Codes, positive: int | None
) -> Columns:
    """Score by the distance to the next best class; the confidence is the label's probability."""
    rows = np.arange(len(shifted))
    others = shifted.copy()
    others[rows, codes] = -np.inf
    ahead = np.clip(shifted[rows, codes] - others.max(axis=1), -MOST_SCORE, MOST_SCORE)
    if positive is not None:
        ahead = np.where(codes == positive, ahead, -ahead)
    return codes, ahead, probabilities[rows, codes]


def _place(classifier: Any, positive: str | None) -> int | None:
    return None if positive is None else classifier.classes_.tolist().index(positive)


def _joined(parts: Sequence[Columns]) -> Columns:
    codes, scores, confidence = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return codes, scores, confidence


def _gathered(
    n_rows: int, score: Callable[[slice], tuple[Any, ...]], reading: Sequence[Floats] = ()
) -> Columns:
    """Score all rows, a block at a time; many of them are kept in files, as is what is read."""
    codes, scores, confidence = columns = (
        large_array((n_rows,), np.int32),
        large_array((n_rows,), np.float64),
        large_array((n_rows,), np.float64),
    )
    for part in row_blocks(n_rows, reading=[*columns, *reading]):
        for column, values in zip(columns, score(part), strict=True):
            column[part] = values
    return codes, scores, confidence
