"""The imputations of a classification, as a table: a row per row, a column per imputation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from c2rf._frames import as_pandas
from c2rf.exceptions import InputError
from c2rf.files.writing import TableWriter
from c2rf.labeling.task import Task

USUAL = 20
"""How many imputations there are if nobody says."""
ROW = "row"
"""Names the rows where there is no column of ids: numbers from 1."""


@dataclass(frozen=True, eq=False)
class ImputationParts:
    """Imputations to be read a part at a time.

    Parameters
    ----------
    task : Task
        The rows.
    codes : ndarray of int, shape (n_imputations, n_rows)
        The number of the class of each row by each imputation.
    """

    task: Task
    codes: NDArray[Any]

    def __iter__(self) -> Iterator[pd.DataFrame]:
        names = [f"imputation_{k + 1}" for k in range(len(self.codes))]
        id = self.task.id
        columns = [id] if id is not None else (self.task.rows.names or [])[:1]
        for chunk in self.task.rows.chunks(columns):
            part = slice(chunk.start, chunk.start + chunk.data.shape[0])
            drawn = {
                name: self.task.values[np.asarray(row[part])]
                for name, row in zip(names, self.codes, strict=True)
            }
            table = pd.DataFrame({ROW: np.arange(part.start + 1, part.stop + 1)})
            if id is not None:
                table = as_pandas(chunk.data)[[id]].reset_index(drop=True)
            yield pd.concat([table, pd.DataFrame(drawn)], axis="columns")

    def frame(self) -> pd.DataFrame:
        """Return all rows at once."""
        return pd.concat(list(self), ignore_index=True)

    def write(self, path: Path) -> None:
        """Write all rows to a place that was checked before."""
        with TableWriter(path) as writer:
            for part in self:
                writer.write(part)


def imputation_parts(task: Task, classifier: Any, n_imputations: int) -> ImputationParts:
    """Draw imputations, or say why there are none."""
    if not hasattr(classifier, "impute"):
        raise InputError(
            "the method c2rf has no probabilities to draw imputations from; use the method "
            "known-totals"
        )
    return ImputationParts(task, classifier._imputed_codes(n_imputations))
