"""One server of the page for all tests, and a browser to look at it with."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from c2rf.app.example import write_example
from c2rf.app.server import FOLDER, command, free_port


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


@pytest.fixture(scope="session")
def address(tmp_path_factory, offered) -> Iterator[str]:
    """The address of a page; when it ends, nothing of its visitors is left."""
    port, folder = free_port(0), tmp_path_factory.mktemp("visitors")
    with (tmp_path_factory.mktemp("log") / "log.txt").open("w") as log:
        server = subprocess.Popen(
            command(port, browser=False, max_upload="1MB"),
            env=os.environ | {FOLDER: str(offered), "TMPDIR": str(folder)},
            stdout=log,
            stderr=log,
        )
        place = f"http://127.0.0.1:{port}"
        for _ in range(600):
            try:
                urllib.request.urlopen(f"{place}/_stcore/health", timeout=5).close()
                break
            except OSError:
                time.sleep(0.2)
        yield place
        server.terminate()
        server.wait(timeout=60)
    assert not list(folder.glob("c2rf-*"))


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
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    service = selenium.ChromeService(executable_path=driver)
    window = selenium.Chrome(options=options, service=service)
    window.downloads = downloads
    yield window
    window.quit()


@pytest.fixture
def files(tmp_path) -> Path:
    """A folder for the files of a test."""
    return tmp_path
