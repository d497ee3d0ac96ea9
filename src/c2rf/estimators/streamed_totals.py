"""Known totals of a population in chunks.

Chunks are read twice. First a sample of bounded size is drawn, and the classifier is refined on it
as on a population in memory, with totals in proportion. Then all points are given probabilities,
which are kept in a temporary file, and labeled exactly as in memory. Who is in the sample and who
wins a tie depends on row numbers and the seed, not on how the population is cut into chunks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from c2rf.distributed import Partitions
from c2rf.distributed.partitions import partition_name
from c2rf.estimators.blocks import BLOCK_ROWS, blocks, on_disk, plain, release, stacked
from c2rf.estimators.checked import CHANGED, checked_chunks
from c2rf.estimators.known import Known
from c2rf.estimators.partitioned_totals import count_rows, draw_rows, place_labels, score_blocks
from c2rf.estimators.streamed import InChunks, LabeledChunk
from c2rf.exceptions import InputError
from c2rf.problem import Floats
from c2rf.sources import Source
from c2rf.transport import log_scores, zero_floor
from c2rf.transport.large import sample_bounds

MOST_SAMPLED = 100_000
"""A population in chunks of no more points is taken into memory; of a larger one, so many."""

_MOST_CELLS = 1 << 25

Rows = NDArray[np.int64]


class Sample(NamedTuple):
    """Points of a population in chunks, and what was counted on the way.

    Parameters
    ----------
    data : array or frame
        The points drawn, in the order of the population.
    rows : ndarray of int
        Their row numbers.
    chunks : list of (str, int)
        What each chunk is called, and its number of rows.
    """

    data: Any
    rows: Rows
    chunks: list[tuple[str, int]]

    @property
    def n_points(self) -> int:
        """Number of points of the population."""
        return sum(size for _, size in self.chunks)

    @property
    def is_all(self) -> bool:
        """Whether every point was drawn."""
        return len(self.rows) == self.n_points


def draw(classifier: Any, source: Source, seed: int) -> Sample:
    """Read a population once, and draw points without replacement.

    Every row gets a random number, and those with the smallest are kept.
    """
    most = max(1, min(MOST_SAMPLED, _MOST_CELLS // classifier.n_features_in_))
    key = [seed, 4]
    if isinstance(source, Partitions):
        data, rows = draw_rows(classifier, source, most, key)
        names = [f"X_unlabeled ({partition_name(k)})" for k in range(len(source.sizes))]
        return Sample(plain(data), rows, list(zip(names, source.sizes, strict=True)))
    rng = np.random.default_rng(key)
    kept = _Smallest(most)
    chunks = []
    for chunk in checked_chunks(classifier, source):
        size = chunk.data.shape[0]
        chunks.append((chunk.name, size))
        kept.add(rng.random(size), chunk.start, chunk.data)
    rows, data = kept.gathered()
    return Sample(plain(data), rows, chunks)


class _Smallest:
    """The rows with the smallest numbers so far, and not many others."""

    def __init__(self, most: int) -> None:
        self.most, self.size = most, 0
        self.parts: list[tuple[Floats, Rows, Any]] = []

    def add(self, numbers: Floats, start: int, data: Any) -> None:
        """Take the rows of a chunk."""
        self.parts.append((numbers, start + np.arange(len(numbers)), data))
        self.size += len(numbers)
        if self.size > 2 * self.most:
            self._prune()

    def gathered(self) -> tuple[Rows, Any]:
        """Return the row numbers and the rows."""
        self._prune()
        _, rows, tables = zip(*self.parts, strict=True)
        return np.concatenate(rows), stacked(list(tables))

    def _prune(self) -> None:
        if self.size <= self.most:
            return
        numbers = np.concatenate([part[0] for part in self.parts])
        limit = np.partition(numbers, self.most)[self.most]
        pruned = []
        for own, rows, data in self.parts:
            among = np.flatnonzero(own < limit)
            pruned.append((own[among], rows[among], _safe_indexing(data, among)))
        self.parts = [part for part in pruned if len(part[0])]
        self.size = sum(len(part[0]) for part in self.parts)


def score(classifier: Any, source: Source, n_points: int) -> Floats:
    """Read a population once, and return the probabilities of its points, in a temporary file."""
    model = classifier.estimator_
    table = on_disk((n_points, len(classifier.classes_)))
    if isinstance(source, Partitions):
        for start, probabilities in score_blocks(classifier, source):
            table[start : start + len(probabilities)] = probabilities
            release(table)
        return table
    n_read = 0
    for start, rows in blocks(checked_chunks(classifier, source)):
        n_read = start + rows.shape[0]
        if n_read <= n_points:
            table[start:n_read] = model.predict_proba(rows)
            release(table)
    if n_read != n_points:
        raise InputError(f"{n_points} rows were counted, but {n_read} are to be labeled: {CHANGED}")
    return table


def logarithms(table: Floats, floor: float) -> Floats:
    """Return the scores of probabilities in a file, in another one."""
    logs = on_disk(table.shape)
    for start in range(0, len(table), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        logs[rows] = log_scores(table[rows], floor)
        release(table)
        release(logs)
    return logs


@dataclass(frozen=True, eq=False)
class LabeledStream:
    """A population in chunks whose labels are known: a small number for each point."""

    source: Source
    chunks: list[tuple[str, int]]
    codes: NDArray[Any]
    scores: Floats

    @property
    def n_points(self) -> int:
        """Number of points."""
        return len(self.codes)


class TotalsInChunks(InChunks):
    """Adds to a classifier the labels of a population in chunks, kept as numbers of classes."""

    _stream: LabeledStream  # type: ignore[assignment]

    def label_chunks(self) -> Iterator[LabeledChunk]:
        """Yield the labels of a population in chunks, chunk by chunk, without reading it again.

        Yields
        ------
        LabeledChunk
            ``labels`` (classes), ``scores`` (rows of ``scores_``) and ``where`` the rows are, for
            each chunk with rows.

        Examples
        --------
        >>> from c2rf import KnownTotalsClassifier
        >>> from c2rf.datasets import make_twonorm
        >>> X, y = make_twonorm(400, random_state=0)
        >>> classifier = KnownTotalsClassifier(random_state=0)
        >>> population = [X[100:200], X[200:]]  # or "population.parquet"
        >>> _ = classifier.fit(X[:100], y[:100], X_unlabeled=population, totals={1: 140})
        >>> sum(int(chunk.labels.sum()) for chunk in classifier.label_chunks())
        140
        """
        stream, start = self._known_stream(), 0
        for name, size in stream.chunks:
            if size == 0:
                continue
            rows = slice(start, start + size)
            labels = self.classes_[stream.codes[rows]]
            yield LabeledChunk(labels, np.asarray(stream.scores[rows]), name)
            start += size

    def _fit_in_chunks(
        self, template: Any, X: Any, y: NDArray[Any], source: Source, known: Known, seed: int
    ) -> None:
        """Meet the totals of points that come in chunks; few of them are taken into memory."""
        known = known.grouped_by(source)
        if isinstance(source, Partitions):
            source = count_rows(source)
        sample = draw(self, source, seed)
        if sample.is_all:
            self._fit_in_memory(template, X, y, sample.data, known, seed)
            codes = np.searchsorted(self.classes_, self.transduction_)
            if isinstance(source, Partitions):
                del self.transduction_
            self._stream = LabeledStream(source, sample.chunks, codes, self.scores_)
            return
        names, groups, bounds = known.bounds(self.classes_, sample.n_points, self.totals_policy)
        drawn = groups[sample.rows]
        small, codes, _ = sample_bounds(bounds, drawn)
        self._rank(template, X, y, sample.data, codes, small, seed)
        table = score(self, source, sample.n_points)
        if any(entry["taken"] for entry in self.history_[1:]):
            table[sample.rows] = self.scores_  # not what the model says of its own points
        del self.scores_
        self._floor = zero_floor(table)
        found = self._meet(logarithms(table, self._floor), names, groups, bounds, seed)
        self._calibrate(sample.data, names, drawn, found.counts)
        self._stream = LabeledStream(source, sample.chunks, found.labels, table)

    def __getattr__(self, name: str) -> Any:
        stream = self.__dict__.get("_stream")
        if name == "scores_" and stream is not None:
            return stream.scores
        if name == "transduction_" and stream and isinstance(stream.source, Partitions):
            return place_labels(self.classes_, stream.codes, stream.source)
        return super().__getattr__(name)
