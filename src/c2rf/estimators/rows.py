"""The unlabeled rows as a classifier sees them, and what it tells about them.

The unlabeled rows as a classifier sees them: every chunk checked as data in memory is.

Chunks are checked where they are, so what is wrong names the chunk. This is the only way in which
classifiers look at a population, wherever its rows are.

What is known of each unlabeled row beside its columns: its group, and its weight.

Rows of a population with their labels, and what classifiers tell about them.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from c2rf._utils.frames import as_pandas, kinds_of, names_of
from c2rf._utils.types import Columns, Floats
from c2rf._utils.validation import check_data, takes_only_numbers
from c2rf.data.population import as_population
from c2rf.data.population.interface import Chunk, Merge, Population, Transformed, Work, row_blocks
from c2rf.data.population.memory import Memory
from c2rf.exceptions import C2RFError, InputError
from c2rf.totals.bounds import Bounds
from c2rf.totals.groups import Groups, check_columns, grouping_columns, read_groups, read_weights
from c2rf.totals.stated import Totals

Kinds = dict[str, tuple[str, str]]
"""For each column of frames what it holds, and where that was seen first."""


class CheckedRows(Transformed):
    """A population whose chunks are arrays of numbers, or frames where the ensemble takes them.

    ``rows`` is the population, ``checker`` a classifier whose columns it must have.
    """

    checker: Any

    @classmethod
    def of(cls, classifier: Any, X_unlabeled: Any, extra: Sequence[str] = ()) -> Self:
        """Return what the user gave as the unlabeled rows; ``extra`` columns may be there, too."""
        population = as_population(X_unlabeled)
        if population.names is not None:
            check_columns(extra, population.names, "X_unlabeled")
        columns = [str(name) for name in getattr(classifier, "feature_names_in_", ())] or None
        if isinstance(population, Memory):
            table = _without(extra, population.table, columns)
            population = Memory(check_data(classifier, table, name="X_unlabeled"))
            columns = columns if population.names is not None else None
        checker = copy.copy(classifier)
        for name in ("_rows", "_ensemble", "estimator_", "estimators_", "_imputer", "_imputed"):
            checker.__dict__.pop(name, None)  # an earlier fit is nothing to send around
        rows = cls(population, partial(_check, checker), columns)
        rows.checker = checker
        return rows

    def reduce(
        self, work: Work, merge: Merge, columns: Columns = None, aligned: Sequence[Any] = ()
    ) -> Any:
        """Do the work with every chunk; a column must hold the same kind of data in all."""
        if takes_only_numbers(self.checker.estimator):
            return super().reduce(work, merge, aligned=aligned)
        first, then = partial(_with_kinds, work), partial(_merge_kinds, merge)
        return super().reduce(first, then, aligned=aligned)[0]


@contextmanager
def naming_chunk(chunk: Chunk) -> Iterator[None]:
    """Name the chunk where a member complains of what it finds there."""
    try:
        yield
    except C2RFError:
        raise
    except (TypeError, ValueError) as error:
        raise InputError(f"{chunk.where}: {error}") from error


def _without(extra: Sequence[str], table: Any, columns: Sequence[str] | None) -> Any:
    """Return a table without the extra columns that are not learned from."""
    unknown = [name for name in extra if columns is not None and name not in columns]
    if not unknown or names_of(table) is None:
        return table
    return table[[name for name in table.columns if name not in unknown]]


def _check(checker: Any, chunk: Chunk) -> Chunk:
    if not chunk.where:  # a table in memory was checked as a whole
        return chunk._replace(where="X_unlabeled")
    name = f"X_unlabeled ({chunk.where})"
    return Chunk(check_data(checker, chunk.data, name=name), name, chunk.start)


def _with_kinds(work: Work, chunk: Chunk, *aligned: Any) -> tuple[Any, Kinds]:
    """Do the work, and see what columns of frames hold."""
    kinds = kinds_of(chunk.data) if names_of(chunk.data) is not None else {}
    return work(chunk, *aligned), {column: (kind, chunk.where) for column, kind in kinds.items()}


def _merge_kinds(merge: Merge, parts: Sequence[tuple[Any, Kinds]]) -> tuple[Any, Kinds]:
    results, kinds = zip(*parts, strict=True)
    return merge(list(results)), reduce(_same_kinds, kinds)


def _same_kinds(kinds: Kinds, more: Kinds) -> Kinds:
    """Put both together, and refuse a column that holds numbers here, something else there."""
    for column, (kind, where) in more.items():
        first, there = kinds.get(column, (kind, where))
        if kind != first:
            raise InputError(
                f"column {column!r} must be of one kind throughout; it holds {first} in {there}, "
                f"but {kind} in {where}"
            )
    return more | kinds


def grouping(totals: Totals | Bounds) -> tuple[str, ...]:
    """Return the names of the columns that totals are grouped by."""
    return () if isinstance(totals, Bounds) else tuple(map(str, totals.columns))


def find_groups(X_unlabeled: Any, totals: Totals | Bounds, given: Any, n_rows: int) -> Groups:
    """Return the groups that totals are about.

    Parameters
    ----------
    X_unlabeled : object
        What the user gave as the unlabeled rows: groups are columns of it, unless they are given.
    totals : Totals or Bounds
        Their grouping columns are looked up; bounds come with their groups.
    given : array-like, data frame, mapping, Groups or None
        ``unlabeled_groups``.
    n_rows : int
        Number of unlabeled rows.
    """
    if isinstance(given, Groups):
        return given
    assert isinstance(totals, Totals)
    columns = totals.columns
    if not columns:
        if given is not None:
            raise InputError(
                "unlabeled_groups was given, but totals has no table with columns of groups; give "
                "a table with the columns 'class', 'total' and those of the groups, or no groups"
            )
        return Groups.none(n_rows)
    if given is not None:
        found = read_groups(grouping_columns(given, columns), n_rows)
        return found._replace(columns=columns)
    names = [str(name) for name in columns]
    population = as_population(X_unlabeled)
    if population.names is None or None in columns:
        raise InputError(
            "totals has groups, but X_unlabeled has no columns with names to find them in; give "
            "the group of each row as unlabeled_groups"
        )
    check_columns(names, population.names, "X_unlabeled")
    return population.reduce(_groups_in, Groups.merged, names)._replace(columns=columns)


def find_weights(X_unlabeled: Any, given: Any, n_rows: int) -> Floats | None:
    """Return the weights of the unlabeled rows; a name is that of a column of ``X_unlabeled``."""
    if given is None:
        return None
    if not isinstance(given, str):
        return read_weights(given, n_rows)
    population = as_population(X_unlabeled)
    if population.names is None:
        raise InputError(
            f"unlabeled_weight is the name {given!r}, but X_unlabeled has no columns with names; "
            "give an array with a number per row"
        )
    check_columns([given], population.names, "X_unlabeled", "unlabeled_weight")
    values = population.reduce(_first_column, np.concatenate, [given])
    return read_weights(values, n_rows, f"unlabeled_weight ({given!r})")


def _groups_in(chunk: Chunk) -> Groups:
    try:
        return read_groups(chunk.data, chunk.data.shape[0])
    except InputError as error:
        raise InputError(f"{chunk.where}: {error}" if chunk.where else str(error)) from error


def _first_column(chunk: Chunk) -> Any:
    return np.asarray(as_pandas(chunk.data).iloc[:, 0])


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
