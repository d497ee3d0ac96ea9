"""Which labels depend on a total: labels again, with the totals of one class lower, and higher."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from c2rf._utils.text import for_user
from c2rf._utils.types import Codes, Floats, is_number
from c2rf.assignment import AssignmentProblem
from c2rf.assignment.parts import ScoredRows
from c2rf.exceptions import InputError
from c2rf.progress import report_progress
from c2rf.totals.bounds import Bounds, LinearConstraints
from c2rf.totals.reconcile import round_table


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Which labels depend on which totals.

    Parameters
    ----------
    share : float, optional
        By which share the totals of each class were off; None: by their standard errors.
    off : ndarray of shape (n_classes,)
        By how many rows the totals of each class were off, groups added up.
    changed : ndarray of int, shape (n_classes, 2)
        How many labels change if the totals of a class are lower, and higher.
    kinds : ndarray of str
        Classes on whose totals a row depends, separated by commas; nothing for a robust one.
    codes : ndarray of int, shape (n_rows,)
        The number of the kind of each row.
    """

    share: float | None
    off: Floats
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
    problem: AssignmentProblem,
    logs: Floats,
    labels: Codes,
    classes: NDArray[Any],
    share: float | None,
) -> Sensitivity:
    """Label again with the totals of each class lower, and higher.

    Parameters
    ----------
    problem : AssignmentProblem
        The totals that were met.
    logs : ndarray of shape (n_rows, n_classes)
        Logarithms of probabilities.
    labels : ndarray of int, shape (n_rows,)
        The class of each row.
    classes : ndarray
        The classes.
    share : float, optional
        By which share of itself a total may be off; None: by its standard error.
    """
    depends = np.zeros((len(labels), len(classes)), dtype=bool)
    open_rows, left = problem.left
    logs, labels = logs[open_rows], labels[open_rows]
    rows = ScoredRows(logs, np.asarray(left.groups.codes), left.weights, len(left.groups.names))
    counts = rows.counts(labels)
    errors = problem.bounds.errors
    check_share(share, errors)
    off = np.asarray(errors if share is None else share * (counts + problem.known_counts))
    changed = np.zeros((len(classes), 2), dtype=np.int64)
    for k in np.flatnonzero(off.any(axis=0)):
        for side, rows_off in enumerate((-off[:, k], off[:, k])):
            report_progress(f"labeling again with other totals of {classes[k]}")
            bounds = shifted_bounds(left, counts, int(k), rows_off)
            others = replace(left, bounds=bounds).solve(logs).labels != labels
            changed[k, side] = others.sum()
            depends[open_rows, k] |= others
    kinds, place = np.unique(depends, axis=0, return_inverse=True)
    names = np.array([", ".join(str(name) for name in classes[kind]) for kind in kinds], object)
    return Sensitivity(share, off.sum(axis=0), changed, names, place.ravel().astype(np.int32))


def check_share(share: Any, errors: Floats | None) -> None:
    """Refuse what is no share; None asks for totals with standard errors."""
    if share is None:
        if errors is None:
            raise InputError(
                "sensitivity needs a share, such as 0.05: no total has a standard error, such as "
                + for_user("c2rf.Estimate(1200, se=50)", "1200+-50")
            )
    elif not is_number(share) or not 0 < float(share) <= 1:
        raise InputError(
            f"sensitivity needs a share above 0 and up to {for_user('1', '100%')}, such as "
            f"{for_user('0.05', '5%')}; found {share!r}"
        )


def shifted_bounds(problem: AssignmentProblem, counts: Floats, k: int, off: Floats) -> Bounds:
    """Return bounds with ``off`` rows more of a class in each group, as far as there are any.

    In each group the other classes shrink or grow in proportion to their counts.
    """
    bounds, sizes = problem.bounds, counts.sum(axis=1, keepdims=True)
    own = np.clip(counts[:, [k]] + off[:, None], 0, sizes)
    rest = sizes - counts[:, [k]]
    # Where a group is all of the class, the others share what it gives up alike.
    alike = np.full(counts.shape, 1 / (counts.shape[1] - 1))
    moved = np.where(rest > 0, counts / np.where(rest > 0, rest, 1), alike) * (sizes - own)
    moved[:, [k]] = own
    if problem.weights is None:
        constraints = LinearConstraints.of(bounds)
        target = constraints.matrix @ moved.ravel()
        moved, *_ = round_table(
            constraints.between(target, target), target, np.zeros(len(target), dtype=bool)
        )
    moved = moved.astype(np.asarray(bounds.lower).dtype)
    return bounds.narrowed_to(moved, move_points=True)
