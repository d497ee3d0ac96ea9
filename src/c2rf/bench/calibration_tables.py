"""The tables of the page on quality that say how true probabilities are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from c2rf.bench.calibration import MEASURES, N_BINS
from c2rf.bench.quality import Quality
from c2rf.bench.records import Record
from c2rf.bench.results import Runner, tuned_and_others
from c2rf.bench.tables import UNSOLVED, Cell, Table, TableColumn

NOTE = (
    "All times 100, means over samples; the lower the better, the best in bold. Calibration "
    f"error: rows are put in {N_BINS} bins of equal width by the confidence, which is the "
    "probability of the label they got; in each bin the distance of the mean confidence to the "
    "share of right labels counts, times the share of rows in it. By class: the same among the "
    "rows that got one label, and the plain mean over the two labels, so that a rare class counts "
    "as much as a frequent one. Brier score: the mean square of the distance of the probability "
    "to be positive to the truth, 1 or 0. Log loss: the mean of minus the natural logarithm of "
    "the true class' probability. Extra trees' log-odds are shifted by a constant so that their "
    "probabilities, 0.001 at least, add up to the total; those of known totals add up by "
    "themselves. Of these data, settings were chosen by samples 0 and 1 only."
)


def calibration_tables(quality: Quality) -> Iterator[Table]:
    """Make a table of the samples that settings were chosen by, and one of the others."""
    found = [record for record in quality.results.records if record.calibration is not None]
    for name, records in tuned_and_others(found):
        runners = [r for r in quality.runners if any(r.method == own.method for own in records)]
        columns = [TableColumn("data set", text=True)]
        columns += [TableColumn(f"{m}: {r.short}") for m in MEASURES.values() for r in runners]
        cells = {data: _measured(data, runners, records) for data in quality.results.data_sets}
        rows = [_row(data, measured) for data, measured in cells.items()]
        rows.append(_row("mean", np.mean(list(cells.values()), axis=0)))
        yield Table(f"How true probabilities are, {name}", columns, rows, NOTE)


def _measured(data: str, runners: Sequence[Runner], records: Sequence[Record]) -> np.ndarray:
    """Return the mean of each measure for each method, NaN where there is no record."""
    found = np.full((len(MEASURES), len(runners)), np.nan)
    for column, runner in enumerate(runners):
        own = [
            [record.calibration[measure] for measure in MEASURES]
            for record in records
            if (record.data, record.method) == (data, runner.method) and record.calibration
        ]
        if own:
            found[:, column] = np.mean(own, axis=0)
    return found


def _row(name: str, measured: np.ndarray) -> list[Cell]:
    row = [Cell(name)]
    for of_measure in measured:
        texts = [UNSOLVED if np.isnan(value) else f"{100 * value:.1f}" for value in of_measure]
        least = f"{100 * np.nanmin(of_measure):.1f}" if not np.isnan(of_measure).all() else None
        row += [Cell(text, best=text == least) for text in texts]
    return row
