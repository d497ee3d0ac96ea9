"""The server of the page: what it is started with, and where it listens."""

from __future__ import annotations

import os
import socket

import pytest

from c2rf.app import server
from c2rf.exceptions import InputError


@pytest.fixture
def started(monkeypatch) -> list[tuple[list[str], dict[str, str]]]:
    """The commands that would be run, and their environments."""
    found: list[tuple[list[str], dict[str, str]]] = []

    def call(command, env):
        found.append((command, env))
        return 7

    monkeypatch.setattr("subprocess.call", call)
    return found


def serve(port=1234, folder=None, max_upload="1GB"):
    return server.serve(port, browser=False, folder=folder, max_upload=max_upload)


def test_the_exit_code_is_that_of_the_server(started):
    assert serve() == 7
    ((command, environment),) = started
    assert "--server.port=1234" in command
    assert server.FOLDER not in environment
    assert environment.items() <= os.environ.items()


def test_only_the_folder_that_was_given_is_offered(started, monkeypatch, tmp_path):
    monkeypatch.setenv(server.FOLDER, "/somewhere/else")
    serve()
    serve(folder=tmp_path)
    assert [environment.get(server.FOLDER) for _, environment in started] == [None, str(tmp_path)]


def test_what_is_missing_is_said_before_anything_is_started(started, monkeypatch, tmp_path):
    with pytest.raises(InputError, match="is not a folder"):
        serve(folder=tmp_path / "absent")
    monkeypatch.setattr(server, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r'pip install "c2rf\[app\]"'):
        serve()
    assert not started


def test_another_port_where_the_usual_one_is_taken():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        assert server.free_port(port) not in (0, port)
