"""Rows by the pattern of their votes: counting patterns, finding them again, and their labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from c2rf._typing import Floats
from c2rf._validation import naming_missing
from c2rf.core.votes import PatternTable
from c2rf.ensembles.ensemble import Ensemble
from c2rf.estimators.checked_rows import naming_chunk
from c2rf.estimators.labeled_rows import LabeledRows
from c2rf.exceptions import InputError
from c2rf.population import Chunk
from c2rf.population.interface import CHANGED


@dataclass(eq=False)
class PatternRows(LabeledRows):
    """The rows of a population by the number of their pattern.

    Parameters
    ----------
    scores : ndarray of shape (n_patterns,)
        The weighted vote of each pattern.
    """

    scores: Floats

    def scores_of(self, rows: slice) -> Floats:
        """Return the weighted votes of some rows."""
        return self.scores[self.codes_here[rows]]


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

    def count(self, chunk: Chunk, *, inverse: bool) -> PatternTable:
        """Return the patterns of a chunk, with their counts."""
        with naming_chunk(chunk):
            words = self.words(chunk.data, chunk.where)
        return PatternTable.from_words(words, len(self.ensemble.members), inverse=inverse)

    def find(self, table: PatternTable, chunk: Chunk) -> NDArray[np.int32]:
        """Return the number of the pattern of each row of a chunk."""
        with naming_chunk(chunk):
            index = table.lookup_words(self.words(chunk.data, chunk.where))
        if len(index) and index.min() < 0:
            raise InputError(f"{chunk.where} has votes that were not counted: {CHANGED}")
        return index.astype(np.int32)
