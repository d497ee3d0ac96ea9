"""What the commands print while they work."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from c2rf.cli import terminal
from c2rf.data.dialect import ReadAs
from c2rf.progress import report_progress


@pytest.mark.parametrize("quiet", [True, False])
def test_progress_is_for_a_terminal_only(monkeypatch, capsys, quiet):
    with terminal.waiting("hold on", quiet):
        pass
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with terminal.waiting("hold on", quiet):
        pass
    assert ("hold on" in capsys.readouterr().err) == (not quiet)


def test_tables_as_they_were_understood_are_shown_in_german(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.csv").write_text("town,type\nUlm,1\nBonn,2\n")
    terminal.show_previews([tmp_path / "a.csv"], ReadAs(), language="de")
    said = capsys.readouterr().out
    assert "a.csv: 2 Zeilen, 2 Spalten; gelesen als" in said
    for word in ("Spalte", "Art", "Text", "Zahl", "leer", "town", "type"):
        assert word in said
    assert "empty" not in said


def test_progress_is_in_the_language_of_the_command(capsys):
    said = ""
    with (
        terminal.speaking(["classify", "--language", "de"]),
        terminal.waiting("classifying", every=0.001),  # printed by another thread
    ):
        while "Klassifizieren: Zeilen ordnen" not in said:
            report_progress("ranking rows")
            said += capsys.readouterr().err
    assert "ranking" not in said
