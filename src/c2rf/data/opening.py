"""Files opened: compression and encoding known by content.

Compressed files, known by their content: gzip, zip with one file in it, Zstandard.

The encoding of a text file: told by its first bytes, or found by looking at all of them.
"""

from __future__ import annotations

import codecs
import gzip
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from c2rf._utils.text import for_user, listed
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


BLOCK = 1 << 24
_MARKS = (  # the longer ones first: UTF-32 begins like UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_NAMES = {
    "utf-8": "UTF-8",
    "utf-8-sig": "UTF-8 with a mark",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
    "utf-32": "UTF-32",
    "cp1252": "Windows-1252",
}
_NOT_WINDOWS = bytes([0x81, 0x8D, 0x8F, 0x90, 0x9D])


def encoding_name(encoding: str) -> str:
    """Return what people call an encoding.

    Examples
    --------
    >>> encoding_name("cp1252"), encoding_name("latin_1")
    ('Windows-1252', 'latin_1')
    """
    return _NAMES.get(encoding, encoding)


def check_encoding(name: str) -> str:
    """Return the name under which Python knows an encoding of text.

    Examples
    --------
    >>> check_encoding("Windows-1252")
    'cp1252'
    """
    try:
        "".encode(name)
        return codecs.lookup(name).name
    except LookupError:
        option = for_user("encoding", "--encoding")
        raise InputError(
            f"{option} must be the name of an encoding, like utf-8, cp1252 or utf-16; found "
            f"{name!r}"
        ) from None


def find_encoding(path: Path) -> str:
    """Find the encoding of a text file by reading all of it.

    A mark at the start decides. Else it is UTF-8 if all bytes are; if not, Windows-1252 if all
    bytes mean something there. What holds zero bytes is UTF-16 or no text.
    """
    with opened(path) as file:
        start = file.read(BLOCK)
        for mark, name in _MARKS:
            if start.startswith(mark):
                return name
        if b"\0" in start[:1024] and (wide := _without_mark(start[:1024])):
            return wide
        return _by_all_bytes(start, file, path)


def _without_mark(start: bytes) -> str | None:
    """Return which UTF-16 it is, if every other byte of most characters is zero."""
    even, odd = start[::2].count(0), start[1::2].count(0)
    if 4 * even < odd > len(start) // 4:
        return "utf-16-le"
    return "utf-16-be" if 4 * odd < even > len(start) // 4 else None


def _by_all_bytes(block: bytes, file: IO[bytes], path: Path) -> str:
    decoder: codecs.IncrementalDecoder | None = codecs.getincrementaldecoder("utf-8")()
    is_windows = True
    while block:
        if b"\0" in block:
            raise InputError(f"{path} is not text: it holds zero bytes")
        if not block.isascii():
            is_windows = is_windows and not any(byte in block for byte in _NOT_WINDOWS)
            decoder = _decoded(decoder, block)
        elif decoder is not None and decoder.getstate()[0]:
            decoder = None  # a character ended in the middle
        block = file.read(BLOCK)
    if decoder is not None and not decoder.getstate()[0]:
        return "utf-8"
    if is_windows:
        return "cp1252"
    option = for_user('encoding="latin2"', "--encoding latin2")
    raise InputError(
        f"{path} is not UTF-8 text, nor Windows-1252; save it as UTF-8, or name its encoding, "
        f"like {option}"
    )


def _decoded(
    decoder: codecs.IncrementalDecoder | None, block: bytes
) -> codecs.IncrementalDecoder | None:
    """Decode a block; None if that is not possible."""
    if decoder is None:
        return None
    try:
        decoder.decode(block)
    except UnicodeDecodeError:
        return None
    return decoder
