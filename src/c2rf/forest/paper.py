"""The paper: Propositions 1 to 5, the model P1, Algorithm 1 and the branching priorities.

The paper's preprocessing (Section 3), one function per proposition, and the way back.

Proposition 3 (equal points) is what a :class:`~c2rf.forest.votes.PatternTable` does: it is applied
when a problem is made. :func:`merge_trees` is Proposition 4, :func:`fix_points` Proposition 5, and
:func:`reduce` the preprocessing of Algorithm 1 with two corrections: trees are compared after the
fixed patterns are gone, and lambda-bar is max(0, lambda - beta), with what that cuts off added
back to eta.

The paper's models as matrices.

The letters are the paper's: alpha weighs the columns, z_i = 1 iff pattern i is positive, eta is
the distance to the wished number lambda. The columns of a model are [alpha | z | eta].

On all points, one by one, :func:`big_m_model` is P1 as printed; on the reduced problem of
:mod:`c2rf.forest.paper` it is the model of Algorithm 1.

The paper's methods: the big-M model, given to a solver, and its answer made true.

A solver's z may be one that no alpha realises, because big-M times the integrality tolerance is
a real margin. So alpha is repaired (scaled, or sought again with z fixed), and a z that is shown
to be impossible is cut off and the model solved again. What the solver says of its bound is kept
apart as its own word; the bound that is claimed is proven afterwards, by other means.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from c2rf._utils.types import Floats
from c2rf.exceptions import BackendError, NoSolutionError
from c2rf.forest.backends.base import MatrixModel, RawResult, integer_bound
from c2rf.forest.bounds.certify import Certifier, infeasible_if_proven
from c2rf.forest.bounds.feasibility import Clause, realise
from c2rf.forest.problem import MARGIN_TOLERANCE, Problem, scores
from c2rf.forest.run import Run
from c2rf.forest.search.lattice import odd_lattice_point


@dataclass(frozen=True, eq=False)
class Reduction:
    """A smaller problem with the same optimum, and how to get back.

    Parameters
    ----------
    original, problem : Problem
        Before and after.
    kept : ndarray of int
        The pattern of the original problem behind each row of the smaller one.
    group : ndarray of int, shape (n_columns,)
        The column of the smaller problem that each original column went into.
    eta_shift : int
        What to add to an eta (or a bound) of the smaller problem.
    """

    original: Problem
    problem: Problem
    kept: NDArray[np.int64]
    group: NDArray[np.int64]
    eta_shift: int

    def lift(self, weights: Floats) -> Floats:
        """Return weights of the original columns that give every open pattern the same score."""
        # Each member stands as far up in its own box as the sum stands in the sum of the boxes.
        small = self.problem
        width = np.where(small.upper > small.lower, small.upper - small.lower, 1.0)
        height = ((weights - small.lower) / width)[self.group]
        low, high = self.original.lower, self.original.upper
        alone = np.bincount(self.group)[self.group] == 1  # spared the rounding
        lifted = np.where(alone, weights[self.group], low + height * (high - low))
        return np.clip(lifted, low, high)


def fix_points(problem: Problem) -> NDArray[np.int8]:
    """Proposition 5: patterns whose margin is met with the same sign by all weights in the box.

    phi_i = l|B_i| - u|A_i| >= 1 makes pattern i positive, -l|A_i| + u|B_i| <= -1 negative.

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
    fixed = np.zeros(problem.n_patterns, dtype=np.int8)
    fixed[problem.least() - spare >= 1] = 1
    fixed[problem.most() + spare <= -1] = -1
    return fixed


def merge_trees(problem: Problem) -> tuple[Problem, NDArray[np.int64]]:
    """Proposition 4: columns that agree on all patterns become one, whose box is the sum of theirs.

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
            np.bincount(group, weights=problem.lower).astype(float),
            np.bincount(group, weights=problem.upper).astype(float),
        ),
        group.astype(np.int64),
    )


def reduce(problem: Problem) -> Reduction:
    """Fix what is decided, then merge the trees that are equal on the rest (Algorithm 1).

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


def spread(problem: Problem) -> Reduction:
    """Undo Proposition 3: a row per point, as P1 is printed. For comparison only.

    Examples
    --------
    >>> from c2rf.forest.problem import make_problem
    >>> spread(make_problem([[1, -1], [1, -1]], 1)).problem.counts
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


def big_m(problem: Problem) -> float:
    """Proposition 1: M = ut + 1, the sum of all upper bounds plus one, is valid for every row."""
    return float(np.maximum(np.abs(problem.lower), np.abs(problem.upper)).sum()) + 1.0


def eta_bar(problem: Problem) -> int:
    """Proposition 2: no optimal eta exceeds max(lambda, m - lambda)."""
    return max(problem.n_positive, problem.n_points - problem.n_positive)


def branching_priorities(problem: Problem) -> NDArray[np.int64]:
    """Section 4: xi_i is the position of theta_i = |mean(r_i)| in increasing order.

    Columns count with the middle of their boxes, which for merged trees is proportional to their
    number. Equal theta keep their order.

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


def big_m_model(
    problem: Problem, *, priorities: bool = False, clauses: Sequence[Clause] = ()
) -> MatrixModel:
    """Build P1 on the rows of ``problem``; clauses cut off z that no alpha realises."""
    h, q = problem.n_patterns, problem.n_columns
    big = big_m(problem)
    patterns = sparse.csr_array(problem.patterns.astype(float))
    eye = sparse.eye_array(h, format="csr")
    counts = sparse.csr_array(problem.counts[None, :].astype(float))
    one = sparse.csr_array([[1.0]])

    # (P1b)  alpha'r_i - M z_i <= -1
    below = sparse.hstack([patterns, -big * eye, sparse.csr_array((h, 1))])
    # (P1c)  alpha'r_i - M z_i >= 1 - M
    above = below
    # (P1d)  sum w_i z_i + eta >= lambda   and   sum w_i z_i - eta <= lambda
    short = sparse.hstack([sparse.csr_array((1, q)), counts, one])
    excess = sparse.hstack([sparse.csr_array((1, q)), counts, -one])

    wished = float(problem.n_positive)
    cuts, cut_lower = _clause_rows(clauses, q, h)
    infinite = np.inf
    return MatrixModel(
        objective=np.append(np.zeros(q + h), 1.0),
        matrix=sparse.csr_array(sparse.vstack([below, above, short, excess, cuts])),
        row_lower=np.concatenate(
            [np.full(h, -infinite), np.full(h, 1 - big), [wished, -infinite], cut_lower]
        ),
        row_upper=np.concatenate(
            [np.full(h, -1.0), np.full(h, infinite), [infinite, wished], infinite + 0 * cut_lower]
        ),
        # (P1e)  l <= alpha <= u,   (P1f)  0 <= eta <= eta_bar,   (P1g)  z binary
        col_lower=np.concatenate([problem.lower, np.zeros(h + 1)]),
        col_upper=np.concatenate([problem.upper, np.ones(h), [eta_bar(problem)]]),
        integrality=np.repeat([False, True, False], [q, h, 1]),
        priorities=(
            np.concatenate([np.zeros(q, int), branching_priorities(problem), [0]])
            if priorities
            else None
        ),
    )


def _clause_rows(clauses: Sequence[Clause], q: int, h: int) -> tuple[sparse.csr_array, Floats]:
    """Return the rows of all clauses over [alpha | z | eta] and their left-hand sides."""
    rows = [clause.row() for clause in clauses]
    lengths = [len(columns) for columns, _, _ in rows]
    matrix = sparse.csr_array(
        (
            np.concatenate([np.zeros(0), *(values for _, values, _ in rows)]),
            np.concatenate([np.zeros(0, int), *(q + columns for columns, _, _ in rows)]),
            np.concatenate([[0], np.cumsum(lengths)]).astype(int),
        ),
        shape=(len(rows), q + h + 1),
    )
    return matrix, np.array([lower for _, _, lower in rows])


# Seconds for the proof where the solver has used up the time limit.
_LEAST_SECONDS = 1.0


def solve_big_m(run: Run, certifier: Certifier, *, priorities: bool) -> None:
    """Solve the run's problem by its big-M model; then prove of its answer what can be proven."""
    started = time.perf_counter()
    with run.phase("model"):
        raw = _solve_models(run, priorities)
    run.stats["solver_seconds"] = time.perf_counter() - started
    run.stats["solver_status"] = _status(run, raw)
    run.stats["solver_bound"] = _bound(run, raw)
    left = run.time_left()
    seconds = None if left is None else max(left, _LEAST_SECONDS)
    with run.phase("bound"):
        if run.eta is not None:
            certifier.prove(run.eta + run.eta_shift, seconds)
        elif raw is not None and raw.status == "infeasible":
            _deal_with_infeasible(run, certifier, seconds)


def _solve_models(run: Run, priorities: bool) -> RawResult | None:
    """Solve the model, again and again while its answer is an impossible z that can be cut off."""
    clauses: dict[tuple[bytes, bytes], Clause] = {}
    raw = None
    while not run.over:
        model = big_m_model(run.problem, priorities=priorities, clauses=list(clauses.values()))
        raw = run.solve_raw(model, on_progress=lambda _: run.report_progress())
        if raw.status == "failed":
            raise BackendError(
                f"{run.backend} failed; its log ends:\n{raw.log[-500:]}\nTry another backend."
            )
        clause = None if raw.x is None else repair(run, raw.x)
        if clause is None:
            break
        run.stats["impossible_z"] = run.stats.get("impossible_z", 0) + 1
        name = clause.patterns.tobytes(), clause.signs.tobytes()
        if name in clauses:
            run.trouble(f"{run.backend} returned a z that was cut off")
            break
        clauses[name] = clause
        if raw.status != "optimal":
            break
    return raw


def _status(run: Run, raw: RawResult | None) -> str:
    """Return what the solver claims of the weights that were made of its answer."""
    if raw is None:
        return "limit"
    if raw.status == "optimal" and (run.eta is None or run.eta > integer_bound(raw.bound)):
        return "limit"  # optimal for the model, but its weights are not what it promised
    return raw.status


def _bound(run: Run, raw: RawResult | None) -> int:
    """Return the bound that the solver claims."""
    if raw is None or not math.isfinite(raw.bound):
        return 0
    return integer_bound(raw.bound) + run.eta_shift


def _deal_with_infeasible(run: Run, certifier: Certifier, seconds: float | None) -> None:
    """Say that there are no weights if that can be proven; else that none were found."""
    if odd_lattice_point(run.problem) is not None:
        raise BackendError(
            f"{run.backend} calls a model infeasible that has a solution; "
            "try another backend or a box with a smaller upper / lower"
        )
    certifier.prove(None, seconds)
    infeasible_if_proven(certifier.prover())
    raise NoSolutionError(
        f"{run.backend} found no weights and says that there are none, but that could not be "
        'proven; try method="auto" or a longer time_limit'
    )


def repair(run: Run, x: np.ndarray) -> Clause | None:
    """Offer true weights from a solver's answer; return a clause if its z is impossible."""
    q = run.problem.n_columns
    run.offer(x[:q])
    if run.done or (run.over and run.best is not None):  # no time for the linear program
        return None
    answer = realise(run.problem, np.where(x[q:-1] > 0.5, 1, -1).astype(np.int8))
    if answer.weights is not None:
        run.offer(answer.weights)
    return None if answer.contradiction is None else answer.contradiction.clause
