"""Every rule of the certificate checker against all labels that there are, without any rounding.

More of it: ``PYTHONPATH=tests python tests/forest/test_rules.py 100 2000`` (seeds from, to).
"""

from __future__ import annotations

import copy
import sys
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import c2rf
from c2rf.forest import certificate as checker
from c2rf.forest.certificate import Box, Budget, CertificateError, Statement, check_certificate
from exact import labels
from second_checker import accepts

# Ends at which one sum of votes or another is just a margin, or just misses it
ENDS = [(1, 1), (1, 2), (1, 3), (1, Fraction(3, 2)), (Fraction(1, 2), 1), (2, 5), (1, 100)]
SHIFTS = [None, None, (0, 0), (-2, 1), (Fraction(-1, 2), Fraction(1, 2)), (1, 1)]


class Problem:
    """A small problem, and all labels that weights can give."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = np.random.default_rng([seed, 23])
        self.shift = SHIFTS[rng.integers(len(SHIFTS))]
        n_trees = int(rng.integers(2, 4 if self.shift else 5))
        n = int(rng.integers(1, min(6, 2**n_trees) + 1))
        patterns = sorted(rng.choice(2**n_trees, n, replace=False).tolist())
        unit = int(rng.choice([1, 1, 3, 10]))
        counts = [unit * int(w) for w in rng.integers(1, 9, n)]
        total = int(rng.integers(0, sum(counts) + 1))
        lower, upper = map(Fraction, ENDS[rng.integers(len(ENDS))])
        offset = None if self.shift is None else tuple(map(Fraction, self.shift))
        self.statement = Statement(n_trees, patterns, counts, total, lower, upper, offset)
        self.box = Box(self.statement, Budget())
        votes = [[1 if p >> j & 1 else -1 for j in range(n_trees)] for p in patterns]
        ends = [(lower, upper)] * n_trees
        if offset is not None:
            votes, ends = [[*row, 1] for row in votes], [*ends, offset]
        self.labels = labels(votes, ends)

    @property
    def optimum(self) -> int | None:
        return min((abs(self.count(z) - self.statement.total) for z in self.labels), default=None)

    def count(self, z: tuple[int, ...]) -> int:
        return sum(w for w, one in zip(self.statement.counts, z, strict=True) if one)

    def whole(self, low: int, high: int, n: int | None = None):
        drawn = self.rng.integers(low, high, n)
        return int(drawn) if n is None else drawn.tolist()

    # What rules get

    def row(self) -> list:
        n, k = len(self.statement.patterns), self.whole(1, 6)
        literals = [i * self.rng.choice([-1, 1]).item() for i in self.whole(1, n + 1, k)]
        most = self.whole(0, k)
        multipliers = self.whole(0, 4, k) if most == k - 1 and self.rng.random() < 0.7 else [1] * k
        return [literals, multipliers, most]

    def case(self) -> checker._Subproblem:
        n, total = len(self.statement.patterns), self.statement.total
        z = [[None, None, 0, 1][k] for k in self.whole(0, 4, n)]
        low, high = sorted(self.whole(total - 9, total + 10, 2))
        return checker._Subproblem(z, (low, high))

    def labels_in(self, case: checker._Subproblem) -> set[tuple[int, ...]]:
        low, high = case.interval
        return {
            z
            for z in self.labels
            if low <= self.count(z) <= high
            and all(known in (None, one) for known, one in zip(case.z, z, strict=True))
        }


def try_rules(problem: Problem, n: int, seen: Counter[str]) -> None:
    """Apply rules to random rows and cases; whatever is accepted must be true of all labels."""
    for i, z in enumerate(problem.box.decided()):
        assert all(z in (None, found[i]) for found in problem.labels)
        seen["decided"] += z is not None
    proven = []
    for _ in range(n):
        row = problem.row()
        try:
            literals, most = problem.box.proven_row(row, 0)
        except CertificateError:
            seen["row refused"] += 1
            continue
        for z in problem.labels:
            assert sum(z[abs(i) - 1] == (i > 0) for i in literals) <= most, row
        proven.append((literals, most))
        clique = most == 1 < len(literals) - 1
        seen["clique" if clique else "farkas" if most == len(literals) - 1 else "at most"] += 1
    tree = checker._Tree(problem.box, proven, [])
    for _ in range(n):
        case = problem.case()
        there, before = problem.labels_in(case), copy.deepcopy(case)
        rule = str(problem.rng.choice(["add", "steps", "sums"]))
        numbers = [[], [problem.whole(0, 5)]][rule == "sums"]
        if rule == "add":
            numbers = [problem.whole(-2, 3)]
            for _ in range(problem.whole(0, 4) if proven else 0):
                numbers += [problem.whole(0, len(proven)), problem.whole(0, 12)]
        closed = tree.rules[rule](case, numbers)
        assert there == (set() if closed else problem.labels_in(case)), (rule, numbers)
        seen[f"{rule} closed" if closed else rule] += closed or case != before


def try_certificate(problem: Problem, seen: Counter[str]) -> None:
    """Solve, and compare with the optimum; change the certificate, and what it proves is true."""
    stated, best = problem.statement, problem.optimum
    votes = [
        [1 if p >> j & 1 else -1 for j in range(stated.n_trees)]
        for p, w in zip(stated.patterns, stated.counts, strict=True)
        for _ in range(w)
    ]
    box = float(stated.lower), float(stated.upper)
    try:
        found = c2rf.solve(votes, stated.total, *box, offset=problem.shift, certificate=True)
    except c2rf.InfeasibleError as error:
        certificate = error.certificate
        assert best is None
        c2rf.verify(votes, stated.total, error, *box, offset=problem.shift)
    else:
        certificate = found.certificate
        assert found.bound == found.eta == best
    for _ in range(40):
        other = copy.deepcopy(certificate)
        for _ in range(problem.whole(1, 4)):
            change(problem, other)
        try:
            bound = check_certificate(stated, other)
        except CertificateError:
            accepted = False
        else:
            accepted = True
            if best is not None:
                assert bound is not None
                assert bound <= best
        ends = stated.lower, stated.upper, stated.offset
        asked = stated.patterns, stated.counts, stated.n_trees, stated.total, *ends
        assert accepts(*asked, other)[0] == accepted
        seen["certificate accepted" if accepted else "certificate refused"] += 1


def change(problem: Problem, certificate: dict) -> None:
    """Change a claim, a row or a node, or add one."""
    rows, tree, rng = certificate["rows"], certificate["tree"], problem.rng
    kind = problem.whole(0, 7)
    if kind == 0:
        bound = certificate["bound"]
        certificate["bound"] = None if rng.random() < 0.1 else (bound or 0) + problem.whole(0, 3)
    elif kind == 1:
        rows.append(problem.row())
    elif kind == 2 and rows:
        rows[problem.whole(0, len(rows))] = problem.row()
    elif kind == 3 and rows:
        literals, multipliers, _ = rows[problem.whole(0, len(rows))]
        place = problem.whole(0, len(literals))
        multipliers[place] = max(0, multipliers[place] + problem.whole(-1, 2))
    elif kind == 4:
        node = [["steps"], ["sums", 3], ["add", problem.whole(-1, 2)]][problem.whole(0, 3)]
        tree.insert(problem.whole(0, len(tree) + 1), node)
    elif kind == 5 and tree:
        node = tree[problem.whole(0, len(tree))]
        if len(node) > 1:
            node[problem.whole(1, len(node))] += problem.whole(-1, 2)
    elif tree:
        del tree[problem.whole(0, len(tree))]


@pytest.mark.parametrize("start", range(0, 60, 10))
def test_what_a_rule_accepts_is_true(start):
    seen: Counter[str] = Counter()
    for seed in range(start, start + 10):
        try_rules(Problem(seed), 60, seen)
    for kind in ("decided", "row refused", "clique", "farkas", "at most", "add", "add closed",
                 "steps", "steps closed", "sums", "sums closed"):  # fmt: skip
        assert seen[kind] >= 3, (kind, seen)


@pytest.mark.parametrize("start", range(0, 24, 6))
def test_what_a_changed_certificate_proves_is_true(start):
    seen: Counter[str] = Counter()
    for seed in range(start, start + 6):
        try_certificate(Problem(1000 + seed), seen)
    assert min(seen["certificate accepted"], seen["certificate refused"]) > 20


if __name__ == "__main__":
    everything: Counter[str] = Counter()
    for number in range(*map(int, sys.argv[1:])):
        drawn = Problem(number)
        try_rules(drawn, 300, everything)
        try_certificate(drawn, everything)
    print(dict(everything))
