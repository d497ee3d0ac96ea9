"""``c2rf demo``: how a known total improves labels, on artificial data."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from c2rf._utils.text import proof
from c2rf.cli import common, terminal
from c2rf.cli.common import exit_if_interrupted

if TYPE_CHECKING:
    import pandas as pd

MARKER = ".made-by-c2rf-demo"
TARGET, POSITIVE, NEGATIVE = "class", "yes", "no"
SIZE, FRACTION, TREES, TIME_LIMIT = 5000, 0.02, 20, 20.0
FILES = {
    "labeled.csv": "the labeled rows",
    "unlabeled.csv": "the unlabeled rows",
    "labels.csv": "the unlabeled rows with labels and scores by the weighted trees",
    "truth.csv": "the true classes of the unlabeled rows",
    "votes.csv": "the votes of the trees on the unlabeled rows",
    "solution.json": "the weights of the trees, and what is proven",
}


def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the files.")] = Path(
        "c2rf-demo"
    ),
    seed: common.Seed = 0,
    force: common.Force = False,
) -> None:
    """Show on artificial data how a known total improves labels."""
    import c2rf
    from c2rf.exceptions import InputError

    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is not a folder; choose another one with --out")
    is_own = (out / MARKER).exists()
    if out.exists() and any(out.iterdir()) and not (is_own and force):
        what = "the files of an earlier demo; overwrite them with --force, or"
        what = what if is_own else "files that are not the demo's;"
        raise InputError(f"the folder {out} holds {what} choose another folder with --out")
    with terminal.waiting("drawing a population, learning and labeling it in three ways"):
        labeled, rows, truth = draw(seed)
        known: dict[str, Any] = {
            "target": TARGET,
            "totals": {POSITIVE: int((truth == POSITIVE).sum())},
            "random_state": seed,
        }
        weighted = c2rf.classify(
            labeled, rows, method="c2rf", trees=TREES, time_limit=TIME_LIMIT, **known
        )
        ranked = c2rf.classify(labeled, rows, **known)
        votes = weighted.classifier.votes(rows.to_numpy())
    _write_files(out, labeled, rows, truth, weighted, votes)
    found = {
        "majority vote of the trees": (votes.sum(axis=1) > 0).astype(int),
        "trees weighted to meet the total": weighted.predictions.codes,
        "known totals, as classify does": ranked.predictions.codes,
    }
    solution = weighted.classifier.solution_
    _compare(labeled, truth, found, proof(solution, weighted.classifier))
    _explain_files(out, known["totals"][POSITIVE], seed)
    exit_if_interrupted(solution)


def draw(seed: int) -> tuple[pd.DataFrame, pd.DataFrame, pd.Series[str]]:
    """Draw a population and label a biased sample of it, with far too many positive rows.

    Returns the labeled rows, the unlabeled rows, and the true classes of the unlabeled rows.
    """
    import numpy as np
    import pandas as pd

    from c2rf.datasets import biased_sample, make_twonorm

    X, y = make_twonorm(SIZE, random_state=seed)
    labeled, unlabeled = biased_sample(y, FRACTION, random_state=seed)
    rows = pd.DataFrame(X.round(3), columns=[f"x{k}" for k in range(1, X.shape[1] + 1)])
    rows[TARGET] = np.where(y == 1, POSITIVE, NEGATIVE)
    others = rows.iloc[unlabeled]
    return rows.iloc[labeled], others.drop(columns=TARGET), others[TARGET]


def _write_files(out: Path, labeled: Any, rows: Any, truth: Any, weighted: Any, votes: Any) -> None:
    """Write the input files of the other commands, and what these commands would write."""
    import pandas as pd

    from c2rf.data.atomic import atomic_output
    from c2rf.data.forest_files import StoredSolution, votes_digest

    out.mkdir(parents=True, exist_ok=True)
    (out / MARKER).touch()
    tables = {
        "labeled.csv": labeled,
        "unlabeled.csv": rows,
        "truth.csv": truth.to_frame(),
        "votes.csv": pd.DataFrame(votes).add_prefix("tree"),
    }
    for name, table in tables.items():
        with atomic_output(out / name, force=True) as temporary:
            table.to_csv(temporary, index=False)
    weighted.write(out / "labels.csv", force=True)
    found, n_positive = weighted.classifier, int((truth == POSITIVE).sum())
    stored = StoredSolution(
        found.solution_, n_positive, found.lower, found.upper, votes=votes_digest(votes)
    )
    stored.write(out / "solution.json", force=True)


def _compare(
    labeled: pd.DataFrame, truth: pd.Series[str], found: dict[str, Any], proven: str
) -> None:
    """Print the bias of the sample, the known total, how good the labels are, and the proof."""
    import pandas as pd
    from sklearn.metrics import accuracy_score, matthews_corrcoef

    is_positive = truth == POSITIVE
    n, n_labeled, n_positive = len(truth), len(labeled), int(is_positive.sum())
    table = {
        name: {
            "positive": f"{labels.sum():,}",
            "off by": f"{abs(labels.sum() - n_positive):,}",
            "accuracy": f"{accuracy_score(is_positive, labels):.1%}",
            "MCC": f"{matthews_corrcoef(is_positive, labels):.2f}",
        }
        for name, labels in found.items()
    }
    typer.echo(
        f"\n{n_labeled} of {n + n_labeled:,} rows are labeled, and they were chosen badly: "
        f"{(labeled[TARGET] == POSITIVE).mean():.0%} of them are positive."
        f"\nA census knows that of the {n:,} others {n_positive:,} are, "
        f"{n_positive / n:.0%}. But which ones?\n\n"
        f"{pd.DataFrame(table).T.to_string()}\n\nProof for the weights: {proven}.\n"
    )


def _explain_files(out: Path, n_positive: int, seed: int) -> None:
    """Print where the files are and what to do with them."""
    at = {name: shlex.quote(str(out / name)) for name in FILES}
    terminal.say([(at[name], what) for name, what in FILES.items()])
    line = (
        f"  c2rf classify {at['labeled.csv']} {at['unlabeled.csv']} --target {TARGET} "
        f"--positive {POSITIVE} --total {n_positive} --seed {seed}"
    )
    typer.echo(
        "\nDo it yourself:\n"
        f"{line} --method c2rf --trees {TREES} --out labels.csv\n"
        f"{line} --out known-totals.csv\n"
        f"  c2rf verify {at['votes.csv']} {at['solution.json']}\n"
        "\nThis is one sample: the total is not always met so closely, nor does the accuracy\n"
        "always gain. Try others with --seed.\n"
    )
