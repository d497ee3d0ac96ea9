"""What a user asks for: how to read the two tables, and how to label."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from c2rf.data.dialect import AS_FOUND, ReadAs


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """How the two tables are to be read.

    Parameters
    ----------
    target : str
        The column of the labeled table with the class.
    id : str or None
        The column that names the rows; it is not learned from.
    drop, text : sequence of str
        Columns not to learn from, and columns of numbers that are codes.
    policy : {"strict", "scale"}
        What to do with totals that do not add up.
    engine : {"auto", "memory", "chunks", "dask"}
        Where the unlabeled rows are kept.
    keep : sequence of str
        Columns to learn from though they look useless.
    how : ReadAs
        How files are to be read.
    weight : str or None
        The column that says how many people an unlabeled row stands for; not learned from.
    """

    target: str
    id: str | None = None
    drop: Sequence[str] = ()
    text: Sequence[str] = ()
    policy: str = "strict"
    engine: str = "auto"
    keep: Sequence[str] = ()
    how: ReadAs = AS_FOUND
    weight: str | None = None


@dataclass(frozen=True, kw_only=True)
class HowAsked:
    """How a classification was asked for, and how long its steps took.

    Parameters
    ----------
    method : str
        Which of ``LABELING_METHODS``.
    options : mapping
        Those of its options that were chosen.
    seed : int
        Seed of all that is random.
    command : str
        How to do it again, for the report.
    imputations : int, optional
        How many sets of labels to draw.
    sensitivity : float or "se", optional
        By which share totals may be off, or that they may be off by their standard errors.
    n_jobs : int, optional
        Number of processors.
    seconds : dict
        How long each step took so far.
    """

    method: str
    options: Mapping[str, Any]
    seed: int
    command: str
    imputations: int | None = None
    sensitivity: float | str | None = None
    n_jobs: int | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Remember how long a step takes."""
        start = time.perf_counter()
        yield
        self.seconds[step] = self.seconds.get(step, 0.0) + time.perf_counter() - start
