"""The groups of points, as a user names them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from c2rf.exceptions import InputError


def read_groups(groups: Any, n_points: int) -> tuple[list[Any], NDArray[np.intp]]:
    """Return the names of the groups, and the number of each point's group.

    Parameters
    ----------
    groups : array-like of shape (n_points,) or (n_points, n_columns), or None
        An entry per point; with several columns a group is a tuple of values. None is one group
        without a name.
    n_points : int
        Number of points.

    Examples
    --------
    >>> read_groups(["south", "north", "south"], 3)
    (['south', 'north'], array([0, 1, 0]))
    >>> read_groups([["AT", 1], ["AT", 2]], 2)[0]
    [('AT', 1), ('AT', 2)]
    """
    if groups is None:
        return [None], np.zeros(n_points, dtype=np.intp)
    if isinstance(groups, (list, tuple)):
        table = np.array(groups, dtype=object)  # else numbers beside text would become text
    else:
        table = groups.to_numpy() if hasattr(groups, "to_numpy") else np.asarray(groups)
    if len(table) != n_points or table.ndim not in (1, 2):
        raise InputError(
            f"groups must have one entry per unlabeled point, {n_points}; found the shape "
            f"{table.shape}"
        )
    missing = np.flatnonzero(pd.isna(table).reshape(n_points, -1).any(axis=1))
    if len(missing):
        raise InputError(
            f"groups has no entry in row {missing[0]} ({len(missing)} are missing); give points "
            "without a group a name of their own"
        )
    if table.ndim == 2:
        codes, tuples = pd.factorize(pd.MultiIndex.from_arrays(list(table.T)))
        return list(tuples), codes
    codes, names = pd.factorize(table)
    return np.asarray(names).tolist(), codes
