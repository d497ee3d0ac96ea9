"""What is the same for all solvers, done once around each of them.

The cutoff is a row, so no solver's own idea of a cutoff matters; a start is an incumbent even if
the solver had no time to look at it.
"""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from c2rf._typing import Floats
from c2rf.exceptions import BackendError
from c2rf.solver.backends.base import RawResult, tolerance
from c2rf.solver.matrix_model import MatrixModel


def refuse_unusable(model: MatrixModel) -> None:
    """Stop numbers that some solvers would silently take for others."""
    for part in fields(model):
        values = getattr(model, part.name)
        values = values.data if part.name == "matrix" else values
        usable = np.isfinite if part.name in ("matrix", "objective") else _is_number
        if values is not None and not usable(values).all():
            worst = values[~usable(values)][0]
            raise BackendError(f"the model's {part.name} has {worst} in it: no solver takes that")


def refuse_too_large(model: MatrixModel, too_large: float, backend: str) -> None:
    """Say why a solver will not take a model with huge numbers, and what will."""
    largest = float(np.abs(model.matrix.data).max(initial=0.0))
    if largest >= too_large:
        raise BackendError(
            f"the model has a coefficient of {largest:.3g}, and {backend} takes none from "
            f"{too_large:g} on; the box, the offset or the counts are too large for it: "
            'make them smaller, or use method="auto", which needs no such model'
        )


def _is_number(values: Floats) -> NDArray[np.bool_]:
    return ~np.isnan(values)


def cut_off(model: MatrixModel, cutoff: float) -> MatrixModel:
    """Add c'x <= cutoff, a little less, as a row: it means the same to every solver."""
    limit = cutoff - tolerance(cutoff)
    return replace(
        model,
        matrix=sparse.vstack([model.matrix, sparse.csr_array(model.objective[None])], "csr"),
        row_lower=np.append(model.row_lower, -np.inf),
        row_upper=np.append(model.row_upper, limit),
    )


def with_cutoff(answer: RawResult, cutoff: float) -> RawResult:
    """Return the answer with a bound for the model without the cutoff."""
    limit = cutoff - tolerance(cutoff)
    bound = limit if answer.status == "infeasible" else min(answer.bound, limit)
    return replace(answer, bound=bound)
