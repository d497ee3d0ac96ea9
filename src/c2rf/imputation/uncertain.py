"""Uncertain totals, drawn anew: what a survey could have estimated as well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from c2rf.totals import Totals
from c2rf.totals.estimate import Estimate


def drawn_totals(totals: Totals, rng: np.random.Generator) -> Totals:
    """Return totals in which every estimate is drawn from its normal distribution.

    They stay estimates of the same error, so that those that contradict each other can be
    reconciled; exact totals stay as they are.

    Examples
    --------
    >>> drawn = drawn_totals(Totals({"yes": Estimate(100, se=10)}), np.random.default_rng(0))
    >>> drawn.overall["yes"].se, 60 < drawn.overall["yes"].value < 140
    (10, True)
    """

    def row(totals: Mapping[Any, Any]) -> dict[Any, Any]:
        return {label: _drawn(total, rng) for label, total in totals.items()}

    margins = tuple(
        replace(margin, by_group={group: row(own) for group, own in margin.by_group.items()})
        for margin in totals.margins
    )
    return replace(totals, overall=row(totals.overall), margins=margins)


def _drawn(total: Any, rng: np.random.Generator) -> Any:
    if not isinstance(total, Estimate):
        return total
    value = max(float(total.value) + float(total.se) * rng.normal(), 0.0)
    is_rate = isinstance(total.value, float) and total.value <= 1
    # A count that is drawn at or below 1 must not be taken for a rate.
    return Estimate(min(value, 1.0) if is_rate else round(value), se=total.se)
