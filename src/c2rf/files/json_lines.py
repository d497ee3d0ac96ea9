"""JSON lines: an object on each line, its keys are the columns."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pandas as pd

from c2rf.exceptions import InputError
from c2rf.files.compressed import opened
from c2rf.files.dialect import ReadAs
from c2rf.files.reading_errors import reading
from c2rf.files.typed import typed_column


def read(path: Path, how: ReadAs) -> tuple[pd.DataFrame, str]:
    """Read a file; a key that a line lacks is an empty cell."""
    rows = []
    encoding = how.encoding or "utf-8-sig"
    with reading(path), opened(path) as file, io.TextIOWrapper(file, encoding) as text:
        for number, line in enumerate(text, 1):
            if line.strip():
                rows.append(_row(line, f"{path}, line {number}"))
    names = list(dict.fromkeys(name for row in rows for name in row))
    if not names:
        raise InputError(f"{path} is empty or has no rows")
    columns = {name: typed_column([row.get(name) for row in rows]) for name in names}
    return pd.DataFrame(columns), "JSON lines"


def _row(line: str, where: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is not JSON: {error}") from error
    if not isinstance(row, dict):
        raise InputError(f'{where} must be an object like {{"age": 41}}; found {line[:40]!r}')
    for name, value in row.items():
        if isinstance(value, (list, dict)):
            raise InputError(
                f"{where}: cells must hold numbers, text, true or false; {name!r} holds a list or "
                "an object: remove it, or give its parts names of their own"
            )
    return row
