"""Outputs that appear together or not at all: other threads, other processes, folders."""

from __future__ import annotations

import errno
import os
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from c2rf.data import atomic
from c2rf.data.atomic import (
    atomic_output,
    atomic_outputs,
    check_output,
    scratch_folder,
)
from c2rf.exceptions import InputError


def write(folder: Path, content: str) -> Path:
    path = folder / "file.csv"
    path.write_text(content)
    return path


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
        pytest.raises(InputError, match=r"parts cannot be written: there is no folder"),
        atomic_output(path, as_folder=True),
    ):
        pass


def test_a_folder_appears_whole_and_replaces_only_by_force(tmp_path):
    path = tmp_path / "parts"
    for text, force in (("one", False), ("two", True)):
        with atomic_output(path, force=force, as_folder=True) as folder:
            (folder / "part.txt").write_text(text)
        assert (path / "part.txt").read_text() == text
    with pytest.raises(InputError, match="exists already"), atomic_output(path, as_folder=True):
        pass
    assert (path / "part.txt").read_text() == "two"
    assert list(tmp_path.iterdir()) == [path]


def test_folders_that_should_not_be_written(tmp_path):
    with pytest.raises(InputError, match="exists already"):
        check_output(tmp_path, as_folder=True)
    with pytest.raises(InputError, match="is an input"):
        check_output(tmp_path, force=True, inputs=[tmp_path], as_folder=True)
    with pytest.raises(InputError, match="there is no folder"):
        check_output(tmp_path / "absent" / "parts", as_folder=True)
    check_output(tmp_path, force=True, as_folder=True)


def is_open(path: Path) -> bool:
    """Whether this process has the file open."""
    found = (os.path.realpath(each) for each in Path("/proc/self/fd").iterdir())
    return str(path) in found


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are listed by Linux")
@pytest.mark.parametrize("has_locks", [True, False])
def test_a_lock_is_held_while_renaming_but_on_windows_files_are_closed(
    tmp_path, monkeypatch, has_locks
):
    """Unlocked temporary files are swept away; Windows does not rename files that are open."""
    if not has_locks:
        monkeypatch.setattr(atomic, "fcntl", None)
    found, replace = [], Path.replace

    def watched(temporary, target):
        found.append(is_open(temporary))
        return replace(temporary, target)

    monkeypatch.setattr(Path, "replace", watched)
    for name in "ab":
        (tmp_path / name).touch()
    with atomic_outputs([tmp_path / "a", tmp_path / "b"], force=True) as temporaries:
        for temporary in temporaries:
            temporary.write_text("all of it")
        assert [is_open(temporary) for temporary in temporaries] == [has_locks, has_locks]
    assert found == [has_locks, has_locks]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_what_a_killed_process_left_is_removed(tmp_path):
    left = tmp_path / ".0123abcd-out.csv"
    left.write_text("half")
    with atomic_output(tmp_path / "out.csv") as temporary:
        assert not left.exists()
        temporary.write_text("all of it")
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_permissions_and_links_are_kept(tmp_path):
    path = write(tmp_path, "old")
    path.chmod(0o600)
    link = tmp_path / "link.csv"
    link.symlink_to(path)
    with atomic_output(link, force=True) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file.csv", "link.csv"]


@pytest.mark.parametrize("has_links", [True, False])
def test_if_the_second_file_cannot_be_placed_the_first_is_what_it_was(
    tmp_path, monkeypatch, has_links
):
    old, new, last = (tmp_path / name for name in ("old", "new", "last"))
    old.write_text("as it was")
    last.write_text("as it was")
    replace, full = Path.replace, OSError(errno.ENOSPC, "No space left on device")

    def failing(temporary, target):
        if target == last:
            raise full
        return replace(temporary, target)

    def no_links(*given):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(Path, "replace", failing)
    if not has_links:
        monkeypatch.setattr(os, "link", no_links)
    outputs = atomic_outputs([old, new, last], force=True)
    for temporary in outputs.__enter__():
        temporary.write_text("new")
    with pytest.raises(InputError, match=r"last cannot be written: No space left on device"):
        outputs.__exit__(None, None, None)
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == {
        "old": "as it was",
        "last": "as it was",
    }


def test_of_two_writers_at_the_same_time_one_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "out.txt"
    output = atomic_output(path)
    output.__enter__().write_text("second")
    monkeypatch.setattr(Path, "exists", lambda self: False)  # it looks a moment too early
    path.write_text("first")
    with pytest.raises(InputError, match="exists already"):
        output.__exit__(None, None, None)
    monkeypatch.undo()
    assert path.read_text() == "first"
    assert list(tmp_path.iterdir()) == [path]


def test_names_as_long_as_a_disk_has_them(tmp_path):
    path = tmp_path / ("ö" * 125 + ".csv")
    with atomic_output(path) as temporary:
        assert temporary.suffix == ".csv"
        temporary.write_text("all of it")
    assert path.read_text() == "all of it"
    with pytest.raises(InputError, match="a name has at most 255 bytes"):
        check_output(tmp_path / ("ö" * 126 + ".csv"))


def test_a_folder_that_cannot_be_placed_leaves_the_old_one(tmp_path, monkeypatch):
    path, replace = tmp_path / "parts", Path.replace
    path.mkdir()
    (path / "old").touch()

    def failing(this, target):
        if target == path and not this.name.endswith("-old"):
            raise OSError(errno.EIO, "Input/output error")
        return replace(this, target)

    monkeypatch.setattr(Path, "replace", failing)
    with (
        pytest.raises(InputError, match="parts cannot be written: Input/output error"),
        atomic_output(path, force=True, as_folder=True) as folder,
    ):
        (folder / "new").touch()
    assert [each.name for each in path.iterdir()] == ["old"]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("is_new", [True, False])
def test_if_a_file_cannot_be_placed_a_folder_before_it_is_what_it_was(
    tmp_path, monkeypatch, is_new
):
    path, last, replace = tmp_path / "parts", tmp_path / "last", Path.replace
    last.write_text("as it was")
    if not is_new:
        path.mkdir()
        (path / "old").touch()

    def failing(this, target):
        if target == last:
            raise OSError(errno.EIO, "Input/output error")
        return replace(this, target)

    monkeypatch.setattr(Path, "replace", failing)
    outputs = atomic_outputs([path, last], force=True, folders=[path])
    folder, _ = outputs.__enter__()
    (folder / "new").touch()
    with pytest.raises(InputError, match="last cannot be written: Input/output error"):
        outputs.__exit__(None, None, None)
    assert sorted(tmp_path.rglob("*")) == ([last] if is_new else [last, path, path / "old"])


def test_on_windows_a_folder_in_use_is_locked_by_a_file_in_it(tmp_path, monkeypatch):
    """There is no fcntl; another process's lock raises OSError."""
    taken = set()

    def locking(number, how, n_bytes):
        place = os.fstat(number).st_ino
        if place in taken:
            raise PermissionError(errno.EACCES, "Permission denied")
        taken.add(place)

    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(locking=locking, LK_NBLCK=2))
    monkeypatch.setattr(atomic, "fcntl", None)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with scratch_folder() as first:
        (first / "rows").touch()
        with scratch_folder() as second:
            assert (first / "rows").exists()
        assert not second.exists()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(atomic.fcntl is None, reason="files are not locked")
def test_what_killed_processes_left_of_folders(tmp_path):
    path = tmp_path / "parts"
    for name in (".0123abcd-parts-old", ".01234567-parts"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "part").write_text(name)
    with atomic_output(path, force=True, as_folder=True) as folder:
        assert (path / "part").read_text() == ".0123abcd-parts-old"  # as it was before the kill
        assert sorted(tmp_path.iterdir()) == [folder, path]
    assert list(path.iterdir()) == []


def test_folders_for_what_is_not_kept_are_removed_by_the_next_one(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    forgotten = tmp_path / "c2rf-work-forgotten"
    forgotten.mkdir()
    (forgotten / "people.csv").write_text("a,b")
    with scratch_folder() as first, scratch_folder() as second:
        assert sorted(tmp_path.iterdir()) == sorted([first, second])
        assert first.stat().st_mode & 0o777 == 0o700
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_taken_before_it_is_locked(monkeypatch, tmp_path):
    """Another start takes it for a forgotten one."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    locked, calls = atomic._locked, []

    def too_late(folder):
        calls.append(folder)
        if len(calls) == 1:
            folder.rmdir()
        return locked(folder)

    monkeypatch.setattr(atomic, "_locked", too_late)
    with scratch_folder() as folder:
        assert [folder] == calls[1:]


def test_what_cannot_be_removed_is_removed_by_the_next_one(tmp_path, monkeypatch):
    path = write(tmp_path, "old")

    def failing(this, missing_ok=False):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Path, "unlink", failing)
    with atomic_output(path, force=True) as temporary:
        temporary.write_text("new")
    monkeypatch.undo()
    assert path.read_text() == "new"
    with atomic_output(path, force=True) as temporary:
        temporary.write_text("newer")
    assert [each.read_text() for each in tmp_path.iterdir()] == ["newer"]


class TestOutput:
    def test_appears_only_when_complete(self, tmp_path):
        path = tmp_path / "out.csv"
        with atomic_output(path) as temporary:
            temporary.write_text("half")
            assert not path.exists()
            assert temporary.suffix == ".csv"
        assert path.read_text() == "half"
        assert list(tmp_path.iterdir()) == [path]

    def test_a_failure_leaves_everything_as_it_was(self, tmp_path):
        path = write(tmp_path, "precious")

        def fail_half_way() -> None:
            with atomic_output(path, force=True) as temporary:
                temporary.write_text("half")
                raise RuntimeError

        with pytest.raises(RuntimeError):
            fail_half_way()
        assert path.read_text() == "precious"
        assert list(tmp_path.iterdir()) == [path]

    def test_is_not_overwritten_unless_forced(self, tmp_path):
        path = write(tmp_path, "old")
        with pytest.raises(InputError, match=r"exists already.*force=True"), atomic_output(path):
            pass
        with atomic_output(path, force=True) as temporary:
            temporary.write_text("new")
        assert path.read_text() == "new"

    def test_a_file_that_appears_meanwhile_is_kept(self, tmp_path):
        path = tmp_path / "out.csv"
        with pytest.raises(InputError, match="exists already"), atomic_output(path):
            path.write_text("theirs")
        assert path.read_text() == "theirs"
        assert list(tmp_path.iterdir()) == [path]

    def test_an_input_is_not_overwritten_even_by_force(self, tmp_path):
        path = write(tmp_path, "input")
        other = tmp_path / "sub" / ".." / path.name
        (tmp_path / "sub").mkdir()
        with pytest.raises(InputError, match="is an input"):
            check_output(other, force=True, inputs=[path])

    def test_folders_are_refused(self, tmp_path):
        with pytest.raises(InputError, match="not a regular file"):
            check_output(tmp_path, force=True)
        with pytest.raises(InputError, match="there is no folder"):
            check_output(tmp_path / "absent" / "out.csv")

    def test_a_folder_without_permission_is_refused(self, tmp_path, monkeypatch):
        monkeypatch.setattr("os.access", lambda *_: False)
        with pytest.raises(InputError, match="no permission"):
            check_output(tmp_path / "out.csv")


def test_an_error_names_the_file_and_not_the_temporary_one(tmp_path):
    path = tmp_path / "out.sav"
    with pytest.raises(InputError) as caught, atomic_outputs([path]) as (temporary,):
        raise InputError(f"{temporary}: too long")
    assert str(caught.value) == f"{path}: too long"


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_what_only_the_user_may_read_is_never_open_to_others(tmp_path):
    path, folder = write(tmp_path, "old"), tmp_path / "parts"
    folder.mkdir()
    path.chmod(0o600)
    folder.chmod(0o700)
    with atomic_outputs([path, folder], force=True, folders=[folder]) as temporaries:
        assert [each.stat().st_mode & 0o777 for each in temporaries] == [0o600, 0o700]


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders have no owners")
def test_folders_of_other_users_are_left_alone(tmp_path, monkeypatch):
    """A link in them might lead anywhere."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "c2rf-work-theirs").mkdir()
    (tmp_path / "c2rf-work-theirs" / "lock").symlink_to(tmp_path / "ours")
    monkeypatch.setattr(os, "getuid", lambda: 1 << 20)
    with scratch_folder():
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["c2rf-work-theirs"]
