"""What a visitor has chosen, and the command and the Python lines that do the same.

What the options of the command line are called on the page.

What a visitor has chosen, and the command and the Python lines that do the same.
"""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from c2rf.data.dialect import AS_FOUND, ReadAs
from c2rf.data.totals import collect, parse_range, parse_totals
from c2rf.exceptions import InputError
from c2rf.totals.stated import Estimate
from c2rf.workflow.options import HowAsked, Wishes
from c2rf.workflow.outputs import Outputs

WAY = "Read them in another way"
SEPARATOR, DECIMAL, ENCODING = "Between cells", "Decimal mark", "Encoding, like cp1252"
SHEET = "Sheet of a workbook"
TEXT, DROP = "Numbers that are codes, like postal codes", "Columns not to learn from"
KEEP = "Columns to learn from though they look useless"
WEIGHT, POLICY = "Column that says how many people a row stands for", "Totals that do not add up"
SENSITIVITY = "Which labels would change if totals were off by"
TARGET, ID = "Column with the class", "Column that names the rows"

OPTIONS = {
    "--sep": f"“{SEPARATOR}” in step 2",
    "--decimal": f"“{DECIMAL}” in step 2",
    "--encoding": f"“{ENCODING}” in step 2",
    "--sheet": f"“{SHEET}” in step 2",
    "--text": f"“{TEXT}” in step 2",
    "--drop": f"“{DROP}” in step 2",
    "--keep": f"“{KEEP}” in step 2",
    "--id": f"“{ID}”",
    "--weight": f"“{WEIGHT}”",
    "--totals-policy": f"“{POLICY}” in step 3",
    "--sensitivity": f"“{SENSITIVITY}” in step 3",
    "--group": "totals by group",
}
"""For messages: options of the command line, and where they are on the page."""


@dataclass(frozen=True, kw_only=True)
class Choices:
    """All that a classification is asked for.

    Parameters
    ----------
    labeled, unlabeled : Path, Path or None
        The files; one is enough.
    target, id, weight : str, str or None, str or None
        Columns with the class, with names of the rows, and with how many people a row stands for.
    totals : mapping of str to str
        Totals of classes as they were typed, empty ones left out.
    totals_files : sequence of Path
        Files with totals of groups.
    drop, text, keep, totals_policy, imputations, sensitivity
        As for :func:`c2rf.classify`.
    how : ReadAs
        How the files are read.
    decimal : str or None
        The decimal mark of the files, for typed totals.
    names : mapping of Path to str
        What files are called that are not called by their last name.

    Examples
    --------
    >>> choices = Choices(labeled=Path("a.csv"), target="sick", totals={"yes": "12%"})
    >>> choices.command()
    'c2rf classify a.csv --target sick --totals yes=12% --out labels.csv --report report.html \
--save-model model.skops'
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
    result.save_model('model.skops')
    """

    labeled: Path
    target: str
    unlabeled: Path | None = None
    id: str | None = None
    weight: str | None = None
    totals: Mapping[str, str] = field(default_factory=dict)
    totals_files: Sequence[Path] = ()
    drop: Sequence[str] = ()
    text: Sequence[str] = ()
    keep: Sequence[str] = ()
    totals_policy: str = "strict"
    imputations: int | None = None
    sensitivity: float | str | None = None
    how: ReadAs = AS_FOUND
    decimal: str | None = None
    names: Mapping[Path, str] = field(default_factory=dict)

    def known(self) -> Any:
        """Return the totals, checked as far as they can be without the rows."""
        typed = [self._typed_totals()] if self.totals else []
        decimal = self.how.decimal or self.decimal
        return collect(
            self.target, totals=typed, totals_file=list(self.totals_files), decimal=decimal
        )

    def wishes(self) -> Wishes:
        """Return how the tables are to be read."""
        return Wishes(
            target=self.target, id=self.id, drop=self.drop, text=self.text, keep=self.keep,
            policy=self.totals_policy, how=self.how, weight=self.weight,
        )  # fmt: skip

    def asked(self) -> HowAsked:
        """Return how the rows are to be labeled."""
        return HowAsked(
            method="known-totals", options={}, seed=0, command=self.command(),
            imputations=self.imputations, sensitivity=self.sensitivity,
        )  # fmt: skip

    def outputs(self, folder: Path) -> Outputs:
        """Return the files to be written to a folder."""
        several = Path("imputations.csv") if self.imputations else None
        return Outputs(
            labels=folder / self._labels, report=folder / "report.html",
            model=folder / "model.skops", imputations=several and folder / several,
        )  # fmt: skip

    def options(self) -> dict[str, Any]:
        """Return the options of :func:`c2rf.classify` besides files and totals."""
        given: dict[str, Any] = {
            "target": self.target, "id": self.id, "drop": list(self.drop),
            "text": list(self.text), "keep": list(self.keep), "weight": self.weight,
            "totals_policy": None if self.totals_policy == "strict" else self.totals_policy,
            "sep": self.how.sep, "decimal": self.how.decimal, "encoding": self.how.encoding,
            "sheet": self.how.sheet, "imputations": self.imputations,
            "sensitivity": self.sensitivity,
        }  # fmt: skip
        return {name: value for name, value in given.items() if value not in (None, [])}

    def command(self) -> str:
        """Return the command line that does the same."""
        words = ["c2rf", "classify", *(self._called(path) for path in self._files())]
        for name, value in self.options().items():
            option = f"--{name.replace('_', '-')}"
            words += [option, _line(value) if isinstance(value, list) else str(value)]
        if self.totals:
            words += ["--totals", self._plain_totals()]
        for path in self.totals_files:
            words += ["--totals-file", self._called(path)]
        words += ["--out", self._labels, "--report", "report.html", "--save-model", "model.skops"]
        words += ["--imputations-out", "imputations.csv"] if self.imputations else []
        return shlex.join(words)

    def python(self) -> str:
        """Return the Python lines that do the same."""
        totals = [_as_python(parse_totals(self._plain_totals()))] if self.totals else []
        totals += [repr(self._called(path)) for path in self.totals_files]
        known = totals[0] if len(totals) == 1 else f"[{', '.join(totals)}]"
        asked = [repr(self._called(path)) for path in self._files()]
        asked += [f"{name}={value!r}" for name, value in self.options().items()]
        lines = [
            "import c2rf", "", "result = c2rf.classify(",
            *(f"    {line}," for line in [*asked, f"totals={known}"]), ")",
            f"result.write({self._labels!r})", "result.report('report.html')",
            "result.save_model('model.skops')",
        ]  # fmt: skip
        if self.imputations:
            lines.append("result.imputations.to_csv('imputations.csv', index=False)")
        return "\n".join(lines)

    @property
    def _labels(self) -> str:
        """The file for labels: of the kind of the rows, where that is written."""
        ending = (self.unlabeled or self.labeled).suffix.lower()
        return f"labels{ending if ending in ('.tsv', '.xlsx', '.parquet', '.jsonl') else '.csv'}"

    def _files(self) -> list[Path]:
        return [path for path in (self.labeled, self.unlabeled) if path is not None]

    def _called(self, path: Path) -> str:
        """Return what a file is called; two of the same name by their places, too."""
        name = self.names.get(path, path.name)
        if [each.name for each in (*self._files(), *self.totals_files)].count(name) > 1:
            name = f"{path.parent.name}/{name}"
        return f"./{name}" if name.startswith("-") else name

    def _typed_totals(self) -> str:
        return _line([f"{name}={total}" for name, total in self.totals.items()])

    def _plain_totals(self) -> str:
        """Return the totals as they can be typed anywhere, whatever the decimal mark."""
        decimal = self.how.decimal or self.decimal
        return _line([f"{name}={_plain(total, decimal)}" for name, total in self.totals.items()])


def _plain(text: str, decimal: str | None) -> str:
    """Return a total without marks that only a decimal mark explains.

    Examples
    --------
    >>> [_plain(text, ",") for text in ("12%", "25.937", "1.200..1.300", "1.200+-5")]
    ['12%', '25937', '1200..1300', '1200+-5']
    """
    try:
        parse_range(text)
    except InputError:
        total = parse_range(text, decimal=decimal)
        if isinstance(total, Estimate):
            return f"{total.value}+-{total.se}"
        return "..".join(map(str, total)) if isinstance(total, tuple) else str(total)
    return text


def _as_python(totals: Mapping[str, Any]) -> str:
    """Return totals as Python writes them.

    Examples
    --------
    >>> _as_python({"yes": (1, 2), "Estimate(no": 3})
    "{'yes': (1, 2), 'Estimate(no': 3}"
    """
    cells = (
        f"{name!r}: {re.sub('^Estimate', 'c2rf.Estimate', repr(n))}" for name, n in totals.items()
    )
    return "{" + ", ".join(cells) + "}"


def _line(cells: Sequence[str]) -> str:
    """Return names with commas between them, in quotes where they need some."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(cells)
    return text.getvalue()
