"""Among weights with the smallest eta, those that change the majority vote the least.

What is tried, cheapest first; whatever is found is checked, and its labels are given to a linear
program that finds the closest weights with these labels:

- cut-offs of the plain vote: equal weights and a shift
  (:mod:`c2rf.solver.near_majority.whole_changes`);
- equal weights with a few small whole changes (:mod:`c2rf.solver.near_majority.whole_changes`);
- walks from the weights at hand towards equal ones (:mod:`c2rf.solver.near_majority.descent`);
- integer programs, given to a solver to find something closer
  (:mod:`c2rf.solver.near_majority.milp`);
- where it finds nothing, a proof in whole numbers (:mod:`c2rf.solver.near_majority.proof`).
"""

from __future__ import annotations

from itertools import chain

from c2rf._typing import Floats
from c2rf.core.problem import Problem
from c2rf.solver.near_majority.descent import descend
from c2rf.solver.near_majority.incumbent import Nearest
from c2rf.solver.near_majority.milp import search
from c2rf.solver.near_majority.proof import prove
from c2rf.solver.near_majority.whole_changes import LARGEST, cut_offs, small_changes
from c2rf.solver.run import Run

__all__ = ["nearest_to_majority"]


def nearest_to_majority(run: Run, problem: Problem, n_trees: int, weights: Floats) -> Floats:
    """Return weights with no greater eta and the smallest L1 distance to a common level known.

    Parameters
    ----------
    run : Run
        Its backend, clock, seed and stats are used; ``stats["prefer"]`` says what is proven.
    problem : Problem
        All patterns; columns from ``n_trees`` on (a shift) are not part of the distance.
    n_trees : int
        Number of trees.
    weights : ndarray
        The weights to begin with.
    """
    nearest = Nearest(run, problem, n_trees, weights)
    with run.phase("prefer"):
        try:
            _improve(nearest, run.seed)
        except KeyboardInterrupt:
            run.interrupted = True
    run.stats["prefer"] = nearest.report()
    return nearest.weights


def _improve(nearest: Nearest, seed: int) -> None:
    """Try one means after the other until the distance is proven to be the smallest."""
    nearest.try_signs(nearest.signs)
    for signs in chain(cut_offs(nearest), small_changes(nearest, seed)):
        if nearest.over:
            return
        nearest.try_signs(signs)
    if nearest.distance > LARGEST:
        descend(nearest, seed)
    if not nearest.over:
        said = search(nearest)
        if nearest.nothing_below <= said:  # what a solver cannot prove is not tried
            prove(nearest)
