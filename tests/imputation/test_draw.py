"""Labels drawn given that totals hold: frequencies agree with enumeration, all totals are met.

The seeds are fixed: a p-value below 0.001 is a mistake in the code, not bad luck.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from c2rf.imputation.chain import BindingPart, Cells, exchange
from c2rf.imputation.draw import draw_labels, parts_that_bind, redraw_pairs
from c2rf.imputation.poisson import choose, choose_in_groups, matching_shift
from c2rf.totals.bounds import Bounds, MarginBounds
from imputation.enumeration import fits, label_sets
from plain import plain_copy

LEAST_P = 1e-3


def logs_of(seed, n_rows, n_classes):
    return np.log(np.random.default_rng(seed).dirichlet(np.ones(n_classes), size=n_rows))


def part_of(cells, labels, n_classes, slack=0):
    """Return bounds that some labels meet, with room on both sides."""
    counts = np.zeros((int(cells.max()) + 1, n_classes), dtype=np.int64)
    np.add.at(counts, (cells, labels), 1)
    return BindingPart(cells, np.maximum(counts - slack, 0), counts + slack)


class TestTwoClasses:
    @pytest.mark.parametrize("number", [1, 3, 6])
    def test_sets_are_as_frequent_as_their_odds_say(self, number):
        # Many copies of one small case are as many groups: one call draws all of them.
        odds = np.random.default_rng(1).normal(0, 2, 7)
        n = 4000
        chosen = choose_in_groups(
            np.tile(odds, n), np.repeat(np.arange(n), 7), np.full(n, number),
            np.random.default_rng(2),
        ).reshape(n, 7)  # fmt: skip
        logs = np.column_stack([np.zeros(7), odds])
        total = BindingPart(np.zeros(1, dtype=int), np.array([[7 - number, number]]),
                     np.array([[7 - number, number]]))  # fmt: skip
        sets, chances = label_sets(logs, [total], np.zeros(7, dtype=int))
        assert fits(chosen.astype(int), sets, chances) > LEAST_P

    def test_blocks_and_windows_do_not_change_inclusion_probabilities(self):
        # 40 rows in blocks of 8; theory by sums over sets of given sizes, which is quadratic.
        log_odds = np.random.default_rng(3).normal(0, 1.5, 40)
        rng = np.random.default_rng(4)
        n = 800
        share = np.mean([choose(log_odds, 13, rng, block_rows=8) for _ in range(n)], axis=0)
        theory = inclusion_probabilities(log_odds, 13)
        error = np.sqrt(theory * (1 - theory) / n)
        assert theory.sum() == pytest.approx(13)
        assert (np.abs(share - theory) < 4.5 * error + 1e-9).all()

    @pytest.mark.parametrize("n_rows", [1, 2, 70_000, 200_001])
    def test_any_size_and_number(self, n_rows):
        rng = np.random.default_rng(5)
        log_odds = rng.normal(0, 3, n_rows)
        for number in {0, 1, n_rows // 3, n_rows}:
            assert choose(log_odds, number, rng).sum() == number

    def test_many_rows_are_chosen_as_often_as_theory_says(self):
        # Of many rows, inclusion probabilities are all but those of independent choices.
        rng = np.random.default_rng(6)
        log_odds = np.repeat([-2.0, 0.0, 2.0], 20_000)
        chosen = choose(log_odds, 30_000, rng).reshape(3, -1).mean(axis=1)
        p = 1 / (1 + np.exp(-np.array([-2.0, 0.0, 2.0])))
        assert np.abs(chosen - p).max() < 0.015

    def test_odds_far_apart(self):
        rng = np.random.default_rng(7)
        log_odds = np.array([-700.0] * 5 + [700.0] * 5)
        assert choose(log_odds, 5, rng).tolist() == [False] * 5 + [True] * 5
        assert choose(log_odds, 7, rng)[5:].all()

    @given(st.integers(2, 60), st.integers(0, 10**6))
    @settings(max_examples=40, deadline=None)
    def test_probabilities_are_shifted_to_the_number(self, n_rows, seed):
        rng = np.random.default_rng(seed)
        log_odds, number = rng.normal(0, 5, (1, n_rows)), rng.integers(1, n_rows, 1)
        shift = matching_shift(log_odds, number)
        assert (1 / (1 + np.exp(-log_odds - shift))).sum() == pytest.approx(number[0], rel=1e-6)


class TestMoreClasses:
    def test_three_classes_agree_with_enumeration(self):
        logs = logs_of(8, 5, 3)
        n = 4000
        start = np.tile([0, 0, 1, 1, 2], n)
        groups = np.repeat(np.arange(n), 5)
        rng = np.random.default_rng(9)
        for _ in range(8):
            redraw_pairs(start, np.tile(logs, (n, 1)), groups, rng)
        total = np.array([[2, 2, 1]])
        part = BindingPart(np.zeros(1, dtype=int), total, total)
        sets, chances = label_sets(logs, [part], np.zeros(5, dtype=int))
        assert fits(start.reshape(n, 5), sets, chances) > LEAST_P

    def test_the_whole_way_in_groups(self):
        # 2,000 groups of five rows with totals of their own: each group is a draw of its own.
        logs, n = logs_of(10, 5, 3), 2000
        groups = np.repeat(np.arange(n), 5)
        totals = np.tile([2, 2, 1], (n, 1))
        sizes = np.full(n, 5)
        overall = totals.sum(axis=0)
        bounds = Bounds(overall, overall, totals, totals, sizes)
        drawn = draw_labels(np.tile(logs, (n, 1)), bounds, groups, np.random.default_rng(11))
        assert not drawn.is_exact
        part = BindingPart(np.zeros(1, dtype=int), totals[:1], totals[:1])
        sets, chances = label_sets(logs, [part], np.zeros(5, dtype=int))
        assert fits(drawn.labels.reshape(n, 5), sets, chances) > LEAST_P


CROSSINGS = {
    "pairs": (6, 2, [np.zeros(6, dtype=int)], 0),
    "two crossing margins": (8, 2, [np.arange(8) % 2, np.arange(8) // 2 % 2], 0),
    "a cycle of six": (9, 2, [np.arange(9) % 3, np.arange(9) // 3], 0),
    "three classes, two margins": (8, 3, [np.arange(8) % 2, np.arange(8) // 4], 0),
    "ranges": (6, 2, [np.zeros(6, dtype=int), np.arange(6) % 2], 1),
}


class TestChain:
    @pytest.mark.parametrize("case", CROSSINGS)
    def test_agrees_with_enumeration(self, case):
        n_rows, n_classes, cells, slack = CROSSINGS[case]
        logs = logs_of(12, n_rows, n_classes)
        labels = np.random.default_rng(3).integers(n_classes, size=n_rows)
        parts = [part_of(own, labels, n_classes, slack) for own in cells]
        network = Cells.of(parts, np.arange(n_rows))
        rng = np.random.default_rng(13)
        drawn = np.empty((600, n_rows), dtype=int)
        for row in drawn:
            exchange(labels, logs, network, 15 * n_rows, rng)
            row[:] = labels
        sets, chances = label_sets(logs, parts, np.arange(n_rows))
        assert len(sets) > 1
        assert fits(drawn, sets, chances) > LEAST_P

    @pytest.mark.parametrize("case", CROSSINGS)
    def test_what_is_compiled_is_what_is_written(self, case):
        n_rows, n_classes, cells, slack = CROSSINGS[case]
        logs = logs_of(14, n_rows, n_classes)
        start = np.random.default_rng(3).integers(n_classes, size=n_rows)
        parts = [part_of(own, start, n_classes, slack) for own in cells]
        network = Cells.of(parts, np.arange(n_rows))
        found = []
        for do in (exchange, plain_copy("c2rf.imputation.chain").exchange):
            labels = start.copy()
            changed = do(labels, logs, network, 60, np.random.default_rng(0))
            found.append((changed, labels.tolist()))
        assert found[0] == found[1]
        assert found[0][0] > 0


class TestTotals:
    @given(st.integers(0, 10**6))
    @settings(max_examples=25, deadline=None)
    def test_every_total_is_met(self, seed):
        rng = np.random.default_rng(seed)
        n_rows, n_classes = int(rng.integers(4, 40)), int(rng.integers(2, 4))
        cells = [rng.integers(3, size=n_rows) for _ in range(2)]
        names, groups = np.unique(np.column_stack(cells), axis=0, return_inverse=True)
        truth = rng.integers(n_classes, size=n_rows)
        sizes = np.bincount(groups)
        margins = []
        for k in range(2):
            part = part_of(cells[k], truth, n_classes, int(rng.integers(0, 2)))
            margins.append(
                MarginBounds((f"m{k}",), list(range(len(part.lower))), names[:, k], part.lower,
                             part.upper)
            )  # fmt: skip
        free = np.zeros((len(sizes), n_classes), dtype=np.int64)
        bounds = Bounds(
            free[0], free[0] + n_rows, free, free + sizes[:, None], sizes, tuple(margins)
        )
        drawn = draw_labels(logs_of(seed, n_rows, n_classes), bounds, groups, rng)
        for part in parts_that_bind(bounds):
            counts = part_of(part.cells[groups], drawn.labels, n_classes).lower
            assert (counts >= part.lower[: len(counts)]).all()
            assert (counts <= part.upper[: len(counts)]).all()

    def test_nobody_and_everybody(self):
        rng = np.random.default_rng(0)
        for total in ([5, 0], [0, 5]):
            bounds = Bounds.overall(total, total, 5)
            drawn = draw_labels(logs_of(1, 5, 2), bounds, np.zeros(5, dtype=int), rng)
            assert np.bincount(drawn.labels, minlength=2).tolist() == total
            assert drawn.is_exact

    def test_without_totals_labels_are_independent_draws(self):
        logs = np.tile(np.log([[0.2, 0.8]]), (20_000, 1))
        bounds = Bounds.overall([0, 0], [20_000, 20_000], 20_000)
        drawn = draw_labels(logs, bounds, np.zeros(20_000, dtype=int), np.random.default_rng(0))
        assert abs(drawn.labels.mean() - 0.8) < 0.015


def inclusion_probabilities(log_odds, number):
    """Return the probability of each row to be chosen: sums over sets by their sizes."""

    def ways(odds, most):
        sums = np.zeros(most + 1)
        sums[0] = 1.0
        for each in odds:
            sums[1:] += each * sums[:-1]
        return sums[most]

    odds = np.exp(log_odds)
    others = [ways(np.delete(odds, i), number - 1) for i in range(len(odds))]
    return odds * others / ways(odds, number)
