"""Files of votes, solutions and certificates: what is read is what was written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from c2rf.data.forest_files import (
    FORMAT,
    FORMAT_VERSION,
    StoredSolution,
    certificate_text,
    read_certificate,
    read_votes,
)
from c2rf.exceptions import InputError
from c2rf.forest.problem import Solution

VOTES = np.array([[1, -1, 1], [-1, -1, 1], [1, 1, 1]], dtype=np.int8)


def write(folder: Path, content: str | bytes, name: str = "file.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


class TestVotes:
    @pytest.mark.parametrize(
        "header",
        [
            "",
            "a,b,c\n",
            "0,1,2\n",
            '"first tree",b,c\n',
            "\ufeffa,b,c\n",
            "\ufeff",
            "\n\n",
            "\na,b,c\n",
        ],
        ids=["none", "names", "numbers", "quoted", "marked", "mark only", "blank", "blank, names"],
    )
    @pytest.mark.parametrize("style", ["{:d}", "{:+d}", "{:.1f}", " {:d}", '"{:d}"'])
    def test_are_read_with_and_without_a_header(self, tmp_path, header, style):
        rows = "\n".join(",".join(style.format(v) for v in row) for row in VOTES.tolist())
        votes = read_votes(write(tmp_path, header + rows + "\n"))
        assert votes.dtype == np.int8
        np.testing.assert_array_equal(votes, VOTES)

    @pytest.mark.parametrize("header", [True, False])
    def test_written_by_pandas_come_back_over_many_chunks(self, tmp_path, monkeypatch, header):
        votes = np.random.default_rng(0).choice([-1, 1], (50, 5))
        path = tmp_path / "votes.csv"
        pd.DataFrame(votes).to_csv(path, index=False, header=header)
        np.testing.assert_array_equal(read_votes(path, rows_at_once=7), votes)

    @pytest.mark.parametrize("cell", ["0", "2", "x", "", "nan", "1.5", "True", "-1e0x", "257"])
    @pytest.mark.parametrize("header", [True, False])
    def test_first_bad_value_is_named_with_its_place(self, tmp_path, monkeypatch, cell, header):
        lines = ["1,-1,1", "1,1,1", f"1,{cell},-1", "x,y,0"]
        path = write(tmp_path, "\n".join(["a,b,c"] * header + lines))
        name = r" \('b'\)" if header else ""
        with pytest.raises(InputError, match=rf"found '{cell}' in data row 3, column 2{name}$"):
            read_votes(path, rows_at_once=2)

    @pytest.mark.parametrize(("first", "later"), [("0", "-1"), ("-1", "0")])
    def test_two_ways_of_saying_no_are_refused_at_the_second(self, tmp_path, first, later):
        path = write(tmp_path, f"1,{first}\n1,1\n1,1\n1,{later}\n")
        with pytest.raises(InputError, match=f"found '{later}' in data row 4, column 2"):
            read_votes(path, rows_at_once=2)

    def test_a_first_row_with_a_mistake_is_not_taken_for_a_header(self, tmp_path):
        with pytest.raises(InputError, match="found 'x' in data row 1, column 2"):
            read_votes(write(tmp_path, "1,x\n1,-1\n"))

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            ("", "is empty"),
            ("\n\n", "is empty"),
            ("a,b\n", "no rows"),
            ("a,b\n1,1,1\n", "the header names 2 columns; found rows of 3 votes"),
            ("1,1\n1,1,1\n", "Expected 2 fields in line 2, saw 3"),
            ("1,1,1\n1,1\n", "found '' in data row 2, column 3"),
            (b"a,b\xe4\n1,1\n", "not UTF-8"),
            (b"1,1\n" * 9 + b"1,\xe4\n", "not UTF-8"),
        ],
    )
    def test_unusable_files_are_named(self, tmp_path, content, said):
        with pytest.raises(InputError, match=said) as caught:
            read_votes(write(tmp_path, content, "some.csv"))
        assert "some.csv" in str(caught.value)


@pytest.mark.parametrize("kind", [np.int8, np.float64, np.int64])
@pytest.mark.parametrize("save", [np.save, np.savez, np.savez_compressed])
def test_one_array(tmp_path, save, kind):
    path = tmp_path / f"votes.{'npy' if save is np.save else 'npz'}"
    save(path, VOTES.astype(kind))
    np.testing.assert_array_equal(read_votes(path), VOTES)


@pytest.mark.parametrize("kind", [bool, np.uint8])
def test_zeros_stand_for_minus_one_and_that_is_said(tmp_path, kind):
    said = []
    np.save(tmp_path / "votes.npy", (VOTES > 0).astype(kind))
    np.testing.assert_array_equal(read_votes(tmp_path / "votes.npy", say=said.append), VOTES)
    assert len(said) == 1


def test_files_that_hold_something_else(tmp_path):
    path = tmp_path / "votes.npz"
    np.savez(path, one=VOTES, two=VOTES)
    with pytest.raises(InputError, match="must hold one array; it holds 'one', 'two'"):
        read_votes(path)
    np.save(tmp_path / "objects.npy", np.array([{}, []], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="not a complete file of numpy's numbers"):
        read_votes(tmp_path / "objects.npy")
    np.save(tmp_path / "twos.npy", 2 * VOTES)
    with pytest.raises(InputError, match=r"twos.npy: votes must be -1 or \+1; found 2 at row 0"):
        read_votes(tmp_path / "twos.npy")


@pytest.mark.parametrize("save", [np.save, np.savez])
def test_half_a_file(tmp_path, save):
    path = tmp_path / f"votes.{'npy' if save is np.save else 'npz'}"
    save(path, VOTES)
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(InputError, match="not a complete file of numpy's numbers"):
        read_votes(path)


def stored(weights, labels=(1, -1, 1), **stats) -> StoredSolution:
    solution = Solution(
        np.asarray(weights, dtype=float),
        0.0,
        np.asarray(labels, dtype=np.int8),
        eta=1,
        bound=0,
        status="feasible",
        runtime=0.1,
        stats=stats,
    )
    return StoredSolution(solution, n_positive=3, lower=0.1, upper=1e6)


class TestSolution:
    @settings(max_examples=50, deadline=None)
    @given(
        weights=arrays(float, st.integers(1, 8), elements=st.floats(0.1, 1e6)),
        labels=arrays(np.int8, st.integers(1, 30), elements=st.sampled_from([-1, 1])),
    )
    def test_comes_back_to_the_last_bit(self, tmp_path_factory, weights, labels):
        path = tmp_path_factory.mktemp("solution") / "solution.json"
        before = stored(weights, labels)
        before.write(path)
        after = StoredSolution.read(path)
        np.testing.assert_array_equal(after.solution.weights, weights)
        np.testing.assert_array_equal(after.solution.labels, labels)
        assert after.solution.labels.dtype == np.int8
        for name in ("eta", "bound", "status", "offset", "runtime"):
            assert getattr(after.solution, name) == getattr(before.solution, name)
        for name in ("n_positive", "lower", "upper"):
            assert getattr(after, name) == getattr(before, name)

    def test_statistics_of_any_kind_can_be_stored(self, tmp_path):
        path = tmp_path / "solution.json"
        odd = {
            "array": np.arange(2),
            "int": np.int64(3),
            "inf": np.inf,
            "nested": {"nan": [np.nan]},
        }
        stored([1.0], odd=odd, path=path, flag=True, nothing=None).write(path)
        assert StoredSolution.read(path).solution.stats == {
            "odd": {"array": [0, 1], "int": 3, "inf": None, "nested": {"nan": [None]}},
            "path": str(path),
            "flag": True,
            "nothing": None,
        }

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"format": "other"}, f'must hold "format": "{FORMAT}"'),
            ({"format_version": FORMAT_VERSION + 1}, "use the c2rf that wrote it"),
            ({"status": "perfect"}, "'status' must be one of"),
            ({"weights": [1.0, "2"]}, "'weights' must be numbers; found '2'"),
            ({"weights": 1.0}, "'weights' must be list"),
            ({"labels": "+0-"}, "'labels' must consist of . and -; found '0'"),
            ({"eta": True}, "'eta' must be int; found True"),
            ({"bound": 0.5}, "'bound' must be int; found 0.5"),
            ({"lower": "1"}, "'lower' must be int or float; found '1'"),
            ({"n_positive": ...}, "'n_positive' is missing"),
            ({"lower": 10**400}, "'lower' must be int or float; found 1000"),
            ({"weights": [10**400]}, "'weights' must be numbers; found 1000"),
            ({"offset_range": [2, 1]}, "finite with lo <= hi"),
            ({"offset_range": [1]}, "must be None or a pair"),
            ({"votes_sha256": 3}, "'votes_sha256' must be str; found 3"),
            ({"votes_sha256": ...}, "'votes_sha256' is missing"),
            ({"n_trees": ...}, "'n_trees' is missing"),
        ],
    )
    def test_a_damaged_file_is_told_apart(self, tmp_path, change, said):
        path = tmp_path / "solution.json"
        stored([1.0]).write(path)
        document = json.loads(path.read_text()) | change
        path.write_text(json.dumps({k: v for k, v in document.items() if v is not ...}))
        with pytest.raises(InputError, match=said) as caught:
            StoredSolution.read(path)
        assert "solution.json" in str(caught.value)

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            ("{", "not JSON"),
            ("[]", "not a solution"),
            ('{"eta": 1, "eta": 2}', "the key 'eta' is there more than once"),
            ('{"eta": {"a": 1, "a": 1}}', "the key 'a' is there more than once"),
            (f'{{"eta": {"9" * 5000}}}', "not JSON: Exceeds the limit"),
            ("[" * 100_000, "not JSON: maximum recursion depth"),
            ('{"eta": NaN}', "NaN is not a number of JSON"),
        ],
        ids=["cut off", "list", "twice", "twice below", "long", "deep", "NaN"],
    )
    def test_what_is_no_solution_is_refused(self, tmp_path, content, said):
        with pytest.raises(InputError, match=said):
            StoredSolution.read(write(tmp_path, content))


def test_certificates_come_back_and_are_json(tmp_path):
    certificate = {"bound": 3, "tree": [["steps"], ["add", 1, [2, 3]]]}
    path = tmp_path / "proof.json"
    path.write_text(certificate_text(certificate))
    assert read_certificate(path) == certificate
    assert len(path.read_text().splitlines()) == 7  # a line for each node
    for text in ("{", '{"bound": 1, "bound": 2}', "9" * 5000):
        path.write_text(text)
        with pytest.raises(InputError, match=r"proof.json is not a certificate"):
            read_certificate(path)
