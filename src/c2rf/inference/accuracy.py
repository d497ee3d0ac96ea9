"""Expected accuracy: how many labels are right, by probabilities that may be too sure or not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from c2rf._utils.types import Codes, Floats
from c2rf.imputation.rubin import Pooled, pool


@dataclass(frozen=True, eq=False)
class ExpectedAccuracy:
    """The share of labels that are right, with intervals.

    Parameters
    ----------
    overall : Pooled
        Of all labels.
    by_class : mapping of class to Pooled
        Of the rows with a label, for each label that any row has.
    by_group : mapping of group to Pooled
        Of the rows of a group; empty without groups.
    n_imputations : int
        How many draws of the inverse temperature it comes from.
    """

    overall: Pooled
    by_class: Mapping[Any, Pooled]
    by_group: Mapping[Any, Pooled]
    n_imputations: int


def expected_confusion(labels: Codes, probabilities: Floats, n_classes: int) -> Floats:
    """Return, of the rows labeled k, how many are expected to be of class j.

    Examples
    --------
    >>> expected_confusion(np.array([0, 1, 1]), np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]]), 2)
    array([[0.9, 0.1],
           [0.7, 1.3]])
    """
    columns = [np.bincount(labels, column, n_classes) for column in probabilities.T]
    return np.column_stack(columns)


def expected_accuracy(
    labels: Codes,
    right: Iterable[Floats],
    classes: Sequence[Any],
    groups: tuple[Sequence[Any], Codes] | None = None,
    level: float = 0.95,
) -> ExpectedAccuracy:
    """Return how many labels are right, and intervals by other probabilities.

    Parameters
    ----------
    labels : ndarray of int, shape (n_rows,)
        The numbers of the labels.
    right : iterable of ndarray of shape (n_rows,)
        The probability that the label of each row is right, which is what is expected, and two or
        more others, whose spread makes the intervals.
    classes : sequence
        The classes.
    groups : tuple of names and codes, optional
        The names of groups, and the group of each row.
    level : float
        How often an interval should cover the truth.

    Examples
    --------
    >>> found = expected_accuracy(
    ...     np.array([0, 0, 1, 1]),
    ...     [[0.8, 0.9, 0.6, 0.9], [0.7, 1, 0.5, 1], [1, 1, 0.7, 0.9]],
    ...     ["no", "yes"],
    ... )
    >>> round(found.overall.estimate, 3), round(found.by_class["yes"].estimate, 3)
    (0.8, 0.75)
    """
    names, codes = groups if groups is not None else ([None], np.zeros(len(labels), dtype=np.intp))
    n_cells = len(names) * len(classes)
    cells = np.asarray(codes, dtype=np.intp) * len(classes) + labels
    found = [np.bincount(cells, each, n_cells).reshape(len(names), -1) for each in right]
    drawn = np.array(found[1:])
    sums = found[0] + drawn - drawn.mean(axis=0)
    by_group = _by(sums.sum(axis=2), np.bincount(codes, minlength=len(names)), names, level)
    return ExpectedAccuracy(
        _pooled(sums.sum(axis=(1, 2)) / len(labels), level),
        _by(sums.sum(axis=1), np.bincount(labels, minlength=len(classes)), classes, level),
        {} if groups is None else by_group,
        len(sums),
    )


def _by(sums: Floats, sizes: NDArray[Any], names: Sequence[Any], level: float) -> dict[Any, Pooled]:
    """Pool the shares of each name that has rows."""
    return {
        name: _pooled(sums[:, k] / sizes[k], level) for k, name in enumerate(names) if sizes[k] > 0
    }


def _pooled(shares: Floats, level: float) -> Pooled:
    """Pool shares; no interval leaves the range of a share."""
    pooled = pool(shares, level=level)
    return replace(pooled, low=max(pooled.low, 0.0), high=min(pooled.high, 1.0))
