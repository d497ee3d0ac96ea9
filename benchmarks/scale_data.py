"""Populations of any size as Parquet files, made a chunk at a time and kept in a scratch folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from c2rf.data.atomic import atomic_output
from c2rf.datasets import biased_sample, iter_chunks, make_twonorm, make_waveform

ROW_GROUP = 1 << 16
N_LABELED = 1000
POOL = 20_000


class Population(NamedTuple):
    """A population in a file, a labeled sample in another, and the known number of positives."""

    path: Path
    labeled: Path
    known: int


def make_population(scratch: Path, rows: int, features: int) -> Population:
    """Make the files unless they are there."""
    path = scratch / f"population-{rows}-{features}.parquet"
    labeled, fact = scratch / f"labeled-{features}.parquet", path.with_suffix(".json")
    if not labeled.exists():
        _write_labeled(labeled, features)
    if not fact.exists():
        known = _write_population(path, rows, features)
        fact.write_text(json.dumps({"known": known}), encoding="utf-8")
    return Population(path, labeled, json.loads(fact.read_text(encoding="utf-8"))["known"])


def _write_population(path: Path, rows: int, features: int) -> int:
    """Write the rows without their classes; return the number of positives."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    name, options = _generator(features)
    known, start, writer = 0, 0, None
    with atomic_output(path, force=True) as temporary:
        for X, y in iter_chunks(name, rows, chunk_size=ROW_GROUP, random_state=1, **options):
            frame = _frame(X, features).assign(id=range(start, start + len(y)))
            batch = pa.Table.from_pandas(frame, preserve_index=False)
            writer = writer or ParquetWriter(temporary, batch.schema)
            writer.write_table(batch)
            known, start = known + int(y.sum()), start + len(y)
        if writer is not None:
            writer.close()
    return known


def _write_labeled(path: Path, features: int) -> None:
    """Write a biased sample of other individuals."""
    name, options = _generator(features)
    make = make_twonorm if name == "twonorm" else make_waveform
    X, y = make(POOL, random_state=2, **options)
    chosen, _ = biased_sample(y, N_LABELED / POOL, positive_weight=0.7, random_state=0)
    frame = _frame(X[chosen], features).assign(id=-1, sick=y[chosen])
    with atomic_output(path, force=True) as temporary:
        frame.to_parquet(temporary, index=False)


def _generator(features: int) -> tuple[str, dict[str, Any]]:
    """Return data with so many features at least, and its options."""
    if features <= 20:
        return "twonorm", {}
    return "waveform", {"noise_features": features - 21, "binary": True}


def _frame(X: Any, features: int) -> pd.DataFrame:
    return pd.DataFrame(X[:, :features], columns=[f"x{k}" for k in range(features)])
