"""Is there an alpha with these signs? A small linear program with a proof either way.

The answer is weights, or a *contradiction*: a few of the wished signs, with multipliers, that no
weights in the box have together. The multipliers are checked without the LP solver, so a clause
drawn from a contradiction rests on one line of arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from c2rf._typing import Floats
from c2rf.core.problem import Problem, scores
from c2rf.solver.implications import slack

_ROWS_AT_ONCE = 200


@dataclass(frozen=True, eq=False)
class Clause:
    """Signs that no weights in the box give together: at least one of them must differ.

    ``signs[k]`` (+1 or -1) is what pattern ``patterns[k]`` cannot be while the others are as said.
    """

    patterns: NDArray[np.int64]
    signs: NDArray[np.int8]

    def row(self) -> tuple[NDArray[np.int64], Floats, float]:
        """Return columns, coefficients and left-hand side of the row that states the clause."""
        # sum over signs=-1 of z_i  +  sum over signs=+1 of (1 - z_i)  >=  1
        return self.patterns, -self.signs.astype(float), 1.0 - float((self.signs > 0).sum())


@dataclass(frozen=True, eq=False)
class Contradiction:
    """Signs of some patterns that exclude each other, and the multipliers that show it."""

    clause: Clause
    multipliers: Floats


@dataclass(frozen=True, eq=False)
class SignsAnswer:
    """Weights that realise the signs, or why there are none; neither if rounding hides which.

    ``nearest`` are weights that come close, as far as the program got: a start for a search.
    """

    weights: Floats | None = None
    contradiction: Contradiction | None = None
    nearest: Floats | None = None


def realise(problem: Problem, signs: NDArray[np.int8]) -> SignsAnswer:
    """Look for weights in the box that give every pattern its wished sign with margin one.

    Parameters
    ----------
    problem : Problem
        The patterns and the box.
    signs : ndarray of -1/+1, shape (n_patterns,)
        The wished sign of each pattern.

    Examples
    --------
    >>> from c2rf.core.problem import make_problem
    >>> problem = make_problem([[1, -1, -1], [-1, 1, 1]], 1)
    >>> realise(problem, np.array([1, -1])).weights is None
    False
    >>> realise(problem, np.array([1, 1])).contradiction.clause.patterns
    array([0, 1])
    """
    wished = signs[:, None] * problem.patterns
    weights = (problem.lower + problem.upper) / 2
    rows = np.zeros(0, dtype=np.int64)
    while True:
        margins = scores(wished, weights)
        if len(margins) == 0 or margins.min() >= 1:
            return SignsAnswer(weights=weights)
        missing = np.setdiff1d(np.flatnonzero(margins < 1), rows)
        if len(missing) == 0:  # the LP says one thing, the margins another: rounding
            return SignsAnswer(nearest=weights)
        worst = missing[np.argsort(margins[missing], kind="stable")[:_ROWS_AT_ONCE]]
        rows = np.concatenate([rows, worst])
        widest = _widest_margin(wished[rows], problem)
        if widest is None:
            return SignsAnswer(nearest=weights)
        weights, margin, multipliers = widest
        if margin < 1:
            found = _contradict(problem, signs, rows, multipliers)
            return SignsAnswer(contradiction=found, nearest=weights)


def contradicts(problem: Problem, clause: Clause, multipliers: Floats) -> bool:
    """Check that the signs of a clause exclude each other, by their multipliers alone.

    Weights with these signs would have  sum y_i s_i r_i'alpha >= sum y_i,  but the box allows at
    most  sum_j max(c_j l_j, c_j u_j)  with  c = sum y_i s_i r_i.
    """
    combined = (multipliers * clause.signs) @ problem.patterns[clause.patterns].astype(float)
    reach = np.maximum(combined * problem.lower, combined * problem.upper).sum()
    return bool((multipliers >= 0).all() and reach < multipliers.sum() * (1 - slack(problem)))


def _widest_margin(
    wished: NDArray[np.int8], problem: Problem
) -> tuple[Floats, float, Floats] | None:
    """Solve max s  s.t.  s_i r_i'alpha >= s,  l <= alpha <= u: weights, s, multipliers."""
    q = problem.n_columns
    result = linprog(
        np.append(np.zeros(q), -1.0),
        A_ub=np.hstack([-wished.astype(float), np.ones((len(wished), 1))]),
        b_ub=np.zeros(len(wished)),
        bounds=[*zip(problem.lower, problem.upper, strict=True), (None, None)],
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if result.status != 0:
        return None
    weights = np.clip(result.x[:q], problem.lower, problem.upper)
    return weights, float(result.x[q]), np.maximum(0.0, -result.ineqlin.marginals)


def _contradict(
    problem: Problem, signs: NDArray[np.int8], rows: NDArray[np.int64], multipliers: Floats
) -> Contradiction | None:
    """Keep the rows that matter and make sure that they do prove it."""
    used = multipliers > 1e-9
    order = np.argsort(rows[used])
    clause = Clause(rows[used][order], signs[rows[used][order]].astype(np.int8))
    kept = multipliers[used][order]
    return Contradiction(clause, kept) if contradicts(problem, clause, kept) else None
