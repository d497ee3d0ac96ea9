"""Two tables and what is known, read, profiled and checked before any work is done.

Classes that are known after all: where the second table has the target, labels are scored.

Where the unlabeled rows are kept: in memory, in their files, or on a Dask cluster.

The two tables of a classification, read.

One look at all unlabeled rows: what their columns hold, how many there are, their groups.

Which columns are learned from: all but those that are named, and those that look useless.

What is known of the unlabeled rows, with classes and groups as the texts of the tables.

Two tables and what is known, checked and put together before any work is done.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from c2rf._utils.frames import as_pandas
from c2rf._utils.text import all_of, count, for_user, nearest, option_name, percent
from c2rf._utils.types import Codes, Floats, Texts
from c2rf.data.cells import as_text
from c2rf.data.dialect import AS_FOUND, ReadAs, compression
from c2rf.data.encoding import encode, encoded, make_encoder
from c2rf.data.formats import find_format, plain_path, read_file
from c2rf.data.population import as_population
from c2rf.data.population.files import find_files
from c2rf.data.population.interface import Chunk, Population
from c2rf.data.population.memory import Memory
from c2rf.data.profile import (
    ColumnProfile,
    ValueCounts,
    check_column,
    feature_names,
    look_like_codes,
    target_values,
    why_left_out,
)
from c2rf.data.totals import TotalsFile
from c2rf.estimators.rows import find_weights
from c2rf.exceptions import InputError
from c2rf.totals.bounds import Bounds
from c2rf.totals.groups import Groups, read_weights
from c2rf.totals.make_bounds import make_bounds
from c2rf.totals.stated import Margin, Totals, read_totals
from c2rf.workflow.options import Wishes
from c2rf.workflow.predictions import shown_columns

UNKNOWN, OTHER = -1, -2
"""Codes of an empty cell, and of a class that no labeled row has."""


class Accuracy(NamedTuple):
    """How many labels are right, of how many rows whose class is known."""

    right: int
    known: int
    target: str

    def __str__(self) -> str:
        """Say it.

        Examples
        --------
        >>> str(Accuracy(3, 4, "sick"))
        "75.0 % of the labels are right, by the 4 rows whose 'sick' is filled in"
        """
        rows = count(self.known, "row")
        share = percent(self.right / self.known)
        return f"{share} of the labels are right, by the {rows} whose {self.target!r} is filled in"


def known_classes(rows: Population, target: str, classes: list[str]) -> Codes | None:
    """Return the class of each row where the table has it, None if it is nowhere filled."""
    if rows.names is None or target not in rows.names or rows.is_distributed:
        return None
    codes = np.asarray(rows.map(_Classes(target, classes), np.zeros(1, np.int32), [target]))
    return None if (codes == UNKNOWN).all() else codes


def score(truth: Codes | None, codes: NDArray[Any], target: str) -> Accuracy | None:
    """Count the labels that are right."""
    if truth is None:
        return None
    known = truth != UNKNOWN
    return Accuracy(int((truth == codes)[known].sum()), int(known.sum()), target)


@dataclass(frozen=True, eq=False)
class _Classes:
    """The work of looking up the classes of a chunk."""

    target: str
    classes: list[str]

    def __call__(self, chunk: Chunk) -> Codes:
        places = {name: place for place, name in enumerate(self.classes)}
        cells = as_text(as_pandas(chunk.data)[self.target])
        codes = [UNKNOWN if cell is None else places.get(cell, OTHER) for cell in cells]
        return np.array(codes, dtype=np.int32)


LARGE_FILE = 1 << 29
"""A file with more bytes than this is not taken into memory, unless that is asked for."""
_PACKED = 6  # about as much smaller are compressed tables of text


def find_rows(given: Any, engine: str = "auto", how: ReadAs = AS_FOUND) -> Population:
    """Return the rows of a table, kept where the engine says.

    Parameters
    ----------
    given : data frame, path, or population
        A table in memory, a file or a folder of files, or what :func:`as_population` takes.
    engine : {"auto", "memory", "chunks", "dask"}
        Of a path: read it into memory, leave it in its files and read it in parts, or give its
        Parquet files to Dask. "auto" leaves folders and large files where they are.
    how : ReadAs
        How files are to be read.
    """
    if isinstance(given, (str, os.PathLike)):
        return _of_path(Path(given), engine, how)
    population = as_population(_with_names(given), "the unlabeled table")
    kinds = {"memory": isinstance(population, Memory), "dask": population.is_distributed}
    if engine in kinds and not kinds[engine]:
        raise InputError(
            f"engine={engine!r} is not possible for a {type(given).__name__}; leave it out, or "
            "give a path"
        )
    return population


@contextmanager
def at_scheduler(address: str | None, engine: str, n_jobs: int | None = None) -> Iterator[None]:
    """Let Dask compute on the cluster of a scheduler, or on ``n_jobs`` threads of our own.

    A cluster has as many workers as it has: there, ``n_jobs`` is for what is learned here.
    """
    if address is not None and engine != "dask":
        dask = for_user('engine="dask"', "--engine dask")
        asked = option_name("scheduler")
        raise InputError(f"{asked} is an option of {dask}; give both, or neither")
    if engine != "dask":
        yield
        return
    from c2rf.data.population.dask import connected, using_threads

    with connected(address), using_threads(None if address else n_jobs):
        yield


def _with_names(given: Any) -> Any:
    """Return a frame whose columns have text as names."""
    if type(given).__module__.partition(".")[0] != "pandas" or not hasattr(given, "columns"):
        return given
    return given.set_axis([str(name) for name in given.columns], axis="columns")


def _of_path(path: Path, engine: str, how: ReadAs) -> Population:
    if engine == "dask":
        from c2rf.data.population.dask import DaskRows, read_parquet

        rows: Population = DaskRows(read_parquet(path))
        rows.read_as = "Parquet"
        return rows
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


class Tables(NamedTuple):
    """Both tables.

    Parameters
    ----------
    labeled : DataFrame
        The rows whose class is known.
    rows : Population
        The rows to label.
    names : tuple of str
        What each is called.
    read_as : list of pairs of str
        Files, and how they were understood.
    decimal : str or None
        The decimal mark of text files, None if no cell tells it.
    """

    labeled: pd.DataFrame
    rows: Population
    names: tuple[str, str]
    read_as: list[tuple[str, str]]
    decimal: str | None = None


def read_tables(labeled: Any, unlabeled: Any, wishes: Wishes) -> Tables:
    """Read the labeled table, and find the rows to label, which may be in the same table."""
    names = _called(labeled, "the labeled table"), _called(unlabeled, "the unlabeled table")
    how = replace(wishes.how, text=tuple(wishes.text))
    table, read = _read_labeled(labeled, how)
    if unlabeled is None:
        table, rest = _by_target(table, wishes.target)
        names, rows = (names[0], names[0]), find_rows(rest, wishes.engine)
        rows.dialect = read.dialect
    else:
        rows = find_rows(unlabeled, wishes.engine, how)
    column_names(rows)
    read_as = [pair for pair in zip(names, (read.read_as, rows.read_as), strict=True) if pair[1]]
    dialects = [each for each in (read.dialect, rows.dialect) if each is not None]
    decimal = next((each.decimal for each in dialects if each.decimal), None)
    return Tables(table, rows, names, read_as, decimal)


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


NO_GROUP = "(no group)"
"""The group of rows whose cell is empty."""


class PopulationProfile(NamedTuple):
    """What was found.

    Parameters
    ----------
    columns : list of ColumnProfile
        What each column to learn from holds.
    groups : Groups
        The groups of the rows, in alphabetical order.
    n_repeated : int
        Rows whose id an earlier row has.
    """

    columns: list[ColumnProfile]
    groups: Groups
    n_repeated: int


def profile_population(
    rows: Population,
    profiles: Sequence[ColumnProfile],
    group: Sequence[str] = (),
    id: str | None = None,
) -> PopulationProfile:
    """Read all rows once.

    Parameters
    ----------
    rows : Population
        The unlabeled rows.
    profiles : sequence of ColumnProfile
        Columns to learn from, as the labeled rows have them.
    group : sequence of str
        The columns that make the groups.
    id : str or None
        The column that names the rows.

    Examples
    --------
    >>> from c2rf.data.population import Memory
    >>> age = ColumnProfile(pd.Series(["1", "2"], name="age"))
    >>> rows = Memory(pd.DataFrame({"age": ["3", ""], "id": ["a", "a"]}))
    >>> found = profile_population(rows, [age], id="id")
    >>> found.columns[0].missing, found.n_repeated
    ((0, 1), 1)
    """
    wanted = [*(profile.name for profile in profiles), *group, *([id] if id else [])]
    # What needs no column still needs the rows.
    columns = list(dict.fromkeys(wanted)) or (rows.names or [])[:1]
    seen = rows.reduce(partial(_see, profiles, group, id), _merge, columns)
    assert rows.n_rows is not None
    groups = Groups.none(rows.n_rows) if seen.groups is None else seen.groups.in_order()
    repeated = 0 if id is None else _n_repeated(seen.ids)
    found = [each.with_unlabeled(cells) for each, cells in zip(profiles, seen.cells, strict=True)]
    return PopulationProfile(found, groups, repeated)


def _groups_of(table: pd.DataFrame, columns: Sequence[str]) -> Groups:
    """Return the groups of rows by some columns; a group of several is a tuple of texts."""
    texts = [as_text(table[name]).fillna(NO_GROUP).to_numpy(dtype=object) for name in columns]
    found = Groups.of(texts, tuple(columns))
    return found._replace(codes=found.codes.astype(np.int32))  # four bytes a row are enough


class _Seen(NamedTuple):
    """What was seen of some neighbouring chunks."""

    cells: list[ValueCounts]
    groups: Groups | None
    ids: NDArray[np.uint64]


def _see(
    profiles: Sequence[ColumnProfile], group: Sequence[str], id: str | None, chunk: Chunk
) -> _Seen:
    table = as_pandas(chunk.data)
    place = chunk.where or "data row {row} of the unlabeled file"
    cells = [profile.count(table[profile.name], place) for profile in profiles]
    groups = _groups_of(table, group) if group else None
    ids = np.empty(0, dtype=np.uint64)
    if id is not None:
        ids = _hashes(table[id])
    return _Seen(cells, groups, ids)


def _hashes(ids: pd.Series[Any]) -> NDArray[np.uint64]:
    """Return a number for each id, the same for the same id; whole numbers need no texts."""
    if isinstance(ids.dtype, np.dtype) and ids.dtype.kind in "iu":
        return pd.util.hash_array(ids.to_numpy())
    return pd.util.hash_array(as_text(ids).fillna("").to_numpy(dtype=object))


def _n_repeated(ids: NDArray[np.uint64]) -> int:
    """Return how many ids an earlier row has; they are sorted in place, since there may be many."""
    ids.sort()
    return int((ids[1:] == ids[:-1]).sum())


def _merge(parts: Sequence[_Seen]) -> _Seen:
    cells = list(parts[0].cells)
    for part in parts[1:]:
        cells = [one.merge(other) for one, other in zip(cells, part.cells, strict=True)]
    grouped = [part.groups for part in parts if part.groups is not None]
    groups = Groups.merged(grouped) if grouped else None
    return _Seen(cells, groups, np.concatenate([part.ids for part in parts]))


def learned_columns(
    table: pd.DataFrame, rows: Population, group: Sequence[str], wishes: Wishes
) -> tuple[list[str], dict[str, str]]:
    """Return the columns that something can be learned from, and why not from the others.

    Looks at all labeled rows and at the first of the others; ``group`` are the columns that totals
    are grouped by.
    """
    features = _features(table, list(rows.names or []), group, wishes)
    for name in wishes.keep:
        check_column(for_user("keep", "--keep"), name, features)
    some = table[features]
    if not rows.is_distributed:
        some = as_pandas(next(iter(rows.read(features)))[0])
    asked = {*wishes.keep, *wishes.text}
    found = {name: why_left_out(table[name], some[name]) for name in features if name not in asked}
    left_out = {name: why for name, why in found.items() if why is not None}
    if len(left_out) == len(features):
        option = for_user(f"keep=[{features[0]!r}]", f"--keep {features[0]}")
        raise InputError(
            f"there is no column to learn from: {features[0]!r} {left_out[features[0]]}; if it is "
            f"useful all the same, say so with {option}"
        )
    return [name for name in features if name not in left_out], left_out


def likely_codes(
    table: pd.DataFrame, columns: Sequence[ColumnProfile], wishes: Wishes
) -> list[str]:
    """Return columns of numbers that are likely codes, if nobody has said what they are."""
    return [
        column.name
        for column in columns
        if column.kind == "numbers"
        and column.name not in wishes.keep
        and look_like_codes(table[column.name])
    ]


def _features(
    table: pd.DataFrame, columns: list[str], group: Sequence[str], wishes: Wishes
) -> list[str]:
    """Return the columns to learn from; every column that is named must be there."""
    others = [name for name in columns if name != wishes.target]
    check_column(for_user("id", "--id"), wishes.id, others)
    for name in group:
        check_column(for_user("totals", "--group"), name, others)
    check_column(for_user("weight", "--weight"), wishes.weight, others)
    if wishes.weight is not None and wishes.weight in group:
        raise InputError(f"{wishes.weight!r} cannot be the weight and a grouping column of totals")
    named = [name for name in (wishes.id, wishes.weight) if name is not None]
    left_out = [*wishes.drop, *named]
    header = pd.DataFrame(columns=columns)
    names = feature_names(table, header, wishes.target, left_out, group)
    for name in wishes.text:
        if name not in names:
            raise InputError(
                f"{for_user('text', '--text')}: {name!r} is not a column to learn from; these are "
                f"{all_of(names)}{nearest(name, names)}"
            )
    return names


def read_known(
    totals: Any, classes: pd.Series[Any], columns: Sequence[str], how: ReadAs = AS_FOUND
) -> tuple[Totals, list[str]]:
    """Return totals whose classes and groups are texts, and remarks about their files.

    Parameters
    ----------
    totals : object
        As for :class:`c2rf.KnownTotalsClassifier`; a path or :class:`TotalsFile` is a table.
    classes : Series
        The target of the labeled rows.
    columns : sequence of str
        The columns of the unlabeled rows, among which grouping columns are found.
    how : ReadAs
        How files with totals are to be read.
    """
    texts = sorted(set(as_text(classes)))
    given, remarks = _with_files_read(totals, str(classes.name), columns, texts, how)
    return _as_texts(read_totals(given, [*pd.unique(classes), *texts])), remarks


def checked_bounds(
    totals: Totals,
    groups: Groups,
    classes: Sequence[str],
    policy: str,
    weights: Floats | None,
) -> Bounds:
    """Return whole-number bounds, which know themselves which totals were changed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # summary and report tell of each change
        bounds = make_bounds(totals, groups, classes, policy, weights)  # type: ignore[arg-type]
    return bounds.with_implied_bounds()


def _with_files_read(
    totals: Any, target: str, columns: Sequence[str], classes: Sequence[str], how: ReadAs
) -> tuple[Any, list[str]]:
    """Return totals with their files read, and what there is to say about these."""
    given = list(totals) if isinstance(totals, list) else [totals]
    if not any(isinstance(each, (TotalsFile, str, os.PathLike)) for each in given):
        return totals, []
    found: list[Any] = []
    notes = []
    for each in given:
        if isinstance(each, (str, os.PathLike)):
            each = TotalsFile(Path(each), target)
        if isinstance(each, TotalsFile):
            rows, note = each.read([name for name in columns if name != target], classes, how)
            notes += [] if note is None else [note]
            found.append(rows)
        else:
            found.append(each)
    return found, notes


def _as_texts(totals: Totals) -> Totals:
    """Return totals whose classes and groups are the texts that cells are."""

    def keys(row: Mapping[Any, Any]) -> dict[str, Any]:
        return dict(zip(_texts(list(row)), row.values(), strict=True))

    margins = []
    for margin in totals.margins:
        if None in margin.columns:
            raise InputError("a table of totals must name the columns that its groups are from")
        by_group = {
            tuple(_texts(list(group))) if len(margin.columns) > 1 else _texts([group])[0]: keys(row)
            for group, row in margin.by_group.items()
        }
        margins.append(Margin(margin.columns, by_group))
    return replace(totals, overall=keys(totals.overall), margins=tuple(margins))


def _texts(values: list[Any]) -> list[str]:
    texts = as_text(pd.Series(values, dtype=object))
    return [str(value) if text is None else text for value, text in zip(values, texts, strict=True)]


@dataclass(frozen=True, eq=False, kw_only=True)
class PreparedData:
    """All that a classification needs, checked.

    Parameters
    ----------
    target, id : str, str or None
        As in :class:`Wishes`.
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
    encoder : ColumnTransformer
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
    """

    target: str
    id: str | None
    names: tuple[str, str]
    labels: Texts
    classes: list[str]
    values: Any
    X: Floats
    rows: Population
    X_unlabeled: Population
    encoder: Any
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

    @property
    def n_rows(self) -> int:
        """Number of unlabeled rows."""
        assert self.rows.n_rows is not None
        return self.rows.n_rows

    @property
    def positive(self) -> str | None:
        """Of two classes the one that positive scores predict: that of the first total."""
        if len(self.classes) > 2:
            return None
        return next(iter(self.totals.overall), self.classes[1])

    @property
    def shown(self) -> list[str]:
        """The columns of an output that name the rows: the ids, else all."""
        return shown_columns(column_names(self.rows), self.id)


def prepare_data(labeled: Any, unlabeled: Any, totals: Any, wishes: Wishes) -> PreparedData:
    """Read both tables, and check everything.

    Parameters
    ----------
    labeled, unlabeled : data frame, path, or population
        Rows whose class is known, and rows to label; None for the rows of ``labeled`` whose target
        is empty.
    totals : object
        As for :class:`c2rf.KnownTotalsClassifier`.
    wishes : Wishes
        How the tables are to be read.
    """
    tables = read_tables(labeled, unlabeled, wishes)
    table, rows, target = tables.labeled, tables.rows, wishes.target
    labels = target_values(table, target)
    classes = sorted(set(labels))
    how = ReadAs(decimal=wishes.how.decimal, likely=tables.decimal)
    known, remarks = read_known(totals, table[target], column_names(rows), how)
    group = tuple(map(str, known.columns))
    features, left_out = learned_columns(table, rows, group, wishes)
    profiles = [ColumnProfile(table[name], name in wishes.text) for name in features]
    found = profile_population(rows, profiles, group, wishes.id)
    weights = find_weights(rows, wishes.weight, len(found.groups.codes))
    bounds = checked_bounds(known, found.groups, classes, wishes.policy, weights)
    if found.n_repeated:
        remarks.append(f"{found.n_repeated:,} ids are not unique in {wishes.id!r}.")
    encoder = make_encoder(table, found.columns)
    return PreparedData(
        target=target,
        id=wishes.id,
        names=tables.names,
        labels=labels,
        classes=classes,
        values=_classes_as_given(table[target], classes),
        X=encode(encoder, table),
        rows=rows,
        X_unlabeled=encoded(rows, encoder),
        encoder=encoder,
        columns=found.columns,
        totals=known,
        bounds=bounds,
        groups=found.groups,
        remarks=remarks,
        left_out=left_out,
        codes=likely_codes(table, found.columns, wishes),
        read_as=tables.read_as,
        truth=known_classes(rows, target, classes),
        weights=weights,
        labeled_weights=_labeled_weights(table, wishes.weight),
    )


def _labeled_weights(table: pd.DataFrame, name: str | None) -> Floats | None:
    """Return how much each labeled row counts; None without the column, or if all count alike."""
    if name is None or name not in table:
        return None
    return read_weights(table[name], len(table), f"the weight {name!r} of the labeled rows")


def _classes_as_given(target: pd.Series[Any], classes: Sequence[str]) -> Any:
    """Return the classes in the type of the labeled table."""
    first = pd.Series(target.to_numpy(), index=as_text(target))
    values = first[~first.index.duplicated()].loc[list(classes)].to_numpy()
    return np.array(list(classes), dtype=object) if values.dtype == object else values
