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
    from c2rf.data.forest_files import write_vipr
    from c2rf.estimators.c2rf import C2RFClassifier
    from c2rf.estimators.known_totals import KnownTotalsClassifier, totals_scorer
    from c2rf.forest.problem import Solution
    from c2rf.forest.solve import solve
    from c2rf.forest.verify import verify
    from c2rf.forest.votes import PatternTable
    from c2rf.imputation.rubin import Pooled, pool
    from c2rf.learners.default_classifier import BlendClassifier
    from c2rf.totals.stated import Estimate
    from c2rf.workflow.assign import AssignedLabels, assign
    from c2rf.workflow.audit import Audit, audit, audit_sample
    from c2rf.workflow.classify import classify, estimate_totals
    from c2rf.workflow.model_file import load_model
    from c2rf.workflow.result import Classification


__version__ = "0.2.0"

# Imported when they are first used: the command line starts without scikit-learn.
_HOMES = {
    "AssignedLabels": "c2rf.workflow.assign",
    "Audit": "c2rf.workflow.audit",
    "BlendClassifier": "c2rf.learners.default_classifier",
    "C2RFClassifier": "c2rf.estimators.c2rf",
    "Classification": "c2rf.workflow.result",
    "Estimate": "c2rf.totals.stated",
    "KnownTotalsClassifier": "c2rf.estimators.known_totals",
    "PatternTable": "c2rf.forest.votes",
    "Pooled": "c2rf.imputation.rubin",
    "Solution": "c2rf.forest.problem",
    "assign": "c2rf.workflow.assign",
    "audit": "c2rf.workflow.audit",
    "audit_sample": "c2rf.workflow.audit",
    "classify": "c2rf.workflow.classify",
    "load_model": "c2rf.workflow.model_file",
    "estimate_totals": "c2rf.workflow.classify",
    "pool": "c2rf.imputation.rubin",
    "solve": "c2rf.forest.solve",
    "totals_scorer": "c2rf.estimators.known_totals",
    "verify": "c2rf.forest.verify",
    "write_vipr": "c2rf.data.forest_files",
}

__all__ = [
    "AssignedLabels",
    "Audit",
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
    "PatternTable",
    "Pooled",
    "Solution",
    "VerificationError",
    "__version__",
    "assign",
    "audit",
    "audit_sample",
    "baselines",
    "classify",
    "datasets",
    "estimate_totals",
    "exceptions",
    "load_model",
    "pool",
    "solve",
    "totals_scorer",
    "verify",
    "write_vipr",
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
