"""The server of the page: who gets in, what it is started with, and what is left at its end."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from c2rf.app import server
from c2rf.exceptions import InputError
from page_server import served

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A page that was started where somebody has left code and settings to lower its guard."""
    here = tmp_path_factory.mktemp("here")
    (here / "json.py").write_text("raise SystemExit('the working folder is trusted')")
    (here / ".streamlit").mkdir()
    settings = "enableCORS = false\nenableXsrfProtection = false\nbaseUrlPath = 'open'\n"
    (here / ".streamlit" / "config.toml").write_text(f"[server]\n{settings}")
    with served(tmp_path_factory.mktemp("temporary"), cwd=here) as (_, place):
        yield urlsplit(place)


def status(address, path: str, **headers: str) -> int:
    connection = http.client.HTTPConnection(address.netloc, timeout=30)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    connection.close()
    return answer.status


@pytest.mark.parametrize("path", ["", "index.html", "_stcore/health", "_stcore/host-config"])
def test_nothing_is_answered_without_the_token(address, path):
    assert status(address, f"{address.path}{path}") == 200
    for prefix in ("/", "/open/", address.path.lower(), f"/{'A' * len(address.path.strip('/'))}/"):
        assert status(address, f"{prefix}{path}") == 404


@pytest.mark.parametrize(
    ("host", "origin", "answer"),
    [
        ("127.0.0.1", "http://127.0.0.1", 101),
        ("localhost", "http://localhost", 101),
        ("rebound.example", "http://rebound.example", 403),
        ("127.0.0.1", "http://elsewhere.example", 403),
        ("127.0.0.1.example", "http://127.0.0.1.example", 403),
    ],
)
def test_only_this_computer_talks_to_the_page(address, host, origin, answer):
    """Not another site in this user's browser, whose name leads to 127.0.0.1, either."""
    headers = {
        "Host": f"{host}:{address.port}",
        "Origin": f"{origin}:{address.port}",
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "c2rf" * 5 + "cA==",
    }
    assert status(address, f"{address.path}_stcore/stream", **headers) == answer


def test_the_token_is_on_no_command_line():
    """Other users of the computer see command lines, but neither variables nor our files."""
    words = server.command(1234, "2GB")
    variables = server.environment("secret", Path("own"), None)
    assert "secret" in variables.values()
    assert not any("secret" in word for word in words)
    pinned = {"server.allowedHosts": "127.0.0.1", "server.maxUploadSize": "2048"}
    pinned |= {"server.address": "127.0.0.1", "browser.gatherUsageStats": "false"}
    assert {"-P"} | {f"--{name}={value}" for name, value in pinned.items()} <= set(words)


def test_a_browser_is_sent_by_a_file_that_only_this_user_reads(monkeypatch, tmp_path):
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    seen = []
    monkeypatch.setattr("webbrowser.open", seen.append)
    with server._opened("http://127.0.0.1:1/secret/", 1):
        (path,) = tmp_path.iterdir()
        assert seen == [path.as_uri()]
        assert "url=http://127.0.0.1:1/secret/" in path.read_text()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not path.exists()


def test_settings_of_streamlit_in_the_environment_do_not_count(monkeypatch, tmp_path):
    monkeypatch.setenv("STREAMLIT_SERVER_ENABLE_CORS", "false")
    monkeypatch.setenv(server.FOLDER, "/somewhere/else")
    variables = server.environment("secret", tmp_path, None)
    assert not {"STREAMLIT_SERVER_ENABLE_CORS", server.FOLDER} & set(variables)
    assert server.environment("secret", tmp_path, tmp_path)[server.FOLDER] == str(tmp_path)


def dropped(temporary: Path) -> Path:
    """Put a file where the server keeps what is dropped."""
    (own,) = temporary.glob("c2rf-app-*")
    path = own / "people.csv"
    path.write_text("a,b")
    return path


def is_open(place: str) -> bool:
    try:
        socket.create_connection((urlsplit(place).hostname, urlsplit(place).port), 5).close()
    except OSError:
        return False
    return True


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_whatever_ends_the_command_ends_the_server_and_removes_what_was_dropped(tmp_path):
    ends = {"SIGINT": 130, "SIGTERM": 143, "SIGHUP": 129, "SIGKILL": -9}
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        del ends["SIGHUP"]  # under nohup the page goes on, as is asked for
    with ExitStack() as stack:
        apps = {}
        for name in ends:
            (tmp_path / name).mkdir()
            apps[name] = stack.enter_context(served(tmp_path / name))
        for name, (app, _) in apps.items():
            dropped(tmp_path / name)
            app.send_signal(signal.Signals[name])
        for name, (app, place) in apps.items():
            assert app.wait(60) == ends[name]
            deadline = time.monotonic() + 60
            while is_open(place) and time.monotonic() < deadline:  # nobody could wait for this one
                time.sleep(0.1)
            assert not is_open(place)
    left = {name: list((tmp_path / name).iterdir()) for name in ends}
    assert [name for name in ends if left[name]] == ["SIGKILL"]


def serve(port=None, folder=None):
    return server.serve(port, browser=False, folder=folder, max_upload="1GB")


def test_the_exit_code_is_that_of_the_server(monkeypatch):
    words = [sys.executable, "-c", "raise SystemExit(7)"]
    monkeypatch.setattr(server, "command", lambda port, max_upload: words)
    before = {number: signal.getsignal(number) for number in server.ENDS}
    assert serve() == 7
    assert {number: signal.getsignal(number) for number in server.ENDS} == before


def test_a_server_that_does_not_end_is_killed(monkeypatch):
    monkeypatch.setattr(server, "PATIENCE", 0.1)
    words = "import signal as s, time; s.signal(15, s.SIG_IGN); print(flush=True); time.sleep(99)"
    deaf = subprocess.Popen([sys.executable, "-c", words], stdout=subprocess.PIPE)
    deaf.stdout.readline()
    with server._exit_on_signals():
        server._end(deaf)
    assert deaf.returncode not in (0, None)


def test_what_is_wrong_is_said_before_anything_is_started(monkeypatch, tmp_path):
    monkeypatch.setattr("subprocess.Popen", pytest.fail)
    with pytest.raises(InputError, match="is not a folder"):
        serve(folder=tmp_path / "absent")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        assert server.free_port(port) not in (0, port)
        with pytest.raises(InputError, match=f"{port} is taken"):
            serve(port)
    with socket.create_server(("127.0.0.1", 0)) as ended:
        port = ended.getsockname()[1]
        assert server.free_port(port) != port
        with socket.create_connection(("127.0.0.1", port)) as visitor:
            ended.accept()[0].close()  # first, so that the system remembers this end
            assert visitor.recv(1) == b""
    assert server.free_port(port) == port
    with pytest.raises(InputError, match="a size like 500MB"):
        server.megabytes("lots")
    monkeypatch.setattr(server, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r'pip install "c2rf\[app\]"'):
        serve()
