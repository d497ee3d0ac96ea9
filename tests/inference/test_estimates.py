"""Shares by held-out rows: the formula written out, known designs, coverage of a known truth."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from c2rf import InputError, KnownTotalsClassifier
from c2rf.datasets import make_twonorm
from c2rf.inference import estimates
from c2rf.inference.estimates import (
    Domains,
    differs_by_chance,
    held_out_shares,
    label_shift_p_value,
)


class Rows(NamedTuple):
    """Labeled rows, in the order of the parameters."""

    codes: Any
    probabilities: Any
    domains: Any
    weights: Any


def draw(rng: np.random.Generator, n: int = 60, K: int = 3, G: int = 4) -> tuple[Any, Any]:
    rows = Rows(
        np.concatenate([np.arange(K), np.arange(K), rng.integers(0, K, n - 2 * K)]),
        rng.dirichlet(np.ones(K), n), rng.integers(-1, G, n), rng.uniform(0.5, 2, n),
    )  # fmt: skip
    shares = rng.dirichlet(np.ones(K), G)
    counts = rng.integers(100, 900, K).astype(float)
    return rows, Domains(rng.uniform(50, 500, G), shares, 0 * shares, counts, counts[None])


def test_the_formula_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimates, "OUTLIERS", 0.0)
    rows, domains = draw(np.random.default_rng(0))
    w = 0.4
    found = held_out_shares(*rows, domains, power=w)
    for g in range(4):
        for k in range(3):
            s, total, variance = domains.shares[g, k], 0.0, 0.0
            for c in range(3):
                own = rows.codes == c
                z = ((rows.codes == k) - s - w * (rows.probabilities[:, k] - s))[own]
                z = z * (rows.domains[own] == g)
                share = rows.weights[own] / rows.weights[own].sum()
                mean, n = (share * z).sum(), own.sum()
                total += domains.counts[c] * mean
                of_mean = n / (n - 1) * (share**2 * (z - mean) ** 2).sum()
                variance += domains.counts[c] ** 2 * of_mean * (1 + n / domains.counts[c])
            assert found[0][g, k] == pytest.approx(s + total / domains.sizes[g])
            error = np.sqrt(variance) / domains.sizes[g]
            assert found[1][g, k] == pytest.approx(error)


def test_without_probabilities_it_is_the_estimator_of_a_stratified_sample(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(estimates, "OUTLIERS", 0.0)
    rows, domains = draw(np.random.default_rng(1))
    rows = rows._replace(weights=np.ones(60), domains=np.abs(rows.domains))
    alone = held_out_shares(*rows, domains._replace(shares=0 * domains.shares), power=0.0)
    for g in range(4):
        for k in range(3):  # only rows of class k count: a proportion of them, times the total
            inside = (rows.domains == g)[rows.codes == k]
            n, N = len(inside), domains.counts[k]
            assert alone[0][g, k] == pytest.approx(N * inside.mean() / domains.sizes[g])
            error = N * np.sqrt(inside.var(ddof=1) * (1 / n + 1 / N)) / domains.sizes[g]
            assert alone[1][g, k] == pytest.approx(error)


def test_best_power_has_the_least_variance_and_uncertain_totals_widen() -> None:
    rows, domains = draw(np.random.default_rng(2), n=300)
    good = 0.8 * np.eye(3)[rows.codes] + 0.2 * rows.probabilities
    rows = rows._replace(probabilities=good)
    best = (held_out_shares(*rows, domains)[1] / 1) ** 2
    for power in (0.0, 0.5, 1.0):
        other = held_out_shares(*rows, domains, power=power)[1] ** 2
        assert best.sum() < 1.02 * other.sum()
    rng = np.random.default_rng(0)
    drawn = domains.counts * rng.normal(1, 0.2, (50, 1))
    unsure = held_out_shares(*rows, domains._replace(drawn_counts=drawn))
    assert (unsure[1] ** 2 >= best - 1e-15).all()
    sampled = held_out_shares(*rows, domains._replace(errors=domains.errors + 0.1))
    assert (sampled[1] ** 2 > best).all()


def test_a_model_without_a_mistake_among_few_rows_is_not_certain() -> None:
    codes = np.repeat([0, 1], [40, 60])
    shares = np.array([[0.7, 0.3], [0.2, 0.8]])
    known = Domains(np.array([600.0, 400]), shares, 0 * shares, np.array([500.0, 500]), shares[:1])
    error = held_out_shares(codes, np.eye(2)[codes], codes, np.ones(100), known)[1]
    assert (error > 0.001).all()


@pytest.mark.parametrize("useful", [True, False])
def test_intervals_cover_under_label_shift_with_any_classifier(useful: bool) -> None:
    rng = np.random.default_rng(3)
    N, n_labeled, covered = np.array([3000, 1000]), np.array([40, 60]), []
    for _ in range(150):
        y = np.repeat([0, 1], N)
        x = rng.normal(1.5 * y)
        domain = (rng.random(len(y)) < 0.3 + 0.3 * y).astype(int)
        p = 1 / (1 + np.exp(-(1.5 * x - 1.1 - 1.1))) if useful else rng.random(len(y))
        own_y = np.repeat([0, 1], n_labeled)
        own_x = rng.normal(1.5 * own_y)
        own_p = 1 / (1 + np.exp(-(1.5 * own_x - 2.2))) if useful else rng.random(len(own_y))
        own_domain = (rng.random(len(own_y)) < 0.3 + 0.3 * own_y).astype(int)
        shares = np.array([[1 - p[domain == g].mean(), p[domain == g].mean()] for g in (0, 1)])
        counts = N.astype(float)
        domains = Domains(
            np.bincount(domain).astype(float), shares, 0 * shares, counts, counts[None]
        )
        own_table = np.column_stack([1 - own_p, own_p])
        found = held_out_shares(own_y, own_table, own_domain, np.ones(100), domains)
        half = stats.t.ppf(0.975, found[2][:, 1]) * found[1][:, 1]
        true = np.array([y[domain == g].mean() for g in (0, 1)])
        covered.append(np.abs(found[0][:, 1] - true) <= half)
    assert 0.9 <= np.mean(covered) <= 0.99


def test_a_known_share_is_exact() -> None:
    X, y = make_twonorm(500, random_state=0)
    classifier = KnownTotalsClassifier(LogisticRegression(max_iter=500), random_state=0)
    classifier.fit(X[:100], y[:100], X_unlabeled=X[100:], totals={1: 0.4})
    table = classifier.estimates()
    for name in ("share", "share_low", "share_high"):
        assert table[name].tolist() == pytest.approx([0.6, 0.4])
    np.testing.assert_allclose(table["held_out_share"], [0.6, 0.4], atol=1e-9)


def test_by_imputation_numbers_add_up_and_known_rows_count() -> None:
    X, y = make_twonorm(600, random_state=1)
    people = pd.DataFrame(X[:, :4], columns=list("abcd"))
    people["town"] = np.where(X[:, 5] > 0, "Ulm", "Bonn")
    known = np.where(np.arange(500) % 10 == 0, y[100:].astype(object), None)
    weight = np.random.default_rng(0).integers(1, 4, 500).astype(float)
    total = int(weight[y[100:] == 1].sum())
    classifier = KnownTotalsClassifier(LogisticRegression(max_iter=500), random_state=0)
    classifier.fit(
        people[list("abcd")][:100], y[:100], X_unlabeled=people[100:][list("abcd")],
        totals={1: total}, unlabeled_labels=known, unlabeled_weight=weight,
    )  # fmt: skip
    table = classifier.estimates((people[["town"]][:100], people[["town"]][100:]), n_imputations=4)
    by_class = table.groupby("class")["count"].sum()
    assert by_class[1] == pytest.approx(total, abs=1)
    sizes = table.groupby("town")["count"].sum()
    assert sizes["Ulm"] == pytest.approx(weight[people["town"][100:] == "Ulm"].sum())
    np.testing.assert_allclose(table.groupby("town")["share"].sum(), 1)
    assert table["labeled_rows"].sum() == 100
    assert (table["held_out_low"] <= table["held_out_share"]).all()
    assert list(table) == [
        *("town", "class", "count", "share", "share_low", "share_high", "count_low", "count_high"),
        *("held_out_share", "held_out_low", "held_out_high", "labeled_rows", "differs"),
    ]


def test_too_few_labeled_rows_and_fitted_classifiers_leave_it_empty() -> None:
    X, y = make_twonorm(400, random_state=2)
    few = np.concatenate([np.flatnonzero(y == 0)[:30], np.flatnonzero(y == 1)[:3]])
    classifier = KnownTotalsClassifier(DummyClassifier(strategy="prior"), random_state=0)
    classifier.fit(X[few], y[few], X_unlabeled=X, totals={1: 0.5})
    table = classifier.estimates()
    assert table["held_out_share"].isna().all()
    assert table["differs"].isna().all()
    assert "1 has 3" in table.attrs["note"]
    frozen = FrozenEstimator(LogisticRegression(max_iter=500).fit(X[:200], y[:200]))
    classifier = KnownTotalsClassifier(frozen, random_state=0)
    classifier.fit(X[:200], y[:200], X_unlabeled=X[200:], totals={1: 0.5})
    assert "fitted before" in classifier.estimates().attrs["note"]


def test_holm_by_hand_and_errors() -> None:
    p = np.array([0.012, 0.02, 0.03, 0.2])
    off = stats.norm.isf(p / 2)[:, None] * [1, -1]
    found = differs_by_chance(off, np.ones((4, 2)), np.full((4, 2), 1e9), 0.95)
    assert found[:, 0].tolist() == [True, False, False, False]  # .012 * 4 < .05 <= .02 * 3
    X, y = make_twonorm(200, random_state=0)
    classifier = KnownTotalsClassifier(LogisticRegression(max_iter=500), random_state=0)
    classifier.fit(X[:100], y[:100], X_unlabeled=X[100:], totals={1: 0.5})
    with pytest.raises(InputError, match="no columns with names"):
        classifier.estimates("region")
    with pytest.raises(InputError, match="entry per unlabeled row, 100; found 3"):
        classifier.estimates((y[:100], y[:3]))


def shifted(
    rng: np.random.Generator, n: Any, N: Any, by_class: Any, asked: Any, uneven: bool = False
) -> float:
    """Draw a population and labeled rows, domains asked for more often or not, and test it."""
    places = [rng.choice(len(own), size, p=own) for own, size in zip(by_class, N, strict=True)]
    chance = by_class * asked / (by_class * asked).sum(axis=1, keepdims=True)
    labeled = [rng.choice(len(own), size, p=own) for own, size in zip(chance, n, strict=True)]
    sizes = np.bincount(np.concatenate(places), minlength=by_class.shape[1]).astype(float)
    counts, codes = np.array(N, dtype=float), np.repeat(np.arange(len(n)), n)
    weights = rng.uniform(0.5, 1.5, len(codes)) if uneven else np.ones(len(codes))
    none = np.zeros((len(sizes), len(n)))
    known = Domains(sizes, none, none, counts, counts[None])
    return label_shift_p_value(codes, np.concatenate(labeled), weights, known)


@pytest.mark.parametrize(
    ("n_domains", "n", "uneven"),
    [(4, (300, 60), False), (4, (40, 15), False), (40, (300, 60), False), (8, (300, 60), True)],
)
def test_label_shift_is_rejected_as_often_as_it_says(n_domains: int, n: Any, uneven: bool) -> None:
    rng = np.random.default_rng(n_domains)
    by_class = rng.dirichlet(np.ones(n_domains), 2)
    even = np.ones(n_domains)
    found = [shifted(rng, n, (1500, 2500), by_class, even, uneven) for _ in range(300)]
    for level in (0.05, 0.5):  # four standard errors
        rejected = np.mean(np.array(found) < level)
        assert abs(rejected - level) < 4 * np.sqrt(level * (1 - level) / 300)


def test_label_shift_is_rejected_where_some_were_asked_three_times_as_often() -> None:
    rng = np.random.default_rng(0)
    by_class = np.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]])
    asked = np.array([1, 1, 3, 3])
    found = [shifted(rng, (400, 100), (1500, 2500), by_class, asked) for _ in range(100)]
    assert np.mean(np.array(found) < 0.05) > 0.95


def test_uncertain_totals_and_rows_elsewhere() -> None:
    counts, none = np.array([500.0, 500]), np.zeros((2, 2))
    codes, places = np.repeat([0, 1], 100), np.repeat([0, 1, 0, 1], [70, 30, 30, 70])
    sizes = np.array([540.0, 460])
    sure = Domains(sizes, none, none, counts, counts[None])
    unsure = sure._replace(drawn_counts=np.array([[400.0, 600], [600, 400]]))
    weights = np.ones(200)
    p_value = label_shift_p_value(codes, places, weights, sure)
    # by hand: the variance of the first domain's size is 2 * 500² (1/100 + 1/500) q (1 - q)
    q = np.array([0.74, 0.34])  # 0.7 and 0.3, raked so that 500 of each class make 540 and 460
    error = np.sqrt((500**2 * 0.012 * q * (1 - q)).sum())
    assert p_value == pytest.approx(2 * stats.norm.sf(40 / error), rel=0.02)
    assert label_shift_p_value(codes, places, weights, unsure) > p_value
    assert label_shift_p_value(codes, places, 5 * weights, sure) == pytest.approx(p_value)
    more = np.append(codes, [0] * 30), np.append(places, [-1] * 30), np.ones(230)
    assert label_shift_p_value(*more, sure) == pytest.approx(p_value)
    empty = sure._replace(sizes=np.array([0.0, 540, 460]))
    assert label_shift_p_value(codes, places + 1, weights, empty) == pytest.approx(p_value)
    nowhere = np.where(codes == 1, -1, places)
    assert np.isnan(label_shift_p_value(codes, nowhere, weights, sure))
    one = Domains(sizes.sum(keepdims=True), none[:1], none[:1], counts, counts[None])
    assert np.isnan(label_shift_p_value(codes, 0 * places, weights, one))


@pytest.mark.parametrize("asked_more", [False, True])
def test_a_table_says_which_of_the_two_kinds_to_believe(asked_more: bool) -> None:
    X, y = make_twonorm(3000, random_state=0)
    old = X[:, 1] > 0
    often = np.where(old & asked_more, 5.0, 1.0)
    rng = np.random.default_rng(0)
    labeled = rng.choice(len(y), 300, replace=False, p=often / often.sum())
    rest = np.setdiff1d(np.arange(len(y)), labeled)
    useless = DummyClassifier(strategy="prior")  # says that all domains are alike
    classifier = KnownTotalsClassifier(useless, random_state=0)
    classifier.fit(X[labeled], y[labeled], X_unlabeled=X[rest], totals={1: int(y[rest].sum())})
    names = np.where(old, "old", "young")
    table = classifier.estimates((names[labeled], names[rest]), n_imputations=3)
    if asked_more:
        assert table.attrs["label_shift"] < 1e-6
        assert "do not use the shares by held-out rows" in table.attrs["note"]
    else:
        assert table["differs"].any()
        assert table.attrs["label_shift"] > 0.05
        assert "rather believe the shares by held-out rows" in table.attrs["note"]
    assert np.isnan(classifier.estimates(n_imputations=3).attrs["label_shift"])


def test_figures_are_free_of_noise_of_arithmetic() -> None:
    counts = np.array([[[200.0, 0.0]], *[[[199.0, 1.0]]] * 4])  # the mean of .1 steps is not exact
    table = estimates.estimates_table(
        pd.DataFrame({"region": ["n"]}), ["a", "b"], np.array([200.0]), counts, None,
        np.array([[3, 0]]),
    )  # fmt: skip
    assert table["count"].astype(str).tolist() == ["199.2", "0.8"]
    assert all(len(str(value)) < 14 for value in table["share_low"])


def test_without_labeled_rows_of_a_class_there_is_no_interval_by_held_out_rows() -> None:
    held = tuple(np.full((1, 2), each) for each in (0.5, 0.1, 9.0))
    table = estimates.estimates_table(
        pd.DataFrame({"region": ["n"]}), ["a", "b"], np.array([200.0]), np.full((5, 1, 2), 100.0),
        held, np.array([[3, 0]]),
    )  # fmt: skip
    assert table["held_out_low"].isna().tolist() == [False, True]
    assert table["held_out_high"].isna().tolist() == [False, True]
    assert table["held_out_share"].tolist() == [0.5, 0.5]
