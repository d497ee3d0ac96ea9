"""Small random cases of crossing margins, and a second solver that knows nothing of ours."""

import numpy as np
from scipy.optimize import Bounds as Box
from scipy.optimize import LinearConstraint, milp

from c2rf.totals.bounds import Bounds, MarginBounds


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
                row[margin.cells[groups] == cell, k] = 1
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
