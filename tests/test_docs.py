"""Every code block of the README and of the documentation runs, one after the other."""

from __future__ import annotations

import doctest
import io
import re
import shlex
import shutil
from contextlib import redirect_stdout
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


def run_commands(block: Block, where: str, demo: Path) -> None:
    """Run the commands of ours; lines without a prompt in a console block are what they print.

    Several pages begin with the demo. It is run once: its files are the same every time.
    """
    lines = block.code.replace("\\\n", " ").splitlines()
    printed, wanted = io.StringIO(), []
    if block.kind == "console":
        wanted = [line for line in lines if not line.startswith("$ ")]
        lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    for line in lines:
        program, *arguments = shlex.split(line, comments=True) or [""]
        if program == "c2rf" and arguments == ["demo"] and demo.exists():
            shutil.copytree(demo, "c2rf-demo")
        elif program == "c2rf":
            with redirect_stdout(printed):
                assert main(arguments) == 0, f"{where}: {line}"
            if arguments == ["demo"]:
                shutil.copytree("c2rf-demo", demo)
        else:
            assert program in ("", *NOT_OURS), f"{where}: cannot run {line!r}"
    print(printed.getvalue(), end="")
    for line in wanted:
        assert line in printed.getvalue(), f"{where}: {line!r} is not printed"


def run_session(block: Block, page: Path, names: dict[str, object]) -> None:
    """Run an interactive session and compare what it prints."""
    test = doctest.DocTestParser().get_doctest(block.code, {}, page.name, str(page), block.line)
    test.globs = names
    problems: list[str] = []
    doctest.DocTestRunner().run(test, out=problems.append, clear_globs=False)
    assert not problems, "".join(problems)


class Reader:
    """Somebody who runs the blocks of a page one after the other, in a folder of his own."""

    def __init__(self, page: Path, folder: Path, demo: Path) -> None:
        self.page, self.folder, self.demo = page, folder, demo
        self.names: dict[str, object] = {}
        self.done = self.end = 0
        self.printed = ""

    def run(self, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
        """Run a block; those before it, unless that was done."""
        monkeypatch.chdir(self.folder)
        found = blocks(self.page)
        while self.done <= number:
            block, self.done = found[self.done], self.done + 1
            if block.line != self.end + 2:  # what stands between them says that it is another thing
                self.printed = ""
            with redirect_stdout(io.StringIO()) as out:
                self.run_block(block)
            self.printed, self.end = out.getvalue(), block.line + block.code.count("\n") + 1

    def run_block(self, block: Block) -> None:
        where = f"{self.page.name}:{block.line}"
        if block.kind == "python":
            code = compile("\n" * block.line + block.code, self.page, "exec")
            exec(code, self.names)
        elif block.kind == "text" and self.printed and not block.code.startswith("c2rf "):
            shown = {line.rstrip() for line in self.printed.splitlines()} | {"..."}
            wrong = [line for line in block.code.splitlines() if line.rstrip() not in shown]
            assert not wrong, f"{where}: the block before it does not print {wrong}"
        elif block.kind == "pycon":
            run_session(block, self.page, self.names)
        elif block.kind in RUN:
            run_commands(block, where, self.demo)
        else:
            assert block.kind in NOT_RUN, f"{where}: blocks of {block.kind!r} are not run"


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Reader]:
    demo = tmp_path_factory.mktemp("demo") / "files"
    return {page: Reader(page, tmp_path_factory.mktemp("page"), demo) for page in PAGES}


@pytest.mark.parametrize(
    ("page", "number"),
    [
        pytest.param(page, k, id=f"{name}:{b.line}")
        for page in PAGES
        for name in [str(page.relative_to(ROOT))]
        for k, b in enumerate(blocks(page))
    ],
)
def test_code_blocks_run(
    page: Path,
    number: int,
    readers: dict[Path, Reader],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    readers[page].run(number, monkeypatch)


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
