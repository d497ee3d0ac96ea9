"""Signs as coalitions of columns, and what the box lets any number of them win.

A literal is a wished sign, named i for "pattern i is positive" and n + i for "pattern i is
negative", as in :mod:`c2rf.solver.implications`. Its +1 columns are a coalition, and the literal is
true if the coalition wins the weighted vote: ``alpha'a >= 1`` with ``a`` the row or its opposite.
"""

from __future__ import annotations

import numpy as np

from c2rf._typing import Floats, Ints
from c2rf.core.problem import Problem
from c2rf.core.votes import pack
from c2rf.solver.implications import slack


class Coalitions:
    """The literals of a problem.

    Parameters
    ----------
    problem : Problem
        Its patterns and box.

    Examples
    --------
    >>> from c2rf.core.problem import make_problem
    >>> problem = make_problem([[1, -1, -1], [-1, 1, -1], [-1, -1, 1]], 0)
    >>> coalitions = Coalitions(problem)
    >>> coalitions.excludes(np.array([0, 1, 2]), np.ones(3), 2)  # two of three disjoint ones win
    True
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.votes = np.concatenate([problem.patterns, -problem.patterns])
        self.inside = self.votes > 0
        self.size = self.inside.sum(axis=1)
        self.spare = 1 - slack(problem)
        # A column that may weigh less than nothing helps nobody for sure: to contain a
        # coalition is to agree with it on such columns.
        either = self.votes[:, problem.lower < 0]
        self._words = pack(np.hstack([self.votes, -either]))

    # One certificate for all cuts

    def reach(self, load: Floats, total: float, winners: float) -> Floats:
        """Return the most that each column can add to the scores of winning literals.

        Literals with multipliers y, ``total`` in all, have the load sum y_i a_i. Of them, true
        literals with multipliers of ``winners`` in all are picked, as favourably as can be.
        """
        # With d_j the multipliers of the picked literals that have column j, the column adds
        # alpha_j (2 d_j - winners),  and  d_j is at least what cannot be left out.
        degree = (load + total) / 2
        most = 2 * np.minimum(degree, winners) - winners
        least = 2 * np.maximum(0.0, degree - (total - winners)) - winners
        low, high = self.problem.lower, self.problem.upper
        return np.maximum.reduce([most * low, most * high, least * low, least * high])

    def excludes(self, literals: Ints, multipliers: Floats, winners: float) -> bool:
        """Check that true literals cannot have multipliers of ``winners`` together.

        They would have scores of at least ``winners`` in all, more than the box allows. The
        multipliers are whole numbers, or ``winners`` is their sum.
        """
        load = multipliers @ self.votes[literals].astype(float)
        reach = self.reach(load, float(multipliers.sum()), winners).sum()
        return bool((multipliers >= 0).all() and reach < winners * self.spare)

    # Small ones make proofs, large ones make cuts

    def smallest(self, value: Floats, worth: float) -> Ints:
        """Return literals of some worth, without those that contain another of the same value."""
        order = np.argsort(self.size, kind="stable")
        order = order[value[order] > worth]
        kept = np.zeros(len(order), dtype=np.int64)
        n_kept = 0
        for name in order:
            so_far = kept[:n_kept]
            within = ((self._words[so_far] & ~self._words[name]) == 0).all(axis=1)
            if not (within & (value[so_far] >= value[name] - 1e-9)).any():
                kept[n_kept] = name
                n_kept += 1
        return kept[:n_kept]

    def lift(
        self, literals: Ints, multipliers: Floats, winners: float, value: Floats
    ) -> Ints | None:
        """Exchange literals for the largest coalitions that contain them and keep the proof.

        A subset wins only if its supersets do, so the larger ones say more. Only literals of no
        smaller value are taken, so what was violated stays violated. None without a proof.
        """
        lifted = literals.copy()
        total = float(multipliers.sum())
        for place in np.argsort(multipliers, kind="stable"):
            load = multipliers @ self.votes[lifted].astype(float)
            now = self.reach(load, total, winners)
            price = self.reach(load + 2 * multipliers[place], total, winners) - now
            lifted[place] = self._largest_above(
                lifted[place], price, winners * self.spare - now.sum(), lifted, value
            )
        return lifted if self.excludes(lifted, multipliers, winners) else None

    def _largest_above(
        self, name: int, price: Floats, room: float, taken: Ints, value: Floats
    ) -> int:
        """Return the largest coalition that contains one and costs no more than there is room."""
        own = self._words[name]
        fits = ((self._words & own) == own).all(axis=1) & (value >= value[name] - 1e-9)
        fits[taken] = False
        above = np.flatnonzero(fits)
        above = above[self.inside[above] @ np.where(self.inside[name], 0.0, price) < room]
        return int(above[self.size[above].argmax()]) if len(above) else int(name)
