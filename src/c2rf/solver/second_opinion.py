"""What another solver says of a bound: an opinion in floating point, not a proof."""

from __future__ import annotations

import time
from dataclasses import dataclass

from numpy.typing import ArrayLike

from c2rf.core.problem import Problem, Solution, make_problem
from c2rf.core.verify import verify
from c2rf.core.votes import PatternTable
from c2rf.exceptions import VerificationError
from c2rf.solver.backends import Options, RawResult, check_backend, run
from c2rf.solver.implications import MAX_PATTERNS, find_structure
from c2rf.solver.matrix_model import MatrixModel
from c2rf.solver.propositions import Reduction, reduce
from c2rf.solver.run import with_margins
from c2rf.solver.z_models import pair_rows, sign_bounds, strengthened_model


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
    alpha in it and is exact by itself. The pairs of :mod:`c2rf.solver.implications` make it
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
