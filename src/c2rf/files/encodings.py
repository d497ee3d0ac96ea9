"""The encoding of a text file: told by its first bytes, or found by looking at all of them."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import IO

from c2rf._text import for_user
from c2rf.exceptions import InputError
from c2rf.files.compressed import opened

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
