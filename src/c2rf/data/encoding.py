"""From columns of a table to numbers that a classifier can learn from.

The encoder is scikit-learn's ``ColumnTransformer``: it knows which columns are numbers and which
are text, so that a saved one can be asked to encode any other file. A population is encoded on the
way, chunk by chunk, wherever its rows are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Self, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from c2rf._utils.frames import as_pandas
from c2rf._utils.text import all_of
from c2rf.data.cells import as_numbers, as_text, is_missing_number
from c2rf.data.population.interface import Chunk, Population, Transformed
from c2rf.data.population.memory import Memory
from c2rf.data.profile import ColumnProfile, Kind, are_numbers, check_size, of_kind
from c2rf.exceptions import InputError

DATE_FEATURES = ("days", "year", "month, sine", "month, cosine")
"""What becomes of a date; months are a cycle, so that December is next to January."""


class DateFeatures(TransformerMixin, BaseEstimator):
    """Turns days since 1970 into :data:`DATE_FEATURES`; a missing date is missing in all of them.

    Examples
    --------
    >>> DateFeatures().fit_transform(np.array([[0.0], [365.5 + 181], [np.nan]])).round(2).tolist()
    [[0.0, 1970.0, 0.0, 1.0], [546.5, 1971.0, 0.0, -1.0], [nan, nan, nan, nan]]
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn nothing: all is known of dates."""
        self.n_features_in_ = np.shape(X)[1]
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the features of each column, one column after the other."""
        columns = np.asarray(X, dtype=float).T
        return np.column_stack([each for days in columns for each in _date_features(days)])


def _date_features(days: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    missing = np.isnan(days)
    day = np.where(missing, 0, np.floor(days)).astype("int64").astype("datetime64[D]")
    month = day.astype("datetime64[M]").astype(int)
    angle = 2 * np.pi * (month % 12) / 12
    year = 1970 + month // 12
    return [
        days,
        *(np.where(missing, np.nan, each) for each in (year, np.sin(angle), np.cos(angle))),
    ]


def make_encoder(
    labeled: pd.DataFrame, columns: Sequence[ColumnProfile], signs: Sequence[str] = ()
) -> Any:
    """Return an encoder of such columns that has learned the texts of the labeled rows.

    Missing numbers stay missing. A date becomes :data:`DATE_FEATURES`. Text of few values becomes a
    column of 0 and 1 per value, other text its rank in alphabetical order. A text that no labeled
    row has is 0 in all of these columns, or missing. ``signs`` stand for missing values, too.

    Examples
    --------
    >>> labeled = pd.DataFrame({"age": ["41", ""], "town": ["Ulm", "Bonn"]})
    >>> encoder = make_encoder(labeled, [ColumnProfile(labeled[name]) for name in labeled])
    >>> encode(encoder, labeled).tolist()
    [[41.0, 0.0, 1.0], [nan, 1.0, 0.0]]
    >>> encode(encoder, pd.DataFrame({"age": ["3e1"], "town": ["Aalen"]})).tolist()
    [[30.0, 0.0, 0.0]]
    """
    numbers, dates, few, many = (of_kind(columns, kind) for kind in get_args(Kind))
    unseen_as_missing = {"handle_unknown": "use_encoded_value", "unknown_value": np.nan}
    encoder = ColumnTransformer(
        [
            ("numbers", "passthrough", numbers),
            ("dates", DateFeatures(), dates),
            ("one-hot", OneHotEncoder(handle_unknown="ignore"), few),
            ("ordinal", OrdinalEncoder(**unseen_as_missing), many),
        ],
        sparse_threshold=0,
    )
    encoder.missing_signs_ = list(signs)
    return encoder.fit(_typed(labeled, numbers + dates, few + many, signs))


def encode(encoder: Any, table: pd.DataFrame) -> NDArray[np.float64]:
    """Turn a table into numbers as the encoder learned it; it may have other columns too."""
    numbers, text = _inputs(encoder)
    missing = [name for name in numbers + text if name not in table]
    if missing:
        raise InputError(
            f"the columns the model learned from must be there; missing: {all_of(missing)}, "
            f"found: {all_of(list(table))}"
        )
    typed = _typed(table, numbers, text, encoder.missing_signs_)
    return np.asarray(encoder.transform(typed), dtype=float)


def input_columns(encoder: Any) -> list[str]:
    """Return the columns that an encoder needs."""
    numbers, text = _inputs(encoder)
    return numbers + text


def encoded_columns(encoder: Any) -> list[tuple[str, str | None]]:
    """Return of each number that an encoder makes its column, and the value it stands for, if any.

    Examples
    --------
    >>> labeled = pd.DataFrame({"age": ["41", ""], "town": ["Ulm", "Bonn"]})
    >>> columns = [ColumnProfile(labeled[name]) for name in labeled]
    >>> encoded_columns(make_encoder(labeled, columns))
    [('age', None), ('town', 'Bonn'), ('town', 'Ulm')]
    """
    found: list[tuple[str, str | None]] = []
    for name, model, chosen in encoder.transformers_:
        if name == "one-hot" and len(chosen):
            for column, values in zip(chosen, model.categories_, strict=True):
                found += [(column, str(value)) for value in values]
        elif name == "dates":
            found += [
                (column, None if each == "days" else each)
                for column in chosen
                for each in DATE_FEATURES
            ]
        else:
            found += [(column, None) for column in chosen]
    return found


def _inputs(encoder: Any) -> tuple[list[str], list[str]]:
    columns = {name: list(chosen) for name, _, chosen in encoder.transformers_}
    return columns["numbers"] + columns.get("dates", []), columns["one-hot"] + columns["ordinal"]


def _typed(
    table: pd.DataFrame, numbers: Sequence[str], text: Sequence[str], signs: Sequence[str]
) -> pd.DataFrame:
    """Return columns of floats and of text, NaN where there is no value."""
    columns: dict[str, Any] = {}
    for name in numbers:
        columns[name] = as_numbers(table[name], signs)
        check_size(name, columns[name])
        if are_numbers(table[name].dtype):
            continue  # looking at every cell as text takes its time
        cells = as_text(table[name], signs)
        odd = np.flatnonzero(columns[name].isna() & cells.notna() & ~is_missing_number(cells))
        if len(odd):
            raise InputError(
                f"column {name!r} must hold numbers; found {cells.iloc[odd[0]]!r} in data row "
                f"{odd[0] + 1}"
            )
    for name in text:
        cells = as_text(table[name], signs)
        columns[name] = cells.where(cells.notna(), np.nan)
    return pd.DataFrame(columns, index=table.index)


def encoded(rows: Population, encoder: Any) -> Population:
    """Return rows as the numbers that an encoder makes of their columns.

    Examples
    --------
    >>> table = pd.DataFrame({"age": ["41", "14"]})
    >>> encoder = make_encoder(table, [ColumnProfile(table["age"])])
    >>> [chunk.data.tolist() for chunk in encoded(Memory(table), encoder).chunks()]
    [[[41.0], [14.0]]]
    """
    if isinstance(rows, Memory):
        return Memory(encode(encoder, as_pandas(rows.table)))
    return Transformed(rows, partial(_encode, encoder), input_columns(encoder))


def _encode(encoder: Any, chunk: Chunk) -> Chunk:
    try:
        return chunk._replace(data=encode(encoder, as_pandas(chunk.data)))
    except InputError as error:
        raise InputError(f"{chunk.where}: {error}") from error
