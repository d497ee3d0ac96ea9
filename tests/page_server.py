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

from c2rf.app.server import FOLDER, command, free_port


@pytest.fixture(scope="session")
def address(tmp_path_factory) -> Iterator[str]:
    """The address of a page that offers a folder, with a link that leads out of it."""
    folder = tmp_path_factory.mktemp("offered")
    (tmp_path_factory.mktemp("outside") / "secret.csv").write_text("a,b\n1,2\n")
    (folder / "people.csv").write_text("a,b\n1,2\n")
    port = free_port(0)
    log = (folder / "log.txt").open("w")
    server = subprocess.Popen(
        command(port, browser=False, max_upload="1MB"),
        env=os.environ | {FOLDER: str(folder)},
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
    log.close()


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
    service = selenium.ChromeService(executable_path=driver)
    window = selenium.Chrome(options=options, service=service)
    yield window
    window.quit()


@pytest.fixture
def files(tmp_path) -> Path:
    """A folder for the files of a test."""
    return tmp_path
