"""Rows by the pattern of their votes: counting patterns, finding them again, and their labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from c2rf._typing import Floats
from c2rf._validation import naming_missing
from c2rf.core.votes import PatternTable
from c2rf.ensembles.ensemble import Ensemble
from c2rf.estimators.rows import LabeledChunk
from c2rf.exceptions import InputError
from c2rf.population import Chunk, Population
from c2rf.population.blocks import BLOCK_ROWS
from c2rf.population.interface import CHANGED


@dataclass(eq=False)
class PatternRows:
    """The rows of a population by the number of their pattern, and what is known of patterns."""

    population: Population
    codes: Any
    pattern_labels: NDArray[Any]
    pattern_scores: Floats

    def labels(self) -> Any:
        """Return the class of each row."""
        return self._labels

    @cached_property
    def _labels(self) -> Any:
        return self.population.look_up(self.pattern_labels, self.codes)

    def chunks(self) -> Iterator[LabeledChunk]:
        """Yield labels and scores, a block of rows at a time."""
        codes = self.pattern_codes()
        for start in range(0, len(codes), BLOCK_ROWS):
            part = codes[start : start + BLOCK_ROWS]
            yield LabeledChunk(self.pattern_labels[part], self.pattern_scores[part])

    def pattern_codes(self) -> NDArray[Any]:
        """Return the number of the pattern of each row, here."""
        codes = self.codes
        return np.asarray(codes.compute()) if hasattr(codes, "compute") else codes


@dataclass(frozen=True, eq=False)
class Voter:
    """Fitted members, and the classifier that knows the names of the columns."""

    ensemble: Ensemble
    checker: Any
    n_jobs: int | None

    def words(self, X: Any, name: str) -> NDArray[np.uint64]:
        """Return the packed votes on checked data."""
        with naming_missing(self.checker, X, name):
            return self.ensemble.words(X, self.n_jobs)


@dataclass(frozen=True, eq=False)
class CountPatterns:
    """The work of counting the patterns of a chunk."""

    voter: Voter
    inverse: bool

    def __call__(self, chunk: Chunk) -> PatternTable:
        """Return the patterns of the chunk, with their counts."""
        words = self.voter.words(chunk.data, chunk.where)
        n_trees = len(self.voter.ensemble.members)
        return PatternTable.from_words(words, n_trees, inverse=self.inverse)


@dataclass(frozen=True, eq=False)
class FindPattern:
    """The work of finding the pattern of each row of a chunk."""

    voter: Voter
    table: PatternTable

    def __call__(self, chunk: Chunk) -> NDArray[np.int32]:
        """Return the number of the pattern of each row."""
        index = self.table.lookup_words(self.voter.words(chunk.data, chunk.where))
        if len(index) and index.min() < 0:
            raise InputError(f"{chunk.where} has votes that were not counted: {CHANGED}")
        return index.astype(np.int32)
