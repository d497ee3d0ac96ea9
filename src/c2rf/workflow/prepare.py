"""All that a classification needs, read and checked before any work is done.

:func:`prepare` reads both tables, what is known, and the columns to learn from, looks at the
population in one pass, finds people in both tables, and makes bounds of the totals.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from itertools import chain
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from c2rf._utils.frames import as_pandas
from c2rf._utils.text import all_of, count, for_user, listed, nearest, option_name, percent
from c2rf._utils.types import Codes, Floats, Texts
from c2rf.data.cells import as_text
from c2rf.data.dialect import ReadAs
from c2rf.data.encoding import Encoder, encoded, fit_encoder
from c2rf.data.formats import ROWS_PER_CHUNK
from c2rf.data.population.interface import Chunk, Population
from c2rf.data.profile import (
    ColumnProfile,
    ValueCounts,
    check_column,
    feature_names,
    look_like_codes,
    target_values,
    why_left_out,
)
from c2rf.data.totals import Bins
from c2rf.estimators.labeled_population import check_number_of_domains, find_weights
from c2rf.exceptions import InputError
from c2rf.inference.sensitivity import check_share
from c2rf.progress import report_progress
from c2rf.totals.bounds import Bounds
from c2rf.totals.groups import Groups, read_weights
from c2rf.totals.stated import ESTIMATE, Totals
from c2rf.workflow.known_rows import (
    Hashes,
    checked_weights,
    hash_ids,
    people_in_both,
    remarks_on_both,
    remarks_on_ids,
)
from c2rf.workflow.options import FROM_ERRORS, Options
from c2rf.workflow.predictions import PREDICTED, UNKNOWN, shown_columns
from c2rf.workflow.tables import Tables, column_names, read_tables
from c2rf.workflow.totals import (
    bounds_of_rows,
    count_labeled,
    find_all_bins,
    groups_of,
    read_known,
)

SENSITIVITY_COLUMNS = ("robust", "sensitive_to")
"""Columns of an output: whether a label stays if totals are off, and else of which classes."""

OPEN = "open"
"""As ``totals``: nothing is known of them."""

MANY = 20
"""Estimates by a number with more values than this are hardly meant so."""

FEW_IMPUTATIONS = 10
"""With fewer, a user is told that intervals are not reliable."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PreparedData:
    """All that a classification needs, checked.

    Parameters
    ----------
    options : Options
        The options.
    names : tuple of str
        What the labeled and the unlabeled table are called, and the check file if there is one.
    n_checked : int
        How many of the labeled rows, the last ones, are of the check file.
    table, labels : DataFrame, ndarray of str
        The labeled rows as they are, and their classes as text.
    labeled_weights : ndarray of shape (n_labeled,), optional
        How many people each labeled row stands for, where their table has that column.
    rows : Population
        The unlabeled rows as they are.
    weights : ndarray of shape (n_rows,), optional
        How many people each unlabeled row stands for.
    known : ndarray of int, optional
        The class of each unlabeled row that is known to have one, else -1: it keeps it.
    truth : ndarray of int, optional
        The class of each unlabeled row whose target is filled in, for a score.
    columns : sequence of ColumnProfile
        What was learned from, and what it holds.
    left_out : mapping of str to str
        Columns that are not learned from, and why.
    encoder, X : Encoder, ndarray
        From columns to numbers, and the labeled rows as numbers.
    totals, bounds, groups : Totals, Bounds, Groups
        What is known.
    bins : mapping of str to Bins
        Groups that are ranges of a column.
    read_as : sequence of pairs of str
        Files, and how they were understood.
    remarks : sequence of str
        Things to be careful about.
    seconds : dict
        How long each step took so far.
    """

    options: Options
    names: tuple[str, ...]
    n_checked: int
    table: pd.DataFrame
    labels: Texts
    labeled_weights: Floats | None
    rows: Population
    weights: Floats | None
    known: Codes | None
    truth: Codes | None
    columns: Sequence[ColumnProfile]
    left_out: Mapping[str, str]
    encoder: Encoder
    X: Floats
    totals: Totals
    bounds: Bounds
    groups: Groups
    bins: Mapping[str, Bins]
    read_as: Sequence[tuple[str, str]]
    remarks: Sequence[str]
    seconds: dict[str, float] = field(default_factory=dict)

    @cached_property
    def classes(self) -> list[str]:
        """All classes, sorted."""
        return sorted(set(self.labels))

    @cached_property
    def values(self) -> Any:
        """The classes in the type of the labeled table."""
        target = self.table[self.options.target]
        first = pd.Series(target.to_numpy(), index=as_text(target))
        values = first[~first.index.duplicated()].loc[self.classes].to_numpy()
        return np.array(self.classes, dtype=object) if values.dtype == object else values

    @cached_property
    def X_unlabeled(self) -> Population:  # noqa: N802
        """The unlabeled rows as numbers."""
        return encoded(self.rows, self.encoder)

    @property
    def n_rows(self) -> int:
        """Number of unlabeled rows."""
        assert self.rows.n_rows is not None
        return self.rows.n_rows

    @property
    def n_known(self) -> int:
        """Number of unlabeled rows whose label is known after all; they keep it."""
        return 0 if self.known is None else int((self.known != UNKNOWN).sum())

    @property
    def n_open(self) -> int:
        """Number of unlabeled rows whose label is not known."""
        return self.n_rows - self.n_known

    @cached_property
    def known_counts(self) -> Floats:
        """How many unlabeled rows of each class are known, or the sum of their weights."""
        if self.known is None:
            return np.zeros(len(self.classes))
        own = self.known != UNKNOWN
        each = None if self.weights is None else self.weights[own]
        return np.bincount(self.known[own], each, len(self.classes)).astype(float)

    @property
    def subtracted(self) -> Floats:
        """How many labeled rows of each class were subtracted from totals of everybody."""
        labeled = self.totals.labeled
        return np.zeros(len(self.classes)) if labeled is None else labeled.counts.sum(axis=0)

    @property
    def population(self) -> str:
        """What the unlabeled rows are called."""
        is_one = self.names[0] == self.names[1]
        return self.names[1] + " without a label" * is_one

    def places_of(self, column: str, values: Any) -> list[int]:
        """Return the place of each value of a column, as totals or ranges are ordered."""
        known = list(self.bins[column].ranges) if column in self.bins else []
        for margin in self.totals.margins:
            if column in margin.columns:
                place, alone = margin.columns.index(column), len(margin.columns) == 1
                known += [name if alone else name[place] for name in margin.by_group]
        order = {name: k for k, name in enumerate(dict.fromkeys([*known, *values]))}
        return [order[value] for value in values]

    @property
    def n_labeled(self) -> int:
        """Number of labeled rows, without those that were checked."""
        return len(self.labels) - self.n_checked

    @property
    def checked_rows(self) -> str:
        """How many rows of the check file were learned from besides, "" if none."""
        if not self.n_checked:
            return ""
        return f" and {count(self.n_checked, 'checked row')} of {self.names[2]}"

    @property
    def positive(self) -> str | None:
        """Of two classes the one that positive scores predict: that of the first total."""
        if len(self.classes) > 2:
            return None
        return next(iter(self.totals.overall), self.classes[1])

    @property
    def about_totals(self) -> str:
        """Whom totals are about where the labeled rows were subtracted, else ""."""
        if self.totals.labeled is None:
            return ""
        n = self.n_rows if self.weights is None else round(self.weights.sum())
        return (
            f"The totals are of everybody: the {count(n, 'row')} of {self.population} and "
            f"{round(self.subtracted.sum()):,} labeled ones besides; these were subtracted."
        )

    @property
    def codes(self) -> list[str]:
        """Columns of numbers that look like codes."""
        numbers = [each.name for each in self.columns if each.kind == "numbers"]
        named = self.options.keep
        return [n for n in numbers if n not in named and look_like_codes(self.table[n])]

    @property
    def shown(self) -> list[str]:
        """The columns of an output that name the rows: the ids, else all."""
        added = (*PREDICTED, *(SENSITIVITY_COLUMNS if self.options.sensitivity else ()))
        return shown_columns(column_names(self.rows), self.options.id, added)

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Add to the seconds of a step how long the block takes."""
        start = time.perf_counter()
        yield
        self.seconds[step] = self.seconds.get(step, 0.0) + time.perf_counter() - start


def prepare(labeled: Any, unlabeled: Any, options: Options) -> PreparedData:
    """Read both tables and the totals, and check everything.

    Parameters
    ----------
    labeled, unlabeled : data frame, path, or population
        Rows whose class is known, and rows to label; None for the rows of ``labeled`` whose target
        is empty.
    options : Options
        The options.
    """
    start = time.perf_counter()
    report_progress("reading and checking the tables")
    tables = read_tables(labeled, unlabeled, options)
    table, rows, id = tables.labeled, tables.rows, options.id
    if options.target not in table and options.target in column_names(rows):
        raise InputError(
            f"there is no column {options.target!r} in the labeled table, {tables.names[0]}, but "
            f"there is in {tables.names[1]}; are the two swapped?"
        )
    labels = target_values(table, options.target)
    stated, remarks = _stated_totals(labeled, unlabeled, options, labels)
    totals, bins, notes = _read_totals(stated, tables, options)
    grouping = tuple(map(str, totals.columns))
    names, left_out = learned_columns(table, rows, grouping, options, bins)
    profiles = [ColumnProfile(table[n], n in options.text, options.missing) for n in names]
    profiles, groups, ids = profile_population(rows, profiles, grouping, id, bins)
    remarks += _remarks_on_columns(profiles, grouping, options)
    weight = options.weight if options.weight in column_names(rows) else None
    weights = find_weights(rows, weight, len(groups.codes))
    own_weights = _labeled_weights(table, options)
    # Each is one of the people that totals count, unless both tables are of weighted people.
    people = np.ones(len(table), dtype=np.int64) if weight is None else own_weights
    both, about_both = None, []
    if unlabeled is not None or tables.drawn_with is not None:
        both = people_in_both(table, labels, rows, ids, id)
        about_both = remarks_on_both(both, table, rows, names, id)
    labeled_there = None
    if people is not None:
        new = people if both is None else np.where(both[0], 0, people)
        labeled_there = count_labeled(table, labels, new, totals.columns, bins)
    repeated = remarks_on_ids(rows, ids, id)
    with _naming_who_counts_twice([*repeated, *(about_both if both is None else [])]):
        totals, bounds, about_groups = bounds_of_rows(
            totals, groups, weights, labels, labeled_there, options
        )
    if own_weights is not None and (own_weights == 1).all():
        own_weights = None
    if tables.drawn_with is not None:
        own_weights = checked_weights(labels, own_weights, tables.drawn_with)
    whom = "the rows to label" if totals.labeled is None else "everybody"
    encoder, X = fit_encoder(profiles, labels)
    data = PreparedData(
        options=options,
        names=tables.names,
        n_checked=0 if tables.drawn_with is None else len(tables.drawn_with),
        table=table,
        labels=labels,
        labeled_weights=own_weights,
        rows=rows,
        weights=weights,
        known=None if both is None else both[1],
        truth=known_classes(rows, options.target, sorted(set(labels)), options.missing),
        columns=profiles,
        left_out=left_out,
        encoder=encoder,
        X=X,
        totals=totals,
        bounds=bounds,
        groups=groups,
        bins=bins,
        read_as=[
            *(pair for pair in zip(tables.names, tables.read_as, strict=True) if pair[1]),
            *((name, f"{note} of {whom}") for name, note in notes),
            *((each.name, f"ranges of {each.column!r} ({each})") for each in bins.values()),
        ],
        remarks=[*remarks, *about_both, *about_groups, *_few_imputations(options), *repeated],
    )
    _check_possible(data)
    data.seconds["reading and checking"] = time.perf_counter() - start
    return data


def _stated_totals(
    labeled: Any, unlabeled: Any, options: Options, labels: Texts
) -> tuple[Any, list[str]]:
    """Return the totals that were stated, and a remark if they had to be estimated."""
    stated = options.totals
    if not isinstance(stated, str):
        return stated, []
    if stated == OPEN:
        return dict.fromkeys(sorted(set(labels)), (0.0, 1.0)), []
    if stated != ESTIMATE:
        return stated, []
    from c2rf.workflow.classify import make_learner, totals_of

    data = prepare(labeled, unlabeled, replace(options, totals=OPEN))
    found, said = totals_of(data, make_learner(options.learner), ())
    figures = ", ".join(
        f"{name!r} {percent(total.value)} ± {percent(total.se)}" for name, total in found.items()
    )
    return found, [
        "The totals are not known but estimated, from the labeled rows and the population (± a "
        f"standard error): {figures}. That is right only if, within a class, the labeled rows are "
        "like the population.",
        *filter(None, [said]),
    ]


def _read_totals(
    stated: Any, tables: Tables, options: Options
) -> tuple[Totals, dict[str, Bins], list[tuple[str, str]]]:
    """Return the totals, groups that are ranges of a column, and how files were read."""
    columns, target = column_names(tables.rows), options.target
    decimal = options.totals_decimal or options.decimal
    how = ReadAs(decimal=decimal, likely=tables.decimal)
    totals, notes = read_known(stated, tables.labeled[target], columns, how, tables.rows)
    others = [name for name in columns if name != target]
    bins = find_all_bins(totals, tables.labeled, others, options)
    for names in options.tables_by:
        check_domains(names, tables.rows, tables.labeled, bins, target)
    return totals, bins, notes


def _labeled_weights(table: pd.DataFrame, options: Options) -> Any:
    """Return how many people each labeled row stands for; None if the table does not say."""
    if options.weight is None or options.weight not in table:
        return None
    what = f"the weight {options.weight!r} of the labeled rows"
    found = read_weights(table[options.weight], len(table), what)
    return np.ones(len(table), dtype=np.int64) if found is None else found


def _remarks_on_columns(
    profiles: Sequence[ColumnProfile], grouping: Sequence[str], options: Options
) -> list[str]:
    """Name columns that may not mean what they seem to."""
    remarks = _columns_apart(profiles, grouping)
    for each in profiles:
        name = each.name
        if _MAYBE_WEIGHT.fullmatch(name.casefold()) and name not in options.keep:
            option = for_user(f"weight={name!r}", f"--weight {name}")
            remarks.append(
                f"{name!r} is learned from like any number. If it says how many people a row "
                f"stands for, use {option}."
            )
        if name in chain(*options.tables_by) and each.kind == "numbers" and each.levels > MANY:
            bins = for_user(f'bin="group={name}:0-14,15+"', f"--bin 'group={name}:0-14,15+'")
            remarks.append(
                f"The estimates by {name!r} have a domain for each of its numbers, of which there "
                f"are {each.levels:,}. For ranges, name them with {bins}, and ask for estimates by "
                "'group'."
            )
        if each.signs_found:
            remarks.append(
                f"In {name!r} {count(each.signs_found.total(), 'cell')} "
                f"({all_of(list(each.signs_found))}) among numbers are taken as missing values."
            )
    return remarks


def _columns_apart(profiles: Sequence[ColumnProfile], grouping: Sequence[str]) -> list[str]:
    """Name columns whose values differ altogether between the tables; refuse grouping by one."""
    found = []
    for each in profiles:
        if 0 < each.unseen == each.unlabeled.given and len(each.texts.values):
            both = (each.texts.values, each.unlabeled.few)
            ends = (listed(sorted(values), 5) for values in both)
            said = "No value of {!r} is in both tables: {} in the labeled rows, {} in the others"
            said = said.format(each.name, *ends)
            if each.name in grouping:
                drop = for_user(f"drop=[{each.name!r}]", f"--drop {each.name}")
                raise InputError(
                    f"{said}. Totals are grouped by it: write both alike; or, if they do differ, "
                    f"say with {drop} that it is not learned from"
                )
            found.append(f"{said}; nothing can be learned from it.")
    return found


def _few_imputations(options: Options) -> list[str]:
    if options.imputations is None or not 1 < options.imputations < FEW_IMPUTATIONS:
        return []
    return [
        f"{options.imputations} imputations are few: intervals by so few are not reliable; "
        "20 are usual."
    ]


@contextmanager
def _naming_who_counts_twice(remarks: Sequence[str]) -> Iterator[None]:
    """Put before an error of the block what may be behind it: people who count twice."""
    try:
        yield
    except InputError as error:
        said = str(error)
        raise InputError(" ".join([*remarks, f"{said[:1].upper()}{said[1:]}"])) from error


def _check_possible(data: PreparedData) -> None:
    """Refuse columns that the output would have twice, and what the method cannot do."""
    _ = data.shown
    share = data.options.sensitivity
    if share is not None:
        check_share(None if share == FROM_ERRORS else share, data.bounds.errors)
    if data.options.method != "c2rf":
        return
    for cannot, why in (
        (
            len(data.classes) > 2,
            f"is for two classes; {data.options.target!r} has {len(data.classes)}",
        ),
        (
            data.known is not None,
            "cannot keep known labels of rows to label: remove these "
            f"{count(data.n_known, 'row')} from one "
            "of the tables",
        ),
        (data.weights is not None, "counts rows, not weights"),
        (bool(data.totals.margins), "meets no totals of groups"),
        ((data.bounds.lower != data.bounds.upper).any(), "needs one total, not a range"),
    ):
        if cannot:
            instead = for_user('method="known-totals"', "--method known-totals")
            raise InputError(f"the method c2rf {why}; use {instead}")


_DESIGN_WEIGHT = re.compile(
    r"(design|survey|sampl(e|ing)|calibrat(ed|ion)|final|raking|expansion)(weights?|wgt|wt|gewicht)"
    r"|p?wgts?|pweights?|hrf|fpond|.*(hochrechnung|gewichtungs|designgewicht|pond[eé]raci?[oó]n).*"
    r"|(poids|facteur|factor|coef)(de)?(sondage|expansi[oó]n|elevaci[oó]n)|(expansion|weighting)factor"
)
_MAYBE_WEIGHT = re.compile(r"weights?|gewichte?|poids|pesos?")
LIKE_A_WEIGHT = "is named like the weights of a survey"
"""Why a column is left out that says how many people a row stands for."""


def is_design_weight(name: str) -> bool:
    """Say whether a column is named like the weights of a survey; weight may be kilograms.

    Examples
    --------
    >>> [is_design_weight(name) for name in ("Hochrechnungsfaktor", "design_weight", "weight")]
    [True, True, False]
    """
    return _DESIGN_WEIGHT.fullmatch(re.sub(r"[\W\d_]+", "", name.casefold())) is not None


def learned_columns(
    table: pd.DataFrame, rows: Population, grouping: Sequence[str], options: Options,
    bins: Collection[str] = (),
) -> tuple[list[str], dict[str, str]]:  # fmt: skip
    """Return the columns to learn from, and why not from others that look useless.

    Every column that is named must be there. Whether one is useless is judged by all labeled rows
    and the first of the others; ``grouping`` are the columns that totals are grouped by.
    """
    others = [name for name in column_names(rows) if name != options.target]
    check_column(option_name("id"), options.id, others)
    for name in grouping:
        if name not in bins:
            check_column(for_user("totals", "--group"), name, others)
    if options.weight not in table:  # what only the labeled rows have weighs them in learning
        check_column(option_name("weight"), options.weight, others)
    if options.weight is not None and options.weight in grouping:
        raise InputError(f"{options.weight!r} cannot be the weight and a grouping column of totals")
    left = [*options.drop, *(name for name in (options.id, options.weight) if name is not None)]
    header = pd.DataFrame(columns=column_names(rows))
    in_one = set(map(str, table)) ^ {*column_names(rows), options.target}
    weights = [name for name in sorted(in_one) if is_design_weight(name) and name not in grouping]
    features = feature_names(table, header, options.target, [*left, *weights], grouping)
    for name in options.text:
        if name not in features:
            raise InputError(
                f"{option_name('text')}: {name!r} is not a column to learn from; these are "
                f"{all_of(features)}{nearest(name, features)}"
            )
    for name in options.keep:
        check_column(option_name("keep"), name, features)
    first = table[features]
    if not rows.is_distributed:
        first = as_pandas(next(iter(rows.read(features)))[0])[:ROWS_PER_CHUNK]
    reasons = {
        name: LIKE_A_WEIGHT
        if is_design_weight(name)
        else why_left_out(table[name], first[name], options.missing)
        for name in features
        if name not in (*options.keep, *options.text)
    }
    left_out = {name: why for name, why in reasons.items() if why is not None}
    left_out |= {name: LIKE_A_WEIGHT for name in weights if name not in left}
    if not set(features) - set(left_out):
        option = for_user(f"keep=[{features[0]!r}]", f"--keep {features[0]}")
        raise InputError(
            f"there is no column to learn from: {features[0]!r} {left_out[features[0]]}; if it is "
            f"useful all the same, say so with {option}"
        )
    return [name for name in features if name not in left_out], left_out


PopulationProfile = tuple[list[ValueCounts], Groups | None, Hashes]
"""What one pass over some rows has found: what each column holds, groups, and hashes of ids."""


def profile_population(
    rows: Population,
    profiles: Sequence[ColumnProfile],
    grouping: Sequence[str] = (),
    id: str | None = None,
    bins: Mapping[str, Bins] = MappingProxyType({}),
) -> tuple[list[ColumnProfile], Groups, Hashes]:
    """Read all rows once; return their columns, their groups, and hashes of their ids, sorted.

    Parameters
    ----------
    rows : Population
        The unlabeled rows.
    profiles : sequence of ColumnProfile
        For the columns to learn from, as the labeled rows have them.
    grouping : sequence of str
        The columns that make the groups.
    id : str or None
        The column that names the rows.
    bins : mapping of str to Bins
        Groups that are ranges of a column.

    Examples
    --------
    >>> from c2rf.data.population.memory import Memory
    >>> age = ColumnProfile(pd.Series(["1", "2"], name="age"))
    >>> rows = Memory(pd.DataFrame({"age": ["3", ""], "id": ["a", "a"]}))
    >>> columns, groups, ids = profile_population(rows, [age], id="id")
    >>> columns[0].missing, bool(ids[0] == ids[1])
    ((0, 1), True)
    """
    sources = [bins[name].column if name in bins else name for name in grouping]
    wanted = [*(each.name for each in profiles), *sources, *([id] if id else [])]
    # What needs no column still needs the rows.
    columns = list(dict.fromkeys(wanted)) or (rows.names or [])[:1]
    counts, found, ids = rows.reduce(
        partial(_profiled, profiles, grouping, id, bins), _merged, columns
    )
    assert rows.n_rows is not None
    groups = Groups.none(rows.n_rows) if found is None else found.in_order()
    ids.sort()  # in place: there may be many
    pairs = zip(profiles, counts, strict=True)
    return [each.with_unlabeled(values) for each, values in pairs], groups, ids


def _profiled(
    profiles: Sequence[ColumnProfile], grouping: Sequence[str], id: str | None,
    bins: Mapping[str, Bins], chunk: Chunk,
) -> PopulationProfile:  # fmt: skip
    """Profile the rows of a chunk."""
    table = as_pandas(chunk.data)
    place = chunk.where or "data row {row} of the unlabeled file"
    values = [each.count(table[each.name], place) for each in profiles]
    groups = groups_of(table, grouping, bins) if grouping else None
    ids = np.empty(0, dtype=np.uint64) if id is None else hash_ids(table[id])
    return values, groups, ids


def _merged(parts: Sequence[PopulationProfile]) -> PopulationProfile:
    """Put the profiles of neighbouring rows together."""
    values, groups, ids = zip(*parts, strict=True)
    merged = [reduce(ValueCounts.merge, column) for column in zip(*values, strict=True)]
    grouped = [part for part in groups if part is not None]
    return merged, Groups.merged(grouped) if grouped else None, np.concatenate(ids)


def check_domains(
    by: Sequence[str], rows: Population, table: pd.DataFrame, bins: Collection[str], target: str
) -> None:
    """Refuse columns of domains that are not in both tables."""
    for name in by:
        for there in (column_names(rows), map(str, table)):
            others = [each for each in (*there, *bins) if each != target]
            check_column(option_name("estimates_by"), name, others)


def domains_by(data: PreparedData, columns: Sequence[str]) -> tuple[Groups, Codes]:
    """Return the domains that columns make: of unlabeled rows, and the codes of labeled ones."""
    if not columns:
        return Groups.none(data.n_rows), np.zeros(len(data.labels), dtype=np.intp)
    sources = [data.bins[name].column if name in data.bins else name for name in columns]
    work = partial(_groups_in_chunk, columns, data.bins)
    found = data.rows.reduce(work, Groups.merged, list(dict.fromkeys(sources))).in_order()
    check_number_of_domains(found)
    return found, found.places_of(groups_of(data.table, columns, data.bins))


def _groups_in_chunk(columns: Sequence[str], bins: Mapping[str, Bins], chunk: Chunk) -> Groups:
    return groups_of(as_pandas(chunk.data), columns, bins)


OTHER_CLASS = -2
"""The code of a class that no labeled row has."""


def known_classes(
    rows: Population, target: str, classes: list[str], signs: Sequence[str] = ()
) -> Codes | None:
    """Return the class of each row where the table has it, None if it is nowhere filled."""
    if rows.names is None or target not in rows.names or rows.is_distributed:
        return None
    places = {name: place for place, name in enumerate(classes)}

    def codes_of(chunk: Chunk) -> Codes:
        cells = as_text(as_pandas(chunk.data)[target], signs)
        found = [UNKNOWN if cell is None else places.get(cell, OTHER_CLASS) for cell in cells]
        return np.array(found, dtype=np.int32)

    codes = np.asarray(rows.map(codes_of, np.zeros(1, np.int32), [target]))
    return None if (codes == UNKNOWN).all() else codes
