"""What there is to tell about one classification, before any of it is put into words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from c2rf._utils.types import Floats, Ints, Texts
from c2rf.forest.problem import Solution
from c2rf.totals.bounds import Bounds

NEAREST = 10
"""How many of the rows nearest to the cut-off are shown."""

UNRELIABLE = 0.6
"""A class of which a smaller share of labels is expected to be right is called unreliable."""


@dataclass(frozen=True)
class FeatureFact:
    """A column that was learned from.

    ``how`` says in words what became of it; ``levels`` counts its values among the labeled,
    ``missing`` the empty cells of labeled and unlabeled rows, ``unseen`` the unlabeled rows whose
    text no labeled row has.
    """

    name: str
    how: str
    is_text: bool
    levels: int
    missing: tuple[int, int]
    unseen: int


@dataclass(frozen=True, eq=False)
class ForestFact:
    """Weighted trees: the solution and the box that the weights are from."""

    solution: Solution
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class RankingFact:
    """Rows ranked by probabilities: the model in words, the shift of each class, and who ranked.

    A member is a dict of ``base_learner``, ``accuracy`` (or None) and ``weight``.
    """

    model: str
    offsets: Mapping[str, float]
    members: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class AdjustmentFact:
    """A total that was changed: where and of which class, from what to what, and by how much."""

    where: str
    label: str
    before: str
    after: str
    why: str


@dataclass(frozen=True)
class BalanceFact:
    """A column, or a value of a text, of the labeled rows and of all rows.

    ``labeled``, ``weighted`` (each class to its known total) and ``population`` are means;
    ``before`` and ``after`` weighting are differences in standard deviations of the population.
    ``unit`` says how means are written: a number, a year, or a date in days since 1970.
    """

    name: str
    labeled: float
    weighted: float
    population: float
    before: float
    after: float
    unit: Literal["number", "year", "date"] = "number"


@dataclass(frozen=True)
class RightFact:
    """How many of some labels are right, by imputations: of "all", of a "class", of a "group"."""

    kind: str
    name: str
    n_rows: int
    estimate: float
    low: float
    high: float
    level: float


@dataclass(frozen=True, eq=False)
class ImportanceFact:
    """By column the share of labels that change if it is shuffled, and the rows that were tried."""

    changed: Mapping[str, float]
    n_rows: int


@dataclass(frozen=True, eq=False)
class SensitivityFact:
    """What becomes of the labels if totals are off.

    ``off`` says by how much in words, ``shares`` for each class. ``changed`` has for each class how
    many labels change if its totals are lower, and higher; ``labels`` and ``robust`` how many labels
    there are of it, and how many of these stay in all cases.
    """

    off: str
    shares: Floats
    changed: Ints
    labels: Ints
    robust: Ints


@dataclass(frozen=True, eq=False)
class Facts:
    """Everything a report tells.

    Parameters
    ----------
    labeled_file, unlabeled_file, target : str
        As the user names them.
    method : str
        The name of the method on the command line.
    classes : sequence of str
        The classes, sorted.
    sample : ndarray of str
        The classes of the labeled rows.
    bounds : Bounds
        The known totals: over all, and for each of ``group_names``.
    group : str or None
        The column that groups are from.
    group_names : sequence of str
        The groups, as ``bounds`` has them; one if there are none.
    groups : ndarray of int
        The number of the group of each unlabeled row.
    labels, scores, confidence : ndarray
        One each for each unlabeled row.
    positive : str or None
        With two classes, the class predicted by positive scores.
    names : sequence of str
        What to call each unlabeled row.
    features : sequence of FeatureFact
        The columns.
    forest : ForestFact or None
        With the method c2rf.
    ranking : RankingFact or None
        With the method known-totals.
    seconds : mapping of str to float
        What took how long.
    command : str
        The command that does it again.
    versions : mapping of str to str
        Of the packages that matter.
    remarks : sequence of str
        What to be careful about that only the maker of the facts knows.
    all_counts : ndarray of int, shape (n_groups, n_classes), or None
        Labels of each class in each group, where the unlabeled rows above are only a sample.
    notes : sequence of str
        How files were read, and which columns were left out.
    accuracy : str
        How many labels are right, where that is known.
    changes : sequence of ChangeFact
        Totals that were changed because they contradict each other.
    balance : sequence of BalanceFact
        The labeled rows against all rows.
    confusion : ndarray of shape (n_classes, n_classes), or None
        Of the rows labeled k, how many are expected to be really j.
    right : sequence of RightFact
        How many labels are right, with intervals; empty without imputations.
    importance : ImportanceFact or None
        What the labels rest on, where that was found out.
    stated : set of str, or None
        The classes of which an overall total was given; None for all of them.
    remainder : float or None
        Where rows have weights, by how much the sums of weights are off their totals, at most.
    sensitivity : SensitivityFact or None
        What becomes of the labels if totals are off, where that was asked for.
    """

    labeled_file: str
    unlabeled_file: str
    target: str
    method: str
    classes: Sequence[str]
    sample: Texts
    bounds: Bounds
    group: str | None
    group_names: Sequence[str]
    groups: Ints
    labels: Texts
    scores: Floats
    confidence: Floats
    positive: str | None
    names: Sequence[str]
    features: Sequence[FeatureFact]
    command: str
    seed: int
    versions: Mapping[str, str]
    seconds: Mapping[str, float] = field(default_factory=dict)
    forest: ForestFact | None = None
    ranking: RankingFact | None = None
    remarks: Sequence[str] = ()
    all_counts: Ints | None = None
    notes: Sequence[str] = ()
    accuracy: str = ""
    changes: Sequence[AdjustmentFact] = ()
    balance: Sequence[BalanceFact] = ()
    confusion: Floats | None = None
    right: Sequence[RightFact] = ()
    importance: ImportanceFact | None = None
    stated: Set[str] | None = None
    remainder: float | None = None
    sensitivity: SensitivityFact | None = None

    @property
    def expected_rates(self) -> Floats | None:
        """Of the labels of each class, the share that is expected to be right."""
        if self.confusion is None:
            return None
        labels = self.confusion.sum(axis=1)
        return np.diag(self.confusion) / np.where(labels > 0, labels, 1.0)

    @property
    def n(self) -> int:
        """Number of unlabeled rows."""
        return len(self.labels) if self.all_counts is None else int(self.all_counts.sum())

    def of_all(self, n_rows: int) -> int:
        """Return how many of all rows it is, if it is this many of those that are given."""
        return round(n_rows * self.n / len(self.labels))

    @cached_property
    def sample_counts(self) -> Ints:
        """Labeled rows of each class."""
        return np.array([np.sum(self.sample == name) for name in self.classes], dtype=np.int64)

    @cached_property
    def codes(self) -> Ints:
        """The number of the class of each label."""
        places = {name: place for place, name in enumerate(self.classes)}
        return np.array([places[label] for label in self.labels], dtype=np.int64)

    @cached_property
    def counts(self) -> Ints:
        """Labels of each class in each group."""
        if self.all_counts is not None:
            return self.all_counts
        counts = np.zeros((len(self.group_names), len(self.classes)), dtype=np.int64)
        np.add.at(counts, (self.groups, self.codes), 1)
        return counts

    @property
    def margins(self) -> Floats:
        """How far from the cut-off each row is."""
        return np.abs(self.scores)
