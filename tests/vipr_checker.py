"""A checker of VIPR 1.0, written from the description of the format; it knows nothing of c2rf."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import ceil, floor
from typing import NamedTuple

Coefs = dict[int, Fraction]


class Row(NamedTuple):
    """A constraint, and the assumptions that it rests on."""

    coefs: Coefs
    sense: str
    rhs: Fraction
    assumed: frozenset[int] = frozenset()


class RefusedError(Exception):
    """The file proves nothing."""


def check(text: str) -> str:
    """Return the goal that is proven: "infeas", or "range low high"."""
    return _File(text).check()


def need(condition: bool, what: str) -> None:
    if not condition:
        raise RefusedError(what)


def dominates(row: Row, goal: Row) -> bool:
    """Say whether a constraint implies another one."""
    if not row.coefs:  # 0 >= something positive, 0 <= something negative, 0 = something
        absurd = {"G": row.rhs > 0, "L": row.rhs < 0, "E": row.rhs != 0}
        if absurd[row.sense]:
            return True
    if row.coefs != goal.coefs:
        return False
    if goal.sense == "G":
        return row.sense in "GE" and row.rhs >= goal.rhs
    if goal.sense == "L":
        return row.sense in "LE" and row.rhs <= goal.rhs
    return row.sense == "E" and row.rhs == goal.rhs


class _File:
    def __init__(self, text: str) -> None:
        self.words: Iterator[str] = iter(text.split())
        self.rows: list[Row] = []
        self.integer: set[int] = set()

    def word(self) -> str:
        word = next(self.words, None)
        need(word is not None, "the file ends too early")
        return str(word)

    def expect(self, wanted: str) -> None:
        need(self.word() == wanted, f"{wanted} is missing")

    def number(self) -> int:
        return int(self.word())

    def pairs(self) -> Coefs:
        found: Coefs = {}
        for _ in range(self.number()):
            index, value = self.number(), Fraction(self.word())
            need(index not in found and value != 0, "an entry twice, or a zero")
            found[index] = value
        return found

    def constraint(self) -> Row:
        self.word()  # its name
        sense, rhs = self.word(), Fraction(self.word())
        need(sense in ("G", "L", "E"), "no such sense")
        coefs = self.pairs()
        need(all(0 <= k < self.n_variables for k in coefs), "no such variable")
        return Row(coefs, sense, rhs)

    def check(self) -> str:
        self.expect("VER")
        self.expect("1.0")
        self.expect("VAR")
        self.n_variables = self.number()
        for _ in range(self.n_variables):
            self.word()
        self.expect("INT")
        self.integer = {self.number() for _ in range(self.number())}
        self.expect("OBJ")
        self.expect("min")
        objective = self.pairs()
        self.expect("CON")
        n_rows, _ = self.number(), self.number()
        self.rows = [self.constraint() for _ in range(n_rows)]
        self.expect("RTP")
        kind = self.word()
        low, high = (None, None) if kind == "infeas" else (self.word(), self.word())
        self.expect("SOL")
        values = [self.solution(objective) for _ in range(self.number())]
        if high not in (None, "inf"):
            need(bool(values) and min(values) <= Fraction(str(high)), "no solution is as good")
        self.expect("DER")
        for _ in range(self.number()):
            self.derive()
        need(next(self.words, None) is None, "something follows the proof")
        last = self.rows[-1]
        need(not last.assumed, "the last line rests on assumptions")
        if kind == "infeas":
            need(dominates(last, Row({}, "G", Fraction(1))), "no contradiction is derived")
            return "infeas"
        if low != "-inf":
            need(
                dominates(last, Row(objective, "G", Fraction(str(low)))), "the bound is not derived"
            )
        return f"range {low} {high}"

    def solution(self, objective: Coefs) -> Fraction:
        self.word()  # its name
        x = self.pairs()
        need(all(x.get(k, Fraction(0)).denominator == 1 for k in self.integer), "not integer")
        for row in self.rows:
            value = sum(c * x.get(k, 0) for k, c in row.coefs.items())
            holds = {"G": value >= row.rhs, "L": value <= row.rhs, "E": value == row.rhs}
            need(holds[row.sense], "a solution violates a constraint")
        return Fraction(sum(c * x.get(k, 0) for k, c in objective.items()))

    def derive(self) -> None:
        goal, here = self.constraint(), len(self.rows)
        self.expect("{")
        rule = self.word()
        if rule == "asm":
            found = goal._replace(assumed=frozenset([here]))
        elif rule in ("lin", "rnd"):
            found = self.combined(goal, rule)
        else:
            need(rule == "uns", "no such rule")
            found = self.joined(goal, *(self.line(self.number()) for _ in range(4)))
        need(rule == "asm" or dominates(found, goal), f"line {here} does not follow")
        self.expect("}")
        self.number()
        self.rows.append(goal._replace(assumed=found.assumed))

    def line(self, number: int) -> int:
        need(0 <= number < len(self.rows), "a line that is not there yet")
        return number

    def combined(self, goal: Row, rule: str) -> Row:
        coefs: Coefs = {}
        rhs, assumed = Fraction(0), frozenset[int]()
        for number, y in self.pairs().items():
            row = self.rows[self.line(number)]
            turned = {"G": 1, "L": -1, "E": 0}[row.sense] * {"G": 1, "L": -1, "E": 0}[goal.sense]
            need(row.sense == "E" or (goal.sense != "E" and y * turned > 0), "a wrong sign")
            rhs, assumed = rhs + y * row.rhs, assumed | row.assumed
            for k, c in row.coefs.items():
                coefs[k] = coefs.get(k, Fraction(0)) + y * c
        coefs = {k: c for k, c in coefs.items() if c}
        if rule == "rnd":
            whole = all(k in self.integer and c.denominator == 1 for k, c in coefs.items())
            need(whole and goal.sense in "GL", "rounding needs integers")
            rhs = Fraction(ceil(rhs) if goal.sense == "G" else floor(rhs))
        return Row(coefs, goal.sense, rhs, assumed)

    def joined(self, goal: Row, one: int, case: int, other: int, other_case: int) -> Row:
        a, b = self.rows[case], self.rows[other_case]
        need(a.coefs == b.coefs and {a.sense, b.sense} == {"G", "L"}, "these are not two cases")
        whole = all(k in self.integer and c.denominator == 1 for k, c in a.coefs.items())
        low, high = (a, b) if a.sense == "L" else (b, a)
        ends = low.rhs.denominator == high.rhs.denominator == 1 and low.rhs + 1 == high.rhs
        need(whole and ends, "these cases leave a gap")
        rows = self.rows[one], self.rows[other]
        need(all(dominates(row, goal) for row in rows), "a case does not imply the line")
        need(case in self.rows[case].assumed and other_case in b.assumed, "no assumptions")
        return goal._replace(assumed=(rows[0].assumed - {case}) | (rows[1].assumed - {other_case}))
