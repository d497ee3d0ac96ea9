"""Columns of every type that frames have: learned from as what they are, or refused by name."""

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

from c2rf import BlendClassifier, KnownTotalsClassifier
from c2rf.exceptions import InputError
from c2rf.progress import progress_callback

N_ROWS, N_LABELED = 240, 60
RNG = np.random.default_rng(0)
SICK = RNG.random(N_ROWS) < 0.5
SHOWN = SICK ^ (RNG.random(N_ROWS) < 0.15)
GAP = RNG.random(N_ROWS) < 0.1
NUMBER = np.where(SHOWN, 2.0, 0.0) + RNG.random(N_ROWS)
WORD = np.where(SHOWN, "high", "low")
SMALL = BlendClassifier(base_learners=("trees", "svc"), n_estimators=10)


def fitted(table, estimator=SMALL):
    """Fit to the first rows; labels of the others must add up."""
    model = KnownTotalsClassifier(estimator, random_state=0)
    total = int(SICK[N_LABELED:].sum())
    rest = table[N_LABELED:]
    model.fit(table[:N_LABELED], SICK[:N_LABELED], X_unlabeled=rest, totals={True: total})
    assert model.transduction_.sum() == total
    return model


def right(table):
    return (fitted(table).transduction_ == SICK[N_LABELED:]).mean()


def with_gaps(values):
    return [None if gap else value for gap, value in zip(GAP, values, strict=True)]


MONTHS = pd.to_datetime(np.where(SHOWN, "2020-01-15", "2020-07-15"))
LEARNED = {
    "unused categories": pd.Categorical(WORD, categories=["high", "low", "never", "no"]),
    "categories of numbers": pd.Categorical(np.where(SHOWN, 7, 3)),
    "dates with a time zone": MONTHS.tz_localize("Europe/Berlin"),
    "dates as objects": pd.Series([m.date() for m in MONTHS], dtype=object),
    "very old dates": pd.Series([datetime.date(1500 + yes, 1, 1) for yes in SHOWN], dtype=object),
    "periods": pd.PeriodIndex(MONTHS, freq="M"),
    "Int64": pd.array(with_gaps(np.where(SHOWN, 7, 3)), dtype="Int64"),
    "Float64": pd.array(with_gaps(NUMBER), dtype="Float64"),
    "boolean": pd.array(with_gaps(SHOWN), dtype="boolean"),
    "string": pd.array(with_gaps(WORD), dtype="string"),
    "bool with None": pd.Series(with_gaps(SHOWN.tolist()), dtype=object),
    "timedelta": pd.to_timedelta(NUMBER, unit="D"),
}
IN_POLARS = {
    "Categorical": pl.Series(WORD, dtype=pl.Categorical),
    "Enum": pl.Series(WORD, dtype=pl.Enum(["high", "low", "never"])),
    "Decimal": pl.Series([decimal.Decimal(f"{value:.2f}") for value in NUMBER]),
    "Duration": pl.Series([datetime.timedelta(days=value) for value in NUMBER]),
    "Boolean": pl.Series(with_gaps(SHOWN.tolist())),
    "Datetime": pl.Series(MONTHS.tz_localize("Asia/Tokyo")),
}


@pytest.mark.parametrize("kind", LEARNED)
def test_columns_of_pandas(kind):
    assert right(pd.DataFrame({"x": LEARNED[kind]})) > 0.7


@pytest.mark.parametrize("kind", IN_POLARS)
def test_columns_of_polars(kind):
    assert right(pl.DataFrame({"x": IN_POLARS[kind]})) > 0.7


def test_lengths_of_time_are_numbers():
    durations = fitted(pd.DataFrame({"x": LEARNED["timedelta"]})).transduction_
    days = fitted(pd.DataFrame({"x": NUMBER})).transduction_
    assert (durations == days).mean() > 0.95  # a duration is kept in nanoseconds


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (pl.Series([[1.0], [2.0]] * 120), "ndarray"),
        (pl.Series([{"a": 1}, {"a": 2}] * 120), "dict"),
        (pl.Series([b"a", b"b"] * 120), "bytes"),
        (pd.Series([[1], [2]] * 120), "list"),
        (pd.Series([1j, 2j] * 120), "complex"),
    ],
)
def test_cells_that_are_no_single_values(cells, kind):
    frame = pl.DataFrame if isinstance(cells, pl.Series) else pd.DataFrame
    with pytest.raises(InputError, match=f"found values of type {kind} in column 'odd'"):
        fitted(frame({"odd": cells, "x": NUMBER}))


def test_columns_of_one_name():
    table = pd.DataFrame(np.column_stack([NUMBER, NUMBER, NUMBER]), columns=["a", "b", "a"])
    with pytest.raises(InputError, match="columns of X must have different names; found more than"):
        fitted(table)


def test_a_column_that_names_the_rows_is_left_out_and_that_is_said():
    table = pd.DataFrame({"x": NUMBER, "name": [f"person {k}" for k in range(N_ROWS)]})
    said = []
    with progress_callback(lambda event: said.append(event.phase)):
        named = fitted(table.assign(kind=WORD))
    assert "column 'name' differs in nearly every row: it is not learned from" in said
    unnamed = fitted(table.assign(kind=WORD).drop(columns="name"))
    assert (named.transduction_ == unnamed.transduction_).all()


@pytest.mark.parametrize("table", [np.c_[NUMBER, NUMBER], pd.DataFrame({"a": NUMBER, "b": NUMBER})])
def test_numbers_that_are_too_large_to_compare(table):
    with pytest.raises(InputError, match=r"X has numbers beyond 3.4e\+38, the largest that can be"):
        fitted(table * 1e300)
    with pytest.raises(InputError, match="X has numbers beyond"):
        BlendClassifier().fit(table * 1e300, SICK)
    assert right(table * 1e37) > 0.7
