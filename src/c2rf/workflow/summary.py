"""What was done, or would be done, in a few lines of words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from c2rf._utils.text import count, for_user, listed_names, percent, proof, short, span
from c2rf.assignment import PROVEN
from c2rf.data.profile import ColumnProfile
from c2rf.report.facts import UNRELIABLE

if TYPE_CHECKING:
    from c2rf.inference.accuracy import ExpectedAccuracy
    from c2rf.workflow.predictions import Accuracy
    from c2rf.workflow.prepare import PreparedData


MOST_COLUMNS = 20
"""The most columns, and the most changed totals, that are named."""

Line = tuple[str, str]
"""A name, and what there is to say about it."""


def plan_lines(task: PreparedData) -> list[Line]:
    """Say what would be done."""
    return [*_data(task), ("method", task.options.method), *_known(task), *_columns(task)]


def summary_lines(
    task: PreparedData,
    classifier: Any,
    counts: Mapping[str, int],
    accuracy: Accuracy | None = None,
    expected: ExpectedAccuracy | None = None,
) -> list[Line]:
    """Say what was done, given how many rows got each label."""
    lines, bounds = _data(task), task.bounds
    in_all = _in_all(task)
    what = "known" if task.weights is None else "known in sums of weights"
    ends = zip(bounds.lower, bounds.upper, strict=True)
    for (name, n), (low, high) in zip(counts.items(), ends, strict=True):
        known = f"{what}: {span(round(low), round(high), in_all)}"
        lines.append((f"label {short(name)}", f"{n:,} ({known})"))
    lines += [*_groups(task), *_how_met(task, classifier)]
    if accuracy is not None:
        lines.append(("accuracy", str(accuracy)))
    lines += _right(task, classifier, expected)
    solution = getattr(classifier, "solution_", None)
    if solution is not None:
        lines.append(("proof", proof(solution)))
    return [*lines, *_columns(task)]


def _right(task: PreparedData, classifier: Any, expected: ExpectedAccuracy | None) -> list[Line]:
    """Say how many labels are expected to be right, and of which classes too few."""
    confusion = getattr(classifier, "expected_confusion_", None)
    if confusion is None:
        return []
    labels = confusion.sum(axis=1)
    about = f"about {percent(confusion.trace() / labels.sum())} of the labels"
    if expected is not None:
        found = expected.overall
        about = (
            f"{percent(found.estimate)} of the labels, with an interval from "
            f"{percent(found.low)} to {percent(found.high)}"
        )
    lines = [("right", about)]
    bad = [
        f"{short(name)} ({percent(confusion[k, k] / labels[k])})"
        for k, name in enumerate(task.classes)
        if labels[k] > 0 and confusion[k, k] / labels[k] < UNRELIABLE
    ]
    if bad:
        few = f"fewer than {percent(UNRELIABLE)} of these labels are expected to be right"
        lines.append(("unreliable", f"{listed_names(bad)}: {few}"))
    return [*lines, *_imputations(classifier)]


HOW_DRAWN = {
    "exact": "all meet the totals; drawn exactly",
    "markov-chain": "all meet the totals; approximate, drawn by a Markov chain",
    "perturb-and-map": (
        "all meet the totals as nearly as weights allow; approximate, the likeliest labels for "
        "probabilities with random noise (perturb-and-MAP)"
    ),
}
"""What a summary says of imputations, by how they were drawn."""


def _imputations(classifier: Any) -> list[Line]:
    """Say how imputations were drawn, if they were."""
    method = getattr(classifier, "imputation_method_", None)
    return [] if method is None else [("imputations", HOW_DRAWN[method])]


def _how_met(task: PreparedData, classifier: Any) -> list[Line]:
    """Say how crossing margins and weighted totals were met, and which totals were moved."""
    changes = task.bounds.adjustments
    lines = [("total moved", str(change)) for change in changes[:MOST_COLUMNS]]
    if len(changes) > MOST_COLUMNS:
        lines.append(("totals moved", f"and {len(changes) - MOST_COLUMNS:,} more"))
    stats = getattr(classifier, "assignment_", {})
    if task.weights is not None and stats:
        off = classifier.totals_met_["off"].abs().max()
        proven = "; no labels come closer" if stats["closest"] else ""
        total = f"{task.weights.sum():,.6g}"
        lines.append(("weights", f"they add up to {total}; totals met to {off:.3g} each{proven}"))
    elif task.bounds.margins and stats:
        near = (
            "no labels that meet them are likelier (proven)"
            if stats["gap"] <= PROVEN
            else f"within {stats['gap']:.2g} of the highest log-likelihood (proven)"
        )
        lines.append(("margins", f"all {len(task.bounds.margins)} met in whole rows; {near}"))
    return lines


def as_text(lines: Sequence[Line]) -> str:
    """Write lines below each other.

    Examples
    --------
    >>> print(as_text([("labeled", "3 rows"), ("unlabeled", "9 rows")]))
    labeled    3 rows
    unlabeled  9 rows
    """
    width = max(len(name) for name, _ in lines)
    return "\n".join(f"{name:<{width}}  {sentence}" for name, sentence in lines)


def usage(column: ColumnProfile) -> str:
    """Say what a column is used as."""
    if column.kind == "numbers":
        return "a number"
    if column.kind == "dates":
        return "a date: days, year, and month as a cycle"
    values = count(column.levels, "value")
    if column.kind == "one-hot":
        return f"text with {values}, a column of 0 and 1 for each"
    return f"text with {values}, coded by alphabetical rank; probably not useful"


def _data(task: PreparedData) -> list[Line]:
    weighted = "" if task.labeled_weights is None else ", learned from by their weights"
    return [
        *(("read as", f"{name}: {said}") for name, said in dict(task.read_as).items()),
        ("labeled", count(len(task.labels), "row") + weighted),
        ("unlabeled", count(task.n_rows, "row")),
    ]


def _in_all(task: PreparedData) -> int:
    """Return how many rows, or people, totals are about."""
    return task.n_rows if task.weights is None else round(task.weights.sum())


def _known(task: PreparedData) -> list[Line]:
    bounds = task.bounds
    ends = zip(task.classes, bounds.lower, bounds.upper, strict=True)
    lines = [
        (f"total of {short(name)}", span(round(low), round(high), _in_all(task)))
        for name, low, high in ends
    ]
    return [*lines, *_groups(task)]


def _groups(task: PreparedData) -> list[Line]:
    """Say which groups have totals."""
    return [
        (
            "groups",
            f"{count(len(margin.by_group), 'group')} of {', '.join(map(str, margin.columns))} "
            "with totals",
        )
        for margin in task.totals.margins
    ]


def _columns(task: PreparedData) -> list[Line]:
    """Tell of columns that are not simply numbers, and what else to be careful about."""
    lines = [
        (f"column {short(column.name)}", "; ".join(what))
        for column in task.columns
        if (what := _what_is_special(column))
    ]
    left = len(lines) - MOST_COLUMNS
    more = [("columns", f"and {left} more that are not plain numbers")] if left > 0 else []
    remarks = [("careful", remark) for remark in task.remarks]
    return [*lines[:MOST_COLUMNS], *more, *_chosen(task), *remarks]


def _chosen(task: PreparedData) -> list[Line]:
    """Tell of columns that were left out, and of numbers that look like codes."""
    lines = []
    for why in dict.fromkeys(task.left_out.values()):
        names = [name for name, reason in task.left_out.items() if reason == why]
        back = for_user(f"keep=[{names[0]!r}]", f"--keep {names[0]}")
        said = ", ".join(short(name) for name in names[:MOST_COLUMNS])
        more = f" and {len(names) - MOST_COLUMNS} more" if len(names) > MOST_COLUMNS else ""
        lines.append(("left out", f"{said}{more}: {why} ({back} brings it back)"))
    for name in task.codes[:MOST_COLUMNS]:
        option = for_user(f"text=[{name!r}]", f"--text {name}")
        lines.append(
            (f"column {short(name)}", f"numbers that look like codes; if they are, use {option}")
        )
    return lines


def _what_is_special(column: ColumnProfile) -> list[str]:
    found = []
    if column.kind != "numbers":
        found.append(usage(column))
    if sum(column.missing):
        cells = count(sum(column.missing), "empty cell")
        found.append(f"{cells}, treated as a value of their own")
    if column.unseen:
        found.append(f"{count(column.unseen, 'row')} with a value that no labeled row has")
    return found
