"""The result of a classification: labels, how they meet the totals, a report, a model to keep.

:class:`Outputs` are the files of a result: checked before any work, and written all or none.
"""

from __future__ import annotations

import html
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from c2rf._utils.text import count
from c2rf._utils.types import Ints
from c2rf.data.atomic import atomic_outputs, check_output
from c2rf.data.population.duckdb import DuckDBRows, as_relation, is_database_table
from c2rf.data.population.interface import RowSample
from c2rf.data.population.spark import SparkRows
from c2rf.data.write import (
    TableWriter,
    check_size,
    check_writable,
    write_formatted,
)
from c2rf.exceptions import InputError
from c2rf.inference.accuracy import ExpectedAccuracy
from c2rf.inference.sensitivity import Sensitivity
from c2rf.report import make_page, measures, names_of
from c2rf.report.language import translated
from c2rf.totals.bounds import Bounds, adjustments_table, totals_table
from c2rf.workflow.model_file import StoredModel, need_skops, versions
from c2rf.workflow.options import Options
from c2rf.workflow.predictions import (
    PREDICTED,
    Accuracy,
    Predictions,
    check_labels_name,
    check_shown,
    is_folder,
)
from c2rf.workflow.prepare import PreparedData, check_domains, domains_by
from c2rf.workflow.summary import Line, in_language, summary_lines

LARGE_RESULT = 1_000_000
"""Labels of more rows than this are not put into one frame unless that is asked for."""
USUAL_IMPUTATIONS = 20
"""How many imputations there are if no number is given."""
ROW = "row"
"""Names the rows of imputations where there is no column of ids: numbers from 1."""


@dataclass(eq=False)
class Classification:
    """Labels of all rows that add up to the known totals, and what was learned on the way.

    :func:`c2rf.classify` returns it. The sections of a report read its attributes.

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

    # The labels

    @property
    def labels(self) -> Any:
        """The rows with label, score and confidence: a frame; more than a million, in chunks.

        Of rows in DuckDB they are a relation of its default connection, of a Spark frame one of
        Spark.

        With an ``id`` a row is named by it, else by all its columns. With ``sensitivity`` there
        are two more columns: ``robust``, whether the label stays if a total is off, and
        ``sensitive_to``, the classes on whose totals it depends.
        """
        if isinstance(self.data.rows, DuckDBRows):
            return as_relation(self.predictions)
        if isinstance(self.data.rows, SparkRows):
            return self.data.rows.with_columns(self.predictions.added, self.predictions.meanings)
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
        """The imputations, to be read a chunk at a time; drawn when first asked for."""
        data = self.data
        self._need_probabilities("draw imputations")
        codes = self.classifier._imputed_codes(data.options.imputations or USUAL_IMPUTATIONS)
        drawn = {f"imputation_{k + 1}": row for k, row in enumerate(codes)}
        classes = dict.fromkeys(drawn, data.values)
        if data.options.id is not None:
            return Predictions(data.rows, [data.options.id], drawn, classes)
        numbers = {ROW: np.arange(1, data.n_rows + 1)}
        return Predictions(data.rows, [], numbers | drawn, classes)

    def _need_probabilities(self, what: str) -> None:
        if not hasattr(self.classifier, "impute"):
            raise InputError(
                f"the method c2rf has no probabilities to {what} from; use the method known-totals"
            )

    def long_imputations(self) -> Iterator[pd.DataFrame]:
        """Yield the imputations one below the other, as R's mice has them.

        The columns are ``.imp``, the number of the imputation, ``.id``, the id of the row or else
        its number, and the target.
        """
        wide, target = self.imputation_parts, self.data.options.target
        name = self.data.options.id or ROW
        for k, column in enumerate(name for name in wide.added if name != ROW):
            own = {each: wide.added[each] for each in (ROW, column) if each in wide.added}
            for chunk in replace(wide, added=own):
                yield pd.DataFrame({".imp": k + 1, ".id": chunk[name], target: chunk[column]})

    # Labels and totals

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many rows got each label."""
        found = (n for _, n in self.predictions.counts)
        return dict(zip(self.data.classes, found, strict=True))

    @cached_property
    def group_counts(self) -> Ints:
        """Labels of each class in each group; of weighted rows the sums of weights, rounded."""
        return measures.count_in_groups(self.data, self.predictions.codes)

    @cached_property
    def bounds(self) -> Bounds:
        """The known totals as bounds in whole numbers; sums of weights are rounded."""
        bounds = self.data.bounds
        return bounds if self.data.weights is None else measures.whole_bounds(bounds)

    @cached_property
    def totals_met(self) -> pd.DataFrame:
        """A row per known total: its bounds, what the labels add up to, and what is off."""
        if hasattr(self.classifier, "totals_met_"):
            met: pd.DataFrame = self.classifier.totals_met_
            return met
        data = self.data
        return totals_table(data.bounds, data.groups, data.classes, self.group_counts)

    @property
    def adjustments(self) -> pd.DataFrame:
        """Totals that had to be moved: where, from what to what, and by how many standard errors.

        None are moved unless they contradict each other, and estimates or
        ``totals_policy="scale"`` give way.
        """
        return adjustments_table(self.data.bounds.adjustments)

    # How many labels are right

    @property
    def accuracy(self) -> Accuracy | None:
        """How many labels are right, where the unlabeled table has the target after all."""
        return self.predictions.accuracy(self.data.truth, self.data.options.target)

    def estimates(self, by: str | Sequence[str] | None = None) -> pd.DataFrame:
        """Return a table to publish: shares and counts of classes in domains, with intervals.

        ``by`` are the columns whose values make the domains; they need not be learned from. The
        columns of the table are those of :meth:`KnownTotalsClassifier.estimates`. It takes as many
        imputations as :func:`c2rf.classify` was asked for, else 20.
        """
        self._need_probabilities("make estimates")
        data, columns = self.data, [by] if isinstance(by, str) else list(by or ())
        check_domains(columns, data.rows, data.table, data.bins, data.options.target)
        number = max(2, data.options.imputations or USUAL_IMPUTATIONS)
        domains, labeled = domains_by(data, columns)
        with self.classifier._jobs():
            found: pd.DataFrame = self.classifier._imputer.estimates(domains, labeled, number, 0.95)
        alone = " alone, not of everybody whom the totals count" if data.about_totals else ""
        rows = f"{count(data.n_rows, 'row')} of {data.population}"
        found.attrs["whom"] = f"the shares are of the {rows}{alone}; intervals at a level of 95 %"
        places = [data.places_of(name, found[name]) for name in columns]
        keys = list(zip(*places, strict=True)) or [()] * len(found)
        return found.iloc[sorted(range(len(found)), key=keys.__getitem__)].reset_index(drop=True)

    @cached_property
    def published(self) -> list[pd.DataFrame]:
        """The tables of estimates that were asked for."""
        return [self.estimates(columns) for columns in self.data.options.tables_by]

    @cached_property
    def expected_accuracy(self) -> ExpectedAccuracy | None:
        """How many labels are expected to be right, with intervals, if imputations were asked for.

        It takes two imputations at least.
        """
        number = self.data.options.imputations
        return None if number is None or number < 2 else self.classifier.expected_accuracy(number)

    # What a report shows of rows and columns

    @cached_property
    def shown_rows(self) -> Ints:
        """The rows whose score and confidence a report shows: all, or a sample of very many.

        Rows whose label is known are not among them, unless all are.
        """
        rows = measures.rows_to_show(self.predictions.scores, self.data.options.random_state)
        known = np.full(len(rows), -1) if self.data.known is None else self.data.known[rows]
        return rows[known < 0] if np.any(known < 0) else rows

    @cached_property
    def population_sample(self) -> RowSample:
        """Rows of the population whose label is not known, as numbers."""
        return measures.sample_population(self.data, self.data.options.random_state)

    @cached_property
    def balance(self) -> pd.DataFrame:
        """The labeled sample against the population, column by column."""
        sample = np.asarray(self.population_sample.data)
        counts = np.array(list(self.counts.values()), dtype=float)
        if self.data.known is not None and self.data.n_open:
            counts -= np.bincount(self.data.known + 1, minlength=len(counts) + 1)[1:]
        return measures.find_balance(self.data, sample, counts)

    @cached_property
    def importance(self) -> tuple[pd.Series[float], int] | None:
        """How many labels change if a column is shuffled; None where that takes too long."""
        if not hasattr(self.classifier, "expected_confusion_"):
            return None
        model, codes = self.classifier.estimator_, self.predictions.codes
        seed = self.data.options.random_state
        return measures.find_importance(self.data, model, codes, self.population_sample, seed)

    @property
    def versions(self) -> dict[str, str]:
        """Versions of the packages that the labels depend on; of a solver where one may run."""
        found = versions()
        if not hasattr(self.classifier, "solution_"):
            found.pop("highspy", None)
        return found

    # In words, and in files

    @property
    def summary_lines(self) -> list[Line]:
        """What was done, as names and sentences, in the language that was asked for."""
        return in_language(summary_lines(self), self.data.options.language, names_of(self))

    def summary(self) -> str:
        """Return a summary of a few lines: labels and known totals, and the columns."""
        lines = self.summary_lines
        width = max(len(name) for name, _ in lines)
        return "\n".join(f"{name:<{width}}  {sentence}" for name, sentence in lines)

    def write(self, path: Any, *, force: bool = False, spreadsheet_safe: bool = False) -> None:
        """Write the labels to a file; nothing is there before all of it is.

        Parameters
        ----------
        path : path
            A name that ends in .csv, .tsv, .gz, .parquet, .xlsx, .jsonl, .sav or .dta. A name
            without an ending becomes a folder of Parquet files. Text is written as the unlabeled
            file is.
        force : bool
            Whether what is there may be replaced.
        spreadsheet_safe : bool
            Whether text in .csv that a spreadsheet would run as a formula gets an apostrophe, in
            cells and in the names of columns.
        """
        self._save(Outputs(labels=Path(path), spreadsheet_safe=spreadsheet_safe), force)

    def report(self, path: Any, *, force: bool = False) -> None:
        """Write a report: one page of HTML that needs nothing else, to a name that ends in .html.

        ``force`` is as in :meth:`write`.
        """
        self._save(Outputs(report=Path(path)), force)

    def save_model(self, path: Any, *, force: bool = False) -> None:
        """Write a model that labels other rows, to a name that ends in .skops.

        ``c2rf predict`` reads it; ``force`` is as in :meth:`write`.
        """
        self._save(Outputs(model=Path(path)), force)

    def _save(self, outputs: Outputs, force: bool) -> None:
        outputs.check(force=force)
        outputs.write(self, force=force)

    def write_report(self, path: Path) -> None:
        """Write the report to a place that was checked before."""
        path.write_text(make_page(self), encoding="utf-8")

    def write_model(self, path: Path) -> None:
        """Write the model to a place that was checked before."""
        data = self.data
        groups = [str(data.bins.get(str(name), name)) for name in data.groups.columns]
        target = data.options.target
        model = StoredModel(data.encoder, self.classifier, target, data.positive, groups)
        model.write(path)

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


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """The files of a result; they appear together or not at all."""

    labels: Path | None = None
    report: Path | None = None
    model: Path | None = None
    spreadsheet_safe: bool = False
    imputations: Path | None = None
    estimates: Sequence[Path] = ()
    long: bool = False

    @property
    def named(self) -> Mapping[str, Path]:
        """What each is, and where it goes."""
        each = {"output": self.labels, "report": self.report, "model": self.model}
        each["imputations"] = self.imputations
        for number, path in enumerate(self.estimates, start=1):
            each["estimates" if number == 1 else f"estimates {number}"] = path
        return {name: path for name, path in each.items() if path is not None}

    def lines(self) -> list[tuple[str, str]]:
        """Say where each goes."""
        return [(name, str(path)) for name, path in self.named.items()]

    def check(self, *, force: bool, inputs: Sequence[Path] = (), needed: bool = True) -> None:
        """Refuse what cannot be written, before any work is done."""
        if needed and not self.named:
            raise InputError(
                "say where the labels should go with --out; or --report, --save-model, "
                "--imputations-out, --estimates-out"
            )
        places = [os.path.realpath(path) for path in self.named.values()]
        if len(set(places)) < len(places):
            raise InputError(
                "--out, --report, --save-model, --imputations-out and --estimates-out must be "
                "different files"
            )
        checks = {"report": check_report, "model": _check_model}
        for name, path in self.named.items():
            if name == "output":
                check_labels_name(path, force=force, inputs=inputs)
            else:
                check_output(path, force=force, inputs=inputs)
                checks.get(name, check_writable)(path)

    def check_rows(self, data: PreparedData) -> None:
        """Refuse, before any work is done, more rows or longer texts than a format holds."""
        if self.labels is not None:
            check_size(self.labels, data.n_rows, len(data.shown) + len(PREDICTED))
            check_shown(self.labels, data.rows, data.shown)
        if self.imputations is not None:
            number = data.options.imputations or USUAL_IMPUTATIONS
            n_rows, n_columns = (
                (number * data.n_rows, 3) if self.long else (data.n_rows, 1 + number)
            )
            check_size(self.imputations, n_rows, n_columns)

    def _write_imputations(self, result: Any, path: Path) -> Counter[str]:
        safe, like = self.spreadsheet_safe, result.data.rows.dialect
        if not self.long:
            written: Counter[str] = result.imputation_parts.write(path, spreadsheet_safe=safe)
            return written
        with TableWriter(path, like, spreadsheet_safe=safe) as writer:
            for table in result.long_imputations():
                writer.write(table)
        return writer.cautions

    def write(self, result: Any, *, force: bool) -> Counter[str]:
        """Write all files; the report last, because it says how long the others took.

        Returns
        -------
        Counter
            What to be careful about in tables, see :class:`c2rf.data.write.TableWriter`.
        """
        safe = self.spreadsheet_safe
        labels = partial(result.predictions.write, spreadsheet_safe=safe)
        writers: dict[str, Callable[[Path], Any]] = {
            "output": labels,
            "imputations": partial(self._write_imputations, result),
            "model": result.write_model,
        }
        for name, path in self.named.items():
            if name.startswith("estimates"):
                place = self.estimates.index(path)
                writers[name] = partial(_write_estimates, result, place, safe)
        writers["report"] = result.write_report
        files = {name: self.named[name] for name in writers if name in self.named}
        in_base = self.labels is not None and is_database_table(self.labels)
        table = files.pop("output") if in_base else None
        folders = [path for path in [self.labels] if path is not None and is_folder(path)]
        returned: dict[str, Any] = {}
        with atomic_outputs(list(files.values()), force=force, folders=folders) as temporaries:
            for name, temporary in zip(files, temporaries, strict=True):
                with result.data.timed("writing"):
                    returned[name] = writers[name](temporary)
            if table is not None:
                labels(table, force=force)
        none: Counter[str] = Counter()
        return returned.get("output", none) + returned.get("imputations", none)


def _write_estimates(result: Any, number: int, safe: bool, path: Path) -> None:
    table, like = result.published[number].copy(), result.data.rows.dialect
    language, names = result.data.options.language, names_of(result)
    table.attrs["note"] = "\n".join(
        translated(f"{note}.", language, names) for note in measures.notes_of(table)
    )
    write_formatted(path, table, like, spreadsheet_safe=safe)


def check_estimates(options: Options, outputs: Outputs) -> None:
    """Refuse tables of estimates without a file each or a report, and files without a table."""
    tables, files = len(options.tables_by), len(outputs.estimates)
    if tables and not files and outputs.report is None:
        raise InputError(
            "--estimates-by makes a table for a file or a report; say where it should go with "
            "--estimates-out table.xlsx, or --report report.html"
        )
    if files and tables != files:
        raise InputError(
            f"--estimates-by is given {count(tables, 'time')} and --estimates-out "
            f"{count(files, 'time')}: the nth table goes to the nth file"
        )


def check_report(path: Path) -> None:
    """Refuse a name that a report cannot have."""
    _check_ending(path, "a report is a page of HTML", (".html", ".htm"))
    from c2rf.report import page

    page.need("report")


def _check_model(path: Path) -> None:
    _check_ending(path, "a model is a file of skops", (".skops",))
    need_skops()


def _check_ending(path: Path, what: str, endings: Sequence[str]) -> None:
    if path.suffix.lower() not in endings:
        raise InputError(f"{path}: {what}; give it a name that ends in {endings[0]}")
