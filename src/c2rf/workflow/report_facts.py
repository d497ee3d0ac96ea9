"""From a classification to the facts of its report: of many rows a sample, and the nearest ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from c2rf._utils.frames import as_pandas
from c2rf._utils.text import quoted, short
from c2rf._utils.types import Ints
from c2rf.data.cells import as_text
from c2rf.data.population.interface import Chunk, random_rows
from c2rf.inference.accuracy import ExpectedAccuracy
from c2rf.report.facts import (
    NEAREST,
    AdjustmentFact,
    Facts,
    FeatureFact,
    ForestFact,
    RankingFact,
    RightFact,
)
from c2rf.totals.bounds import Bounds
from c2rf.totals.stated import read_stated
from c2rf.workflow.extras import balance, importance, population_sample
from c2rf.workflow.model_file import versions
from c2rf.workflow.predictions import Predictions
from c2rf.workflow.prepare import PreparedData
from c2rf.workflow.summary import usage

MOST_SHOWN = 100_000
"""The most rows whose score and confidence a report shows; of more, it draws this number."""

MOST_LEFT_OUT = 20
"""How many columns that were left out are named."""


def make_facts(
    task: PreparedData,
    classifier: Any,
    scored: Predictions,
    command: str,
    most_shown: int = MOST_SHOWN,
) -> Facts:
    """Collect what a report tells, the same wherever the rows are.

    Parameters
    ----------
    task, classifier, scored, command
        Those of a :class:`~c2rf.workflow.result.Classification`.
    most_shown : int
        Of more rows than this, this number is drawn at random.
    """
    rows = rows_to_show(scored, most_shown, task.options.random_state)
    classes = np.array(task.classes, dtype=object)
    return Facts(
        labeled_file=task.names[0],
        unlabeled_file=task.names[1],
        target=task.options.target,
        method=task.options.method,
        classes=task.classes,
        sample=task.labels,
        bounds=task.bounds if task.weights is None else _whole(task.bounds),
        group=", ".join(map(str, task.groups.columns)) or None,
        group_names=[_written(name) for name in task.groups.names],
        groups=np.asarray(task.groups.codes[rows], dtype=np.int64),
        labels=classes[scored.codes[rows]],
        scores=np.asarray(scored.scores[rows]),
        confidence=np.asarray(scored.confidence[rows]),
        positive=task.positive,
        names=_names(task, rows),
        features=[
            FeatureFact(c.name, usage(c), c.kind != "numbers", c.levels, c.missing, c.unseen)
            for c in task.columns
        ],
        command=command,
        seed=task.options.random_state,
        versions=versions(),
        seconds=task.seconds,
        forest=_forest(classifier),
        ranking=_ranking(task, classifier),
        remarks=[*task.remarks, *_remarks(task, len(rows), most_shown)],
        all_counts=_counts(task, scored),
        notes=_notes(task),
        changes=_changes(task),
        stated=_stated(task),
        remainder=_remainder(task, classifier),
        **_compared(task, classifier, scored, task.options.random_state),
    )


def _compared(
    task: PreparedData, classifier: Any, scored: Predictions, seed: int
) -> dict[str, Any]:
    """Compare labeled rows with a sample of all, and shuffle its columns."""
    drawn = population_sample(task, seed)
    counts = np.bincount(scored.codes, minlength=len(task.classes)).astype(float)
    found: dict[str, Any] = {"balance": balance(task, np.asarray(drawn.data), counts)}
    if hasattr(classifier, "expected_confusion_"):
        found["confusion"] = classifier.expected_confusion_
        found["importance"] = importance(task, classifier, scored, drawn, seed)
    return found


def _changes(task: PreparedData) -> list[AdjustmentFact]:
    """Return the totals that had to be moved."""
    found = []
    for change in task.bounds.adjustments:
        by = f"{change.after - change.before:+,.6g}"
        if change.standard_errors is not None:
            by += f" ({change.standard_errors:+.1f} standard errors)"
        before, after = f"{change.before:,.6g}", f"{change.after:,.6g}"
        found.append(AdjustmentFact(change.where, str(change.label), before, after, by))
    return found


def _stated(task: PreparedData) -> set[str]:
    """Return the classes of which an overall total was given that says anything."""
    n = task.bounds.n_rows
    said = {k: read_stated(total, n, str(k), "scale") for k, total in task.totals.overall.items()}
    return {str(k) for k, each in said.items() if each.low > 0 or each.high < n}


def _remainder(task: PreparedData, classifier: Any) -> float | None:
    """Return how far sums of weights are off their totals, None where rows have no weights."""
    return None if task.weights is None else float(classifier.totals_met_["off"].abs().max())


def right_facts(
    task: PreparedData, scored: Predictions, expected: ExpectedAccuracy
) -> list[RightFact]:
    """Return how many labels are right, with intervals: of all, by class and by group."""
    sizes = np.bincount(scored.codes, minlength=len(task.classes))
    groups = np.bincount(task.groups.codes, minlength=len(task.groups.names))
    found = [("all", "all", task.n_rows, expected.overall)]
    for k, name in enumerate(task.classes):
        if name in expected.by_class:
            found.append(("class", name, int(sizes[k]), expected.by_class[name]))
    for g, group in enumerate(task.groups.names):
        if group in expected.by_group:
            found.append(("group", _written(group), int(groups[g]), expected.by_group[group]))
    return [
        RightFact(kind, name, size, p.estimate, p.low, p.high, p.level)
        for kind, name, size, p in found
    ]


def rows_to_show(scored: Predictions, most: int, seed: int) -> Ints:
    """Return the numbers of rows drawn at random, and of those nearest to the cut-off."""
    drawn = random_rows(len(scored.codes), most, [seed, 5])
    nearest = np.argsort(np.abs(scored.scores), kind="stable")[:NEAREST]
    return np.union1d(drawn, nearest)


def _notes(task: PreparedData) -> list[str]:
    """Say how files were read, and which columns were left out."""
    read = [f"{short(name, 80)} was read as: {said}." for name, said in dict(task.read_as).items()]
    left = [f"{quoted(name)} {why}" for name, why in list(task.left_out.items())[:MOST_LEFT_OUT]]
    more = len(task.left_out) - len(left)
    after = f", and {more:,} more" if more else ""
    return read + ([f"Not learned from: {'; '.join(left)}{after}."] if left else [])


def _counts(task: PreparedData, scored: Predictions) -> Ints:
    """Return how many rows of each group got each label."""
    counts = np.zeros((len(task.groups.names), len(task.classes)))
    each = 1 if task.weights is None else task.weights
    np.add.at(counts, (task.groups.codes, scored.codes), each)
    return np.rint(counts).astype(np.int64)


def _whole(bounds: Bounds) -> Bounds:
    """Return bounds of sums of weights as a report shows them, in whole people."""
    lower, upper, group_lower, group_upper, sizes = (
        np.rint(values).astype(np.int64)
        for values in (
            bounds.lower, bounds.upper, bounds.group_lower, bounds.group_upper, bounds.group_sizes,
        )
    )  # fmt: skip
    return Bounds(lower, upper, group_lower, group_upper, sizes)


def _written(group: Any) -> str:
    if group is None:
        return "all"
    return ", ".join(group) if isinstance(group, tuple) else str(group)


def _remarks(task: PreparedData, n_shown: int, most: int) -> list[str]:
    remarks = []
    if task.weights is not None:
        remarks.append("Rows have weights: counts and totals here are sums of weights, rounded.")
    if task.n_rows <= most:
        return remarks
    return [
        *remarks,
        f"Scores and confidences are shown for {most:,} rows drawn at random; totals and the rows "
        f"nearest to the cut-off are those of all {task.n_rows:,}.",
    ]


def _names(task: PreparedData, rows: Ints) -> list[str]:
    """Return what to call some rows: by their ids, else by their numbers, from 1."""
    if task.options.id is None:
        return [str(row + 1) for row in rows]
    found: pd.Series[Any] = task.rows.reduce(
        _Pick(rows, task.options.id), pd.concat, [task.options.id]
    )
    return found.tolist()


@dataclass(frozen=True, eq=False)
class _Pick:
    """The work of picking the ids of some rows."""

    rows: Ints
    id: str

    def __call__(self, chunk: Chunk) -> pd.Series[Any]:
        table = as_pandas(chunk.data)
        ends: Sequence[int] = (chunk.start, chunk.start + len(table))
        first, last = np.searchsorted(self.rows, ends)
        own = self.rows[first:last] - chunk.start
        return as_text(table[self.id].iloc[own]).fillna("")


def _ranking(task: PreparedData, classifier: Any) -> RankingFact | None:
    if not hasattr(classifier, "history_"):
        return None
    offsets = dict(zip(task.classes, map(float, classifier.offsets_), strict=True))
    return RankingFact(_in_words(classifier.estimator_), offsets, classifier.history_)


def _in_words(model: Any) -> str:
    """Say what kind of model it is: the name of its class is for programmers.

    Examples
    --------
    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> _in_words(GradientBoostingClassifier())
    'A gradient boosting classifier'
    """
    steps = list(getattr(model, "named_steps", {"": model}).values())
    known = {
        "BlendClassifier": "A blend of different classifiers",
        "ExtraTreesClassifier": "A forest of extra trees",
        "LogisticRegression": "A logistic regression",
    }
    name = type(steps[-1]).__name__
    words = re.sub("(?<=[a-z])(?=[A-Z])", " ", name).lower()
    return known.get(name, f"{'An' if words[0] in 'aeiou' else 'A'} {words}")


def _forest(classifier: Any) -> ForestFact | None:
    solution = getattr(classifier, "solution_", None)
    return None if solution is None else ForestFact(solution, classifier.lower, classifier.upper)
