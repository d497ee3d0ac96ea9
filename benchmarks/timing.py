"""Times of works that take turns, so that a busy machine slows all of them alike."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np


def best_of(repeat: int, *works: Callable[[], Any]) -> list[float]:
    """Return the least seconds of each work, done in turns after a first time that compiles."""
    works[-1]()
    best = [np.inf] * len(works)
    for _ in range(repeat):
        for k, work in enumerate(works):
            start = time.perf_counter()
            work()
            best[k] = min(best[k], time.perf_counter() - start)
    return best
