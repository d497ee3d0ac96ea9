"""Summaries, reports, messages and the page in other languages; names of columns and options stay.

A language is one file in ``languages``: pairs of lines, a sentence in English and its translation,
with ``{}`` for what differs (``{#}`` where it is a number); ``{1}`` is the second of these. What is
in a hole is translated, too; a sentence of which any part has no translation stays English. What is
in quotes is a name, as are files and options: these stay as they are. A capital letter at the
beginning stays one. The first pair says how numbers are written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from c2rf._utils.text import check_choice
from c2rf.report.page import Page, Picture, Table, Text

if TYPE_CHECKING:
    from c2rf.report.page import Block

ENGLISH = "en"
_NUMBER = re.compile(r"(?<![\w.,:/-])-?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d+)(?!\w|[.,]\d)")
_NAMES = re.compile(
    "\u2068[^\u2069]*\u2069"  # in quotes of ours
    r"|(?:\b\w+=\[?|(?<!\w))'(?:[^'\\]|\\.)*'(?!\w)\]?"  # in those of Python, or its options
    r'|(?:\b\w+=\[?|(?<!\w))"(?:[^"\\]|\\.)*"(?!\w)\]?'
    "|“[^”]*”"  # controls of the page, which are translated before
    r"|--[a-z-]+(?: \S*[^\s.,;:)])?"  # options with their values
    r"|[^\s,;:()'\"]*\.[a-z]\w*"  # files
    "|[\ue000-\uf8ff]"  # signs that stand for names while the rest is translated
)
_FIRST_SIGN = 0xE000
_HOLES = {"{}": "(.+?)", "{#}": r"([-+\d.,]+(?: %)?)"}
_BETWEEN = [re.compile(rf"(?<=[{marks}])\s+") for marks in (".?!", ":;", ",")]


def languages() -> list[str]:
    """Return the languages that there are.

    Examples
    --------
    >>> languages()
    ['de', 'en']
    """
    found = [path.name for path in (files("c2rf.report") / "languages").iterdir()]
    return sorted(
        [ENGLISH, *(name.removesuffix(".txt") for name in found if name.endswith(".txt"))]
    )


def check_language(language: str) -> None:
    """Refuse a language that has no file."""
    check_choice("language", language, languages())


@cache
def _lines(language: str) -> list[str]:
    """Return sentences and their translations, one after the other."""
    text = (files("c2rf.report") / "languages" / f"{language}.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


@cache
def _pairs(language: str) -> tuple[dict[str, str], list[tuple[re.Pattern[str], str]]]:
    """Return sentences without holes, and those with, the longest first."""
    exact: dict[str, str] = {}
    with_holes, lines = [], _lines(language)
    for source, target in zip(lines[::2], lines[1::2], strict=True):
        parts = re.split(r"(\{#?\})", source)
        if len(parts) == 1:
            exact |= dict.fromkeys((source, source[0].upper() + source[1:]), target)
            continue
        wanted = "".join(_HOLES.get(part, re.escape(part)) for part in parts)
        if source[0].isalpha():
            wanted = f"[{source[0].lower()}{source[0].upper()}]{wanted[1:]}"
        with_holes.append((len(source), re.compile(wanted, re.DOTALL), target))
    with_holes.sort(key=lambda each: -each[0])
    return exact, [each[1:] for each in with_holes]


def translated(
    text: str, language: str, keep: Collection[str] = (), left: set[str] | None = None
) -> str:
    """Return a text in another language.

    Parameters
    ----------
    text : str
        In English.
    language : str
        A language of :func:`languages`.
    keep : collection of str
        Names of the user, which stay as they are.
    left : set of str, optional
        Gets what has no translation.

    Examples
    --------
    >>> translated("1,204 rows", "de"), translated("All known totals are met exactly.", "de")
    ('1.204 Zeilen', 'Alle bekannten Eckwerte sind genau eingehalten.')
    """
    if language == ENGLISH or text in keep:
        return text
    return _keeping_names(text, lambda rest: _translated(rest, language, keep, left)) or ""


def _keeping_names(text: str, work: Callable[[str], str | None]) -> str | None:
    """Return what becomes of a text, in which signs stand for names meanwhile."""
    names: list[str] = []

    def sign(found: re.Match[str]) -> str:
        names.append(found[0])
        return chr(_FIRST_SIGN + len(names) - 1)

    said = work(_NAMES.sub(sign, text))
    if said is None:
        return None
    return re.sub("[\ue000-\uf8ff]", lambda sign: names[ord(sign[0]) - _FIRST_SIGN], said)


def _translated(text: str, language: str, keep: Collection[str], left: set[str] | None) -> str:
    """Return sentences, in which signs stand for names, in another language."""
    sentences = _BETWEEN[0].split(text)
    each = [_sentence(part, language, keep) for part in sentences]
    if len(sentences) > 1 and any(is_english for _, _, is_english in each):
        whole = _sentence(text, language, keep)
        each = each if whole[2] else [whole]
    if left is not None:
        left.update(*(own for _, own, _ in each))
    return " ".join(said for said, *_ in each)


def _sentence(text: str, language: str, keep: Collection[str]) -> tuple[str, set[str], bool]:
    """Return a sentence in another language, what is left of it, and whether it stays English."""
    left: set[str] = set()
    said = _in_parts(text, language, keep, left)
    is_english = any(_words(each) & _vocabulary(language) for each in left)
    return text if is_english else said, left, is_english


def _words(text: str) -> set[str]:
    return set(re.findall("[a-z]{2,}", text.lower()))


@cache
def _vocabulary(language: str) -> set[str]:
    """Return English words of ours, by which a sentence is known as English."""
    return _words(" ".join(_lines(language)[::2]))


def _in_parts(text: str, language: str, keep: Collection[str], left: set[str]) -> str:
    """Return a sentence, or a part of one, in another language."""
    if not text or text in keep:
        return text
    if not any(map(str.isalpha, text)):  # a number, as most cells of tables are
        return with_marks(text, language)
    if (said := _as_a_whole(text, language, keep, left)) is not None:
        return said
    if text.endswith(";"):  # what is between semicolons is looked up before it is split at commas
        return _in_parts(text[:-1], language, keep, left) + ";"
    for mark in _BETWEEN:
        parts = mark.split(text)
        if len(parts) > 1:
            return " ".join(_in_parts(part, language, keep, left) for part in parts)
    for ending in (".", ",", ":", "?"):
        if len(text) > 1 and text.endswith(ending):
            return _in_parts(text[:-1], language, keep, left) + ending
    if re.search("[A-Za-z]{3}", text):
        left.add(text)
    return with_marks(text, language)


def _as_a_whole(text: str, language: str, keep: Collection[str], left: set[str]) -> str | None:
    """Return the translation of a text that has one, None if it would take its parts."""
    exact, with_holes = _pairs(language)
    # A sentence is found with its full stop and without; the translation ends as the text does.
    stop = "." if text.endswith(".") else ""
    both = text, text.removesuffix(".") if stop else f"{text}."
    said = next((exact[each] for each in both if each in exact), None)
    for pattern, target in with_holes if said is None else ():
        if found := pattern.fullmatch(both[0]) or pattern.fullmatch(both[1]):
            said = target.format(*(_in_parts(e, language, keep, left) for e in found.groups()))
            break
    if said is None:
        return None
    first = said[:1].upper() if text[:1].isupper() else said[:1]
    said = f"{first}{said[1:]}"
    return said if text.endswith("?") else said.removesuffix(".") + stop


def our_name(name: str, language: str, keep: Collection[str] = ()) -> str:
    """Return a name of ours in another language; one that has parts of a user only as a whole.

    Examples
    --------
    >>> our_name("town: a value that no labeled row has", "de", {"town"})
    'town: ein Wert, den keine Zeile mit Label hat'
    >>> our_name("type: number", "de")
    'type: number'
    """
    if language == ENGLISH:
        return name
    return _keeping_names(name, lambda rest: _as_a_whole(rest, language, keep, set())) or name


def with_marks(text: str, language: str) -> str:
    """Write the numbers of a text as a language does.

    Examples
    --------
    >>> with_marks("12.5 % of 1,234", "de")
    '12,5 % of 1.234'
    """
    group, decimal = _pairs(language)[0]["1,234.5"].strip("12345")[:1], ","
    point = _pairs(language)[0]["1,234.5"][-2]

    def mark(found: re.Match[str]) -> str:
        return found[0].replace(decimal, "\0").replace(".", point).replace("\0", group)

    return _NUMBER.sub(mark, text)


def translated_page(page: Page, language: str, keep: Collection[str] = ()) -> Page:
    """Return a page in another language."""

    def say(text: str) -> str:
        return translated(text, language, keep)

    def block(given: Block) -> Block:
        if isinstance(given, Text):
            if given.kind == "code":
                return given
            text = given.text
            return replace(given, text=say(text) if isinstance(text, str) else list(map(say, text)))
        if isinstance(given, Picture):
            svg = re.sub(
                r">([^<>]*\w[^<>]*)</text>", lambda found: f">{say(found[1])}</text>", given.svg
            )
            return replace(given, svg=svg, caption=say(given.caption))
        n = given.n_names
        rows = [[*row[:n], *(say(cell) for cell in row[n:])] for row in given.rows]
        header = [say(name) for name in given.header]
        return Table(say(given.title), header, rows, say(given.note), n, given.most)

    if language == ENGLISH:
        return page
    return replace(
        page,
        title=say(page.title),
        lead=[(say(name), [say(each) for each in sentences]) for name, sentences in page.lead],
        sections=[
            replace(section, title=say(section.title), blocks=[block(b) for b in section.blocks])
            for section in page.sections
        ],
        language=language,
    )
