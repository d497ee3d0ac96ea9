"""From columns of a table to numbers a classifier can learn from, and what was done on the way.

The encoder is scikit-learn's ``ColumnTransformer``: it knows which columns are numbers and which
are text, so that a saved one can be asked to encode any other file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from c2rf.exceptions import InputError
from c2rf.members import listed
from c2rf.tables import as_numbers, as_text

FEW_LEVELS = 20
"""Text with at most so many different values gets a column of 0 and 1 for each."""

Kind = Literal["numbers", "one-hot", "ordinal"]
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+(,\d+)+\s*")
_LARGEST = float(np.finfo(np.float32).max)  # trees compare single-precision numbers


@dataclass(frozen=True)
class Column:
    """A column that is learned from, and what there is to know about it.

    ``levels`` counts its different values among the labeled; ``missing`` its empty cells, labeled
    and unlabeled; ``unseen`` the unlabeled rows whose text no labeled row has.
    """

    name: str
    kind: Kind
    levels: int
    missing: tuple[int, int]
    unseen: int


@dataclass(frozen=True, eq=False)
class Features:
    """Both tables as numbers, how they became that, and the encoder that does it again."""

    labeled: NDArray[np.float64]
    unlabeled: NDArray[np.float64]
    columns: Sequence[Column]
    encoder: Any


def make_features(
    labeled: pd.DataFrame,
    unlabeled: pd.DataFrame,
    names: Sequence[str],
    text: Collection[str] = (),
) -> Features:
    """Turn columns into numbers; those that hold anything else are taken as text.

    Missing numbers stay missing. Text of few levels becomes a column of 0 and 1 per level, other
    text the place of the level in alphabetical order. A level that no labeled row has is 0 in all
    of these columns, or missing.

    Examples
    --------
    >>> labeled = pd.DataFrame({"age": ["41", ""], "town": ["Ulm", "Bonn"]})
    >>> unlabeled = pd.DataFrame({"age": ["3e1"], "town": ["Aalen"]})
    >>> features = make_features(labeled, unlabeled, ["age", "town"])
    >>> features.labeled.tolist(), features.unlabeled.tolist()
    ([[41.0, 0.0, 1.0], [nan, 1.0, 0.0]], [[30.0, 0.0, 0.0]])
    >>> features.columns[1]
    Column(name='town', kind='one-hot', levels=2, missing=(0, 0), unseen=1)
    """
    columns = [_look_at(labeled[name], unlabeled[name], name in text) for name in names]

    def of(kind: Kind) -> list[str]:
        return [column.name for column in columns if column.kind == kind]

    encoder = ColumnTransformer(
        [
            ("numbers", "passthrough", of("numbers")),
            ("one-hot", OneHotEncoder(handle_unknown="ignore"), of("one-hot")),
            (
                "ordinal",
                OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan),
                of("ordinal"),
            ),
        ],
        sparse_threshold=0,
    )
    encoder.fit(_typed(labeled, of("numbers"), of("one-hot") + of("ordinal")))
    return Features(encode(encoder, labeled), encode(encoder, unlabeled), columns, encoder)


def encode(encoder: Any, table: pd.DataFrame) -> NDArray[np.float64]:
    """Turn a table into numbers as the encoder learned it; it may have other columns too."""
    columns = {name: list(chosen) for name, _, chosen in encoder.transformers_}
    numbers, text = columns["numbers"], columns["one-hot"] + columns["ordinal"]
    missing = [name for name in numbers + text if name not in table]
    if missing:
        raise InputError(
            f"the columns the model learned from must be there; missing: {listed(missing)}, "
            f"found: {listed(list(table))}"
        )
    return np.asarray(encoder.transform(_typed(table, numbers, text)), dtype=float)


def feature_names(
    labeled: pd.DataFrame,
    unlabeled: pd.DataFrame,
    target: str,
    dropped: Sequence[str],
    group: str | None = None,
) -> list[str]:
    """Return the columns to learn from, or say how the two tables differ.

    A group need not be known of the labeled; where it is, it is learned from.

    Examples
    --------
    >>> people = pd.DataFrame(columns=["id", "age", "sick"])
    >>> feature_names(people, people[["age", "id"]], "sick", ["id"])
    ['age']
    """
    for name in dropped:
        if name not in labeled and name not in unlabeled:
            raise InputError(f"the column to drop, {name!r}, is in neither file")
    left_out = {target, *dropped, *([group] if group and group not in labeled else [])}
    names = [str(name) for name in labeled if name not in left_out]
    others = [str(name) for name in unlabeled if name not in left_out]
    only_in = {
        "labeled": [name for name in names if name not in others],
        "unlabeled": [name for name in others if name not in names],
    }
    differ = [f"only in the {there} one: {listed(only)}" for there, only in only_in.items() if only]
    if differ:
        raise InputError(
            f"both files must have the same columns besides the target {target!r}; "
            f"{'; '.join(differ)}. Remove them or name them with --drop"
        )
    if not names:
        raise InputError("there is no column to learn from besides the target")
    return names


def target_values(labeled: pd.DataFrame, target: str) -> NDArray[np.object_]:
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
            f"there is no column {target!r} in the labeled file; found {listed(list(labeled))}"
        )
    values = as_text(labeled[target])
    n_missing = int(values.isna().sum())
    if n_missing:
        raise InputError(
            f"the target {target!r} must be known for all labeled individuals; it is missing for "
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


def _look_at(labeled: pd.Series[Any], unlabeled: pd.Series[Any], is_text: bool) -> Column:
    """Find out what a column holds."""
    name = str(labeled.name)
    texts = [as_text(labeled), as_text(unlabeled)]
    missing = (int(texts[0].isna().sum()), int(texts[1].isna().sum()))
    numbers = [as_numbers(labeled), as_numbers(unlabeled)]
    not_numbers = [n.isna() & t.notna() for n, t in zip(numbers, texts, strict=True)]
    levels = set(texts[0].dropna())
    if not is_text and not any(part.any() for part in not_numbers):
        _check_size(name, numbers)
        return Column(name, "numbers", len(set(numbers[0].dropna())), missing, 0)
    if not is_text:
        _refuse_odd_numbers(name, texts, not_numbers)
    unseen = int((texts[1].notna() & ~texts[1].isin(levels)).sum())
    kind: Kind = "one-hot" if len(levels) <= FEW_LEVELS else "ordinal"
    return Column(name, kind, len(levels), missing, unseen)


def _refuse_odd_numbers(
    name: str, texts: Sequence[pd.Series[Any]], not_numbers: Sequence[pd.Series[bool]]
) -> None:
    """Refuse a column of numbers with a few cells that are none: it is not meant as text."""
    given = pd.concat([text.dropna() for text in texts])
    odd = pd.concat([text[part] for text, part in zip(texts, not_numbers, strict=True)])
    instead = f"or take the whole column as text with --text {name}"
    if given.nunique() <= FEW_LEVELS:
        return
    if all(map(_DECIMAL_COMMA.fullmatch, odd)):
        raise InputError(
            f"numbers must have a decimal point and no other sign; found {odd.iloc[0]!r} in "
            f"column {name!r}. Write 1.5 and 1234, {instead}"
        )
    if 2 * len(odd) < len(given):
        which = int(not_numbers[1].any() and not not_numbers[0].any())
        row = int(np.flatnonzero(not_numbers[which])[0])
        raise InputError(
            f"column {name!r} holds numbers, but {odd.iloc[0]!r} in data row {row + 1} of the "
            f"{('labeled', 'unlabeled')[which]} file ({len(odd)} such cells in all). Correct or "
            f"empty them, {instead}"
        )


def _check_size(name: str, numbers: Sequence[pd.Series[float]]) -> None:
    """Refuse numbers that are too large for a tree."""
    for part in numbers:
        if np.isinf(part).any():
            raise InputError(f"numbers must be finite; found an infinite one in column {name!r}")
        if (part.abs() > _LARGEST).any():
            raise InputError(
                f"numbers must be at most {_LARGEST:.3g} in size; found {part.abs().max():.3g} in "
                f"column {name!r}"
            )


def _typed(table: pd.DataFrame, numbers: Sequence[str], text: Sequence[str]) -> pd.DataFrame:
    """Return columns of floats and of text, NaN where there is no value."""
    columns: dict[str, Any] = {}
    for name in numbers:
        columns[name] = as_numbers(table[name])
        _check_size(name, [columns[name]])
        if pd.api.types.is_numeric_dtype(table[name].dtype):
            continue  # looking at every cell as text takes its time
        cells = as_text(table[name])
        odd = np.flatnonzero(columns[name].isna() & cells.notna())
        if len(odd):
            raise InputError(
                f"column {name!r} must hold numbers; found {cells.iloc[odd[0]]!r} in data row "
                f"{odd[0] + 1}"
            )
    for name in text:
        cells = as_text(table[name])
        columns[name] = cells.where(cells.notna(), np.nan)
    return pd.DataFrame(columns, index=table.index)
