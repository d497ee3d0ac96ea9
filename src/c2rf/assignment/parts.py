"""Scored rows in parts, wherever these are: in memory, in files, or on a cluster.

A few numbers, the class offsets, decide the labels of all rows. Finding them needs sums over rows,
not the rows: so all that an assignment asks of a population is to do some work on every part and
to merge the results (:meth:`Parts.reduce`), and in the end to label every part where it is
(:meth:`Parts.label`). :class:`ScoredRows` is one part, and also a population in memory.

Parts are the same rows everywhere, ``BLOCK`` of them, and their results are merged in the same
order (:func:`merged`): so sums of floats are the same bit for bit, however rows are stored. Where
random numbers are needed, a row gets them from its number (:func:`random_numbers`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from c2rf._utils.types import Codes, Floats, Ints

BLOCK = 1 << 16
"""Rows of a part; the last one may have fewer."""

MERGED_AT_ONCE = 8
"""Results of so many neighbouring parts become one, and of these again."""

TIES = 8
"""Number of the stream of random numbers that decides between equal scores; others follow it."""

Merge = Callable[[Sequence[Any]], Any]
"""Turns results of neighbouring parts, in their order, into one."""


class Parts(ABC):
    """Rows that are to be labeled, in parts of ``BLOCK`` rows.

    ``sizes`` are the numbers of rows of the groups. ``is_weighted`` says whether rows count
    differently.
    """

    n_classes: int
    n_groups: int
    is_weighted: bool
    sizes: Ints

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.sizes.sum())

    @property
    def weight(self) -> float:
        """What all rows count together."""
        return float(self.n_rows)

    @abstractmethod
    def ungrouped(self) -> Parts:
        """Return the same rows as one group."""

    @abstractmethod
    def reduce(self, work: Callable[[ScoredRows], Any], merge: Merge) -> Any:
        """Do the work with every part where it is, and merge the results as :func:`merged` does."""

    @abstractmethod
    def label(
        self, work: Callable[[ScoredRows], tuple[NDArray[Any], Any]], merge: Merge
    ) -> tuple[Any, Any]:
        """Label every part where it is, and merge what else the work returns.

        Parameters
        ----------
        work : callable
            Returns the class of each row of a part, and something else.
        merge : callable
            Merges the other results.

        Returns
        -------
        labels : ndarray of int, shape (n_rows,), or a lazy collection
            Classes, lazily where the rows are elsewhere.
        object
            The merged results.
        """


class Elsewhere(NamedTuple):
    """What is known of rows that keep their class, while others are looked at.

    Parameters
    ----------
    counts : ndarray of shape (n_groups, n_classes)
        Sizes of their classes; of weighted rows sums of weights.
    losses : ndarray of shape (n_groups, n_classes, n_classes)
        The least that one of them loses by a change of class.
    n_split : int
        How many more there are whose losses are those of equal rows that are looked at.
    """

    counts: Any
    losses: Floats
    n_split: int = 0


@dataclass(frozen=True, eq=False)
class ScoredRows(Parts):
    """Rows that are to be labeled: their scores, groups and weights.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
        Finite scores; they may be mapped from disk.
    groups : ndarray of int, shape (n_rows,)
        The group of each row.
    weights : ndarray of shape (n_rows,) or None
        How much a row counts; None for one each.
    n_groups : int
        Number of groups.
    numbers : ndarray of int, shape (n_rows,), or int
        The numbers of the rows in their population, or that of the first of rows that follow each
        other.
    elsewhere : Elsewhere or None
        What is known of other rows, whose classes stay.
    """

    scores: Floats
    groups: Codes
    weights: Floats | None
    n_groups: int
    numbers: Ints | int = 0
    elsewhere: Elsewhere | None = field(default=None)

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        """Number of classes."""
        return self.scores.shape[1]

    @property
    def is_weighted(self) -> bool:  # type: ignore[override]
        """Whether rows count differently."""
        return self.weights is not None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.scores)

    @cached_property
    def sizes(self) -> Ints:  # type: ignore[override]
        """Numbers of rows of the groups."""
        if self.n_groups == 1:
            return np.array([self.n_rows])
        return np.bincount(self.groups, minlength=self.n_groups)

    @property
    def is_alone(self) -> bool:
        """Whether there are no other rows elsewhere."""
        return self.elsewhere is None or not np.any(self.elsewhere.counts)

    @property
    def weight(self) -> float:
        """What all rows count together."""
        return float(self.n_rows if self.weights is None else self.weights.sum())

    @property
    def row_numbers(self) -> Ints:
        """The numbers of the rows in their population."""
        if isinstance(self.numbers, int):
            return np.arange(self.numbers, self.numbers + self.n_rows)
        return self.numbers

    def blocks(self) -> list[slice]:
        """Return slices of the rows, some at a time."""
        return [slice(k, k + BLOCK) for k in range(0, max(len(self.scores), 1), BLOCK)]

    def ungrouped(self) -> ScoredRows:
        """Return the same rows as one group."""
        groups = np.broadcast_to(np.intp(0), self.n_rows)
        return ScoredRows(self.scores, groups, self.weights, 1, self.numbers)

    def reduce(self, work: Callable[[ScoredRows], Any], merge: Merge) -> Any:
        """Do the work with every part, and merge the results."""
        return merged((work(self._part(rows)) for rows in self.blocks()), merge)

    def label(
        self, work: Callable[[ScoredRows], tuple[NDArray[Any], Any]], merge: Merge
    ) -> tuple[NDArray[Any], Any]:
        """Label every part, and merge what else the work returns."""
        labels: NDArray[Any] = np.empty(len(self.scores), np.min_scalar_type(self.n_classes - 1))

        def label(rows: slice) -> Any:
            labels[rows], other = work(self._part(rows))
            return other

        rest = merged(map(label, self.blocks()), merge)
        return labels, rest

    def _part(self, rows: slice) -> ScoredRows:
        weights = None if self.weights is None else self.weights[rows]
        numbers = self.numbers + rows.start if isinstance(self.numbers, int) else self.numbers[rows]
        scores = np.asarray(self.scores[rows])
        return ScoredRows(scores, self.groups[rows], weights, self.n_groups, numbers)

    def __reduce__(self) -> Any:
        """Say how rows travel: equal ones once, and instead of numbers the steps between them."""
        columns = [self.groups, self.scores, *([] if self.weights is None else [self.weights])]
        first, kinds, _ = distinct_rows(np.column_stack([np.asarray(each) for each in columns]))
        if len(first) > self.n_rows // 2:  # few are equal
            first = kinds = np.arange(self.n_rows)
        some = replace(self, numbers=0, elsewhere=None).taken(first)
        codes = None if kinds is first else kinds.astype(np.min_scalar_type(len(first)))
        start, steps = self.numbers, None
        if not isinstance(start, int) and len(start):
            steps = np.diff(start, prepend=start[:1])
            start, steps = int(start[0]), steps.astype(np.min_scalar_type(steps.max()))
        own = some.scores, some.groups, some.weights
        return _arrived, (*own, self.n_groups, codes, start, steps, self.elsewhere)

    def taken(self, rows: Codes) -> ScoredRows:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        return ScoredRows(
            np.asarray(self.scores[rows]), np.asarray(self.groups[rows]), weights, self.n_groups,
            self.row_numbers[rows], self.elsewhere,
        )  # fmt: skip

    def weight_of(self, rows: slice | Codes) -> Floats:
        """Return the weights of some rows."""
        if self.weights is None:
            return np.ones(len(self.groups[rows]))
        return self.weights[rows]

    def total(self, labels: Codes) -> float:
        """Return the (weighted) sum of the scores that labels choose."""
        total = 0.0
        for rows in self.blocks():
            chosen = np.take_along_axis(self.scores[rows], labels[rows, None], axis=1)[:, 0]
            total += float(chosen.sum() if self.weights is None else self.weights[rows] @ chosen)
        return total

    def counts(self, labels: Codes) -> Any:
        """Return the size of each class in each group over all parts; of weighted rows, their sum.

        Numbers of rows are floats, too, which are exact for them.
        """
        shape = self.n_groups, self.n_classes
        found = class_counts(self.groups, labels, shape, self.weights).astype(float)
        return found if self.elsewhere is None else found + self.elsewhere.counts


def _arrived(
    scores: Floats, groups: Codes, weights: Floats | None, n_groups: int, codes: Codes | None,
    start: Any, steps: Ints | None, elsewhere: Elsewhere | None,
) -> ScoredRows:  # fmt: skip
    """Return the rows that :meth:`ScoredRows.__reduce__` has packed."""
    numbers = start if steps is None else start + np.cumsum(steps, dtype=np.int64)
    rows = ScoredRows(scores, groups, weights, n_groups, 0, elsewhere)
    return replace(rows if codes is None else rows.taken(codes), numbers=numbers)


def class_counts(
    groups: Codes, labels: Codes, shape: tuple[int, ...], weights: Floats | None = None
) -> Any:
    """Return how many rows there are of each class in each group, or the sums of their weights."""
    cells = np.asarray(groups) * shape[1] + labels
    return np.bincount(cells, weights, shape[0] * shape[1]).reshape(shape)


def distinct_rows(table: Floats) -> tuple[Codes, Codes, Codes]:
    """Return the first of each kind of equal rows, the kind of each row, and how many there are."""
    packed = np.ascontiguousarray(table)
    kind = np.dtype((np.void, packed.itemsize * packed.shape[1]))
    _, first, kinds, times = np.unique(
        packed.view(kind).ravel(), return_index=True, return_inverse=True, return_counts=True
    )
    return first, kinds, times


def distinct_scores(rows: ScoredRows) -> tuple[Codes, Codes, Codes]:
    """Return the same of rows that are equal in group and scores."""
    return distinct_rows(np.column_stack([rows.groups, rows.scores + 0.0]))


def joined(parts: Sequence[ScoredRows]) -> ScoredRows:
    """Return neighbouring parts as one."""
    first = parts[0]
    return ScoredRows(
        np.concatenate([part.scores for part in parts]),
        np.concatenate([part.groups for part in parts]),
        None
        if first.weights is None
        else np.concatenate([part.weight_of(slice(None)) for part in parts]),
        first.n_groups,
        np.concatenate([part.row_numbers for part in parts]),
    )


def merged(results: Iterable[Any], merge: Merge, at_once: int = MERGED_AT_ONCE) -> Any:
    """Merge results of neighbouring parts to one, eight at a time, and these again.

    Examples
    --------
    >>> merged("abcdefgh-abc", lambda each: "(" + "".join(each) + ")", 4)
    '((abcd)(efgh)(-abc))'
    """
    levels: list[list[Any]] = [[]]
    for result in results:
        levels[0].append(result)
        level = 0
        while len(levels[level]) == at_once:
            whole, levels[level] = merge(levels[level]), []
            level += 1
            if level == len(levels):
                levels.append([])
            levels[level].append(whole)
    rest: list[Any] = []
    for own in levels:
        rest = [*own, *rest]
        if len(rest) > 1:
            rest = [merge(rest)]
    return rest[0]


def random_numbers(rows: Ints, seed: int, stream: int) -> Floats:
    """Return a random number from 0 to 1 for each row number: a hash of it and of the seed.

    The hash is SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number
    generators", 2014.

    Examples
    --------
    >>> some = random_numbers(np.arange(10**5), 0, 1)
    >>> some[[7, 3]].tolist() == random_numbers(np.array([7, 3]), 0, 1).tolist()
    True
    >>> round(float(some.mean()), 2), abs(np.corrcoef(some[:-1], some[1:])[0, 1]) < 0.01
    (0.5, np.True_)
    """
    start = np.random.SeedSequence([seed, stream]).generate_state(1, np.uint64)
    mixed = (np.asarray(rows).astype(np.uint64) + start) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed ^= mixed >> np.uint64(shift)
        mixed *= np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    return (mixed >> np.uint64(11)).astype(float) * 2.0**-53


@dataclass(frozen=True, eq=False)
class BestClasses:
    """The best class of each row by score and offset.

    Parameters
    ----------
    labels : ndarray of int, shape (n_rows,)
        The classes.
    distances : ndarray of shape (n_rows,)
        Distance to the decision boundary: by how much the best class exceeds the next.
    counts : ndarray of shape (n_groups, n_classes)
        Sizes of the classes in the groups.
    """

    labels: Codes
    distances: Floats
    counts: Floats


def best_classes(scored: ScoredRows, offsets: Floats) -> BestClasses:
    """Label every row by the largest sum of its score and the offset of its group."""
    n_rows, n_classes = scored.scores.shape
    labels = np.zeros(n_rows, dtype=np.intp)
    distances = np.empty(n_rows)
    for rows in scored.blocks():
        scores, groups = np.asarray(scored.scores[rows]), scored.groups[rows]
        best = scores[:, 0] + offsets[:, 0][groups]
        second = np.full(len(best), -np.inf)
        for k in range(1, n_classes):  # a class at a time: far quicker than sorting short rows
            shifted = scores[:, k] + offsets[:, k][groups]
            labels[rows][shifted > best] = k
            np.maximum(second, np.minimum(best, shifted), out=second)
            np.maximum(best, shifted, out=best)
        distances[rows] = best - second
    return BestClasses(labels, distances, scored.counts(labels))
