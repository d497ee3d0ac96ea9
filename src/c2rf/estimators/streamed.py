"""Populations that come in chunks: each chunk checked as data in memory is, and named.

What is found for the patterns of a population is looked up where its points are: a chunk of points
becomes a chunk of packed votes, and these a chunk of labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from c2rf.distributed import Partitions
from c2rf.estimators.checked import CHANGED, Checked, checked_chunks
from c2rf.estimators.partitioned import label_partitions
from c2rf.exceptions import InputError
from c2rf.sources import Source
from c2rf.votes import PatternTable


class LabeledChunk(NamedTuple):
    """The labels of some rows of a population, in their order.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,)
        The class of each row.
    scores : ndarray of shape (n_rows,)
        What ``decision_function`` says of it.
    where : str
        Where the rows are, for messages.
    """

    labels: NDArray[Any]
    scores: NDArray[np.float64]
    where: str


@dataclass(frozen=True, eq=False)
class PatternLabels:
    """A label and a score for each pattern of a population.

    Examples
    --------
    >>> table = PatternTable.from_votes([[1, -1], [1, 1]])
    >>> known = PatternLabels(table, np.array(["no", "yes"]), np.array([-1.0, 3.0]))
    >>> known.look_up(np.array([[3], [1], [3]], dtype=np.uint64), "chunk 0").labels
    array(['yes', 'no', 'yes'], dtype='<U3')
    """

    table: PatternTable
    labels: NDArray[Any]
    scores: NDArray[np.float64]

    def look_up(self, words: NDArray[np.uint64], where: str) -> LabeledChunk:
        """Return the labels of points with these votes, packed."""
        index = self.table.lookup_words(words)
        if len(index) and index.min() < 0:
            raise InputError(f"{where} has votes that were not counted: {CHANGED}")
        return LabeledChunk(self.labels[index], self.scores[index], where)


@dataclass(frozen=True, eq=False)
class Stream:
    """A population in chunks that has been counted, and how to label a chunk of it."""

    source: Source
    n_points: int
    label: Callable[[Checked], LabeledChunk]


class InChunks:
    """Adds to a classifier the labels of a population in chunks, made when asked for.

    ``fit`` sets ``_stream``. A population stays where it is: copies of a classifier and its files
    do not know it, because files may move and open ones cannot be stored.
    """

    _stream: Stream

    def label_chunks(self) -> Iterator[LabeledChunk]:
        """Read the population once more, and yield its labels chunk by chunk.

        For a population given in chunks, where all labels at once (``transduction_``) would be
        too much. The labels are the same.

        Yields
        ------
        LabeledChunk
            ``labels`` (classes), ``scores`` (see ``decision_function``) and ``where`` the rows
            are, for each chunk with rows.

        Examples
        --------
        >>> from c2rf import C2RFClassifier
        >>> from c2rf.datasets import make_twonorm
        >>> X, y = make_twonorm(400, random_state=0)
        >>> classifier = C2RFClassifier(n_estimators=5, random_state=0)
        >>> population = [X[100:200], X[200:]]  # or "population.parquet"
        >>> _ = classifier.fit(X[:100], y[:100], X_unlabeled=population, n_positive=0.5)
        >>> [int(chunk.labels.sum()) for chunk in classifier.label_chunks()]
        [54, 97]
        """
        stream, n_labeled = self._known_stream(), 0
        for chunk in checked_chunks(self, stream.source):
            labeled = stream.label(chunk)
            n_labeled += len(labeled.labels)
            yield labeled
        if n_labeled != stream.n_points:
            raise InputError(
                f"{stream.n_points} rows were counted, but {n_labeled} were labeled: {CHANGED}"
            )

    def _known_stream(self) -> Any:
        check_is_fitted(self)
        if "_stream" not in self.__dict__:
            raise InputError(
                "there is no population in chunks: only the classifier that was fitted to one "
                "knows it, not its copies and files; use predict, or fit again"
            )
        return self._stream

    def __getattr__(self, name: str) -> Any:
        # Python asks only for what is not there.
        if name != "transduction_" or "_stream" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        population = self._stream.source
        if isinstance(population, Partitions):
            return label_partitions(self, population, self._stream.label)
        dtype = self.classes_.dtype
        self.transduction_ = _gathered(self.label_chunks(), self._stream.n_points, dtype)
        return self.transduction_

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        return {name: value for name, value in state.items() if name != "_stream"}


def _gathered(chunks: Iterator[LabeledChunk], n_points: int, dtype: Any) -> NDArray[Any]:
    """Return the labels of all chunks as one array, with no second copy of them."""
    labels = np.empty(n_points, dtype=dtype)
    start = 0
    for chunk in chunks:
        place = labels[start : start + len(chunk.labels)]
        place[:] = chunk.labels[: len(place)]  # too many rows are an error in the end
        start += len(chunk.labels)
    return labels
