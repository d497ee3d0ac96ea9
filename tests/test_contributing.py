"""The table of subpackages in CONTRIBUTING names every one that is there, and no other."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "c2rf"
TABLE = re.search(
    r"^\| in `src/c2rf/`.*?\n\n", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE | re.DOTALL
)


def named() -> set[str]:
    """Return what the first column of the table names."""
    assert TABLE is not None
    rows = TABLE[0].splitlines()[2:]
    return {name for row in rows if row for name in re.findall(r"`([^`]+)`", row.split("|")[1])}


def subpackages() -> set[str]:
    """Return the folders with code, as the table writes them."""
    folders = {path.parent.relative_to(SOURCE) for path in SOURCE.rglob("*.py")}
    return {f"{folder}/" for folder in folders if folder != Path()}


def test_every_subpackage_is_named_and_no_other() -> None:
    assert {name for name in named() if name.endswith("/")} == subpackages()


def test_the_modules_outside_of_subpackages_are_named() -> None:
    modules = {path.name for path in SOURCE.glob("*.py") if not path.name.startswith("__")}
    assert {name for name in named() if name.endswith(".py")} == modules


def test_tests_are_in_the_same_folders() -> None:
    """Every folder of tests is a subpackage; a test file outside of them tests what is outside."""
    folders = {
        path.parent.relative_to(ROOT / "tests") for path in ROOT.glob("tests/*/**/test_*.py")
    }
    assert {f"{folder}/" for folder in folders} <= subpackages()


def test_every_path_that_is_named_is_there() -> None:
    """Files and folders that the lines on adding something name."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    start = text.index("To add something")
    for name in re.findall(r"`([a-z_]+/[a-z_/]*(?:\.py)?)`", text[start:]):
        assert (SOURCE / name).exists(), name
