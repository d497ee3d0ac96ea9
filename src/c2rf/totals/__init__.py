"""What is known of the unlabeled rows, as users say it, and as whole-number bounds."""

from c2rf.totals.bounds import Bounds, Conflict, MarginBounds, find_conflict
from c2rf.totals.estimate import Estimate
from c2rf.totals.from_user import Margin, Totals, read_totals
from c2rf.totals.known import Groups, are_given, known_bounds, read_groups
from c2rf.totals.reconcile import Change
from c2rf.totals.stated_total import Policy
from c2rf.totals.weights import read_weights

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
