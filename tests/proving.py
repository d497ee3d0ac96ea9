"""Provers for problems as users give them, and a look at proofs that were found."""

from __future__ import annotations

from c2rf.forest.bounds.branch_and_bound import Prover
from c2rf.forest.bounds.certify import Certifier, certificates
from c2rf.forest.certificate import Statement, check_certificate
from c2rf.forest.incumbent import SolveState
from c2rf.forest.paper import reduce
from c2rf.forest.problem import make_problem, make_statement
from c2rf.forest.votes import PatternTable


def statement_of(rows, target, lower=1.0, upper=100.0, offset=None) -> Statement:
    return make_statement(PatternTable.from_votes(rows), target, lower, upper, offset)


def certifier_of(rows, target, lower=1.0, upper=100.0, offset=None, seed=0) -> Certifier:
    reduction = reduce(make_problem(rows, target, lower, upper, offset))
    statement = statement_of(rows, target, lower, upper, offset)
    return Certifier(statement, reduction, SolveState(reduction.problem, seed=seed))


def prove(prover: Prover, cutoff: int | None = None, at_most: int | None = None) -> int | None:
    """Step to the end and return the bound, None without weights; every proof is checked."""
    before = 0
    statement = prover.pool.statement
    for _ in range(600):
        prover.step(cutoff)
        assert prover.bound >= before
        assert at_most is None or prover.bound <= at_most
        before = prover.bound
        if prover.weights is not None:
            # What the caller does with weights that are closer than what was known.
            shift = max(0, prover.propagation.certain - statement.total)
            found = prover.problem.eta(prover.weights) + shift
            cutoff = found if cutoff is None else min(cutoff, found)
        if prover.done:
            for certificate in certificates(prover):
                proven = check_certificate(statement, certificate)
                assert at_most is None or proven <= at_most
            return None if prover.infeasible else prover.bound
        assert not prover.stuck
    raise AssertionError("no end")
