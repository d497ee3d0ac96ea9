"""What a user says he knows of the unlabeled points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from c2rf.estimators.groups import read_groups
from c2rf.exceptions import InputError
from c2rf.sources import Chunks, Source
from c2rf.totals import Policy, make_bounds
from c2rf.transport import Bounds


class Grouped(NamedTuple):
    """The names of groups, and the number of each point's group."""

    names: list[Any]
    codes: NDArray[np.intp]


class Known(NamedTuple):
    """Totals, the groups of the points and totals of groups, as they were given to ``fit``."""

    totals: Mapping[Any, Any] | None
    groups: Any
    group_totals: Mapping[Any, Mapping[Any, Any]] | None

    def are_about(self, X_unlabeled: Any) -> bool:
        """Say whether there are totals to meet, and refuse parts of what it takes."""
        given = self.totals is not None or self.group_totals is not None
        if X_unlabeled is None and (given or self.groups is not None):
            raise InputError(
                "totals, groups or group_totals were given without X_unlabeled, the points they "
                "are about; give X_unlabeled, too, or none of them"
            )
        if X_unlabeled is not None and not given:
            raise InputError(
                "X_unlabeled was given without totals or group_totals, how many of its points are "
                "of each class; give one of them, or no X_unlabeled"
            )
        if (self.groups is None) != (self.group_totals is None):
            raise InputError(
                "groups (the group of each unlabeled point) and group_totals (totals within "
                "groups) belong together; give both or neither"
            )
        return given

    def bounds(
        self, classes: NDArray[Any], n_points: int, policy: Policy
    ) -> tuple[list[Any], NDArray[np.intp], Bounds]:
        """Return the names of the groups, the group of each point, and all bounds."""
        names, codes = self._grouped(n_points)
        sizes = np.bincount(codes, minlength=len(names))
        bounds = make_bounds(self.totals, self.group_totals, classes, names, sizes, policy)
        return names, codes, bounds

    def grouped_by(self, source: Source) -> Known:
        """Return the same, with the groups read where they are columns of a population in chunks.

        Parameters
        ----------
        source : Source
            Files, a dataset or a lazy frame; it is read once if ``groups`` is a column's name, or a
            tuple of names.
        """
        columns = self._columns()
        if columns is None:
            return self
        if isinstance(source, Chunks):
            raise InputError(
                "groups can be names of columns only where these are read from files, a dataset or "
                "a lazy frame; give the group of each point"
            )
        known: dict[Any, int] = {}
        parts = []
        for data, where in source.chunks(columns):
            table = data if len(columns) > 1 else data[columns[0]]
            try:
                names, codes = read_groups(table, len(table))
            except InputError as error:
                raise InputError(f"{where}: {error}") from error
            # Groups are numbered as they appear, which is how they are numbered in memory.
            numbers = [known.setdefault(name, len(known)) for name in names]
            parts.append(np.array(numbers, dtype=np.intp)[codes])
        return self._replace(groups=Grouped(list(known), np.concatenate(parts)))

    def _columns(self) -> list[str] | None:
        """Return the columns that groups names; None if it holds the groups themselves."""
        if isinstance(self.groups, str):
            return [self.groups]
        is_names = type(self.groups) is tuple and all(isinstance(g, str) for g in self.groups)
        return list(self.groups) if is_names else None

    def _grouped(self, n_points: int) -> Grouped:
        if isinstance(self.groups, Grouped):
            return self.groups
        if isinstance(self.groups, str):
            raise InputError(
                f"groups, {self.groups!r}, names a column, which needs a population in chunks (a "
                "path, say); give the group of each point"
            )
        return Grouped(*read_groups(self.groups, n_points))
