"""``c2rf.classify``: two tables and totals in, a result with labels, report and model out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from c2rf._utils.text import ENGINES, check_choice, for_user
from c2rf.data.dialect import ReadAs
from c2rf.estimators.imputing import check_n_imputations
from c2rf.exceptions import InputError
from c2rf.progress import report_progress, showing_progress
from c2rf.workflow.extras import check_sensitivity, check_task, find_sensitivity, imputation_parts
from c2rf.workflow.methods import LABELING_METHODS, check_options
from c2rf.workflow.options import HowAsked, Wishes
from c2rf.workflow.predictions import score_unlabeled
from c2rf.workflow.prepare import PreparedData, at_scheduler, prepare_data
from c2rf.workflow.result import Classification


def classify(
    labeled: Any,
    unlabeled: Any = None,
    *,
    target: str,
    totals: Any,
    id: str | None = None,
    drop: Sequence[str] = (),
    text: Sequence[str] = (),
    keep: Sequence[str] = (),
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    totals_policy: Literal["strict", "scale"] = "strict",
    weight: str | None = None,
    method: Literal["known-totals", "c2rf"] = "known-totals",
    learner: Literal["blend", "extra-trees", "logistic"] | None = None,
    trees: int | None = None,
    lower: float | None = None,
    upper: float | None = None,
    offset: tuple[float, float] | None = None,
    prefer: str | None = None,
    solve_method: str | None = None,
    backend: str | None = None,
    time_limit: float | None = None,
    engine: Literal["auto", "memory", "chunks", "dask"] = "auto",
    scheduler: str | None = None,
    imputations: int | None = None,
    sensitivity: float | Literal["se"] | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Classification:
    """Label rows so that the labels add up to known totals.

    Parameters
    ----------
    labeled : data frame or path
        Rows whose class is known.
    unlabeled : data frame, path, or population outside of memory, optional
        Rows to label, with the same columns but the target: a frame, a file or a folder of CSV or
        Parquet files, a pyarrow dataset, a Polars LazyFrame or a Dask DataFrame. Without, the rows
        of ``labeled`` whose target is empty. Where it has the target, that is used to score the
        labels.
    target : str
        The column of ``labeled`` with the class.
    totals : mapping, table, series, or list of these
        What is known of the unlabeled rows, as for :meth:`KnownTotalsClassifier.fit`. The groups
        of a table are columns of ``unlabeled``. A path is a file with such a table.
    id : str, optional
        A column that names the rows; it is not learned from.
    drop, text : sequence of str
        Columns not to learn from, and columns of numbers that are codes, like 70173.
    keep : sequence of str
        Columns to learn from that would be left out: ids and names that differ in nearly every
        row, and columns with one value or none.
    sep, decimal, encoding : str, optional
        Of text files: what is between cells, the decimal mark, and the encoding. Without, they
        are found by looking at the files.
    sheet : str, optional
        The sheet of a workbook; without, the first that can be seen.
    totals_policy : {"strict", "scale"}
        Refuse totals that do not add up, or rescale them.
    weight : str, optional
        The column that says how many people an unlabeled row stands for; totals are about people
        then. It is not learned from. Where ``labeled`` has it, too, labeled rows count by it in
        learning, judging and calibrating.
    method : {"known-totals", "c2rf"}
        Rank rows by probabilities, or weigh the votes of trees.
    learner : {"blend", "extra-trees", "logistic"}, optional
        Of the method known-totals: who ranks.
    trees, lower, upper, offset, prefer, solve_method, backend, time_limit
        Of the method c2rf: as in :class:`C2RFClassifier`, where they are ``n_estimators``,
        ``method`` and so on.
    engine : {"auto", "memory", "chunks", "dask"}
        Where the rows of a path are kept: in memory, or left in their files, in parts or for Dask.
        "auto" leaves folders and large files where they are. The result is the same.
    scheduler : str, optional
        The address of a Dask scheduler; by default Dask uses threads.
    imputations : int, optional
        Of the method known-totals: draw this number of sets of labels, each of which meets all
        totals (``result.imputations``), and give intervals in summary and report.
    sensitivity : float or "se", optional
        Of the method known-totals: label again with the totals of each class higher and lower by
        this share, such as 0.05, or by their standard errors. ``result.labels`` gets two more
        columns: ``robust``, whether the label is the same in all cases, and ``sensitive_to``, the
        classes on whose totals it hangs; summary and report tell of them.
    random_state : int
        The same seed gives the same result.
    n_jobs : int, optional
        Number of processors, -1 for all.
    verbose : bool
        Whether to print on standard error what is being done.

    Returns
    -------
    Classification
        With ``labels``, ``summary()``, ``report(path)``, ``write(path)`` and ``save_model(path)``.

    Examples
    --------
    >>> import c2rf
    >>> import pandas as pd
    >>> from c2rf.datasets import make_twonorm
    >>> X, y = make_twonorm(300, random_state=0)
    >>> people = pd.DataFrame(X).add_prefix("x").assign(sick=y)
    >>> result = c2rf.classify(
    ...     people[:60], people[60:].drop(columns="sick"), target="sick", totals={1: 100},
    ...     method="c2rf", trees=5,
    ... )
    >>> result.labels.columns[-3:].tolist()
    ['label', 'score', 'confidence']
    >>> print(result.summary())
    labeled    60 rows
    unlabeled  240 rows
    label 0    141 (known: 140)
    label 1    99 (known: 100)
    proof      no weighting of these 5 trees comes closer than 1
    """
    options = {
        "learner": learner, "trees": trees, "lower": lower, "upper": upper,
        "offset": offset, "prefer": prefer, "solve_method": solve_method, "backend": backend,
        "time_limit": time_limit,
    }  # fmt: skip
    wishes = Wishes(
        target=target,
        id=id,
        drop=drop,
        text=text,
        keep=keep,
        weight=weight,
        policy=totals_policy,
        engine=engine,
        how=ReadAs(sep, decimal, encoding, sheet),
    )
    asked = HowAsked(
        method=method,
        options={name: value for name, value in options.items() if value is not None},
        seed=random_state,
        command=f"c2rf.classify(..., random_state={random_state})",
        imputations=imputations,
        sensitivity=sensitivity,
        n_jobs=n_jobs,
    )
    with showing_progress(verbose), at_scheduler(scheduler, engine, n_jobs):
        return answer(prepare(labeled, unlabeled, totals, wishes, asked), asked)


def prepare(
    labeled: Any, unlabeled: Any, totals: Any, wishes: Wishes, asked: HowAsked
) -> PreparedData:
    """Read and check everything, before any work is done."""
    check_choice("engine", wishes.engine, ENGINES)
    check_choice("totals_policy", wishes.policy, ("strict", "scale"))
    check_options(asked.method, asked.options)
    _check_imputations(asked)
    check_sensitivity(asked)
    with asked.timed("reading and checking"):
        report_progress("reading and checking the tables")
        task = prepare_data(labeled, unlabeled, totals, wishes)
        _ = task.shown  # an output must not have columns twice
    LABELING_METHODS[asked.method].check(task)
    check_task(task, asked)
    return task


def answer(task: PreparedData, asked: HowAsked) -> Classification:
    """Learn from the labeled rows and label the others; Ctrl-C ends it without an answer."""
    with asked.timed("learning and labeling"):
        options = dict(asked.options) | {"random_state": asked.seed}
        classifier = LABELING_METHODS[asked.method].fit(task, options, asked.n_jobs)
        solution = getattr(classifier, "solution_", None)
        if solution is not None and solution.stats.get("interrupted"):
            raise KeyboardInterrupt
        report_progress("scoring the labels")
        scored = score_unlabeled(classifier, task.positive)
    if asked.imputations is not None:
        with asked.timed("drawing imputations"):
            imputation_parts(task, classifier, asked.imputations)
    hangs = None
    if asked.sensitivity is not None:
        with asked.timed("labeling with other totals"):
            hangs = find_sensitivity(classifier, asked)
    return Classification(task, classifier, scored, asked, hangs)


def _check_imputations(asked: HowAsked) -> None:
    """Refuse numbers of imputations that make no sense, and a method that has none."""
    if asked.imputations is None:
        return
    check_n_imputations(asked.imputations)
    if asked.method != "known-totals":
        raise InputError(
            f"{for_user('imputations', '--imputations')} is not possible with the method "
            f"{asked.method}, which has no probabilities; use the method known-totals"
        )
