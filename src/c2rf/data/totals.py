"""Totals as people write them: in text, and in tables.

Text is a count ``1234``, a rate ``12%``, a range ``1200..1300`` or an estimate ``1200+-50``; of
several classes ``yes=1234,no=8766``.

A table in a file is long (a row for each total) or wide (a row for each group and a column for each
class, as a census gives it). Rows and columns of sums in a wide table are recognised by their
names. They must be right, and are left out then, because they say nothing new.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from c2rf._utils.text import all_of, listed, nearest
from c2rf.data.dialect import AS_FOUND, ReadAs
from c2rf.data.numerals import NAMES, OTHER, canonical, readings
from c2rf.exceptions import InputError
from c2rf.totals.stated import Estimate, is_error

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
        marks = (_decimal_mark(written, name, decimal),)
    plain = canonical(written, marks[0] or ".") or ""
    if is_rate and not 0 <= float(plain) <= 100:
        raise InputError(f"{name} must be a count, or a rate from 0% to 100%; found {text!r}")
    if is_rate:
        return float(plain) / 100
    return int(plain) if re.fullmatch(r"[+-]?[0-9]{1,18}", plain) else float(plain)


def _decimal_mark(text: str, name: str, decimal: str | None) -> str:
    """Return the decimal mark of a text like 1,234, which is a total with one of two marks only."""
    plain = {mark: canonical(text, mark) for mark in OTHER}
    mark = next(mark for mark in OTHER if mark in text)
    if decimal == OTHER[mark]:
        return decimal
    raise InputError(
        f"{name} {text!r} is {plain[mark]} with a decimal {NAMES[mark]} and {plain[OTHER[mark]]} "
        f"with a decimal {NAMES[OTHER[mark]]}; a count is whole: write {plain[OTHER[mark]]} if "
        "that is what it means"
    )


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
    >>> parse_totals("yes=12%,no=80%..90%")
    {'yes': 0.12, 'no': (0.8, 0.9)}
    >>> parse_totals('"Bonn, old=1",x=y=2')  # as in CSV, quotes protect commas
    {'Bonn, old': 1, 'x=y': 2}
    """
    totals: dict[str, Total] = {}
    for part in next(csv.reader([text], skipinitialspace=True), []):
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
        TotalsFile(path, target, tuple(columns))
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


SUMS = frozenset({"total", "totals", "sum", "all", "gesamt", "summe", "insgesamt", "somme"})
"""Names of rows and columns that hold sums."""

Row = dict[str, Any]


@dataclass(frozen=True)
class TotalsFile:
    """A file with a table of totals; what it says depends on the other tables.

    Parameters
    ----------
    path : Path
        The file.
    target : str
        The column of classes may have this name instead of ``class``.
    groups : tuple of str
        The grouping columns; none to find them by name.
    """

    path: Path
    target: str
    groups: tuple[str, ...] = ()

    def read(
        self, columns: Sequence[str], classes: Sequence[str], how: ReadAs = AS_FOUND
    ) -> tuple[list[Row], str | None]:
        """Return the rows of a long table, and what there is to say about how it was read.

        Parameters
        ----------
        columns : sequence of str
            The columns of the unlabeled rows, among which grouping columns are found.
        classes : sequence of str
            The classes, which tell a wide table.
        how : ReadAs
            How the file is to be read.
        """
        from c2rf.data.cells import as_text
        from c2rf.data.formats import read_file

        read = read_file(self.path, how)
        cells = {str(name): list(as_text(column)) for name, column in read.frame.items()}
        told = (read.dialect.decimal if read.dialect else None) or how.decimal or how.likely
        decimals = {str(name): _decimal(column, told) for name, column in read.frame.items()}
        of_class = next((name for name in ("class", self.target) if name in cells), "class")
        wide = [name for name in cells if name in classes]
        if wide and (of_class not in cells or "total" not in cells):
            return self._read_wide(cells, wide, columns, decimals)
        return self._read_long(cells, of_class, columns, decimals)

    def _read_long(
        self,
        cells: dict[str, list[Any]],
        of_class: str,
        columns: Sequence[str],
        decimals: Mapping[str, str | None],
    ) -> tuple[list[Row], str | None]:
        error = next((name for name in cells if is_error(name)), None)
        groups = self.groups or tuple(
            name for name in cells if name in columns and name not in (of_class, "total", error)
        )
        wanted = [*groups, of_class, "total"]
        missing = [name for name in wanted if name not in cells]
        if missing:
            raise InputError(
                f"{self.path} must have the columns {', '.join(wanted)}, or a column per class; "
                f"missing: {', '.join(missing)}, found: {all_of(list(cells))}"
                f"{nearest(missing[0], list(cells))}"
            )
        rows: list[Row] = []
        for r in range(len(cells[of_class])):
            where = f"{self.path}, data row {r + 1}"
            for name in wanted:
                if cells[name][r] is None:
                    raise InputError(f"{where}: {name!r} is empty")
            total: Any = parse_range(cells["total"][r], f"{where}: the total", decimals["total"])
            if error is not None and cells[error][r] is not None:
                total = with_error(total, cells[error][r], where)
            group = {name: cells[name][r] for name in groups}
            rows.append(group | {"class": cells[of_class][r], "total": total})
        ignored = [name for name in cells if name not in (*wanted, error)]
        for name in ignored:
            if all(text is None or readings(text.removesuffix("%")) for text in cells[name]):
                raise InputError(
                    f"{self.path}: the column {name!r} holds numbers, but is neither the total nor "
                    f"its standard error, nor a column of the unlabeled rows"
                    f"{nearest(name, columns)}; remove it, or name standard errors 'se'"
                )
        why = "the unlabeled rows do not have them"
        hint = f"; its columns {all_of(ignored)} were ignored, because {why}" if ignored else ""
        self._check_once(rows, hint)
        note = f"The columns {listed(ignored)} of {self.path.name} were ignored: {why}."
        return rows, note if ignored else None

    def _check_once(self, rows: list[Row], why: str = "") -> None:
        """Refuse two totals of one class in one group, and say why there may be two."""
        seen: set[tuple[Any, ...]] = set()
        for row in rows:
            place = tuple(value for name, value in row.items() if name != "total")
            if place in seen:
                raise InputError(
                    f"{self.path} has more than one total for {', '.join(map(repr, place))}{why}"
                )
            seen.add(place)

    def _read_wide(
        self,
        cells: dict[str, list[Any]],
        wide: list[str],
        columns: Sequence[str],
        decimals: Mapping[str, str | None],
    ) -> tuple[list[Row], str]:
        groups = list(self.groups) or [n for n in cells if n in columns and n not in wide]
        others = [name for name in cells if name not in (*wide, *groups)]
        unknown = [name for name in others if not is_sum(name)]
        if unknown:
            raise InputError(
                f"{self.path} has a column per class ({listed(wide)}), and the columns "
                f"{listed(unknown)} that are neither classes nor columns of the unlabeled rows"
                f"{nearest(unknown[0], list(columns))}"
            )
        totals: dict[str, list[Any]] = {}
        for name in (*wide, *others):
            where = f"{self.path}, column {name!r}"
            totals[name] = [
                None if text is None else parse_range(text, where, decimals[name])
                for text in cells[name]
            ]
        places = range(len(cells[wide[0]]))
        sums = [r for r in places if any(is_sum(cells[name][r] or "") for name in groups)]
        kept = [r for r in places if r not in sums]
        self._check_sums(totals, wide, others, kept, sums)
        rows: list[Row] = []
        for r in kept:
            group = {name: cells[name][r] for name in groups}
            if None in group.values():
                raise InputError(f"{self.path}, data row {r + 1}: a grouping column is empty")
            known = [name for name in wide if totals[name][r] is not None]
            rows += [group | {"class": name, "total": totals[name][r]} for name in known]
        self._check_once(rows)
        by = f"by {', '.join(groups)}, " if groups else ""
        note = f"{self.path.name} was read as a wide table: {by}a column per class ({listed(wide)})"
        left = [*(f"the column {name!r}" for name in others), *(["a row of sums"] if sums else [])]
        return rows, note + (f"; {' and '.join(left)} checked and left out" if left else "") + "."

    def _check_sums(
        self,
        totals: dict[str, list[Any]],
        wide: list[str],
        columns: list[str],
        kept: list[int],
        rows: list[int],
    ) -> None:
        """Refuse columns and rows of sums that are not what they should be."""
        for name in columns:
            for r, stated in enumerate(totals[name]):
                values = [totals[label][r] for label in wide]
                if not _adds_up(values, stated):
                    raise InputError(
                        f"{self.path}, data row {r + 1}: the classes add up to {_sum(values)}, but "
                        f"the column {name!r} says {stated!r}; correct it, or drop the column"
                    )
        for r in rows:
            for label in wide:
                values, stated = [totals[label][k] for k in kept], totals[label][r]
                if not _adds_up(values, stated):
                    raise InputError(
                        f"{self.path}, data row {r + 1}, looks like a row of sums, but {label!r} "
                        f"adds up to {_sum(values)} and not to {stated!r}; correct it, or drop it"
                    )


def _decimal(column: Any, told: str | None) -> str | None:
    """Return the decimal mark of cells; numbers were put into plain form when they were read."""
    from c2rf.data.cells import as_numbers, as_text

    is_plain = not (as_numbers(column).isna() & as_text(column).notna()).any()
    return "." if is_plain else told


def is_sum(name: str) -> bool:
    """Say whether a row or column of this name holds sums.

    Examples
    --------
    >>> is_sum("Total"), is_sum("north")
    (True, False)
    """
    return name.strip().casefold() in SUMS


def with_error(total: Any, se: Any, where: str) -> Any:
    """Return a total with a standard error; 0 is an exact one.

    Examples
    --------
    >>> with_error(1200, "50", "row 1"), with_error(1200, "0", "row 1")
    (Estimate(1200, se=50), 1200)
    """
    try:
        number = int(se) if str(se).strip().isdigit() else float(se)
    except ValueError as error:
        raise InputError(f"{where}: 'se' must be a number like 50; found {se!r}") from error
    if number == 0:
        return total
    if number < 0:
        raise InputError(f"{where}: 'se' must not be negative; found {se}")
    if isinstance(total, (tuple, Estimate)):
        raise InputError(f"{where}: a range or an estimate takes no further 'se'; found {se}")
    return Estimate(total, number)


def _adds_up(values: list[Any], stated: Any) -> bool:
    """Say whether counts add up to a sum, or rates are given the sum 1."""
    if all(isinstance(value, int) for value in (*values, stated)):
        return bool(_sum(values) == stated)
    return isinstance(stated, float) and abs(stated - 1) < 1e-9


def _sum(values: list[Any]) -> Any:
    return sum(value for value in values if isinstance(value, (int, float)))
