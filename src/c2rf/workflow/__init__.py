"""From two tables and totals to labels, a report and a model: what the command line calls."""

from __future__ import annotations

from c2rf.workflow.classify import classify
from c2rf.workflow.predictions import Predictions
from c2rf.workflow.result import Classification

__all__ = ["Classification", "LabelParts", "classify"]
