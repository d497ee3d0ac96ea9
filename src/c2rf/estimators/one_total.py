"""The one total that a weighted vote meets: a number of the positive class, or by its name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from c2rf.core.problem import check_total
from c2rf.exceptions import InputError
from c2rf.totals import are_given, known_bounds, read_groups, read_totals


@dataclass(frozen=True)
class OneTotal:
    """The known total, as a number of the positive class or by the name of a class."""

    n_positive: Any
    overall: Any

    @classmethod
    def of(cls, n_positive: Any, totals: Any, classes: NDArray[Any]) -> OneTotal:
        """Return what the user says, by one of the two arguments."""
        known = read_totals(totals, classes.tolist()) if totals is not None else None
        if known is not None and known.margins:
            raise InputError(
                "C2RFClassifier meets one total over all rows, none within groups; use "
                "KnownTotalsClassifier"
            )
        return cls(n_positive, known)

    @property
    def label(self) -> Any:
        """The class that is named first."""
        return None if self.overall is None else next(iter(self.overall.overall), None)

    def count(self, positive: Any, classes: NDArray[Any], n_rows: int) -> int:
        """Return the number of positive rows, checked."""
        if self.overall is None:
            return check_total(self.n_positive, n_rows)
        bounds = known_bounds(self.overall, read_groups(None, n_rows), classes)
        implied = bounds.with_implied_bounds()
        place = classes.tolist().index(positive)
        if implied.lower[place] != implied.upper[place]:
            raise InputError(
                f"C2RFClassifier meets one number of {positive!r}, not a range; found "
                f"{implied.lower[place]} to {implied.upper[place]} of {n_rows} rows: use "
                "KnownTotalsClassifier"
            )
        return int(implied.lower[place])


def has_total(X_unlabeled: Any, n_positive: Any, totals: Any) -> bool:
    """Return whether there is a total to meet; raise if only some of the arguments are given."""
    if n_positive is not None and totals is not None:
        raise InputError("n_positive and totals say the same in two ways; give one of them")
    if n_positive is None:
        return are_given(X_unlabeled, totals)
    if X_unlabeled is None:
        raise InputError(
            "n_positive was given without X_unlabeled, the rows it counts; give both or neither"
        )
    return True
