"""How samples are drawn and trees are grown, and what a method is allowed to see.

The seed of a sample depends on the experiment's seed, the protocol's name, the data set and the
number of the sample, and on nothing else: every method gets the same sample and the same trees,
in whatever order and on however many processes they run; and samples of the same name but another
setting (a wrong total, say) have the same seed, so that only the setting differs.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from itertools import product
from math import inf, nan
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from c2rf._utils.text import option_name
from c2rf._utils.types import Codes, Floats, Signs
from c2rf.bench.data import DataSet
from c2rf.datasets import biased_sample
from c2rf.exceptions import InputError
from c2rf.forest.ensembles import make_ensemble


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
    >>> from c2rf.bench.data import load
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
