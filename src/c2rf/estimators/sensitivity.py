"""Which labels depend on a total: labels again, with the totals of one class off by some share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from c2rf._utils.scalars import is_number
from c2rf._utils.text import for_user
from c2rf._utils.types import Codes, Floats
from c2rf.assignment import assign
from c2rf.estimators.assigning import AssignmentProblem, logarithms
from c2rf.estimators.rows import PopulationLabels
from c2rf.exceptions import InputError
from c2rf.progress import report_progress
from c2rf.totals.bounds import Bounds, LinearConstraints
from c2rf.totals.reconcile import round_table


class PopulationSensitivity(PopulationLabels):
    """Adds to a classifier which labels of its population depend on which totals."""

    classes_: NDArray[Any]

    def sensitivity(self, share: float | None = None) -> pd.DataFrame:
        """Return which labels stay and which change if the totals of a class are off.

        The unlabeled rows are labeled again with all totals of one class higher, and lower, by a
        share; in every group the other classes make room in proportion.

        Parameters
        ----------
        share : float, optional
            From above 0 to 1, as 0.05 for five percent. By default the standard errors of the
            estimates among the totals.

        Returns
        -------
        DataFrame
            A row per unlabeled row: ``robust``, whether its label is the same in all cases, and
            ``sensitive_to``, the classes on whose totals it depends, separated by commas.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> from c2rf import KnownTotalsClassifier
        >>> from c2rf.datasets import make_twonorm
        >>> X, y = make_twonorm(400, random_state=0)
        >>> classifier = KnownTotalsClassifier(LogisticRegression(), random_state=0)
        >>> _ = classifier.fit(X[:100], y[:100], X_unlabeled=X[100:], totals={1: 150})
        >>> int(classifier.sensitivity(0.1)["robust"].sum())
        270
        """
        return self._sensitivity(share).frame()

    def _sensitivity(self, share: float | None) -> Sensitivity:
        """Return the same as an object that takes little room."""
        rows = self._known_rows("sensitivity")
        shares = shares_off(share, rows.meeting.bounds.relative_errors, len(self.classes_))
        logs = logarithms(rows.scores, rows.floor)
        return find_sensitivity(rows.meeting, logs, rows.codes_here, self.classes_, shares)


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Which labels depend on which totals.

    Parameters
    ----------
    shares : ndarray of shape (n_classes,)
        By which share the totals of each class were off.
    changed : ndarray of int, shape (n_classes, 2)
        How many labels change if the totals of a class are lower, and higher.
    kinds : ndarray of str
        Classes on whose totals a row depends, separated by commas; nothing for a robust one.
    codes : ndarray of int, shape (n_rows,)
        The number of the kind of each row.
    """

    shares: Floats
    changed: NDArray[Any]
    kinds: NDArray[Any]
    codes: NDArray[Any]

    @property
    def robust(self) -> NDArray[np.bool_]:
        """Of each row whether its label is the same in all cases."""
        return np.asarray(self.kinds == "")[self.codes]

    def frame(self) -> pd.DataFrame:
        """Return a row per row: ``robust`` and ``sensitive_to``."""
        return pd.DataFrame({"robust": self.robust, "sensitive_to": self.kinds[self.codes]})


def find_sensitivity(
    meeting: AssignmentProblem, logs: Floats, labels: Codes, classes: NDArray[Any], shares: Floats
) -> Sensitivity:
    """Label again with the totals of each class lower, and higher.

    Parameters
    ----------
    meeting : Meeting
        The totals that were met.
    logs : ndarray of shape (n_rows, n_classes)
        Logarithms of probabilities.
    labels : ndarray of int, shape (n_rows,)
        The class of each row.
    classes : ndarray
        The classes.
    shares : ndarray of shape (n_classes,)
        By which share the totals of each class may be off; 0 for not at all.
    """
    hangs = np.zeros((len(labels), len(classes)), dtype=bool)
    counts = _counts(meeting, labels, len(classes))
    changed = np.zeros((len(classes), 2), dtype=np.int64)
    for k in np.flatnonzero(shares > 0):
        for side, factor in enumerate((1 - shares[k], 1 + shares[k])):
            report_progress(f"labeling again with other totals of {classes[k]}")
            bounds = shifted_bounds(meeting, counts, int(k), float(factor))
            found = assign(logs, bounds, meeting.groups.codes, meeting.seed, meeting.weights)
            others = found.labels != labels
            changed[k, side] = others.sum()
            hangs[:, k] |= others
    kinds, place = np.unique(hangs, axis=0, return_inverse=True)
    names = np.array([", ".join(str(name) for name in classes[kind]) for kind in kinds], object)
    return Sensitivity(shares, changed, names, place.ravel().astype(np.int32))


def shares_off(share: Any, errors: Floats | None, n_classes: int) -> Floats:
    """Return by which share the totals of each class may be off: one for all, or their errors."""
    if share is None and errors is not None:
        return np.minimum(errors, 1.0)
    if share is None:
        raise InputError(
            "sensitivity needs a share, such as 0.05: no total has a standard error, such as "
            + for_user("c2rf.Estimate(1200, se=50)", "1200+-50")
        )
    if not is_number(share) or not 0 < float(share) <= 1:
        raise InputError(
            f"sensitivity needs a share above 0 and up to {for_user('1', '100%')}, such as "
            f"{for_user('0.05', '5%')}; found {share!r}"
        )
    return np.full(n_classes, float(share))


def shifted_bounds(meeting: AssignmentProblem, counts: Floats, k: int, factor: float) -> Bounds:
    """Return bounds with all totals of a class multiplied; in each group the others make room."""
    bounds, sizes = meeting.bounds, counts.sum(axis=1, keepdims=True)
    own = np.minimum(counts[:, [k]] * factor, sizes)
    rest = sizes - counts[:, [k]]
    # Where a group is all of the class, the others share what it gives up alike.
    alike = np.full(counts.shape, 1 / (counts.shape[1] - 1))
    moved = np.where(rest > 0, counts / np.where(rest > 0, rest, 1), alike) * (sizes - own)
    moved[:, [k]] = own
    if meeting.weights is None:
        constraints = LinearConstraints.of(bounds)
        target = constraints.matrix @ moved.ravel()
        moved, *_ = round_table(
            constraints.between(target, target), target, np.zeros(len(target), dtype=bool)
        )
    return _points(bounds, moved.astype(np.asarray(bounds.lower).dtype))


def _points(bounds: Bounds, counts: NDArray[Any]) -> Bounds:
    """Return the same totals with what a table of counts adds up to; what is free stays so."""
    fixed = []
    for margin in bounds.all_margins():
        most = margin.sums(bounds.group_sizes[:, None])
        known = (margin.lower > 0) | (margin.upper < most)
        found = margin.sums(counts)
        lower, upper = np.where(known, found, margin.lower), np.where(known, found, margin.upper)
        fixed.append(replace(margin, lower=lower, upper=upper))
    return bounds.with_all_margins(fixed)


def _counts(meeting: AssignmentProblem, labels: Codes, n_classes: int) -> Floats:
    cells = np.asarray(meeting.groups.codes) * n_classes + labels
    n_cells = len(meeting.groups.names) * n_classes
    found = np.bincount(cells, meeting.weights, minlength=n_cells)
    return found.reshape(-1, n_classes).astype(float)
