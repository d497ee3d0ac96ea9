"""The few numbers that decide what counts as equal, in one place."""

from __future__ import annotations

from typing import Final

MARGIN_TOLERANCE: Final = 1e-9
"""A margin is met at 1 - MARGIN_TOLERANCE; a weight may leave its box by as much."""

BOUND_TOLERANCE: Final = 1e-6
"""A solver's float bound b proves the integer ceil(b - BOUND_TOLERANCE * max(1, |b|))."""

CERTIFICATE_SLACK: Final = 1e-6
"""A condition that excludes sign patterns must hold with this much to spare.

It is far above float rounding and above MARGIN_TOLERANCE, so an excluded sign pattern is
excluded for weights and margins within tolerance, too.
"""
