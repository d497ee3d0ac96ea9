"""What the commands print: progress, and what is proven."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import c2rf
from c2rf.cli import terminal


def test_an_open_end_is_told_as_one():
    labels = np.ones(9, dtype=np.int8)
    solution = c2rf.Solution(np.ones(3), 0.0, labels, eta=7, bound=2, status="feasible", runtime=1)
    said = terminal.proof(solution)
    assert "the best possible is at least 2" in said
    assert "off by 7" in said


@pytest.mark.parametrize("quiet", [True, False])
def test_progress_is_for_a_terminal_only(monkeypatch, capsys, quiet):
    with terminal.waiting("hold on", quiet):
        pass
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with terminal.waiting("hold on", quiet):
        pass
    assert ("hold on" in capsys.readouterr().err) == (not quiet)
