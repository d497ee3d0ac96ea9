"""The report of a classification: one self-contained HTML page, in sections.

A section is a function from a result to blocks (see :mod:`c2rf.report.page`) and a line of
:data:`SECTIONS`; one that yields no blocks is left out. Sections read the result itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from c2rf._utils.text import short
from c2rf.report.answer import (
    accuracy_section,
    answer_section,
    confidence_section,
    how_sure,
    opening,
    question,
    sensitivity_section,
    unreliable_warning,
)
from c2rf.report.estimates import estimates_section, published_tables
from c2rf.report.language import translated_page
from c2rf.report.measures import totals_called
from c2rf.report.method import (
    assumptions_section,
    cautions_section,
    find_cautions,
    method_section,
    repeat_section,
)
from c2rf.report.page import Block, Page, Section, need, render
from c2rf.report.sample import balance_section, data_section, importance_section

if TYPE_CHECKING:
    from c2rf.workflow.result import Classification

SECTIONS: list[tuple[str, str, Callable[[Classification], Iterator[Block]]]] = [
    ("answer", "The answer", answer_section),
    ("estimates", "Figures to publish", estimates_section),
    ("accuracy", "How many labels are right", accuracy_section),
    ("cautions", "What to be careful about", cautions_section),
    ("assumptions", "What is assumed", assumptions_section),
    ("data", "The question and the data", data_section),
    ("balance", "How the sample differs from the population", balance_section),
    ("confidence", "How sure it is", confidence_section),
    ("sensitivity", "If the totals are wrong", sensitivity_section),
    ("importance", "What the labels rest on", importance_section),
    ("method", "How it was done", method_section),
    ("repeat", "How to repeat it", repeat_section),
]
"""The anchor and the title of each section, and what writes it, in the order of the page."""

OPEN = ("answer", "estimates")
"""The sections that are open from the start."""
FIRST_CAUTIONS = 3
"""How many cautions are among the first sentences."""


def report_content(result: Classification) -> Page:
    """Return what a report says, before it becomes HTML."""
    sections = [
        Section(name, title, list(write(result)), name in OPEN) for name, title, write in SECTIONS
    ]
    estimated = result.data.remarks[:2] if totals_called(result.data) == "estimated" else []
    cautions = [*estimated, unreliable_warning(result), *find_cautions(result)]
    careful = list(dict.fromkeys(filter(None, cautions)))[:FIRST_CAUTIONS]
    lead = [
        ("Asked", question(result)),
        ("Answer", [opening(result)]),
        ("How sure", [how_sure(result)]),
        *([("Figures", figures)] if (figures := published_tables(result)) else []),
        ("Careful", careful or ["Nothing that stands out."]),
    ]
    return Page(
        f"Labels for {result.data.names[1]}",
        lead,
        [section for section in sections if section.blocks],
    )


def make_page(result: Classification) -> str:
    """Return the report of a result as one HTML page that needs nothing from anywhere."""
    need("report")
    page = translated_page(report_content(result), result.data.options.language, names_of(result))
    return render("c2rf.report", page)


def names_of(result: Classification) -> set[str]:
    """Return names of the user, which no language changes."""
    data = result.data
    columns = (*(each.name for each in data.columns), *data.left_out, *data.bins)
    names = (*data.classes, *columns, *data.groups.columns, data.options.target)
    return {short(str(name)) for name in names}
