"""Estimators that follow scikit-learn's conventions."""

from c2rf.estimators.blend import BlendClassifier
from c2rf.estimators.c2rf import C2RFClassifier
from c2rf.estimators.known_totals import KnownTotalsClassifier

__all__ = ["BlendClassifier", "C2RFClassifier", "KnownTotalsClassifier"]
