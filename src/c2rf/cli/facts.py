"""From an answer of ``c2rf classify`` to the facts of its report."""

from __future__ import annotations

from typing import Any

from c2rf.cli.labeling import Answer, Job, how
from c2rf.cli.question import Question
from c2rf.cli.shown import ShownRows
from c2rf.model_file import versions
from c2rf.report import Facts, FeatureFact, ForestFact, RankingFact


def make_facts(answer: Answer) -> Facts:
    """Collect what a report tells of an answer in memory."""
    question, said = answer.question, answer.judgement
    return Facts(
        groups=question.groups.codes,
        labels=said.labels,
        scores=said.scores,
        confidence=said.confidence,
        positive=said.positive,
        names=question.names,
        remarks=question.remarks,
        **_common(question, answer.job, answer.classifier),
    )


def make_sampled_facts(question: Question, job: Job, classifier: Any, shown: ShownRows) -> Facts:
    """Collect what a report tells of a large population."""
    rows = shown.rows()
    return Facts(
        groups=rows["group"].to_numpy(),
        labels=rows["label"].to_numpy(dtype=object),
        scores=rows["score"].to_numpy(),
        confidence=rows["confidence"].to_numpy(),
        positive=question.positive,
        names=rows["name"].tolist(),
        remarks=[*question.remarks, *shown.remarks],
        all_counts=shown.counts,
        **_common(question, job, classifier),
    )


def _common(question: Question, job: Job, classifier: Any) -> dict[str, Any]:
    """Collect what has nothing to do with single rows."""
    return {
        "labeled_file": job.labeled.name,
        "unlabeled_file": job.unlabeled.name,
        "target": question.target,
        "method": job.method,
        "classes": question.classes,
        "sample": question.sample,
        "bounds": question.bounds,
        "group": question.groups.column,
        "group_names": question.groups.names,
        "features": [
            FeatureFact(c.name, how(c), c.kind != "numbers", c.levels, c.missing, c.unseen)
            for c in question.features.columns
        ],
        "command": job.command,
        "seed": job.seed,
        "versions": versions(),
        "seconds": job.seconds,
        "forest": _forest(classifier),
        "ranking": _ranking(question, classifier),
    }


def _ranking(question: Question, classifier: Any) -> RankingFact | None:
    if not hasattr(classifier, "history_"):
        return None
    model = type(classifier.estimator_).__name__
    offsets = dict(zip(question.classes, map(float, classifier.offsets_), strict=True))
    return RankingFact(model, offsets, classifier.history_)


def _forest(classifier: Any) -> ForestFact | None:
    solution = getattr(classifier, "solution_", None)
    return None if solution is None else ForestFact(solution, classifier.lower, classifier.upper)
