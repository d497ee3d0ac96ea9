"""Known totals as people write them: ``1234``, ``12%``, ``1200..1300``, per class and per group."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from c2rf.cli.options import Number, parse_total
from c2rf.exceptions import InputError

Total = Number | tuple[Number, Number]
"""A count, a rate, or a range of either."""


@dataclass(frozen=True)
class Totals:
    """What is known: a total per class, over all and in groups."""

    overall: Mapping[str, Total] = field(default_factory=dict)
    by_group: Mapping[str, Mapping[str, Total]] = field(default_factory=dict)


def parse_range(text: str, name: str = "--total") -> Total:
    """Return a total, or a range of totals from ``lo..hi``.

    Examples
    --------
    >>> parse_range("1234"), parse_range("1200..1300"), parse_range("10%..0.12")
    (1234, (1200, 1300), (0.1, 0.12))
    """
    lo, dots, hi = text.partition("..")
    if not dots:
        return parse_total(text, name)
    ends = parse_total(lo, name), parse_total(hi, name)
    if type(ends[0]) is not type(ends[1]) or not ends[0] <= ends[1]:
        raise InputError(
            f"{name}: a range lo..hi must be two counts or two rates, lo at most hi; found {text!r}"
        )
    return ends


def parse_totals(text: str) -> dict[str, Total]:
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
        totals[name.strip()] = parse_range(number, f"--totals: the total of {name.strip()!r}")
    if not totals:
        raise InputError("--totals must be like yes=1234,no=8766; found nothing")
    return totals


def read_totals(path: Path, target: str, group: str | None) -> Totals:
    """Read totals from a table: columns ``class`` and ``total``, and that of the group.

    The column of classes may have the name of the target.
    """
    from c2rf.tables import as_text, read_table

    table = read_table(path)
    of_class = next((name for name in ("class", target) if name in table), "class")
    wanted = [*([group] if group else []), of_class, "total"]
    missing = [name for name in wanted if name not in table]
    if missing:
        raise InputError(
            f"{path} must have the columns {', '.join(wanted)}; missing: {', '.join(missing)}"
        )
    known: dict[str, dict[str, Total]] = {}
    for number, row in enumerate(zip(*(as_text(table[name]) for name in wanted), strict=True), 1):
        where = f"{path}, data row {number}"
        if None in row:
            raise InputError(f"{where}: {wanted[row.index(None)]!r} is empty")
        *place, label, total = row
        totals = known.setdefault(place[0] if place else "", {})
        if label in totals:
            raise InputError(f"{where}: the class {label!r} has more than one total")
        totals[label] = parse_range(total, f"{where}: the total")
    return Totals(by_group=known) if group else Totals(overall=known[""])


def collect(
    positive: str | None,
    total: str | None,
    totals: str | None,
    totals_file: Path | None,
    group: str | None,
    target: str,
) -> Totals:
    """Put together the totals from all the ways of giving them."""
    if (positive is None) != (total is None):
        raise InputError("--positive and --total belong together: give both or neither")
    if total is not None and totals is not None:
        raise InputError("give --positive and --total, or --totals, not both")
    if group and totals_file is None:
        raise InputError("--group needs --totals-file, a table with the totals of the groups")
    overall: dict[str, Total] = {}
    if positive is not None and total is not None:
        overall = {positive: parse_range(total)}
    elif totals is not None:
        overall = parse_totals(totals)
    if totals_file is None:
        if not overall:
            raise InputError(
                "a known total is needed: --positive yes --total 1234, or --totals yes=1234, or "
                "--totals-file totals.csv"
            )
        return Totals(overall)
    stored = read_totals(totals_file, target, group)
    if overall and stored.overall:
        raise InputError("give the overall totals in --totals-file or as options, not both")
    return Totals(overall or stored.overall, stored.by_group)
