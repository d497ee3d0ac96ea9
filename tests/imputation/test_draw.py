"""Labels drawn given that totals hold: frequencies agree with enumeration, all totals are met.

The seeds are fixed: a p-value below 0.001 is a mistake in the code, not bad luck.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from c2rf.imputation.draw import (
    MarginIndex,
    binding_margins,
    draw_labels,
    drawn_totals,
    gibbs_sweep,
    run_excursions,
)
from c2rf.totals.bounds import Bounds, MarginBounds
from c2rf.totals.stated import Estimate, Totals
from imputation.enumeration import LEAST_P, fits, label_sets, margin_of
from plain import plain_copy


def logs_of(seed, n_rows, n_classes):
    return np.log(np.random.default_rng(seed).dirichlet(np.ones(n_classes), size=n_rows))


def margin_around(cells, labels, n_classes, slack=0):
    """Return bounds that some labels meet, with slack on both sides."""
    counts = np.zeros((int(cells.max()) + 1, n_classes), dtype=np.int64)
    np.add.at(counts, (cells, labels), 1)
    return margin_of(cells, np.maximum(counts - slack, 0), counts + slack)


class TestMoreClasses:
    def test_three_classes_agree_with_enumeration(self):
        logs = logs_of(8, 5, 3)
        n = 4000
        start = np.tile([0, 0, 1, 1, 2], n)
        groups = np.repeat(np.arange(n), 5)
        rng = np.random.default_rng(9)
        for _ in range(8):
            gibbs_sweep(start, np.tile(logs, (n, 1)), groups, rng)
        total = np.array([[2, 2, 1]])
        part = margin_of(np.zeros(1, dtype=int), total, total)
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
        drawn, method = draw_labels(
            np.tile(logs, (n, 1)), bounds, groups, np.random.default_rng(11)
        )
        assert method == "markov-chain"
        part = margin_of(np.zeros(1, dtype=int), totals[:1], totals[:1])
        sets, chances = label_sets(logs, [part], np.zeros(5, dtype=int))
        assert fits(drawn.reshape(n, 5), sets, chances) > LEAST_P


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
        parts = [margin_around(own, labels, n_classes, slack) for own in cells]
        network = MarginIndex.of(parts, np.arange(n_rows))
        rng = np.random.default_rng(13)
        drawn = np.empty((600, n_rows), dtype=int)
        for row in drawn:
            run_excursions(labels, logs, network, 15 * n_rows, rng)
            row[:] = labels
        sets, chances = label_sets(logs, parts, np.arange(n_rows))
        assert len(sets) > 1
        assert fits(drawn, sets, chances) > LEAST_P

    @pytest.mark.parametrize("case", CROSSINGS)
    def test_what_is_compiled_is_what_is_written(self, case):
        n_rows, n_classes, cells, slack = CROSSINGS[case]
        logs = logs_of(14, n_rows, n_classes)
        start = np.random.default_rng(3).integers(n_classes, size=n_rows)
        parts = [margin_around(own, start, n_classes, slack) for own in cells]
        network = MarginIndex.of(parts, np.arange(n_rows))
        found = []
        for do in (run_excursions, plain_copy("c2rf.imputation.draw").run_excursions):
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
            part = margin_around(cells[k], truth, n_classes, int(rng.integers(0, 2)))
            margins.append(
                MarginBounds((f"m{k}",), list(range(len(part.lower))), names[:, k], part.lower,
                             part.upper)
            )  # fmt: skip
        free = np.zeros((len(sizes), n_classes), dtype=np.int64)
        bounds = Bounds(
            free[0], free[0] + n_rows, free, free + sizes[:, None], sizes, tuple(margins)
        )
        drawn, _ = draw_labels(logs_of(seed, n_rows, n_classes), bounds, groups, rng)
        for part in binding_margins(bounds):
            counts = margin_around(part.codes[groups], drawn, n_classes).lower
            assert (counts >= part.lower[: len(counts)]).all()
            assert (counts <= part.upper[: len(counts)]).all()

    def test_nobody_and_everybody(self):
        rng = np.random.default_rng(0)
        for total in ([5, 0], [0, 5]):
            bounds = Bounds.overall(total, total, 5)
            drawn, method = draw_labels(logs_of(1, 5, 2), bounds, np.zeros(5, dtype=int), rng)
            assert np.bincount(drawn, minlength=2).tolist() == total
            assert method == "exact"

    def test_without_totals_labels_are_independent_draws(self):
        logs = np.tile(np.log([[0.2, 0.8]]), (20_000, 1))
        bounds = Bounds.overall([0, 0], [20_000, 20_000], 20_000)
        drawn, method = draw_labels(
            logs, bounds, np.zeros(20_000, dtype=int), np.random.default_rng(0)
        )
        assert abs(drawn.mean() - 0.8) < 0.015
        assert method == "exact"

    def test_crossing_margins_and_ranges_are_drawn_by_a_chain(self):
        cells = np.arange(4) // 2, np.arange(4) % 2
        one_each = np.full((2, 2), 2)
        margins = tuple(margin_of(own, one_each, one_each) for own in cells)
        free, sizes = np.zeros((4, 2), dtype=np.int64), np.full(4, 2)
        crossing = Bounds(free[0], free[0] + 8, free, free + 2, sizes, margins)
        for bounds, groups in (
            (crossing, np.arange(8) % 4),
            (Bounds.overall([2, 2], [6, 6], 8), np.zeros(8, dtype=int)),
        ):
            _, method = draw_labels(logs_of(2, 8, 2), bounds, groups, np.random.default_rng(0))
            assert method == "markov-chain"

    def test_rows_with_weights_are_drawn_without_a_chain(self, monkeypatch):
        """Labels are the likeliest for perturbed probabilities; other noise, other labels."""

        def no_chain(*given):
            raise AssertionError("a chain runs")

        monkeypatch.setattr("c2rf.imputation.draw.gibbs_sweep", no_chain)
        monkeypatch.setattr("c2rf.imputation.draw.run_excursions", no_chain)
        weights, free = np.arange(1.0, 41.0), np.zeros((1, 2))
        total = np.array([weights.sum() - 300, 300.0])
        bounds = Bounds(total, total, free, free + weights.sum(), weights.sum(keepdims=True))
        groups, rng = np.zeros(40, dtype=int), np.random.default_rng(0)
        drawn = [draw_labels(logs_of(3, 40, 2), bounds, groups, rng, weights) for _ in range(5)]
        assert {method for _, method in drawn} == {"perturb-and-map"}
        assert all(weights @ labels == 300 for labels, _ in drawn)
        assert len({tuple(labels) for labels, _ in drawn}) > 1


class TestUncertainTotals:
    def test_estimates_are_drawn_within_their_errors(self):
        rng = np.random.default_rng(0)
        totals = Totals({"yes": Estimate(1000, se=50), "no": 400})
        drawn = [drawn_totals(totals, rng).overall for _ in range(400)]
        values = np.array([each["yes"].value for each in drawn])
        assert abs(values.mean() - 1000) < 10
        assert 44 < values.std() < 56
        assert {each["no"] for each in drawn} == {400}

    def test_rates_stay_rates_and_counts_counts(self):
        rng = np.random.default_rng(0)
        totals = Totals({"yes": Estimate(0.98, se=0.1), "no": Estimate(1, se=3)})
        drawn = [drawn_totals(totals, rng).overall for _ in range(50)]
        assert all(0 <= each["yes"].value <= 1 for each in drawn)
        assert all(isinstance(each["no"].value, int) for each in drawn)
        assert all(each["no"].value >= 0 for each in drawn)
