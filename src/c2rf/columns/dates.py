"""Dates as numbers: how long ago, which year, and where in the year."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

PARTS = ("days", "year", "month, sine", "month, cosine")
"""What becomes of a date; months are a cycle, so that December is next to January."""


class DateParts(TransformerMixin, BaseEstimator):
    """Turns columns of days since 1970 into :data:`PARTS`; a missing date is missing in all.

    Examples
    --------
    >>> DateParts().fit_transform(np.array([[0.0], [365.5 + 181], [np.nan]])).round(2).tolist()
    [[0.0, 1970.0, 0.0, 1.0], [546.5, 1971.0, 0.0, -1.0], [nan, nan, nan, nan]]
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn nothing: all is known of dates."""
        self.n_features_in_ = np.shape(X)[1]
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the parts of each column, one column after the other."""
        columns = np.asarray(X, dtype=float).T
        return np.column_stack([part for days in columns for part in _parts(days)])


def _parts(days: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    missing = np.isnan(days)
    day = np.where(missing, 0, np.floor(days)).astype("int64").astype("datetime64[D]")
    month = day.astype("datetime64[M]").astype(int)
    angle = 2 * np.pi * (month % 12) / 12
    year = 1970 + month // 12
    return [
        days,
        *(np.where(missing, np.nan, part) for part in (year, np.sin(angle), np.cos(angle))),
    ]
