"""Pages as a parser and as a real browser see them."""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest


class Page(HTMLParser):
    """What a page consists of and refers to."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.references: list[str] = []
        self.ids: list[str] = []
        self.handlers: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "xlink:href", "srcset", "action"):
                self.references.append(value or "")
            if name == "id":
                self.ids.append(value or "")
            if name.startswith("on"):
                self.handlers.append(name)

    def handle_data(self, data: str) -> None:
        self.text += data


def check_self_contained(html: str) -> Page:
    """Check that a page runs no code and needs nothing from anywhere."""
    page = Page(html)
    assert not {"script", "iframe", "object", "embed", "form"} & set(page.tags)
    assert not page.handlers
    assert page.references
    assert all(re.match(r"#|data:", reference) for reference in page.references)
    assert "default-src 'none'" in html
    return page


def browse(path: Path, profile: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Open a page in headless Chromium, or skip the test where there is none.

    The pages' own policy forbids any request; a forbidden one is a complaint on the console,
    which goes to standard error with the word CONSOLE.
    """
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    browser = next(filter(None, map(shutil.which, names)), None)
    if browser is None:
        pytest.skip("there is no Chromium to open the page in")
    always = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"]
    quiet = ["--disable-background-networking", "--no-first-run", f"--user-data-dir={profile}"]
    return subprocess.run(
        [browser, *always, *quiet, *options, path.as_uri()],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
