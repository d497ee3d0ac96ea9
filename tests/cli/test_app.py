"""``c2rf app``: the options go to the server, and its exit code is the command's."""

from __future__ import annotations

from pathlib import Path

import pytest

from c2rf.cli import main


@pytest.mark.parametrize("code", [0, 3])
def test_options_go_to_the_server(monkeypatch, tmp_path, code):
    calls = []

    def serve(port: int | None, **options: object) -> int:
        calls.append((port, options))
        return code

    monkeypatch.setattr("c2rf.app.server.serve", serve)
    line = ["app", "--port", "1234", "--no-browser", "--folder", str(tmp_path)]
    assert main([*line, "--max-upload", "1GB"]) == code
    folder = Path(tmp_path)
    assert calls == [(1234, {"browser": False, "folder": folder, "max_upload": "1GB"})]


def test_a_folder_that_is_none(capsys):
    assert main(["app", "--folder", "absent", "--no-browser"]) == 2
    assert "is not a folder" in capsys.readouterr().err
