"""In words: what was done or would be done, and how tables were understood.

What the summary and the report both say comes from :mod:`c2rf.report.measures`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from c2rf._utils.frames import as_pandas
from c2rf._utils.text import count, for_user, listed_names, percent, proof, short
from c2rf.data.cells import TypedCells, as_text, is_date
from c2rf.data.dialect import AS_FOUND, ReadAs
from c2rf.data.profile import ColumnProfile
from c2rf.data.totals import TotalsTable
from c2rf.exceptions import InputError
from c2rf.report.language import translated
from c2rf.report.measures import (
    CALIBRATED_BY,
    UNRELIABLE,
    about_estimates,
    expected_right,
    how_likely,
    known_total,
    robustness,
    stated_total,
    unreliable_classes,
    used_as,
)
from c2rf.workflow.prepare import PreparedData
from c2rf.workflow.tables import find_rows

if TYPE_CHECKING:
    from c2rf.workflow.result import Classification


MOST_NAMED = 20
"""The most columns, and the most adjusted totals, that are named."""

Line = tuple[str, str]
"""A name, and what there is to say about it."""


def in_language(lines: Sequence[Line], language: str, keep: Collection[str] = ()) -> list[Line]:
    """Return lines in another language."""
    return [
        (translated(name, language, keep), translated(sentence, language, keep))
        for name, sentence in lines
    ]


def plan_lines(data: PreparedData) -> list[Line]:
    """Say what would be done."""
    totals = [
        (f"total of {short(name)}", stated_total(data, k)) for k, name in enumerate(data.classes)
    ]
    method = ("method", data.options.method)
    return [*_tables(data), method, *totals, *_groups(data), *_columns(data)]


def summary_lines(result: Classification) -> list[Line]:
    """Say what was done."""
    data, lines = result.data, _tables(result.data)
    for k, (name, labels) in enumerate(result.counts.items()):
        lines.append((f"label {short(name)}", f"{labels:,} ({known_total(result, k)})"))
    lines += [*_groups(data), *_adjustments(data), *_closeness(result)]
    if result.accuracy is not None:
        lines.append(("accuracy", str(result.accuracy)))
    lines += [*_expected(result), *_imputations(result)]
    if hasattr(result.classifier, "solution_"):
        lines.append(("proof", proof(result.classifier.solution_, result.classifier)))
    lines += _columns(data)
    if result.sensitivity is not None:
        lines.append(("robust", robustness(result, short)))
    return lines


def _tables(data: PreparedData) -> list[Line]:
    weighted = "" if data.labeled_weights is None else ", learned from by their weights"
    known = f", and {data.n_known:,} more whose label is known" if data.n_known else ""
    return [
        *(("read as", f"{name}: {dialect}") for name, dialect in dict.fromkeys(data.read_as)),
        ("labeled", count(data.n_labeled, "row") + data.checked_rows + weighted),
        ("unlabeled", f"{count(data.n_open, 'row')}{known}"),
    ]


def _groups(data: PreparedData) -> list[Line]:
    """Say which groups have totals, and whom totals are about if not the rows to label alone."""
    whom = [("about", data.about_totals)] if data.about_totals else []
    return whom + [
        (
            "groups",
            f"{count(len(margin.by_group), 'group')} of {', '.join(map(str, margin.columns))} "
            "with totals",
        )
        for margin in data.totals.margins
    ]


def _adjustments(data: PreparedData) -> list[Line]:
    """Say which totals had to be moved."""
    adjusted = data.bounds.adjustments
    lines = [("total moved", str(each)) for each in adjusted[:MOST_NAMED]]
    more = len(adjusted) - MOST_NAMED
    return [*lines, *([("totals moved", f"and {more:,} more")] if more > 0 else [])]


def _closeness(result: Classification) -> list[Line]:
    """Say how closely weighted totals are met, and how likely labels that meet margins are."""
    stats, data = getattr(result.classifier, "assignment_", {}), result.data
    if data.weights is not None and stats:
        off = result.totals_met["off"].abs().max()
        proven = "; no labels come closer" if stats["closest"] else ""
        total = f"{data.weights.sum():,.6g}"
        return [("weights", f"they add up to {total}; totals met to {off:.3g} each{proven}")]
    if data.bounds.margins and stats:
        n_margins = len(data.bounds.margins)
        return [("margins", f"all {n_margins} met in whole rows; {how_likely(stats['gap'])}")]
    return []


def _expected(result: Classification) -> list[Line]:
    """Say how many labels are expected to be right, and of which classes too few."""
    if not hasattr(result.classifier, "expected_confusion_"):
        return []
    lines = [("right", expected_right(result))]
    if result.classifier.calibrated_by_ is None:
        lines.append(("careful", CALIBRATED_BY[None]))
    names = [f"{short(name)} ({percent(share)})" for name, share in unreliable_classes(result)]
    if names:
        few = f"fewer than {percent(UNRELIABLE)} of these labels are expected to be right"
        lines.append(("unreliable", f"{listed_names(names)}: {few}"))
    return lines


HOW_DRAWN = {
    "exact": "all meet the totals; drawn exactly",
    "markov-chain": "all meet the totals; approximate, drawn by a Markov chain",
    "perturb-and-map": (
        "all meet the totals as nearly as weights allow; approximate, the likeliest labels for "
        "probabilities with random noise (perturb-and-MAP)"
    ),
}
"""The text on imputations, by how they were drawn."""


def _imputations(result: Classification) -> list[Line]:
    """Say how imputations were drawn, if they were."""
    method = getattr(result.classifier, "imputation_method_", None)
    lines = [] if method is None else [("imputations", HOW_DRAWN[method])]
    for columns, table in zip(result.data.options.tables_by, result.published, strict=True):
        lines.append((f"by {short(', '.join(columns))}", about_estimates(table)))
    return lines


def _columns(data: PreparedData) -> list[Line]:
    """Tell of columns that are not simply numbers, and what else to be careful about."""
    lines = [
        (f"column {short(column.name)}", "; ".join(what))
        for column in data.columns
        if (what := _about_column(column))
    ]
    left = len(lines) - MOST_NAMED
    more = [("columns", f"and {left} more that are not plain numbers")] if left > 0 else []
    remarks = [("careful", remark) for remark in data.remarks]
    return [*lines[:MOST_NAMED], *more, *_left_out(data), *_likely_codes(data), *remarks]


def _about_column(column: ColumnProfile) -> list[str]:
    found = []
    if column.kind != "numbers":
        found.append(used_as(column))
    if sum(column.missing):
        cells = count(sum(column.missing), "empty cell")
        found.append(f"{cells}, treated as a value of their own")
    if column.unseen:
        found.append(f"{count(column.unseen, 'row')} with a value that no labeled row has")
    return found


def _left_out(data: PreparedData) -> list[Line]:
    """Tell of columns that were left out, by reason."""
    lines = []
    for why in dict.fromkeys(data.left_out.values()):
        names = [name for name, reason in data.left_out.items() if reason == why]
        back = for_user(f"keep=[{names[0]!r}]", f"--keep {names[0]}")
        shown = ", ".join(short(name) for name in names[:MOST_NAMED])
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        lines.append(("left out", f"{shown}{more}: {why} ({back} brings it back)"))
    return lines


def _likely_codes(data: PreparedData) -> list[Line]:
    """Tell of columns of numbers that look like codes."""
    lines = []
    for name in data.codes[:MOST_NAMED]:
        option = for_user(f"text=[{name!r}]", f"--text {name}")
        sentence = f"numbers that look like codes; if they are, use {option}"
        lines.append((f"column {short(name)}", sentence))
    return lines


FIRST_ROWS = 3
MOST_COLUMNS = 60
"""Wider tables are shown up to here."""


@dataclass(frozen=True, eq=False)
class TablePreview:
    """A table as it was understood.

    ``looked_at`` counts the rows that were read; ``n_rows`` is None if not all were counted.
    ``columns`` has a row for each column: its type, the cells of the first rows, the numbers of its
    values and of its empty cells. Of wide tables it has the first columns, ``names`` has all.
    """

    name: str
    read_as: str
    columns: pd.DataFrame
    names: Sequence[str]
    looked_at: int
    n_rows: int | None
    decimal: str | None = None

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.names)

    @property
    def title(self) -> str:
        """A line that says what the table is.

        Examples
        --------
        >>> TablePreview("a.csv", "commas, UTF-8", pd.DataFrame(), ["x", "y", "z"], 9, 9).title
        'a.csv: 9 rows, 3 columns; read as: commas, UTF-8'
        """
        rows = count(self.looked_at, "row")
        rows = rows if self.n_rows is not None else f"the first {rows}"
        read_as = f"; read as: {self.read_as}" if self.read_as else ""
        return f"{self.name}: {rows}, {count(self.n_columns, 'column')}{read_as}"


def preview(given: Any, how: ReadAs = AS_FOUND, *, name: str = "the table") -> TablePreview:
    """Read a table and say how it was understood.

    Parameters
    ----------
    given : data frame or path
        The table; of a large file only the start is read.
    how : ReadAs
        How files are to be read.
    name : str
        What to call it.

    Examples
    --------
    >>> found = preview(pd.DataFrame({"age": [41, None], "town": ["Ulm", "Bonn"]}))
    >>> found.columns[["column", "type", "values", "empty"]].to_numpy().tolist()
    [['age', 'number', 1, 1], ['town', 'text', 2, 0]]
    """
    rows = find_rows(given, "auto", how)
    names = list(rows.names or [])
    chunk = next(iter(rows.read(names)))[0]
    table = as_pandas(chunk)
    return TablePreview(
        name,
        rows.read_as,
        pd.DataFrame([_row(table[name]) for name in list(table)[:MOST_COLUMNS]]).fillna(""),
        names,
        len(table),
        rows.n_rows,
        None if rows.dialect is None else rows.dialect.decimal,
    )


def previews(paths: Sequence[Path], how: ReadAs, totals: Sequence[Path]) -> list[TablePreview]:
    """Read tables, and tables of totals; how the numbers of these are read is said elsewhere."""
    found = [preview(path, how, name=path.name) for path in paths]
    return [*found, *(_preview_of_totals(path, how) for path in totals)]


def _preview_of_totals(path: Path, how: ReadAs) -> TablePreview:
    cells, note, _ = TotalsTable(path, "").cells(how)
    for mark in (how.decimal, ",", "."):
        try:
            found = preview(TypedCells(path, replace(how, decimal=mark)).table(cells))
            return replace(found, name=path.name, read_as=note)
        except InputError as error:
            wrong = error
    raise wrong


def _row(column: pd.Series[Any]) -> dict[str, Any]:
    """Return what a preview says of a column."""
    profile = ColumnProfile(column)
    kind = {"numbers": "number", "dates": "date"}.get(profile.kind, "text")
    kind = kind if profile.labeled.given else "empty"
    first = as_text(column.iloc[:FIRST_ROWS]).fillna("")
    return {
        "column": profile.name,
        "type": "date" if is_date(column.dtype) else kind,
        **{f"row {k + 1}": short(cell, 24) if cell else "" for k, cell in enumerate(first)},
        "values": len(profile.texts.values),
        "empty": profile.labeled.missing,
    }
