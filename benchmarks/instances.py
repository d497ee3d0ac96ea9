"""Votes to measure on: forests on the generators' data, or on the paper's data sets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from c2rf.bench.samples import PROTOCOLS, Protocol, load, sample_seed
from c2rf.bench.samples import draw as draw_sample
from c2rf.forest.problem import scores
from c2rf.forest.votes import PatternTable

GENERATED = ("made-twonorm-7400", "made-ringnorm-7400", "made-waveform-5000")
"""What is measured on where no folder of data sets is given."""

_ROWS_AT_ONCE = 50_000


@dataclass(frozen=True)
class Regime:
    """A protocol of samples and trees, the paper's by default, and a box of weights."""

    protocol: Protocol = PROTOCOLS["biased"]
    lower: float = 1.0
    upper: float = 100.0


def draw(data: str, regime: Regime, sample: int, folder: Path | None) -> tuple[PatternTable, int]:
    """Return the patterns of a forest on one sample of a data set, and the known total."""
    seed = sample_seed(0, regime.protocol.name, data, sample)
    drawn, _ = draw_sample(load(data, folder), regime.protocol, seed)
    return PatternTable.from_votes(drawn.votes), drawn.n_positive


def random_table(
    n_patterns: int, n_trees: int, seed: int, agreement: float = 0.7
) -> tuple[PatternTable, int]:
    """Return distinct random patterns whose trees mostly agree, and a total some weights attain.

    A point has a leaning; each tree follows it with its own probability around ``agreement``. The
    total is the count of randomly drawn odd integer weights, so it can be attained.
    """
    rng = np.random.default_rng(seed)
    follow = rng.uniform(agreement - 0.15, agreement + 0.15, n_trees).astype(np.float32)
    table: PatternTable | None = None
    while table is None or table.n_patterns < n_patterns:
        rows = min(n_patterns, _ROWS_AT_ONCE)
        lean = rng.choice(np.array([-1, 1], dtype=np.int8), (rows, 1))
        votes = np.where(rng.random((rows, n_trees), dtype=np.float32) < follow, lean, -lean)
        part = PatternTable.from_votes(votes)
        table = part if table is None else table.merge(part)
    keep = np.sort(rng.permutation(table.n_patterns)[:n_patterns])
    table = PatternTable(table.words[keep], np.ones(n_patterns, dtype=np.int64), n_trees)
    weights = rng.integers(1, 100, n_trees)
    weights[0] += 1 - weights.sum() % 2
    return table, int(table.counts[scores(table.patterns, weights.astype(float)) > 0].sum())
