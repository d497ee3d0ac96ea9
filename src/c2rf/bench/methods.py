"""The methods that are compared: one line each in :data:`METHODS`.

A method sees a :class:`~c2rf.bench.protocol.Sample`, never the truth, and answers with labels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np

import c2rf
from c2rf.bench.protocol import Labels, Sample
from c2rf.exceptions import InputError

Status = Literal["computed", "optimal", "feasible", "none", "failed"]


@dataclass(frozen=True)
class Solver:
    """Which solver to use and for how many seconds (None: for ever)."""

    backend: str = "highs"
    time_limit: float | None = None


@dataclass(frozen=True, eq=False)
class Answer:
    """What a method found.

    Parameters
    ----------
    labels : ndarray of ±1, or None
        Labels of the unlabeled points; None if there are none.
    status : str
        "computed" by a method that proves nothing, "optimal" (proven) or "feasible" (stopped
        early) by one that does, "none" if a limit left no labels, "failed" if it broke.
    bound : int or None
        Proven lower bound on eta.
    stats : dict
        Sizes, nodes, phases and their seconds.
    message : str
        What went wrong.
    """

    labels: Labels | None
    status: Status
    bound: int | None = None
    stats: dict[str, Any] = field(default_factory=dict)
    message: str = ""


@dataclass(frozen=True)
class Method:
    """A method, the name the paper (or we) print, and whether it needs a solver."""

    title: str
    label: Callable[[Sample, Solver], Answer]
    solves: bool


def majority(sample: Sample, _: Solver) -> Answer:
    """Label by the majority vote; a tie is negative."""
    return Answer(np.where(_surplus(sample) > 0, 1, -1).astype(np.int8), "computed")


def top_lambda(sample: Sample, _: Solver) -> Answer:
    """Make the lambda points with most votes positive.

    Among points with equally many votes at the cut the seed decides: their order in the data may
    know the classes.
    """
    shuffled = np.random.default_rng(sample.seed).permutation(len(sample.votes))
    order = shuffled[np.argsort(-_surplus(sample)[shuffled], kind="stable")]
    labels = np.full(len(order), -1, dtype=np.int8)
    labels[order[: sample.n_positive]] = 1
    return Answer(labels, "computed")


def weighted(sample: Sample, solver: Solver, *, method: str) -> Answer:
    """Weigh the trees with :func:`c2rf.solve`."""
    try:
        solution = c2rf.solve(
            sample.votes,
            sample.n_positive,
            method=method,
            backend=solver.backend,
            time_limit=solver.time_limit,
            random_state=sample.seed,
        )
    except c2rf.NoSolutionError as error:
        return Answer(None, "none", message=str(error))
    except c2rf.BackendError as error:
        return Answer(None, "failed", message=str(error))
    return Answer(solution.labels, solution.status, solution.bound, solution.stats)


METHODS = {
    "rf": Method("RF", majority, solves=False),
    "c2rf": Method("C²RF", partial(weighted, method="c2rf"), solves=True),
    "p-c2rf": Method("p-C²RF", partial(weighted, method="p-c2rf"), solves=True),
    "only-pp": Method("only PP", partial(weighted, method="only-pp"), solves=True),
    "only-br": Method("only BR", partial(weighted, method="only-br"), solves=True),
    "auto": Method("auto", partial(weighted, method="auto"), solves=True),
    "top-lambda": Method("top λ", top_lambda, solves=False),
}


def check_method(name: str) -> Method:
    """Return the method of that name, or say which there are.

    Examples
    --------
    >>> check_method("rf").title
    'RF'
    >>> check_method("svm")
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputError: unknown method 'svm'; known are rf, c2rf, p-c2rf, only-pp, \
only-br, auto, top-lambda
    """
    if name not in METHODS:
        raise InputError(f"unknown method {name!r}; known are {', '.join(METHODS)}")
    return METHODS[name]


def _surplus(sample: Sample) -> np.ndarray:
    """Return for every point its votes for minus its votes against."""
    return sample.votes.sum(axis=1, dtype=np.int64)
