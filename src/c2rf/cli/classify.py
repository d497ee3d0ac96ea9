"""``c2rf classify``: from two tables to labels that add up."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from c2rf.cli import options, screen
from c2rf.cli.exits import exit_if_interrupted

if TYPE_CHECKING:
    import pandas as pd

    from c2rf.cli.features import Features

ADDED = ("label", "score")
"""Columns that the output has on top of those of the unlabeled file."""


def classify(
    labeled: Annotated[
        Path, typer.Argument(metavar="LABELED.csv", help="Individuals whose class is known.")
    ],
    unlabeled: Annotated[
        Path, typer.Argument(metavar="UNLABELED.csv", help="Individuals to label.")
    ],
    target: Annotated[
        str, typer.Option(metavar="COL", help="Column of LABELED.csv with the class.")
    ],
    positive: Annotated[
        str, typer.Option(metavar="VALUE", help="The value of COL that counts as positive.")
    ],
    total: options.Total,
    out: Annotated[Path, typer.Option(metavar="OUT.csv", help="Where the labels go.")],
    drop: Annotated[
        list[str] | None,
        typer.Option(metavar="COL", help="A column not to learn from, like an id; repeatable."),
    ] = None,
    method: options.Method = "auto",
    backend: options.Backend = "highs",
    trees: Annotated[int, typer.Option(min=1, help="Number of trees.")] = 20,
    seed: options.Seed = 0,
    time_limit: options.TimeLimit = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Label individuals so that the positive ones add up to the known total.

    OUT.csv holds the rows of UNLABELED.csv in their order, with the columns "label" and "score"
    (above 0 for positive).
    """
    from c2rf import C2RFClassifier
    from c2rf.cli.features import feature_names, make_features, target_values
    from c2rf.files import check_output
    from c2rf.problem import check_total
    from c2rf.tables import read_table

    wished = options.parse_total(total)
    check_output(out, force=force, inputs=[labeled, unlabeled])
    known, population = read_table(labeled), read_table(unlabeled)
    classes = target_values(known, target, positive)
    names = feature_names(known, population, target, drop or [])
    _check_added(population)
    n_positive = check_total(wished, len(population), "--total")
    features = make_features(known, population, names)
    classifier = C2RFClassifier(
        n_estimators=trees,
        method=method,
        backend=backend,
        time_limit=time_limit,
        random_state=seed,
        pos_label=positive,
    )
    with screen.waiting("growing and weighing trees", quiet):
        classifier.fit(
            features.labeled,
            classes.to_numpy(dtype=str),
            X_unlabeled=features.unlabeled,
            n_positive=n_positive,
        )
    write_labels(out, population, classifier, features.unlabeled, force=force)
    screen.say(_summary(features, classifier, n_positive, out), quiet=quiet)
    exit_if_interrupted(classifier.solution_)


def write_labels(
    out: Path, population: pd.DataFrame, classifier: Any, X: pd.DataFrame, *, force: bool
) -> None:
    """Write the rows of the population with their labels and scores."""
    from c2rf.files import atomic_output

    toward_positive = 1 if classifier.classes_[1] == classifier.pos_label else -1
    labeled = population.assign(
        label=classifier.transduction_, score=toward_positive * classifier.decision_function(X)
    )
    with atomic_output(out, force=force) as temporary:
        labeled.to_csv(temporary, index=False)


def _check_added(population: pd.DataFrame) -> None:
    """Refuse a table that has the columns of the output already."""
    from c2rf.exceptions import InputError

    for name in ADDED:
        if name in population:
            raise InputError(
                f"the unlabeled file has a column {name!r}, which the output adds; rename it"
            )


def _summary(
    features: Features, classifier: Any, n_positive: int, out: Path
) -> list[tuple[str, str]]:
    """Return what to say about a classification."""
    solution = classifier.solution_
    positives = int((classifier.transduction_ == classifier.pos_label).sum())
    rows = [
        ("labeled", screen.count(len(features.labeled), "individual")),
        ("unlabeled", screen.count(len(features.unlabeled), "individual")),
        ("labels", screen.reached(positives, n_positive)),
        ("proof", screen.proof(solution)),
    ]
    if features.categories:
        texts = ", ".join(f"{name} ({n})" for name, n in features.categories.items())
        rows.append(("categories", f"columns that are not numbers, with how many: {texts}"))
    return [*rows, ("output", str(out))]
