"""From tables of text to numbers a tree can split on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.preprocessing import OrdinalEncoder

from c2rf.exceptions import InputError
from c2rf.members import listed

MISSING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null")
"""Cells that say there is no value."""


@dataclass(frozen=True, eq=False)
class Features:
    """The features of both tables, in the same order.

    ``categories`` names the columns that are not numbers, each with its number of categories.
    """

    labeled: pd.DataFrame
    unlabeled: pd.DataFrame
    categories: dict[str, int]


def make_features(labeled: pd.DataFrame, unlabeled: pd.DataFrame, names: Sequence[str]) -> Features:
    """Turn columns of text into numbers; those that are not numbers are taken as categories.

    Categories are numbered in alphabetical order over both tables; missing values stay missing.

    Examples
    --------
    >>> labeled = pd.DataFrame({"age": ["41", ""], "town": ["Ulm", "Bonn"]})
    >>> unlabeled = pd.DataFrame({"age": ["3e1"], "town": ["Aalen"]})
    >>> features = make_features(labeled, unlabeled, ["age", "town"])
    >>> features.labeled.to_numpy().tolist(), features.unlabeled.to_numpy().tolist()
    ([[41.0, 2.0], [nan, 1.0]], [[30.0, 0.0]])
    >>> features.categories
    {'town': 3}
    """
    cells = pd.concat([labeled[list(names)], unlabeled[list(names)]], ignore_index=True)
    given = cells.where(~cells.isin(MISSING))
    numbers = given.apply(pd.to_numeric, errors="coerce").astype(float)
    _refuse_infinite(numbers)
    text = [name for name in names if (numbers[name].isna() & given[name].notna()).any()]
    categories: dict[str, int] = {}
    if text:
        encoder = OrdinalEncoder()
        numbers[text] = encoder.fit_transform(given[text])
        categories = {name: int(numbers[name].nunique()) for name in text}
    return Features(numbers[: len(labeled)], numbers[len(labeled) :], categories)


def _refuse_infinite(numbers: pd.DataFrame) -> None:
    """Refuse numbers too large for a float."""
    for name in numbers:
        if np.isinf(numbers[name]).any():
            raise InputError(f"numbers must be finite; found an infinite one in column {name!r}")


def feature_names(
    labeled: pd.DataFrame, unlabeled: pd.DataFrame, target: str, dropped: Sequence[str]
) -> list[str]:
    """Return the columns to learn from, or say how the two tables differ.

    Examples
    --------
    >>> people = pd.DataFrame(columns=["id", "age", "sick"])
    >>> feature_names(people, people[["age", "id"]], "sick", ["id"])
    ['age']
    """
    for name in dropped:
        if name not in labeled and name not in unlabeled:
            raise InputError(f"the column to drop, {name!r}, is in neither file")
    left_out = {target, *dropped}
    names = [str(name) for name in labeled if name not in left_out]
    others = [str(name) for name in unlabeled if name not in left_out]
    for only, there in (
        ([name for name in names if name not in others], "labeled"),
        ([name for name in others if name not in names], "unlabeled"),
    ):
        if only:
            raise InputError(
                f"both files must have the same columns besides the target {target!r}; only in "
                f"the {there} one: {listed(only)}. Remove it or name it with --drop"
            )
    if not names:
        raise InputError("there is no column to learn from besides the target")
    return names


def target_values(labeled: pd.DataFrame, target: str, positive: str) -> pd.Series[str]:
    """Return the target column if it holds two values, one of them the positive one.

    Examples
    --------
    >>> target_values(pd.DataFrame({"sick": ["yes", "no"]}), "sick", "1")
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputError: --positive must be a value of 'sick', 'no' or 'yes'; found '1'
    """
    if target not in labeled:
        raise InputError(
            f"there is no column {target!r} in the labeled file; found {listed(list(labeled))}"
        )
    values = labeled[target]
    n_missing = int(values.isin(MISSING).sum())
    if n_missing:
        raise InputError(
            f"the target {target!r} must be known for all labeled individuals; it is missing for "
            f"{n_missing}: remove these rows"
        )
    found = sorted(values.unique())
    if len(found) != 2:
        raise InputError(
            f"the target {target!r} must have two values; found {len(found)}: {listed(found)}"
        )
    if positive not in found:
        raise InputError(
            f"--positive must be a value of {target!r}, {found[0]!r} or {found[1]!r}; "
            f"found {positive!r}"
        )
    return values
