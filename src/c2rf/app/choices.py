"""What a visitor has chosen, and the command and the Python lines that do the same."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from c2rf._text import for_command_line
from c2rf.files.dialect import ReadAs
from c2rf.totals.parse_text import collect, parse_totals


@dataclass(frozen=True)
class Choices:
    """All that a classification is asked for.

    Parameters
    ----------
    labeled, unlabeled : Path, Path or None
        The files; one is enough.
    target, id : str, str or None
        Columns with the class, and with names of the rows.
    totals : mapping of str to str
        Totals of classes as they were typed, empty ones left out.
    totals_files : sequence of pairs of Path and str
        Files with totals of groups, and the columns that make the groups.
    drop, text, keep : sequence of str
        As for :func:`c2rf.classify`.
    how : ReadAs
        How the files are read.

    Examples
    --------
    >>> choices = Choices(Path("a.csv"), None, "sick", totals={"yes": "12%"})
    >>> choices.command()
    'c2rf classify a.csv --target sick --totals yes=12% --out labels.csv --report report.html'
    >>> print(choices.python())
    import c2rf
    <BLANKLINE>
    result = c2rf.classify(
        'a.csv',
        target='sick',
        totals={'yes': 0.12},
    )
    result.write('labels.csv')
    result.report('report.html')
    """

    labeled: Path
    unlabeled: Path | None
    target: str
    id: str | None = None
    totals: Mapping[str, str] = field(default_factory=dict)
    totals_files: Sequence[tuple[Path, str]] = ()
    drop: Sequence[str] = ()
    text: Sequence[str] = ()
    keep: Sequence[str] = ()
    how: ReadAs = field(default_factory=ReadAs)
    random_state: int = 0

    def known(self) -> Any:
        """Return the totals, checked as far as they can be without the rows."""
        with for_command_line():
            return collect(self.target, **self._totals_options())

    def arguments(self) -> dict[str, Any]:
        """Return the options of :func:`c2rf.classify` besides files and totals."""
        given: dict[str, Any] = {
            "target": self.target, "id": self.id, "drop": list(self.drop),
            "text": list(self.text), "keep": list(self.keep), "sep": self.how.sep,
            "decimal": self.how.decimal, "encoding": self.how.encoding, "sheet": self.how.sheet,
            "random_state": self.random_state,
        }  # fmt: skip
        return {name: value for name, value in given.items() if value not in (None, [], 0)}

    def command(self) -> str:
        """Return the command line that does the same."""
        words = ["c2rf", "classify", *(path.name for path in self._files())]
        for name, value in self.arguments().items():
            option = "--seed" if name == "random_state" else f"--{name}"
            words += [option, _line(value) if isinstance(value, list) else str(value)]
        if self.totals:
            words += ["--totals", _line([f"{name}={n}" for name, n in self.totals.items()])]
        for path, group in self.totals_files:
            words += ["--totals-file", path.name, *(["--group", group] if group else [])]
        return shlex.join([*words, "--out", "labels.csv", "--report", "report.html"])

    def python(self) -> str:
        """Return the Python lines that do the same."""
        lines = ["import c2rf", ""]
        totals: list[str] = []
        if self.totals:
            totals.append(repr(parse_totals(self._of_classes()["totals"][0])))
        if self.totals_files:
            lines.insert(1, "import pandas as pd")
        for path, _ in self.totals_files:
            totals.append(f"pd.read_csv({path.name!r})")
        asked = [repr(path.name) for path in self._files()]
        asked += [f"{name}={value!r}" for name, value in self.arguments().items()]
        asked.append(f"totals={totals[0] if len(totals) == 1 else '[' + ', '.join(totals) + ']'}")
        lines += ["result = c2rf.classify(", *(f"    {line}," for line in asked), ")"]
        return "\n".join([*lines, "result.write('labels.csv')", "result.report('report.html')"])

    def _files(self) -> list[Path]:
        return [path for path in (self.labeled, self.unlabeled) if path is not None]

    def _of_classes(self) -> dict[str, Any]:
        parts = [f"{name}={n}" for name, n in self.totals.items()]
        return {"totals": [_line(parts)]} if parts else {}

    def _totals_options(self) -> dict[str, Any]:
        groups = [group for _, group in self.totals_files if group]
        files = [path for path, _ in self.totals_files]
        return self._of_classes() | {"totals_file": files, "group": groups}


def _line(cells: Sequence[str]) -> str:
    """Return names with commas between them, in quotes where they need some."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(cells)
    return text.getvalue()
