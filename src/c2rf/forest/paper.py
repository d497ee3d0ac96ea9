"""The paper, in its order: the model P1, Propositions 1 to 5, the branching rule, Algorithm 1.

"Mixed-Integer Linear Optimization for Cardinality-Constrained Random Forests" by Burgard, Pinheiro
and Schmidt. The letters are the paper's: m points, t trees, r_i the votes on point i, alpha the
weights of the trees in [l, u], z_i = 1 iff point i is positive, lambda the known number of
positives, eta the distance to it, M the big-M.

=================================  =====================================
Section 2, model P1                :func:`big_m_model`
Proposition 1, M = ut + 1          :func:`big_m`
Proposition 2, upper bound of eta  :func:`eta_bar`
Proposition 3, equal points        :func:`merge_points`
Proposition 4, equal trees         :func:`merge_trees`
Proposition 5, fixed points        :func:`fix_points`
Section 4, branching priorities    :func:`branching_priorities`
Algorithm 1, preprocessing         :func:`reduce`
Algorithm 1, solving               :func:`solve_big_m`
=================================  =====================================

Three things differ from the text. Every column has a box of its own, so that merged trees and a
shift of the score are columns like others. Algorithm 1 compares trees after the fixed points are
gone, which merges more of them. Its last step reads max(0, lambda - beta) instead of min, and what
is cut off there is added to eta again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from c2rf._utils.types import Floats
from c2rf.exceptions import BackendError, InputError, NoSolutionError
from c2rf.forest.backends import MatrixModel, RawResult, integer_bound
from c2rf.forest.bounds.certify import Certifier, raise_if_infeasible
from c2rf.forest.bounds.conflict_graph import Cut, cut_rows
from c2rf.forest.bounds.feasibility import find_weights
from c2rf.forest.incumbent import SolveState, with_margins
from c2rf.forest.problem import MARGIN_TOLERANCE, Problem, scores
from c2rf.forest.search.lattice import odd_lattice_point
from c2rf.forest.votes import PatternTable

# Section 2: the model


def big_m_model(
    problem: Problem, *, priorities: bool = False, cuts: Sequence[Cut] = ()
) -> MatrixModel:
    """Section 2: the model P1, over the columns [alpha | z | eta].

    With a row for each point this is P1 as printed; on the problem of :func:`reduce` it is the
    model of Algorithm 1, where z_i counts for w_i points.

    Parameters
    ----------
    problem : Problem
        Its patterns are the r_i, its counts the w_i.
    priorities : bool
        Whether the model has the branching priorities of Section 4.
    cuts : sequence of Cut
        Labels z that no alpha gives, to be cut off.
    """
    h, q = problem.n_patterns, problem.n_columns
    M = big_m(problem)
    r = sparse.csr_array(problem.patterns.astype(float))
    eye = sparse.eye_array(h, format="csr")
    w = sparse.csr_array(problem.counts[None, :].astype(float))
    one = sparse.csr_array([[1.0]])

    # (P1a)  min eta
    objective = np.append(np.zeros(q + h), 1.0)
    # (P1b)  alpha'r_i - M z_i <= -1
    below = sparse.hstack([r, -M * eye, sparse.csr_array((h, 1))])
    # (P1c)  alpha'r_i - M z_i >= 1 - M
    above = below
    # (P1d)  sum w_i z_i + eta >= lambda   and   sum w_i z_i - eta <= lambda
    short = sparse.hstack([sparse.csr_array((1, q)), w, one])
    excess = sparse.hstack([sparse.csr_array((1, q)), w, -one])
    # (P1e)  l <= alpha_j <= u,   (P1f)  0 <= eta <= eta_bar,   (P1g)  z_i in {0, 1}
    col_lower = np.concatenate([problem.lower, np.zeros(h + 1)])
    col_upper = np.concatenate([problem.upper, np.ones(h), [eta_bar(problem)]])
    integrality = np.repeat([False, True, False], [q, h, 1])

    lam, inf = float(problem.n_positive), np.inf
    # Cuts: no alpha gives such z
    on_z, cut_upper = cut_rows(cuts, h)
    below_cuts = sparse.hstack(
        [sparse.csr_array((len(cuts), q)), on_z, sparse.csr_array((len(cuts), 1))]
    )
    return MatrixModel(
        objective=objective,
        matrix=sparse.csr_array(sparse.vstack([below, above, short, excess, below_cuts])),
        row_lower=np.concatenate(
            [np.full(h, -inf), np.full(h, 1 - M), [lam, -inf], np.full(len(cuts), -inf)]
        ),
        row_upper=np.concatenate([np.full(h, -1.0), np.full(h, inf), [inf, lam], cut_upper]),
        col_lower=col_lower,
        col_upper=col_upper,
        integrality=integrality,
        priorities=(
            np.concatenate([np.zeros(q, int), branching_priorities(problem), [0]])
            if priorities
            else None
        ),
    )


def big_m(problem: Problem) -> float:
    """Proposition 1: M = ut + 1 is valid, because no score exceeds ut.

    Examples
    --------
    >>> from c2rf.forest.problem import make_problem
    >>> big_m(make_problem([[1, -1, 1]], 1, 1, 100))
    301.0
    """
    return float(np.maximum(np.abs(problem.lower), np.abs(problem.upper)).sum()) + 1.0


def eta_bar(problem: Problem) -> int:
    """Proposition 2: no optimal eta exceeds max(lambda, m - lambda).

    Examples
    --------
    >>> from c2rf.forest.problem import make_problem
    >>> eta_bar(make_problem([[1, -1, 1]] * 10, 3))
    7
    """
    return max(problem.n_positive, problem.n_points - problem.n_positive)


# Section 3: preprocessing


def merge_points(votes: ArrayLike) -> PatternTable:
    """Proposition 3: points with equal votes share one z, which counts for all of them.

    Examples
    --------
    >>> table = merge_points([[1, -1], [1, 1], [1, -1]])
    >>> table.counts, table.inverse
    (array([2, 1]), array([0, 1, 0]))
    """
    return PatternTable.from_votes(votes, inverse=True)


def merge_trees(problem: Problem) -> tuple[Problem, NDArray[np.int64]]:
    """Proposition 4: trees that agree on all points become one, whose box is the sum of theirs.

    Returns the smaller problem and, for each column, the one it went into.

    Examples
    --------
    >>> from c2rf.forest.problem import make_problem
    >>> small, group = merge_trees(make_problem([[1, -1, 1], [-1, 1, -1]], 1))
    >>> group, small.upper
    (array([0, 1, 0]), array([200., 100.]))
    """
    columns = np.packbits(problem.patterns.T > 0, axis=1)
    seen: dict[bytes, int] = {}
    group = np.array([seen.setdefault(column.tobytes(), len(seen)) for column in columns])
    first = np.unique(group, return_index=True)[1]
    return (
        Problem(
            np.ascontiguousarray(problem.patterns[:, first]),
            problem.counts,
            problem.n_positive,
            *_summed_boxes(problem, group),
        ),
        group.astype(np.int64),
    )


def _summed_boxes(problem: Problem, group: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return the sums of the boxes in each group; ends that must be rounded stay within them."""
    ends = []
    for number in range(group.max(initial=-1) + 1):
        members = group == number
        (low, below), (high, above) = (
            _rounded_sum(side[members].tolist()) for side in (problem.lower, problem.upper)
        )
        if low < high:  # else there is one sum only
            low = math.nextafter(low, math.inf) if below > 0 else low
            high = math.nextafter(high, -math.inf) if above < 0 else high
        ends.append((low, high))
    lower, upper = np.array(ends).reshape(-1, 2).T.copy()
    return lower, upper


def _rounded_sum(values: list[float]) -> tuple[float, Fraction]:
    """Return a sum, and what it lacks."""
    near = math.fsum(values)
    return near, sum(map(Fraction, values)) - Fraction(near)


def fix_points(problem: Problem) -> NDArray[np.int8]:
    """Proposition 5: points whose margin is met with the same sign by all weights in the box.

    With A_i the trees that vote -1 and B_i those that vote +1 on point i,
    varphi_i = -u|A_i| + l|B_i| >= 1 makes it positive, phi_i = -l|A_i| + u|B_i| <= -1 negative.
    Returned are +1, -1, or 0 for points that are open.

    Examples
    --------
    >>> from c2rf.forest.problem import make_problem
    >>> fix_points(make_problem([[1, 1], [1, -1], [-1, -1]], 1))
    array([-1,  0,  1], dtype=int8)
    """
    # A float sum of n terms is off by less than n * eps * sum |terms|: in doubt, nothing is fixed.
    largest = np.maximum(np.abs(problem.lower), np.abs(problem.upper)).sum()
    error = 2 * problem.n_columns * np.finfo(float).eps * float(largest)
    spare = error if error > MARGIN_TOLERANCE else 0.0
    varphi, phi = problem.least(), problem.most()
    fixed = np.zeros(problem.n_patterns, dtype=np.int8)
    fixed[varphi - spare >= 1] = 1
    fixed[phi + spare <= -1] = -1
    return fixed


# Section 4: branching priorities and Algorithm 1


def branching_priorities(problem: Problem) -> NDArray[np.int64]:
    """Section 4: xi_i is the position of theta_i = |mean(r_i)| in increasing order.

    Columns count with the middle of their boxes, which for merged trees is proportional to their
    number v_g. Equal theta keep their order.

    Examples
    --------
    >>> from c2rf.forest.problem import make_problem
    >>> branching_priorities(make_problem([[1, 1, 1], [1, -1, 1]], 1))
    array([1, 2])
    """
    theta = np.abs(scores(problem.patterns, (problem.lower + problem.upper) / 2))
    xi = np.empty(problem.n_patterns, dtype=np.int64)
    xi[np.argsort(theta, kind="stable")] = np.arange(1, problem.n_patterns + 1)
    return xi


@dataclass(frozen=True, eq=False)
class Reduction:
    """A problem with the same optimum in place of another, and the way back.

    Parameters
    ----------
    original, problem : Problem
        Before and after.
    kept : ndarray of int
        The pattern of the original problem behind each row of the new one.
    group : ndarray of int, shape (n_columns,)
        The column of the new problem that each original column went into.
    eta_shift : int
        What to add to an eta (or a bound) of the new problem.
    """

    original: Problem
    problem: Problem
    kept: NDArray[np.int64]
    group: NDArray[np.int64]
    eta_shift: int

    def lift(self, weights: Floats) -> Floats:
        """Return weights of the original columns that give every kept pattern the same score."""
        # Each tree of a group is as far up in its own box as the sum is in the sum of the boxes.
        small = self.problem
        width = np.where(small.upper > small.lower, small.upper - small.lower, 1.0)
        height = ((weights - small.lower) / width)[self.group]
        low, high = self.original.lower, self.original.upper
        alone = np.bincount(self.group)[self.group] == 1  # spared the rounding
        lifted = np.where(alone, weights[self.group], low + height * (high - low))
        lifted = np.clip(lifted, low, high)
        if with_margins(self.original, lifted, scale=False) is None:
            self._restore_sums(lifted, weights)
        return lifted

    def _restore_sums(self, lifted: Floats, weights: Floats) -> None:
        """Take out of lifted weights what rounding has put into the sums of the groups."""
        low, high = self.original.lower, self.original.upper
        for group in np.flatnonzero(np.bincount(self.group) > 1):
            members = np.flatnonzero(self.group == group)
            lifted[members] = np.clip(np.rint(lifted[members]), low[members], high[members])
            # The smallest come last, because a small float takes the finest changes.
            for j in members[np.argsort(-np.abs(lifted[members]), kind="stable")]:
                missing = math.fsum([weights[group], *-lifted[members]])
                lifted[j] = np.clip(lifted[j] + missing, low[j], high[j])


def reduce(problem: Problem) -> Reduction:
    """Algorithm 1, preprocessing: fix what is decided, then merge trees that agree on the rest.

    Examples
    --------
    >>> from c2rf.forest.problem import make_problem
    >>> reduction = reduce(make_problem([[1, 1, 1], [1, -1, -1], [-1, -1, -1]], 0))
    >>> reduction.problem.patterns, reduction.eta_shift
    (array([[ 1, -1]], dtype=int8), 1)
    """
    fixed = fix_points(problem)
    open_ = np.flatnonzero(fixed == 0)
    beta = int(problem.counts[fixed > 0].sum())
    rest = Problem(
        problem.patterns[open_],
        problem.counts[open_],
        max(0, problem.n_positive - beta),
        problem.lower,
        problem.upper,
    )
    small, group = merge_trees(rest)
    return Reduction(problem, small, open_, group, max(0, beta - problem.n_positive))


# Cells of P1 as it is printed, and rows that a solver can count: beyond, floats hide a row.
_MOST_CELLS = 10**8
_MOST_POINTS = 10**9


def check_counts(problem: Problem, method: str) -> None:
    """Refuse what a solver in floats cannot count, or what does not fit into memory.

    Examples
    --------
    >>> from c2rf.forest.problem import make_problem
    >>> check_counts(make_problem([[1, -1]] * 9, 3), "c2rf")
    """
    points = problem.n_points
    if points > _MOST_POINTS:
        raise InputError(
            f"the paper's methods count rows in floating point, up to {_MOST_POINTS:,} of them; "
            f'found {points:,}: use method="auto", which counts in whole numbers'
        )
    cells = points * problem.n_columns
    if PAPER_METHODS[method].prepare is split_points and cells > _MOST_CELLS:
        raise InputError(
            f"method={method!r} has a constraint for each row: {cells:,} votes, and {_MOST_CELLS:,}"
            f' are allowed; use "only-pp" or "p-c2rf", which count equal rows once, or "auto"'
        )


def split_points(problem: Problem) -> Reduction:
    """Undo Proposition 3: a row for each point, as P1 is printed.

    Examples
    --------
    >>> from c2rf.forest.problem import make_problem
    >>> split_points(make_problem([[1, -1], [1, -1]], 1)).problem.counts
    array([1, 1])
    """
    kept = np.repeat(np.arange(problem.n_patterns), problem.counts)
    points = Problem(
        problem.patterns[kept],
        np.ones(problem.n_points, dtype=np.int64),
        problem.n_positive,
        problem.lower,
        problem.upper,
    )
    return Reduction(problem, points, kept, np.arange(problem.n_columns), 0)


@dataclass(frozen=True)
class PaperMethod:
    """A method of the paper: what is done to the problem, and whether the branching rule is used.

    ``without_priorities`` is the method that is left where a solver has no branching priorities.
    """

    prepare: Callable[[Problem], Reduction]
    priorities: bool
    without_priorities: str


PAPER_METHODS = {
    # P1 as printed
    "c2rf": PaperMethod(split_points, False, "c2rf"),
    # Algorithm 1
    "p-c2rf": PaperMethod(reduce, True, "only-pp"),
    # Algorithm 1 without the branching rule
    "only-pp": PaperMethod(reduce, False, "only-pp"),
    # P1 as printed with the branching rule
    "only-br": PaperMethod(split_points, True, "c2rf"),
}

# Solving: the last step of Algorithm 1, whose answer is then made exact
#
# A solver's z may be one that no alpha gives, because M times the integrality tolerance is a
# margin of its own. So alpha is scaled, or computed anew for this z; a z that is proven impossible
# is cut off and the model solved again. The solver's own bound is reported but not claimed: the
# bound of the solution is proven afterwards.

# Seconds for the proof where the solver has used up the time limit.
_LEAST_SECONDS = 1.0


def solve_big_m(state: SolveState, certifier: Certifier, *, priorities: bool) -> None:
    """Algorithm 1, last step: solve the model; then prove what can be proven about its answer."""
    started = time.perf_counter()
    with state.phase("model"):
        raw = _solve_models(state, priorities)
    state.stats["solver_seconds"] = time.perf_counter() - started
    state.stats["solver_status"] = _status(state, raw)
    state.stats["solver_bound"] = _bound(state, raw)
    left = state.time_left()
    seconds = None if left is None else max(left, _LEAST_SECONDS)
    with state.phase("bound"):
        if state.eta is not None:
            certifier.prove(state.eta + state.eta_shift, seconds)
        elif raw is not None and raw.status == "infeasible":
            _raise_infeasible(state, certifier, seconds)


def _solve_models(state: SolveState, priorities: bool) -> RawResult | None:
    """Solve the model, again each time its answer is an impossible z that can be cut off."""
    cuts: dict[tuple[int, ...], Cut] = {}
    raw = None
    while not state.over:
        model = big_m_model(state.problem, priorities=priorities, cuts=list(cuts.values()))
        raw = state.solve_raw(model)
        if raw.status == "failed":
            raise BackendError(
                f"{state.backend} failed on this model; try another backend, or a box with a "
                "smaller upper / lower"
            )
        cut = None if raw.x is None else _offer_exact(state, raw.x)
        if cut is None:
            break
        state.stats["impossible_z"] = state.stats.get("impossible_z", 0) + 1
        if cut.literals in cuts:
            state.warn(f"{state.backend} returned a z that was cut off")
            break
        cuts[cut.literals] = cut
        if raw.status != "optimal":
            break
    return raw


def _offer_exact(state: SolveState, x: Floats) -> Cut | None:
    """Offer weights with exact margins made of a solver's x; return a cut if its z has none."""
    q = state.problem.n_columns
    state.offer(x[:q])
    if state.done or (state.over and state.best is not None):  # no time for the linear program
        return None
    weights, found, cut = find_weights(
        state.problem, np.where(x[q:-1] > 0.5, 1, -1).astype(np.int8)
    )
    if found:
        state.offer(weights)
    return cut


def _status(state: SolveState, raw: RawResult | None) -> str:
    """Return what the solver claims about the weights that were made of its answer."""
    if raw is None:
        return "limit"
    if raw.status == "optimal" and (state.eta is None or state.eta > integer_bound(raw.bound)):
        return "limit"  # optimal for the model, but the exact weights are worse
    return raw.status


def _bound(state: SolveState, raw: RawResult | None) -> int:
    """Return the bound that the solver claims."""
    if raw is None or not math.isfinite(raw.bound):
        return 0
    return integer_bound(raw.bound) + state.eta_shift


def _raise_infeasible(state: SolveState, certifier: Certifier, seconds: float | None) -> None:
    """Raise that there are no weights if that can be proven; else that none were found."""
    if odd_lattice_point(state.problem) is not None:
        raise BackendError(
            f"{state.backend} calls a model infeasible that has a solution; "
            "try another backend or a box with a smaller upper / lower"
        )
    certifier.prove(None, seconds)
    raise_if_infeasible(certifier.prover())
    raise NoSolutionError(
        f"{state.backend} found no weights and says that there are none, but that could not be "
        'proven; try method="auto" or a longer time_limit'
    )
