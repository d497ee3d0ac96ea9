"""Compressed files, known by their content: gzip, zip with one file in it, Zstandard."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from c2rf._text import listed
from c2rf.exceptions import InputError

_SIGNS = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip", b"\x28\xb5\x2f\xfd": "zstd"}
ENDINGS = {".gz": "gzip", ".zip": "zip", ".zst": "zstd"}
"""What compressed files are called."""


def compression(path: Path) -> str | None:
    """Return how a file is compressed, None if it is not."""
    with path.open("rb") as file:
        start = file.read(4)
    return next((name for sign, name in _SIGNS.items() if start.startswith(sign)), None)


def plain_name(path: Path) -> Path:
    """Return the name of a file without the ending of its compression.

    Examples
    --------
    >>> plain_name(Path("people.csv.GZ")).name
    'people.csv'
    """
    return path.with_suffix("") if path.suffix.lower() in ENDINGS else path


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file to read what is in it, wherever it is compressed."""
    kind = compression(path)
    try:
        with path.open("rb") as file:
            if kind is None:
                yield file
            else:
                with _OPENERS[kind](file, path) as content:
                    yield content
    except (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile) as error:
        raise InputError(f"{path} is a damaged or incomplete {kind} file: {error}") from error
    except OSError as error:
        if kind != "zstd":
            raise
        raise InputError(f"{path} is a damaged or incomplete {kind} file: {error}") from error


def _gzip(file: IO[bytes], path: Path) -> Any:
    return gzip.GzipFile(fileobj=file)


@contextmanager
def _zip(file: IO[bytes], path: Path) -> Iterator[IO[bytes]]:
    with zipfile.ZipFile(file) as archive:
        names = [name for name in archive.namelist() if _is_data(name)]
        if len(names) != 1:
            found = f"it holds {listed(names)}" if names else "it is empty"
            raise InputError(f"{path} must hold one file; {found}: unpack it and name the file")
        if archive.getinfo(names[0]).flag_bits & 1:
            raise InputError(f"{path} is encrypted; unpack it first")
        with archive.open(names[0]) as content:
            yield content


def _is_data(name: str) -> bool:
    hidden = name.startswith("__MACOSX/") or name.rpartition("/")[2].startswith(".")
    return not hidden and not name.endswith("/")


def _zstd(file: IO[bytes], path: Path) -> Any:
    if find_spec("pyarrow") is None:
        raise InputError(
            f'{path}: Zstandard needs pyarrow; pip install "c2rf[files]", or unpack the file'
        )
    import pyarrow as pa

    return pa.CompressedInputStream(file, "zstd")


_OPENERS: dict[str, Callable[[IO[bytes], Path], Any]] = {
    "gzip": _gzip,
    "zip": _zip,
    "zstd": _zstd,
}
