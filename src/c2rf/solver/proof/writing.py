"""From the rules of a proof to a certificate.

A proof is found while better weights turn up, and each time its first supposition becomes
stronger: rules may then decide more than when they were found, and cases may close earlier. So the
proof is gone through once more, for the bound that is claimed, and what is not needed is left out.
"""

from __future__ import annotations

from typing import Any

from c2rf.core.certificate import FORMAT, VERSION, Statement
from c2rf.solver.proof.exact import END, Case, Rule, Sum
from c2rf.solver.proof.system import SignSystem


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
