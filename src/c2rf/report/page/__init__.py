"""Pages that need nothing from anywhere: one HTML file, its pictures inside."""

from c2rf.report.page.layout import need, render

__all__ = ["need", "render"]
