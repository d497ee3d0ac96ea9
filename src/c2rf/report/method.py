"""The method: what is assumed, what learned from which columns, cautions, and how to repeat it.

The sections "What is assumed", "How it was done", "What to be careful about" and "How to repeat
it".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from c2rf._utils.text import count, listed_names, percent, proof, quoted, short
from c2rf.report.language import our_name
from c2rf.report.measures import (
    CALIBRATED_BY,
    MOST_SHOWN,
    how_likely,
    labeled_counts,
    used_as,
)
from c2rf.report.page import MOST_ROWS, Block, Table, Text, as_sentence

if TYPE_CHECKING:
    from c2rf.workflow.result import Classification

BASE_LEARNERS = {
    "trees": "extra trees on the columns",
    "rank-trees": "extra trees on ranks of numbers and on categories",
    "pca-trees": "extra trees on the columns and their principal components",
    "svc": "support vectors, Gaussian kernel",
    "rank-svc": "support vectors, Laplacian kernel of ranks",
    "linear-svc": "support vectors on the columns themselves",
    "boosting": "gradient boosting",
    "large-boosting": "gradient boosting of larger trees",
}
"""The base learners of the default classifier in words."""

FEW_LABELED = 10
"""Fewer labeled rows of a class than this say little about it."""
MANY_TIED = 0.05
"""The report mentions a larger share of rows with the same score."""
LOW_CONFIDENCE = 0.6
"""Below this confidence a label is little better than a coin."""
LOPSIDED = 0.2
"""The report mentions a column whose shares of empty cells in the two files differ by more."""


def assumptions_section(result: Classification) -> Iterator[Block]:
    """Say what must be true for the labels to be as good as this page says."""
    totals = (
        "" if _are_missed(result) else "The totals hold because labels were made to meet them. "
    )
    target = quoted(result.data.options.target)
    yield Text(
        f"{totals}Which rows got which label, and how many of them are right, rests on three "
        "assumptions that nothing on this page can prove:"
    )
    yield Text(
        [
            f"Within a class of {target}, labeled rows are like the rows to be labeled: a class "
            "may be in the sample too often or too rarely (the totals correct that), but its "
            "members in the sample must not be special in a way that the columns do not show. It "
            "breaks where, say, only the worst cases were ever labeled.",
            "What decides who was labeled is in the columns, or is the class itself. It breaks "
            "where rows were labeled because of something that is not in the table, and that goes "
            "with the class.",
            "The totals are true, and about exactly these rows: the same place, time and "
            "definition of the classes. A total that is off moves the labels near the cut-off.",
        ],
        "items",
    )


def _are_missed(result: Classification) -> bool:
    """Say whether a total of rows is missed; sums of weights are met as closely as weights can."""
    return result.data.weights is None and bool((result.totals_met["off"] != 0).any())


def method_section(result: Classification) -> Iterator[Block]:
    """Say who learned, from what, and how long it took."""
    yield from _forest(result) if hasattr(result.classifier, "solution_") else _ranking(result)
    yield _columns(result)
    language = result.data.options.language
    seconds = result.data.seconds.items()
    rows = [[our_name(step, language), f"{each:.2f} s"] for step, each in seconds]
    yield Table("Time", ["step", "time"], rows)


def _ranking(result: Classification) -> Iterator[Block]:
    classifier, in_groups = result.classifier, bool(result.data.groups.columns)
    added = "by adding a number to the log-probabilities of each class, the same for all rows"
    added += " of a group" * in_groups
    if result.data.weights is None:
        likely = how_likely(classifier.assignment_["gap"])
        how = f"The labels meet every total: {likely}. They are found {added}."
    else:
        how = (
            f"The labels are found {added}, and by swapping labels near the cut-off until the "
            "weights add up to the known totals as nearly as the answer says."
        )
    learned = "learned from the labeled rows how probable each class is."
    yield Text(f"{model_in_words(classifier.estimator_)} {learned} {how}")
    yield Text(as_sentence(CALIBRATED_BY[classifier.calibrated_by_]))
    if len(classifier.history_) > 1:
        yield _base_learners(classifier.history_, result.data.options.language)


def model_in_words(model: Any) -> str:
    """Say what kind of model it is: the name of its class is for programmers.

    Examples
    --------
    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> model_in_words(GradientBoostingClassifier())
    'A gradient boosting classifier'
    """
    steps = list(getattr(model, "named_steps", {"": model}).values())
    known = {
        "BlendClassifier": "A blend of different classifiers",
        "ExtraTreesClassifier": "A forest of extra trees",
        "HistGradientBoostingClassifier": "Gradient boosting",
        "LogisticRegression": "A logistic regression",
    }
    name = type(steps[-1]).__name__
    words = re.sub("(?<=[a-z])(?=[A-Z])", " ", name).lower()
    return known.get(name, f"{'An' if words[0] in 'aeiou' else 'A'} {words}")


def _base_learners(history: Sequence[Mapping[str, Any]], language: str) -> Table:
    rows = [
        [
            our_name(BASE_LEARNERS.get(entry["base_learner"], entry["base_learner"]), language),
            "" if entry["accuracy"] is None else percent(entry["accuracy"]),
            f"{100 * entry['weight']:.0f} %",
        ]
        for entry in history
    ]
    note = (
        "The accuracy is estimated from labeled rows that were held out, at the known totals; "
        "base learners that label well have more weight. The same rows calibrate the "
        "probabilities: what is expected of the labels should be near the best of these, and is "
        "true as far as the rows to be labeled are, within each class, like the labeled ones."
    )
    header = ["base learner", "estimated accuracy", "weight"]
    return Table("Base learners and their weights", header, rows, note)


def _forest(result: Classification) -> Iterator[Block]:
    solution, classifier = result.classifier.solution_, result.classifier
    trees = count(len(solution.weights), "tree")
    yield Text(
        f"{trees} were grown on the labeled rows. Instead of letting each count the same, each got "
        f"a weight between {classifier.lower:g} and {classifier.upper:g}, chosen so that the "
        "weighted votes add up to the known total."
    )
    yield Text(as_sentence(proof(solution, result.classifier)), "key")
    weights, shift = solution.weights, f" The score is shifted by {solution.offset:.4g}."
    yield Text(
        f"The weights are {weights.min():.4g} to {weights.max():.4g}, half of them at most "
        f"{np.median(weights):.4g}." + shift * bool(solution.offset)
    )
    rows = [
        ["distance from the total (eta)", f"{solution.eta:,}"],
        ["proven least distance (bound)", f"{solution.bound:,}"],
        ["status", solution.status],
    ]
    # A solver is named only where one ran.
    for name in ("method", "backend", "backend_version", "patterns"):
        if name in solution.stats:
            rows.append([name.replace("_", " "), str(solution.stats[name])])
    language = result.data.options.language
    rows = [[our_name(name, language), value] for name, value in rows]
    yield Table("The search for weights", ["what", "value"], rows)


def _columns(result: Classification) -> Table:
    language = result.data.options.language
    rows = (
        [
            c.name, our_name(used_as(c), language), f"{c.levels:,}",
            f"{c.missing[0]:,}", f"{c.missing[1]:,}",
            "" if c.kind == "numbers" else f"{c.unseen:,}",
        ]
        for c in result.data.columns
    )  # fmt: skip
    header = [
        "column", "used as", "different values", "empty in the sample", "empty in the population",
        "unseen in the population",
    ]  # fmt: skip
    note = (
        "Different values are those among the labeled; unseen are rows of the population with a "
        "text that no labeled row has."
    )
    title = "The columns that were learned from"
    return Table(title, header, rows, note, n_names=2)


def cautions_section(result: Classification) -> Iterator[Block]:
    """Say what could mislead."""
    found = find_cautions(result)
    if found:
        yield Text([short(entry, 1000) for entry in found[:MOST_ROWS]], "warnings")
    else:
        yield Text("Nothing that stands out.")
    least_certain = "the rows nearest to the cut-off are the least certain."
    if _are_missed(result):
        yield Text(f"Not each single label is right: {least_certain}")
    else:
        yield Text(
            "The labels are right in their totals. That does not make each single one right: "
            + least_certain
        )


def find_cautions(result: Classification) -> list[str]:
    """List what could mislead, the weightiest first."""
    about = (_about_totals, _about_sample, _about_scores, _about_columns)
    found = [entry for each in about for entry in each(result)]
    return [*found, *result.data.remarks, *_about_report(result)]


def _about_totals(result: Classification) -> Iterator[str]:
    data, bounds = result.data, result.bounds
    solution = getattr(result.classifier, "solution_", None)
    if solution is not None and solution.eta > 0:
        yield (
            "The total is missed. Rows on which all trees vote alike can only change sides "
            "together. More trees, an offset, or the method known-totals meet it."
        )
    for k, name in enumerate(data.classes):
        if bounds.lower[k] == bounds.upper[k] in (0, bounds.n_rows):
            every = "every" if bounds.upper[k] else "no"
            yield (
                f"The total says that {every} unlabeled row is {quoted(name)}: nothing is left "
                "to decide about it."
            )


def _about_sample(result: Classification) -> Iterator[str]:
    data = result.data
    few = [
        f"{quoted(name)} ({number:,})"
        for name, number in zip(data.classes, labeled_counts(data), strict=True)
        if number < FEW_LABELED
    ]
    if few:
        yield (
            f"Too few labeled rows of {', '.join(few[:10])}: below {FEW_LABELED} there is hardly "
            "anything to learn about a class. Totals are met all the same where they can be; who "
            "is of the class is guesswork."
        )
    if len(data.labels) < len(data.columns):
        yield (
            f"There are more columns ({len(data.columns):,}) than labeled rows "
            f"({len(data.labels):,}): something in them will agree with the classes by chance."
        )


def _about_scores(result: Classification) -> Iterator[str]:
    rows, found = result.shown_rows, result.predictions
    scores, confidence = found.scores[rows], found.confidence[rows]
    n = result.data.n_open

    def of_all(n_shown: int) -> int:
        """Return how many of all rows it is, if it is this many of those shown."""
        return round(n_shown * n / len(scores))

    has_probabilities = not hasattr(result.classifier, "solution_")
    decided = (confidence >= 1) & has_probabilities  # by totals that leave one class to a group
    values, sizes = np.unique(scores[~decided], return_counts=True)
    largest = of_all(int(sizes.max(initial=0)))
    if largest > max(2, MANY_TIED * n):
        yield (
            f"Many ties: {count(largest, 'row')} ({percent(largest / n)}) have one and the "
            f"same score, and there are only {count(len(values), 'different score')}. The "
            "classifier cannot tell such rows apart; do not rank within them."
        )
    against = of_all(int(np.sum(confidence < 0.5))) if has_probabilities else 0
    if against and len(result.data.classes) == 2:
        yield (
            f"Against the odds: {count(against, 'label')} ({percent(against / n)}) are less "
            "probable than the other class and were given because the total needs them."
        )
    unsure = of_all(int(np.sum(confidence < LOW_CONFIDENCE)))
    if unsure > n / 4:
        yield (
            f"{count(unsure, 'label')} ({percent(unsure / n)}) have a confidence below "
            f"{LOW_CONFIDENCE}: good for totals, not for decisions about single rows."
        )


def _about_columns(result: Classification) -> Iterator[str]:
    columns, n, n_labeled = result.data.columns, result.data.n_rows, len(result.data.labels)
    for column in columns:
        if column.unseen:
            yield (
                f"Unseen levels: {count(column.unseen, 'row')} of the population "
                f"({percent(column.unseen / n)}) have a value of {quoted(column.name)} "
                "that no labeled row has. They are judged by their other columns."
            )
    gaps = [c for c in columns if sum(c.missing)]
    if gaps:
        names = _listed([c.name for c in gaps])
        sample, population = (count(sum(c.missing[k] for c in gaps), "cell") for k in (0, 1))
        yield (
            f"Missing values: {sample} of the sample and {population} of the population are empty, "
            f"in {names}. They are not filled in: "
            "being empty is treated as a value of its own, which misleads if it means different "
            "things in the two files."
        )
    lopsided = [c for c in gaps if abs(c.missing[0] / n_labeled - c.missing[1] / n) > LOPSIDED]
    if lopsided:
        names = _listed([c.name for c in lopsided])
        yield f"Empty far more often in one file than in the other: {names}."


def _about_report(result: Classification) -> Iterator[str]:
    """Say what this page shows only in part, or rounded."""
    if result.data.weights is not None:
        yield "Rows have weights: counts and totals here are sums of weights, rounded."
    if result.data.n_rows > MOST_SHOWN:
        yield (
            f"Scores and confidences are shown for {MOST_SHOWN:,} rows drawn at random; totals and "
            f"the rows nearest to the cut-off are those of all {result.data.n_rows:,}."
        )


def _listed(names: Sequence[str]) -> str:
    return listed_names([quoted(name) for name in names])


def repeat_section(result: Classification) -> Iterator[Block]:
    """Say how to get the same labels again."""
    yield Text(result.command[:4000], "code")
    yield Text(
        f"The seed is {result.data.options.random_state}. The same files, command and versions "
        "give the same labels on the same machine for any number of jobs, unless a time limit ends "
        "the work early. Another kind of processor may round sums otherwise, and give rows near "
        "the boundary of two classes the other label; the totals are met there, too."
    )
    rows = [[name, version] for name, version in result.versions.items()]
    yield Table("Versions", ["package", "version"], rows)
