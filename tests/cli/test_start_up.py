"""What a newcomer meets first: the help, completion in the shell, a light import."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from c2rf.cli import app, main
from c2rf.workflow.classify import make_learner
from c2rf.workflow.options import choices

LARGE = ["sklearn", "scipy", "numpy", "pandas", "highspy", "pyarrow"]
SLOW = ["pydantic", "rich.markdown", "pygments"]
NOT_FOR_EVERYBODY = ["matplotlib", "jinja2", "skops", "dask", "polars", "pmlb", "pyscipopt"]


def complete(
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
    at: int | None = None,
) -> set[str]:
    """Return what bash would offer for the last word, or for another one."""
    monkeypatch.setenv("_C2RF_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1 if at is None else at))
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
        assert main([]) == main(["bench"]) == 2
        text = capsys.readouterr().out
        assert "classify" in text
        assert "report" in text


class TestCompletion:
    def test_of_commands(self, monkeypatch, capsys):
        assert complete("c2rf cl", monkeypatch, capsys) == {"classify"}

    def test_of_options(self, monkeypatch, capsys):
        offered = complete("c2rf classify --tot", monkeypatch, capsys)
        assert {"--total", "--totals", "--totals-file"} <= offered

    @pytest.mark.parametrize(
        ("option", "offered"),
        [
            ("--method", {"known-totals", "c2rf"}),
            ("--engine", {"auto", "memory", "chunks", "dask", "spark"}),
        ],
    )
    def test_of_values(self, monkeypatch, capsys, option, offered):
        assert complete(f"c2rf classify {option} ", monkeypatch, capsys, at=3) == offered
        first = min(offered)
        assert first in complete(f"c2rf classify {option} {first[:2]}", monkeypatch, capsys)

    def test_of_learners(self, monkeypatch, capsys):
        offered = complete("c2rf classify --learner ", monkeypatch, capsys, at=3)
        assert offered == set(choices("learner"))
        for name in offered:
            make_learner(name)

    def test_checks_no_value_before_the_last_word(self, monkeypatch, capsys):
        offered = complete("c2rf solve --threads many --meth", monkeypatch, capsys)
        assert offered == {"--method"}

    def test_can_be_installed(self, capsys):
        assert main(["--help"]) == 0
        assert "--install-completion" in capsys.readouterr().out


COMPLETIONS = {
    "completion in bash": {
        "_C2RF_COMPLETE": "complete_bash",
        "COMP_WORDS": "c2rf classify --engine ",
        "COMP_CWORD": "3",
    },
    "completion in zsh, with help": {
        "_C2RF_COMPLETE": "complete_zsh",
        "_TYPER_COMPLETE_ARGS": "c2rf classify --tot",
    },
}


@pytest.mark.parametrize("what", ["--version", "--help", "classify --help", *COMPLETIONS])
def test_starting_imports_nothing_large(what: str) -> None:
    code = f"""
import sys
sys.argv[1:] = {[] if what in COMPLETIONS else what.split()}
import c2rf_command
assert c2rf_command.main() == 0
print("loaded:", [m for m in {LARGE + SLOW} if m in sys.modules])
"""
    environment = os.environ | COMPLETIONS.get(what, {})
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.splitlines()[-1] == "loaded: []"


def test_the_import_loads_nothing_that_few_need() -> None:
    code = f"import sys, c2rf; print([m for m in {NOT_FOR_EVERYBODY} if m in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


def test_the_core_needs_few_packages() -> None:
    project = Path(__file__).parents[2] / "pyproject.toml"
    core = re.search(r"^dependencies = \[(.*?)^\]", project.read_text(), re.MULTILINE | re.DOTALL)
    assert core is not None
    names = set(re.findall(r'"([\w-]+)', core[1]))
    with_scikit_learn = {"joblib", "narwhals", "numpy", "scikit-learn", "scipy", "threadpoolctl"}
    assert names == with_scikit_learn | {"highspy", "numba", "pandas", "rich", "typer"}
