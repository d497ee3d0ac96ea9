"""A lower bound on eta, raised by cutting planes and by branch and bound.

:class:`Prover` first solves the linear relaxation in rounds and adds violated cuts in each. The
duals, rounded to integers, prove a bound. When cuts make no more progress, branch and bound
continues, best first. It looks for a contradiction: suppose that some weights miss the total by
less than the best known. Each node fixes some signs. The duals of its relaxation show that the node
is infeasible, or raise its bound and fix more signs; then it is split on the sign of one pattern.
The least bound of the nodes that wait is proven. Where the solution z is integral, a linear program
looks for weights with these signs. If there are any, they are better than the best known; if not, a
Farkas cut excludes this z.

A proof is a list of rules, which :mod:`c2rf.forest.bounds.certify` turns into a certificate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from c2rf._utils.types import Floats
from c2rf.forest.bounds.conflict_graph import Cut
from c2rf.forest.bounds.cuts import CutPool
from c2rf.forest.bounds.feasibility import find_weights
from c2rf.forest.bounds.relaxation import END, Node, Propagation, Relaxation, Relaxed, Rule
from c2rf.forest.problem import Problem
from c2rf.forest.search.searcher import LARGE_FOREST

_INTEGRAL = 1e-6
_ROUNDS = 4  # of cuts in a node; 1 to 20 take about as long, on proofs of some hundred nodes
# A round of cuts makes progress if eta rises by this amount.
_LEAST_RISE = 0.25
# After this number of rounds without progress, branch and bound begins.
_IDLE_ROUNDS = 4
# For a large forest many cuts are progress, too, while eta is 0: with 100 deep trees on twonorm, 0
# of 886 is proven in a minute without this, and 874 with it.
_MANY_CUTS, _BLIND_ROUNDS = 60, 40


class Prover:
    """Raises a lower bound on eta, in steps, so that the caller can run a search in between.

    All bounds are for the user's problem, not for the reduced one.

    Parameters
    ----------
    problem : Problem
        The reduced problem.
    pool : CutPool
        The cuts found so far, and the user's problem, for which they are proven.
    pairs : list of Cut
        The first cuts of the relaxation, those of the conflict graph.
    seed : int
        Seed of the random choices in finding cuts.

    Attributes
    ----------
    bound : int
        The greatest bound proven so far.
    infeasible : bool
        Whether it is proven that there are no weights.
    stalled : bool
        Whether branch and bound has taken over.
    signs : ndarray of int8 or None
        Signs by rounding the relaxation of the last step, as a start for a search.
    weights : ndarray or None
        Weights that miss the total by less than the best known, if the last step found any.
    stuck : bool
        A node stays undecided because of rounding errors: more steps will not help.
    """

    def __init__(self, problem: Problem, pool: CutPool, pairs: list[Cut], *, seed: int = 0) -> None:
        self.problem, self.pool = problem, pool
        self.propagation = Propagation(problem, pool)
        self.relaxation = Relaxation(problem, pool, pairs, self.propagation.certain, seed)
        self._target = pool.statement.total
        # The best eta known; before any is known, a number above the eta of all weights
        self._cutoff = max(self._target, sum(pool.statement.counts) - self._target) + 1
        self._known = False
        self._root = self.propagation.root(self._cutoff)
        self._root_proofs: list[tuple[int, list[Rule]]] = []
        self.bound = 0
        self._eta, self._idle, self.stalled = -np.inf, 0, False
        # Of nodes of equal bounds the youngest comes first
        self._waiting, self._age = [(0, 0, self._root)], 0
        self._z: Floats | None = None
        self.rounds = self.nodes = 0
        self.infeasible = self.stuck = False
        self.signs: NDArray[np.int8] | None = None
        self.weights: Floats | None = None

    @property
    def work(self) -> int:
        """Work spent on linear programs and cuts, in units of about a nanosecond."""
        return self.relaxation.work

    @property
    def is_reachable(self) -> bool:
        """Whether, for all the linear programs show, some weights may attain the bound."""
        return self._eta <= self.bound

    @property
    def done(self) -> bool:
        """Whether the bound has reached the best eta known, or there are no weights at all."""
        return self.bound >= self._cutoff or self.infeasible

    def proofs(self) -> Iterator[tuple[int | None, list[Rule]]]:
        """Yield bounds and the rules that prove them, the greatest first."""
        if self.infeasible:
            yield None, rules_of(self._root)
        # A part of the tree proves less, by a shorter proof.
        bound, at_root = self.bound, self._root_proofs[-1][0] if self._root_proofs else 0
        while bound > at_root:
            yield bound, rules_of(self._root, bound)
            bound = (bound + at_root) // 2
        yield from reversed(self._root_proofs)

    def step(
        self, cutoff: int | None = None, should_stop: Callable[[], bool] = lambda: False
    ) -> None:
        """Do one piece of work: a linear program and cuts, or a node if cuts stall.

        Parameters
        ----------
        cutoff : int or None
            The best eta known: from now on only the existence of better weights matters.
        should_stop : callable
            Called now and then; the step ends early if it returns True.
        """
        self.signs = self.weights = None
        if cutoff is not None:
            if self.stalled and not self._known:
                self._begin(self.propagation.root(cutoff))
            self._known, self._cutoff = True, min(cutoff, self._cutoff)
        if self.stalled and not self.done:
            self._branch(should_stop)
        elif not self.done:
            self._cut(should_stop)

    def _cut(self, should_stop: Callable[[], bool]) -> None:
        """Solve the relaxation at the root and add cuts that its solution violates."""
        self.rounds += 1
        root, exact = self._root, self.propagation
        exact.narrow(root, self._cutoff)
        root.bound = max(root.bound, exact.distance(root, self._target))
        if self._raise_bound():
            return
        exact.steps(root)
        relaxed = self._relax(root, should_stop)
        if relaxed is None or relaxed.z is None:
            self._stall()
            return
        self.signs = as_signs(relaxed.z)
        self.relaxation.drop_unproven(relaxed.rows)
        exact.apply_duals(root, relaxed)
        if self._raise_bound():
            return
        rises = relaxed.eta - self._eta > _LEAST_RISE
        self._eta = max(self._eta, relaxed.eta)
        cuts = self.relaxation.separate(relaxed.z, should_stop)
        # As long as the relaxation meets the total, its eta cannot tell whether cuts help.
        if self.problem.n_columns >= LARGE_FOREST and self._eta < _LEAST_RISE:
            rises |= cuts >= _MANY_CUTS and self.rounds < _BLIND_ROUNDS
        self._idle = 0 if rises else self._idle + 1
        if cuts == 0 or self._idle >= _IDLE_ROUNDS:
            self._stall()

    def _raise_bound(self) -> bool:
        """Note what is proven at the root; say whether that is all there is to prove."""
        if self._root.bound > self.bound:
            self.bound = min(self._root.bound, self._cutoff)
            self._root_proofs.append((self.bound, rules_of(self._root)))
        return self.done

    # Branch and bound

    def _stall(self) -> None:
        """Let branch and bound take over: of eta, or to prove that there are no weights at all."""
        self.stalled = True
        self._begin(self._root if self._known else self.propagation.root(None))

    def _begin(self, root: Node) -> None:
        self._root, self._waiting = root, [(root.bound, self._age, root)]

    def _branch(self, should_stop: Callable[[], bool]) -> None:
        """Process the node of the least bound."""
        node = heappop(self._waiting)[-1]
        self.propagation.narrow(node, self._cutoff)
        self._z = None
        done = self._process(node, should_stop)
        self.nodes += 1
        self.signs = None if self._z is None else as_signs(self._z)
        if isinstance(done, int):
            node.split(done)
            for child in reversed(node.children):
                self._wait(child)
        elif done != "closed":
            self._wait(node)
            self.stuck = done == "stuck"
        if done != "weights":
            self.weights = None
        proven = self._waiting[0][0] if self._waiting else self._cutoff
        if self._known:
            self.bound = max(self.bound, min(proven, self._cutoff))
        else:
            self.infeasible = not self._waiting

    def _wait(self, node: Node) -> None:
        self._age -= 1
        heappush(self._waiting, (node.bound, self._age, node))

    def _process(
        self, node: Node, should_stop: Callable[[], bool]
    ) -> int | Literal["closed", "open", "weights", "stuck"]:
        """Return whether a node is closed, or the pattern to branch on, or why there is neither."""
        exact = self.propagation
        if exact.steps(node) or exact.sums(node):
            return "closed"
        rounds = _ROUNDS
        while not should_stop():
            relaxed = self._relax(node, should_stop)
            if relaxed is None:
                return "open" if should_stop() else self._any_free(node)
            if exact.apply_duals(node, relaxed):
                return "closed"
            if self.relaxation.drop_unproven(relaxed.rows):
                continue
            z = relaxed.z
            if z is None:
                return self._any_free(node)
            self._z = z
            if np.abs(z - np.rint(z)).max(initial=0.0) < _INTEGRAL:
                if self._cut_off(z):
                    continue
                closer = self.weights is not None and exact.allows(node, z > 0.5)
                return "weights" if closer else self._any_free(node)
            rounds -= 1
            if rounds < 0 or not self.relaxation.separate(z, should_stop):
                return self._choose(node, z)
        return "open"

    def _relax(self, node: Node, should_stop: Callable[[], bool]) -> Relaxed | None:
        total = self.propagation.pool.statement.total
        low, high = node.interval or (total, total)
        closer = 0 if node.interval is None else self._cutoff - 1
        return self.relaxation.solve(node, (low + closer, high - closer), should_stop)

    def _cut_off(self, z: Floats) -> bool:
        """Look for weights with an integral z; True if there are none and a new cut excludes it."""
        weights, found, cut = find_weights(self.problem, as_signs(z))
        self.weights = weights if found else None
        return cut is not None and self.relaxation.add([cut]) > 0

    def _choose(self, node: Node, z: Floats) -> int | Literal["closed", "weights", "stuck"]:
        """Return the pattern to branch on: one with a fractional z and many rows."""
        distance = np.minimum(z, 1 - z) * node.free
        best = int((distance * self.problem.counts).argmax())
        return best if distance[best] > 0 else self._any_free(node)

    def _any_free(self, node: Node) -> int | Literal["closed", "weights", "stuck"]:
        """Return a free pattern to branch on where the relaxation gives no hint."""
        free = np.flatnonzero(node.free)
        if len(free):
            return int(free[self.problem.counts[free].argmax()])
        return self._all_fixed(node)

    def _all_fixed(self, node: Node) -> Literal["closed", "weights", "stuck"]:
        """Close a node in which all signs are fixed, or find weights for it."""
        if self.propagation.steps(node):
            return "closed"
        while True:
            rule = self.propagation.violated(node)
            if rule is not None and self.propagation.apply(node, rule):
                return "closed"
            if not self._cut_off(node.lower.astype(float)):
                return "stuck" if self.weights is None else "weights"


def rules_of(root: Node, bound: float = np.inf) -> list[Rule]:
    """Return the rules of a node and of all below it, depth first, as far as a bound needs them."""
    rules: list[Rule] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        rules += node.rules
        if node.children and node.bound < bound:
            rules.append(("split", node.pattern))
            waiting += reversed(node.children)
        else:
            rules += [("steps",), *([node.duals] if node.duals else []), END]
    return rules


def as_signs(z: Floats) -> NDArray[np.int8]:
    """Return the sign of each pattern, by rounding z."""
    return np.where(z > 0.5, 1, -1).astype(np.int8)
