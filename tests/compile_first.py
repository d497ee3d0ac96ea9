"""Compile what Numba compiles, before the tests begin.

The code is kept on disk, from where all processes of the tests take it. Otherwise each would
compile it, and while lines are traced that takes longer.
"""

from __future__ import annotations

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from c2rf.forest.bounds.cuts import CliqueSeparator
from c2rf.forest.ensembles import Ensemble
from c2rf.forest.problem import make_problem
from c2rf.imputation.draw import MarginIndex, run_excursions
from c2rf.learners.trees import Growth, grow_forest
from c2rf.totals.bounds import MarginBounds


def compile_trees() -> None:
    """Grow and ask forests; one column is another layout in memory than several."""
    for n_columns in (1, 2):
        X = np.arange(4 * n_columns, dtype=np.float32).reshape(4, n_columns)
        grow_forest(X, np.eye(2)[[0, 0, 1, 1]], Growth(1, 1), seed=0).predict(X)


def compile_chain() -> None:
    """Swap two labels."""
    labels = np.array([0, 1])
    total = np.array([[1, 1]])
    margin = MarginBounds((), [None], np.zeros(1, dtype=int), total, total)
    index = MarginIndex.of([margin], np.zeros(2, dtype=int))
    run_excursions(labels, np.zeros((2, 2)), index, 1, np.random.default_rng(0))


def compile_cliques() -> None:
    """Grow cliques among three patterns."""
    problem = make_problem([[1, -1, -1], [-1, 1, -1], [-1, -1, 1]], 0)
    CliqueSeparator(problem, np.random.default_rng(0)).cuts(np.full(6, 0.5))


def compile_votes() -> None:
    """Ask a tree."""
    tree = DecisionTreeClassifier(max_depth=1).fit([[0.0], [1.0]], [0, 1])
    Ensemble([tree], np.arange(2)).votes(np.zeros((2, 1)))


if __name__ == "__main__":
    compile_trees()
    compile_chain()
    compile_cliques()
    compile_votes()
