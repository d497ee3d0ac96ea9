"""Classifiers that rank rows, and their calibration."""
