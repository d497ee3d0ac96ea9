"""What a newcomer meets first: the help, completion in the shell, a light import."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from c2rf.cli import app, main

NOT_FOR_EVERYBODY = ["matplotlib", "jinja2", "skops", "dask", "polars", "pmlb", "pyscipopt"]


def complete(
    words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> set[str]:
    """Return what bash would offer for the last word."""
    monkeypatch.setenv("_C2RF_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    assert main([]) == 0
    return set(capsys.readouterr().out.split())


class TestHelp:
    def test_says_what_each_command_does_in_one_line(self, capsys, monkeypatch):
        monkeypatch.setenv("COLUMNS", "80")
        assert main(["--help"]) == 0
        text = capsys.readouterr().out
        for name, command in typer.main.get_command(app).commands.items():
            first = command.help.split("\n\n")[0]
            assert re.search(rf"{name}\s+{re.escape(' '.join(first.split()))}", text), name

    def test_without_a_command_is_the_help(self, capsys):
        assert main([]) in (0, 2)
        assert "classify" in capsys.readouterr().out


class TestCompletion:
    def test_of_commands(self, monkeypatch, capsys):
        assert complete("c2rf cl", monkeypatch, capsys) == {"classify"}

    def test_of_options(self, monkeypatch, capsys):
        offered = complete("c2rf classify --tot", monkeypatch, capsys)
        assert {"--total", "--totals", "--totals-file"} <= offered

    def test_can_be_installed(self, capsys):
        assert main(["--help"]) == 0
        assert "--install-completion" in capsys.readouterr().out


def test_the_import_loads_nothing_that_few_need() -> None:
    code = f"import sys, c2rf; print([m for m in {NOT_FOR_EVERYBODY} if m in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert result.stdout.strip() == "[]"


def test_the_core_needs_few_packages() -> None:
    project = Path(__file__).parent.parent / "pyproject.toml"
    core = re.search(r"^dependencies = \[(.*?)^\]", project.read_text(), re.MULTILINE | re.DOTALL)
    assert core is not None
    names = set(re.findall(r'"([\w-]+)', core[1]))
    assert names == {"highspy", "numpy", "pandas", "rich", "scikit-learn", "scipy", "typer"}
