"""Which columns of two tables are learned from, and which one is the target."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from c2rf._text import all_of, for_user, listed, nearest
from c2rf._typing import Texts
from c2rf.columns.kinds import FEW_LEVELS
from c2rf.exceptions import InputError
from c2rf.files.cells import as_text


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
