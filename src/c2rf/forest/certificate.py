"""The checker of certificates: proofs that no weights come closer to the total than a bound.

Whole numbers only, no solver, nothing else of c2rf. The page "How we prove it" explains it line by
line. Distinct rows of votes are called patterns: whole numbers whose bit j is 1 where tree j votes
+1, sorted, and numbered from 1. The literal ``i`` says "pattern i is positive" (z_i = 1), ``-i``
"pattern i is negative" (z_i = 0). A bound B is proven by contradiction: suppose that weights miss
the total by B - 1 at most. Their count of positives, the sum of w_i z_i, then lies in the interval
from total - (B - 1) to total + (B - 1). Branch and bound over z shows that this is impossible.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import gcd, lcm
from operator import mul
from typing import Any

FORMAT, VERSION = "c2rf-certificate", 1
TOLERANCE = Fraction(1, 10**9)  # of weights outside of the box, of margins below one
MOST_SUMS = 1 << 20  # that the rule "sums" may look at
MOST_STEPS = 10**8  # of a check: operations on small numbers, about; a minute at most
_STEPS_OF_A_SUM = STEPS_OF_A_NODE = 16


class CertificateError(ValueError):
    """The certificate proves nothing, or it is about another problem."""


@dataclass(frozen=True)
class Statement:
    """The problem that a certificate is about, in whole numbers and fractions.

    Patterns must be different and in order, without bits beyond the trees; counts are at least 1.
    """

    n_trees: int
    patterns: Sequence[int]
    counts: Sequence[int]
    total: int
    lower: Fraction
    upper: Fraction
    offset: tuple[Fraction, Fraction] | None = None

    def __post_init__(self) -> None:
        patterns, counts = list(self.patterns), list(self.counts)
        vars(self).update(patterns=patterns, counts=counts)  # its own lists
        whole = _ints([self.n_trees, self.total, *patterns, *counts])
        least, most = whole[2] if patterns else 0, patterns[-1] if patterns else 0
        _require(least >= 0 and most >> self.n_trees == 0, "a pattern has bits beyond the trees")
        _require(all(a < b for a, b in pairwise(patterns)), "patterns are not sorted and distinct")
        _require(len(counts) == len(patterns), "there is not one count for each pattern")
        _require(min(counts, default=1) >= 1, "a count is below one")
        _require(0 < self.lower <= self.upper, "the box is not 0 < lower <= upper")
        low, high = self.offset or (0, 0)
        _require(low <= high, "the range of the offset has its ends in the wrong order")

    def digest(self) -> str:
        """Return the SHA-256 of the problem, written out as text."""
        shift = "none" if self.offset is None else f"{self.offset[0]} {self.offset[1]}"
        head = f"c2rf-problem 1\ntrees {self.n_trees}\nlower {self.lower}\nupper {self.upper}\n"
        digest = hashlib.sha256(f"{head}offset {shift}\ntotal {self.total}\n".encode())
        for pattern, count in zip(self.patterns, self.counts, strict=True):
            digest.update(f"{pattern:x} {count}\n".encode())
        return digest.hexdigest()


class Budget:
    """The steps that a check may take, and the seconds."""

    def __init__(self, seconds: Any = None, steps: int = MOST_STEPS) -> None:
        self.left = steps
        self.end = None if seconds is None else time.monotonic() + seconds

    def spend(self, steps: int, *numbers: int) -> None:
        """Count steps, each as often as the greatest of the numbers has words of 64 bits."""
        self.left -= steps * (1 + max(map(int.bit_length, numbers), default=0) // 64)
        _require(self.left >= 0, f"its check takes more than {MOST_STEPS:,} steps")
        late = self.end is not None and time.monotonic() >= self.end
        _require(not late, "its check takes longer than the time limit")


def check_certificate(statement: Statement, certificate: Any, seconds: Any = None) -> int | None:
    """Return the bound that is proven, None for "no weights at all"; raise if it is not proven."""
    keys = ["bound", "format", "rows", "sha256", "tree", "version"]
    named = type(certificate) is dict and set(certificate) == set(keys)
    _require(named, f"it must be an object with the keys {keys}")
    bound, name, rows, digest, tree, version = (certificate[key] for key in keys)
    _require(type(name) is str and name == FORMAT, f"its format is not {FORMAT!r}")
    _require(_ints([version]) == [VERSION], f"its version is not {VERSION}")
    right = type(digest) is str and digest == statement.digest()
    _require(right, "it is about another problem")
    _require(bound is None or _ints([bound])[0] >= 0, "its bound is below zero")
    _require(type(rows) is type(tree) is list, "rows and tree must be lists")
    _require(bound != 0 or not (rows or tree), "a bound of 0 has no rows and no tree")
    box = Box(statement, Budget(seconds))
    proven = [box.proven_row(row, number) for number, row in enumerate(rows)]
    if bound != 0:
        _Tree(box, proven, tree).close(_Subproblem(box.decided(), box.interval(bound)))
    return None if bound is None else int(bound)


class Box:
    """The box of the weights in whole numbers, and what scores it allows."""

    def __init__(self, statement: Statement, budget: Budget) -> None:
        self.statement, self.budget = statement, budget
        low, high = statement.lower - TOLERANCE, statement.upper + TOLERANCE
        sides = [(low, high)] * statement.n_trees
        if statement.offset is not None:  # the offset is a tree that always votes +1
            sides.append((statement.offset[0] - TOLERANCE, statement.offset[1] + TOLERANCE))
        unit = lcm(*(side.denominator for pair in sides for side in pair), TOLERANCE.denominator)
        self.sides = [(int(low * unit), int(high * unit)) for low, high in sides]
        self.one = int((1 - TOLERANCE) * unit)

    def votes(self, literal: int) -> list[int]:
        """Return the votes of a pattern, turned round for a negative literal."""
        sign, bits = (1, -1)[literal < 0], self.statement.patterns[abs(literal) - 1]
        votes = [sign if bits >> j & 1 else -sign for j in range(self.statement.n_trees)]
        return votes + [sign] * (len(self.sides) - len(votes))

    def excludes(self, literals: Sequence[int], multipliers: Sequence[int], most: int) -> bool:
        """Say whether the multipliers show that at most ``most`` of the literals are true.

        True literals of weight W = sum of q_i have scores of at least W in all. Column j adds
        alpha_j (2 d_j - W) to them, d_j being the weight of those that have +1 there.
        """
        self.budget.spend(len(literals) * len(self.sides), *multipliers)
        votes, total, reach = list(map(self.votes, literals)), sum(multipliers), 0
        if most == 1 < len(literals) - 1:
            return self.is_clique(votes)
        # All literals at once, with any multipliers; or any ``most + 1`` of them, each once.
        weight = total if most == len(literals) - 1 else most + 1
        for (low, high), column in zip(self.sides, zip(*votes, strict=True), strict=True):
            load = sum(map(mul, multipliers, column))
            least = max(-weight, load - total + weight)
            greatest = min(weight, load + total - weight)
            reach += max(least * low, least * high, greatest * low, greatest * high)
        return reach < weight * self.one

    def is_clique(self, literals: list[list[int]]) -> bool:
        """Say whether no two literals are true together, given the votes of each."""
        for k, a in enumerate(literals):
            self.budget.spend((len(literals) - k) * len(self.sides))
            # The weights that are best for a are best for a + b: where they differ, none matters.
            best = [side[vote > 0] for side, vote in zip(self.sides, a, strict=True)]
            needed = 2 * self.one - sum(map(mul, best, a))
            if any(sum(map(mul, best, b)) >= needed for b in literals[k + 1 :]):
                return False
        return True

    def decided(self) -> list[int | None]:
        """Return for each pattern the z that the box decides, None where it does not."""
        self.budget.spend(len(self.statement.patterns))
        n, z, (low, high) = self.statement.n_trees, list[int | None](), self.sides[0]
        shift = (self.sides[n:] or [(0, 0)])[0]
        for bits in self.statement.patterns:
            plus = bits.bit_count()
            most = high * plus - low * (n - plus) + shift[1]
            least = low * plus - high * (n - plus) + shift[0]
            z.append(0 if most < self.one else 1 if least > -self.one else None)
        return z

    def interval(self, bound: int | None) -> tuple[int, int] | None:
        """Return the interval of the count if the bound is wrong; None without a bound."""
        total = self.statement.total
        return None if bound is None else (total - (bound - 1), total + (bound - 1))

    def proven_row(self, row: Any, number: int) -> tuple[list[int], int]:
        """Return the literals of a row and how many of them are true at most."""
        _require(type(row) is list and len(row) == 3, f"row {number} is not a list of three")
        literals, multipliers, (most,) = _ints(row[0]), _ints(row[1]), _ints(row[2:])
        size, numbers = len(literals), range(1, len(self.statement.patterns) + 1)
        self.budget.spend(size)
        there = all(abs(literal) in numbers for literal in literals)
        _require(there, f"row {number} names a pattern that is not there")
        _require(len(multipliers) == size > most >= 0, f"row {number} has the wrong length")
        allowed = min(multipliers) >= 0 and (most == size - 1 or set(multipliers) == {1})
        _require(allowed, f"row {number} has multipliers that are not allowed")
        _require(self.excludes(literals, multipliers, most), f"row {number} is not proven")
        return literals, most


@dataclass
class _Subproblem:
    """What is supposed: z of some patterns (None: open), and the interval of the count."""

    z: list[int | None]
    interval: tuple[int, int] | None

    def between(self) -> tuple[int, int]:
        _require(self.interval is not None, "without a bound, the count has no interval to use")
        return self.interval or (0, 0)


class _Tree:
    """A branch-and-bound tree whose nodes are written one after the other, depth first."""

    def __init__(self, box: Box, rows: list[Any], tree: list[Any]) -> None:
        self.counts, self.budget, self.rows, self.tree = (
            box.statement.counts,
            box.budget,
            rows,
            tree,
        )
        self.rules = {"add": self._add, "steps": self._steps, "sums": self._sums}

    def close(self, root: _Subproblem) -> None:
        """Make sure that every subproblem of the tree ends in a contradiction."""
        waiting = [root]
        for number, node in enumerate(self.tree):
            _require(len(waiting) > 0, f"node {number} belongs to no subproblem")
            _require(type(node) is list and len(node) > 0, f"node {number} is not a list")
            sub, rule, numbers = waiting.pop(), node[0], _ints(node[1:])
            _require(type(rule) is str, f"node {number} has no rule")
            self.budget.spend(STEPS_OF_A_NODE * (1 + len(self.counts)), *numbers)
            if rule == "split":
                there = len(numbers) == 1 and 1 <= numbers[0] <= len(sub.z)
                _require(there, f"node {number} splits by no pattern")
                self.budget.spend(len(sub.z) * len(waiting))
                for value in (1, 0):  # z = 0 comes first in the tree
                    waiting.append(_Subproblem(list(sub.z), sub.interval))
                    waiting[-1].z[numbers[0] - 1] = value
                continue
            _require(rule in self.rules, f"node {number} has no rule")
            if not self.rules[rule](sub, numbers):
                waiting.append(sub)
        _require(not waiting, f"{len(waiting)} subproblems are left open")

    def _add(self, sub: _Subproblem, numbers: list[int]) -> bool:
        """Add up inequalities that all hold; True if their sum cannot hold.

        m (count - end of its interval) <= 0  and, for each row,  y (true literals - most) <= 0.
        """
        _require(len(numbers) % 2 == 1, "add needs m, then rows, each with its multiplier")
        m = numbers[0]
        constant = -m * sub.between()[m > 0] if m else 0
        slope = [m * count for count in self.counts]
        for row, y in zip(numbers[1::2], numbers[2::2], strict=True):
            _require(0 <= row < len(self.rows) and y >= 0, "add uses a row that is not there")
            literals, most = self.rows[row]
            self.budget.spend(STEPS_OF_A_NODE + len(literals), y)
            constant += y * (sum(literal < 0 for literal in literals) - most)
            for literal in literals:
                slope[abs(literal) - 1] += y if literal > 0 else -y
        # The least that the sum can be, each open z at its better end
        sides = zip(slope, sub.z, strict=True)
        least = constant + sum(min(0, c) if z is None else c * z for c, z in sides)
        if least > 0:
            return True
        # A z at its worse end would make the sum positive: it is not there.
        for i, c in enumerate(slope):
            if sub.z[i] is None and least + abs(c) > 0:
                sub.z[i] = 0 if c > 0 else 1
        return False

    def _open(self, sub: _Subproblem) -> tuple[int, list[int]]:
        """Return the count that is sure to be positive, and the counts that are open."""
        both = list(zip(self.counts, sub.z, strict=True))
        return sum(w for w, z in both if z == 1), [w for w, z in both if z is None]

    def _steps(self, sub: _Subproblem, numbers: list[int]) -> bool:
        """Narrow the interval: the count moves in steps of a common divisor of the open counts."""
        _require(not numbers, "steps takes no numbers")
        (low, high), (sure, open_) = sub.between(), self._open(sub)
        if not open_:
            return not low <= sure <= high
        step = gcd(*open_)
        sub.interval = low + (sure - low) % step, high - (high - sure) % step
        return sub.interval[0] > sub.interval[1]

    def _sums(self, sub: _Subproblem, numbers: list[int]) -> bool:
        """Narrow the interval to what the sums of the k largest open counts allow."""
        _require(len(numbers) == 1 and numbers[0] >= 0, "sums needs a number k")
        (low, high), (sure, open_) = sub.between(), self._open(sub)
        sums, rest = {sure}, sum(open_)
        for count in sorted(open_, reverse=True)[: numbers[0]]:
            rest -= count
            both = sums | {value + count for value in sums}
            sums = {value for value in both if value <= high and value + rest >= low}
            _require(len(sums) <= MOST_SUMS, "there are too many sums to look at")
            self.budget.spend(_STEPS_OF_A_SUM * len(both))
        if not sums:
            return True
        sub.interval = max(low, min(sums)), min(high, max(sums) + rest)
        return sub.interval[0] > sub.interval[1]


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise CertificateError(f"the certificate is not accepted: {what}")


def _ints(values: Any) -> list[int]:
    _require(type(values) is list and {*map(type, values)} <= {int}, "not whole numbers only")
    return list(values)
