"""Totals as people write them: in text, and in tables.

Text is a count ``1234``, a rate ``12%``, a range ``1200..1300`` or an estimate ``1200+-50``; of
several classes ``yes=1234,no=8766``.

A table in a file is long (a row for each total) or wide (a row for each group and a column for each
class, as a census gives it). Rows and columns of sums are recognised by their names or by
arithmetic. They must be right, and are left out then: they say nothing new, but for a number that
is missing.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import normalize

import numpy as np
import pandas as pd

from c2rf._utils.text import (
    all_of,
    count,
    for_user,
    listed,
    listed_names,
    nearest,
    option_name,
    split_names,
)
from c2rf._utils.types import Floats, Ints
from c2rf.data.dialect import AS_FOUND, ReadAs
from c2rf.data.numerals import MINUS, NAMES, OTHER, canonical, readings
from c2rf.exceptions import InputError
from c2rf.totals.stated import Estimate, is_error, with_error

Number = int | float
Total = Number | tuple[Number, Number] | Estimate
"""A count, a rate, a range of either, or an estimate."""


def parse_total(text: str, name: str = "--total", decimal: str | None = None) -> Number:
    """Return a count from ``1234``, a rate from ``0.12`` or ``12%``: the text decides.

    Marks between thousands are understood where they cannot be decimal marks, or ``decimal`` says
    which of both they are.

    Examples
    --------
    >>> parse_total("1234"), parse_total("0.12"), parse_total("12,5%"), parse_total("1.0")
    (1234, 0.12, 0.125, 1.0)
    >>> parse_total("25 937"), parse_total("1.025.937"), parse_total("25.937", decimal=",")
    (25937, 1025937, 25937)
    >>> parse_total("1,234")
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputError: --total '1,234' is 1.234 with a decimal comma and 1234 with a \
decimal point; a count is whole: write 1234 if that is what it means
    """
    is_rate = text.strip().endswith("%")
    written = text.strip().removesuffix("%").rstrip()
    marks = readings(written)
    if not marks:
        raise InputError(
            f"{name} must be a count like 1234 or a rate like 0.12 or 12%; found {text!r}"
        )
    if len(marks) > 1 and is_rate:  # of 33.333% only one reading is at most 100
        marks = tuple(mark for mark in marks if mark in written)
    elif len(marks) > 1:
        mark = next(mark for mark in OTHER if mark in written)
        if decimal != OTHER[mark]:
            whole, other = canonical(written, OTHER[mark]), NAMES[OTHER[mark]]
            raise InputError(
                f"{name} {written!r} is {canonical(written, mark)} with a decimal {NAMES[mark]} "
                f"and {whole} with a decimal {other}; a count is whole: write {whole} if that is "
                "what it means"
            )
        marks = (decimal,)
    plain = _plain(written, marks[0] or ".")
    if is_rate and not 0 <= float(plain) <= 100:
        raise InputError(f"{name} must be a count, or a rate from 0% to 100%; found {text!r}")
    if is_rate:
        return round(float(plain) / 100, 12)
    return int(plain) if re.fullmatch(r"[+-]?[0-9]{1,18}", plain) else float(plain)


def parse_range(text: str, name: str = "--total", decimal: str | None = None) -> Total:
    """Return a total, a range of totals from ``lo..hi``, or an estimate from ``value+-se``.

    Examples
    --------
    >>> parse_range("1234"), parse_range("1200..1300"), parse_range("10%..0.12")
    (1234, (1200, 1300), (0.1, 0.12))
    >>> parse_range("1200+-50"), parse_range("12%+-1%")
    (Estimate(1200, se=50), Estimate(0.12, se=0.01))
    """
    value, sign, error = text.replace("\N{PLUS-MINUS SIGN}", "+-").partition("+-")
    if sign:
        number = parse_total(value, name, decimal)
        se = parse_total(error, f"{name}: the standard error", decimal)
        if number < 0 or not se > 0:
            raise InputError(
                f"{name}: an estimate is a total and a standard error above 0, like 1200+-50; "
                f"found {text!r}"
            )
        return Estimate(number, se)
    lo, dots, hi = text.partition("..")
    if not dots:
        return parse_total(text, name, decimal)
    ends = parse_total(lo, name, decimal), parse_total(hi, name, decimal)
    if type(ends[0]) is not type(ends[1]) or not ends[0] <= ends[1]:
        raise InputError(
            f"{name}: a range lo..hi must be two counts or two rates, lo at most hi; found {text!r}"
        )
    return ends


def parse_totals(text: str, decimal: str | None = None) -> dict[str, Total]:
    """Return the totals of classes from ``yes=1234,no=8766``.

    Examples
    --------
    >>> parse_totals("yes=12%,no=80%..90%"), parse_totals("yes=57,6%,no=42,4%")
    ({'yes': 0.12, 'no': (0.8, 0.9)}, {'yes': 0.576, 'no': 0.424})
    >>> parse_totals('"Bonn, old=1",x=y=2')  # as in CSV, quotes protect commas
    {'Bonn, old': 1, 'x=y': 2}
    >>> parse_totals("yes=57,6%;no=42,4%")
    {'yes': 0.576, 'no': 0.424}
    """
    totals: dict[str, Total] = {}
    parts: list[str] = []
    semicolons = ";" in text and all("=" in part for part in text.split(";"))
    mark = ";" if semicolons else ","
    for part in next(csv.reader([text], delimiter=mark, skipinitialspace=True), []):
        if parts and "=" not in part:  # 57,6%
            parts[-1] += f",{part}"
        else:
            parts.append(part)
    for part in parts:
        name, sign, number = part.rpartition("=")
        if not sign or not name.strip():
            raise InputError(f"--totals must be like yes=1234,no=8766; found {part!r}")
        if name.strip() in totals:
            raise InputError(f"--totals: the class {name.strip()!r} has more than one total")
        where = f"--totals: the total of {name.strip()!r}"
        totals[name.strip()] = parse_range(number, where, decimal)
    if not totals:
        raise InputError("--totals must be like yes=1234,no=8766; found nothing")
    return totals


def parse_share(text: str | None) -> float | str | None:
    """Return a share from ``5%`` or ``0.05``; other text is for later checks to refuse.

    Examples
    --------
    >>> parse_share("5%"), parse_share("0.1"), parse_share("se")
    (0.05, 0.1, 'se')
    """
    with suppress(InputError):
        return None if text is None else parse_total(text)
    return text


def collect(
    target: str,
    *,
    positive: Sequence[str] = (),
    total: Sequence[str] = (),
    totals: Sequence[str] = (),
    totals_file: Sequence[Path] = (),
    group: Sequence[str] = (),
    decimal: str | None = None,
) -> list[Any]:
    """Put together the totals from all the ways of giving them; all of them hold at once.

    Files are read later, when it is known which columns the unlabeled rows have.

    Examples
    --------
    >>> collect("sick", totals=["yes=12%", "no=7"])
    [{'yes': 0.12}, {'no': 7}]
    """
    if len(positive) != len(total):
        raise InputError("--positive and --total belong together: give both or neither")
    if total and totals:
        raise InputError("give --positive and --total, or --totals, not both")
    given: list[Any] = [
        {name: parse_range(text, decimal=decimal)}
        for name, text in zip(positive, total, strict=True)
    ]
    given += [parse_totals(text, decimal) for text in totals]
    given += [
        TotalsTable(path, target, tuple(columns), decimal)
        for path, columns in zip(totals_file, _grouped(totals_file, group), strict=True)
    ]
    if not given:
        raise InputError(
            "a known total is needed: --positive yes --total 1234, or --totals yes=1234, or "
            "--totals-file totals.csv"
        )
    return given


def _grouped(files: Sequence[Path], group: Sequence[str]) -> list[list[str]]:
    """Return the grouping columns of each file: all of one file, else one option for each.

    Examples
    --------
    >>> _grouped([Path("a.csv"), Path("b.csv")], ["region", "age,sex"])
    [['region'], ['age', 'sex']]
    """
    if group and not files:
        raise InputError("--group needs --totals-file, a table with the totals of the groups")
    if len(files) == 1:
        return [split_names(group)]
    if group and len(group) != len(files):
        raise InputError(
            f"found {len(group)} --group for {len(files)} --totals-file; give one --group for each "
            "file, in the same order, of several columns as age,sex"
        )
    return [split_names([names]) for names in group] or [[] for _ in files]


SUMS = frozenset(
    ["total", "totals", "sum", "all", "overall", "together", "gesamt", "summe", "insgesamt",
     "zusammen", "alle", "ensemble", "somme", "tous", "totale", "totali", "tutti", "todos", "suma",
     "conjunto"]
)  # fmt: skip
"""Usual names of rows and columns that hold sums; those of other names are found by arithmetic."""

PEOPLE = frozenset(
    ["n", "count", "persons", "people", "population", "rows", "personen", "anzahl", "einwohner",
     "effectif", "personnes", "personas", "poblaci\u00f3n", "habitants", "habitantes"]
)  # fmt: skip
"""Usual names of columns that say how many people a group has."""

UNKNOWN = frozenset([".", "/", "x", "X", "*", "…", "...", "•", "·", ":"])
"""What offices write where a number is secret, not reliable or not known."""

DASHES = ("-", "\N{EN DASH}", "\N{EM DASH}")
"""What is zero in some offices, and not known in others."""

_MOST_TRIED = 10
"""So many columns, those with the nearest names, may be meant by another name."""

NEAR = 0.8
"""So much of its characters must a column share with a class to be meant for it."""

MISSES = 0.002
"""By this share, at most, a sum may differ from its parts because all were rounded."""

_UNITS, _ENOUGH = (1000, 100, 50, 10, 5), 6
"""Tables are rounded to these numbers; so many counts that are multiples are no accident."""

_WHOLE = re.compile(r"[+-]?\d+")
_SHARE = re.compile(r".*(%|percent|prozent|pour ?cent|por ?ciento).*", re.IGNORECASE)
_UNIT = re.compile(
    r".*(1[ .,]000|\b1000\b|tsd|tausend|thousand|millier|\bmiles\b).*", re.IGNORECASE
)

Row = dict[str, Any]
Cells = dict[str, list[str | None]]
"""The cells of each column, None where they are empty."""

Place = tuple[Any, ...]
"""The values of the grouping columns, and a class; a sum has another name there."""

Values = Callable[[str], Collection[str]]
"""The values of a column in the rows to label; none of one that they do not have."""


class _NotTotalsError(InputError):
    """Cells that are no totals with the decimal mark that was tried."""


@dataclass(frozen=True)
class TotalsTable:
    """A table of totals as an office lays it out; what it says depends on the other tables.

    Parameters
    ----------
    given : Path or DataFrame
        The file, or the table.
    target : str
        The column of classes may have this name instead of ``class``.
    groups : tuple of str
        The grouping columns; none to find them by name.
    decimal : {".", ","}, optional
        The decimal mark, if it was named for tables of totals.
    """

    given: Path | pd.DataFrame
    target: str
    groups: tuple[str, ...] = ()
    decimal: str | None = None

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return str(self.given) if isinstance(self.given, Path) else "the table of totals"

    def read(
        self,
        columns: Sequence[str],
        classes: Sequence[str],
        how: ReadAs = AS_FOUND,
        values: Values | None = None,
    ) -> tuple[list[Row], str]:
        """Return the rows of a long table, and how it was read.

        If its numbers can be totals with one decimal mark only, that is the one; else what the
        user says. The mark of the other files decides if numbers have thousands with it.

        Parameters
        ----------
        columns : sequence of str
            The columns of the unlabeled rows, among which grouping columns are found.
        classes : sequence of str
            The classes, which tell a wide table.
        how : ReadAs
            How the file is to be read.
        values : callable, optional
            Takes a column, returns its values in the unlabeled rows: another one may be a sum.
        """
        cells, note, places = self.cells(how)
        cells = _spelled_as(cells, columns, classes)
        try:
            rows, mark, said = self._read(cells, places, columns, classes, how, values)
        except InputError as error:
            filled, names = _filled_down(cells)
            try:
                rows, mark, said = self._read(filled, places, columns, classes, how, values)
            except InputError:
                raise error from None
            said = f"empty cells of {all_of(names)} are read as the cell above; {said}"
        return rows, f"{note}{mark}; {said}"

    def _read(
        self, cells: Cells, places: Sequence[str], columns: Sequence[str], classes: Sequence[str],
        how: ReadAs, values: Values | None,
    ) -> tuple[list[Row], str, str]:  # fmt: skip
        """Return the rows of a long table, their decimal mark if it tells, and what was done."""
        found: dict[str, tuple[list[Row], str]] = {}
        errors: dict[str, InputError] = {}
        for mark in OTHER:
            try:
                found[mark] = self._interpreted(cells, places, mark, columns, classes, values)
            except InputError as error:
                errors[mark] = error
        told = self.decimal or how.decimal or how.likely
        if not found:
            meant = [m for m, error in errors.items() if not isinstance(error, _NotTotalsError)]
            raise errors[told if told and (told in meant or not meant) else (*meant, ".")[0]]
        mark, (rows, said) = next(iter(found.items()))
        if len(found) == 2 and rows != found[","][0]:
            pairs = zip(rows, found[","][0], strict=True)
            one, other = next(pair for pair in pairs if pair[0] != pair[1])
            sizes: list[Any] = [getattr(r["total"], "value", r["total"]) for r in (one, other)]
            thousands = "." if sizes[0] > sizes[1] else ","
            if told is None or not (self.decimal or how.decimal or told == thousands):
                options = for_user(
                    'totals_decimal="." or ","', "--totals-decimal . or --totals-decimal ,"
                )
                raise InputError(
                    f"{self.name}: the total of {one['class']!r} is {one['total']} with a decimal "
                    f"point and {other['total']} with a decimal comma; say which with {options}"
                )
            mark, (rows, said) = told, found[told]
        is_told = len(found) == 1 or said is not found["."][1]
        return rows, f", decimal {NAMES[mark]}" * is_told, said

    def cells(self, how: ReadAs) -> tuple[Cells, str, list[str]]:
        """Return the cells of all columns, how they were read, and where each row is."""
        from c2rf.data.formats import columns_of

        if not isinstance(self.given, Path):
            frame, note = self.given, "a table in memory"
            cells = {str(name): column.tolist() for name, column in frame.items()}
            places = [f"{self.name}, data row {r + 1}" for r in range(len(frame))]
        else:
            rows, first, note = _grid(self.given, how)
            cells = columns_of(rows, self.given)
            numbers = [first + r for r, row in enumerate(rows) if any(map(_cell, row))]
            places = [f"{self.name}, row {number}" for number in numbers[1:]]
        return {name: list(map(_cell, column)) for name, column in cells.items()}, note, places

    def _interpreted(
        self, cells: Cells, places: Sequence[str], mark: str, columns: Sequence[str],
        classes: Sequence[str], values: Values | None,
    ) -> tuple[list[Row], str]:  # fmt: skip
        """Return the rows of a long table, with this decimal mark, and what was done."""
        groups, pairs, error, said = self._layout(cells, columns, classes)
        used = {*groups, error, *itertools.chain(*pairs)}
        ignored, hint = [name for name in cells if name not in used], ""
        if ignored:
            hint = f"its columns {all_of(ignored)} were ignored, because the unlabeled rows do not "
            hint += "have them"
        totals, lines = dict[Place, Any](), dict[Place, str]()
        dashes, in_doubt = dict[Place, str](), ""
        may_be_open = {name for _, name in pairs if _are_totals(cells[name])}
        for r, (by_class, name) in itertools.product(range(len(cells[pairs[0][1]])), pairs):
            label = name if by_class is None else cells[by_class][r]
            place = (*(cells[group][r] for group in groups), label)
            cell, where = cells[name][r], places[r]
            if by_class is not None and cell is None:
                raise InputError(f"{where}: {name!r} is empty")
            if place in totals and None not in place:
                if values is not None:
                    self._refuse_other_name(cells, ignored, columns, values)
                raise InputError(
                    f"{self.name} has more than one total for {', '.join(map(repr, place))}"
                    f"{hint and f'; {hint}: these are {all_of(list(columns))}'}"
                )
            if label is None:
                raise InputError(f"{where}: {by_class!r} is empty")
            what = f"{where}: the total" + (f" of {name!r}" if by_class is None else "")
            lines.setdefault(place, where)
            total = None
            if cell is not None and not (cell in UNKNOWN and name in may_be_open):
                total = _read_total(name, cell, what, mark, error is not None)
            if cell is not None and cell.strip() in DASHES:
                dashes[place] = f"{what}: {cell!r}"
            is_whole = isinstance(total, float) and total.is_integer()
            if is_whole and cell is not None and len(readings(cell)) == 2:  # 2.000, or 2,000
                in_doubt = f"{what} {cell!r}"
            if error is not None and total is not None:
                total = with_error(total, _plain(cells[error][r] or "0", mark), where)
            totals[place] = total
        numbers = [each for each in totals.values() if isinstance(each, (int, float))]
        if in_doubt and any(isinstance(each, int) and each > 1 for each in numbers):
            raise _NotTotalsError(f"{in_doubt} is no count, beside others")
        names = [name for _, name in pairs]
        if 0 < max(numbers, default=0) <= 0.01 and all(map(_SHARE.fullmatch, names)):
            raise InputError(
                f"{self.name}: the column {names[0]!r} holds shares, or percentages below 1; write "
                "them with a percent sign, like 7.4% or 0.074%"
            )
        if max(numbers, default=2) <= 1 and not all(float(each).is_integer() for each in numbers):
            totals = {p: float(n) if isinstance(n, int) else n for p, n in totals.items()}
        placed = _PlacedTotals(self.name, groups, totals, lines, classes, values)
        totals, exact, sums = placed.without_sums()
        if unclear := [said for place, said in dashes.items() if place not in exact]:
            raise InputError(
                f"{unclear[0]} may be zero or not known; write 0, or leave the cell empty"
            )
        rows = [
            dict(zip(groups, place[:-1], strict=True)) | {"class": place[-1], "total": total}
            for place, total in totals.items()
        ]
        return rows, "; ".join(filter(None, [said, sums, hint, count(len(rows), "total")]))

    def _layout(
        self, cells: Cells, columns: Sequence[str], classes: Sequence[str]
    ) -> tuple[list[str], list[tuple[str | None, str]], str | None, str]:
        """Return what columns are for: groups; pairs of classes and totals; errors; and a word.

        In a wide table, the first of each pair is None.
        """
        error = next((name for name in cells if is_error(name)), None)
        of_class = self._class_column(cells, columns, classes)
        wide = [name for name in cells if name in classes]
        if of_class is not None and "total" in cells:
            wide = []
        if wide:
            of_class = None
        taken = {of_class, error, "total", *wide}
        groups = list(self.groups) or [
            name for name in cells
            if name not in taken and (name in columns or are_ranges(cells[name]))
        ]  # fmt: skip
        others = [name for name in cells if name not in {*groups, of_class, error, *wide}]
        if wide or of_class is None:
            absent = [name for name in classes if name not in wide]
            for name in others:
                if not is_sum(name) and (meant := nearest(name, absent, NEAR)):
                    raise InputError(
                        f"{self.name}: the column {name!r} is named like none of the classes "
                        f"({listed(list(classes))}){meant}"
                    )
        numbers = [name for name in others if _are_totals(cells[name])]
        by = all_of(groups)
        if wide:
            if error is not None:
                raise InputError(
                    f"{self.name}: a table with a column per class has no place for standard "
                    f"errors, {error!r}; write a row per class, with the columns class, total, se"
                )
            said = f"a wide table{by and f' by {by}'}, with a column per class ({listed(wide)})"
            return groups, [(None, name) for name in (*wide, *numbers)], None, said
        missing = [name for name in (*groups, of_class or "class") if name not in cells]
        total = None if missing else _total_column(self.name, cells, numbers)
        if total is None:
            missing = [*missing, *({"total"} - set(cells))]
            wanted = ", ".join([*groups, of_class or "class", "total"])
            raise InputError(
                f"{self.name} must have the columns {wanted}, or a column per class; "
                f"missing: {', '.join(missing)}, found: {all_of(list(cells))}"
                f"{nearest(missing[0], list(cells))}"
            )
        said = f"{total!r} is the total{by and f', by {by}'}"
        said += f"; standard errors are in {error!r}" if error is not None else ""
        return groups, [(of_class, total)], error, said

    def _class_column(
        self, cells: Cells, columns: Sequence[str], classes: Sequence[str]
    ) -> str | None:
        """Return the column of classes: by its name, or because it holds nothing else."""
        for name in ("class", self.target):
            if name in cells:
                return name
        found = [
            name
            for name, column in cells.items()
            if name not in columns
            and set(column) & set(classes)
            and all(text in classes or is_sum(text or "") for text in column)
        ]
        return found[0] if len(found) == 1 else None

    def _refuse_other_name(
        self, cells: Cells, ignored: Sequence[str], columns: Sequence[str], values: Values
    ) -> None:
        """Refuse a column whose values are those of one of the rows that has another name."""
        for name in ignored:
            own = {text for text in cells[name] if text is not None and not is_sum(text)}
            for other in get_close_matches(name, columns, n=_MOST_TRIED, cutoff=0):
                if len(own) > 1 and own <= set(values(other)):
                    raise InputError(
                        f"{self.name}: {name!r} is no column of the unlabeled rows, but its values "
                        f"are those of {other!r}; did you mean {other!r}? Name it so"
                    )


_MOST_BYTES = 1 << 22
"""Larger files are no tables with titles and notes."""

_FOOTNOTE = re.compile(
    r"(quelle|source|fuente|fonte|anmerkung|hinweis|stand|notes?|nota|remarque|\(?c\)|\u00a9|\*|\d+\)).*",
    re.IGNORECASE | re.DOTALL,
)


def _filled_down(cells: Cells) -> tuple[Cells, list[str]]:
    """Return a table whose groups stand in the first row of a block only, with all cells filled.

    Those of the innermost group are as they are, and so are empty cells beside a new outer one:
    these are sums.

    Examples
    --------
    >>> _filled_down({"sex": ["f", None, "m", None], "age": ["old", "young"] * 2, "n": ["1"] * 4})
    ({'sex': ['f', 'f', 'm', 'm'], 'age': ['old', 'young', 'old', 'young'], 'n': [...]}, ['sex'])
    """
    labels = [name for name, column in cells.items() if not _are_totals(column)]
    filled, names = {name: list(column) for name, column in cells.items()}, dict[str, None]()
    for r in range(1, len(cells[labels[-1]]) if labels else 0):
        for name in labels[:-1]:
            if cells[name][r] is not None or cells[labels[-1]][r] is None:
                break  # a new block, or a sum
            filled[name][r], names[name] = filled[name][r - 1], None
    return filled, list(names)


def _grid(path: Path, how: ReadAs) -> tuple[list[list[Any]], int, str]:
    """Return the rows of a file without titles and notes, the number of the first, and a note.

    The first are the names, and rows are numbered as in a spreadsheet.
    """
    from c2rf.data.formats import EXCEL, OPEN_DOCUMENT, TEXT, find_format, read_file

    kind = find_format(path)
    if kind is TEXT:
        return _grid_of_text(path, how)
    if kind not in (EXCEL, OPEN_DOCUMENT):
        table = read_file(path, how)
        return [list(table.frame), *table.frame.to_numpy(dtype=object).tolist()], 1, table.read_as
    kind.check_package(path)
    sheet = kind.module.read_sheet(path, how)
    for name in sheet.others:  # below a cover
        if _table_in(sheet.rows)[1]:
            break
        sheet = kind.module.read_sheet(path, replace(how, sheet=name))
    first, last = _table_in(sheet.rows)
    if last - first < 2:
        first, last = 0, len(sheet.rows)
    sheet = sheet.filled(first)
    sheet.check_merged(path, first, last)
    note = sheet.note + _left_out(sheet.rows, first, last)
    return sheet.rows[first:last], sheet.first + first + 1, note


def _grid_of_text(path: Path, how: ReadAs) -> tuple[list[list[Any]], int, str]:
    """Return the rows of a text file; one without titles and notes is read as other tables are."""
    from c2rf.data.dialect import SEPARATORS, Dialect, find_encoding, find_shape, opened
    from c2rf.data.formats import naming_source
    from c2rf.data.formats.text import records

    encoding, found = how.encoding or find_encoding(path), list[tuple[int, list[Any], int, str]]()
    with naming_source(path), opened(path) as file:
        content = file.read(_MOST_BYTES)
        lines = content.decode(encoding) if len(content) < _MOST_BYTES else ""
    for mark in [how.sep] if how.sep else SEPARATORS:
        dialect = Dialect(mark, encoding=encoding)
        with suppress(csv.Error):
            rows = list(dialect.reader(io.StringIO(lines, newline=""), strict=True))
            first, last = _table_in(rows)
            table = rows[first:last]
            if len(set(map(len, filter(None, table)))) == 1:
                note = _left_out(rows, first, last)
                size = len(list(filter(None, table)))
                found.append((size, table, first + 1, note and f"{dialect}{note}"))
    sizes = [size for size, *_ in found]
    if sizes and sizes.count(max(sizes)) == 1:
        size, table, start, note = found[sizes.index(max(sizes))]
        if note and size > 1:
            return table, start, note
    dialect, _ = find_shape(path, how)
    with naming_source(path):
        return list(records(path, dialect)), 1, str(dialect)


def _table_in(rows: Sequence[Sequence[Any]]) -> tuple[int, int]:
    """Return from which row to before which the table is.

    Above it, rows have one filled cell. Below it they have one cell, or are a note by their words.
    """
    filled = [[cell for cell in row if _cell(cell) is not None] for row in rows]
    places = [k for k, cells in enumerate(filled) if cells]
    while places and len(filled[places[0]]) == 1:
        places.pop(0)
    while places and (
        len(rows[places[-1]]) == 1
        or (len(cells := filled[places[-1]]) == 1 and _FOOTNOTE.fullmatch(str(cells[0]).strip()))
    ):
        places.pop()
    return (places[0], places[-1] + 1) if places else (0, 0)


def _left_out(rows: Sequence[Sequence[Any]], first: int, last: int) -> str:
    """Say how many rows of text stand above and below a table."""
    above, below = (sum(any(map(_cell, r)) for r in part) for part in (rows[:first], rows[last:]))
    said = [f"; lines above the names left out ({above})"] * bool(above)
    return "".join(said + [f"; lines below the table left out ({below})"] * bool(below))


def _cell(cell: Any) -> str | None:
    """Return a cell as text that is read as one number at most; None if it is empty."""
    from c2rf.data.cells import text_or_none

    if isinstance(cell, (tuple, list)):
        return "..".join(map(str, cell))
    is_float = isinstance(cell, float) and len(readings(str(cell))) == 2
    return f"{cell}0" if is_float else text_or_none(cell)


def _spelled_as(cells: Cells, columns: Sequence[str], classes: Sequence[str]) -> Cells:
    """Return a table whose names, and classes, have the Unicode form of those of the rows."""
    known = {normalize("NFC", name): name for name in classes}
    names = {normalize("NFC", name): name for name in columns} | known
    found: Cells = {}
    for name, column in cells.items():
        other = names.get(normalize("NFC", name), name)
        texts = [text and known.get(normalize("NFC", text), text) for text in column]
        found[name if other in cells or other in found else other] = texts
    return found


def _total_column(table: str, cells: Collection[str], numbers: Sequence[str]) -> str | None:
    """Return the column of totals: by its name, or as the only one with numbers."""
    if "total" in cells and set(numbers) <= {"total"}:
        return "total"
    if len(numbers) > 1:
        others = [name for name in numbers if name != "total"]
        ask = f"which of the columns {all_of(numbers)} is the total?"
        if "total" in numbers:
            ask = (
                f"the column {others[0]!r} holds numbers, but is neither the total nor its "
                "standard error, nor a column of the unlabeled rows."
            )
        raise InputError(
            f"{table}: {ask} Name the total 'total' and standard errors 'se', and remove the others"
        )
    return numbers[0] if numbers else None


def _are_totals(column: Iterable[str | None]) -> bool:
    """Say whether a column holds totals, whatever their decimal mark, and nothing else."""
    given = [text for text in column if text is not None and text not in UNKNOWN]
    return bool(given) and all(map(_is_total, given))


def _is_total(text: str) -> bool:
    if text.strip() in DASHES or readings(text):
        return True
    for mark in OTHER:
        with suppress(InputError):
            parse_range(text, decimal=mark)
            return True
    return False


def _plain(text: str, mark: str) -> str:
    """Return a number with a decimal point, other text as it is."""
    return (canonical(text, mark) or text).replace(MINUS, "-")


def _read_total(name: str, text: str, where: str, mark: str, is_estimate: bool) -> Any:
    """Return the total in a cell; counts are whole."""
    if text.strip() in DASHES:
        return 0  # where a sum proves it
    value: Total
    if canonical(text, mark) is not None:
        plain = _plain(text, mark)
        value = int(plain) if _WHOLE.fullmatch(plain) else float(plain)
        if _UNIT.fullmatch(name):
            raise InputError(f"{where}: numbers in thousands; write them in full, as 1234000")
        if _SHARE.fullmatch(name):
            return round(float(plain) / 100, 12)
    elif readings(text):
        raise _NotTotalsError(f"{where}: {text!r} is no number with a decimal {NAMES[mark]}")
    else:
        try:
            value = parse_range(text, where, mark)
        except InputError as error:
            raise _NotTotalsError(str(error)) from error
    for end in value if isinstance(value, tuple) else (value,):
        if isinstance(end, float) and end > 1 and not end.is_integer() and not is_estimate:
            raise _NotTotalsError(f"{where}: {text!r} is neither a whole count nor a rate up to 1")
    return value


@dataclass(frozen=True)
class _PlacedTotals:
    """The totals of a table, of which some are sums of others.

    ``axes`` are the grouping columns of the table, ``lines`` say where each total is.
    """

    table: str
    axes: Sequence[str]
    totals: dict[Place, Any]
    lines: Mapping[Place, str]
    classes: Sequence[str]
    values: Values | None

    def without_sums(self) -> tuple[dict[Place, Any], set[Place], str]:
        """Return the totals that are no sums, the places in exact sums, and what was done.

        A label is that of a sum if it has one of the usual names, or is no class, or is no group of
        the rows and equals the sum of the others, or of its neighbours.
        """
        labels = list(zip(*self.totals, strict=True))
        sums = [{each for each in axis if each is None or is_sum(each)} for axis in labels[:-1]]
        sums.append(set(labels[-1]) - set(self.classes))
        totals, checked, exact = dict(self.totals), set[str](), set[Place]()
        for g in range(len(self.axes)) if self.values is not None else ():
            whole, some = self._sums_by_arithmetic(totals, g, sums)
            sums[g] |= whole
            checked |= set(map(repr, some))
            exact |= {place for place in totals if place[g] in some}
            totals = {place: total for place, total in totals.items() if place[g] not in some}
        patterns: dict[tuple[bool, ...], list[Place]] = {}
        for place in totals:
            pattern = tuple(label in odd for label, odd in zip(place, sums, strict=True))
            patterns.setdefault(pattern, []).append(place)
        base = {place: totals[place] for place in patterns.pop((False,) * len(sums), [])}
        base |= dict.fromkeys(self._of_missing_class(base, patterns))
        notes, misses = list[str](), list[int]()
        for pattern, places in sorted(patterns.items(), key=lambda each: sum(each[0])):
            parts: dict[Place, list[Place]] = {}
            for place in base:
                parts.setdefault(_free(place, pattern), []).append(place)
            for place in places:
                if totals[place] is None:
                    continue
                own = parts.get(_free(place, pattern), [])
                off = self._check_sum(place, [base[part] for part in own], pattern)
                missing = [part for part in own if base[part] is None]
                if off == 0 and not missing and isinstance(totals[place], int):
                    exact |= {place, *own}
                if len(missing) == 1 and isinstance(off, int):
                    base[missing[0]] = off
                    notes.append(f"{all_of(missing[0])} filled in as {off:,}")
                elif off and not missing:
                    misses.append(abs(off))
                odd = [label for label, is_odd in zip(place, pattern, strict=True) if is_odd]
                checked |= {"a row of sums" if label is None else repr(label) for label in odd}
        if checked:
            notes.insert(0, f"the sums {', '.join(sorted(checked))} were checked and left out")
        if len(notes) > 4:
            notes = [*notes[:4], f"and {len(notes) - 4:,} more"]
        if misses:
            off_by = f"{count(len(misses), 'sum')} {'is' if len(misses) == 1 else 'are'} off by"
            notes.append(f"{off_by} {max(misses):,} at most, as rounding does")
        for place in base:
            self._check_filled(place)
        free = [all_of(place) for place, total in base.items() if total is None]
        if free:
            notes.append(f"read as open, because no total is there: {listed_names(free, 3)}")
        known = {place: total for place, total in base.items() if total is not None}
        return known, exact, "; ".join(notes)

    def _sums_by_arithmetic(
        self, totals: Mapping[Place, Any], g: int, sums: Sequence[set[Any]]
    ) -> tuple[set[str], set[str]]:
        """Return labels of an axis, none of the groups, that are sums: of all others, and of some.

        Those of some are the sums of the labels just before them, or just after, in all places.
        """
        own: dict[str, dict[Place, int]] = {}
        for place, total in totals.items():
            if place[g] not in sums[g] and place[-1] not in sums[-1] and isinstance(total, int):
                own.setdefault(place[g], {})[(*place[:g], *place[g + 1 :])] = total
        names = list(own)
        rests = list(dict.fromkeys(rest for each in own.values() for rest in each))
        ranges = {name: ends for name in names if (ends := parse_bin(name)) is not None}
        groups = {
            name for name, (low, high) in ranges.items()
            if not any(low <= a and b <= high for each, (a, b) in ranges.items() if each != name)
        }  # fmt: skip
        table = np.array([[own[name].get(rest, np.nan) for rest in rests] for name in names])
        left, found, n_left = np.ones(len(names), dtype=bool), dict[str, bool](), -1
        while n_left != left.sum():  # a sum that comes first has subtotals among the others
            n_left = left.sum()
            for k in np.flatnonzero(left):
                is_whole = _is_sum_of_all(table, np.flatnonzero(left), k, self._slack)
                if is_whole is None or self.values is None:
                    continue
                if names[k] not in (set(self.values(self.axes[g])) or groups):
                    left[k], found[names[k]] = False, is_whole
        whole = {name for name, is_whole in found.items() if is_whole}
        return whole, set(found) - whole

    def _of_missing_class(
        self, base: Mapping[Place, Any], patterns: Mapping[tuple[bool, ...], list[Place]]
    ) -> Iterator[Place]:
        """Yield places of the only class without totals, where sums leave something for it."""
        absent = set(self.classes) - {place[-1] for place in base}
        over_classes = patterns.get((*(False for _ in self.axes), True), [])
        for place in over_classes if len(absent) == 1 and base else ():
            parts = [base.get((*place[:-1], name)) for name in self.classes if name not in absent]
            counts = [each for each in (self.totals[place], *parts) if isinstance(each, int)]
            is_of_people = is_sum(place[-1]) or place[-1].strip().casefold() in PEOPLE
            if is_of_people and len(counts) > len(parts) > 0 and counts[0] > sum(counts[1:]):
                yield (*place[:-1], *absent)

    def _check_sum(self, place: Place, parts: Sequence[Any], pattern: tuple[bool, ...]) -> Any:
        """Return what a sum leaves for parts that are not known, or refuse a sum that is wrong."""
        stated, given = self.totals[place], [part for part in parts if part is not None]
        found = sum(part for part in given if isinstance(part, (int, float)))
        if all(isinstance(each, int) for each in (*given, stated)):
            off = stated - found
            is_near = _misses(off, stated, self._slack(len(given)))
            if given and (is_near or (len(given) < len(parts) and off >= 0)):
                return off
        elif all(isinstance(each, float) for each in (*given, stated)):
            over_classes = pattern[-1]
            slack = 0.0051 * len(given) if over_classes else 0.0051
            ends = [found] if over_classes else given
            if given and min(ends) - slack <= stated <= max(ends) + slack:
                return 0
        elif not all(isinstance(each, (int, float)) for each in (*given, stated)):
            return 0  # ranges and estimates need not add up
        self._check_filled(place)
        where, sum_name = self.lines[place], place[-1]
        if sum(pattern) > 1 or not pattern[-1]:
            raise InputError(
                f"{where}, looks like a row of sums, but {sum_name!r} adds up to {found} and not "
                f"to {stated!r}{self._lacking(pattern)}; correct it, or drop it"
            )
        if is_sum(sum_name):
            raise InputError(
                f"{where}: the classes add up to {found}, but the column {sum_name!r} says "
                f"{stated!r}; correct it, or drop the column"
            )
        raise InputError(
            f"{self.table} has a column per class, and the columns {sum_name!r} that are neither "
            "classes nor columns of the unlabeled rows, nor their sums"
            f"{nearest(sum_name, self.classes)}"
        )

    @cached_property
    def _unit(self) -> int:
        """What all counts are rounded to, 0 where they are too few to tell."""
        counts = [n for n in self.totals.values() if isinstance(n, int) and n]
        units = [unit for unit in _UNITS if all(n % unit == 0 for n in counts)]
        return units[0] if units and len(counts) >= _ENOUGH else 0

    def _slack(self, n_parts: Any) -> Any:
        """Return how far a sum may be from so many parts, where each was rounded."""
        return self._unit / 2 * (n_parts + 1)

    def _lacking(self, pattern: tuple[bool, ...]) -> str:
        """Say which groups of the rows, of those that are summed over, have no totals."""
        said = ""
        for g, name in enumerate(self.axes):
            if pattern[g] and self.values is not None:
                absent = set(self.values(name)) - {place[g] for place in self.totals}
                words = f"; of {name!r} there are no totals for {listed(sorted(absent))}"
                said += words * bool(absent)
        return said

    def _check_filled(self, place: Place) -> None:
        """Refuse an empty cell of a group or class that must not be."""
        if None in place:
            name = [*self.axes, "class"][place.index(None)]
            raise InputError(
                f"{self.lines[place]}: {name!r} is empty, and the row adds up to nothing that "
                "would make it a sum; fill the cell in"
            )


def _free(place: Place, pattern: tuple[bool, ...]) -> Place:
    """Return a place without what is summed over."""
    return tuple(None if is_odd else each for each, is_odd in zip(place, pattern, strict=True))


def _is_sum_of_all(table: Floats, rows: Ints, k: Any, slack: Callable[[Any], Any]) -> bool | None:
    """Say whether a row is the sum of all others, or of some above or below; None if of none."""
    there = np.flatnonzero(~np.isnan(table[k]))
    stated = table[k, there]
    if not len(there) or not stated.any():
        return None
    first = stated.argmax()
    for is_whole, run in (
        (True, rows[rows != k]),
        (False, rows[rows < k][::-1]),
        (False, rows[rows > k]),
    ):
        apart = slack(np.arange(1, len(run) + 1))
        near = _misses(table[run, there[first]].cumsum() - stated[first], stated[first], apart)
        ends = [each for each in np.flatnonzero(near) if each > 0]
        ends = [each for each in ends if not is_whole or each == len(run) - 1]
        if not ends:
            continue
        sums = table[np.ix_(run[: ends[-1] + 1], there)].cumsum(axis=0)[ends]
        if _misses(sums - stated, stated, apart[ends][:, None]).all(axis=1).any():
            return is_whole
    return None


def _misses(off: Any, stated: Any, slack: Any) -> Any:
    """Say whether a sum misses its parts by no more than rounding does."""
    return np.abs(off) <= np.maximum(MISSES * np.abs(stated), slack)


def are_ranges(column: Iterable[Any]) -> bool:
    """Say whether cells are names of ranges, like 15-29 and 65+; one may be that of a sum."""
    names = {name for name in column if name is not None and not is_sum(name)}
    others = [name for name in names if parse_bin(name) is None]
    return len(names) > 1 and len(others) <= 1 < len(names) - len(others)


def is_sum(name: str) -> bool:
    """Say whether a row or column of this name holds sums.

    Examples
    --------
    >>> is_sum("Total"), is_sum("north")
    (True, False)
    """
    return name.strip().casefold() in SUMS


_RANGE = re.compile(
    r"(?P<low>\d+(?:[.,]\d+)?)\s*(?:-|\u2013|bis|to|\u00e0|a|until)\s*(?P<under>unter|under|below)?\s*"
    r"(?P<high>\d+(?:[.,]\d+)?)"
)
_OPEN = re.compile(
    r"(?P<least>\d+(?:[.,]\d+)?)\s*(?:\+|(?:und|oder|and|or|et|ou|y|o)\s+(?:mehr|\u00e4lter|dar\u00fcber|"
    r"more|over|older|above|plus|m\u00e1s|mayores)|plus)|(?:ab|from|\u00fcber|\u2265|>=)\s*"
    r"(?P<from>\d+(?:[.,]\d+)?)"
)
_UNDER = re.compile(r"(?:unter|under|below|less than|moins|menos|<)\s*(?P<under>\d+(?:[.,]\d+)?)")
_WORDS = re.compile(
    r"\b(?:years?|jahren?|jahre|ans|a\u00f1os|von|from|de|aged|euros?|eur)\b|\u20ac"
)


def parse_bin(name: str) -> tuple[float, float] | None:
    """Return from where to below where a range goes, by its name; None if it is none.

    Whole ends are whole years: 15-29 goes to below 30.

    Examples
    --------
    >>> parse_bin("15-29"), parse_bin("65+"), parse_bin("unter 30"), parse_bin("30 bis unter 65")
    ((15.0, 30.0), (65.0, inf), (-inf, 30.0), (30.0, 65.0))
    >>> parse_bin("85 Jahre und mehr"), parse_bin("north")
    ((85.0, inf), None)
    """
    text = " ".join(_WORDS.sub(" ", name.casefold().strip()).split())

    def number(found: str) -> float:
        return float(found.replace(",", "."))

    if found := _RANGE.fullmatch(text):
        low, high = number(found["low"]), number(found["high"])
        if not found["under"] and high.is_integer():
            high += 1
        return (low, high) if low < high else None
    if found := _OPEN.fullmatch(text):
        return number(found["least"] or found["from"]), math.inf
    if found := _UNDER.fullmatch(text):
        return -math.inf, number(found["under"])
    return None


class Bins(NamedTuple):
    """Groups that are ranges of a column of numbers.

    Parameters
    ----------
    name, column : str
        What the groups are called together, and the column.
    ranges : mapping of str to pair of float
        Of each group from where, and to below where, it goes.
    """

    name: str
    column: str
    ranges: Mapping[str, tuple[float, float]]

    @classmethod
    def parse(cls, text: str) -> Bins:
        """Read bins from ``name=column:range,range``.

        Examples
        --------
        >>> bins = Bins.parse("Altersgruppe=Alter:0-14,15-29,30+")
        >>> bins.name, bins.column, bins.ranges["15-29"], str(bins)
        ('Altersgruppe', 'Alter', (15.0, 30.0), 'Altersgruppe=Alter:0-14,15-29,30+')
        """
        name, sign, rest = text.partition("=")
        column, colon, labels = rest.rpartition(":")
        ranges = {label.strip(): parse_bin(label) for label in labels.split(",")}
        if not (sign and colon) or None in ranges.values():
            raise InputError(
                f"{option_name('bin')} must be like age_group=age:0-14,15-29,30-64,65+; found "
                f"{text!r}"
            )
        found = {label: ends for label, ends in ranges.items() if ends is not None}
        _interval_index(found)
        return cls(name.strip(), column.strip(), found)

    def __str__(self) -> str:
        return f"{self.name}={self.column}:{','.join(self.ranges)}"

    def place(self, cells: pd.Series[Any], no_group: str) -> list[str]:
        """Return the group of each cell; empty ones are in none, and others must be in one."""
        from c2rf.data.cells import as_numbers, as_text

        codes, texts = _places(self.ranges, as_numbers(cells)), as_text(cells)
        outside = np.flatnonzero((codes < 0) & texts.notna().to_numpy())
        if len(outside):
            raise InputError(
                f"{self.column!r} holds {texts.iloc[outside[0]]!r} ({len(outside)} such rows), "
                f"which is in no range of {str(self)!r}"
            )
        return [[*self.ranges, no_group][code] for code in codes]


def _interval_index(ranges: Mapping[str, tuple[float, float]]) -> pd.IntervalIndex[Any]:
    """Return ranges that do not overlap."""
    index = pd.IntervalIndex.from_tuples(list(ranges.values()), closed="left")
    if index.is_overlapping:
        raise InputError(f"{option_name('bin')}: ranges overlap in {', '.join(ranges)!r}")
    return index


def _places(ranges: Mapping[str, tuple[float, float]], numbers: pd.Series[float]) -> Ints:
    """Return the number of the range that each number is in, -1 where there is none."""
    return np.asarray(_interval_index(ranges).get_indexer(pd.Index(numbers)))


def find_bins(
    name: str, labels: Collection[str], labeled: pd.DataFrame, columns: Sequence[str]
) -> Bins:
    """Find the only column of numbers that groups of these names can be ranges of.

    Parameters
    ----------
    name, labels : str, collection of str
        What the groups are called.
    labeled : DataFrame
        The labeled rows.
    columns : sequence of str
        The columns that may be meant.
    """
    from c2rf.data.cells import as_numbers, as_text

    ranges = {label: parse_bin(label) for label in labels}
    example = f"{name}=COLUMN:0-14,15-29,30-64,65+"
    say = for_user(f"bin={example!r}", f'--bin "{example}"')
    if None in ranges.values() or not ranges:
        wanted = set(labels)
        texts = {each: set(as_text(labeled[each]).dropna()) for each in columns if each in labeled}
        texts = {each: own for each, own in texts.items() if min(len(own), len(wanted)) > 1}
        same = [each for each, own in texts.items() if own <= wanted or wanted <= own]
        meant = f"; did you mean {same[0]!r}?" if same else nearest(name, columns)
        raise InputError(
            f"totals are grouped by {name!r}, which is no column of the unlabeled rows, and its "
            f"groups ({listed(list(labels), 5)}) are not ranges of one; the columns are "
            f"{all_of(list(columns))}{meant}"
        )
    found = {label: ends for label, ends in ranges.items() if ends is not None}
    numbers = {each: as_numbers(labeled[each]).dropna() for each in columns if each in labeled}
    numeric = [each for each, values in numbers.items() if len(values) > len(labeled) / 2]
    named = [each for each in numeric if each.casefold() in name.casefold()]
    if len(named) != 1:
        fits = {each: set(_places(found, numbers[each]).tolist()) for each in numeric}
        named = [each for each in numeric if fits[each] == set(range(len(found)))]
    if len(named) != 1:
        raise InputError(
            f"totals are grouped by {name!r}, which is no column of the unlabeled rows; its groups "
            f"are ranges, but of {'several columns' if named else 'no column for sure'} "
            f"({all_of(named or numeric)}): say of which with {say}"
        )
    return Bins(name, named[0], found)
