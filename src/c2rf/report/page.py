"""The building blocks of a page, and how they become one HTML file that needs no other.

A section of a report is a list of blocks: :class:`Text`, :class:`Table` and :class:`Picture`. The
template ``report.html`` says how each looks; it tells them apart by ``kind``.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Literal

from c2rf._utils.text import short
from c2rf.exceptions import InputError

MOST_ROWS = 200
"""The longest table or list, where nothing else is said."""
MOST_LETTERS = 60
"""Longer names in a table are cut."""
MOST_OPEN = 16
"""Longer tables are folded."""


@dataclass(frozen=True)
class Text:
    """A paragraph, a key sentence for hurried readers, code to copy, or a list of sentences."""

    text: str | Sequence[str]
    kind: Literal["text", "key", "code", "items", "warnings"] = "text"


@dataclass
class Table:
    """A table; the first ``n_names`` columns are names, the others numbers.

    A table of more than :data:`MOST_OPEN` rows is folded: a click opens it. Of more than
    ``most`` rows the first are shown, and the note says so.
    """

    title: str
    header: Sequence[str]
    rows: Iterable[Sequence[str]]
    note: str = ""
    n_names: int = 1
    most: int = MOST_ROWS
    kind: str = field(default="table", init=False)
    is_folded: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        rows = [
            [*(short(str(name), MOST_LETTERS) for name in row[: self.n_names]),
             *row[self.n_names :]]
            for row in self.rows
        ]  # fmt: skip
        self.header = [short(str(title), MOST_LETTERS) for title in self.header]
        self.note = (self.note + not_shown(len(rows), self.most, "rows")).strip()
        self.rows, self.is_folded = rows[: self.most], len(rows) > MOST_OPEN


@dataclass(frozen=True)
class Picture:
    """A plot as SVG code, and what it shows; one that is folded is opened by a click."""

    svg: str
    caption: str
    is_folded: bool = False
    kind: str = field(default="picture", init=False)


Block = Text | Table | Picture


@dataclass(frozen=True)
class Section:
    """Blocks under a heading; ``name`` is the anchor that links lead to.

    One that is not open shows its heading; a click opens it.
    """

    name: str
    title: str
    blocks: Sequence[Block]
    is_open: bool = True


@dataclass(frozen=True)
class Page:
    """A title, what a reader wants to know first, by keywords, and the sections."""

    title: str
    lead: Sequence[tuple[str, Sequence[str]]]
    sections: Sequence[Section]
    language: str = "en"


def as_sentence(text: str) -> str:
    """Return a text with a capital letter and a full stop.

    Examples
    --------
    >>> as_sentence("all totals are met")
    'All totals are met.'
    """
    return f"{text[:1].upper()}{text[1:]}."


def not_shown(total: int, shown: int, nouns: str) -> str:
    """Return a sentence to add to a note: how many are not shown; nothing if all are.

    Examples
    --------
    >>> not_shown(1203, 200, "classes"), not_shown(3, 200, "classes")
    (' 1,003 more classes are not shown.', '')
    """
    return f" {total - shown:,} more {nouns} are not shown." if total > shown else ""


_PACKAGES = ("matplotlib", "jinja2")


def need(extra: str) -> None:
    """Refuse to make a page if a package is missing; ``extra`` is what installs it."""
    for package in _PACKAGES:
        if find_spec(package) is None:
            raise InputError(f'a report needs the package {package}; pip install "c2rf[{extra}]"')


def render(subpackage: str, report: Any) -> str:
    """Fill the template ``report.html`` of a subpackage, which may extend our ``base.html``.

    Everything filled in is escaped: no text of a user becomes code of the page.
    """
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [jinja2.PackageLoader(subpackage), jinja2.PackageLoader("c2rf.report")],
        ),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["data_uri"] = _data_uri
    environment.filters["inline"] = Markup  # for plots of our own only
    return environment.get_template("report.html").render(report=report)


def _data_uri(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"
