"""What is known of the unlabeled rows: as stated, as checked bounds, as linear constraints."""

from __future__ import annotations

from c2rf.totals.bounds import (
    Adjustment,
    Bounds,
    Conflict,
    LinearConstraints,
    MarginBounds,
    find_conflict,
)
from c2rf.totals.groups import Groups, read_groups, read_weights
from c2rf.totals.make_bounds import make_bounds
from c2rf.totals.stated import Estimate, Margin, Policy, Totals, read_totals

__all__ = [
    "Adjustment",
    "Bounds",
    "Conflict",
    "Estimate",
    "Groups",
    "LinearConstraints",
    "Margin",
    "MarginBounds",
    "Policy",
    "Totals",
    "find_conflict",
    "make_bounds",
    "read_groups",
    "read_totals",
    "read_weights",
]
