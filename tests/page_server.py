"""One server of the page for all tests, and a browser to look at it with."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from c2rf.app.session import write_example


@pytest.fixture(scope="session")
def offered(tmp_path_factory) -> Path:
    """A folder that the page offers, with links that lead out of it."""
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.csv").write_text("a,b\n1,2\n")
    folder = tmp_path_factory.mktemp("offered")
    write_example(folder / "inner")
    (folder / "link.csv").symlink_to(outside / "secret.csv")
    (folder / "other").symlink_to(outside)
    return folder


@contextmanager
def served(temporary: Path, *options: str, **how: Any) -> Iterator[tuple[Any, str]]:
    """The command ``c2rf app`` and the address that it prints."""
    words = [sys.executable, "-P", "-m", "c2rf", "app", "--no-browser", *options]
    variables = os.environ | {"TMPDIR": str(temporary)}
    with subprocess.Popen(words, env=variables, stdout=subprocess.PIPE, text=True, **how) as app:
        try:
            line = app.stdout.readline()
            assert line.startswith("The page is at http://127.0.0.1:"), line
            yield app, line.split()[4]
        finally:
            app.terminate()
            app.wait(timeout=60)


@pytest.fixture(scope="session")
def address(tmp_path_factory, offered) -> Iterator[str]:
    """The address of a page; when it ends, nothing of its visitors is left."""
    temporary = tmp_path_factory.mktemp("visitors")
    with served(temporary, "--folder", str(offered), "--max-upload", "1MB") as (_, place):
        yield place
        assert list(temporary.iterdir())
    assert not list(temporary.iterdir())


@pytest.fixture(scope="session")
def browser(tmp_path_factory) -> Iterator[Any]:
    """A browser without a window, or a reason to skip."""
    selenium = pytest.importorskip("selenium.webdriver")
    program = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("there is no chromium with its chromedriver to open the page in")
    options = selenium.ChromeOptions()
    options.binary_location = program
    profile = tmp_path_factory.mktemp("profile")
    for option in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                   "--window-size=1100,1400", f"--user-data-dir={profile}"):  # fmt: skip
        options.add_argument(option)
    downloads = tmp_path_factory.mktemp("downloads")
    preferences = {
        "download.default_directory": str(downloads),
        "profile.default_content_setting_values.automatic_downloads": 1,  # several are allowed
    }
    options.add_experimental_option("prefs", preferences)
    service = selenium.ChromeService(executable_path=driver)
    window = selenium.Chrome(options=options, service=service)
    window.downloads = downloads
    window.set_page_load_timeout(60)
    yield window
    window.quit()


@pytest.fixture
def files(tmp_path) -> Path:
    """A folder for the files of a test."""
    return tmp_path
