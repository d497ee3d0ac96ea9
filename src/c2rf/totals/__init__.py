"""What is known of the unlabeled rows, as users say it, and as whole-number bounds."""

from __future__ import annotations

from c2rf.totals.bounds import Bounds, Conflict, MarginBounds, find_conflict, read_weights
from c2rf.totals.known import Groups, are_given, known_bounds, read_groups
from c2rf.totals.reconcile import Adjustment
from c2rf.totals.stated import Estimate, Margin, Policy, Totals, read_totals

__all__ = [
    "Bounds",
    "Change",
    "Conflict",
    "Estimate",
    "Groups",
    "Margin",
    "MarginBounds",
    "Policy",
    "Totals",
    "are_given",
    "find_conflict",
    "known_bounds",
    "read_groups",
    "read_totals",
    "read_weights",
]
