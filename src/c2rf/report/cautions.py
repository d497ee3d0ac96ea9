"""What a reader should be careful about, each with its reason."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from c2rf._utils.text import count, listed_names, percent, quoted
from c2rf.report.facts import Facts

FEW_LABELED = 10
"""Fewer labeled rows of a class than this say little about it."""
MANY_TIED = 0.05
"""A larger share of rows with one and the same score is worth telling."""
MANY_UNSURE = 0.6
"""Below this confidence a label is little better than a coin."""


def cautions(facts: Facts) -> list[str]:
    """List what could mislead, the weightiest first."""
    found = [*_total(facts), *_sample(facts), *_ties(facts), *_columns(facts), *_groups(facts)]
    return [*found, *facts.remarks]


def _total(facts: Facts) -> Iterator[str]:
    if facts.forest is not None and facts.forest.solution.eta > 0:
        solution = facts.forest.solution
        if solution.status == "optimal":
            yield (
                f"The total is not attainable with these trees: {solution.eta:,} off is the "
                "closest any weighting gets, because rows on which all trees vote alike "
                "can only change sides together. More trees, an offset, or the method "
                "known-totals meet it."
            )
        else:
            yield (
                f"The search was stopped before the end: the labels are {solution.eta:,} off the "
                f"total, and only {solution.bound:,} is proven to be unavoidable. "
                "More time may help."
            )
    for place, name in enumerate(facts.classes):
        if facts.bounds.lower[place] == facts.bounds.upper[place] in (0, facts.n):
            every = "every" if facts.bounds.upper[place] else "no"
            yield (
                f"The total says that {every} unlabeled row is {quoted(name)}: nothing is left "
                "to decide about it."
            )


def _sample(facts: Facts) -> Iterator[str]:
    few = [
        f"{quoted(name)} ({number:,})"
        for name, number in zip(facts.classes, facts.sample_counts, strict=True)
        if number < FEW_LABELED
    ]
    if few:
        yield (
            f"Too few labeled rows of {', '.join(few[:10])}: below {FEW_LABELED} there is hardly "
            "anything to learn about a class. The total is met all the same; who is in it is "
            "guesswork."
        )
    if len(facts.sample) < len(facts.features):
        yield (
            f"There are more columns ({len(facts.features):,}) than labeled rows "
            f"({len(facts.sample):,}): something in them will agree with the classes by chance."
        )


def _ties(facts: Facts) -> Iterator[str]:
    scores, sizes = np.unique(facts.scores, return_counts=True)
    largest = facts.of_all(int(sizes.max()))
    if largest > max(2, MANY_TIED * facts.n):
        yield (
            f"Many ties: {count(largest, 'row')} ({percent(largest / facts.n)}) have one and the "
            f"same score, and there are only {count(len(scores), 'different score')}. The "
            "classifier cannot tell such rows apart; do not rank within them."
        )
    against = int(np.sum(facts.confidence < 0.5)) if facts.ranking is not None else 0
    against = facts.of_all(against)
    if against and len(facts.classes) == 2:
        yield (
            f"Against the odds: {count(against, 'label')} ({percent(against / facts.n)}) are less "
            "probable than the other class and were given because the total needs them."
        )
    unsure = facts.of_all(int(np.sum(facts.confidence < MANY_UNSURE)))
    if unsure > facts.n / 4:
        yield (
            f"{count(unsure, 'label')} ({percent(unsure / facts.n)}) have a confidence below "
            f"{MANY_UNSURE}: good for totals, not for decisions about single rows."
        )


def _columns(facts: Facts) -> Iterator[str]:
    n_labeled = len(facts.sample)
    yield from _of(
        [f.name for f in facts.features if f.levels <= 1],
        "Nothing can be learned from the column {}: all labeled rows have the same value.",
        "Nothing can be learned from the columns {}: all labeled rows have the same values.",
    )
    yield from _of(
        [f.name for f in facts.features if f.is_text and f.levels > max(20, 0.9 * n_labeled)],
        "The column {} differs in almost every labeled row. If it is an id, leave it out with "
        "--drop.",
        "The columns {} differ in almost every labeled row. If they are ids, leave them out with "
        "--drop.",
    )
    for feature in facts.features:
        if feature.unseen:
            yield (
                f"Unseen levels: {count(feature.unseen, 'unlabeled row')} "
                f"({percent(feature.unseen / facts.n)}) have a value of {quoted(feature.name)} "
                "that no labeled row has. They are judged by their other columns."
            )
    yield from _gaps(facts)


def _gaps(facts: Facts) -> Iterator[str]:
    n_labeled = len(facts.sample)
    gaps = {f.name: f.missing for f in facts.features if sum(f.missing)}
    if gaps:
        labeled, unlabeled = (sum(pair[k] for pair in gaps.values()) for k in (0, 1))
        yield (
            f"Missing values: {count(labeled, 'labeled cell')} and "
            f"{count(unlabeled, 'unlabeled cell')} are empty, in "
            f"{_listed(list(gaps))}. They are not filled in: being empty is "
            "treated as a value of its own, which misleads if it means different things in the "
            "two files."
        )
    lopsided = [
        f.name
        for f in facts.features
        if abs(f.missing[0] / n_labeled - f.missing[1] / facts.n) > 0.2
    ]
    more_often = "empty far more often in one file than in the other."
    yield from _of(
        lopsided, f"The column {{}} is {more_often}", f"The columns {{}} are {more_often}"
    )


def _of(names: list[str], one: str, several: str) -> Iterator[str]:
    if names:
        yield (one if len(names) == 1 else several).format(_listed(names))


def _groups(facts: Facts) -> Iterator[str]:
    if facts.group is None or facts.bounds.margins:  # no group of several margins has its own
        return
    bounds = facts.bounds
    free = (bounds.group_lower == 0) & (bounds.group_upper >= bounds.group_sizes[:, None])
    open_groups = [
        name for name, all_free in zip(facts.group_names, free.all(axis=1), strict=True) if all_free
    ]
    if open_groups:
        yield (
            f"{count(len(open_groups), 'group')} of {quoted(facts.group)} without a total of "
            f"their own: {_listed(open_groups)}."
        )


def _listed(names: list[str]) -> str:
    return listed_names([quoted(name) for name in names])
