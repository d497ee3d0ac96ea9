"""Something closer, or the proof that there is nothing: integer programs with a small big-M.

Weights are written ``level + p - n``, and only those with ``sum(p + n)`` below D, the distance
known, are of interest. That is what makes these programs small. A change of total size D moves no
score by more than D, so

- at a level of D - 1 and above it can only tell apart patterns with equally many votes;
- below D - 1 the level is small, and so are all scores that can change their sign.

These are two programs. Each fixes the signs that the bounds of the scores fix, and takes its
big-M from them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from c2rf.exceptions import BackendError
from c2rf.formulation import MatrixModel
from c2rf.prefer.nearest import Nearest, Signs, same
from c2rf.problem import Floats
from c2rf.structure import slack

# Nodes of branch and bound times entries of the matrix; what takes more is left unproven.
_WORK = 5 * 10**5
_MOST_FREE = 500
_ROWS_AT_ONCE = 200
_SHORT = 1e-6


def prove(nearest: Nearest) -> None:
    """Look for something closer than what is known until there is nothing, or work is done."""
    trees = slice(nearest.n_trees)
    low, high = nearest.problem.lower[trees].min(), nearest.problem.upper[trees].max()
    middle = np.clip(nearest.distance - 1, low, high)
    ranges = [ends for ends in ((middle, high), (low, middle)) if ends[0] < ends[1]]
    bound = np.inf
    for ends in ranges or [(low, high)]:
        bound = min(bound, _settle(nearest, ends))
        if bound <= nearest.bound:  # nothing will be proven: save the rest
            return
    nearest.raise_bound(bound)


def _settle(nearest: Nearest, levels: tuple[float, float]) -> float:
    """Look among weights with a level in this range; return a bound on their distance."""
    region = _Region(nearest, levels, nearest.distance - same(nearest.distance))
    while not nearest.over:
        if region.empty:
            return region.most
        if len(region.free) > _MOST_FREE:
            break
        model = region.model()
        try:
            raw = nearest.run.solve_raw(model, node_limit=max(1, _WORK // model.matrix.nnz))
        except BackendError as error:
            nearest.run.trouble(str(error))
            break
        if raw.status == "infeasible":
            return region.most
        if raw.status == "failed" or raw.x is None:
            return min(max(0.0, raw.bound), region.most)
        nearest.try_signs(region.signs(raw.x))
        if nearest.distance <= raw.bound + same(raw.bound) or not region.tighten(raw.x):
            return max(0.0, raw.bound)
    return 0.0


class _Region:
    """Weights of a level in a range and a distance up to ``most``, as a program.

    Its columns are [level | shift | p | n | z]. The shift is relative to the critical patterns,
    with v the surplus of votes:  score_i = level (v_i - v) + shift + (p - n)'r_i.
    """

    def __init__(self, nearest: Nearest, levels: tuple[float, float], most: float) -> None:
        problem, critical = nearest.problem, nearest.critical
        self.problem, self.levels, self.most = problem, levels, most
        self.totals, self.offset = nearest.totals, nearest.shift
        self.votes = problem.patterns[:, : nearest.n_trees]
        # Some pattern with at most v is positive, some with at least v negative: |shift| < most.
        self.shift = nearest.shift if critical is None else (1 - most, most - 1)
        self.critical = critical or 0
        self.above = nearest.surplus - self.critical
        ends = np.outer(levels, self.above)
        self.least = np.maximum(problem.least(), ends.min(axis=0) - most + self.shift[0])
        self.greatest = np.minimum(problem.most(), ends.max(axis=0) + most + self.shift[1])
        spare = 1 - slack(problem)
        self.positive, self.negative = self.least > -spare, self.greatest < spare
        self.free = np.flatnonzero(~self.positive & ~self.negative)
        self.kept = np.zeros(0, dtype=np.int64)
        votes, one = self.votes.astype(float), np.ones((problem.n_patterns, 1))
        self.scores = np.hstack([self.above[:, None], one, votes, -votes])

    @property
    def empty(self) -> bool:
        """Whether no weights at all can be in it."""
        reversed_shift = self.shift[0] > self.shift[1]
        return self.most < 0 or reversed_shift or bool((self.positive & self.negative).any())

    def signs(self, x: Floats) -> Signs:
        """Return the labels that a solution of the program stands for."""
        signs = np.where(self.positive, 1, -1).astype(np.int8)
        signs[self.free] = np.where(x[len(x) - len(self.free) :] > 0.5, 1, -1)
        return signs

    def tighten(self, x: Floats) -> bool:
        """Take up margins of fixed patterns that a solution misses; say whether there are any."""
        fixed = np.flatnonzero(self.positive | self.negative)
        margin = self.signs(x)[fixed] * (self.scores[fixed] @ x[: self.scores.shape[1]])
        missing = np.setdiff1d(fixed[margin < 1 - _SHORT], self.kept)
        worst = missing[np.argsort(margin[np.isin(fixed, missing)], kind="stable")]
        self.kept = np.concatenate([self.kept, worst[:_ROWS_AT_ONCE]])
        return len(worst) > 0

    def model(self) -> MatrixModel:
        """Build the program."""
        t, f = self.votes.shape[1], len(self.free)
        none, one = np.zeros(2 * t), np.ones(2 * t)
        blocks, lows, highs = zip(*(self._wide(*rows) for rows in self._rows()), strict=True)
        return MatrixModel(
            objective=np.concatenate([[0, 0], one, np.zeros(f)]),
            matrix=sparse.csr_array(sparse.vstack(blocks)),
            row_lower=np.concatenate(lows),
            row_upper=np.concatenate(highs),
            col_lower=np.concatenate([[self.levels[0], self.shift[0]], none, np.zeros(f)]),
            col_upper=np.concatenate(
                [[self.levels[1], self.shift[1]], self.most * one, np.ones(f)]
            ),
            integrality=np.repeat([False, True], [2 + 2 * t, f]),
        )

    def _rows(self) -> Iterator[tuple[Any, Any, Any, Any]]:
        """Yield rows over [level | shift | p | n], the same over z, lower and upper bounds."""
        problem, counts, t = self.problem, self.problem.counts, self.votes.shape[1]
        eye, none, one = np.eye(t), np.zeros(2 * t), np.ones(2 * t)
        # sum (p + n) <= D
        yield np.concatenate([[0, 0], one])[None], None, 0.0, self.most
        # lo <= shift - level v <= hi
        yield np.concatenate([[-self.critical, 1], none])[None], None, *self.offset
        # l <= level + p - n <= u
        weights = np.hstack([np.ones((t, 1)), np.zeros((t, 1)), eye, -eye])
        yield weights, None, problem.lower[:t], problem.upper[:t]
        # the total, less what is fixed
        sure = counts[self.positive].sum()
        yield None, counts[None, self.free], *(total - sure for total in self.totals)
        # score + 1 <= (greatest + 1) z      and      score - 1 >= (least - 1) (1 - z)
        scores, least, greatest = (x[self.free] for x in (self.scores, self.least, self.greatest))
        yield scores, -sparse.diags_array(greatest + 1), -np.inf, -1.0
        yield scores, sparse.diags_array(least - 1), least, np.inf
        # fixed patterns have margins, too
        signs = np.where(self.positive[self.kept], 1.0, -1.0)
        yield signs[:, None] * self.scores[self.kept], None, 1.0, np.inf

    def _wide(self, left: Any, right: Any, low: Any, high: Any) -> tuple[Any, Floats, Floats]:
        """Put both sides next to each other, nothing for one that is None; spread the bounds."""
        n = (right if left is None else left).shape[0]
        left = np.zeros((n, 2 + 2 * self.votes.shape[1])) if left is None else left
        right = sparse.csr_array((n, len(self.free))) if right is None else right
        both = sparse.hstack([sparse.csr_array(left), sparse.csr_array(right)])
        return both, np.broadcast_to(low, n).astype(float), np.broadcast_to(high, n).astype(float)
