"""A lower bound on eta, raised by cutting planes and by branch and bound.

:class:`Prover` first solves the linear relaxation in rounds and adds violated cuts in each. The
duals, rounded to integers, prove a bound. When cuts make no more progress, branch and bound
continues (:class:`BranchAndBound`). It proves a bound by contradiction: suppose that some weights
miss the total by less. Each node fixes some signs. The duals of its relaxation show that the node
is infeasible, or fix more signs; otherwise the node is split on the sign of one pattern. Where the
solution z is integral, a linear program looks for weights with these signs. If there are any, they
refute the bound; if not, a Farkas cut excludes this z.

A proof is stored as a list of rules, which :mod:`c2rf.forest.bounds.certify` turns into a
certificate.
"""

from __future__ import annotations

from collections.abc import Callable
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


class BranchAndBound:
    """Branch and bound for the proof of one bound, depth first.

    Parameters
    ----------
    relaxation : Relaxation
        The linear program; cuts found on the way are added.
    propagation : Propagation
        The rules of proofs, in integer arithmetic.
    bound : int or None
        The lower bound on eta to prove; None to prove that there are no weights at all.
    root : Node
        The node to start with; some of its signs may be fixed already.

    Attributes
    ----------
    rules : list
        The rules of the nodes so far; the whole proof once the outcome is "proven".
    weights : ndarray or None
        Weights that refute the bound, if any were found.
    z : ndarray or None
        The last solution of the relaxation.
    """

    def __init__(
        self, relaxation: Relaxation, propagation: Propagation, bound: int | None, root: Node
    ) -> None:
        self.relaxation, self.propagation, self.bound = relaxation, propagation, bound
        self._waiting = [root]
        # Weights with this eta or less refute the bound
        self._refuted_by = 0 if bound is None else bound - 1
        self.rules: list[Rule] = []
        self.n_nodes = 0
        self.weights: Floats | None = None
        self.z: Floats | None = None

    def step(
        self, should_stop: Callable[[], bool] = lambda: False
    ) -> Literal["open", "proven", "weights", "stuck"]:
        """Process one node; return the state of the proof."""
        node = self._waiting.pop()
        self.n_nodes += 1
        done = self._process(node, should_stop)
        if done == "closed":
            self.rules += [*node.rules, END]
            return "open" if self._waiting else "proven"
        if isinstance(done, int):
            self.rules += [*node.rules, ("split", done)]
            self._waiting += [node.child(done, 1), node.child(done, 0)]
            return "open"
        self._waiting.append(node)
        return done

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
            self.z = z
            if np.abs(z - np.rint(z)).max(initial=0.0) < _INTEGRAL:
                if self._cut_off(z):
                    continue
                refuted = self.weights is not None and exact.allows(node, z > 0.5)
                return "weights" if refuted else self._any_free(node)
            rounds -= 1
            if rounds < 0 or not self.relaxation.separate(z, should_stop):
                return self._branch(node, z)
        return "open"

    def _relax(self, node: Node, should_stop: Callable[[], bool]) -> Relaxed | None:
        total = self.propagation.pool.statement.total
        low, high = node.interval or (total, total)
        target = low + self._refuted_by, high - self._refuted_by
        return self.relaxation.solve(node, target, should_stop)

    def _cut_off(self, z: Floats) -> bool:
        """Look for weights with an integral z; True if there are none and a new cut excludes it."""
        weights, found, cut = find_weights(self.relaxation.problem, as_signs(z))
        self.weights = weights if found else None
        return cut is not None and self.relaxation.add([cut]) > 0

    def _branch(self, node: Node, z: Floats) -> int | Literal["closed", "weights", "stuck"]:
        """Return the pattern to branch on: one with a fractional z and many rows."""
        distance = np.minimum(z, 1 - z) * node.free
        best = int((distance * self.relaxation.problem.counts).argmax())
        return best if distance[best] > 0 else self._any_free(node)

    def _any_free(self, node: Node) -> int | Literal["closed", "weights", "stuck"]:
        """Return a free pattern to branch on where the relaxation gives no hint."""
        free = np.flatnonzero(node.free)
        if len(free):
            return int(free[self.relaxation.problem.counts[free].argmax()])
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


# A round of cuts makes progress if eta rises by this amount.
_LEAST_RISE = 0.25
# After this number of rounds without progress, branch and bound begins.
_IDLE_ROUNDS = 4
# For a large forest many cuts are progress, too, while eta is 0: with 100 deep trees on twonorm, 0
# of 886 is proven in a minute without this, and 874 with it.
_MANY_CUTS, _BLIND_ROUNDS = 60, 40
# Nodes after which a smaller bound is tried. After a single one, a third more work is needed.
_FIRST_NODES = 60


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
    proofs : list of (int or None, list)
        Bounds and the rules that prove them, in the order in which they were found.
    stalled : bool
        Whether branch and bound has taken over.
    signs : ndarray of int8 or None
        Signs by rounding the relaxation of the last step, as a start for a search.
    weights : ndarray or None
        Weights that miss the total by less than the bound tried, if the last step found any.
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
        self.proofs: list[tuple[int | None, list[Rule]]] = []
        self.bound = 0
        self._eta, self._idle, self.stalled = -np.inf, 0, False
        self._tree: BranchAndBound | None = None
        # The fraction of the gap that a tree is to close, and the nodes after which it is halved
        self._part, self._most_nodes = 1.0, _FIRST_NODES
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
            self._lower_cutoff(cutoff)
        if self.stalled and not self.done:
            self._branch(should_stop)
        elif not self.done:
            self._cut(should_stop)

    def _lower_cutoff(self, cutoff: int) -> None:
        self._known = True
        if cutoff < self._cutoff:
            self._cutoff = cutoff
            self._narrow(self._root, cutoff)

    def _narrow(self, node: Node, bound: int) -> None:
        """Restrict a node to counts that miss the total by less than a bound."""
        low, high = node.interval or (0, 0)
        node.interval = (
            max(low, self._target - (bound - 1)),
            min(high, self._target + (bound - 1)),
        )

    def _prove(self, bound: int | None, rules: list[Rule]) -> None:
        """Store a proof if it raises the bound."""
        if bound is None:
            self.infeasible = True
        elif bound > self.bound:
            bound = self.bound = min(bound, self._cutoff)
        else:
            return
        self.proofs.append((bound, rules))

    # Cutting planes

    def _cut(self, should_stop: Callable[[], bool]) -> None:
        """Solve the relaxation at the root and add cuts that its solution violates."""
        self.rounds += 1
        self._use_divisor()
        if self.done:
            return
        low, high = self._root.interval or (0, 0)
        most = self._cutoff - 1
        relaxed = self.relaxation.solve(self._root, (low + most, high - most), should_stop)
        if relaxed is None or relaxed.z is None:
            self.stalled = True
            return
        self.signs = as_signs(relaxed.z)
        self._use_duals(relaxed)
        if self.done:
            return
        rises = relaxed.eta - self._eta > _LEAST_RISE
        self._eta = max(self._eta, relaxed.eta)
        cuts = self.relaxation.separate(relaxed.z, should_stop)
        # As long as the relaxation meets the total, its eta cannot tell whether cuts help.
        if self.problem.n_columns >= LARGE_FOREST and self._eta < _LEAST_RISE:
            rises |= cuts >= _MANY_CUTS and self.rounds < _BLIND_ROUNDS
        self._idle = 0 if rises else self._idle + 1
        self.stalled = cuts == 0 or self._idle >= _IDLE_ROUNDS

    def _use_divisor(self) -> None:
        """Raise the bound to the distance from the total to the nearest attainable count."""
        nearest = self.propagation.distance(self._root, self._target)
        self._prove(nearest, [*self._root.rules, ("steps",), END])
        self.propagation.steps(self._root)

    def _use_duals(self, relaxed: Relaxed) -> None:
        """Raise the bound to what the duals prove, and fix the signs that they imply."""
        self.relaxation.drop_unproven(relaxed.rows)
        exact, target = self.propagation, self._target
        rule = exact.rounded(relaxed)
        proven = exact.bound(self._root, rule, target)
        if proven > 0:  # the count is at least that far above, or below, the total
            up = rule.of_count > 0
            value = exact.next_count(self._root, target + (proven if up else -proven), up=up)
            reached = self._cutoff if value is None else abs(value - target)
            self._prove(reached, [*self._root.rules, ("steps",), rule, END])
        exact.apply_duals(self._root, relaxed)

    # Branch and bound

    def _branch(self, should_stop: Callable[[], bool]) -> None:
        """Process one node of the tree of the bound that is being tried."""
        if self._tree is None or self._is_refuted(self._tree.bound):
            self._tree = self._new_tree()
        tree = self._tree
        outcome = tree.step(should_stop)
        self.nodes += 1
        self.signs = None if tree.z is None else as_signs(tree.z)
        if outcome != "open":
            self._tree = None
        if outcome == "weights":
            self.weights = tree.weights
        elif outcome == "stuck":
            self.stuck = True
        elif outcome == "proven":
            self._prove(tree.bound, tree.rules)
            self._part = min(1.0, 2 * self._part)
        elif tree.n_nodes > self._most_nodes:
            self._try_less()

    def _is_refuted(self, bound: int | None) -> bool:
        """Whether weights are known that miss the total by less than a bound."""
        return self._known if bound is None else bound > self._cutoff

    def _new_tree(self) -> BranchAndBound:
        """Start the tree for a bound above the one proven, at most the best eta known."""
        if not self._known:
            root = self.propagation.root(None)
            return BranchAndBound(self.relaxation, self.propagation, None, root)
        bound = self.bound + max(1, int(self._part * (self._cutoff - self.bound)))
        known = self._root
        root = Node(known.lower.copy(), known.upper.copy(), known.interval, list(known.rules))
        self._narrow(root, bound)
        return BranchAndBound(self.relaxation, self.propagation, bound, root)

    def _try_less(self) -> None:
        """Try a smaller bound; if there is none, allow more nodes."""
        if self._part * (self._cutoff - self.bound) > 1 and self._known:
            self._tree = None
            self._part /= 2
        else:
            self._most_nodes *= 2


def as_signs(z: Floats) -> NDArray[np.int8]:
    """Return the sign of each pattern, by rounding z."""
    return np.where(z > 0.5, 1, -1).astype(np.int8)
