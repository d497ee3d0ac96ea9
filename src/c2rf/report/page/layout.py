"""From what is to be told to one self-contained HTML page."""

from __future__ import annotations

import base64
from importlib.util import find_spec
from typing import Any

from c2rf.exceptions import InputError

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
            [jinja2.PackageLoader(room), jinja2.PackageLoader("c2rf.report.page")],
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
