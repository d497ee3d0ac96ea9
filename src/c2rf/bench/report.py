"""The report: tables, figures and checks as Markdown, pictures and one self-contained page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from c2rf.bench import paper_tables, quality
from c2rf.bench.methods import N_IMPUTATIONS, ON_PAPER_S_TREES, RECIPE
from c2rf.bench.paper_tables import BenchFigure, Check, note
from c2rf.bench.protocol import PROTOCOLS, Protocol
from c2rf.bench.records import METRICS, Record, Results
from c2rf.bench.scores import LEVEL
from c2rf.data.atomic import atomic_output
from c2rf.exceptions import InputError
from c2rf.report import page
from c2rf.report.page import Table


@dataclass(frozen=True)
class Report:
    """All that is told about records on one page, before it is laid out."""

    title: str
    summary: Sequence[str]
    checks: Sequence[Check]
    parts: Sequence[Table | BenchFigure]


def write_report(records: Sequence[Record], folder: Path) -> list[Path]:
    """Write up to three pages and their figures; what is there is overwritten.

    ``report.html`` and ``report.md`` are on the paper's experiment, ``quality.html`` and
    ``quality.md`` on how well all methods label, ``imputations.html`` and ``imputations.md`` on
    figures computed from imputations; each as far as there are records for it.

    Parameters
    ----------
    records : sequence of Record
        From :func:`c2rf.bench.records.read_records`.
    folder : Path
        Made if it is not there.

    Returns
    -------
    list of Path
        The files.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"the folder {folder} cannot be made: {reason}") from error
    page.need("bench")
    if not records:
        raise InputError("there are no records to report on; make some with c2rf bench run")
    files: dict[str, bytes] = {}
    for name, report in _pages(records):
        files[f"{name}.html"] = page.render("c2rf.bench", report).encode()
        files[f"{name}.md"] = render_md(report).encode()
        for part in report.parts:
            if isinstance(part, BenchFigure):
                files[f"{part.name}.png"] = part.png
    for name, content in files.items():
        with atomic_output(folder / name, force=True) as temporary:
            temporary.write_bytes(content)
    return [folder / name for name in files]


def _pages(records: Sequence[Record]) -> Iterator[tuple[str, Report]]:
    """Yield the pages that there are records for, each with its name."""
    labeling = [record for record in records if record.intervals is None]
    if labeling:
        yield "report", paper_report(labeling)
        yield "quality", quality_report(labeling)
    if len(labeling) < len(records):
        yield "imputations", coverage_report(records)


def coverage_report(records: Sequence[Record]) -> Report:
    """Put together how true the figures are that are computed from imputations."""
    found = Results.usual([record for record in records if record.intervals is not None])
    about = note("about_intervals", N_IMPUTATIONS=N_IMPUTATIONS, level=100 * LEVEL, RECIPE=RECIPE)
    tables = [quality.shares_table(found), quality.accuracy_table(found)]
    summary = [f"{_what_ran(found)}.", *_how_it_went(found.records), about]
    title = "What may be computed from imputations?"
    return Report(title, summary, list(quality.coverage_checks(found)), tables)


def paper_report(records: Sequence[Record]) -> Report:
    """Put together the paper's tables and figures as far as the records allow."""
    race = [record for record in records if record.method in ON_PAPER_S_TREES]
    protocols = [results for name in PROTOCOLS if (results := Results(race, name)).records]
    parts: list[Table | BenchFigure] = [paper_tables.table_1(records)]
    for results in protocols:
        if results.protocol.name == "biased":
            parts += [paper_tables.table_2(results), paper_tables.figure_1(results)]
    for results in protocols:
        second = results.protocol.name != "biased"
        parts += [
            paper_tables.quality_table(results, 3 + second),
            paper_tables.figure_gains(results, 2 + second),
        ]
    title = "The paper's experiment, reproduced"
    return Report(title, _summary(race, protocols), paper_tables.all_checks(protocols), parts)


def quality_report(records: Sequence[Record]) -> Report:
    """Put together how well all methods label, in the usual setting and in others."""
    results = Results.usual(records)
    parts = [
        quality.means_table(results),
        *(quality.scores_table(results, metric) for metric in METRICS),
        quality.samples_table(results),
        *quality.calibration_tables(results),
    ]
    if changed := quality.changed_settings(records, results.protocol):
        parts += [quality.settings_table(results, changed, metric) for metric in METRICS]
    about = note("about_quality", UNSOLVED=paper_tables.UNSOLVED)
    summary = [f"{_what_ran(results)}.", *_how_it_went(results.records), about]
    return Report("Which method labels best?", summary, list(quality.promises(results)), parts)


def _summary(records: Sequence[Record], protocols: Sequence[Results]) -> list[str]:
    """Say in a few sentences what this is a report on."""
    sentences = []
    for results in protocols:
        asked = results.protocol
        sentences.append(f"{_what_ran(results)} (the paper: 7200 s).")
        if asked != PROTOCOLS[asked.name]:
            sentences.append(
                "This is not the paper's protocol, whose figures stand beside these all the same: "
                f"there {_drawn(PROTOCOLS[asked.name])}."
            )
    return [*sentences, *_how_it_went(records)]


def _what_ran(results: Results) -> str:
    samples = len(results.samples["solved"])
    return (
        f"Protocol {results.protocol.name}: {len(results.data_sets)} data sets, {samples} samples, "
        f"{len(results.records)} records; {_drawn(results.protocol)}; {paper_tables.caps(results)}"
    )


def _how_it_went(records: Sequence[Record]) -> Iterator[str]:
    failures = [r for r in records if r.status in ("failed", "none")]
    if failures:
        reasons = sorted({r.message.split(";")[0][:160] for r in failures if r.message})
        yield f"{len(failures)} records hold no labels: {'; '.join(reasons)}."
    if records:
        yield f"Machine: {paper_tables.machines(records)}."


def _drawn(protocol: Protocol) -> str:
    return (
        f"{100 * protocol.fraction:g} % labeled with weight {protocol.positive_weight:g} for "
        f"positive rows, {protocol.n_trees} trees of depth 2 on "
        f"{100 * protocol.max_samples:g} % of these"
    )


def render_md(report: Report) -> str:
    """Lay the report out as Markdown that shows the figures of the same folder."""
    lines = [f"# {report.title}", "", *report.summary]
    if report.checks:
        lines += ["", "## Checks", ""]
    for check in report.checks:
        lines.append(f"- {check.statement}: **{check.outcome}**. {check.detail}.")
    for part in report.parts:
        lines += ["", f"## {part.title}", ""]
        if isinstance(part, Table):
            lines += [*_md_table(part), ""]
        else:
            lines += [f"![{part.title}]({part.name}.png)", ""]
        lines.append(part.note)
    return "\n".join(lines) + "\n"


def _md_table(table: Table) -> list[str]:
    n_numbers = len(table.header) - table.n_names
    rule = ["---"] * table.n_names + ["---:"] * n_numbers
    return ["| " + " | ".join(row) + " |" for row in (table.header, rule, *table.rows)]
