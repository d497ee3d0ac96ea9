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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
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
    if not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: there is no folder {path.parent}")
    if len(os.fsencode(path.name)) > 255:
        raise InputError(f"{path} cannot be written: a name has at most 255 bytes")
    if path.exists() and not path.is_file() and not (as_folder and path.is_dir()):
        raise InputError(f"{path} cannot be written: it is not a regular file")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"{path} cannot be written: no permission to write to {path.parent}")
    if any(path.exists() and given.exists() and path.samefile(given) for given in inputs):
        raise InputError(f"{path} is an input; choose another name for the output")
    _check_replaceable(path, force)


@contextmanager
def atomic_output(path: Path, *, force: bool = False) -> Iterator[Path]:
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
    with atomic_outputs([path], force=force) as (temporary,):
        yield temporary


@contextmanager
def atomic_outputs(paths: Sequence[Path], *, force: bool = False) -> Iterator[list[Path]]:
    """Yield temporary names for several files that appear together or not at all.

    What is replaced keeps its permissions, and a link stays a link to what is replaced.

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
    locks, temporaries = ExitStack(), list[Path]()
    for path in paths:
        check_output(path, force=force)
    with _naming(*paths):
        try:
            places = [path.resolve() for path in paths]
            for place in places:
                _remove_abandoned(place)
                temporaries.append(_hidden(place))
                _lock(locks.enter_context(temporaries[-1].open("wb")))
            yield temporaries
            for temporary in temporaries:
                _sync(temporary)
            if fcntl is None:
                locks.close()  # Windows does not rename files that are open
            with _uninterrupted():
                _place_all(temporaries, places, force)
        finally:
            for temporary in temporaries:
                _forget(temporary)
            locks.close()


def write_all(writers: Mapping[Path, Callable[[Path], Any]], *, force: bool = False) -> list[Any]:
    """Write several files that appear together or not at all; return what the writers do.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "out.txt"
    >>> write_all({target: lambda place: place.write_text("all of it")})
    [9]
    """
    with atomic_outputs(list(writers), force=force) as places:
        return [write(place) for write, place in zip(writers.values(), places, strict=True)]


def _place_all(temporaries: Sequence[Path], places: Sequence[Path], force: bool) -> None:
    """Give files their names, all or none."""
    with ExitStack() as tidy, ExitStack() as undo:
        for temporary, place in zip(temporaries, places, strict=True):
            if not place.exists():
                _place_new(temporary, place)
                undo.callback(place.unlink, missing_ok=True)
                continue
            _check_replaceable(place, force)
            shutil.copymode(place, temporary)
            aside = _hidden(place)
            _copy(place, aside)
            tidy.callback(_forget, aside)
            temporary.replace(place)
            undo.callback(aside.replace, place)
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


def _copy(path: Path, other: Path) -> None:
    """Give a file a second name, or copy it where that cannot be."""
    try:
        os.link(path, other)
    except OSError:
        shutil.copy2(path, other)


@contextmanager
def atomic_folder(path: Path, *, force: bool = False) -> Iterator[Path]:
    """Yield an empty folder to write to; it becomes ``path`` if the block does not fail.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "labels"
    >>> with atomic_folder(target) as folder:
    ...     _ = (folder / "part-1.txt").write_text("one")
    >>> [file.name for file in target.iterdir()]
    ['part-1.txt']
    """
    with _naming(path), ExitStack() as locks:
        place = path.resolve()
        _remove_abandoned(place)
        temporary = _hidden(place)
        aside = temporary.with_name(f"{temporary.name}{_OLD}")
        try:
            temporary.mkdir()
            _lock_folder(temporary, locks)
            yield temporary
            for part in temporary.iterdir():
                _sync(part)
            _sync(temporary)
            with _uninterrupted():
                if place.exists():
                    _check_replaceable(path, force)
                    shutil.copymode(place, temporary)
                    place.rename(aside)
                try:
                    temporary.rename(place)
                except OSError:
                    if aside.exists():
                        aside.rename(place)
                    raise
                _sync(place.parent)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
            if place.exists():
                shutil.rmtree(aside, ignore_errors=True)


@contextmanager
def scratch_folder(prefix: str = "c2rf-work-") -> Iterator[Path]:
    """Make a folder for what is not kept; what processes that were killed left is removed now.

    No other user can read it. Whose folder it is holds a lock in it, which is free once that
    process was killed.
    """
    for forgotten in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(OSError), _locked(forgotten):
            shutil.rmtree(forgotten, ignore_errors=True)
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
    file = path.open("ab")
    # On Windows a folder with an open file in it cannot be removed.
    if not path.exists() or not (_lock(file) or fcntl is None):
        file.close()
        raise BlockingIOError
    return file


@contextmanager
def _naming(*paths: Path) -> Iterator[None]:
    """Say which file or folder could not be written, and why."""
    try:
        yield
    except OSError as error:
        names = " and ".join(map(str, paths))
        raise InputError(f"{names} cannot be written: {error.strerror or error}") from error


def _forget(path: Path) -> None:
    """Remove a hidden file; what cannot be removed now is removed by the next one that writes."""
    with suppress(OSError):
        path.unlink(missing_ok=True)


def _hidden(path: Path) -> Path:
    """Return a hidden name beside a file, with its ending; not longer than names may be."""
    return path.with_name(f".{secrets.token_hex(4)}-{_tail(path)}")


def _tail(path: Path) -> str:
    name = path.name
    return name if len(os.fsencode(name)) <= _LONGEST else name[-_LONGEST // 4 :]


def _sync(path: Path) -> None:
    """Let a file, or the names in a folder, be on the disk before anything else is done."""
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
    """Remove what processes left that were killed while they wrote ``path``.

    A folder that was put aside and not yet replaced gets its name back.
    """
    pattern = re.compile(rf"\.[0-9a-f]{{8}}-{re.escape(_tail(path))}(?:{_OLD})?")
    for other in path.parent.iterdir():
        if not pattern.fullmatch(other.name):
            continue
        with ExitStack() as locks:
            if other.is_dir():
                if not _lock_folder(other, locks):
                    continue
                if other.name.endswith(_OLD) and not path.exists():
                    other.rename(path)
                else:
                    shutil.rmtree(other, ignore_errors=True)
            elif _lock(locks.enter_context(other.open("rb"))):
                other.unlink(missing_ok=True)


def _lock_folder(folder: Path, locks: ExitStack) -> bool:
    """Lock a folder until the stack is closed, see :func:`_lock`."""
    if fcntl is None:
        return False
    number = os.open(folder, os.O_RDONLY)
    locks.callback(os.close, number)
    return _lock(number)


def _lock(file: IO[bytes] | int) -> bool:
    """Lock a file unless another process holds the lock; False where files cannot be locked."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
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
