"""What is known of the unlabeled rows, with classes and groups as the texts of the tables."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from c2rf._typing import Floats
from c2rf.exceptions import InputError
from c2rf.files.cells import as_text
from c2rf.files.dialect import AS_FOUND, ReadAs
from c2rf.totals import Bounds, Groups, Margin, Totals, known_bounds, read_totals
from c2rf.totals.tables import TotalsFile


def read_known(
    totals: Any, classes: pd.Series[Any], columns: Sequence[str], how: ReadAs = AS_FOUND
) -> tuple[Totals, list[str]]:
    """Return totals whose classes and groups are texts, and remarks about their files.

    Parameters
    ----------
    totals : object
        As for :class:`c2rf.KnownTotalsClassifier`; a path or :class:`TotalsFile` is a table.
    classes : Series
        The target of the labeled rows.
    columns : sequence of str
        The columns of the unlabeled rows, among which grouping columns are found.
    how : ReadAs
        How files with totals are to be read.
    """
    texts = sorted(set(as_text(classes)))
    given, remarks = _with_files_read(totals, str(classes.name), columns, texts, how)
    return _as_texts(read_totals(given, [*pd.unique(classes), *texts])), remarks


def checked_bounds(
    totals: Totals,
    groups: Groups,
    classes: Sequence[str],
    policy: str,
    weights: Floats | None,
) -> Bounds:
    """Return whole-number bounds, which know themselves which totals were changed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # summary and report tell of each change
        bounds = known_bounds(totals, groups, classes, policy, weights)  # type: ignore[arg-type]
    return bounds.with_implied_bounds()


def _with_files_read(
    totals: Any, target: str, columns: Sequence[str], classes: Sequence[str], how: ReadAs
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
            rows, note = each.read([name for name in columns if name != target], classes, how)
            notes += [] if note is None else [note]
            found.append(rows)
        else:
            found.append(each)
    return found, notes


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
