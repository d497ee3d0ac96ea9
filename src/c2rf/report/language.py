"""Summaries, reports and the page in other languages; names of columns and options stay.

A language is one file in ``languages``: pairs of lines, a sentence in English and its translation,
with ``{}`` for what differs (``{#}`` where it is a number); ``{1}`` is the second of these. What is
in a hole is translated, too, and what has no translation stays English. The first pair says how
numbers are written.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from c2rf._utils.text import check_choice
from c2rf.report.page import Page, Picture, Table, Text

if TYPE_CHECKING:
    from c2rf.report.page import Block

ENGLISH = "en"
_NUMBER = re.compile(
    r"(?<![\w.,:/-])-?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d+)(?!\w|[.,]\d)|\u2068[^\u2069]*\u2069"
)
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
def _pairs(language: str) -> tuple[dict[str, str], list[tuple[re.Pattern[str], str]]]:
    """Return sentences without holes, and those with, the longest first."""
    text = (files("c2rf.report") / "languages" / f"{language}.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    exact, with_holes = {}, []
    for source, target in zip(lines[::2], lines[1::2], strict=True):
        parts = re.split(r"(\{#?\})", source)
        if len(parts) == 1:
            exact[source] = target
            continue
        wanted = "".join(_HOLES.get(part, re.escape(part)) for part in parts)
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
    if language == ENGLISH or not text or text in keep:
        return text
    if not any(map(str.isalpha, text)):  # a number, as most cells of tables are
        return with_marks(text, language)
    if (said := _as_a_whole(text, language, keep, left)) is not None:
        return said
    if text.endswith(";"):  # what is between semicolons is looked up before it is split at commas
        return translated(text[:-1], language, keep, left) + ";"
    for mark in _BETWEEN:
        parts = mark.split(text)
        if len(parts) > 1:
            return " ".join(translated(part, language, keep, left) for part in parts)
    for ending in (".", ",", ":", "?"):
        if len(text) > 1 and text.endswith(ending):
            return translated(text[:-1], language, keep, left) + ending
    if left is not None and re.search("[a-z]{3}", re.sub("\u2068[^\u2069]*\u2069", "", text)):
        left.add(text)
    return with_marks(text, language)


def _as_a_whole(
    text: str, language: str, keep: Collection[str], left: set[str] | None
) -> str | None:
    """Return the translation of a text that has one, None if it would take its parts."""
    exact, with_holes = _pairs(language)
    # A sentence is found with its full stop and without; the translation ends as the text does.
    stop = "." if text.endswith(".") else ""
    other = text.removesuffix(".") if stop else f"{text}."
    for whole in (text, other):
        said = exact.get(whole)
        for pattern, target in with_holes if said is None else ():
            if found := pattern.fullmatch(whole):
                inner = [translated(each, language, keep, left) for each in found.groups()]
                said = target.format(*inner)
                break
        if said is not None:
            return said.removesuffix(".") + stop
    return None


def our_name(name: str, language: str, keep: Collection[str] = ()) -> str:
    """Return a name of ours in another language; one that has parts of a user only as a whole.

    Examples
    --------
    >>> our_name("town: a value that no labeled row has", "de", {"town"})
    'town: ein Wert, den keine Zeile mit Label hat'
    >>> our_name("type: number", "de")
    'type: number'
    """
    said = None if language == ENGLISH else _as_a_whole(name, language, keep, None)
    return name if said is None else said


def with_marks(text: str, language: str) -> str:
    """Write the numbers of a text as a language does; what is in quotes stays.

    Examples
    --------
    >>> with_marks("12.5 % of 1,234", "de")
    '12,5 % of 1.234'
    """
    group, decimal = _pairs(language)[0]["1,234.5"].strip("12345")[:1], ","
    point = _pairs(language)[0]["1,234.5"][-2]

    def mark(found: re.Match[str]) -> str:
        number = found[0]
        if number.startswith("\u2068"):
            return number
        return number.replace(decimal, "\0").replace(".", point).replace("\0", group)

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
