"""Is the expected accuracy right? Calibration of any learner, on data tuned on and on data kept.

usage: python -m benchmarks.calibration [--keel FOLDER] [--data-dir FOLDER] [--tuned]
           [--learners blend logistic extra-trees] [--labeled 50 200 1000] [--samples 2]

Without folders only generated data are used. FOLDER of --keel is that of
``benchmarks.other_data``, --data-dir a cache of the pmlb package with the paper's data. With
--tuned, the data by which priors were chosen; without, data and seeds that were never looked at
when they were. By each learner and number of labeled rows, in percent: the true accuracy, by how
much more was expected, calibration error, and how often the interval of the expected accuracy held
the truth.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import softmax

import c2rf
from benchmarks.other_data import KEPT, TUNED, read
from benchmarks.output import Table
from c2rf import Classification
from c2rf.bench.samples import NAMES, load
from c2rf.bench.scores import calibration_error

LEARNERS = ("blend", "logistic", "extra-trees")
N_UNLABELED = 5000
TUNED_SAMPLES = (0, 1)
"""Samples of the paper's data that priors were chosen by; all of them count as tuned on."""

Rng = np.random.Generator
Data = tuple[Any, np.ndarray]


def by_chances(rng: Rng, logits: np.ndarray) -> np.ndarray:
    """Draw classes from their log-probabilities, up to a constant per row."""
    return (softmax(logits, axis=1).cumsum(axis=1) < rng.random(len(logits))[:, None]).sum(axis=1)


def shifted(logits: np.ndarray, rates: list[float]) -> np.ndarray:
    """Return log-probabilities with about the given rates."""
    return logits - logits.mean(axis=0) + np.log(rates)


def linear(rng: Rng, n: int, rates: list[float], strength: float, n_noise: int = 4) -> Data:
    """Make Gaussian columns, and a linear law."""
    X = rng.normal(size=(n, 6 + n_noise))
    coef = rng.normal(size=(6, len(rates)))
    return X, by_chances(rng, shifted(strength * X[:, :6] @ coef / 6**0.5, rates))


def blobs(rng: Rng, n: int, rates: list[float], apart: float) -> Data:
    """Make a Gaussian cloud for each class."""
    y = rng.choice(len(rates), n, p=rates)
    return apart * rng.normal(size=(len(rates), 8))[y] + rng.normal(size=(n, 8)), y


def boxes(rng: Rng, n: int, rates: list[float], strength: float) -> Data:
    """Make uniform columns; random boxes add to the log-odds of a class."""
    X, logits = rng.random((n, 8)), np.zeros((n, len(rates)))
    for _ in range(12):
        i, j = rng.choice(8, 2, replace=False)
        low = rng.random(2) * 0.6
        inside = (X[:, i] > low[0]) & (X[:, i] < low[0] + 0.4) & (X[:, j] > low[1])
        logits[inside, rng.integers(len(rates))] += strength
    return X, by_chances(rng, shifted(logits, rates))


def categories(rng: Rng, n: int, rates: list[float], strength: float) -> Data:
    """Make nothing but categories, with pairs that matter."""
    levels = [2, 3, 4, 5, 8, 12]
    X = np.column_stack([rng.integers(k, size=n) for k in levels])
    logits = sum(
        strength * rng.normal(size=(k, len(rates)))[c] for k, c in zip(levels, X.T, strict=True)
    )
    logits = logits + strength * rng.normal(size=(3, 4, len(rates)))[X[:, 1], X[:, 2]]
    texts = {f"c{j}": np.array([f"v{v}" for v in range(k)])[X[:, j]] for j, k in enumerate(levels)}
    return pd.DataFrame(texts), by_chances(rng, shifted(logits, rates))


def office(rng: Rng, n: int, rates: list[float], strength: float) -> Data:
    """Make a register: numbers with gaps, categories, dates, and a weak signal."""
    age, income = rng.integers(18, 95, n), rng.lognormal(8, 0.7, n).round(2)
    town, status = rng.integers(30, size=n), rng.integers(4, size=n)
    days = rng.integers(0, 9000, n)
    effects = rng.normal(size=(5, len(rates)))
    logits = np.outer((age - 55) / 20, effects[0]) + np.outer(np.log(income) - 8, effects[1])
    logits += (
        rng.normal(size=(30, len(rates)))[town] * 0.5 + rng.normal(size=(4, len(rates)))[status]
    )
    logits += np.outer(days / 4500 - 1, effects[2])
    frame = pd.DataFrame({
        "age": age.astype(float), "income": income, "town": [f"town {t}" for t in town],
        "status": np.array(["single", "married", "widowed", "divorced"])[status],
        "since": np.datetime64("2000-01-01") + days.astype("timedelta64[D]"),
        "points": rng.normal(size=n), "visits": rng.poisson(2, n),
    })  # fmt: skip
    frame.loc[rng.random(n) < 0.1, "income"] = np.nan
    frame.loc[rng.random(n) < 0.05, "age"] = np.nan
    return frame, by_chances(rng, shifted(strength * logits, rates))


def answers(rng: Rng, n: int, rates: list[float], strength: float) -> Data:
    """Make answers from one to five that depend on three hidden traits, some missing."""
    hidden = rng.normal(size=(n, 3))
    X = hidden @ rng.normal(size=(3, 15)) + 1.5 * rng.normal(size=(n, 15))
    X = np.digitize(X, [-2, -0.7, 0.7, 2]) + 1.0
    X[rng.random(X.shape) < 0.07] = np.nan
    logits = strength * (hidden @ rng.normal(size=(3, len(rates))))
    return X, by_chances(rng, shifted(logits, rates))


def waves(rng: Rng, n: int, rates: list[float], strength: float) -> Data:
    """Make columns with long tails; the law goes up and down."""
    X = rng.standard_t(3, size=(n, 7))
    phases = rng.normal(size=(7, len(rates)))
    logits = strength * np.sin(1.5 * np.clip(X, -3, 3) @ phases / 2)
    return X, by_chances(rng, shifted(logits, rates))


def wide(rng: Rng, n: int, rates: list[float], strength: float) -> Data:
    """Make a hundred columns of which six matter."""
    return linear(rng, n, rates, strength, n_noise=94)


class Generated(NamedTuple):
    """A generator and its options."""

    make: Callable[..., Data]
    rates: list[float]
    strength: float


TRIAL = Generated(office, [0.78, 0.21, 0.01], 0.35)
"""Three classes of 78, 21 and 1 %, categories, dates, gaps and a weak signal."""

GENERATED_TUNED = {
    "linear weak": Generated(linear, [0.85, 0.15], 0.6),
    "linear": Generated(linear, [0.6, 0.4], 2.0),
    "nothing": Generated(linear, [0.7, 0.3], 0.0),
    "blobs 6": Generated(blobs, [1 / 6] * 6, 0.7),
    "blobs 12": Generated(blobs, [1 / 12] * 12, 1.2),
    "boxes": Generated(boxes, [0.5, 0.5], 1.5),
    "boxes 3": Generated(boxes, [0.6, 0.3, 0.1], 1.5),
    "categories": Generated(categories, [0.7, 0.3], 0.7),
    "register": Generated(office, [0.5, 0.4, 0.1], 0.7),
}
GENERATED_JUDGED = {
    "trial": TRIAL,
    "answers": Generated(answers, [0.7, 0.3], 1.0),
    "answers 5": Generated(answers, [0.5, 0.2, 0.15, 0.1, 0.05], 1.5),
    "waves": Generated(waves, [0.75, 0.25], 1.5),
    "waves 4": Generated(waves, [0.4, 0.3, 0.2, 0.1], 2.5),
    "wide": Generated(wide, [0.6, 0.4], 1.5),
    "wide rare": Generated(wide, [0.95, 0.05], 1.5),
    "categories 4": Generated(categories, [0.4, 0.3, 0.2, 0.1], 1.0),
}


def data_sets(args: argparse.Namespace) -> Iterator[tuple[str, Callable[[int, int], Data]]]:
    """Yield names, and what makes rows of the data for a sample and a number of labeled rows."""
    for name, how in (GENERATED_TUNED if args.tuned else GENERATED_JUDGED).items():
        seed = [zlib.crc32(name.encode()), 0 if args.tuned else 1]

        def draw(sample: int, n: int, how: Generated = how, seed: list[int] = seed) -> Data:
            rng = np.random.default_rng([*seed, sample])
            return how.make(rng, N_UNLABELED + 3 * n, how.rates, how.strength)

        yield name, draw
    if args.keel:
        for name in TUNED if args.tuned else KEPT:
            yield name, lambda _sample, _n, name=name: read(args.keel, name)
    if args.data_dir and args.tuned:
        for name in NAMES:
            found = load(name, args.data_dir)
            yield name, lambda _sample, _n, found=found: (found.X, (found.y > 0).astype(int))


class Sample(NamedTuple):
    """Labeled and other rows, by their numbers."""

    labeled: np.ndarray
    rest: np.ndarray


def draw_sample(y: np.ndarray, n: int, rng: Rng, sample: int) -> Sample | None:
    """Draw labeled rows: every third sample simply, the others with other shares of the classes.

    None where fewer than twice as many rows would be left.
    """
    if n * 3 > len(y):
        return None
    weight = np.ones(y.max() + 1) if sample % 3 == 2 else rng.uniform(0.15, 0.85, y.max() + 1)
    labeled = rng.choice(len(y), n, replace=False, p=weight[y] / weight[y].sum())
    others = np.setdiff1d(np.flatnonzero(np.isin(y, y[labeled])), labeled)
    return Sample(labeled, others[:: max(1, len(others) // N_UNLABELED)][:N_UNLABELED])


def classified(learner: str, X: Any, y: np.ndarray, sample: Sample, seed: int) -> Classification:
    """Label the rows as a user does, with the true totals."""
    table = X if hasattr(X, "iloc") else pd.DataFrame(X).add_prefix("x")
    labeled, rest = (table.iloc[rows].reset_index(drop=True) for rows in sample)
    totals = {f"k{k}": int((y[sample.rest] == k).sum()) for k in np.unique(y[sample.labeled])}
    return c2rf.classify(
        labeled.assign(y=[f"k{k}" for k in y[sample.labeled]]), rest, target="y", totals=totals,
        learner=learner, random_state=seed, n_jobs=1,
    )  # fmt: skip


def measure(classifier: Any, truth: np.ndarray) -> dict[str, float]:
    """Return the scores of a classification, in percent."""
    labels = classifier.transduction_
    place = np.searchsorted(classifier.classes_, labels)
    confidence = classifier.transduction_proba_[np.arange(len(labels)), place]
    right = labels == np.array([f"k{k}" for k in truth])
    expected = classifier.expected_accuracy(20).overall
    return {
        "held": 100.0 * (expected.low <= right.mean() <= expected.high),
        "accuracy": 100 * float(right.mean()),
        "too_high": 100 * float(confidence.mean() - right.mean()),
        "error": 100 * calibration_error(confidence, right),
    }


def cases(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield a row of results for each data set, sample, number of labeled rows and learner."""
    for name, draw in data_sets(args):
        for n in args.labeled if args.only in name else ():
            for k in range(args.samples):
                X, y = draw(k, n)
                rng = np.random.default_rng([zlib.crc32(name.encode()), k, n, int(args.tuned)])
                sample = draw_sample(y, n, rng, k)
                if sample is None or len(np.unique(y[sample.labeled])) < 2:
                    continue
                for learner in args.learners:
                    result = classified(learner, X, y, sample, k)
                    found = measure(result.classifier, y[sample.rest])
                    yield {"data": name, "labeled": n, "sample": k, "learner": learner, **found}


SCORES = ["accuracy", "too_high", "error", "held"]
COLUMNS = ["data", "labeled", "sample", "learner", *SCORES]


def main() -> None:
    """Measure case after case, then the means over data sets."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keel", type=Path)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--tuned", action="store_true")
    parser.add_argument("--learners", nargs="+", default=list(LEARNERS), choices=LEARNERS)
    parser.add_argument("--labeled", nargs="+", type=int, default=[50, 200, 1000, 4000])
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--only", default="", help="only data whose names have this in them")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    args = parser.parse_args()
    table = Table(args.out, "calibration_tuned" if args.tuned else "calibration", COLUMNS)
    for row in cases(args):
        table.add(row)
    found = pd.DataFrame(table.rows)
    means = found.groupby(["learner", "labeled"])[SCORES].mean()
    print(means.round(1).to_string(), table.finish(), sep="\n")


if __name__ == "__main__":
    main()
