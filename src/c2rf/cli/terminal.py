"""What the commands say when they are done, in words."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any

from c2rf._utils.text import count, printable

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from c2rf.data.dialect import ReadAs
    from c2rf.workflow.summary import TablePreview


_language: ContextVar[str] = ContextVar("language", default="en")


@contextmanager
def speaking(words: Sequence[str]) -> Iterator[None]:
    """Let progress and errors be in the language that the words of a command ask for."""
    asked = re.search(r"\x1f--language[=\x1f]([a-z]+)", "\x1f".join(["", *words]))
    token = _language.set(asked[1] if asked else "en")
    try:
        yield
    finally:
        _language.reset(token)


def in_words(text: str, language: str | None = None) -> str:
    """Return a text in the language of the command; in English if there is no such language."""
    language = language or _language.get()
    if language == "en":
        return text
    from c2rf.report.language import languages, translated

    return translated(text, language) if language in languages() else text


LINE_SECONDS = 10.0
"""Seconds between two lines of progress where there is no terminal."""


def console(quiet: bool = False) -> Console:
    """Return where results go."""
    from rich.console import Console

    return Console(highlight=False, quiet=quiet)


def say(rows: Sequence[tuple[str, str]], *, quiet: bool = False) -> None:
    """Print names and what there is to say about them; the terminal breaks long lines, not we."""
    from rich.text import Text

    width = max(len(name) for name, _ in rows)
    for name, sentence in rows:
        line = Text.assemble((printable(f"{name:<{width}}"), "dim"), "  ", printable(sentence))
        console(quiet).print(line, soft_wrap=True)


def note(quiet: bool = False) -> Callable[[str], None]:
    """Return what prints a note on how something was understood."""
    return lambda text: say([("read as", text)], quiet=quiet)


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Print warnings of the block at its end, without the line of code that they are from."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default", UserWarning)
        yield
    for each in found:
        print(f"c2rf: {printable(str(each.message))}", file=sys.stderr)


_CAUTIONS = {
    "formulas": "{} of the output begin like formulas (=, +, -, @), and a spreadsheet would run "
    "them; --spreadsheet-safe makes them harmless",
    "texts": "{} with numbers or dates that the format does not hold exactly are text in the "
    "output",
    "changed": "{} of the output lost blanks at the end, or a zero byte for which "
    "\N{REPLACEMENT CHARACTER} stands: the format does not hold them",
}


def warn_of_cells(cautions: Mapping[str, int], made_safe: bool) -> None:
    """Warn of text that a spreadsheet would run, and of what a format does not hold."""
    for what, sentence in _CAUTIONS.items():
        if cautions[what] and not (what == "formulas" and made_safe):
            found = count(cautions[what], "text" if what == "changed" else "cell")
            print(f"c2rf: {in_words(sentence.format(found))}", file=sys.stderr)


def show_previews(
    paths: Sequence[Path], how: ReadAs, totals: Sequence[Path] = (), language: str = "en"
) -> None:
    """Print tables as they were understood, then tables of totals."""
    from c2rf.workflow.summary import previews

    for table in previews(paths, how, totals):
        _show_preview(table, language)


def _show_preview(found: TablePreview, language: str) -> None:
    from rich.table import Table
    from rich.text import Text

    from c2rf.report.language import translated

    rows = found.columns
    if "type" in rows:
        is_number = rows["type"] == "number"
        rows = rows.assign(type=[translated(kind, language) for kind in rows["type"]])
        for name in [name for name in rows if str(name).startswith("row ")]:
            marked = [translated(cell, language) for cell in rows[name]]
            rows[name] = rows[name].where(~is_number, marked)
        for name in ("values", "empty"):
            rows[name] = [translated(f"{n:,}", language) for n in rows[name]]
    console().print(Text(translated(found.title, language, {found.name})), soft_wrap=True)
    table = Table()
    for name in rows:
        justify: Any = "right" if name in ("values", "empty") else "left"
        table.add_column(translated(str(name), language), justify=justify, no_wrap=name == "column")
    for row in rows.itertuples(index=False):
        table.add_row(*(Text(str(cell)) for cell in row))
    console().print(table)
    if len(found.names) > len(rows):
        more = f"and {len(found.names) - len(rows):,} more columns"
        console().print(translated(more, language))


@contextmanager
def waiting(
    for_what: str, quiet: bool = False, hint: str = "", every: float = LINE_SECONDS, **more: Any
) -> Iterator[None]:
    """Show what is going on unless ``quiet``, as :func:`c2rf.progress.shown` does."""
    from c2rf.progress import progress_callback, shown

    if quiet:
        yield
        return
    language = _language.get()  # lines may come from another thread
    with (
        shown(for_what, every, hint, say=partial(in_words, language=language), **more) as listener,
        progress_callback(listener),
    ):
        yield
