"""How sure it is: scores, confidences, and the rows nearest to the cut-off."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from c2rf._text import quoted, short
from c2rf.report import figures
from c2rf.report.facts import NEAREST, Facts
from c2rf.report.parts import Grid, Picture, Text
from c2rf.report.sections.common import Part, left_out


def sure(facts: Facts) -> Iterator[Part]:
    """Show scores and confidences, and the rows nearest to the cut-off."""
    if facts.positive is not None:
        other = next(name for name in facts.classes if name != facts.positive)
        yield Text(
            f"A score above 0 means {quoted(facts.positive)}, all others are {quoted(other)}. "
            "The further from 0, the surer."
        )
    else:
        yield Text("The score of a row is the lead of its label over the next best class.")
    yield Picture(
        figures.scores(facts),
        "How the scores spread. Rows near the cut-off could as well have got another label.",
    )
    yield Text(_confidence_words(facts))
    yield Picture(
        figures.confidences(facts),
        f"Half of the labels have a confidence of at least {np.median(facts.confidence):.2f}; "
        f"the least is {facts.confidence.min():.2f}.",
    )
    nearest = np.argsort(facts.margins, kind="stable")[:NEAREST]
    rows = [
        [
            short(facts.names[row]), short(str(facts.labels[row])), f"{facts.scores[row]:.4g}",
            f"{facts.confidence[row]:.3f}",
        ]
        for row in nearest
    ]  # fmt: skip
    note = left_out(facts.n, NEAREST, "rows").strip()
    header = ["row", "label", "score", "confidence"]
    yield Grid("The rows nearest to the cut-off", header, rows, note, n_names=2)


def _confidence_words(facts: Facts) -> str:
    if facts.forest is not None:
        return (
            "The confidence of a label is the share of the weight of all trees that voted for it."
        )
    return "The confidence of a label is its probability once the known totals are accounted for."
