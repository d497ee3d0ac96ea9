"""A certificate in VIPR 1.0, so that checkers written by others accept it.

VIPR (Cheung, Gleixner, Steffy: Verifying Integer Programming Results, 2017) has a model, solutions,
and derived constraints, each by one of four rules: ``asm`` assumes, ``lin`` adds up constraints,
``rnd`` adds up to integer coefficients on integer variables and rounds the right-hand side, ``uns``
joins the cases x <= b and x >= b + 1.

The model is that of :func:`c2rf.verify`: alpha in the box, margins of at least one, both within the
tolerance; z_i = 1 where pattern i is positive; T = sum of w_i z_i, and eta >= abs(T - total).

===============  ==================================================================================
certificate      VIPR
===============  ==================================================================================
decided sign     one ``rnd``
not all of k     one ``rnd``: big-M rows, box ends that cancel alpha, bounds of z that fill up
clique of k      its pairs, then k - 2 ``rnd``
at most m of k   refused: its proof is exponential, and c2rf finds no such rows
``add``          ``lin`` where it closes the case, one ``rnd`` for each z that it fixes
``steps``        one ``rnd`` per end, one ``lin`` back
``sums``         splits on the largest counts, up to :data:`MOST_SPLITS`
``split``        two ``asm``, one ``uns``
===============  ==================================================================================
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import ceil, floor, gcd
from typing import Any, NamedTuple

from c2rf.exceptions import InputError
from c2rf.forest.certificate import TOLERANCE, Statement

MOST_SPLITS = 50_000
"""Splits for all rules ``sums``, at most: what grows exponentially ends there."""

Sparse = dict[int, Fraction]
"""Coefficients or multipliers by index, none of them zero."""

MARGIN = 1 - TOLERANCE
NEVER: Sparse = {}  # the coefficients of the contradiction 0 <= -1


class _Row(NamedTuple):
    """A constraint: coefficients, "G" or "L", right-hand side."""

    coefs: Sparse
    sense: str
    rhs: Fraction


class _Node(NamedTuple):
    """An open case: which lines bound each z from below and above, and which bound T."""

    least: list[int]
    most: list[int]
    low: int | None
    high: int | None


def vipr_text(
    statement: Statement, certificate: Any, weights: Sequence[float] | None = None
) -> str:
    """Return model, solution and proof as the text of a VIPR file.

    Parameters
    ----------
    statement : Statement
        The problem in whole numbers.
    certificate : dict
        One that :func:`c2rf.forest.certificate.check_certificate` accepts for it.
    weights : sequence of float, optional
        Weights of the trees, and the offset if there is one: then the file proves their eta, too.

    Raises
    ------
    InputError
        If a rule of the certificate has no short proof in VIPR.
    """
    return _Writer(statement, certificate).text(weights)


class _Writer:
    """Numbers the constraints of the model and writes derived ones below them."""

    def __init__(self, statement: Statement, certificate: Any) -> None:
        self.statement, self.certificate = statement, certificate
        self.sides = [(statement.lower - TOLERANCE, statement.upper + TOLERANCE)]
        self.sides *= statement.n_trees
        if statement.offset is not None:
            low, high = statement.offset
            self.sides.append((low - TOLERANCE, high + TOLERANCE))
        self.n_weights, self.n_patterns = len(self.sides), len(statement.patterns)
        self.eta = self.n_weights + self.n_patterns
        self.big_m = Fraction(sum(max(abs(low), abs(high)) for low, high in self.sides) + 1)
        self.count = {self._z(i): Fraction(w) for i, w in enumerate(statement.counts)}  # T
        self.rows: list[_Row] = []
        self.lines: list[str] = []
        self._known: dict[tuple[int, ...], int] = {}
        self._model()

    # The model

    def _z(self, i: int) -> int:
        return self.n_weights + i

    def _votes(self, i: int) -> list[int]:
        bits, n = self.statement.patterns[i], self.statement.n_trees
        return [1 if bits >> j & 1 else -1 for j in range(n)] + [1] * (self.n_weights - n)

    def _model(self) -> None:
        one, zero = Fraction(1), Fraction(0)
        # l - e <= alpha_j <= u + e,   0 <= z_i <= 1
        self.rows += [_Row({j: one}, "G", low) for j, (low, _) in enumerate(self.sides)]
        self.rows += [_Row({j: one}, "L", high) for j, (_, high) in enumerate(self.sides)]
        self.first_z = len(self.rows)
        self.rows += [_Row({self._z(i): one}, "G", zero) for i in range(self.n_patterns)]
        self.rows += [_Row({self._z(i): one}, "L", one) for i in range(self.n_patterns)]
        self.n_bounds = self.first_big = len(self.rows)
        for i in range(self.n_patterns):
            coefs = {j: Fraction(vote) for j, vote in enumerate(self._votes(i))}
            coefs[self._z(i)] = -self.big_m
            # alpha'r_i - M z_i >= 1 - e - M   and   alpha'r_i - M z_i <= -(1 - e)
            self.rows += [_Row(coefs, "G", MARGIN - self.big_m), _Row(coefs, "L", -MARGIN)]
        # T - eta <= total,   T + eta >= total
        total = Fraction(self.statement.total)
        self.rows.append(_Row(self.count | {self.eta: -one}, "L", total))
        self.rows.append(_Row(self.count | {self.eta: one}, "G", total))

    def text(self, weights: Sequence[float] | None) -> str:
        """Return the whole file."""
        n_model, bound = len(self.rows), self.certificate["bound"]
        names = [f"a{j}" for j in range(self.n_weights)]
        names += [f"z{i}" for i in range(self.n_patterns)] + ["eta"]
        head = ["VER 1.0", f"VAR {len(names)}", " ".join(names), f"INT {self.n_patterns}"]
        head += [" ".join(str(self._z(i)) for i in range(self.n_patterns)), "OBJ min"]
        head += [_listed({self.eta: Fraction(1)}), f"CON {n_model} {self.n_bounds}"]
        head += [self._constraint(k) for k in range(n_model)]
        solution, eta = [], "inf"
        if weights is not None and bound is not None:
            values = self._solution(weights)
            solution, eta = [f"found {_listed(values)}"], str(values.get(self.eta, 0))
        head.append("RTP infeas" if bound is None else f"RTP range {bound} {eta}")
        head += [f"SOL {len(solution)}", *solution]
        self._prove(bound)
        return "\n".join([*head, f"DER {len(self.lines)}", *self.lines]) + "\n"

    def _solution(self, weights: Sequence[float]) -> Sparse:
        """Return the variables at these weights."""
        values = {j: Fraction(weight) for j, weight in enumerate(weights)}
        for i in range(self.n_patterns):
            votes = self._votes(i)
            if sum(vote * values[j] for j, vote in enumerate(votes)) > 0:
                values[self._z(i)] = Fraction(1)
        positives = sum(count * values.get(k, 0) for k, count in self.count.items())
        values[self.eta] = abs(Fraction(positives) - self.statement.total)
        return {k: value for k, value in values.items() if value}

    # Lines

    def _constraint(self, number: int) -> str:
        coefs, sense, rhs = self.rows[number]
        return f"C{number} {sense} {rhs} {_listed(coefs)}"

    def _write(self, row: _Row, reason: str) -> int:
        self.rows.append(row)
        number = len(self.rows) - 1
        self.lines.append(f"{self._constraint(number)} {{ {reason} }} -1")
        return number

    def _assume(self, row: _Row) -> int:
        return self._write(row, "asm")

    def _sum(self, sense: str, used: Iterable[tuple[int, Fraction]]) -> tuple[Sparse, _Row]:
        """Add up constraints, each times its multiplier, as "<=" (sense L) or as ">=" (G).

        A constraint of the other sense enters with its sign turned. Returned are the multipliers
        with these signs, and the sum.
        """
        signed: Sparse = {}
        for number, y in used:
            own = y if self.rows[number].sense == sense else -y
            signed[number] = signed.get(number, Fraction(0)) + own
        signed = {number: y for number, y in signed.items() if y}
        coefs: Sparse = {}
        for number, y in signed.items():
            for k, c in self.rows[number].coefs.items():
                coefs[k] = coefs.get(k, Fraction(0)) + y * c
        rhs = sum((y * self.rows[number].rhs for number, y in signed.items()), Fraction(0))
        return signed, _Row({k: c for k, c in coefs.items() if c}, sense, rhs)

    def _combine(
        self,
        sense: str,
        used: Iterable[tuple[int, Fraction]],
        rule: str = "lin",
        rhs: Fraction | int | None = None,
    ) -> int:
        """Write a linear combination of constraints; ``rhs`` may weaken its right-hand side."""
        signed, row = self._sum(sense, used)
        found = row.rhs
        if rule == "rnd":
            found = Fraction(floor(found) if sense == "L" else ceil(found))
        if rhs is None:
            rhs = found
        if found > rhs if sense == "L" else found < rhs:
            raise AssertionError("a derived line says more than its reason; please report it")
        return self._write(row._replace(rhs=Fraction(rhs)), f"{rule} {_listed(signed)}")

    def _absurd(self, used: Sequence[tuple[int, Fraction]]) -> int:
        """Write 0 <= -1 from constraints that add up to 0 <= something negative."""
        total = self._sum("L", used)[1].rhs
        return self._combine("L", [(number, y / -total) for number, y in used], rhs=-1)

    def _join(self, row: _Row, one: int, one_assumed: int, other: int, other_assumed: int) -> int:
        return self._write(row, f"uns {one} {one_assumed} {other} {other_assumed}")

    # Rows of the certificate

    def _not_all(self, literals: Sequence[int], multipliers: Sequence[int]) -> int:
        """Derive that not all literals are true.

        A true literal has s alpha'r >= 1 - e. These, times q, exceed what the box allows.
        """
        key = tuple(sorted(literals)) if set(multipliers) == {1} else ()
        if key in self._known:
            return self._known[key]
        greatest = max(multipliers)
        unit = Fraction(1) / (greatest * self.big_m)
        used: list[tuple[int, Fraction]] = []
        slope = [0] * self.n_weights
        for literal, q in zip(literals, multipliers, strict=True):
            i, sign = abs(literal) - 1, 1 if literal > 0 else -1
            used.append((self.first_big + 2 * i + (sign < 0), q * unit))
            for j, vote in enumerate(self._votes(i)):
                slope[j] += q * sign * vote
            # What is missing to a coefficient of one: z <= 1, or -z <= 0
            bound = self.first_z + i + (self.n_patterns if sign > 0 else 0)
            used.append((bound, 1 - Fraction(q, greatest)))
        used += [(j + (self.n_weights if c > 0 else 0), abs(c) * unit) for j, c in enumerate(slope)]
        number = self._combine("L", used, "rnd", _limit(literals, len(literals) - 1))
        if key:
            self._known[key] = number
        return number

    def _row(self, literals: list[int], multipliers: list[int], most: int) -> int:
        """Derive that at most so many literals are true."""
        size = len(literals)
        if most == size - 1:
            return self._not_all(literals, multipliers)
        if most == 1:
            return self._clique(literals)
        raise InputError(
            f"the certificate has a row of {size} literals of which at most {most} are true, and "
            "VIPR has no short proof of that: this proof cannot be written as VIPR"
        )

    def _clique(self, literals: list[int]) -> int:
        """Derive that at most one is true: ((m - 1) clique of m + m pairs) / m, rounded."""
        row = self._not_all(literals[:2], [1, 1])
        for m in range(2, len(literals)):
            pairs = [self._not_all((few, literals[m]), [1, 1]) for few in literals[:m]]
            used = [(row, Fraction(m - 1, m)), *((pair, Fraction(1, m)) for pair in pairs)]
            row = self._combine("L", used, "rnd", _limit(literals[: m + 1], 1))
        return row

    # The tree

    def _prove(self, bound: int | None) -> None:
        if bound == 0:  # (T + eta >= total) - (T - eta <= total)
            half = Fraction(1, 2)
            n_model = len(self.rows)
            self._combine("G", [(n_model - 1, half), (n_model - 2, half)])
            return
        over, under = (self.first_big + 2 * self.n_patterns + k for k in (0, 1))  # rows of eta
        least = [self.first_z + i for i in range(self.n_patterns)]
        most = [self.first_z + self.n_patterns + i for i in range(self.n_patterns)]
        self._decide(least, most)
        proven = [self._row(*row) for row in self.certificate["rows"]]
        if bound is None:
            self._close(_Node(least, most, None, None), proven)
            return
        # eta >= B follows from T <= total - B, and from T >= total + B.
        total, one = self.statement.total, Fraction(1)
        claim = _Row({self.eta: one}, "G", Fraction(bound))
        few = self._assume(_Row(self.count, "L", Fraction(total - bound)))
        by_few = self._combine("G", [(under, one), (few, one)])
        low = self._assume(_Row(self.count, "G", Fraction(total - bound + 1)))
        many = self._assume(_Row(self.count, "G", Fraction(total + bound)))
        by_many = self._combine("G", [(over, one), (many, one)])
        high = self._assume(_Row(self.count, "L", Fraction(total + bound - 1)))
        between = self._close(_Node(least, most, low, high), proven)
        high_side = self._join(claim, by_many, many, between, high)
        self._join(claim, by_few, few, high_side, low)

    def _decide(self, least: list[int], most: list[int]) -> None:
        """Derive the signs that the box decides for a pattern alone."""
        for i in range(self.n_patterns):
            sides = [
                sorted((vote * low, vote * high))
                for vote, (low, high) in zip(self._votes(i), self.sides, strict=True)
            ]
            if sum(high for _, high in sides) < MARGIN:
                most[i] = self._not_all([i + 1], [1])
            elif sum(low for low, _ in sides) > -MARGIN:
                not_negative = self._not_all([-(i + 1)], [1])  # -z <= -1
                least[i] = self._combine("G", [(not_negative, Fraction(1))])

    def _close(self, root: _Node, proven: list[int]) -> int:
        """Derive 0 <= -1 from the root, by the tree of the certificate."""
        waiting, rules, n_split = [root], deque(self.certificate["tree"]), 0
        # What becomes of a closed case: the split that waits for it.
        splits: list[list[int]] = []
        while rules:
            node, (rule, *numbers) = waiting.pop(), rules.popleft()
            if rule == "split":
                i = numbers[0] - 1
                z = {self._z(i): Fraction(1)}
                at_0 = self._assume(_Row(z, "L", Fraction(0)))
                at_1 = self._assume(_Row(z, "G", Fraction(1)))
                above = node._replace(least=[*node.least[:i], at_1, *node.least[i + 1 :]])
                below = node._replace(most=[*node.most[:i], at_0, *node.most[i + 1 :]])
                waiting += [above, below]  # the case z = 0 comes first in the tree
                splits.append([at_0, at_1])
                continue
            found = getattr(self, f"_by_{rule}")(node, numbers, proven)
            if isinstance(found, _Node):
                waiting.append(found)
                if rule == "sums":  # not closed yet: a split, and in both cases the rule again
                    n_split += 1
                    rest = ["sums", numbers[0] - 1]
                    rules.extendleft([rest, rest, self._largest_split(node, numbers[0], n_split)])
                continue
            closed: int = found
            while splits:
                splits[-1].append(closed)
                if len(splits[-1]) < 4:
                    break
                at_0, at_1, one, other = splits.pop()
                closed = self._join(_Row(NEVER, "L", Fraction(-1)), one, at_0, other, at_1)
        return closed

    def _largest_split(self, node: _Node, left: int, n_split: int) -> list[Any]:
        """Return the split on the largest open count, or refuse the rule sums."""
        if n_split > MOST_SPLITS:
            raise InputError(
                f"the certificate's rule sums takes more than {MOST_SPLITS:,} splits in VIPR, "
                "which cannot merge equal sums: this proof cannot be written as VIPR"
            )
        counts = self.statement.counts
        open_ = [i for i in range(self.n_patterns) if self._fixed(node, i) is None]
        if not left or not open_:
            raise InputError(
                "the certificate's rule sums leaves a case open, which VIPR has no short proof of, "
                "and c2rf does not do: this proof cannot be written as VIPR"
            )
        return ["split", 1 + max(open_, key=lambda i: counts[i])]

    def _fixed(self, node: _Node, i: int) -> int | None:
        """Return the z that is fixed in a case, None if it is open."""
        if self.rows[node.least[i]].rhs > 0:
            return 1
        return 0 if self.rows[node.most[i]].rhs == 0 else None

    def _bounded(self, node: _Node, slope: Sparse) -> list[tuple[int, Fraction]]:
        """Return multipliers of bounds of z that cancel a slope, in a sum of "<=" forms."""
        return [
            ((node.least if c > 0 else node.most)[k - self.n_weights], abs(c))
            for k, c in slope.items()
        ]

    def _by_add(self, node: _Node, numbers: list[int], proven: list[int]) -> int | _Node:
        """Add up m (T - end) <= 0 and y (number of true literals - most) <= 0."""
        m, used = numbers[0], []
        if m:
            end = node.high if m > 0 else node.low
            assert end is not None
            used.append((end, Fraction(abs(m))))
        pairs = zip(numbers[1::2], numbers[2::2], strict=True)
        used += [(proven[row], Fraction(y)) for row, y in pairs if y]
        slope, _, rhs = self._sum("L", used)[1]
        fixed = {k: self._fixed(node, k - self.n_weights) for k in slope}
        values = {k: (c < 0) if fixed[k] is None else fixed[k] for k, c in slope.items()}
        smallest = sum(c * int(values[k] or 0) for k, c in slope.items()) - rhs
        if smallest > 0:
            return self._absurd([*used, *self._bounded(node, slope)])
        forced = {k for k, c in slope.items() if fixed[k] is None and smallest + abs(c) > 0}
        if not forced:
            return node
        # First all z but the forced ones are taken out, then all but one of these.
        rest = {k: c for k, c in slope.items() if k not in forced}
        short = self._combine("L", [*used, *self._bounded(node, rest)])
        least, most = list(node.least), list(node.most)
        for k in forced:
            c = slope[k]
            others = self._bounded(node, {other: slope[other] for other in forced if other != k})
            parts = [(row, y / abs(c)) for row, y in [(short, Fraction(1)), *others]]
            if c > 0:
                most[k - self.n_weights] = self._combine("L", parts, "rnd", 0)
            else:
                least[k - self.n_weights] = self._combine("G", parts, "rnd", 1)
        return node._replace(least=least, most=most)

    def _interval(self, node: _Node) -> tuple[int, int, Fraction, Fraction]:
        """Return the lines that bound T, and the bounds."""
        assert node.low is not None
        assert node.high is not None
        return node.low, node.high, self.rows[node.low].rhs, self.rows[node.high].rhs

    def _counted(self, which: Iterable[int], lines: list[int], unit: int = 1) -> list[Any]:
        """Return multipliers w / unit of bounds of z, for some patterns."""
        return [(lines[i], Fraction(self.statement.counts[i], unit)) for i in which]

    def _by_steps(self, node: _Node, numbers: list[int], proven: list[int]) -> int | _Node:
        """T goes in steps of a common divisor g: divide by g, round, multiply by g."""
        counts, every = self.statement.counts, range(self.n_patterns)
        low, high, least, most = self._interval(node)
        fixed = {i: z for i in every if (z := self._fixed(node, i)) is not None}
        sure = sum(counts[i] for i, z in fixed.items() if z)
        g = gcd(*(counts[i] for i in every if i not in fixed))
        if not g:
            return self._by_sums(node, numbers, proven)
        one = Fraction(1)
        if (sure - least) % g:
            own = self._combine("G", [(low, one / g), *self._counted(fixed, node.most, g)], "rnd")
            low = self._combine("G", [(own, one * g), *self._counted(fixed, node.least)])
        if (most - sure) % g:
            own = self._combine("L", [(high, one / g), *self._counted(fixed, node.least, g)], "rnd")
            high = self._combine("L", [(own, one * g), *self._counted(fixed, node.most)])
        if self.rows[low].rhs > self.rows[high].rhs:
            return self._absurd([(low, Fraction(1)), (high, Fraction(1))])
        return node._replace(low=low, high=high)

    def _by_sums(self, node: _Node, numbers: list[int], proven: list[int]) -> int | _Node:
        """Close a case in which T is out of its bounds, whatever the open z are."""
        low, high, least, most = self._interval(node)
        every, one = range(self.n_patterns), Fraction(1)
        under, over = (self._counted(every, lines) for lines in (node.least, node.most))
        if sum(y * self.rows[row].rhs for row, y in under) > most:
            return self._absurd([(high, one), *under])
        if sum(y * self.rows[row].rhs for row, y in over) < least:
            return self._absurd([(low, one), *over])
        return node


def _limit(literals: Sequence[int], most: int) -> int:
    """Return the right-hand side of "at most so many are true" with z instead of literals."""
    return most - sum(literal < 0 for literal in literals)


def _listed(values: Sparse) -> str:
    """Write the number of entries, then each index with its value."""
    return " ".join([str(len(values)), *(f"{k} {value}" for k, value in values.items())])
