"""Files of SPSS, Stata and SAS: value labels instead of codes, user-missing codes as empty."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from c2rf._utils.text import count
from c2rf.data.cells import TypedCells
from c2rf.data.dialect import ReadAs
from c2rf.data.formats import ReadTable
from c2rf.exceptions import InputError

_READERS = {
    ".sav": ("SPSS", "read_sav"),
    ".zsav": ("SPSS", "read_sav"),
    ".por": ("SPSS", "read_por"),
    ".dta": ("Stata", "read_dta"),
    ".xpt": ("SAS", "read_xport"),
    ".sas7bdat": ("SAS", "read_sas7bdat"),
}


def read(path: Path, how: ReadAs) -> ReadTable:
    """Read a file with the labels of its values."""
    import pyreadstat

    name, reader = _READERS[path.suffix.lower()]
    options: dict[str, Any] = {"encoding": how.encoding} if how.encoding else {}
    if reader in ("read_sav", "read_dta"):
        options |= {"apply_value_formats": True, "formats_as_category": False}
    try:
        frame, about = getattr(pyreadstat, reader)(str(path), **options)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError) as error:
        raise InputError(f"{path} is not a complete {name} file: {error}") from error
    cells = TypedCells(path, how)
    table = cells.table({name: frame[name].astype(object).tolist() for name in frame.columns})
    labels = getattr(about, "variable_value_labels", {})
    note = f", value labels of {count(len(labels), 'column')}" if labels else ""
    if reader == "read_sav":  # which lists the codes only where it keeps them
        _, codes = pyreadstat.read_sav(str(path), metadataonly=True, user_missing=True)
        missing = codes.missing_ranges
        note += f", missing codes of {count(len(missing), 'column')} left empty" if missing else ""
    return ReadTable(table, name + note + cells.note)
