"""Options: checked when they are made, listed in signature and docstring, written as words."""

from __future__ import annotations

import inspect
from dataclasses import fields

import pytest

import c2rf
from c2rf.exceptions import InputError, InputTypeError
from c2rf.forest.backends import BACKENDS
from c2rf.forest.solve import PREFERENCES, SOLVE_METHODS
from c2rf.workflow.options import Options, choices


def options(**more: object) -> Options:
    return Options(target="sick", totals={"yes": 3}, **more)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"method": "best"}, "method must be known-totals or c2rf; found 'best'"),
        ({"engine": "dusk"}, "did you mean 'dask'"),
        ({"totals_policy": None}, "totals_policy must be strict or scale; found None"),
        ({"trees": 3}, "trees is not an option of the method known-totals; it is one of c2rf"),
        ({"method": "c2rf", "learner": "blend"}, "it is one of known-totals"),
        ({"method": "c2rf", "sensitivity": 0.1}, "it is one of known-totals"),
        ({"method": "c2rf", "backend": "cplex"}, "backend must be highs, scip or gurobi"),
        ({"learner": "forest"}, "learner must be blend, boosting, extra-trees or logistic"),
        ({"sensitivity": "sd"}, "must be a share, such as 0.05, or 'se'"),
        ({"sensitivity": 7}, "a share above 0 and up to 1"),
        ({"imputations": 0}, "must be from 1 to"),
    ],
)
def test_what_is_not_possible_is_refused(more, message):
    with pytest.raises(InputError, match=message):
        options(**more)


def test_a_number_of_the_wrong_type():
    with pytest.raises(InputTypeError, match="whole number"):
        options(imputations=2.5)


def test_names_are_those_that_the_library_knows():
    assert choices("solve_method") == tuple(SOLVE_METHODS)
    assert choices("backend") == tuple(BACKENDS)
    assert choices("prefer") == tuple(PREFERENCES)
    assert choices("target") == choices("trees") == ()


def test_signature_and_docstring_of_classify_list_all():
    signature = inspect.signature(c2rf.classify)
    names = list(signature.parameters)
    assert names == ["labeled", "unlabeled", *(option.name for option in fields(Options))]
    assert signature.parameters["engine"].default == "auto"
    assert signature.parameters["trees"].annotation == int | None
    for option in fields(Options):
        entry = f"\n    {option.name} : "
        assert c2rf.classify.__doc__.count(entry) == 1
    engines = "{'auto', 'memory', 'chunks', 'dask', 'spark'}"
    assert f"engine : {engines}, default 'auto'" in c2rf.classify.__doc__
    assert "**options" not in c2rf.classify.__doc__


def test_an_unknown_option():
    with pytest.raises(TypeError, match="unexpected keyword argument 'tree'"):
        c2rf.classify("a.csv", target="sick", totals={"yes": 3}, tree=5)


def test_words_of_the_command_line():
    made = options(
        method="c2rf", offset=(-1.0, 1.0), drop=("a", "b c"), random_state=3, n_jobs=-1, text=[]
    )
    assert made.command_words() == [
        "--target", "sick", "--drop", "a,b c", "--method", "c2rf", "--offset", "-1.0..1.0",
        "--seed", "3", "--jobs", "-1",
    ]  # fmt: skip
