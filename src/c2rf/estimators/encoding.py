"""The columns of frames as numbers, for a classifier that learns from numbers only.

Text, categories and dates are encoded as :mod:`c2rf.columns` does for files, by what the labeled
rows hold. Frames of numbers alone need no encoder.
"""

from __future__ import annotations

from typing import Any

import narwhals as nw
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from c2rf._frames import as_pandas, names_of
from c2rf._sklearn_models import takes_only_numbers
from c2rf.columns.encoding import encode, make_encoder
from c2rf.columns.kinds import Column, Look, check_single_values
from c2rf.columns.leave_out import why_left_out
from c2rf.exceptions import InputError
from c2rf.learners.interface import uses_population
from c2rf.progress import report_progress


class EncodedColumns:
    """Adds to a classifier that it takes frames of text, categories and dates, too.

    Only where its learner takes nothing but numbers; a pipeline encodes columns itself.
    """

    estimator: Any

    def _encode(self, X: Any, reset: bool, name: str) -> Any:
        """Return a frame that holds more than numbers as numbers, None if that is not for us."""
        if not takes_only_numbers(self.estimator) and not uses_population(self.estimator):
            return None
        if reset:
            self._encoder = frame_encoder(X)
            if self._encoder is not None:
                validate_data(self, X, skip_check_array=True)  # keeps names and their number
        encoder = getattr(self, "_encoder", None)
        return None if encoder is None else encode_frame(encoder, X, name)


def frame_encoder(X: Any) -> Any:
    """Return an encoder of a frame that holds more than numbers, None where none is needed.

    Parameters
    ----------
    X : array or data frame
        The labeled rows.

    Examples
    --------
    >>> people = pd.DataFrame({"age": [41, 14], "town": ["Ulm", "Bonn"]})
    >>> encode_frame(frame_encoder(people), people, "X").tolist()
    [[41.0, 0.0, 1.0], [14.0, 1.0, 0.0]]
    >>> frame_encoder(people[["age"]]) is None
    True
    """
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return None
    if all(map(_is_plain, frame.schema.values())):
        return None
    table = _named(X)
    for name in table:
        check_single_values(table[name])
    columns = [_column(table[name]) for name in table]
    kept = [column for column in columns if column is not None]
    if not kept:
        raise InputError(
            "X must have a column to learn from; found only text that differs in nearly every row, "
            "or nothing but empty cells"
        )
    return make_encoder(table, kept)


def encode_frame(encoder: Any, X: Any, name: str) -> NDArray[Any]:
    """Return a frame as numbers, as the encoder learned it."""
    if names_of(X) is None:
        raise InputError(f"{name} must be a frame with the columns of X, which holds text")
    try:
        return encode(encoder, _named(X))
    except InputError as error:
        raise InputError(f"{name}: {error}") from error


def _is_plain(kind: Any) -> bool:
    """Whether cells of a type are numbers as they are; decimal ones are objects."""
    return (kind.is_numeric() and kind != nw.Decimal) or kind == nw.Boolean


def _named(X: Any) -> pd.DataFrame:
    table = as_pandas(X)
    return table.set_axis(names_of(table), axis=1).reset_index(drop=True)


def _column(cells: pd.Series[Any]) -> Column | None:
    """Say what a column holds; None if nothing can be learned from it."""
    look = Look(cells)
    column = look.column(look.at(cells, "row {row} of X"))
    if column.kind in ("one-hot", "ordinal"):
        why = why_left_out(cells, cells[:0])
        if why is not None:
            report_progress(f"column {column.name!r} {why}: it is not learned from")
            return None
    return column
