"""Estimators that follow scikit-learn's conventions."""

from c2rf.estimators.c2rf import C2RFClassifier

__all__ = ["C2RFClassifier"]
