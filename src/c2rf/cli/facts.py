"""From an answer of ``c2rf classify`` to the facts of its report."""

from __future__ import annotations

from typing import Any

from c2rf.cli.labeling import Answer, how
from c2rf.model_file import versions
from c2rf.report import Facts, FeatureFact, ForestFact


def make_facts(answer: Answer) -> Facts:
    """Collect what a report tells."""
    question, job, said = answer.question, answer.job, answer.judgement
    return Facts(
        labeled_file=job.labeled.name,
        unlabeled_file=job.unlabeled.name,
        target=question.target,
        method=job.method,
        classes=question.classes,
        sample=question.sample,
        bounds=question.bounds,
        group=question.group,
        group_names=question.groups.names,
        groups=question.groups.codes,
        labels=said.labels,
        scores=said.scores,
        confidence=said.confidence,
        positive=said.positive,
        names=question.names,
        features=[
            FeatureFact(c.name, how(c), c.kind != "numbers", c.levels, c.missing, c.unseen)
            for c in question.features.columns
        ],
        command=job.command,
        seed=job.seed,
        versions=versions(),
        seconds=job.seconds,
        forest=_forest(answer.classifier),
        remarks=question.remarks,
    )


def _forest(classifier: Any) -> ForestFact | None:
    solution = getattr(classifier, "solution_", None)
    return None if solution is None else ForestFact(solution, classifier.lower, classifier.upper)
