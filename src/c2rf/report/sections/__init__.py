"""The sections of a report in words, tables and pictures: one file each."""

from __future__ import annotations

from c2rf._text import short
from c2rf.report.facts import Facts
from c2rf.report.parts import Page, Section
from c2rf.report.sections.answer import answer
from c2rf.report.sections.assumed import assumed
from c2rf.report.sections.closing import careful, repeat
from c2rf.report.sections.data import data
from c2rf.report.sections.headline import lead, unreliable
from c2rf.report.sections.how import how
from c2rf.report.sections.missed import missed
from c2rf.report.sections.rest_on import rest_on
from c2rf.report.sections.right_labels import right
from c2rf.report.sections.sure import sure
from c2rf.report.sections.wrong_totals import wrong_totals

__all__ = ["make_content"]


def make_content(facts: Facts) -> Page:
    """Put the report together."""
    sections = [
        Section("data", "The question and the data", list(data(facts))),
        Section("answer", "The answer", list(answer(facts))),
        Section("assumed", "What is assumed", list(assumed(facts))),
        Section("missed", "Whom the sample misses", list(missed(facts))),
        Section("right", "How many labels are right", list(right(facts))),
        Section("sure", "How sure it is", list(sure(facts))),
    ]
    if facts.sensitivity is not None:
        wrong = list(wrong_totals(facts))
        sections.append(Section("wrong-totals", "If the totals are wrong", wrong))
    if facts.importance is not None and facts.importance.changed:
        sections.append(Section("rest-on", "What the labels rest on", list(rest_on(facts))))
    sections += [
        Section("how", "How it got there", list(how(facts))),
        Section("careful", "What to be careful about", list(careful(facts))),
        Section("repeat", "How to repeat it", list(repeat(facts))),
    ]
    title = f"Labels for {short(facts.unlabeled_file, 80)}"
    bad = unreliable(facts)
    return Page(title, lead(facts), sections, "" if bad is None else bad.text)
