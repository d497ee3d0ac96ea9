"""What columns hold, which are left out, and what is refused."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pandas as pd
import pytest

from c2rf.data.profile import (
    FEW_LEVELS,
    ColumnProfile,
    ValueCounts,
    feature_names,
    look_like_codes,
    why_left_out,
)
from c2rf.exceptions import InputError


def test_dates_among_numbers_are_refused():
    profile = ColumnProfile(pd.Series(["2001", "2002"], name="born"))
    with pytest.raises(InputError, match="holds dates in some rows and numbers in others"):
        profile.with_unlabeled(profile.count(pd.Series(["2001-05-06"])))
    profile = ColumnProfile(pd.Series(["06.05.2001", ""], name="born"))
    assert profile.with_unlabeled(profile.count(pd.Series(["2001-05-06"]))).kind == "dates"


def profiled(labeled, *chunks, is_text=False):
    profile = ColumnProfile(pd.Series(labeled, name="x"), is_text)
    counts = [profile.count(pd.Series(cells)) for cells in chunks]
    return profile.with_unlabeled(reduce(ValueCounts.merge, counts))


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_counts_do_not_depend_on_the_chunks(cut):
    cells = ["Ulm", "", "Aalen", "Aalen"]
    profile = profiled(["Ulm", "Bonn", None], cells[:cut], cells[cut:])
    assert (profile.kind, profile.levels) == ("one-hot", 2)
    assert (profile.missing, profile.unseen) == ((1, 1), 2)


def test_kinds_of_columns():
    many = [f"t{k}" for k in range(FEW_LEVELS + 1)]
    assert profiled(["1", "2"], ["3", ""]).kind == "numbers"
    assert profiled([1.5, 2], [3.0, None]).missing == (0, 1)
    assert profiled(["1", "2"], ["3"], is_text=True).kind == "one-hot"
    assert profiled(many, many).kind == "target"
    assert profiled(many[:-1], many).kind == "one-hot"
    assert profiled(["2020-01-02"], ["2020-01-03"]).kind == "dates"


def test_a_few_odd_cells_in_a_column_of_numbers_are_refused_with_their_place():
    numbers = [str(k) for k in range(50)]
    with pytest.raises(InputError, match=r"'a' in data row 2 of the unlabeled file \(1 such"):
        profiled(numbers, ["7", "a"])
    with pytest.raises(
        InputError, match="must have a decimal point and no other sign; found '1,5'"
    ):
        profiled(numbers, ["1,5"])


@pytest.mark.parametrize(
    ("number", "said"), [(np.inf, "must be finite"), (1e39, "must be at most")]
)
def test_numbers_that_trees_cannot_hold(number, said):
    with pytest.raises(InputError, match=said):
        profiled([1.0], [number])


def test_columns_to_learn_from():
    labeled = pd.DataFrame(columns=["id", "age", "sick"])
    assert feature_names(labeled, labeled[["age", "id"]], "sick", ["id"]) == ["age"]
    with pytest.raises(InputError, match="only in the labeled one: 'age'"):
        feature_names(labeled, labeled[["id"]], "sick", [])
    with pytest.raises(InputError, match="no column to learn from"):
        feature_names(labeled, labeled, "sick", ["id", "age"])


def test_ids_and_codes_are_recognised():
    ids = pd.Series(range(100), name="nr")
    assert why_left_out(ids, ids + 100) == "numbers the rows"
    assert why_left_out(ids % 30, ids) is None
    assert look_like_codes(pd.Series(["12345"] * 3, name="plz"))
    assert not look_like_codes(pd.Series(["12345"] * 3, name="income"))


@pytest.mark.parametrize(
    ("n_different", "found"), [(89, None), (90, "differs in nearly every row")]
)
def test_text_that_differs_in_nine_of_ten_rows_names_the_rows(n_different, found):
    cells = pd.Series([f"p{min(k, n_different - 1)}" for k in range(100)], name="who")
    assert why_left_out(cells, cells[:0]) == found


@pytest.mark.parametrize("sign", ["-", " ? ", ".", "#N/A", "k.A."])
def test_usual_signs_for_missing_among_numbers_and_dates(sign):
    numbers = [str(k / 7) for k in range(199)]
    profile = profiled([*numbers, sign], [*numbers, sign, sign])
    assert (profile.kind, profile.missing) == ("numbers", (1, 2))
    assert profile.signs_found == {sign: 3}
    dates = [f"{k % 28 + 1:02d}.02.{1800 + k}" for k in range(199)]
    assert profiled([*dates, sign], [sign]).kind == "dates"
    text = profiled(["yes", sign], [sign])
    assert (text.kind, text.levels, text.missing, text.signs_found) == ("one-hot", 2, (0, 0), {})
    assert profiled([sign, sign], [sign, ""]).kind == "one-hot"
    assert profiled([sign], ["1"]).kind == "numbers"


def test_one_odd_cell_among_numbers_is_refused_by_cell_and_not_left_out():
    cells = pd.Series([*(str(k / 7) for k in range(199)), "12 kg"], name="x")
    assert why_left_out(cells, cells) is None
    with pytest.raises(InputError, match=r"'12 kg' in data row 200 of the labeled file"):
        profiled(cells, ["1.5"])
    words = pd.Series([f"t{k}" for k in range(150)] + [str(k) for k in range(50)], name="x")
    assert why_left_out(words, words + "x") == "differs in nearly every row"


@pytest.mark.parametrize("shape", ["%Y-%m-%d", "%d.%m.%Y", "%Y-%m-%d %H:%M:%S"])
@pytest.mark.parametrize("odd", ["unknown", "31.02.2020", "1987", "today"])
@pytest.mark.parametrize("dtype", ["str", object])
def test_one_odd_cell_among_dates_is_refused_by_cell_and_not_learned_as_text(shape, odd, dtype):
    days = pd.date_range("1960-01-01", periods=199, freq="50D").strftime(shape).tolist()
    cells = pd.Series([*days, odd], name="x", dtype=dtype)
    assert why_left_out(cells, cells) is None
    with pytest.raises(InputError, match=rf"holds dates, but '{odd}' in data row 200 of the lab"):
        profiled(cells, days)
    with pytest.raises(InputError, match=rf"'{odd}' in data row 2 of the unlabeled file \(1 such"):
        profiled(days, pd.Series([days[0], odd, *days[1:9]], dtype=dtype))


def test_a_few_dates_among_words_are_words():
    cells = ["2020-01-02", "2020-01-03", "soon", "late", "never"]
    assert profiled(cells, cells).kind == "one-hot"


def test_signs_for_missing_that_the_user_names():
    for labeled in (["1", "-9", "k.A."], [1.0, -9.0, None]):
        profile = ColumnProfile(pd.Series(labeled, name="x"), signs=["-9", "k.A."])
        profile = profile.with_unlabeled(profile.count(pd.Series([-9.0, 2.0])))
        assert (profile.kind, profile.missing, profile.levels) == ("numbers", (2, 1), 1)
