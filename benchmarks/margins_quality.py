"""What margins are worth: ``python -m benchmarks.margins_quality --folder PMLB_CACHE``.

On samples of the bench, with the overall total alone, with the totals in quarters of one column,
and in quarters of two columns at once. The learner is fitted once: it gets the same rates in all
three cases. Shares are those of the positive class; "other" groups are quarters of four further
columns, of which nothing was known.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import ExtraTreesClassifier

import c2rf
from c2rf.assignment import assign, log_scores
from c2rf.bench.samples import NAMES, PROTOCOLS, load, sample_seed
from c2rf.datasets import biased_sample
from c2rf.totals.groups import read_groups
from c2rf.totals.make_bounds import make_bounds
from c2rf.totals.stated import read_totals

KNOWN = ("overall", "one margin", "two margins")
LEARNERS = {"blend": lambda: None, "extra-trees": lambda: ExtraTreesClassifier(200)}


def quarters(X):
    """Return the quarter of each row by the six columns with most values, a column each."""
    levels = np.array([len(np.unique(column)) for column in X.T])
    found = {}
    for k in np.argsort(-levels, kind="stable")[:6]:
        edges = np.unique(np.quantile(X[:, k], [0.25, 0.5, 0.75]))
        found[f"column {k}"] = np.searchsorted(edges, X[:, k])
    return pd.DataFrame(found)


def margin(cells, name, truth):
    """Return what a census says of the quarters of a column."""
    table = pd.DataFrame({name: cells[name], "class": truth, "total": 1})
    return table.groupby([name, "class"], as_index=False)["total"].sum()


def totals_of(kind, cells, truth):
    """Return what is known in each of the three cases."""
    n_margins = KNOWN.index(kind)
    margins = [margin(cells, name, truth) for name in cells.columns[:n_margins]]
    return margins or {True: int(truth.sum())}


def error(groups, labels, truth):
    """Return the mean error of the shares in groups."""
    table = pd.DataFrame({"labels": labels, "truth": truth})
    table = table.groupby([groups[name] for name in groups.columns]).mean()
    return float((table["labels"] - table["truth"]).abs().mean())


def measure(name, number, folder, learner):
    """Return accuracy and errors of one sample, a row per kind of knowledge."""
    data, protocol = load(name, folder), PROTOCOLS["biased"]
    seed = sample_seed(0, "biased", name, number)
    own, rest = biased_sample(
        data.y, protocol.fraction, protocol.positive_weight, random_state=seed
    )
    truth, cells = data.y[rest] > 0, quarters(data.X[rest])
    classifier = c2rf.KnownTotalsClassifier(LEARNERS[learner](), random_state=seed % 2**31)
    known = {True: int(truth.sum())}
    classifier.fit(data.X[own], data.y[own] > 0, X_unlabeled=data.X[rest], totals=known)
    logs = log_scores(classifier.scores_)
    for kind in KNOWN:
        totals = read_totals(totals_of(kind, cells, truth), [False, True])
        columns = [str(c) for c in totals.columns]
        groups = read_groups(cells[columns] if columns else None, len(cells))
        bounds = make_bounds(totals, groups._replace(columns=tuple(columns)), [False, True])
        labels = assign(logs, bounds, groups.codes, seed % 2**31).labels == 1
        others = [error(cells[[c]], labels, truth) for c in cells.columns[2:]]
        yield {
            "data": name,
            "sample": number,
            "known": kind,
            "accuracy": 100 * np.mean(labels == truth),
            "crossed": 100 * error(cells[cells.columns[:2]], labels, truth),
            "other": 100 * np.mean(others) if others else np.nan,
        }


def main() -> None:
    """Print a row per sample as it comes, then the means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=os.environ.get("PMLB_CACHE"))
    parser.add_argument("--data", nargs="*", default=list(NAMES))
    parser.add_argument("--samples", type=int, nargs="*", default=[0, 1])
    parser.add_argument("--learner", choices=list(LEARNERS), default="blend")
    chosen = parser.parse_args()
    folder = None if chosen.folder is None else Path(chosen.folder)
    rows = []
    for name in chosen.data:
        for number in chosen.samples:
            for row in measure(name, number, folder, chosen.learner):
                rows.append(row)
                print("  ".join(_text(value) for value in row.values()), flush=True)
    table = pd.DataFrame(rows).drop(columns="sample")
    by_data = table.pivot_table(index="data", columns="known", sort=False)
    print(by_data.round(2).to_string())
    print(table.groupby("known", sort=False)[["accuracy", "crossed", "other"]].mean().round(2))


def _text(value):
    return f"{value:.2f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
