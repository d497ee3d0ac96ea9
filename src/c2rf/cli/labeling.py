"""The work of ``c2rf classify``: a question answered, told and written down."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from c2rf.cli import screen
from c2rf.cli.columns import Column
from c2rf.cli.judge import Judgement, judge_unlabeled, rows_to_show
from c2rf.cli.methods import METHODS, Choices
from c2rf.cli.question import Question
from c2rf.exceptions import InputError
from c2rf.files import atomic_outputs, check_output
from c2rf.model_file import StoredModel, need_skops
from c2rf.tables import check_writable, write_table
from c2rf.words import count, short, span

_HOW = {
    "numbers": "a number",
    "one-hot": "text, a column of 0 and 1 for each value",
    "ordinal": "text, the place of the value in alphabetical order",
}


@dataclass(frozen=True)
class Job:
    """What was asked for, and how long its steps took."""

    labeled: Path
    unlabeled: Path
    method: str
    seed: int
    command: str
    seconds: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Answer:
    """A question, the classifier that answered it, and what it says of the unlabeled."""

    question: Question
    job: Job
    classifier: Any
    judgement: Judgement

    @property
    def counts(self) -> dict[str, int]:
        """How many got each label."""
        labels = self.judgement.labels
        return {name: int((labels == name).sum()) for name in self.question.classes}


def label(question: Question, job: Job, choices: Choices, jobs: int | None) -> Answer:
    """Learn from the labeled and label the others; Ctrl-C ends it without an answer."""
    classifier = learn(question, job, choices, jobs)
    judgement = judge_unlabeled(
        classifier, question.features.unlabeled, question.positive, question.groups.of_rows
    )
    return Answer(question, job, classifier, judgement)


def learn(question: Question, job: Job, choices: Choices, jobs: int | None) -> Any:
    """Return a classifier that knows the labels of the unlabeled."""
    start = time.perf_counter()
    classifier = METHODS[job.method].fit(question, choices.given(), job.seed, jobs)
    solution = getattr(classifier, "solution_", None)
    if solution is not None and solution.stats.get("interrupted"):
        raise KeyboardInterrupt
    job.seconds["learning and labeling"] = time.perf_counter() - start
    return classifier


@dataclass(frozen=True)
class Outputs:
    """The files that are wished for; they appear together or not at all."""

    labels: Path | None
    report: Path | None
    model: Path | None

    @property
    def paths(self) -> list[Path]:
        """All of them."""
        return [path for path in self._each if path is not None]

    @property
    def _each(self) -> tuple[Path | None, ...]:
        return self.labels, self.report, self.model

    def check(self, *, force: bool, inputs: Sequence[Path]) -> None:
        """Refuse what cannot be written before any work is done."""
        if not self.paths:
            raise InputError("say where the labels should go with --out; or --report, --save-model")
        for path in self.paths:
            check_output(path, force=force, inputs=inputs)
        if len({path.resolve() for path in self.paths}) < len(self.paths):
            raise InputError("--out, --report and --save-model must be different files")
        if self.labels is not None:
            check_writable(self.labels)
        if self.report is not None:
            from c2rf import page

            page.need("report")
        if self.model is not None:
            need_skops()

    def write(self, answer: Answer, *, force: bool) -> None:
        """Write all files."""
        question = answer.question
        with self.places(force=force) as places:
            if places.labels is not None:
                rows = rows_to_show(question.population, question.identifier)
                write_table(answer.judgement.beside(rows), places.labels)
            if places.report is not None:
                from c2rf.cli.facts import make_facts
                from c2rf.report import make_page

                places.report.write_text(make_page(make_facts(answer)), encoding="utf-8")
            if places.model is not None:
                store(question, answer.classifier, places.model)

    @contextmanager
    def places(self, *, force: bool) -> Iterator[Outputs]:
        """Yield temporary places; what is there in the end becomes the files."""
        with atomic_outputs(self.paths, force=force) as temporaries:
            there = dict(zip(self.paths, temporaries, strict=True))
            yield Outputs(*(path and there[path] for path in self._each))

    def tell(self) -> list[tuple[str, str]]:
        """Say where the files are."""
        named = (("output", self.labels), ("report", self.report), ("model", self.model))
        return [(name, str(path)) for name, path in named if path is not None]


def store(question: Question, classifier: Any, path: Path) -> None:
    """Write a model for ``c2rf predict``."""
    model = StoredModel(
        question.features.encoder,
        classifier,
        question.target,
        question.positive,
        question.groups.column,
    )
    model.write(path)


def plan(question: Question, job: Job) -> list[tuple[str, str]]:
    """Say what would be done."""
    return [*_data(question), ("method", job.method), *_wished(question), *_columns(question)]


def summary(
    question: Question, classifier: Any, counts: Mapping[str, int]
) -> list[tuple[str, str]]:
    """Say what was done, given how many got each label."""
    rows = _data(question)
    for place, name in enumerate(question.classes):
        low, high = int(question.bounds.lower[place]), int(question.bounds.upper[place])
        known = f"known: {span(low, high, len(question.population))}"
        rows.append((f"label {short(name)}", f"{counts[name]:,} ({known})"))
    solution = getattr(classifier, "solution_", None)
    if solution is not None:
        rows.append(("proof", screen.proof(solution)))
    return [*rows, *_columns(question)]


def _data(question: Question) -> list[tuple[str, str]]:
    return [
        ("labeled", count(len(question.sample), "individual")),
        ("unlabeled", count(len(question.population), "individual")),
    ]


def _wished(question: Question) -> list[tuple[str, str]]:
    n, bounds = len(question.population), question.bounds
    rows = [
        (f"total of {short(name)}", span(int(low), int(high), n))
        for name, low, high in zip(question.classes, bounds.lower, bounds.upper, strict=True)
    ]
    if question.groups.column is not None:
        n_known = count(len(question.totals.by_group), "group")
        rows.append(("groups", f"{n_known} of {question.groups.column} with totals"))
    return rows


def _columns(question: Question) -> list[tuple[str, str]]:
    """Say what became of the columns that are not simply numbers, and what else is odd."""
    rows = [
        (f"column {short(column.name)}", what)
        for column in question.features.columns
        if (what := _what_is_odd(column))
    ]
    more = [("columns", f"and {len(rows) - 20} more with something to tell")] * (len(rows) > 20)
    return [*rows[:20], *more, *(("careful", remark) for remark in question.remarks)]


def _what_is_odd(column: Column) -> str:
    said = []
    if column.kind != "numbers":
        said.append(f"{_HOW[column.kind]} ({column.levels})")
    if sum(column.missing):
        said.append(f"{sum(column.missing):,} cells are empty, kept as that")
    if column.unseen:
        said.append(f"{count(column.unseen, 'row')} with a value that no labeled row has")
    return "; ".join(said)


def how(column: Column) -> str:
    """Say what a column is used as."""
    return _HOW[column.kind]
