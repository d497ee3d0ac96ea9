"""From two tables and totals to labels, a report and a model: what the command line calls."""

from c2rf.labeling.parts import LabelParts
from c2rf.labeling.result import Classification
from c2rf.labeling.run import classify

__all__ = ["Classification", "LabelParts", "classify"]
