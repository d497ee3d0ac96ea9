"""The building blocks a report is put together from; the template knows how each looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Text:
    """A paragraph; ``key`` ones are what a hurried reader should read."""

    text: str
    key: bool = False
    kind: str = field(default="text", init=False)


@dataclass(frozen=True)
class Grid:
    """A table; the first ``n_names`` columns are names, the others numbers."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    n_names: int = 1
    kind: str = field(default="grid", init=False)


@dataclass(frozen=True)
class Picture:
    """A drawing as SVG code, and what it shows."""

    svg: str
    caption: str
    kind: str = field(default="picture", init=False)


@dataclass(frozen=True)
class Warnings:
    """Things to be careful about; ``is_plain`` ones are no warnings, only a list."""

    entries: Sequence[str]
    is_plain: bool = False
    kind: str = field(default="warnings", init=False)


@dataclass(frozen=True)
class Code:
    """A line to copy."""

    text: str
    kind: str = field(default="code", init=False)


@dataclass(frozen=True)
class Section:
    """A part of the page with a heading."""

    name: str
    title: str
    parts: Sequence[Text | Grid | Picture | Warnings | Code]


@dataclass(frozen=True)
class Page:
    """The whole report."""

    title: str
    lead: str
    sections: Sequence[Section]
    warning: str = ""
