"""Compiled modules as they are where nothing is compiled."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest


def plain_copy(name: str) -> ModuleType:
    """Return a copy of a module whose functions are not compiled."""
    numba = pytest.importorskip("numba")
    found = importlib.util.find_spec(name)
    assert found is not None
    assert found.loader is not None
    copy = importlib.util.module_from_spec(found)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numba.config, "DISABLE_JIT", True)
        found.loader.exec_module(copy)
    return copy
