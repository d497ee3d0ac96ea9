"""Numbers as people write them: 1234.5, 1.234,5, 1 234,5, 1'234.5.

A cell has a value for each decimal mark, or none: "1.234,5" is a number only with a decimal comma,
"12.5" only with a decimal point. "1.234" is one with both, and the two values differ. Such a cell
is never guessed at: other cells must decide, or the user.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from c2rf._utils.text import for_user
from c2rf.exceptions import InputError

MISSING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null")
"""Cells that say there is no value, with or without spaces around."""

MISSING_NUMBERS = (
    "-", "--", "?", ".", "..", "#N/A", "n/a", "n.a.", "k.A.", "k. A.", "None", "<NA>",
)  # fmt: skip
"""Cells that say so among numbers and dates; in a column of text they are values like others."""

MINUS = "\u2212"  # as word processors and statistical offices write it

SPACES = (" ", "\u00a0", "\u2009", "\u202f")
GROUP_MARKS = (*SPACES, "'", "\u2019")
"""What stands between thousands, whatever the decimal mark."""

OTHER = {".": ",", ",": "."}
NAMES = {".": "point", ",": "comma"}
_PLAIN = re.compile(rf"([+{MINUS}-]?)(?=\.?\d)(\d*)(\.?\d*(?:[eE][+{MINUS}-]?\d+)?)")


def pattern(decimal: str) -> str:
    """Return what numbers with this decimal mark look like, as a regular expression."""
    groups = "|".join(
        rf"[1-9]\d{{0,2}}(?:{re.escape(mark)}\d{{3}})+" for mark in (OTHER[decimal], *GROUP_MARKS)
    )
    point = re.escape(decimal)
    # 1.234,5 or 12,5 or ,5; of digits alone any number. +49 170 123 456 is a telephone's.
    minus, sign, exponent = (f"[{signs}{MINUS}-]?" for signs in ("", "+", "+"))
    whole = rf"{minus}(?:{groups})|{sign}\d+"
    return rf"\s*(?:(?:{whole})(?:{point}\d*)?|{sign}{point}\d+)(?:[eE]{exponent}\d+)?\s*"


_NUMBER = {decimal: re.compile(pattern(decimal)) for decimal in OTHER}


def canonical(text: str, decimal: str) -> str | None:
    """Return a number with a decimal point and no other mark, or None if it is none.

    Examples
    --------
    >>> canonical("1.234,50", ","), canonical("25 937", ","), canonical("12.5", ",")
    ('1234.50', '25937', None)
    """
    if not _NUMBER[decimal].fullmatch(text):
        return None
    for mark in (OTHER[decimal], *GROUP_MARKS):
        text = text.replace(mark, "")
    return text.strip().replace(decimal, ".")


@lru_cache(maxsize=1 << 18)
def readings(text: str) -> tuple[str, ...]:
    """Return the decimal marks with which a text is a number; one if both give the same value.

    Examples
    --------
    >>> readings("12,5"), readings("1.234"), readings("1234"), readings("Ulm")
    ((',',), ('.', ','), ('',), ())
    """
    values = {decimal: canonical(text, decimal) for decimal in OTHER}
    if values["."] is not None and values["."] == values[","]:
        return ("",)
    return tuple(decimal for decimal, value in values.items() if value is not None)


def both_readings(text: str) -> str:
    """Say what both readings of a text are, and what decides.

    Examples
    --------
    >>> print(both_readings("25.937"))
    '25.937' is 25.937 with a decimal point and 25937 with a decimal comma; say which with \
decimal="." or decimal=","
    """
    options = for_user('decimal="." or decimal=","', "--decimal . or --decimal ,")
    return (
        f"{text!r} is {canonical(text, '.')} with a decimal point and {canonical(text, ',')} with "
        f"a decimal comma; say which with {options}"
    )


def text_option(name: str) -> str:
    """Return the option that takes a column as text."""
    return for_user(f"text=[{name!r}]", f"--text {name}")


@dataclass(frozen=True)
class Marks:
    """How the numbers of a column are written: decimal mark, and what is between thousands."""

    decimal: str = "."
    group: str = ""

    def localised(self, text: str) -> str:
        """Write a plain number as the column has it; leave other text alone.

        Examples
        --------
        >>> Marks(",", ".").localised("-1234567.50"), Marks(",").localised("Ulm")
        ('-1.234.567,50', 'Ulm')
        """
        found = _PLAIN.fullmatch(text)
        if found is None:
            return text
        sign, whole, rest = found.groups()
        if self.group:
            whole = re.sub(r"\B(?=(\d{3})+$)", self.group, whole)
        return str(sign + whole + rest.replace(".", self.decimal))


@dataclass
class _NumberCells:
    """How the cells of a column can be read as numbers.

    ``given`` cells are not empty, ``odd`` ones no numbers. ``only`` has an example for each decimal
    mark with which alone a cell is a number, ``both`` a cell that is one with either. ``group`` is
    a mark between thousands; ``is_padded`` says whether there are special spaces around numbers.
    """

    name: str
    given: int = 0
    odd: int = 0
    only: dict[str, str] = field(default_factory=dict)
    both: str | None = None
    group: str = ""
    is_padded: bool = False

    @classmethod
    def of(cls, name: str, cells: Iterable[str]) -> _NumberCells:
        """Look at all cells."""
        column = cls(name)
        for cell in cells:
            if cell.strip() in (*MISSING, *MISSING_NUMBERS):
                continue
            column.given += 1
            found = readings(cell)
            if not found:
                column.odd += 1
                continue
            if len(found) == 2:
                column.both = column.both or cell
            elif found[0]:
                column.only.setdefault(found[0], cell)
            if not column.group:
                column.group = next((mark for mark in GROUP_MARKS if mark in cell.strip()), "")
            if {cell[0], cell[-1]} & set(SPACES[1:]):
                column.is_padded = True
        return column

    @property
    def may_be_numbers(self) -> bool:
        """Whether most cells are numbers, or all are empty: numbers may come further on."""
        return 2 * self.odd < self.given or not self.given


def find_marks(
    columns: Mapping[str, Sequence[str]],
    decimal: str | None = None,
    where: object = "the table",
    likely: str | None = None,
) -> tuple[dict[str, Marks], str | None]:
    """Find out how the numbers of columns are written.

    Parameters
    ----------
    columns : mapping of str to sequence of str
        Cells of each column that may hold numbers.
    decimal : {".", ","}, optional
        The decimal mark, if the user has named it.
    where : object
        What to call the table in a message.
    likely : {".", ","}, optional
        The decimal mark where neither the user nor any cell decides it, and numbers with two
        readings are whole with it.

    Returns
    -------
    marks : dict
        For each column of numbers how they are written.
    decimal : str or None
        The decimal mark of the table, None if no cell decides it.

    Examples
    --------
    >>> find_marks({"price": ["1,5", "1.234"], "size": ["1.234"], "town": ["Ulm"]})
    ({'price': Marks(decimal=',', group='.'), 'size': Marks(decimal=',', group='.')}, ',')
    """
    found = [_NumberCells.of(name, cells) for name, cells in columns.items()]
    numbers = [column for column in found if column.may_be_numbers]
    for column in numbers:
        _check_one_mark(column, decimal, where)
    found_marks = {decimal} if decimal else {mark for column in numbers for mark in column.only}
    shared = found_marks.pop() if len(found_marks) == 1 else None
    marks = {}
    for column in numbers:
        own = next(iter(column.only), None) or shared
        if own is None and column.both is not None and likely and likely not in column.both:
            own = likely
        if own is None and column.both is not None:
            raise InputError(f"{where}: in column {column.name!r} {both_readings(column.both)}")
        if own is None and (column.group or column.is_padded):
            own = "."  # which no cell has: the value is the same with both
        if own is not None:
            group = column.group or _group_mark(columns[column.name], own)
            marks[column.name] = Marks(own, group)
    return marks, shared


def _group_mark(cells: Sequence[str], decimal: str) -> str:
    """Return the other decimal mark if it stands between thousands in some number."""
    marked = (cell for cell in cells if OTHER[decimal] in cell)
    return OTHER[decimal] if any(canonical(cell, decimal) is not None for cell in marked) else ""


def _check_one_mark(column: _NumberCells, decimal: str | None, where: object) -> None:
    """Refuse a column in which some numbers have a decimal point and others a comma."""
    only = column.only
    as_text = text_option(column.name)
    if len(only) == 2:
        raise InputError(
            f"{where}: column {column.name!r} has numbers with a decimal point, {only['.']!r}, and "
            f"with a decimal comma, {only[',']!r}; correct one kind, or take them as text with "
            f"{as_text}"
        )
    if decimal and OTHER[decimal] in only:
        raise InputError(
            f"{where}: {only[OTHER[decimal]]!r} in column {column.name!r} is no number with a "
            f"decimal {NAMES[decimal]}; leave the option for the decimal mark out, or take the "
            f"column as text with {as_text}"
        )
