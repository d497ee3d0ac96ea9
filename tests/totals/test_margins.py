"""Several margins, estimates and weights: what fits, what contradicts, what is moved."""

import numpy as np
import pandas as pd
import pytest

from c2rf import Estimate
from c2rf.data.totals import TotalsFile, parse_range
from c2rf.exceptions import InputError, InputTypeError
from c2rf.totals.bounds import LinearConstraints
from c2rf.totals.groups import read_groups, read_weights
from c2rf.totals.make_bounds import make_bounds
from c2rf.totals.reconcile import contradiction, is_consistent
from c2rf.totals.stated import read_totals
from margin_cases import contradicting_case, reconciled

CLASSES = ["no", "yes"]
PEOPLE = pd.DataFrame(
    {
        "region": ["n", "n", "n", "s", "s", "s"] * 4,
        "age": ["young", "old", "old"] * 8,
        "sex": ["f", "m"] * 12,
    }
)


def table(column, totals, label="yes"):
    return pd.DataFrame({column: list(totals), "class": label, "total": list(totals.values())})


def bounds_of(totals, policy="strict", weights=None, columns=("region", "age")):
    groups = read_groups(PEOPLE[list(columns)], len(PEOPLE))._replace(columns=tuple(columns))
    return make_bounds(read_totals(totals, CLASSES), groups, CLASSES, policy, weights)


def test_two_margins_become_bounds_of_sets_of_groups():
    bounds = bounds_of([table("region", {"n": 4, "s": 2}), table("age", {"old": 5})])
    by_region, by_age = bounds.margins
    assert by_region.lower[by_region.names.index("n")].tolist() == [0, 4]
    assert by_age.upper[by_age.names.index("old")].tolist() == [16, 5]


def test_contradicting_margins_are_refused_by_a_set_that_cannot_be_smaller():
    with pytest.raises(InputError, match="these 4 totals cannot hold together") as found:
        bounds_of([table("region", {"n": 4, "s": 2}), table("age", {"old": 5, "young": 3})])
    assert "region 'n': 'yes' 4" in str(found.value)
    assert "age 'young': 'yes' 3" in str(found.value)


def test_a_cycle_of_three_margins_that_contradict_each_other():
    cube = pd.DataFrame([(a, b, c) for a in "xy" for b in "xy" for c in "xy"], columns=list("abc"))
    groups = read_groups(cube, 8)._replace(columns=("a", "b", "c"))

    def pair(first, second, same):
        return [
            {first: u, second: v, "class": "yes", "total": 2 if (u == v) == same else 0}
            for u in "xy"
            for v in "xy"
        ]

    cycle = [pair("a", "b", True), pair("b", "c", True), pair("a", "c", False)]
    with pytest.raises(InputError, match="cannot hold together"):
        make_bounds(read_totals(cycle, CLASSES), groups, CLASSES)
    with pytest.warns(UserWarning, match="changed to fit together"):
        moved = make_bounds(read_totals(cycle, CLASSES), groups, CLASSES, "scale")
    assert moved.adjustments


def test_scale_changes_figures_and_says_which():
    tables = [table("region", {"n": 4, "s": 2}), table("age", {"old": 5, "young": 3})]
    with pytest.warns(UserWarning, match="changed to fit together"):
        bounds = bounds_of(tables, "scale")
    sums = {int(m.lower[:, 1].sum()) for m in bounds.margins}
    assert len(sums) == 1
    assert sums <= {6, 7, 8}
    assert all(change.before != change.after for change in bounds.adjustments)


def test_whole_numbers_may_be_impossible_where_fractions_are_not():
    # Of each two of three rows exactly one is positive: half a row each would do.
    triangle = pd.DataFrame({"a": list("ppq"), "b": list("qpp"), "c": list("pqp")})
    groups = read_groups(triangle, 3)._replace(columns=("a", "b", "c"))
    known = read_totals([table(name, {"p": 1}) for name in "abc"], CLASSES)
    with pytest.raises(InputError, match="the smallest deviation is 1 in all"):
        make_bounds(known, groups, CLASSES)
    with pytest.warns(UserWarning, match="changed to fit together"):
        bounds = make_bounds(known, groups, CLASSES, "scale")
    assert len(bounds.adjustments) == 1


def test_estimates_move_the_more_the_less_certain_they_are():
    with pytest.warns(UserWarning, match="standard errors"):
        bounds = bounds_of({"yes": Estimate(10, se=1), "no": Estimate(20, se=2)})
    # 30 is six too many: a fifth of it is taken from the more certain.
    assert bounds.lower.tolist() == [15, 9]
    assert [change.standard_errors for change in bounds.adjustments] == [-1.0, -2.5]


def test_exact_totals_do_not_move():
    given = [{"yes": Estimate(12, se=3)}, table("region", {"n": 4, "s": 3})]
    with pytest.warns(UserWarning, match="12 became 7"):
        bounds = bounds_of(given)
    assert bounds.upper[1] == 7


@pytest.mark.parametrize("seed", range(12))
def test_reconciled_figures_are_those_of_generalised_least_squares(seed):
    people, tables, n_classes = contradicting_case(seed)
    groups = read_groups(people, len(people))._replace(columns=tuple(people.columns))
    with pytest.warns(UserWarning, match="standard errors"):
        bounds = make_bounds(read_totals(tables, range(n_classes)), groups, range(n_classes))
    found = np.concatenate([margin.lower.ravel() for margin in bounds.margins])
    assert np.abs(found - reconciled(people, tables, n_classes)).max() < 1  # but for rounding
    assert all((margin.lower == margin.upper).all() for margin in bounds.margins)


def test_contradictions_are_irreducible():
    rng = np.random.default_rng(0)
    for _ in range(10):
        bounds = bounds_of(
            [table("region", {"n": 4, "s": 2}), table("age", {"old": 4, "young": 2})]
        )
        system = LinearConstraints.of(bounds)
        lower = system.lower + rng.integers(0, 3, len(system.lower))
        figures = system.between(lower, lower)
        if is_consistent(figures):
            continue
        found = contradiction(figures)
        assert not is_consistent(figures.some(np.array(found)))
        for left in found:
            rest = np.array([f for f in found if f != left], dtype=np.intp)
            assert is_consistent(figures.some(rest))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            [table("region", {"n": 4, "west": 2}), table("age", {"old": 5})],
            "no unlabeled row",
        ),
        ([table("region", {"n": 4}, "Yes"), table("age", {"old": 5})], "did you mean 'yes'"),
        ([table("region", {"n": 40}), table("age", {"old": 5})], "from 0 to 12"),
        (
            [table("region", {"n": 4}).assign(se=-1.0), table("age", {"old": 5})],
            "found -1",
        ),
        ([table("region", {"n": 4}).assign(se="x"), table("age", {"old": 5})], "must be a number"),
        ([table("region", {"n": 4}), table("region", {"n": 4})], "more than one total"),
    ],
)
def test_what_is_wrong_is_said(given, message):
    with pytest.raises((InputError, InputTypeError), match=message):
        bounds_of(given)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, -2.0], "must not be negative"),
        ([1.0, np.nan], "no number in row 1"),
        (["a", 1], "must be numbers"),
        ([1.0], "one number per row"),
        ([0.0, 0.0], "only zeros"),
        ([np.inf, 1.0], "must be finite"),
    ],
)
def test_weights_that_are_none(weights, message):
    with pytest.raises((InputError, InputTypeError), match=message):
        read_weights(weights, 2)


def test_weighted_totals_need_not_add_up_to_a_fraction_of_a_person():
    weights = np.full(len(PEOPLE), 2.51)  # 60.24 people
    bounds = bounds_of({"yes": 20, "no": 40}, weights=weights)
    assert bounds.lower.sum() == pytest.approx(60.24)
    assert np.abs(bounds.lower - [40, 20]).max() <= 0.5


class TestFiles:
    """Tables in files, long and wide."""

    COLUMNS = ("region", "age")

    def read(self, tmp_path, text):
        path = tmp_path / "totals.csv"
        path.write_text(text, encoding="utf-8")
        return TotalsFile(path, "sick").read(self.COLUMNS, CLASSES)

    def test_grouping_columns_are_found_by_name(self, tmp_path):
        rows, note = self.read(tmp_path, "region,class,total,se,note\nn,yes,4,2,x\ns,yes,5,,y\n")
        assert "'note' of totals.csv were ignored" in note
        assert rows[0] == {"region": "n", "class": "yes", "total": Estimate(4, se=2)}
        assert rows[1]["total"] == 5

    def test_a_wide_table_with_sums_that_are_right(self, tmp_path):
        rows, note = self.read(tmp_path, "region,no,yes,Total\nn,8,4,12\ns,7,5,12\nTotal,15,9,24\n")
        assert len(rows) == 4
        assert rows[1] == {"region": "n", "class": "yes", "total": 4}
        assert "wide table" in note
        assert "a row of sums" in note

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("region,no,yes,Total\nn,8,4,13\n", "the column 'Total' says 13"),
            ("region,no,yes\nn,8,4\ns,7,5\nTotal,15,10\n", "looks like a row of sums"),
            ("region,no,yes,county\nn,8,4,1\n", "neither classes nor columns"),
            ("region,class,total\nn,yes,4\nn,yes,5\n", "more than one total"),
            ("regoin,class,total\nn,yes,4\ns,yes,5\n", "were ignored"),
            ("region,class,total,se\nn,yes,4,-1\n", "must not be negative"),
            ("region,class,total,se\nn,yes,4,two\n", "must be a number"),
            ("region,kind,total\nn,yes,4\n", "missing: class"),
        ],
    )
    def test_what_is_wrong_is_said(self, tmp_path, text, message):
        with pytest.raises(InputError, match=message):
            self.read(tmp_path, text)


def test_estimates_as_text():
    assert parse_range("1200+-50") == Estimate(1200, se=50)
    with pytest.raises(InputError, match="standard error above 0"):
        parse_range("1200+-0")
