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
        np.concatenate([np.repeat(np.arange(K), 4), rng.integers(0, K, n - 4 * K)]),
        rng.dirichlet(np.ones(K), n), rng.integers(-1, G, n), rng.uniform(0.5, 2, n),
    )  # fmt: skip
    shares, sizes = rng.dirichlet(np.ones(K), G), rng.uniform(50, 500, G)
    counts = sizes.sum() * rng.dirichlet(np.full(K, 9))
    return rows, Domains(sizes, shares, 0 * shares, counts, counts[None])


Z = stats.norm.ppf(0.975)


def test_the_formula_written_out() -> None:
    rows, domains = draw(np.random.default_rng(0))
    w, s, N = 0.4, domains.shares, domains.counts
    found = held_out_shares(*rows, domains, power=w)

    def of_class(c: int, k: int, g: int) -> tuple[float, float, float, float]:
        """Say what rows of class c add in the mean, 1/n + 1/N, and moments in the domain."""
        own = rows.codes == c
        weight = rows.weights[own] / rows.weights[own].sum()
        n = 1 / (weight**2).sum()
        inside = rows.domains[own] == g
        missed = (c == k) - rows.probabilities[own, k]
        e = (1 - w) * ((c == k) - s[g, k]) + w * missed
        # in the domain, and as much as 3 rows like those of all domains and one missed entirely
        there = n * (weight * inside).sum()
        first = (n * (weight * inside) @ missed + 3 * weight @ missed) / (there + 3)
        second = n * (weight * inside) @ missed**2 + 3 * (n * weight @ missed**2 + 1) / (n + 1)
        second /= there + 3
        fixed = (1 - w) * ((c == k) - s[g, k])
        squared = fixed**2 + 2 * fixed * w * first + w**2 * second
        return (weight * inside) @ e, 1 / n + 1 / N[c], fixed + w * first, squared

    checked = 0
    for g in range(4):
        for k in range(3):
            known = [of_class(c, k, g) for c in range(3)]
            share = s[g, k] + sum(N[c] * known[c][0] for c in range(3)) / domains.sizes[g]
            most = N[k] / domains.sizes[g]
            share = np.clip(share, max(1 - (N.sum() - N[k]) / domains.sizes[g], 0), min(most, 1))
            assert found[0][g, k] == pytest.approx(share)
            for end in found[1:, g, k]:
                if np.isnan(end) or end in (0, 1) or np.isclose(end, most):
                    continue
                variance = 0.0
                for c in range(3):
                    others = s[g].sum() - s[g, k]
                    part = end if c == k else (1 - end) * s[g, c] / others
                    q = part * domains.sizes[g] / N[c]
                    _, factor, mean, squared = known[c]
                    variance += N[c] ** 2 * factor * (q * squared - (q * mean) ** 2)
                variance /= domains.sizes[g] ** 2
                assert (share - end) ** 2 == pytest.approx(Z**2 * variance, rel=1e-6)
                checked += 1
    assert checked > 6


def test_without_probabilities_it_is_the_score_interval_of_a_proportion() -> None:
    # As many people in each domain as elsewhere, and of the others none are labeled wrongly.
    codes, places = (
        np.repeat([0, 1], [40, 25]),
        np.concatenate([np.arange(40) % 5 > 0, np.arange(25) > 2]),
    )
    sizes, counts = np.array([4e9, 6e9]), np.array([3e9, 7e9])
    shares = np.array([[0.0, 1.0], [0.0, 1.0]])  # only rows of class 0 add to the share of class 0
    known = Domains(sizes, shares, 0 * shares, counts, counts[None])
    rows = codes, np.full((65, 2), 0.5), places.astype(int), np.ones(65)
    found = held_out_shares(*rows, known, power=0.0)
    for g in (0, 1):
        inside = int((places[codes == 0] == g).sum())
        wilson = stats.binomtest(inside, 40).proportion_ci(method="wilson")
        ratio = counts[0] / sizes[g]
        expected = ratio * np.array([inside / 40, wilson.low, wilson.high])
        np.testing.assert_allclose(found[:, g, 0], np.minimum(expected, ratio), rtol=1e-6)


def test_best_power_has_the_narrowest_intervals_and_uncertain_totals_widen() -> None:
    rows, domains = draw(np.random.default_rng(2), n=300)
    good = 0.8 * np.eye(3)[rows.codes] + 0.2 * rows.probabilities
    rows = rows._replace(probabilities=good)

    def width(domains: Domains, power: float | None = None) -> Any:
        _, low, high = held_out_shares(*rows, domains, power=power)
        return ((high - low) ** 2).sum(axis=0)

    best = width(domains)
    for power in estimates.POWERS:
        assert (best <= width(domains, power) + 1e-12).all()
    drawn = domains.counts * np.random.default_rng(0).normal(1, 0.2, (50, 1))
    assert (width(domains._replace(drawn_counts=drawn)) > best).all()
    assert (width(domains._replace(errors=domains.errors + 0.1)) > best).all()
    _, low, high = held_out_shares(*rows, domains, level=0.5)
    assert (((high - low) ** 2).sum(axis=0) < best).all()


def test_a_model_without_a_mistake_among_few_rows_is_not_certain() -> None:
    codes = np.repeat([0, 1, 0, 1], [40, 60, 1, 1])
    places, counts = np.repeat([0, 1, 1, 0], [40, 60, 1, 1]), np.array([500.0, 500])
    shares = np.array([[0.7, 0.3], [0.2, 0.8]])
    known = Domains(np.array([600.0, 400]), shares, 0 * shares, counts, counts[None])
    _, low, high = held_out_shares(codes, np.eye(2)[codes], places, np.ones(102), known)
    assert (high - low > 0.02).all()


def test_without_labeled_rows_of_both_kinds_there_is_no_interval() -> None:
    codes, places = np.repeat([0, 1], [9, 9]), np.array([0] * 9 + [1] * 8 + [2])
    shares, counts = np.full((3, 2), 0.5), np.array([450.0, 450])
    known = Domains(np.full(3, 300.0), shares, 0 * shares, counts, counts[None])
    rows = np.append(codes, 0), np.full((19, 2), 0.5), np.append(places, 2), np.ones(19)
    shares, low, high = held_out_shares(*rows, known)
    assert np.isfinite(shares).all()
    assert np.isnan(low).tolist() == np.isnan(high).tolist() == [[True] * 2] * 2 + [[False] * 2]


@pytest.mark.parametrize("useful", [0.0, 2.0])
@pytest.mark.parametrize(
    ("N", "n"),
    [((3000, 1000), (40, 60)), ((3000, 1000), (25, 60)), ((3000, 900, 600), (15, 10, 9))],
)
def test_intervals_cover_under_label_shift_with_any_classifier(
    useful: float, N: tuple[int, ...], n: tuple[int, ...]
) -> None:
    rng, K, covered = np.random.default_rng(3), len(N), []
    by_class = 0.5 * np.eye(K, 3) + 1 / 6  # of each class the parts in three domains

    def people(sizes: tuple[int, ...]) -> tuple[Any, Any, Any]:
        y = np.repeat(np.arange(K), sizes)
        x = rng.normal(useful * np.eye(K)[y])  # the classifier's densities are right
        p = np.array(N) * np.exp(useful * x)
        if not useful:
            p = rng.dirichlet(np.ones(K), len(y))
        domain = (rng.random(len(y))[:, None] > by_class.cumsum(axis=1)[y]).sum(axis=1).clip(max=2)
        return y, domain, p / p.sum(axis=1, keepdims=True)

    counts = np.array(N, dtype=float)
    for _ in range(60):
        y, domain, p = people(N)
        codes, places, own_p = people(n)
        sizes = np.bincount(domain).astype(float)[:, None]
        shares, true = np.zeros((2, 3, K))
        np.add.at(shares, domain, p)
        np.add.at(true, (domain, y), 1)
        known = Domains(sizes[:, 0], shares / sizes, 0 * shares, counts, counts[None])
        _, low, high = held_out_shares(codes, own_p, places, np.ones(len(codes)), known)
        there = ~np.isnan(low)
        covered += ((low <= true / sizes) & (true / sizes <= high))[there].tolist()
    assert 0.92 <= np.mean(covered) <= 0.98


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
    rows, weight = np.arange(100), np.ones(100)
    weight[np.flatnonzero(y[:100] == 1)[4:]] = 0
    classifier = KnownTotalsClassifier(LogisticRegression(max_iter=500), random_state=0)
    classifier.fit(X[rows], y[rows], X_unlabeled=X[100:], totals={1: 0.5}, sample_weight=weight)
    assert "1 has 4" in classifier.estimates(n_imputations=2).attrs["note"]
    frozen = FrozenEstimator(LogisticRegression(max_iter=500).fit(X[:200], y[:200]))
    classifier = KnownTotalsClassifier(frozen, random_state=0)
    classifier.fit(X[:200], y[:200], X_unlabeled=X[200:], totals={1: 0.5})
    assert "fitted before" in classifier.estimates().attrs["note"]


def test_holm_by_hand_and_errors() -> None:
    p = np.array([0.012, 0.02, 0.03, 0.2])
    off = stats.norm.isf(p / 2)[:, None] * [1, -1]
    found = differs_by_chance(off, np.ones((4, 2)), 0.95)
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
