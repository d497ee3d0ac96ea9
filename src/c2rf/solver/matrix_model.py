"""The plain matrix problem that a solver sees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from c2rf._typing import Floats


@dataclass(frozen=True, eq=False)
class MatrixModel:
    """min c'x  s.t.  row_lower <= A x <= row_upper, col_lower <= x <= col_upper, some x integer.

    All a backend ever sees. ``priorities`` (greater first) steer branching where the solver can
    be steered.

    Examples
    --------
    >>> from c2rf.core.problem import make_problem
    >>> from c2rf.solver.formulation import big_m_model
    >>> model = big_m_model(make_problem([[1, -1], [1, 1]], 1))
    >>> model.matrix.shape, int(model.integrality.sum())
    ((6, 5), 2)
    """

    objective: Floats
    matrix: sparse.csr_array
    row_lower: Floats
    row_upper: Floats
    col_lower: Floats
    col_upper: Floats
    integrality: NDArray[np.bool_]
    priorities: NDArray[np.int64] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.row_lower)

    @property
    def n_cols(self) -> int:
        """Number of columns."""
        return len(self.col_lower)
