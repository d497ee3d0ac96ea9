"""The imputations of a classification, as a table with a column for each."""

from __future__ import annotations

from typing import Any

import numpy as np

from c2rf.exceptions import InputError
from c2rf.labeling.parts import AddedColumn, LabelParts
from c2rf.labeling.task import Task

USUAL = 20
"""How many imputations there are if nobody says."""
ROW = "row"
"""Names the rows where there is no column of ids: numbers from 1."""


def imputation_parts(task: Task, classifier: Any, n_imputations: int) -> LabelParts:
    """Draw imputations, or say why there are none; rows are named by their ids, or numbered."""
    if not hasattr(classifier, "impute"):
        raise InputError(
            "the method c2rf has no probabilities to draw imputations from; use the method "
            "known-totals"
        )
    codes = classifier._imputed_codes(n_imputations)
    drawn = [AddedColumn(f"imputation_{k + 1}", row, task.values) for k, row in enumerate(codes)]
    if task.id is not None:
        return LabelParts(task.rows, [task.id], drawn)
    numbers = AddedColumn(ROW, np.arange(1, task.n_rows + 1))
    return LabelParts(task.rows, [], [numbers, *drawn])
