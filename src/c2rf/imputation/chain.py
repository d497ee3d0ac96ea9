"""Exchanges that keep all totals: a Markov chain on the label sets that meet them.

The chain makes excursions. It relabels a row, which may break some totals; then it relabels rows
of cells whose total is broken, until all totals hold again. So an excursion can be a single change
(inside of ranges), an exchange of two labels, or a cycle of any length through crossing margins.
Every step is one of Metropolis and Hastings, whose target is

    product of the probabilities of the labels * a penalty on broken totals.

A reversible chain that is only watched while all totals hold is reversible on these states, and
its target there is the product of probabilities: what we want. An excursion of too many steps is
taken back; the way back from its end would be as long, so that this changes nothing about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from c2rf._utils.compiled import compiled
from c2rf._utils.types import Codes, Floats, Ints

_MOST_STEPS = 100
_PENALTY = 1.0  # of one more unit by which a total is broken, beyond a single row's


class BindingPart(NamedTuple):
    """A part of the totals: the cell of each group, and the bounds of each cell by class."""

    cells: Codes
    lower: Ints
    upper: Ints


class Cells(NamedTuple):
    """The cells of all parts of the totals, numbered through, and the rows in each.

    Parameters
    ----------
    of_row : ndarray of int, shape (n_parts, n_rows)
        The cell of each row in each part.
    part : ndarray of int, shape (n_cells,)
        The part of each cell.
    members : ndarray of int, shape (n_parts * n_rows,)
        The rows of the first cell, of the second, and so on.
    first, size : ndarray of int, shape (n_cells,)
        Where the rows of a cell begin in ``members``, and how many they are.
    lower, upper : ndarray of int, shape (n_cells, n_classes)
        The bounds.
    group : ndarray of int, shape (n_rows,)
        The group of each row: those with the same cell in every part.
    keys : ndarray of int, shape (n_groups,)
        In which cells each group is, as one number; in ascending order.
    strides : ndarray of int, shape (n_parts,)
        What a cell counts for in such a number.
    group_members, group_first, group_size : ndarray of int
        The same of groups as of cells.
    """

    of_row: Ints
    part: Ints
    members: Ints
    first: Ints
    size: Ints
    lower: Ints
    upper: Ints
    group: Ints
    keys: Ints
    strides: Ints
    group_members: Ints
    group_first: Ints
    group_size: Ints

    @classmethod
    def of(cls, parts: Sequence[BindingPart], groups: Codes) -> Cells:
        """Return the numbered cells of parts, given the group of each row."""
        n_cells = np.array([len(part.lower) for part in parts])
        starts = np.cumsum(n_cells) - n_cells
        of_row = np.stack(
            [part.cells[groups] + start for part, start in zip(parts, starts, strict=True)]
        ).astype(np.int64)
        size = np.bincount(of_row.ravel(), minlength=n_cells.sum()).astype(np.int64)
        strides = np.concatenate([[1], np.cumprod(n_cells[:-1])]).astype(np.int64)
        keys, group = np.unique(strides @ (of_row - starts[:, None]), return_inverse=True)
        group_size = np.bincount(group).astype(np.int64)
        return cls(
            of_row, np.repeat(np.arange(len(parts)), n_cells),
            np.concatenate([np.argsort(row, kind="stable") for row in of_row]),
            np.cumsum(size) - size, size,
            np.concatenate([part.lower for part in parts]).astype(np.int64),
            np.concatenate([part.upper for part in parts]).astype(np.int64),
            group, keys - strides @ -starts, strides, np.argsort(group, kind="stable"),
            np.cumsum(group_size) - group_size, group_size,
        )  # fmt: skip

    def counts(self, labels: Codes) -> Ints:
        """Return how many rows of each cell are of each class."""
        table = np.zeros(self.lower.shape, dtype=np.int64)
        for cells in self.of_row:
            np.add.at(table, (cells, labels), 1)
        return table


class _State(NamedTuple):
    """Labels on an excursion: which cells are broken, and which rows were changed on the way."""

    labels: Any
    logs: Any
    counts: Any
    bad: Any
    after: Any
    path: Any


def exchange(
    labels: Codes, logs: Floats, cells: Cells, n_excursions: int, rng: np.random.Generator
) -> int:
    """Change labels by excursions, all totals holding after each; return how many changed any.

    Parameters
    ----------
    labels : ndarray of int64, shape (n_rows,)
        Labels that meet all totals; they are changed in place.
    logs : ndarray of shape (n_rows, n_classes)
        Finite logarithms of the probabilities.
    cells : Cells
        The totals.
    n_excursions : int
        How many to make.
    rng : Generator
        Source of random numbers.
    """
    # At most two rows are out of place, which break two classes in a cell of each part.
    most = 4 * len(cells.of_row)
    room = most + len(cells.of_row)
    state = _State(
        labels, np.ascontiguousarray(logs), cells.counts(labels), np.empty(room, np.int64),
        np.empty(room, np.int64), np.empty((_MOST_STEPS, 2), np.int64),
    )  # fmt: skip
    # A broken state should be entered as easily as it is left: it is found among the rows of a
    # cell, an unbroken one among all rows.
    threshold = float(np.log(len(cells.size) / len(cells.of_row)))
    return int(_excursions(cells, state, most, threshold, n_excursions, rng))


@compiled
def _broken(counts: Any, cells: Any, cell: int) -> int:
    """Return by how much the bounds of a cell are broken."""
    total = 0
    for k in range(counts.shape[1]):
        total += max(cells.lower[cell, k] - counts[cell, k], 0)
        total += max(counts[cell, k] - cells.upper[cell, k], 0)
    return total


@compiled
def _n_meetings(cells: Any, bad: Any, n_bad: int) -> int:
    """Return how many choices there are of one broken cell of every part."""
    product = 1
    for part in range(len(cells.strides)):
        here = 0
        for k in range(n_bad):
            here += cells.part[bad[k]] == part
        product *= here
    return product


@compiled
def _next_row(cells: Any, bad: Any, n_bad: int, rng: Any) -> int:
    """Choose the next row: of all, of a broken cell, or of where broken cells meet; -1 if none."""
    if n_bad == 0:
        return int(rng.random() * cells.of_row.shape[1])
    if _n_meetings(cells, bad, n_bad) == 0 or rng.random() < 0.5:
        cell = bad[int(rng.random() * n_bad)]
        return cells.members[cells.first[cell] + int(rng.random() * cells.size[cell])]
    key = 0
    for part in range(len(cells.strides)):
        while True:
            cell = bad[int(rng.random() * n_bad)]
            if cells.part[cell] == part:
                break
        key += cell * cells.strides[part]
    group = np.searchsorted(cells.keys, key)
    if group == len(cells.keys) or cells.keys[group] != key:
        return -1
    place = int(rng.random() * cells.group_size[group])
    return cells.group_members[cells.group_first[group] + place]


@compiled
def _chance(cells: Any, row: int, bad: Any, n_bad: int) -> float:
    """Return the probability that a row is the next, as :func:`_next_row` chooses it."""
    if n_bad == 0:
        return 1.0 / cells.of_row.shape[1]
    by_cell, n_parts_bad = 0.0, 0
    for part in range(len(cells.strides)):
        for k in range(n_bad):
            if bad[k] == cells.of_row[part, row]:
                by_cell += 1.0 / cells.size[bad[k]]
                n_parts_bad += 1
    by_cell /= n_bad
    n_meetings = _n_meetings(cells, bad, n_bad)
    if n_meetings == 0:
        return by_cell
    if n_parts_bad < len(cells.strides):
        return by_cell / 2
    return (by_cell + 1.0 / n_meetings / cells.group_size[cells.group[row]]) / 2


@compiled
def _count(cells: Any, counts: Any, row: int, old: int, new: int) -> None:
    """Count a row in another class."""
    for part in range(len(cells.strides)):
        counts[cells.of_row[part, row], old] -= 1
        counts[cells.of_row[part, row], new] += 1


@compiled
def _find_broken(cells: Any, state: Any, row: int, n_bad: int) -> tuple[int, int]:
    """List the cells that are broken after a row was changed; return how many, and how much."""
    n_after, total = 0, 0
    for k in range(n_bad + len(cells.strides)):
        cell = state.bad[k] if k < n_bad else cells.of_row[k - n_bad, row]
        known = False
        for j in range(n_after):
            known = known or state.after[j] == cell
        if not known:
            much = _broken(state.counts, cells, cell)
            total += much
            if much > 0 and n_after < len(state.after):
                state.after[n_after] = cell
                n_after += 1
    return n_after, total


@compiled
def _log_penalty(total: int, n_parts: int, threshold: float) -> float:
    if total == 0:
        return 0.0
    return -threshold - _PENALTY * max(total - 2 * n_parts, 0)


@compiled
def _excursion(cells: Any, state: Any, most: int, threshold: float, rng: Any) -> int:
    """Make one excursion; return whether it changed labels."""
    n_parts, n_classes = len(cells.strides), state.counts.shape[1]
    n_bad, total, n_path = 0, 0, 0
    for _ in range(_MOST_STEPS):
        row = _next_row(cells, state.bad, n_bad, rng)
        if row < 0:
            continue
        old = state.labels[row]
        new = int(rng.random() * (n_classes - 1))
        new += new >= old
        _count(cells, state.counts, row, old, new)
        n_after, broken = _find_broken(cells, state, row, n_bad)
        ratio = state.logs[row, new] - state.logs[row, old]
        ratio += _log_penalty(broken, n_parts, threshold) - _log_penalty(total, n_parts, threshold)
        there = _chance(cells, row, state.after, n_after)
        back = _chance(cells, row, state.bad, n_bad)
        # ratio of target * chance to propose the way back; log(0) is never below it
        if broken <= most and (1.0 - rng.random()) * back < np.exp(min(ratio, 500.0)) * there:
            state.labels[row] = new
            state.path[n_path, 0], state.path[n_path, 1] = row, old
            n_path += 1
            n_bad, total = n_after, broken
            state.bad[:n_bad] = state.after[:n_bad]
        else:
            _count(cells, state.counts, row, new, old)
        if total == 0:
            return int(n_path > 0)
    for k in range(n_path - 1, -1, -1):  # too long a way: take it back, from its end
        row, old = state.path[k, 0], state.path[k, 1]
        _count(cells, state.counts, row, state.labels[row], old)
        state.labels[row] = old
    return 0


@compiled
def _excursions(
    cells: Any, state: Any, most: int, threshold: float, n_excursions: int, rng: Any
) -> int:
    n_changed = 0
    for _ in range(n_excursions):
        n_changed += _excursion(cells, state, most, threshold, rng)
    return n_changed
