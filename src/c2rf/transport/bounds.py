"""Bounds on the sizes of classes, overall and per group, and whether they can be met together.

Points flow from their group to a class of that group and on to the class. Bounds can be met if and
only if, for every set of groups and classes, what must enter it fits through what may leave it
(Hoffman's theorem); a maximum flow finds a set where it does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_KNOWN_WITHIN = 0.1


@dataclass(frozen=True, eq=False)
class Bounds:
    """Whole numbers between which the size of every class must lie, overall and per group.

    Parameters
    ----------
    lower, upper : ndarray of int64, shape (n_classes,)
        Over all points.
    group_lower, group_upper : ndarray of int64, shape (n_groups, n_classes)
        Within each group.
    group_sizes : ndarray of int64, shape (n_groups,)
        Number of points of each group.

    Examples
    --------
    >>> bounds = Bounds.overall([2, 0], [2, 5], 5)
    >>> bounds.group_upper, bounds.n_points
    (array([[5, 5]]), 5)
    """

    lower: Ints
    upper: Ints
    group_lower: Ints
    group_upper: Ints
    group_sizes: Ints

    @classmethod
    def overall(cls, lower: ArrayLike, upper: ArrayLike, n_points: int) -> Bounds:
        """Return bounds of points that are all of one group, whose own bounds say nothing."""
        low, high = np.asarray(lower, dtype=np.int64), np.asarray(upper, dtype=np.int64)
        free = np.full((1, len(low)), n_points, dtype=np.int64)
        return cls(low, high, np.zeros_like(free), free, np.array([n_points], dtype=np.int64))

    @property
    def n_points(self) -> int:
        """Number of points."""
        return int(self.group_sizes.sum())

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.lower)

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.group_sizes)

    def couple(self) -> bool:
        """Say whether the overall bounds ask for more than the bounds of the groups do."""
        highest = np.minimum(self.group_upper, self.group_sizes[:, None]).sum(axis=0)
        lowest = self.group_lower.sum(axis=0)
        return bool((self.lower > lowest).any() or (self.upper < highest).any())

    def rates(self) -> NDArray[np.float64] | None:
        """Return the rates of the classes, None unless every one is known to a tenth of all.

        Examples
        --------
        >>> Bounds.overall([2, 7], [3, 8], 10).rates()
        array([0.25, 0.75])
        >>> Bounds.overall([0, 7], [10, 7], 10).rates()  # one class has the rest
        array([0.3, 0.7])
        """
        known = self.tightened()
        width = (known.upper - known.lower).max()
        if self.n_points == 0 or width > _KNOWN_WITHIN * self.n_points:
            return None
        middle = (known.lower + known.upper) / 2
        return middle / middle.sum()

    def tightened(self) -> Bounds:
        """Return the bounds with what they imply for each other.

        Examples
        --------
        >>> known = Bounds.overall([0, 7], [10, 7], 10).tightened()
        >>> known.lower, known.upper
        (array([3, 7]), array([3, 7]))
        """
        inner = _implied(self.group_lower, self.group_upper, self.group_sizes[:, None])
        lowest = np.maximum(self.lower, inner[0].sum(axis=0))
        highest = np.minimum(self.upper, inner[1].sum(axis=0))
        return Bounds(*_implied(lowest, highest, self.n_points), *inner, self.group_sizes)

    def of_group(self, g: int) -> Bounds:
        """Return the bounds of one group alone, as overall ones."""
        return Bounds.overall(self.group_lower[g], self.group_upper[g], int(self.group_sizes[g]))


def _implied(lower: Ints, upper: Ints, sizes: Any) -> tuple[Ints, Ints]:
    """Return what bounds of classes imply for each other, given how many points there are."""
    others_lower = lower.sum(axis=-1, keepdims=True) - lower
    others_upper = upper.sum(axis=-1, keepdims=True) - upper
    return np.maximum(lower, sizes - others_upper), np.minimum(upper, sizes - others_lower)


@dataclass(frozen=True, eq=False)
class Conflict:
    """Groups and classes whose bounds cannot be met together.

    Parameters
    ----------
    groups : ndarray of bool, shape (n_groups,)
        The groups whose bounds are involved.
    classes : ndarray of bool, shape (n_classes,)
        The classes whose overall bounds are involved.
    crowded : bool
        True: so many points must be in these classes, but their upper bounds have less room.
        False: these classes' lower bounds want so many points, but fewer can be in them.
    must, can : int
        How many at least, and how many at most; ``must > can``.
    """

    groups: Bools
    classes: Bools
    crowded: bool
    must: int
    can: int


def find_conflict(bounds: Bounds) -> Conflict | None:
    """Return a set of groups and classes with impossible bounds, None if all can be met.

    Examples
    --------
    >>> find_conflict(Bounds.overall([2, 0], [2, 3], 5)) is None
    True
    >>> conflict = find_conflict(Bounds.overall([2, 0], [2, 2], 5))
    >>> conflict.crowded, conflict.must, conflict.can
    (True, 5, 4)
    """
    network, wanted, n_groups = _network(bounds)
    source, sink = network.shape[0] - 2, network.shape[0] - 1
    flow = maximum_flow(network, source, sink)
    if flow.flow_value == wanted:
        return None
    left = csr_array(network - flow.flow)
    left.eliminate_zeros()
    reached = np.zeros(network.shape[0], dtype=bool)
    reached[breadth_first_order(left, source, return_predecessors=False)] = True
    groups, classes = reached[:n_groups], reached[n_groups : n_groups + bounds.n_classes]
    return _violated(bounds, groups, classes)


def _network(bounds: Bounds) -> tuple[csr_array, int, int]:
    """Return the network of a circulation without its lower bounds, and the flow it must have.

    Nodes are groups, classes, the end of all flow, source and sink. An arc with bounds (lo, up)
    has capacity up - lo; its lo leaves the source for its head and its tail for the sink.
    """
    n_groups, n_classes = bounds.group_lower.shape
    end, source, sink = range(n_groups + n_classes, n_groups + n_classes + 3)
    groups, classes = np.arange(n_groups), n_groups + np.arange(n_classes)
    tails = np.concatenate([np.repeat(groups, n_classes), classes])
    heads = np.concatenate([np.tile(classes, n_groups), np.full(n_classes, end)])
    low = np.concatenate([bounds.group_lower.ravel(), bounds.lower])
    high = np.minimum(np.concatenate([bounds.group_upper.ravel(), bounds.upper]), bounds.n_points)
    supply = np.zeros(end + 1, dtype=np.int64)
    supply[:n_groups] = bounds.group_sizes
    supply[end] = -bounds.n_points
    np.add.at(supply, heads, low)
    np.subtract.at(supply, tails, low)
    gives, takes = np.flatnonzero(supply > 0), np.flatnonzero(supply < 0)
    rows = np.concatenate([tails, np.full(len(gives), source), takes])
    columns = np.concatenate([heads, gives, np.full(len(takes), sink)])
    capacity = np.concatenate([high - low, supply[gives], -supply[takes]]).astype(np.int32)
    shape = (sink + 1, sink + 1)
    network = csr_array(coo_array((capacity, (rows, columns)), shape=shape))
    return network, int(supply[gives].sum()), n_groups


def _violated(bounds: Bounds, groups: Bools, classes: Bools) -> Conflict:
    """Say how the condition fails for these groups and classes, in the form of fewer classes."""
    high = np.minimum(bounds.group_upper, bounds.n_points)
    low_inside = bounds.group_lower * (~groups[:, None] & classes)
    high_outside = high * (groups[:, None] & ~classes)
    involved = groups | low_inside.any(axis=1)
    surplus = int(low_inside.sum() - high_outside.sum())
    crowded = Conflict(
        involved,
        classes,
        True,
        must=int(bounds.group_sizes[groups].sum()) + surplus,
        can=int(bounds.upper[classes].sum()),
    )
    empty = Conflict(
        involved,
        ~classes,
        False,
        must=int(bounds.lower[~classes].sum()),
        can=int(bounds.group_sizes[~groups].sum()) - surplus,
    )
    told = [conflict for conflict in (crowded, empty) if conflict.must > conflict.can]
    return min(told, key=lambda conflict: conflict.classes.sum())
