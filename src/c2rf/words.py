"""Numbers and names in words, the same on the screen and in reports."""

from __future__ import annotations

import unicodedata


def percent(share: float) -> str:
    """Write a share as people read it.

    Examples
    --------
    >>> percent(0.5), percent(0.0012), percent(1.0)
    ('50.0 %', '0.12 %', '100.0 %')
    """
    return f"{100 * share:.2f} %" if 0 < share < 0.01 else f"{100 * share:.1f} %"


def span(low: int, high: int, most: int) -> str:
    """Write what is known about a number that is from 0 to ``most``.

    Examples
    --------
    >>> span(3, 3, 9), span(1, 4, 9), span(0, 4, 9), span(0, 9, 9)
    ('3', '1 to 4', 'at most 4', 'not known')
    """
    if low == high:
        return f"{low:,}"
    if low == 0 and high >= most:
        return "not known"
    return f"at most {high:,}" if low == 0 else f"{low:,} to {high:,}"


def short(text: str, most: int = 40) -> str:
    r"""Cut a text of any length and make it one line; signs that cannot be seen are dropped.

    Examples
    --------
    >>> short("a\nb\x00"), short("x" * 50, 5)
    ('a b', 'xxxx…')
    """
    line = " ".join(text[: 4 * most].split())  # a cell may hold a book
    line = "".join(sign for sign in line if unicodedata.category(sign) not in ("Cc", "Cs"))
    return line if len(line) <= most else line[: most - 1] + "…"


def quoted(text: str) -> str:
    r"""Return a short form of a text in quotes that keeps its direction to itself.

    Examples
    --------
    >>> quoted("no")
    "\u2068'no'\u2069"
    """
    return f"\N{FIRST STRONG ISOLATE}'{short(text)}'\N{POP DIRECTIONAL ISOLATE}"


def count(number: int, noun: str, nouns: str = "") -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> count(1, "tree"), count(12345, "tree"), count(2, "class", "classes")
    ('1 tree', '12,345 trees', '2 classes')
    """
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"
