"""The rows of a large population that a report shows: a random sample, and the nearest ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from c2rf.cli.judge import Judgement
from c2rf.cli.question import Question
from c2rf.report.facts import NEAREST
from c2rf.tables import as_text

MOST_SHOWN = 100_000
"""Of so many rows a report knows score and confidence; of more, so many drawn at random."""


class ShownRows:
    """Keeps a sample of rows that come part by part, and those nearest to the cut-off.

    Parameters
    ----------
    question : Question
        What is asked about the rows.
    seed : int
        Who is in the sample depends on it, and not on how the rows come.
    """

    def __init__(self, question: Question, seed: int) -> None:
        self.question, self._rng = question, np.random.default_rng([seed, 5])
        self.counts = np.zeros((len(question.groups.names), len(question.classes)), dtype=np.int64)
        self._limit = 1.0
        self._sample, self._nearest = pd.DataFrame(), pd.DataFrame()

    def add(self, said: Judgement, table: pd.DataFrame, start: int) -> None:
        """Take some rows as they are written, the first of which has the number ``start``."""
        numbers = np.arange(start, start + len(table))
        groups = np.asarray(self.question.groups.codes[start : start + len(table)])
        codes = np.searchsorted(np.array(self.question.classes, dtype=object), said.labels)
        np.add.at(self.counts, (groups, codes), 1)
        keys, margins = self._rng.random(len(table)), np.abs(said.scores)

        def rows(places: Any) -> pd.DataFrame:
            return pd.DataFrame(
                {
                    "number": numbers[places],
                    "key": keys[places],
                    "margin": margins[places],
                    "label": said.labels[places],
                    "score": said.scores[places],
                    "confidence": said.confidence[places],
                    "group": groups[places],
                    "name": self._names(table.iloc[places], numbers[places]),
                }
            )

        near = np.argsort(margins, kind="stable")[:NEAREST]
        self._nearest = _least([self._nearest, rows(near)], ["margin", "number"], NEAREST)
        self._sample = pd.concat([self._sample, rows(np.flatnonzero(keys < self._limit))])
        if len(self._sample) > 2 * MOST_SHOWN:
            self._prune()

    def rows(self) -> pd.DataFrame:
        """Return the rows to show, in the order of the population."""
        self._prune()
        both = pd.concat([self._sample, self._nearest]).drop_duplicates("number")
        return both.sort_values("number", ignore_index=True)

    @property
    def remarks(self) -> list[str]:
        """Say what is not known of all rows."""
        n_rows = len(self.question.population)
        said = []
        if n_rows > MOST_SHOWN:
            said.append(
                f"This population was read in parts. Scores and confidences are told of "
                f"{MOST_SHOWN:,} rows drawn at random; totals and the rows nearest to the cut-off "
                f"are those of all {n_rows:,}."
            )
        if self.question.identifier is not None:
            said.append(
                f"Whether the ids in {self.question.identifier!r} are unique was not looked at, "
                "because the population was read in parts."
            )
        return said

    def _prune(self) -> None:
        if len(self._sample) > MOST_SHOWN:
            self._sample = _least([self._sample], ["key"], MOST_SHOWN)
            self._limit = float(self._sample["key"].max())

    def _names(self, table: pd.DataFrame, numbers: Any) -> list[str]:
        """Return what to call rows: by their ids, else by their numbers, from 1."""
        if self.question.identifier is None:
            return [str(number + 1) for number in numbers]
        return as_text(table[self.question.identifier]).fillna("").tolist()


def _least(tables: list[pd.DataFrame], by: list[str], most: int) -> pd.DataFrame:
    return pd.concat(tables).sort_values(by, kind="stable").head(most)
