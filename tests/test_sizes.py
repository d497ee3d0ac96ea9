"""Files and functions stay small enough to be read at one sitting."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCES = sorted((Path(__file__).parent.parent / "src").rglob("*.py"))
MOST_LINES_OF_A_FILE = 400
MOST_LINES_OF_A_BODY = 40
MOST_LINES_OF_THE_COMMAND = 1400


def bodies(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the name of each function and the lines of its body, its docstring aside."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            if body:
                yield node.name, (body[-1].end_lineno or 0) - body[0].lineno + 1


def test_functions() -> None:
    long = {
        f"{path.stem}.{name}": lines
        for path in SOURCES
        for name, lines in bodies(ast.parse(path.read_text(encoding="utf-8")))
        if lines > MOST_LINES_OF_A_BODY
    }
    assert not long


def test_files() -> None:
    lines = {path: path.read_text(encoding="utf-8").count("\n") for path in SOURCES}
    assert not {path.name: n for path, n in lines.items() if n > MOST_LINES_OF_A_FILE}
    assert sum(n for path, n in lines.items() if path.parent.name == "cli") <= (
        MOST_LINES_OF_THE_COMMAND
    )
