"""What can go wrong in reading a file, as an error that names it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from c2rf._text import for_user
from c2rf.exceptions import InputError
from c2rf.files.dialect import SEPARATORS
from c2rf.files.encodings import encoding_name


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what can go wrong in reading ``path`` into an error that names it."""
    try:
        yield
    except FileNotFoundError as error:
        raise InputError(f"{path}: there is no such file") from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not {encoding_name(error.encoding)} text; save it as UTF-8, or name its "
            f"encoding with {for_user('encoding', '--encoding')}"
        ) from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error


def check_names(path: object, names: Sequence[str], separator: str = "") -> None:
    """Refuse headers that do not name every column once.

    Examples
    --------
    >>> check_names("people.csv", ["id", ""])
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputError: people.csv: column 2 has no name; name it in the first line, or \
remove it if it only numbers the rows. If the names take two lines, or a title is above them, keep \
one line
    """
    if len(names) == 1 and (found := (set(SEPARATORS) - {separator}) & set(names[0])):
        option = for_user(f"sep={min(found)!r}", f"--sep {min(found)!r}")
        raise InputError(
            f"{path}: found one column, {names[0][:60]!r}; if {min(found)!r} is between the cells, "
            f"say so with {option}"
        )
    empty = [k for k, name in enumerate(names) if not name.strip()]
    if empty:
        raise InputError(
            f"{path}: column {empty[0] + 1} has no name; name it in the first line, or remove it "
            "if it only numbers the rows. If the names take two lines, or a title is above them, "
            "keep one line"
        )
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"{path}: column names must differ; found {name!r} more than once")
        seen.add(name)
