"""From columns of a table to numbers a classifier can learn from, and what was done on the way.

The encoder is scikit-learn's ``ColumnTransformer``: it knows which columns are numbers and which
are text, so that a saved one can be asked to encode any other file.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from c2rf.cli.columns import FEW_LEVELS, Column, Look, are_numbers, check_size, of_kind
from c2rf.exceptions import InputError
from c2rf.members import listed
from c2rf.tables import as_numbers, as_text


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
    looks = [Look(labeled[name], name in text) for name in names]
    for look in looks:
        look.at(unlabeled[look.name])
    columns = [look.column() for look in looks]
    encoder = make_encoder(labeled, columns)
    return Features(encode(encoder, labeled), encode(encoder, unlabeled), columns, encoder)


def make_encoder(labeled: pd.DataFrame, columns: Sequence[Column]) -> Any:
    """Return an encoder of such columns that has learned the levels of the labeled."""
    numbers, few, many = (of_kind(columns, kind) for kind in ("numbers", "one-hot", "ordinal"))
    unseen_as_missing = {"handle_unknown": "use_encoded_value", "unknown_value": np.nan}
    encoder = ColumnTransformer(
        [
            ("numbers", "passthrough", numbers),
            ("one-hot", OneHotEncoder(handle_unknown="ignore"), few),
            ("ordinal", OrdinalEncoder(**unseen_as_missing), many),
        ],
        sparse_threshold=0,
    )
    return encoder.fit(_typed(labeled, numbers, few + many))


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


def _typed(table: pd.DataFrame, numbers: Sequence[str], text: Sequence[str]) -> pd.DataFrame:
    """Return columns of floats and of text, NaN where there is no value."""
    columns: dict[str, Any] = {}
    for name in numbers:
        columns[name] = as_numbers(table[name])
        check_size(name, columns[name])
        if are_numbers(table[name].dtype):
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
