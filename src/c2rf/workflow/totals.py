"""Totals as the user states them: read, checked against the rows, and turned into bounds.

:func:`read_known` reads totals whose classes and groups are texts, :func:`find_all_bins` finds the
groups that are ranges of a column, and :func:`bounds_of_rows` says whom totals are about and turns
them into bounds for the rows to label.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_integer_dtype

from c2rf._utils.frames import as_pandas
from c2rf._utils.text import all_of, count, listed, nearest, option_name
from c2rf._utils.types import Floats, Texts
from c2rf.data.cells import as_text
from c2rf.data.dialect import AS_FOUND, ReadAs
from c2rf.data.population.interface import Chunk, Population
from c2rf.data.profile import check_column
from c2rf.data.totals import MISSES, Bins, TotalsTable, find_bins
from c2rf.exceptions import InputError
from c2rf.totals.bounds import Bounds, open_margins
from c2rf.totals.everybody import about_whom
from c2rf.totals.groups import Groups
from c2rf.totals.make_bounds import make_bounds
from c2rf.totals.stated import Labeled, Totals, is_list_of_rows, read_totals
from c2rf.workflow.options import Options

NO_GROUP = "(no group)"
"""The group of rows whose cell is empty."""


def groups_of(table: pd.DataFrame, columns: Sequence[str], bins: Mapping[str, Bins]) -> Groups:
    """Return the groups of rows by some columns; a group of several is a tuple of texts."""
    texts = [
        np.array(
            bins[name].place(table[bins[name].column], NO_GROUP)
            if name in bins
            else as_text(table[name]).fillna(NO_GROUP),
            dtype=object,
        )
        for name in columns
    ]
    found = Groups.of(texts, tuple(columns))
    return found._replace(codes=found.codes.astype(np.int32))  # four bytes a row are enough


def read_known(
    totals: Any,
    classes: pd.Series[Any],
    columns: Sequence[str],
    how: ReadAs = AS_FOUND,
    rows: Population | None = None,
) -> tuple[Totals, list[tuple[str, str]]]:
    """Return totals whose classes and groups are texts, and how their files were read.

    Parameters
    ----------
    totals : object
        As for :class:`c2rf.KnownTotalsClassifier`; a path or :class:`TotalsTable` is a table.
    classes : Series
        The target of the labeled rows.
    columns : sequence of str
        The columns of the unlabeled rows, among which grouping columns are found.
    how : ReadAs
        How files with totals are to be read.
    rows : Population, optional
        The unlabeled rows. A total that is the sum of others is taken for a sum only if no row is
        in a group of that name.
    """
    target, texts = str(classes.name), sorted(set(as_text(classes)))
    others = [name for name in columns if name != target]
    notes: list[tuple[str, str]] = []

    @cache
    def values(name: str) -> set[str]:
        if rows is None or name not in others:
            return set()
        found: set[str] = rows.reduce(partial(_values_of, name), _union, [name])
        return found

    def read(given: Any) -> Any:
        given = as_pandas(given)
        if isinstance(given, Mapping):
            return dict(zip(_texts(list(given)), given.values(), strict=True))
        if isinstance(given, (str, os.PathLike)):
            given = TotalsTable(Path(given), target)
        elif is_list_of_rows(given):
            given = TotalsTable(pd.DataFrame(given, dtype=object), target)
        elif hasattr(given, "index") and not callable(given.index):
            frame = given.rename("total").to_frame() if given.ndim == 1 else given.copy(deep=False)
            if given.ndim == 2 and frame.index.name is None and is_integer_dtype(frame.index):
                frame = frame.reset_index(drop=True)  # numbers of rows, of which some may be gone
            is_counted = isinstance(frame.index, pd.RangeIndex)
            given = TotalsTable(frame if is_counted else frame.reset_index(), target)
        if not isinstance(given, TotalsTable):
            return given
        found, note = given.read(others, texts, how, None if rows is None else values)
        notes.append((Path(given.name).name, note))
        return found

    is_list = isinstance(totals, list) and not is_list_of_rows(totals)
    return read_totals([read(each) for each in totals] if is_list else read(totals)), notes


def _values_of(name: str, chunk: Chunk) -> set[str]:
    return set(as_text(as_pandas(chunk.data)[name]).dropna().unique())


def _union(parts: Sequence[set[str]]) -> set[str]:
    return set().union(*parts)


def _texts(values: list[Any]) -> list[str]:
    texts = as_text(pd.Series(values, dtype=object))
    return [str(value) if text is None else text for value, text in zip(values, texts, strict=True)]


def find_all_bins(
    totals: Totals, table: pd.DataFrame, columns: Sequence[str], options: Options
) -> dict[str, Bins]:
    """Return the groups that are ranges of a column: as the user says, or found by their names."""
    given = [] if options.bin is None else [Bins.parse(text) for text in options.bin.split(";")]
    bins = {each.name: each for each in given}
    for each in given:
        check_column(option_name("bin"), each.column, columns)
        wanted = list(dict.fromkeys([*totals.columns, *chain.from_iterable(options.tables_by)]))
        if each.name not in wanted:
            raise InputError(
                f"{option_name('bin')}: neither totals nor estimates are by {each.name!r}, but by "
                f"{all_of(wanted) or 'nothing'}; name it in {option_name('estimates_by')}, too"
            )
    taken = [options.id, options.weight, options.target]
    for margin in totals.margins:
        for place, name in enumerate(map(str, margin.columns)):
            if name not in columns and name not in bins:
                named = (g if len(margin.columns) > 1 else (g,) for g in margin.by_group)
                labels = list(dict.fromkeys(str(group[place]) for group in named))
                others = [each for each in columns if each not in taken]
                bins[name] = find_bins(name, labels, table, others)
    return bins


def bounds_of_rows(
    totals: Totals,
    groups: Groups,
    weights: Floats | None,
    labels: Texts,
    labeled: Labeled | None,
    options: Options,
) -> tuple[Totals, Bounds, list[str]]:
    """Say whom totals are about, and make bounds of them that all rows to label can meet.

    Parameters
    ----------
    totals : Totals
        The totals as they were stated.
    groups, weights : Groups, ndarray or None
        The groups of the rows to label, and how many people each row stands for.
    labels : ndarray of str
        The classes of the labeled rows.
    labeled : Labeled or None
        How many people the labeled rows are, of those who are not to be labeled; None if not known.
    options : Options
        The options.

    Returns
    -------
    tuple
        The totals with the labeled rows if they are about everybody, the bounds, and remarks.
    """
    sizes = groups.sizes if weights is None else groups.weight(weights)
    n, n_labeled = sizes.sum(), 0 if labeled is None else labeled.counts.sum()
    _refuse_misspelled(totals, labels, n, n + n_labeled)
    remarks, classes = _groups_without_totals(totals, groups), sorted(set(labels))
    totals = about_whom(totals, groups, sizes, labeled, classes, options.totals_of)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # summary and report name each adjustment
        bounds = make_bounds(totals, groups, classes, options.totals_policy, weights)
    return totals, bounds.with_implied_bounds(), remarks


def count_labeled(
    table: pd.DataFrame,
    labels: Texts,
    people: Any,
    columns: Sequence[Any],
    bins: Mapping[str, Bins],
) -> Labeled:
    """Count the labeled rows of each class by grouping columns, as far as their table has them.

    ``people`` is how many people a labeled row adds to those who are to be labeled.
    """
    codes = np.unique(labels, return_inverse=True)[1]
    sources = {name: bins[name].column if name in bins else name for name in columns}
    lacking = tuple(name for name, source in sources.items() if source not in table)
    own = Groups.none(len(table))
    if columns:
        there = {name: each for name, each in bins.items() if name not in lacking}
        own = groups_of(table.assign(**dict.fromkeys(lacking, "")), columns, there)
    counts = np.zeros((len(own.names), codes.max() + 1), dtype=people.dtype)
    np.add.at(counts, (own.codes, codes), people)
    return Labeled(own.names, counts, lacking)


def _refuse_misspelled(totals: Totals, labels: Texts, n: float, n_everybody: float) -> None:
    """Refuse a class without totals that is named like another one, if the others leave no room."""
    named = {str(label) for table in totals.tables for row in table.values() for label in row}
    for label in sorted(set(labels) - named):
        meant = nearest(label, sorted(named))
        if meant and any(_are_all(table, n, n_everybody) for table in totals.tables):
            rows = count(int((labels == label).sum()), "labeled row")
            raise InputError(
                f"the class {label!r} of {rows} has no total, and the totals of the other classes "
                f"({listed(sorted(named))}) leave no room for it{meant} Correct it in the labeled "
                "table, or give it a total"
            )


def _are_all(table: Mapping[Any, Mapping[Any, Any]], n: float, n_everybody: float) -> bool:
    """Say whether totals add up to the rows to label, to everybody or more, or to 100%."""
    given = [
        [getattr(total, "value", total) for total in row.values() if not isinstance(total, tuple)]
        for row in table.values()
    ]
    rates = [sum(row) for row in given if row and all(map(_is_rate, row))]
    found = sum(each for row in given for each in row if not _is_rate(each))
    slack = MISSES * n
    return any(rate > 1 - MISSES for rate in rates) or (
        abs(found - n) <= slack or found >= n_everybody - slack
    )


def _is_rate(total: Any) -> bool:
    return isinstance(total, float) and total <= 1


def _groups_without_totals(totals: Totals, groups: Groups) -> list[str]:
    """Say which groups have no totals, where most have; refuse what seems a sum but is not."""
    remarks = []
    for margin, there in zip(
        totals.margins, open_margins(totals, groups, groups.sizes, 1)[1:], strict=True
    ):
        named = [each for each in there.names if NO_GROUP not in (each, *np.atleast_1d(each))]
        absent, columns = [each for each in named if each not in margin.by_group], margin.columns
        by = all_of(list(columns))
        for name in set(margin.by_group) - set(there.names):
            others = [row for group, row in margin.by_group.items() if group != name]
            if len(columns) == 1 and (off := _off_a_sum(margin.by_group[name], others)):
                raise InputError(
                    f"the totals by {by}: {name!r} is no group of the rows, and looks like the sum "
                    f"of the others, but is off by {abs(off):,}"
                    + (f"; there are no totals for {listed(absent)}" if absent else "")
                    + ". Correct the totals, or drop that row"
                )
        if absent:
            n = int(there.sums(groups.sizes)[[each in set(absent) for each in there.names]].sum())
            remarks.append(
                f"{by}: there are no totals for {listed(absent)} ({count(n, 'row')}), but for "
                f"{len(margin.by_group):,} other groups."
            )
    return remarks


def _off_a_sum(row: Mapping[Any, Any], others: Sequence[Mapping[Any, Any]]) -> int:
    """Return by how much counts miss the sums of others; 0 if they do not look like these."""
    parts = [[each.get(label, 0) for each in others] for label in row]
    if len(others) < 2 or not all(
        isinstance(each, int) and all(isinstance(part, int) for part in own) and each >= max(own)
        for each, own in zip(row.values(), parts, strict=True)
    ):
        return 0
    found, stated = sum(map(sum, parts)), sum(row.values())
    return stated - found if 0.5 < found / max(stated, 1) < 2 else 0
