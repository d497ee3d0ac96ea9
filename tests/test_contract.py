"""The public names that users rely on: signatures, attributes, commands, extras."""

from __future__ import annotations

import inspect
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer

import c2rf
from c2rf.cli import app
from c2rf.exceptions import C2RFError

SIGNATURES = {
    "solve": "(votes, n_positive, lower=1.0, upper=100.0, *, method='auto', backend='highs', "
    "offset=None, prefer=None, time_limit=None, threads=1, random_state=None, progress=False, "
    "certificate=False, solver_options=None)",
    "verify": "(votes, n_positive, solution, lower=1.0, upper=100.0, *, offset=None, "
    "time_limit=None)",
    "write_vipr": "(votes, n_positive, solution, path, lower=1.0, upper=100.0, *, offset=None, "
    "force=False)",
    "C2RFClassifier": "(estimator=None, n_estimators=20, max_samples=0.2, lower=1.0, upper=100.0, "
    "method='auto', backend='highs', offset=None, prefer=None, time_limit=None, n_jobs=None, "
    "random_state=None, pos_label=None, solver_options=None, verbose=False)",
    "C2RFClassifier.fit": "(self, X, y, *, X_unlabeled=None, n_positive=None, totals=None)",
    "KnownTotalsClassifier": "(estimator=None, *, calibration='auto', totals_policy='strict', "
    "n_jobs=None, random_state=None, verbose=False)",
    "KnownTotalsClassifier.fit": "(self, X, y, *, X_unlabeled=None, totals=None, "
    "unlabeled_groups=None, sample_weight=None, unlabeled_weight=None, unlabeled_id=None, "
    "unlabeled_labels=None)",
    "KnownTotalsClassifier.impute": "(self, n_imputations=20)",
    "KnownTotalsClassifier.sensitivity": "(self, share=None)",
    "KnownTotalsClassifier.estimates": "(self, by=None, *, n_imputations=20, level=0.95)",
    "Classification.estimates": "(self, by=None)",
    "estimate_totals": "(labeled, unlabeled, *, target, by=None, learner=None, n_bootstrap=200, "
    "random_state=0)",
    "audit_sample": "(labels, n, *, id='id', by=None, rows=None, columns=None, show_label=False, "
    "purpose='audit', random_state=0)",
    "audit": "(labels, checked, *, id='id', target='true', by=None, level=0.95, rows=None)",
    "pool": "(estimates, variances=None, *, level=0.95, df=None)",
    "Estimate": "(value, se)",
    "load_model": "(path)",
    "totals_scorer": "(metric='accuracy', *, totals=None)",
    "Classification.summary": "(self)",
    "Classification._repr_html_": "(self)",
}
ATTRIBUTES = {
    "C2RFClassifier": {"transduction_", "predict", "decision_function", "label_chunks"},
    "KnownTotalsClassifier": {
        "transduction_",
        "transduction_proba_",
        "expected_confusion_",
        "predict",
        "predict_proba",
        "impute",
        "expected_accuracy",
        "sensitivity",
    },
    "Classification": {"labels", "summary", "report", "save_model", "_repr_html_"},
}


def without_types(function: Any) -> str:
    """Return a signature as names and defaults."""
    found = inspect.signature(function)
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in found.parameters.values()]
    return str(found.replace(parameters=plain, return_annotation=inspect.Signature.empty))


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures(name: str) -> None:
    owner, _, method = name.partition(".")
    function = getattr(c2rf, owner)
    assert without_types(getattr(function, method) if method else function) == SIGNATURES[name]


def test_classify_takes_keywords_only_after_the_tables() -> None:
    parameters = list(inspect.signature(c2rf.classify).parameters.values())
    assert [p.name for p in parameters[:2]] == ["labeled", "unlabeled"]
    assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in parameters[2:])
    required = {p.name for p in parameters if p.default is inspect.Parameter.empty}
    assert required == {"labeled", "target", "totals"}


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes(name: str) -> None:
    assert ATTRIBUTES[name] <= set(dir(getattr(c2rf, name)))


def test_fields() -> None:
    solution = {field.name for field in fields(c2rf.Solution)}
    assert solution >= {
        "weights", "offset", "labels", "eta", "bound", "status", "certificate", "runtime", "stats",
    }  # fmt: skip
    pooled = c2rf.pool([1.0, 2.0, 3.0])
    for name in ("estimate", "standard_error", "low", "high", "df"):
        assert getattr(pooled, name) is not None


def test_errors_are_of_the_usual_kinds() -> None:
    errors = [value for value in vars(c2rf.exceptions).values() if inspect.isclass(value)]
    for error in errors:
        if issubclass(error, C2RFError) and error is not C2RFError:
            assert issubclass(error, (ValueError, TypeError, RuntimeError)), error


def test_commands_and_extras() -> None:
    commands = set(typer.main.get_command(app).commands)
    assert commands == {
        "classify", "predict", "assign", "audit", "solve", "verify", "app", "bench", "demo",
        "backends",
    }  # fmt: skip
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert set(project["optional-dependencies"]) == {
        "scip", "gurobi", "report", "models", "files", "parquet", "dask", "duckdb", "spark",
        "app", "bench", "all", "dev",
    }  # fmt: skip


def test_no_module_hides_a_public_function() -> None:
    root = Path(c2rf.__file__).parent
    functions = [name for name in c2rf.__all__ if inspect.isfunction(getattr(c2rf, name))]
    assert functions
    for name in functions:
        assert not (root / f"{name}.py").exists()
        assert not (root / name).exists()
