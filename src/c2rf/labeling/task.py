"""Two tables and what is known, checked and put together before any work is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from c2rf._typing import Codes, Floats, Texts
from c2rf.columns.choose import target_values
from c2rf.columns.encoding import encode, make_encoder
from c2rf.columns.kinds import Column, Look
from c2rf.estimators.groups_and_weights import find_weights
from c2rf.files.cells import as_text
from c2rf.files.dialect import ReadAs
from c2rf.labeling.known import checked_bounds, read_known
from c2rf.labeling.learned_columns import learned_columns, likely_codes
from c2rf.labeling.parts import shown_columns
from c2rf.labeling.survey import survey
from c2rf.labeling.tables import column_names, read_tables
from c2rf.labeling.truth import known_classes
from c2rf.labeling.wishes import Wishes
from c2rf.population import Population
from c2rf.population.encoded import encoded
from c2rf.totals import Bounds, Groups, Totals, read_weights


@dataclass(frozen=True, eq=False, kw_only=True)
class Task:
    """All that a classification needs, checked.

    Parameters
    ----------
    target, id : str, str or None
        As in :class:`Wishes`.
    names : tuple of str
        What the labeled and the unlabeled table are called.
    labels : ndarray of str
        The classes of the labeled rows, as text.
    classes : list of str
        All classes, sorted.
    values : ndarray
        The classes as the labeled table has them.
    X : ndarray
        The labeled rows as numbers.
    rows : Population
        The unlabeled rows as they are.
    X_unlabeled : Population
        The unlabeled rows as numbers.
    encoder : ColumnTransformer
        From columns to numbers.
    columns : sequence of Column
        What was learned from, and what it holds.
    totals, bounds, groups : Totals, Bounds, Groups
        What is known.
    remarks : sequence of str
        Things to be careful about.
    left_out : mapping of str to str
        Columns that are not learned from, and why.
    codes : sequence of str
        Columns of numbers that look like codes.
    read_as : sequence of pairs of str
        Files, and how they were understood.
    truth : ndarray of int, optional
        The class of each unlabeled row whose target is filled in, for a score.
    weights : ndarray of shape (n_rows,), optional
        How many people each unlabeled row stands for.
    labeled_weights : ndarray of shape (n_labeled,), optional
        The same of the labeled rows, where their table has the column.
    """

    target: str
    id: str | None
    names: tuple[str, str]
    labels: Texts
    classes: list[str]
    values: Any
    X: Floats
    rows: Population
    X_unlabeled: Population
    encoder: Any
    columns: Sequence[Column]
    totals: Totals
    bounds: Bounds
    groups: Groups
    remarks: Sequence[str]
    left_out: Mapping[str, str] = field(default_factory=dict)
    codes: Sequence[str] = ()
    read_as: Sequence[tuple[str, str]] = ()
    truth: Codes | None = None
    weights: Floats | None = None
    labeled_weights: Floats | None = None

    @property
    def n_rows(self) -> int:
        """Number of unlabeled rows."""
        assert self.rows.n_rows is not None
        return self.rows.n_rows

    @property
    def positive(self) -> str | None:
        """Of two classes the one that positive scores predict: that of the first total."""
        if len(self.classes) > 2:
            return None
        return next(iter(self.totals.overall), self.classes[1])

    @property
    def shown(self) -> list[str]:
        """The columns of an output that name the rows: the ids, else all."""
        return shown_columns(column_names(self.rows), self.id)


def make_task(labeled: Any, unlabeled: Any, totals: Any, wishes: Wishes) -> Task:
    """Read both tables, and check everything.

    Parameters
    ----------
    labeled, unlabeled : data frame, path, or population
        Rows whose class is known, and rows to label; None for the rows of ``labeled`` whose target
        is empty.
    totals : object
        As for :class:`c2rf.KnownTotalsClassifier`.
    wishes : Wishes
        How the tables are to be read.
    """
    tables = read_tables(labeled, unlabeled, wishes)
    table, rows, target = tables.labeled, tables.rows, wishes.target
    labels = target_values(table, target)
    classes = sorted(set(labels))
    how = ReadAs(decimal=wishes.how.decimal, likely=tables.decimal)
    known, remarks = read_known(totals, table[target], column_names(rows), how)
    group = tuple(map(str, known.columns))
    features, left_out = learned_columns(table, rows, group, wishes)
    looks = [Look(table[name], name in wishes.text) for name in features]
    found = survey(rows, looks, group, wishes.id)
    weights = find_weights(rows, wishes.weight, len(found.groups.codes))
    bounds = checked_bounds(known, found.groups, classes, wishes.policy, weights)
    if found.n_repeated:
        remarks.append(f"{found.n_repeated:,} ids are not unique in {wishes.id!r}.")
    encoder = make_encoder(table, found.columns)
    return Task(
        target=target,
        id=wishes.id,
        names=tables.names,
        labels=labels,
        classes=classes,
        values=_classes_as_given(table[target], classes),
        X=encode(encoder, table),
        rows=rows,
        X_unlabeled=encoded(rows, encoder),
        encoder=encoder,
        columns=found.columns,
        totals=known,
        bounds=bounds,
        groups=found.groups,
        remarks=remarks,
        left_out=left_out,
        codes=likely_codes(table, found.columns, wishes),
        read_as=tables.read_as,
        truth=known_classes(rows, target, classes),
        weights=weights,
        labeled_weights=_labeled_weights(table, wishes.weight),
    )


def _labeled_weights(table: pd.DataFrame, name: str | None) -> Floats | None:
    """Return how much each labeled row counts; None without the column, or if all count alike."""
    if name is None or name not in table:
        return None
    return read_weights(table[name], len(table), f"the weight {name!r} of the labeled rows")


def _classes_as_given(target: pd.Series[Any], classes: Sequence[str]) -> Any:
    """Return the classes in the type of the labeled table."""
    first = pd.Series(target.to_numpy(), index=as_text(target))
    values = first[~first.index.duplicated()].loc[list(classes)].to_numpy()
    return np.array(list(classes), dtype=object) if values.dtype == object else values
