"""The server of the page: for one user of this computer only, without telemetry.

The server is a process of its own. What visitors drop goes to a folder that no other user can read;
the process that has started the server removes it, whatever ends either of them.
"""

from __future__ import annotations

import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
import webbrowser
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from c2rf._utils.interrupts import own_group
from c2rf.data.atomic import scratch_folder
from c2rf.exceptions import InputError

FOLDER = "C2RF_APP_FOLDER"
"""Variable of the environment with the folder that the page may read."""

HERE = "127.0.0.1"
PATIENCE = 10.0
"""Seconds that the server has to end by itself."""

ENDS = [
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
    if hasattr(signal, name)
]
"""What ends a program and can be caught: Ctrl-C, a request, a closed terminal (two names)."""

_PREFIX = "c2rf-app-"
_UNITS = {"M": 1, "G": 1 << 10}


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
    chosen = free_port() if port is None else free_port(port)
    if port not in (None, chosen):
        raise InputError(f"--port: {port} is taken; {chosen} is free")
    words, token = command(chosen, max_upload), secrets.token_urlsafe(24)
    address = f"http://{HERE}:{chosen}/{token}/"
    with _exit_on_signals(), scratch_folder(_PREFIX) as own, ExitStack() as stack:
        # Not in the working folder: Streamlit would read settings and secrets from there.
        server = subprocess.Popen(
            words, env=environment(token, own, folder), cwd=own, stdin=subprocess.PIPE,
            **own_group(),
        )  # fmt: skip
        stack.callback(_end, server)
        if _answers(chosen, server):
            print(f"The page is at {address} (Ctrl-C ends it)", flush=True)
            if browser:
                stack.enter_context(_opened(address, chosen))
        return server.wait()


def command(port: int, max_upload: str) -> list[str]:
    """Return the command that runs the server, which no settings can open to others."""
    here = f"http://{HERE}:{port}"
    options = {
        "server.address": HERE,
        "server.port": str(port),
        "server.enableCORS": "true",
        "server.corsAllowedOrigins": here,
        "server.enableXsrfProtection": "true",
        "server.xsrfCookieSameSite": "strict",
        "server.enableStaticServing": "false",
        "server.trustedUserHeaders": "{}",
        "server.maxUploadSize": str(megabytes(max_upload)),
        "server.fileWatcherType": "none",
        "server.headless": "true",
        "server.showEmailPrompt": "false",
        "logger.hideWelcomeMessage": "true",
        "logger.level": "warning",
        "global.developmentMode": "false",
        "browser.gatherUsageStats": "false",
        "browser.serverAddress": HERE,
        "client.allowedOrigins": here,
        "client.toolbarMode": "minimal",
        "client.showErrorDetails": "none",
    }
    page = Path(__file__).with_name("page.py")
    # With -P, a json.py in the working folder is not imported.
    words = [sys.executable, "-P", "-m", "c2rf.app.server", "run", str(page)]
    words += [f"--server.allowedHosts={name}" for name in (HERE, "localhost")]
    return words + [f"--{name}={value}" for name, value in options.items()]


def environment(token: str, own: Path, folder: Path | None) -> dict[str, str]:
    """Return the server's variables; the token is here, as all users can see a command line."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name != FOLDER and not name.startswith("STREAMLIT_")
    }
    kept |= dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(own))
    # The whole page is below the token. Not all versions have the interface for programs.
    kept |= {"STREAMLIT_SERVER_BASE_URL_PATH": token, "STREAMLIT_SERVER_ENABLE_AGENT_API": "false"}
    return kept | ({} if folder is None else {FOLDER: str(folder.resolve())})


@contextmanager
def _exit_on_signals() -> Iterator[None]:
    """Leave by an exception when the process is to end, so that it is tidied up."""

    def leave(number: int, _: Any) -> None:
        sys.exit(128 + number)

    before = {number: signal.getsignal(number) for number in ENDS}
    for number, handler in before.items():
        if handler is signal.SIG_DFL:  # not Ctrl-C, which raises; not what nohup ignores
            signal.signal(number, leave)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(server: subprocess.Popen[bytes]) -> None:
    """End the server; from here on nothing interrupts the tidying."""
    for number in ENDS:
        signal.signal(number, signal.SIG_IGN)
    server.terminate()
    try:
        server.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
    if server.stdin is not None:
        server.stdin.close()


def _answers(port: int, server: subprocess.Popen[bytes]) -> bool:
    """Wait until the server answers, as long as it lives."""
    while server.poll() is None:
        with suppress(OSError), socket.create_connection((HERE, port), timeout=1.0):
            return True
        time.sleep(0.1)
    return False


@contextmanager
def _opened(address: str, port: int) -> Iterator[None]:
    """Open a browser by a file with the address: all users can see the browser's command line.

    The file is in the home folder, as browsers in a sandbox see no temporary or hidden files.
    """
    path = Path.home() / f"c2rf-page-{port}.html"
    path.unlink(missing_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f'<meta http-equiv="refresh" content="0; url={address}">\n')
    try:
        webbrowser.open(path.as_uri())
        yield
    finally:
        path.unlink(missing_ok=True)


def _be_the_server() -> None:
    """Run Streamlit until it is stopped, or until the process that has started this one is gone."""

    def watch() -> None:
        os.read(0, 1)  # returns when the other end of the pipe is closed
        signal.raise_signal(signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()
    from streamlit.web.cli import main

    main(prog_name="streamlit")


def megabytes(text: str) -> int:
    """Return a size in whole megabytes.

    Examples
    --------
    >>> megabytes("500MB"), megabytes("2 GB")
    (500, 2048)
    """
    found = re.fullmatch(r"(\d+)\s*([MG])B?", text.strip().upper())
    if not found or int(found[1]) == 0:
        raise InputError(f"--max-upload must be a size like 500MB or 2GB; found {text!r}")
    return int(found[1]) * _UNITS[found[2]]


def free_port(usual: int = 8501) -> int:
    """Return a free port: that of Streamlit, or else any."""
    for port in (usual, 0):
        # A port whose last page has just ended is free, though its connections are remembered.
        with suppress(OSError), socket.create_server((HERE, port)) as listener:
            return int(listener.getsockname()[1])
    raise InputError("there is no free port for the page")


if __name__ == "__main__":
    _be_the_server()
