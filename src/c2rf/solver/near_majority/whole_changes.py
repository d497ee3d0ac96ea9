"""Labels close to those of equal weights: cut-offs, and small whole changes of a few weights.

With weights ``level + d`` and whole numbers d the scores of patterns with equally many votes are
whole numbers of one parity, so every cut between two of them leaves margins of one. A change of
size k = sum |d_j| has k such cuts. Counting the positives of all cuts of all small changes takes
milliseconds, and most totals are met by one of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from c2rf._typing import Ints, Signs
from c2rf.solver.near_majority.incumbent import Nearest

Small = NDArray[np.int16]

LARGEST = 6
"""Size of the largest changes that are looked at."""

# Entries looked at for one size and level; where there are more, a sample is taken.
_WORK = 4 * 10**8
# Labels of one size and level that are worth a linear program each.
_MOST = 3


def cut_offs(nearest: Nearest) -> Iterator[Signs]:
    """Yield the labels of all cut-offs of the plain vote whose total is good enough."""
    low, high = nearest.totals
    for least in np.append(np.unique(nearest.surplus), np.inf):
        positive = nearest.surplus >= least
        if low <= nearest.problem.counts[positive].sum() <= high:
            yield np.where(positive, 1, -1).astype(np.int8)


def small_changes(nearest: Nearest, seed: int) -> Iterator[Signs]:
    """Yield labels of equal weights with small whole changes that meet the total, small first."""
    critical, rng = nearest.critical, np.random.default_rng(seed)
    if critical is None:
        return
    lowest = int(np.ceil(nearest.problem.lower[: nearest.n_trees].max()))
    for size in range(1, LARGEST + 1):
        # At a level not below its size a change tells apart what is tied, and nothing else.
        for level in (None, *range(lowest, size)):
            if size >= nearest.distance or nearest.over:
                return
            yield from _Changes(nearest, critical, level, size).that_meet_the_total(rng)


class _Changes:
    """Whole changes of one size of equal weights at one level.

    Parameters
    ----------
    nearest : Nearest
        The problem and its total.
    critical : int
        Surplus of votes of the patterns that have to be told apart.
    level : int or None
        The common level; None stands for any that is high enough.
    size : int
        Sum of the absolute changes.
    """

    def __init__(self, nearest: Nearest, critical: int, level: int | None, size: int) -> None:
        problem, trees = nearest.problem, slice(nearest.n_trees)
        lower, upper = problem.lower[trees].max(), problem.upper[trees].min()
        self.nearest, self.size = nearest, size
        self.above = nearest.surplus - critical
        # A score changes by no more than the size: others are on their side of all cuts.
        reach = 0 if level is None else 2 * size // level
        self.rows = np.flatnonzero(np.abs(self.above) <= reach)
        self.base = self.above[self.rows] * (level or 0)
        self.sure = int(problem.counts[self.above > reach].sum())
        # Trees that agree on these rows are one tree here.
        self.votes = np.unique(problem.patterns[self.rows, trees], axis=1).astype(np.int16)
        levels = np.array([lower, upper] if level is None else [level, level])
        self.fall, self.rise = levels[1] - lower, upper - levels[0]
        self.cuts = self._cuts(-critical * levels)

    def _cuts(self, shifts: NDArray[np.float64]) -> list[int]:
        """Return the cuts that some shift in its range makes."""
        low, high = self.nearest.shift
        cuts = range(1 - self.size, self.size, 2)
        return [cut for cut in cuts if low <= shifts.max() - cut and shifts.min() - cut <= high]

    def that_meet_the_total(self, rng: np.random.Generator) -> Iterator[Signs]:
        """Yield labels, those of changes spread over many trees first."""
        counts = self.nearest.problem.counts[self.rows].astype(float)
        low, high = (total - self.sure for total in self.nearest.totals)
        found: list[tuple[int, int, Small]] = []
        for changes in self._all(rng) if self.cuts else ():
            scores = changes @ self.votes.T + self.base
            for cut in self.cuts:
                positives = (scores >= cut) @ counts
                hits = changes[(low <= positives) & (positives <= high)]
                found += [(int((change**2).sum()), cut, change) for change in hits]
        for _, cut, change in sorted(found, key=lambda hit: hit[0])[:_MOST]:
            signs = np.where(self.above > 0, 1, -1).astype(np.int8)
            signs[self.rows] = np.where(self.votes @ change + self.base >= cut, 1, -1)
            yield signs

    def _all(self, rng: np.random.Generator) -> list[Small]:
        """Return all changes of the size, in blocks, or a sample of them."""
        n_rows, n_trees = self.votes.shape
        most = max(1, _WORK // (2 * n_trees * n_rows * self.size))
        changes, last = np.zeros((1, n_trees), dtype=np.int16), np.zeros(1, dtype=np.int64)
        blocks: list[tuple[int, Small]] = []
        for _ in range(self.size):
            if blocks:
                changes = np.concatenate([block for _, block in blocks])
                last = np.repeat([tree for tree, _ in blocks], [len(block) for _, block in blocks])
            if len(changes) > most:
                kept = np.sort(rng.choice(len(changes), most, replace=False))
                changes, last = changes[kept], last[kept]
            blocks = list(self._one_more(changes, last))
        return [block for _, block in blocks]

    def _one_more(self, changes: Small, last: Ints) -> Iterator[tuple[int, Small]]:
        """Yield the changes with one unit more on a tree, none of them twice."""
        for tree in range(changes.shape[1]):
            for unit in (1, -1):
                here = changes[:, tree] * unit
                may = (
                    (last <= tree)
                    & (here >= 0)
                    & (here + 1 <= (self.rise if unit > 0 else self.fall))
                )
                if may.any():
                    block = changes[may]
                    block[:, tree] += unit
                    yield tree, block
