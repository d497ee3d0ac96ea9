"""Made-up records, to know what must come out of them."""

from __future__ import annotations

import numpy as np

from c2rf.bench import samples as published
from c2rf.bench.methods import BENCH_METHODS
from c2rf.bench.records import Record
from c2rf.bench.samples import PROTOCOLS, TrialSample, sample_seed


def record(data: str, sample: int, method: str, protocol: str = "biased", **changes) -> Record:
    """A made-up record: solved in a second, as accurate as the paper's RF."""
    solves = BENCH_METHODS[method].solves
    n_points, n_features, accuracy = 100, 2, 50.0
    if data in published.NAMES:
        _, n_points, n_features, _ = map(int, published.data_sets().loc[data])
        accuracy = published.quality(protocol, "accuracy").loc[data, "rf"]
    filled = {
        "protocol": PROTOCOLS[protocol],
        "data": data,
        "sample": sample,
        "seed": sample_seed(0, protocol, data, sample),
        "method": method,
        "backend": "highs" if BENCH_METHODS[method].backend else None,
        "time_limit": 60.0 if solves else None,
        "n_points": n_points,
        "n_features": n_features,
        "n_rescaled": 0,
        "n_labeled": 50,
        "n_labeled_positive": 30,
        "n_unlabeled": 950,
        "n_positive": 400,
        "patterns": 20,
        "trees_merged": 0,
        "fixed": 2,
        "status": "optimal" if solves else "computed",
        "eta": 3,
        "bound": 3 if solves else None,
        "accuracy": accuracy / 100,
        "mcc": 0.2,
        "nodes": 1,
        "priorities": None,
        "message": "",
        "seconds": {"trees": 0.5, "solve": 0.5, "total": 1.0, "phases": {}},
        "versions": {"c2rf": "0", "highs": "1.15"},
        "machine": {"system": "Linux", "processor": "any", "cores": 2},
    }
    return Record(**{**filled, **changes})


def toy(votes: list[list[int]], n_positive: int) -> TrialSample:
    cast = np.array(votes, dtype=np.int8)
    nothing = np.empty((0, 1))
    return TrialSample(nothing, np.empty(0, np.int8), np.zeros((len(cast), 1)), cast, n_positive, 0)
