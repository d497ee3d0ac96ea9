"""The result of a classification: labels, a summary, a report, a model to keep."""

from __future__ import annotations

import html
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from c2rf.inference.accuracy import ExpectedAccuracy
from c2rf.inference.sensitivity import Sensitivity
from c2rf.totals.bounds import adjustments_table
from c2rf.workflow.extras import USUAL, imputation_parts, sensitivity_fact, sensitivity_line
from c2rf.workflow.model_file import StoredModel
from c2rf.workflow.outputs import Outputs
from c2rf.workflow.predictions import Accuracy, Predictions
from c2rf.workflow.prepare import PreparedData
from c2rf.workflow.report_facts import make_facts, right_facts
from c2rf.workflow.summary import Line, as_text, summary_lines

LARGE_RESULT = 1_000_000
"""Labels of more rows than this are not put into one frame unless that is asked for."""


@dataclass(eq=False)
class Classification:
    """Labels of all rows that add up to the known totals, and what was learned on the way.

    :func:`c2rf.classify` returns it.

    Parameters
    ----------
    data : PreparedData
        What was asked for, and what was found out about the data.
    classifier : C2RFClassifier or KnownTotalsClassifier
        The fitted classifier.
    predictions : Predictions
        The rows with label, score and confidence, to be read a chunk at a time.
    command : str
        How to do it again.
    sensitivity : Sensitivity, optional
        Which labels depend on which totals, if that was asked for.
    """

    data: PreparedData
    classifier: Any
    predictions: Predictions
    command: str
    sensitivity: Sensitivity | None = None

    @property
    def labels(self) -> pd.DataFrame | Predictions:
        """The rows with label, score and confidence: a frame; more than a million, in parts.

        With an ``id`` a row is named by it, else by all its columns. With ``sensitivity`` there
        are two more columns, ``robust`` and ``sensitive_to``.
        """
        return self._frame if self.data.n_rows <= LARGE_RESULT else self.predictions

    @cached_property
    def _frame(self) -> pd.DataFrame:
        return self.predictions.frame()

    @property
    def imputations(self) -> pd.DataFrame:
        """Several labels for every row: the id, then a column per imputation.

        Each column adds up to all known totals. How many there are is what ``imputations`` of
        :func:`c2rf.classify` said, else 20. Compute a figure from each, then :func:`c2rf.pool`.
        """
        return self.imputation_parts.frame()

    @property
    def imputation_parts(self) -> Predictions:
        """The imputations, to be read a part at a time."""
        return imputation_parts(self.data, self.classifier, self.data.options.imputations or USUAL)

    @property
    def counts(self) -> dict[str, int]:
        """How many rows got each label."""
        found = (n for _, n in self.predictions.counts)
        return dict(zip(self.data.classes, found, strict=True))

    @property
    def changes(self) -> pd.DataFrame:
        """Totals that had to be moved: where, from what to what, and by how many standard errors.

        None are moved unless they contradict each other, and estimates or
        ``totals_policy="scale"`` give way.
        """
        return adjustments_table(self.data.bounds.adjustments)

    @property
    def accuracy(self) -> Accuracy | None:
        """How many labels are right, where the unlabeled table has the target after all."""
        return self.predictions.accuracy(self.data.truth, self.data.options.target)

    @cached_property
    def expected_accuracy(self) -> ExpectedAccuracy | None:
        """How many labels are expected to be right, with intervals, if imputations were asked for.

        It takes two imputations at least.
        """
        number = self.data.options.imputations
        return None if number is None or number < 2 else self.classifier.expected_accuracy(number)

    @property
    def summary_lines(self) -> list[Line]:
        """What was done, as names and sentences."""
        lines = summary_lines(
            self.data, self.classifier, self.counts, self.accuracy, self.expected_accuracy
        )
        if self.sensitivity is None:
            return lines
        return [*lines, sensitivity_line(self.sensitivity, self.data.classes)]

    def summary(self) -> str:
        """Return what was done in a few lines: labels beside known totals, and the columns."""
        return as_text(self.summary_lines)

    def write(self, path: Any, *, force: bool = False, spreadsheet_safe: bool = False) -> None:
        """Write the labels to a file; nothing is there before all of it is.

        Parameters
        ----------
        path : path
            A name that ends in .csv, .tsv, .gz, .parquet, .xlsx or .jsonl. A name without an
            ending becomes a folder of Parquet files. Text is written as the unlabeled file is.
        force : bool
            Whether what is there may be replaced.
        spreadsheet_safe : bool
            Whether text in .csv that a spreadsheet would run as a formula gets an apostrophe.
        """
        self._save(Outputs(labels=Path(path), spreadsheet_safe=spreadsheet_safe), force)

    def report(self, path: Any, *, force: bool = False) -> None:
        """Write a report: one page of HTML that needs nothing else, to a name that ends in .html.

        ``force`` is as in :meth:`write`.
        """
        self._save(Outputs(report=Path(path)), force)

    def write_report(self, path: Path) -> None:
        """Write the report to a place that was checked before."""
        from c2rf.report import make_page

        facts = make_facts(self.data, self.classifier, self.predictions, self.command)
        if self.expected_accuracy is not None:
            right = right_facts(self.data, self.predictions, self.expected_accuracy)
            facts = replace(facts, right=right)
        if self.sensitivity is not None:
            facts = replace(facts, sensitivity=sensitivity_fact(self.sensitivity, self.predictions))
        if self.accuracy is not None:
            facts = replace(facts, accuracy=f"{self.accuracy}.")
        path.write_text(make_page(facts), encoding="utf-8")

    def save_model(self, path: Any, *, force: bool = False) -> None:
        """Write a model that labels other rows, to a name that ends in .skops.

        ``c2rf predict`` reads it; ``force`` is as in :meth:`write`.
        """
        self._save(Outputs(model=Path(path)), force)

    def write_model(self, path: Path) -> None:
        """Write the model to a place that was checked before."""
        data, groups = self.data, [str(name) for name in self.data.groups.columns]
        target = data.options.target
        model = StoredModel(data.encoder, self.classifier, target, data.positive, groups)
        model.write(path)

    def _save(self, outputs: Outputs, force: bool) -> None:
        outputs.check(force=force)
        outputs.write(self, force=force)

    def _repr_html_(self) -> str:
        """Return the summary as a table, for notebooks."""
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(sentence)}</td></tr>"
            for name, sentence in self.summary_lines
        )
        return f"<table>{rows}</table>"

    def __repr__(self) -> str:
        found = ", ".join(f"{name}: {n:,}" for name, n in self.counts.items())
        return f"<c2rf classification of {self.data.n_rows:,} rows: {found}>"
