"""Two files and what is known, checked and put together as a question to a classifier."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from c2rf.cli.features import Features, feature_names, make_features, target_values
from c2rf.cli.options import check_column
from c2rf.cli.totals import Totals
from c2rf.estimators.known import Grouped
from c2rf.exceptions import InputError
from c2rf.tables import as_text, read_table
from c2rf.totals import make_bounds
from c2rf.transport.bounds import Bounds

Ints = NDArray[np.int64]

NO_GROUP = "(no group)"


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups of rows: the column they are from, their names, and the number of each row's."""

    column: str | None
    names: Sequence[str]
    codes: Ints

    @classmethod
    def of(cls, table: pd.DataFrame, column: str | None) -> Groups:
        """Read the groups of rows from a column; without one all are of one group."""
        if column is None:
            return cls(None, ["all"], np.zeros(len(table), dtype=np.int64))
        values = as_text(table[column]).fillna(NO_GROUP)
        names, codes = np.unique(values.to_numpy(dtype=object), return_inverse=True)
        return cls(column, names.tolist(), codes.astype(np.int64))

    @property
    def of_rows(self) -> NDArray[np.object_] | None:
        """The name of the group of each row; None without groups."""
        return None if self.column is None else np.array(self.names, dtype=object)[self.codes]

    @property
    def numbered(self) -> Grouped | None:
        """Them as a classifier takes them; None without groups."""
        return None if self.column is None else Grouped(list(self.names), self.codes)

    @property
    def sizes(self) -> Ints:
        """Rows of each group."""
        return np.bincount(self.codes, minlength=len(self.names))


@dataclass(frozen=True, eq=False)
class Question:
    """Who is labeled how, who is not, and how many of each class there are among these.

    ``remarks`` are things to be careful about that were found on the way.
    """

    target: str
    sample: NDArray[np.object_]
    classes: Sequence[str]
    population: pd.DataFrame
    features: Features
    totals: Totals
    bounds: Bounds
    groups: Groups
    identifier: str | None
    remarks: Sequence[str]

    @property
    def positive(self) -> str | None:
        """Of two classes the one that scores above zero speak for: that of the first total."""
        if len(self.classes) > 2:
            return None
        return next(iter(self.totals.overall), self.classes[1])

    @property
    def names(self) -> list[str]:
        """What to call each unlabeled row."""
        if self.identifier is None:
            return [str(number) for number in range(1, len(self.population) + 1)]
        return [str(name) for name in as_text(self.population[self.identifier]).fillna("")]


@dataclass(frozen=True, eq=False)
class Sample:
    """The labeled file, the class of each of its rows, and the columns to learn from."""

    table: pd.DataFrame
    labels: NDArray[np.object_]
    names: list[str]

    @property
    def classes(self) -> list[str]:
        """The classes, sorted."""
        return sorted(set(self.labels))


def read_sample(
    labeled: Path,
    header: pd.DataFrame,
    target: str,
    *,
    drop: Sequence[str] = (),
    text: Sequence[str] = (),
    identifier: str | None = None,
    group: str | None = None,
) -> Sample:
    """Read the labeled, and check the columns against those of the population, its ``header``."""
    table = read_table(labeled)
    labels = target_values(table, target)
    others = [str(name) for name in header if name != target]
    check_column("--id", identifier, others)
    check_column("--group", group, others)
    left_out = [*drop, *([identifier] if identifier else [])]
    names = feature_names(table, header, target, left_out, group)
    for name in text:
        if name not in names:
            raise InputError(f"--text: {name!r} is not a column to learn from; found {names}")
    return Sample(table, labels, names)


def ask(
    labeled: Path,
    unlabeled: Path,
    target: str,
    totals: Totals,
    *,
    drop: Sequence[str] = (),
    text: Sequence[str] = (),
    identifier: str | None = None,
    group: str | None = None,
    policy: Literal["strict", "scale"] = "strict",
) -> Question:
    """Read and check everything, before any work is done."""
    population = read_table(unlabeled)
    sample = read_sample(
        labeled, population, target, drop=drop, text=text, identifier=identifier, group=group
    )
    classes = sample.classes
    groups = Groups.of(population, group)
    bounds, remarks = known_bounds(totals, classes, groups, policy)
    return Question(
        target=target,
        sample=sample.labels,
        classes=classes,
        population=population,
        features=make_features(sample.table, population, sample.names, text),
        totals=totals,
        bounds=bounds,
        groups=groups,
        identifier=identifier,
        remarks=[*remarks, *_twice(population, identifier)],
    )


def known_bounds(
    totals: Totals, classes: Sequence[str], groups: Groups, policy: Literal["strict", "scale"]
) -> tuple[Bounds, list[str]]:
    """Return whole-numbered bounds, and what had to be changed for them."""
    with warnings.catch_warnings(record=True) as changes:
        warnings.simplefilter("always")
        bounds = make_bounds(
            dict(totals.overall) or None,
            totals.by_group or None,
            classes,
            groups.names,
            groups.sizes,
            policy,
        )
    return bounds.tightened(), [f"Totals were changed: {change.message}." for change in changes]


def _twice(population: pd.DataFrame, identifier: str | None) -> list[str]:
    if identifier is None:
        return []
    repeated = int(population[identifier].duplicated().sum())
    return [f"{repeated:,} ids are not unique in {identifier!r}."] if repeated else []
