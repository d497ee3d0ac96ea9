"""Rows of a population with their labels, and what classifiers tell about them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from c2rf._typing import Floats
from c2rf.exceptions import InputError
from c2rf.population import Memory, Population
from c2rf.population.blocks import row_blocks


class LabeledChunk(NamedTuple):
    """The labels of some rows of a population, in their order.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,)
        The class of each row.
    scores : ndarray of shape (n_rows,) or (n_rows, n_classes)
        The weighted vote on each row, or its probabilities.
    """

    labels: NDArray[Any]
    scores: Floats


@dataclass(eq=False)
class LabeledRows(ABC):
    """Rows by a number each, and the class that each number stands for.

    Parameters
    ----------
    population : Population
        Where the rows are.
    table : ndarray
        The class that a number stands for.
    codes : ndarray of int, or a lazy collection where the rows are computed elsewhere
        The number of each row.
    """

    population: Population
    table: NDArray[Any]
    codes: Any

    def __post_init__(self) -> None:
        if isinstance(self.population, Memory):  # the table has served, and need not be kept
            self.population = Memory(np.empty((self.population.n_rows or 0, 0)))

    @cached_property
    def labels(self) -> Any:
        """The class of each row, lazily where the rows are computed elsewhere."""
        return self.population.look_up(self.table, self.codes)

    @cached_property
    def codes_here(self) -> NDArray[Any]:
        """The number of each row, as an array."""
        return np.asarray(self.codes.compute() if hasattr(self.codes, "compute") else self.codes)

    @abstractmethod
    def scores_of(self, rows: slice) -> Floats:
        """Return the scores of some rows."""

    def chunks(self) -> Iterator[LabeledChunk]:
        """Yield labels and scores, a block of rows at a time."""
        for rows in row_blocks(len(self.codes_here)):
            yield LabeledChunk(self.table[self.codes_here[rows]], self.scores_of(rows))


class PopulationLabels:
    """Adds to a classifier the labels of the rows it was fitted to.

    ``fit`` sets ``_rows``. The population stays where it is: copies of a classifier and its files
    do not know it, because files may move and open ones cannot be stored.
    """

    _rows: Any  # LabeledRows of a kind that the classifier knows

    def label_chunks(self) -> Iterator[LabeledChunk]:
        """Yield the labels of the population, a part at a time.

        For a population outside of memory, where all labels at once (``transduction_``) would be
        too much. The labels are the same.

        Yields
        ------
        LabeledChunk
            ``labels`` (classes) and ``scores`` of some rows.

        Examples
        --------
        >>> from c2rf import C2RFClassifier
        >>> from c2rf.datasets import make_twonorm
        >>> X, y = make_twonorm(400, random_state=0)
        >>> classifier = C2RFClassifier(n_estimators=5, random_state=0)
        >>> population = [X[100:200], X[200:]]  # or "population.parquet"
        >>> _ = classifier.fit(X[:100], y[:100], X_unlabeled=population, n_positive=0.5)
        >>> sum(int(chunk.labels.sum()) for chunk in classifier.label_chunks())
        151
        """
        check_is_fitted(self)
        if "_rows" not in self.__dict__:
            raise InputError(
                "there is no population to label: only the classifier that was fitted to one "
                "knows it, not its copies and files; use predict, or fit again"
            )
        return self._rows.chunks()

    @property
    def transduction_(self) -> Any:
        """The class of each unlabeled row, in their order.

        An array; of a Dask collection a lazy one that is aligned with it.
        """
        return self._known_rows("transduction_").labels

    def _known_rows(self, name: str) -> Any:
        """Return the rows that a fit with totals has labeled; ``name`` was asked for."""
        if "_rows" not in self.__dict__:
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}: it was not fitted to "
                "a population with known totals"
            )
        return self._rows

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())  # type: ignore[call-overload]
        if "_rows" in state and not isinstance(state["_rows"].population, Memory):
            del state["_rows"]
        for name in ("_imputer", "_imputed"):  # they know the rows
            state.pop(name, None)
        return state
