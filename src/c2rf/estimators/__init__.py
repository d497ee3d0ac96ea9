"""Estimators that follow scikit-learn's conventions."""
