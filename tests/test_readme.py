"""What the README shows is there; that it runs is seen where all pages are run."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)
COMMANDS = re.findall(r"^(c2rf .*)$", README, flags=re.MULTILINE)
TARGETS = re.findall(r"^make (\w+)", README, flags=re.MULTILINE)


def test_has_examples_commands_and_targets():
    assert len(EXAMPLES) >= 2
    assert {"demo", "classify", "solve", "verify", "backends"} <= {c.split()[1] for c in COMMANDS}
    assert {"demo", "test"} <= set(TARGETS)


def test_make_targets_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in TARGETS:
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE)
