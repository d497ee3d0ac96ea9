"""All label sets of a few rows that meet totals, their probabilities, and a chi-square test."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy import stats

from c2rf.totals.bounds import MarginBounds

LEAST_P = 1e-3


def margin_of(cells, lower, upper):
    """Return bounds in cells of groups."""
    return MarginBounds((), list(range(len(lower))), cells, lower, upper)


def label_sets(logs, margins, groups):
    """Return the label sets that meet all totals, and the probability of each."""
    n_rows, n_classes = logs.shape
    sets = np.array(list(product(range(n_classes), repeat=n_rows)))
    ok = np.ones(len(sets), dtype=bool)
    for margin in margins:
        cells = margin.codes[groups]
        for c, k in np.ndindex(margin.lower.shape):
            size = (sets[:, cells == c] == k).sum(axis=1)
            ok &= (size >= margin.lower[c, k]) & (size <= margin.upper[c, k])
    sets = sets[ok]
    weights = np.exp(logs[np.arange(n_rows), sets].sum(axis=1))
    return sets, weights / weights.sum()


def fits(drawn, sets, chances) -> float:
    """Return the p-value of a chi-square test; rare sets count together."""
    places = {tuple(labels): k for k, labels in enumerate(sets.tolist())}
    found = np.bincount([places[tuple(row)] for row in drawn.tolist()], minlength=len(sets))
    expected = chances * len(drawn)
    order = np.argsort(-expected)
    found, expected = found[order], expected[order]
    often = max(2, int((expected >= 5).sum()))
    found = np.append(found[:often], found[often:].sum())
    expected = np.append(expected[:often], expected[often:].sum())
    if expected[-1] < 5:
        found = np.append(found[:-2], found[-2:].sum())
        expected = np.append(expected[:-2], expected[-2:].sum())
    return float(stats.chisquare(found, expected * found.sum() / expected.sum()).pvalue)
