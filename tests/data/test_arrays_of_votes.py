"""Votes in numpy's own files."""

from __future__ import annotations

import numpy as np
import pytest

from c2rf.data.forest_files import read_votes
from c2rf.exceptions import InputError

VOTES = np.array([[1, -1, 1], [-1, -1, 1]], dtype=np.int8)


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
