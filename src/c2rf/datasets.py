"""Seeded data of any size, and the samples the paper draws.

Twonorm, ringnorm and waveform are Breiman's artificial problems, behind four of the paper's data
sets. They are made in blocks of fixed length, each with a seed of its own, so that the rows
depend neither on how many are asked for nor on the size of the chunks they come in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from c2rf._utils.text import check_choice
from c2rf._utils.types import Floats, check_whole, is_number
from c2rf.exceptions import InputError

Indices = NDArray[np.int64]
Data = tuple[Floats, NDArray[np.int64]]
RandomState = int | np.random.Generator | np.random.RandomState | None

_BLOCK_ROWS = 4096
_DIMENSIONS = 20


def make_twonorm(n_samples: int = 7400, *, random_state: RandomState = None) -> Data:
    """Draw from two normal distributions in 20 dimensions that differ in their means.

    Class 1 is N(a, I), class 0 is N(-a, I), both equally likely, where every entry of a is
    2/sqrt(20).

    Parameters
    ----------
    n_samples : int
        Number of rows.
    random_state : int, Generator, RandomState or None
        Seed; None draws new data each time.

    Returns
    -------
    X : ndarray of shape (n_samples, 20)
    y : ndarray of shape (n_samples,)
        Classes 0 and 1.

    Examples
    --------
    >>> X, y = make_twonorm(1000, random_state=0)
    >>> X.shape, bool(X[y == 1].mean() > 0.4), bool(X[y == 0].mean() < -0.4)
    ((1000, 20), True, True)
    """
    return _whole(iter_chunks("twonorm", n_samples, random_state=random_state))


def make_ringnorm(n_samples: int = 7400, *, random_state: RandomState = None) -> Data:
    """Draw from two normal distributions in 20 dimensions, one inside the other.

    Class 1 is N(0, 4 I), class 0 is N(a, I), both equally likely, where every entry of a is
    1/sqrt(20). Parameters and result are those of :func:`make_twonorm`.

    Examples
    --------
    >>> X, y = make_ringnorm(1000, random_state=0)
    >>> bool(X[y == 1].std() > 1.9), bool(X[y == 0].std() < 1.1)
    (True, True)
    """
    return _whole(iter_chunks("ringnorm", n_samples, random_state=random_state))


def make_waveform(
    n_samples: int = 5000,
    *,
    noise_features: int = 0,
    binary: bool = False,
    random_state: RandomState = None,
) -> Data:
    """Draw random mixtures of two out of three triangular waves, with noise.

    The waves peak at the features 11, 15 and 7 of 21 (counted from 1). A row is
    u h + (1 - u) h' + noise, u uniform on [0, 1], the noise N(0, 1) in every feature; its class
    says which two waves h, h' are mixed: first and second (0), first and third (1), second and
    third (2), all equally likely.

    Parameters
    ----------
    n_samples : int
        Number of rows.
    noise_features : int
        Number of further features of noise alone; 19 make the data known as waveform-40.
    binary : bool
        Make class 1 positive (1) and the two others negative (0), as the paper does.
    random_state : int, Generator, RandomState or None
        Seed; None draws new data each time.

    Returns
    -------
    X : ndarray of shape (n_samples, 21 + noise_features)
    y : ndarray of shape (n_samples,)
        Classes 0, 1 and 2, or 0 and 1.

    Examples
    --------
    >>> X, y = make_waveform(1000, noise_features=19, binary=True, random_state=0)
    >>> X.shape, np.unique(y)
    ((1000, 40), array([0, 1]))
    """
    options = {"noise_features": noise_features, "binary": binary}
    return _whole(iter_chunks("waveform", n_samples, random_state=random_state, **options))


def iter_chunks(
    name: str,
    n_samples: int,
    *,
    chunk_size: int = 1 << 16,
    random_state: RandomState = None,
    **options: Any,
) -> Iterator[Data]:
    """Make the same data as ``make_<name>``, a chunk at a time.

    Parameters
    ----------
    name : {"twonorm", "ringnorm", "waveform"}
        Which data.
    n_samples : int
        Number of rows in all.
    chunk_size : int
        Number of rows in a chunk (fewer in the last one). The rows do not depend on it.
    random_state : int, Generator, RandomState or None
        Seed; None draws new data each time.
    **options
        The further options of ``make_<name>``.

    Returns
    -------
    iterator of (X, y)

    Examples
    --------
    >>> X, y = make_twonorm(100, random_state=0)
    >>> chunks = iter_chunks("twonorm", 100, chunk_size=40, random_state=0)
    >>> bool(np.array_equal(X, np.concatenate([rows for rows, _ in chunks])))
    True
    """
    check_choice("name", name, _BLOCKS)
    check_whole("n_samples", n_samples, least=1)
    check_whole("chunk_size", chunk_size, least=1)
    if name == "waveform":
        check_whole("noise_features", options.get("noise_features", 0), least=0)
    return _chunks(_BLOCKS[name], n_samples, chunk_size, _entropy(random_state), options)


def biased_sample(
    y: ArrayLike,
    fraction: float = 0.01,
    positive_weight: float = 0.85,
    *,
    pos_label: Any = 1,
    random_state: RandomState = None,
) -> tuple[Indices, Indices]:
    """Choose which rows are labeled, positive ones with more (or less) weight.

    ``round(fraction * len(y))`` rows are drawn one after the other without replacement, a
    positive row with weight ``positive_weight``, a negative one with weight
    ``1 - positive_weight``. These are weights, not quotas: the share of positives also depends on
    how many there are.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The true labels.
    fraction : float
        The fraction of rows to draw, in (0, 1).
    positive_weight : float
        In [0, 1]; 0.85 in the paper, 0.5 for a simple random sample.
    pos_label : object
        The positive label; every other one is negative.
    random_state : int, Generator, RandomState or None
        Seed; None draws a new sample each time.

    Returns
    -------
    labeled, unlabeled : ndarray of int
        Sorted indices, together all rows.

    Examples
    --------
    >>> y = np.repeat([0, 1], 5000)
    >>> labeled, unlabeled = biased_sample(y, 0.02, random_state=0)
    >>> len(labeled), len(unlabeled), bool(y[labeled].mean() > 0.75)
    (200, 9800, True)
    """
    labels = np.asarray(y)
    if labels.ndim != 1 or len(labels) == 0:
        raise InputError(f"y must be 1-D and not empty; found shape {labels.shape}")
    positive = labels == pos_label
    n_drawn = _check_fraction(fraction, len(positive))
    if not is_number(positive_weight) or not 0 <= positive_weight <= 1:
        raise InputError(f"positive_weight must be a number in [0, 1]; found {positive_weight!r}")
    weights = np.where(positive, positive_weight, 1 - positive_weight)
    possible = np.count_nonzero(weights)
    if possible < n_drawn:
        raise InputError(
            f"cannot draw {n_drawn} rows: with positive_weight={positive_weight} only "
            f"{possible} of {len(positive)} rows have a weight above 0"
        )
    rng = np.random.default_rng(_entropy(random_state))
    drawn = rng.choice(len(positive), n_drawn, replace=False, p=weights / weights.sum())
    is_labeled = np.zeros(len(positive), dtype=bool)
    is_labeled[drawn] = True
    return np.flatnonzero(is_labeled), np.flatnonzero(~is_labeled)


def simple_sample(
    y: ArrayLike, fraction: float = 0.01, *, random_state: RandomState = None
) -> tuple[Indices, Indices]:
    """Choose which rows are labeled, all with equal weight.

    Parameters
    ----------
    y, fraction, random_state
        As in :func:`biased_sample`; of the labels only their number matters.

    Returns
    -------
    labeled, unlabeled : ndarray of int
        As in :func:`biased_sample`.

    Examples
    --------
    >>> labeled, unlabeled = simple_sample(np.zeros(300), 0.1, random_state=0)
    >>> len(labeled), len(unlabeled)
    (30, 270)
    """
    return biased_sample(y, fraction, positive_weight=0.5, random_state=random_state)


def _twonorm(rng: np.random.Generator) -> Data:
    y = rng.integers(2, size=_BLOCK_ROWS)
    X = rng.standard_normal((_BLOCK_ROWS, _DIMENSIONS))
    X += (2 * y[:, None] - 1) * (2 / np.sqrt(_DIMENSIONS))
    return X, y


def _ringnorm(rng: np.random.Generator) -> Data:
    y = rng.integers(2, size=_BLOCK_ROWS)
    X = rng.standard_normal((_BLOCK_ROWS, _DIMENSIONS))
    X[y == 1] *= 2
    X[y == 0] += 1 / np.sqrt(_DIMENSIONS)
    return X, y


def _waveform(rng: np.random.Generator, *, noise_features: int = 0, binary: bool = False) -> Data:
    feature = np.arange(1, 22)
    waves = np.maximum(6 - np.abs(feature - np.array([[11], [15], [7]])), 0)
    mixed = np.array([[0, 1], [0, 2], [1, 2]])
    y = rng.integers(3, size=_BLOCK_ROWS)
    u = rng.random((_BLOCK_ROWS, 1))
    X = u * waves[mixed[y, 0]] + (1 - u) * waves[mixed[y, 1]]
    X += rng.standard_normal(X.shape)
    # Drawn last: with or without them, the 21 features are the same.
    X = np.hstack([X, rng.standard_normal((_BLOCK_ROWS, noise_features))])
    return X, (y == 1).astype(np.int64) if binary else y


_BLOCKS: dict[str, Callable[..., Data]] = {
    "twonorm": _twonorm,
    "ringnorm": _ringnorm,
    "waveform": _waveform,
}


def _chunks(
    block: Callable[..., Data], n_samples: int, size: int, entropy: int, options: dict[str, Any]
) -> Iterator[Data]:
    """Cut the endless sequence of blocks into chunks."""
    seeds = (np.random.SeedSequence(entropy, spawn_key=(index,)) for index in count())
    X, y = block(np.random.default_rng(next(seeds)), **options)
    for start in range(0, n_samples, size):
        n_rows, parts = min(size, n_samples - start), [(X, y)]
        for _ in range(len(y), n_rows, _BLOCK_ROWS):
            parts.append(block(np.random.default_rng(next(seeds)), **options))
        X, y = _whole(parts)
        yield X[:n_rows], y[:n_rows]
        X, y = X[n_rows:], y[n_rows:]


def _whole(parts: Any) -> Data:
    """Put chunks together."""
    X, y = zip(*parts, strict=True)
    return np.concatenate(X), np.concatenate(y)


def _entropy(random_state: RandomState) -> int:
    """Return the number all blocks are seeded with; block k gets its k-th spawned seed."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    check_whole("random_state", random_state, least=0)
    return int(random_state)


def _check_fraction(fraction: float, n_rows: int) -> int:
    """Return the number of rows to draw; some must be drawn, and some be left."""
    if not is_number(fraction) or not 0 < fraction < 1:
        raise InputError(f"fraction must be a number above 0 and below 1; found {fraction!r}")
    n_drawn = round(fraction * n_rows)
    if not 0 < n_drawn < n_rows:
        raise InputError(
            f"fraction={fraction} of {n_rows} rows are {n_drawn}; at least one row must be "
            "drawn and one be left: change the fraction or give more rows"
        )
    return n_drawn
