"""Classes that are known after all: where the second table has the target, labels are scored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from c2rf._frames import as_pandas
from c2rf._text import count, percent
from c2rf._typing import Codes
from c2rf.files.cells import as_text
from c2rf.population import Chunk, Population

UNKNOWN, OTHER = -1, -2
"""Codes of an empty cell, and of a class that no labeled row has."""


class Accuracy(NamedTuple):
    """How many labels are right, of how many rows whose class is known."""

    right: int
    known: int
    target: str

    def __str__(self) -> str:
        """Say it.

        Examples
        --------
        >>> str(Accuracy(3, 4, "sick"))
        "75.0 % of the labels are right, by the 4 rows whose 'sick' is filled in"
        """
        rows = count(self.known, "row")
        share = percent(self.right / self.known)
        return f"{share} of the labels are right, by the {rows} whose {self.target!r} is filled in"


def known_classes(rows: Population, target: str, classes: list[str]) -> Codes | None:
    """Return the class of each row where the table has it, None if it is nowhere filled."""
    if rows.names is None or target not in rows.names or rows.is_elsewhere:
        return None
    codes = np.asarray(rows.map(_Classes(target, classes), np.zeros(1, np.int32), [target]))
    return None if (codes == UNKNOWN).all() else codes


def score(truth: Codes | None, codes: NDArray[Any], target: str) -> Accuracy | None:
    """Count the labels that are right."""
    if truth is None:
        return None
    known = truth != UNKNOWN
    return Accuracy(int((truth == codes)[known].sum()), int(known.sum()), target)


@dataclass(frozen=True, eq=False)
class _Classes:
    """The work of looking up the classes of a chunk."""

    target: str
    classes: list[str]

    def __call__(self, chunk: Chunk) -> Codes:
        places = {name: place for place, name in enumerate(self.classes)}
        cells = as_text(as_pandas(chunk.data)[self.target])
        codes = [UNKNOWN if cell is None else places.get(cell, OTHER) for cell in cells]
        return np.array(codes, dtype=np.int32)
