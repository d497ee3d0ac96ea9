"""A second checker of certificates, written from the description of the format alone."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from fractions import Fraction

SLACK = Fraction(1, 10**9)  # called e in the description
MARGIN = 1 - SLACK  # a score is at least this, or at most minus this
MOST_SUMS = 2**20
KEYS = {"format", "version", "sha256", "bound", "rows", "tree"}


class RefusedError(Exception):
    """The certificate is not a proof."""


@dataclass
class Problem:
    """What the certificate is about. The shift, if there is one, is the last column."""

    patterns: list[int]
    counts: list[int]
    n_trees: int
    total: int
    lower: Fraction
    upper: Fraction
    offset: tuple[Fraction, Fraction] | None

    def boxes(self) -> list[tuple[Fraction, Fraction]]:
        """Give the widened boxes: one for every column."""
        boxes = [(self.lower, self.upper)] * self.n_trees
        if self.offset is not None:
            boxes.append(self.offset)
        return [(lo - SLACK, hi + SLACK) for lo, hi in boxes]

    def votes(self, number: int) -> list[int]:
        """Give the votes on a pattern, which is numbered from 1: one for every column."""
        pattern = self.patterns[number - 1]
        votes = [1 if pattern >> j & 1 else -1 for j in range(self.n_trees)]
        return votes if self.offset is None else [*votes, 1]


@dataclass
class Row:
    """Of these literals at most so many are true."""

    literals: list[int]
    multipliers: list[int]
    most: int


@dataclass
class Case:
    """A sign (0, 1, or None if open) for every pattern, and two ends for T, or none."""

    signs: list[int | None]
    low: int | None
    high: int | None

    def sure(self, counts: list[int]) -> int:
        """Count the rows of votes that are known to be positive."""
        return sum(w for w, z in zip(counts, self.signs, strict=True) if z == 1)

    def open_counts(self, counts: list[int]) -> list[int]:
        """Give the counts of all patterns whose sign is open."""
        return [w for w, z in zip(counts, self.signs, strict=True) if z is None]


def require(condition: bool, reason: str) -> None:
    """Refuse the certificate unless the condition holds."""
    if not condition:
        raise RefusedError(reason)


def is_whole(value: object) -> bool:
    """Tell whether this is a whole number; true and false, and 1.0, are not."""
    return type(value) is int


def is_whole_list(value: object) -> bool:
    """Tell whether this is a list of whole numbers."""
    return type(value) is list and all(is_whole(x) for x in value)


# The problem


def check_problem(problem: Problem) -> None:
    """Refuse a problem that is not one."""
    patterns, counts, offset = problem.patterns, problem.counts, problem.offset
    require(problem.n_trees >= 1, "there are no trees")
    require(0 < problem.lower <= problem.upper, "the box is not a box")
    require(offset is None or offset[0] <= offset[1], "the offset is not a box")
    require(len(patterns) == len(counts), "patterns and counts differ in number")
    require(all(0 <= p < 2**problem.n_trees for p in patterns), "a pattern has too many trees")
    require(patterns == sorted(set(patterns)), "patterns are not distinct and sorted")
    require(all(w >= 1 for w in counts), "a count is not positive")


def fingerprint(problem: Problem) -> str:
    """Compute the SHA-256 of the problem, written as text."""
    offset = "none" if problem.offset is None else f"{problem.offset[0]} {problem.offset[1]}"
    text = f"c2rf-problem 1\ntrees {problem.n_trees}\n"
    text += f"lower {problem.lower}\nupper {problem.upper}\noffset {offset}\n"
    text += f"total {problem.total}\n"
    for pattern, count in zip(problem.patterns, problem.counts, strict=True):
        text += f"{pattern:x} {count}\n"
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


# Rows


def read_row(value: object, n_patterns: int) -> Row:
    """Read a row, and refuse it if it does not have the form of one."""
    require(type(value) is list and len(value) == 3, "a row is not a list of three")
    literals, multipliers, most = value
    require(is_whole_list(literals), "literals are not whole numbers")
    require(is_whole_list(multipliers), "multipliers are not whole numbers")
    require(is_whole(most), "the most of a row is not a whole number")
    k = len(literals)
    require(len(multipliers) == k >= 1, "a row is empty, or its lists differ in length")
    require(all(1 <= abs(i) <= n_patterns for i in literals), "a literal without a pattern")
    require(0 <= most < k, "the most of a row is out of range")
    require(all(q >= 0 for q in multipliers), "a multiplier is negative")
    require(most == k - 1 or all(q == 1 for q in multipliers), "a multiplier is not 1")
    return Row(literals, multipliers, most)


def check_row(problem: Problem, row: Row) -> None:
    """Refuse a row that its multipliers do not prove."""
    boxes = problem.boxes()
    if row.most == 1 and len(row.literals) > 2:
        check_clique(problem, row.literals)
        return
    loads = [0] * len(boxes)
    for literal, q in zip(row.literals, row.multipliers, strict=True):
        side = 1 if literal > 0 else -1
        for j, vote in enumerate(problem.votes(abs(literal))):
            loads[j] += q * side * vote
    everything = sum(row.multipliers)  # Q
    needed = everything if row.most == len(row.literals) - 1 else row.most + 1  # W
    greatest = Fraction(0)
    for load, box in zip(loads, boxes, strict=True):
        least_x = max(-needed, load - everything + needed)
        most_x = min(needed, load + everything - needed)
        greatest += max(x * alpha for x in (least_x, most_x) for alpha in box)
    require(greatest < needed * MARGIN, "a row is not proven by its multipliers")


def check_clique(problem: Problem, literals: list[int]) -> None:
    """Refuse literals two of which the box allows to be true together."""
    signed = [[v if i > 0 else -v for v in problem.votes(abs(i))] for i in literals]
    for second in range(len(signed)):
        for first in range(second):
            greatest = Fraction(0)
            for a, b, box in zip(signed[first], signed[second], problem.boxes(), strict=True):
                greatest += max((a + b) * alpha for alpha in box)
            require(greatest < 2 * MARGIN, "two literals of a clique can be true together")


# The tree


def first_case(problem: Problem, bound: int | None) -> Case:
    """Make the case that the tree begins with: the signs that the box decides, and the ends."""
    signs: list[int | None] = []
    boxes = problem.boxes()
    for number in range(1, len(problem.patterns) + 1):
        votes = problem.votes(number)
        ends = [(v * lo, v * hi) for v, (lo, hi) in zip(votes, boxes, strict=True)]
        if sum(max(pair) for pair in ends) < MARGIN:
            signs.append(0)
        elif sum(min(pair) for pair in ends) > -MARGIN:
            signs.append(1)
        else:
            signs.append(None)
    if bound is None:
        return Case(signs, None, None)
    return Case(signs, problem.total - (bound - 1), problem.total + (bound - 1))


def split(problem: Problem, case: Case, node: list) -> list[Case]:
    """Make two cases of one; the one with a negative sign comes last, on top of the stack."""
    require(len(node) == 2 and is_whole(node[1]), "split needs one whole number")
    require(1 <= node[1] <= len(problem.patterns), "split names a pattern that is not there")
    cases = []
    for sign in (1, 0):
        signs = list(case.signs)
        signs[node[1] - 1] = sign
        cases.append(Case(signs, case.low, case.high))
    return cases


def add(problem: Problem, rows: list[Row], case: Case, node: list) -> list[Case]:
    """Add up inequalities: close the case, or decide signs in it."""
    require(len(node) >= 2 and len(node) % 2 == 0, "add needs a number, then pairs")
    require(is_whole_list(node[1:]), "add needs whole numbers")
    m = node[1]
    require(m == 0 or case.low is not None, "add names an end, and there are none")
    constant = 0  # called a in the description
    if m != 0:
        constant = -m * (case.high if m > 0 else case.low)
    coefficients = [m * w for w in problem.counts]
    for r, y in zip(node[2::2], node[3::2], strict=True):
        require(0 <= r < len(rows), "add names a row that is not there")
        require(y >= 0, "add has a negative multiplier")
        constant -= y * rows[r].most
        for literal in rows[r].literals:
            if literal > 0:
                coefficients[literal - 1] += y
            else:
                coefficients[-literal - 1] -= y
                constant += y
    least = constant
    for c, z in zip(coefficients, case.signs, strict=True):
        least += min(0, c) if z is None else c * z
    if least > 0:
        return []
    signs = list(case.signs)
    for i, c in enumerate(coefficients):
        if signs[i] is None and least + abs(c) > 0:
            signs[i] = 0 if c > 0 else 1
    return [Case(signs, case.low, case.high)]


def steps(problem: Problem, case: Case, node: list) -> list[Case]:
    """Move the ends to numbers that T can have, which are a common step apart."""
    require(len(node) == 1, "steps needs nothing")
    require(case.low is not None, "steps needs ends, and there are none")
    sure = case.sure(problem.counts)
    unknown = case.open_counts(problem.counts)
    if not unknown:
        return [case] if case.low <= sure <= case.high else []
    step = math.gcd(*unknown)
    low = case.low + (sure - case.low) % step
    high = case.high - (case.high - sure) % step
    return [Case(case.signs, low, high)] if low <= high else []


def sums(problem: Problem, case: Case, node: list) -> list[Case]:
    """Move the ends to where sums of the greatest open counts allow T to be."""
    require(len(node) == 2 and is_whole(node[1]), "sums needs one whole number")
    require(node[1] >= 0, "sums needs a number that is not negative")
    require(case.low is not None, "sums needs ends, and there are none")
    unknown = sorted(case.open_counts(problem.counts), reverse=True)
    first, others = unknown[: node[1]], unknown[node[1] :]
    rest = sum(others)
    to_come = rest + sum(first)  # all that can still be added
    found = {case.sure(problem.counts)}
    for w in first:
        to_come -= w
        found |= {s + w for s in found}
        found = {s for s in found if s <= case.high and s + to_come >= case.low}
        require(len(found) <= MOST_SUMS, "too many sums")
    found = {s for s in found if s <= case.high and s + rest >= case.low}
    if not found:
        return []
    low = max(case.low, min(found))
    high = min(case.high, max(found) + rest)
    return [Case(case.signs, low, high)] if low <= high else []


def check_tree(problem: Problem, rows: list[Row], bound: int | None, tree: list) -> None:
    """Refuse a tree that does not close every case."""
    stack = [first_case(problem, bound)]
    for node in tree:
        require(type(node) is list and len(node) >= 1, "a node is not a list with a name")
        require(len(stack) > 0, "a node without a case")
        case, name = stack.pop(), node[0]
        if name == "split":
            stack += split(problem, case, node)
        elif name == "add":
            stack += add(problem, rows, case, node)
        elif name == "steps":
            stack += steps(problem, case, node)
        elif name == "sums":
            stack += sums(problem, case, node)
        else:
            raise RefusedError("a node with an unknown name")
    require(len(stack) == 0, "a case is not closed")


def check_certificate(problem: Problem, certificate: object) -> None:
    """Refuse a certificate that does not prove its bound for this problem."""
    require(type(certificate) is dict and set(certificate) == KEYS, "not the six keys")
    require(certificate["format"] == "c2rf-certificate", "another format")
    version = certificate["version"]
    require(is_whole(version) and version == 1, "another version")
    require(certificate["sha256"] == fingerprint(problem), "the fingerprint is another one")
    bound, tree = certificate["bound"], certificate["tree"]
    require(bound is None or (is_whole(bound) and bound >= 0), "the bound is not a bound")
    require(type(certificate["rows"]) is list and type(tree) is list, "rows or tree: not a list")
    if bound == 0:
        require(not certificate["rows"] and not tree, "bound 0, but rows or tree are not empty")
        return
    rows = [read_row(value, len(problem.patterns)) for value in certificate["rows"]]
    for row in rows:
        check_row(problem, row)
    check_tree(problem, rows, bound, tree)


def accepts(
    votes_patterns: list[int],
    counts: list[int],
    n_trees: int,
    total: int,
    lower: Fraction,
    upper: Fraction,
    offset: tuple[Fraction, Fraction] | None,
    certificate: object,
) -> tuple[bool, str]:
    """Tell whether the certificate is a proof for this problem, and if it is not, why."""
    problem = Problem(votes_patterns, counts, n_trees, total, lower, upper, offset)
    try:
        check_problem(problem)
        check_certificate(problem, certificate)
    except RefusedError as error:
        return False, str(error)
    return True, ""
