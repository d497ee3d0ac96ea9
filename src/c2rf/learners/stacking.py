"""Base learners made comparable, and weighted by held-out labeled rows.

Scores of different classifiers made comparable: how far a row is beyond the cut.

Cut the population at the known rate of a class: the rows with the highest scores are of that class.
A row's lead is its distance to this cut, above it or (negative) below it, in units of the mean
distance of the population's rows. Whatever a classifier's scores look like, a lead of zero is where
it is in doubt, and leads of classes can be compared: a row's likeliest class is the one it has the
greatest lead in.

How good a classifier is at labeling a population of known rates, by held-out labeled rows.

Cut the population at the known rate of a class: the rows with the highest scores are of that
class. Then the labeled rows of the class below the cut, and those of other classes above it, are
two estimates of one and the same rate of errors, because as many rows are wrongly taken in as
are left out. Each is weighted by how many rows it rests on. No estimate of a threshold from few
labeled rows is needed, and the bias of a labeled sample that holds too many of one class is
gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from c2rf._utils.types import Codes, Floats
from c2rf.learners.base_learners import Lesson, Member
from c2rf.learners.features import View
from c2rf.learners.threads import in_threads

LARGEST_LEAD = 5.0
"""Rows further from a cut than this are as good as each other."""

_ROUNDING = 1e-12


class Cut(NamedTuple):
    """Where a rate of some values is above.

    Parameters
    ----------
    at : float
        The value that they are above; infinite for a rate of zero.
    equal, part : float
        Where equal values would have to be cut through: this value (else NaN), and the part of them
        that is above.
    """

    at: float
    equal: float = np.nan
    part: float = 0.0

    @classmethod
    def of(cls, values: Floats, rate: float) -> Self:
        """Cut values that are in ascending order.

        Examples
        --------
        >>> Cut.of(np.array([0.0, 1.0, 2.0, 3.0]), 0.25).at
        2.25
        >>> Cut.of(np.array([0.0, 1.0, 1.0, 2.0]), 0.5)
        Cut(at=1.0, equal=1.0, part=0.5)
        """
        if rate <= 0:
            return cls(np.inf)
        n_rows = len(values)
        position = (n_rows - 1) * (1 - rate)
        below = int(position)
        low, high = values[below], values[min(below + 1, n_rows - 1)]
        if low < high:
            return cls(float(low + (position - below) * (high - low)))
        first, end = np.searchsorted(values, low, "left"), np.searchsorted(values, low, "right")
        part = float(np.clip((end - n_rows * (1 - rate)) / (end - first), 0.0, 1.0))
        # The more of them are above, the closer the cut is to those that are certainly below.
        under = (low + values[max(first - 1, 0)]) / 2
        over = (low + values[min(end, n_rows - 1)]) / 2
        return cls(float(part * under + (1 - part) * over), float(low), part)


@dataclass(frozen=True, eq=False)
class Cuts:
    """Where a classifier's scores cut a population of known rates.

    Parameters
    ----------
    cuts : list of Cut
        Of each class, the score that its known rate of the population is above.
    unit : float
        The mean distance of the population's scores to the cuts.
    """

    cuts: list[Cut]
    unit: float

    @classmethod
    def of(cls, scores: Floats, rates: Floats) -> Self:
        """Return the cuts of a population.

        Parameters
        ----------
        scores : ndarray of shape (n_rows, n_classes)
            Of rows of the population.
        rates : ndarray of shape (n_classes,)
            The known rates of the classes.

        Examples
        --------
        >>> scores = np.array([[0.0, 9.0], [1.0, 8.0], [4.0, 5.0], [7.0, 2.0]])
        >>> cuts = Cuts.of(scores, np.array([0.5, 0.5]))
        >>> [cut.at for cut in cuts.cuts], cuts.unit
        ([2.5, 6.5], 2.5)
        >>> cuts.leads(np.array([[5.0, 4.0]])).tolist()
        [[1.0, -1.0]]
        """
        pairs = zip(np.sort(scores, axis=0).T, rates, strict=True)
        cuts = [Cut.of(values, rate) for values, rate in pairs]
        at = np.array([cut.at for cut in cuts])
        return cls(cuts, float(np.abs(scores - at)[:, np.isfinite(at)].mean()))

    def leads(self, scores: Floats) -> Floats:
        """Return the leads of any rows, from their scores."""
        at = np.array([cut.at for cut in self.cuts])
        least = _ROUNDING * max(1.0, float(np.abs(at[np.isfinite(at)]).max()))
        return np.clip((scores - at) / max(self.unit, least), -LARGEST_LEAD, LARGEST_LEAD)

    def above(self, scores: Floats) -> Floats:
        """Return how far rows are above the cuts: 1 or 0, or a part where equals are on both sides.

        Examples
        --------
        >>> cuts = Cuts.of(np.array([[1.0], [2.0], [2.0], [2.0]]), np.array([0.25]))
        >>> cuts.above(np.array([[1.0], [2.0], [3.0]])).round(2).tolist()
        [[0.0], [0.33], [1.0]]
        """
        columns = [
            np.where(own == cut.equal, cut.part, own > cut.at)
            for own, cut in zip(scores.T, self.cuts, strict=True)
        ]
        return np.column_stack(columns)


N_FOLDS = 5
N_REPEATS = 2
N_CROWD = 1000
"""Rows of the population, at most, that show where a member's cuts are; and as many others that
leaves of trees are to know."""

TEMPERATURE = 0.5
"""A member that is less accurate than another by this many standard errors has 1/e of its
weight."""

ENOUGH_LABELS = 10
"""With fewer labeled rows in a class, held-out rows say little, and trees are preferred."""


def folds(codes: Codes, n_folds: int, rng: np.random.RandomState) -> Iterator[tuple[Codes, Codes]]:
    """Yield rows to keep and rows to hold out; some of every class are always kept.

    The only row of a class is never held out.

    Examples
    --------
    >>> codes = np.array([0, 0, 0, 1, 1, 2])
    >>> parts = list(folds(codes, 2, np.random.RandomState(0)))
    >>> [np.unique(codes[kept]).tolist() for kept, _ in parts]
    [[0, 1, 2], [0, 1, 2]]
    >>> sorted(np.concatenate([held for _, held in parts]).tolist())
    [0, 1, 2, 3, 4]
    """
    fold = np.full(len(codes), -1)
    turn = 0
    for k in range(codes.max() + 1):
        members = rng.permutation(np.flatnonzero(codes == k))
        if len(members) > 1:
            # The next class begins where this one ends, so that folds are of equal size.
            fold[members] = (turn + np.arange(len(members))) % n_folds
            turn += len(members)
    for f in range(n_folds):
        if (fold == f).any():
            yield np.flatnonzero(fold != f), np.flatnonzero(fold == f)


def row_weights(codes: Codes, rates: Floats, weight: Floats | None = None) -> Floats:
    """Return weights with which labeled rows have the known rates.

    Examples
    --------
    >>> row_weights(np.array([0, 0, 0, 1]), np.array([0.6, 0.4])).round(3).tolist()
    [0.2, 0.2, 0.2, 0.4]
    """
    weight = np.ones(len(codes)) if weight is None else weight
    counts = np.bincount(codes, weights=weight, minlength=len(rates))
    return weight * np.divide(rates, counts, out=np.zeros(len(rates)), where=counts > 0)[codes]


def accuracy_at_rates(
    above: Floats, codes: Codes, rates: Floats, weight: Floats | None = None
) -> float:
    """Estimate the accuracy of labels that have the known rates.

    Parameters
    ----------
    above : ndarray of shape (n_held_out, n_classes)
        Whether held-out rows are above the cuts; a part where that is a matter of chance.
    codes : ndarray of shape (n_held_out,)
        Numbers of their classes.
    rates : ndarray of shape (n_classes,)
        The known rates.
    weight : ndarray of shape (n_held_out,), optional
        How much each row counts.

    Examples
    --------
    >>> above = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    >>> accuracy_at_rates(above, np.array([0, 0, 1, 1]), np.array([0.5, 0.5]))
    0.75
    """
    weights = row_weights(codes, rates, weight)
    errors = 0.0
    for k in range(len(rates)):
        inside, taken = codes == k, weights * above[:, k]
        left_out = weights[inside].sum() - taken[inside].sum()
        taken_in = taken[~inside].sum()
        # The variance of a sum of indicators goes with the sum of the squared weights.
        variances = (weights[inside] ** 2).sum(), (weights[~inside] ** 2).sum()
        if inside.any() and not inside.all():
            errors += (left_out * variances[1] + taken_in * variances[0]) / sum(variances)
        else:
            errors += left_out + taken_in
    return float(1 - errors)


def standard_error(accuracy: float, row_weight: Floats) -> float:
    """Return the standard error of an accuracy estimated from weighted rows, never zero."""
    within = np.clip(accuracy, 0.5, 1 - 0.5 / len(row_weight))
    return float(np.sqrt(within * (1 - within) * (row_weight**2).sum()))


@dataclass(frozen=True, eq=False)
class Verdict:
    """How far each member is trusted.

    Parameters
    ----------
    share : ndarray of shape (n_members,)
        The weights, which add up to one.
    accuracies : ndarray of shape (n_members,), or None
        The estimated accuracies; None where no labeled row can be held out.
    leads : ndarray of shape (n_judged, n_classes)
        Blended leads of the labeled rows that were held out.
    judged : ndarray of int
        Numbers of these rows.
    """

    share: Floats
    accuracies: Floats | None
    leads: Floats
    judged: Codes


def judge(
    members: Sequence[Member],
    lesson: Lesson,
    population: View,
    rng: np.random.RandomState,
    n_jobs: int | None,
) -> Verdict:
    """Hold out labeled rows, and see which members would have labeled them well.

    Parameters
    ----------
    members : sequence of Member
        Unfitted.
    lesson : Lesson
        All labeled rows.
    population : View
        Rows of the population, which show where the cuts are.
    rng : RandomState
        Draws the folds.
    n_jobs : int or None
        Number of threads.
    """
    share = prior_shares(members, lesson.codes)
    repeats = [list(folds(lesson.codes, N_FOLDS, rng)) for _ in range(N_REPEATS)]
    n_classes = len(lesson.rates)
    if not repeats[0]:
        return _unjudged(share, n_classes)
    n_there = len(population.raw)
    n_crowd = min(N_CROWD, (n_there + 1) // 2)
    crowd = population.take(slice(n_crowd))
    if n_there > 1:
        lesson = replace(lesson, others=slice(n_crowd, n_crowd + N_CROWD))
    calls = [(members, lesson, kept, held, crowd) for parts in repeats for kept, held in parts]
    found = in_threads(_held_out_leads, calls, n_jobs, "judging members by held-out rows")
    # two x members x repeats x rows x classes; rows that were never held out are left out
    table = np.full((2, len(members), N_REPEATS, len(lesson.codes), n_classes), np.nan)
    numbers = [(r, held) for r, parts in enumerate(repeats) for _, held in parts]
    for (repeat, held), both in zip(numbers, found, strict=True):
        table[:, :, repeat, held] = both
    judged = np.flatnonzero(~np.isnan(table[0, 0, 0, :, 0]))
    leads, above = table[..., judged, :]
    codes, weight = lesson.codes[judged], lesson.weight[judged]
    weights = row_weights(codes, lesson.rates, weight)
    if not weights.any():  # all are of classes that the population does not have
        return _unjudged(share, n_classes)
    accuracies = np.array(
        [np.mean([accuracy_at_rates(a, codes, lesson.rates, weight) for a in row]) for row in above]
    )
    error = standard_error(accuracies.max(), weights)
    share = share * np.exp((accuracies - accuracies.max()) / (TEMPERATURE * error))
    share /= share.sum()
    return Verdict(share, accuracies, np.tensordot(share, leads.mean(axis=1), axes=1), judged)


def prior_shares(members: Sequence[Member], codes: Codes) -> Floats:
    """Return the weights of members before any row is held out, the same for each family.

    With few labels of a class trees are the safest: they get what the others lack.

    Examples
    --------
    >>> both = [Member("trees", print), Member("svc", print), Member("svc", print)]
    >>> prior_shares(both, np.repeat([0, 1], [30, 20])).tolist()
    [0.5, 0.25, 0.25]
    >>> prior_shares(both, np.repeat([0, 1], [30, 2])).round(2).tolist()
    [0.9, 0.05, 0.05]
    """
    families = [member.family for member in members]
    shares = np.array([1.0 / families.count(family) for family in families])
    shares /= shares.sum()
    are_trees = np.array(["trees" in family for family in families])
    if not are_trees.any():
        return shares
    known = min(1.0, float(np.bincount(codes).min()) / ENOUGH_LABELS)
    trees = np.where(are_trees, shares, 0.0)
    return known * shares + (1 - known) * trees / trees.sum()


def _unjudged(share: Floats, n_classes: int) -> Verdict:
    """Return the verdict where held-out rows say nothing."""
    return Verdict(share, None, np.empty((0, n_classes)), np.empty(0, dtype=np.intp))


def _held_out_leads(
    members: Sequence[Member], lesson: Lesson, kept: Codes, held: Codes, crowd: View
) -> Floats:
    """Return the leads of held-out rows by each member, and whether they are above its cuts."""
    learned, asked = lesson.take(kept), lesson.view.take(held)
    found = np.empty((2, len(members), len(held), len(lesson.rates)))
    for k, member in enumerate(members):
        scores = member.fit(learned)
        cuts, said = Cuts.of(scores(crowd), lesson.rates), scores(asked)
        found[:, k] = cuts.leads(said), cuts.above(said)
    return found
