"""Pictures for pages: the same numbers give the same bytes, by day and by night.

A picture inside a page is drawn in the colours of :data:`THEME`, which stand for the page's
own and change with it.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

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
