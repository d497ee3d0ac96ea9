"""Names in totals that nothing has: of a class, or of a group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from c2rf._text import listed, nearest
from c2rf.exceptions import InputError


def check_groups(by_group: Mapping[Any, Any], groups: list[Any], by: str) -> None:
    """Refuse totals of groups that no row is in; ``by`` says which totals."""
    known = set(groups)
    unknown = [name for name in by_group if name not in known]
    if unknown:
        raise InputError(
            f"{by}: there are the groups {listed(unknown)}, which no unlabeled row is in; the "
            f"groups are {listed(groups)}{nearest(unknown[0], groups)}"
        )


def check_classes(row: Mapping[Any, Any], classes: list[Any], by: str) -> None:
    """Refuse totals of classes that no labeled row has."""
    unknown = [label for label in row if label not in classes]
    if unknown:
        raise InputError(
            f"{by}: there is no labeled row of the classes {listed(unknown)}; the classes are "
            f"{listed(classes)}{nearest(unknown[0], classes)}"
        )
