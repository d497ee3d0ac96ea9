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
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from c2rf._utils.text import for_user
from c2rf.exceptions import InputError

fcntl: Any
try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None


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
        check_output(path, force=force)
    locks = ExitStack()
    try:
        temporaries: list[Path] = []
        for path in paths:
            _remove_abandoned(path)
            temporaries.append(path.with_name(f".{secrets.token_hex(4)}-{path.name}"))
            _lock(locks.enter_context(temporaries[-1].open("wb")))
        yield temporaries
        for path in paths:
            check_output(path, force=force)  # it may have appeared meanwhile
        if fcntl is None:
            locks.close()  # Windows does not rename files that are open
        with _uninterrupted():
            for temporary, path in zip(temporaries, paths, strict=True):
                temporary.replace(path)
    except OSError as error:
        names = " and ".join(map(str, paths))
        raise InputError(f"{names} cannot be written: {error.strerror or error}") from error
    finally:
        for temporary in temporaries:
            temporary.unlink(missing_ok=True)
        locks.close()


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
    temporary = path.with_name(f".{secrets.token_hex(4)}-{path.name}-parts").absolute()
    aside = temporary.with_name(f"{temporary.name}-old")
    try:
        temporary.mkdir()
        yield temporary
        if path.exists():
            _check_replaceable(path, force)
            path.rename(aside)
        temporary.rename(path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        shutil.rmtree(aside, ignore_errors=True)


def _check_replaceable(path: Path, force: bool) -> None:
    if path.exists() and not force:
        option = for_user("force=True", "--force")
        raise InputError(
            f"{path} exists already; choose another name or overwrite it with {option}"
        )


def _remove_abandoned(path: Path) -> None:
    """Remove temporary files of processes that were killed while they wrote ``path``."""
    pattern = re.compile(r"\.[0-9a-f]{8}-" + re.escape(path.name))
    for other in path.parent.iterdir():
        if pattern.fullmatch(other.name) and other.is_file():
            with other.open("rb") as file:
                if _lock(file):
                    other.unlink(missing_ok=True)


def _lock(file: IO[bytes]) -> bool:
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
