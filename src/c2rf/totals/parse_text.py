"""Known totals as people write them: ``1234``, ``12%``, ``1200..1300``, per class and per group."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from c2rf.exceptions import InputError
from c2rf.files.numerals import NAMES, OTHER, canonical, readings
from c2rf.totals.estimate import Estimate

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
        marks = (_decide(written, name, decimal),)
    plain = canonical(written, marks[0] or ".") or ""
    if is_rate and not 0 <= float(plain) <= 100:
        raise InputError(f"{name} must be a count, or a rate from 0% to 100%; found {text!r}")
    if is_rate:
        return float(plain) / 100
    return int(plain) if re.fullmatch(r"[+-]?[0-9]{1,18}", plain) else float(plain)


def _decide(text: str, name: str, decimal: str | None) -> str:
    """Return the decimal mark of a total with two readings, of which only one can be a total."""
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
    from c2rf.totals.tables import TotalsFile

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
