"""More than two classes: shortest augmenting paths, begun from prices that are nearly right.

Each row starts where score + price is largest, which is optimal but for the bounds; rows too
many in one cell are then led to cells with too few along shortest paths, which keeps the
assignment optimal. With prices from a sample a quarter as large, swept a few times, there are few
such rows: almost all of the time is spent on sorting out who is near a border.
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import pairwise

import numpy as np

from c2rf._typing import Codes, Floats, Ints
from c2rf.assignment.residual import Residual
from c2rf.assignment.sweeps import swept
from c2rf.totals.bounds import Bounds

SAMPLE_RATIO = 4
SMALLEST_SAMPLE = 2000
SWEEPS = 3


def augment(
    scores: Floats, groups: Codes, bounds: Bounds, tolerance: float, rng: np.random.Generator
) -> Codes:
    """Return the classes with the highest total score that meet the bounds.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
        Finite scores without ties.
    groups : ndarray of int, shape (n_points,)
        The group of each row.
    bounds : Bounds
        They can be met.
    tolerance : float
        Differences of scores up to this are rounding.
    rng : Generator
        Draws the samples.
    """
    prices = None
    order = rng.permutation(len(scores))
    for n_sampled in _sample_sizes(len(scores)):
        rows = _sample(order, groups, bounds, n_sampled)
        small = shrunk(bounds, groups[rows])
        sample = _Assignment(scores[rows], groups[rows], small, tolerance, prices)
        sample.run()  # Its bounds are rounded; should they be impossible, prices will still do.
        prices = sample.residual.prices()
    full = _Assignment(scores, groups, bounds, tolerance, prices)
    if not full.run():
        raise AssertionError("bounds that can be met were not met")
    return full.labels


class _Assignment:
    """Rows in cells, and the flow of the cells that must become equal to their sizes."""

    def __init__(
        self,
        scores: Floats,
        groups: Codes,
        bounds: Bounds,
        tolerance: float,
        prices: Floats | None,
    ) -> None:
        n_groups, n_classes = bounds.n_groups, bounds.n_classes
        self.scores, self.groups, self.bounds = scores, groups, bounds
        self.residual = Residual(
            np.full((n_groups, n_classes, n_classes), np.inf), bounds, tolerance
        )
        self.nodes = self.residual.nodes
        start = self.nodes.zeros() if prices is None else prices
        cells, classes, _ = self.nodes.split(swept(scores, groups, bounds, start, SWEEPS))
        self.labels: Codes = _best(scores, cells, groups)
        sizes = np.bincount(groups * n_classes + self.labels, minlength=n_groups * n_classes)
        sizes = sizes.reshape(n_groups, n_classes)
        high = np.minimum(bounds.group_upper, bounds.n_rows)
        # Prices that differ say at which bound the flow between must be.
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
        self.borders = _Borders(scores, groups, self.labels, self.residual.losses)

    def run(self) -> bool:
        """Lead all that is too many to where there is too little; say whether that was possible."""
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
        """Move one unit along a path, or more where no row has to change its class."""
        arcs = list(pairwise(path))
        n_cells = self.nodes.n_cells
        amount = int(min(self.excess[path[0]], -self.excess[path[-1]]))
        for tail, head in arcs:
            amount = min(amount, 1 if max(tail, head) < n_cells else self._room(tail, head))
        self.excess[path[0]] -= amount
        self.excess[path[-1]] += amount
        for tail, head in arcs:
            if max(tail, head) < n_cells:
                g, a = divmod(tail, self.nodes.n_classes)
                self.borders.cross(g, a, head % self.nodes.n_classes)
            else:
                flow, where, sign, _ = self._free_arc(tail, head)
                flow[where] += sign * amount

    def _room(self, tail: int, head: int) -> int:
        """Return how much a free arc can take."""
        flow, where, sign, (low, high) = self._free_arc(tail, head)
        return int(high[where] - flow[where] if sign > 0 else flow[where] - low[where])

    def _free_arc(self, tail: int, head: int) -> tuple[Ints, int, int, tuple[Ints, Ints]]:
        """Return the flow an arc changes, at which place and in which direction, and its bounds."""
        sign, inner = (1, tail) if tail < head else (-1, head)
        if inner < self.nodes.n_cells:
            bounds = self.bounds.group_lower.ravel(), self.bounds.group_upper.ravel()
            return self.cell_flow.ravel(), inner, sign, bounds
        bounds = self.bounds.lower, self.bounds.upper
        return self.class_flow, inner - self.nodes.n_cells, sign, bounds


class _Borders:
    """For every ordered pair of cells of a group, who would lose least by crossing.

    A heap per pair holds the rows near the border only; beyond its horizon there are more. It
    may also hold rows that have left the cell: they are dropped when they come up.
    """

    def __init__(self, scores: Floats, groups: Codes, labels: Codes, losses: Floats) -> None:
        self.scores, self.labels, self.losses = scores, labels, losses
        n_groups, n_classes, _ = losses.shape
        order = np.argsort(groups, kind="stable")
        ends = np.searchsorted(groups[order], np.arange(n_groups + 1))
        self.rows = [order[ends[g] : ends[g + 1]] for g in range(n_groups)]
        pairs = (n_groups, n_classes, n_classes)
        self.horizon = np.full(pairs, -np.inf)
        self.depth = np.zeros(pairs, dtype=np.int64)
        self.heaps: dict[tuple[int, int, int], list[tuple[float, int]]] = {}
        for g in range(n_groups):
            for a in range(n_classes):
                self._fill(g, a, [b for b in range(n_classes) if b != a])

    def cross(self, g: int, a: int, b: int) -> None:
        """Let the row that loses least cross from class a to class b."""
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
        horizon = self.horizon[g, a, b]
        if (heap[0][0] if heap else np.inf) > horizon:
            self._fill(g, a, [b])
        else:
            self.losses[g, a, b] = heap[0][0] if heap else np.inf

    def _fill(self, g: int, a: int, others: list[int]) -> None:
        """Look through the whole cell for the rows nearest to its borders."""
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
            self.horizon[g, a, b] = heap[-1][0] if depth < len(loss) else np.inf
            self.losses[g, a, b] = heap[0][0] if heap else np.inf


def _traced(node: int, before: Ints) -> list[int] | None:
    """Return the path that ends in a node, None if rounding has made it a loop."""
    path = [node]
    while before[path[-1]] >= 0:
        path.append(int(before[path[-1]]))
        if len(path) > len(before):
            return None
    return path[::-1]


def _best(scores: Floats, offsets: Floats, groups: Codes, chunk: int = 1 << 16) -> Codes:
    """Return where score + offset is largest, without a second table of all scores."""
    labels = np.empty(len(scores), dtype=np.intp)
    for start in range(0, len(scores), chunk):
        rows = slice(start, start + chunk)
        np.argmax(scores[rows] + offsets[groups[rows]], axis=1, out=labels[rows])
    return labels


def _at_bounds(price: Floats, wished: Ints, low: Ints, high: Ints, tolerance: float) -> Ints:
    """Return flows: at the lower bound for a price, at the upper for a prize, else as wished."""
    flow = np.clip(wished, low, high)
    flow = np.where(price > 2 * tolerance, low, flow)
    return np.where(price < -2 * tolerance, high, flow)


def _sample_sizes(n_points: int) -> list[int]:
    sizes = []
    while (n_points := n_points // SAMPLE_RATIO) >= SMALLEST_SAMPLE:
        sizes.append(n_points)
    return sizes[::-1]


def _sample(order: Codes, groups: Codes, bounds: Bounds, n_sampled: int) -> Codes:
    """Return about that number of rows, of each group the same share and one at least."""
    by_group = order[np.argsort(groups[order], kind="stable")]
    sizes = bounds.group_sizes
    taken = np.ceil(sizes * (n_sampled / bounds.n_rows)).astype(np.int64)
    rank = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return by_group[rank < np.repeat(taken, sizes)]


def shrunk(bounds: Bounds, groups: Codes) -> Bounds:
    """Return the bounds in proportion to a sample, rounded to the outside."""
    sizes = np.bincount(groups, minlength=bounds.n_groups)
    share = (sizes / np.maximum(bounds.group_sizes, 1))[:, None]
    overall = len(groups) / bounds.n_rows
    return Bounds(
        np.floor(bounds.lower * overall).astype(np.int64),
        np.ceil(bounds.upper * overall).astype(np.int64),
        np.floor(bounds.group_lower * share).astype(np.int64),
        np.ceil(bounds.group_upper * share).astype(np.int64),
        sizes,
    )
