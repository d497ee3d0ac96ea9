"""How near labels of plain totals are to the best ones, in exact arithmetic.

The prices of the residual network (:mod:`c2rf.assignment.residual`) are dual variables. Rounding
may spoil them a little, and then the gap of :mod:`c2rf.assignment.optimality` says by how much.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from c2rf._typing import Codes, Floats
from c2rf.assignment.optimality import PricedMargin, optimality_gap
from c2rf.assignment.residual import Residual
from c2rf.totals.bounds import Bounds


def direct_gap(
    scores: Floats, groups: Codes, labels: Codes, bounds: Bounds, networks: list[Residual]
) -> Fraction:
    """Return what no labels that meet the bounds gain over these.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
        Finite scores.
    groups, labels : ndarray of int, shape (n_points,)
        The group and the class of each row.
    bounds : Bounds
        Of classes in groups, and overall; no margins. The labels meet them.
    networks : list of Residual
        One of all groups where overall bounds couple them, else one each.
    """
    split = [network.nodes.split(network.prices()) for network in networks]
    if not bounds.couple():
        prices = np.vstack([classes for _, classes, _ in split])
        own = PricedMargin(groups, bounds.group_lower, bounds.group_upper, prices)
        return optimality_gap(scores, labels, [own])
    ((cells, classes, _),) = split
    everyone = np.zeros(len(labels), dtype=np.intp)
    overall = PricedMargin(everyone, bounds.lower[None], bounds.upper[None], classes[None])
    own = PricedMargin(groups, bounds.group_lower, bounds.group_upper, cells - classes)
    return optimality_gap(scores, labels, [overall, own])
