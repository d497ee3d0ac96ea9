"""Made-up results of a classification, for what reads them."""

from __future__ import annotations

import inspect
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from c2rf.data.population.memory import Memory
from c2rf.forest.problem import Solution
from c2rf.totals.bounds import Bounds
from c2rf.totals.groups import Groups
from c2rf.totals.stated import Totals
from c2rf.workflow.predictions import Predictions
from c2rf.workflow.prepare import PreparedData
from c2rf.workflow.result import Classification


def made_up(
    n: int = 60,
    *,
    target: str = "sick",
    labels: Any = None,
    scores: Any = None,
    confidence: Any = None,
    stated: Any = None,
    classifier: Any = None,
    command: str = "c2rf classify l.csv u.csv",
    found: dict[str, Any] | None = None,
    **data: Any,
) -> Classification:
    """Return a result without any learning: of 60 rows, 20 are to be and are positive.

    ``found`` has what a result computes from tables that are not there; ``stated`` the overall
    totals that a user gave; ``data`` changes what was found out about the tables.
    """
    usual = np.arange(n) - 2 * n // 3 + 0.5
    labels = np.where(usual > 0, "yes", "no").astype(object) if labels is None else labels
    classes = data.setdefault("classes", ["no", "yes"])
    codes = np.array([classes.index(label) for label in labels])
    counts = np.bincount(codes, minlength=len(classes))
    stated = dict(zip(classes, counts.tolist(), strict=True)) if stated is None else stated
    tables = {
        "options": SimpleNamespace(
            target=target,
            id=None,
            random_state=0,
            imputations=None,
            language="en",
            tables_by=[],
            totals=None,
        ),
        "names": ("l.csv", "u.csv"),
        "n_checked": 0,
        "labels": np.array(["yes"] * 30 + ["no"] * 10, dtype=object),
        "rows": Memory(np.zeros((n, 1))),
        "n_rows": n,
        "columns": [column("age", "numbers", 9)],
        "totals": Totals(stated),
        "bounds": Bounds.overall(counts, counts, n),
        "groups": Groups.none(n),
        "positive": "yes",
        "remarks": [],
        "left_out": {},
        "codes": [],
        "read_as": [],
        "truth": None,
        "weights": None,
        "known": None,
        "labeled_weights": None,
        "bins": {},
        "seconds": {"learning": 1.5},
    } | data
    added = {
        "label": codes,
        "score": usual if scores is None else scores,
        "confidence": np.linspace(0.5, 1, n) if confidence is None else confidence,
    }
    predictions = Predictions(tables["rows"], [], added, {"label": np.array(classes)})
    classifier = ranking(len(classes)) if classifier is None else classifier
    result = Classification(MadeUpData(**tables), classifier, predictions, command)
    vars(result).update({"balance": balance(), "importance": None} | (found or {}))
    return result


class MadeUpData(SimpleNamespace):
    """What was found out about tables; what follows from it is computed as it really is."""

    def __getattr__(self, name: str) -> Any:
        found = inspect.getattr_static(PreparedData, name)
        return found.func(self) if isinstance(found, cached_property) else found.fget(self)


def column(
    name: str, kind: str, levels: int, missing: tuple[int, int] = (0, 0), unseen: int = 0
) -> SimpleNamespace:
    """Return what a report reads of the profile of a column."""
    return SimpleNamespace(name=name, kind=kind, levels=levels, missing=missing, unseen=unseen)


def balance(*rows: tuple[str, float, float]) -> pd.DataFrame:
    """Return a comparison of columns by their names and their differences, before and after."""
    table = pd.DataFrame(rows, columns=["column", "before", "after"])
    return table.assign(labeled=1.0, weighted=2.0, population=3.0, unit="number")


def ranking(n_classes: int = 2, **more: Any) -> SimpleNamespace:
    """Return what a report reads of a classifier with probabilities."""
    plain = {
        "estimator_": LogisticRegression(),
        "history_": [],
        "offsets_": np.zeros(n_classes),
        "assignment_": {"gap": 0.0},
        "calibrated_by_": "learner",
    }
    return SimpleNamespace(**plain | more)


def forest(eta: int, bound: int, n_trees: int = 5, **stats: Any) -> SimpleNamespace:
    """Return what a report reads of weighted trees."""
    status = "optimal" if eta == bound else "feasible"
    labels = np.ones(60, dtype=np.int8)
    weights = np.arange(1.0, n_trees + 1)
    solution = Solution(weights, 0.0, labels, eta, bound, status, 1.0, stats=stats)
    return SimpleNamespace(solution_=solution, lower=1.0, upper=100.0, offset=None)
