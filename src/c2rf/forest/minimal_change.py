"""The smallest change of equal weights that gives the labels found: one linear program.

Equal weights are the majority vote. Among all weights (and shifts) that give every pattern the
label it has, ``prefer="majority"`` takes those with the smallest L1 distance to a common level,

    min  sum_j d_j   s.t.  |alpha_j - level| <= d_j,  s_i (r_i'alpha + beta) >= 1,  l <= alpha <= u

where s_i is the label of pattern i. The level is free; the best one is the median of the weights.
Calibration estimators of survey statistics change design weights in the same way.

Where there is a shift, :func:`start_near_majority` gives the search for labels a first try: a
cut-off of the plain vote, with patterns of equally many votes told apart by small whole changes of
a few weights. Most totals are met in this way, by labels close to those of the majority vote.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from c2rf._utils.types import Floats, Signs
from c2rf.forest.incumbent import with_margins
from c2rf.forest.problem import Problem, scores

# Weights are rounded to this number of decimals where the margins allow it.
_DECIMALS = 6
# Changes that are tried, on how many trees at most, and how many times patterns at most.
_CHANGES, _LARGEST, _MOST_TRIED = 4000, 6, 10**7


def closest_to_equal(
    problem: Problem, n_trees: int, weights: Floats, time_limit: float | None = None
) -> Floats:
    """Return the weights with the same labels that are closest to equal ones.

    Parameters
    ----------
    problem : Problem
        Patterns and boxes; columns from ``n_trees`` on (the shift) are not part of the distance.
    n_trees : int
        Number of trees.
    weights : ndarray
        Weights whose margins hold. They are returned as they are if the program finds nothing
        closer whose margins hold exactly, or not within the time.
    time_limit : float or None
        Seconds.

    Examples
    --------
    >>> from c2rf.forest.problem import make_problem
    >>> problem = make_problem([[1, 1, -1], [1, -1, 1], [-1, 1, 1]], 2)
    >>> closest_to_equal(problem, 3, np.array([100.0, 2.0, 1.0]))
    array([3., 1., 1.])
    """
    signs = _signs(problem, weights)
    found = _solve(problem, signs, n_trees, time_limit)
    if found is None:
        return weights
    for candidate in (np.round(found, _DECIMALS), found):
        feasible = with_margins(problem, candidate, scale=False)
        if (
            feasible is not None
            and np.array_equal(_signs(problem, feasible), signs)
            and distance_from_equal(feasible[:n_trees]) < distance_from_equal(weights[:n_trees])
        ):
            return feasible
    return weights


def distance_from_equal(trees: Floats) -> float:
    """Return the L1 distance of weights to the nearest common level, their median.

    Examples
    --------
    >>> distance_from_equal(np.array([5.0, 5.0, 4.0, 5.0, 7.0]))
    3.0
    """
    return float(np.abs(trees - np.median(trees)).sum())


def _signs(problem: Problem, weights: Floats) -> Signs:
    return np.where(scores(problem.patterns, weights) > 0, 1, -1).astype(np.int8)


def _solve(problem: Problem, signs: Signs, n_trees: int, time_limit: float | None) -> Floats | None:
    """Solve the linear program over [alpha and beta | level | d]; None if that fails."""
    q = problem.n_columns
    eye, one = sparse.eye_array(n_trees, q), np.ones((n_trees, 1))
    d = sparse.eye_array(n_trees)
    rows = [
        # alpha_j - level <= d_j   and   level - alpha_j <= d_j
        [eye, -one, -d],
        [-eye, one, -d],
        # s_i (r_i'alpha + beta) >= 1
        [-(signs[:, None] * problem.patterns).astype(float), None, None],
    ]
    box = zip(problem.lower, problem.upper, strict=True)
    result = linprog(
        np.concatenate([np.zeros(q + 1), np.ones(n_trees)]),
        A_ub=sparse.block_array(rows, format="csr"),
        b_ub=np.concatenate([np.zeros(2 * n_trees), np.full(problem.n_patterns, -1.0)]),
        bounds=[*box, (None, None), *[(0.0, None)] * n_trees],
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "time_limit": time_limit},
    )
    return result.x[:q] if result.status == 0 else None


def start_near_majority(problem: Problem, n_trees: int, seed: int) -> Floats | None:
    """Return weights near equal ones whose count is close to the target; None without a shift.

    With weights ``level + d`` and d of -1, 0 and +1 the scores of patterns with equally many votes
    differ by even numbers, so that every cut-off between two of them leaves margins of one. The
    margins of other patterns hold if the box is wide enough; that is not checked here.

    Examples
    --------
    >>> from c2rf.forest.problem import make_problem
    >>> votes = [[1, 1, -1], [1, -1, 1], [1, 1, 1], [-1, -1, -1]]
    >>> problem = make_problem(votes, 2, offset=(-300, 300))
    >>> problem.eta(start_near_majority(problem, 3, seed=0))
    0
    """
    if problem.n_columns == n_trees:
        return None
    votes = problem.patterns[:, :n_trees].astype(np.int64)
    surplus = votes.sum(axis=1)
    # The patterns at which the count passes the target if positives are those with most votes
    order = np.argsort(-surplus, kind="stable")
    place = np.searchsorted(np.cumsum(problem.counts[order]), problem.n_positive)
    critical = surplus[order[min(int(place), len(order) - 1)]]
    missing = problem.n_positive - int(problem.counts[surplus > critical].sum())
    tied, counts = votes[surplus == critical], problem.counts[surplus == critical]

    rng = np.random.default_rng(seed)
    n = max(1, min(_CHANGES, _MOST_TRIED // len(tied)))
    sizes = np.sort(rng.integers(0, min(_LARGEST, n_trees) + 1, n))
    chosen = rng.random((n, n_trees)).argsort(axis=1) < sizes[:, None]
    changes = np.where(chosen, rng.choice([-1, 1], (n, n_trees)), 0)
    moved = tied @ changes.T
    tries = []
    for cut in range(-_LARGEST, _LARGEST + 2):
        missed = np.abs(counts @ (moved >= cut) - missing)
        k = int(missed.argmin())
        tries.append((int(missed[k]), int(sizes[k]), k, cut))
    _, size, k, cut = min(tries)
    cut += (cut - size) % 2  # scores have the parity of the size
    level = (problem.lower[:n_trees] + problem.upper[:n_trees]) / 2
    return np.append(level + changes[k], -level[0] * critical - (cut - 1))
