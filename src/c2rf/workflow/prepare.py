"""Two tables and what is known, read, profiled and checked before any work is done.

:func:`prepare` reads the labeled rows, finds the unlabeled ones where they are kept, reads the
totals, chooses the columns to learn from, and profiles the population in one pass. All that a
classification needs is in the :class:`PreparedData` that it returns.
"""

from __future__ import annotations

import os
import re
import time
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial, reduce
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_integer_dtype

from c2rf._utils.frames import as_pandas
from c2rf._utils.text import all_of, count, for_user, listed, nearest, option_name, percent
from c2rf._utils.types import Bools, Codes, Floats, Ints, Texts
from c2rf.data.cells import Cells, as_text, distinct, read_cells
from c2rf.data.dialect import AS_FOUND, ReadAs, compression
from c2rf.data.encoding import Encoder, encoded, fit_encoder
from c2rf.data.formats import DUCKDB, PARQUET, ROWS_PER_CHUNK, find_format, plain_path, read_file
from c2rf.data.population import as_population
from c2rf.data.population.duckdb import find_table
from c2rf.data.population.files import find_files
from c2rf.data.population.interface import Chunk, Population
from c2rf.data.population.memory import Memory
from c2rf.data.population.spark import SparkRows, start_session
from c2rf.data.population.spark import read_parquet as read_parquet_by_spark
from c2rf.data.profile import (
    ColumnProfile,
    ValueCounts,
    check_column,
    feature_names,
    look_like_codes,
    target_values,
    why_left_out,
)
from c2rf.data.totals import MISSES, Bins, TotalsTable, find_bins
from c2rf.estimators.labeled_population import check_number_of_domains, find_weights
from c2rf.exceptions import InputError
from c2rf.inference.sensitivity import shares_off
from c2rf.progress import report_progress
from c2rf.totals.bounds import Bounds, open_margins
from c2rf.totals.everybody import about_whom, in_words
from c2rf.totals.groups import Groups, read_weights
from c2rf.totals.make_bounds import make_bounds
from c2rf.totals.stated import ESTIMATE, Estimate, Labeled, Totals, is_list_of_rows, read_totals
from c2rf.workflow.checked import FILE, checked_weights, with_checked
from c2rf.workflow.options import FROM_ERRORS, Options
from c2rf.workflow.predictions import PREDICTED, UNKNOWN, shown_columns

SENSITIVITY_COLUMNS = ("robust", "sensitive_to")
"""Columns of an output: whether a label stays if totals are off, and else of which classes."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PreparedData:
    """All that a classification needs, checked.

    Parameters
    ----------
    options : Options
        The options.
    names : tuple of str
        What the labeled and the unlabeled table are called.
    labels : ndarray of str
        The classes of the labeled rows, as text.
    classes : list of str
        All classes, sorted.
    values : ndarray
        The classes as the labeled table has them.
    X : ndarray
        The labeled rows as numbers.
    rows : Population
        The unlabeled rows as they are.
    X_unlabeled : Population
        The unlabeled rows as numbers.
    encoder : Encoder
        From columns to numbers.
    columns : sequence of ColumnProfile
        What was learned from, and what it holds.
    totals, bounds, groups : Totals, Bounds, Groups
        What is known.
    remarks : sequence of str
        Things to be careful about.
    left_out : mapping of str to str
        Columns that are not learned from, and why.
    codes : sequence of str
        Columns of numbers that look like codes.
    read_as : sequence of pairs of str
        Files, and how they were understood.
    truth : ndarray of int, optional
        The class of each unlabeled row whose target is filled in, for a score.
    weights : ndarray of shape (n_rows,), optional
        How many people each unlabeled row stands for.
    labeled_weights : ndarray of shape (n_labeled,), optional
        The same of the labeled rows, where their table has the column.
    table : DataFrame
        The labeled rows as they are.
    known : ndarray of int, optional
        The class of each unlabeled row that is known to have one, else -1: it keeps it.
    totals_of : str, optional
        Whom the totals were about, where the labeled rows were subtracted.
    bins : mapping of str to Bins
        Groups that are ranges of a column.
    seconds : dict
        How long each step took so far.
    """

    options: Options
    names: tuple[str, str]
    labels: Texts
    classes: list[str]
    values: Any
    X: Floats
    rows: Population
    X_unlabeled: Population
    encoder: Encoder
    columns: Sequence[ColumnProfile]
    totals: Totals
    bounds: Bounds
    groups: Groups
    remarks: Sequence[str]
    left_out: Mapping[str, str] = field(default_factory=dict)
    codes: Sequence[str] = ()
    read_as: Sequence[tuple[str, str]] = ()
    truth: Codes | None = None
    weights: Floats | None = None
    labeled_weights: Floats | None = None
    table: pd.DataFrame = field(default_factory=pd.DataFrame)
    known: Codes | None = None
    totals_of: str | None = None
    bins: Mapping[str, Bins] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

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
    def positive(self) -> str | None:
        """Of two classes the one that positive scores predict: that of the first total."""
        if len(self.classes) > 2:
            return None
        return next(iter(self.totals.overall), self.classes[1])

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
    target, how = options.target, options.read_as
    names = _called(labeled, "the labeled table"), _called(unlabeled, "the unlabeled table")
    table, read = _read_labeled(labeled, how)
    if options.missing and target in table:
        known = as_text(table[target], options.missing).notna()
        table = table.assign(**{target: table[target].where(known)})
    if unlabeled is None:
        table, rest = _by_target(table, target)
        names, rows = (names[0], names[0]), find_rows(rest, options.engine)
        rows.dialect = read.dialect
    else:
        rows = find_rows(unlabeled, options.engine, how, options.id, options.query)
    columns, drawn_with = column_names(rows), None
    if options.checked is not None and target in table:
        sheet, _ = _read_labeled(options.checked, how)
        if isinstance(options.checked, (str, Path)):
            sheet.attrs[FILE] = Path(options.checked).name
        table, drawn_with = with_checked(table, rows, sheet, target, options.id)
    labels = target_values(table, target)
    classes = sorted(set(labels))
    dialects = [each for each in (read.dialect, rows.dialect) if each is not None]
    likely = next((each.decimal for each in dialects if each.decimal), None)
    as_data = ReadAs(decimal=options.totals_decimal or how.decimal, likely=likely)
    remarks: list[str] = []
    given = options.totals
    if isinstance(given, str) and given == OPEN:
        given = dict.fromkeys(classes, (0.0, 1.0))
    elif isinstance(given, str) and given == ESTIMATE:
        given = _estimated_totals(labeled, unlabeled, options)
        remarks.append(
            "the totals are not known but estimated, from the labeled rows and the population: "
            + ", ".join(f"{name!r} {_with_error(total)}" for name, total in given.items())
            + ". That is right only if, within a class, the labeled rows are like the population."
        )
    totals, notes = read_known(given, table[target], columns, as_data, rows)
    grouping = tuple(map(str, totals.columns))
    bins = find_all_bins(totals, table, [name for name in columns if name != target], options)
    for names_by in options.tables_by:
        check_domains(names_by, rows, table, bins, target)
    features, left_out = learned_columns(table, rows, grouping, options, bins)
    signs = options.missing
    profiles = [ColumnProfile(table[name], name in options.text, signs) for name in features]
    profiles, groups, ids = profile_population(rows, profiles, grouping, options.id, bins)
    remarks += _columns_apart(profiles, grouping)
    for name in features:
        if _MAYBE_WEIGHT.fullmatch(name.casefold()) and name not in options.keep:
            option = for_user(f"weight={name!r}", f"--weight {name}")
            remarks.append(
                f"{name!r} is learned from like any number. If it says how many people a row "
                f"stands for, use {option}."
            )
    weights = find_weights(rows, options.weight, len(groups.codes))
    labeled_weights = None
    if options.weight is not None and options.weight in table:
        what = f"the weight {options.weight!r} of the labeled rows"
        labeled_weights = read_weights(table[options.weight], len(table), what)
    known_to_us = labeled_weights if options.weight else np.ones(len(labels), dtype=np.int64)
    if drawn_with is not None:
        labeled_weights = checked_weights(labels, labeled_weights, drawn_with)
    both = None
    if unlabeled is not None or drawn_with is not None:
        both = people_in_both(table, labels, rows, ids, options)
        remarks += _remarks_on_both(table, labels, rows, features, both, options)
    labeled_there = None
    if known_to_us is not None:
        new = known_to_us if both is None else np.where(both[0], 0, known_to_us)
        codes = np.searchsorted(np.array(classes, dtype=object), labels)
        labeled_there = _labeled_there(table, codes, new, totals.columns, bins)
    sizes = groups.sizes if weights is None else groups.weight(weights)
    n_new = 0 if labeled_there is None else labeled_there.counts.sum()
    _refuse_misspelled(totals, labels, sizes.sum(), sizes.sum() + n_new)
    remarks += _groups_without_totals(totals, groups)
    totals = about_whom(
        totals, groups, sizes, labeled_there, classes, options.totals_of, options.totals_policy
    )
    whom = "the rows to label" if totals.labeled is None else "everybody"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # summary and report name each adjustment
        bounds = make_bounds(totals, groups, classes, options.totals_policy, weights)
    if options.imputations is not None and 1 < options.imputations < FEW_IMPUTATIONS:
        remarks.append(
            f"{options.imputations} imputations are few: intervals by so few are not reliable; "
            "20 are usual."
        )
    if n_repeated := int((ids[1:] == ids[:-1]).sum()):
        remarks.append(f"{n_repeated:,} ids are not unique in {options.id!r}.")
    remarks += [
        f"in {each.name!r} {count(each.signs_found.total(), 'cell')} "
        f"({all_of(list(each.signs_found))}) among numbers are taken as missing values."
        for each in profiles
        if each.signs_found
    ]
    encoder, X = fit_encoder(profiles, labels)
    data = PreparedData(
        options=options,
        names=names,
        labels=labels,
        classes=classes,
        values=_classes_as_given(table[target], classes),
        X=X,
        rows=rows,
        X_unlabeled=encoded(rows, encoder),
        encoder=encoder,
        columns=profiles,
        totals=totals,
        bounds=bounds.with_implied_bounds(),
        groups=groups,
        remarks=remarks,
        left_out=left_out,
        codes=[
            each.name
            for each in profiles
            if each.kind == "numbers"
            and each.name not in options.keep
            and look_like_codes(table[each.name])
        ],
        read_as=[
            *(pair for pair in zip(names, (read.read_as, rows.read_as), strict=True) if pair[1]),
            *((name, f"{note} of {whom}") for name, note in notes),
            *((each.name, f"ranges of {each.column!r} ({each})") for each in bins.values()),
        ],
        bins=bins,
        truth=known_classes(rows, target, classes, options.missing),
        weights=weights,
        labeled_weights=labeled_weights,
        totals_of=None if totals.labeled is None else in_words(sizes, totals.labeled),
        known=None if both is None else both[1],
        table=table,
    )
    _check_possible(data)
    data.seconds["reading and checking"] = time.perf_counter() - start
    return data


def _check_possible(data: PreparedData) -> None:
    """Refuse columns that the output would have twice, and what the method cannot do."""
    _ = data.shown
    share = data.options.sensitivity
    if share is not None:
        errors = data.bounds.relative_errors
        shares_off(None if share == FROM_ERRORS else share, errors, len(data.classes))
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


OPEN = "open"
"""As ``totals``: nothing is known of them."""


def _estimated_totals(labeled: Any, unlabeled: Any, options: Options) -> dict[Any, Estimate]:
    """Estimate the totals by the learner that was chosen."""
    from c2rf.workflow.classify import make_learner, totals_of

    data = prepare(labeled, unlabeled, replace(options, totals=OPEN))
    found: dict[Any, Estimate] = totals_of(data, make_learner(options.learner), ())
    return found


def _with_error(total: Estimate) -> str:
    return f"{percent(total.value)} ± {percent(total.se)}"


LARGE_FILE = 1 << 29
"""A file with more bytes than this is read into memory only with ``engine="memory"``."""
_PACKED = 6  # about as much smaller are compressed tables of text


def find_rows(
    given: Any,
    engine: str = "auto",
    how: ReadAs = AS_FOUND,
    id: str | None = None,
    query: str | None = None,
) -> Population:
    """Return the rows of a table, kept where the engine says.

    Parameters
    ----------
    given : data frame, path, or population
        A table in memory, a file or a folder of files, or what :func:`as_population` takes.
    engine : {"auto", "memory", "chunks", "dask", "spark"}
        Of a path: read it into memory, leave it in its files and read it in parts, or give its
        Parquet files to Dask or Spark. "auto" leaves folders and large files where they are.
    how : ReadAs
        How files are to be read.
    id : str, optional
        The column that names the rows; a database needs it.
    query : str, optional
        Of a DuckDB file: one SELECT whose rows are meant.
    """
    if isinstance(given, (str, os.PathLike)):
        return _of_path(Path(given), engine, how, id, query)
    if query is not None:
        raise InputError(
            f"{option_name('query')} needs a DuckDB file; found {_called(given, 'rows')}"
        )
    population = as_population(_with_names(given), "the unlabeled table", id)
    kinds = {
        "memory": isinstance(population, Memory),
        "dask": population.is_distributed,
        "spark": isinstance(population, SparkRows),
    }
    if engine in kinds and not kinds[engine]:
        raise InputError(
            f"engine={engine!r} is not possible for a {type(given).__name__}; leave it out, or "
            "give a path"
        )
    return population


def _with_names(given: Any) -> Any:
    """Return a frame whose columns have text as names."""
    if type(given).__module__.partition(".")[0] != "pandas" or not hasattr(given, "columns"):
        return given
    return given.set_axis([str(name) for name in given.columns], axis="columns")


def _of_path(path: Path, engine: str, how: ReadAs, id: str | None, query: str | None) -> Population:
    is_database = not path.is_dir() and find_format(path) is DUCKDB
    if query is not None and not is_database:
        raise InputError(f"{option_name('query')} needs a DuckDB file; found {path}")
    if is_database and engine in ("auto", "chunks"):
        return find_table(path, id, query)
    if engine == "dask":
        from c2rf.data.population.dask import DaskRows, read_parquet

        rows: Population = DaskRows(read_parquet(path))
        rows.read_as = "Parquet"
        return rows
    if engine == "spark":
        if find_files([path]).kind is not PARQUET:
            raise InputError(
                f"{path} must be a Parquet file or a folder of them; found other files"
            )
        return SparkRows(read_parquet_by_spark(path), id, str(path))
    in_chunks = path.is_dir() or find_format(path).in_chunks
    if engine == "chunks" or (engine == "auto" and in_chunks and is_large(path)):
        files = find_files([path], how, as_tables=True)
        if files.n_rows == 0:
            raise InputError(f"{path} has columns but no rows")
        files.name = str(path)
        return files
    table = read_file(path, how)
    memory = Memory(table.frame)
    memory.dialect, memory.read_as = table.dialect, table.read_as
    return memory


def is_large(path: Path, limit: int = LARGE_FILE) -> bool:
    """Whether a file is too large to be read into memory unasked; a folder always is."""
    if path.is_dir():
        return True
    file = plain_path(path)
    packed = _PACKED if compression(file) is not None else 1
    return file.stat().st_size * packed > limit


@contextmanager
def at_scheduler(
    address: str | None, engine: str, n_jobs: int | None = None, master: str | None = None
) -> Iterator[None]:
    """Let Dask compute on the cluster of a scheduler, or on ``n_jobs`` threads of our own.

    A cluster has as many workers as it has: there, ``n_jobs`` is for what is learned here.
    """
    for name, given, needed in (("scheduler", address, "dask"), ("master", master, "spark")):
        if given is not None and engine != needed:
            option = for_user(f'engine="{needed}"', f"--engine {needed}")
            raise InputError(f"{option_name(name)} is an option of {option}; give both, or neither")
    if engine == "spark":
        start_session(master)
    if engine != "dask":
        yield
        return
    from c2rf.data.population.dask import connected, using_threads

    with connected(address), using_threads(None if address else n_jobs):
        yield


def column_names(rows: Population) -> list[str]:
    """Return the names of the columns of a population, which it must have."""
    if rows.names is None:
        raise InputError(
            "the unlabeled rows must have columns with names: give a data frame, a path, a "
            "dataset, a lazy frame or a Dask DataFrame"
        )
    return rows.names


def _read_labeled(given: Any, how: ReadAs) -> tuple[pd.DataFrame, Population]:
    """Return the labeled table as a frame of pandas, and as what was read."""
    if not isinstance(given, (str, os.PathLike)) and not hasattr(given, "columns"):
        raise InputError(
            f"the labeled table must be a data frame or a path; found a {type(given).__name__}"
        )
    rows = find_rows(given, "memory", how)
    if not rows.n_rows:
        raise InputError("the labeled table has no rows")
    return as_pandas(next(rows.read())[0]), rows


def _called(given: Any, otherwise: str) -> str:
    return Path(given).name if isinstance(given, (str, os.PathLike)) else otherwise


def _by_target(table: pd.DataFrame, target: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split one table into the rows whose target is known and the others."""
    if target not in table:
        return table, table  # the check of the target says so
    known = as_text(table[target]).notna()
    rest = table[~known].drop(columns=target).reset_index(drop=True)
    if not len(rest):
        raise InputError(
            f"there are no rows to label: no cell of the target {target!r} is empty, and no "
            "unlabeled table was given"
        )
    return table[known].reset_index(drop=True), rest


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


FEW_IMPUTATIONS = 10
"""With fewer, a user is told that intervals are not reliable."""

NO_GROUP = "(no group)"
"""The group of rows whose cell is empty."""


PopulationProfile = tuple[list[ValueCounts], Groups | None, NDArray[np.uint64]]
"""What one pass over some rows has found: what each column holds, groups, and hashes of ids."""


def profile_population(
    rows: Population,
    profiles: Sequence[ColumnProfile],
    grouping: Sequence[str] = (),
    id: str | None = None,
    bins: Mapping[str, Bins] = MappingProxyType({}),
) -> tuple[list[ColumnProfile], Groups, NDArray[np.uint64]]:
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


def _columns_apart(profiles: Sequence[ColumnProfile], grouping: Sequence[str]) -> list[str]:
    """Name columns whose values differ altogether between the tables; refuse grouping by one."""
    found = []
    for each in profiles:
        if 0 < each.unseen == each.unlabeled.given and len(each.texts.values):
            both = (each.texts.values, each.unlabeled.few)
            ends = (listed(sorted(values), 5) for values in both)
            said = "no value of {!r} is in both tables: {} in the labeled rows, {} in the others"
            said = said.format(each.name, *ends)
            if each.name in grouping:
                drop = for_user(f"drop=[{each.name!r}]", f"--drop {each.name}")
                raise InputError(
                    f"{said}. Totals are grouped by it: write both alike; or, if they do differ, "
                    f"say with {drop} that it is not learned from"
                )
            found.append(f"{said}; nothing can be learned from it.")
    return found


def _profiled(
    profiles: Sequence[ColumnProfile], grouping: Sequence[str], id: str | None,
    bins: Mapping[str, Bins], chunk: Chunk,
) -> PopulationProfile:  # fmt: skip
    """Profile the rows of a chunk."""
    table = as_pandas(chunk.data)
    place = chunk.where or "data row {row} of the unlabeled file"
    values = [each.count(table[each.name], place) for each in profiles]
    groups = groups_of(table, grouping, bins) if grouping else None
    ids = np.empty(0, dtype=np.uint64) if id is None else _hashes(table[id])
    return values, groups, ids


def _merged(parts: Sequence[PopulationProfile]) -> PopulationProfile:
    """Put the profiles of neighbouring rows together."""
    values, groups, ids = zip(*parts, strict=True)
    merged = [reduce(ValueCounts.merge, column) for column in zip(*values, strict=True)]
    grouped = [part for part in groups if part is not None]
    return merged, Groups.merged(grouped) if grouped else None, np.concatenate(ids)


def groups_of(table: pd.DataFrame, columns: Sequence[str], bins: Mapping[str, Bins]) -> Groups:
    """Return the groups of rows by some columns; a group of several is a tuple of texts."""
    texts = [
        np.array(
            bins[name].place(table[bins[name].column], NO_GROUP)
            if name in bins
            else as_text(table[name]).fillna(NO_GROUP),
            dtype=object,
        )
        for name in columns
    ]
    found = Groups.of(texts, tuple(columns))
    return found._replace(codes=found.codes.astype(np.int32))  # four bytes a row are enough


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


def _hashes(ids: pd.Series[Any]) -> NDArray[np.uint64]:
    """Return a number for each id, the same for the same id; whole numbers need no texts."""
    if isinstance(ids.dtype, np.dtype) and ids.dtype.kind in "iu":
        return pd.util.hash_array(ids.to_numpy())
    return pd.util.hash_array(as_text(ids).fillna("").to_numpy(dtype=object))


def people_in_both(
    table: pd.DataFrame, labels: Texts, rows: Population, ids: NDArray[np.uint64], options: Options
) -> tuple[Bools, Codes] | None:
    """Find labeled people among the rows to label; None without ids, or where nobody is.

    ``ids`` are hashes of the ids of the rows to label, sorted.

    Returns
    -------
    in_rows : ndarray of bool, shape (n_labeled,)
        Which labeled rows are among the rows to label.
    known : ndarray of int, shape (n_rows,)
        The class of each row to label that is known to have one, else -1.
    """
    if options.id is None or options.id not in table:
        return None
    own = as_text(table[options.id]).fillna("")
    there = _are_there(own, ids)
    _refuse_lost_zeros(own, there, ids, options.id)
    if not there.any():
        return None
    found = rows.reduce(partial(_with_ids, set(own) - {""}, options.id), pd.concat, [options.id])
    found = found[~found.duplicated(keep=False)]
    by_id: dict[str, str] = {}
    for name, label in zip(own, labels, strict=True):
        if by_id.setdefault(name, label) != label and (found == name).any():
            raise InputError(
                f"the id {name!r} has two labels, {by_id[name]!r} and {label!r}, in the labeled "
                "table; keep one of them"
            )
    if not len(found):
        return None
    known: Codes = np.full(rows.n_rows or 0, UNKNOWN, dtype=np.int32)
    known[found.index] = np.searchsorted(sorted(set(labels)), [by_id[name] for name in found])
    return np.asarray(own.isin(set(found))), known


def _refuse_misspelled(totals: Totals, labels: Texts, n: float, n_everybody: float) -> None:
    """Refuse a class without totals that is named like another one, if the others leave no room."""
    named = {str(label) for table in totals.tables for row in table.values() for label in row}
    for label in sorted(set(labels) - named):
        meant = nearest(label, sorted(named))
        if meant and any(_are_all(table, n, n_everybody) for table in totals.tables):
            rows = count(int((labels == label).sum()), "labeled row")
            raise InputError(
                f"the class {label!r} of {rows} has no total, and the totals of the other classes "
                f"({listed(sorted(named))}) leave no room for it{meant} Correct it in the labeled "
                "table, or give it a total"
            )


def _are_all(table: Mapping[Any, Mapping[Any, Any]], n: float, n_everybody: float) -> bool:
    """Say whether totals add up to the rows to label, to everybody or more, or to 100%."""
    given = [
        [getattr(total, "value", total) for total in row.values() if not isinstance(total, tuple)]
        for row in table.values()
    ]
    rates = [sum(row) for row in given if row and all(isinstance(each, float) for each in row)]
    found = sum(each for row in given for each in row if not isinstance(each, float))
    slack = MISSES * n
    return any(rate > 1 - MISSES for rate in rates) or (
        abs(found - n) <= slack or found >= n_everybody - slack
    )


def _groups_without_totals(totals: Totals, groups: Groups) -> list[str]:
    """Say which groups have no totals, where most have; refuse what seems a sum and misses them."""
    remarks = []
    for margin, there in zip(
        totals.margins, open_margins(totals, groups, groups.sizes, 1)[1:], strict=True
    ):
        named = [each for each in there.names if NO_GROUP not in (each, *np.atleast_1d(each))]
        absent, columns = [each for each in named if each not in margin.by_group], margin.columns
        by = all_of(list(columns))
        for name in set(margin.by_group) - set(there.names):
            others = [row for group, row in margin.by_group.items() if group != name]
            if len(columns) == 1 and (off := _off_a_sum(margin.by_group[name], others)):
                raise InputError(
                    f"the totals by {by}: {name!r} is no group of the rows, and looks like the sum "
                    f"of the others, but is off by {abs(off):,}"
                    + (f"; there are no totals for {listed(absent)}" if absent else "")
                    + ". Correct the totals, or drop that row"
                )
        if 0 < len(absent) < len(margin.by_group):
            n = int(there.sums(groups.sizes)[[each in set(absent) for each in there.names]].sum())
            remarks.append(
                f"{by}: there are no totals for {listed(absent)} ({count(n, 'row')}), but for "
                f"{len(margin.by_group):,} other groups."
            )
    return remarks


def _off_a_sum(row: Mapping[Any, Any], others: Sequence[Mapping[Any, Any]]) -> int:
    """Return by how much counts miss the sums of others; 0 if they do not look like these."""
    parts = [[each.get(label, 0) for each in others] for label in row]
    if len(others) < 2 or not all(
        isinstance(each, int) and all(isinstance(part, int) for part in own) and each >= max(own)
        for each, own in zip(row.values(), parts, strict=True)
    ):
        return 0
    found, stated = sum(map(sum, parts)), sum(row.values())
    return stated - found if 0.5 < found / max(stated, 1) < 2 else 0


def _are_there(own: pd.Series[Any], ids: NDArray[np.uint64]) -> Bools:
    """Say which ids, as texts, are among those with sorted hashes; there, they may be numbers."""

    def found(hashes: NDArray[np.uint64]) -> Bools:
        places = np.minimum(np.searchsorted(ids, hashes), max(len(ids) - 1, 0))
        return np.asarray(ids[places] == hashes)

    there, whole = found(_hashes(own)), own.str.fullmatch("0|[1-9][0-9]{0,17}").to_numpy(dtype=bool)
    there[whole] |= found(pd.util.hash_array(own[whole].astype(np.int64).to_numpy()))
    return there


MOST_DIGITS = 18
"""Of ids that may have lost their leading zeros."""


def _refuse_lost_zeros(
    own: pd.Series[Any], there: Bools, ids: NDArray[np.uint64], name: str
) -> None:
    """Refuse ids of which more are among the others with leading zeros changed than as they are."""
    left = own[~there]
    left = left[left.str.fullmatch(f"[0-9]{{1,{MOST_DIGITS}}}").to_numpy(dtype=bool)]
    plain = left.str.lstrip("0").replace("", "0")
    pairs: dict[str, str] = {}
    for width in range(1, MOST_DIGITS + 1):
        other = plain.str.zfill(width)
        found = _are_there(other, ids)
        pairs |= dict(zip(left[found], other[found], strict=True))
    if len(pairs) > there.sum():
        one, other_one = next(iter(pairs.items()))
        raise InputError(
            f"{name!r}: {one!r} in the labeled table is {other_one!r} in the other one, and so are "
            f"{len(pairs):,} ids: leading zeros are lost in one of them, and people who are in "
            "both would count twice; write the ids in both tables in the same way, as text"
        )


def _with_ids(wanted: set[str], id: str, chunk: Chunk) -> pd.Series[Any]:
    """Return those ids of a chunk that are wanted, by the numbers of their rows."""
    texts = as_text(as_pandas(chunk.data)[id])
    texts.index = pd.RangeIndex(chunk.start, chunk.start + len(texts))
    return texts[texts.isin(wanted)]


ALL_DIFFER = 0.9
"""Labeled rows of which this share differs are unlikely to equal other people by chance."""


def n_equal_rows(table: pd.DataFrame, rows: Population, columns: Sequence[str]) -> int:
    """Count the labeled rows that equal a row to label in all columns; 0 if many equal each other.

    Examples
    --------
    >>> from c2rf.data.population.memory import Memory
    >>> table = pd.DataFrame({"age": [41, 52], "town": ["Ulm", "Bonn"]})
    >>> rows = Memory(pd.DataFrame({"age": [52, 41], "town": "Bonn"}))
    >>> n_equal_rows(table, rows, ["age", "town"])
    1
    """
    own = {name: read_cells(table[name]) for name in columns}
    sizes = {
        name: len(np.unique(cells.numbers) if cells.texts is None else cells.texts.values)
        for name, cells in own.items()
    }
    most = ALL_DIFFER * len(table)
    if max(sizes.values()) < most and len(np.unique(_row_hashes(table, columns))) < most:
        return 0
    # The columns with the most values come first: they leave few rows to compare.
    order = sorted(columns, key=lambda name: -sizes[name])
    work = partial(_equal_rows, [(name, own[name]) for name in order], columns)
    found = rows.reduce(work, np.concatenate, columns)
    return int(np.isin(_row_hashes(table, columns), found).sum()) if len(found) else 0


def _row_hashes(table: pd.DataFrame, columns: Sequence[str]) -> NDArray[np.uint64]:
    """Return a number for each row, the same for rows of the same texts."""
    texts = pd.concat([as_text(table[name]).fillna("") for name in columns], axis=1)
    return np.asarray(pd.util.hash_pandas_object(texts, index=False), dtype=np.uint64)


def _equal_rows(
    own: Sequence[tuple[str, Cells]], columns: Sequence[str], chunk: Chunk
) -> NDArray[np.uint64]:
    """Return the hashes of the rows of a chunk whose every cell is one of a labeled row."""
    table = as_pandas(chunk.data)
    rows = np.arange(len(table))
    for name, labeled in own:
        column = table[name].iloc[rows]
        cells = read_cells(column)
        if labeled.texts is None and cells.texts is None:
            kept = np.isnan(cells.numbers) | np.isin(cells.numbers, labeled.numbers)
        elif labeled.texts is not None:
            texts = distinct(column) if cells.texts is None else cells.texts
            kept = texts.places(labeled.texts.values) != len(labeled.texts.values)
        else:
            continue
        rows = rows[kept]
        if not len(rows):
            return np.empty(0, dtype=np.uint64)
    return np.unique(_row_hashes(table.iloc[rows], columns))


def _remarks_on_both(
    table: pd.DataFrame, labels: Texts, rows: Population, features: Sequence[str],
    both: tuple[Bools, Codes] | None, options: Options,
) -> list[str]:  # fmt: skip
    """Say how many people are, or seem to be, in both tables."""
    if both is not None:
        n = count(int((both[1] != UNKNOWN).sum()), "labeled row")
        return [
            f"{n} are among the rows to label, by {options.id!r}: they keep their label, and "
            "count once."
        ]
    if options.id is not None and options.id in table:
        return []
    n_equal = n_equal_rows(table, rows, features)
    if not n_equal:
        return []
    return [
        f"{count(n_equal, 'labeled row')} equal a row to label in all columns. If they are the "
        f"same people, say which column names them: {for_user('id=', '--id')}."
    ]


def _labeled_there(
    table: pd.DataFrame, codes: Ints, counted: Any, columns: Sequence[Any], bins: Mapping[str, Bins]
) -> Labeled:
    """Count the labeled rows of each class by grouping columns, as far as their table has them.

    ``counted`` is how many people a labeled row adds to those who are to be labeled.
    """
    sources = {name: bins[name].column if name in bins else name for name in columns}
    lacking = tuple(name for name, source in sources.items() if source not in table)
    own = Groups.none(len(table))
    if columns:
        there = {name: each for name, each in bins.items() if name not in lacking}
        own = groups_of(table.assign(**dict.fromkeys(lacking, "")), columns, there)
    counts = np.zeros((len(own.names), codes.max() + 1), dtype=counted.dtype)
    np.add.at(counts, (own.codes, codes), counted)
    return Labeled(own.names, counts, lacking)


def find_all_bins(
    totals: Totals, table: pd.DataFrame, columns: Sequence[str], options: Options
) -> dict[str, Bins]:
    """Return the groups that are ranges of a column: as the user says, or found by their names."""
    given = [] if options.bin is None else [Bins.parse(text) for text in options.bin.split(";")]
    bins = {each.name: each for each in given}
    for each in given:
        check_column(option_name("bin"), each.column, columns)
        if each.name not in (wanted := [*totals.columns, *chain.from_iterable(options.tables_by)]):
            raise InputError(
                f"{option_name('bin')}: neither totals nor estimates are grouped by {each.name!r}, "
                f"but by {all_of(wanted) or 'nothing'}"
            )
    taken = [options.id, options.weight, options.target]
    for margin in totals.margins:
        for place, name in enumerate(map(str, margin.columns)):
            if name not in columns and name not in bins:
                named = (g if len(margin.columns) > 1 else (g,) for g in margin.by_group)
                labels = list(dict.fromkeys(str(group[place]) for group in named))
                others = [each for each in columns if each not in taken]
                bins[name] = find_bins(name, labels, table, others)
    return bins


def read_known(
    totals: Any,
    classes: pd.Series[Any],
    columns: Sequence[str],
    how: ReadAs = AS_FOUND,
    rows: Population | None = None,
) -> tuple[Totals, list[tuple[str, str]]]:
    """Return totals whose classes and groups are texts, and how their files were read.

    Parameters
    ----------
    totals : object
        As for :class:`c2rf.KnownTotalsClassifier`; a path or :class:`TotalsTable` is a table.
    classes : Series
        The target of the labeled rows.
    columns : sequence of str
        The columns of the unlabeled rows, among which grouping columns are found.
    how : ReadAs
        How files with totals are to be read.
    rows : Population, optional
        The unlabeled rows, whose groups tell sums that are called as groups might be.
    """
    target, texts = str(classes.name), sorted(set(as_text(classes)))
    others = [name for name in columns if name != target]
    notes: list[tuple[str, str]] = []

    @cache
    def values(name: str) -> set[str]:
        if rows is None or name not in others:
            return set()
        found: set[str] = rows.reduce(partial(_values_of, name), _union, [name])
        return found

    def read(given: Any) -> Any:
        given = as_pandas(given)
        if isinstance(given, Mapping):
            return dict(zip(_texts(list(given)), given.values(), strict=True))
        if isinstance(given, (str, os.PathLike)):
            given = TotalsTable(Path(given), target)
        elif is_list_of_rows(given):
            given = TotalsTable(pd.DataFrame(given, dtype=object), target)
        elif hasattr(given, "index") and not callable(given.index):
            frame = given.rename("total").to_frame() if given.ndim == 1 else given.copy(deep=False)
            if given.ndim == 2 and frame.index.name is None and is_integer_dtype(frame.index):
                frame = frame.reset_index(drop=True)  # numbers of rows, of which some may be gone
            is_counted = isinstance(frame.index, pd.RangeIndex)
            given = TotalsTable(frame if is_counted else frame.reset_index(), target)
        if not isinstance(given, TotalsTable):
            return given
        found, note = given.read(others, texts, how, None if rows is None else values)
        notes.append((Path(given.name).name, note))
        return found

    is_list = isinstance(totals, list) and not is_list_of_rows(totals)
    return read_totals([read(each) for each in totals] if is_list else read(totals)), notes


def _values_of(name: str, chunk: Chunk) -> set[str]:
    return set(as_text(as_pandas(chunk.data)[name]).dropna().unique())


def _union(parts: Sequence[set[str]]) -> set[str]:
    return set().union(*parts)


def _texts(values: list[Any]) -> list[str]:
    texts = as_text(pd.Series(values, dtype=object))
    return [str(value) if text is None else text for value, text in zip(values, texts, strict=True)]


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


def _classes_as_given(target: pd.Series[Any], classes: Sequence[str]) -> Any:
    """Return the classes in the type of the labeled table."""
    first = pd.Series(target.to_numpy(), index=as_text(target))
    values = first[~first.index.duplicated()].loc[list(classes)].to_numpy()
    return np.array(list(classes), dtype=object) if values.dtype == object else values
