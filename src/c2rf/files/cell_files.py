"""Files whose columns have no type of their own: a cell means what it means to ``read_table``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import pandas as pd

from c2rf._typing import Columns
from c2rf.files.cells import numbers_or_text


class CellFiles(ABC):
    """Files with the same columns, read part by part."""

    @abstractmethod
    def tables(self, columns: Columns = None) -> Iterator[tuple[pd.DataFrame, str]]:
        """Yield these columns, in this order, and where each part is."""

    def frames(self, columns: Columns = None) -> Iterator[tuple[pd.DataFrame, str]]:
        """Yield the same; a column of a part is numbers if all its cells are."""
        for cells, where in self.tables(columns):
            yield cells.apply(numbers_or_text), where
