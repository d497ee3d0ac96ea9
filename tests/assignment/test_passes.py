"""Setting apart the rows far from all boundaries changes nothing."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from c2rf.assignment import assign, one_margin, parts, passes
from c2rf.assignment.parts import ScoredRows
from c2rf.totals.bounds import Bounds
from margin_cases import large_case


def table(labels, groups, n_classes):
    counts = np.zeros((groups.max() + 1, n_classes), dtype=np.int64)
    np.add.at(counts, (groups, labels), 1)
    return counts


def make(seed, n_rows, n_classes, n_groups, kind, tied):
    """Scores, groups, and bounds of some kind that can be met."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n_rows, n_classes))
    scores = np.round(scores * 3) if tied else scores
    groups = rng.integers(0, n_groups, n_rows)
    groups = np.unique(groups, return_inverse=True)[1]
    counts = table(
        rng.choice(n_classes, n_rows, p=rng.dirichlet(np.ones(n_classes))), groups, n_classes
    )
    sizes, total = counts.sum(axis=1), counts.sum(axis=0)
    free = np.zeros_like(counts), np.repeat(sizes[:, None], n_classes, axis=1)
    none = np.zeros_like(total), np.full_like(total, n_rows)
    bounds = {
        "overall": Bounds(total, total, *free, sizes),
        "groups": Bounds(*none, counts, counts, sizes),
        "both": Bounds(total, total, np.maximum(counts - 3, 0), counts + 5, sizes),
        "ranges": Bounds(total - total // 4, total + total // 4, *free, sizes),
        "free": Bounds(*none, *free, sizes),
    }[kind]
    return scores, groups, bounds


def small(case, seed=0, many=True, block=333):
    """Assign few rows as very many are."""
    scores, groups, bounds = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "FEW", 0 if many else 10**9)
        patch.setattr(passes, "SAMPLE", 400)
        patch.setattr(one_margin, "SAMPLE_PER_GROUP", 200)
        patch.setattr(parts, "BLOCK", block)
        return assign(scores, bounds, groups, seed)


KINDS = ["overall", "groups", "both", "ranges", "free"]


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("n_groups", [1, 4])
@pytest.mark.parametrize("kind", KINDS)
def test_two_classes_are_labeled_as_at_once(kind, n_groups, tied):
    for seed in range(4):
        case = make(seed, 4000, 2, n_groups, kind, tied)
        at_once, apart = small(case, many=False), small(case)
        np.testing.assert_array_equal(apart.labels, at_once.labels)
        np.testing.assert_array_equal(apart.counts, at_once.counts)
        np.testing.assert_allclose(apart.offsets, at_once.offsets)
        assert apart.objective == pytest.approx(at_once.objective)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("n_groups", [1, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_more_classes_are_labeled_as_well_as_at_once(kind, n_groups, tied):
    case = make(1, 3000, 4, n_groups, kind, tied)
    at_once, apart = small(case, many=False), small(case)
    assert apart.objective == pytest.approx(at_once.objective, rel=1e-9)
    _, groups, bounds = case
    counts = table(apart.labels, groups, 4)
    np.testing.assert_array_equal(apart.counts, counts)
    assert (counts >= bounds.group_lower).all()
    assert (counts <= bounds.group_upper).all()
    assert (counts.sum(axis=0) >= bounds.lower).all()
    assert (counts.sum(axis=0) <= bounds.upper).all()
    if not tied:  # there is one best only
        np.testing.assert_array_equal(apart.labels, at_once.labels)
        np.testing.assert_allclose(apart.offsets, at_once.offsets, atol=1e-9)


@pytest.fixture
def near(monkeypatch):
    """How many rows were looked at in each bracket."""
    seen = []
    original = passes._merge_bracketed

    def merge(found):
        seen.append(original(found))
        return seen[-1]

    monkeypatch.setattr(passes, "_merge_bracketed", merge)
    return seen


def test_few_rows_are_near(near):
    small(make(0, 40_000, 2, 1, "overall", False), block=10**9)
    assert not near  # one part needs no merging
    small(make(0, 40_000, 2, 1, "overall", False), block=20_000)
    assert len(near) == 1
    assert near[0][0].n_rows < 25_000


@pytest.mark.parametrize("n_classes", [2, 3])
def test_passes_over_very_many_rows_narrow_the_bracket(near, monkeypatch, n_classes):
    case = make(0, 40_000, n_classes, 2, "both", False)
    expected = small(case, many=False).labels
    monkeypatch.setattr(passes, "MOST_NEAR", 10)
    np.testing.assert_array_equal(small(case, block=20_000).labels, expected)
    assert min(rows.n_rows for rows, _ in near) < 12_000


def test_crossing_margins_and_weights_of_many_rows_as_of_few(monkeypatch):
    scores, groups, bounds = large_case(30_000)
    weights = np.random.default_rng(0).integers(1, 3, 30_000).astype(float)
    sizes = np.bincount(groups, weights, len(bounds.group_sizes))
    heavy = replace(bounds, group_sizes=sizes, upper=0 * bounds.upper + sizes.sum())
    heavy = replace(heavy, group_upper=0 * heavy.group_upper + sizes[:, None])
    heavy = replace(
        heavy,
        margins=tuple(replace(m, lower=m.lower * 1.5, upper=m.upper * 1.5) for m in bounds.margins),
    )
    few = assign(scores, bounds, groups, 0)
    monkeypatch.setattr(passes, "FEW", 1000)
    monkeypatch.setattr(passes, "SAMPLE", 3000)
    monkeypatch.setattr(parts, "BLOCK", 7000)
    for most in (10**9, 10):
        monkeypatch.setattr(passes, "MOST_NEAR", most)
        many = assign(scores, bounds, groups, 0)
        np.testing.assert_array_equal(many.labels, few.labels)
        np.testing.assert_array_equal(many.counts, few.counts)
        assert many.gap <= 1e-9
        assert many.objective == pytest.approx(few.objective)


def test_a_misleading_sample_is_found_out(monkeypatch):
    case = make(3, 4000, 3, 2, "both", False)
    at_once = small(case, many=False)
    for wrong in (0.0, 1.0, -np.inf):
        offsets = np.array([[0.0, 5.0, wrong], [1.0, 0.0, 0.0]])
        misled = passes.FirstDuals(np.empty(0), offsets, np.full(2, 0.3))
        monkeypatch.setattr(one_margin, "first_duals", lambda *_, misled=misled: misled)
        np.testing.assert_array_equal(small(case).labels, at_once.labels)


def test_groups_without_a_sampled_point_and_impossible_samples():
    scores, _, _ = make(5, 4000, 3, 1, "free", False)
    groups = np.zeros(4000, dtype=int)
    groups[7], groups[9] = 1, 2
    counts = table(np.arange(4000) % 3, groups, 3)
    sizes, total = counts.sum(axis=1), counts.sum(axis=0)
    for bounds in (
        Bounds(total, total, counts, counts, sizes),
        Bounds(total, total, np.zeros_like(counts), np.repeat(sizes[:, None], 3, axis=1), sizes),
    ):
        case = scores, groups, bounds
        np.testing.assert_array_equal(small(case).labels, small(case, many=False).labels)


@given(seed=st.integers(0, 2**31), n_classes=st.integers(2, 3), tied=st.booleans())
@settings(max_examples=10, deadline=None)
def test_blocks_and_disks_do_not_matter(tmp_path_factory, seed, n_classes, tied):
    scores, groups, bounds = make(seed, 2000, n_classes, 2, "both", tied)
    mapped = np.memmap(tmp_path_factory.mktemp("scores") / "x", float, "w+", shape=scores.shape)
    mapped[:] = scores
    expected = small((scores, groups, bounds), 1).labels
    for block in (11, 77, 10**6):
        found = small((mapped, groups, bounds), 1, block=block)
        np.testing.assert_array_equal(found.labels, expected)


@pytest.mark.parametrize("decimals", [0, 9])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_rows_that_travel_are_the_same_and_equal_ones_are_small(decimals, is_weighted):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(50_000, 5)).round(decimals)[:, [0] * 4 + [1]]
    weights = rng.integers(1, 3, 50_000).astype(float) if is_weighted else None
    numbers = np.cumsum(rng.integers(1, 200, 50_000)) + 10**9
    for own in (numbers, 7):
        rows = ScoredRows(scores, rng.integers(0, 3, 50_000), weights, 3, own)
        packed = pickle.dumps(rows)
        there = pickle.loads(packed)
        np.testing.assert_array_equal(there.scores, scores)
        np.testing.assert_array_equal(there.groups, rows.groups)
        np.testing.assert_array_equal(there.row_numbers, rows.row_numbers)
        assert (there.weights is None) == (weights is None)
        if is_weighted:
            np.testing.assert_array_equal(there.weights, weights)
        if decimals == 0:
            assert len(packed) < 6 * 50_000
    empty = pickle.loads(pickle.dumps(rows.taken(np.empty(0, int))))
    assert empty.n_rows == 0
    assert empty.scores.shape == (0, 5)


@pytest.fixture
def many_equal(monkeypatch):
    """Some ten thousand equal rows are very many."""
    monkeypatch.setattr(passes, "FEW", 0)
    monkeypatch.setattr(passes, "SAMPLE", 8000)
    monkeypatch.setattr(passes, "MOST_NEAR", 1000)
    monkeypatch.setattr(parts, "BLOCK", 10_000)


@pytest.mark.parametrize("kind", ["overall", "groups", "both", "ranges"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_of_very_many_equal_rows_a_hash_says_who_is_near(near, many_equal, n_classes, kind):
    scores, groups, bounds = make(2, 40_000, n_classes, 2, kind, False)
    scores = np.round(scores / 2)
    at_once = small((scores, groups, bounds), many=False)
    near.clear()
    apart = assign(scores, bounds, groups, 0)
    (rows, rest), *_ = near
    assert rows.n_rows < 10_000
    assert rest.n_split > 2000
    assert apart.objective == pytest.approx(at_once.objective, rel=1e-12)
    assert apart.gap <= 1e-9
    np.testing.assert_array_equal(apart.counts.sum(axis=0), at_once.counts.sum(axis=0))
    np.testing.assert_array_equal(apart.counts, table(apart.labels, groups, n_classes))
    if n_classes == 2:  # the ties have one order only
        np.testing.assert_array_equal(apart.labels, at_once.labels)


def test_equal_rows_with_crossing_margins_are_cut_too(near, many_equal, monkeypatch):
    monkeypatch.setattr(passes, "_MANY_EQUAL", 16)
    scores, groups, bounds = large_case(40_000)
    scores = np.round(scores / 4)
    found = assign(scores, bounds, groups, 0)
    assert near[0][1].n_split > 2000
    for margin in bounds.margins:
        sums = margin.sums(table(found.labels, groups, scores.shape[1]))
        assert (sums >= margin.lower).all()
        assert (sums <= margin.upper).all()
    assert found.gap <= 1e-9


def test_a_wrong_cut_is_found_out(many_equal, monkeypatch):
    case = make(2, 40_000, 2, 1, "overall", False)
    case = np.round(case[0] / 2), *case[1:]
    expected = small(case, many=False).labels
    splits = passes._tie_splits
    for shift in (-0.4, 0.3):
        monkeypatch.setattr(
            passes, "_tie_splits",
            lambda *args, shift=shift: (c := splits(*args))._replace(ends=(c.ends + shift) % 1),
        )  # fmt: skip
        found = assign(case[0], case[2], case[1], 0)
        np.testing.assert_array_equal(found.labels, expected)
