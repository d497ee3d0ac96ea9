"""Files written completely or not at all.

A file is written under a temporary name and renamed when it is complete, so half a file is never
seen. The temporary file is locked as long as its process lives: temporary files without a lock were
left by processes that were killed, and are removed by the next one that writes the same file.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from c2rf._utils.text import for_user
from c2rf.exceptions import InputError

fcntl: Any
try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None

_OLD = "-old"
_LONGEST = 240  # bytes of a name, so that a hidden one beside it is not too long


def check_output(
    path: Path, *, force: bool = False, inputs: Sequence[Path] = (), as_folder: bool = False
) -> None:
    """Refuse, before any work is done, a file that could not or should not be written.

    Parameters
    ----------
    path : Path
        Where the output is to go.
    force : bool
        Whether an existing file may be overwritten.
    inputs : sequence of Path
        Files that are read; none of them may be the output, not even by force.
    as_folder : bool
        Whether it is to be a folder, which may replace a folder.

    Examples
    --------
    >>> check_output(Path("no-such-folder/out.csv"))
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputError: no-such-folder/out.csv cannot be written: there is no folder \
no-such-folder
    """
    place = Path(os.path.realpath(path)) if os.path.islink(path) else path
    if os.path.islink(place):
        raise InputError(f"{path} cannot be written: it is a link to itself")
    if not place.parent.is_dir():
        raise InputError(f"{path} cannot be written: there is no folder {place.parent}")
    if len(os.fsencode(path.name)) > 255:
        raise InputError(f"{path} cannot be written: a name has at most 255 bytes")
    if path.exists() and not path.is_file() and not (as_folder and path.is_dir()):
        raise InputError(f"{path} cannot be written: it is not a regular file")
    if not os.access(place.parent, os.W_OK):
        raise InputError(f"{path} cannot be written: no permission to write to {place.parent}")
    if any(path.exists() and given.exists() and path.samefile(given) for given in inputs):
        raise InputError(f"{path} is an input; choose another name for the output")
    _check_replaceable(path, force)


@contextmanager
def atomic_output(path: Path, *, force: bool = False, as_folder: bool = False) -> Iterator[Path]:
    """Yield a temporary name to write to; what is there at the end becomes ``path``.

    The temporary name ends like ``path``, for writers that look at the ending. If the block
    fails, ``path`` is untouched and the temporary file is gone; a full disk is an error.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "out.txt"
    >>> with atomic_output(target) as temporary:
    ...     _ = temporary.write_text("all of it")
    ...     target.exists()
    False
    >>> target.read_text()
    'all of it'
    """
    with atomic_outputs([path], force=force, folders=[path] if as_folder else []) as (temporary,):
        yield temporary


@contextmanager
def atomic_outputs(
    paths: Sequence[Path], *, force: bool = False, folders: Sequence[Path] = ()
) -> Iterator[list[Path]]:
    """Yield temporary names for several outputs that appear together or not at all.

    Those in ``folders`` are folders, empty at first. What is replaced keeps its permissions, and a
    link stays a link to what is replaced.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with atomic_outputs([folder / "a", folder / "b"]) as temporaries:
    ...     for temporary in temporaries:
    ...         _ = temporary.write_text("all of it")
    >>> sorted(path.name for path in folder.iterdir())
    ['a', 'b']
    """
    for path in paths:
        check_output(path, force=force, as_folder=path in folders)
    temporaries = list[Path]()
    with _naming(*paths), ExitStack() as stack:
        places = [path.resolve() for path in paths]
        for path, place in zip(paths, places, strict=True):
            _remove_abandoned(place)
            temporary = _hidden(place)
            stack.callback(_forget, temporary)
            # Nobody else may read meanwhile what only the user may read at the end.
            mode = place.stat().st_mode & 0o777 | 0o700 if place.exists() else 0o777
            if path in folders:
                temporary.mkdir(mode)
            else:
                temporary.touch(mode & 0o666, exist_ok=False)
            _lock(temporary, stack)
            temporaries.append(temporary)
        with _final_names(temporaries, paths):
            yield temporaries
        for temporary in temporaries:
            for part in temporary.iterdir() if temporary.is_dir() else ():
                _sync(part)
            _sync(temporary)
        with _uninterrupted():
            _place_all(temporaries, places, force)


def _place_all(temporaries: Sequence[Path], places: Sequence[Path], force: bool) -> None:
    """Give outputs their names, all or none."""
    with ExitStack() as tidy, ExitStack() as undo:
        for temporary, place in zip(temporaries, places, strict=True):
            if not place.exists():
                _place_new(temporary, place)
                undo.callback(_forget, place)
                continue
            _check_replaceable(place, force)
            shutil.copymode(place, temporary)
            aside = temporary.with_name(f"{temporary.name}{_OLD}")
            tidy.callback(_forget_old, aside, place)
            _put_aside(place, aside)
            undo.callback(_put_back, aside, place)
            temporary.replace(place)
        for folder in {place.parent for place in places}:
            _sync(folder)
        undo.pop_all()


def _place_new(temporary: Path, place: Path) -> None:
    """Give a file a name that nobody has, not even another process that asked at the same time."""
    try:
        os.link(temporary, place)
    except FileExistsError:
        raise _taken(place) from None
    except OSError:  # a disk without links; on Windows this refuses a name that is taken
        temporary.rename(place)


def _put_aside(place: Path, aside: Path) -> None:
    """Rename a folder; give a file a second name, or copy it where that cannot be."""
    if place.is_dir():
        place.rename(aside)
        return
    try:
        os.link(place, aside)
    except OSError:
        shutil.copy2(place, aside)


def _put_back(aside: Path, place: Path) -> None:
    if aside.is_dir():
        _forget(place)
    if aside.exists():
        aside.replace(place)


def _forget_old(aside: Path, place: Path) -> None:
    if place.exists():  # else it could not be put back, and is all there is
        _forget(aside)


@contextmanager
def scratch_folder(prefix: str = "c2rf-work-") -> Iterator[Path]:
    """Make a folder for what is not kept; what processes that were killed left is removed now.

    No other user can read it. Whose folder it is holds a lock in it, which is free once that
    process was killed.
    """
    for forgotten in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(OSError):
            if hasattr(os, "getuid") and forgotten.lstat().st_uid != os.getuid():
                continue
            with _locked(forgotten):
                shutil.rmtree(forgotten, ignore_errors=True)
            shutil.rmtree(forgotten)  # Windows keeps the lock as long as it is open
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix))
        with suppress(OSError):  # another process has found it first, and removes it
            lock = _locked(folder)
            break
    try:
        yield folder
    finally:
        lock.close()
        shutil.rmtree(folder, ignore_errors=True)


def _locked(folder: Path) -> IO[bytes]:
    """Lock a folder until the file is closed; OSError if somebody has it or has removed it."""
    path = folder / "lock"
    with ExitStack() as stack:
        file = stack.enter_context(path.open("ab"))
        if fcntl is None:
            msvcrt: Any = import_module("msvcrt")
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not path.exists():
            raise FileNotFoundError
        stack.pop_all()
    return file


@contextmanager
def _naming(*paths: Path) -> Iterator[None]:
    """Say which file or folder could not be written, and why."""
    try:
        yield
    except OSError as error:
        names = " and ".join(map(str, paths))
        raise InputError(f"{names} cannot be written: {error.strerror or error}") from error


@contextmanager
def _final_names(temporaries: Sequence[Path], paths: Sequence[Path]) -> Iterator[None]:
    """Say the names of outputs where an error has their temporary ones."""
    try:
        yield
    except InputError as error:
        text = str(error)
        for temporary, path in zip(temporaries, paths, strict=True):
            text = text.replace(str(temporary), str(path))
        if text == str(error):
            raise
        raise InputError(text) from error


def _forget(path: Path) -> None:
    """Remove what is hidden; what cannot be removed now is removed by the next one that writes."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _hidden(path: Path) -> Path:
    """Return a hidden name beside a file, with its ending; not longer than names may be."""
    return path.with_name(f".{secrets.token_hex(4)}-{_tail(path)}")


def _tail(path: Path) -> str:
    name = path.name
    return name if len(os.fsencode(name)) <= _LONGEST else name[-_LONGEST // 4 :]


def _sync(path: Path) -> None:
    """Flush a file, or the entries of a folder, to the disk."""
    if path.is_dir() and os.name != "posix":
        return
    file = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _check_replaceable(path: Path, force: bool) -> None:
    if path.exists() and not force:
        raise _taken(path)


def _taken(path: Path) -> InputError:
    option = for_user("force=True", "--force")
    return InputError(f"{path} exists already; choose another name or overwrite it with {option}")


def _remove_abandoned(path: Path) -> None:
    """Remove temporary files of processes that were killed while they wrote ``path``.

    A folder that was put aside and not yet replaced gets its name back.
    """
    pattern = re.compile(rf"\.[0-9a-f]{{8}}-{re.escape(_tail(path))}(?:{_OLD})?")
    for other in path.parent.iterdir():
        with ExitStack() as locks:
            if not (pattern.fullmatch(other.name) and _lock(other, locks)):
                continue
            if other.name.endswith(_OLD) and other.is_dir() and not path.exists():
                other.rename(path)
            else:
                _forget(other)


def _lock(path: Path, locks: ExitStack) -> bool:
    """Lock a file or folder until the stack is closed, unless another process holds the lock.

    Windows does not rename files that are open: there nothing is locked.
    """
    if fcntl is None:
        return False
    number = os.open(path, os.O_RDONLY)
    locks.callback(os.close, number)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait until a few renames are done."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals go to the main thread
        return
    waiting: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: waiting.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if waiting:
        signal.raise_signal(signal.SIGINT)
