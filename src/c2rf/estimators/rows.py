"""The unlabeled rows as a classifier sees them: every chunk checked as data in memory is.

Chunks are checked where they are, so what is wrong names the chunk. This is the only way in which
classifiers look at a population, wherever its rows are.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from c2rf._sklearn_models import takes_only_numbers
from c2rf._typing import Floats
from c2rf._validation import check_data
from c2rf.exceptions import C2RFError, InputError
from c2rf.population import Chunk, Memory, Population, as_population
from c2rf.population.interface import Merge, Work
from c2rf.totals import Bounds, Groups, Totals, read_groups, read_weights
from c2rf.totals.known import check_columns, grouping_columns

Kinds = dict[str, tuple[str, str]]
"""For each column of frames what it holds, and where that was seen first."""


class LabeledChunk(NamedTuple):
    """The labels of some rows of a population, in their order.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,)
        The class of each row.
    scores : ndarray of shape (n_rows,) or (n_rows, n_classes)
        What the classifier says of each row.
    """

    labels: NDArray[Any]
    scores: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CheckedRows:
    """A population, and the classifier whose columns it must have.

    Work gets a :class:`Chunk` of checked data: arrays of numbers, or frames where the ensemble
    takes them.
    """

    population: Population
    checker: Any
    columns: list[str] | None

    @classmethod
    def of(cls, classifier: Any, X_unlabeled: Any, extra: Sequence[str] = ()) -> CheckedRows:
        """Return what the user gave as the unlabeled rows; ``extra`` columns may be there, too."""
        population = as_population(X_unlabeled)
        if population.names is not None:
            check_columns(extra, population.names, "X_unlabeled")
        known = getattr(classifier, "feature_names_in_", None)
        columns = None if known is None else [str(name) for name in known]
        if isinstance(population, Memory):
            table = population.table
            unknown = [name for name in extra if columns is not None and name not in columns]
            if hasattr(table, "columns") and unknown:
                table = table[[name for name in table.columns if name not in unknown]]
            population = Memory(check_data(classifier, table, name="X_unlabeled"))
            columns = None if not hasattr(population.table, "columns") else columns
        checker = copy.copy(classifier)
        for name in ("_rows", "_ensemble", "estimator_", "estimators_", "_imputer", "_imputed"):
            checker.__dict__.pop(name, None)  # an earlier fit is nothing to send around
        return cls(population, checker, columns)

    @property
    def n_rows(self) -> int | None:
        """Number of rows, once they have been counted."""
        return self.population.n_rows

    @property
    def is_elsewhere(self) -> bool:
        """Whether work is done by other processes or threads, many chunks at a time."""
        return self.population.is_elsewhere

    def counted(self) -> CheckedRows:
        """Return the rows ready for work that needs their numbers."""
        return replace(self, population=self.population.counted())

    def reduce(self, work: Work, merge: Merge) -> Any:
        """Do the work with every chunk; a column must hold the same kind of data in all."""
        first = _CheckedWork(self.checker, work, with_kinds=True)
        return self.population.reduce(first, _MergeKinds(merge), self.columns)[0]

    def map(self, work: Work, example: NDArray[Any]) -> Any:
        """Return what the work makes of each row."""
        return self.population.map(_CheckedWork(self.checker, work), example, self.columns)

    def spans(self, work: Callable[[Any], Any], size: int) -> Iterator[Any]:
        """Do some work on a given number of rows at a time, wherever chunks end."""
        prepare = _CheckedWork(self.checker, _data)
        return self.population.spans(prepare, work, size, self.columns)


def grouping(totals: Totals | Bounds) -> tuple[str, ...]:
    """Return the names of the columns that totals are grouped by."""
    return () if isinstance(totals, Bounds) else tuple(map(str, totals.columns))


def find_groups(rows: CheckedRows, X_unlabeled: Any, totals: Totals | Bounds, given: Any) -> Groups:
    """Return the groups that totals are about.

    Parameters
    ----------
    rows : CheckedRows
        The unlabeled rows, counted already.
    X_unlabeled : object
        What the user gave as them: groups are columns of it, unless they are given.
    totals : Totals or Bounds
        Their grouping columns are looked up; bounds come with their groups.
    given : array-like, data frame, mapping, Groups or None
        ``unlabeled_groups``.
    """
    n_rows = rows.n_rows or 0
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
    return population.reduce(_ReadGroups(), Groups.merged, names)._replace(columns=columns)


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
    values = population.reduce(_ReadColumn(given), np.concatenate, [given])
    return read_weights(values, n_rows, f"unlabeled_weight ({given!r})")


class PopulationLabels:
    """Adds to a classifier the labels of the rows it was fitted to.

    ``fit`` sets ``_rows``. The population stays where it is: copies of a classifier and its files
    do not know it, because files may move and open ones cannot be stored.
    """

    _rows: Any

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
        return self._known_rows("transduction_").labels()

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


def without_rows(population: Population) -> Population:
    """Return a population whose rows need not be kept: a table in memory has served."""
    if not isinstance(population, Memory):
        return population
    return Memory(np.empty((population.table.shape[0], 0)))


@dataclass(frozen=True, eq=False)
class _CheckedWork:
    """Work on chunks that are checked first."""

    checker: Any
    work: Work
    with_kinds: bool = False

    def __call__(self, chunk: Chunk) -> Any:
        name = f"X_unlabeled ({chunk.where})" if chunk.where else "X_unlabeled"
        kinds = _kinds_of(self.checker, chunk) if self.with_kinds else {}
        checked = chunk.data
        if chunk.where:  # a table in memory was checked as a whole
            checked = check_data(self.checker, checked, name=name)
        with _naming(name):
            result = self.work(Chunk(checked, name, chunk.start))
        return (result, kinds) if self.with_kinds else result


@dataclass(frozen=True, eq=False)
class _MergeKinds:
    """Merges results, and the kinds of columns beside them."""

    merge: Merge

    def __call__(self, parts: Sequence[tuple[Any, Kinds]]) -> tuple[Any, Kinds]:
        results, kinds = zip(*parts, strict=True)
        return self.merge(list(results)), reduce(_same_kinds, kinds)


@dataclass(frozen=True)
class _ReadGroups:
    """The work of reading the groups of a chunk."""

    def __call__(self, chunk: Chunk) -> Groups:
        try:
            return read_groups(chunk.data, chunk.data.shape[0])
        except InputError as error:
            raise InputError(f"{chunk.where}: {error}" if chunk.where else str(error)) from error


@dataclass(frozen=True)
class _ReadColumn:
    """The work of reading one column of a chunk."""

    name: str

    def __call__(self, chunk: Chunk) -> NDArray[Any]:
        return np.asarray(chunk.data[self.name])


def _data(chunk: Chunk) -> Any:
    return chunk.data


def _kinds_of(checker: Any, chunk: Chunk) -> Kinds:
    """Return what the columns of a frame hold, where the ensemble gets it as a frame."""
    data = chunk.data
    if not hasattr(data, "columns") or takes_only_numbers(checker.estimator):
        return {}
    return {
        column: ("numbers" if _is_number(data[column].dtype) else "something else", chunk.where)
        for column in data.columns
        # Nothing but missing values is of any kind.
        if not (isinstance(data, pd.DataFrame) and pd.isna(data[column]).all())
    }


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


def _is_number(dtype: Any) -> bool:
    if hasattr(dtype, "is_numeric"):  # of Polars
        return bool(dtype.is_numeric())
    return bool(pd.api.types.is_numeric_dtype(dtype))


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Name the chunk where a member complains of what it finds there."""
    try:
        yield
    except C2RFError:
        raise
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: {error}") from error
