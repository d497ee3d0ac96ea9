"""How it got there: who learned from which columns, and how long it took."""

from __future__ import annotations

from collections.abc import Iterator

from c2rf._text import count, percent, short
from c2rf.report import figures
from c2rf.report.facts import Facts, RankingFact
from c2rf.report.parts import Grid, Picture, Text
from c2rf.report.sections.common import MOST_ROWS, Part, left_out

_MEMBERS = {
    "trees": "extra trees, some columns tried at a split",
    "rank-trees": "extra trees on the ranks of numbers",
    "turned-trees": "extra trees on the columns and their principal components",
    "plain-trees": "extra trees on both, without a look at the population",
    "svc": "support vectors",
    "narrow-svc": "support vectors that look less far around each row",
    "rank-svc": "support vectors on the ranks of numbers",
    "linear": "least squares that know the population",
    "kernel": "least squares in the space of a kernel",
    "rank-kernel": "least squares in such a space, on the ranks of numbers",
}
"""The members of the blend in words."""


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
        yield _members(ranking)
    shifts = [[short(name), f"{shift:+.3f}"] for name, shift in ranking.offsets.items()]
    note = "Above 0, a class is given more often than its probability alone would."
    title = "What is added to the log-probability of each class" + (
        ", over all groups" if facts.group else ""
    )
    yield Grid(title, ["class", "added"], shifts[:MOST_ROWS], note)


def _members(ranking: RankingFact) -> Grid:
    rows = [
        [
            short(_MEMBERS.get(entry["member"], str(entry["member"]))),
            "" if entry["accuracy"] is None else percent(entry["accuracy"]),
            f"{100 * entry['weight']:.0f} %",
        ]
        for entry in ranking.members[:MOST_ROWS]
    ]
    note = (
        "The accuracy is estimated from labeled rows that were held out, at the known totals; "
        "members that label well have more weight. It is no forecast of the right labels: held-out "
        "rows are like the rows learned from, the rows to be labeled may not be. "
        "Use it to compare members only."
    )
    return Grid("Who ranked the rows", ["member", "estimated accuracy", "weight"], rows, note)


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
