"""``c2rf app``: a page to drop files on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def page(
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Where to listen.")] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Do not open a browser.")
    ] = False,
    folder: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also offer the files of this folder.")
    ] = None,
    max_upload: Annotated[
        str, typer.Option(metavar="SIZE", help="Largest file that can be dropped.")
    ] = "500MB",
) -> None:
    """Open a page in the browser to drop files on.

    The page is on this computer only (127.0.0.1) and needs no network. What is dropped on it is
    removed when the page is closed.
    """
    from c2rf.app.server import serve

    code = serve(port, browser=not no_browser, folder=folder, max_upload=max_upload)
    if code:
        raise typer.Exit(code)
