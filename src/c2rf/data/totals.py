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
import itertools
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unicodedata import normalize

import numpy as np
import pandas as pd

from c2rf._utils.text import all_of, count, for_user, listed, nearest, option_name
from c2rf._utils.types import Ints
from c2rf.data.dialect import AS_FOUND, ReadAs
from c2rf.data.numerals import NAMES, OTHER, canonical, readings
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
    plain = canonical(written, marks[0] or ".") or ""
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
    """
    totals: dict[str, Total] = {}
    parts: list[str] = []
    for part in next(csv.reader([text], skipinitialspace=True), []):
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
    if text is None:
        return None
    number = text.strip().removesuffix("%")
    try:
        return float(number) / (100 if number != text.strip() else 1)
    except ValueError:
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
        return [[name for names in group for name in _split(names)]]
    if group and len(group) != len(files):
        raise InputError(
            f"found {len(group)} --group for {len(files)} --totals-file; give one --group for each "
            "file, in the same order, of several columns as age,sex"
        )
    return [_split(names) for names in group] or [[] for _ in files]


def _split(names: str) -> list[str]:
    """Return the columns of an option, which are separated by commas."""
    return next(csv.reader([names], skipinitialspace=True), [])


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

_PLAIN = re.compile(r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?")
_SHARE = re.compile(r".*(%|percent|prozent|pour ?cent|por ?ciento).*", re.IGNORECASE)
_UNIT = re.compile(
    r".*(1[ .,]000|\b1000\b|tsd|tausend|thousand|millier|\bmiles\b).*", re.IGNORECASE
)

Row = dict[str, Any]
Place = tuple[Any, ...]
"""The values of the grouping columns, and a class; a sum has another name there."""


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
        values: Callable[[str], Collection[str]] | None = None,
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
        found: dict[str, tuple[list[Row], str]] = {}
        errors: dict[str, InputError] = {}
        for mark in OTHER:
            try:
                found[mark] = self._read(mark, columns, classes, how, values)
            except InputError as error:
                errors[mark] = error
        told = self.decimal or how.decimal or how.likely
        if not found:
            meant = [m for m, error in errors.items() if not isinstance(error, _NotTotalsError)]
            raise errors[told if told and (told in meant or not meant) else (*meant, ".")[0]]
        if len(found) == 1:
            return next(iter(found.values()))
        (rows, note), (others, _) = found.values()
        if rows == others:
            return rows, note.replace(", decimal point", "", 1)
        one, other = next(pair for pair in zip(rows, others, strict=True) if pair[0] != pair[1])
        sizes: list[Any] = [getattr(row["total"], "value", row["total"]) for row in (one, other)]
        thousands = "." if sizes[0] > sizes[1] else ","
        if told is not None and (self.decimal or how.decimal or told == thousands):
            return found[told]
        options = for_user('totals_decimal="." or ","', "--totals-decimal . or --totals-decimal ,")
        raise InputError(
            f"{self.name}: the total of {one['class']!r} is {one['total']} with a decimal point "
            f"and {other['total']} with a decimal comma; say which with {options}"
        )

    def _cells(self, how: ReadAs) -> tuple[dict[str, list[Any]], str]:
        """Return the cells of all columns as text, and how they were read."""
        from c2rf.data.cells import TypedCells, as_text
        from c2rf.data.formats import read_file

        try:
            if isinstance(self.given, Path):
                with without_text(self.given, how) as (path, left_out):
                    read = read_file(path, how)
                frame, note = read.frame, read.read_as + left_out
            else:
                typed = TypedCells(Path(self.name), how)
                frame = typed.table({str(k): list(map(_plain, c)) for k, c in self.given.items()})
                note = f"a table in memory{typed.note}"
        except InputError as wrong:
            raise _NotTotalsError(str(wrong)) from wrong
        return {str(name): list(as_text(column)) for name, column in frame.items()}, note

    def _read(
        self, mark: str, columns: Sequence[str], classes: Sequence[str], how: ReadAs,
        values: Callable[[str], Collection[str]] | None,
    ) -> tuple[list[Row], str]:  # fmt: skip
        """Read the table with this decimal mark."""
        cells, note = self._cells(replace(how, decimal=mark, likely=None))
        cells = _spelled_as(cells, columns, classes)
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
        used = {*groups, of_class, error, *wide}
        if wide or of_class is None:
            self._refuse_misspelled([name for name in cells if name not in used], classes, wide)
        numbers = [name for name in cells if name not in used and _are_totals(cells[name], mark)]
        pairs: list[tuple[str | None, str]] = [(None, name) for name in (*wide, *numbers)]
        by = ", ".join(groups)
        if wide and error is not None:
            raise InputError(
                f"{self.name}: a table with a column per class has no place for standard errors, "
                f"{error!r}; write a row per class, with the columns class, total, se"
            )
        if wide:
            said = f"a wide table{by and f' by {by}'}, with a column per class ({listed(wide)})"
        else:
            missing = [name for name in (*groups, of_class) if name not in cells]
            total = None if missing else _total_column(self.name, cells, numbers)
            if total is None:
                raise self._missing([*groups, of_class or "class", "total"], cells)
            pairs, numbers = [(of_class, total)], [total]
            said = f"{total!r} is the total{by and f', by {by}'}"
            said += f"; standard errors are in {error!r}" if error is not None else ""
        ignored = [name for name in cells if name not in (*used, *numbers)]
        hint = ""
        if ignored:
            hint = f"its columns {all_of(ignored)} were ignored, because the unlabeled rows do not "
            hint += "have them"
        totals: dict[Place, Any] = {}
        lines: dict[Place, int] = {}
        is_count, in_doubt = False, ""
        for r, (by_class, name) in itertools.product(range(len(cells[pairs[0][1]])), pairs):
            label = name if by_class is None else cells[by_class][r]
            place = (*(cells[group][r] for group in groups), label)
            where = f"{self.name}, data row {r + 1}"
            if by_class is not None and cells[name][r] is None:
                raise InputError(f"{where}: {name!r} is empty")
            if place in totals and None not in place:
                if values is not None:
                    self._refuse_other_name(cells, ignored, columns, values)
                raise InputError(
                    f"{self.name} has more than one total for {', '.join(map(repr, place))}"
                    f"{hint and f'; {hint}: these are {all_of(list(columns))}'}"
                )
            if label is None:
                raise _empty(self.name, groups, place, r)
            what = f"{where}: the total" + (f" of {name!r}" if by_class is None else "")
            lines[place] = r
            totals[place] = _read_total(name, cells[name], r, what, mark, error is not None)
            is_count |= isinstance(totals[place], int) and totals[place] > 1
            is_whole = isinstance(totals[place], float) and totals[place].is_integer()
            if is_whole and len(readings(cells[name][r])) == 2:  # 2.000, or 2,000
                in_doubt = f"{what} {cells[name][r]!r}"
            if error is not None and totals[place] is not None:
                totals[place] = with_error(totals[place], cells[error][r], where)
        if is_count and in_doubt:
            raise _NotTotalsError(f"{in_doubt} is no count, beside others")
        totals, sums = _without_sums(self.name, groups, totals, lines, classes, values)
        rows = [
            dict(zip(groups, place[:-1], strict=True)) | {"class": place[-1], "total": total}
            for place, total in totals.items()
        ]
        number = count(len(rows), "total")
        return rows, "; ".join(filter(None, [note, said, sums, hint, number]))

    def _class_column(
        self, cells: Mapping[str, list[Any]], columns: Sequence[str], classes: Sequence[str]
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

    def _refuse_misspelled(
        self, others: Sequence[str], classes: Sequence[str], wide: Sequence[str]
    ) -> None:
        """Refuse a column that is named nearly like a class that has none."""
        absent = [name for name in classes if name not in wide]
        for name in others:
            if not is_sum(name) and (meant := nearest(name, absent, NEAR)):
                raise InputError(
                    f"{self.name}: the column {name!r} is named like none of the classes "
                    f"({listed(list(classes))}){meant}"
                )

    def _refuse_other_name(
        self, cells: Mapping[str, list[Any]], ignored: Sequence[str], columns: Sequence[str],
        values: Callable[[str], Collection[str]],
    ) -> None:  # fmt: skip
        """Refuse a column whose values are those of one of the rows that has another name."""
        for name in ignored:
            own = {text for text in cells[name] if text is not None and not is_sum(text)}
            for other in get_close_matches(name, columns, n=_MOST_TRIED, cutoff=0):
                if len(own) > 1 and own <= set(values(other)):
                    raise InputError(
                        f"{self.name}: {name!r} is no column of the unlabeled rows, but its values "
                        f"are those of {other!r}; did you mean {other!r}? Name it so"
                    )

    def _missing(self, wanted: list[str], cells: Mapping[str, Any]) -> InputError:
        missing = [name for name in wanted if name not in cells]
        return InputError(
            f"{self.name} must have the columns {', '.join(wanted)}, or a column per class; "
            f"missing: {', '.join(missing)}, found: {all_of(list(cells))}"
            f"{nearest(missing[0], list(cells)) if missing else ''}"
        )


def _spelled_as(
    cells: Mapping[str, list[Any]], columns: Sequence[str], classes: Sequence[str]
) -> dict[str, list[Any]]:
    """Return a table whose names, and classes, have the Unicode form of those of the rows."""
    known = {normalize("NFC", name): name for name in classes}
    names = {normalize("NFC", name): name for name in columns} | known
    found: dict[str, list[Any]] = {}
    for name, column in cells.items():
        other = names.get(normalize("NFC", name), name)
        texts = [text and known.get(normalize("NFC", text), text) for text in column]
        found[name if other in cells or other in found else other] = texts
    return found


_FOOTNOTE = re.compile(
    r"(quelle|source|fuente|fonte|anmerkung|hinweis|stand|notes?|nota|remarque|\(?c\)|\u00a9|\*|\d+\)).*",
    re.IGNORECASE | re.DOTALL,
)


@contextmanager
def without_text(path: Path, how: ReadAs) -> Iterator[tuple[Path, str]]:
    """Give a file without lines of text above and below its table, and say which were left out."""
    from c2rf.data.dialect import SEPARATORS, find_encoding, opened
    from c2rf.data.formats import TEXT, find_format, naming_source

    lines, encoding = list[str](), ""
    if find_format(path) is TEXT and path.stat().st_size < _MOST_BYTES:
        encoding = how.encoding or find_encoding(path)
        with naming_source(path), opened(path) as file:
            lines = file.read(_MOST_BYTES).decode(encoding).splitlines(keepends=True)
    found = [_lines_of_table(lines, mark) for mark in ([how.sep] if how.sep else SEPARATORS)]
    start, end = max(found, key=lambda each: each[1] - each[0])
    above = sum(bool(line.strip()) for line in lines[:start])
    below = sum(bool(line.strip()) for line in lines[end:])
    is_clear = end - start > 1 and found.count((start, end)) == 1
    if not is_clear or not above + below or lines[0].lower().startswith("sep="):
        yield path, ""
        return
    with TemporaryDirectory() as folder:
        plain = Path(folder) / path.name
        plain.write_bytes("".join(["\n"] * start + lines[start:end]).encode(encoding))
        try:
            yield (
                plain,
                f"; lines above the names left out ({above})" * bool(above)
                + f"; lines below the table left out ({below})" * bool(below),
            )
        except InputError as wrong:
            raise InputError(str(wrong).replace(str(plain), str(path))) from wrong


_MOST_BYTES = 1 << 22
"""Larger files are no tables with titles and notes."""


def _lines_of_table(lines: Sequence[str], separator: str) -> tuple[int, int]:
    """Return from which line to before which the table is, none if that is not clear.

    Above it, lines have one filled cell. Below it they have one cell, or are a note by their words.
    """
    reader, rows = csv.reader(lines, delimiter=separator), list[tuple[int, int, list[str]]]()
    try:
        first = 0
        for row in reader:
            rows.append((first, reader.line_num, row))
            first = reader.line_num
    except csv.Error:
        return 0, 0
    rows = [each for each in rows if any(cell.strip() for cell in each[2])]
    while rows and sum(bool(cell.strip()) for cell in rows[0][2]) == 1:
        rows.pop(0)
    while rows and _is_note(rows[-1][2]):
        rows.pop()
    if len({len(row) for *_, row in rows}) != 1:
        return 0, 0
    return rows[0][0], rows[-1][1]


def _is_note(row: Sequence[str]) -> bool:
    """Say whether a line below a table is a note: a row of the table has other empty cells."""
    filled = [cell.strip() for cell in row if cell.strip()]
    return len(row) == 1 or (len(filled) == 1 and _FOOTNOTE.fullmatch(filled[0]) is not None)


def _plain(cell: Any) -> Any:
    """Return a cell of a frame as one of a file: ranges and estimates as text."""
    if isinstance(cell, (tuple, list)):
        return "..".join(map(str, cell))
    return str(cell) if isinstance(cell, Estimate) else cell


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


def _are_totals(column: Iterable[Any], mark: str) -> bool:
    """Say whether a column holds totals, whatever their decimal mark, and nothing else."""
    given = [text for text in column if text is not None and text not in UNKNOWN]
    try:
        for text in given:
            if text.strip() not in DASHES and not readings(text):
                parse_range(text, decimal=mark)
    except InputError:
        return False
    return bool(given)


def _read_total(
    name: str, column: Sequence[Any], r: int, where: str, mark: str, is_estimate: bool
) -> Any:
    """Return the total in a cell, None where nothing is known; counts are whole."""
    text = column[r]
    if text is None or (text in UNKNOWN and _are_totals(column, mark)):
        return None
    if text.strip() in DASHES:
        raise InputError(
            f"{where}: {text!r} may be zero or not known; write 0, or leave the cell empty"
        )
    if _PLAIN.fullmatch(text):
        value: Total = int(text) if text.lstrip("+-").isdigit() else float(text)
        if _UNIT.fullmatch(name):
            raise InputError(f"{where}: numbers in thousands; write them in full, as 1234000")
        if _SHARE.fullmatch(name):
            return round(float(text) / 100, 12)
    else:
        try:
            value = parse_range(text, where, mark)
        except InputError as error:
            raise _NotTotalsError(str(error)) from error
    for end in value if isinstance(value, tuple) else (value,):
        if isinstance(end, float) and end > 1 and not end.is_integer() and not is_estimate:
            raise _NotTotalsError(f"{where}: {text!r} is neither a whole count nor a rate up to 1")
    return value


def _without_sums(
    table: str,
    axes: Sequence[str],
    totals: Mapping[Place, Any],
    lines: Mapping[Place, int],
    classes: Sequence[str],
    values: Callable[[str], Collection[str]] | None,
) -> tuple[dict[Place, Any], str]:
    """Return the totals that are no sums of others, and what was done about sums.

    ``axes`` are the grouping columns. A label is that of a sum if it has one of the usual names, or
    is no class, or is no group of the rows and equals the sum of the others, or of its neighbours.
    """
    sums: list[set[Any]] = [
        {place[g] for place in totals if place[g] is None or is_sum(place[g])}
        for g in range(len(axes))
    ]
    sums.append({place[-1] for place in totals} - set(classes))
    dropped: set[str] = set()
    if values is not None:
        for g, name in enumerate(axes):
            if not any(_sums_by_arithmetic(totals, g, sums, set())):
                continue  # the groups of the rows need not be known, which takes a pass over them
            whole, some = _sums_by_arithmetic(totals, g, sums, set(values(name)))
            sums[g] |= whole
            dropped |= some
            totals = {place: total for place, total in totals.items() if place[g] not in some}
    patterns: dict[tuple[bool, ...], list[Place]] = {}
    for place in totals:
        pattern = tuple(label in odd for label, odd in zip(place, sums, strict=True))
        patterns.setdefault(pattern, []).append(place)
    base = {place: totals[place] for place in patterns.pop((False,) * (len(axes) + 1), [])}
    _add_missing_class(base, totals, classes, patterns)
    notes, checked = [], {repr(name) for name in dropped}
    for pattern, places in sorted(patterns.items(), key=lambda each: sum(each[0])):
        parts: dict[Place, list[Place]] = {}
        for place in base:
            parts.setdefault(_free(place, pattern), []).append(place)
        for place in places:
            stated, own = totals[place], parts.get(_free(place, pattern), [])
            if stated is None:
                continue
            lacking = partial(_without_totals, axes, totals, values, pattern)
            counts = [base[p] for p in own]
            off = _check_sum(
                table, axes, place, lines[place], stated, counts, pattern, classes, lacking
            )
            missing = [p for p in own if base[p] is None]
            if len(missing) == 1 and isinstance(off, int):
                base[missing[0]] = off
                notes.append(f"{', '.join(map(str, missing[0]))} filled in as {off:,}")
            elif off and not missing:
                notes.append(f"a sum is off by {abs(off):,}, as rounding does")
            checked |= {
                "a row of sums" if label is None else repr(label)
                for label, is_odd in zip(place, pattern, strict=True)
                if is_odd
            }
    if checked:
        notes.insert(0, f"the sums {', '.join(sorted(checked))} were checked and left out")
    if len(notes) > 4:
        notes = [*notes[:4], f"and {len(notes) - 4} more"]
    for place in base:
        if None in place:
            raise _empty(table, axes, place, lines[place])
    return {place: total for place, total in base.items() if total is not None}, "; ".join(notes)


def _free(place: Place, pattern: tuple[bool, ...]) -> Place:
    """Return a place without what is summed over."""
    return tuple(None if is_odd else each for each, is_odd in zip(place, pattern, strict=True))


def _sums_by_arithmetic(
    totals: Mapping[Place, Any], g: int, sums: Sequence[set[Any]], groups: set[str]
) -> tuple[set[str], set[str]]:
    """Return labels of an axis, none of the groups, that are sums: of all others, and of some.

    Those of some are the sums of the labels just before them, or just after, in all places.
    """
    own: dict[str, dict[Place, int]] = {}
    for place, total in totals.items():
        if place[g] not in sums[g] and place[-1] not in sums[-1] and isinstance(total, int):
            own.setdefault(place[g], {})[(*place[:g], *place[g + 1 :])] = total
    names, rests = list(own), list(dict.fromkeys(rest for each in own.values() for rest in each))
    ranges = {name: ends for name in names if (ends := parse_bin(name)) is not None}
    groups = groups or {
        name for name, (low, high) in ranges.items()
        if not any(low <= a and b <= high for each, (a, b) in ranges.items() if each != name)
    }  # fmt: skip
    table = np.array([[own[name].get(rest, np.nan) for rest in rests] for name in names])
    left = np.ones(len(names), dtype=bool)
    whole, parts = set[str](), set[str]()
    if len(names) < 3:
        return whole, parts
    # A sum is no less than either of two rows above it, of two below it, or of its neighbours.
    known, most = np.nan_to_num(table), np.where(np.isnan(table), np.inf, table * (1 + MISSES))
    pairs, enough = np.maximum(known[:-1], known[1:]), np.zeros(len(names), dtype=bool)
    enough[2:] |= (most[2:] >= pairs[:-1]).all(axis=1)
    enough[:-2] |= (most[:-2] >= pairs[1:]).all(axis=1)
    enough[1:-1] |= (most[1:-1] >= np.maximum(known[:-2], known[2:])).all(axis=1)
    odd = [k for k in np.flatnonzero(enough & known.any(axis=1)) if names[k] not in groups]
    for k in odd * 4:  # a sum that comes first has subtotals among the others, and so on
        there, before = ~np.isnan(table[k]), left[:k].sum()
        others = np.delete(table, k, axis=0)[np.delete(left, k)][:, there]
        if not left[k] or len(others) < 2:
            continue
        runs = [others[:before][::-1].cumsum(axis=0)[1:], others[before:].cumsum(axis=0)[1:]]
        ways = np.vstack([*runs, others.sum(axis=0)])
        met = (np.abs(ways - table[k, there]) <= MISSES * table[k, there]).all(axis=1)
        if met.any():
            left[k] = False
            (whole if met[-1] else parts).add(names[k])
    return whole, parts


def _misses(off: float, stated: float) -> bool:
    """Say whether a sum misses its parts by no more than rounding does."""
    return off == 0 or abs(off) <= MISSES * abs(stated)


def _add_missing_class(
    base: dict[Place, Any], totals: Mapping[Place, Any], classes: Sequence[str],
    patterns: Mapping[tuple[bool, ...], list[Place]],
) -> None:  # fmt: skip
    """Add places for the only class without totals, if sums over classes leave something for it."""
    absent = [name for name in classes if not any(place[-1] == name for place in base)]
    over_classes = [
        place
        for pattern, own in patterns.items()
        if pattern[-1] and not any(pattern[:-1])
        for place in own
        if is_sum(place[-1]) or place[-1].strip().casefold() in PEOPLE
    ]
    if len(absent) != 1 or not base:
        return
    for place in over_classes:
        if isinstance(totals[place], int):
            parts = [base.get((*place[:-1], name)) for name in classes if name != absent[0]]
            counts = [each for each in parts if isinstance(each, int)]
            if counts and len(counts) == len(parts) and sum(counts) < totals[place]:
                base[(*place[:-1], absent[0])] = None


def _check_sum(
    table: str, axes: Sequence[str], place: Place, line: int, stated: Any, parts: Sequence[Any],
    pattern: tuple[bool, ...], classes: Sequence[str], lacking: Callable[[], str],
) -> Any:  # fmt: skip
    """Return what a sum leaves for parts that are not known, or refuse a sum that is wrong."""
    given = [part for part in parts if part is not None]
    found = sum(part for part in given if isinstance(part, (int, float)))
    where = f"{table}, data row {line + 1}"
    if all(isinstance(each, int) for each in (*given, stated)):
        off = stated - found
        if given and (_misses(off, stated) or (len(given) < len(parts) and off >= 0)):
            return off
    elif all(isinstance(each, float) for each in (*given, stated)):
        over_classes = pattern[-1]
        slack = 0.0051 * len(given) if over_classes else 0.0051
        low, high = (found, found) if over_classes else (min(given), max(given))
        if given and low - slack <= stated <= high + slack:
            return 0
    elif not all(isinstance(each, (int, float)) for each in (*given, stated)):
        return 0  # ranges and estimates need not add up
    if None in place:
        raise _empty(table, axes, place, line)
    if sum(pattern) == 1 and pattern[-1]:
        if is_sum(place[-1]):
            raise InputError(
                f"{where}: the classes add up to {found}, but the column {place[-1]!r} says "
                f"{stated!r}; correct it, or drop the column"
            )
        raise InputError(
            f"{table} has a column per class, and the columns {place[-1]!r} that are neither "
            "classes nor columns of the unlabeled rows, nor their sums"
            f"{nearest(place[-1], classes)}"
        )
    raise InputError(
        f"{where}, looks like a row of sums, but {place[-1]!r} adds up to {found} and not to "
        f"{stated!r}{lacking()}; correct it, or drop it"
    )


def _without_totals(
    axes: Sequence[str], totals: Mapping[Place, Any],
    values: Callable[[str], Collection[str]] | None, pattern: tuple[bool, ...],
) -> str:  # fmt: skip
    """Say which groups of the rows, of those that are summed over, have no totals."""
    found = [
        f"; of {name!r} there are no totals for {listed(sorted(absent))}"
        for g, name in enumerate(axes)
        if pattern[g]
        and values is not None
        and (absent := set(values(name)) - {place[g] for place in totals})
    ]
    return "".join(found)


def _empty(table: str, axes: Sequence[str], place: Place, line: int) -> InputError:
    """Say which cell of a row is empty that must not be."""
    name = [*axes, "class"][place.index(None)]
    return InputError(f"{table}, data row {line + 1}: {name!r} is empty")


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
        texts = {each: set(as_text(labeled[each]).dropna()) for each in columns if each in labeled}
        sets = {each: (own, set(labels)) for each, own in texts.items()}
        same = [
            each
            for each, pair in sets.items()
            if min(map(len, pair)) > 1 and (pair[0] <= pair[1] or pair[1] <= pair[0])
        ]
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
