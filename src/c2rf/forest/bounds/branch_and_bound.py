"""A lower bound on eta that rises by cuts and by branching.

From the rules of a proof to a certificate.

A proof is found while better weights turn up, and each time its first supposition becomes
stronger: rules may then decide more than when they were found, and cases may close earlier. So the
proof is gone through once more, for the bound that is claimed, and what is not needed is left out.

A tree of cases: the proof that no weights miss the total by less than a bound.

Suppose there were such weights. Each case fixes some z; the relaxation guesses multipliers, and
whole numbers show that the case is impossible or decide more z; otherwise the case is split in
two. Where the relaxation wishes for whole z, a linear program looks for weights with these signs:
there are some, and the bound is wrong; or the reason why not is a new row.

The proof side: a lower bound on eta that rises step by step, each with a proof in whole numbers.

First a linear program over z with the pairs and the cuts of :mod:`c2rf.forest.bounds.cuts`,
solved and cut again: its duals, rounded to whole numbers, are a proof by themselves. When cuts
stall, a tree of cases (:mod:`c2rf.forest.bounds.branch_and_bound`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from c2rf._utils.types import Floats
from c2rf.forest.bounds.conflict_graph import Structure
from c2rf.forest.bounds.cuts import Ground
from c2rf.forest.bounds.feasibility import realise
from c2rf.forest.bounds.relaxation import END, Case, Guess, Relaxed, Rule, SignSystem, Sum
from c2rf.forest.certificate import FORMAT, VERSION, Statement
from c2rf.forest.problem import Problem


def write_certificate(
    system: SignSystem, bound: int | None, rules: list[Rule]
) -> dict[str, Any] | None:
    """Return the certificate of a proof; None if its rules do not prove the bound."""
    needed = _needed(system, system.root(bound), rules)
    if needed is None:
        return None
    used = sorted({row for rule in needed if isinstance(rule, Sum) for row in rule.rows})
    number = {row: k for k, row in enumerate(used)}
    proofs = [system.store.proof(row) for row in used]
    return blank_certificate(system.ground.statement) | {
        "bound": bound,
        "rows": [list(proof) for proof in proofs if proof is not None],
        "tree": [_node(rule, system, number) for rule in needed],
    }


def blank_certificate(statement: Statement) -> dict[str, Any]:
    """Return the certificate of the bound 0, which needs no proof."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "sha256": statement.digest(),
        "bound": 0,
        "rows": [],
        "tree": [],
    }


def _needed(system: SignSystem, root: Case, rules: list[Rule]) -> list[Rule] | None:
    """Go through the rules, and return those that are needed to close all cases."""
    needed: list[Rule] = []
    waiting, unread = [root], iter(rules)
    while waiting:
        case = waiting.pop()
        for rule in unread:
            if rule == END:  # it should have been closed
                return None
            if isinstance(rule, tuple) and rule[0] == "split":
                pattern = int(rule[-1])
                waiting += [case.child(pattern, 1), case.child(pattern, 0)]
                needed.append(rule)
                break
            before = len(case.rules)
            closed = system.sums.use(case, rule)
            needed += case.rules[before:]
            if closed:
                _skip(unread)
                break
        else:
            return None
    return needed


def _skip(unread: Any) -> None:
    """Pass over what is left of a case that is closed."""
    open_ = 1
    for rule in unread:
        if rule == END:
            open_ -= 1
        elif isinstance(rule, tuple) and rule[0] == "split":
            open_ += 1
        if open_ == 0:
            return


def _node(rule: Rule, system: SignSystem, number: dict[int, int]) -> list[Any]:
    """Return a rule as certificates write it."""
    if isinstance(rule, Sum):
        pairs = zip(rule.rows, rule.values, strict=True)
        return ["add", rule.total, *(x for row, y in pairs for x in (number[row], y))]
    if rule[0] == "split":
        return ["split", system.ground.literal(int(rule[-1]))]
    return list(rule)


RefutationOutcome = Literal["open", "proven", "weights", "stuck"]

_WHOLE = 1e-6
_ROUNDS_AT_ROOT = 20
_ROUNDS_BELOW = 4
_LEAST_RISE_OF_CUTS = 0.02


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
            rises = relaxed.eta - before > _LEAST_RISE_OF_CUTS * max(
                1.0, self._centre - relaxed.eta
            )
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


_IDLE_ROUNDS = 4
_LEAST_PART = 0.1
_LEAST_RISE = 0.25
_NEAR = 0.01
_MANY_CUTS = 60
_BLIND_ROUNDS = 40
# Cases of a tree before a smaller bound is tried; one and a half times as many after a success.
_FIRST_CASES = 60
_GROWTH = 1.5


@dataclass(frozen=True, eq=False)
class ProverStep:
    """Where the proof stands after a step.

    Parameters
    ----------
    bound : int
        No weights come closer than this.
    signs : ndarray of int8 or None
        Signs that the relaxation wishes for: weights near them are worth looking at.
    weights : ndarray or None
        Weights with the wished signs, if the step found any.
    done : bool
        The bound has reached the best eta known, or there are no weights at all.
    stuck : bool
        Rounding hides what is missing: more steps will not help.
    """

    bound: int
    signs: NDArray[np.int8] | None = None
    weights: Floats | None = None
    done: bool = False
    stuck: bool = False


class Prover:
    """Raises a lower bound on eta, in steps that the caller can mix with a search.

    Bounds are those of the user's problem.

    Parameters
    ----------
    problem : Problem
        The patterns at work.
    ground : Ground
        The user's problem, in which everything is proven.
    structure : Structure
        Pairs of the patterns at work.
    seed : int
        Makes the cuts repeatable.
    """

    def __init__(
        self, problem: Problem, ground: Ground, structure: Structure, *, seed: int = 0
    ) -> None:
        self.problem = problem
        self.system = SignSystem(problem, ground, structure, seed)
        total, points = ground.statement.total, sum(ground.statement.counts)
        self._horizon = max(total, points - total) + 1
        self._known = False
        self._case = self.system.root(self._horizon)
        self._proofs: list[tuple[int | None, list[Rule]]] = []
        self.bound = 0
        """The greatest bound proven so far."""
        self._value, self._idle, self.stalled = -np.inf, 0, False
        self._refutation: Refutation | None = None
        self._part, self._most_cases = 1.0, float(_FIRST_CASES)
        self.rounds = self.cases = 0
        self.impossible = False

    @property
    def work(self) -> int:
        """How much work the linear programs and the cuts were, about nanoseconds."""
        return self.system.work

    @property
    def is_reachable(self) -> bool:
        """Whether the linear programs do not exclude weights that are as close as the bound."""
        return self._value <= self.bound

    @property
    def _proven(self) -> bool:
        """Whether the bound has reached the best eta known."""
        return self.bound >= self._horizon or self.impossible

    def step(
        self,
        cutoff: int | None = None,
        time_left: Callable[[], float | None] = lambda: None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> ProverStep:
        """Do one piece of work: a linear program and cuts, or a case of a tree if cuts stall.

        Parameters
        ----------
        cutoff : int or None
            The best eta known: only whether anything is better is asked from now on.
        time_left : callable
            Seconds left, None without a limit.
        should_stop : callable
            Asked now and then.
        """
        if cutoff is not None:
            self._lower_horizon(cutoff)
        if self._proven:
            return ProverStep(self.bound, done=True)
        if not self.stalled:
            return self._cutting_step(time_left, should_stop)
        return self._tree_step(time_left, should_stop)

    def _lower_horizon(self, cutoff: int) -> None:
        self._known = True
        if cutoff < self._horizon:
            self._horizon = cutoff
            low, high = self._case.ends or (0, 0)
            wished, room = self.system.wished, cutoff - 1
            self._case.ends = max(low, wished - room), min(high, wished + room)

    # Linear programs

    def _cutting_step(
        self, time_left: Callable[[], float | None], should_stop: Callable[[], bool]
    ) -> ProverStep:
        """Solve the linear program and cut off its z."""
        self.rounds += 1
        self._use_steps()
        if self._proven:
            return ProverStep(self.bound, done=True)
        low, high = self._case.ends or (0, 0)
        room = self._horizon - 1
        wished = low + room, high - room
        relaxed = self.system.relaxation.solve(self._case, wished, time_left(), should_stop)
        if relaxed is None or relaxed.z is None:
            self.stalled = True
            return ProverStep(self.bound)
        self._use(relaxed.guess)
        if self._proven:
            return ProverStep(self.bound, done=True)
        far = room - relaxed.eta > _NEAR * self._horizon
        if self.rounds == 1 and far and self.system.forget_pairs():
            return ProverStep(self.bound, _signs(relaxed.z))
        # Worth a round: what would close the gap in some rounds, or a good piece of it.
        rises = relaxed.eta - self._value > min(_LEAST_PART * (room - relaxed.eta), _LEAST_RISE)
        self._value = max(self._value, relaxed.eta)
        cuts = self.system.cut(relaxed.z, should_stop)
        # As long as z meets the total, eta cannot tell whether cuts help.
        rises |= relaxed.eta < _LEAST_RISE and cuts >= _MANY_CUTS and self.rounds < _BLIND_ROUNDS
        self._idle = 0 if rises else self._idle + 1
        self.stalled = cuts == 0 or self._idle >= _IDLE_ROUNDS
        return ProverStep(self.bound, _signs(relaxed.z))

    def _use_steps(self) -> None:
        """Raise the bound to the nearest number that the counts can add up to."""
        sums = self.system.sums
        nearest = sums.distance(self._case, self.system.wished)
        self._prove(nearest, [*self._case.rules, ("steps",), END])
        sums.steps(self._case)

    def _use(self, guess: Guess) -> None:
        """Raise the bound to what the duals prove, and fix what they exclude."""
        self.system.drop_unproven(guess.rows.tolist())
        wished, sums = self.system.wished, self.system.sums
        rule = sums.rounded(guess)
        proven = sums.bound(self._case, rule, wished)
        if proven > 0:  # T is that far above, or below, or further
            up = rule.total > 0
            value = sums.attainable(self._case, wished + (proven if up else -proven), up=up)
            reached = self._horizon if value is None else abs(value - wished)
            self._prove(reached, [*self._case.rules, ("steps",), rule, END])
        sums.apply(self._case, guess)

    def _prove(self, bound: int | None, rules: list[Rule]) -> None:
        """Note a proof, if it is of something new."""
        if bound is None:
            self.impossible = True
        elif bound > self.bound:
            bound = self.bound = min(bound, self._horizon)
        else:
            return
        self._proofs.append((bound, rules))

    # Trees

    def _tree_step(
        self, time_left: Callable[[], float | None], should_stop: Callable[[], bool]
    ) -> ProverStep:
        """Deal with one case of the tree for the bound aimed at."""
        if self._refutation is None or self._too_high(self._refutation.bound):
            self._refutation = self._aim()
        tree = self._refutation
        outcome = tree.step(time_left, should_stop)
        self.cases += 1
        signs = None if tree.wish is None else _signs(tree.wish)
        if outcome == "proven":
            self._succeed(tree)
        elif outcome == "weights":
            self._refutation = None
            return ProverStep(self.bound, signs, tree.weights)
        elif outcome == "stuck":
            self._refutation = None
            return ProverStep(self.bound, signs, stuck=True)
        elif tree.n_cases > self._most_cases:
            self._give_up()
        return ProverStep(self.bound, signs, done=self._proven)

    def _too_high(self, bound: int | None) -> bool:
        """Whether weights are known that are closer than a bound."""
        return self._known if bound is None else bound > self._horizon

    def _aim(self) -> Refutation:
        """Begin the tree for a bound between the one proven and the best eta known."""
        if not self._known:
            return Refutation(self.system, None)
        gap = self._horizon - self.bound
        bound = self.bound + max(1, int(self._part * gap))
        case = self._case
        start = Case(case.lower.copy(), case.upper.copy(), None, list(case.rules))
        root = self.system.root(bound)
        assert root.ends is not None
        assert case.ends is not None
        start.ends = max(root.ends[0], case.ends[0]), min(root.ends[1], case.ends[1])
        return Refutation(self.system, bound, start)

    def _succeed(self, tree: Refutation) -> None:
        self._refutation = None
        self._prove(tree.bound, tree.tree)
        self._part = min(1.0, 2 * self._part)
        self._most_cases *= _GROWTH

    def _give_up(self) -> None:
        """Aim lower, or try longer where there is nothing lower to aim at."""
        if self._part * (self._horizon - self.bound) > 1 and self._known:
            self._refutation = None
            self._part /= 2
        else:
            self._most_cases *= 2

    def certificates(self) -> Iterator[dict[str, Any]]:
        """Yield the certificates of all bounds proven, the greatest first."""
        for bound, rules in reversed(self._proofs):
            certificate = write_certificate(self.system, bound, rules)
            if certificate is not None:
                yield certificate


def _signs(z: Floats) -> NDArray[np.int8]:
    return np.where(z > 0.5, 1, -1).astype(np.int8)
