"""The default classifier: features, base learners, stacking, calibration, distillation."""

from __future__ import annotations
