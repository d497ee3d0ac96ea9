"""The answer: the labels compared with the known totals, how many are right, and how sure each is.

The sections "The answer", "How many labels are right", "How sure it is" and "If the totals are
wrong", and the first sentences of the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from c2rf._utils.text import count, listed_names, percent, proof, quoted, short, span
from c2rf.imputation.rubin import Pooled
from c2rf.report import figures
from c2rf.report.language import our_name
from c2rf.report.measures import (
    CALIBRATED_BY,
    UNRELIABLE,
    expected_right,
    nearest_rows,
    population_size,
    right_by_class,
    robustness,
    row_names,
    stated_total,
    totals_called,
    unreliable_classes,
)
from c2rf.report.page import Block, Picture, Table, Text, as_sentence, not_shown
from c2rf.totals.bounds import Bounds, MarginBounds
from c2rf.totals.groups import Groups
from c2rf.totals.stated import Totals

if TYPE_CHECKING:
    from c2rf.workflow.prepare import PreparedData
    from c2rf.workflow.result import Classification

MOST_NAMED = 5
"""The most classes that a sentence names."""
MOST_CLASSES = 24
"""The most classes that a table has columns for."""
MOST_CONFUSED = 12
"""The most classes of a table of what the labels are expected to be really."""


def question(result: Classification) -> list[str]:
    """Say what was asked: of which rows, from which sample, by which totals, of whom."""
    data = result.data
    by = [", ".join(short(str(name)) for name in margin.columns) for margin in data.totals.margins]
    called = "estimated" if totals_called(data) == "estimated" else "known"
    known = [*(["over all rows"] if data.totals.overall else []), *(f"by {each}" for each in by)]
    some = f"{data.n_open:,} of " * bool(data.n_known)
    rows = f"{some}{count(data.n_rows, 'row')} of {data.population}"
    return [
        f"Which {quoted(data.options.target)} have the {rows}, judged by "
        f"{labeled_rows(data)} and by totals that are {called} {listed_names(known, 6)}?",
        *filter(None, [data.about_totals]),
    ]


def labeled_rows(data: PreparedData) -> str:
    """Say how many labeled rows there are, and of which files."""
    rows = count(data.n_labeled, "labeled row")
    return f"{rows} of {data.names[0]}{data.checked_rows}"


def how_sure(result: Classification) -> str:
    """Say how many labels are expected to be right, or what is proven."""
    if hasattr(result.classifier, "expected_confusion_"):
        comma = "" if result.expected_accuracy is None else ","
        right = as_sentence(f"{expected_right(result)}{comma} are expected to be right")
        return f"{result.accuracy}. {right}" if result.accuracy is not None else right
    solution = getattr(result.classifier, "solution_", None)
    if solution is None:
        return "Nothing is known of how many labels are right."
    return as_sentence(proof(solution, result.classifier))


def opening(result: Classification) -> str:
    """Say how many labels of each class there are, and whether that is what was known."""
    data, given = result.data, result.group_counts.sum(axis=0)
    largest = np.argsort(-given, kind="stable")[:MOST_NAMED]
    amounts = ", ".join(
        f"{given[k]:,} {quoted(data.classes[k])} ({percent(given[k] / max(given.sum(), 1))})"
        for k in largest
    )
    more = ", …" * (len(given) > len(largest))
    weights = "" if data.weights is None else "in sums of weights "
    rows = f"{count(data.n_open, 'row')} got a label of {quoted(data.options.target)}"
    if data.n_known:
        rows += f", and {data.n_known:,} more keep theirs"
    return f"{rows}: {weights}{amounts}{more}. {how_totals_are_met(result)}"


def unreliable_warning(result: Classification) -> str:
    """Name the classes of which too few labels are expected to be right; nothing if all are."""
    names = [f"{quoted(name)} ({percent(share)})" for name, share in unreliable_classes(result)]
    if not names:
        return ""
    return (
        f"Not reliable: of the labels {listed_names(names)}, fewer than {percent(UNRELIABLE)} are "
        "expected to be right. Their number is what the totals say; who is among them is not sure."
    )


def how_totals_are_met(result: Classification) -> str:
    """Say how the labels compare with the known totals."""
    adjusted = result.bounds.adjustments
    if not adjusted:
        return _met(result, f"All {totals_called(result.data)} totals")
    return (
        f"{count(len(adjusted), 'total')} had to be changed, because they contradict each other or "
        "the number of rows: the table says from what to what. "
        f"{_met(result, 'The totals after that')}"
    )


def _met(result: Classification, totals: str) -> str:
    """Say whether totals are met, within their ranges, or missed."""
    missed = result.totals_met["off"].abs().max()
    if result.data.weights is not None:
        return f"{totals} are sums of weights; each is met to within {missed:.3g}."
    if missed > 0:
        return f"The known totals are missed by {count(int(missed), 'row')}."
    return " ".join(_ranges(result)) or f"{totals} are met exactly."


def _ranges(result: Classification) -> Iterator[str]:
    """Say where in its range each total is; nothing if all are single numbers."""
    bounds, given = result.bounds, result.group_counts.sum(axis=0)
    single, shown = False, 0
    for k, name in enumerate(result.data.classes):
        low, high = int(bounds.lower[k]), int(bounds.upper[k])
        if name not in map(str, result.data.totals.overall):
            continue  # all that is known of it follows from the others
        if low == high:
            single = True
        elif (low > 0 or high < bounds.n_rows) and shown < MOST_NAMED:
            shown += 1
            end = {low: ", at its lower end", high: ", at its upper end"}.get(int(given[k]), "")
            yield f"{quoted(name)} is within its range of {low:,} to {high:,}{end}."
    if shown and single:
        yield "All other totals are met exactly."
    if any(
        (margin.is_known(bounds.group_sizes) & (margin.lower < margin.upper)).any()
        for margin in known_margins(bounds, result.data.groups, result.data.totals)
    ):
        yield "Totals of groups are met, those that are ranges anywhere in their range."


def known_margins(bounds: Bounds, groups: Groups, totals: Totals) -> Iterator[MarginBounds]:
    """Yield the margins of the known totals, their groups in the order in which they were stated.

    Groups of a single margin are its categories.
    """
    margins: Sequence[MarginBounds] = bounds.margins
    if groups.columns and not margins:
        each = np.arange(bounds.n_groups)
        lower, upper = bounds.group_lower, bounds.group_upper
        margins = [MarginBounds(groups.columns, list(groups.names), each, lower, upper)]
    for margin in margins:
        stated = next((list(m.by_group) for m in totals.margins if m.columns == margin.columns), [])
        places = {name: place for place, name in enumerate(stated)}
        names, codes = margin.names, np.arange(len(margin.names))
        order = sorted(codes, key=lambda g: places.get(names[g], len(places)))
        yield replace(
            margin, names=[names[g] for g in order], codes=np.argsort(order)[margin.codes],
            lower=margin.lower[order], upper=margin.upper[order],
        )  # fmt: skip


def answer_section(result: Classification) -> Iterator[Block]:
    """Compare the labels with what was known: overall, by group, and in margins."""
    yield Text(how_totals_are_met(result), "key")
    if result.accuracy is not None:
        yield Text(f"{result.accuracy}.", "key")
    if result.bounds.adjustments:
        yield _adjustments(result)
    yield _overall(result)
    for margin in known_margins(result.bounds, result.data.groups, result.data.totals):
        yield _in_margin(result, margin)


def _adjustments(result: Classification) -> Table:
    rows = []
    for each in result.bounds.adjustments:
        moved = f"{each.after - each.before:+,.6g}"
        if each.standard_errors is not None:
            moved += f" ({each.standard_errors:+.1f} standard errors)"
        numbers = f"{each.before:,.6g}", f"{each.after:,.6g}", moved
        rows.append([each.where, each.label, *numbers])
    header = ["where", "class", "given", "met", "moved by"]
    note = result.data.about_totals
    return Table("Totals that were changed", header, rows, note, n_names=2)


def _overall(result: Classification) -> Table:
    data, bounds, n = result.data, result.bounds, population_size(result.data)
    given = result.group_counts.sum(axis=0)
    columns = {
        "class": data.classes,
        "labeled sample": [percent(np.mean(data.labels == name)) for name in data.classes],
        f"{totals_called(data)} total": [
            stated_total(data, k, less=False) for k in range(len(data.classes))
        ],
        "labeled besides": [f"{round(n):,}" for n in data.subtracted] if data.about_totals else [],
        "labels given": [f"{number:,}" for number in given],
        "share": [percent(number / n) for number in given],
        "off by": list(map(_difference, given, bounds.lower, bounds.upper)),
    }
    shown = {name: cells for name, cells in columns.items() if cells}
    rows, header = zip(*shown.values(), strict=True), list(shown)
    return Table(_title(result), header, rows, data.about_totals)


def _title(result: Classification) -> str:
    """Call totals known only if they are met as they were given."""
    return f"Labels and {totals_called(result.data)} totals"


def _difference(given: int, low: int, high: int) -> str:
    return f"{given - min(max(given, low), high):+,}" if not low <= given <= high else "0"


def _in_margin(result: Classification, margin: MarginBounds) -> Table:
    """Compare the labels with the totals of groups: a row per group, a column per class."""
    given, sizes = (
        margin.sums(table) for table in (result.group_counts, result.bounds.group_sizes)
    )
    stated = next((m for m in result.data.totals.margins if m.columns == margin.columns), None)
    shown = range(min(len(result.data.classes), MOST_CLASSES))
    signs = {}

    def cell(g: int, k: int) -> str:
        low, high = int(margin.lower[g, k]), int(margin.upper[g, k])
        text = f"{given[g, k]:,} ({percent(given[g, k] / max(int(sizes[g]), 1))})"
        if low == high == given[g, k]:
            row = {} if stated is None else stated.by_group.get(margin.names[g], {})
            if stated is None or result.data.classes[k] in row:
                return text
            signs["*"] = "* Not given: filled in by the other totals."
            return f"{text}*"
        if low == 0 and high >= sizes[g]:
            return text
        known = span(low, high, int(sizes[g]))
        off = _difference(given[g, k], low, high)
        return f"{text}; known: {known}" + ("" if off == "0" else f", off by {off}")

    columns = ", ".join(short(str(name)) for name in margin.columns)
    rows = [
        [group_name(name), *(cell(g, k) for k in shown), f"{sizes[g]:,}"]
        for g, name in enumerate(margin.names)
    ]
    header = [columns, *(result.data.classes[k] for k in shown), "rows in group"]
    note = " ".join(signs.values()) + not_shown(len(result.data.classes), len(shown), "classes")
    return Table(f"{_title(result)} by {columns}", header, rows, note)


def group_name(group: Any) -> str:
    """Write the name of a group: a value of one column, or a tuple of values of several."""
    return ", ".join(map(str, group)) if isinstance(group, tuple) else str(group)


def accuracy_section(result: Classification) -> Iterator[Block]:
    """Say how many labels are expected to be right: overall, by class and by group."""
    confusion = getattr(result.classifier, "expected_confusion_", None)
    if confusion is None:
        yield Text(
            "Weighted trees give no probabilities, so nothing is said here about how many labels "
            "are right. The method known-totals says it."
        )
        return
    by_probabilities = (
        "This is what the probabilities of the classifier make of it, under the assumptions above."
    )
    expected, data = result.expected_accuracy, result.data
    yield Text(_expected_overall(result, confusion), "key")
    warning = unreliable_warning(result)
    if warning:
        yield Text(warning, "key")
    shares: Mapping[Any, Sequence[float]]
    if expected is None:
        shares = {name: [share] for name, share in right_by_class(data.classes, confusion).items()}
    else:
        shares = {name: _interval(share) for name, share in expected.by_class.items()}
    yield _right_table("class", result.counts, shares)
    if len(data.classes) <= MOST_CONFUSED:
        yield _confusion(data.classes, confusion, data.options.language)
    if expected is None:
        yield Text(
            f"{by_probabilities} For intervals, ask for imputations (--imputations 20): they draw "
            "the labels several times, each time with another sample of the labeled rows."
        )
        return
    if expected.by_group:
        names, codes = data.groups.names, data.groups.codes
        sizes = dict(zip(names, np.bincount(codes, minlength=len(names)), strict=True))
        shares = {name: _interval(share) for name, share in expected.by_group.items()}
        yield _right_table("group", sizes, shares)
    yield Text(by_probabilities)


def _expected_overall(result: Classification, confusion: Any) -> str:
    expected, n = result.expected_accuracy, result.data.n_rows
    share, comma, level = confusion.trace() / confusion.sum(), "", ""
    if expected is not None:
        share, comma = expected.overall.estimate, ","
        cases = percent(expected.overall.level)
        level = f" The interval is made to hold the truth in {cases} of cases."
    rows = f"{count(round(share * n), 'row')} of {n:,}"
    sentence = f"{expected_right(result)}{comma} are expected to be right: {rows}"
    by = result.classifier.calibrated_by_
    doubt = f" But {CALIBRATED_BY[by]}." if by is None else ""
    known = f" Of these, {result.data.n_known:,} were known." if result.data.n_known else ""
    return as_sentence(sentence) + known + level + doubt


def _interval(share: Pooled) -> list[float]:
    return [share.estimate, share.low, share.high]


def _right_table(
    what: str, sizes: Mapping[Any, int], shares: Mapping[Any, Sequence[float]]
) -> Table:
    """Return a table of the shares that are expected to be right, with intervals if there are."""
    rows = [
        [group_name(name), f"{sizes[name]:,}", *map(percent, shares[name])]
        for name in sizes
        if name in shares
    ]
    header = [what, "rows", "expected to be right", "from", "to"][: len(rows[0])]
    return Table(f"Expected to be right, by {what}", header, rows)


def _confusion(classes: Sequence[str], confusion: Any, language: str) -> Table:
    rows = [
        [our_name(f"labeled {quoted(name)}", language), *(f"{round(x):,}" for x in confusion[k])]
        for k, name in enumerate(classes)
    ]
    header = ["expected number of rows", *(f"really {quoted(name)}" for name in classes)]
    return Table("What the labels are expected to be really", header, rows)


def confidence_section(result: Classification) -> Iterator[Block]:
    """Show scores and confidences, and the rows nearest to the cut-off."""
    data, found = result.data, result.predictions
    if data.positive is None:
        yield Text("The score of a row is how far its label is ahead of the next best class.")
    else:
        other = next(name for name in data.classes if name != data.positive)
        yield Text(
            f"A score above 0 means {quoted(data.positive)}, all others are {quoted(other)}. "
            "The further from 0, the surer."
        )
    yield Picture(
        figures.score_histogram(result),
        "How the scores spread. Rows near the cut-off could as well have got another label.",
    )
    shown = found.confidence[result.shown_rows]
    confidence = (
        "The confidence of a label is the share of the weight of all trees that voted for it."
        if hasattr(result.classifier, "solution_")
        else "The confidence of a label is its probability once the totals are accounted for."
    )
    yield Text(
        f"{confidence} Half of the labels have a confidence of at least "
        f"{percent(np.median(shown))}; the least is {percent(shown.min())}."
    )
    nearest = nearest_rows(found.scores)
    rows = [
        [
            name, data.classes[found.codes[row]], f"{round(found.scores[row], 4) + 0.0:g}",
            percent(found.confidence[row]),
        ]
        for row, name in zip(nearest, row_names(data, nearest), strict=True)
    ]  # fmt: skip
    header = ["row", "label", "score", "confidence"]
    note = (
        "The score says how near the row is to another label, the confidence how probable its own "
        "is: at the cut-off of a small group, these are two things."
    )
    yield Table("The rows nearest to the cut-off", header, rows, note, n_names=2)


def sensitivity_section(result: Classification) -> Iterator[Block]:
    """Say how many labels change if totals are off, where that was asked for."""
    found, classes = result.sensitivity, result.data.classes
    if found is None:
        return
    labels, robust = (
        np.bincount(codes, minlength=len(classes))
        for codes in (result.predictions.codes, result.predictions.codes[found.robust])
    )
    sentence = robustness(result, quoted)
    if not found.robust.all():
        sentence += f": up to {count(int(found.changed.max()), 'label')} change with it"
    yield Text(as_sentence(sentence), "key")
    rows = (
        [
            name, f"{found.off[k]:,.0f}", f"{found.changed[k, 0]:,}",
            f"{found.changed[k, 1]:,}", f"{labels[k]:,}",
            percent(robust[k] / labels[k]) if labels[k] else "",
        ]
        for k, name in enumerate(classes)
    )  # fmt: skip
    header = [
        "class", "its totals off by, rows", "labels that change if lower", "if higher",
        "labels of the class", "of these robust",
    ]  # fmt: skip
    yield Table("If the totals are wrong", header, rows)
    yield Text(
        "All totals of one class were made higher, then lower, by that share or by their standard "
        "errors, in all tables alike; the other "
        "classes changed in proportion, and all rows were labeled again. The columns robust and "
        "sensitive_to of the labels say it for each row. A robust label need not be right: it only "
        "does not depend on the totals being right to the last row."
    )
