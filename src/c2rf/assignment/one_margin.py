"""Totals overall, or of one grouping: the best labels, and the duals that certify them.

**Two classes**: a selection. In every group some rows must be of the second class and some may be;
of those that may, the rows with the largest gains are taken, as many as the overall bounds allow.

**More classes**: shortest augmenting paths. Each row starts where score + dual is largest, which is
optimal but for the bounds; rows too many in one cell (a group and class) are then led to cells with
too few along shortest paths, which keeps the assignment optimal. The duals come from coordinate
descent: with all other duals fixed, a row enters a class if the class's dual reaches the row's
threshold, so sorted thresholds say which dual lets in as many rows as the bounds want. That may
stop short of the optimum, but is cheap for many rows, and few rows are left to lead along paths.

**Residual network**: what an assignment could still do. Arcs lead

- from cell to cell of a group: a row changes its class, at the score it loses;
- between a cell and its class, and between a class and the sink, for free, where bounds have slack.

Potentials of the nodes that no arc undercuts (at the head <= at the tail + cost) are dual
variables; those of the cells are the class offsets. Only the smallest loss of each pair of cells
enters, so losses may come from parts whose minima are merged. Rounding may spoil the duals a
little: the exact gap of :mod:`c2rf.assignment.duals` says by how much.

Of many rows all this is done for those near a boundary: see :mod:`c2rf.assignment.passes`. Whether
the others keep the whole optimal is seen in the residual network of all rows.
"""

from __future__ import annotations

from dataclasses import replace
from heapq import heappop, heappush
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from c2rf._utils.types import Codes, Floats, Ints
from c2rf.assignment.duals import Assignment, optimality_gap, rounded_up
from c2rf.assignment.parts import (
    TIES,
    Parts,
    ScoredRows,
    best_classes,
    class_counts,
    random_numbers,
)
from c2rf.assignment.passes import (
    bracket,
    first_duals,
    label_all,
    least_losses,
)
from c2rf.totals.bounds import Bounds, MarginBounds, can_be_met

JITTER = 2.0**-40
"""Ties are broken by random numbers up to this part of the largest score."""

SAMPLE_PER_GROUP = 1 << 9
"""Rows that are drawn of each group at least, if it has so many, to find its first offsets."""


def select(gains: Floats, groups: Codes, bounds: Bounds, ties: Floats) -> Codes:
    """Return the class, 0 or 1, of each row, with the highest total gain of those in 1.

    Parameters
    ----------
    gains : ndarray of shape (n_rows,)
        What a row gains in class 1 over class 0.
    groups : ndarray of int, shape (n_rows,)
        The group of each row.
    bounds : Bounds
        They can be met.
    ties : ndarray of shape (n_rows,)
        Random numbers: of equal gains the smallest number comes first.

    Examples
    --------
    >>> gains, groups = np.array([0.5, 2.0, -1.0, -3.0]), np.zeros(4, dtype=int)
    >>> bounds = Bounds.overall([0, 3], [4, 4], 4)
    >>> select(gains, groups, bounds, np.zeros(4))
    array([1, 1, 1, 0])
    """
    sizes, n_rows = bounds.group_sizes, len(gains)
    must = np.maximum(bounds.group_lower[:, 1], sizes - bounds.group_upper[:, 0])
    may = np.minimum(bounds.group_upper[:, 1], sizes - bounds.group_lower[:, 0])
    order = np.lexsort((ties, -gains))
    by_group = order[np.argsort(groups[order], kind="stable")]
    rank = np.empty(n_rows, dtype=np.int64)
    rank[by_group] = np.arange(n_rows) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    labels = (rank < must[groups]).astype(np.intp)
    open_rows = order[((rank >= must[groups]) & (rank < may[groups]))[order]]
    fewest = max(bounds.lower[1], n_rows - bounds.upper[0]) - labels.sum()
    most = min(bounds.upper[1], n_rows - bounds.lower[0]) - labels.sum()
    labels[open_rows[: np.clip((gains[open_rows] > 0).sum(), fewest, most)]] = 1
    return labels


_Value = TypeVar("_Value", np.float64, np.int64)


def no_duals(bounds: Bounds) -> Floats:
    """Return a zero for every node: cells first, then classes, then the sink."""
    return np.zeros((bounds.n_groups + 1) * bounds.n_classes + 1)


def split_nodes(values: NDArray[_Value], bounds: Bounds) -> tuple[NDArray[_Value], ...]:
    """Return views of the values of cells (groups × classes), of classes and of the sink."""
    n_cells = bounds.n_groups * bounds.n_classes
    cells = values[:n_cells].reshape(bounds.n_groups, bounds.n_classes)
    return cells, values[n_cells : n_cells + bounds.n_classes], values[n_cells + bounds.n_classes :]


class Residual:
    """The residual network of an assignment.

    Parameters
    ----------
    losses : ndarray of shape (n_groups, n_classes, n_classes)
        ``losses[g, a, b]`` is the least that a row of the cell (g, a) loses in (g, b), infinite
        where the cell is empty. Kept, not copied: changes of it change the network.
    bounds : Bounds
        Of cells and classes.
    tolerance : float
        Differences of costs up to this are rounding.
    """

    def __init__(self, losses: Floats, bounds: Bounds, tolerance: float) -> None:
        self.losses, self.bounds, self.tolerance = losses, bounds, tolerance

    def open_arcs(self, cell_flow: Ints, class_flow: Ints) -> None:
        """Open the free arcs that these flows through cells and classes leave open."""
        low, high = self.bounds.group_lower, self.bounds.group_upper
        self._to_class = _cost(cell_flow < high)
        self._from_class = _cost(cell_flow > low)
        self._to_sink = _cost(class_flow < self.bounds.upper)
        self._from_sink = _cost(class_flow > self.bounds.lower)

    def open_idle(self) -> None:
        """Open the free arcs whose bounds say nothing, too: the duals of these are zero."""
        b = self.bounds
        self._to_class[b.group_upper >= b.group_sizes[:, None]] = 0.0
        self._from_class[b.group_lower <= 0] = 0.0
        self._to_sink[b.upper >= b.n_rows] = 0.0
        self._from_sink[b.lower <= 0] = 0.0

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
        n_groups, n_classes = self.bounds.n_groups, self.bounds.n_classes
        n_cells, distance = n_groups * n_classes, start.copy()
        before = np.full(len(distance), -1, dtype=np.int64)
        cells, classes, sink = split_nodes(distance, self.bounds)
        cells_before, classes_before, sink_before = split_nodes(before, self.bounds)
        losses = self.losses.transpose(0, 2, 1) if reverse else self.losses
        up, down = (self._to_class, self._from_class)[:: -1 if reverse else 1]
        out, back = (self._to_sink, self._from_sink)[:: -1 if reverse else 1]
        first = np.arange(n_groups)[:, None] * n_classes
        own = np.arange(n_classes)
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
            changed |= _relax(least, sink, sink_before, way.min(), n_cells + int(way.argmin()))
            changed |= _relax(least, classes, classes_before, sink + back, len(distance) - 1)
            changed |= _relax(least, cells, cells_before, classes + down, n_cells + own)
            if not changed:
                break
        return distance, before

    def duals(self) -> Floats:
        """Return duals of all nodes, the sink's being zero."""
        # Not to lose the fine differences between rows that would be tied.
        dual, _ = self.shortest(no_duals(self.bounds), tolerance=0.0)
        return dual - dual[-1]

    def offsets(self) -> Floats:
        """Return the offsets of each group, in the middle of what they could be.

        A class that cannot have any more rows in the group gets an offset of -inf if it has
        none. The others have mean zero.
        """
        n_classes, offsets = self.bounds.n_classes, []
        filled = np.isfinite(self.losses.min(axis=2))
        for g in range(self.bounds.n_groups):
            start = np.full_like(no_duals(self.bounds), np.inf)
            start[g * n_classes + int(filled[g].argmax())] = 0.0
            most = split_nodes(self.shortest(start)[0], self.bounds)[0][g]
            least = -split_nodes(self.shortest(start, reverse=True)[0], self.bounds)[0][g]
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


ROUNDS = 3
"""How many times coordinate descent goes through all classes."""


def augment(scores: Floats, groups: Codes, bounds: Bounds, tolerance: float) -> Codes:
    """Return the classes with the highest total score that meet the bounds.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
        Finite scores without ties.
    groups : ndarray of int, shape (n_rows,)
        The group of each row.
    bounds : Bounds
        They can be met.
    tolerance : float
        Differences of scores up to this are rounding.
    """
    paths = _AugmentingPaths(ScoredRows(scores, groups, None, bounds.n_groups), bounds, tolerance)
    if not paths.run():  # bounds have been met by a maximum flow, so there is an augmenting path
        raise AssertionError("bounds that can be met were not met")
    return paths.labels


class _AugmentingPaths:
    """Rows in cells, and the flow of the cells that must become equal to their sizes."""

    def __init__(self, rows: ScoredRows, bounds: Bounds, tolerance: float) -> None:
        n_groups, n_classes = bounds.n_groups, bounds.n_classes
        self.bounds, self.n_cells = bounds, n_groups * n_classes
        losses = np.full((n_groups, n_classes, n_classes), np.inf)
        self.residual = Residual(losses, bounds, tolerance)
        cells, classes = coordinate_descent(rows, bounds)
        best = best_classes(rows, cells)
        self.labels, sizes = best.labels, best.counts.astype(np.int64)
        high = np.minimum(bounds.group_upper, bounds.n_rows)
        # Duals that differ say at which bound the flow between must be.
        self.cell_flow = _at_bounds(cells - classes, sizes, bounds.group_lower, high, tolerance)
        inflow = self.cell_flow.sum(axis=0)
        self.class_flow = _at_bounds(classes, inflow, bounds.lower, bounds.upper, tolerance)
        self.excess = np.concatenate(
            [
                (sizes - self.cell_flow).ravel(),
                inflow - self.class_flow,
                [self.class_flow.sum() - bounds.n_rows],
            ]
        )
        self.nearest = _NearestRows(rows, self.labels, losses)

    def run(self) -> bool:
        """Send all excess to where rows are missing; say whether that was possible."""
        residual = self.residual
        residual.open_arcs(self.cell_flow, self.class_flow)
        while (self.excess > 0).any():
            distance, before = residual.shortest(np.where(self.excess > 0, 0.0, np.inf))
            distance[self.excess >= 0] = np.inf
            node = int(distance.argmin())
            if distance[node] == np.inf:
                return False
            path = _traced(node, before)
            if path is None:
                residual.tolerance *= 4
                continue
            self._push(path)
            residual.open_arcs(self.cell_flow, self.class_flow)
        return True

    def _push(self, path: list[int]) -> None:
        """Send one unit along a path, or more where no row has to change its class."""
        arcs = list(pairwise(path))
        n_cells, n_classes = self.n_cells, self.bounds.n_classes
        amount = int(min(self.excess[path[0]], -self.excess[path[-1]]))
        for tail, head in arcs:
            amount = min(amount, 1 if max(tail, head) < n_cells else self._capacity(tail, head))
        self.excess[path[0]] -= amount
        self.excess[path[-1]] += amount
        for tail, head in arcs:
            if max(tail, head) < n_cells:
                g, a = divmod(tail, n_classes)
                self.nearest.reassign(g, a, head % n_classes)
            else:
                flow, where, sign, _ = self._free_arc(tail, head)
                flow[where] += sign * amount

    def _capacity(self, tail: int, head: int) -> int:
        """Return how much a free arc can take."""
        flow, where, sign, (low, high) = self._free_arc(tail, head)
        return int(high[where] - flow[where] if sign > 0 else flow[where] - low[where])

    def _free_arc(self, tail: int, head: int) -> tuple[Ints, int, int, tuple[Ints, Ints]]:
        """Return the flow an arc changes, at which place and in which direction, and its bounds."""
        sign, inner = (1, tail) if tail < head else (-1, head)
        if inner < self.n_cells:
            bounds = self.bounds.group_lower.ravel(), self.bounds.group_upper.ravel()
            return self.cell_flow.ravel(), inner, sign, bounds
        bounds = self.bounds.lower, self.bounds.upper
        return self.class_flow, inner - self.n_cells, sign, bounds


class _NearestRows:
    """For every ordered pair of cells of a group, the rows that would lose least by changing.

    A heap per pair holds the rows within a candidate radius of the decision boundary; beyond it
    there are more. It may also hold rows that have left the cell: they are dropped when they come
    up.
    """

    def __init__(self, rows: ScoredRows, labels: Codes, losses: Floats) -> None:
        self.scores, self.labels, self.losses = rows.scores, labels, losses
        (n_groups, n_classes, _), groups = losses.shape, rows.groups
        order = np.argsort(groups, kind="stable")
        ends = np.searchsorted(groups[order], np.arange(n_groups + 1))
        self.rows = [order[ends[g] : ends[g + 1]] for g in range(n_groups)]
        pairs = (n_groups, n_classes, n_classes)
        self.radius = np.full(pairs, -np.inf)
        self.depth = np.zeros(pairs, dtype=np.int64)
        self.heaps: dict[tuple[int, int, int], list[tuple[float, int]]] = {}
        for g in range(n_groups):
            for a in range(n_classes):
                self._fill(g, a, [b for b in range(n_classes) if b != a])

    def reassign(self, g: int, a: int, b: int) -> None:
        """Reassign the row that loses least from class a to class b."""
        row = self.heaps[g, a, b][0][1]
        self.labels[row] = b
        own = self.scores[row].tolist()
        for c, score in enumerate(own):
            if c != b:
                heappush(self.heaps[g, b, c], (own[b] - score, row))
        for c in range(len(own)):
            if c != a:
                self._update_loss(g, a, c)
            if c != b:
                self._update_loss(g, b, c)

    def _update_loss(self, g: int, a: int, b: int) -> None:
        """Keep the smallest loss of moving a row between two cells."""
        heap, labels = self.heaps[g, a, b], self.labels
        while heap and labels[heap[0][1]] != a:
            heappop(heap)
        radius = self.radius[g, a, b]
        if (heap[0][0] if heap else np.inf) > radius:
            self._fill(g, a, [b])
        else:
            self.losses[g, a, b] = heap[0][0] if heap else np.inf

    def _fill(self, g: int, a: int, others: list[int]) -> None:
        """Look through the whole cell for the rows nearest to its boundaries."""
        rows = self.rows[g]
        members = rows[self.labels[rows] == a]
        own = self.scores[members, a]
        for b in others:
            loss = own - self.scores[members, b]
            depth = max(2 * int(self.depth[g, a, b]), 64 + 4 * int(len(members) ** 0.5))
            near = np.arange(len(loss))
            if depth < len(loss):
                near = np.argpartition(loss, depth)[:depth]
            near = near[np.argsort(loss[near])]
            heap = list(zip(loss[near].tolist(), members[near].tolist(), strict=True))
            self.heaps[g, a, b], self.depth[g, a, b] = heap, depth
            self.radius[g, a, b] = heap[-1][0] if depth < len(loss) else np.inf
            self.losses[g, a, b] = heap[0][0] if heap else np.inf


def coordinate_descent(rows: ScoredRows, bounds: Bounds) -> tuple[Floats, Floats]:
    """Return nearly right duals of cells and of classes, where the sink's is zero."""
    scores, groups = rows.scores, rows.groups
    own, classes = np.zeros(bounds.group_lower.shape), np.zeros(bounds.n_classes)
    bound = (bounds.group_lower > 0) | (bounds.group_upper < bounds.group_sizes[:, None])
    order = np.argsort(groups, kind="stable")
    ends = np.cumsum(bounds.group_sizes)
    shifted = scores.T.copy()
    for _ in range(ROUNDS):
        for k in range(bounds.n_classes):
            shifted[k] = -np.inf
            threshold = shifted.max(axis=0) - scores[:, k]
            classes[k] = _dual(threshold - own[groups, k], bounds.lower[k], bounds.upper[k])
            rest = (threshold - classes[k])[order]
            for g in np.flatnonzero(bound[:, k]):
                inside = rest[ends[g] - bounds.group_sizes[g] : ends[g]]
                own[g, k] = _dual(inside, bounds.group_lower[g, k], bounds.group_upper[g, k])
            shifted[k] = scores[:, k] + (classes[k] + own[:, k])[groups]
    return classes + own, classes


def _dual(thresholds: Floats, low: int | Ints, high: int | Ints) -> float:
    """Return the dual nearest to zero that lets in a number of rows within the bounds."""
    n_in = int((thresholds < 0).sum())
    wanted = int(np.clip(n_in, low, high))
    if wanted == n_in or not len(thresholds):
        return 0.0
    if not 0 < wanted < len(thresholds):
        end = thresholds.min() if wanted <= 0 else thresholds.max()
        return float(end + (1.0 if wanted > 0 else -1.0))
    around = np.partition(thresholds, [wanted - 1, wanted])[wanted - 1 : wanted + 1]
    return float(around.mean())


def _traced(node: int, before: Ints) -> list[int] | None:
    """Return the path that ends in a node, None if rounding has made it a loop."""
    path = [node]
    while before[path[-1]] >= 0:
        path.append(int(before[path[-1]]))
        if len(path) > len(before):
            return None
    return path[::-1]


def _at_bounds(dual: Floats, wanted: Ints, low: Ints, high: Ints, tolerance: float) -> Ints:
    """Return flows: at the lower bound for a positive dual, at the upper for a negative one."""
    flow = np.clip(wanted, low, high)
    flow = np.where(dual > 2 * tolerance, low, flow)
    return np.where(dual < -2 * tolerance, high, flow)


def label(rows: ScoredRows, codes: Codes, bounds: Bounds, jitter: float, seed: int) -> Codes:
    """Return the classes with the highest total score that meet the bounds.

    Parameters
    ----------
    rows : ScoredRows
        Their numbers give them the random numbers that decide between equal scores.
    codes : ndarray of int, shape (n_rows,)
        The group of each row, by the numbers that groups have in the bounds.
    bounds : Bounds
        They can be met.
    jitter : float
        Of more than two classes, scores are changed by up to this to break ties.
    seed : int
        Of the random numbers.
    """
    scores, numbers = rows.scores, rows.row_numbers
    if rows.n_classes == 2:
        gains = scores[:, 1] - scores[:, 0]
        return select(gains, codes, bounds, random_numbers(numbers, seed, TIES))
    ties = [random_numbers(numbers, seed, TIES + k) for k in range(rows.n_classes)]
    scores, tolerance = scores + jitter * np.column_stack(ties), jitter * 2**-5
    if bounds.overall_binds():
        merged, member = _merged(bounds)
        return augment(scores, member[codes], merged, tolerance)
    labels = np.empty(len(scores), dtype=np.intp)
    order = np.argsort(codes, kind="stable")
    for g, own in enumerate(np.split(order, np.cumsum(bounds.group_sizes)[:-1])):
        one = np.zeros(len(own), dtype=np.intp)
        labels[own] = augment(scores[own], one, bounds.of_group(g), tolerance)
    return labels


def _merged(bounds: Bounds) -> tuple[Bounds, Codes]:
    """Make one group of all that have no bounds of their own; return the new group of each."""
    sizes = bounds.group_sizes
    free = (bounds.group_lower <= 0).all(axis=1)
    free &= (bounds.group_upper >= sizes[:, None]).all(axis=1)
    bound = np.flatnonzero(~free)
    member = np.full(bounds.n_groups, len(bound))
    member[bound] = np.arange(len(bound))
    rest = int(sizes[free].sum())
    keep = slice(None if rest else len(bound))
    lower = np.vstack([bounds.group_lower[bound], np.zeros_like(bounds.lower)])[keep]
    upper = np.vstack([bounds.group_upper[bound], np.full_like(bounds.upper, rest)])[keep]
    merged = Bounds(bounds.lower, bounds.upper, lower, upper, np.append(sizes[bound], rest)[keep])
    return merged, member


def clipped_to_sizes(bounds: Bounds) -> Bounds:
    """Return the same bounds without more than there are rows."""
    return replace(
        bounds,
        upper=np.minimum(bounds.upper, bounds.n_rows),
        group_upper=np.minimum(bounds.group_upper, bounds.group_sizes[:, None]),
    )


def _offsets(networks: list[Residual]) -> Floats:
    return np.vstack([network.offsets() for network in networks])


def residual_networks(
    losses: Floats, bounds: Bounds, counts: Ints, tolerance: float
) -> list[Residual]:
    """Return the residual networks: one of all groups where bounds couple them, else one each."""
    cases = [(losses, bounds, counts)]
    if not bounds.overall_binds():
        each = range(bounds.n_groups)
        cases = [(losses[g : g + 1], bounds.of_group(g), counts[g : g + 1]) for g in each]
    networks = []
    for own_losses, own_bounds, own_counts in cases:
        networks.append(Residual(own_losses, own_bounds, tolerance))
        networks[-1].open_arcs(own_counts, own_counts.sum(axis=0))
        networks[-1].open_idle()
    return networks


def is_optimal(network: Residual) -> bool:
    """Say whether no swap of rows would gain: the network has no negative cycle."""
    duals, _ = network.shortest(no_duals(network.bounds))
    again, _ = network.shortest(duals)
    return not bool((again < duals - network.tolerance).any())


def split_duals(bounds: Bounds, networks: list[Residual]) -> list[tuple[MarginBounds, Floats]]:
    """Return the bounds that are used with the duals that the residual networks give them."""
    split = [split_nodes(network.duals(), network.bounds) for network in networks]
    overall, own = bounds.all_margins()
    if not bounds.overall_binds():
        return [(own, np.vstack([classes for _, classes, _ in split]))]
    ((cells, classes, _),) = split
    return [(overall, classes[None]), (own, cells - classes)]


def label_one_margin(parts: Parts, bounds: Bounds, seed: int) -> Assignment:
    """Return the classes with the highest total score that meet the bounds.

    Parameters
    ----------
    parts : Parts
        The rows, without weights.
    bounds : Bounds
        Of classes in groups, and overall; no margins. They can be met.
    seed : int
        Of all random numbers.
    """
    bounds = clipped_to_sizes(bounds)
    first = first_duals(parts, bounds, seed, SAMPLE_PER_GROUP)
    while True:
        near = bracket(parts, first)
        largest = first.largest or float(np.abs(near.scores).max())
        jitter = JITTER * (largest or 1.0)
        found = _finish(near, bounds, jitter, seed)
        if found is not None and first.hold(near, found[0]):
            labels, counts, losses = found
            break
        first = first.widened()
    networks = residual_networks(losses, bounds, counts, 4 * jitter)
    margins, duals = zip(*split_duals(bounds, networks), strict=True)
    gap = optimality_gap(near, labels, margins, duals)
    tables = [own[margin.codes] for margin, own in zip(margins, duals, strict=True)]
    every, total, missed = label_all(parts, first, near, labels, tables)
    return Assignment(every, _offsets(networks), counts, total, rounded_up(gap + missed))


def sample_bounds(bounds: Bounds, groups: Codes) -> tuple[Bounds, Codes, Codes]:
    """Return bounds in proportion to a sample of the rows, given their groups.

    They are rounded to the outside. By chance the groups in the sample may be so large that overall
    bounds cannot be met, too: then they are left out.

    Returns
    -------
    bounds : Bounds
        Of the groups that are in the sample.
    codes : ndarray of int
        The group of each row, counted among these.
    there : ndarray of int
        Which groups these are.
    """
    there, codes, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    share = (sizes / np.maximum(bounds.group_sizes[there], 1))[:, None]
    overall = len(groups) / bounds.n_rows
    small = clipped_to_sizes(
        Bounds(
            np.floor(bounds.lower * overall).astype(np.int64),
            np.ceil(bounds.upper * overall).astype(np.int64),
            np.floor(bounds.group_lower[there] * share).astype(np.int64),
            np.ceil(bounds.group_upper[there] * share).astype(np.int64),
            sizes,
        )
    )
    if not can_be_met(small):
        free = np.full_like(small.upper, small.n_rows)
        small = replace(small, lower=np.zeros_like(free), upper=free)
    return small, codes, there


def _finish(
    near: ScoredRows, bounds: Bounds, jitter: float, seed: int
) -> tuple[Codes, Ints, Floats] | None:
    """Assign the rows near the boundaries; None if they cannot make the whole optimal.

    Returns
    -------
    labels : ndarray of int
        Of these rows.
    counts : ndarray of shape (n_groups, n_classes)
        Sizes of the classes of all rows.
    losses : ndarray of shape (n_groups, n_classes, n_classes)
        See :func:`c2rf.assignment.passes.least_losses`, of all rows.
    """
    there, codes = np.unique(near.groups, return_inverse=True)
    assert near.elsewhere is not None
    counts, losses = near.elsewhere.counts.astype(np.int64), near.elsewhere.losses
    left, total = bounds.without(counts), counts.sum(axis=0)
    has_too_many = (counts > bounds.group_upper).any() or (total > bounds.upper).any()
    if has_too_many or left.group_lower[left.group_sizes == 0].any():
        return None
    strict = losses - 8 * jitter  # a row that was set apart must not even be tied
    labels: Codes = np.empty(0, dtype=np.intp)
    if len(there):
        own = Bounds(
            left.lower, left.upper, left.group_lower[there], left.group_upper[there],
            left.group_sizes[there],
        )  # fmt: skip
        if not can_be_met(own):
            return None
        labels = label(near, codes, clipped_to_sizes(own), jitter, seed)
        counts = counts + class_counts(near.groups, labels, counts.shape)
        lost = least_losses(near.scores, near.groups, labels, bounds.n_groups)
        losses, strict = np.minimum(losses, lost), np.minimum(strict, lost)
    networks = residual_networks(strict, bounds, counts, 4 * jitter)
    # Where there are no rows elsewhere, the gap says what is true of the labels.
    if near.is_alone or all(map(is_optimal, networks)):
        return labels, counts, losses
    return None
