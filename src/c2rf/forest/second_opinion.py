"""What another solver says of a bound: an opinion in floating point, not a proof.

The models with all that is known about z alone: no big-M, or the smallest that will do.

:func:`relaxation` forgets alpha. What is left of it are the pairs of
:mod:`c2rf.forest.bounds.conflict_graph` and the cuts of :mod:`c2rf.forest.bounds.cuts`; its optimum is a
lower bound on eta, very often eta itself. :func:`strengthened_model` keeps alpha, with an M of its
own for every row.

What another solver says of a bound: an opinion in floating point, not a proof.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from c2rf._utils.types import Floats
from c2rf.exceptions import VerificationError
from c2rf.forest.backends import check_backend, run
from c2rf.forest.backends.base import MatrixModel, Options, RawResult
from c2rf.forest.bounds.conflict_graph import MAX_PATTERNS, Structure, find_structure
from c2rf.forest.paper import Reduction, eta_bar, reduce
from c2rf.forest.problem import Problem, Solution, make_problem
from c2rf.forest.run import with_margins
from c2rf.forest.verify import verify
from c2rf.forest.votes import PatternTable


@dataclass(frozen=True, eq=False)
class Rows:
    """lower <= matrix @ z <= upper."""

    matrix: sparse.csr_array
    lower: Floats
    upper: Floats

    @staticmethod
    def stack(parts: Iterable[Rows], n: int) -> Rows:
        """Put rows under each other; of no parts, no rows over n columns."""
        empty = Rows(sparse.csr_array((0, n)), np.zeros(0), np.zeros(0))
        listed = [empty, *parts]
        return Rows(
            sparse.csr_array(sparse.vstack([part.matrix for part in listed])),
            np.concatenate([part.lower for part in listed]),
            np.concatenate([part.upper for part in listed]),
        )

    def take(self, which: NDArray[np.int64] | NDArray[np.bool_]) -> Rows:
        """Return some of the rows."""
        return Rows(self.matrix[which], self.lower[which], self.upper[which])

    def excess(self, z: Floats) -> Floats:
        """Return by how much z violates each row."""
        value = self.matrix @ z
        return np.maximum(0.0, np.maximum(self.lower - value, value - self.upper))


def pair_rows(structure: Structure, n: int) -> Rows:
    """Return the rows that state the pairs, over the z of n patterns.

    Examples
    --------
    >>> from c2rf.forest.problem import make_problem
    >>> from c2rf.forest.bounds.conflict_graph import find_structure
    >>> problem = make_problem([[1, -1, -1], [1, 1, -1]], 1)
    >>> rows = pair_rows(find_structure(problem), 2)
    >>> rows.matrix.toarray(), rows.lower
    (array([[-1.,  1.]]), array([0.]))
    """
    infinite = np.inf
    kinds = [
        # z_k <= z_i
        (structure.dominance, (-1.0, 1.0), 0.0, infinite),
        # z_i + z_k >= 1,   z_i + z_k <= 1
        (structure.conflict, (1.0, 1.0), 1.0, infinite),
        (structure.mirror, (1.0, 1.0), -infinite, 1.0),
        # z_i = z_k,   z_i + z_k = 1
        (structure.equal, (1.0, -1.0), 0.0, 0.0),
        (structure.opposite, (1.0, 1.0), 1.0, 1.0),
    ]
    parts = []
    for pairs, coefficients, lower, upper in kinds:
        k = len(pairs)
        matrix = sparse.csr_array(
            (np.tile(coefficients, k), pairs.ravel(), 2 * np.arange(k + 1)), shape=(k, n)
        )
        parts.append(Rows(matrix, np.full(k, lower), np.full(k, upper)))
    return Rows.stack(parts, n)


def sign_bounds(structure: Structure, n: int) -> tuple[Floats, Floats]:
    """Return the bounds of z that the fixed patterns leave."""
    lower, upper = np.zeros(n), np.ones(n)
    lower[structure.fixed_positive] = 1.0
    upper[structure.fixed_negative] = 0.0
    return lower, upper


def relaxation(problem: Problem, rows: Rows, bounds: tuple[Floats, Floats]) -> MatrixModel:
    """Build the model without alpha, over [z | eta].

    Parameters
    ----------
    problem : Problem
        Its counts and wished number; its patterns enter by ``rows`` and ``bounds``.
    rows : Rows
        Rows over z: pairs and cuts.
    bounds : pair of ndarray
        Bounds of z.

    Examples
    --------
    >>> from c2rf.forest.backends import run
    >>> from c2rf.forest.problem import make_problem
    >>> from c2rf.forest.bounds.conflict_graph import find_structure
    >>> problem = make_problem([[1, -1, -1]] * 3 + [[-1, 1, 1]] * 2, 1)
    >>> found = find_structure(problem)
    >>> known = pair_rows(found, 2), sign_bounds(found, 2)
    >>> run(relaxation(problem, *known)).bound, run(strengthened_model(problem, *known)).bound
    (1.0, 1.0)
    """
    h = problem.n_patterns
    counts = sparse.csr_array(problem.counts[None, :].astype(float))
    one = sparse.csr_array([[1.0]])
    wished = float(problem.n_positive)
    # sum w_i z_i + eta >= lambda   and   sum w_i z_i - eta <= lambda
    matrix = sparse.block_array([[rows.matrix, None], [counts, one], [counts, -one]])
    return MatrixModel(
        objective=np.append(np.zeros(h), 1.0),
        matrix=sparse.csr_array(matrix),
        row_lower=np.concatenate([rows.lower, [wished, -np.inf]]),
        row_upper=np.concatenate([rows.upper, [np.inf, wished]]),
        col_lower=np.append(bounds[0], 0.0),
        col_upper=np.append(bounds[1], float(eta_bar(problem))),
        integrality=np.ones(h + 1, dtype=bool),
    )


def strengthened_model(problem: Problem, rows: Rows, bounds: tuple[Floats, Floats]) -> MatrixModel:
    """Build the model over [alpha | z | eta] with the rows over z and the smallest big-M.

    Parameters
    ----------
    problem, rows, bounds
        As in :func:`relaxation`.
    """
    h, q = problem.n_patterns, problem.n_columns
    over_z = relaxation(problem, rows, bounds)
    patterns = sparse.csr_array(problem.patterns.astype(float))
    nothing = sparse.csr_array((h, 1))
    # alpha'r_i + 1 <= (most_i + 1) z_i      and      alpha'r_i - 1 >= (least_i - 1) (1 - z_i)
    most, least = problem.most() + 1, problem.least() - 1
    below = sparse.hstack([patterns, -sparse.diags_array(most), nothing])
    above = sparse.hstack([patterns, sparse.diags_array(least), nothing])
    untouched = sparse.csr_array((over_z.n_rows, q))
    matrix = sparse.vstack([sparse.hstack([untouched, over_z.matrix]), below, above])
    return MatrixModel(
        objective=np.concatenate([np.zeros(q), over_z.objective]),
        matrix=sparse.csr_array(matrix),
        row_lower=np.concatenate([over_z.row_lower, np.full(h, -np.inf), least + 1]),
        row_upper=np.concatenate([over_z.row_upper, np.full(h, -1.0), np.full(h, np.inf)]),
        col_lower=np.concatenate([problem.lower, over_z.col_lower]),
        col_upper=np.concatenate([problem.upper, over_z.col_upper]),
        integrality=np.concatenate([np.zeros(q, dtype=bool), over_z.integrality]),
    )


@dataclass(frozen=True)
class Opinion:
    """What another solver says about a bound.

    Parameters
    ----------
    confirmed : bool
        The solver found that no weights come closer than ``bound``.
    bound : int
        The bound in question.
    backend, version : str
        Who says so.
    nodes : int
        Nodes of its branch and bound.
    seconds : float
        How long it took.
    """

    confirmed: bool
    bound: int
    backend: str
    version: str
    nodes: int
    seconds: float


def second_opinion(
    votes: ArrayLike | PatternTable,
    n_positive: int | float,
    solution: Solution,
    lower: float = 1.0,
    upper: float = 100.0,
    *,
    offset: tuple[float, float] | None = None,
    backend: str = "scip",
    pairs: bool = True,
    time_limit: float | None = None,
) -> Opinion:
    """Ask another solver for its opinion of a solution's bound, without this one's cuts.

    That solver computes in floating point, too: what it says is no proof. A proof is the
    certificate of ``c2rf.solve(..., certificate=True)``.

    First everything that can be checked is checked (:func:`c2rf.verify`). Then the solver is
    asked for weights with an eta below the bound; "there are none" confirms it. The model has
    alpha in it and is exact by itself. The pairs of :mod:`c2rf.forest.bounds.conflict_graph` make it
    quicker; without them it rests on nothing but the votes and the solver.

    Parameters
    ----------
    votes, n_positive, solution, lower, upper, offset
        As in :func:`c2rf.verify`.
    backend : {"scip", "gurobi", "highs"}
        The solver to ask.
    pairs : bool
        Whether the model may use the pairs.
    time_limit : float or None
        Seconds.

    Returns
    -------
    Opinion
        Not confirmed means that the time was too short.

    Raises
    ------
    VerificationError
        If weights are found that are closer than the bound, or another claim is wrong.

    Examples
    --------
    >>> import c2rf
    >>> votes = [[1, 1, -1], [1, 1, -1], [-1, 1, 1]]
    >>> solution = c2rf.solve(votes, 0)
    >>> c2rf.second_opinion(votes, 0, solution, backend="highs").confirmed
    True
    """
    verify(votes, n_positive, solution, lower, upper, offset=offset)
    engine = check_backend(backend)
    started = time.perf_counter()
    reduction = reduce(make_problem(votes, n_positive, lower, upper, offset))
    problem, below = reduction.problem, solution.bound - reduction.eta_shift
    confirmed, nodes = below <= 0, 0
    if not confirmed:
        raw = run(
            _model(problem, MAX_PATTERNS if pairs else 0),
            backend,
            Options(cutoff=below - 0.5, time_limit=time_limit),
        )
        _refute(raw, reduction, solution.bound)
        confirmed, nodes = raw.status == "infeasible", raw.nodes
    seconds = time.perf_counter() - started
    return Opinion(confirmed, solution.bound, backend, engine.version(), nodes, seconds)


def _model(problem: Problem, max_patterns: int) -> MatrixModel:
    """Return the exact model, with pairs among at most ``max_patterns`` patterns."""
    structure = find_structure(problem, max_patterns)
    n = problem.n_patterns
    return strengthened_model(problem, pair_rows(structure, n), sign_bounds(structure, n))


def _refute(raw: RawResult, reduction: Reduction, bound: int) -> None:
    """Raise if the solver has found weights that are closer than the bound."""
    problem = reduction.problem
    weights = None if raw.x is None else with_margins(problem, raw.x[: problem.n_columns])
    if weights is None:
        return
    eta = problem.eta(weights) + reduction.eta_shift
    if eta < bound:
        raise VerificationError(
            f"the bound {bound} is wrong: there are weights with eta {eta}, "
            f"{reduction.lift(weights).tolist()}"
        )
