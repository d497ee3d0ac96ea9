"""From the rules of a proof to a certificate that the checker has accepted.

Why there are no weights: the patterns that a proof of it names.

From a problem to a bound with a certificate that the checker has accepted.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from c2rf.exceptions import InfeasibleError, NoSolutionError
from c2rf.forest.bounds.branch_and_bound import Prover, blank_certificate
from c2rf.forest.bounds.conflict_graph import MAX_PATTERNS, Structure, find_structure
from c2rf.forest.bounds.cuts import Ground
from c2rf.forest.certificate import CertificateError, Statement, check_certificate
from c2rf.forest.incumbent import SolveState
from c2rf.forest.problem import Problem

if TYPE_CHECKING:
    from c2rf.forest.paper import Reduction


_MOST_SHOWN = 5


def hopeless_patterns(problem: Problem) -> NDArray[np.int64]:
    """Return the patterns to which the box seems to allow neither sign.

    Examples
    --------
    >>> from c2rf.forest.problem import make_problem
    >>> hopeless_patterns(make_problem([[1, -1], [1, 1]], 1, 1.0, 1.0))
    array([0])
    """
    tolerance = 1e-9
    return np.flatnonzero((problem.most() < 1 - tolerance) & (problem.least() > -1 + tolerance))


def raise_infeasible(statement: Statement, certificate: dict[str, Any]) -> NoReturn:
    """Raise the error that names the patterns of a proof that there are no weights."""
    guilty = sorted({abs(literal) for row in certificate["rows"] for literal in row[0]})
    shown = "; ".join(_as_signs(statement, number) for number in guilty[:_MOST_SHOWN])
    more = f" and {len(guilty) - _MOST_SHOWN} more" if len(guilty) > _MOST_SHOWN else ""
    what = (
        f"no weights in the box give the pattern {shown} a margin of 1"
        if len(guilty) == 1
        else f"no weights in the box give these patterns margins of 1 together: {shown}{more}"
    )
    raise InfeasibleError(
        f"{what}. Widen the box [lower, upper]: if it holds two consecutive integers, there "
        "always are weights",
        certificate,
    )


def _as_signs(statement: Statement, number: int) -> str:
    bits = statement.patterns[number - 1]
    return "".join("+" if bits >> j & 1 else "-" for j in range(statement.n_trees))


class Certifier:
    """Proves bounds for one problem of the user, and has every claim checked.

    Parameters
    ----------
    statement : Statement
        The user's problem in whole numbers.
    reduction : Reduction
        The smaller problem to work on.
    run : SolveState
        The solve in progress, for its seed and its stats.
    """

    def __init__(self, statement: Statement, reduction: Reduction, run: SolveState) -> None:
        self.statement, self.reduction, self.run = statement, reduction, run
        self._ground = Ground(statement, reduction.kept)
        self._prover: Prover | None = None

    def prover(self) -> Prover:
        """Return the prover, made when it is first asked for."""
        if self._prover is None:
            problem, pairs = self.reduction.problem, self._pairs()
            self._prover = Prover(problem, self._ground, pairs, seed=self.run.seed)
        return self._prover

    def _pairs(self) -> Structure:
        """Return the pairs, among fewer patterns if memory is short."""
        most = MAX_PATTERNS
        while True:
            try:
                structure = find_structure(self.reduction.problem, most)
                break
            except MemoryError:
                if most == 0:
                    raise
                most = most // 4 if most > 100 else 0
                self.run.warn(f"memory is short: pairs are looked for among {most} patterns only")
        self.run.stats["pairs"] = structure.n_pairs
        return structure

    def prove(self, eta: int | None, seconds: float | None) -> None:
        """Try to prove that nothing is closer than eta (None: no weights at all), for a time."""
        if self.run.interrupted:
            return
        end = np.inf if seconds is None else time.perf_counter() + seconds

        def left() -> float | None:
            return None if seconds is None else max(0.0, end - time.perf_counter())

        prover, small = self.prover(), self.reduction
        while not self.run.interrupted and left() != 0:
            step = prover.step(eta, left, lambda: left() == 0)
            if step.weights is not None:  # closer than eta, which cannot be proven then
                eta = small.problem.eta(step.weights) + small.eta_shift
            if step.done or step.stuck:
                break

    def certified(self, eta: int) -> Certified:
        """Return the greatest bound up to eta whose certificate the checker accepts."""
        started = time.perf_counter()
        prover = self._prover
        proofs = iter(()) if prover is None or eta == 0 else prover.certificates()
        for certificate in chain(proofs, self._simple()):
            try:
                bound = check_certificate(self.statement, certificate)
            except CertificateError as error:
                self.run.warn(f"a proof was not accepted and is not used: {error}")
                continue
            if bound is not None and bound <= eta:
                break
            self.run.warn(f"a proof of {bound} is not used: there are weights with {eta}")
        stats = _proof_stats(certificate, time.perf_counter() - started)
        if prover is not None:
            stats["cuts"] = len(prover.system.store)
            stats |= {"rounds": prover.rounds, "cases": prover.cases}
        return Certified(bound or 0, certificate, stats)

    def _simple(self) -> list[dict[str, Any]]:
        """Return certificates that need no search: the signs that the box decides, and nothing."""
        stated, blank = self.statement, blank_certificate(self.statement)
        decided = zip(stated.counts, self._ground.decided, strict=True)
        ends = [(count * (z == 1), count * (z != 0)) for count, z in decided]
        low, high = (sum(end) for end in zip(*ends, strict=True))
        proofs = [
            blank | {"bound": low - stated.total, "tree": [["add", 1]]},  # T >= low
            blank | {"bound": stated.total - high, "tree": [["add", -1]]},  # T <= high
        ]
        return [proof for proof in proofs if proof["bound"] > 0] + [blank]

    def refuse_hopeless(self) -> None:
        """Raise the error with the proof if some pattern can have neither sign."""
        for place in hopeless_patterns(self.reduction.problem).tolist():
            number = int(self.reduction.kept[place]) + 1
            proof = self._hopeless(number)
            if proof is not None:
                raise_infeasible(self.statement, proof)

    def _hopeless(self, number: int) -> dict[str, Any] | None:
        """Return the proof that a pattern can have neither sign, None if it is not accepted."""
        certificate = blank_certificate(self.statement) | {
            "bound": None,
            "rows": [[[number], [1], 0], [[-number], [1], 0]],
            "tree": [["add", 0, 0, 1, 1, 1]],
        }
        try:
            check_certificate(self.statement, certificate)
        except CertificateError:
            return None
        return certificate


@dataclass(frozen=True, eq=False)
class Certified:
    """A bound, the certificate that proves it, and what there is to say about the proof."""

    bound: int
    certificate: dict[str, Any]
    stats: dict[str, Any] = field(default_factory=dict)


def infeasible_if_proven(prover: Prover) -> None:
    """Raise the error with the proof if the prover has found that there are no weights."""
    if not prover.impossible:
        return
    statement = prover.system.ground.statement
    for certificate in prover.certificates():
        with suppress(CertificateError):
            if check_certificate(statement, certificate) is None:
                raise_infeasible(statement, certificate)
    raise NoSolutionError(
        "no weights with all margins were found, and there seem to be none, but the proof of "
        "that was not accepted; try a box that holds two consecutive integers"
    )


def _proof_stats(certificate: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Count what a certificate holds."""
    tree, rows = certificate["tree"], certificate["rows"]
    numbers = [x for node in tree for x in node[1:]]
    numbers += [q for row in rows for q in row[1]]
    splits = sum(node[0] == "split" for node in tree)
    return {
        "rows": len(rows),
        "leaves": splits + 1 if tree else 0,
        "bits": max((abs(x).bit_length() for x in numbers), default=0),
        "seconds": seconds,
    }
