"""Solvers are compared by what they say of themselves; bounds are those that are proven."""

from __future__ import annotations

from dataclasses import replace

import pytest

import c2rf
from c2rf.bench.run import label
from c2rf.bench.samples import PROTOCOLS, draw, load


@pytest.fixture(scope="module")
def sample():
    return draw(load("made-twonorm-80"), PROTOCOLS["biased"], seed=0)[0]


@pytest.mark.parametrize(("word", "status"), [("optimal", "optimal"), ("limit", "feasible")])
def test_status_and_seconds_of_the_papers_methods_are_the_solvers(
    sample, monkeypatch, word, status
):
    honest = c2rf.solve

    def solve(*args, **options):
        found = honest(*args, **options)
        said = {"solver_status": word, "solver_seconds": 123.0, "solver_bound": 99}
        return replace(found, status="feasible", bound=0, stats=found.stats | said)

    monkeypatch.setattr(c2rf, "solve", solve)
    answer = label("p-c2rf", sample, time_limit=30)
    assert (answer.status, answer.seconds) == (status, 123.0)
    assert answer.bound == 0  # what is proven, not what the solver says


def test_those_of_auto_are_its_own(sample):
    answer = label("auto", sample, time_limit=30)
    assert answer.status in ("optimal", "feasible")
    assert "solver_seconds" not in answer.stats
    assert answer.seconds > 0
