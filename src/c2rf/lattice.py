"""The odd lattice: integer weights with an odd sum, feasible for any votes.

A signed sum of integers has the parity of their sum. So where all column weights are integers
and their sum is odd, every score is odd, and every margin is at least one.
"""

from __future__ import annotations

import numpy as np

from c2rf.problem import Floats, Problem


def odd_lattice_point(problem: Problem) -> Floats | None:
    """Return the smallest integer weights in the box with an odd sum, if there are any.

    Examples
    --------
    >>> from c2rf.problem import make_problem
    >>> odd_lattice_point(make_problem([[1, -1], [-1, 1]], 1))
    array([2., 1.])
    """
    weights = np.ceil(problem.lower)
    if (weights > problem.upper).any():
        return None
    if weights.sum() % 2 == 0:
        room = np.flatnonzero(weights + 1 <= problem.upper)
        if len(room) == 0:
            return None
        weights[room[0]] += 1
    return weights
