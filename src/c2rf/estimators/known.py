"""What a user says he knows of the unlabeled points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from c2rf.estimators.groups import read_groups
from c2rf.exceptions import InputError
from c2rf.totals import Policy, make_bounds
from c2rf.transport import Bounds


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
        names, codes = read_groups(self.groups, n_points)
        sizes = np.bincount(codes, minlength=len(names))
        bounds = make_bounds(self.totals, self.group_totals, classes, names, sizes, policy)
        return names, codes, bounds
