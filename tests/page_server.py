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


@pytest.fixture(scope="session")
def address(tmp_path_factory, offered) -> Iterator[str]:
    """The address of a page; when it ends, nothing of its visitors is left."""
    port, folder = free_port(0), tmp_path_factory.mktemp("visitors")
    log_file = tmp_path_factory.mktemp("log") / "log.txt"
    with log_file.open("w") as log:
        server = subprocess.Popen(
            command(port, browser=False, max_upload="1MB"),
            env=os.environ | {FOLDER: str(offered), "TMPDIR": str(folder)},
            stdout=log,
            stderr=log,
        )
        place = f"http://127.0.0.1:{port}"
        try:
            assert answers(f"{place}/_stcore/health", server), log_file.read_text()
            yield place
        finally:
            end(server)
    assert not list(folder.glob("c2rf-*"))


def answers(place: str, server: subprocess.Popen[bytes]) -> bool:
    """Wait until a server answers, as long as it lives."""
    for _ in range(600):
        if server.poll() is not None:
            return False
        try:
            urllib.request.urlopen(place, timeout=5).close()
        except OSError:
            time.sleep(0.2)
        else:
            return True
    return False


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process, gently first."""
    process.terminate()
    try:
        process.wait(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        raise


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
    wishes = {
        "download.default_directory": str(downloads),
        "profile.default_content_setting_values.automatic_downloads": 1,  # several are allowed
    }
    options.add_experimental_option("prefs", wishes)
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
