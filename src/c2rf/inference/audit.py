"""An audit: rows drawn with known probabilities, to be checked by hand.

What it says of the labels rests on the draw alone: not on the model, the sample it learned from, or
any assumption. The model only makes it more precise, in two ways.

- A row whose label has the confidence 1 - e is drawn with a probability in proportion to the
  deviation sqrt(e (1 - e)) of being wrong; systematically, in random order [Särndal et al. 1992].
  Rows of which the model is sure are wrong, too, and the more so the less it knows: e (1 - e) is
  taken to be at least :data:`FLOOR`, and at least :data:`FLOOR_SHARE` of m (1 - m), where m is the
  mean of e.
- The difference estimator of the mean of y (is the label wrong? is the class k?), of which the
  model expects a_i in row i, corrects what the model says by what was found:

      mean of a over all rows + sum of (y_i - a_i) / pi_i / sum of 1 / pi_i,  over checked rows.

The interval holds the means that are not further from the estimate than chance allows: by the
variance in the sample, or by the variance if that mean were true, which is m (1 - m) over the
effective number of rows. The second makes it a score interval, as Wilson's is for a simple random
sample. The variance in the sample says too little where y is 1, or 0, in fewer than :data:`FEW`
checked rows: then the effective number is no more than that by the probabilities alone [Kish 1965].
Nor does it where the model was far off in fewer rows: then as many as are missing are added.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from c2rf._utils.types import Bools, Codes, Floats

FLOOR, FLOOR_SHARE = 0.02, 0.5
"""The least e (1 - e) by which rows are drawn, and the least in shares of m (1 - m): without the
second an audit of a poor model errs more than a simple random sample. It was chosen on samples of
the paper's 13 data sets with seeds of their own."""

FEW = 3
"""With fewer rows that are wrong, or right, the variance in the sample says too little. Chosen on
samples of the paper's 13 data sets with seeds of their own."""


class Interval(NamedTuple):
    """An estimate with its standard error, and the ends of its interval."""

    estimate: float
    standard_error: float
    low: float
    high: float


def deviations(confidence: Floats) -> Floats:
    """Return the standard deviation of "the label is wrong", at least that of the floor.

    Examples
    --------
    >>> deviations(np.array([0.5, 0.5, 0.6, 0.8, 1.0, 1.0])).round(2).tolist()
    [0.5, 0.5, 0.49, 0.4, 0.31, 0.31]
    """
    mean = float(confidence.mean())
    floor = max(FLOOR, FLOOR_SHARE * mean * (1 - mean))
    return np.asarray(np.sqrt(np.maximum(confidence * (1 - confidence), floor)))


def inclusion_probabilities(sizes: Floats, n: int) -> Floats:
    """Return probabilities in proportion to sizes, at most 1, that add up to n.

    Examples
    --------
    >>> inclusion_probabilities(np.array([1.0, 1.0, 2.0, 96.0]), 2)
    array([0.25, 0.25, 0.5 , 1.  ])
    """
    certain = np.zeros(len(sizes), dtype=bool)
    while True:
        left = n - certain.sum()
        total = sizes[~certain].sum()
        found = np.where(certain, 1.0, sizes * (left / total if total > 0 else 0.0))
        if not (found > 1).any():
            return found
        certain |= found >= 1


def systematic_sample(
    probabilities: Floats, rng: np.random.Generator, order: Codes | None = None
) -> Codes:
    """Draw rows with given probabilities, at equal steps along an order; a random one by default.

    As many rows are drawn as the probabilities add up to.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> systematic_sample(np.array([0.5, 0.5, 1.0, 0.5, 0.5]), rng).tolist()
    [0, 2, 4]
    """
    order = rng.permutation(len(probabilities)) if order is None else order
    ends = np.cumsum(probabilities[order])
    n = round(float(ends[-1]))
    ends *= n / ends[-1]
    places = np.searchsorted(ends, rng.random() + np.arange(n), side="right")
    return np.sort(order[np.minimum(places, len(order) - 1)])


def rows_for_width(confidence: Floats, width: float, level: float = 0.95) -> int:
    """Return how many rows make the interval of the accuracy as narrow as asked for.

    The confidences are taken to be right; where they are too high, it takes more rows.

    Examples
    --------
    >>> rows_for_width(np.full(100_000, 0.5), 0.1)  # 384 without an end to the population
    383
    """
    sizes, N = deviations(confidence), len(confidence)
    z = float(stats.norm.ppf((1 + level) / 2))
    # width² = (2 z)² ((sum of sizes)² / n - sum of sizes²) / N²
    needed = sizes.sum() ** 2 / ((width * N / (2 * z)) ** 2 + (sizes**2).sum())
    return int(min(max(np.ceil(needed - 1e-9), 2), N))


def difference_estimate(
    y: Floats,
    rows: Codes,
    expected: Floats,
    probabilities: Floats,
    level: float = 0.95,
    decided: Bools | None = None,
) -> Interval:
    """Return the mean of y over all rows, given y in the rows that were drawn.

    Parameters
    ----------
    y : ndarray of 0 and 1, shape (n_drawn,)
        What was found.
    rows : ndarray of int, shape (n_drawn,)
        The rows that were drawn, two or more.
    expected : ndarray of shape (n_rows,)
        What the model expects of each row of all, from 0 to 1.
    probabilities : ndarray of shape (n_drawn,)
        With which each row that was drawn was drawn.
    level : float
        How often the interval should hold the mean.
    decided : ndarray of bool, shape (n_drawn,), optional
        Which of them could be decided. The interval holds what it would be if all others were 0,
        and if all were 1; in the estimate they are as expected.

    Examples
    --------
    >>> y, expected = np.repeat([1.0, 0.0], [10, 40]), np.full(1000, 0.1)
    >>> found = difference_estimate(y, np.arange(50), expected, np.full(50, 0.05))
    >>> round(found.estimate, 3), round(found.low, 3), round(found.high, 3)
    (0.2, 0.088, 0.332)
    """
    if decided is not None and not decided.all():
        lowest, highest, middle = (
            difference_estimate(np.where(decided, y, other), rows, expected, probabilities, level)
            for other in (0.0, 1.0, expected[rows])
        )
        return middle._replace(low=lowest.low, high=highest.high)
    n, each = len(rows), 1 / probabilities
    off = y - expected[rows]
    mean_off = (off * each).sum() / each.sum()
    # The variance is by the approximation of Hájek.
    share = (1 - probabilities) * n / (n - 1)
    residuals = (off - mean_off) * each
    residuals -= (share * residuals).sum() / max(share.sum(), np.finfo(float).tiny)
    by_sample = (share * residuals**2).sum() / each.sum() ** 2
    of_ones = ((1 - probabilities) * each**2).sum() / each.sum() ** 2
    missing = max(FEW - int((np.abs(off) > 0.5).sum()), 0)
    error = float(np.sqrt(by_sample + of_ones * missing / n))
    exact = float(expected.mean() + mean_off)
    estimate, between = np.clip(exact, 0.0, 1.0), np.clip(exact, 0.5 / n, 1 - 0.5 / n)
    inverse_n = by_sample / (between * (1 - between))  # of the effective number of rows
    if min(y.sum(), n - y.sum()) < FEW:
        inverse_n = max(inverse_n, of_ones)
    t = stats.t.ppf((1 + level) / 2, n - 1)
    centre = estimate + t**2 * inverse_n / 2
    half = t * np.sqrt(inverse_n * estimate * (1 - estimate) + (t * inverse_n / 2) ** 2)
    low, high = (centre + np.array([-half, half])) / (1 + t**2 * inverse_n)
    low, high = min(low, exact - t * error), max(high, exact + t * error)
    # What was found is there: of N rows no mean can leave it out.
    least, most = y.sum() / len(expected), 1 - (n - y.sum()) / len(expected)
    found = (estimate, min(low, estimate), max(high, estimate))
    estimate, low, high = (float(np.clip(each, least, most)) for each in found)
    return Interval(estimate, error, low, high)


LEAST_DOUBT, DOUBT_POWER = 0.02, 2.0
"""Rows to learn from are drawn by this power of their doubt, which is at least the first. Chosen on
samples of the paper's 13 data sets with seeds of their own."""

GAIN = (
    "in experiments, 50 such rows beside 50 to 700 labeled ones raised the accuracy by 2.2 "
    "points in the mean, 50 rows at random by 1.6"
)
"""By 5 samples of the paper's 13 data sets, five draws each, with extra trees."""

MOST_CLUSTERED = 10_000
"""Clusters are found in this many rows at most."""


def learning_sizes(confidence: Floats) -> Floats:
    """Return sizes by which rows to learn from are drawn: doubtful ones, but every row has some.

    Examples
    --------
    >>> learning_sizes(np.array([0.5, 0.9, 1.0])).round(4).tolist()
    [0.25, 0.01, 0.0004]
    """
    return np.asarray(np.maximum(1 - confidence, LEAST_DOUBT) ** DOUBT_POWER)


def find_clusters(X: Floats, n: int, rng: np.random.Generator) -> Any:
    """Return a model whose ``predict`` says in which cluster rows are; empty cells are allowed.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        Rows as numbers.
    n : int
        How many rows will be drawn: there are half as many clusters.
    rng : Generator
        Source of random numbers.
    """
    some = X[rng.permutation(len(X))[:MOST_CLUSTERED]]
    number = min(max(2, n // 2), len(some))
    means = KMeans(number, n_init=1, random_state=int(rng.integers(1 << 31)))
    model = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler(), means)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different rows than clusters
        return model.fit(some)


def spread_order(clusters: Codes, rng: np.random.Generator) -> Codes:
    """Return rows cluster by cluster: at equal steps along them, rows differ from each other.

    Examples
    --------
    >>> order = spread_order(np.array([1, 0, 1, 0]), np.random.default_rng(0))
    >>> np.array([1, 0, 1, 0])[order].tolist()
    [0, 0, 1, 1]
    """
    return np.lexsort((rng.random(len(clusters)), clusters))


def expected_gain(confidence: Floats) -> str:
    """Say what checking rows brings: those that keep their class, and what experiments say.

    Examples
    --------
    >>> expected_gain(np.array([0.5, 0.7])).split(";")[0]
    'about 1 of these 2 labels are expected to be wrong'
    """
    wrong = float((1 - confidence).sum())
    return f"about {wrong:.0f} of these {len(confidence)} labels are expected to be wrong; {GAIN}"
