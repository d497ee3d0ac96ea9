"""The data sets, prepared as the paper does, the samples drawn of them, and what a method may see.

Thirteen data sets come from PMLB. ``made-twonorm-500``, ``made-ringnorm-500``,
``made-waveform-500`` (any number of rows) come from the generators of :mod:`c2rf.datasets` and need
no file. What the paper printed about them is here, too.

The seed of a sample depends on the experiment's seed, the protocol's name, the data set and the
number of the sample, and on nothing else: every method gets the same sample and the same trees,
in whatever order and on however many processes they run; and samples of the same name but another
setting (a wrong total, say) have the same seed, so that only the setting differs.
"""

from __future__ import annotations

import re
import time
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from itertools import product
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from c2rf._utils.text import option_name
from c2rf._utils.types import Codes, Floats, Signs
from c2rf.datasets import biased_sample, iter_chunks
from c2rf.exceptions import InputError
from c2rf.forest.ensembles import make_ensemble

TIME_LIMIT = 7200
"""The paper's limit in seconds, one core, Gurobi with MIPFocus=3."""


@cache
def _published(name: str) -> pd.DataFrame:
    """Return a table of the paper by the name of the data set."""
    folder = files("c2rf.bench") / "published"
    with (folder / "datasets.csv").open() as numbers, (folder / f"{name}.csv").open() as file:
        names = pd.read_csv(numbers, index_col="id")["name"]
        return pd.read_csv(file).set_index(pd.Index(names, name="data set"))


def data_sets() -> pd.DataFrame:
    """Return Table 1: ID, number of rows and features, whether rescaled.

    Examples
    --------
    >>> data_sets().loc["phoneme", ["id", "n_points"]].tolist()
    [1, 5349]
    """
    return _published("datasets").drop(columns="name").astype({"rescaled": bool})


def run_times() -> pd.DataFrame:
    """Return Table 2: median seconds by method (NaN for "---").

    Examples
    --------
    >>> run_times().columns.tolist()
    ['rf', 'c2rf', 'p-c2rf', 'only-pp', 'only-br']
    """
    table = _published("median_runtime_seconds").drop(columns="id")
    return table.rename(columns=lambda name: name.replace("_", "-"))


def quality(protocol: str, metric: str) -> pd.DataFrame:
    """Return the accuracy or MCC of Table 3 ("biased") or 4 ("simple") by method.

    The metric "mcc" is 100 (1 + MCC) / 2.

    Examples
    --------
    >>> quality("biased", "accuracy").loc["phoneme", "p-c2rf"].item()
    72.51
    """
    table = _published(f"median_quality_{protocol}").filter(like=f"{metric}_")
    return table.rename(columns=lambda name: name.removeprefix(f"{metric}_").replace("_", "-"))


NAMES: tuple[str, ...] = tuple(data_sets().index)
"""The paper's data sets, in the order of its tables."""

LARGE = 100.0
"""A shifted column that leaves [-LARGE, LARGE] is rescaled to it."""

_MADE = re.compile(r"made-(twonorm|ringnorm|waveform)-([1-9]\d*)")


@dataclass(frozen=True, eq=False)
class DataSet:
    """A prepared data set: features, labels of ±1, and how many columns were rescaled."""

    name: str
    X: Floats
    y: NDArray[np.int8]
    rescaled: int


def check_name(name: str) -> None:
    """Refuse a name that is neither a data set of the paper nor one to be made.

    Examples
    --------
    >>> check_name("iris")
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputError: unknown data set 'iris'; known are phoneme, magic, adult, churn, \
ring, twonorm, waveform_21, ann_thyroid, agaricus_lepiota, waveform_40, connect_4, coil2000, \
clean2, and made-twonorm-N, made-ringnorm-N, made-waveform-N for N generated rows
    """
    if name not in NAMES and not _MADE.fullmatch(name):
        raise InputError(
            f"unknown data set {name!r}; known are {', '.join(NAMES)}, and made-twonorm-N, "
            "made-ringnorm-N, made-waveform-N for N generated rows"
        )


def load(name: str, folder: Path | None = None) -> DataSet:
    """Read (or make) a data set and prepare it.

    Parameters
    ----------
    name : str
        One of :data:`NAMES`, or ``made-<generator>-<rows>``.
    folder : Path or None
        PMLB's cache: read if the data set is there, else downloaded to. None: downloaded.

    Returns
    -------
    DataSet

    Raises
    ------
    InputError
        If the data cannot be had or is not what Table 1 of the paper says.

    Examples
    --------
    >>> data = load("made-waveform-500")
    >>> data.X.shape, np.unique(data.y)
    ((500, 21), array([-1,  1], dtype=int8))
    """
    check_name(name)
    if made := _MADE.fullmatch(name):
        return prepare(name, _make(made[1], int(made[2])))
    data = prepare(name, _fetch(name, folder))
    _check_against_paper(data)
    return data


def prepare(name: str, frame: pd.DataFrame) -> DataSet:
    """Drop duplicate and incomplete rows, make label 1 positive and others negative, rescale.

    Examples
    --------
    >>> frame = pd.DataFrame({"a": [1.0, 1.0, 3.0, None], "target": [1, 1, 2, 0]})
    >>> data = prepare("example", frame)
    >>> data.X.tolist(), data.y
    ([[-1.0], [1.0]], array([ 1, -1], dtype=int8))
    """
    if "target" not in frame:
        raise InputError(f"data set {name} has no column 'target'")
    clean = frame.drop_duplicates().dropna()
    y = np.where(clean["target"] == 1, 1, -1).astype(np.int8)
    X, rescaled = rescale(clean.drop(columns="target").to_numpy(dtype=float))
    return DataSet(name, X, y, rescaled)


def rescale(X: Floats) -> tuple[Floats, int]:
    """Centre every column's range at 0, and shrink columns that are still large.

    Returns the new columns and how many were shrunk.

    Examples
    --------
    >>> X, shrunk = rescale(np.array([[0.0, 0.0, 7.0], [4.0, 1000.0, 7.0], [1.0, 250.0, 7.0]]))
    >>> X.T.tolist(), shrunk
    ([[-2.0, 2.0, -1.0], [-100.0, 100.0, -50.0], [0.0, 0.0, 0.0]], 1)
    """
    low, high = X.min(axis=0), X.max(axis=0)
    half = (high - low) / 2
    # x - m_j; the paper's formula for large columns, with + v_lower in place of + v_upper,
    # is this times 100 / half the range.
    shifted = X - (low + half)
    large = half > LARGE
    return shifted * np.where(large, LARGE / np.where(large, half, 1.0), 1.0), int(large.sum())


def _make(generator: str, n_points: int) -> pd.DataFrame:
    options = {"binary": True} if generator == "waveform" else {}
    parts = list(iter_chunks(generator, n_points, random_state=0, **options))
    frame = pd.DataFrame(np.concatenate([X for X, _ in parts]))
    frame["target"] = np.concatenate([y for _, y in parts])
    return frame


def _fetch(name: str, folder: Path | None) -> pd.DataFrame:
    if find_spec("pmlb") is None:
        raise InputError('reading PMLB data needs the package pmlb; pip install "c2rf[bench]"')
    import pmlb

    where = None if folder is None else str(folder)
    try:
        return pmlb.fetch_data(name, local_cache_dir=where, dropna=False)
    except Exception as error:  # a broken file, no network, no permission: all the same to us
        source = "downloaded" if folder is None else f"read from {folder} or downloaded to it"
        reason = f"{type(error).__name__}: {error}"
        raise InputError(f"data set {name} cannot be {source} ({reason})") from error


def _check_against_paper(data: DataSet) -> None:
    expected = tuple(data_sets().loc[data.name, ["n_points", "n_features"]])
    if data.X.shape != expected:
        raise InputError(
            f"data set {data.name} has N = {data.X.shape[0]} rows and p = {data.X.shape[1]} "
            f"features after cleaning; Table 1 of the paper says N = {expected[0]}, "
            f"p = {expected[1]}: get the version that PMLB has"
        )


@dataclass(frozen=True)
class Protocol:
    """How samples are drawn and trees are grown.

    Parameters
    ----------
    name : str
        What to call it.
    positive_weight : float
        Weight of a positive row when labeled rows are drawn; a negative one has the rest.
    fraction : float
        Fraction of the rows that are labeled.
    n_trees : int
        Number of trees.
    depth : int
        Their greatest depth.
    max_samples : float
        Fraction of the labeled rows that each tree is fitted to.
    criterion : str
        What a split of a tree reduces most. Entropy is what the authors' tree package,
        DecisionTree.jl, reduces unless told otherwise.
    total_error : float
        Relative error of the total that methods are given: with -0.2 they are given four fifths of
        the true one.
    few_labels : int or None
        Greatest number of labeled rows of the class that has fewest in a sample; the others that
        were drawn stay unlabeled. None for no limit.

    Examples
    --------
    >>> PROTOCOLS["biased"].positive_weight, PROTOCOLS["simple"].positive_weight
    (0.85, 0.5)
    """

    name: str
    positive_weight: float
    fraction: float = 0.01
    n_trees: int = 20
    depth: int = 2
    max_samples: float = 0.2
    criterion: str = "entropy"
    total_error: float = 0.0
    few_labels: int | None = None

    @property
    def title(self) -> str:
        """The name, and what is not as in the paper.

        Examples
        --------
        >>> Protocol("biased", 0.85).title, Protocol("biased", 0.5, total_error=0.05).title
        ('biased', 'biased, positive_weight 0.5, total_error 0.05')
        """
        usual = asdict(PROTOCOLS[self.name]) if self.name in PROTOCOLS else {"name": self.name}
        mine = asdict(self)
        return ", ".join([self.name, *(f"{k} {v}" for k, v in mine.items() if v != usual.get(k))])

    def told(self, n_positive: int, n_points: int) -> int:
        """Return the total that methods are given where this is the true one.

        Examples
        --------
        >>> Protocol("biased", 0.85, total_error=-0.2).told(100, 1000)
        80
        >>> Protocol("biased", 0.85, total_error=0.2).told(100, 110)  # never more than all
        110
        """
        return min(round(n_positive * (1 + self.total_error)), n_points)


PROTOCOLS = {
    protocol.name: protocol
    for protocol in (Protocol("biased", positive_weight=0.85), Protocol("simple", 0.5))
}


@dataclass(frozen=True, eq=False)
class TrialSample:
    """What a method may see: all but the true labels of the unlabeled rows.

    Parameters
    ----------
    X_labeled, X_unlabeled : ndarray of shape (n_rows, n_features)
        The features.
    y_labeled : ndarray of ±1
        The known labels.
    votes : ndarray of ±1, shape (n_unlabeled, n_trees)
        The votes of the trees on the unlabeled rows.
    n_positive : int
        The total lambda as it is told, which may be wrong if the protocol says so.
    seed : int
        For all that is random in a method.
    tree_seconds : float
        How long it took to grow the trees.
    """

    X_labeled: Floats
    y_labeled: Signs
    X_unlabeled: Floats
    votes: Signs
    n_positive: int
    seed: int
    tree_seconds: float = 0.0


def sample_seed(seed: int, protocol: str, data: str, sample: int) -> int:
    """Return the seed of a sample: the CRC-32 of "seed/protocol/data/sample".

    Examples
    --------
    >>> sample_seed(0, "biased", "phoneme", 3)
    1238869350
    """
    return zlib.crc32(f"{seed}/{protocol}/{data}/{sample}".encode())


def draw(data: DataSet, protocol: Protocol, seed: int) -> tuple[TrialSample, Signs]:
    """Draw a sample of a data set and grow its trees.

    Parameters
    ----------
    data : DataSet
        What to draw from.
    protocol : Protocol
        How.
    seed : int
        From :func:`sample_seed`.

    Returns
    -------
    sample : TrialSample
        What methods see.
    truth : ndarray of ±1
        The true labels of the unlabeled rows, which they do not see.

    Examples
    --------
    >>> from c2rf.bench.samples import load
    >>> sample, truth = draw(load("made-twonorm-2000"), PROTOCOLS["biased"], seed=1)
    >>> sample.votes.shape, bool(sample.n_positive == (truth > 0).sum())
    ((1980, 20), True)
    """
    labeled, unlabeled = biased_sample(
        data.y, protocol.fraction, protocol.positive_weight, random_state=seed
    )
    labeled, unlabeled = with_few_labels(data.y, labeled, unlabeled, protocol.few_labels, seed)
    X, y, rest = data.X[labeled], data.y[labeled], data.X[unlabeled]
    truth = data.y[unlabeled]
    start = time.perf_counter()
    votes = _votes(X, y, rest, protocol, seed)
    seconds = time.perf_counter() - start
    told = protocol.told(int((truth > 0).sum()), len(truth))
    return TrialSample(X, y, rest, votes, told, seed, seconds), truth


def with_few_labels(
    y: Signs, labeled: Codes, unlabeled: Codes, most: int | None, seed: int
) -> tuple[Codes, Codes]:
    """Leave only some labeled rows in the class that has fewest of them.

    Parameters
    ----------
    y : ndarray of ±1
        The truth about all rows.
    labeled, unlabeled : ndarray of int
        What was drawn.
    most : int or None
        Labeled rows of that class, at most; None changes nothing.
    seed : int
        Draws which of them stay.

    Examples
    --------
    >>> y = np.array([1, 1, 1, 1, -1, -1, -1, 1])
    >>> labeled, rest = with_few_labels(y, np.arange(7), np.array([7]), 1, seed=0)
    >>> int((y[labeled] < 0).sum()), int((y[labeled] > 0).sum()), len(rest)
    (1, 4, 3)
    """
    if most is None:
        return labeled, unlabeled
    positive = y[labeled] > 0
    scarce = labeled[positive if 2 * positive.sum() <= len(labeled) else ~positive]
    dropped = np.random.default_rng([seed, most]).permutation(scarce)[most:]
    return np.setdiff1d(labeled, dropped), np.union1d(unlabeled, dropped)


def _votes(X: Floats, y: Signs, rest: Floats, protocol: Protocol, seed: int) -> Signs:
    if len(np.unique(y)) == 1:  # nothing to learn: every tree says the one label it has seen
        return np.full((len(rest), protocol.n_trees), y[0], dtype=np.int8)
    trees = make_ensemble(
        DecisionTreeClassifier(max_depth=protocol.depth, criterion=protocol.criterion),
        X,
        y,
        n_estimators=protocol.n_trees,
        max_samples=protocol.max_samples,
        random_state=np.random.RandomState(seed),
    )
    return trees.votes(rest)


def parse_list(text: str) -> list[str]:
    """Return the names in a list with commas or blanks, each once.

    Examples
    --------
    >>> parse_list("rf, auto,rf")
    ['rf', 'auto']
    """
    names = list(dict.fromkeys(text.replace(",", " ").split()))
    if not names:
        raise InputError(f"at least one name must be given; found {text!r}")
    return names


_BETWEEN = {
    "fraction": (0, 1),
    "positive_weight": (0, 1),
    "total_error": (-1, inf),
    "few_labels": (0, inf),
}
"""What may be changed of a protocol, and what its values are between."""


def every_setting(protocols: Iterable[Protocol], **lists: str) -> Iterator[Protocol]:
    """Yield every protocol in every setting; an empty list keeps the protocol's own value.

    Examples
    --------
    >>> found = every_setting([Protocol("simple", 0.5)], fraction="1%", total_error="-20%, 0")
    >>> [setting.total_error for setting in found]
    [-0.2, 0.0]
    """
    values = {name: _numbers(name, text) for name, text in lists.items() if text}
    for protocol in protocols:
        for setting in product(*values.values()):
            changes: dict[str, Any] = dict(zip(values, setting, strict=True))
            yield replace(protocol, **changes)


def _numbers(name: str, text: str) -> list[float]:
    """Return the numbers in a list, each as 0.05 or as 5%, or whole if they count something."""
    above, below = _BETWEEN[name]
    whole = name == "few_labels"
    values = []
    for word in parse_list(text):
        try:  # decimal, so that 0.7% and 0.007 are the same number
            value = float(Decimal(word.removesuffix("%")) / (100 if word.endswith("%") else 1))
        except ArithmeticError:
            value = nan
        if not above < value < below or (whole and not value.is_integer()):
            allowed = f"above {above:g}" + (f" and below {below:g}" if below < inf else "")
            form = "a whole number" if whole else "as 0.05 or 5%"
            raise InputError(f"{option_name(name)} must be {allowed}, {form}; found {word!r}")
        values.append(int(value) if whole else value + 0.0)  # no -0.0
    return list(dict.fromkeys(values))
