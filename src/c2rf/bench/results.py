"""Records as the paper looks at them: by data set, medians over samples, "---" where unsolved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from c2rf.bench.data import NAMES
from c2rf.bench.methods import BENCH_METHODS
from c2rf.bench.protocol import PROTOCOLS, Protocol
from c2rf.bench.records import Record

Cell = list[Record]
"""The records of one method on all samples of one data set."""

TUNED_ON = (0, 1)
"""Numbers of the samples that settings were chosen by; the others judge them."""


@dataclass(frozen=True, order=True)
class Runner:
    """A method with the solver it used; a solver is half of a run time."""

    method: str
    backend: str | None = None

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
        if self.backend is None:
            return self.short
        names = {"highs": "HiGHS", "scip": "SCIP", "gurobi": "Gurobi"}
        return f"{self.short}, {names.get(self.backend, self.backend)}"


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

    @property
    def data_sets(self) -> list[str]:
        """Names of the data sets, the paper's first and in its order."""
        found = {record.data for record in self.records}
        return [name for name in NAMES if name in found] + sorted(found - set(NAMES))

    @property
    def runners(self) -> list[Runner]:
        """The methods with their solvers, in the order of the paper."""
        order = list(BENCH_METHODS)
        found = {Runner(record.method, record.backend) for record in self.records}
        return sorted(found, key=lambda run: (order.index(run.method), run.backend or ""))

    def main_runner(self, method: str) -> Runner | None:
        """Return the method with the solver that has most records, None if it has none."""
        backends = Counter(record.backend for record in self.records if record.method == method)
        return Runner(method, backends.most_common(1)[0][0]) if backends else None

    def cell(self, data: str, runner: Runner | None) -> Cell:
        """Return the records of a method on a data set."""
        if runner is None:
            return []
        wanted = (data, runner.method, runner.backend)
        return [r for r in self.records if (r.data, r.method, r.backend) == wanted]

    def n_samples(self, data: str) -> int:
        """Return the number of samples of a data set that any method has run on."""
        return len({record.seed for record in self.records if record.data == data})

    # What the tables print

    def median_seconds(self, data: str, runner: Runner) -> float | None:
        """Return the median run time; None where not more than half of the samples were solved."""
        times = [r.seconds["total"] for r in self.cell(data, runner) if r.solved]
        unsolved = [np.inf] * (self.n_samples(data) - len(times))
        middle = float(np.median([*times, *unsolved]))
        return middle if np.isfinite(middle) else None

    def scores(self, data: str, runner: Runner | None, metric: str) -> dict[int, float]:
        """Return by seed "accuracy" (in percent) or "mcc" (as the paper prints it)."""
        found = {record.seed: score(record, metric) for record in self.cell(data, runner)}
        return {seed: value for seed, value in found.items() if value is not None}

    def median(self, data: str, runner: Runner | None, metric: str) -> float | None:
        """Return the median of "accuracy" or "mcc"."""
        return self._if_enough(np.median, data, runner, metric)

    def mean(self, data: str, runner: Runner | None, metric: str) -> float | None:
        """Return the mean of "accuracy" or "mcc"."""
        return self._if_enough(np.mean, data, runner, metric)

    def proven(self, data: str, runner: Runner | None) -> bool:
        """Whether more than half of the samples were solved within the time limit."""
        return self._enough(data, sum(record.solved for record in self.cell(data, runner)))

    def differences(self, runner: Runner | None, metric: str) -> dict[str, NDArray[np.float64]]:
        """Return by data set how much better than RF a method is on each sample.

        "accuracy" in [-1, 1], "mcc" in [-2, 2].
        """
        found = {}
        for data in self.data_sets:
            rf = {record.seed: getattr(record, metric) for record in self.cell(data, Runner("rf"))}
            pairs = [(getattr(r, metric), rf.get(r.seed)) for r in self.cell(data, runner)]
            gains = [ours - base for ours, base in pairs if ours is not None and base is not None]
            if gains:
                found[data] = np.array(gains)
        return found

    def _if_enough(
        self, middle: Callable[[Any], Any], data: str, runner: Runner | None, metric: str
    ) -> float | None:
        values = list(self.scores(data, runner, metric).values())
        return float(middle(values)) if self._enough(data, len(values)) else None

    def _enough(self, data: str, n_solved: int) -> bool:
        """Whether these are more than half of the samples: 3 of 5."""
        return 2 * n_solved > self.n_samples(data)


def tuned_and_others(records: Sequence[Record]) -> Iterator[tuple[str, list[Record]]]:
    """Yield the records of samples that settings were chosen by, and those of the others."""
    tuned = [record for record in records if record.sample in TUNED_ON]
    others = [record for record in records if record.sample not in TUNED_ON]
    for name, own in (("samples 0 and 1", tuned), ("the other samples", others)):
        if own:
            yield name, own


def score(record: Record, metric: str) -> float | None:
    """Return accuracy in percent, or 100 (1 + MCC) / 2, which is what the paper's tables print."""
    value: float | None = getattr(record, metric)
    if value is None:
        return None
    return 100 * value if metric == "accuracy" else 50 * (1 + value)


def _variant(records: Sequence[Record], name: str) -> Protocol:
    variants = Counter(record.protocol for record in records)
    if not variants or PROTOCOLS.get(name) in variants:
        return PROTOCOLS[name]
    return variants.most_common(1)[0][0]


def _limit(record: Record) -> float:
    return np.inf if record.time_limit is None else record.time_limit
