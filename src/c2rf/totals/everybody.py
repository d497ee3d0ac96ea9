"""Totals of everybody, as a census gives them: the labeled rows are among those counted.

Labels are wanted for the other rows alone, so of each total the labeled rows of its class, in its
group, are subtracted. :func:`find_whom` says whom totals are about: counts of all classes of a
group add up to its rows to label, or to these and its labeled rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np

from c2rf._utils.text import count, for_user
from c2rf.exceptions import InputError
from c2rf.totals.groups import Groups
from c2rf.totals.stated import (
    Estimate,
    Margin,
    OfEverybody,
    Policy,
    Totals,
    read_stated,
    rounding_slack,
    wrong_sum,
)

Whom = Literal["everybody", "unlabeled"]
Sizes = Mapping[Any, float]
"""The number of rows, or the sum of their weights, of each category of a margin."""


class People(NamedTuple):
    """The rows that totals may be about.

    Parameters
    ----------
    unlabeled : callable
        Takes grouping columns, returns how many rows to label are in each category.
    labeled : callable
        The same of the labeled rows of each class: a mapping from category and class. None where
        the labeled rows do not have the columns.
    classes : sequence of str
        All classes.
    """

    unlabeled: Callable[[tuple[str | None, ...]], Sizes]
    labeled: Callable[[tuple[str | None, ...]], Mapping[tuple[Any, str], float] | None]
    classes: Sequence[str]

    def labeled_in(self, columns: tuple[str | None, ...], category: Any) -> float | None:
        """Return how many labeled rows are in a category, None if that is not known."""
        table = self.labeled(columns)
        return None if table is None else sum(table.get((category, k), 0) for k in self.classes)


def sizes_of(groups: Groups, columns: tuple[str | None, ...], sizes: Any) -> dict[Any, Any]:
    """Return the sizes of the categories of some grouping columns, given those of groups.

    Examples
    --------
    >>> groups = Groups([("AT", 1), ("AT", 2)], [], ("country", "sex"))
    >>> sizes_of(groups, ("country",), [3, 4]), sizes_of(groups, (), [3, 4])
    ({'AT': 7}, {None: 7})
    """
    places = [groups.columns.index(name) for name in columns]
    found: dict[Any, Any] = {}
    for name, size in zip(groups.names, np.asarray(sizes).tolist(), strict=True):
        values = name if len(groups.columns) > 1 else (name,)
        category = tuple(values[place] for place in places)
        key = category if len(columns) > 1 else category[0] if columns else None
        found[key] = found.get(key, 0) + size
    return found


def _tables(totals: Totals) -> Iterator[Margin]:
    """Yield overall totals, as the only category of a margin without columns, and the margins."""
    if totals.overall:
        yield Margin((), {None: totals.overall})
    yield from totals.margins


def _sum(row: Mapping[Any, Any], classes: Sequence[str]) -> tuple[float, float] | None:
    """Return the sum of the counts of all classes, and by how much rounding may have moved it.

    None where a class has no total, or one that is a rate or a range.
    """
    values = [each.value if isinstance(each, Estimate) else each for each in row.values()]
    if set(row) != set(classes) or not all(isinstance(value, Integral) for value in values):
        return None
    return sum(values), rounding_slack(values)


def _whom(row: Mapping[Any, Any], n: float, extra: float, classes: Sequence[str]) -> Whom | None:
    """Say whom the totals of a category are about, by their sum; None if it does not tell."""
    found = _sum(row, classes)
    if found is None or extra == 0:
        return None
    total, slack = found
    off = {"unlabeled": abs(total - n), "everybody": abs(total - n - extra)}
    near: Whom = "unlabeled" if off["unlabeled"] <= off["everybody"] else "everybody"
    is_clear = off[near] == 0 or (off[near] <= slack and 2 * slack < extra)
    return near if is_clear else None


def find_whom(totals: Totals, people: People) -> Whom:
    """Say whom totals are about. Their sums tell; where none does, it is the rows to label.

    Examples
    --------
    >>> people = People(lambda columns: {None: 90}, lambda columns: {(None, "yes"): 10}, ["yes"])
    >>> find_whom(Totals({"yes": 100}), people), find_whom(Totals({"yes": 90}), people)
    ('everybody', 'unlabeled')
    """
    told: dict[tuple[str | None, ...], Whom | None] = {}
    for table in _tables(totals):
        n = people.unlabeled(table.columns)
        votes = [
            whom
            for category, row in table.by_group.items()
            if (extra := people.labeled_in(table.columns, category))
            and (whom := _whom(row, n.get(category, 0), extra, people.classes))
        ]
        about_all = 2 * votes.count("everybody") > len(votes)
        told[table.columns] = ("everybody" if about_all else "unlabeled") if votes else None
    if "everybody" not in told.values():
        return "unlabeled"
    others = [columns for columns, whom in told.items() if whom != "everybody"]
    if others:
        names = "; ".join(_called(columns) for columns in others)
        which = for_user('totals_of="everybody"', "--totals-of everybody")
        instead = for_user('totals_of="unlabeled"', "--totals-of unlabeled")
        raise InputError(
            "some totals add up to everybody, the labeled rows among them, but others do not say "
            f"whom they are about: {names}. If all are about everybody, say so with {which}; "
            f"{instead} if none are"
        )
    return "everybody"


def subtract_labeled(totals: Totals, people: People, policy: Policy) -> Totals:
    """Return totals of everybody as totals of the rows to label.

    Examples
    --------
    >>> people = People(lambda columns: {None: 90}, lambda columns: {(None, "yes"): 10}, ["yes"])
    >>> subtract_labeled(Totals({"yes": 100}), people, "strict").overall
    {'yes': OfEverybody(total=100, n=100, labeled=10)}
    """
    below: list[str] = []

    def rest(table: Margin) -> Margin:
        labeled, sizes = people.labeled(table.columns), people.unlabeled(table.columns)
        if labeled is None:
            raise InputError(
                f"{_called(table.columns)} are about everybody, but the labeled rows do not have "
                "all of these columns, so they cannot be subtracted; add the columns to them"
            )
        found: dict[Any, dict[Any, Any]] = {}
        for category, row in table.by_group.items():
            n_labeled = people.labeled_in(table.columns, category) or 0
            n, where = sizes.get(category, 0) + n_labeled, _called(table.columns, category)
            _check_sum(row, n, n_labeled, people.classes, where, policy)
            for label, total in row.items():
                own = labeled.get((category, label), 0)
                stated = read_stated(total, n, f"{where}: the total of {label!r}", "scale")
                if stated.high < own - 1e-9 and not stated.se:
                    below.append(f"{where}: {label!r} {stated.high:g}, labeled {own:g}")
            if category in sizes:
                found[category] = {
                    label: OfEverybody(total, n, labeled.get((category, label), 0))
                    for label, total in row.items()
                }
            elif any(total != labeled.get((category, label), 0) for label, total in row.items()):
                found[category] = dict(row)  # a category without rows to label is reported later
        return replace(table, by_group=found)

    tables = [rest(table) for table in _tables(totals)]
    if below:
        option = for_user('totals_of="unlabeled"', "--totals-of unlabeled")
        named = "; ".join([*below[:5], *["..."] * (len(below) > 5)])
        raise InputError(
            "totals of everybody cannot be below the labeled rows, who are among them: "
            f"{named}; correct them, or say {option} if they are about the rows to label alone"
        )
    overall = tables.pop(0).by_group[None] if totals.overall else {}
    return Totals(overall, tuple(tables))


def _check_sum(
    row: Mapping[Any, Any], n: float, n_labeled: float, classes: Sequence[str], where: str,
    policy: Policy,
) -> None:  # fmt: skip
    found = _sum(row, classes)
    if found is None or policy == "scale" or any(isinstance(t, Estimate) for t in row.values()):
        return
    if abs(found[0] - n) > 0.5:
        people = f"{where} (everybody, {n_labeled:g} labeled rows among them)"
        raise InputError(wrong_sum(row, found[0], n, people))


def check_unlabeled(totals: Totals, people: People) -> None:
    """Refuse totals that add up to everybody where they were said to be of the rows to label."""
    if find_whom(totals, people) == "everybody":
        option = for_user('totals_of="everybody"', "--totals-of everybody")
        raise InputError(
            "the totals add up to the rows to label and the labeled ones together, but were said "
            f"to be of the rows to label alone; use {option}, and the labeled ones are subtracted"
        )


def in_words(people: People, unit: str = "row") -> str:
    """Say that the labeled rows were subtracted.

    Examples
    --------
    >>> people = People(lambda columns: {None: 90}, lambda columns: {(None, "yes"): 10}, ["yes"])
    >>> in_words(people)
    'everybody: 90 rows to label and 10 labeled ones; these were subtracted, by class and group'
    """
    n, labeled = people.unlabeled(())[None], people.labeled_in((), None) or 0
    return (
        f"everybody: {count(round(n), unit)} to label and {round(labeled):,} labeled ones; these "
        "were subtracted, by class and group"
    )


def _called(columns: tuple[str | None, ...], category: Any = None) -> str:
    """Name overall totals, those of a margin, or those of one of its categories."""
    if not columns:
        return "totals over all rows"
    if category is None:
        return f"the totals by {', '.join(map(str, columns))}"
    values = category if len(columns) > 1 else (category,)
    named = zip(columns, values, strict=True)
    return "the totals of " + ", ".join(f"{name} {value!r}" for name, value in named)
