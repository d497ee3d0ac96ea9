"""What the commands print while they work."""

from __future__ import annotations

import sys

import pytest

from c2rf.cli import terminal


@pytest.mark.parametrize("quiet", [True, False])
def test_progress_is_for_a_terminal_only(monkeypatch, capsys, quiet):
    with terminal.waiting("hold on", quiet):
        pass
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with terminal.waiting("hold on", quiet):
        pass
    assert ("hold on" in capsys.readouterr().err) == (not quiet)
