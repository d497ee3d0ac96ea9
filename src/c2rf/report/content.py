"""The sections of a report in words, tables and pictures."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from c2rf.report import figures
from c2rf.report.cautions import cautions
from c2rf.report.facts import NEAREST, Facts, RankingFact
from c2rf.report.parts import Code, Grid, Page, Picture, Section, Text, Warnings
from c2rf.words import count, percent, quoted, short, span

MOST_ROWS = 200
"""Longest table of classes, groups or columns."""

Part = Text | Grid | Picture | Warnings | Code


def make_content(facts: Facts) -> Page:
    """Put the report together."""
    sections = [
        Section("data", "The question and the data", list(_data(facts))),
        Section("answer", "The answer", list(_answer(facts))),
        Section("sure", "How sure it is", list(_sure(facts))),
        Section("how", "How it got there", list(_how(facts))),
        Section("careful", "What to be careful about", list(_careful(facts))),
        Section("repeat", "How to repeat it", list(_repeat(facts))),
    ]
    return Page(f"Labels for {short(facts.unlabeled_file, 80)}", _lead(facts), sections)


def _lead(facts: Facts) -> str:
    off = _off(facts)
    met = "exactly" if off == 0 else f"{off:,} away from"
    return (
        f"{count(facts.n, 'row')} got a label of {quoted(facts.target)}: {_amounts(facts)}. "
        f"That is {met} what was known."
    )


def _amounts(facts: Facts) -> str:
    totals = facts.counts.sum(axis=0)
    order = np.argsort(-totals, kind="stable")[:5]
    said = [f"{totals[k]:,} {quoted(facts.classes[k])}" for k in order]
    return ", ".join(said) + (", …" if len(totals) > len(order) else "")


def _off(facts: Facts) -> int:
    """Return how many rows are on the wrong side of a known total, overall or in a group."""

    def outside(given: np.ndarray, low: np.ndarray, high: np.ndarray) -> int:
        return int(np.maximum(low - given, 0).sum() + np.maximum(given - high, 0).sum())

    bounds = facts.bounds
    overall = outside(facts.counts.sum(axis=0), bounds.lower, bounds.upper)
    # With two classes, one too many is one too few of the other.
    overall = -(-overall // 2) if len(facts.classes) == 2 else overall
    return max(overall, outside(facts.counts, bounds.group_lower, bounds.group_upper))


def _data(facts: Facts) -> Iterator[Part]:
    yield Text(
        f"{count(len(facts.sample), 'labeled row')} of {short(facts.labeled_file, 80)} say how "
        f"{quoted(facts.target)} goes with {count(len(facts.features), 'column')}. "
        f"{count(facts.n, 'row')} of {short(facts.unlabeled_file, 80)} have no label, "
        "but it is known how many of them there are of each class."
    )
    yield Text(_bias(facts), key=True)
    yield Picture(
        figures.shares(facts),
        "The closer the grey bars are to the others, the better the sample represents the rows "
        "to be labeled." + _left_out(len(facts.classes), figures.MOST_BARS, "classes"),
    )


def _bias(facts: Facts) -> str:
    """Say how far the sample is from what is known."""
    bounds = facts.bounds
    sample = facts.sample_counts / len(facts.sample)
    low, high = bounds.lower / facts.n, bounds.upper / facts.n
    apart = np.maximum(low - sample, 0) + np.maximum(sample - high, 0)
    # Of equal distances, that of a class which the sample has too often.
    worst = int(np.lexsort((high - sample, -apart.round(9)))[0])
    name = facts.classes[worst]
    if apart[worst] < 0.01:
        return "The labeled sample has each class about as often as the known totals do."
    known = percent(low[worst]) if low[worst] == high[worst] else (
        f"{percent(low[worst])} to {percent(high[worst])}"
    )  # fmt: skip
    return (
        f"The labeled sample is biased: {percent(sample[worst])} of it are {quoted(name)}, but of "
        f"the rows to be labeled {known} are. That is {100 * apart[worst]:.1f} percentage points "
        "apart, and a classifier that only learns from the sample would carry it on."
    )


def _answer(facts: Facts) -> Iterator[Part]:
    given, bounds = facts.counts.sum(axis=0), facts.bounds
    rows = [
        [
            short(name), f"{sample:,}", span(int(low), int(high), facts.n), f"{labels:,}",
            percent(labels / facts.n), _difference(labels, low, high),
        ]
        for name, sample, low, high, labels in zip(
            facts.classes, facts.sample_counts, bounds.lower, bounds.upper, given, strict=True
        )
    ]  # fmt: skip
    header = ["class", "labeled sample", "known total", "labels given", "share", "off by"]
    note = _left_out(len(rows), MOST_ROWS, "classes").strip()
    yield Text(_lead(facts), key=True)
    yield Grid("Labels and known totals", header, rows[:MOST_ROWS], note)
    if facts.group is not None:
        yield from _by_group(facts, facts.group)


def _difference(given: int, low: int, high: int) -> str:
    return f"{given - min(max(given, low), high):+,}" if not low <= given <= high else "0"


def _by_group(facts: Facts, group: str) -> Iterator[Part]:
    bounds = facts.bounds
    free = (bounds.group_lower == 0) & (bounds.group_upper >= bounds.group_sizes[:, None])
    # The class that most is known of; of several, the largest.
    place = int(np.lexsort((-facts.counts.sum(axis=0), free.sum(axis=0)))[0])
    yield Picture(
        figures.groups(facts, place),
        f"Share of {quoted(facts.classes[place])} in each group of {quoted(group)}: what is "
        "known, a range where it is one, and what the labels make of it."
        + _left_out(len(facts.group_names), figures.MOST_GROUPS, "groups"),
    )
    cells = [(g, k) for g in range(len(facts.group_names)) for k in range(len(facts.classes))]
    rows = [
        [
            short(facts.group_names[g]), short(facts.classes[k]),
            span(
                int(bounds.group_lower[g, k]), int(bounds.group_upper[g, k]),
                int(bounds.group_sizes[g]),
            ),
            f"{facts.counts[g, k]:,}", f"{bounds.group_sizes[g]:,}",
            _difference(facts.counts[g, k], bounds.group_lower[g, k], bounds.group_upper[g, k]),
        ]
        for g, k in cells[:MOST_ROWS]
    ]  # fmt: skip
    header = [short(group), "class", "known total", "labels given", "rows in group", "off by"]
    note = _left_out(len(cells), MOST_ROWS, "lines").strip()
    yield Grid("Labels and known totals by group", header, rows, note, n_names=2)


def _sure(facts: Facts) -> Iterator[Part]:
    if facts.positive is not None:
        other = next(name for name in facts.classes if name != facts.positive)
        yield Text(
            f"A score above 0 means {quoted(facts.positive)}, all others are {quoted(other)}. "
            "The further from 0, the surer."
        )
    else:
        yield Text("The score of a row is the lead of its label over the next best class.")
    yield Picture(
        figures.scores(facts),
        "How the scores spread. Rows near the cut-off could as well have got another label.",
    )
    yield Text(_confidence_words(facts))
    yield Picture(
        figures.confidences(facts),
        f"Half of the labels have a confidence of at least {np.median(facts.confidence):.2f}; "
        f"the least is {facts.confidence.min():.2f}.",
    )
    nearest = np.argsort(facts.margins, kind="stable")[:NEAREST]
    rows = [
        [
            short(facts.names[row]), short(str(facts.labels[row])), f"{facts.scores[row]:.4g}",
            f"{facts.confidence[row]:.3f}",
        ]
        for row in nearest
    ]  # fmt: skip
    note = _left_out(facts.n, NEAREST, "rows").strip()
    header = ["row", "label", "score", "confidence"]
    yield Grid("The rows nearest to the cut-off", header, rows, note, n_names=2)


def _confidence_words(facts: Facts) -> str:
    if facts.forest is not None:
        return (
            "The confidence of a label is the share of the weight of all trees that voted for it."
        )
    return "The confidence of a label is its probability once the known totals are accounted for."


def _how(facts: Facts) -> Iterator[Part]:
    if facts.forest is not None:
        yield from _forest(facts)
    if facts.ranking is not None:
        yield from _ranking(facts, facts.ranking)
    yield _columns(facts)
    rows = [[what, f"{seconds:.2f} s"] for what, seconds in facts.seconds.items()]
    yield Grid("Time", ["step", "time"], rows)


def _columns(facts: Facts) -> Grid:
    rows = [
        [
            short(f.name), f.how, f"{f.levels:,}", f"{f.missing[0]:,}", f"{f.missing[1]:,}",
            f"{f.unseen:,}" if f.is_text else "",
        ]
        for f in facts.features[:MOST_ROWS]
    ]  # fmt: skip
    header = [
        "column", "used as", "different values", "empty, labeled", "empty, unlabeled",
        "unseen, unlabeled",
    ]  # fmt: skip
    note = (
        "Different values are those among the labeled; unseen are unlabeled rows with a text "
        "that no labeled row has." + _left_out(len(facts.features), MOST_ROWS, "columns")
    )
    return Grid("The columns that were learned from", header, rows, note, n_names=2)


def _ranking(facts: Facts, ranking: RankingFact) -> Iterator[Part]:
    yield Text(
        f"A classifier ({ranking.model}) learned from the labeled rows how probable each class is. "
        "Of all labelings that meet every known total exactly, the rows got the most probable one. "
        "That is the same as adding a number to the log-probabilities of each class, the same "
        "for all rows" + (" of a group." if facts.group else ".")
    )
    taken = sum(bool(entry["taken"]) for entry in ranking.rounds) - 1
    again = (
        f"Then the classifier learned again, with its own labels, {count(taken, 'time')}."
        if taken > 0
        else "Learning again, with its own labels, was not done or did not help and was left out."
    )
    yield Text(again, key=True)
    rows = [
        [
            str(entry["round"]),
            "" if entry["criterion"] is None else f"{entry['criterion']:.4f}",
            "yes" if entry["taken"] else "no",
            short(str(entry["why"]), 120),
        ]
        for entry in ranking.rounds[:MOST_ROWS]
    ]
    header = ["round", "quality of the ranking", "kept", "why"]
    note = (
        "The quality is how well labeled rows that were held out are ranked, at best 1. A round is "
        "kept if it does not fall, or if so many rounds were asked for."
    )
    yield Grid("Rounds", header, rows, note)
    shifts = [[short(name), f"{shift:+.3f}"] for name, shift in ranking.offsets.items()]
    note = "Above 0, a class is given more often than its probability alone would."
    title = "What is added to the log-probability of each class" + (
        ", over all groups" if facts.group else ""
    )
    yield Grid(title, ["class", "added"], shifts[:MOST_ROWS], note)


def _forest(facts: Facts) -> Iterator[Part]:
    assert facts.forest is not None
    forest, solution = facts.forest, facts.forest.solution
    trees = count(len(solution.weights), "tree")
    yield Text(
        f"{trees} were grown on the labeled rows. Instead of letting each count the same, each got "
        f"a weight between {forest.lower:g} and {forest.upper:g}, chosen so that the weighted "
        "votes add up to the known total."
    )
    if solution.eta == 0:
        proof = "The weights below meet the total, so that none can do better."
    else:
        proof = f"The weights below miss the total by {solution.eta:,}. "
        proof += (
            f"No weighting of these trees can come closer than {solution.bound:,}: this is proven."
        )
        if solution.status != "optimal":
            proof += " Whether anything in between can be reached was not settled in the time."
    yield Text(proof, key=True)
    yield Picture(
        figures.weights(forest),
        f"The weights of the {trees}; together {solution.weights.sum():,.4g}"
        + (f", and a shift of {solution.offset:.4g}." if solution.offset else ".")
        + _left_out(len(solution.weights), figures.MOST_TREES, "trees"),
    )
    stats = solution.stats
    rows = [
        ["distance from the total (eta)", f"{solution.eta:,}"],
        ["proven least distance (bound)", f"{solution.bound:,}"],
        ["status", solution.status],
        *([name, str(stats[name])] for name in ("method", "backend", "patterns") if name in stats),
    ]
    yield Grid("The search for weights", ["what", "value"], rows)


def _careful(facts: Facts) -> Iterator[Part]:
    found = cautions(facts)
    if found:
        yield Warnings([short(entry, 1000) for entry in found[:MOST_ROWS]])
    else:
        yield Text("Nothing that stands out.")
    yield Text(
        "The labels are right in their totals. That does not make each single one right: "
        "the rows nearest to the cut-off are the least certain."
    )


def _repeat(facts: Facts) -> Iterator[Part]:
    yield Code(facts.command[:4000])
    yield Text(
        f"The seed is {facts.seed}. The same files, command and versions give the same labels, "
        "whatever the number of jobs, unless a time limit ends the work early."
    )
    rows = [[name, version] for name, version in facts.versions.items()]
    yield Grid("Versions", ["package", "version"], rows)


def _left_out(total: int, shown: int, nouns: str) -> str:
    return f" {total - shown:,} more {nouns} are not shown." if total > shown else ""
