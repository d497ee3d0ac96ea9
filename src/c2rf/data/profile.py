"""What the columns of a table hold, which are learned from, and which are left out.

Columns of the labeled rows are in memory, those of the unlabeled rows are counted a chunk at a
time, wherever they are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal
from unicodedata import normalize

import numpy as np
import pandas as pd

from c2rf._utils.text import all_of, for_user, listed, nearest, option_name
from c2rf._utils.types import LARGEST, Floats, Texts
from c2rf.data.cells import (
    Cells,
    Distinct,
    are_whole,
    as_numbers,
    as_text,
    distinct,
    is_date,
    ordered_values,
    read_cells,
)
from c2rf.data.numerals import text_option
from c2rf.exceptions import InputError

FEW_LEVELS = 20
"""Text with at most this number of different values becomes a column of 0 and 1 for each value."""

Kind = Literal["numbers", "dates", "one-hot", "ordinal", "target"]
"""What a column is used as; "ordinal" are ordered categories, "target" is text of many values."""
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+(,\d+)+\s*")
_PADDED = r"0\d+"


@dataclass(eq=False)
class ValueCounts:
    """Counts of the cells of a column, which can be merged.

    ``given`` cells are not empty; ``odd`` ones are given and neither numbers nor dates, and
    ``first_odd`` says what the first of them is and where; ``dates`` are dates; ``whole`` ones are
    texts that are whole numbers without a sign; ``signs`` stand for a missing value if the others
    are numbers or dates. ``few`` are the different texts as long as there are few of them, else
    some. ``by_value`` counts each value that labeled rows have, and at its end all others; it is 0
    where values were not counted.
    """

    missing: int = 0
    given: int = 0
    odd: int = 0
    dates: int = 0
    whole: int = 0
    signs: Counter[str] = field(default_factory=Counter)
    by_value: Any = 0
    first_odd: str = ""
    only_commas: bool = True
    largest: float = 0.0
    few: set[str] = field(default_factory=set)

    @property
    def n_values(self) -> int:
        """The number of cells that are given and no signs."""
        return self.given - self.signs.total()

    @classmethod
    def of(cls, column: pd.Series[Any], cells: Cells, place: str) -> ValueCounts:
        """Count the cells of a column; ``{row}`` in the place becomes the row of the first odd."""
        numbers, texts = cells.numbers, cells.texts
        if texts is None:
            given = int((~np.isnan(numbers)).sum()) + sum(cells.signs.values())
        else:
            given = int((texts.codes >= 0).sum())
        counts = cls(len(numbers) - given, given, signs=Counter(cells.signs))
        counts.largest = float(np.fmax.reduce(np.abs(numbers), initial=0.0))
        counts.dates = int((~np.isnan(numbers)).sum()) * cells.are_dates
        if are_numbers(column.dtype) or is_date(column.dtype):
            return counts
        counts.whole = int((np.floor(np.abs(numbers)) == numbers).sum())
        counts.few = (
            _few_texts(column, numbers) if texts is None else set(texts.values[: FEW_LEVELS + 1])
        )
        odd = cells.odd
        if texts is not None and len(odd):
            counts.odd, first = len(odd), texts.values[texts.codes[odd[0]]]
            counts.first_odd = f"{first!r} in {place.replace('{row}', str(odd[0] + 1))}"
            found = texts.values[np.flatnonzero(np.bincount(texts.codes[odd]))]
            counts.only_commas = all(map(_DECIMAL_COMMA.fullmatch, found))
        return counts

    def merge(self, other: ValueCounts) -> ValueCounts:
        """Return the counts of both, these cells first."""
        first = self if self.odd else other
        sums = {name: getattr(self, name) + getattr(other, name) for name in _SUMS}
        return ValueCounts(
            **sums,
            first_odd=first.first_odd,
            only_commas=self.only_commas and other.only_commas,
            largest=max(self.largest, other.largest),
            few=self.few | other.few,
        )


_FIRST = 256
_SUMS = ("missing", "given", "odd", "dates", "whole", "signs", "by_value")


def _few_texts(column: pd.Series[Any], numbers: Floats) -> set[str]:
    """Return the different texts of a column of numbers, or some texts if they are many."""
    first = np.unique(numbers[:_FIRST])
    if len(first) > FEW_LEVELS + 1:  # one may be NaN
        return set(map(str, first))
    return set(distinct(column).values[: FEW_LEVELS + 1])


class ColumnProfile:
    """What is known of a column: its cells in the labeled rows, and in the unlabeled ones.

    Parameters
    ----------
    labeled : Series
        The cells of the labeled rows.
    is_text : bool
        Whether the user wants it to be taken as text. A column of categories is.
    signs : sequence of str
        Further signs for missing values.

    Examples
    --------
    >>> profile = ColumnProfile(pd.Series(["Ulm", "Bonn"], name="town"))
    >>> counts = [profile.count(pd.Series(cells)) for cells in (["Ulm", ""], ["Aalen"])]
    >>> profile = profile.with_unlabeled(counts[0].merge(counts[1]))
    >>> profile.kind, profile.levels, profile.missing, profile.unseen
    ('one-hot', 2, (0, 1), 1)
    """

    def __init__(
        self, labeled: pd.Series[Any], is_text: bool = False, signs: Sequence[str] = ()
    ) -> None:
        self.name, self.cells, self.signs = str(labeled.name), labeled, signs
        self.order = None if is_text else ordered_values(labeled)
        self.is_text = is_text or isinstance(labeled.dtype, pd.CategoricalDtype)
        place = "data row {row} of the labeled file"
        self.labeled = ValueCounts.of(labeled, read_cells(labeled, signs), place)
        self.unlabeled = ValueCounts()
        texts = labeled if self.labeled.whole else labeled[:0]
        self.has_padded = bool(texts.astype("str").str.fullmatch(_PADDED).any())

    @property
    def kind(self) -> Kind:
        """What it is used as."""
        if self.order is not None:
            return "ordinal"
        n_odd, n_dates, n_values, n_signs = np.sum(
            [[c.odd, c.dates, c.n_values, c.signs.total()] for c in self._both], axis=0
        )
        if self.is_text or n_odd or (n_signs and not n_values) or self.is_code:
            return "one-hot" if len(self.texts.values) <= FEW_LEVELS else "target"
        return "dates" if n_dates else "numbers"

    @property
    def _both(self) -> tuple[ValueCounts, ValueCounts]:
        return self.labeled, self.unlabeled

    @property
    def is_code(self) -> bool:
        """Whether all cells are digits, some labeled ones with a leading zero, like 01067."""
        are_whole = all(cells.whole == cells.n_values for cells in self._both)
        return self.has_padded and are_whole

    @cached_property
    def texts(self) -> Distinct:
        """The different texts of the labeled rows, in order, and which each row has."""
        found = distinct(self.cells, self.signs)
        values = np.sort(found.values) if self.order is None else self.order
        places = found.places(values)
        return Distinct(values, np.where(places < len(values), places, -1))

    @property
    def levels(self) -> int:
        """The number of its different values among the labeled."""
        if self.kind in ("numbers", "dates"):
            return len(np.unique(as_numbers(self.cells, self.signs).dropna()))
        return len(self.texts.values)

    @property
    def missing(self) -> tuple[int, int]:
        """The numbers of its empty cells, labeled and unlabeled."""
        are_numbers = self.kind in ("numbers", "dates")
        one, other = (side.missing + are_numbers * side.signs.total() for side in self._both)
        return one, other

    @property
    def signs_found(self) -> Counter[str]:
        """The signs for a missing value among its numbers or dates, and how often they occur."""
        are_numbers = self.kind in ("numbers", "dates")
        return self.labeled.signs + self.unlabeled.signs if are_numbers else Counter()

    @property
    def unseen(self) -> int:
        """The number of unlabeled rows whose text no labeled row has."""
        if self.kind in ("numbers", "dates") or not np.ndim(self.unlabeled.by_value):
            return 0
        return int(self.unlabeled.by_value[-1])

    def count(
        self, column: pd.Series[Any], place: str = "data row {row} of the unlabeled file"
    ) -> ValueCounts:
        """Return the counts of some unlabeled cells."""
        need_texts = bool(self.is_text or self.labeled.odd or self.has_padded)
        cells = read_cells(column, self.signs, need_texts)
        counts = ValueCounts.of(column, cells, place)
        if cells.texts is not None and (need_texts or counts.odd):
            places = cells.texts.places(self.texts.values)
            counts.by_value = np.bincount(places, minlength=len(self.texts.values) + 2)[:-1]
        return counts

    def with_unlabeled(self, counts: ValueCounts) -> ColumnProfile:
        """Return the profile with counts of all unlabeled cells, or refuse the column."""
        profile = copy(self)
        profile.unlabeled = counts
        if profile.kind in ("numbers", "dates"):
            profile._refuse_some_dates()
            check_size(self.name, np.array([side.largest for side in profile._both]))
        elif not self.is_text and self.labeled.odd + counts.odd:
            profile._refuse_odd_cells()
        return profile

    def _refuse_some_dates(self) -> None:
        """Refuse dates among other numbers: days are not years."""
        if 0 < sum(c.dates for c in self._both) < sum(c.n_values for c in self._both):
            raise InputError(
                f"column {self.name!r} holds dates in some rows and numbers in others; write them "
                f"alike, or take the whole column as text with {text_option(self.name)}"
            )

    def _refuse_odd_cells(self) -> None:
        """Refuse numbers, or dates, with a few cells that are none: they are not meant as text."""
        both = self.labeled.merge(self.unlabeled)
        if len(both.few) <= FEW_LEVELS:
            return
        instead = f"or take the whole column as text with {text_option(self.name)}"
        if both.only_commas:
            raise InputError(
                f"numbers must have a decimal point and no other sign; found {both.first_odd}, in "
                f"column {self.name!r}. Write 1.5 and 1234, {instead}"
            )
        if 2 * both.odd < both.n_values:
            what = "dates" if both.dates else "numbers"
            raise InputError(
                f"column {self.name!r} holds {what}, but {both.first_odd} ({both.odd} such cells "
                f"in all). If they stand for missing values, name them with "
                f"{option_name('missing')}. Correct or empty them, {instead}"
            )


def are_numbers(kind: Any) -> bool:
    """Whether all cells of a column of this type are numbers or empty."""
    return bool(pd.api.types.is_numeric_dtype(kind))


def check_single_values(column: pd.Series[Any]) -> None:
    """Refuse a column whose cells are not single values, or of a type that is not known.

    Examples
    --------
    >>> check_single_values(pd.Series([[1, 2], [3]], name="visits"))
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputError: columns must hold numbers, text, dates or true and false; found \
values of type list in column 'visits': remove it, or make columns of what it holds
    """
    found = None
    if pd.api.types.is_complex_dtype(column.dtype):
        found = "complex"
    elif column.dtype == object:
        odd = (value for value in column if not _is_single(value))
        found = next((type(value).__name__ for value in odd), None)
    if found is not None:
        raise InputError(
            "columns must hold numbers, text, dates or true and false; found values of type "
            f"{found} in column {str(column.name)!r}: remove it, or make columns of what it holds"
        )


def _is_single(value: Any) -> bool:
    return pd.api.types.is_scalar(value) and not isinstance(value, (bytes, complex))


def check_size(name: str, numbers: Floats) -> None:
    """Refuse numbers that are too large for a tree."""
    largest = np.fmax.reduce(np.abs(numbers), initial=0.0)
    if np.isinf(largest):
        raise InputError(f"numbers must be finite; found an infinite one in column {name!r}")
    if largest > LARGEST:
        raise InputError(
            f"numbers must be at most {LARGEST:.3g} in size; found {largest:.3g} in column {name!r}"
        )


NEARLY_ALL = 0.9
"""A column of text in which this share of the rows differs names the rows."""

_DATE = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}.*")
_ID = re.compile(r"(?:.*[\W_])?(?:id|ids|nr|no|key|index|number|nummer|uuid)", re.IGNORECASE)
_CODE = re.compile(
    r".*(?:plz|postleitzahl|zip|postal|post_?code|nuts|fips|ags|gemeindekennziffer|icd|isco|nace|code)"
    r".*",
    re.IGNORECASE,
)


def why_left_out(
    labeled: pd.Series[Any], unlabeled: pd.Series[Any], signs: Sequence[str] = ()
) -> str | None:
    """Say why nothing can be learned from a column, None if something can.

    Parameters
    ----------
    labeled, unlabeled : Series
        Its cells; of the unlabeled rows some are enough.
    signs : sequence of str
        Further signs for missing values.

    Examples
    --------
    >>> cells = pd.Series([f"P{k}" for k in range(50)], name="person")
    >>> why_left_out(cells, cells + "x")
    'differs in nearly every row'
    >>> why_left_out(pd.Series(["DE"] * 50), pd.Series(["DE"]))
    'is the same in all labeled rows'
    """
    cells = read_cells(labeled, signs)
    numbers = cells.numbers[~np.isnan(cells.numbers)]
    texts = cells.texts
    n_given = len(numbers) if texts is None else int((texts.codes >= 0).sum())
    if not n_given:
        return "is empty in all labeled rows"
    n_values = len(np.unique(numbers) if texts is None else texts.values)
    if n_values == 1 and n_given == len(labeled):
        return "is the same in all labeled rows"
    if n_values <= FEW_LEVELS or n_values < NEARLY_ALL * n_given or cells.are_dates:
        return None
    n_odd = n_given - len(numbers)
    if n_odd == 0:
        if not are_whole(numbers):
            return None
        others = read_cells(unlabeled, signs).numbers
        are_ids = _are_ids(str(labeled.name), numbers, others[~np.isnan(others)])
        return "numbers the rows" if are_ids else None
    assert texts is not None
    n_dates = sum(map(bool, map(_DATE.fullmatch, texts.values[texts.codes[texts.codes >= 0]])))
    if 2 * n_dates > n_given or 2 * n_odd < n_given:
        return None  # a few odd cells among numbers are refused, or missing
    found = distinct(unlabeled, signs)
    n_values = len(np.union1d(texts.values, found.values))
    n_given += int((found.codes >= 0).sum())
    return None if n_values < NEARLY_ALL * n_given else "differs in nearly every row"


def _are_ids(name: str, labeled: Floats, unlabeled: Floats) -> bool:
    """Whether whole numbers, all different, name the rows: by their name or by their order."""
    both = np.concatenate([labeled, unlabeled])
    if len(np.unique(both)) < len(both) or (both != np.floor(both)).any():
        return False
    in_order = bool((np.diff(labeled) > 0).all() and (np.diff(unlabeled) > 0).all())
    return in_order or _ID.fullmatch(name) is not None


def look_like_codes(labeled: pd.Series[Any]) -> bool:
    """Whether numbers are likely names of something, like postal codes.

    Those with leading zeros are text already.

    Examples
    --------
    >>> look_like_codes(pd.Series(["70173", "80331"], name="zip"))
    True
    >>> look_like_codes(pd.Series(["41", "14"], name="age"))
    False
    """
    numbers = read_cells(labeled).numbers
    if not are_whole(numbers):
        return False
    texts = distinct(labeled).values
    if not len(texts) or not all(map(str.isdecimal, texts)):
        return False
    widths = set(map(len, texts))
    named = _CODE.fullmatch(str(labeled.name)) is not None and min(widths) >= 2
    return named or (len(widths) == 1 and min(widths) >= 5 and len(texts) > FEW_LEVELS)


def check_column(option: str, name: str | None, columns: Sequence[str]) -> None:
    """Refuse the name of a column that is not there.

    Examples
    --------
    >>> check_column("--id", "nmae", ["name", "age"])
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputError: --id: there is no column 'nmae'; the columns are 'name', 'age'; \
did you mean 'name'?
    """
    if name is not None and name not in columns:
        raise InputError(
            f"{option}: there is no column {name!r}; the columns are {all_of(columns)}"
            f"{nearest(name, columns)}"
        )


def feature_names(
    labeled: pd.DataFrame,
    unlabeled: pd.DataFrame,
    target: str,
    dropped: Sequence[str],
    groups: Sequence[str] = (),
) -> list[str]:
    """Return the columns to learn from, or say how the two tables differ.

    Groups need not be known of the labeled rows; where they are, they are learned from.

    Examples
    --------
    >>> people = pd.DataFrame(columns=["id", "age", "sick"])
    >>> feature_names(people, people[["age", "id"]], "sick", ["id"])
    ['age']
    """
    for name in dropped:
        if name not in labeled and name not in unlabeled:
            raise InputError(
                f"the column to drop, {name!r}, is in neither table; the columns are "
                f"{all_of(list(labeled))}{nearest(name, list(labeled))}"
            )
    left_out = {target, *dropped, *(group for group in groups if group not in labeled)}
    names = [str(name) for name in labeled if name not in left_out]
    others = [str(name) for name in unlabeled if name not in left_out]
    here, there = set(names), set(others)
    only_in = {
        "labeled": [name for name in names if name not in there],
        "unlabeled": [name for name in others if name not in here],
    }
    differ = [f"only in the {which} one: {all_of(only)}" for which, only in only_in.items() if only]
    if differ:
        raise InputError(
            f"both tables must have the same columns besides the target {target!r}; "
            f"{'; '.join(differ)}. Remove them, or name them with {for_user('drop', '--drop')}"
        )
    if not names:
        raise InputError("there is no column to learn from besides the target")
    return names


def target_values(labeled: pd.DataFrame, target: str) -> Texts:
    """Return the classes of the labeled rows as text, all known and at least two of them.

    Examples
    --------
    >>> target_values(pd.DataFrame({"sick": ["yes", "yes"]}), "sick")
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputError: the target 'sick' must have two values or more; found only 'yes'
    """
    if target not in labeled:
        raise InputError(
            f"there is no column {target!r} in the labeled table; found {all_of(list(labeled))}"
            f"{nearest(target, list(labeled))}"
        )
    values = as_text(labeled[target])
    n_missing = int(values.isna().sum())
    if n_missing:
        raise InputError(
            f"the target {target!r} must be known for all labeled rows; it is missing in "
            f"{n_missing}: remove these rows"
        )
    found = sorted(set(values))
    plain: dict[str, str] = {}
    for name in found:
        other = plain.setdefault(normalize("NFC", name.strip()), name)
        if other != name:
            raise InputError(
                f"the target {target!r} has the classes {other!r} ({(values == other).sum()} rows) "
                f"and {name!r} ({(values == name).sum()}), which differ in blanks around them or "
                "in the form of their characters only; write them in the same way"
            )
    if len(found) == 1:
        raise InputError(
            f"the target {target!r} must have two values or more; found only {found[0]!r}"
        )
    if len(found) > max(FEW_LEVELS, len(values) // 2):
        raise InputError(
            f"the target {target!r} must be a class; found {len(found)} different values in "
            f"{len(values)} rows, like {listed(found, 3)}: a number or an id is not a class"
        )
    return values.to_numpy()
