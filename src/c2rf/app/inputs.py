"""What a user has given on the page: files, totals and options, checked while they are typed.

The page shows the command line and the Python lines that do the same.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import pandas as pd

from c2rf._utils.text import count, short, span
from c2rf.data.dialect import ReadAs
from c2rf.data.totals import collect, parse_totals
from c2rf.exceptions import InputError
from c2rf.report.answer import group_name, known_margins
from c2rf.totals.groups import Groups
from c2rf.totals.make_bounds import make_bounds
from c2rf.totals.stated import Estimate, read_totals
from c2rf.workflow.options import COLUMNS, READING, Options, command_option, join_names
from c2rf.workflow.prepare import PreparedData
from c2rf.workflow.result import Outputs

MOST_GROUPS = 200
"""Groups that are shown."""


def asked_in(panels: Sequence[str]) -> list[str]:
    """Return the options of some panels that the page asks for.

    Examples
    --------
    >>> asked_in([READING])
    ['sep', 'decimal', 'encoding', 'sheet']
    """
    found = [option for option in fields(Options) if option.metadata["label"] is not None]
    return [option.name for option in found if option.metadata["panel"] in panels]


STEP_2 = ["target", *asked_in([COLUMNS, READING])]
"""Options that step 2 of the page asks for; step 3 asks for the others."""

NAMES_ON_PAGE = {"--group": "totals by group"} | {
    str(command_option(option)): f"“{option.metadata['label']}” in step "
    f"{2 if option.name in STEP_2 else 3}"
    for option in fields(Options)
    if option.metadata["label"] is not None
}
"""For messages: options of the command line, and where they are on the page."""


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """All that a user has given.

    Parameters
    ----------
    labeled, unlabeled : Path, Path or None
        The files; one is enough.
    totals : mapping of str to str
        Totals of classes as they were typed, empty ones left out.
    totals_files : sequence of Path
        Files with totals of groups.
    chosen : mapping of str to object
        The options, by name.
    decimal : str or None
        The decimal mark of the files, for typed totals.
    names : mapping of Path to str
        Names to show instead of the names of files, where there are any.

    Examples
    --------
    >>> inputs = Inputs(labeled=Path("a.csv"), totals={"yes": "12%"}, chosen={"target": "sick"})
    >>> inputs.command()
    'c2rf classify a.csv --target sick --totals yes=0.12 --out labels.csv --report report.html \
--save-model model.skops --spreadsheet-safe'
    >>> print(inputs.python())
    import c2rf
    <BLANKLINE>
    result = c2rf.classify(
        'a.csv',
        target='sick',
        totals={'yes': 0.12},
    )
    result.write('labels.csv', spreadsheet_safe=True)
    result.report('report.html')
    result.save_model('model.skops')
    """

    labeled: Path
    unlabeled: Path | None = None
    totals: Mapping[str, str] = field(default_factory=dict)
    totals_files: Sequence[Path] = ()
    chosen: Mapping[str, Any] = field(default_factory=dict)
    decimal: str | None = None
    names: Mapping[Path, str] = field(default_factory=dict)

    @property
    def tables(self) -> list[Path]:
        """The files with rows."""
        return [path for path in (self.labeled, self.unlabeled) if path is not None]

    @property
    def read_as(self) -> ReadAs:
        """How files are to be read."""
        chosen: dict[str, Any] = {name: self.chosen.get(name) for name in asked_in([READING])}
        return ReadAs(**chosen)

    @property
    def decimal_mark(self) -> str | None:
        """The decimal mark that was chosen, else that of the files."""
        return self.chosen.get("decimal") or self.decimal

    def options(self) -> Options:
        """Return the options, checked as far as they can be without the rows."""
        known = collect(
            self.chosen["target"],
            totals=[_joined(self.totals)] if self.totals else [],
            totals_file=list(self.totals_files),
            decimal=self.decimal_mark,
        )
        return Options(totals=known, **self.chosen)

    def outputs(self, folder: Path) -> Outputs:
        """Return the files to be written to a folder."""
        path = {option: folder / name for option, name in self._files.items()}
        return Outputs(
            labels=path["--out"], report=path["--report"], model=path["--save-model"],
            imputations=path.get("--imputations-out"), spreadsheet_safe=True,
            estimates=[path["--estimates-out"]] if "--estimates-out" in path else [],
        )  # fmt: skip

    def command(self) -> str:
        """Return the command line that does the same."""
        words = ["c2rf", "classify", *map(self._called, self.tables)]
        words += self.options().command_words()
        if self.totals:
            totals = {name: _as_text(total) for name, total in self._typed.items()}
            words += ["--totals", _joined(totals)]
        for path in self.totals_files:
            words += ["--totals-file", self._called(path)]
        for option, name in self._files.items():
            words += [option, name]
        return shlex.join([*words, "--spreadsheet-safe"])

    def python(self) -> str:
        """Return the Python lines that do the same."""
        typed = (f"{name!r}: {_as_python(total)}" for name, total in self._typed.items())
        totals = [f"{{{', '.join(typed)}}}"] if self.totals else []
        totals += [repr(self._called(path)) for path in self.totals_files]
        known = totals[0] if len(totals) == 1 else f"[{', '.join(totals)}]"
        given = {name: value for name, value in self.options().given().items() if name != "totals"}
        arguments = [
            *(repr(self._called(path)) for path in self.tables),
            *(f"{name}={value!r}" for name, value in given.items()),
            f"totals={known}",
        ]
        files, by = self._files, self.options().tables_by
        lines = [
            "import c2rf", "", "result = c2rf.classify(",
            *(f"    {argument}," for argument in arguments), ")",
            f"result.write({files['--out']!r}, spreadsheet_safe=True)",
            "result.report('report.html')", "result.save_model('model.skops')",
        ]  # fmt: skip
        if "--imputations-out" in files:
            lines.append("result.imputations.to_csv('imputations.csv', index=False)")
        if "--estimates-out" in files:
            lines.append(f"result.estimates({by[0]!r}).to_excel('estimates.xlsx', index=False)")
        return "\n".join(lines)

    @property
    def _files(self) -> dict[str, str]:
        """The files to be written, by option; labels are of the kind of the rows, if possible."""
        ending = self.tables[-1].suffix.lower()
        ending = ending if ending in (".tsv", ".xlsx", ".parquet", ".jsonl") else ".csv"
        files = {
            "--out": f"labels{ending}",
            "--report": "report.html",
            "--save-model": "model.skops",
        }
        files |= {"--imputations-out": "imputations.csv"} if self.chosen.get("imputations") else {}
        return files | (
            {"--estimates-out": "estimates.xlsx"} if self.chosen.get("estimates_by") else {}
        )

    @property
    def _typed(self) -> dict[str, Any]:
        """The totals that were typed."""
        return parse_totals(_joined(self.totals), self.decimal_mark) if self.totals else {}

    def _called(self, path: Path) -> str:
        """Return what a file is called; two of the same name by their folders, too."""
        name = self.names.get(path, path.name)
        if [each.name for each in (*self.tables, *self.totals_files)].count(name) > 1:
            name = f"{path.parent.name}/{name}"
        return f"./{name}" if name.startswith("-") else name


def _joined(totals: Mapping[str, str]) -> str:
    return join_names([f"{name}={total}" for name, total in totals.items()])


def _as_text(total: Any) -> str:
    """Return a total as it can be typed, whatever the decimal mark of the files.

    Examples
    --------
    >>> _as_text(0.125), _as_text((1200, 1300)), _as_text(Estimate(1200, se=5))
    ('0.125', '1200..1300', '1200+-5')
    """
    return "..".join(map(str, total)) if isinstance(total, tuple) else str(total)


def _as_python(total: Any) -> str:
    return f"c2rf.{total!r}" if isinstance(total, Estimate) else repr(total)


def check_totals(inputs: Inputs, classes: Sequence[str], n_rows: int) -> str:
    """Check totals of classes as they were typed, and say what is left for the others.

    Parameters
    ----------
    inputs : Inputs
        The totals.
    classes : sequence of str
        All classes.
    n_rows : int
        How many rows there are to label.

    Examples
    --------
    >>> typed = Inputs(labeled=Path("a.csv"), totals={"yes": "30"}, chosen={"target": "sick"})
    >>> check_totals(typed, ["no", "yes"], 100)
    "70 of 100 rows are left for 'no'"
    """
    if not inputs.totals:
        raise InputError("Type the known total of at least one class: 1234, 12% or 1200..1300")
    options = inputs.options()
    known, groups = read_totals(options.totals), Groups.none(n_rows)
    found = make_bounds(known, groups, classes, options.totals_policy).with_implied_bounds()
    left = [
        f"{span(low, high, n_rows)} of {count(n_rows, 'row')} are left for {short(name)!r}"
        for name, low, high in zip(classes, found.lower, found.upper, strict=True)
        if name not in known.overall
    ]
    return left[0] if left else f"the totals add up to all {count(n_rows, 'row')}"


def known_tables(data: PreparedData) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the bounds, stated and implied: for all rows, then for each margin.

    The totals were checked, so that they do not contradict each other.
    """
    bounds = data.bounds
    for margin in [bounds.all_margins()[0], *known_margins(bounds, data.groups, data.totals)]:
        sizes = margin.sums(bounds.group_sizes)
        names = map(group_name, margin.names if margin.columns else ["all"])
        table = {
            "group": [short(name) for name in names],
            "rows": [f"{n:,.0f}" for n in sizes],
        }
        for k, name in enumerate(data.classes):
            ends = zip(margin.lower[:, k], margin.upper[:, k], sizes, strict=True)
            table[short(name)] = [span(round(lo), round(hi), round(n)) for lo, hi, n in ends]
        columns = ", ".join(short(str(name)) for name in margin.columns)
        yield f"by {columns}" if columns else "all rows", pd.DataFrame(table).head(MOST_GROUPS)
