"""What is computed from a result for its report and its summary, each thing once.

Counts and samples of rows; :func:`find_balance`, the labeled sample against the population;
:func:`find_importance`, how much the labels depend on each column; and the sentences that the
summary and the report have in common. A result keeps what is costly, see
:class:`c2rf.workflow.result.Classification`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from c2rf._utils.frames import as_pandas
from c2rf._utils.text import count, percent, span
from c2rf._utils.types import Codes, Floats, Ints
from c2rf.assignment import PROVEN, assign, log_scores
from c2rf.data.cells import as_text
from c2rf.data.population.interface import Chunk, RowSample, draw_sample, random_rows
from c2rf.data.profile import ColumnProfile
from c2rf.learners.calibration import poststratified
from c2rf.totals.bounds import Bounds
from c2rf.totals.stated import ESTIMATE

if TYPE_CHECKING:
    from c2rf.workflow.prepare import PreparedData
    from c2rf.workflow.result import Classification

MOST_SHOWN = 100_000
"""The most rows whose score and confidence a report shows; of more, it draws this number."""
NEAREST = 10
"""How many of the rows nearest to the cut-off are shown."""
MOST_COMPARED = 20_000
"""Rows of the population, at most, that labeled rows are compared with."""
MOST_SHUFFLED, LEAST_SHUFFLED = 1000, 100
"""Rows whose columns are shuffled, at most and at least."""
SHARE_OF_WORK = 0.5
"""The most rows that shuffling may score, as a multiple of those that labeling has scored."""
UNRELIABLE = 0.6
"""A class of which a smaller share of labels is expected to be right is called unreliable."""
LARGE, SMALL = 0.25, 0.1
"""Standardised differences above the first are usually called large, below the second small."""


def about_estimates(table: pd.DataFrame) -> str:
    """Say how many shares a table of estimates has, and how many of them the two kinds dispute."""
    found = count(len(table), "share")
    if not table["differs"].isna().all():
        off = int(table["differs"].sum())
        how_many = "none differs" if off == 0 else "1 differs" if off == 1 else f"{off:,} differ"
        found += f", of which {how_many} by held-out rows by more than chance"
    return ". ".join([found, *notes_of(table)])


def notes_of(table: pd.DataFrame) -> list[str]:
    """Return what is said of a table of estimates: whom it is about, and what to believe."""
    notes = (table.attrs.get("whom"), table.attrs.get("note"))
    return [f"{note[:1].upper()}{note[1:]}" for note in notes if note]


def population_size(data: PreparedData) -> int:
    """Return the number of unlabeled rows, or the sum of their weights: what totals add up to."""
    return data.n_rows if data.weights is None else round(data.weights.sum())


def labeled_counts(data: PreparedData) -> Ints:
    """Return the number of labeled rows of each class."""
    return np.array([np.sum(data.labels == name) for name in data.classes], dtype=np.int64)


def count_in_groups(data: PreparedData, codes: Codes) -> Ints:
    """Return the labels of each class in each group; of weighted rows the sum of their weights."""
    counts = np.zeros((len(data.groups.names), len(data.classes)))
    each = 1 if data.weights is None else data.weights
    np.add.at(counts, (data.groups.codes, codes), each)
    return np.rint(counts).astype(np.int64)


def whole_bounds(bounds: Bounds) -> Bounds:
    """Return bounds of sums of weights in whole numbers, as a report shows them."""

    def whole(values: Any) -> Ints:
        return np.rint(values).astype(np.int64)

    margins = [replace(m, lower=whole(m.lower), upper=whole(m.upper)) for m in bounds.all_margins()]
    return replace(bounds.with_all_margins(margins), group_sizes=whole(bounds.group_sizes))


def rows_to_show(scores: Floats, seed: int, most: int = MOST_SHOWN) -> Ints:
    """Return the numbers of ``most`` rows drawn at random, and of those nearest to the cut-off."""
    return np.union1d(random_rows(len(scores), most, [seed, 5]), nearest_rows(scores))


def nearest_rows(scores: Floats) -> Ints:
    """Return the numbers of the rows nearest to the cut-off, the nearest first."""
    return np.argsort(np.abs(scores), kind="stable")[:NEAREST]


def row_names(data: PreparedData, rows: Ints) -> list[str]:
    """Return what to call some rows: by their ids, else by their numbers, from 1."""
    if data.options.id is None:
        return [str(row + 1) for row in rows]
    ordered = np.sort(rows)
    work = partial(_ids_of_rows, ordered, data.options.id)
    found: pd.Series[Any] = data.rows.reduce(work, pd.concat, [data.options.id])
    names = found.tolist()
    return [names[place] for place in np.searchsorted(ordered, rows)]


def _ids_of_rows(rows: Ints, id: str, chunk: Chunk) -> pd.Series[Any]:
    """Return the ids of those of some rows, given in order, that are in a chunk."""
    table = as_pandas(chunk.data)
    ends: Sequence[int] = (chunk.start, chunk.start + len(table))
    first, last = np.searchsorted(rows, ends)
    own = rows[first:last] - chunk.start
    return as_text(table[id].iloc[own]).fillna("")


def sample_population(data: PreparedData, seed: int) -> RowSample:
    """Draw rows whose label is not known, as numbers; of all rows if there are none."""
    drawn = draw_sample(data.X_unlabeled.counted(), MOST_COMPARED, [seed, 6])
    if data.known is None or not data.n_open:
        return drawn
    own = data.known[drawn.rows] < 0
    return drawn._replace(data=np.asarray(drawn.data)[own], rows=drawn.rows[own])


def find_balance(data: PreparedData, sample: Floats, counts: Floats) -> pd.DataFrame:
    """Compare the means of labeled rows with those of the population, the worst column first.

    Parameters
    ----------
    data : PreparedData
        The labeled rows.
    sample : ndarray of shape (n_sampled, n_numbers)
        Rows of the population.
    counts : ndarray of shape (n_classes,)
        How many rows of each class there are in the population.

    Returns
    -------
    DataFrame
        A row for each column, or value of a text. ``labeled``, ``weighted`` (each class to its
        number of labels) and ``population`` are means; ``before`` and ``after`` weighting are
        differences in standard deviations of the population, ``spread``. ``unit`` says how means
        are written: number, year, or date in days since 1970.
    """
    codes = np.searchsorted(np.array(data.classes, dtype=object), data.labels)
    weights = poststratified(codes, counts, data.labeled_weights)
    if weights.sum() <= 0:
        weights = np.ones(len(codes))
    means = _means(sample)
    spread = np.sqrt(_means((sample - means) ** 2))
    numbers = np.column_stack([_means(data.X), _means(data.X, weights), means, spread]).tolist()
    kinds, rows = data.encoder.kinds, []
    for k, (column, value) in enumerate(data.encoder.outputs()):
        if kinds[column] != "target":
            name = column if value is None else f"{column}: {value}"
            rows.append([name, *numbers[k], _unit(data.X[:, k], value, kinds[column] == "dates")])
    for each in data.columns:
        if each.kind == "target" and np.ndim(each.unlabeled.by_value):
            rows += _shares_of_values(each, weights)
    header = ["column", "labeled", "weighted", "population", "spread", "unit"]
    table = pd.DataFrame(rows, columns=header).query("spread > 0")
    table["before"] = (table["labeled"] - table["population"]) / table["spread"]
    table["after"] = (table["weighted"] - table["population"]) / table["spread"]
    finite: Any = np.isfinite(table[["before", "after"]]).all(axis=1)
    table = table.loc[finite]
    return table.sort_values("before", key=lambda size: -size.abs(), kind="stable")


MOST_VALUES = 10
"""So many values of a text of many values are compared, the most frequent ones."""


def _shares_of_values(column: ColumnProfile, weights: Floats) -> Iterator[list[Any]]:
    """Compare shares of values: of the most frequent ones, of these together, and of new ones.

    Of hundreds of towns none need differ much where a sample has far too many people from cities:
    it shows in the share of the most frequent values that make up half of the population.
    """
    places, values = column.texts.codes, column.texts.values
    given, n_values = places >= 0, len(values)
    labeled, weighted = (
        np.bincount(places[given], own[given], n_values + 1)
        for own in (np.ones(len(places)), weights)
    )
    counts = [labeled, weighted, column.unlabeled.by_value]
    if min(own.sum() for own in counts) <= 0:
        return
    shares = np.array([own / own.sum() for own in counts])
    order = np.argsort(-shares[2, :-1], kind="stable")
    half = 1 + int(np.searchsorted(np.cumsum(shares[2, order]), shares[2, :-1].sum() / 2))
    groups = {
        f"one of the {half} most frequent of {n_values} values": order[:half],
        "a value that no labeled row has": np.array([n_values]),
    } | {str(values[k]): np.array([k]) for k in order[:MOST_VALUES]}
    for name, own in groups.items():
        found = shares[:, own].sum(axis=1)
        yield [f"{column.name}: {name}", *found, np.sqrt(found[2] * (1 - found[2])), "number"]


def _means(X: Floats, weights: Floats | None = None) -> Floats:
    """Return weighted means of columns without their empty cells; NaN of one with nothing else."""
    there, weights = ~np.isnan(X), np.ones(len(X)) if weights is None else weights
    total = weights @ there
    with np.errstate(invalid="ignore", divide="ignore"):
        return (weights @ np.where(there, X, 0.0)) / total


def _unit(cells: Floats, value: str | None, is_date: bool) -> str:
    """Say how the mean of a column is written; whole numbers from 1501 to 2199 are years."""
    if is_date:
        return "date" if value is None else "year" if value == "year" else "number"
    given = cells[~np.isnan(cells)]
    is_year = value is None and ((given == np.floor(given)) & (given > 1500) & (given < 2200)).all()
    return "year" if is_year else "number"


def find_importance(
    data: PreparedData, model: Any, codes: Codes, drawn: RowSample, seed: int
) -> tuple[pd.Series[float], int] | None:
    """Return by column the share of labels that change if it is shuffled, the largest first.

    The second number says among how many rows. None if it would take too long.

    Parameters
    ----------
    data : PreparedData
        The columns.
    model : classifier
        Gives rows their probabilities.
    codes : ndarray of int, shape (n_rows,)
        The number of the label of each row of the population.
    drawn : RowSample
        Rows of the population. As many of them keep each label as have it now.
    seed : int
        Seed of the permutations.
    """
    places: dict[str, list[int]] = {}
    for k, (column, _) in enumerate(data.encoder.outputs()):
        places.setdefault(column, []).append(k)
    names = list(places)
    n_rows = min(MOST_SHUFFLED, len(drawn.rows), int(SHARE_OF_WORK * data.n_rows) // len(names))
    if n_rows < LEAST_SHUFFLED:
        return None
    rng = np.random.default_rng([seed, 7])
    X, rows = np.array(drawn.data[:n_rows], dtype=float), drawn.rows[:n_rows]
    sizes = np.bincount(codes[rows], minlength=len(data.classes))
    bounds = Bounds.overall(sizes, sizes, n_rows)

    def labels(X: Floats) -> Codes:
        return assign(log_scores(model.predict_proba(X)), bounds, None, 0).labels

    usual, changed = labels(X), pd.Series(0.0, names)
    for name in names:
        own = places[name]
        shuffled = X.copy()
        shuffled[:, own] = X[rng.permutation(n_rows)][:, own]
        changed[name] = np.mean(labels(shuffled) != usual)
    return changed.sort_values(ascending=False, kind="stable"), n_rows


# Sentences that the summary and the report have in common.


def known_total(result: Classification, k: int) -> str:
    """Say what was known of the number of rows of a class, or from what it was adjusted."""
    data, adjusted = result.data, result.data.bounds.adjustments
    total = stated_total(data, k)
    own = [each for each in adjusted if not each.columns and each.label == data.classes[k]]
    if own:
        return f"adjusted from {own[0].before:,.12g} to {total}"
    if total == "not known":
        return total
    known = "after adjustments" if adjusted else totals_called(data)
    return f"{known}{' in sums of weights' * (data.weights is not None)}: {total}"


def stated_total(data: PreparedData, k: int, less: bool = True) -> str:
    """Write the total of a class as it was stated, and how many labeled rows were subtracted."""
    ends = round(data.bounds.lower[k]), round(data.bounds.upper[k])
    labeled, total = round(data.subtracted[k]), span(*ends, population_size(data))
    if not labeled or total == "not known":
        return total
    stated = span(ends[0] + labeled, ends[1] + labeled, ends[1] + labeled + 1)
    return f"{stated}, less {labeled:,} labeled" if less else stated


def totals_called(data: PreparedData) -> str:
    """Say what the totals are: known, estimated for want of known ones, or adjusted."""
    if data.bounds.adjustments:
        return "adjusted"
    return "estimated" if str(data.options.totals) == ESTIMATE else "known"


def used_as(column: ColumnProfile) -> str:
    """Say what a column is used as."""
    if column.kind == "numbers":
        return "a number"
    if column.kind == "dates":
        return "a date: days, year, and month as a cycle"
    values = count(column.levels, "value")
    if column.kind == "one-hot":
        return f"text with {values}, a column of 0 and 1 for each"
    if column.kind == "ordinal":
        return f"{values} in order, each its place"
    return f"text with {values}, each by how often it is in each class and in all, and its rank"


def how_likely(gap: float) -> str:
    """Say how likely the labels are among all that meet the totals, given the proven gap."""
    if gap <= PROVEN:
        return "no labels that meet them are likelier (proven)"
    return f"within {gap:.2g} of the highest log-likelihood (proven)"


def expected_right(result: Classification) -> str:
    """Say what share of the labels is expected to be right; with imputations, an interval of it."""
    if result.expected_accuracy is None:
        confusion = result.classifier.expected_confusion_
        return f"about {percent(confusion.trace() / confusion.sum())} of the labels"
    found = result.expected_accuracy.overall
    interval = f"from {percent(found.low)} to {percent(found.high)}"
    return f"{percent(found.estimate)} of the labels, with an interval {interval}"


CALIBRATED_BY = {
    "learner": "the learner calibrated its probabilities by labeled rows that it held out",
    "held-out rows": "the probabilities were calibrated by labeled rows that were held out",
    None: (
        "the probabilities are taken as they are, without calibration by labeled rows that were "
        "held out: the number of right labels may be far from what they say"
    ),
}
"""Who has seen to it that probabilities are true, by ``calibrated_by_``."""


def right_by_class(classes: Sequence[str], confusion: Floats) -> dict[str, float]:
    """Return of each class that has labels the share of them that is expected to be right.

    Examples
    --------
    >>> right_by_class(["no", "yes"], np.array([[3.0, 1.0], [0.0, 0.0]]))
    {'no': 0.75}
    """
    labels = confusion.sum(axis=1)
    return {
        name: float(confusion[k, k] / labels[k]) for k, name in enumerate(classes) if labels[k] > 0
    }


def unreliable_classes(result: Classification) -> list[tuple[str, float]]:
    """Return classes of which too few labels are expected to be right, with the share, worst first.

    There are none where the classifier has no probabilities.
    """
    confusion = getattr(result.classifier, "expected_confusion_", None)
    if confusion is None:
        return []
    expected = result.expected_accuracy  # with imputations, the figures of the tables
    shares = (
        right_by_class(result.data.classes, confusion)
        if expected is None
        else {str(name): each.estimate for name, each in expected.by_class.items()}
    )
    few = (each for each in shares.items() if each[1] < UNRELIABLE)
    return sorted(few, key=lambda each: each[1])


def robustness(result: Classification, quote: Any) -> str:
    """Say how many labels stay if any total is off; ``quote`` writes the name of a class."""
    found = result.sensitivity
    assert found is not None
    off = "one standard error" if found.share is None else percent(found.share)
    robust = found.robust
    if robust.all():
        return f"with any total {off} off, all labels stay"
    worst = result.data.classes[int(found.changed.max(axis=1).argmax())]
    return (
        f"with any total {off} off, {count(int(robust.sum()), 'label')} ({percent(robust.mean())}) "
        f"stay; most others depend on the total of {quote(worst)}"
    )
