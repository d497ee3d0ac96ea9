"""The order of the gallery: what most readers come for first."""

from __future__ import annotations

FIRST = ("plot_known_totals.py", "plot_groups.py", "plot_total_off.py")


def reading_order(name: str) -> tuple[int, str]:
    """Sort examples: those named first, then the others by their names."""
    return (FIRST.index(name) if name in FIRST else len(FIRST), name)
