"""The map of the house names every room that is there, and no other."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
HOUSE = ROOT / "src" / "c2rf"
MAP = re.search(
    r"^\| room in .*?\n\n", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE | re.DOTALL
)


def named() -> set[str]:
    """Return what the first column of the map names."""
    assert MAP is not None
    rows = MAP[0].splitlines()[2:]
    return {name for row in rows if row for name in re.findall(r"`([^`]+)`", row.split("|")[1])}


def rooms() -> set[str]:
    """Return the folders with code, as the map writes them."""
    folders = {path.parent.relative_to(HOUSE) for path in HOUSE.rglob("*.py")}
    return {f"{folder}/" for folder in folders if folder != Path()}


def test_the_map_names_every_room_and_no_other() -> None:
    assert {name for name in named() if name.endswith("/")} == rooms()


def test_the_map_names_the_modules_outside_of_rooms() -> None:
    modules = {path.name for path in HOUSE.glob("*.py") if not path.name.startswith("__")}
    assert {name for name in named() if name.endswith(".py")} == modules


def test_tests_are_in_the_same_folders() -> None:
    """Every folder of tests is a room; a test file outside of them tests what is outside."""
    folders = {
        path.parent.relative_to(ROOT / "tests") for path in ROOT.glob("tests/*/**/test_*.py")
    }
    assert {f"{folder}/" for folder in folders} <= rooms()


def test_no_module_has_the_name_of_a_public_function() -> None:
    import c2rf

    functions = {name for name in c2rf.__all__ if callable(getattr(c2rf, name))}
    assert not functions & {path.stem for path in HOUSE.iterdir()}
