"""Records as tables: samples of data sets by methods, and their means and medians by data set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from c2rf.bench.data import NAMES
from c2rf.bench.methods import BENCH_METHODS
from c2rf.bench.protocol import PROTOCOLS, Protocol
from c2rf.bench.records import Record

METRICS = {"accuracy": "AC", "mcc": "(1+MCC)/2"}
"""What is scored, and how it is printed: both in percent."""

TUNED_ON = (0, 1)
"""Numbers of the samples that settings were chosen by; the others judge them."""


@dataclass(frozen=True, order=True)
class Runner:
    """A method with the solver it used, which is half of a run time; "" if it used none."""

    method: str
    backend: str = ""

    @property
    def short(self) -> str:
        """What to print where the solver does not matter."""
        return BENCH_METHODS[self.method].title if self.method in BENCH_METHODS else self.method

    @property
    def title(self) -> str:
        """What to print.

        Examples
        --------
        >>> Runner("p-c2rf", "highs").title, Runner("rf").title
        ('p-C²RF, HiGHS', 'RF')
        """
        names = {"highs": "HiGHS", "scip": "SCIP", "gurobi": "Gurobi"}
        return f"{self.short}, {names.get(self.backend, self.backend)}".removesuffix(", ")


class Results:
    """The records of one protocol.

    Where a file holds several variants of a protocol the paper's own is taken, else the one with
    most records; where it holds several time limits for the same run, the longest.

    Parameters
    ----------
    records : sequence of Record
        Of any protocol.
    name : str
        The protocol's name.
    variant : Protocol or None
        The variant to take, if it is to be another.

    Attributes
    ----------
    samples : dict of str to DataFrame
        For "accuracy" and "mcc" (in percent, as the paper's tables print them), "seconds" of what
        was solved, and "solved": a row per data set and sample, a column per :class:`Runner`, NaN
        where there is none.
    """

    def __init__(
        self, records: Sequence[Record], name: str, variant: Protocol | None = None
    ) -> None:
        of_name = [record for record in records if record.protocol.name == name]
        self.protocol = variant or _variant(of_name, name)
        best: dict[tuple[object, ...], Record] = {}
        for record in of_name:
            if record.protocol == self.protocol:
                same = (record.data, record.seed, record.method, record.backend)
                best[same] = max(record, best.get(same, record), key=_limit)
        self.records = list(best.values())
        found = {record.data for record in self.records}
        # The paper's data sets first, in its order; methods in the order of the paper
        self.data_sets = [name for name in NAMES if name in found] + sorted(found - set(NAMES))
        order = list(BENCH_METHODS)
        self.runners = sorted(
            {runner_of(record) for record in self.records},
            key=lambda run: (order.index(run.method), run.backend),
        )
        self.samples: dict[str, Any] = self._tables()

    def _tables(self) -> dict[str, Any]:
        rows = pd.DataFrame(
            [
                {
                    "data": r.data,
                    "sample": r.sample,
                    "seed": r.seed,
                    "runner": runner_of(r),
                    "accuracy": np.nan if r.accuracy is None else 100 * r.accuracy,
                    # What the paper's tables call MCC is 100 (1 + MCC) / 2.
                    "mcc": np.nan if r.mcc is None else 50 * (1 + r.mcc),
                    "seconds": r.seconds["total"] if r.solved else np.inf,
                    "solved": float(r.solved),
                }
                for r in self.records
            ],
            columns=["data", "sample", "seed", "runner", *METRICS, "seconds", "solved"],
        ).set_index(["data", "sample", "seed", "runner"])
        return {str(name): rows[name].unstack().reindex(columns=self.runners) for name in rows}

    def main_runner(self, method: str) -> Runner | None:
        """Return the method with the solver that has most records, None if it has none."""
        runners = map(runner_of, self.records)
        found = Counter(runner for runner in runners if runner.method == method)
        return found.most_common(1)[0][0] if found else None

    def summary(self, table: str, how: str) -> Any:
        """Return the "mean" or "median" by data set, NaN where too few samples have a value."""
        values = self.samples[table].groupby("data")
        enough = values.count().mul(2).gt(values.size(), axis=0)
        return values.agg(how).where(enough).reindex(self.data_sets)

    def median_seconds(self) -> Any:
        """Return median run times; NaN where not more than half of the samples were solved."""
        medians = self.samples["seconds"].fillna(np.inf).groupby("data").median()
        return medians.replace(np.inf, np.nan).reindex(self.data_sets)

    def ran(self, data: str, runner: Runner) -> bool:
        """Say whether there are records of a method on a data set."""
        return bool(self.samples["solved"].loc[data, runner].notna().any())

    def proven(self, data: str, runner: Runner) -> bool:
        """Say whether more than half of the samples were solved within the time limit."""
        return bool(self.samples["solved"].loc[data, runner].fillna(0).mean() > 0.5)

    def gains(self, runner: Runner, over: Runner, metric: str) -> Any:
        """Return how many points a method is ahead of another, on the samples that both have."""
        table = self.samples[metric].reindex(columns=[runner, over])
        return (table[runner] - table[over]).dropna()


def runner_of(record: Record) -> Runner:
    """Return the method of a record with its solver."""
    return Runner(record.method, record.backend or "")


def tuned_and_others(records: Sequence[Record]) -> Iterator[tuple[str, list[Record]]]:
    """Yield the records of samples that settings were chosen by, and those of the others."""
    tuned = [record for record in records if record.sample in TUNED_ON]
    others = [record for record in records if record.sample not in TUNED_ON]
    for name, own in (("samples 0 and 1", tuned), ("the other samples", others)):
        if own:
            yield name, own


def _variant(records: Sequence[Record], name: str) -> Protocol:
    variants = Counter(record.protocol for record in records)
    if not variants or PROTOCOLS.get(name) in variants:
        return PROTOCOLS[name]
    return variants.most_common(1)[0][0]


def _limit(record: Record) -> float:
    return np.inf if record.time_limit is None else record.time_limit
