"""Tables as CSV and Markdown, and plots, written as the rows come in."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


class Table:
    """Rows that are printed and written at once, so that an interrupted run loses nothing."""

    def __init__(self, folder: Path, name: str, columns: Sequence[str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.name, self.columns = folder, name, list(columns)
        self.rows: list[dict[str, Any]] = []
        self._write_csv("w", self.columns)

    def add(self, row: Mapping[str, Any]) -> None:
        """Print and keep a row."""
        self.rows.append(dict(row))
        cells = [_text(row[column]) for column in self.columns]
        print("  ".join(f"{c} {v}" for c, v in zip(self.columns, cells, strict=True)), flush=True)
        self._write_csv("a", cells)

    def finish(self) -> Path:
        """Write the table as Markdown, too."""
        lines = [" | ".join(self.columns), " | ".join("---" for _ in self.columns)]
        lines += [" | ".join(_text(row[c]) for c in self.columns) for row in self.rows]
        path = self.folder / f"{self.name}.md"
        path.write_text("".join(f"| {line} |\n" for line in lines), encoding="utf-8")
        return path

    def _write_csv(self, mode: str, cells: Sequence[str]) -> None:
        path = self.folder / f"{self.name}.csv"
        with path.open(mode, newline="", encoding="utf-8") as file:
            csv.writer(file).writerow(cells)


def _text(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def save_plot(figure: Any, folder: Path, name: str) -> None:
    """Write a figure as PNG."""
    figure.tight_layout()
    figure.savefig(folder / f"{name}.png", dpi=100)
