"""The server of the page: on this computer only, without telemetry."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from c2rf.exceptions import InputError

FOLDER = "C2RF_APP_FOLDER"
"""Variable of the environment with the folder that the page may read."""

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def serve(port: int | None, *, browser: bool, folder: Path | None, max_upload: str) -> int:
    """Serve the page until it is stopped, and return the exit code of the server.

    Parameters
    ----------
    port : int or None
        Where to listen; None for a free port.
    browser : bool
        Whether to open a browser.
    folder : Path or None
        A folder whose files can be chosen.
    max_upload : str
        The largest upload, like 500MB.
    """
    if find_spec("streamlit") is None:
        raise InputError('the page needs streamlit; pip install "c2rf[app]"')
    if folder is not None and not folder.is_dir():
        raise InputError(f"--folder: {folder} is not a folder")
    environment = {key: value for key, value in os.environ.items() if key != FOLDER}
    if folder is not None:
        environment[FOLDER] = str(folder.resolve())
    return subprocess.call(command(port or free_port(), browser, max_upload), env=environment)


def command(port: int, browser: bool, max_upload: str) -> list[str]:
    """Return the command that runs the server."""
    options = {
        "server.address": "127.0.0.1",
        "server.port": str(port),
        "server.headless": str(not browser).lower(),
        "server.maxUploadSize": str(megabytes(max_upload)),
        "server.fileWatcherType": "none",
        "server.showEmailPrompt": "false",
        "browser.gatherUsageStats": "false",
        "browser.serverAddress": "127.0.0.1",
        "client.toolbarMode": "minimal",
        "client.showErrorDetails": "none",
    }
    page = Path(__file__).with_name("page.py")
    words = [sys.executable, "-m", "streamlit", "run", str(page)]
    return words + [f"--{name}={value}" for name, value in options.items()]


def megabytes(text: str) -> int:
    """Return a size in whole megabytes.

    Examples
    --------
    >>> megabytes("500MB"), megabytes("2 GB"), megabytes("1")
    (500, 2048, 1)
    """
    found = re.fullmatch(r"(\d+)\s*([KMG]?)B?", text.strip().upper())
    if not found or int(found[1]) == 0:
        raise InputError(f"--max-upload must be a size like 500MB or 2GB; found {text!r}")
    n_bytes = int(found[1]) * _UNITS[found[2]]
    return max(1, n_bytes >> 20)


def free_port(usual: int = 8501) -> int:
    """Return a free port: that of Streamlit, or else any."""
    for port in (usual, 0):
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(listener.getsockname()[1])
    raise InputError("there is no free port for the page")
