"""What there is to tell about one classification, before any of it is put into words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from c2rf.problem import Solution
from c2rf.transport.bounds import Bounds

NEAREST = 10
"""So many of the rows nearest to the cut-off are shown."""

Floats = NDArray[np.float64]
Texts = NDArray[np.object_]
Ints = NDArray[np.int64]


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
    """Rows ranked by probabilities: the model, the shift of each class, and the rounds.

    A round is a dict of ``round``, ``criterion``, ``taken`` and ``why``.
    """

    model: str
    offsets: Mapping[str, float]
    rounds: Sequence[Mapping[str, Any]]


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
        With two classes, the one that scores above zero speak for.
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

    @property
    def n(self) -> int:
        """Number of unlabeled rows."""
        return len(self.labels) if self.all_counts is None else int(self.all_counts.sum())

    def of_all(self, n_rows: int) -> int:
        """Return how many of all rows it is, if it is so many of those that are given."""
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
