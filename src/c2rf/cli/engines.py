"""Where ``c2rf classify`` keeps the unlabeled: in memory, or in the files they came in."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from c2rf.cli import labeling, screen
from c2rf.cli.judge import rows_to_show
from c2rf.cli.labeling import Job, Outputs
from c2rf.cli.methods import Choices
from c2rf.cli.options import one_of
from c2rf.cli.question import Question, ask
from c2rf.cli.totals import Totals

LARGE_FILE = 1 << 29
"""A file of the unlabeled with more bytes than this is not taken into memory."""

ENGINES = ("auto", "memory", "chunks", "dask")


class Answer(Protocol):
    """A question that was answered."""

    @property
    def question(self) -> Question:
        """What was asked, and all that was found out about the data."""

    @property
    def classifier(self) -> Any:
        """Who answered it."""

    @property
    def counts(self) -> dict[str, int]:
        """How many got each label."""


class Engine(Protocol):
    """The steps of a classification, in their order."""

    def ask(
        self, labeled: Path, unlabeled: Path, target: str, totals: Totals, **wishes: Any
    ) -> Question:
        """Check everything, before any work is done."""

    def checked(self, question: Question) -> Question:
        """Check also what else is found out on the way."""

    def answer(
        self, question: Question, job: Job, choices: Choices, jobs: int | None, outputs: Outputs,
        force: bool,
    ) -> Answer:  # fmt: skip
        """Learn, label and write all files."""


class InMemory:
    """Takes the unlabeled into memory."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet

    def ask(
        self, labeled: Path, unlabeled: Path, target: str, totals: Totals, **wishes: Any
    ) -> Question:
        """Read both files."""
        question = ask(labeled, unlabeled, target, totals, **wishes)
        rows_to_show(question.population, question.identifier)
        return question

    def checked(self, question: Question) -> Question:
        """Nothing is left to check."""
        return question

    def answer(
        self, question: Question, job: Job, choices: Choices, jobs: int | None, outputs: Outputs,
        force: bool,
    ) -> Answer:  # fmt: skip
        """Learn, label and write all files."""
        with screen.waiting("learning and labeling", self.quiet):
            answer = labeling.label(question, job, choices, jobs)
        outputs.write(answer, force=force)
        return answer


def pick_engine(name: str, unlabeled: Path, quiet: bool) -> Engine:
    """Return an engine by its name; ``auto`` looks at where the unlabeled are, and how many."""
    name = one_of("--engine", name, ENGINES)
    if name == "chunks" or (name == "auto" and _is_large(unlabeled)):
        from c2rf.cli.in_chunks import InChunks

        return InChunks(quiet)
    return InMemory(quiet)


def _is_large(path: Path) -> bool:
    return path.is_dir() or (path.is_file() and path.stat().st_size > LARGE_FILE)
