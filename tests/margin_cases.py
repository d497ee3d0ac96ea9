"""Small random cases of crossing margins, and a second solver that knows nothing of ours."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
from scipy.optimize import Bounds as Box
from scipy.optimize import LinearConstraint, milp

from c2rf import Estimate
from c2rf.totals.bounds import Bounds, LinearConstraints, MarginBounds


def crossing_case(seed):
    """Return scores, groups and bounds: 2-4 classes, 1-3 margins, ranges, free cells and ties."""
    rng = np.random.default_rng(seed)
    n, n_classes, n_margins = (int(rng.integers(*ends)) for ends in ((4, 40), (2, 5), (1, 4)))
    columns = np.stack([rng.integers(rng.integers(2, 5), size=n) for _ in range(n_margins)], 1)
    there, groups = np.unique(columns, axis=0, return_inverse=True)
    scores = np.log(rng.dirichlet(np.ones(n_classes), size=n))
    if rng.random() < 0.4:
        scores = np.round(scores * 2) / 2
    truth = rng.integers(n_classes, size=n)
    margins = []
    for m in range(n_margins):
        names, cells = np.unique(there[:, m], return_inverse=True)
        lower = np.zeros((len(names), n_classes), dtype=np.int64)
        np.add.at(lower, (cells[groups], truth), 1)
        upper = lower.copy()
        kind = rng.random(lower.shape)
        lower[kind < 0.2] -= rng.integers(0, 3)
        upper[(kind > 0.1) & (kind < 0.3)] += rng.integers(0, 3)
        lower[kind > 0.85], upper[kind > 0.85] = 0, n
        if rng.random() < 0.1:  # may be impossible
            lower[0, 0] += 1
            upper[0, 0] += 1
        lower = np.maximum(lower, 0)
        bounds = lower, np.maximum(lower, upper)
        margins.append(MarginBounds((f"m{m}",), names.tolist(), cells, *bounds))
    sizes = np.bincount(groups, minlength=len(there))
    free = np.zeros((len(there), n_classes), dtype=np.int64)
    everything = np.zeros(n_classes, dtype=np.int64), np.full(n_classes, n)
    return scores, groups, Bounds(*everything, free, free + sizes[:, None], sizes, tuple(margins))


def best_objective(scores, groups, bounds):
    """Return the highest total score by an integer program over all rows, None if impossible."""
    n, n_classes = scores.shape
    rows, low, high = [], [], []
    for margin in bounds.margins:
        for cell in range(len(margin.names)):
            for k in range(n_classes):
                row = np.zeros((n, n_classes))
                row[margin.codes[groups] == cell, k] = 1
                rows.append(row.ravel())
                low.append(margin.lower[cell, k])
                high.append(margin.upper[cell, k])
    for i in range(n):
        row = np.zeros((n, n_classes))
        row[i] = 1
        rows.append(row.ravel())
        low.append(1)
        high.append(1)
    found = milp(
        -scores.ravel(),
        integrality=np.ones(n * n_classes),
        bounds=Box(0, 1),
        constraints=LinearConstraint(np.array(rows), low, high),
        options={"mip_rel_gap": 0.0},
    )
    return None if found.x is None else float((scores.ravel() * np.rint(found.x)).sum())


def large_case(n=6000, width=0.0):
    """Return scores, groups and bounds of two margins that cross, of many rows.

    With a width totals are ranges up to that part of themselves wide, on both sides.
    """
    rng = np.random.default_rng(0)
    groups = rng.integers(12, size=n)
    scores = np.log(rng.dirichlet(np.ones(3), size=n))
    truth = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    counts = np.zeros((12, 3), dtype=np.int64)
    np.add.at(counts, (groups, truth), 1)
    _, _, example = crossing_case(0)
    margins = []
    for cells in (np.arange(12) // 4, np.arange(12) % 4):
        names = list(range(cells.max() + 1))
        margin = replace(example.margins[0], names=names, codes=cells)
        total = margin.sums(counts)
        slack = (width * rng.random(total.shape) * total).astype(int)
        margins.append(replace(margin, lower=total - slack, upper=total + slack))
    sizes = counts.sum(axis=1)
    free = 0 * counts
    everything = np.zeros(3, dtype=np.int64), np.full(3, n)
    return scores, groups, Bounds(*everything, free, free + sizes[:, None], sizes, tuple(margins))


def weighted_case(seed):
    """Return scores, groups, weights and bounds: few rows, one margin or two, weights of zero."""
    rng = np.random.default_rng(seed)
    n, n_classes = int(rng.integers(3, 9)), int(rng.integers(2, 4))
    weights = rng.integers(0, 9, n).astype(float) if rng.random() < 0.8 else rng.gamma(2, 3, n)
    weights[0] = 5.0
    scores = np.log(rng.dirichlet(np.ones(n_classes), n))
    columns = rng.integers(2, size=(n, 2 if rng.random() < 0.5 else 1))
    there, groups = np.unique(columns, axis=0, return_inverse=True)
    # Totals that add up to the weights of their cells, but not of any labels.
    sizes = np.bincount(groups, weights, minlength=len(there))
    shares = rng.dirichlet(np.ones(n_classes), len(there))
    inside = np.floor(sizes[:, None] * shares)
    inside[:, -1] = sizes - inside[:, :-1].sum(axis=1)
    margins = []
    for m in range(columns.shape[1]):
        names, cells = np.unique(there[:, m], return_inverse=True)
        total = np.zeros((len(names), n_classes))
        np.add.at(total, cells, inside)
        margins.append(MarginBounds((f"m{m}",), names.tolist(), cells, total, total))
    free, total = 0 * inside, inside.sum(axis=0)
    everything = (0 * total, 0 * total + sizes.sum()) if len(margins) > 1 else (total, total)
    kept = tuple(margins) if len(margins) > 1 else ()
    bounds = Bounds(*everything, free, free + sizes[:, None], sizes, kept)
    return scores, groups, weights, bounds


def least_deviation(weights, n_classes, groups, bounds):
    """Return the least sum of deviations from stated totals, of all labels there are."""
    system = LinearConstraints.of(bounds)
    labels = np.array(list(product(range(n_classes), repeat=len(weights))))
    counts = np.zeros((len(labels), len(bounds.group_sizes) * n_classes))
    for i, weight in enumerate(weights):
        counts[np.arange(len(labels)), groups[i] * n_classes + labels[:, i]] += weight
    found = (system.matrix @ counts.T).T
    off = np.maximum(system.lower - found, 0) + np.maximum(found - system.upper, 0)
    return float(off.sum(axis=1).min())


def contradicting_case(seed):
    """Return people with two columns, and two tables of estimates that contradict each other."""
    rng = np.random.default_rng(seed)
    n_first, n_second = (int(n) for n in rng.integers(2, 5, size=2))
    n_classes = int(rng.integers(2, 4))
    counts = rng.integers(20, 80, size=(n_first * n_second, n_classes))
    group = np.repeat(np.arange(len(counts)), counts.sum(axis=1))
    people = pd.DataFrame({"a": group // n_second, "b": group % n_second})
    truth = np.concatenate([np.repeat(np.arange(n_classes), row) for row in counts])
    tables = []
    for name in people.columns:
        table = people.assign(**{"class": truth, "total": 1})
        table = table.groupby([name, "class"], as_index=False)["total"].sum()
        noise = rng.normal(0, 5, len(table)).round(1)
        rows = table.to_dict("records")
        errors = rng.uniform(1, 5.5, len(table)).round(2)
        for row, shift, se in zip(rows, noise.tolist(), errors.tolist(), strict=True):
            row["total"] = Estimate(row["total"] + shift, se)
        tables.append(rows)
    return people, tables, n_classes


def reconciled(people, tables, n_classes):
    """Return all figures by the textbook: weighted least squares over all tables of counts."""
    groups, index = np.unique(people.to_numpy(), axis=0, return_inverse=True)
    index = index.ravel()  # numpy 2.0.0 returns a column
    sizes = np.bincount(index)
    shape = (len(groups), n_classes)
    rows, said, errors = [], [], []
    for column, table in zip(range(2), tables, strict=True):
        for entry in table:
            here = np.zeros(shape)
            here[groups[:, column] == entry[people.columns[column]], entry["class"]] = 1
            rows.append(here)
            said.append(entry["total"].value)
            errors.append(entry["total"].se)
    matrix = np.array(rows)
    # The last class of a group is what the others leave.
    free = (matrix[:, :, :-1] - matrix[:, :, -1:]).reshape(len(rows), -1)
    start = matrix[:, :, -1] @ sizes
    scale = 1 / np.array(errors)
    step = np.linalg.lstsq(scale[:, None] * free, scale * (said - start), rcond=None)[0]
    return start + free @ step
