"""Two tables and what is known, checked and put together before any work is done."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from c2rf._frames import as_pandas
from c2rf._text import all_of, for_user, nearest
from c2rf._typing import Codes, Floats, Texts
from c2rf.columns.choose import check_column, feature_names, target_values
from c2rf.columns.encoding import encode, make_encoder
from c2rf.columns.kinds import Column, Look
from c2rf.columns.leave_out import look_like_codes, why_left_out
from c2rf.estimators.groups_and_weights import find_weights
from c2rf.exceptions import InputError
from c2rf.files.cells import as_text
from c2rf.files.dialect import AS_FOUND, Dialect, ReadAs
from c2rf.files.tables import read_file
from c2rf.labeling.parts import shown_columns
from c2rf.labeling.survey import survey
from c2rf.labeling.truth import known_classes
from c2rf.labeling.where import find_rows
from c2rf.population import Population
from c2rf.population.encoded import encoded
from c2rf.totals import Bounds, Groups, Margin, Totals, known_bounds, read_totals
from c2rf.totals.tables import TotalsFile


@dataclass(frozen=True)
class Wishes:
    """How the two tables are to be read.

    Parameters
    ----------
    target : str
        The column of the labeled table with the class.
    id : str or None
        The column that names the rows; it is not learned from.
    drop, text : sequence of str
        Columns not to learn from, and columns of numbers that are codes.
    policy : {"strict", "scale"}
        What to do with totals that do not add up.
    engine : {"auto", "memory", "chunks", "dask"}
        Where the unlabeled rows are kept.
    keep : sequence of str
        Columns to learn from though they look useless.
    how : ReadAs
        How files are to be read.
    weight : str or None
        The column that says how many people an unlabeled row stands for; not learned from.
    """

    target: str
    id: str | None = None
    drop: Sequence[str] = ()
    text: Sequence[str] = ()
    policy: str = "strict"
    engine: str = "auto"
    keep: Sequence[str] = ()
    how: ReadAs = AS_FOUND
    weight: str | None = None


@dataclass(frozen=True, eq=False)
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
    names = _called(labeled, "the labeled table"), _called(unlabeled, "the unlabeled table")
    how = replace(wishes.how, text=tuple(wishes.text))
    table, dialect, said = read_frame(labeled, how)
    if unlabeled is None:
        table, rest = _by_target(table, wishes.target)
        names, rows = (names[0], names[0]), find_rows(rest, wishes.engine)
        rows.dialect = dialect
    else:
        rows = find_rows(unlabeled, wishes.engine, how)
    labels = target_values(table, wishes.target)
    columns = column_names(rows)
    totals, notes = read_files(totals, wishes.target, columns, sorted(set(labels)))
    known = _as_texts(read_totals(totals, _values_of(table, wishes.target)))
    group = tuple(map(str, known.columns))
    features, left_out = _useful(_features(table, columns, group, wishes), table, rows, wishes)
    looks = [Look(table[name], name in wishes.text) for name in features]
    found = survey(rows, looks, group, wishes.id)
    classes = sorted(set(labels))
    weights = None if wishes.weight is None else find_weights(rows, wishes.weight, _length(rows))
    bounds, remarks = _bounds(known, found.groups, classes, wishes.policy, weights)
    remarks = [*notes, *remarks]
    encoder = make_encoder(table, found.columns)
    if found.n_repeated:
        remarks.append(f"{found.n_repeated:,} ids are not unique in {wishes.id!r}.")
    return Task(
        wishes.target, wishes.id, names, labels, classes, _outputs(table, wishes.target, classes),
        encode(encoder, table), rows, encoded(rows, encoder), encoder, found.columns, known,
        bounds, found.groups, remarks, left_out, _codes(table, found.columns, wishes),
        [pair for pair in zip(names, (said, rows.read_as), strict=True) if pair[1]],
        known_classes(rows, wishes.target, classes), weights,
    )  # fmt: skip


def read_frame(given: Any, how: ReadAs) -> tuple[pd.DataFrame, Dialect | None, str]:
    """Return a table in memory, from a frame of any kind or a file, and how it was read."""
    if isinstance(given, (str, os.PathLike)):
        read = read_file(Path(given), how)
        return read.frame, read.dialect, read.read_as
    if not hasattr(given, "columns"):
        raise InputError(
            f"the labeled table must be a data frame or a path; found a {type(given).__name__}"
        )
    table = as_pandas(given)
    if not len(table):
        raise InputError("the labeled table has no rows")
    return table.set_axis([str(name) for name in table.columns], axis="columns"), None, ""


def _useful(
    features: list[str], table: pd.DataFrame, rows: Population, wishes: Wishes
) -> tuple[list[str], dict[str, str]]:
    """Return the columns that something can be learned from, and why not from the others."""
    for name in wishes.keep:
        check_column(for_user("keep", "--keep"), name, features)
    some = table[features]
    if not rows.is_elsewhere:
        some = as_pandas(next(iter(rows.read(features)))[0])
    asked = {*wishes.keep, *wishes.text}
    found = {name: why_left_out(table[name], some[name]) for name in features if name not in asked}
    left_out = {name: why for name, why in found.items() if why is not None}
    if len(left_out) == len(features):
        option = for_user(f"keep=[{features[0]!r}]", f"--keep {features[0]}")
        raise InputError(
            f"there is no column to learn from: {features[0]!r} {left_out[features[0]]}; if it is "
            f"useful all the same, say so with {option}"
        )
    return [name for name in features if name not in left_out], left_out


def _codes(table: pd.DataFrame, columns: Sequence[Column], wishes: Wishes) -> list[str]:
    """Return columns of numbers that are likely codes, if nobody has said what they are."""
    return [
        column.name
        for column in columns
        if column.kind == "numbers"
        and column.name not in wishes.keep
        and look_like_codes(table[column.name])
    ]


def _features(
    table: pd.DataFrame, columns: list[str], group: Sequence[str], wishes: Wishes
) -> list[str]:
    """Return the columns to learn from; every column that is named must be there."""
    others = [name for name in columns if name != wishes.target]
    check_column(for_user("id", "--id"), wishes.id, others)
    for name in group:
        check_column(for_user("totals", "--group"), name, others)
    check_column(for_user("weight", "--weight"), wishes.weight, others)
    if wishes.weight is not None and wishes.weight in group:
        raise InputError(f"{wishes.weight!r} cannot be the weight and a grouping column of totals")
    named = [name for name in (wishes.id, wishes.weight) if name is not None]
    left_out = [*wishes.drop, *named]
    header = pd.DataFrame(columns=columns)
    names = feature_names(table, header, wishes.target, left_out, group)
    for name in wishes.text:
        if name not in names:
            raise InputError(
                f"{for_user('text', '--text')}: {name!r} is not a column to learn from; these are "
                f"{all_of(names)}{nearest(name, names)}"
            )
    return names


def read_files(
    totals: Any, target: str, columns: Sequence[str], classes: Sequence[str]
) -> tuple[Any, list[str]]:
    """Return totals with their files read, and what there is to say about these."""
    given = list(totals) if isinstance(totals, list) else [totals]
    if not any(isinstance(each, (TotalsFile, str, os.PathLike)) for each in given):
        return totals, []
    found: list[Any] = []
    notes = []
    for each in given:
        if isinstance(each, (str, os.PathLike)):
            each = TotalsFile(Path(each), target)
        if isinstance(each, TotalsFile):
            rows, note = each.read([name for name in columns if name != target], classes)
            notes += [] if note is None else [note]
            found.append(rows)
        else:
            found.append(each)
    return found, notes


def _length(rows: Population) -> int:
    assert rows.n_rows is not None
    return rows.n_rows


def column_names(rows: Population) -> list[str]:
    """Return the names of the columns of a population, which it must have."""
    if rows.names is None:
        raise InputError(
            "the unlabeled rows must have columns with names: give a data frame, a path, a "
            "dataset, a lazy frame or a Dask DataFrame"
        )
    return rows.names


def _called(given: Any, otherwise: str) -> str:
    return Path(given).name if isinstance(given, (str, os.PathLike)) else otherwise


def _by_target(table: pd.DataFrame, target: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split one table into the rows whose target is known and the others."""
    if target not in table:
        return table, table  # the check of the target says so
    known = as_text(table[target]).notna()
    rest = table[~known].drop(columns=target).reset_index(drop=True)
    if not len(rest):
        raise InputError(
            f"there are no rows to label: no cell of the target {target!r} is empty, and no "
            "unlabeled table was given"
        )
    return table[known].reset_index(drop=True), rest


def _values_of(table: pd.DataFrame, target: str) -> list[Any]:
    """Return the classes as they are in the table, and as text."""
    return [*pd.unique(table[target]), *set(as_text(table[target]))]


def _outputs(table: pd.DataFrame, target: str, classes: Sequence[str]) -> Any:
    """Return the classes in the type of the labeled table."""
    first = pd.Series(table[target].to_numpy(), index=as_text(table[target]))
    values = first[~first.index.duplicated()].loc[list(classes)].to_numpy()
    return np.array(list(classes), dtype=object) if values.dtype == object else values


def _as_texts(totals: Totals) -> Totals:
    """Return totals whose classes and groups are the texts that cells are."""

    def keys(row: Mapping[Any, Any]) -> dict[str, Any]:
        return dict(zip(_texts(list(row)), row.values(), strict=True))

    margins = []
    for margin in totals.margins:
        if None in margin.columns:
            raise InputError("a table of totals must name the columns that its groups are from")
        by_group = {
            tuple(_texts(list(group))) if len(margin.columns) > 1 else _texts([group])[0]: keys(row)
            for group, row in margin.by_group.items()
        }
        margins.append(Margin(margin.columns, by_group))
    return replace(totals, overall=keys(totals.overall), margins=tuple(margins))


def _texts(values: list[Any]) -> list[str]:
    texts = as_text(pd.Series(values, dtype=object))
    return [str(value) if text is None else text for value, text in zip(values, texts, strict=True)]


def _bounds(
    totals: Totals,
    groups: Groups,
    classes: Sequence[str],
    policy: str,
    weights: Floats | None,
) -> tuple[Bounds, list[str]]:
    """Return whole-number bounds, and what had to be changed for them."""
    with warnings.catch_warnings(record=True) as changes:
        warnings.simplefilter("always")
        bounds = known_bounds(totals, groups, classes, policy, weights)  # type: ignore[arg-type]
    remarks = [f"Totals were changed: {change.message}." for change in changes]
    return bounds.with_implied_bounds(), remarks
