"""Read a sheet of a workbook, alone in a process that may die of it.

A workbook of a few bytes can ask for more memory than there is, and calamine ends the process then.
This file is run by its path: it must import nothing of ours, which would take a second.
"""

from __future__ import annotations

import pickle
import sys
from typing import Any


def read(path: str, wanted: str | None) -> dict[str, Any]:
    """Return the names of the sheets, and the cells of the wanted one or the first with cells."""
    from python_calamine import CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

    with open(path, "rb") as file, CalamineWorkbook.from_filelike(file) as book:
        sheets = [each for each in book.sheets_metadata if each.typ == SheetTypeEnum.WorkSheet]
        names = [each.name for each in sheets]
        visible = [each.name for each in sheets if each.visible == SheetVisibleEnum.Visible]
        found: dict[str, Any] = {"names": names, "visible": visible, "filled": [], "rows": None}
        if wanted is None:
            filled = [name for name in visible if book.get_sheet_by_name(name).to_python(nrows=1)]
            found["filled"], wanted = filled, next(iter(filled), None)
        if wanted in names:
            sheet = book.get_sheet_by_name(wanted)
            found["rows"] = sheet.to_python(skip_empty_area=True)
            found["start"] = sheet.start or (0, 0)
            found["merged"] = sheet.merged_cell_ranges or []
        return found


def main() -> None:
    """Write what was found, or the error, to standard output."""
    path, wanted, most_bytes = sys.argv[1], sys.argv[2:3], int(sys.stdin.readline())
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))
    except (ImportError, ValueError, OSError):  # not on Windows, nor everywhere on macOS
        pass
    found: Any
    try:
        found = read(path, wanted[0] if wanted else None)
    except Exception as error:
        found = str(error)
    pickle.dump(found, sys.stdout.buffer)


if __name__ == "__main__":
    main()
