"""Made-up people in two files: some are labeled, and of the others the totals are known."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import ExtraTreesClassifier

from c2rf.data.formats import read_file
from c2rf.datasets import biased_sample, make_twonorm

CLASSES = ("no", "yes", "maybe")


def read_table(path: Path | str) -> pd.DataFrame:
    """Read a table of any format."""
    return read_file(path).frame


@dataclass(frozen=True, eq=False)
class People:
    """Tables as they are written, and the truth about the unlabeled."""

    labeled: pd.DataFrame
    unlabeled: pd.DataFrame
    truth: pd.Series

    def write(self, ending: str = ".csv", folder: Path = Path()) -> None:
        """Write ``labeled`` and ``unlabeled`` in some format."""
        for name, table in (("labeled", self.labeled), ("unlabeled", self.unlabeled)):
            path = folder / f"{name}{ending}"
            if ending == ".parquet":
                table.to_parquet(path)
            else:
                table.to_csv(path, index=False, sep="\t" if ".tsv" in ending else ",")

    def totals(self) -> dict[str, int]:
        """Count the classes of the unlabeled."""
        return {name: int(n) for name, n in self.truth.value_counts().sort_index().items()}

    def totals_by(self, group: str) -> pd.DataFrame:
        """Count the classes within groups, as a table of totals."""
        table = pd.DataFrame({group: self.unlabeled[group], "class": self.truth})
        return table.value_counts().rename("total").reset_index()


def make_people(n: int = 300, n_classes: int = 2, seed: int = 0) -> People:
    """Draw people with an id, four numbers, a town and a region; the class is ``sick``."""
    X, y = make_twonorm(n, random_state=seed)
    labeled, unlabeled = biased_sample(y, 0.2, random_state=seed)
    table = pd.DataFrame(X[:, :4].round(2), columns=list("abcd"))
    table["town"] = np.where(X[:, 4] > 0, "Ulm", "Bonn")
    table["region"] = np.array(["north", "south", "west"])[np.arange(n) % 3]
    table.insert(0, "id", [f"{k:04d}" for k in range(n)])
    codes = np.where(y == 1, 1, 0)
    if n_classes == 3:
        codes[(y == 1) & (X[:, 0] > 1)] = 2
    sick = pd.Series(np.array(CLASSES)[codes])
    return People(
        table.iloc[labeled].assign(sick=sick[labeled]),
        table.iloc[unlabeled],
        sick[unlabeled],
    )


def quick_estimator() -> ExtraTreesClassifier:
    """Return what stands in for the default of known totals where labels need not be good."""
    return ExtraTreesClassifier(20)
