"""Every code block of the README and of the documentation runs, page by page."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

import c2rf
from c2rf.cli import app, main

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("theory/*.md"))]

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
RUN = {"python", "pycon", "console", "bash", "sh"}
NOT_RUN = {"text", "json", "csv", "toml"}
# They set up the machine, or run what is being tested.
NOT_OURS = ("pip", "make", "git", "python", "cd")


class Block(NamedTuple):
    """A fenced block of a page."""

    kind: str
    code: str
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(found[1], found[2], text.count("\n", 0, found.start()) + 1)
        for found in FENCE.finditer(text)
    ]


def run_commands(block: Block, where: str) -> None:
    """Run the commands of ours; lines without a prompt in a console block are their output."""
    lines = block.code.replace("\\\n", " ").splitlines()
    if block.kind == "console":
        lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    for line in lines:
        program, *arguments = shlex.split(line, comments=True) or [""]
        if program == "c2rf":
            assert main(arguments) == 0, f"{where}: {line}"
        else:
            assert program in ("", *NOT_OURS), f"{where}: cannot run {line!r}"


def run_session(block: Block, page: Path, names: dict[str, object]) -> None:
    """Run an interactive session and compare what it prints."""
    test = doctest.DocTestParser().get_doctest(block.code, {}, page.name, str(page), block.line)
    test.globs = names
    problems: list[str] = []
    doctest.DocTestRunner().run(test, out=problems.append, clear_globs=False)
    assert not problems, "".join(problems)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_blocks_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks(page):
        where = f"{page.name}:{block.line}"
        if block.kind == "python":
            # Blocks of a page follow each other, as a reader would run them.
            exec(compile("\n" * block.line + block.code, page, "exec"), names)
        elif block.kind == "pycon":
            run_session(block, page, names)
        elif block.kind in RUN:
            run_commands(block, where)
        else:
            assert block.kind in NOT_RUN, f"{where}: blocks of {block.kind!r} are not run"


def test_the_pages_have_code_to_run() -> None:
    kinds = [block.kind for page in PAGES for block in blocks(page)]
    assert {"python", "pycon", "console"} <= set(kinds)


def test_the_command_page_explains_every_command() -> None:
    page = (DOCS / "cli.md").read_text(encoding="utf-8")
    explained = re.findall(r"^:::{command} (.+)$", page, re.MULTILINE)
    assert sorted(explained) == sorted(commands(typer.main.get_command(app)))


def commands(command: Any) -> list[str]:
    """Return the names of all commands below one, as they are typed."""
    groups = getattr(command, "commands", {})
    return [
        f"{name} {rest}".strip()
        for name, below in groups.items()
        for rest in commands(below) or [""]
    ]


def test_the_api_page_lists_every_public_name() -> None:
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    modules = {"__version__", "baselines", "datasets", "exceptions"}
    missing = [name for name in c2rf.__all__ if not re.search(rf"^   {name}$", page, re.MULTILINE)]
    assert set(missing) <= modules, f"add them to docs/api.md: {missing}"
