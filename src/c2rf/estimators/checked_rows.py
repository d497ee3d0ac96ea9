"""The unlabeled rows as a classifier sees them: every chunk checked as data in memory is.

Chunks are checked where they are, so what is wrong names the chunk. This is the only way in which
classifiers look at a population, wherever its rows are.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial, reduce
from typing import Any, Self

from c2rf._frames import kinds_of, names_of
from c2rf._sklearn_models import takes_only_numbers
from c2rf._typing import Columns
from c2rf._validation import check_data
from c2rf.exceptions import C2RFError, InputError
from c2rf.population import Chunk, Memory, as_population
from c2rf.population.interface import Merge, Work
from c2rf.population.transformed import Transformed
from c2rf.totals.known import check_columns

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
        self, work: Work, merge: Merge, columns: Columns = None, beside: Sequence[Any] = ()
    ) -> Any:
        """Do the work with every chunk; a column must hold the same kind of data in all."""
        if takes_only_numbers(self.checker.estimator):
            return super().reduce(work, merge, beside=beside)
        first, then = partial(_with_kinds, work), partial(_merge_kinds, merge)
        return super().reduce(first, then, beside=beside)[0]


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


def _with_kinds(work: Work, chunk: Chunk, *beside: Any) -> tuple[Any, Kinds]:
    """Do the work, and see what columns of frames hold."""
    kinds = kinds_of(chunk.data) if names_of(chunk.data) is not None else {}
    return work(chunk, *beside), {column: (kind, chunk.where) for column, kind in kinds.items()}


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
