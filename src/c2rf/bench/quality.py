"""How well methods label: means, ranks, gains over one another, and what other settings cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import friedmanchisquare, rankdata, studentized_range

from c2rf.bench.methods import BENCH_METHODS
from c2rf.bench.protocol import Protocol
from c2rf.bench.records import Record
from c2rf.bench.results import Results, Runner

METRICS = {"accuracy": "AC", "mcc": "(1+MCC)/2"}
"""What is scored, and how it is printed: both in percent."""

COMPARED = tuple(name for name in BENCH_METHODS if name not in ("c2rf", "only-pp", "only-br"))
"""Methods that are compared; the others solve what p-c2rf solves."""

TIE = 0.5
"""Points within which two methods count as equally good on a data set."""

SIGNIFICANCE = 0.05
"""Of the test that tells average ranks apart."""

SETTINGS = ("fraction", "positive_weight", "total_error", "few_labels")
"""What is changed, one at a time, to see what it costs."""


class Quality:
    """The scores of all compared methods in one setting.

    Parameters
    ----------
    results : Results
        The records. Of a method that ran with several solvers the one with most records is taken.
    """

    def __init__(self, results: Results) -> None:
        self.results = results
        found = (results.main_runner(method) for method in COMPARED)
        self.runners = [runner for runner in found if runner is not None]

    def runner(self, method: str) -> Runner | None:
        """Return a method with its solver, None if it has no records."""
        return next((runner for runner in self.runners if runner.method == method), None)

    def by_data_set(self, runner: Runner, metric: str) -> dict[str, float | None]:
        """Return the mean over the samples of each data set, None where too few have a score."""
        return {data: self.results.mean(data, runner, metric) for data in self.results.data_sets}

    def mean(self, runner: Runner, metric: str) -> float | None:
        """Return the mean over all data sets, None if one is missing."""
        return _mean(list(self.by_data_set(runner, metric).values()))

    def gains(self, runner: Runner, rival: Runner, data: str) -> NDArray[np.float64]:
        """Return how many points of accuracy a method is ahead of another, sample by sample."""
        ours, theirs = (self.results.scores(data, who, "accuracy") for who in (runner, rival))
        return np.array([value - theirs[seed] for seed, value in ours.items() if seed in theirs])

    def smallest_gain(self, runner: Runner, rival: Runner) -> tuple[str, float] | None:
        """Return the data set on which a method is least ahead of another, and by how much.

        None if a data set is missing on either side.
        """
        gains = {data: self.gains(runner, rival, data) for data in self.results.data_sets}
        if not gains or any(len(gain) == 0 for gain in gains.values()):
            return None
        means = {data: float(gain.mean()) for data, gain in gains.items()}
        worst = min(means, key=lambda data: means[data])
        return worst, means[worst]

    def mean_of_sample(self, runner: Runner, metric: str, number: int) -> float | None:
        """Return the mean over all data sets of the sample of that number."""
        values = []
        for data in self.results.data_sets:
            seeds = {r.seed for r in self.results.cell(data, runner) if r.sample == number}
            scores = self.results.scores(data, runner, metric)
            values.append(next((scores[seed] for seed in seeds if seed in scores), None))
        return _mean(values)

    def ranks(self, metric: str) -> Ranks | None:
        """Rank the methods that have a score on every data set.

        None where there is nothing to rank: fewer than three methods or two data sets.
        """
        scored = {runner: self.by_data_set(runner, metric) for runner in self.runners}
        whole = {r: list(of.values()) for r, of in scored.items() if None not in of.values()}
        if len(whole) < 3 or len(self.results.data_sets) < 2:
            return None
        return Ranks(list(whole), np.array(list(whole.values()), dtype=float).T)


class Ranks:
    """Average ranks over data sets, 1 for the best, and which of them can be told apart.

    Parameters
    ----------
    runners : sequence of Runner
        At least three methods.
    scores : ndarray of shape (n_data_sets, n_methods)
        The greater the better; equal scores share their ranks.

    Examples
    --------
    >>> scores = np.array([[90.0, 80.0, 70.0], [85.0, 80.0, 80.0], [99.0, 98.0, 60.0]])
    >>> ranks = Ranks([Runner("auto"), Runner("rf"), Runner("top-lambda")], scores)
    >>> ranks.average.round(2).tolist(), round(ranks.critical_difference, 3)
    ([1.0, 2.17, 2.83], 1.914)
    """

    def __init__(self, runners: Sequence[Runner], scores: NDArray[np.float64]) -> None:
        n_blocks, k = scores.shape
        self.runners = runners
        self.n_data_sets = n_blocks
        self.average: NDArray[np.float64] = rankdata(-scores, axis=1).mean(axis=0)
        same = (scores == scores[:, :1]).all()
        self.p_value = 1.0 if same else float(friedmanchisquare(*scores.T).pvalue)
        # Nemenyi: q sqrt(k (k + 1) / 6 n), q from the studentized range over sqrt(2)
        q = studentized_range.ppf(1 - SIGNIFICANCE, k, np.inf) / np.sqrt(2)
        self.critical_difference = float(q * np.sqrt(k * (k + 1) / (6 * n_blocks)))

    def cliques(self) -> list[tuple[float, float]]:
        """Return the longest stretches of average ranks that cannot be told apart."""
        ranks = np.sort(self.average)
        ends = [float(ranks[ranks <= rank + self.critical_difference][-1]) for rank in ranks]
        found: list[tuple[float, float]] = []
        for start, end in zip(ranks.tolist(), ends, strict=True):
            if end > start and (not found or end > found[-1][1]):
                found.append((start, end))
        return found


@dataclass(frozen=True, eq=False)
class Setting:
    """A setting that differs from the usual one in one thing, and its records."""

    name: str
    value: float
    results: Results

    @property
    def title(self) -> str:
        """What to print.

        Examples
        --------
        >>> Setting("total_error", -0.2, Results([], "biased")).title
        'λ off by -20 %'
        """
        if self.name == "total_error":
            return f"λ off by {100 * self.value:+g} %"
        if self.name == "few_labels":
            return f"{self.value:g} labeled in a class"
        if self.name == "fraction":
            return f"{100 * self.value:g} % labeled"
        return f"weight {self.value:g}"

    def cost(self, usual: Quality, runner: Runner, metric: str) -> tuple[float, float] | None:
        """Return the mean here, and how far it is from the usual one on the same samples.

        None if a data set of this setting is missing on either side.
        """
        found = []
        for data in self.results.data_sets:
            here, there = (r.scores(data, runner, metric) for r in (self.results, usual.results))
            both = [(here[seed], here[seed] - there[seed]) for seed in here if seed in there]
            if not both:
                return None
            found.append(np.mean(both, axis=0))
        mean, change = np.mean(found, axis=0)
        return float(mean), float(change)


def changed_settings(records: Sequence[Record], usual: Protocol) -> list[Setting]:
    """Return the settings in which one thing is not as usual, in order."""
    variants = {r.protocol for r in records if r.protocol.name == usual.name}
    found = [
        Setting(name, getattr(variant, name), Results(records, usual.name, variant))
        for variant in variants
        for name in _one_change(variant, usual)
    ]
    return sorted(found, key=lambda setting: (SETTINGS.index(setting.name), setting.value))


def _one_change(variant: Protocol, usual: Protocol) -> Iterator[str]:
    """Yield the one thing that differs, nothing if it is another or there are more."""
    ours = asdict(usual)
    changed = [name for name, value in asdict(variant).items() if value != ours[name]]
    if len(changed) == 1 and changed[0] in SETTINGS:
        yield changed[0]


def _mean(values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return float(np.mean(there)) if there and len(there) == len(values) else None
