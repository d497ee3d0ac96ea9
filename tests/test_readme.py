"""What the README shows runs as it stands there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from c2rf.cli import main

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)
COMMANDS = re.findall(r"^(c2rf .*)$", README, flags=re.MULTILINE)
TARGETS = re.findall(r"^make (\w+)", README, flags=re.MULTILINE)


def test_has_examples_commands_and_targets():
    assert len(EXAMPLES) >= 2
    assert {"demo", "classify", "solve", "verify", "backends"} <= {c.split()[1] for c in COMMANDS}
    assert {"demo", "test"} <= set(TARGETS)


@pytest.mark.parametrize("example", EXAMPLES)
def test_example_runs(example, capsys):
    exec(compile(example, "README.md", "exec"), {})
    assert capsys.readouterr().out


def test_commands_run_one_after_the_other(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for command in COMMANDS:
        assert main(shlex.split(command, comments=True)[1:]) == 0, command
    capsys.readouterr()


def test_make_targets_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in TARGETS:
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE)
