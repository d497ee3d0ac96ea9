"""Totals as they are stated: counts, rates, ranges and estimates, overall and within groups.

:func:`read_totals` reads all that may be given as ``totals`` in Python (mappings, tables, series,
and lists of these) into one :class:`Totals`: overall totals, and a :class:`Margin` for each table
of totals within groups. :func:`read_stated` then reads a single one of them as a
:class:`StatedTotal`, a range of rows, once it is known how many rows it is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from c2rf._utils.frames import as_pandas
from c2rf._utils.text import all_of, for_user
from c2rf._utils.types import check_number, is_number
from c2rf.exceptions import InputError, InputTypeError

Policy = Literal["strict", "scale"]
"""Whether totals that contradict each other are refused or rescaled."""

ROUNDING = 0.5
"""What rounding explains: half a row in a sum of rates, half a unit in a weighted total."""

SLACK = 1e-9
"""Rates times rows are floats: 0.1 * 30 is three rows."""

ESTIMATE = "estimate"
"""As ``totals``: none are known, and they are to be estimated."""

CLASS, TOTAL = "class", "total"
"""Columns of a table of totals; the others hold standard errors, or say what groups it is about."""

_ERRORS = re.compile(
    r"(s\.?e\.?|(std|stderr|standard)[ _.-]?(err(or)?)?|standardfehler|stdfehler|\+/-|\+-|\u00b1"
    r"|erreur[ _-]?type|error[ _-]?est[a\u00e1]ndar|errore[ _-]?standard)", re.IGNORECASE
)  # fmt: skip


def is_error(name: Any) -> bool:
    """Say whether a column of this name holds standard errors.

    Examples
    --------
    >>> is_error("Standardfehler"), is_error("std_error"), is_error("sex")
    (True, True, False)
    """
    return isinstance(name, str) and _ERRORS.fullmatch(name.strip()) is not None


Table = tuple[tuple[str | None, ...], list[tuple[tuple[Any, ...], Any, Any]]]
"""The grouping columns, and the rows: the values of these columns, a class, and its total there."""


@dataclass(frozen=True)
class Estimate:
    """A total from a survey: a number and its standard error.

    Labels meet the rounded number. Where several totals contradict each other, estimates are
    changed to agree, the more the less certain they are, and exact totals are kept.

    Parameters
    ----------
    value : int or float
        A count, or a rate: a float up to 1. A count need not be whole.
    se : int or float
        The standard error in the same unit, above zero.

    Examples
    --------
    >>> from c2rf import Estimate
    >>> Estimate(1200, se=50)
    Estimate(1200, se=50)
    >>> print(Estimate(0.12, se=0.005))
    0.12+-0.005
    >>> Estimate(1200, se=-1)
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputError: the standard error of an estimate must be above 0; found -1
    """

    value: Any
    se: Any

    def __init__(self, value: Any, se: Any) -> None:
        for what, number in (("value", value), ("standard error", se)):
            check_number(f"the {what} of an estimate", number)
            if not np.isfinite(float(number)):
                raise InputError(f"the {what} of an estimate must be finite; found {number!r}")
        if se <= 0:
            raise InputError(f"the standard error of an estimate must be above 0; found {se!r}")
        if value < 0:
            raise InputError(f"an estimate of a total must not be negative; found {value!r}")
        object.__setattr__(self, "value", _plain(value))
        object.__setattr__(self, "se", _plain(se))

    def __repr__(self) -> str:
        return f"Estimate({self.value!r}, se={self.se!r})"

    def __str__(self) -> str:
        return f"{self.value!r}+-{self.se!r}"


def as_estimates(
    classes: Sequence[Any], rates: Sequence[float], errors: Sequence[float]
) -> dict[Any, Estimate]:
    """Return rates as estimates, whose standard errors are above zero."""
    pairs = zip(classes, rates, errors, strict=True)
    return {name: Estimate(float(r), max(float(se), SMALLEST_ERROR)) for name, r, se in pairs}


SMALLEST_ERROR = 1e-6
"""Of an estimated rate."""


def _plain(value: Any) -> Any:
    """Return a number of Python: files and messages know these."""
    return value.item() if isinstance(value, np.generic) else value


@dataclass(frozen=True)
class Margin:
    """Totals within groups.

    Parameters
    ----------
    columns : tuple of str or None
        The columns that make the groups; None for one without a name.
    by_group : mapping of group to mapping of class to total
        A group is a value of the column, or a tuple of values of several columns.
    """

    columns: tuple[str | None, ...]
    by_group: Mapping[Any, Mapping[Any, Any]]


class Labeled(NamedTuple):
    """The labeled rows, where totals are of everybody: they are among those who are counted.

    Parameters
    ----------
    names : list
        Their groups, by the grouping columns of all totals.
    counts : ndarray of shape (n_groups, n_classes)
        How many there are of each class, rows or people.
    lacking : tuple of str
        Grouping columns that the labeled rows do not have.
    """

    names: list[Any]
    counts: NDArray[Any]
    lacking: tuple[str, ...] = ()


@dataclass(frozen=True)
class Totals:
    """All that is known: totals over all rows, and within groups.

    Totals with ``labeled`` rows are about these as well.
    """

    overall: Mapping[Any, Any] = field(default_factory=dict)
    margins: tuple[Margin, ...] = ()
    labeled: Labeled | None = None

    @property
    def tables(self) -> list[Mapping[Any, Mapping[Any, Any]]]:
        """Totals by category and class: overall, where all rows are one category, and margins."""
        overall = {(): self.overall} if self.overall else {}
        return [overall, *(margin.by_group for margin in self.margins)]

    @property
    def columns(self) -> tuple[str | None, ...]:
        """The grouping columns of all tables, each once: rows with equal values are a group."""
        return tuple(dict.fromkeys(name for margin in self.margins for name in margin.columns))

    @property
    def has_estimates(self) -> bool:
        """Whether any total has a standard error."""
        stated = (t for table in self.tables for row in table.values() for t in row.values())
        return any(isinstance(total, Estimate) for total in stated)


def read_totals(given: Any, classes: Sequence[Any] = ()) -> Totals:
    """Read everything that may be given as ``totals``.

    Parameters
    ----------
    given : mapping, table, series, or list of these
        A mapping or a series of class to total is overall. A table with the columns ``class``,
        ``total`` and others is about the groups that the others make; so is a table of groups by
        classes, as :func:`pandas.crosstab` makes it, and a series indexed by both.
    classes : sequence
        The known classes, which tell the columns of a crosstab.

    Returns
    -------
    Totals

    Examples
    --------
    >>> read_totals({"yes": 0.25}).overall
    {'yes': 0.25}
    >>> rows = [{"region": "north", "class": "yes", "total": 3}]
    >>> read_totals([{"yes": 7}, rows]).margins
    (Margin(columns=('region',), by_group={'north': {'yes': 3}}),)
    """
    if isinstance(given, Totals):
        return given
    overall: dict[Any, Any] = {}
    margins: dict[tuple[str | None, ...], dict[Any, dict[Any, Any]]] = {}
    for columns, rows in _tables(given, list(classes)):
        for group, label, total in rows:
            by_class = overall
            if columns:
                name = group[0] if len(columns) == 1 else group
                by_class = margins.setdefault(columns, {}).setdefault(name, {})
            if label in by_class:
                where = f" of group {', '.join(map(repr, group))}" if group else ""
                raise InputError(
                    f"totals: the class {label!r}{where} has more than one total, "
                    f"{by_class[label]} and {total}; keep one of them"
                )
            by_class[label] = total
    return Totals(overall, tuple(Margin(columns, table) for columns, table in margins.items()))


def _tables(given: Any, classes: list[Any]) -> Iterator[Table]:
    """Yield all tables that are given; overall totals are one without grouping columns."""
    if isinstance(given, Mapping):
        _refuse_nested(given)
        yield (), [((), label, total) for label, total in given.items()]
    elif is_list_of_rows(given):
        yield _long_table(_frame_of_rows(given))
    elif isinstance(given, (list, tuple)) and not any(isinstance(each, Real) for each in given):
        for each in given:
            yield from _tables(each, classes)
    elif hasattr(given, "columns"):
        yield _table_of_frame(as_pandas(given), classes)
    elif hasattr(given, "index") and hasattr(given, "items"):
        yield _table_of_series(given, classes)
    else:
        raise InputTypeError(
            "totals must be {class: total}, a table with the columns 'class', 'total' and those of "
            f"groups, or a list of these; found {_short(given)} of type {type(given).__name__}"
        )


def _refuse_nested(given: Mapping[Any, Any]) -> None:
    for label, total in given.items():
        if isinstance(total, Mapping):
            raise InputTypeError(
                f"totals: the total of {label!r} is a mapping; totals within groups are a table "
                "with the columns 'class', 'total' and those of the groups"
            )


def is_list_of_rows(given: Any) -> bool:
    """Say whether these are the rows of a table of totals."""
    return (
        isinstance(given, (list, tuple))
        and len(given) > 0
        and all(isinstance(row, Mapping) and {CLASS, TOTAL} <= set(row) for row in given)
    )


def _frame_of_rows(given: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    names = list(given[0])
    for row in given:
        if set(row) != set(names):
            raise InputError(
                f"the rows of a table of totals must have the same columns; found {all_of(names)} "
                f"and {all_of(list(row))}"
            )
    return pd.DataFrame(list(given), dtype=object)


def _table_of_frame(table: pd.DataFrame, classes: list[Any]) -> Table:
    """Read a frame with a row for each total, or with a column for each class."""
    names = list(table.columns)
    wide = [name for name in names if name in classes]
    if {CLASS, TOTAL} <= set(names):
        return _long_table(table)
    if names and len(wide) == len(names):  # a crosstab: the groups are in the index
        return _table_of_series(table.stack(), classes)
    if wide:
        return _table_of_wide_frame(table, wide)
    raise InputError(
        "a table of totals must have the columns 'class' and 'total', or a column for each class; "
        f"found the columns {all_of(names)}"
    )


def _table_of_wide_frame(table: pd.DataFrame, wide: list[Any]) -> Table:
    """Read a frame with grouping columns and a column for each class; nothing is known of NaN."""
    others = [name for name in table.columns if name not in wide]
    sums = [name for name in map(str, others) if name.strip().casefold() in ("all", "sum", "total")]
    if sums:
        raise InputError(
            f"a table of totals with a column per class must not have the sum {sums[0]!r}; drop it"
        )
    long = table.astype(object).melt(others, wide, CLASS, TOTAL)
    return _long_table(long[long[TOTAL].notna()])


def _long_table(table: pd.DataFrame) -> Table:
    """Read a frame with a row for each total."""
    groups = [name for name in table.columns if name not in (CLASS, TOTAL) and not is_error(name)]
    totals = _counts_or_rates(table[TOTAL].tolist())
    error = next((name for name in table.columns if is_error(name)), None)
    if error is not None:
        pairs = enumerate(zip(totals, table[error].tolist(), strict=True))
        totals = [with_error(each, se, f"totals, row {number}") for number, (each, se) in pairs]
    names = [()] * len(table)
    if groups:
        names = list(zip(*(table[name].tolist() for name in groups), strict=True))
    rows = list(zip(names, table[CLASS].tolist(), totals, strict=True))
    return tuple(map(str, groups)), rows


def with_error(total: Any, se: Any, where: str) -> Any:
    """Return a total with its standard error; exact where there is none, or zero.

    Examples
    --------
    >>> with_error(1200, "50", "row 1"), with_error(1200, "0", "row 1")
    (Estimate(1200, se=50), 1200)
    """
    try:
        number = int(se) if str(se).isdigit() else np.nan if se is None else float(se)
    except (TypeError, ValueError) as error:
        raise InputError(f"{where}: 'se' must be a number like 50; found {se!r}") from error
    if number == 0 or np.isnan(number):
        return total
    if isinstance(total, (tuple, Estimate)):
        raise InputError(f"{where}: a range or an estimate takes no further 'se'; found {se}")
    try:
        return Estimate(total, number)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


def _table_of_series(series: Any, classes: list[Any]) -> Table:
    """Read a series indexed by classes, or by groups and classes."""
    totals = _counts_or_rates(series.tolist())
    if series.index.nlevels == 1:
        return (), [((), label, total) for label, total in zip(series.index, totals, strict=True)]
    names = list(series.index.names)
    place = names.index(CLASS) if CLASS in names else _class_level(series.index, classes)
    del names[place]
    rows = [
        ((*entry[:place], *entry[place + 1 :]), entry[place], total)
        for entry, total in zip(series.index, totals, strict=True)
    ]
    return tuple(None if name is None else str(name) for name in names), rows


def _class_level(index: Any, classes: list[Any]) -> int:
    """Return the level of an index that holds the classes; the last one if several might."""
    found = [
        level
        for level in range(index.nlevels)
        if all(value in classes for value in index.get_level_values(level).unique())
    ]
    if not found:
        raise InputError(
            f"no level of the index of totals holds classes ({all_of(classes)}); found the levels "
            f"{all_of(list(index.names))}: name that of the classes 'class'"
        )
    return found[-1]


def _counts_or_rates(totals: list[Any]) -> list[Any]:
    """Return the totals of one table, whose floats are all counts or all rates.

    They are counts if a float is above 1, or if any number is above 1 and all floats are whole: a
    column of a frame has a single type. Ranges keep theirs, so (0.0, 1.0) is no range of counts.

    Examples
    --------
    >>> _counts_or_rates([3.0, 1.0]), _counts_or_rates([0.5, 1.0])
    ([3, 1], [0.5, 1.0])
    >>> _counts_or_rates([3, 1.0]), _counts_or_rates([3.0, (0.0, 1.0), (1.0, 2.0)])
    ([3, 1], [3, (0.0, 1.0), (1, 2)])
    """
    ends = [end for total in totals for end in (total if _is_range(total) else (total,))]
    floats = [end for end in ends if is_number(end) and not isinstance(end, Integral)]
    are_whole = all(float(end).is_integer() for end in floats)
    large = any(is_number(end) and end > 1 for end in ends)
    if not any(end > 1 for end in floats) and not (large and are_whole):
        return totals
    return [_as_counts(total) if _is_range(total) else _as_count(total) for total in totals]


def _as_counts(ends: Any) -> Any:
    is_given = all(map(is_number, ends)) and max(ends) > 1
    return tuple(map(_as_count, ends)) if is_given else ends


def _as_count(value: Any) -> Any:
    if not is_number(value) or isinstance(value, Integral):
        return value
    if float(value).is_integer():
        return int(value)
    raise InputError(
        "a table of totals with a number above 1 holds counts, and counts must be whole; found "
        f"{value:g}"
    )


@dataclass(frozen=True)
class StatedTotal:
    """One total: a range in rows, not yet rounded, and what the user wrote, in short.

    ``se`` is its standard error in rows, 0 for an exact one; ``labeled`` are the labeled rows that
    were subtracted.
    """

    low: float
    high: float
    is_rate: bool
    written: str
    se: float = 0.0
    labeled: float = 0.0

    def without(self, labeled: float) -> StatedTotal:
        """Return what is left of a total of everybody for the rows to label."""
        if not labeled:
            return self
        low, high = (max(end - labeled, 0.0) for end in (self.low, self.high))
        less = f"{self.written} less {labeled:g} labeled"
        return replace(self, low=low, high=high, written=less, labeled=labeled)


def read_stated(total: Any, n: float, what: str, policy: Policy) -> StatedTotal:
    """Read a count, a rate or a range of either, or say what is wrong with it."""
    if isinstance(total, Estimate):
        # The estimate of a rate, if it is a float up to one; that of a count need not be whole.
        is_rate = not isinstance(total.value, Integral) and total.value <= 1
        scale = n if is_rate else 1.0
        value = float(total.value) * scale
        return StatedTotal(value, value, is_rate, written(total), float(total.se) * scale)
    is_range = _is_range(total)
    ends = list(total) if is_range else [total, total]
    if len(ends) != 2:
        raise InputError(f"{what} must be {allowed()}; found {written(total)}")
    kinds = [_is_rate(end, what, total) for end in ends]
    if kinds[0] != kinds[1]:
        raise InputTypeError(
            f"{what} must be a range of two counts or of two rates, not of one each; found "
            f"{written(total)}"
        )
    low, high = (float(end) * n if kinds[0] else float(end) for end in ends)
    if low > high:
        raise InputError(f"{what} must be a range (lo, hi) with lo <= hi; found {written(total)}")
    if kinds[0] and not 0 <= float(ends[0]) <= float(ends[1]) <= 1:
        raise InputError(
            f"{what} must be {_rates()}; found {written(total)} (write counts as integers)"
        )
    are_rows = isinstance(n, Integral)
    most = n if are_rows else n + ROUNDING
    if low < 0 or (policy == "strict" and (low if is_range else high) > most):
        of = "the number of rows" if are_rows else "the sum of the weights"
        raise InputError(
            f"{what} must be a count from 0 to {n:.12g}, {of}; found {written(total)}"
            + ("" if low < 0 else f": {scale_hint()}")
        )
    if is_range and kinds[0] and are_rows:
        whole = _rows_between(float(ends[0]), float(ends[1]), int(n))
        if whole[0] > whole[1]:
            raise InputError(
                f"{what}, {written(total)}, is a range without a whole number in it: from {low:g} "
                f"to {high:g} of {n} rows; widen it"
            )
        low, high = whole
    return StatedTotal(low, high, kinds[0], written(total))


def _rows_between(low: float, high: float, n: int) -> tuple[float, float]:
    """Return the least and the largest number of rows whose share of all is within two rates.

    Shares are floats, as the rates are.

    Examples
    --------
    >>> _rows_between(0.1, 2 / 3, 30), _rows_between(0.1, 0.0999999999 * 3, 10)
    ((3.0, 20.0), (1.0, 2.0))
    """
    least, most = round(low * n), round(high * n)
    return float(least + (least / n < low)), float(most - (most / n > high))


def _is_rate(value: Any, what: str, total: Any) -> bool:
    if not is_number(value):
        raise InputTypeError(
            f"{what} must be {allowed()}; found {written(total)} of type {type(total).__name__}"
        )
    if not np.isfinite(float(value)):
        raise InputError(f"{what} must be {allowed()}; found {written(total)}")
    return not isinstance(value, Integral)


def allowed() -> str:
    """Say what a total may be."""
    return for_user(
        "a count (an integer), a rate (a float in [0, 1]), a range (lo, hi) of two counts or "
        "two rates, or a c2rf.Estimate",
        "a count like 1234, a rate like 12%, a range like 1200..1300 or an estimate like 1200+-50",
    )


def _rates() -> str:
    return for_user("a count, or a float that is a rate in [0, 1]", "a rate from 0% to 100%")


def rounding_slack(counts: Sequence[float]) -> float:
    """Return by how much a sum of counts may be off because each was rounded.

    Offices round to whole numbers, to 5, 10, 100 or 1,000: to the coarsest that all counts are.
    More than a hundredth is no rounding.

    Examples
    --------
    >>> rounding_slack([33, 33, 33]), rounding_slack([19200, 1300])
    (1.5, 100.0)
    """
    unit = next(u for u in (1000, 100, 10, 5, 1) if u == 1 or all(c % u == 0 for c in counts))
    return len(counts) * max(0.5, min(unit / 2, sum(counts) / 100 / len(counts)))


def wrong_sum(given: Mapping[Any, StatedTotal], total: float, n: float, where: str) -> str:
    """Say that totals do not add up to the number of rows, and what to do about it."""
    stated = ", ".join(f"{label!r}: {each.written}" for label, each in given.items())
    counts = [each.low for each in given.values() if each.low == each.high and not each.is_rate]
    off = abs(total - n)
    if len(counts) == len(given) and min(counts) >= 1 and off <= rounding_slack(counts):
        scale = for_user('totals_policy="scale"', "--totals-policy scale")
        hint = f"off by {off:,g} of {n:,.12g}, as rounding does; {scale} moves {off:,g}"
    else:
        hint = scale_hint()
    return f"{where} {total:.12g} ({stated}), but there are {n:.12g} rows; {hint}"


def scale_hint(to: str = "have them rescaled") -> str:
    """Say what to do about totals that contradict each other."""
    scale = for_user('totals_policy="scale"', "--totals-policy scale")
    return f"correct them, or use {scale} to {to}"


def written(total: Any) -> str:
    """Write a total as it was given, short."""
    if isinstance(total, (tuple, list)) and len(total) == 2:
        low, high = (written(end) for end in total)
        return for_user(f"({low}, {high})", f"{low}..{high}")
    if isinstance(total, Estimate):
        return for_user(repr(total), str(total))
    if isinstance(total, np.generic):
        total = total.item()
    return _short(total)


def _is_range(total: Any) -> bool:
    return isinstance(total, (tuple, list, np.ndarray)) and getattr(total, "ndim", 1) > 0


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def are_given(X_unlabeled: Any, totals: Any, *about: Any) -> bool:
    """Return whether totals were given; raise if only some of the arguments were."""
    if X_unlabeled is None and any(each is not None for each in (totals, *about)):
        raise InputError(
            "totals, unlabeled_groups or unlabeled_weight were given without X_unlabeled, the rows "
            "they are about; give X_unlabeled, too, or none of them"
        )
    if X_unlabeled is not None and totals is None:
        raise InputError(
            "X_unlabeled was given without totals, how many of its rows are of each class; give "
            "both or neither"
        )
    return totals is not None
