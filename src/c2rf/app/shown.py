"""Text from files and messages, as the page shows it: nothing in it is markup."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from c2rf.app.visit import Visit

_MARKUP = "\\`*_{}[]<>()#+-.!|$~:"


def plain(text: str) -> str:
    r"""Return text in which nothing is markup.

    Examples
    --------
    >>> print(plain("<b>*"))
    \<b\>\*
    """
    return "".join(f"\\{sign}" if sign in _MARKUP else sign for sign in text)


def as_shown(message: str, visit: Visit) -> str:
    """Return a message about files as the visitor knows them: by their names."""
    return plain(re.sub(rf"{re.escape(str(visit.folder))}/[^/]+/", "", message))
