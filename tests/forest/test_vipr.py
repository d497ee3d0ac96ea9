"""Proofs in VIPR: a checker that knows nothing of c2rf accepts them, and refuses forged ones."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest

import c2rf
from c2rf.forest import vipr
from c2rf.forest.certificate import check_certificate
from c2rf.forest.problem import make_statement
from vipr_checker import RefusedError, check

FOUR = [[-1, -1, -1, 1, 1, 1], [-1, 1, 1, -1, -1, 1], [1, -1, 1, -1, 1, -1], [1, 1, -1, 1, -1, -1]]


def proof(votes, n_positive, path, upper=100.0, offset=None) -> str:
    """Solve, write the proof, and return its text and what the solution claims."""
    options = {"upper": upper, "offset": offset}
    solution = c2rf.solve(votes, n_positive, certificate=True, random_state=0, **options)
    c2rf.write_vipr(votes, n_positive, solution, path, **options)
    text = path.read_text()
    assert check(text) == f"range {solution.bound} {solution.eta}"
    return text


@pytest.mark.parametrize("seed", range(24))
def test_a_foreign_checker_accepts_bound_and_weights(seed, tmp_path):
    rng = np.random.default_rng(seed)
    votes = rng.choice([-1, 1], size=(int(rng.integers(5, 60)), int(rng.integers(3, 8))))
    n_positive = int(rng.integers(0, len(votes) + 1))
    offset = (-2.0, 3.0) if seed % 3 == 0 else None
    try:
        proof(votes, n_positive, tmp_path / "p.vipr", [2.0, 3.0, 10.0, 100.0][seed % 4], offset)
    except c2rf.InfeasibleError:
        assert offset is not None or seed % 4 == 0


def test_that_there_are_no_weights(tmp_path):
    votes = [[1, -1], [1, 1]]
    with pytest.raises(c2rf.InfeasibleError) as found:
        c2rf.solve(votes, 1, upper=1.0)
    c2rf.write_vipr(votes, 1, found.value, tmp_path / "p.vipr", upper=1.0)
    assert check((tmp_path / "p.vipr").read_text()) == "infeas"


def statement_of(votes, total, upper=100.0):
    return make_statement(c2rf.PatternTable.from_votes(np.array(votes)), total, 1.0, upper)


def certificate_of(statement, bound, rows, tree):
    found = {
        "format": "c2rf-certificate", "version": 1, "sha256": statement.digest(), "bound": bound,
        "rows": rows, "tree": tree,
    }  # fmt: skip
    assert check_certificate(statement, found) == bound
    return found


SUMS = [[1, -1, 1, -1, 1]] * 10 + [[-1, 1, 1, 1, -1]] * 7 + [[1, 1, -1, -1, 1]] * 3


class TestRules:
    """Certificates made by hand, so that every rule is there."""

    def test_at_most_three_of_four(self):
        """Of four patterns whose votes add up to zero, not all are negative."""
        statement = statement_of(FOUR, 0)
        tree = [["add", 1, 0, 1]]
        found = certificate_of(statement, 1, [[[-1, -2, -3, -4], [1, 1, 1, 1], 3]], tree)
        assert check(vipr.vipr_text(statement, found)) == "range 1 inf"

    def test_rows_whose_proof_grows_exponentially_are_refused_by_name(self):
        """Six literals, no tree in more than two of them: at most three are true."""
        pairs = [(a, b) for a in range(6) for b in range(a + 1, 6)]
        votes = np.full((6, len(pairs)), -1)
        for column, pair in enumerate(pairs):
            votes[list(pair), column] = 1
        statement = statement_of(votes, 6)
        row = [[1, 2, 3, 4, 5, 6], [1] * 6, 3]
        found = certificate_of(statement, 3, [row], [["add", -1, 0, 1]])
        with pytest.raises(c2rf.InputError, match="6 literals of which at most 3"):
            vipr.vipr_text(statement, found)

    def test_sums(self):
        """Counts of 10, 7 and 3: sums near 15 are 13 and 17."""
        statement = statement_of(SUMS, 15)
        for tree in ([["sums", 3]], [["split", 1], ["sums", 2], ["sums", 2]]):
            found = certificate_of(statement, 2, [], tree)
            assert check(vipr.vipr_text(statement, found)) == "range 2 inf"

    def test_sums_that_take_too_many_splits_are_refused_by_name(self, monkeypatch):
        monkeypatch.setattr(vipr, "MOST_SPLITS", 1)
        with pytest.raises(c2rf.InputError, match="rule sums takes more than 1 splits"):
            self.test_sums()

    def test_sums_that_leave_a_case_open_are_refused_by_name(self):
        """Which c2rf does not write: the largest count alone says little."""
        statement = statement_of(SUMS, 15)
        found = certificate_of(statement, 2, [], [["sums", 1], ["sums", 3]])
        with pytest.raises(c2rf.InputError, match="leaves a case open"):
            vipr.vipr_text(statement, found)

    def test_steps(self):
        """Counts of 3 and 6: a total of 4 is missed by one at least."""
        statement = statement_of([[1, -1, 1]] * 3 + [[-1, 1, 1]] * 6, 4)
        found = certificate_of(statement, 1, [], [["steps"]])
        assert check(vipr.vipr_text(statement, found)) == "range 1 inf"

    def test_split(self):
        """Counts of 10, 7 and 3: sums near 15 are 13 and 17."""
        statement = statement_of(SUMS, 15)
        tree = [["steps"]]
        for pattern in (3, 2, 1):
            tree = [["split", pattern], *tree, *tree]
        found = certificate_of(statement, 2, [], tree)
        assert check(vipr.vipr_text(statement, found)) == "range 2 inf"


class TestForged:
    def forge(self, text: str, seed: int) -> str:
        """Change one number of the proof."""
        lines = text.splitlines()
        start = next(k for k, line in enumerate(lines) if line.startswith("RTP"))
        rng = np.random.default_rng(seed)
        places = [k for k in range(start, len(lines)) if re.search(r"\d", lines[k])]
        k = int(rng.choice(places))
        numbers = list(re.finditer(r"-?\d+(?:/\d+)?", lines[k]))
        spot = numbers[int(rng.integers(len(numbers)))]
        value = Fraction(spot[0]) + int(rng.choice([-2, -1, 1, 2]))
        lines[k] = f"{lines[k][: spot.start()]}{value}{lines[k][spot.end() :]}"
        return "\n".join(lines) + "\n"

    def test_no_forged_proof_gives_a_better_bound(self, tmp_path):
        rng = np.random.default_rng(5)
        votes = rng.choice([-1, 1], size=(40, 5))
        text = proof(votes, 36, tmp_path / "p.vipr", upper=3.0)
        claimed = Fraction(text.split("RTP range ")[1].split()[0])
        refused = 0
        for seed in range(200):
            try:
                goal = check(self.forge(text, seed))
            except (RefusedError, ValueError, ZeroDivisionError):
                refused += 1
            else:
                assert Fraction(goal.split()[1]) <= claimed
        assert refused > 100


class TestInput:
    def test_without_a_certificate(self, tmp_path):
        votes = [[1, 1, 1], [-1, -1, -1]]
        with pytest.raises(c2rf.InputError, match="certificate=True"):
            c2rf.write_vipr(votes, 1, c2rf.solve(votes, 1), tmp_path / "p.vipr")

    def test_another_problem_and_a_file_that_is_there(self, tmp_path):
        votes, path = [[1, 1, 1], [1, 1, 1], [-1, -1, -1]], tmp_path / "p.vipr"
        solution = c2rf.solve(votes, 1, certificate=True)
        with pytest.raises(c2rf.VerificationError):
            c2rf.write_vipr(votes, 2, solution, path)
        assert not path.exists()
        c2rf.write_vipr(votes, 1, solution, path)
        with pytest.raises(c2rf.InputError, match="exists already"):
            c2rf.write_vipr(votes, 1, solution, path)
        c2rf.write_vipr(votes, 1, solution, path, force=True)
