"""Known totals beside what labels add up to, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from c2rf.totals.bounds import Bounds
from c2rf.totals.known import Groups
from c2rf.totals.reconcile import Change
from c2rf.totals.system import System


def changes_table(changes: Sequence[Change]) -> pd.DataFrame:
    """Return a row per total that was moved, because totals contradicted each other.

    Returns
    -------
    DataFrame
        ``where`` and ``class``, ``given`` as it was said, ``before`` and ``after`` in rows,
        ``moved`` by how many, and in how many ``standard_errors`` (NaN for an exact total).

    Examples
    --------
    >>> moved = Change(("region",), ("north",), "yes", "120+-5", 120.0, 114.0, 5.0)
    >>> print(changes_table([moved]).to_string(index=False))
           where class  given  before  after  moved  standard_errors
    region north   yes 120+-5   120.0  114.0   -6.0             -1.2
    """
    names = ["where", "class", "given", "before", "after", "moved", "standard_errors"]
    rows = [
        (c.where, c.label, c.said, c.before, c.after, c.after - c.before, c.in_errors)
        for c in changes
    ]
    return pd.DataFrame(rows, columns=names).astype({"standard_errors": float})


def totals_table(
    bounds: Bounds, groups: Groups, classes: Any, counts: NDArray[Any]
) -> pd.DataFrame:
    """Return a row per total that is known.

    Parameters
    ----------
    bounds : Bounds
        What is known.
    groups : Groups
        Their names and columns.
    classes : sequence
        The classes.
    counts : ndarray of shape (n_groups, n_classes)
        What the labels add up to.

    Returns
    -------
    DataFrame
        The grouping columns (empty where a total is not about them), ``class``, ``lower``,
        ``upper``, ``labels``, ``off``.

    Examples
    --------
    >>> table = totals_table(
    ...     Bounds.overall([2, 0], [2, 5], 5), Groups.none(5), ["no", "yes"], np.array([[2, 3]])
    ... )
    >>> table.to_dict("records")
    [{'class': 'no', 'lower': 2, 'upper': 2, 'labels': 2, 'off': 0}]
    """
    system, parts = System.of(bounds), bounds.parts()
    names = [str(name) for name in groups.columns]
    number = float if np.asarray(counts).dtype.kind == "f" else int
    found, off = system.matrix @ counts.ravel().astype(float), system.missed(counts)
    rows = []
    for f, (p, cell, k) in enumerate(system.places.tolist()):
        columns = groups.columns if p == 1 else parts[p].columns
        name = groups.names[cell] if p == 1 else parts[p].names[cell]
        place = name if len(columns) > 1 else (name,)
        at = dict.fromkeys(names, "") | dict(zip(map(str, columns), place, strict=False))
        known = {
            "lower": system.lower[f],
            "upper": system.upper[f],
            "labels": found[f],
            "off": off[f],
        }
        rows.append(at | {"class": classes[k]} | {key: number(v) for key, v in known.items()})
    header = [*names, "class", "lower", "upper", "labels", "off"]
    return pd.DataFrame(rows, columns=header)
