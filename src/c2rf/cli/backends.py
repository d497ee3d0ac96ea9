"""``c2rf backends``: which solvers are here, and how to get the others."""

from __future__ import annotations

from c2rf.cli import screen


def backends() -> None:
    """List the solvers: installed or not, version, what they can do."""
    from rich.table import Table

    from c2rf.forest.backends import BACKENDS

    table = Table("backend", "version", "branching priorities", "notes")
    for backend in BACKENDS.values():
        version = backend.version() if backend.is_installed else f"missing: {backend.install}"
        # [scip] in an install command is no markup.
        table.add_row(
            backend.name,
            version.replace("[", r"\["),
            "yes" if backend.priorities else "no",
            backend.note,
        )
    screen.console().print(table)
