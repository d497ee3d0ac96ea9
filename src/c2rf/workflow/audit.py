"""``c2rf.audit_sample`` and ``c2rf.audit``: rows to check by hand, and what they say of labels.

Labels may be from any model: a column ``label``, and ``confidence`` if there is one. A sheet of
rows to check holds a fingerprint of the labels and of each row, so that a sheet for other labels,
or with changed probabilities, is refused.

:func:`audit_lines` and :func:`audit_page` say in words what an audit has found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy import stats
from scipy.optimize import brentq

from c2rf._utils.frames import as_numbers
from c2rf._utils.text import check_choice, count, for_user, nearest, option_name, percent, short
from c2rf._utils.types import Codes, Floats, Texts, is_number, is_whole
from c2rf.data.cells import as_text
from c2rf.data.dialect import AS_FOUND, ReadAs
from c2rf.data.write import unescaped
from c2rf.exceptions import InputError, InputTypeError
from c2rf.inference.audit import (
    Interval,
    deviations,
    difference_estimate,
    expected_gain,
    find_clusters,
    inclusion_probabilities,
    learning_sizes,
    spread_order,
    systematic_sample,
)
from c2rf.report.language import check_language, translated_page
from c2rf.report.page import Block, Page, Section, Table, Text, need, render
from c2rf.totals.groups import Groups
from c2rf.totals.make_bounds import largest_remainder
from c2rf.workflow.known_rows import (
    AUDIT,
    PROBABILITY,
    TRUE,
    check_classes,
    check_unique,
    in_sheet,
    require_columns,
    row_of,
)
from c2rf.workflow.predictions import CONFIDENCE, LABEL, PREDICTED
from c2rf.workflow.prepare import SENSITIVITY_COLUMNS
from c2rf.workflow.tables import read_frame

Purpose = Literal["audit", "learn"]


@dataclass(frozen=True, eq=False)
class LabeledRows:
    """The labels that an audit is about.

    Parameters
    ----------
    table : DataFrame
        All columns.
    ids, labels : ndarray of str
        What names the rows, and their labels.
    confidence : ndarray of shape (n_rows,)
        How sure each label is; 1 where nothing is known.
    """

    table: pd.DataFrame
    ids: Texts
    labels: Texts
    confidence: Floats

    @cached_property
    def fingerprint(self) -> str:
        """Hexadecimal digits that change if an id or a label does, but not with the order."""
        pairs = pd.Series(self.ids) + "\x1f" + pd.Series(self.labels)
        return f"{np.sum(pd.util.hash_array(pairs.to_numpy(dtype=object)), dtype=np.uint64):016x}"

    def domains(self, by: Sequence[str]) -> Groups:
        """Return the domain of each row; a domain of one row is refused."""
        rows = for_user("rows=", "--rows FILE")
        cure = f"; give the rows that the labels are of with {rows}, if they have it"
        require_columns(self.table, by, option_name("by"), cure)
        if not by:
            return Groups.none(len(self.ids))
        texts = [as_text(self.table[name]).fillna("").to_numpy(dtype=object) for name in by]
        found = Groups.of(texts, tuple(by)).in_order()
        alone = np.flatnonzero(found.sizes == 1)
        if len(alone):
            row = int(np.flatnonzero(found.codes == alone[0])[0])
            raise InputError(
                f"{option_name('by')}: the domain {found.names[alone[0]]!r} of {', '.join(by)} has "
                f"one row only, {self.ids[row]!r}; put it together with another domain"
            )
        return found


def read_labels(given: Any, id: str, rows: Any = None, how: ReadAs = AS_FOUND) -> LabeledRows:
    """Read labels, if not done already, and join the columns of ``rows`` to them by the id."""
    if isinstance(given, LabeledRows):
        return given
    given = given.labels if hasattr(given, "summary") and hasattr(given, "labels") else given
    table = read_frame(given, "the labels", how)
    require_columns(table, [id], f"the labels ({option_name('id')} names the rows)")
    require_columns(table, [LABEL], "the labels")
    texts = {name: as_text(table[name]) for name in (id, LABEL)}
    for name, cells in texts.items():
        if cells.isna().any():
            where = row_of(cells.isna())
            raise InputError(f"the labels have an empty cell in {where}, column {name!r}")
    ids, labels = (cells.to_numpy(dtype=object) for cells in texts.values())
    check_unique(ids, id, "the labels")
    confidence = np.ones(len(ids))
    if CONFIDENCE in table:
        numbers = pd.to_numeric(table[CONFIDENCE], errors="coerce")
        wrong = ~((numbers >= 0) & (numbers <= 1))
        if wrong.any():
            raise InputError(
                f"the labels: {CONFIDENCE!r} must be from 0 to 1; found "
                f"{table[CONFIDENCE][wrong].iloc[0]} in {row_of(wrong)}"
            )
        confidence = numbers.to_numpy(dtype=float)
    if rows is not None:
        table = _joined(table, ids, read_frame(rows, "the rows", how), id)
    return LabeledRows(table, ids, labels, confidence)


def audit_sample(
    labels: Any,
    n: int,
    *,
    id: str = "id",
    by: str | Sequence[str] | None = None,
    rows: Any = None,
    columns: Sequence[str] | None = None,
    show_label: bool = False,
    purpose: Purpose = "audit",
    random_state: int = 0,
) -> pd.DataFrame:
    """Draw rows to check by hand, with known probabilities.

    Parameters
    ----------
    labels : data frame, path or Classification
        A row per labeled row: its id, ``label``, and ``confidence`` if there is one. They may be of
        any model.
    n : int
        How many rows to draw.
    id : str, default="id"
        The column that names the rows.
    by : str or sequence of str, optional
        Columns whose values make domains. Half of the rows are shared out equally among them.
    rows : data frame or path, optional
        The rows themselves, where the labels have only ids.
    columns : sequence of str, optional
        The columns that a person needs to decide; by default all that are there.
    show_label : bool, default=False
        Whether the labels are shown. A checker who sees them agrees with them.
    purpose : {"audit", "learn"}
        What the rows are drawn for: to judge the labels, or to learn most from.
    random_state : int, default=0
        Seed.

    Returns
    -------
    DataFrame
        The id, the columns, ``true`` (to be filled in; it may stay empty where nobody can decide),
        ``inclusion_probability``, and ``audit``, a fingerprint of the labels.

    Examples
    --------
    >>> import c2rf
    >>> labels = pd.DataFrame({"id": range(500), "label": "no", "confidence": 0.9, "town": "Ulm"})
    >>> sheet = c2rf.audit_sample(labels, 50)
    >>> len(sheet), sheet.columns.tolist()
    (50, ['id', 'town', 'true', 'inclusion_probability', 'audit'])
    >>> found = c2rf.audit(labels, sheet.assign(true="no"))
    >>> found.accuracy.estimate, found.accuracy.low > 0.9
    (1.0, True)
    """
    labels, by = read_labels(labels, id, rows), _names(by)
    N, table = len(labels.ids), labels.table
    if not is_whole(n):
        raise InputTypeError(f"n must be a whole number; found {n!r}")
    check_choice("purpose", purpose, ("audit", "learn"))
    if not 2 <= n <= N:
        raise InputError(
            f"{option_name('n')} must be from 2 to {N:,}, the number of rows; found {n:,}"
        )
    domains, rng = labels.domains(by), np.random.default_rng([random_state, 17])
    sizes = deviations(labels.confidence)
    if purpose == "learn":
        sizes = learning_sizes(labels.confidence)
    shares = _allocated(int(n), domains, sizes)
    probabilities, shown = np.zeros(N), _shown(table, id, columns, by)
    numbers = as_numbers(table[shown]) if purpose == "learn" and shown else None
    drawn = []
    for g, share in enumerate(shares):
        own = np.flatnonzero(domains.codes == g)
        probabilities[own] = inclusion_probabilities(sizes[own], int(share))
        order = None
        if numbers is not None:
            model = find_clusters(numbers[own], int(share), rng)
            order = spread_order(model.predict(numbers[own]), rng)
        drawn.append(own[systematic_sample(probabilities[own], rng, order)])
    found = np.sort(np.concatenate(drawn))
    sheet = table[[id, *shown]].iloc[found].reset_index(drop=True)
    if show_label:
        sheet[LABEL] = labels.labels[found]
    sheet[TRUE] = pd.Series([None] * len(found), dtype=object)
    sheet[PROBABILITY] = [float(f"{p:.9g}") for p in probabilities[found]]
    sheet[AUDIT] = _seals(labels, len(found), labels.ids[found], sheet[PROBABILITY].to_numpy())
    if purpose == "learn":
        sheet.attrs["note"] = expected_gain(labels.confidence[found])
    return sheet


def _allocated(n: int, domains: Groups, sizes: Floats) -> Codes:
    """Share n rows out to domains: half equally, half by the sums of sizes; two at least."""
    number, there = len(domains.names), domains.sizes
    if n < 2 * number:
        raise InputError(
            f"{option_name('n')}: {count(number, 'domain')} need 2 rows each, {2 * number:,} in "
            f"all; found {n:,}"
        )
    mass = np.bincount(domains.codes, sizes, number)
    wanted = n * (0.5 / number + 0.5 * mass / mass.sum())

    def possible(factor: float) -> Floats:
        return np.clip(factor * wanted, 2, there)

    # What does not fit into small domains goes to the others.
    factor = brentq(lambda factor: possible(factor).sum() - n, 0, 2 * (there / wanted).max())
    return np.minimum(largest_remainder(possible(factor), n), there)


@dataclass(frozen=True, eq=False)
class Audit:
    """What an audit says of labels.

    Parameters
    ----------
    accuracy : Interval
        The share of right labels: ``estimate``, ``standard_error``, ``low``, ``high``.
    expected : float or None
        What the confidences promise; None where there are none.
    p_value : float or None
        Of the test that the expected accuracy is right.
    confusion : DataFrame
        How many rows of each label (rows) are of each class (columns), as estimated.
    shares : DataFrame
        A row per class: its share among all rows, with its interval, and among the labels.
    table : DataFrame
        The same by domain, and counts.
    domains : DataFrame
        A row per domain: its rows, how many were checked, and its accuracy with an interval.
    n_checked, n_undecided, n_rows : int
        How many rows were drawn, how many of them could not be decided, and of how many.
    is_even : bool
        Whether rows of all kinds were drawn, as for an audit; else sure ones hardly were.
    level : float
        How often an interval should cover the truth.
    """

    accuracy: Interval
    expected: float | None
    p_value: float | None
    confusion: pd.DataFrame
    shares: pd.DataFrame
    table: pd.DataFrame
    domains: pd.DataFrame
    n_checked: int
    n_undecided: int
    n_rows: int
    is_even: bool
    level: float

    def report(self, path: Any, *, language: str = "en") -> None:
        """Write what was found as one page of HTML, in a language: en or de."""
        Path(path).write_text(audit_page(self, language), encoding="utf-8")


def audit(
    labels: Any,
    checked: Any,
    *,
    id: str = "id",
    target: str = TRUE,
    by: str | Sequence[str] | None = None,
    level: float = 0.95,
    rows: Any = None,
) -> Audit:
    """Say how many labels are right, by rows that were checked by hand.

    The intervals rest on how the rows were drawn alone: they hold whatever the model, the labeled
    sample and the assumptions are, if they were drawn for an audit. Of rows drawn to learn from
    hardly any are sure: if such rows are wrong, the interval of the accuracy may be above it.

    Parameters
    ----------
    labels : data frame, path or Classification
        The labels, as given to :func:`audit_sample`.
    checked : data frame or path
        The sheet, with the column ``target`` filled in. Rows where it is empty could not be
        decided: the intervals hold what would be if they were right, and if they were wrong.
    id : str, default="id"
        The column that names the rows.
    target : str, default="true"
        The column with the class that was found.
    by : str or sequence of str, optional
        Columns whose values make domains.
    level : float, default=0.95
        How often an interval should cover the truth.
    rows : data frame or path, optional
        The rows themselves, where the labels do not have the columns of ``by``.

    Returns
    -------
    Audit
        With ``accuracy``, ``confusion``, ``shares``, ``table``, ``domains``, ``expected`` and
        ``p_value``.
    """
    labels, by = read_labels(labels, id, rows), _names(by)
    if not is_number(level) or not 0 < level < 1:
        raise InputError(f"level must be a number between 0 and 1; found {level!r}")
    sheet = read_frame(checked, "the check file")
    drawn_rows, drawn = _checked_rows(labels, sheet, id)
    classes = sorted(set(labels.labels))
    truth = check_classes(sheet, target, classes)
    decided = truth.notna().to_numpy()
    if not decided.any():
        raise InputError(
            f"the check file: all cells of the column {target!r} are empty; fill in the class of "
            "the rows that can be decided"
        )
    N, confidence, found_labels = len(labels.ids), labels.confidence, truth.to_numpy(dtype=object)

    def mean(y: Any, expected: Floats, within: Any = slice(None)) -> Interval:
        """Estimate the mean of something in the rows of a domain."""
        own = np.arange(N)[within]
        inside = np.isin(drawn_rows, own)
        return difference_estimate(
            np.asarray(y, dtype=float)[inside], np.searchsorted(own, drawn_rows[inside]),
            expected[own], drawn[inside], level, decided[inside],
        )  # fmt: skip

    chances = {name: _chances(labels, name) for name in classes}

    def shares(within: Any = slice(None)) -> list[dict[str, Any]]:
        """Return the share of each class in a domain."""
        rows = []
        for name in classes:
            found = mean(found_labels == name, chances[name], within)
            n, labeled = len(confidence[within]), float((labels.labels[within] == name).mean())
            rows.append(
                {"class": name, "count": n * found.estimate} | _named(found, "share")
                | {"count_low": n * found.low, "count_high": n * found.high}
                | {"share_of_labels": labeled}
            )  # fmt: skip
        return rows

    right = found_labels == labels.labels[drawn_rows]
    accuracy = mean(right, confidence)
    expected = float(confidence.mean()) if CONFIDENCE in labels.table else None
    p_value = None
    # Besides the sample, chance decides how many labels of these confidences are right.
    spread = np.hypot(accuracy.standard_error, np.sqrt((confidence * (1 - confidence)).sum()) / N)
    if expected is not None and spread > 0:
        ratio = abs(accuracy.estimate - expected) / spread
        p_value = float(2 * stats.t.sf(ratio, len(drawn_rows) - 1))
    domains = labels.domains(by)
    table, of_domains = [], []
    for g, name in enumerate(domains.names):
        own = domains.codes == g
        place = dict(zip(by, name if len(by) > 1 else (name,), strict=True)) if by else {}
        number = int(own[drawn_rows].sum())
        if number < 2:
            raise InputError(
                f"{option_name('by')}: {count(number, 'row')} of the domain {name!r} of "
                f"{', '.join(by)} were checked; it takes 2 at least: leave it out, or draw with it"
            )
        about = {"rows": int(own.sum()), "checked": number}
        of_domains.append(place | about | _named(mean(right, confidence, own), "accuracy"))
        table += [place | row for row in shares(own)]
    confusion = {}
    for label in classes:
        own = labels.labels == label
        for name in classes:
            y = (found_labels == name) & own[drawn_rows]
            confusion[label, name] = N * mean(y, np.where(own, chances[name], 0.0)).estimate
    return Audit(
        accuracy, expected, p_value,
        pd.Series(confusion).unstack().rename_axis(index="label", columns=TRUE),
        pd.DataFrame(shares()).drop(columns=["count", "count_low", "count_high"]),
        pd.DataFrame(table), pd.DataFrame(of_domains), len(drawn_rows), int((~decided).sum()), N,
        _are_even(1 / drawn, N), level,
    )  # fmt: skip


def _are_even(weights: Floats, n_rows: int) -> bool:
    """Say whether drawn rows stand for about all rows, each for not too many more than another.

    Those of an audit are worth two thirds at least of as many drawn with equal probabilities.
    """
    effective = weights.sum() ** 2 / (weights**2).sum()
    return bool(effective > 0.6 * len(weights) and weights.sum() > 0.75 * n_rows)


def _chances(labels: LabeledRows, name: str) -> Floats:
    """Return the probability of a class in each row.

    The confidence is that of the label; 1 - confidence is shared among the other classes by their
    frequency among the labels.
    """
    own, numbers = labels.labels == name, pd.Series(labels.labels).value_counts()
    others = len(own) - numbers.reindex(labels.labels).to_numpy()
    share = np.divide(own.sum(), others, out=np.zeros(len(own)), where=others > 0)
    return np.where(own, labels.confidence, (1 - labels.confidence) * share)


def _named(found: Interval, name: str) -> dict[str, float]:
    error = {f"{name}_se": found.standard_error} if name == "accuracy" else {}
    return {name: found.estimate} | error | {f"{name}_low": found.low, f"{name}_high": found.high}


def _checked_rows(labels: LabeledRows, sheet: pd.DataFrame, id: str) -> tuple[Codes, Floats]:
    """Return the rows of a sheet and their probabilities; refuse a sheet that was tampered with."""
    require_columns(sheet, [id, PROBABILITY, AUDIT], "the check file, as c2rf audit draw wrote it")
    ids = unescaped(as_text(sheet[id]).fillna("")).to_numpy(dtype=object)
    seals = as_text(sheet[AUDIT]).fillna("").to_numpy(dtype=object)
    ours = np.array([seal.startswith(labels.fingerprint) for seal in seals])
    if not ours.any():
        raise InputError(
            "the check file was drawn for other labels: their fingerprint is not that of these; "
            "give the labels it was drawn for, or draw again"
        )
    known = unescaped(pd.Series(labels.ids))
    rows = pd.Index(known).get_indexer(pd.Index(ids))
    if (rows < 0).any():
        where = int(np.argmax(rows < 0))
        raise InputError(
            f"{in_sheet(sheet, rows < 0)}, column {id!r}: {ids[where]!r} is not in the "
            f"labels{nearest(ids[where], labels.ids[:10_000].tolist())}"
        )
    check_unique(ids, id, "the check file")
    numbers = pd.to_numeric(sheet[PROBABILITY], errors="coerce").to_numpy(dtype=float)
    parts = seals[ours.argmax()].split("-")
    if len(parts) != 3 or not parts[1].isdecimal():
        raise InputError(
            f"the column {AUDIT!r} of the check file is not as this version of c2rf writes it; "
            "read the file with the version that drew it"
        )
    drawn = int(parts[1])
    wrong = _seals(labels, drawn, labels.ids[rows], numbers) != seals
    if wrong.any():
        where = int(np.argmax(wrong))
        raise InputError(
            f"{in_sheet(sheet, wrong)}, column {PROBABILITY!r}: {numbers[where]:g} is not "
            f"what the id {ids[where]!r} was drawn with; only the column to fill in may be changed"
        )
    if len(rows) != drawn:
        raise InputError(
            f"{count(drawn, 'row')} were drawn, and the check file has {len(rows):,}; leave all of "
            "them in it, with an empty cell where a row could not be decided"
        )
    return rows, numbers


def _seals(labels: LabeledRows, drawn: int, ids: Any, probabilities: Floats) -> Any:
    """Return the fingerprint of the labels, how many rows were drawn, and the seal of each row."""
    print_ = f"{labels.fingerprint}-{drawn}"
    texts = [f"{print_}{name}\x1f{p:.9g}" for name, p in zip(ids, probabilities, strict=True)]
    found = pd.util.hash_array(np.array(texts, dtype=object)) & np.uint64(0xFFFFFFFF)
    return np.array([f"{print_}-{number:08x}" for number in found], dtype=object)


def _shown(
    table: pd.DataFrame, id: str, columns: Sequence[str] | None, by: Sequence[str]
) -> list[str]:
    """Return the columns that a sheet shows: those of the domains, and what one decides by."""
    left = (id, *PREDICTED, *SENSITIVITY_COLUMNS)
    if columns is None:
        columns = [str(name) for name in table if name not in left]
    require_columns(table, columns, option_name("columns"))
    return list(dict.fromkeys([*by, *columns]))


def _joined(table: pd.DataFrame, ids: Texts, rows: pd.DataFrame, id: str) -> pd.DataFrame:
    require_columns(rows, [id], "the rows")
    own = as_text(rows[id]).fillna("").to_numpy(dtype=object)
    check_unique(own, id, "the rows")
    places: Codes = pd.Series(np.arange(len(own)), index=own).reindex(ids).fillna(-1).to_numpy(int)
    if (places < 0).any():
        where = int(np.argmax(places < 0))
        raise InputError(
            f"the labels: {row_of(places < 0)}, column {id!r}: {ids[where]!r} is not in the rows"
        )
    more = rows[[name for name in rows if name not in table]].iloc[places].reset_index(drop=True)
    return pd.concat([table.reset_index(drop=True), more], axis=1)


def _names(by: str | Sequence[str] | None) -> list[str]:
    return [by] if isinstance(by, str) else list(by or ())


MOST_LINES = 20
"""The summary names so many domains, the report all."""
SURPRISING = 0.05
"""An expected accuracy with a smaller p-value than this is called wrong."""


def audit_lines(audit: Any) -> list[tuple[str, str]]:
    """Say what was found, as names and sentences."""
    found = audit.accuracy
    lines = [
        ("checked", f"{count(audit.n_checked, 'row')} of {audit.n_rows:,}"),
        ("right", f"{percent(found.estimate)} of the labels ({percent(found.low)} to "
                  f"{percent(found.high)})"),
    ]  # fmt: skip
    if audit.n_undecided:
        rows = count(audit.n_undecided, "row")
        sentence = f"{rows} could not be decided: the intervals hold either way, and are wider"
        lines.insert(1, ("undecided", sentence))
    if audit.expected is not None:
        promise = f"{percent(audit.expected)} by the confidences"
        if audit.p_value is not None:
            verdict = "is more than chance" if audit.p_value < SURPRISING else "may be chance"
            promise += f"; the difference {verdict} (p = {audit.p_value:.2g})"
        lines.append(("expected", promise))
    if not audit.is_even:
        sentence = "sure rows were hardly drawn: the true accuracy may be below the interval"
        lines.append(("careful", f"{sentence}. Rows drawn for an audit tell it better."))
    return lines


def lines_by_domain(audit: Any) -> list[tuple[str, str]]:
    """Say how many labels are right in each domain, where there are domains."""
    names = [name for name in audit.domains if name not in _ABOUT_DOMAINS]
    lines = []
    for row in audit.domains.head(MOST_LINES if names else 0).to_dict("records"):
        place = ", ".join(short(str(row[name])) for name in names)
        ends = f"{percent(row['accuracy_low'])} to {percent(row['accuracy_high'])}"
        lines.append((f"right, {place}", f"{percent(row['accuracy'])} ({ends})"))
    return lines


def audit_page(audit: Any, language: str = "en") -> str:
    """Return the report of an audit as one HTML page."""
    need("report")
    check_language(language)
    lines = audit_lines(audit)
    opening = "; ".join(f"{name}: {sentence}" for name, sentence in lines)
    rests: list[Block] = [
        Text(
            "The rows were drawn with known probabilities. The intervals rest on that alone: they "
            f"are made to hold the truth in {percent(audit.level)} of cases, whatever the model, "
            "the sample it learned from and the assumptions are."
        )
    ]
    names = [name for name in audit.domains if name not in _ABOUT_DOMAINS]
    accuracy = [_table("How many labels are right", audit.domains, len(names))]
    shares = [
        _table("Classes over all rows", audit.shares, 1),
        *([_table("Classes by domain", audit.table, len(names) + 1)] if names else []),
        _table("Labels (rows) and classes (columns), in rows", audit.confusion.reset_index(), 1),
    ]
    sections = [
        Section("audit", "How many labels are right", [*accuracy, *rests]),
        Section("shares", "How many rows are of each class", shares),
    ]
    page = Page("An audit of labels", [("", [opening])], sections)
    keep = {short(str(name)) for name in (*names, *audit.confusion)}
    return render("c2rf.report", translated_page(page, language, keep))


_ABOUT_DOMAINS = ("rows", "checked", "accuracy", "accuracy_se", "accuracy_low", "accuracy_high")


def _table(title: str, table: pd.DataFrame, n_names: int) -> Table:
    rows = (
        [_cell(str(name), value) for name, value in zip(table, row, strict=True)]
        for row in table.itertuples(index=False)
    )
    header = [str(name).replace("_", " ") for name in table]
    return Table(title, header, rows, n_names=n_names)


def _cell(name: str, value: Any) -> str:
    if isinstance(value, str):
        return short(value)
    is_share = name.startswith(("share", "accuracy"))
    return percent(value) if is_share else f"{value:,.0f}"
