"""The unlabeled rows of a classifier: checked on the way in, labeled on the way out.

:class:`CheckedRows` is the only way in which classifiers look at a population, wherever its rows
are: every chunk is checked as data in memory is, where it is, so that an error names the chunk.
:func:`find_groups` and :func:`find_weights` find the group and the weight of each row.
:class:`LabeledPopulation` holds the labels and scores of the rows, and :class:`TransductionMixin`
gives them to the users of both classifiers.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from itertools import chain
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from c2rf._utils.frames import as_pandas, kinds_of, names_of
from c2rf._utils.text import listed, nearest
from c2rf._utils.types import Codes, Columns, Floats
from c2rf._utils.validation import check_data, takes_only_numbers
from c2rf.assignment import AssignmentProblem, log_scores, zero_floor
from c2rf.assignment.parts import Merge
from c2rf.data.population import as_population
from c2rf.data.population.interface import (
    BLOCK_ROWS,
    Chunk,
    KeptArray,
    KeptRows,
    Population,
    Transformed,
    View,
    Work,
    large_array,
    map_rows,
    reduce_rows,
    row_blocks,
)
from c2rf.data.population.memory import Memory
from c2rf.exceptions import C2RFError, InputError
from c2rf.inference.accuracy import expected_confusion
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
        for name in ("_rows", "_ensemble", "estimator_", "estimators_", "_imputer", "_tables"):
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
    """If the model fails on a chunk, raise an error that names the chunk."""
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


def find_groups(X_unlabeled: Any, totals: Totals, given: Any, n_rows: int) -> Groups:
    """Return the groups that totals are about.

    Parameters
    ----------
    X_unlabeled : object
        What the user gave as the unlabeled rows: groups are columns of it, unless they are given.
    totals : Totals
        Their grouping columns are looked up.
    given : array-like, data frame, mapping or None
        ``unlabeled_groups``.
    n_rows : int
        Number of unlabeled rows.
    """
    columns = totals.columns
    if not columns:
        if given is not None:
            raise InputError(
                "groups were given, but totals has no table with columns of groups; give "
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
    if population.keeps_rows:
        there = population.reduce(_group_names, _merge_names, names)
        kind = np.empty(0, np.int32)  # wide enough for numbers of groups times classes
        codes = population.keep(partial(_codes_of, there), kind, BLOCK_ROWS, View(names))
        return Groups(there, codes, columns)
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


MOST_DOMAINS = 10_000
"""A table of estimates has at most as many domains."""
EMPTY = "(empty)"
"""The domain of rows whose cell is empty."""


def find_domains(by: Any, tables: tuple[Any, Any], n_rows: int) -> tuple[Groups, Codes]:
    """Return the domain of each unlabeled row, and of each labeled one, -1 if it has none.

    Parameters
    ----------
    by : str, sequence of str, pair of frames, or None
        Columns of both tables, or what the domains are made of.
    tables : tuple
        The labeled and the unlabeled rows as the user gave them.
    n_rows : int
        Number of unlabeled rows.
    """
    if by is None:
        return Groups.none(n_rows), np.zeros(np.shape(tables[0])[0], dtype=np.intp)
    names = [by] if isinstance(by, str) else list(by)
    if all(isinstance(name, str) for name in names):
        population = as_population(tables[1])
        for known, what in ((names_of(tables[0]), "X"), (population.names, "X_unlabeled")):
            if known is None:
                raise InputError(
                    f"by names columns, but {what} has no columns with names; give two frames: by="
                    "(of the labeled rows, of the unlabeled rows)"
                )
            check_columns(names, known, what, "by")
        labeled = as_pandas(tables[0])[names]
        unlabeled = population.reduce(_as_frame, pd.concat, names)[names]
    elif len(names) == 2:
        labeled, unlabeled = (_domain_frame(each) for each in names)
    else:
        raise InputError("by must be names of columns, or two frames: labeled and unlabeled rows")
    sizes = {"labeled": (labeled, np.shape(tables[0])[0]), "unlabeled": (unlabeled, n_rows)}
    for kind, (frame, n) in sizes.items():
        if len(frame) != n:
            raise InputError(f"by must have an entry per {kind} row, {n:,}; found {len(frame):,}")
    return domains_of(labeled, unlabeled)


def domains_of(labeled: pd.DataFrame, unlabeled: pd.DataFrame) -> tuple[Groups, Codes]:
    """Return the domains that all columns make: of unlabeled rows, and the codes of labeled ones.

    Examples
    --------
    >>> rows = pd.DataFrame({"sex": ["m", "f", None]})
    >>> domains, codes = domains_of(rows[1:], rows[:1])
    >>> domains.names, domains.codes.tolist(), codes.tolist()
    (['m'], [0], [-1, -1])
    """
    filled = [frame.astype(object).where(frame.notna(), EMPTY) for frame in (labeled, unlabeled)]
    ours, found = (
        Groups.of([frame[name].to_numpy() for name in frame], tuple(map(str, frame)))
        for frame in filled
    )
    with suppress(TypeError):  # numbers and text do not compare: in the order of their first rows
        found = found.in_order()
    check_number_of_domains(found)
    return found, found.places_of(ours)


def check_number_of_domains(found: Groups) -> None:
    """Refuse a table of too many domains."""
    if len(found.names) > MOST_DOMAINS:
        raise InputError(
            f"{', '.join(map(str, found.columns))} make {len(found.names):,} domains; a table of "
            f"estimates has at most {MOST_DOMAINS:,}: put numbers in classes first"
        )


def _as_frame(chunk: Chunk) -> pd.DataFrame:
    return as_pandas(chunk.data)


def _domain_frame(given: Any) -> pd.DataFrame:
    """Return what makes domains as a frame; without names they are called "domain"."""
    if names_of(given) is not None:
        return as_pandas(given)
    frame = pd.DataFrame(given)
    numbers = [""] if frame.shape[1] == 1 else [f" {k + 1}" for k in range(frame.shape[1])]
    return frame.set_axis([f"domain{number}" for number in numbers], axis=1)


def read_known_labels(given: Any, classes: NDArray[Any], n_rows: int) -> Codes | None:
    """Return the number of the class of each row, -1 where none is given; None if nowhere."""
    if given is None:
        return None
    labels = pd.Series(given if hasattr(given, "__len__") else list(given), dtype=object)
    if len(labels) != n_rows:
        raise InputError(
            f"unlabeled_labels must have an entry per unlabeled row, {n_rows:,}; found "
            f"{len(labels):,}"
        )
    codes = pd.Index(classes).get_indexer(labels)
    wrong = np.flatnonzero((codes < 0) & labels.notna().to_numpy())
    if len(wrong):
        label = labels.iloc[wrong[0]]
        raise InputError(
            f"unlabeled_labels: row {wrong[0]} has the class {label!r}, which no labeled row has; "
            f"the classes are {listed(classes)}{nearest(label, classes.tolist())}"
        )
    return codes if (codes >= 0).any() else None


def check_known_labels(problem: AssignmentProblem, classes: Sequence[Any]) -> None:
    """Refuse totals that the rows whose class is known exceed, or make impossible."""
    if problem.known is None:
        return
    if (problem.known >= 0).all():
        raise InputError("the class of every unlabeled row is known: there is nothing to label")
    if problem.is_possible:
        return
    margins = problem.bounds.all_margins()
    margins[1] = replace(margins[1], columns=problem.groups.columns, names=problem.groups.names)
    for margin in margins:
        counts = margin.sums(problem.known_counts)
        for category, k in np.argwhere(counts > margin.upper):
            named = zip(margin.columns, margin.values(category), strict=True)
            where = ", ".join(f"{name or 'group'} {value}" for name, value in named) or "all rows"
            raise InputError(
                f"{counts[category, k]:,} rows are known to be of the class {classes[k]!r} in "
                f"{where}, but the total there is {margin.upper[category, k]:,}; correct the "
                "total, or the known classes"
            )
    raise InputError(
        "the totals cannot be met with the classes of rows that are known: what is left of them "
        "contradicts the other rows; correct the totals, or the known classes"
    )


def _groups_in(chunk: Chunk) -> Groups:
    try:
        return read_groups(chunk.data, chunk.data.shape[0])
    except InputError as error:
        raise InputError(f"{chunk.where}: {error}" if chunk.where else str(error)) from error


def _group_names(chunk: Chunk) -> list[Any]:
    return _groups_in(chunk).names


def _merge_names(found: Sequence[list[Any]]) -> list[Any]:
    return list(dict.fromkeys(chain.from_iterable(found)))


def _codes_of(names: list[Any], table: Any) -> NDArray[Any]:
    """Return the number of the group of each row, given the names of all groups."""
    own, numbers = read_groups(table, len(table)), {name: k for k, name in enumerate(names)}
    return np.array([numbers[name] for name in own.names])[own.codes]


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
class LabeledPopulation:
    """The rows of a population by a number each, which has a label and a score.

    Parameters
    ----------
    population : Population
        Where the rows are.
    table : ndarray
        The class that a number stands for.
    codes : ndarray of int, or a lazy collection where the rows are distributed
        The number of each row: that of its class, or of its pattern of votes.
    scores : ndarray
        The score that a number stands for.
    """

    population: Population
    table: NDArray[Any]
    codes: Any
    scores: Floats

    def __post_init__(self) -> None:
        if isinstance(self.population, Memory):  # the table has served, and need not be kept
            self.population = Memory(np.empty((self.population.n_rows or 0, 0)))

    @cached_property
    def labels(self) -> Any:
        """The class of each row, lazily where the rows are distributed."""
        return self.population.look_up(self.table, self.codes)

    @cached_property
    def codes_here(self) -> NDArray[Any]:
        """The number of each row, as an array."""
        return np.asarray(self.codes.compute() if hasattr(self.codes, "compute") else self.codes)

    def scores_of(self, rows: slice) -> Floats:
        """Return the scores of some rows."""
        return self.scores[self.codes_here[rows]]

    def chunks(self) -> Iterator[LabeledChunk]:
        """Yield labels and scores, a block of rows at a time."""
        for rows in row_blocks(len(self.codes_here)):
            yield LabeledChunk(self.table[self.codes_here[rows]], self.scores_of(rows))


@dataclass(eq=False)
class ScoredPopulation(LabeledPopulation):
    """The rows of a population by the numbers of their classes, with probabilities.

    ``scores`` are the probabilities by which each row was ranked, of shape (n_rows, n_classes).

    Parameters
    ----------
    proba_offsets : ndarray of shape (n_groups, n_classes)
        Added to log-probabilities, they make mean probabilities the shares of labels.
    floor : float
        What a probability of zero counts as.
    problem : AssignmentProblem
        The totals that the labels meet, and the group of each row.
    inverse_temperature : float
        The factor of the logarithms of scores in corrected probabilities.
    """

    proba_offsets: Floats
    floor: float
    problem: AssignmentProblem
    inverse_temperature: float = 1.0

    @cached_property
    def probabilities(self) -> Floats:
        """The corrected probabilities of each row."""
        work = partial(_corrected, self.floor, self.inverse_temperature, self.proba_offsets)
        own = [self.problem.groups.codes] if len(self.proba_offsets) > 1 else []
        table: Any = map_rows(self.scores, work, *own)
        if (known := self.problem.known) is not None:
            rows = np.flatnonzero(known >= 0)
            table[rows] = 0.0
            table[rows, known[rows]] = 1.0
        return table

    @cached_property
    def confusion(self) -> Floats:
        """Of the rows labeled k, how many are expected to be really of class j."""
        work = partial(_confusion, len(self.table))
        found: Floats = reduce_rows(self.probabilities, work, sum, self.codes_here)
        return found

    def scores_of(self, rows: slice) -> Floats:
        """Return the probabilities of some rows."""
        return np.asarray(self.scores[rows])


def _corrected(
    floor: float, factor: float, offsets: Floats, start: int, scores: Floats, groups: Any = 0
) -> Floats:
    """Return corrected probabilities of some rows."""
    return np.asarray(softmax(factor * log_scores(scores, floor) + offsets[groups], axis=1))


def _confusion(n_classes: int, start: int, probabilities: Floats, labels: Codes) -> Floats:
    return expected_confusion(labels, probabilities, n_classes)


def floor_of(scores: Any) -> float:
    """Return what a probability of zero counts as, see :func:`c2rf.assignment.zero_floor`."""
    return float(reduce_rows(scores, _floor, min))


def _floor(start: int, scores: Floats) -> float:
    return zero_floor(scores)


def logarithms(table: Any, floor: float, problem: AssignmentProblem) -> Any:
    """Return logarithms of probabilities, kept as these are: an array, a file, or parts."""
    if isinstance(table, KeptArray):
        groups = problem.groups
        return KeptRows(table, floor, groups.sizes, groups.codes, problem.weights)
    logs = large_array(table.shape)
    for rows in row_blocks(len(table), reading=[table, logs]):
        logs[rows] = log_scores(table[rows], floor)
    return logs


def multiplied(logs: Any, factor: float) -> Any:
    """Return logarithms times a factor, an array in its place."""
    if isinstance(logs, KeptRows):
        return logs.multiplied(factor)
    if factor != 1:
        for rows in row_blocks(len(logs), reading=[logs]):
            logs[rows] *= factor
    return logs


class TransductionMixin:
    """Adds to a classifier the labels of the rows it was fitted to.

    ``fit`` sets ``_rows``. The population stays where it is: copies of a classifier and its files
    do not know it, because files may move and open ones cannot be stored.
    """

    _rows: Any  # a LabeledPopulation of the kind that the classifier knows

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
        for name in ("_imputer", "_tables"):  # they know the rows
            state.pop(name, None)
        return state
