"""Types of arrays that many rooms use."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Texts = NDArray[np.object_]

Codes = NDArray[np.intp]
"""Numbers from 0 that stand for classes, groups or rows."""

Labels = NDArray[Any]
"""Classes, of whatever type the user's are."""
