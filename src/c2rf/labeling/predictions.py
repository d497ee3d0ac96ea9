"""Labels of other rows, each for itself, by a model that was stored."""

from __future__ import annotations

from typing import Any

import numpy as np

from c2rf._text import for_user
from c2rf.columns.choose import check_column
from c2rf.files.dialect import AS_FOUND, ReadAs
from c2rf.labeling.model_file import StoredModel
from c2rf.labeling.parts import LabelParts, label_columns, shown_columns
from c2rf.labeling.row_storage import find_rows
from c2rf.labeling.scoring import score_rows
from c2rf.labeling.survey import survey
from c2rf.labeling.tables import column_names
from c2rf.population.encoded import encoded


def predict_rows(
    model: StoredModel,
    unlabeled: Any,
    *,
    id: str | None = None,
    engine: str = "auto",
    how: ReadAs = AS_FOUND,
) -> LabelParts:
    """Label rows with a stored model; no total is met for them.

    Parameters
    ----------
    model : StoredModel
        What ``save_model`` wrote.
    unlabeled : data frame, path, or population outside of memory
        Rows with the columns of the model.
    id : str, optional
        A column that names the rows.
    engine : {"auto", "memory", "chunks", "dask"}
        As for :func:`c2rf.classify`.
    how : ReadAs
        How a file is to be read.

    Returns
    -------
    LabelParts
        The rows with label, score and confidence.
    """
    rows = find_rows(unlabeled, engine, how)
    names = column_names(rows)
    check_column(for_user("id", "--id"), id, names)
    for group in model.groups:
        check_column("the groups of the model", group, names)
    shown = shown_columns(names, id)
    found = survey(rows, [], model.groups)
    X = encoded(rows, model.encoder)
    scored = score_rows(model.classifier, X, found.groups, model.positive)
    classes = np.array(model.classifier.classes_, dtype=object)
    return LabelParts(rows, shown, label_columns(classes, scored))
