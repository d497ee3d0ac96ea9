"""Setting apart the rows far from all boundaries changes nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from c2rf.assignment import assign
from c2rf.assignment import large_populations as large
from c2rf.assignment.large_populations import Sizes
from c2rf.totals.bounds import Bounds


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


def small(case, seed=0, many=True):
    """Assign few rows as very many are."""
    scores, groups, bounds = case
    sizes = Sizes(0 if many else 10**9, sample=400, sample_per_group=200, block=333)
    return assign(scores, bounds, groups, seed, sizes=sizes)


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


def test_few_rows_are_near(monkeypatch):
    seen = []
    original = large._finish
    monkeypatch.setattr(
        large,
        "_finish",
        lambda split, *rest: seen.append(len(split.rows)) or original(split, *rest),
    )
    small(make(0, 40_000, 2, 1, "overall", False))
    assert len(seen) == 1
    assert seen[0] < 25_000


def test_a_misleading_sample_is_found_out(monkeypatch):
    case = make(3, 4000, 3, 2, "both", False)
    at_once = small(case, many=False)
    for wrong in (0.0, 1.0, -np.inf):
        offsets = np.array([[0.0, 5.0, wrong], [1.0, 0.0, 0.0]])
        monkeypatch.setattr(large, "_sample_offsets", lambda *_, offsets=offsets: offsets)
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
    sizes = Sizes(0, sample=400)
    expected = assign(scores, bounds, groups, 1, sizes=sizes).labels
    for block in (1, 77, 10**6):
        found = assign(mapped, bounds, groups, 1, sizes=sizes._replace(block=block))
        np.testing.assert_array_equal(found.labels, expected)
