"""One self-contained HTML page, its pictures inside.

The building blocks a report is put together from; the template knows how each looks.

What several sections use.

Pictures for pages: the same numbers give the same bytes, by day and by night.

A picture inside a page is drawn in the colours of :data:`THEME`, which stand for the page's
own and change with it.

From what is to be told to one self-contained HTML page.

Pages that need nothing from anywhere: one HTML file, its pictures inside.
"""

from __future__ import annotations

import base64
import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from c2rf.exceptions import InputError


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


MOST_ROWS = 200
"""Longest table of classes, groups or columns."""

Part = Text | Grid | Picture | Warnings | Code


def left_out(total: int, shown: int, nouns: str) -> str:
    """Say how many are not shown; nothing if all are."""
    return f" {total - shown:,} more {nouns} are not shown." if total > shown else ""


LOOK: dict[Any, Any] = {
    "svg.hashsalt": "c2rf",  # the same picture is the same file
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
}

THEME = {
    "ink": "#01fe01",
    "soft": "#01fe02",
    "line": "#01fe03",
    "first": "#01fe04",
    "second": "#01fe05",
    "third": "#01fe06",
}
"""Colours nobody draws with, each replaced by the variable of the page it is named after."""

_WIDTH = 5.0  # inches: about a phone, so that letters keep their size there
_INLINE_LOOK = LOOK | {
    "svg.fonttype": "none",  # text stays text: small, and in the font of the page
    "text.parse_math": False,  # a dollar sign of a user is a dollar sign
    "text.color": THEME["ink"],
    "axes.labelcolor": THEME["ink"],
    "axes.edgecolor": THEME["soft"],
    "axes.axisbelow": True,
    "xtick.color": THEME["soft"],
    "ytick.color": THEME["soft"],
    "xtick.labelcolor": THEME["ink"],
    "ytick.labelcolor": THEME["ink"],
    "grid.color": THEME["line"],
    "legend.frameon": False,
}


def images(figure: Figure) -> tuple[bytes, bytes]:
    """Return a figure as SVG and PNG, without a date."""
    return _saved(figure, "svg", {"Date": None}), _saved(figure, "png", {"Software": None})


def inline_svg(name: str, title: str, draw: Callable[[Figure], None], height: float = 2.6) -> str:
    """Return a picture as SVG code for a page.

    Parameters
    ----------
    name : str
        A word that no other picture of the page has: all ids start with it.
    title : str
        What a reader who cannot see it is told.
    draw : function of a Figure
        Draws in the colours of :data:`THEME`.
    height : float
        In inches; all are 5 wide.
    """
    with mpl.rc_context(_INLINE_LOOK), _any_script():
        figure = Figure(figsize=(_WIDTH, height), layout="constrained", facecolor="none")
        draw(figure)
        for axes in figure.axes:
            axes.set_facecolor("none")
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        code = _saved(figure, "svg", nothing).decode()
    return _for_page(code, name, title)


def _saved(figure: Figure, kind: str, metadata: dict[str, None]) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format=kind, dpi=150, metadata=metadata)
    return file.getvalue()


@contextmanager
def _any_script() -> Iterator[None]:
    """Draw text in any script: the browser has the letters that our font does not have."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        yield


def _for_page(code: str, name: str, title: str) -> str:
    """Take from a file what a page needs: unique ids, its colours, no size of its own."""
    from markupsafe import escape

    code = code[code.index("<svg") :]
    box = re.search(r'viewBox="[^"]*"', code)
    assert box is not None  # matplotlib always writes one
    code = code[code.index(">") + 1 :]
    code = re.sub(r"<style.*?</style>", "", code, flags=re.DOTALL)  # it would rule the whole page
    code = re.sub(r"<metadata>.*?</metadata>", "", code, flags=re.DOTALL)
    code = re.sub(r'\bid="', f'id="{name}-', code)
    code = re.sub(r'(url\(#|href="#)', rf"\g<1>{name}-", code)
    code = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font-size: \1", code)
    for variable, color in THEME.items():
        code = code.replace(color, f"var(--{variable})")
    return f'<svg role="img" aria-label="{escape(title)}" {box[0]}>{code}'


_PACKAGES = ("matplotlib", "jinja2")


def need(extra: str) -> None:
    """Refuse to make a page if what it takes is not installed; ``extra`` brings it."""
    for package in _PACKAGES:
        if find_spec(package) is None:
            raise InputError(f'a report needs the package {package}; pip install "c2rf[{extra}]"')


def render(room: str, report: Any) -> str:
    """Fill the template ``report.html`` of a room, which may extend ``base.html``.

    Everything filled in is escaped: no text of a user is ever part of the page's code.
    """
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [jinja2.PackageLoader(room), jinja2.PackageLoader("c2rf.report")],
        ),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["data_uri"] = _data_uri
    environment.filters["inline"] = _inline
    return environment.get_template("report.html").render(report=report)


def _data_uri(svg: bytes) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"


def _inline(svg: str) -> Any:
    """Mark a picture of ours as code of the page."""
    from markupsafe import Markup

    return Markup(svg)


__all__ = ["need", "render"]
