"""Certificates as JSON files, a row or a node on each line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from c2rf.exceptions import InputError
from c2rf.files.reading_errors import reading


def certificate_text(certificate: dict[str, Any]) -> str:
    """Return a certificate as text.

    Examples
    --------
    >>> print(certificate_text({"bound": 1, "tree": [["steps"], ["add", 1]]}), end="")
    {
    "bound": 1,
    "tree": [
    ["steps"],
    ["add",1]
    ]
    }
    """
    parts = []
    for key, value in certificate.items():
        if isinstance(value, list):
            lines = ",\n".join(json.dumps(line, separators=(",", ":")) for line in value)
            parts.append(f'"{key}": [\n{lines}\n]')
        else:
            parts.append(f'"{key}": {json.dumps(value)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def read_certificate(path: Path) -> Any:
    """Read a certificate; what is in it is for the checker to judge."""
    with reading(path):
        text = path.read_text(encoding="utf-8")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:  # no JSON, or numbers beyond all measure
        raise InputError(f"{path} is not a certificate: {error}") from error
