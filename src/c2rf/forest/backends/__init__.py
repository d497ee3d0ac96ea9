"""One file per solver, one line per solver here.

A solver is added by a file with ``run(model, options)`` and ``version()``, a line in
:data:`BACKENDS` and an extra in ``pyproject.toml``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

from c2rf._utils.text import check_choice
from c2rf.exceptions import BackendError, BackendNotInstalledError
from c2rf.forest.backends import process as isolated
from c2rf.forest.backends.base import (
    MatrixModel,
    Options,
    Progress,
    RawResult,
    SizeLimitError,
    cut_off,
    integer_bound,
    refuse_too_large,
    refuse_unusable,
    with_cutoff,
)

__all__ = [
    "BACKENDS",
    "Backend",
    "Options",
    "Progress",
    "RawResult",
    "check_backend",
    "installed",
    "integer_bound",
    "run",
]


@dataclass(frozen=True)
class Backend:
    """A solver that can be asked for by name; it refuses coefficients from ``too_large`` on."""

    name: str
    package: str
    install: str
    priorities: bool
    note: str
    too_large: float = math.inf

    @property
    def is_installed(self) -> bool:
        """Whether the solver's package is there; it is not imported to find out."""
        return find_spec(self.package) is not None

    def version(self) -> str:
        """Return the version of the installed solver."""
        return str(import_module(f"c2rf.forest.backends.{self.name}").version())


BACKENDS = {
    backend.name: backend
    for backend in (
        Backend("highs", "highspy", "pip install highspy", False, "open source, the default", 1e15),
        Backend(
            "scip", "pyscipopt", 'pip install "c2rf[scip]"', True, "open source, one thread", 1e20
        ),
        Backend(
            "gurobi",
            "gurobipy",
            'pip install "c2rf[gurobi]"',
            True,
            "commercial; without a licence up to 2000 variables and 2000 rows",
        ),
    )
}


def installed() -> list[str]:
    """Return the names of the solvers that are installed.

    Examples
    --------
    >>> "highs" in installed()
    True
    """
    return [name for name, backend in BACKENDS.items() if backend.is_installed]


def check_backend(name: str) -> Backend:
    """Return the backend of that name, or say which there are and how to get them."""
    check_choice("backend", name, BACKENDS)
    backend = BACKENDS[name]
    if not backend.is_installed:
        raise BackendNotInstalledError(
            f"backend {name!r} is not installed; install it with: {backend.install} "
            f"(installed are {', '.join(map(repr, installed()))})"
        )
    return backend


def run(model: MatrixModel, backend: str = "highs", options: Options | None = None) -> RawResult:
    """Solve a matrix model with the named solver.

    Examples
    --------
    >>> from c2rf.forest.paper import big_m_model
    >>> from c2rf.forest.problem import make_problem
    >>> result = run(big_m_model(make_problem([[1, -1], [1, 1]], 1)))
    >>> result.status, result.bound
    ('optimal', 0.0)
    """
    engine = check_backend(backend)
    options = options or Options()
    refuse_unusable(model)
    refuse_too_large(model, engine.too_large, backend)
    asked = model if options.cutoff is None else cut_off(model, options.cutoff)
    try:
        answer = isolated.run(asked, backend, options)
    except SizeLimitError as error:
        others = ", ".join(repr(name) for name in installed() if name != backend)
        raise BackendError(f"{error}; installed backends without a limit: {others}") from error
    return answer if options.cutoff is None else with_cutoff(answer, options.cutoff)
