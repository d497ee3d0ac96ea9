"""The plots of a report, as SVG code inside the page that follows its light or dark theme.

Each function draws one plot from a result. The same numbers give the same bytes. A plot is drawn in
the placeholder colours of :data:`THEME`; :func:`inline_svg` replaces each by a colour variable of
the page, which changes with the theme. :data:`LOOK` and :func:`as_png` serve files of plots.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from c2rf._utils.text import short
from c2rf._utils.types import Floats
from c2rf.report.measures import SMALL

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from c2rf.workflow.result import Classification

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
}
"""Placeholders, each replaced by the colour variable of the page that it is named after."""

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

MOST_GROUPS = 24
FARTHEST = 5.0
"""Standardised differences beyond this are drawn here."""
_BINS = 40
_NAME = 18  # letters of a name on an axis


def domain_shares(table: pd.DataFrame, names: Sequence[str], number: str) -> str:
    """Draw the share of a class in domains, with the intervals by imputation and held-out rows."""
    shown = np.argsort(-table["count"].to_numpy(), kind="stable")[:MOST_GROUPS]
    kinds = (("by imputation", "share", "share", THEME["first"], -0.15),
             ("by held-out rows", "held_out_share", "held_out", THEME["second"], 0.15))  # fmt: skip

    from matplotlib.ticker import PercentFormatter

    def draw(axes: Any) -> None:
        for title, point, ends, color, step in kinds:
            share, low, high = (
                table[name].to_numpy(dtype=float)[shown]
                for name in (point, f"{ends}_low", f"{ends}_high")
            )
            if np.isfinite(share).any():
                rows = np.arange(len(shown)) + step
                axes.hlines(rows, low, high, color=color, linewidth=2, alpha=0.6)
                axes.scatter(share, rows, s=16, color=color, label=title, zorder=3)
        _name_rows(axes, [names[k] for k in shown])
        axes.xaxis.set_major_formatter(PercentFormatter(1))
        axes.set_ylim(len(shown) - 0.4, -0.6)
        _legend(axes)

    title = "Share of a class in each domain, with intervals of both kinds"
    return inline_svg(f"domains-{number}", title, draw, 0.8 + 0.3 * len(shown))


def score_histogram(result: Classification) -> str:
    """Draw the distribution of the scores, and the cut-off."""
    from matplotlib.ticker import MaxNLocator

    positive, classes = result.data.positive, result.data.classes
    rows, found = result.shown_rows, result.predictions
    codes, scores = found.codes[rows], found.scores[rows]

    def draw(axes: Any) -> None:
        edges = _bin_edges(scores)
        if positive is not None:
            ordered = sorted(range(len(classes)), key=lambda k: classes[k] == positive)
            names = [_in_quotes(classes[k]) for k in ordered]
            colors = (THEME["second"], THEME["first"])
            by_label = [scores[codes == k] for k in ordered]
            axes.hist(by_label, edges, stacked=True, color=colors, label=names)
            axes.axvline(0, color=THEME["ink"], linewidth=1, linestyle="--")
            _legend(axes)
        else:
            axes.hist(scores, edges, color=THEME["first"])
        axes.set(xlabel="score; the cut-off is 0", ylabel="rows")
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes.yaxis.set_major_formatter("{x:,.0f}")

    return inline_svg("scores", "Histogram of the scores, by label", draw)


def standardised_differences(balance: pd.DataFrame) -> str:
    """Draw standardised differences, the worst first: hollow before weighting, filled after."""
    rows = np.arange(len(balance))
    before, after = (balance[name].clip(-FARTHEST, FARTHEST) for name in ("before", "after"))

    def draw(axes: Any) -> None:
        axes.axvspan(-SMALL, SMALL, color=THEME["line"], alpha=0.6, linewidth=0)
        axes.axvline(0, color=THEME["soft"], linewidth=0.8)
        axes.hlines(rows, before, after, color=THEME["soft"], linewidth=0.8)
        axes.scatter(
            before, rows, s=24, facecolors="none", edgecolors=THEME["second"], zorder=3,
            label="as they are",
        )  # fmt: skip
        axes.scatter(after, rows, s=24, color=THEME["first"], zorder=3, label="weighted to totals")
        _name_rows(axes, list(balance["column"]))
        axes.set_ylim(len(balance) - 0.4, -0.6)
        axes.set_xlabel("difference in standard deviations")
        _legend(axes)

    title = "Standardised differences between labeled rows and rows to be labeled, by column"
    return inline_svg("balance", title, draw, 1.0 + 0.22 * len(balance))


def inline_svg(name: str, title: str, draw: Callable[[Any], None], height: float = 2.6) -> str:
    """Return a plot as SVG code for a page.

    Parameters
    ----------
    name : str
        A word that no other plot of the page has: all ids start with it.
    title : str
        What a reader who cannot see it is told.
    draw : function of Axes
        Draws in the colours of :data:`THEME`.
    height : float
        In inches; all are 5 wide.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(_INLINE_LOOK), warnings.catch_warnings():
        # Text in any script: the browser has the letters that matplotlib's font lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        figure = Figure(figsize=(_WIDTH, height), layout="constrained", facecolor="none")
        axes = figure.subplots()
        draw(axes)
        axes.set_facecolor("none")
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        code = _saved(figure, "svg", nothing).decode()
    return _for_page(code, name, title)


def as_png(figure: Figure) -> bytes:
    """Return a figure as a PNG file, without a date."""
    return _saved(figure, "png", {"Software": None})


def _saved(figure: Figure, kind: str, metadata: dict[str, None]) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format=kind, dpi=150, metadata=metadata)
    return file.getvalue()


def _for_page(code: str, name: str, title: str) -> str:
    """Take from a file what a page needs: unique ids, the page's colours, no size of its own."""
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


def _bin_edges(values: Floats) -> Floats:
    """Return bins with an edge at zero, so that no bar is on both sides of the cut-off."""
    low, high = float(values.min()), float(values.max())
    if low >= 0 or high <= 0:
        return np.linspace(low, high if high > low else low + 1, _BINS + 1)
    width = (high - low) / _BINS
    below, above = np.ceil(-low / width), np.ceil(high / width)
    edges: Floats = width * np.arange(-below, above + 1)
    return edges


def _name_rows(axes: Any, names: Sequence[str]) -> None:
    axes.set_yticks(np.arange(len(names)), told_apart(names))
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)


def told_apart(names: Sequence[str], most: int = _NAME) -> list[str]:
    """Cut names such that no two that differ read alike: in the middle, and as late as needed.

    Examples
    --------
    >>> told_apart(["income of the household", "age"])
    ['income of the hou…', 'age']
    >>> told_apart(["income of the household", "income of the house"])
    ['income of…ousehold', 'income of…he house']
    """
    lines = [short(name, 1000) for name in names]
    cut = [short(line, most) for line in lines]
    while len(set(cut)) < len(set(lines)) and most < 200:
        half = most // 2
        cut = [
            line if len(line) <= most else f"{line[:half]}\N{HORIZONTAL ELLIPSIS}{line[1 - half :]}"
            for line in lines
        ]
        most += 6
    return cut


def _in_quotes(name: str) -> str:
    # A legend leaves out names that start with an underscore.
    return f"\N{LEFT DOUBLE QUOTATION MARK}{short(name, _NAME)}\N{RIGHT DOUBLE QUOTATION MARK}"


def _legend(axes: Any) -> None:
    handles, titles = axes.get_legend_handles_labels()
    axes.figure.legend(handles, titles, loc="outside upper left", ncols=3, fontsize=7.5)
