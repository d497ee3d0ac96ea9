"""Compiling where Numba is there, where it cannot keep what it compiled, and where it is not."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from c2rf._utils.compiled import compiled, summing


def twice(number: int) -> int:
    return 2 * number


def test_what_is_compiled_does_the_same():
    pytest.importorskip("numba")
    done = compiled(twice)
    assert done is not twice
    assert done(21) == 42
    assert summing(twice)(21) == 42


def test_without_numba_functions_stay_as_they_are(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    assert compiled(twice) is twice


def test_where_nothing_can_be_kept_it_is_compiled_in_every_process(monkeypatch):
    asked = []

    def njit(**options):
        def compile_it(function):
            asked.append(options)
            if options.get("cache"):
                raise RuntimeError("cannot cache function: no locator available")
            return function

        return compile_it

    monkeypatch.setitem(sys.modules, "numba", SimpleNamespace(njit=njit))
    assert compiled(twice) is twice
    assert asked == [{"cache": True, "nogil": True}, {"nogil": True}]
