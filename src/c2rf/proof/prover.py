"""The proof side: a lower bound on eta that rises step by step and is valid at every moment.

Three means, cheapest first. A linear program over z with the pairs and the cuts of
:mod:`c2rf.proof.clauses`, solved and cut again; its bound is recomputed from the duals, in one line
of arithmetic. An integer program over z when the cuts stall. And an LP that looks for weights with
the signs that the integer program wishes for: there are such weights (then they are optimal), or
the reason why not is the next cut.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from c2rf.backends import RawResult, integer_bound
from c2rf.backends import run as run_backend
from c2rf.formulation import Clause, MatrixModel, eta_bar
from c2rf.problem import Floats, Problem
from c2rf.proof.clauses import AtMost, Separator, cut_rows
from c2rf.proof.linear import LinearProgram
from c2rf.signs import realise
from c2rf.strengthen import Rows, pair_rows, relaxation, sign_bounds
from c2rf.structure import Structure, find_structure
from c2rf.tolerances import BOUND_TOLERANCE

_CUTS_PER_ROUND = 150
_PAIRS_AT_FIRST = 60_000
_PAIRS_PER_ROUND = 3_000
_IDLE_ROUNDS = 4
_LEAST_PART = 0.1
_LEAST_RISE = 0.25


@dataclass(frozen=True, eq=False)
class ProverStep:
    """Where the proof stands after a step.

    Parameters
    ----------
    bound : int
        No weights come closer than this; beyond every possible eta if there are no weights.
    signs : ndarray of int8 or None
        Signs that the relaxation wishes for: weights near them are worth looking at.
    weights : ndarray or None
        Weights with the wished signs, if the step found any.
    done : bool
        The bound has reached the best eta known, or these limits allow no more.
    """

    bound: int
    signs: NDArray[np.int8] | None = None
    weights: Floats | None = None
    done: bool = False


class Prover:
    """Raises a lower bound on eta, in steps that the caller can mix with a search.

    Parameters
    ----------
    problem : Problem
        What the bound is for.
    structure : Structure or None
        Its pairs, found here if not given.
    seed : int
        Makes the cuts repeatable.

    Examples
    --------
    >>> from c2rf.problem import make_problem
    >>> prover = Prover(make_problem([[1, -1, -1]] * 3 + [[-1, 1, 1]] * 2, 1))
    >>> prover.step().bound
    1
    """

    def __init__(
        self,
        problem: Problem,
        structure: Structure | None = None,
        *,
        seed: int = 0,
    ) -> None:
        self.problem = problem
        self.structure = find_structure(problem) if structure is None else structure
        n = problem.n_patterns
        self.bound = 0
        self.lower, self.upper = sign_bounds(self.structure, n)
        pairs = pair_rows(self.structure, n)
        first = np.arange(len(pairs.lower)) < _PAIRS_AT_FIRST
        self.rows, self._waiting = pairs.take(first), pairs.take(~first)
        self.cuts: set[AtMost] = set()
        self._separator = Separator(problem, seed)
        self._program = self._start_program()
        self._horizon = eta_bar(problem) + 1
        self._value, self._idle, self.stalled = -np.inf, 0, False
        self.rounds = self.integer_programs = 0

    def step(
        self,
        cutoff: int | None = None,
        solve: Callable[[MatrixModel], RawResult] = run_backend,
        time_limit: float | None = None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> ProverStep:
        """Do one piece of work: a linear program and cuts, or an integer program if cuts stall.

        Parameters
        ----------
        cutoff : int or None
            The best eta known: only whether anything is better is asked from now on.
        solve : callable
            Runs the integer programs, within whatever limits.
        time_limit : float or None
            Seconds a linear program may take.
        should_stop : callable
            Asked between cuts.
        """
        if cutoff is not None:
            self._horizon = min(self._horizon, cutoff)
        if self._proven:
            return ProverStep(self.bound, done=True)
        self._should_stop = should_stop
        return self._integer_step(solve) if self.stalled else self._cutting_step(time_limit)

    @property
    def work(self) -> int:
        """How much work the linear programs were, about nanoseconds."""
        return self._program.work

    @property
    def _proven(self) -> bool:
        """Whether the bound has reached the best eta known."""
        return self.bound >= self._horizon

    # Linear programs

    def _start_program(self) -> LinearProgram:
        """Min eta over [z | eta] with all rows so far."""
        model = relaxation(self.problem, self.rows, (self.lower, self.upper))
        program = LinearProgram(model.objective, model.col_lower, model.col_upper)
        # The two rows that define eta come first and stay.
        last = np.arange(model.n_rows - 2, model.n_rows)
        order = np.concatenate([last, np.arange(model.n_rows - 2)])
        program.add_rows(model.matrix[order], model.row_lower[order], model.row_upper[order])
        return program

    def _cutting_step(self, time_limit: float | None) -> ProverStep:
        """Solve the linear program and cut off its z."""
        self.rounds += 1
        optimum = self._program.solve(time_limit)
        if optimum is None:
            self.stalled = True
            return ProverStep(self.bound)
        z = np.clip(optimum.x[:-1], 0, 1)
        value = self._certify(optimum.duals)
        if self._proven:
            return ProverStep(self.bound, done=True)
        # Worth a round: what would close the gap in some rounds, or a good piece of it.
        gap = self._horizon - 1 - value
        rises = value - self._value > min(_LEAST_PART * gap, _LEAST_RISE)
        self._idle = 0 if rises else self._idle + 1
        self._value = max(self._value, value)
        self.stalled = not self._cut(z) or self._idle >= _IDLE_ROUNDS
        return ProverStep(self.bound, _signs(z))

    def _certify(self, duals: Floats) -> float:
        """Raise the bound to what the duals prove, and fix what they exclude."""
        model = relaxation(self.problem, self.rows, (self.lower, self.upper))
        y = np.append(duals[2:], duals[:2])
        y = np.where((y > 0) & np.isinf(model.row_lower), 0, y)
        y = np.where((y < 0) & np.isinf(model.row_upper), 0, y)
        side = np.where(y > 0, model.row_lower, np.where(y < 0, model.row_upper, 0))
        reduced = model.objective - model.matrix.T @ y
        # min c'x >= y'b + min over the bounds of (c - A'y)'x, for every y
        least = np.minimum(reduced * model.col_lower, reduced * model.col_upper)
        value = float(y @ side + least.sum())
        self._raise(integer_bound(value))
        # A z that costs more than the gap to leave its bound stays there.
        gap = self._horizon - 1 - value + BOUND_TOLERANCE * max(1.0, abs(value))
        stay_low = (reduced[:-1] > gap) & (self.upper > self.lower)
        stay_high = (-reduced[:-1] > gap) & (self.upper > self.lower)
        self.upper[stay_low], self.lower[stay_high] = 0, 1
        moved = np.flatnonzero(stay_low | stay_high)
        if len(moved):
            self._program.set_bounds(moved, self.lower[moved], self.upper[moved])
        return value

    def _raise(self, bound: int) -> None:
        self.bound = max(self.bound, min(bound, self._horizon))

    def forbid(self, clause: Clause) -> bool:
        """Cut off signs that are known to be impossible; say whether that is new."""
        n = self.problem.n_patterns
        names = clause.patterns + n * (clause.signs < 0)
        cut = AtMost(tuple(sorted(names.tolist())), len(names) - 1)
        return self._add_cuts([cut])

    def _cut(self, z: Floats) -> bool:
        """Add rows that z violates; say whether there were any."""
        late = self._add_pairs(z)
        return self._add_cuts(self._separator.cuts(z, self._should_stop)) or late

    def _add_pairs(self, z: Floats) -> bool:
        """Add the pairs that z violates most; say whether there were any."""
        excess = self._waiting.excess(z)
        late = np.argsort(-excess, kind="stable")[:_PAIRS_PER_ROUND]
        late = late[excess[late] > 1e-6]
        if len(late) == 0:
            return False
        self._add_rows(self._waiting.take(late))
        rest = np.ones(len(excess), dtype=bool)
        rest[late] = False
        self._waiting = self._waiting.take(rest)
        return True

    def _add_cuts(self, cuts: list[AtMost]) -> bool:
        """Add the first of some cuts that are not there yet; say whether there were any."""
        new = [cut for cut in cuts if cut not in self.cuts][:_CUTS_PER_ROUND]
        self.cuts.update(new)
        if new:
            self._add_rows(cut_rows(new, self.problem.n_patterns))
        return bool(new)

    def _add_rows(self, new: Rows) -> None:
        n = self.problem.n_patterns
        self.rows = Rows.stack([self.rows, new], n)
        wide = new.matrix.copy()
        wide.resize((len(new.lower), n + 1))
        self._program.add_rows(wide, new.lower, new.upper)

    # Integer programs

    def _integer_step(self, solve: Callable[[MatrixModel], RawResult]) -> ProverStep:
        """Solve the integer program over z, and ask for weights with its signs."""
        self.integer_programs += 1
        model = relaxation(
            self.problem, self.rows, (self.lower, self.upper), limit=self._horizon - 1
        )
        raw = solve(model)
        if raw.status == "infeasible":
            self._raise(self._horizon)
        elif raw.status != "failed":
            self._raise(integer_bound(raw.bound))
        if raw.x is None or self._proven:
            return ProverStep(self.bound, done=True)
        signs = _signs(raw.x[:-1])
        answer = realise(self.problem, signs)
        if answer.weights is not None:
            self._horizon = min(self._horizon, self.problem.eta(answer.weights))
            return ProverStep(self.bound, signs, answer.weights, done=self._proven)
        self._idle, self.stalled = 0, False
        cut = self._cut((signs > 0).astype(float))
        if not cut and answer.contradiction is not None:
            cut = self.forbid(answer.contradiction.clause)
        return ProverStep(self.bound, signs, done=not cut)


def _signs(z: Floats) -> NDArray[np.int8]:
    return np.where(z > 0.5, 1, -1).astype(np.int8)
