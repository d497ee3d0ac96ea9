"""Outputs that appear together or not at all: other threads, other processes, folders."""

from __future__ import annotations

import threading

import pytest

from c2rf.data.atomic import atomic_folder, atomic_output, check_folder
from c2rf.exceptions import InputError


def test_a_thread_writes_as_the_main_one_does(tmp_path):
    path = tmp_path / "out.txt"

    def write() -> None:
        with atomic_output(path) as temporary:
            temporary.write_text("all of it")

    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
    assert path.read_text() == "all of it"
    assert list(tmp_path.iterdir()) == [path]


def test_what_another_one_is_writing_is_left_alone(tmp_path):
    path = tmp_path / "out.txt"
    with atomic_output(path) as first:
        first.write_text("first")
        with atomic_output(path) as second:
            second.write_text("second")
        assert first.exists()
        assert path.read_text() == "second"
        path.unlink()
    assert path.read_text() == "first"


def test_a_folder_that_cannot_be_made(tmp_path):
    path = tmp_path / "absent" / "parts"
    with (
        pytest.raises(InputError, match=r"parts cannot be written: No such file"),
        atomic_folder(path),
    ):
        pass


def test_a_folder_appears_whole_and_replaces_only_by_force(tmp_path):
    path = tmp_path / "parts"
    for text, force in (("one", False), ("two", True)):
        with atomic_folder(path, force=force) as folder:
            (folder / "part.txt").write_text(text)
        assert (path / "part.txt").read_text() == text
    with pytest.raises(InputError, match="exists already"), atomic_folder(path) as folder:
        (folder / "part.txt").write_text("three")
    assert (path / "part.txt").read_text() == "two"
    assert list(tmp_path.iterdir()) == [path]


def test_folders_that_should_not_be_written(tmp_path):
    with pytest.raises(InputError, match="exists already"):
        check_folder(tmp_path)
    with pytest.raises(InputError, match="is an input"):
        check_folder(tmp_path, force=True, inputs=[tmp_path])
    with pytest.raises(InputError, match="there is no folder"):
        check_folder(tmp_path / "absent" / "parts")
    check_folder(tmp_path, force=True)
