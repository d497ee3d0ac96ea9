"""From proofs to certificates that the checker has accepted.

A proof is found while better weights turn up, and each time the supposition at its root becomes
stronger: rules may then fix more than when they were found, and nodes may close earlier. So the
rules are applied once more, for the bound that is claimed, and those that are not needed are left
out (:func:`certificates`). The :class:`Certifier` runs a proof for the user's problem and has every
claim checked.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, NoReturn, TypeGuard

import numpy as np

from c2rf._utils.types import Ints
from c2rf.exceptions import InfeasibleError, NoSolutionError
from c2rf.forest.bounds.branch_and_bound import Prover
from c2rf.forest.bounds.conflict_graph import pair_cuts
from c2rf.forest.bounds.cuts import CutPool
from c2rf.forest.bounds.relaxation import END, Aggregation, Node, Propagation, Rule
from c2rf.forest.certificate import (
    FORMAT,
    MOST_STEPS,
    STEPS_OF_A_NODE,
    VERSION,
    CertificateError,
    Statement,
    check_certificate,
)
from c2rf.forest.incumbent import SolveState
from c2rf.forest.problem import Problem, box_with_weights

if TYPE_CHECKING:
    from c2rf.forest.paper import Reduction

# From rules to certificates


def certificates(prover: Prover) -> Iterator[dict[str, Any]]:
    """Yield the certificates of all bounds that a prover has proven, the greatest first."""
    for bound, rules in prover.proofs():
        needed = _needed(prover.propagation, prover.propagation.root(bound), rules)
        if needed is not None:
            yield _write(prover.pool, bound, needed)


def _needed(propagation: Propagation, root: Node, rules: list[Rule]) -> list[Rule] | None:
    """Return the rules that are needed to close all nodes; None if they do not."""
    needed: list[Rule] = []
    waiting, unread = [root], iter(rules)
    while waiting:
        node = waiting.pop()
        for rule in unread:
            if rule == END:  # the node should have been closed
                return None
            if _is_split(rule):
                pattern = rule[1]
                waiting += [node.child(pattern, 1), node.child(pattern, 0)]
                needed.append(rule)
                break
            before = len(node.rules)
            closed = propagation.apply(node, rule)
            needed += node.rules[before:]
            if closed:
                _skip_to_end(unread)
                break
        else:
            return None
    return needed


def _skip_to_end(unread: Iterator[Rule]) -> None:
    """Skip what is left of a node that is closed, and the nodes below it."""
    n_open = 1
    for rule in unread:
        n_open += _is_split(rule) - (rule == END)
        if n_open == 0:
            return


def _is_split(rule: Rule) -> TypeGuard[tuple[str, int]]:
    return isinstance(rule, tuple) and rule[0] == "split"


def _write(pool: CutPool, bound: int | None, rules: list[Rule]) -> dict[str, Any]:
    """Return the certificate that consists of these rules."""
    used = sorted({row for rule in rules if isinstance(rule, Aggregation) for row in rule.rows})
    number = {row: k for k, row in enumerate(used)}
    tree: list[list[Any]] = []
    for rule in rules:
        if isinstance(rule, Aggregation):
            pairs = zip(rule.rows, rule.multipliers, strict=True)
            tree.append(["add", rule.of_count, *(x for row, y in pairs for x in (number[row], y))])
        else:
            tree.append(["split", pool.literal(rule[1])] if _is_split(rule) else list(rule))
    rows = [list(proof) for proof in map(pool.proof, used) if proof is not None]
    return blank_certificate(pool.statement) | {"bound": bound, "rows": rows, "tree": tree}


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


# No weights at all

_MOST_SHOWN = 5


def infeasible_patterns(problem: Problem) -> Ints:
    """Return the patterns to which the box seems to allow neither sign.

    Examples
    --------
    >>> from c2rf.forest.problem import make_problem
    >>> infeasible_patterns(make_problem([[1, -1], [1, 1]], 1, 1.0, 1.0))
    array([0])
    """
    tolerance = 1e-9
    return np.flatnonzero((problem.most() < 1 - tolerance) & (problem.least() > -1 + tolerance))


def raise_infeasible(statement: Statement, certificate: dict[str, Any]) -> NoReturn:
    """Raise the error that names the patterns of a proof that there are no weights."""
    named = sorted({abs(literal) for row in certificate["rows"] for literal in row[0]})
    bits = [statement.patterns[number - 1] for number in named[:_MOST_SHOWN]]
    trees = range(statement.n_trees)
    shown = "; ".join("".join("+" if b >> j & 1 else "-" for j in trees) for b in bits)
    more = f" and {len(named) - _MOST_SHOWN} more" if len(named) > _MOST_SHOWN else ""
    what = (
        f"no weights in the box give the pattern {shown} a margin of 1"
        if len(named) == 1
        else f"no weights in the box give these patterns margins of 1 together: {shown}{more}"
    )
    always = box_with_weights(statement.offset is not None)
    raise InfeasibleError(
        f"{what}. Widen [lower, upper]: with {always} there always are weights", certificate
    )


def raise_if_infeasible(prover: Prover) -> None:
    """Raise the error with the proof if the prover has found that there are no weights."""
    if not prover.infeasible:
        return
    statement = prover.pool.statement
    for certificate in certificates(prover):
        with suppress(CertificateError):
            if check_certificate(statement, certificate) is None:
                raise_infeasible(statement, certificate)
    raise NoSolutionError(
        "no weights with all margins were found, and there seem to be none, but the proof of "
        f"that was not accepted; try {box_with_weights(statement.offset is not None)}"
    )


class Certifier:
    """Proves bounds for one problem of the user, and has every claim checked.

    Parameters
    ----------
    statement : Statement
        The user's problem in whole numbers.
    reduction : Reduction
        The smaller problem to work on.
    state : SolveState
        The solve in progress, for its seed and its stats.
    """

    def __init__(self, statement: Statement, reduction: Reduction, state: SolveState) -> None:
        self.statement, self.reduction, self.state = statement, reduction, state
        self._pool = CutPool(statement, reduction.kept)
        self._prover: Prover | None = None

    def prover(self) -> Prover:
        """Return the prover, made when it is first asked for."""
        if self._prover is None:
            problem = self.reduction.problem
            pairs = pair_cuts(problem)
            self.state.stats["pairs"] = len(pairs)
            self._prover = Prover(problem, self._pool, pairs, seed=self.state.seed)
        return self._prover

    def prove(self, eta: int | None, seconds: float | None) -> None:
        """Try to prove that nothing is closer than eta (None: no weights at all), for a time."""
        end = np.inf if seconds is None else time.perf_counter() + seconds

        def is_over() -> bool:
            return time.perf_counter() >= end

        while not self.state.interrupted and not is_over():
            prover = self.prover()
            prover.step(eta, is_over)
            if prover.weights is not None:  # closer than eta, which cannot be proven then
                eta = self.reduction.problem.eta(prover.weights) + self.reduction.eta_shift
            if prover.done or prover.stuck:
                break

    def certified(self, eta: int) -> tuple[int, dict[str, Any], dict[str, Any]]:
        """Return the greatest bound up to eta whose certificate is accepted.

        The certificate comes second, what there is to say about the proof third.
        """
        started = time.perf_counter()
        prover = self._prover
        proofs = iter(()) if prover is None or eta == 0 else certificates(prover)
        for certificate in chain(proofs, self._simple_certificates()):
            if least_steps(self.statement, certificate) > MOST_STEPS:
                self.state.warn("a greater bound is not claimed: its proof is too long to check")
                continue
            try:
                bound = check_certificate(self.statement, certificate)
            except CertificateError as error:
                self.state.warn(f"a proof was not accepted and is not used: {error}")
                continue
            if bound is not None and bound <= eta:
                break
            raise AssertionError(
                f"a certificate was accepted for the bound {bound}, and there are weights that "
                f"miss the total by {eta}: one of the two is a mistake of c2rf; please report it"
            )
        stats = _proof_stats(certificate) | {"seconds": time.perf_counter() - started}
        if prover is not None:
            stats |= {"cuts": len(prover.pool.cuts), "rounds": prover.rounds}
            stats["nodes"] = prover.nodes
        return bound or 0, certificate, stats

    def _simple_certificates(self) -> list[dict[str, Any]]:
        """Return certificates that need no search: the signs that the box decides, and nothing."""
        stated, blank = self.statement, blank_certificate(self.statement)
        decided = zip(stated.counts, self._pool.decided, strict=True)
        ends = [(count * (z == 1), count * (z != 0)) for count, z in decided]
        low, high = (sum(end) for end in zip(*ends, strict=True))
        proofs = [
            blank | {"bound": low - stated.total, "tree": [["add", 1]]},  # T >= low
            blank | {"bound": stated.total - high, "tree": [["add", -1]]},  # T <= high
        ]
        return [proof for proof in proofs if proof["bound"] > 0] + [blank]

    def refuse_infeasible(self) -> None:
        """Raise the error with the proof if some pattern can have neither sign."""
        for place in infeasible_patterns(self.reduction.problem).tolist():
            number = int(self.reduction.kept[place]) + 1
            certificate = blank_certificate(self.statement) | {
                "bound": None,
                "rows": [[[number], [1], 0], [[-number], [1], 0]],
                "tree": [["add", 0, 0, 1, 1, 1]],
            }
            with suppress(CertificateError):
                check_certificate(self.statement, certificate)
                raise_infeasible(self.statement, certificate)


def least_steps(statement: Statement, certificate: dict[str, Any]) -> int:
    """Return how many steps the check of a certificate takes at least: rows and nodes."""
    steps = 0
    for literals, _, most in certificate["rows"]:
        pairs = most == 1 < len(literals) - 1
        steps += len(literals) * (1 + len(literals) if pairs else 2) // 2
    nodes = len(certificate["tree"]) * STEPS_OF_A_NODE * (1 + len(statement.counts))
    return steps * statement.n_trees + nodes


def _proof_stats(certificate: dict[str, Any]) -> dict[str, Any]:
    """Count what a certificate holds."""
    tree, rows = certificate["tree"], certificate["rows"]
    numbers = [x for node in tree for x in node[1:]]
    numbers += [q for row in rows for q in row[1]]
    splits = sum(node[0] == "split" for node in tree)
    return {
        "rows": len(rows),
        "leaves": splits + 1 if tree else 0,
        "bits": max((abs(x).bit_length() for x in numbers), default=0),
    }
