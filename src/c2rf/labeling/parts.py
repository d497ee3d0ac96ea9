"""Rows with their labels, a part at a time: read, put into one frame, or written.

A name without an ending is a folder of Parquet files. They are written where the rows are, on a
cluster by its workers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from c2rf._frames import as_pandas
from c2rf.estimators.sensitivity import Sensitivity
from c2rf.exceptions import InputError
from c2rf.files.all_or_nothing import atomic_folder, atomic_output
from c2rf.files.dialect import Dialect
from c2rf.files.tables import check_pyarrow
from c2rf.files.writing import TableWriter
from c2rf.labeling.scoring import Scored
from c2rf.population import Chunk, Population

ADDED = ("label", "score", "confidence")
"""Columns that an output has on top of those that name the rows."""


@dataclass(frozen=True, eq=False)
class LabelParts:
    """Rows with label, score and confidence; iterating reads them part by part, again and again.

    Parameters
    ----------
    rows : Population
        The rows.
    shown : list of str
        The columns that name a row.
    classes : ndarray
        The classes that codes stand for.
    scored : Scored
        Code, score and confidence of each row.
    sensitivity : Sensitivity, optional
        Which labels hang on which totals, for two more columns.

    Examples
    --------
    >>> from c2rf.population import Memory
    >>> rows = Memory(pd.DataFrame({"id": ["a", "b"]}))
    >>> scored = Scored(np.array([1, 0]), np.array([2.0, -1.0]), np.array([0.9, 0.7]))
    >>> LabelParts(rows, ["id"], np.array(["no", "yes"]), scored).frame()["label"].tolist()
    ['yes', 'no']
    """

    rows: Population
    shown: list[str]
    classes: Any
    scored: Scored
    sensitivity: Sensitivity | None = None

    def __iter__(self) -> Iterator[pd.DataFrame]:
        for chunk in self.rows.chunks(self.shown):
            part = slice(chunk.start, chunk.start + chunk.data.shape[0])
            columns = (values[part] for values in self._columns())
            yield _labeled(self.classes, self._kinds(), chunk, *columns)

    def __len__(self) -> int:
        return len(self.scored.codes)

    @property
    def counts(self) -> list[int]:
        """How many rows got each label."""
        return np.bincount(self.scored.codes, minlength=len(self.classes)).tolist()

    def frame(self) -> pd.DataFrame:
        """Return all rows at once."""
        return pd.concat(list(self), ignore_index=True)

    def save(self, path: Path, *, force: bool = False) -> None:
        """Write all rows; nothing is there before all of it is."""
        if is_folder(path):
            self.write(path, force=force)
            return
        with atomic_output(path, force=force) as temporary:
            self.write(temporary)

    def write(self, path: Path, *, force: bool = False, spreadsheet_safe: bool = False) -> int:
        """Write all rows to a place that was checked before.

        Returns
        -------
        int
            How many cells of a text file a spreadsheet would run as a formula.
        """
        if is_folder(path):
            check_pyarrow(path)
            with atomic_folder(path, force=force) as folder:
                work = partial(_write_part, folder, self.classes, self._kinds())
                self.rows.reduce(work, _first, self.shown, beside=self._columns())
            return 0
        with TableWriter(path, self._dialect(), spreadsheet_safe=spreadsheet_safe) as writer:
            for part in self:
                writer.write(part)
        return writer.n_formulas

    def _columns(self) -> list[Any]:
        """Return what there is a number of for each row."""
        return [*self.scored, *([] if self.sensitivity is None else [self.sensitivity.codes])]

    def _kinds(self) -> Any:
        return None if self.sensitivity is None else self.sensitivity.kinds

    def _dialect(self) -> Dialect | None:
        """Return how the input is written; with classes that it cannot say, as UTF-8."""
        dialect = self.rows.dialect
        if dialect is None:
            return None
        try:
            "".join(map(str, self.classes)).encode(dialect.encoding)
        except UnicodeEncodeError:
            return replace(dialect, encoding="utf-8-sig")
        return dialect


def shown_columns(names: list[str], id: str | None) -> list[str]:
    """Return the columns that name a row: the id, else all; none may be one that is added."""
    shown = [id] if id is not None else names
    refuse_taken(shown, ADDED)
    return shown


def refuse_taken(shown: Sequence[str], added: Sequence[str]) -> None:
    """Refuse columns that an output would have twice."""
    taken = [name for name in added if name in shown]
    if taken:
        raise InputError(
            f"the unlabeled table has a column {taken[0]!r}, which the output adds; rename it"
        )


def is_folder(path: Path) -> bool:
    """Return whether labels go to a folder of files: a name without an ending asks for that."""
    return not path.suffix


def _labeled(
    classes: Any, kinds: Any, chunk: Chunk, codes: Any, scores: Any, confidence: Any, *hangs: Any
) -> pd.DataFrame:
    """Add label, score and confidence to the rows of a chunk, and on which totals they hang."""
    columns = (classes[np.asarray(codes)], np.asarray(scores), np.asarray(confidence))
    table = as_pandas(chunk.data).reset_index(drop=True)
    table = table.assign(**dict(zip(ADDED, columns, strict=True)))
    for each in hangs:
        on = kinds[np.asarray(each)]
        table = table.assign(firm=on == "", hangs_on=on)
    return table


def _write_part(folder: Path, classes: Any, kinds: Any, chunk: Chunk, *columns: Any) -> None:
    """Write the rows of a chunk to a file whose name keeps the order."""
    path = folder / f"part-{chunk.start:012d}.parquet"
    table = _labeled(classes, kinds, chunk, *columns)
    table.to_parquet(path, index=False, engine="pyarrow")


def _first(results: Sequence[Any]) -> Any:
    return results[0]
