from __future__ import annotations

import tracemalloc
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import c2rf
from c2rf.exceptions import InputTypeError, VerificationError
from c2rf.forest.problem import Solution
from c2rf.forest.verify import certain_signs
from c2rf.forest.votes import PatternTable
from strategies import votes

TOLERANCE = Fraction(1e-9)


def exact_scores(rows, weights, shift=0.0):
    """Scores as fractions, straight from the definition."""
    terms = [Fraction(float(w)) for w in weights]
    return [
        sum((int(v) * w for v, w in zip(row, terms, strict=True)), Fraction(float(shift)))
        for row in rows
    ]


def claim(rows, n_positive, weights, offset=0.0, bound=None):
    """The solution that these weights give, with everything recounted exactly."""
    labels = np.array([1 if s > 0 else -1 for s in exact_scores(rows, weights, offset)])
    eta = abs(int((labels > 0).sum()) - n_positive)
    bound = eta if bound is None else bound
    status = "optimal" if bound == eta else "feasible"
    return Solution(np.array(weights, float), offset, labels, eta, bound, status, 0.0)


ROWS = np.array([[1, -1, 1], [-1, 1, 1], [-1, -1, 1], [-1, -1, -1]], dtype=np.int8)
GOOD = claim(ROWS, 1, [2.0, 5.0, 10.0], bound=1)


def test_a_right_claim_passes():
    assert (GOOD.eta, GOOD.bound, GOOD.status) == (2, 1, "feasible")
    c2rf.verify(ROWS, 1, GOOD)
    c2rf.verify(ROWS, 0.25, GOOD)
    c2rf.verify(ROWS, 1, replace(GOOD, labels=GOOD.labels.tolist(), weights=[2, 5, 10]))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"labels": np.array([1, 1, 1, 1])}, r"label of row 3 is 1, .* says -1 \(1 labels"),
        ({"labels": -GOOD.labels}, "label of row 0 is -1, .* says 1"),
        ({"labels": np.zeros(4)}, "4 labels are wrong"),
        ({"labels": np.full(4, np.nan)}, "4 labels are wrong"),
        ({"labels": GOOD.labels[:3]}, r"4 labels, one a row; found shape \(3,\)"),
        ({"labels": GOOD.labels[:, None]}, r"found shape \(4, 1\)"),
        ({"eta": 1}, "eta is claimed to be 1; recounted it is 2"),
        ({"eta": -2}, "eta is claimed to be -2"),
        ({"eta": None}, "eta is claimed to be None"),
        ({"status": "optimal"}, "is 'feasible'; found 'optimal'"),
        ({"status": "proven"}, "found 'proven'"),
        ({"bound": 2}, "is 'optimal'; found 'feasible'"),
        ({"bound": 3, "status": "optimal"}, "between 0 and eta = 2; found 3"),
        ({"bound": -1}, "between 0 and eta"),
        ({"bound": 0.5}, "whole number.*found 0.5"),
        ({"bound": np.nan}, "whole number.*found nan"),
        ({"bound": None}, "whole number.*found None"),
        ({"weights": np.array([2.0, 5.0])}, r"one weight per tree, 3; found shape \(2,\)"),
        ({"weights": np.array([[2.0, 5.0, 10.0]])}, r"found shape \(1, 3\)"),
        ({"weights": np.array([2.0, 5.0, 101.0])}, "weight of tree 2 is 101.0"),
        ({"weights": np.array([0.5, 5.0, 10.0])}, "weight of tree 0 is 0.5"),
        ({"weights": np.array([2.0, np.nan, 10.0])}, "weight of tree 1 is nan"),
        ({"weights": np.array([2.0, 5.0, np.inf])}, "weight of tree 2 is inf"),
        ({"weights": np.array([2.0, 2.5, 5.0])}, "margin of row 2 is"),
        ({"weights": ["a", 1, 1]}, "must be numbers"),
        ({"offset": 0.5}, "offset is 0.5; without offset"),
        ({"offset": np.nan}, "offset is nan"),
        ({"offset": None}, "must be a number; found None"),
        ({"offset": "0"}, "must be a number; found '0'"),
        ({"offset": np.complex128(5j)}, "must be a number; found .*5j"),
        ({"offset": 10**400}, "the offset must be numbers; "),
        ({"weights": GOOD.weights + 5j}, "weights must be numbers; found .* of type complex128"),
        ({"weights": GOOD.weights.astype(str)}, "weights must be numbers; found .* of type <U"),
        ({"weights": np.array(["2", 5, 10], object)}, "weights must be numbers"),
        ({"weights": GOOD.weights.astype("m8[s]")}, "weights must be numbers"),
        ({"weights": np.ma.array(GOOD.weights, mask=True)}, r"weights .* missing \(masked\)"),
        ({"weights": [10**400, 5, 10]}, "weights must be numbers"),
        ({"labels": np.ma.array(GOOD.labels, mask=True)}, r"labels .* missing \(masked\)"),
        ({"labels": GOOD.labels + 0j}, "labels must be numbers"),
        ({"labels": [[1], [1, -1]]}, "labels must be numbers"),
        ({"eta": np.array([2])}, r"eta is claimed to be array\(\[2\]\); recounted it is 2"),
        ({"eta": 2 + 0j}, r"eta is claimed to be \(2\+0j\)"),
        ({"bound": True}, "whole number.*found True"),
        ({"status": np.array(["feasible"])}, "found array"),
    ],
)
def test_what_is_tampered_with_is_named(change, says):
    with pytest.raises(VerificationError, match=says):
        c2rf.verify(ROWS, 1, replace(GOOD, **change))


def test_other_votes_or_totals_do_not_fit():
    with pytest.raises(VerificationError, match="recounted it is 3"):
        c2rf.verify(ROWS, 0, GOOD)
    with pytest.raises(VerificationError, match="labels, one a row"):
        c2rf.verify(ROWS[:3], 1, GOOD)
    with pytest.raises(VerificationError, match="label of row 0"):
        c2rf.verify(-ROWS, 1, GOOD)


def test_a_narrower_box_does_not_fit():
    c2rf.verify(ROWS, 1, GOOD, 2, 10)
    with pytest.raises(VerificationError, match=r"outside \[2.5, 10\]"):
        c2rf.verify(ROWS, 1, GOOD, 2.5, 10)


def just_within(value, direction):
    """The last float whose exact distance from ``value`` is at most the tolerance."""
    limit = Fraction(value) + direction * TOLERANCE
    near = float(limit)
    inside = near if direction * (Fraction(near) - limit) <= 0 else np.nextafter(near, value)
    return float(inside), float(np.nextafter(inside, direction * np.inf))


def test_the_box_is_exact_to_within_the_tolerance():
    rows = np.ones((1, 1), dtype=np.int8)
    for bound, direction in ((2.0, -1), (3.0, 1)):
        inside, outside = just_within(bound, direction)
        c2rf.verify(rows, 1, claim(rows, 1, [inside]), 2, 3)
        with pytest.raises(VerificationError, match="weight of tree 0"):
            c2rf.verify(rows, 1, claim(rows, 1, [outside]), 2, 3)


@pytest.mark.parametrize("tree_weight", [3.0, 1000.5, 2.0**20])
def test_margins_are_exact_to_within_the_tolerance(tree_weight):
    # The score is w - weight: the last float w on either side of the least margin decides.
    rows = np.array([[1, -1]], dtype=np.int8)
    least = Fraction(tree_weight) + 1 - TOLERANCE
    near = float(least)
    enough = near if Fraction(near) >= least else float(np.nextafter(near, np.inf))
    short = float(np.nextafter(enough, 0))
    assert Fraction(short) < least <= Fraction(enough)
    c2rf.verify(rows, 1, claim(rows, 1, [enough, tree_weight]), 1, 2.0**21)
    with pytest.raises(VerificationError, match="margin of row 0"):
        c2rf.verify(rows, 1, claim(rows, 1, [short, tree_weight]), 1, 2.0**21)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 40),
    st.sampled_from([1.0, 1e3, 1e8, 1e15, 1e17]),
    st.integers(-3, 3),
)
def test_the_exact_margin_decides_whatever_the_floats_say(seed, n_trees, scale, ulps):
    rng = np.random.default_rng(seed)
    row = rng.choice([-1, 1], size=n_trees)
    weights = rng.uniform(0.5, 1, size=n_trees) * scale
    # Bring the score as near to ±(1 - tolerance) as the last weight can, give or take some ulps.
    others = exact_scores([row[:-1]], weights[:-1])[0]
    weights[-1] = float(abs(rng.choice([-1, 1]) * (1 - TOLERANCE) - others))
    for _ in range(abs(ulps)):
        weights[-1] = np.nextafter(weights[-1], np.sign(ulps) * np.inf)
    rows = row[None, :].astype(np.int8)
    (score,) = exact_scores(rows, weights)
    if abs(score) >= 1 - TOLERANCE:
        assert certain_signs(rows, weights).tolist() == [1 if score > 0 else -1]
    else:
        with pytest.raises(VerificationError, match="margin of row 0"):
            certain_signs(rows, weights)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_sign_lost_in_rounding_is_found(sign):
    # 3 - 1e17 + 1e17 is 0 in floats, added from the left.
    rows = sign * np.array([[1, -1, 1]], dtype=np.int8)
    weights = np.array([3.0, 1e17, 1e17])
    assert certain_signs(rows, weights).tolist() == [sign]
    c2rf.verify(rows, 0, claim(rows, 0, weights), 1, 1e18)
    wrong = replace(claim(rows, 0, weights), labels=np.array([-sign]))
    with pytest.raises(VerificationError, match="label of row 0"):
        c2rf.verify(rows, 0, wrong, 1, 1e18)


def test_scores_that_overflow_are_computed_exactly():
    rows = np.array([[1, 1, -1, -1, -1], [1, 1, 1, 1, 1]], dtype=np.int8)
    assert certain_signs(rows, np.array([1.5e308] * 4 + [3.0])).tolist() == [-1, 1]


def test_the_row_with_the_bad_margin_is_named():
    rows = np.array([[1, 1, 1], [1, -1, 1], [-1, -1, 1], [-1, -1, 1]], dtype=np.int8)
    with pytest.raises(VerificationError, match=r"margin of row 2 is 0\.5;"):
        certain_signs(rows, np.array([1.5, 2.0, 3.0]))


def test_a_shift_counts_and_needs_its_range():
    rows = np.array([[1, -1], [1, 1]], dtype=np.int8)
    shifted = claim(rows, 1, [2.0, 3.0], offset=-2.5)
    c2rf.verify(rows, 1, shifted, offset=(-3, 3))
    with pytest.raises(VerificationError, match=r"offset is -2\.5; without offset"):
        c2rf.verify(rows, 1, shifted)
    with pytest.raises(VerificationError, match=r"outside \[-2.0, 3.0\]"):
        c2rf.verify(rows, 1, shifted, offset=(-2, 3))
    with pytest.raises(VerificationError, match="margin of row 0"):
        c2rf.verify(rows, 1, replace(shifted, offset=0.5), offset=(-3, 3))


@given(votes(), st.integers(0, 2**32 - 1), st.data())
def test_tables_and_rows_are_verified_alike(rows, seed, data):
    target = data.draw(st.integers(0, len(rows)))
    weights = 2.0 * np.random.default_rng(seed).integers(1, 9, size=rows.shape[1])
    weights[0] += 1  # an odd sum of integers: all margins hold
    table = PatternTable.from_votes(rows, inverse=True)
    solution = claim(rows, target, weights)
    c2rf.verify(rows, target, solution)
    labels = claim(table.patterns, 0, weights).labels
    np.testing.assert_array_equal(labels[table.inverse], solution.labels)
    c2rf.verify(table, target, replace(solution, labels=labels))
    other = replace(solution, eta=solution.eta + 1, bound=solution.bound + 1)
    with pytest.raises(VerificationError, match="eta"):
        c2rf.verify(table, target, replace(other, labels=labels))


def many_patterns(weight):
    """200 000 random patterns of 99 trees of equal weight, and the right claim."""
    rows = np.random.default_rng(0).integers(2, size=(200_000, 99), dtype=np.int8) * 2 - 1
    table = PatternTable.from_votes(rows.astype(np.int8))
    sums = table.patterns.sum(axis=1, dtype=np.int64)
    labels = np.sign(sums).astype(np.int8)
    solution = Solution(np.full(99, weight), 0.0, labels, 0, 0, "optimal", 0.0)
    return table, int((sums > 0).sum()), solution


def test_many_patterns_in_bounded_memory():
    table, target, solution = many_patterns(1.0)
    tracemalloc.start()
    try:
        c2rf.verify(table, target, solution)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * table.n_patterns * table.n_trees  # no float copy of all patterns


def test_many_patterns_that_only_exact_arithmetic_decides():
    # The tightest margin of each is 1 - 1e-9, within rounding: some 30 000 have it.
    enough, short = just_within(1.0, -1)
    table, target, solution = many_patterns(enough)
    c2rf.verify(table, target, solution)
    with pytest.raises(VerificationError, match="margin of row"):
        c2rf.verify(table, target, replace(solution, weights=np.full(99, short)), lower=0.5)


PROVEN_VOTES = np.where(np.random.default_rng(0).random((12, 5)) < 0.6, 1, -1)


@pytest.fixture(scope="module")
def proven() -> Solution:
    solution = c2rf.solve(PROVEN_VOTES, 0, certificate=True)
    assert solution.bound == solution.eta > 0
    return solution


class TestProof:
    """What a certificate proves is checked with the rest."""

    def test_it_is_accepted(self, proven):
        c2rf.verify(PROVEN_VOTES, 0, proven)

    def test_a_certificate_of_another_bound(self, proven):
        less = replace(proven, bound=proven.bound - 1, status="feasible")
        said = f"claimed to be {less.bound}; its certificate is for {proven.bound}"
        with pytest.raises(VerificationError, match=said):
            c2rf.verify(PROVEN_VOTES, 0, less)

    def test_a_certificate_without_its_tree(self, proven):
        forged = replace(proven, certificate={**proven.certificate, "tree": []})
        with pytest.raises(VerificationError):
            c2rf.verify(PROVEN_VOTES, 0, forged)

    def test_a_certificate_of_other_votes(self, proven):
        other = PROVEN_VOTES.copy()
        other[0] *= -1
        found = c2rf.solve(other, 0)
        with pytest.raises(VerificationError):
            c2rf.verify(other, 0, replace(found, certificate=proven.certificate))


class TestThereAreNoWeights:
    def test_the_proof_of_the_error_is_checked(self):
        tie = [[1, -1], [1, 1]]
        with pytest.raises(c2rf.InfeasibleError) as found:
            c2rf.solve(tie, 1, upper=1.0)
        c2rf.verify(tie, 1, found.value, upper=1.0)
        for changed in ({"upper": 2.0}, {"offset": (0.0, 0.5)}):
            with pytest.raises(VerificationError, match="another problem"):
                c2rf.verify(tie, 1, found.value, **{"upper": 1.0} | changed)
        with pytest.raises(VerificationError, match="must be an object"):
            c2rf.verify(tie, 1, c2rf.InfeasibleError("so they say"), upper=1.0)

    def test_the_proof_of_a_bound_is_another_claim(self):
        solution = c2rf.solve([[1, 1]], 0, certificate=True)
        false = c2rf.InfeasibleError("none", solution.certificate)
        with pytest.raises(VerificationError, match="the certificate is for the bound 1"):
            c2rf.verify([[1, 1]], 0, false)

    @pytest.mark.parametrize("offset", [None, (0.5, 0.5)])
    def test_the_advice_is_true(self, offset):
        """A box with two consecutive integers, and an offset that is no integer: no weights."""
        upper, rows = (2.0, [[-1, 1], [1, -1]]) if offset else (1.0, [[1, 1], [1, -1]])
        with pytest.raises(c2rf.InfeasibleError) as found:
            c2rf.solve(rows, 1, 1.0, upper, offset=offset)
        said = "and an offset whose range holds an integer" in str(found.value)
        assert said == (offset is not None)


def test_a_time_limit_of_the_check():
    solution = c2rf.solve([[1, 1]], 0, certificate=True)
    c2rf.verify([[1, 1]], 0, solution, time_limit=60)
    with pytest.raises(VerificationError, match="longer than the time limit"):
        c2rf.verify([[1, 1]], 0, solution, time_limit=0)
    with pytest.raises(c2rf.InputError, match="time_limit must be"):
        c2rf.verify([[1, 1]], 0, solution, time_limit=-1)


@pytest.mark.parametrize("found", [None, {}, ValueError("no weights")])
def test_what_is_no_solution_is_named(found, tmp_path):
    with pytest.raises(InputTypeError, match=type(found).__name__):
        c2rf.verify(ROWS, 1, found)
    with pytest.raises(InputTypeError, match=type(found).__name__):
        c2rf.write_vipr(ROWS, 1, found, tmp_path / "p.vipr")
