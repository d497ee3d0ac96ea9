"""From an answer of ``c2rf classify`` to the facts of its report."""

from __future__ import annotations

from typing import Any

from c2rf.cli.labeling import Answer, how
from c2rf.model_file import versions
from c2rf.report import Facts, FeatureFact, ForestFact, RankingFact


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
        group=question.groups.column,
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
        ranking=_ranking(answer),
        remarks=question.remarks,
    )


def _ranking(answer: Answer) -> RankingFact | None:
    classifier = answer.classifier
    if not hasattr(classifier, "history_"):
        return None
    model = type(classifier.estimator_).__name__
    offsets = dict(zip(answer.question.classes, map(float, classifier.offsets_), strict=True))
    return RankingFact(model, offsets, classifier.history_)


def _forest(classifier: Any) -> ForestFact | None:
    solution = getattr(classifier, "solution_", None)
    return None if solution is None else ForestFact(solution, classifier.lower, classifier.upper)
