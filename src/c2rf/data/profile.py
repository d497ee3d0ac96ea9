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
from typing import Any, Literal

import numpy as np
import pandas as pd

from c2rf._utils.text import all_of, for_user, listed, nearest
from c2rf._utils.types import LARGEST, Texts
from c2rf.data.cells import as_numbers, as_text, dates_in, is_missing_number
from c2rf.data.numerals import text_option
from c2rf.exceptions import InputError

FEW_LEVELS = 20
"""Text with at most this number of different values becomes a column of 0 and 1 for each value."""

Kind = Literal["numbers", "dates", "one-hot", "ordinal"]
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+(,\d+)+\s*")


@dataclass(eq=False)
class ValueCounts:
    """Counts of the cells of a column, which can be merged.

    ``given`` cells are not empty; ``odd`` ones are given and not numbers; ``unseen`` ones hold a
    text that no labeled row has; ``dates`` are dates. ``signs`` stand for a missing value if the
    others are numbers or dates. ``few`` are the different texts as long as there are few of them.
    """

    missing: int = 0
    given: int = 0
    odd: int = 0
    first_odd: str = ""
    first_place: str = ""
    only_commas: bool = True
    largest: float = 0.0
    few: set[str] = field(default_factory=set)
    unseen: int = 0
    dates: int = 0
    signs: Counter[str] = field(default_factory=Counter)

    @property
    def n_values(self) -> int:
        """The number of cells that are given and no signs."""
        return self.given - self.signs.total()

    @classmethod
    def of(cls, numbers: pd.Series[float], texts: pd.Series[Any] | None, place: str) -> ValueCounts:
        """Count cells, given as numbers and as text; no text is needed if their type is a number.

        ``{row}`` in their place becomes the row of the first odd cell.
        """
        known = (numbers if texts is None else texts).notna()
        given = int(known.sum())
        counts = cls(len(numbers) - given, given, largest=_largest(numbers))
        if texts is None:
            return counts
        counts.few = set(texts[known].unique()[: FEW_LEVELS + 1])
        rows = np.flatnonzero(numbers.isna() & known)
        signs = is_missing_number(texts.iloc[rows]).to_numpy()
        counts.signs = Counter(texts.iloc[rows[signs]])
        rows = rows[~signs]
        if not len(rows):
            counts.dates = counts.n_values * (dates_in(texts) is not None)
            return counts
        found = texts.iloc[rows]
        counts.odd, counts.first_odd = len(found), found.iloc[0]
        counts.first_place = place.replace("{row}", str(rows[0] + 1))
        counts.only_commas = all(map(_DECIMAL_COMMA.fullmatch, found))
        return counts

    def merge(self, other: ValueCounts) -> ValueCounts:
        """Return the counts of both, these cells first."""
        first = self if self.odd else other
        return ValueCounts(
            self.missing + other.missing,
            self.given + other.given,
            self.odd + other.odd,
            first.first_odd,
            first.first_place,
            self.only_commas and other.only_commas,
            max(self.largest, other.largest),
            self.few | other.few,
            self.unseen + other.unseen,
            self.dates + other.dates,
            self.signs + other.signs,
        )


class ColumnProfile:
    """What is known of a column: its cells in the labeled rows, and in the unlabeled ones.

    Parameters
    ----------
    labeled : Series
        The cells of the labeled rows.
    is_text : bool
        Whether the user wants it to be taken as text.
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
        self.name, self.is_text, self.signs = str(labeled.name), is_text, signs
        numbers, texts = as_numbers(labeled, signs), as_text(labeled, signs)
        self.labeled = ValueCounts.of(numbers, texts, "data row {row} of the labeled file")
        self.unlabeled = ValueCounts()
        self.texts = set(texts.dropna())
        self._n_numbers = len(set(numbers.dropna()))

    @property
    def kind(self) -> Kind:
        """What it is used as: numbers, dates, or text of few values (one-hot) or of many."""
        both = self.labeled.merge(self.unlabeled)
        if self.is_text or both.odd or (both.signs and not both.n_values):
            return "one-hot" if len(self.texts) <= FEW_LEVELS else "ordinal"
        return "dates" if both.dates else "numbers"

    @property
    def levels(self) -> int:
        """The number of its different values among the labeled."""
        return self._n_numbers if self.kind in ("numbers", "dates") else len(self.texts)

    @property
    def missing(self) -> tuple[int, int]:
        """The numbers of its empty cells, labeled and unlabeled."""
        are_numbers = self.kind in ("numbers", "dates")
        one, other = (
            side.missing + are_numbers * side.signs.total()
            for side in (self.labeled, self.unlabeled)
        )
        return one, other

    @property
    def signs_found(self) -> Counter[str]:
        """The signs for a missing value among its numbers or dates, and how often they occur."""
        are_numbers = self.kind in ("numbers", "dates")
        return self.labeled.signs + self.unlabeled.signs if are_numbers else Counter()

    @property
    def unseen(self) -> int:
        """The number of unlabeled rows whose text no labeled row has."""
        return 0 if self.kind in ("numbers", "dates") else self.unlabeled.unseen

    def count(
        self, cells: pd.Series[Any], place: str = "data row {row} of the unlabeled file"
    ) -> ValueCounts:
        """Return the counts of some unlabeled cells."""
        numbers = as_numbers(cells, self.signs)
        if not self.is_text and not self.labeled.odd and are_numbers(cells.dtype):
            return ValueCounts.of(numbers, None, place)
        texts = as_text(cells, self.signs)
        counts = ValueCounts.of(numbers, texts, place)
        counts.unseen = int((texts.notna() & ~texts.isin(self.texts)).sum())
        return counts

    def with_unlabeled(self, counts: ValueCounts) -> ColumnProfile:
        """Return the profile with counts of all unlabeled cells, or refuse the column."""
        profile = copy(self)
        profile.unlabeled = counts
        if profile.kind in ("numbers", "dates"):
            profile._refuse_some_dates()
            for side in (profile.labeled, profile.unlabeled):
                _check_largest(self.name, side.largest)
        elif not self.is_text:
            profile._refuse_odd_numbers()
        return profile

    def _refuse_some_dates(self) -> None:
        """Refuse dates among other numbers: days are not years."""
        both = (self.labeled, self.unlabeled)
        if 0 < sum(cells.dates for cells in both) < sum(cells.n_values for cells in both):
            raise InputError(
                f"column {self.name!r} holds dates in some rows and numbers in others; write them "
                f"alike, or take the whole column as text with {text_option(self.name)}"
            )

    def _refuse_odd_numbers(self) -> None:
        """Refuse a column of numbers with a few cells that are none: it is not meant as text."""
        both = (self.labeled, self.unlabeled)
        if len(both[0].few | both[1].few) <= FEW_LEVELS:
            return
        odd = both[0] if both[0].odd else both[1]
        instead = f"or take the whole column as text with {text_option(self.name)}"
        if all(cells.only_commas for cells in both):
            raise InputError(
                f"numbers must have a decimal point and no other sign; found {odd.first_odd!r} in "
                f"column {self.name!r}. Write 1.5 and 1234, {instead}"
            )
        n_odd = both[0].odd + both[1].odd
        if 2 * n_odd < both[0].n_values + both[1].n_values:
            raise InputError(
                f"column {self.name!r} holds numbers, but {odd.first_odd!r} in {odd.first_place} "
                f"({n_odd} such cells in all). Correct or empty them, {instead}"
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


def check_size(name: str, numbers: pd.Series[float]) -> None:
    """Refuse numbers that are too large for a tree."""
    _check_largest(name, _largest(numbers))


def _check_largest(name: str, largest: float) -> None:
    if np.isinf(largest):
        raise InputError(f"numbers must be finite; found an infinite one in column {name!r}")
    if largest > LARGEST:
        raise InputError(
            f"numbers must be at most {LARGEST:.3g} in size; found {largest:.3g} in column {name!r}"
        )


def _largest(numbers: pd.Series[float]) -> float:
    return float(np.fmax.reduce(np.abs(numbers.to_numpy()), initial=0.0))


def of_kind(columns: Sequence[ColumnProfile], kind: Kind) -> list[str]:
    """Return the names of the columns of a kind."""
    return [column.name for column in columns if column.kind == kind]


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
    texts = as_text(labeled, signs)
    given = texts.dropna()
    if not len(given):
        return "is empty in all labeled rows"
    n_values = given.nunique()
    if n_values == 1 and len(given) == len(texts):
        return "is the same in all labeled rows"
    if n_values <= FEW_LEVELS or n_values < NEARLY_ALL * len(given):
        return None
    both = pd.concat([given, as_text(unlabeled, signs).dropna()])
    if both.nunique() < NEARLY_ALL * len(both):
        return None
    numbers = as_numbers(labeled, signs)
    n_odd = len(given) - int(numbers.notna().sum())
    n_dates = sum(map(bool, map(_DATE.fullmatch, given)))
    if 2 * n_dates > len(given) or 0 < 2 * n_odd < len(given):
        return None  # a few odd cells among numbers are refused, or missing
    if n_odd:
        return "differs in nearly every row"
    if _are_ids(str(labeled.name), numbers.dropna(), as_numbers(unlabeled, signs).dropna()):
        return "numbers the rows"
    return None


def _are_ids(name: str, labeled: pd.Series[float], unlabeled: pd.Series[float]) -> bool:
    """Whether whole numbers, all different, name the rows: by their name or by their order."""
    both = np.concatenate([labeled, unlabeled])
    if len(np.unique(both)) < len(both) or (both != np.floor(both)).any():
        return False
    in_order = bool((np.diff(labeled) > 0).all() and (np.diff(unlabeled) > 0).all())
    return in_order or _ID.fullmatch(name) is not None


def look_like_codes(labeled: pd.Series[Any]) -> bool:
    """Whether numbers are likely names of something, like postal codes.

    Examples
    --------
    >>> look_like_codes(pd.Series(["01067", "70173", "80331"], name="town"))
    True
    >>> look_like_codes(pd.Series(["41", "14"], name="age"))
    False
    """
    texts = as_text(labeled).dropna()
    if not len(texts) or not texts.str.fullmatch(r"\d+").all():
        return False
    widths = texts.str.len()
    same_width = bool(widths.nunique() == 1 and widths.iloc[0] >= 4)
    has_zero = bool((texts.str.startswith("0") & (widths > 1)).any())
    many = texts.nunique() > FEW_LEVELS
    named = _CODE.fullmatch(str(labeled.name)) is not None and bool((widths >= 2).all())
    return has_zero or named or (same_width and many and bool(widths.iloc[0] >= 5))


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
    only_in = {
        "labeled": [name for name in names if name not in others],
        "unlabeled": [name for name in others if name not in names],
    }
    differ = [f"only in the {there} one: {all_of(only)}" for there, only in only_in.items() if only]
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
