"""The files of the page: one folder, and an example.

The files that a page may read: those of one folder, and none outside of it.

The example of the page: people in two files, and the totals that a census knows.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from c2rf.data.dialect import plain_name
from c2rf.data.formats import TEXT, format_by_name
from c2rf.datasets import biased_sample, make_twonorm
from c2rf.exceptions import InputError


def tables_in(folder: Path) -> list[str]:
    """Return the names of the tables in a folder and its folders, in order.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / "people.csv").touch()
    >>> (folder / "notes.pdf").touch()
    >>> tables_in(folder)
    ['people.csv']
    """
    found = [path for path in folder.rglob("*") if path.is_file() and _is_table(path)]
    names = [path.relative_to(folder) for path in found if _is_inside(path, folder)]
    return sorted(str(name) for name in names if not any(p.startswith(".") for p in name.parts))


def file_in(folder: Path, name: str) -> Path:
    """Return a file of a folder; a name or a link that leads out of it is refused.

    Examples
    --------
    >>> file_in(Path("data"), "../secret.csv")
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputError: '../secret.csv' is not a file of the folder data
    """
    path = folder / name
    if not _is_inside(path, folder) or not path.is_file():
        raise InputError(f"{name!r} is not a file of the folder {folder}")
    return path


def _is_inside(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def _is_table(path: Path) -> bool:
    is_text = format_by_name(plain_name(path)) is TEXT
    return is_text or format_by_name(path) is not None


TARGET, ID, GROUP = "employed", "person", "region"
N_PEOPLE = 600
COLUMNS = {
    "age": (45, 11, 18, 0), "schooling": (11, 1.5, 8, 0), "income": (2400, 500, 400, 2),
    "distance": (15, 5, 0, 1), "hours": (20, 6, 0, 1),
}  # fmt: skip
"""Middle, spread, least value and decimal places of each."""


def write_example(folder: Path) -> tuple[Path, Path, dict[str, str]]:
    """Write two files, and return them with the known totals."""
    X, y = make_twonorm(N_PEOPLE, random_state=0)
    labeled, unlabeled = biased_sample(y, 0.15, random_state=0)
    people = pd.DataFrame(
        {
            name: (middle + spread * X[:, k]).clip(lowest).round(places)
            for k, (name, (middle, spread, lowest, places)) in enumerate(COLUMNS.items())
        }
    )
    people.insert(0, ID, [f"P{k:04d}" for k in range(N_PEOPLE)])
    people[GROUP] = np.array(["north", "south", "west"])[np.arange(N_PEOPLE) % 3]
    classes = np.where(y == 1, "yes", "no")
    folder.mkdir(exist_ok=True)
    paths = folder / "example-labeled.csv", folder / "example-unlabeled.csv"
    people.iloc[labeled].assign(**{TARGET: classes[labeled]}).to_csv(paths[0], index=False)
    people.iloc[unlabeled].to_csv(paths[1], index=False)
    return *paths, {"yes": str(int((classes[unlabeled] == "yes").sum()))}
