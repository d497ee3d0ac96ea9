"""Conditional Poisson sampling: frequencies agree with enumeration and theory.

The seeds are fixed: a p-value below 0.001 is a mistake in the code, not bad luck.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from c2rf.imputation import poisson
from c2rf.imputation.poisson import choose, choose_in_groups, matching_shift
from imputation.enumeration import LEAST_P, fits, label_sets, margin_of


@pytest.mark.parametrize("number", [1, 3, 6])
def test_sets_are_as_frequent_as_their_odds_say(number):
    # Many copies of one small case are as many groups: one call draws all of them.
    odds = np.random.default_rng(1).normal(0, 2, 7)
    n = 4000
    chosen = choose_in_groups(
        np.tile(odds, n), np.repeat(np.arange(n), 7), np.full(n, number),
        np.random.default_rng(2),
    ).reshape(n, 7)  # fmt: skip
    logs = np.column_stack([np.zeros(7), odds])
    counts = np.array([[7 - number, number]])
    total = margin_of(np.zeros(1, dtype=int), counts, counts)
    sets, chances = label_sets(logs, [total], np.zeros(7, dtype=int))
    assert fits(chosen.astype(int), sets, chances) > LEAST_P


def test_the_tree_of_a_single_block_is_built_once(monkeypatch):
    built, of_rows = [], poisson._of_rows
    monkeypatch.setattr(poisson, "_of_rows", lambda odds: built.append(odds.size) or of_rows(odds))
    assert choose(np.linspace(-1, 1, 20), 7, np.random.default_rng(0)).sum() == 7
    assert built == [20]


def test_blocks_and_windows_do_not_change_inclusion_probabilities():
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
def test_any_size_and_number(n_rows):
    rng = np.random.default_rng(5)
    log_odds = rng.normal(0, 3, n_rows)
    for number in {0, 1, n_rows // 3, n_rows}:
        assert choose(log_odds, number, rng).sum() == number


def test_many_rows_are_chosen_as_often_as_theory_says():
    # Of many rows, inclusion probabilities are all but those of independent choices.
    rng = np.random.default_rng(6)
    log_odds = np.repeat([-2.0, 0.0, 2.0], 20_000)
    chosen = choose(log_odds, 30_000, rng).reshape(3, -1).mean(axis=1)
    p = 1 / (1 + np.exp(-np.array([-2.0, 0.0, 2.0])))
    assert np.abs(chosen - p).max() < 0.015


def test_odds_far_apart():
    rng = np.random.default_rng(7)
    log_odds = np.array([-700.0] * 5 + [700.0] * 5)
    assert choose(log_odds, 5, rng).tolist() == [False] * 5 + [True] * 5
    assert choose(log_odds, 7, rng)[5:].all()


@given(st.integers(2, 60), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_probabilities_are_shifted_to_the_number(n_rows, seed):
    rng = np.random.default_rng(seed)
    log_odds, number = rng.normal(0, 5, (1, n_rows)), rng.integers(1, n_rows, 1)
    shift = matching_shift(log_odds, number)
    assert (1 / (1 + np.exp(-log_odds - shift))).sum() == pytest.approx(number[0], rel=1e-6)


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
