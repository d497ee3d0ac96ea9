"""Scored claims over all records: means by data set, and the goals that they should reach."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from c2rf.bench.checks import Check
from c2rf.bench.imputing import OURS, RECIPE
from c2rf.bench.records import Record
from c2rf.bench.results import Results, tuned_and_others

SINGLE = "single labels"
LEAST_COVERED, MOST_COVERED = 0.88, 0.99
"""Between which the mean coverage of shares should be, ..."""
LEAST_RIGHT, MOST_RIGHT = 0.85, 0.99
"""... and the coverage of the share of right labels."""
LEAST_GAIN = 0.15
"""By how much the error of shares should be below that of single labels."""
RARE = 0.2
"""A class with a smaller rate than this is called rare."""


class ClaimResults:
    """The records that hold claims, of one protocol.

    Parameters
    ----------
    records : sequence of Record
        Of any protocol and method; those without claims are left out.
    """

    def __init__(self, records: Sequence[Record]) -> None:
        own = [record for record in records if record.claims is not None]
        found = Results(own, "biased")
        self.results = found if found.records else Results(own, "simple")
        self.records = self.results.records

    @property
    def data_sets(self) -> list[str]:
        """Names of the data sets, the paper's first and in its order."""
        return self.results.data_sets

    def of(self, data: str) -> list[Record]:
        """Return the records of a data set."""
        return [record for record in self.records if record.data == data]

    def halves(self) -> Iterator[tuple[str, list[Record]]]:
        """Yield the records of samples that settings were chosen by, of the others, and all."""
        yield from tuned_and_others(self.records)
        yield "all", self.records


def share_mean(records: Sequence[Record], way: str, measure: str) -> float:
    """Return the mean over records of a measure of claimed shares."""
    return float(np.mean([_claims(record)["shares"][way][measure] for record in records]))


def gain(records: Sequence[Record], way: str = OURS) -> float:
    """Return by what part the mean error of shares is below that of single labels.

    Where these have no error at all it is zero, or minus infinity.
    """
    error, single = (share_mean(records, each, "error") for each in (way, SINGLE))
    if single == 0:
        return 0.0 if error == 0 else -np.inf
    return 1 - error / single


def right_claims(records: Sequence[Record], which: str) -> list[dict[str, float]]:
    """Return the claims on right labels: "overall", "negative", "positive", "rare".

    A rare class is one with few rows in the population.
    """
    found = []
    for record in records:
        rate = record.n_positive / record.n_unlabeled
        name = which
        if which == "rare":
            if min(rate, 1 - rate) >= RARE:
                continue
            name = "positive" if rate < RARE else "negative"
        claimed = _claims(record)["right"]
        if name in claimed:
            found.append(claimed[name])
    return found


def right_coverage(records: Sequence[Record], which: str) -> float:
    """Return how often the interval of the share of right labels holds the truth."""
    claims = right_claims(records, which)
    return float(np.mean([c["low"] <= c["true"] <= c["high"] for c in claims]))


def claim_checks(results: ClaimResults) -> Iterator[Check]:
    """Check the goals, on samples that settings were chosen by and on the others."""
    for name, records in results.halves():
        covered, rival = (share_mean(records, way, "coverage") for way in (OURS, RECIPE))
        yield Check(
            f"{name}: intervals of shares hold the truth in {100 * LEAST_COVERED:g} to "
            f"{100 * MOST_COVERED:g} %",
            LEAST_COVERED <= covered <= MOST_COVERED,
            f"{100 * covered:.1f} % ({RECIPE}: {100 * rival:.1f} %)",
        )
        ours, theirs = (share_mean(records, way, "score") for way in (OURS, RECIPE))
        yield Check(
            f"{name}: a better mean interval score than the {RECIPE}",
            ours < theirs,
            f"{100 * ours:.1f} against {100 * theirs:.1f} points",
        )
        yield Check(
            f"{name}: a mean error of shares at least {100 * LEAST_GAIN:g} % below that of "
            "single labels",
            gain(records) >= LEAST_GAIN,
            f"{100 * gain(records):.1f} % below",
        )
        for which in ("overall", "rare"):
            yield from _right_check(name, records, which)


def _right_check(name: str, records: Sequence[Record], which: str) -> Iterator[Check]:
    n_claims = len(right_claims(records, which))
    if n_claims == 0:
        return
    of = "all labels" if which == "overall" else f"labels of a class below {100 * RARE:g} %"
    share = right_coverage(records, which)
    yield Check(
        f"{name}: intervals of how many of {of} are right hold the truth in "
        f"{100 * LEAST_RIGHT:g} to {100 * MOST_RIGHT:g} %",
        LEAST_RIGHT <= share <= MOST_RIGHT,
        f"{100 * share:.1f} % of {n_claims}",
    )


def _claims(record: Record) -> dict[str, Any]:
    assert record.claims is not None
    return record.claims
