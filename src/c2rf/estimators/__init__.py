"""Estimators that follow scikit-learn's conventions."""

from __future__ import annotations

from c2rf.estimators.c2rf import C2RFClassifier
from c2rf.estimators.known_totals import KnownTotalsClassifier
from c2rf.learners.default_classifier import BlendClassifier

__all__ = ["BlendClassifier", "C2RFClassifier", "KnownTotalsClassifier"]
