"""The report: tables, figures and checks as Markdown, pictures and one self-contained page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from c2rf import page
from c2rf.bench.checks import Check, all_checks
from c2rf.bench.protocol import PROTOCOLS, Protocol
from c2rf.bench.records import Record
from c2rf.bench.results import Results
from c2rf.bench.tables import Table, caps, machines, quality_table, table_1, table_2
from c2rf.exceptions import InputError
from c2rf.files import atomic_output

if TYPE_CHECKING:
    from c2rf.bench.figures import Picture


@dataclass(frozen=True)
class Report:
    """All that is told about records, before it is laid out."""

    summary: Sequence[str]
    checks: Sequence[Check]
    parts: Sequence[Table | Picture]


def write_report(records: Sequence[Record], folder: Path) -> list[Path]:
    """Write ``report.html``, ``report.md`` and the figures; what is there is overwritten.

    Parameters
    ----------
    records : sequence of Record
        From :func:`c2rf.bench.records.read_records`.
    folder : Path
        Made if it is not there.

    Returns
    -------
    list of Path
        The files, the page first.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"the folder {folder} cannot be made: {reason}") from error
    report = make_report(records)
    files = {
        "report.html": page.render("c2rf.bench", report).encode(),
        "report.md": render_md(report).encode(),
    }
    for picture in _pictures(report):
        files[f"{picture.name}.svg"] = picture.svg
        files[f"{picture.name}.png"] = picture.png
    for name, content in files.items():
        with atomic_output(folder / name, force=True) as temporary:
            temporary.write_bytes(content)
    return [folder / name for name in files]


def make_report(records: Sequence[Record]) -> Report:
    """Put together what the records allow."""
    page.need("bench")
    if not records:
        raise InputError("there are no records to report on; make some with c2rf bench run")
    from c2rf.bench.figures import figure_1, figure_gains

    protocols = [results for name in PROTOCOLS if (results := Results(records, name)).records]
    parts: list[Table | Picture] = [table_1(records)]
    for results in protocols:
        if results.protocol.name == "biased":
            parts += [table_2(results), figure_1(results)]
    for results in protocols:
        second = results.protocol.name != "biased"
        parts += [quality_table(results, 3 + second), figure_gains(results, 2 + second)]
    return Report(_summary(records, protocols), all_checks(protocols), parts)


def _summary(records: Sequence[Record], protocols: Sequence[Results]) -> list[str]:
    """Say in a few sentences what this is a report on."""
    sentences = []
    for results in protocols:
        asked = results.protocol
        samples = sum(results.n_samples(data) for data in results.data_sets)
        sentences.append(
            f"Protocol {asked.name}: {len(results.data_sets)} data sets, {samples} samples, "
            f"{len(results.records)} records; {_drawn(asked)}; {caps(results)} "
            "(the paper: 7200 s)."
        )
        if asked != PROTOCOLS[asked.name]:
            sentences.append(
                "This is not the paper's protocol, whose figures stand beside these all the same: "
                f"there {_drawn(PROTOCOLS[asked.name])}."
            )
    failures = [r for r in records if r.status in ("failed", "none")]
    if failures:
        reasons = sorted({r.message.split(";")[0][:160] for r in failures if r.message})
        sentences.append(f"{len(failures)} records hold no labels: {'; '.join(reasons)}.")
    sentences.append(f"Machine: {machines(records)}.")
    return sentences


def _drawn(protocol: Protocol) -> str:
    return (
        f"{100 * protocol.fraction:g} % labeled with weight {protocol.positive_weight:g} for "
        f"positive points, {protocol.n_trees} trees of depth 2 on "
        f"{100 * protocol.max_samples:g} % of these"
    )


def render_md(report: Report) -> str:
    """Lay the report out as Markdown that shows the figures beside it."""
    lines = ["# The paper's experiment, reproduced", "", *report.summary, "", "## Checks", ""]
    for check in report.checks:
        sign = "holds" if check.holds else "does not hold"
        lines.append(f"- {check.statement}: **{sign}**. {check.detail}.")
    for part in report.parts:
        lines += ["", f"## {part.title}", ""]
        if isinstance(part, Table):
            lines += [*_md_table(part), ""]
        else:
            lines += [f"![{part.title}]({part.name}.svg)", ""]
        lines.append(part.note)
    return "\n".join(lines) + "\n"


def _md_table(table: Table) -> list[str]:
    rows = [[column.title for column in table.columns], ["---", "---"]]
    rows[1] += ["---:"] * (len(table.columns) - 2)
    for row in table.rows:
        rows.append([f"**{cell.text}**" if cell.best else cell.text for cell in row])
    return ["| " + " | ".join(row) + " |" for row in rows]


def _pictures(report: Report) -> list[Picture]:
    return [part for part in report.parts if not isinstance(part, Table)]
