"""Types that many rooms use, most of them of arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Texts = NDArray[np.object_]

Codes = NDArray[np.intp]
"""Numbers from 0 that stand for classes, groups or rows."""

Signs = NDArray[np.int8]
"""Labels of -1 and +1."""

Columns = Sequence[str] | None
"""Names of columns to read, in this order; None for all of them."""
