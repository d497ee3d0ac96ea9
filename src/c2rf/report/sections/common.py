"""What several sections use."""

from __future__ import annotations

from c2rf.report.parts import Code, Grid, Picture, Text, Warnings

MOST_ROWS = 200
"""Longest table of classes, groups or columns."""

Part = Text | Grid | Picture | Warnings | Code


def left_out(total: int, shown: int, nouns: str) -> str:
    """Say how many are not shown; nothing if all are."""
    return f" {total - shown:,} more {nouns} are not shown." if total > shown else ""
