"""Which columns are learned from: all but those that are named, and those that look useless."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from c2rf._frames import as_pandas
from c2rf._text import all_of, for_user, nearest
from c2rf.columns.choose import check_column, feature_names
from c2rf.columns.kinds import Column
from c2rf.columns.leave_out import look_like_codes, why_left_out
from c2rf.exceptions import InputError
from c2rf.labeling.wishes import Wishes
from c2rf.population import Population


def learned_columns(
    table: pd.DataFrame, rows: Population, group: Sequence[str], wishes: Wishes
) -> tuple[list[str], dict[str, str]]:
    """Return the columns that something can be learned from, and why not from the others.

    Looks at all labeled rows and at the first of the others; ``group`` are the columns that totals
    are grouped by.
    """
    features = _features(table, list(rows.names or []), group, wishes)
    for name in wishes.keep:
        check_column(for_user("keep", "--keep"), name, features)
    some = table[features]
    if not rows.is_elsewhere:
        some = as_pandas(next(iter(rows.read(features)))[0])
    asked = {*wishes.keep, *wishes.text}
    found = {name: why_left_out(table[name], some[name]) for name in features if name not in asked}
    left_out = {name: why for name, why in found.items() if why is not None}
    if len(left_out) == len(features):
        option = for_user(f"keep=[{features[0]!r}]", f"--keep {features[0]}")
        raise InputError(
            f"there is no column to learn from: {features[0]!r} {left_out[features[0]]}; if it is "
            f"useful all the same, say so with {option}"
        )
    return [name for name in features if name not in left_out], left_out


def likely_codes(table: pd.DataFrame, columns: Sequence[Column], wishes: Wishes) -> list[str]:
    """Return columns of numbers that are likely codes, if nobody has said what they are."""
    return [
        column.name
        for column in columns
        if column.kind == "numbers"
        and column.name not in wishes.keep
        and look_like_codes(table[column.name])
    ]


def _features(
    table: pd.DataFrame, columns: list[str], group: Sequence[str], wishes: Wishes
) -> list[str]:
    """Return the columns to learn from; every column that is named must be there."""
    others = [name for name in columns if name != wishes.target]
    check_column(for_user("id", "--id"), wishes.id, others)
    for name in group:
        check_column(for_user("totals", "--group"), name, others)
    check_column(for_user("weight", "--weight"), wishes.weight, others)
    if wishes.weight is not None and wishes.weight in group:
        raise InputError(f"{wishes.weight!r} cannot be the weight and a grouping column of totals")
    named = [name for name in (wishes.id, wishes.weight) if name is not None]
    left_out = [*wishes.drop, *named]
    header = pd.DataFrame(columns=columns)
    names = feature_names(table, header, wishes.target, left_out, group)
    for name in wishes.text:
        if name not in names:
            raise InputError(
                f"{for_user('text', '--text')}: {name!r} is not a column to learn from; these are "
                f"{all_of(names)}{nearest(name, names)}"
            )
    return names
