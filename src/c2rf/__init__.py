"""Label a population so that the labels add up to a known total.

c2rf weighs the trees of a forest so that the weighted vote makes a known number of points
positive, and proves how close any weighting could get.
"""

from __future__ import annotations

from c2rf import baselines, datasets, exceptions
from c2rf.estimators import BlendClassifier, C2RFClassifier, KnownTotalsClassifier
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
from c2rf.opinion import Opinion, second_opinion
from c2rf.problem import Solution
from c2rf.solve import solve
from c2rf.verify import verify
from c2rf.votes import PatternTable

__version__ = "0.1.0"

__all__ = [
    "BackendError",
    "BackendNotInstalledError",
    "BlendClassifier",
    "C2RFClassifier",
    "C2RFError",
    "ClusterError",
    "InfeasibleError",
    "InputError",
    "InputTypeError",
    "KnownTotalsClassifier",
    "NoSolutionError",
    "Opinion",
    "PatternTable",
    "Solution",
    "VerificationError",
    "__version__",
    "baselines",
    "datasets",
    "exceptions",
    "second_opinion",
    "solve",
    "verify",
]
