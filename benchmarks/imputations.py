"""How often intervals from imputations cover the truth: ``python -m benchmarks.imputations``.

Shares of the positive class in quarters of six columns, on the samples of the bench.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

import c2rf
from c2rf.bench.data import NAMES, load
from c2rf.bench.protocol import PROTOCOLS, sample_seed
from c2rf.datasets import biased_sample


def quarters(X):
    """Return which rows are in each quarter of the six columns with most values."""
    levels = np.array([len(np.unique(column)) for column in X.T])
    parts = []
    for k in np.argsort(-levels, kind="stable")[:6]:
        edges = np.unique(np.quantile(X[:, k], [0.25, 0.5, 0.75]))
        places = np.searchsorted(edges, X[:, k])
        parts += [places == value for value in np.unique(places)]
    return np.array(parts, dtype=float)


def measure(name, number, folder, n_imputations):
    """Return coverage, width, interval score and errors of one sample."""
    data, protocol = load(name, folder), PROTOCOLS["biased"]
    seed = sample_seed(0, "biased", name, number)
    own, rest = biased_sample(
        data.y, protocol.fraction, protocol.positive_weight, random_state=seed
    )
    truth = data.y[rest] > 0
    classifier = c2rf.KnownTotalsClassifier(random_state=seed % 2**31)
    classifier.fit(
        data.X[own], data.y[own] > 0, X_unlabeled=data.X[rest], totals={True: int(truth.sum())}
    )
    parts = quarters(data.X[rest])
    sizes = parts.sum(axis=1)
    true = parts @ truth / sizes
    pooled = c2rf.pool(classifier.impute(n_imputations) @ parts.T / sizes)
    low, high = np.clip(pooled.low, 0, 1), np.clip(pooled.high, 0, 1)
    missed = np.maximum(low - true, 0) + np.maximum(true - high, 0)
    right = classifier.expected_accuracy(n_imputations).overall
    accuracy = np.mean(classifier.transduction_ == truth)
    return {
        "data": name,
        "sample": number,
        "coverage": np.mean(missed < 1e-12),
        "half width": np.mean(high - low) / 2,
        "interval score": np.mean(high - low + 2 / 0.05 * missed),
        "error": np.abs(pooled.estimate - true).mean(),
        "error, single labels": np.abs(parts @ classifier.transduction_ / sizes - true).mean(),
        "accuracy covered": right.low <= accuracy <= right.high,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="*", default=list(NAMES))
    parser.add_argument("--samples", nargs="*", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--imputations", type=int, default=20)
    given = parser.parse_args()
    rows = [
        measure(name, number, given.folder, given.imputations)
        for name in given.data
        for number in given.samples
    ]
    print(pd.DataFrame(rows).round(4).to_string(index=False))


if __name__ == "__main__":
    main()
