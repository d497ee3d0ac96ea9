"""The checker of certificates: small proofs by hand, forged ones, and a second checker."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

import c2rf
from brute import optimum
from c2rf.forest import certificate as module
from c2rf.forest.certificate import CertificateError, Statement, check_certificate
from c2rf.forest.problem import make_problem
from proving import statement_of
from second_checker import accepts
from strategies import cases


def second(stated: Statement, certificate: object) -> bool:
    """What the second checker says."""
    box = stated.lower, stated.upper, stated.offset
    patterns, counts = list(stated.patterns), list(stated.counts)
    return accepts(patterns, counts, stated.n_trees, stated.total, *box, certificate)[0]


def first(stated: Statement, certificate: object) -> bool:
    """What the first checker says."""
    try:
        check_certificate(stated, certificate)
    except CertificateError:
        return False
    return True


def by_hand(stated: Statement, bound: int | None, rows: list, tree: list) -> dict:
    return {
        "format": "c2rf-certificate",
        "version": 1,
        "sha256": stated.digest(),
        "bound": bound,
        "rows": rows,
        "tree": tree,
    }


# Two opposite patterns of 3 and 2 points: 3 or 2 positives, so a total of 0 is missed by 2.
OPPOSITE = Statement(3, [1, 6], [3, 2], 0, Fraction(1), Fraction(100))
AT_LEAST_ONE = [[-1, -2], [1, 1], 1]


def test_a_proof_by_adding_up():
    # T = 3 z_1 + 2 z_2 >= 2 (z_1 + z_2) >= 2
    certificate = by_hand(OPPOSITE, 2, [AT_LEAST_ONE], [["add", 1, 0, 2]])
    assert check_certificate(OPPOSITE, certificate) == 2
    assert second(OPPOSITE, certificate)


def test_a_proof_by_cases():
    tree = [["split", 1], ["add", 1, 0, 3], ["add", 1]]
    certificate = by_hand(OPPOSITE, 2, [AT_LEAST_ONE], tree)
    assert check_certificate(OPPOSITE, certificate) == 2
    assert second(OPPOSITE, certificate)


@pytest.mark.parametrize(
    ("bound", "rows", "tree", "why"),
    [
        (3, [AT_LEAST_ONE], [["add", 1, 0, 2]], "1 subproblems are left open"),
        (2, [AT_LEAST_ONE], [["add", 1, 0, 2], ["add", 1]], "node 1 belongs to no subproblem"),
        (2, [[[-1, 2], [1, 1], 1]], [["add", 1, 0, 2]], "row 0 is not proven"),
        (2, [AT_LEAST_ONE], [["split", 1], ["add", 1, 0, 3]], "1 subproblems are left open"),
        (2, [AT_LEAST_ONE], [["split", 3], ["add", 1], ["add", 1]], "splits by no pattern"),
        (2, [AT_LEAST_ONE], [["add", 1, 1, 2]], "a row that is not there"),
        (2, [AT_LEAST_ONE], [["add", 1, 0, -2]], "a row that is not there"),
        (2, [AT_LEAST_ONE], [["guess"]], "node 0 has no rule"),
        (2, [AT_LEAST_ONE], [[["add"], 1]], "node 0 has no rule"),
        (2, [AT_LEAST_ONE], [["add", 1.0, 0, 2]], "whole numbers"),
        (2, [AT_LEAST_ONE], [["add", True, 0, 2]], "whole numbers"),
        (2, [AT_LEAST_ONE], [["add"]], "add needs m"),
        (2, [[[-1, -2], [1, -1], 1]], [["add", 1, 0, 2]], "multipliers that are not allowed"),
        (2, [[[-1, -2], [2, 1], 0]], [["add", 1, 0, 2]], "multipliers that are not allowed"),
        (2, [[[-1, -3], [1, 1], 1]], [["add", 1, 0, 2]], "a pattern that is not there"),
        (2, [[[], [], 0]], [["add", 1, 0, 2]], "row 0 has the wrong length"),
        (2, [7], [["add", 1]], "row 0 is not a list of three"),
        (2, [AT_LEAST_ONE], {"add": 1}, "must be lists"),
        (2, [], [["sums", -1]], "sums needs"),
        (2, [], [["steps", 1]], "steps takes no numbers"),
        (-1, [], [], "below zero"),
        (0, [AT_LEAST_ONE], [], "a bound of 0 has no rows"),
        (None, [AT_LEAST_ONE], [["add", 1, 0, 2]], "without a bound"),
    ],
)
def test_what_is_wrong_is_named_and_the_second_checker_agrees(bound, rows, tree, why):
    certificate = by_hand(OPPOSITE, bound, rows, tree)
    with pytest.raises(CertificateError, match=why):
        check_certificate(OPPOSITE, certificate)
    assert not second(OPPOSITE, certificate)


@pytest.mark.parametrize("certificate", [None, 3, [], {}, {"format": "c2rf-certificate"}])
def test_what_is_not_a_certificate_is_refused(certificate):
    assert not first(OPPOSITE, certificate)
    assert not second(OPPOSITE, certificate)


def test_another_problem_is_noticed():
    certificate = by_hand(OPPOSITE, 2, [AT_LEAST_ONE], [["add", 1, 0, 2]])
    for other in (
        Statement(3, [1, 6], [3, 3], 0, Fraction(1), Fraction(100)),
        Statement(3, [1, 6], [3, 2], 1, Fraction(1), Fraction(100)),
        Statement(3, [1, 6], [3, 2], 0, Fraction(1), Fraction(101)),
        Statement(3, [1, 6], [3, 2], 0, Fraction(1), Fraction(100), (Fraction(0), Fraction(1))),
    ):
        with pytest.raises(CertificateError, match="another problem"):
            check_certificate(other, certificate)
        assert not second(other, certificate)


def test_steps_of_a_common_divisor():
    # Counts 6 and 10 and 4: T is even, so 7 is missed by one.
    stated = Statement(2, [0, 1, 2], [6, 10, 4], 7, Fraction(1), Fraction(100))
    assert check_certificate(stated, by_hand(stated, 1, [], [["steps"]])) == 1
    assert second(stated, by_hand(stated, 1, [], [["steps"]]))
    assert not first(stated, by_hand(stated, 2, [], [["steps"]]))


def test_sums_of_large_counts():
    # 1000 or 2000 or both or none, and at most 3 more: 1500 is missed by 497.
    stated = Statement(3, [1, 2, 4], [1000, 2000, 3], 1500, Fraction(1), Fraction(100))
    assert check_certificate(stated, by_hand(stated, 497, [], [["sums", 2]])) == 497
    assert second(stated, by_hand(stated, 497, [], [["sums", 2]]))
    assert not first(stated, by_hand(stated, 498, [], [["sums", 2]]))
    assert not first(stated, by_hand(stated, 497, [], [["sums", 0]]))


@pytest.mark.parametrize(("n_trees", "holds"), [(5, True), (4, False)])
def test_cliques_are_checked_pair_by_pair(n_trees, holds):
    # Any two patterns share one of their two trees, and never the same one. Both together
    # have 2 * 2 - 2 (n_trees - 3) at most, and need 2.
    stated = Statement(n_trees, [3, 5, 6], [1, 1, 1], 3, Fraction(1), Fraction(2))
    rows = [[[1, 2, 3], [1, 1, 1], 1]]
    certificate = by_hand(stated, 2, rows, [["add", -1, 0, 1]])
    assert first(stated, certificate) == second(stated, certificate) == holds
    rows[0][0][2] = 2  # a literal twice: it would have to exclude itself
    assert not first(stated, certificate)
    assert not second(stated, certificate)


def test_too_many_sums_are_refused(monkeypatch):
    monkeypatch.setattr(module, "MOST_SUMS", 100)
    counts = [3**k for k in range(9)]
    stated = Statement(4, list(range(1, 10)), counts, 5000, Fraction(1), Fraction(100))
    with pytest.raises(CertificateError, match="too many sums"):
        check_certificate(stated, by_hand(stated, 4000, [], [["sums", 9]]))


@settings(max_examples=60)
@given(cases(max_points=9, max_trees=5))
def test_both_checkers_accept_what_solve_proves(case):
    rows, target, lower, upper, offset = case
    stated = statement_of(*case)
    try:
        proof = c2rf.solve(rows, target, lower, upper, offset=offset, certificate=True).certificate
    except c2rf.InfeasibleError as error:
        proof = error.certificate
    assert first(stated, proof)
    assert second(stated, proof)
    written = json.loads(json.dumps(proof))
    assert written == proof
    assert proof["bound"] == optimum(make_problem(*case))


def proven_problems():
    """Problems with proofs of different kinds, and their optima."""
    rng = np.random.default_rng(0)
    wide = np.where(rng.random((120, 8)) < 0.6, 1, -1)
    few = np.where(rng.random((12, 5)) < 0.6, 1, -1)
    dense = [(wide, 16, 1, 100), (wide, 30, 1, 5)]
    return [*dense, (few, 0, 1, 100), (few, 1, 1, 3), (np.repeat(few, 4, 0), 5, 1, 9)]


def forge(rng: np.random.Generator, certificate: dict, stated: Statement) -> None:
    """Change something: a number somewhere, a row, a node, the bound; then sign it again."""
    kind = rng.integers(8)
    rows, tree = certificate["rows"], certificate["tree"]
    if kind == 0 and rows:
        row = rows[rng.integers(len(rows))]
        row[1][rng.integers(len(row[1]))] += int(rng.choice([-1, 1, 5]))
    elif kind == 1 and rows:
        row = rows[rng.integers(len(rows))]
        place = rng.integers(len(row[0]))
        row[0][place] = int(rng.choice([-1, 1]) * rng.integers(1, len(stated.patterns) + 1))
    elif kind == 2 and rows:
        rows[rng.integers(len(rows))][2] += int(rng.choice([-1, 1]))
    elif kind == 3 and rows:
        del rows[rng.integers(len(rows))]
    elif kind == 4 and tree:
        node = tree[rng.integers(len(tree))]
        if len(node) > 1:
            node[rng.integers(1, len(node))] += int(rng.choice([-3, -1, 1, 3]))
    elif kind == 5 and tree:
        del tree[rng.integers(len(tree))]
    elif kind == 6 and tree:
        tree[:] = tree[: rng.integers(len(tree))]
    else:
        certificate["bound"] += int(rng.choice([-2, -1, 1, 2, 10]))
    certificate["sha256"] = stated.digest()


def test_forged_certificates():
    rng = np.random.default_rng(1)
    accepted = forged = cliques = 0
    for rows, target, *box in proven_problems():
        best = c2rf.solve(rows, target, *box, certificate=True)
        stated = statement_of(rows, target, *box)
        assert best.status == "optimal"
        cliques += sum(row[2] == 1 < len(row[0]) - 1 for row in best.certificate["rows"])
        for _ in range(110):
            certificate = copy.deepcopy(best.certificate)
            for _ in range(rng.integers(1, 3)):
                forge(rng, certificate, stated)
            taken = first(stated, certificate)
            assert taken == second(stated, certificate)
            if taken:
                assert certificate["bound"] <= best.eta
            accepted += taken
            forged += certificate != best.certificate
    assert forged > 540
    assert cliques > 0
    assert 0 < accepted < forged / 2


def test_forged_problems():
    """A proof for other votes or counts, signed for these, proves nothing that is wrong."""
    rng = np.random.default_rng(2)
    for rows, target, *box in proven_problems():
        certificate = c2rf.solve(rows, target, *box, certificate=True).certificate
        for k in range(20):
            other = rows.copy()
            if k % 2:
                other[rng.integers(len(rows)), rng.integers(rows.shape[1])] *= -1
            else:  # other counts of the same patterns
                other = np.delete(other, rng.integers(len(rows)), axis=0)
            stated = statement_of(other, target, *box)
            certificate["sha256"] = stated.digest()
            taken = first(stated, certificate)
            assert taken == second(stated, certificate)
            if taken:
                assert certificate["bound"] <= c2rf.solve(other, target, *box).eta


class TestStatements:
    """What a certificate is about is checked, too."""

    @pytest.mark.parametrize(
        ("change", "why"),
        [
            ({"patterns": [1, 14]}, "bits beyond the trees"),
            ({"patterns": [-1, 6]}, "bits beyond the trees"),
            ({"patterns": [6, 1]}, "not sorted and distinct"),
            ({"patterns": [1, 1]}, "not sorted and distinct"),
            ({"patterns": [1, 2, 6]}, "not one count"),
            ({"counts": [3, 0]}, "a count is below one"),
            ({"counts": [3, -2]}, "a count is below one"),
            ({"counts": [3.0, 2]}, "whole numbers"),
            ({"counts": [True, 2]}, "whole numbers"),
            ({"patterns": [np.int64(1), 6]}, "whole numbers"),
            ({"total": 0.5}, "whole numbers"),
            ({"n_trees": 3.0}, "whole numbers"),
            ({"lower": Fraction(0)}, "0 < lower"),
            ({"lower": Fraction(101)}, "0 < lower"),
            ({"offset": (Fraction(1), Fraction(0))}, "ends in the wrong order"),
        ],
    )
    def test_what_is_no_problem_is_refused(self, change, why):
        with pytest.raises(CertificateError, match=why):
            replace(OPPOSITE, **change)

    def test_a_statement_keeps_its_own_lists(self):
        patterns = [1, 6]
        stated = replace(OPPOSITE, patterns=patterns)
        patterns[0] = 0
        assert stated.patterns == [1, 6]


class TwoFaced(list):
    """A list that holds something else the second time it is read."""

    def __iter__(self):
        return iter([9] * len(self))


@pytest.mark.parametrize(
    ("bound", "rows", "tree"),
    [
        (2, TwoFaced([AT_LEAST_ONE]), [["add", 1, 0, 2]]),
        (2, [TwoFaced(AT_LEAST_ONE)], [["add", 1, 0, 2]]),
        (2, [[TwoFaced([-1, -2]), [1, 1], 1]], [["add", 1, 0, 2]]),
        (2, [AT_LEAST_ONE], [TwoFaced(["add", 1, 0, 2])]),
    ],
)
def test_only_plain_lists_are_read(bound, rows, tree):
    assert not first(OPPOSITE, by_hand(OPPOSITE, bound, rows, tree))


class TestBudget:
    """A certificate of some bytes must not keep a checker busy."""

    def long_certificates(self):
        rng = np.random.default_rng(0)
        patterns = sorted({5, 2**20 - 6} | set(rng.integers(0, 2**20, 300).tolist()))
        counts = rng.integers(1, 2**60, len(patterns)).tolist()
        stated = Statement(20, patterns, counts, 2**66, Fraction(1), Fraction(1))
        pair = [patterns.index(5) + 1, patterns.index(2**20 - 6) + 1]
        row = [pair, [1, 1], 1]
        yield stated, by_hand(stated, 2**62, [], [["sums", 12]] * 10**4)
        yield stated, by_hand(stated, 1, [[pair * 100, [1] * 200, 199]] * 10**4, [])
        yield stated, by_hand(stated, 1, [[pair * 100, [2**9999] * 200, 199]] * 200, [])
        yield stated, by_hand(stated, 1, [row], [["add", 0] + [0, 0] * 10**6])
        yield stated, by_hand(stated, 1, [row], [["add", 0] + [0, 2**9999] * 10**4])
        yield stated, by_hand(stated, 1, [], [["add", 0]] * 10**5)
        yield stated, by_hand(stated, 2**62, [], [["steps"]] * 10**5)
        yield stated, by_hand(stated, 1, [], [["split", 1]] * 10**5)

    def test_steps_are_counted(self, monkeypatch):
        monkeypatch.setattr(module.Budget.__init__, "__defaults__", (None, 2 * 10**5))
        for stated, certificate in self.long_certificates():
            with pytest.raises(CertificateError, match="more than 100,000,000 steps"):
                check_certificate(stated, certificate)

    def test_proofs_take_few_steps(self, monkeypatch):
        monkeypatch.setattr(module.Budget.__init__, "__defaults__", (None, 2 * 10**5))
        for rows, target, *box in proven_problems():
            c2rf.verify(rows, target, c2rf.solve(rows, target, *box, certificate=True), *box)

    def test_time_is_kept(self):
        for stated, certificate in self.long_certificates():
            with pytest.raises(CertificateError, match="longer than the time limit"):
                check_certificate(stated, certificate, 0)


def test_the_checker_is_short_and_stands_alone():
    source = Path(module.__file__).read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 300
    assert "import c2rf" not in source
    assert "from c2rf" not in source
    assert "float" not in source
    assert "numpy" not in source
