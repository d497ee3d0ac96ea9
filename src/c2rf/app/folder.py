"""The files that a page may read: those of one folder, and none outside of it."""

from __future__ import annotations

from pathlib import Path

from c2rf.exceptions import InputError
from c2rf.files.compressed import plain_name
from c2rf.files.tables import TEXT_ENDINGS, format_by_name


def tables_in(folder: Path) -> list[str]:
    """Return the names of the tables in a folder and its folders, in order.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / "people.csv").touch()
    >>> (folder / "notes.pdf").touch()
    >>> tables_in(folder)
    ['people.csv']
    """
    found = [path for path in folder.rglob("*") if path.is_file() and _is_table(path)]
    names = [path.relative_to(folder) for path in found if _is_inside(path, folder)]
    return sorted(str(name) for name in names if not any(p.startswith(".") for p in name.parts))


def file_in(folder: Path, name: str) -> Path:
    """Return a file of a folder; a name or a link that leads out of it is refused.

    Examples
    --------
    >>> file_in(Path("data"), "../secret.csv")
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputError: '../secret.csv' is not a file of the folder data
    """
    path = folder / name
    if not _is_inside(path, folder) or not path.is_file():
        raise InputError(f"{name!r} is not a file of the folder {folder}")
    return path


def _is_inside(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def _is_table(path: Path) -> bool:
    ending = plain_name(path).suffix.lower()
    return ending in TEXT_ENDINGS or format_by_name(path) is not None
