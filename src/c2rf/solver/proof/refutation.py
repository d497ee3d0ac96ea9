"""A tree of cases: the proof that no weights miss the total by less than a bound.

Suppose there were such weights. Each case fixes some z; the relaxation guesses multipliers, and
whole numbers show that the case is impossible or decide more z; otherwise the case is split in
two. Where the relaxation wishes for whole z, a linear program looks for weights with these signs:
there are some, and the bound is wrong; or the reason why not is a new row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from c2rf._typing import Floats
from c2rf.solver.proof.exact import END, Case, Rule
from c2rf.solver.proof.relaxation import Relaxed
from c2rf.solver.proof.system import SignSystem
from c2rf.solver.realise import realise

RefutationOutcome = Literal["open", "proven", "weights", "stuck"]

_WHOLE = 1e-6
_ROUNDS_AT_ROOT = 20
_ROUNDS_BELOW = 4
_LEAST_RISE = 0.02


class Refutation:
    """Looks for the proof of one bound, case by case, depth first.

    Parameters
    ----------
    system : SignSystem
        Rows; those found on the way are added.
    bound : int or None
        What is to be proven; None that there are no weights at all.
    root : Case or None
        Where to begin, with what is decided already.

    Attributes
    ----------
    tree : list
        The rules of the cases so far; the whole proof once the outcome is "proven".
    weights : ndarray or None
        Weights that refute the bound, if any were found.
    wish : ndarray or None
        The z that the relaxation wished for last.
    """

    def __init__(self, system: SignSystem, bound: int | None, root: Case | None = None) -> None:
        self.system, self.bound = system, bound
        self._waiting = [system.root(bound) if root is None else root]
        self._centre = 0 if bound is None else bound - 1
        self.tree: list[Rule] = []
        self.n_cases = 0
        self.weights: Floats | None = None
        self.wish: Floats | None = None

    def step(
        self,
        time_left: Callable[[], float | None] = lambda: None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> RefutationOutcome:
        """Deal with one case; say what that leaves."""
        case = self._waiting.pop()
        self.n_cases += 1
        self._time_left, self._should_stop = time_left, should_stop
        done = self._visit(case)
        if done == "closed":
            self.tree += [*case.rules, END]
            return "open" if self._waiting else "proven"
        if isinstance(done, int):
            self.tree += [*case.rules, ("split", done)]
            self._waiting += [case.child(done, 1), case.child(done, 0)]
            return "open"
        self._waiting.append(case)
        return done

    def _visit(self, case: Case) -> int | Literal["closed", "open", "weights", "stuck"]:
        """Close a case, or say by which pattern to split it, or why neither can be done."""
        sums = self.system.sums
        if sums.steps(case) or sums.sums(case):
            return "closed"
        rounds, before = _ROUNDS_BELOW if self.tree else _ROUNDS_AT_ROOT, -np.inf
        while not self._should_stop():
            relaxed = self._relax(case)
            if relaxed is None:
                return "open" if self._should_stop() else self._any_open(case)
            closed, decided = sums.apply(case, relaxed.guess)
            if closed:
                return "closed"
            if self.system.drop_unproven(relaxed.guess.rows.tolist()):
                continue
            z = relaxed.z
            if z is None:
                return self._any_open(case)
            self.wish = z
            if np.abs(z - np.rint(z)).max(initial=0.0) < _WHOLE:
                if self._ask_for_weights(z):
                    continue
                refuted = self.weights is not None and sums.allows(case, z > 0.5)
                return "weights" if refuted else self._any_open(case)
            rises = relaxed.eta - before > _LEAST_RISE * max(1.0, self._centre - relaxed.eta)
            before = max(before, relaxed.eta)
            if decided and rises:
                continue
            rounds -= 1 if rises else 2
            if rounds < 0 or not self.system.cut(z, self._should_stop):
                return self._split_by(case, z)
        return "open"

    def _relax(self, case: Case) -> Relaxed | None:
        low, high = case.ends or (self.system.wished, self.system.wished)
        wished = low + self._centre, high - self._centre
        return self.system.relaxation.solve(case, wished, self._time_left(), self._should_stop)

    def _ask_for_weights(self, z: Floats) -> bool:
        """Look for weights with whole z; True if there are none and a new row says why."""
        signs: NDArray[np.int8] = np.where(z > 0.5, 1, -1).astype(np.int8)
        answer = realise(self.system.problem, signs)
        self.weights = answer.weights
        if answer.weights is not None or answer.contradiction is None:
            return False
        return self.system.forbid(answer.contradiction)

    def _any_open(self, case: Case) -> int | Literal["closed", "weights", "stuck"]:
        """Return an open pattern to split by where the relaxation gives no hint."""
        open_ = np.flatnonzero(case.open)
        if len(open_) == 0:
            return self._all_decided(case)
        return int(open_[self.system.problem.counts[open_].argmax()])

    def _all_decided(self, case: Case) -> Literal["closed", "weights", "stuck"]:
        """Deal with a case in which all signs are decided, without the relaxation."""
        sums = self.system.sums
        if sums.steps(case):
            return "closed"
        while True:
            rule = sums.violated(case)
            if rule is not None and sums.use(case, rule):
                return "closed"
            if not self._ask_for_weights(case.lower.astype(float)):
                return "stuck" if self.weights is None else "weights"

    def _split_by(self, case: Case, z: Floats) -> int | Literal["closed", "weights", "stuck"]:
        """Return the pattern to split by: far from whole, and with many points."""
        unsure = np.minimum(z, 1 - z) * case.open
        score = unsure * self.system.problem.counts
        best = int(score.argmax())
        return best if unsure[best] > 0 else self._any_open(case)
