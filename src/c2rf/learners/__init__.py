"""Classifiers that rank rows, and their calibration."""

from __future__ import annotations
