"""The page to drop files on: a thin layer over :func:`c2rf.classify` and the report."""

from __future__ import annotations
