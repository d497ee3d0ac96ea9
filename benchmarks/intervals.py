"""How often published intervals hold the truth: ``python -m benchmarks.intervals --data-dir DIR``.

Each part writes records, a line of JSON each; ``--page docs/intervals.md`` makes tables of them.
Data are the paper's 13 sets. What was tuned, was tuned with the seed 1000; other seeds judge.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from c2rf import KnownTotalsClassifier, estimate_totals, pool
from c2rf.bench.samples import NAMES, load, sample_seed
from c2rf.datasets import biased_sample
from c2rf.inference.audit import (
    deviations,
    difference_estimate,
    inclusion_probabilities,
    systematic_sample,
)
from c2rf.inference.estimates import Domains, held_out_shares, label_shift_p_value
from c2rf.workflow.classify import make_learner
from c2rf.workflow.known_rows import checked_weights

SHARE, POSITIVE_WEIGHT = 0.01, 0.85
TUNED_SEED = 1000
TABLES = "<!-- tables -->"
ENOUGH = 150
"""Labeled rows, at least, of the samples that held-out estimates are judged on."""
FEW_ROWS = 5
"""Rows, about, in the domains of few rows."""
N_LEARN_DRAWS = 5
"""How often rows to learn from are drawn for one sample."""
N_ASKED = 500
"""Labeled rows where label shift is tested."""
ASKED_MORE = 3.0
"""How much more often rows above the median of a column are asked, where label shift is broken."""


class RandomScores(ClassifierMixin, BaseEstimator):
    """A useless classifier: its probabilities have nothing to do with the row."""

    def fit(self, X, y, sample_weight=None):
        """Learn nothing but the classes."""
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        """Return random probabilities."""
        rng = np.random.default_rng(len(X))
        return rng.dirichlet(np.ones(len(self.classes_)), len(X))


def learner(name: str) -> Any:
    """Return a learner by name; "blend" is the default one."""
    if name == "random":
        return RandomScores()
    if name == "logistic":
        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    return make_learner(name)


def quarter_of(X: Any, places: list[int]) -> Any:
    """Return the quarter of each row in some columns, crossed; of those with most values."""
    levels = np.array([len(np.unique(column)) for column in X.T])
    best = np.argsort(-levels, kind="stable")[places]
    codes = np.zeros(len(X), dtype=int)
    for k in best:
        edges = np.unique(np.quantile(X[:, k], [0.25, 0.5, 0.75]))
        codes = codes * 4 + np.searchsorted(edges, X[:, k])
    return codes


def draw(data: Any, number: int, n_labeled: int, seed: int, broken: bool = False) -> Any:
    """Return which rows are labeled and which are not."""
    own = sample_seed(seed, "biased", data.name, number)
    positive = data.y > 0
    if not broken:
        return biased_sample(
            positive, n_labeled / len(positive), POSITIVE_WEIGHT, pos_label=True, random_state=own
        )
    rng = np.random.default_rng(own)
    often = quarter_of(data.X, [0]) >= 2
    chance = np.where(positive, POSITIVE_WEIGHT, 1 - POSITIVE_WEIGHT)
    chance = chance * np.where(often, ASKED_MORE, 1.0)
    labeled = np.sort(rng.choice(len(positive), n_labeled, replace=False, p=chance / chance.sum()))
    return labeled, np.setdiff1d(np.arange(len(positive)), labeled)


def fitted(data: Any, labeled: Any, rest: Any, name: str, seed: int) -> KnownTotalsClassifier:
    """Label the population of a sample."""
    positive = data.y > 0
    classifier = KnownTotalsClassifier(learner(name), random_state=seed)
    return classifier.fit(
        data.X[labeled], positive[labeled], X_unlabeled=data.X[rest],
        totals={True: int(positive[rest].sum())},
    )  # fmt: skip


def covered(table: pd.DataFrame, truth: Any, low: str, high: str) -> Any:
    return (table[low] - 1e-9 <= truth) & (truth <= table[high] + 1e-9)


def shares(data: Any, number: int, name: str, seed: int) -> Iterator[dict[str, Any]]:
    """Intervals by imputation, in quarters of two columns, crossed, and in domains of few rows."""
    labeled, rest = draw(data, number, round(SHARE * len(data.y)), seed)
    if len(np.unique(data.y[labeled])) < 2:
        return
    domain = quarter_of(data.X, [0, 1])
    classifier = fitted(data, labeled, rest, name, number)
    imputed, positive = classifier.impute(20), data.y[rest] > 0
    cells = [np.flatnonzero(domain[rest] == value) for value in np.unique(domain[rest])]
    hit, width, error = imputed_shares(imputed, positive, [c for c in cells if len(c) >= 2])
    # Rows that follow each other in the order of the domains, and at random within.
    order = np.lexsort((np.random.default_rng(number).random(len(rest)), domain[rest]))
    few = imputed_shares(imputed, positive, np.array_split(order, len(rest) // FEW_ROWS))
    found = {"coverage": hit.mean(), "width": width.mean(), "error": error.mean()}
    none = few[1] == 0
    found |= {"coverage of few rows": few[0].mean(), "without width": none.mean()}
    found["without width, and wrong"] = (none & ~few[0]).mean()
    yield {figure: float(value) for figure, value in found.items()}


def imputed_shares(imputed: Any, positive: Any, domains: Any) -> tuple[Any, Any, Any]:
    """Return whether intervals of shares hold the truth, their widths, and the errors."""
    true = np.array([positive[rows].mean() for rows in domains])
    found = pool([[labels[rows].mean() for rows in domains] for labels in imputed])
    low, high = np.clip(found.low, 0, 1), np.clip(found.high, 0, 1)
    hit = (low - 1e-9 <= true) & (true <= high + 1e-9)
    return hit, high - low, np.abs(found.estimate - true)


def held_out(data: Any, number: int, name: str, seed: int) -> Iterator[dict[str, Any]]:
    """Intervals by held-out rows in quarters of one column, and by labeled rows alone."""
    labeled, rest = draw(data, number, max(ENOUGH, round(SHARE * len(data.y))), seed)
    domain = quarter_of(data.X, [0])
    if min(np.bincount(data.y[labeled] > 0, minlength=2)) < 5:
        return
    classifier = fitted(data, labeled, rest, name, number)
    table = classifier.estimates((domain[labeled], domain[rest]), n_imputations=2)
    own = table[table["class"] == True]  # noqa: E712
    there = own["held_out_low"].notna().to_numpy()  # none without labeled rows of both classes
    own, alone = own[there], without_model(data, labeled, rest, domain)[there]
    true = np.array([(data.y[rest][domain[rest] == value] > 0).mean() for value in own["domain"]])
    yield {
        "coverage": float(covered(own, true, "held_out_low", "held_out_high").mean()),
        "width": float((own["held_out_high"] - own["held_out_low"]).mean()),
        "alone": float(alone.mean()),
        "width against alone": float((own["held_out_high"] - own["held_out_low"]).mean())
        / float(alone.mean()),
        "error": float(np.abs(own["held_out_share"] - true).mean()),
    }


def without_model(data: Any, labeled: Any, rest: Any, domain: Any) -> Any:
    """Return the widths of intervals by class-weighted labeled rows alone."""
    codes, where, known = in_domains(data, labeled, rest, domain)
    half = np.full((len(codes), 2), 0.5)
    _, low, high = held_out_shares(codes, half, where, np.ones(len(codes)), known, power=0.0)
    return (high - low)[:, 1]


def in_domains(data: Any, labeled: Any, rest: Any, domain: Any) -> tuple[Any, Any, Domains]:
    """Return the classes and domains of labeled rows, and what is known without a model."""
    counts = np.bincount(data.y[rest] > 0, minlength=2).astype(float)
    values, places = np.unique(domain[rest], return_inverse=True)
    rates = np.broadcast_to(counts / counts.sum(), (len(values), 2))
    known = Domains(np.bincount(places).astype(float), rates, 0 * rates, counts, counts[None])
    where = np.searchsorted(values, domain[labeled]).clip(max=len(values) - 1)
    where = np.where(values[where] == domain[labeled], where, -1)
    return (data.y[labeled] > 0).astype(int), where, known


def label_shift(data: Any, number: int, name: str, seed: int) -> Iterator[dict[str, Any]]:
    """How often label shift is rejected where it holds and where it is broken, without a model."""
    for broken in (False, True):
        found: dict[str, Any] = {"broken": broken}
        for n_labeled in (150, N_ASKED):
            labeled, rest = draw(data, number, n_labeled, seed, broken)
            if min(np.bincount(data.y[labeled] > 0, minlength=2)) < 5:
                continue
            for places, words in (([0], "quarters"), ([0, 1], "crossed")):
                codes, own, known = in_domains(data, labeled, rest, quarter_of(data.X, places))
                p_value = label_shift_p_value(codes, own, np.ones(n_labeled), known)
                found[f"rejects, {n_labeled} labels, {words}"] = bool(p_value < 0.05)
        yield found


def difference(data: Any, number: int, name: str, seed: int) -> Iterator[dict[str, Any]]:
    """Compare both kinds, and what is said of them, under label shift and where it is broken."""
    domain = quarter_of(data.X, [0])
    for broken in (False, True):
        labeled, rest = draw(data, number, N_ASKED, seed, broken)
        if min(np.bincount(data.y[labeled] > 0, minlength=2)) < 5:
            continue
        classifier = fitted(data, labeled, rest, name, number)
        table = classifier.estimates((domain[labeled], domain[rest]))
        own = table[table["class"] == True]  # noqa: E712
        true = np.array([(data.y[rest][domain[rest] == g] > 0).mean() for g in own["domain"]])
        yield {
            "broken": broken,
            "rejects": bool(table.attrs["label_shift"] < 0.05),
            "differs": bool(table["differs"].any()),
            "error by imputation": float(np.abs(own["share"] - true).mean()),
            "error by held-out rows": float(np.abs(own["held_out_share"] - true).mean()),
        }


def audits(data: Any, number: int, name: str, seed: int, n_draws: int = 200) -> Iterator[Any]:
    """Audits of 100 rows, and of 400 by domain, with the model's confidences and an adversary's."""
    labeled, rest = draw(data, number, max(ENOUGH, round(SHARE * len(data.y))), seed)
    classifier = fitted(data, labeled, rest, name, number)
    truth, labels = data.y[rest] > 0, classifier.transduction_
    own, domain = classifier.transduction_proba_[:, 1], quarter_of(data.X, [0])[rest]
    yield from audit_draws(labels, own, truth, domain, seed, number, n_draws)


def audit_draws(
    labels: Any, own: Any, truth: Any, domain: Any, seed: int, number: int, n_draws: int = 200
) -> Iterator[Any]:
    """Audits of labels with the probability of the positive class and the truth of each row."""
    confidence, wrong = np.where(labels, own, 1 - own), (labels != truth).astype(float)
    rng = np.random.default_rng([seed, number])
    N = len(labels)
    simple = np.sqrt(wrong.mean() * (1 - wrong.mean()) / 100 * (1 - 100 / N))
    for kind in ("model", "shuffled", "sure"):
        given = {"model": confidence, "shuffled": rng.permutation(confidence)}.get(kind, np.ones(N))
        sizes = deviations(given)
        chances = inclusion_probabilities(sizes, 100)
        of_class = np.where(labels, given, 1 - given)
        hits, widths = [], []
        for _ in range(n_draws):
            rows = systematic_sample(chances, rng)
            found = difference_estimate(wrong[rows], rows, 1 - given, chances[rows])
            share = difference_estimate(truth[rows].astype(float), rows, of_class, chances[rows])
            hits.append((inside(found, wrong.mean()), inside(share, truth.mean())))
            widths.append(found.high - found.low)
        by_domain = by_domains(domain, sizes, given, wrong, rng, n_draws) if kind == "model" else {}
        yield {
            "kind": kind, "wrong": float(wrong.mean()), "coverage": float(np.mean(hits, axis=0)[0]),
            "coverage_share": float(np.mean(hits, axis=0)[1]), "width": float(np.mean(widths)),
            "error_ratio": error_of(wrong - 1 + given, chances) / simple if simple else 1.0,
            "expected_off": float((1 - given).mean() - wrong.mean()), **by_domain,
        }  # fmt: skip


def error_of(off: Any, chances: Any) -> float:
    """Return the standard error of the mean of something, by the design (Hájek's approximation).

    That of a few hundred draws would be known to a tenth only.
    """
    return float(np.sqrt((((1 - chances) / chances) * (off - off.mean()) ** 2).sum()) / len(off))


def inside(found: Any, true: float) -> bool:
    return found.low - 1e-9 <= true <= found.high + 1e-9


def by_domains(
    domain: Any, sizes: Any, given: Any, wrong: Any, rng: Any, n_draws: int
) -> dict[str, float]:
    """Coverage in domains of 400 checked rows, half of them shared out equally."""
    from c2rf.totals.groups import Groups
    from c2rf.workflow.audit import _allocated

    values, codes = np.unique(domain, return_inverse=True)
    allotted = _allocated(400, Groups(values.tolist(), codes), sizes)
    hits = []
    for g, n in enumerate(allotted):
        own = np.flatnonzero(codes == g)
        chances = inclusion_probabilities(sizes[own], int(n))
        for _ in range(n_draws // 2):
            rows = systematic_sample(chances, rng)
            hits.append(
                inside(
                    difference_estimate(wrong[own][rows], rows, 1 - given[own], chances[rows]),
                    wrong[own].mean(),
                )
            )
    return {"coverage_domains": float(np.mean(hits))}


def learn(data: Any, number: int, name: str, seed: int, n: int = 50) -> Iterator[dict[str, Any]]:
    """Accuracy after learning from 50 rows to label next, and from 50 rows at random.

    Means of several draws: a single one says more of the draw than of how rows are drawn.
    """
    labeled, rest = draw(data, number, max(50, round(SHARE * len(data.y))), seed)
    if len(np.unique(data.y[labeled])) < 2:
        return
    truth = data.y > 0
    classifier = fitted(data, labeled, rest, name, number)
    found: dict[str, Any] = {"before": float((classifier.transduction_ == truth[rest]).mean())}
    rng = np.random.default_rng([seed, number])
    after: dict[str, list[float]] = {"next": [], "random": []}
    for k in range(N_LEARN_DRAWS):
        following = classifier.label_next(n, random_state=N_LEARN_DRAWS * number + k)
        drawn = np.sort(rng.choice(len(rest), n, replace=False))
        chances = following["inclusion_probability"].to_numpy()
        ways = {"next": (following["row"].to_numpy(), chances), "random": (drawn, np.ones(n))}
        for way, (rows, likely) in ways.items():
            more = np.concatenate([labeled, rest[rows]])
            known = np.full(len(rest), None)
            known[rows] = truth[rest][rows]
            weight = checked_weights(truth[more].astype(str), None, likely)
            # The labels do not depend on the calibration.
            again = KnownTotalsClassifier(learner(name), calibration=None, random_state=number)
            again.fit(
                data.X[more], truth[more], X_unlabeled=data.X[rest],
                totals={True: int(truth[rest].sum())}, unlabeled_labels=known,
                sample_weight=None if name == "logistic" else weight,
            )  # fmt: skip
            after[way].append(float((again.transduction_ == truth[rest]).mean()))
    found |= {way: float(np.mean(each)) for way, each in after.items()}
    yield found | {"next minus random": found["next"] - found["random"]}


def totals(data: Any, number: int, name: str, seed: int) -> Iterator[dict[str, Any]]:
    """Estimated totals, beside QuaPy's, which learn from the same rows by the same learner."""
    labeled, rest = draw(data, number, max(ENOUGH, round(SHARE * len(data.y))), seed)
    if min(np.bincount(data.y[labeled] > 0, minlength=2)) < 5:
        return
    truth = (data.y > 0).astype(int)
    frame = pd.DataFrame(data.X).add_prefix("x")
    found = estimate_totals(
        frame.iloc[labeled].assign(y=truth[labeled]), frame.iloc[rest], target="y",
        learner=learner(name), n_bootstrap=20, random_state=number,
    )[1]  # fmt: skip
    true = truth[rest].mean()
    record = {
        "error": abs(found.value - true),
        "covered": abs(found.value - true) < 1.96 * found.se,
        "se": found.se,
    }
    for other, make in quantifiers().items():
        model = make(learner(name))
        model.fit(data.X[labeled], truth[labeled])
        record[f"error of {other}"] = abs(float(model.predict(data.X[rest])[1]) - true)
    yield {key: float(value) for key, value in record.items()}


def quantifiers() -> dict[str, Callable[[Any], Any]]:
    """Return QuaPy's methods by name, none where it is not installed."""
    if find_spec("quapy") is None:
        return {}
    from quapy.method.aggregative import EMQ, KDEyML

    return {"EMQ": EMQ, "EMQ, calibrated": EMQ.EMQ_BCTS, "KDEy": KDEyML}


PARTS: dict[str, tuple[Callable[..., Iterator[dict[str, Any]]], list[str], int]] = {
    "shares": (shares, ["blend"], 10),
    "held-out": (held_out, ["logistic", "random", "extra-trees"], 10),
    "label-shift": (label_shift, ["none"], 20),
    "difference": (difference, ["blend", "logistic"], 10),
    "learn": (learn, ["extra-trees"], 5),
    "totals": (totals, ["logistic"], 10),
    "audit": (audits, ["blend", "logistic"], 1),
}
"""The parts: what is run, by which learners, on how many samples of each data set."""


def run(given: argparse.Namespace) -> None:
    """Run what is not in the records yet, sample by sample."""
    warnings.simplefilter("ignore")
    done = set()
    if given.records.exists():
        for line in given.records.read_text().splitlines():
            record = json.loads(line)
            done.add(tuple(record[name] for name in ("part", "learner", "sample", "data", "seed")))
    given.records.parent.mkdir(parents=True, exist_ok=True)
    read = cache(load)
    for number in range(max(given.samples)):
        for part in given.parts:
            work, learners, n_samples = PARTS[part]
            for name in given.learners or learners:
                for data_set in given.data:
                    key = (part, name, number, data_set, given.seed)
                    if key in done or number >= min(n_samples, max(given.samples)):
                        continue
                    data = read(data_set, given.data_dir)
                    about = dict(
                        zip(("part", "learner", "sample", "data", "seed"), key, strict=True)
                    )
                    with given.records.open("a") as file:
                        for found in work(data, number, name, given.seed):
                            file.write(json.dumps(about | found) + "\n")


def page(records: Path) -> str:
    """Return tables of what was recorded: samples that judge, then those that were tuned on."""
    found = pd.DataFrame([json.loads(line) for line in records.read_text().splitlines()])
    lines = []
    is_tuned = found["seed"] == TUNED_SEED
    for own, title in (
        (found[~is_tuned], "Samples that judge"), (found[is_tuned], "Samples that were tuned on")
    ):  # fmt: skip
        if not len(own):
            continue
        lines += [f"## {title}", ""]
        lines += ["| part | learner, kind | figure | mean | least set | largest set | samples |"]
        lines += ["|---|---|---|---|---|---|---|"]
        for part, rows in own.groupby("part", sort=False):
            keys = [
                "learner",
                *(k for k in ("kind", "broken") if k in rows and rows[k].notna().any()),
            ]
            taken = ["part", "sample", "data", "seed", "kind", "broken"]
            figures = [name for name in rows if name not in (*taken, *keys)]
            for key, some in rows.groupby(keys):
                by_set = some.astype(dict.fromkeys(figures, float)).groupby("data")[figures].mean()
                about = f"| {part} | {', '.join(map(str, key))} |"
                lines += [
                    f"{about} {name} | {each.mean():.3f} | {each.min():.3f} | {each.max():.3f} "
                    f"| {len(some)} |"
                    for name, each in by_set.dropna(axis=1, how="all").items()
                ]
        lines += [""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, help="a folder with PMLB's data sets")
    parser.add_argument("--data", nargs="*", default=list(NAMES))
    parser.add_argument("--parts", nargs="*", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--learners", nargs="*")
    parser.add_argument("--samples", nargs=1, type=int, default=[10])
    parser.add_argument("--seed", type=int, default=3000)
    parser.add_argument("--records", type=Path, default=Path("docs/intervals/records.jsonl"))
    parser.add_argument("--page", type=Path, help="only write tables of the records below its mark")
    given = parser.parse_args()
    if given.page is not None:
        above = given.page.read_text(encoding="utf-8").split(TABLES)[0]
        text = f"{above}{TABLES}\n\n{page(given.records)}"
        given.page.write_text(text, encoding="utf-8")
        return
    run(given)


if __name__ == "__main__":
    main()
