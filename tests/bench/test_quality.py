"""The page on quality: numbers from records whose answers are known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import friedmanchisquare, rankdata

from bench_records import record
from c2rf.bench.records import Record, Results
from c2rf.bench.report import (
    average_ranks,
    changed_settings,
    critical_difference,
    mean_scores,
    means_table,
    quality_report,
    samples_table,
    scores_table,
    settings_table,
    write_report,
)
from c2rf.bench.samples import NAMES, PROTOCOLS
from c2rf.report.page import Table

RF = "rf"
USUAL = PROTOCOLS["biased"]


def scored(scores: dict[str, dict[str, list[float]]], **changes: float) -> list[Record]:
    """Records of methods on data sets with these accuracies in percent, a sample each."""
    made = [
        record(data, sample, method, accuracy=value / 100, mcc=value / 50 - 1)
        for method, of in scores.items()
        for data, values in of.items()
        for sample, value in enumerate(values)
    ]
    return [replace(r, protocol=replace(USUAL, **changes)) for r in made]


def quality(records: list[Record]) -> Results:
    return Results(records, "biased")


def cells(table: Table | None, name: str) -> list[str]:
    """What stands in a row, without its name."""
    assert table is not None
    return next([c.strip("*") for c in row[1:]] for row in table.rows if row[0] == name)


def column(table: Table, title: str) -> list[str]:
    place = list(table.header).index(title)
    return [row[place].strip("*") for row in table.rows]


# Means


def test_means_are_of_data_sets_and_these_of_samples() -> None:
    found = quality(scored({"rf": {"ring": [50, 60, 70], "churn": [80, 80, 80]}}))
    assert mean_scores(found, "accuracy")[RF].mean() == pytest.approx(70)
    assert mean_scores(found, "mcc")[RF].mean() == pytest.approx(70)  # made so
    assert column(means_table(found), "mean AC") == ["70.0"]
    assert cells(scores_table(found, "accuracy"), "ring") == ["60.0 ± 10.0"]


def test_a_mean_of_fewer_data_sets_is_not_printed() -> None:
    records = scored({"rf": {"ring": [50], "churn": [80]}, "top-lambda": {"churn": [90]}})
    found = quality(records)
    assert column(means_table(found), "mean AC") == ["65.0", "---"]
    assert column(means_table(found), "data sets") == ["2 of 2", "1 of 2"]
    assert cells(scores_table(found, "accuracy"), "ring") == ["50.0", "---"]
    assert column(means_table(found), "against RF") == ["", "1/0/0"]
    assert cells(samples_table(found), "top λ") == ["---", "---"]
    failed = [replace(r, accuracy=None, mcc=None) if r.data == "ring" else r for r in records]
    assert column(means_table(quality(failed)), "mean AC")[0] == "---"


def test_each_sample_on_its_own() -> None:
    found = quality(scored({"rf": {"ring": [50, 60], "churn": [70, 90]}}))
    assert cells(samples_table(found), "RF")[:2] == ["60.00", "75.00"]


# Wins, ties, losses


def test_wins_ties_and_losses_compare_the_same_samples() -> None:
    mine = {"ring": [60, 70], "churn": [80.4, 79.8], "magic": [50, 50], "adult": [70.5, 70.5]}
    base = {"ring": [50, 64], "churn": [80, 80], "magic": [50, 52], "adult": [70, 70]}
    table = means_table(quality(scored({"extra-trees-top": mine, "rf": base})))
    assert column(table, "against RF") == ["", "1/2/1"]  # half a point is a tie
    assert "against top λ" not in table.header
    alone = scored({"extra-trees-top": {"ring": [60.0]}, "rf": base})
    assert column(means_table(quality(alone)), "against RF") == ["", "1/0/0"]


# Ranks


def test_nemenyi_s_critical_difference_is_that_of_the_tables() -> None:
    # q at 0.05 for k = 5 and 10 methods: 2.728 and 3.164 (Demsar 2006, Table 5)
    for k, q in ((5, 2.728), (10, 3.164)):
        assert critical_difference(k, 13) == pytest.approx(q * np.sqrt(k * (k + 1) / 78), abs=2e-3)


def test_ranks_are_averages_over_data_sets_and_equal_methods_share_them() -> None:
    three = ("rf", "top-lambda", "extra-trees-top")
    scores = np.random.default_rng(0).integers(50, 55, (6, 3)).astype(float)
    by_data = {
        m: {d: [v] for d, v in zip(NAMES, scores[:, k], strict=False)} for k, m in enumerate(three)
    }
    ranks, told = average_ranks(quality(scored(by_data)), "accuracy")
    wanted = np.mean([rankdata(-row) for row in scores], axis=0)
    np.testing.assert_allclose(ranks, wanted)
    assert f"p = {friedmanchisquare(*scores.T).pvalue:.2g} for" in told
    ranks, told = average_ranks(quality(scored(dict.fromkeys(three, by_data["rf"]))), "mcc")
    assert ranks.tolist() == [2, 2, 2]
    assert "p = 1 for" in told


def test_only_methods_with_all_data_sets_are_ranked() -> None:
    both = {"ring": [50.0], "churn": [60.0]}
    methods = dict.fromkeys(("rf", "top-lambda", "extra-trees-top"), both)
    table = means_table(quality(scored({**methods, "self-training": {"ring": [99.0]}})))
    assert column(table, "rank AC") == ["2.00", "2.00", "---", "2.00"]
    assert "average ranks that are less than" in table.note
    two = quality(scored(dict.fromkeys(("rf", "top-lambda"), both)))
    assert average_ranks(two, "accuracy")[1] == ""
    assert column(means_table(two), "rank AC") == ["---", "---"]


# Settings


def test_what_a_setting_costs_is_measured_on_the_same_samples() -> None:
    usual = {"ring": [50.0, 60.0, 70.0], "churn": [80.0, 80.0, 80.0], "magic": [1.0, 1.0, 1.0]}
    records = scored({"rf": usual, "top-lambda": usual})
    records += scored({"rf": {"ring": [45.0], "churn": [81.0]}}, total_error=-0.2)
    records += scored({"rf": {"ring": [48.0]}, "top-lambda": {"ring": [52.0]}}, fraction=0.005)
    records += scored({"rf": {"ring": [0.0]}}, fraction=0.05, total_error=0.2)  # two things at once
    records += scored({"rf": {"ring": [0.0]}}, depth=3)  # not one of the settings
    found = quality(records)
    settings = changed_settings(records, USUAL)
    assert list(settings) == ["0.5 % labeled", "λ off by -20 %"]
    table = settings_table(found, settings, "accuracy")
    assert cells(table, "RF") == ["48.0 (-2.0)", "63.0 (-2.0)"]
    assert cells(table, "top λ") == ["52.0 (+2.0)", "---"]
    assert table is not None
    assert "λ off by -20 %: churn, ring" in table.note


def test_without_other_settings_there_is_nothing_to_tell() -> None:
    records = scored({"rf": {"ring": [50.0]}})
    assert changed_settings(records, USUAL) == {}
    assert [part.title for part in quality_report(records)["parts"]][-1] == "Sample by sample"


def test_few_labels_are_a_setting_of_their_own() -> None:
    both = {"ring": [50.0, 60.0], "churn": [80.0, 80.0]}
    better = {"ring": [70.0, 70.0], "churn": [79.0, 80.0]}
    usual = scored({"known-totals": better, "extra-trees-top": both})
    records = [*usual, *scored({"known-totals": both, "extra-trees-top": both}, few_labels=2)]
    records += scored({"known-totals": better}, few_labels=1)
    settings = changed_settings(records, USUAL)
    assert list(settings) == ["1 labeled in a class", "2 labeled in a class"]
    table = settings_table(quality(records), settings, "accuracy")
    assert cells(table, "known totals") == ["74.8 (+0.0)", "67.5 (-7.2)"]
    assert cells(table, "extra trees, top λ") == ["---", "67.5 (+0.0)"]
    assert table in quality_report(records)["parts"]


# The page


def test_records_of_the_simple_protocol_alone_have_a_page_too(tmp_path: Path) -> None:
    records = [record("ring", k, m, "simple") for k in range(2) for m in ("rf", "known-totals")]
    report = quality_report(records)
    assert report["summary"][0].startswith("Protocol simple: 1 data sets, 2 samples")
    files = write_report(records, tmp_path)
    assert {"report.html", "quality.html", "quality.md"} <= {file.name for file in files}
    assert "| known totals | known-totals |" in (tmp_path / "quality.md").read_text()
    assert "known totals" not in (tmp_path / "report.md").read_text()
