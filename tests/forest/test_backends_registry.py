"""Which solvers there are, how to get them, and what only one of them does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from c2rf.exceptions import BackendError, BackendNotInstalledError, InputError
from c2rf.forest import backends
from c2rf.forest.backends import check_backend, run
from c2rf.forest.backends.base import Options
from matrix_models import INF, covering, make_model

# Single solvers


def test_highs_refusal_is_an_error():
    model = replace(covering(1), col_lower=np.full(8, INF))
    with pytest.raises(BackendError, match="HiGHS refused a model of 8 columns and 4 rows"):
        run(model, "highs")


def test_scip_gets_the_priorities():
    pytest.importorskip("pyscipopt")
    from pyscipopt import Model

    from c2rf.forest.backends import scip

    given = []

    class Recorder(Model):
        def chgVarBranchPriority(self, variable, priority):  # noqa: N802
            given.append((variable.name, priority))
            super().chgVarBranchPriority(variable, priority)

    solver = Recorder()
    model = replace(covering(1), priorities=np.arange(8)[::-1])
    columns = scip._pass_model(solver, model)
    assert given == [(column.name, 7 - i) for i, column in enumerate(columns)]


def test_scip_error_is_a_backend_error(monkeypatch):
    pytest.importorskip("pyscipopt")
    from c2rf.forest.backends import scip

    class Broken(scip.Model):
        def optimizeNogil(self):  # noqa: N802
            raise Exception("SCIP: error in LP solver!")

    monkeypatch.setattr(scip, "Model", Broken)
    with pytest.raises(BackendError, match="error in LP solver"):
        scip.run(covering(1), Options())


def test_gurobi_gets_priorities_and_both_sides_of_rows():
    pytest.importorskip("gurobipy")
    from c2rf.forest.backends import gurobi

    model = replace(covering(1), priorities=np.arange(8)[::-1])
    with gurobi._environment() as environment, gurobi._load(environment, model) as solver:
        solver.update()
        variables = solver.getVars()
        assert solver.getAttr("BranchPriority", variables) == list(range(8))[::-1]
        assert solver.NumConstrs == 5  # one of the four rows is a range


def test_gurobi_without_a_licence_says_the_limit_and_who_can():
    pytest.importorskip("gurobipy")
    n = 2001
    model = make_model(
        np.ones(n), sparse.eye_array(n).toarray(), [(1, 2)] * n, [(0, 3)] * n, [True] * n
    )
    try:
        run(model, "gurobi")
    except BackendError as error:
        message = str(error)
    else:
        pytest.skip("there is a full Gurobi licence")
    assert "up to 2000 variables and 2000 rows" in message
    assert "2001 variables and 4002 rows" in message
    assert "'highs'" in message
    assert "'gurobi'" not in message
    assert run(model, "highs").bound == pytest.approx(n)


def test_gurobi_without_any_licence_is_a_backend_error(monkeypatch):
    gurobipy = pytest.importorskip("gurobipy")
    from c2rf.forest.backends import gurobi

    def no_licence():
        raise gurobipy.GurobiError(10009, "No Gurobi license found")

    monkeypatch.setattr(gurobi, "_environment", no_licence)
    with pytest.raises(BackendError, match="No Gurobi license found"):
        gurobi.run(covering(1), Options())


# The registry


def test_the_registry_knows_all_and_who_is_installed():
    assert list(backends.BACKENDS) == ["highs", "scip", "gurobi"]
    for name in backends.installed():
        assert check_backend(name).version()[0].isdigit()
    assert not backends.BACKENDS["highs"].priorities


def test_unknown_backend_lists_the_known():
    with pytest.raises(InputError, match="highs, scip or gurobi; found 'cplex'"):
        run(covering(1), "cplex")


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("highs", "pip install highspy"),
        ("scip", 'pip install "c2rf[scip]"'),
        ("gurobi", 'pip install "c2rf[gurobi]"'),
    ],
)
def test_missing_backend_says_how_to_install_it(monkeypatch, name, command):
    package = backends.BACKENDS[name].package
    found = backends.find_spec
    monkeypatch.setattr(
        backends, "find_spec", lambda wanted: None if wanted == package else found(wanted)
    )
    assert name not in backends.installed()
    assert backends.BACKENDS[name].install == command
    with pytest.raises(BackendNotInstalledError) as caught:
        run(covering(1), name)
    assert command in str(caught.value)
