"""The paper's models as matrices.

The letters are the paper's: alpha weighs the columns, z_i = 1 iff pattern i is positive, eta is
the distance to the wished number lambda. The columns of a model are [alpha | z | eta].

On all points, one by one, :func:`big_m_model` is P1 as printed; on the reduced problem of
:mod:`c2rf.solver.propositions` it is the model of Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from c2rf._typing import Floats
from c2rf.core.problem import Problem, scores
from c2rf.solver.matrix_model import MatrixModel
from c2rf.solver.realise import Clause


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
    >>> from c2rf.core.problem import make_problem
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
