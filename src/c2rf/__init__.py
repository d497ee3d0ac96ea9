"""Label a population so that the labels add up to known totals.

:func:`classify` takes two tables and what is known, and returns the labels.
:class:`KnownTotalsClassifier` and :class:`C2RFClassifier` are the classifiers behind it, and
:func:`solve` weighs the trees of any forest so that their vote makes a known number of rows
positive, and proves how close any weighting could get.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from c2rf import exceptions
from c2rf.exceptions import (
    BackendError,
    BackendNotInstalledError,
    C2RFError,
    ClusterError,
    InfeasibleError,
    InputError,
    InputTypeError,
    NoSolutionError,
    VerificationError,
)

if TYPE_CHECKING:
    from c2rf import baselines, datasets
    from c2rf.core.problem import Solution
    from c2rf.core.verify import verify
    from c2rf.core.votes import PatternTable
    from c2rf.estimators import C2RFClassifier, KnownTotalsClassifier
    from c2rf.imputation import Pooled, pool
    from c2rf.labeling import Classification, classify
    from c2rf.learners.blend import BlendClassifier
    from c2rf.solver.second_opinion import Opinion, second_opinion
    from c2rf.solver.solve import solve
    from c2rf.totals.estimate import Estimate


__version__ = "0.1.0"

# Imported when they are first used: the command line starts without scikit-learn.
_HOMES = {
    "BlendClassifier": "c2rf.learners.blend",
    "C2RFClassifier": "c2rf.estimators",
    "Classification": "c2rf.labeling",
    "Estimate": "c2rf.totals.estimate",
    "KnownTotalsClassifier": "c2rf.estimators",
    "Opinion": "c2rf.solver.second_opinion",
    "PatternTable": "c2rf.core.votes",
    "Pooled": "c2rf.imputation",
    "Solution": "c2rf.core.problem",
    "classify": "c2rf.labeling",
    "pool": "c2rf.imputation",
    "second_opinion": "c2rf.solver.second_opinion",
    "solve": "c2rf.solver.solve",
    "verify": "c2rf.core.verify",
}

__all__ = [
    "BackendError",
    "BackendNotInstalledError",
    "BlendClassifier",
    "C2RFClassifier",
    "C2RFError",
    "Classification",
    "ClusterError",
    "Estimate",
    "InfeasibleError",
    "InputError",
    "InputTypeError",
    "KnownTotalsClassifier",
    "NoSolutionError",
    "Opinion",
    "PatternTable",
    "Pooled",
    "Solution",
    "VerificationError",
    "__version__",
    "baselines",
    "classify",
    "datasets",
    "exceptions",
    "pool",
    "second_opinion",
    "solve",
    "verify",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name in ("baselines", "datasets"):
        value: Any = import_module(f"c2rf.{name}")
    elif name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module 'c2rf' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
