"""Label a population so that the labels add up to known totals.

:func:`classify` takes two tables and what is known, and returns the labels.
:class:`KnownTotalsClassifier` and :class:`C2RFClassifier` are the classifiers behind it, and
:func:`solve` weighs the trees of any forest so that their vote makes a known number of rows
positive, and proves how close any weighting could get.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from c2rf import exceptions as exceptions
from c2rf.exceptions import BackendError as BackendError
from c2rf.exceptions import BackendNotInstalledError as BackendNotInstalledError
from c2rf.exceptions import C2RFError as C2RFError
from c2rf.exceptions import ClusterError as ClusterError
from c2rf.exceptions import InfeasibleError as InfeasibleError
from c2rf.exceptions import InputError as InputError
from c2rf.exceptions import InputTypeError as InputTypeError
from c2rf.exceptions import NoSolutionError as NoSolutionError
from c2rf.exceptions import VerificationError as VerificationError

if TYPE_CHECKING:
    from c2rf import baselines as baselines
    from c2rf import datasets as datasets
    from c2rf.data.forest_files import write_vipr as write_vipr
    from c2rf.estimators.c2rf import C2RFClassifier as C2RFClassifier
    from c2rf.estimators.known_totals import KnownTotalsClassifier as KnownTotalsClassifier
    from c2rf.estimators.known_totals import totals_scorer as totals_scorer
    from c2rf.forest.problem import Solution as Solution
    from c2rf.forest.solve import solve as solve
    from c2rf.forest.verify import verify as verify
    from c2rf.forest.votes import PatternTable as PatternTable
    from c2rf.imputation.rubin import Pooled as Pooled
    from c2rf.imputation.rubin import pool as pool
    from c2rf.learners.default_classifier import BlendClassifier as BlendClassifier
    from c2rf.totals.stated import Estimate as Estimate
    from c2rf.workflow.assign import AssignedLabels as AssignedLabels
    from c2rf.workflow.assign import assign as assign
    from c2rf.workflow.audit import Audit as Audit
    from c2rf.workflow.audit import audit as audit
    from c2rf.workflow.audit import audit_sample as audit_sample
    from c2rf.workflow.classify import classify as classify
    from c2rf.workflow.classify import estimate_totals as estimate_totals
    from c2rf.workflow.model_file import load_model as load_model
    from c2rf.workflow.result import Classification as Classification


__version__ = "0.2.0"

# Imported when they are first used: the command line starts without scikit-learn.
_PUBLIC = {
    "data.forest_files": ["write_vipr"],
    "estimators.c2rf": ["C2RFClassifier"],
    "estimators.known_totals": ["KnownTotalsClassifier", "totals_scorer"],
    "forest.problem": ["Solution"],
    "forest.solve": ["solve"],
    "forest.verify": ["verify"],
    "forest.votes": ["PatternTable"],
    "imputation.rubin": ["Pooled", "pool"],
    "learners.default_classifier": ["BlendClassifier"],
    "totals.stated": ["Estimate"],
    "workflow.assign": ["AssignedLabels", "assign"],
    "workflow.audit": ["Audit", "audit", "audit_sample"],
    "workflow.classify": ["classify", "estimate_totals"],
    "workflow.model_file": ["load_model"],
    "workflow.result": ["Classification"],
}
_MODULE_OF = {name: f"c2rf.{module}" for module, names in _PUBLIC.items() for name in names}

__all__ = sorted(
    ["__version__", "baselines", "datasets", "exceptions", *_MODULE_OF]
    + [name for name in vars(exceptions) if name.endswith("Error")]
)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name in ("baselines", "datasets"):
        value: Any = import_module(f"c2rf.{name}")
    elif name in _MODULE_OF:
        value = getattr(import_module(_MODULE_OF[name]), name)
    else:
        raise AttributeError(f"module 'c2rf' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
