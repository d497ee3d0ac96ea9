"""Hypothesis strategies: votes, boxes and problems small enough to be enumerated."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from c2rf.forest.problem import Problem, make_problem

BOXES = [(1, 1), (1, 1.25), (0.3, 0.9), (3, 3.5), (1, 2), (1, 1000), (1, 100), (0.5, 3), (0.2, 0.2)]
OFFSETS = [None, (-1, 1), (-3, 0.5), (0.3, 0.4), (-50, 50), (-0.5, -0.5), (0, 0)]


@st.composite
def votes(draw, max_points: int = 8, max_trees: int = 5):
    """Rows of ±1, some trees repeated, so that points and trees both have something to merge."""
    shape = (draw(st.integers(1, max_points)), draw(st.integers(1, max_trees)))
    rows = draw(arrays(np.int8, shape, elements=st.sampled_from([-1, 1])))
    columns = st.lists(st.integers(0, shape[1] - 1), max_size=3)
    return np.hstack([rows, rows[:, draw(columns)]])


@st.composite
def cases(draw, max_points: int = 8, max_trees: int = 5, offset: bool = True):
    """Arguments of ``make_problem`` and ``solve``: votes, n_positive, lower, upper, offset."""
    rows = draw(votes(max_points, max_trees))
    wished = draw(st.integers(0, len(rows)))
    lower, upper = draw(st.sampled_from(BOXES))
    return rows, wished, lower, upper, draw(st.sampled_from(OFFSETS)) if offset else None


@st.composite
def problems(draw, max_points: int = 8, max_trees: int = 5):
    """Problems whose columns have boxes of their own, some with a shift as their last column."""
    problem = make_problem(*draw(cases(max_points, max_trees)))
    stretch = draw(
        arrays(
            float, problem.n_columns, elements=st.sampled_from([0.0, 0.25, 1.0]), fill=st.just(0.0)
        )
    )
    width = problem.upper - problem.lower
    return Problem(
        problem.patterns,
        problem.counts,
        problem.n_positive,
        problem.lower,
        problem.upper + stretch * width,
    )


@st.composite
def weights_of(draw, problem: Problem):
    """Weights anywhere in the box of a problem."""
    heights = st.lists(st.floats(0, 1), min_size=problem.n_columns, max_size=problem.n_columns)
    inside = problem.lower + np.array(draw(heights)) * (problem.upper - problem.lower)
    return np.clip(inside, problem.lower, problem.upper)
