"""How it was done, what is assumed, and how to repeat it.

How it got there: who learned from which columns, and how long it took.

What is assumed, in plain words, and what breaks it.

What to be careful about, and how to repeat it.

The sections of a report in words, tables and pictures: one file each.
"""

from __future__ import annotations

from collections.abc import Iterator

from c2rf._utils.text import count, percent, quoted, short
from c2rf.report import figures
from c2rf.report.answer import answer, lead, unreliable
from c2rf.report.cautions import cautions
from c2rf.report.facts import Facts, RankingFact
from c2rf.report.page import (
    MOST_ROWS,
    Code,
    Grid,
    Page,
    Part,
    Picture,
    Section,
    Text,
    Warnings,
    left_out,
)
from c2rf.report.quality import right, sure, wrong_totals
from c2rf.report.sample import data, missed, rest_on

_BASE_LEARNERS = {
    "trees": "extra trees, some columns tried at a split",
    "rank-trees": "extra trees on the ranks of numbers",
    "pca-trees": "extra trees on the columns and their principal components",
    "plain-trees": "the same without correction by the population",
    "svc": "support vectors, Gaussian kernel",
    "narrow-svc": "support vectors, narrow Gaussian kernel",
    "rank-svc": "support vectors on the ranks of numbers",
    "ridge": "ridge regression on principal components",
    "kernel-ridge": "kernel ridge regression, Gaussian kernel",
    "rank-kernel-ridge": "kernel ridge regression on the ranks of numbers",
}
"""The base learners of the blend in words."""


def how(facts: Facts) -> Iterator[Part]:
    """Say who learned, from what, and how long it took."""
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
        "that no labeled row has." + left_out(len(facts.features), MOST_ROWS, "columns")
    )
    return Grid("The columns that were learned from", header, rows, note, n_names=2)


def _ranking(facts: Facts, ranking: RankingFact) -> Iterator[Part]:
    yield Text(
        f"{ranking.model} learned from the labeled rows how probable each class is. "
        "Of all labelings that meet every known total exactly, the rows got the most probable one. "
        "That is the same as adding a number to the log-probabilities of each class, the same "
        "for all rows" + (" of a group." if facts.group else ".")
    )
    if len(ranking.members) > 1:
        yield _base_learners(ranking)
    shifts = [[short(name), f"{shift:+.3f}"] for name, shift in ranking.offsets.items()]
    note = "Above 0, a class is given more often than its probability alone would."
    title = "What is added to the log-probability of each class" + (
        ", over all groups" if facts.group else ""
    )
    yield Grid(title, ["class", "added"], shifts[:MOST_ROWS], note)


def _base_learners(ranking: RankingFact) -> Grid:
    rows = [
        [
            short(_BASE_LEARNERS.get(entry["base_learner"], str(entry["base_learner"]))),
            "" if entry["accuracy"] is None else percent(entry["accuracy"]),
            f"{100 * entry['weight']:.0f} %",
        ]
        for entry in ranking.members[:MOST_ROWS]
    ]
    note = (
        "The accuracy is estimated from labeled rows that were held out, at the known totals; "
        "base learners that label well have more weight. It is no forecast of the right labels: "
        "held-out rows are like the rows learned from, the rows to be labeled may not be. "
        "Use it to compare base learners only."
    )
    return Grid("Who ranked the rows", ["base learner", "estimated accuracy", "weight"], rows, note)


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
        + left_out(len(solution.weights), figures.MOST_TREES, "trees"),
    )
    stats = solution.stats
    rows = [
        ["distance from the total (eta)", f"{solution.eta:,}"],
        ["proven least distance (bound)", f"{solution.bound:,}"],
        ["status", solution.status],
        *([name, str(stats[name])] for name in ("method", "backend", "patterns") if name in stats),
    ]
    yield Grid("The search for weights", ["what", "value"], rows)


def assumed(facts: Facts) -> Iterator[Part]:
    """Say what must be true for the labels to be as good as this page says."""
    yield Text(
        "The totals hold because the labels were made to meet them. Which rows got which label, "
        "and how many of them are right, rests on three assumptions that no figure of this page "
        "can prove:"
    )
    yield Warnings(
        [
            f"Within a class of {quoted(facts.target)}, labeled rows are like the rows to be "
            "labeled: a class may be in the sample too often or too rarely (the totals correct "
            "that), but its members in the sample must not be special in a way that the columns "
            "do not show. It breaks where, say, only the worst cases were ever labeled.",
            "What decides who was labeled is in the columns, or is the class itself. It breaks "
            "where rows were labeled because of something that is not in the table, and that goes "
            "with the class.",
            "The totals are true, and about exactly these rows: the same place, time and "
            "definition of the classes. A total that is off moves the labels near the cut-off.",
        ],
        is_plain=True,
    )


def careful(facts: Facts) -> Iterator[Part]:
    """Say what could mislead."""
    found = cautions(facts)
    if found:
        yield Warnings([short(entry, 1000) for entry in found[:MOST_ROWS]])
    else:
        yield Text("Nothing that stands out.")
    yield Text(
        "The labels are right in their totals. That does not make each single one right: "
        "the rows nearest to the cut-off are the least certain."
    )


def repeat(facts: Facts) -> Iterator[Part]:
    """Say how to get the same labels again."""
    yield Code(facts.command[:4000])
    yield Text(
        f"The seed is {facts.seed}. The same files, command and versions give the same labels, "
        "whatever the number of jobs, unless a time limit ends the work early."
    )
    rows = [[name, version] for name, version in facts.versions.items()]
    yield Grid("Versions", ["package", "version"], rows)


__all__ = ["make_content"]


def make_content(facts: Facts) -> Page:
    """Put the report together."""
    sections = [
        Section("data", "The question and the data", list(data(facts))),
        Section("answer", "The answer", list(answer(facts))),
        Section("assumed", "What is assumed", list(assumed(facts))),
        Section("missed", "Whom the sample misses", list(missed(facts))),
        Section("right", "How many labels are right", list(right(facts))),
        Section("sure", "How sure it is", list(sure(facts))),
    ]
    if facts.sensitivity is not None:
        wrong = list(wrong_totals(facts))
        sections.append(Section("wrong-totals", "If the totals are wrong", wrong))
    if facts.importance is not None and facts.importance.changed:
        sections.append(Section("rest-on", "What the labels rest on", list(rest_on(facts))))
    sections += [
        Section("how", "How it got there", list(how(facts))),
        Section("careful", "What to be careful about", list(careful(facts))),
        Section("repeat", "How to repeat it", list(repeat(facts))),
    ]
    title = f"Labels for {short(facts.unlabeled_file, 80)}"
    bad = unreliable(facts)
    return Page(title, lead(facts), sections, "" if bad is None else bad.text)
