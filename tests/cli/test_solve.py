"""``c2rf solve``, ``verify`` and ``backends``: what they write and print; mistakes cost a line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest

import c2rf
from c2rf.cli import main
from c2rf.exceptions import BackendError, InfeasibleError

VOTES = "a,b,c\n1,1,-1\n-1,1,-1\n-1,1,1\n-1,-1,1\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """Run in a folder of its own, with lines that are not broken."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


@pytest.fixture
def votes(folder) -> Path:
    (folder / "votes.csv").write_text(VOTES)
    return Path("votes.csv")


def run(line: str) -> int:
    return main(line.split())


class TestSolveAndVerify:
    @pytest.mark.parametrize(("total", "wished"), [("1", 1), ("0.25", 1), ("25%", 1), ("100%", 4)])
    def test_what_is_solved_can_be_verified(self, votes, capsys, total, wished):
        assert run(f"solve votes.csv --total {total} --out s.json") == 0
        document = json.loads(Path("s.json").read_text())
        assert document["n_positive"] == wished
        assert document["labels"].count("+") == wished + document["eta"] * (
            -1 if wished == 4 else 1
        )
        assert run("verify votes.csv s.json") == 0
        assert "recounted" in capsys.readouterr().out

    def test_the_file_is_what_the_library_finds(self, votes):
        options = "--lower 2 --upper 9 --method only-pp --seed 3"
        assert run(f"solve votes.csv --total 2 {options} --out s.json --quiet") == 0
        document = json.loads(Path("s.json").read_text())
        array = pd.read_csv(votes).to_numpy()
        solution = c2rf.solve(array, 2, 2, 9, method="only-pp", random_state=3)
        assert document["weights"] == solution.weights.tolist()
        assert (document["lower"], document["upper"]) == (2.0, 9.0)
        assert document["stats"]["method"] == "only-pp"

    def test_says_how_close_and_what_is_proven(self, votes, capsys):
        assert run("solve votes.csv --total 4") == 0
        said = capsys.readouterr()
        assert re.search(r"labels +3 positive, 1 fewer than the known total of 4\n", said.out)
        box = "with weights in [1, 100]"
        assert f"no weighting of these 3 trees {box} comes closer than 1\n" in said.out
        assert "c2rf:" not in said.err

    def test_quiet_is_silent(self, votes, capsys):
        assert run("solve votes.csv --total 1 --out s.json --quiet") == 0
        assert run("verify votes.csv s.json --quiet") == 0
        assert capsys.readouterr() == ("", "")

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"labels": "++--"}, "the label of row 1 is 1"),
            ({"eta": 2}, "eta is claimed to be 2"),
            ({"status": "feasible"}, "the status"),
            ({"upper": 2.0}, "outside [1.0, 2.0]"),
            ({"weights": [1.0]}, "one weight per tree"),
            ({"labels": "+-"}, "there must be 4 labels"),
            ({"n_positive": 2}, "eta is claimed to be 0"),
            ({"n_points": 9}, "found for 9 rows of 3 votes; found 4 rows of 3"),
            ({"n_trees": 9}, "not the votes of this solution, which was found for 4 rows of 9"),
        ],
    )
    def test_a_false_claim_is_found_out(self, votes, capsys, change, said):
        run("solve votes.csv --total 1 --out s.json")
        document = json.loads(Path("s.json").read_text())
        Path("s.json").write_text(json.dumps(document | change))
        capsys.readouterr()
        assert run("verify votes.csv s.json") == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("c2rf: ")
        assert said in err


class TestWhatVerifyClaims:
    """No more than was checked, and of whose question."""

    @pytest.fixture(autouse=True)
    def solved(self, votes, capsys):
        assert run("solve votes.csv --total 4 --out s.json --certificate p.json --quiet") == 0

    def said(self, capsys, line: str, code: int = 0) -> str:
        assert run(line) == code
        out, err = capsys.readouterr()
        return re.sub(r" +", " ", out if code == 0 else err)

    def test_without_a_certificate_nothing_is_proven(self, capsys):
        said = self.said(capsys, "verify votes.csv s.json")
        assert "not compared" not in said
        assert "recounted weights, margins, labels and eta of s.json\n" in said
        assert "not proven that none comes closer than 1 is a claim of s.json" in said
        assert "verified" not in said
        assert "no weighting" not in said

    def test_with_one_the_box_is_named_and_whose_it_is(self, capsys):
        said = self.said(capsys, "verify votes.csv s.json --certificate p.json")
        assert "verified" in said
        assert "no weighting of these 3 trees with weights in [1, 100] comes closer than 1" in said
        assert "taken the total, the least weight and the greatest weight are from s.json;" in said
        assert "to check your own, give --total, --lower, --upper" in said

    def test_with_a_question_of_ones_own(self, capsys):
        own = "--total 100% --lower 1 --upper 100"
        said = self.said(capsys, f"verify votes.csv s.json --certificate p.json {own}")
        assert "taken" not in said
        for other, what in (
            ("--total 3", "the total 4, not 3"),
            ("--upper 9", "weight 100.0, not 9"),
        ):
            line = f"verify votes.csv s.json --certificate p.json {other}"
            assert what in self.said(capsys, line, 1)
        for wrong in ("--lower nan", "--upper -1"):
            assert "0 < lower <= upper" in self.said(capsys, f"verify votes.csv s.json {wrong}", 2)

    def test_a_proof_alone(self, capsys):
        line = "verify votes.csv --certificate p.json --total 4"
        assert "proven no weights in [1, 100] come closer than 1 to" in self.said(capsys, line)
        assert "another problem" in self.said(capsys, f"{line} --upper 9", 1)
        assert "give --certificate and --total" in self.said(capsys, "verify votes.csv", 2)

    def test_that_there_are_no_weights(self, folder, capsys):
        (folder / "tie.csv").write_text("1,-1\n1,1\n")
        asked = "--total 1 --lower 1 --upper 1"
        proofs = "--certificate none.json --vipr none.vipr"
        assert "no weights in the box" in self.said(capsys, f"solve tie.csv {asked} {proofs}", 1)
        said = self.said(capsys, f"verify tie.csv --certificate none.json {asked}")
        assert "proven no weights in [1, 1] give every row a margin of 1, by none.json" in said
        assert "RTP infeas" in Path("none.vipr").read_text()

    def test_other_votes_are_told_apart_from_a_false_claim(self, folder, capsys):
        (folder / "other.csv").write_text(VOTES.replace("-1,-1,1", "-1,-1,-1"))
        assert "not the votes of this solution" in self.said(capsys, "verify other.csv s.json", 1)
        document = json.loads(Path("s.json").read_text())
        for key in ("votes_sha256", "offset_range"):
            del document[key]
        Path("s.json").write_text(json.dumps(document | {"format_version": 1}))
        said = self.said(capsys, "verify votes.csv s.json")
        assert "recounted" in said
        assert "not compared the votes: s.json has no digest of those it is for" in said

    def test_no_time_for_the_check(self, capsys):
        line = "verify votes.csv s.json --certificate p.json --time-limit 0"
        assert "longer than the time limit" in self.said(capsys, line, 1)

    def test_an_offset_is_part_of_the_question(self, capsys):
        line = "solve votes.csv --total 4 --offset -1..1 --out o.json --certificate q.json"
        assert "exactly the known total" not in self.said(capsys, line)
        line = "verify votes.csv o.json --certificate q.json"
        assert "an offset in [-1, 1] comes closer" in self.said(capsys, line)
        assert "no weights in [1, 100] and offset in [-1, 1] come closer" in self.said(
            capsys, "verify votes.csv --certificate q.json --total 4 --offset -1..1"
        )

    def test_weights_near_equal_and_threads(self, capsys):
        line = (
            "solve votes.csv --total 1 --prefer majority --method only-pp --threads 2 --out m.json"
        )
        self.said(capsys, line)
        stats = json.loads(Path("m.json").read_text())["stats"]
        assert stats["distance_from_equal"] >= 0

    def test_vipr_that_is_refused_for_its_size_loses_nothing(self, capsys, monkeypatch):
        def refuse(*given: object) -> str:
            raise c2rf.InputError("too many lines")

        monkeypatch.setattr("c2rf.data.forest_files.vipr_text", refuse)
        line = "solve votes.csv --total 4 --out t.json --vipr t.vipr"
        assert "too many lines" in self.said(capsys, line, 2)
        assert Path("t.json").exists()
        assert not Path("t.vipr").exists()


class TestSolverOptions:
    def test_reach_the_solver(self, votes, capsys):
        line = "solve votes.csv --total 4 --method p-c2rf --solver-option"
        assert run(f"{line} mip_max_nodes=0 --solver-option presolve=off --quiet") == 0
        assert run(f"{line} MIPFocus=1") == 2
        assert "HiGHS has no option 'MIPFocus' that takes 1" in capsys.readouterr().err
        assert run(f"{line} mip_max_nodes=many") == 2
        assert "HiGHS has no option 'mip_max_nodes' that takes 'many'" in capsys.readouterr().err
        assert run(f"{line} mip_max_nodes") == 2
        assert "must be NAME=VALUE" in capsys.readouterr().err

    def test_no_solver_runs(self, votes, capsys):
        assert run("solve votes.csv --total 4 --solver-option MIPFocus=1") == 2
        assert 'method="auto" runs none; leave out' in capsys.readouterr().err


def replace_in(name: str, old: str, new: str) -> None:
    path = Path(name)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


class TestMistakes:
    """Exit code 2, one line, no file."""

    @staticmethod
    def refused(capsys, line: str, said: str) -> None:
        before = {path: path.read_bytes() for path in Path().iterdir()}
        assert run(line) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert re.fullmatch(r"c2rf: [^\n]*\n", err)
        assert said in err
        assert {path: path.read_bytes() for path in Path().iterdir()} == before

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ("--total 5", "--total must be a count from 0 to 4"),
            ("--total -1", "--total must be a count from 0 to 4"),
            ("--total 1.5", "found the float 1.5"),
            ("--total 120%", "a rate from 0% to 100%; found '120%'"),
            ("--total nan", "found 'nan'"),
            ("--total many", "a count like 1234 or a rate like 0.12 or 12%; found 'many'"),
            ("--total 1 --lower 0", "0 < lower <= upper"),
            ("--total 1 --upper 0.5", "0 < lower <= upper"),
            ("--total 1 --upper inf", "0 < lower <= upper"),
            (
                "--total 1 --method best",
                "--method must be auto, c2rf, p-c2rf, only-pp or only-br; found 'best'",
            ),
            ("--total 1 --backend cplex", "--backend must be highs, scip or gurobi; found 'cplex'"),
            ("--total 1 --total 2", "--total takes one value, but is given 2 times"),
            ("--total 1 --seed 1 --seed=2", "--seed takes one value, but is given 2 times"),
            ("--total 1 --out votes.csv --force", "is an input"),
            ("--total 1 --out absent/s.json", "there is no folder absent"),
        ],
    )
    def test_of_solve(self, votes, capsys, options, said):
        self.refused(capsys, f"solve votes.csv {options}", said)

    def test_missing_and_broken_votes(self, votes, capsys):
        self.refused(capsys, "solve absent.csv --total 1", "absent.csv: there is no such file")
        replace_in("votes.csv", "1,1,-1", "1,0,-1")
        self.refused(
            capsys, "solve votes.csv --total 1 --out s.json", "found '0' in data row 1, column 2"
        )

    def test_a_missing_backend_is_told_with_its_install_command(self, votes, capsys, monkeypatch):
        monkeypatch.setattr("c2rf.forest.backends.find_spec", lambda name: None)
        line = "solve votes.csv --total 1 --backend scip"
        self.refused(capsys, line, 'pip install "c2rf[scip]"')

    def test_an_existing_output_is_kept_unless_forced(self, votes, capsys):
        line = "solve votes.csv --total 1 --out old"
        Path("old").write_text("precious")
        self.refused(capsys, line, "old exists already")
        assert run(f"{line} --force --quiet") == 0
        assert Path("old").read_text() != "precious"


class TestEnds:
    @pytest.mark.parametrize("error", [BackendError, InfeasibleError])
    def test_what_fails_beyond_the_input_is_1(self, votes, capsys, monkeypatch, error):
        def fail(*args: object, **kwargs: object) -> None:
            raise error("it broke,\n  badly")

        monkeypatch.setattr(c2rf, "solve", fail)
        assert run("solve votes.csv --total 1 --out s.json") == 1
        assert capsys.readouterr() == ("", "c2rf: it broke, badly\n")
        assert not Path("s.json").exists()

    def test_an_infeasible_box_is_1(self, folder, capsys):
        (folder / "votes.csv").write_text("1,-1\n1,1\n")
        assert run("solve votes.csv --total 1 --upper 1") == 1
        assert capsys.readouterr().err.startswith("c2rf: ")

    def test_ctrl_c_is_130(self, votes, monkeypatch):
        def interrupted(*args: object, **kwargs: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(c2rf, "solve", interrupted)
        assert run("solve votes.csv --total 1 --out s.json") == 130
        assert not Path("s.json").exists()

    def test_what_was_found_until_ctrl_c_is_written(self, votes, monkeypatch):
        original = c2rf.solve

        def stopped(*args: object, **kwargs: object) -> c2rf.Solution:
            solution = original(*args, **kwargs)
            solution.stats["interrupted"] = True
            return solution

        monkeypatch.setattr(c2rf, "solve", stopped)
        assert run("solve votes.csv --total 1 --out s.json") == 130
        assert run("verify votes.csv s.json") == 0

    @pytest.mark.parametrize("line", ["", "solve", "solve votes.csv", "solve --total 1", "sovle x"])
    def test_wrong_usage_is_2(self, line, capsys):
        assert run(line) == 2
        capsys.readouterr()


class TestBackends:
    def test_backends_are_listed_with_versions_or_how_to_get_them(self, capsys, monkeypatch):
        monkeypatch.setattr(
            "c2rf.forest.backends.find_spec", lambda name: object() if name == "highspy" else None
        )
        assert run("backends") == 0
        said = capsys.readouterr().out
        assert 'pip install "c2rf[scip]"' in said
        assert re.search(r"highs .* \d+\.\d+\.\d+ .* no ", said)
