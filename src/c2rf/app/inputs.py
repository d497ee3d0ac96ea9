"""What a user has given on the page: files, totals and options, checked while they are typed.

The page shows the command line and the Python lines that do the same.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from c2rf._utils.text import count, short, span
from c2rf.data.dialect import ReadAs
from c2rf.data.totals import collect, parse_range, parse_totals
from c2rf.exceptions import InputError
from c2rf.totals.stated import Estimate
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
        What files are called that are not called by their last name.

    Examples
    --------
    >>> inputs = Inputs(labeled=Path("a.csv"), totals={"yes": "12%"}, chosen={"target": "sick"})
    >>> inputs.command()
    'c2rf classify a.csv --target sick --totals yes=12% --out labels.csv --spreadsheet-safe \
--report report.html --save-model model.skops'
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
        typed = [join_names([f"{name}={total}" for name, total in self.totals.items()])]
        known = collect(
            self.chosen["target"],
            totals=typed if self.totals else [],
            totals_file=list(self.totals_files),
            decimal=self.decimal_mark,
        )
        return Options(totals=known, **self.chosen)

    def outputs(self, folder: Path) -> Outputs:
        """Return the files to be written to a folder."""
        imputations = folder / "imputations.csv" if self.chosen.get("imputations") else None
        return Outputs(
            labels=folder / self._labels, report=folder / "report.html",
            model=folder / "model.skops", imputations=imputations, spreadsheet_safe=True,
            estimates=[folder / "estimates.xlsx"] if self.chosen.get("estimates_by") else [],
        )  # fmt: skip

    def command(self) -> str:
        """Return the command line that does the same."""
        words = ["c2rf", "classify", *map(self._called, self.tables)]
        words += self.options().command_words()
        if self.totals:
            words += ["--totals", self._plain_totals()]
        for path in self.totals_files:
            words += ["--totals-file", self._called(path)]
        words += [
            "--out",
            self._labels,
            "--spreadsheet-safe",
            "--report",
            "report.html",
            "--save-model",
            "model.skops",
        ]
        words += ["--imputations-out", "imputations.csv"] if self.chosen.get("imputations") else []
        words += ["--estimates-out", "estimates.xlsx"] if self.chosen.get("estimates_by") else []
        return shlex.join(words)

    def python(self) -> str:
        """Return the Python lines that do the same."""
        totals = [_as_python(parse_totals(self._plain_totals()))] if self.totals else []
        totals += [repr(self._called(path)) for path in self.totals_files]
        known = totals[0] if len(totals) == 1 else f"[{', '.join(totals)}]"
        given = self.options().given()
        del given["totals"]
        arguments = [
            *(repr(self._called(path)) for path in self.tables),
            *(f"{name}={value!r}" for name, value in given.items()),
            f"totals={known}",
        ]
        lines = [
            "import c2rf", "", "result = c2rf.classify(",
            *(f"    {argument}," for argument in arguments), ")",
            f"result.write({self._labels!r}, spreadsheet_safe=True)",
            "result.report('report.html')", "result.save_model('model.skops')",
        ]  # fmt: skip
        if self.chosen.get("imputations"):
            lines.append("result.imputations.to_csv('imputations.csv', index=False)")
        if self.chosen.get("estimates_by"):
            by = self.options().tables_by[0]
            lines.append(f"result.estimates({by!r}).to_excel('estimates.xlsx', index=False)")
        return "\n".join(lines)

    @property
    def _labels(self) -> str:
        """The file for labels: of the kind of the rows, where that is written."""
        ending = self.tables[-1].suffix.lower()
        return f"labels{ending if ending in ('.tsv', '.xlsx', '.parquet', '.jsonl') else '.csv'}"

    def _called(self, path: Path) -> str:
        """Return what a file is called; two of the same name by their folders, too."""
        name = self.names.get(path, path.name)
        if [each.name for each in (*self.tables, *self.totals_files)].count(name) > 1:
            name = f"{path.parent.name}/{name}"
        return f"./{name}" if name.startswith("-") else name

    def _plain_totals(self) -> str:
        """Return the totals as they can be typed anywhere, whatever the decimal mark."""
        totals = {name: _plain(text, self.decimal_mark) for name, text in self.totals.items()}
        return join_names([f"{name}={total}" for name, total in totals.items()])


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


def check_totals(
    typed: Mapping[str, str], classes: Sequence[str], n_rows: int, decimal: str | None = None
) -> str:
    """Check totals of classes as they were typed, and say what is left for the other class.

    Parameters
    ----------
    typed : mapping of str to str
        Total of each class; empty text where none is known.
    classes : sequence of str
        All classes.
    n_rows : int
        How many rows there are to label.
    decimal : str, optional
        The decimal mark of the files.

    Examples
    --------
    >>> check_totals({"yes": "30", "no": ""}, ["no", "yes"], 100)
    "30 of 100 rows have a class; 70 are left for 'no'"
    >>> check_totals({"yes": "1.300"}, ["no", "yes"], 2000, ",")
    "1,300 of 2,000 rows have a class; 700 are left for 'no'"
    >>> check_totals({"yes": "130"}, ["no", "yes"], 100)
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputError: 'yes': at most 100 rows can have it; found 130
    """
    lows, highs = {}, {}
    for name, text in typed.items():
        if not text.strip():
            continue
        total = parse_range(text, f"the total of {name!r}", decimal)
        exact = total.value if isinstance(total, Estimate) else total
        ends = exact if isinstance(exact, tuple) else (exact, exact)
        # A rate of the rows is rounded.
        lows[name], highs[name] = (
            end if isinstance(end, int) else round(end * n_rows) for end in ends
        )
        if not 0 <= lows[name] <= highs[name] <= n_rows:
            raise InputError(
                f"{short(name)!r}: at most {count(n_rows, 'row')} can have it; found {text}"
            )
    if not lows:
        raise InputError("Type the known total of at least one class: 1234, 12% or 1200..1300")
    low, high = sum(lows.values()), sum(highs.values())
    free = [name for name in classes if name not in lows]
    if low > n_rows:
        raise InputError(f"the totals add up to {low:,}, but there are {n_rows:,} rows")
    if not free and high < n_rows:
        raise InputError(
            f"the totals add up to {high:,}, but there are {n_rows:,} rows: every row needs a class"
        )
    if len(free) > 1:
        names = ", ".join(repr(short(name)) for name in free)
        raise InputError(f"all classes but one need a total; missing: {names}")
    if not free:
        return f"the totals add up to all {n_rows:,} rows"
    left = f"{n_rows - low:,} are left for {short(free[0])!r}"
    return f"{low:,} of {n_rows:,} rows have a class; {left}"


def known_tables(data: PreparedData) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield what is known and follows from it: for all rows, then for each margin.

    The totals were checked, so that they do not contradict each other.
    """
    bounds = data.bounds
    everything = np.array([bounds.n_rows])
    yield "all rows", _table(data, ["all"], everything, bounds.lower[None], bounds.upper[None])
    if bounds.margins:
        for margin in bounds.margins:
            if margin.columns:
                sizes = margin.sums(bounds.group_sizes[:, None])[:, 0]
                yield _by(margin), _table(data, margin.names, sizes, margin.lower, margin.upper)
    elif data.groups.columns:
        lower, upper = bounds.group_lower, bounds.group_upper
        yield _by(data.groups), _table(data, data.groups.names, bounds.group_sizes, lower, upper)


def _by(margin: Any) -> str:
    return "by " + ", ".join(short(str(name)) for name in margin.columns)


def _table(
    data: PreparedData, names: Sequence[Any], sizes: Any, lower: Any, upper: Any
) -> pd.DataFrame:
    """Return a row per group: its rows, and what is known of each class in it."""
    shown = [", ".join(name) if isinstance(name, tuple) else str(name) for name in names]
    table = {"group": [short(name) for name in shown], "rows": [f"{n:,.0f}" for n in sizes]}
    for k, name in enumerate(data.classes):
        ends = zip(lower[:, k], upper[:, k], sizes, strict=True)
        table[short(name)] = [span(round(lo), round(hi), round(n)) for lo, hi, n in ends]
    return pd.DataFrame(table).head(MOST_GROUPS)
