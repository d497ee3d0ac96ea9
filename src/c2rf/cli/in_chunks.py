"""``c2rf classify --engine chunks``: a population larger than memory, labeled part by part.

Its files are read once to count and once to label, and the labels are written on the way. What is
kept of all rows is a small number for each, at most: of the method known-totals that of its class,
of totals of groups that of its group. The labels are those that all rows in memory get.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from c2rf.cli.columns import Look
from c2rf.cli.features import Features, encode, make_encoder
from c2rf.cli.judge import (
    Judgement,
    Shifts,
    group_offsets,
    judge_logs,
    judge_votes,
    matching_priors,
    rows_to_show,
)
from c2rf.cli.labeling import Job, Outputs, learn, store
from c2rf.cli.methods import Choices
from c2rf.cli.population import Encoded, Population, Progress
from c2rf.cli.question import Question, known_bounds, read_sample
from c2rf.cli.shown import ShownRows
from c2rf.cli.totals import Totals
from c2rf.estimators import C2RFClassifier
from c2rf.estimators.checked import CHANGED
from c2rf.estimators.streamed import LabeledChunk
from c2rf.estimators.streamed_totals import logarithms
from c2rf.exceptions import InputError
from c2rf.tables import TableWriter
from c2rf.transport import log_scores


class InChunks:
    """Leaves the unlabeled in their files, and reads these a part at a time."""

    def __init__(self, quiet: bool) -> None:
        self.progress = RowsDone(quiet)

    def ask(
        self, labeled: Path, unlabeled: Path, target: str, totals: Totals, **wishes: Any
    ) -> Question:
        """Read the labeled, and look at the others as far as needed."""
        self.population = Population(unlabeled)
        question = ask(labeled, self.population, target, totals, **wishes, progress=self.progress)
        self.progress.n_rows = len(question.population)
        return question

    def checked(self, question: Question) -> Question:
        """Read all cells, as an answer would."""
        encoded: Any = question.features.unlabeled
        for _ in encoded():
            pass
        return with_empty_cells(question)

    def answer(
        self, question: Question, job: Job, choices: Choices, jobs: int | None, outputs: Outputs,
        force: bool,
    ) -> Answer:  # fmt: skip
        """Learn, label, and write the labels as they come."""
        classifier = learn(question, job, choices, jobs)
        answer = Answer(question, self.population, job, classifier)
        answer.write(outputs, force=force, progress=self.progress)
        return answer


def ask(
    labeled: Path,
    population: Population,
    target: str,
    totals: Totals,
    *,
    drop: Sequence[str] = (),
    text: Sequence[str] = (),
    identifier: str | None = None,
    group: str | None = None,
    policy: Literal["strict", "scale"] = "strict",
    progress: Progress,
) -> Question:
    """Read the labeled, look at the others, and check everything before any work is done."""
    header = population.header
    sample = read_sample(
        labeled, header, target, drop=drop, text=text, identifier=identifier, group=group
    )
    rows_to_show(header, identifier)
    known, classes = sample.table, sample.classes
    looks = [Look(known[name], name in text) for name in sample.names]
    found = population.survey(looks, group, progress)
    if not found.n_rows:
        raise InputError(f"{population.path} has columns but no rows")
    columns = [look.column() for look in looks]
    encoder = make_encoder(known, columns)
    bounds, remarks = known_bounds(totals, classes, found.groups, policy)
    encoded: Any = Encoded(population, encoder, columns, progress)
    return Question(
        target=target,
        sample=sample.labels,
        classes=classes,
        population=pd.DataFrame(index=range(found.n_rows)),
        features=Features(encode(encoder, known), encoded, columns, encoder),
        totals=totals,
        bounds=bounds,
        groups=found.groups,
        identifier=identifier,
        remarks=remarks,
    )


def with_empty_cells(question: Question) -> Question:
    """Return the question with the empty cells that were counted while it was answered."""
    features: Any = question.features
    counted = features.unlabeled.missing
    columns = [
        replace(column, missing=(column.missing[0], counted.get(column.name, column.missing[1])))
        for column in features.columns
    ]
    return replace(question, features=replace(features, columns=columns))


class Answer:
    """A classifier that knows the labels of a population in files, to be read out once."""

    def __init__(
        self, question: Question, population: Population, job: Job, classifier: Any
    ) -> None:
        self.question, self.population = question, population
        self.job, self.classifier = job, classifier
        self._shown = ShownRows(question, job.seed)

    @property
    def counts(self) -> dict[str, int]:
        """How many got each label."""
        found = self._shown.counts.sum(axis=0).tolist()
        return dict(zip(self.question.classes, found, strict=True))

    def write(self, outputs: Outputs, *, force: bool, progress: Progress) -> None:
        """Write all files; the labels as they come."""
        start = time.perf_counter()
        with outputs.places(force=force) as places:
            with _writing(places.labels) as write:
                for table in self._judged(progress):
                    write(table)
            self.question = with_empty_cells(self.question)
            self.job.seconds["writing"] = time.perf_counter() - start
            if places.report is not None:
                self._report(places.report)
            if places.model is not None:
                store(self.question, self.classifier, places.model)

    def _report(self, path: Path) -> None:
        from c2rf.cli.facts import make_sampled_facts
        from c2rf.report import make_page

        facts = make_sampled_facts(self.question, self.job, self.classifier, self._shown)
        path.write_text(make_page(facts), encoding="utf-8")

    def _judged(self, progress: Progress) -> Iterator[pd.DataFrame]:
        """Yield the rows of the output, a part at a time."""
        header = rows_to_show(self.population.header, self.question.identifier)
        shown = [str(name) for name in header]
        judge, start = _Judge(self.question, self.classifier), 0
        with closing(_Rows(self.population.parts(shown))) as rows:
            for chunk in self.classifier.label_chunks():
                end = start + len(chunk.labels)
                judgement = judge(chunk, slice(start, end))
                table = rows.take(end - start)
                self._shown.add(judgement, table, start)
                yield judgement.beside(table)
                progress("labeling", end)
                start = end


@contextmanager
def _writing(path: Path | None) -> Iterator[Any]:
    """Yield what is to be done with each part of the output."""
    if path is None:
        yield lambda table: None
    else:
        with TableWriter(path) as writer:
            yield writer.write


class _Rows:
    """Rows in parts of any size, taken as many at a time as are wanted."""

    def __init__(self, parts: Generator[pd.DataFrame]) -> None:
        self._parts, self._left = parts, pd.DataFrame()

    def take(self, n: int) -> pd.DataFrame:
        """Return the next rows."""
        while len(self._left) < n:
            part = next(self._parts, None)
            if part is None:
                raise InputError(f"rows are missing that were there before: {CHANGED}")
            self._left = pd.concat([self._left, part]) if len(self._left) else part
        taken, self._left = self._left.iloc[:n], self._left.iloc[n:]
        return taken

    def close(self) -> None:
        """Close the files."""
        self._parts.close()


class _Judge:
    """Judges the rows of a population in their order, given their labels and scores."""

    def __init__(self, question: Question, classifier: Any) -> None:
        self.question, self.classifier = question, classifier
        self.shifts: Shifts | None = None
        if not isinstance(classifier, C2RFClassifier):
            self.shifts = self._find_shifts()

    def __call__(self, chunk: LabeledChunk, rows: slice) -> Judgement:
        if self.shifts is None:
            judgement = judge_votes(self.classifier, chunk.scores)
            return replace(judgement, labels=chunk.labels.astype(object))
        codes = np.searchsorted(self.classifier.classes_, chunk.labels)
        members = self.question.groups.codes[rows]
        logs = log_scores(chunk.scores, self.classifier._floor)
        positive = self.question.positive
        return judge_logs(self.classifier, logs, codes, members, self.shifts, positive)

    def _find_shifts(self) -> Shifts:
        groups, stream = self.question.groups, self.classifier._stream
        names = None if groups.column is None else groups.names
        logs = logarithms(stream.scores, self.classifier._floor)
        priors = matching_priors(logs, stream.codes, groups.codes, len(groups.names))
        return Shifts(group_offsets(self.classifier, names), priors)


class RowsDone:
    """Says on standard error how many rows are done, in about ten lines for each step."""

    def __init__(self, quiet: bool) -> None:
        self.quiet, self.n_rows = quiet, 0
        self._step, self._said = "", 0

    def __call__(self, step: str, done: int) -> None:
        """Say it, where it is worth a line."""
        if step != self._step and self._step == "labeling":
            return  # it reads as well
        if step != self._step or done < self._said:
            self._step, self._said = step, 0
        line_after = max(self.n_rows // 10, 1_000_000)
        if self.quiet or (done < self.n_rows and done < self._said + line_after):
            return
        of_all = f" of {self.n_rows:,}" if self.n_rows else ""
        print(f"{step}: {done:,}{of_all} rows", file=sys.stderr, flush=True)
        self._said = done
