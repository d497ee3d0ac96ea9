"""``c2rf.assign``: the probabilities of any model and totals in, labels that add up to them out.

No learner is involved: the probabilities may come from a warehouse, another package or a language
model. The labels follow from a few numbers, the class offsets: in each group a row gets the class
whose log-probability plus offset is largest. :meth:`AssignedLabels.sql` writes that rule for a
database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.utils import check_random_state

from c2rf._utils.frames import as_pandas, names_of
from c2rf._utils.text import all_of, for_user, listed, split_names
from c2rf._utils.types import Floats, not_masked
from c2rf.assignment import AssignmentProblem, log_scores, zero_floor
from c2rf.data.cells import as_numbers
from c2rf.data.dialect import AS_FOUND, ReadAs
from c2rf.data.population.interface import Chunk, Population
from c2rf.data.profile import check_column
from c2rf.estimators.labeled_population import find_groups, find_weights
from c2rf.estimators.training import probability_offsets
from c2rf.exceptions import InputError, InputTypeError
from c2rf.totals.bounds import totals_table
from c2rf.totals.groups import read_weights
from c2rf.totals.make_bounds import make_bounds
from c2rf.totals.stated import read_totals
from c2rf.workflow.predictions import (
    PREDICTED,
    Predictions,
    by_probabilities,
    check_shown,
    shown_columns,
)
from c2rf.workflow.prepare import profile_population
from c2rf.workflow.tables import column_names, find_rows
from c2rf.workflow.totals import read_known

SUM_TOLERANCE = 0.01
"""Probabilities of a row may miss the sum 1 by this much, as rounded ones do."""


@dataclass(frozen=True, eq=False)
class AssignedLabels:
    """Labels that meet known totals, and the rule behind them.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,)
        The class of each row, in the type of the classes.
    codes : ndarray of int, shape (n_rows,)
        The number of the class of each row.
    offsets : DataFrame
        A row per group and a column per class: what is added to the logarithm of a probability.
        -inf for a class that the group cannot have. The index is the groups, by the names of their
        columns.
    totals_met : DataFrame
        A row per known total: its bounds, what the labels add up to, and what is off.
    gap : float
        By how much the total log-probability of other labels that meet the totals could be higher
        at most; proven in exact arithmetic, with weights to rounding.
    adjustments : list
        Totals that were changed because they contradicted each other.
    floor : float
        What a probability below it, such as zero, counts as.
    logs : ndarray of shape (n_rows, n_classes)
        Logarithms of the probabilities.
    problem : AssignmentProblem
        The totals, and the group of each row.
    counts : ndarray of shape (n_groups, n_classes)
        What the labels add up to.
    """

    labels: NDArray[Any]
    codes: NDArray[Any]
    offsets: pd.DataFrame
    totals_met: pd.DataFrame
    gap: float
    adjustments: list[Any]
    floor: float
    logs: Floats
    problem: AssignmentProblem
    counts: Any

    @cached_property
    def probabilities(self) -> Floats:
        """Probabilities corrected such that they add up to the totals, in every group.

        Where a total is a range, or there is none, they are changed no more than it asks for.
        """
        counts = self.problem.expected_counts(self.logs, self.counts)
        offsets = probability_offsets(self.problem, self.logs, counts)
        return np.asarray(softmax(self.logs + offsets[self.problem.groups.codes], axis=1))

    @cached_property
    def scores(self) -> Floats:
        """Log-probability plus class offset: the largest of a row is its label's, but for ties."""
        return self.logs + self.offsets.to_numpy()[self.problem.groups.codes]

    @property
    def classes(self) -> list[Any]:
        """The classes, in the order of the columns of probabilities."""
        return list(self.offsets.columns)

    def sql(self, columns: Mapping[Any, str] | None = None) -> str:
        """Return the rule as one ``CASE`` of SQL.

        A probability is multiplied by the exponential of its class offset; the label is the class
        with the largest product. Where exponentials are beyond what a database multiplies, offsets
        are added to logarithms, ``ln``. Rows whose products are equal may get another label than
        here: which of them have which class is drawn, such that the totals hold.

        Parameters
        ----------
        columns : mapping of class to str, optional
            The column with the probability of each class; by default it is named like the class.

        Examples
        --------
        >>> found = assign([[0.8, 0.2], [0.5, 0.5]], {"no": (0, 2)}, classes=["no", "yes"])
        >>> print(found.sql({"no": "p_no", "yes": "p_yes"}))
        CASE
          WHEN greatest("p_no", 0.001) * 1.0 >= greatest("p_yes", 0.001) * 1.0 THEN 'no'
          ELSE 'yes'
        END
        """
        names = {label: str(label) for label in self.classes} | dict(columns or {})
        if self.offsets.index.names == [None]:
            return self._case(self.offsets.iloc[0], names)
        lines = ["CASE"]
        for group, row in self.offsets.iterrows():
            values = group if isinstance(group, tuple) else (group,)
            pairs = zip(self.offsets.index.names, values, strict=True)
            here = " AND ".join(f"{_identifier(name)} = {_literal(value)}" for name, value in pairs)
            inner = self._case(row, names).replace("\n", "\n    ")
            lines.append(f"  WHEN {here} THEN\n    {inner}")
        return "\n".join([*lines, "END"])

    def _case(self, offsets: pd.Series[Any], columns: Mapping[Any, str]) -> str:
        """Return the rule of one group; a class it cannot have is left out."""
        own = offsets[offsets > -np.inf]
        are_far = own.abs().max() - np.log(self.floor) > _FARTHEST
        products = {}
        for label, offset in own.items():
            probability = f"greatest({_identifier(columns[label])}, {self.floor!r})"
            if are_far:
                products[label] = f"ln({probability}) + {float(offset)!r}"
            else:
                products[label] = f"{probability} * {float(np.exp(offset))!r}"
        lines, left = ["CASE"], list(products)
        if len(left) == 1:
            return _literal(left[0])
        while len(left) > 1:
            first = left.pop(0)
            largest = " AND ".join(f"{products[first]} >= {products[other]}" for other in left)
            lines.append(f"  WHEN {largest} THEN {_literal(first)}")
        return "\n".join([*lines, f"  ELSE {_literal(left[0])}", "END"])


_FARTHEST = 700.0
"""The exponential of more, or of less than its negative, is no normal number of 64 bits."""


def _identifier(name: object) -> str:
    return '"' + str(name).replace('"', '""') + '"'


def _literal(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (int, float, np.number)):
        return str(value)
    return "'" + str(value).replace("'", "''") + "'"


def assign(
    probabilities: Any,
    totals: Any,
    *,
    classes: Sequence[Any] | None = None,
    groups: Any = None,
    weights: Any = None,
    totals_policy: Literal["strict", "scale"] = "strict",
    random_state: int | np.random.RandomState | None = None,
) -> AssignedLabels:
    """Label rows by given probabilities so that the labels add up to known totals.

    Parameters
    ----------
    probabilities : array-like or data frame of shape (n_rows, n_classes)
        The probability of each class for each row, by any model; the rows add up to one.
    totals : mapping, table, series, or list of these
        What is known, as for :meth:`KnownTotalsClassifier.fit`. A total of 0 in a group says that
        the class cannot be there.
    classes : sequence, optional
        The classes, in the order of the columns. By default the column names of a frame, else
        0, 1, and so on.
    groups : array-like, data frame or mapping, optional
        The columns that the groups in ``totals`` are made of, a row per row.
    weights : array-like of shape (n_rows,), optional
        How many people each row stands for; totals are about people then.
    totals_policy : {"strict", "scale"}
        Refuse totals that contradict each other, or change them with a warning.
    random_state : int, RandomState or None
        Decides between rows with equal probabilities.

    Returns
    -------
    AssignedLabels
        With ``labels``, ``offsets``, ``totals_met`` and ``gap``.

    Examples
    --------
    >>> import c2rf
    >>> chances = [[0.9, 0.1], [0.8, 0.2], [0.6, 0.4], [0.7, 0.3]]
    >>> found = c2rf.assign(chances, {"yes": 2}, classes=["no", "yes"])
    >>> found.labels.tolist(), found.gap
    (['no', 'no', 'yes', 'yes'], 0.0)
    """
    table, names = _read_probabilities(probabilities, classes)
    known = read_totals(totals, names)
    if known.columns and groups is None:
        raise InputError(
            f"totals has groups by {all_of(known.columns)}; give the group of each row as groups"
        )
    found = find_groups(table, known, groups, len(table))
    own = None if weights is None else read_weights(weights, len(table), "weights")
    bounds = make_bounds(known, found, names, totals_policy, own)
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    return _solved(table, names, AssignmentProblem(bounds, found, own, known, seed))


def assign_file(
    path: Path,
    columns: Mapping[str, str],
    totals: Any,
    *,
    id: str | None = None,
    weight: str | None = None,
    totals_policy: Literal["strict", "scale"] = "strict",
    random_state: int = 0,
    how: ReadAs = AS_FOUND,
    out: Path | None = None,
) -> tuple[AssignedLabels, Predictions]:
    """Do the same for the rows of a file, and return also the rows with label and confidence.

    Parameters
    ----------
    path : Path
        A file, or a folder of CSV or Parquet files.
    columns : mapping of str to str
        The column with the probability of each class.
    totals : list
        As :func:`c2rf.data.totals.collect` returns them; grouping columns are columns of the file.
    id, weight : str, optional
        The columns that name a row, and that say how many people it stands for.
    totals_policy, random_state : str, int
        As for :func:`assign`.
    how : ReadAs
        How the file is to be read.
    out : Path, optional
        Where the labels are to go; what its format does not hold is refused before the work.
    """
    rows = find_rows(path, "auto", how, id)
    names = column_names(rows)
    classes = list(columns)
    for label, name in columns.items():
        check_column(f"--probabilities {label}={name}", name, names)
    check_column("--id", id, names)
    check_column("--weight", weight, names)
    shown = shown_columns(names, id, PREDICTED)
    check_shown(out, rows, shown)
    known, _ = read_known(totals, pd.Series(classes, name="class"), names, how, rows)
    grouping = tuple(map(str, known.columns))
    for name in grouping:
        check_column("--group", name, names)
    _, groups, _ = profile_population(rows, (), grouping, id)
    table = _check_probabilities(_read_columns(rows, list(columns.values())), classes)
    own = find_weights(rows, weight, len(table))
    bounds = make_bounds(known, groups, classes, totals_policy, own).with_implied_bounds()
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    found = _solved(table, classes, AssignmentProblem(bounds, groups, own, known, seed))
    positive = None if len(classes) > 2 else classes.index(next(iter(known.overall), classes[1]))
    added = by_probabilities(found.scores, found.probabilities, found.codes, positive)
    meanings = {"label": np.array(classes, dtype=object)}
    return found, Predictions(rows, shown, dict(zip(PREDICTED, added, strict=True)), meanings)


def _solved(table: Floats, classes: list[Any], problem: AssignmentProblem) -> AssignedLabels:
    """Label the rows by their probabilities."""
    floor = zero_floor(table)
    logs = log_scores(table, floor)
    found = problem.solve(logs)
    groups = problem.groups
    index = None
    if len(groups.columns) == 1:
        index = pd.Index(groups.names, name=groups.columns[0])
    elif groups.columns:
        index = pd.MultiIndex.from_tuples(groups.names, names=groups.columns)
    return AssignedLabels(
        labels=np.asarray(classes)[found.labels],
        codes=np.asarray(found.labels),
        offsets=pd.DataFrame(found.offsets, index, pd.Index(classes, dtype=object)),
        totals_met=totals_table(problem.bounds, groups, classes, found.counts),
        gap=found.gap,
        adjustments=list(problem.bounds.adjustments),
        floor=floor,
        logs=logs,
        problem=problem,
        counts=found.counts,
    )


def _read_probabilities(given: Any, classes: Sequence[Any] | None) -> tuple[Floats, list[Any]]:
    """Return the probabilities as numbers, and the classes of the columns."""
    if hasattr(given, "to_arrow_reader") or hasattr(given, "fetch_arrow_table"):
        given = given.df()  # a relation of DuckDB
    names = names_of(given)
    columns = [as_numbers(column) for _, column in as_pandas(given).items()] if names else None
    table = np.asarray(not_masked(given) if columns is None else np.column_stack(columns))
    if table.ndim != 2 or not table.size or table.dtype.kind not in "fiub":
        raise InputTypeError(
            "probabilities must be a table of numbers, a row per row and a column per class; found "
            f"the shape {table.shape} of type {table.dtype}"
        )
    if classes is None:
        known = list(as_pandas(given).columns) if names else list(range(table.shape[1]))
    else:
        known = list(np.asarray(classes).tolist())
    if (
        odd := next((label for label in known if isinstance(label, (list, tuple))), None)
    ) is not None:
        raise InputTypeError(
            f"classes must be single values, such as texts or numbers; found {odd!r}"
        )
    if names and classes is not None and set(known) == set(names) and known != list(names):
        raise InputError(
            f"classes must be in the order of the columns, {listed(names)}; found {listed(known)}; "
            "leave out classes: the columns have their names"
        )
    if len(known) != table.shape[1]:
        raise InputError(
            f"classes must name the {table.shape[1]} columns of probabilities; found {len(known)}: "
            f"{listed(known)}"
        )
    if len(set(known)) < len(known):
        raise InputError(
            f"every class must have one column of probabilities; found {listed(known)}"
        )
    return _check_probabilities(table.astype(float), known), known


def _check_probabilities(table: Floats, classes: Sequence[Any]) -> Floats:
    """Return rows that add up to one; refuse numbers that are no probabilities, by row."""
    if len(classes) < 2:
        raise InputError(f"there must be two classes at least; found {listed(classes)}")
    wrong = ~(np.isfinite(table) & (table >= 0) & (table <= 1 + SUM_TOLERANCE))
    row = for_user("row {0}", "data row {1}")
    if wrong.any():
        r, k = (int(place) for place in np.argwhere(wrong)[0])
        raise InputError(
            f"probabilities must be numbers from 0 to 1; found {table[r, k]} for "
            f"{classes[k]!r} in {row.format(r, r + 1)}"
        )
    sums = table.sum(axis=1)
    off = np.abs(sums - 1) > SUM_TOLERANCE + 1e-12  # the sum of rounded ones is rounded, too
    if off.any():
        r = int(off.argmax())
        raise InputError(
            f"the probabilities of a row must add up to 1; they add up to {sums[r]:.6g} in "
            f"{row.format(r, r + 1)} ({int(off.sum()):,} rows do not); is a class without a column?"
        )
    return table / sums[:, None]


def _read_columns(rows: Population, names: list[str]) -> Floats:
    """Return columns of numbers; a cell that is none becomes NaN, and is refused later."""

    def numbers(chunk: Chunk) -> Floats:
        table = as_pandas(chunk.data)
        return np.column_stack([as_numbers(table[name]) for name in names])

    found: Floats = rows.reduce(numbers, np.concatenate, names)
    return found


def parse_columns(text: str) -> dict[str, str]:
    """Return the column of each class from ``yes=p_yes,no=p_no``.

    Examples
    --------
    >>> parse_columns("yes=p_yes,no=p_no")
    {'yes': 'p_yes', 'no': 'p_no'}
    """
    found: dict[str, str] = {}
    for part in split_names([text]) or [""]:
        label, equals, column = part.partition("=")
        if not equals or not label or not column:
            raise InputError(
                f"--probabilities must be like yes=p_yes,no=p_no; found {part!r} in {text!r}"
            )
        if label in found:
            raise InputError(f"--probabilities names the class {label!r} twice")
        found[label] = column
    return found
