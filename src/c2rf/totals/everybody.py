"""Totals of everybody, as a census gives them: the labeled rows are among those counted.

Labels are wanted for the other rows alone, so of each total the labeled rows of its class, in its
group, are subtracted; :func:`c2rf.totals.make_bounds.make_bounds` does so where totals come with
the labeled rows. :func:`about_whom` says whether they are about everybody: counts of all classes
of a group add up to its rows to label, or to these and its labeled rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from c2rf._utils.text import all_of, for_user
from c2rf.exceptions import InputError
from c2rf.totals.bounds import MarginBounds, open_margins
from c2rf.totals.groups import Groups
from c2rf.totals.stated import Estimate, Labeled, Totals, rounding_slack

Whom = Literal["auto", "everybody", "unlabeled"]


def with_labeled(
    totals: Totals, groups: Groups, sizes: NDArray[Any], labeled: Labeled
) -> tuple[list[MarginBounds], list[NDArray[Any]]]:
    """Return the margins of totals, and how many labeled rows of each class their categories have.

    Categories in which there are labeled rows only come last.
    """
    names = list(dict.fromkeys([*groups.names, *labeled.names]))
    counts = np.zeros((len(names), labeled.counts.shape[1]), labeled.counts.dtype)
    numbers = {name: number for number, name in enumerate(names)}
    counts[[numbers[name] for name in labeled.names]] = labeled.counts
    own = np.append(sizes, np.zeros(len(names) - len(sizes), np.asarray(sizes).dtype))
    margins = open_margins(totals, groups._replace(names=names), own, counts.shape[1])
    return margins, [margin.sums(counts) for margin in margins]


def about_whom(
    totals: Totals,
    groups: Groups,
    sizes: NDArray[Any],
    labeled: Labeled | None,
    classes: Sequence[Any],
    said: Whom = "auto",
) -> Totals:
    """Return the totals, with the labeled rows if they are about everybody.

    Parameters
    ----------
    totals : Totals
        The totals as they were given.
    groups, sizes : Groups, ndarray
        The groups of the rows to label, and how many are in each: rows, or people by weights.
    labeled : Labeled or None
        The labeled rows; None where it is not known how many people they are.
    classes : sequence
        All classes.
    said : {"auto", "everybody", "unlabeled"}
        Whom the user says that totals are about; "auto" goes by their sums, and where no sum
        tells, they are about the rows to label.

    Examples
    --------
    >>> rows, asked = Groups.none(90), Labeled([None], np.array([[10]]))
    >>> found = about_whom(Totals({"yes": 100}), rows, rows.sizes, asked, ["yes"])
    >>> found.labeled is asked
    True
    >>> about_whom(Totals({"yes": 90}), rows, rows.sizes, asked, ["yes"]).labeled is None
    True
    """
    everybody = for_user('totals_of="everybody"', "--totals-of everybody")
    unlabeled = for_user('totals_of="unlabeled"', "--totals-of unlabeled")
    either = " or ".join(dict.fromkeys([everybody, unlabeled]))  # one choice on the page
    told = {} if labeled is None else _told(totals, groups, sizes, labeled, classes)
    if said == "unlabeled" and "everybody" in told.values():
        raise InputError(
            "the totals add up to the rows to label and the labeled ones together, but were said "
            f"to be of the rows to label alone; use {everybody}, and the labeled ones are "
            "subtracted"
        )
    if said == "auto" and "everybody" in told.values():
        others = [columns for columns, whom in told.items() if whom != "everybody"]
        if others:
            raise InputError(
                "some totals add up to everybody, the labeled rows among them, but others do not "
                f"say whom they are about: {'; '.join(map(_called, others))}. If all are about "
                f"everybody, say so with {everybody}; {unlabeled} if none are"
            )
        return replace(totals, labeled=labeled)
    if said == "auto" and labeled is not None:
        for columns in (columns for columns, whom in told.items() if whom == "in doubt"):
            total = "" if columns else f" to {sum(totals.overall.values()):g},"
            raise InputError(
                f"{_called(columns)} add up{total} neither to the {sizes.sum():,.12g} unlabeled "
                f"rows nor to these and the {labeled.counts.sum():,.12g} labeled ones besides; "
                f"correct them, or say whom they are about: {either}"
            )
    if said != "everybody":
        return totals
    for margin in totals.margins:
        if labeled is None or set(margin.columns) & set(labeled.lacking):
            raise InputError(
                f"{_called(margin.columns)} are about everybody, but the labeled rows do not have "
                "all of these columns, so they cannot be subtracted; add the columns to them"
            )
    if labeled is None:
        raise InputError(
            "the totals are about everybody, but the labeled rows do not have the column of "
            "weights, so they cannot be subtracted; add it to them"
        )
    return replace(totals, labeled=labeled)


def _told(
    totals: Totals, groups: Groups, sizes: NDArray[Any], labeled: Labeled, classes: Sequence[Any]
) -> dict[tuple[str | None, ...], str | None]:
    """Return whom the totals of each margin are about, by their sums; None if no sum tells.

    "in doubt" are sums of neither that are nearer to everybody, by less than the labeled rows.
    """
    told: dict[tuple[str | None, ...], str | None] = {}
    margins, own = with_labeled(totals, groups, sizes, labeled)
    for margin, extra, table in zip(margins, own, totals.tables, strict=True):
        if not table:
            continue
        votes = []
        if not set(margin.columns) & set(labeled.lacking):
            there = dict(zip(margin.names, zip(margin.upper, extra, strict=True), strict=True))
            found = (
                _whom(row, there[name][0][0].item(), there[name][1].sum().item(), classes)
                for name, row in table.items()
                if name in there
            )
            votes = [whom for whom in found if whom is not None]
        about_all = 2 * votes.count("everybody") > len(votes)
        there_is = [whom for whom in ("unlabeled", "in doubt") if whom in votes]
        told[margin.columns] = "everybody" if about_all else next(iter(there_is), None)
    return told


def sum_of(row: Mapping[Any, Any], classes: Sequence[Any]) -> tuple[float, float] | None:
    """Return the sum of the counts of all classes, and by how much rounding may have moved it.

    None where a class has no total, or one that is a rate or a range.
    """
    values = [each.value if isinstance(each, Estimate) else each for each in row.values()]
    if set(row) != set(classes) or not all(isinstance(value, Integral) for value in values):
        return None
    return sum(values), rounding_slack(values)


def _whom(row: Mapping[Any, Any], n: float, extra: float, classes: Sequence[Any]) -> str | None:
    """Say whom the totals of a category are about, by their sum; None if it does not tell."""
    found = sum_of(row, classes)
    if found is None or extra == 0:
        return None
    total, slack = found
    off = {"unlabeled": abs(total - n), "everybody": abs(total - n - extra)}
    near = "unlabeled" if off["unlabeled"] <= off["everybody"] else "everybody"
    is_clear = off[near] == 0 or (off[near] <= slack and 2 * slack < extra)
    if is_clear:
        return near
    return "in doubt" if near == "everybody" and off[near] < extra else None


def _called(columns: tuple[str | None, ...]) -> str:
    """Name overall totals, or those of a margin."""
    return f"the totals by {all_of(list(columns))}" if columns else "totals over all rows"
