"""What imputations and the report's sections cost: ``python -m benchmarks.imputations``.

Both are told as multiples of the time of one labeling in the same run, in processor time.
"""

from __future__ import annotations

import argparse
from contextlib import contextmanager
from time import process_time

import pandas as pd

import c2rf
from c2rf.datasets import biased_sample, make_twonorm
from c2rf.report.answer import accuracy_section
from c2rf.report.method import assumptions_section
from c2rf.report.sample import balance_section, importance_section

N_IMPUTATIONS = 20


@contextmanager
def timed(seconds: dict[str, float], step: str):
    """Add the processor time of a step."""
    start = process_time()
    yield
    seconds[step] = seconds.get(step, 0.0) + process_time() - start


def people(n_rows: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame, int]:
    """Return a labeled table, a table to label, and the total of the second."""
    X, y = make_twonorm(n_rows + n_rows // 99, random_state=seed)
    labeled, rest = biased_sample(y, 0.01, positive_weight=0.85, random_state=seed)
    table = pd.DataFrame(X).add_prefix("x").assign(sick=y)
    return table.loc[labeled], table.loc[rest].drop(columns="sick"), int(y[rest].sum())


def measure(n_rows: int, seed: int) -> dict[str, float]:
    """Return the processor time of a labeling, of imputations and of the report's sections."""
    labeled, rows, total = people(n_rows, seed)
    seconds: dict[str, float] = {}
    with timed(seconds, "labeling"):
        result = c2rf.classify(labeled, rows, target="sick", totals={1: total}, n_jobs=1)
    with timed(seconds, "sections"):
        for section in (assumptions_section, balance_section, accuracy_section):
            list(section(result))
    with timed(seconds, "importance"):
        list(importance_section(result))
    with timed(seconds, "imputations"):
        result.classifier.impute(N_IMPUTATIONS)
    with timed(seconds, "accuracy"):
        result.classifier.expected_accuracy(N_IMPUTATIONS)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", nargs="*", type=int, default=[5000, 50_000])
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    measure(1000, 0)  # compiles and imports
    print(f"multiples of one labeling; {N_IMPUTATIONS} imputations; medians of {given.repeat} runs")
    for n_rows in given.rows:
        runs = pd.DataFrame([measure(n_rows, seed) for seed in range(given.repeat)])
        ratios = runs.div(runs["labeling"], axis="index").median()
        print(f"{n_rows:>9,} rows  labeling {runs['labeling'].median():.2f} s", end="")
        for step in ("imputations", "accuracy", "sections", "importance"):
            print(f"  {step} {ratios[step]:.2f}", end="")
        print(flush=True)


if __name__ == "__main__":
    main()
