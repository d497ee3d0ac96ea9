"""``c2rf demo``: the whole story on one screen."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from c2rf.cli import options, screen
from c2rf.cli.options import exit_if_interrupted

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray


MARKER = ".made-by-c2rf-demo"
TARGET, POSITIVE, NEGATIVE = "class", "yes", "no"
SIZE, FRACTION, TREES, TIME_LIMIT = 5000, 0.02, 20, 20.0


@dataclass(frozen=True, eq=False)
class Data:
    """A population: few labeled rows, badly chosen, and the others with their truth."""

    X: pd.DataFrame
    y: NDArray[np.str_]
    X_unlabeled: pd.DataFrame
    truth: NDArray[np.str_]

    @property
    def n_positive(self) -> int:
        """What a census would tell."""
        return int((self.truth == POSITIVE).sum())


def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the files.")] = Path(
        "c2rf-demo"
    ),
    seed: options.Seed = 0,
) -> None:
    """Show on artificial data what a known total is worth, in seconds."""
    from c2rf.estimators.c2rf import C2RFClassifier
    from c2rf.estimators.known_totals import KnownTotalsClassifier

    _check_folder(out)
    with screen.waiting("drawing a population, learning and labeling it in three ways"):
        data = draw(seed)
        majority, weighted = (
            C2RFClassifier(
                n_estimators=TREES, time_limit=TIME_LIMIT, random_state=seed, pos_label=POSITIVE
            )
            for _ in range(2)
        )
        majority.fit(data.X, data.y)
        weighted.fit(data.X, data.y, X_unlabeled=data.X_unlabeled, n_positive=data.n_positive)
        ranked = KnownTotalsClassifier(random_state=seed)
        totals = {POSITIVE: data.n_positive}
        ranked.fit(data.X, data.y, X_unlabeled=data.X_unlabeled, totals=totals)
    _write_files(out, data, weighted)
    _tell(data, majority.predict(data.X_unlabeled), weighted, ranked.transduction_)
    _tell_files(out, data, seed)
    exit_if_interrupted(weighted.solution_)


def draw(seed: int) -> Data:
    """Draw a population, and a sample of it in which positive ones are far too many."""
    import numpy as np
    import pandas as pd

    from c2rf.datasets import biased_sample, make_twonorm

    X, y = make_twonorm(SIZE, random_state=seed)
    labeled, unlabeled = biased_sample(y, FRACTION, random_state=seed)
    names = [f"x{k}" for k in range(1, X.shape[1] + 1)]
    frame = pd.DataFrame(X.round(3), columns=names)
    classes = np.where(y == 1, POSITIVE, NEGATIVE)
    return Data(frame.iloc[labeled], classes[labeled], frame.iloc[unlabeled], classes[unlabeled])


def _check_folder(out: Path) -> None:
    """Refuse a folder with somebody's files in it; our own may be written to again."""
    from c2rf.exceptions import InputError

    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is not a folder; choose another one with --out")
    if out.exists() and any(out.iterdir()) and not (out / MARKER).exists():
        raise InputError(
            f"the folder {out} holds files that are not the demo's; choose another one with --out"
        )


def _write_files(out: Path, data: Data, classifier: Any) -> None:
    """Write what the other commands take and what they would give."""
    import pandas as pd

    from c2rf.data.atomic import atomic_output
    from c2rf.data.forest_files import StoredSolution

    out.mkdir(parents=True, exist_ok=True)
    (out / MARKER).touch()
    tables = {
        "labeled.csv": data.X.assign(**{TARGET: data.y}),
        "unlabeled.csv": data.X_unlabeled,
        "truth.csv": pd.DataFrame({TARGET: data.truth}),
        "labels.csv": _labels(data, classifier),
        "votes.csv": pd.DataFrame(classifier.votes(data.X_unlabeled)).add_prefix("tree"),
    }
    for name, table in tables.items():
        with atomic_output(out / name, force=True) as temporary:
            table.to_csv(temporary, index=False)
    stored = StoredSolution(
        classifier.solution_, data.n_positive, classifier.lower, classifier.upper
    )
    stored.write(out / "solution.json", force=True)


def _labels(data: Data, classifier: Any) -> pd.DataFrame:
    """Return the unlabeled rows with the labels by the weighted trees."""
    from c2rf.data.population.memory import Memory
    from c2rf.workflow.predictions import LABEL, PREDICTED, Predictions, score_unlabeled

    rows, names = Memory(data.X_unlabeled), [str(name) for name in data.X_unlabeled]
    added = dict(zip(PREDICTED, score_unlabeled(classifier, POSITIVE), strict=True))
    return Predictions(rows, names, added, {LABEL: classifier.classes_}).frame()


def _tell(
    data: Data, by_majority: NDArray[np.str_], weighted: Any, ranked: NDArray[np.str_]
) -> None:
    """Print the story: the bias, the totals, how good the labels are, the proof."""
    from rich.table import Table

    n, n_labeled = len(data.truth), len(data.y)
    say = screen.console().print
    say(
        f"\n{n_labeled} of {n + n_labeled:,} rows are labeled, and they were chosen badly: "
        f"{(data.y == POSITIVE).mean():.0%} of them are positive."
        f"\nA census knows that of the {n:,} others {data.n_positive:,} are, "
        f"{data.n_positive / n:.0%}. But which ones?\n",
        soft_wrap=True,
    )
    table = Table()
    table.add_column("labels by")
    for name in ("positive", "off by", "accuracy", "MCC"):
        table.add_column(name, justify="right")
    table.add_row("majority vote of the trees", *_quality(data, by_majority))
    table.add_row("trees weighted to meet the total", *_quality(data, weighted.transduction_))
    table.add_row("known totals, as classify does", *_quality(data, ranked))
    say(table)
    say(f"\nProof for the weights: {screen.proof(weighted.solution_)}.\n", soft_wrap=True)


def _quality(data: Data, labels: NDArray[np.str_]) -> tuple[str, str, str, str]:
    """Return total, its error, accuracy and Matthews correlation of some labels."""
    from sklearn.metrics import accuracy_score, matthews_corrcoef

    positives = int((labels == POSITIVE).sum())
    return (
        f"{positives:,}",
        f"{abs(positives - data.n_positive):,}",
        f"{accuracy_score(data.truth, labels):.1%}",
        f"{matthews_corrcoef(data.truth, labels):.2f}",
    )


def _tell_files(out: Path, data: Data, seed: int) -> None:
    """Print where the files are and what to do with them."""

    def at(name: str) -> str:
        return shlex.quote(str(out / name))

    screen.say(
        [
            (at("labeled.csv"), "the labeled rows"),
            (at("unlabeled.csv"), "the others"),
            (at("labels.csv"), "the others with labels and scores by the weighted trees"),
            (at("truth.csv"), "what the others really are"),
            (at("votes.csv"), "the votes of the trees on the others"),
            (at("solution.json"), "the weights of the trees, and what is proven"),
        ]
    )
    line = (
        f"  c2rf classify {at('labeled.csv')} {at('unlabeled.csv')} --target {TARGET} "
        f"--positive {POSITIVE} --total {data.n_positive} --seed {seed}"
    )
    screen.console().print(
        "\nDo it yourself:\n"
        f"{line} --method c2rf --trees {TREES} --out labels.csv\n"
        f"{line} --out known-totals.csv\n"
        f"  c2rf verify {at('votes.csv')} {at('solution.json')}\n"
        "\nOne sample is one story: the total is not always met so closely, nor does the accuracy\n"
        "always gain. Others are told with --seed.\n",
        soft_wrap=True,
        markup=False,
    )
