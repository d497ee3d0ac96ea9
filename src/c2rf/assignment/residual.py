"""What an assignment could still do: shortest paths in its residual network, and the offsets.

Rows stand in cells, a cell per group and class. Arcs lead

- from cell to cell of a group: a row changes its class, at the score it loses;
- between a cell and its class, and between a class and the end of all flow, for free, where the
  bounds leave room.

Prices of the nodes that no arc undercuts (price at the head <= price at the tail + cost) are dual
variables. Those of the cells are the offsets: every row stands where score + offset is largest.
Only the smallest loss of each pair of cells enters, so the losses may come from anywhere, also
from a stream of chunks whose minima are merged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from c2rf._typing import Floats, Ints
from c2rf.totals.bounds import Bounds

_Value = TypeVar("_Value", np.float64, np.int64)


@dataclass(frozen=True, eq=False)
class Nodes:
    """The numbers of cells, classes and the end in a flat array of nodes."""

    n_groups: int
    n_classes: int

    @property
    def n_cells(self) -> int:
        """Number of cells, which come first."""
        return self.n_groups * self.n_classes

    def zeros(self) -> Floats:
        """Return a value for every node."""
        return np.zeros(self.n_cells + self.n_classes + 1)

    def split(self, values: NDArray[_Value]) -> tuple[NDArray[_Value], ...]:
        """Return views of the values of cells (groups × classes), of classes and of the end."""
        classes = slice(self.n_cells, self.n_cells + self.n_classes)
        cells = values[: self.n_cells].reshape(self.n_groups, self.n_classes)
        return cells, values[classes], values[classes.stop :]


class Residual:
    """The residual network of an assignment.

    Parameters
    ----------
    losses : ndarray of shape (n_groups, n_classes, n_classes)
        ``losses[g, a, b]`` is the least that a row of the cell (g, a) loses in (g, b), infinite
        where the cell is empty. Kept, not copied: who changes it changes the network.
    bounds : Bounds
        Of cells and classes.
    tolerance : float
        Differences of costs up to this are rounding.
    """

    def __init__(self, losses: Floats, bounds: Bounds, tolerance: float) -> None:
        self.losses, self.bounds, self.tolerance = losses, bounds, tolerance
        self.nodes = Nodes(bounds.n_groups, bounds.n_classes)

    def open_arcs(self, cell_flow: Ints, class_flow: Ints) -> None:
        """Open the free arcs that these flows through cells and classes leave room for."""
        low, high = self.bounds.group_lower, self.bounds.group_upper
        self._to_class = _cost(cell_flow < high)
        self._from_class = _cost(cell_flow > low)
        self._to_end = _cost(class_flow < self.bounds.upper)
        self._from_end = _cost(class_flow > self.bounds.lower)

    def shortest(
        self, start: Floats, *, reverse: bool = False, tolerance: float | None = None
    ) -> tuple[Floats, Ints]:
        """Return the shortest distances by Bellman and Ford, and each node's predecessor.

        Parameters
        ----------
        start : ndarray of shape (n_nodes,)
            Distances to begin with, infinite where no path begins.
        reverse : bool
            Whether to walk all arcs backwards.
        tolerance : float, optional
            What a way must be shorter by, by default the network's. With less, rounding may make
            loops of predecessors.
        """
        least = self.tolerance if tolerance is None else tolerance
        nodes, distance = self.nodes, start.copy()
        before = np.full(len(distance), -1, dtype=np.int64)
        cells, classes, end = nodes.split(distance)
        cells_before, classes_before, end_before = nodes.split(before)
        losses = self.losses.transpose(0, 2, 1) if reverse else self.losses
        up, down = (self._to_class, self._from_class)[:: -1 if reverse else 1]
        out, back = (self._to_end, self._from_end)[:: -1 if reverse else 1]
        first = np.arange(nodes.n_groups)[:, None] * nodes.n_classes
        own = np.arange(nodes.n_classes)
        for _ in range(len(distance)):
            way = cells[:, :, None] + losses
            changed = _relax(
                least, cells, cells_before, way.min(axis=1), first + way.argmin(axis=1)
            )
            way = cells + up
            changed |= _relax(
                least, classes, classes_before, way.min(axis=0), way.argmin(axis=0) * len(own) + own
            )
            way = classes + out
            changed |= _relax(least, end, end_before, way.min(), nodes.n_cells + int(way.argmin()))
            changed |= _relax(least, classes, classes_before, end + back, len(distance) - 1)
            changed |= _relax(least, cells, cells_before, classes + down, nodes.n_cells + own)
            if not changed:
                break
        return distance, before

    def prices(self) -> Floats:
        """Return prices of all nodes, the end's being zero."""
        # Not to lose the fine differences between rows that would be tied.
        price, _ = self.shortest(self.nodes.zeros(), tolerance=0.0)
        return price - price[-1]

    def offsets(self) -> Floats:
        """Return the offsets of each group, in the middle of what they could be.

        A class that cannot have any more rows in the group gets an offset of -inf if it has
        none. The others have mean zero.
        """
        nodes, offsets = self.nodes, []
        filled = np.isfinite(self.losses.min(axis=2))
        for g in range(nodes.n_groups):
            start = np.full_like(nodes.zeros(), np.inf)
            start[g * nodes.n_classes + int(filled[g].argmax())] = 0.0
            most = nodes.split(self.shortest(start)[0])[0][g]
            least = -nodes.split(self.shortest(start, reverse=True)[0])[0][g]
            middle = (most + least) / 2
            offsets.append(middle - middle[np.isfinite(middle)].mean())
        return np.array(offsets)


def _relax(
    least: float, distance: Floats, before: Ints, way: Floats, came_from: Ints | int
) -> bool:
    """Take the ways that are shorter by more than the least, and say whether there were any."""
    shorter = way < distance - least
    if not shorter.any():
        return False
    np.copyto(distance, way, where=shorter)
    np.copyto(before, came_from, where=shorter)
    return True


def _cost(is_open: NDArray[np.bool_]) -> Floats:
    return np.where(is_open, 0.0, np.inf)
