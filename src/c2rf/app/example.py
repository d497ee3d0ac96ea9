"""The example of the page: people in two files, and the totals that a census knows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from c2rf.datasets import biased_sample, make_twonorm

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
