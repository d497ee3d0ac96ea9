"""Interval estimates of shares and of right labels: how they are made, scored and reported."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench_records import record
from browser import check_self_contained
from c2rf.bench.methods import OURS, by_recipe
from c2rf.bench.records import Record
from c2rf.bench.report import (
    SINGLE,
    coverage_report,
    gain,
    interval_table,
    render_md,
    right_intervals,
    write_report,
)
from c2rf.bench.run import label, make_keys, make_record
from c2rf.bench.samples import PROTOCOLS, draw, load
from c2rf.bench.scores import (
    interval_scores,
    quarters,
    score_intervals,
)
from c2rf.cli import main
from c2rf.imputation.rubin import Pooled


def pooled(estimate, low, high) -> Pooled:
    return Pooled(estimate, 0.0, low, high, np.inf, 0.0, 0.95)


def intervals(coverage=0.95, score=0.12, error=0.02) -> dict:
    """Scored interval estimates that reach all goals, unless they are changed."""
    ours = {"coverage": coverage, "width": 0.1, "score": score, "error": error}
    return {
        "shares": {
            "single labels": {"error": 0.04},
            "imputations": ours,
            "plain recipe": {"coverage": 0.7, "width": 0.06, "score": 0.3, "error": 0.03},
        },
        "right": {
            name: {"estimate": 0.8, "low": 0.7, "high": 0.9, "true": 0.8}
            for name in ("overall", "negative", "positive")
        },
    }


def estimated(data="churn", sample=0, **changes) -> Record:
    return replace(record(data, sample, "imputations"), intervals=intervals(**changes))


class TestScoring:
    def test_quarters_hold_each_row_once_per_column(self):
        X = np.random.default_rng(0).normal(size=(400, 8))
        X[:, 0] = 1.0  # one value: the last to be chosen
        parts = quarters(X)
        assert parts.shape == (24, 400)
        assert (parts.sum(axis=0) == 6).all()
        assert (parts.sum(axis=1) == 100).all()

    def test_a_miss_costs_forty_times_its_distance(self):
        low, high = np.array([0.4, 0.4, 0.4]), np.array([0.6, 0.6, 0.6])
        found = interval_scores(low, high, np.array([0.6, 0.65, 0.3]))
        np.testing.assert_allclose(found, [0.2, 0.2 + 40 * 0.05, 0.2 + 40 * 0.1])

    def test_estimates_worked_by_hand(self):
        truth, labels = np.array([1, 1, -1, -1]), np.array([1, -1, 1, -1])
        parts = np.array([[True, True, False, False], [False, False, True, True]])
        shares = pooled(np.array([0.9, 0.3]), np.array([0.8, 0.1]), np.array([1.2, 0.5]))  # above 1
        right = pooled(0.5, 0.4, 0.6)
        found = score_intervals(
            {"way": shares},
            {"overall": right, "positive": right},
            parts,
            labels,
            truth,
        )
        assert found["shares"]["single labels"]["error"] == pytest.approx(0.5)
        assert found["shares"]["way"] == {
            "coverage": 0.5, "width": pytest.approx(0.3), "error": pytest.approx(0.2),
            "score": pytest.approx((0.2 + 0.4 + 40 * 0.1) / 2),
        }  # fmt: skip
        assert found["right"]["positive"] == {
            "estimate": 0.5, "low": 0.4, "high": 0.6, "true": 0.5,
        }  # fmt: skip


@pytest.fixture(scope="module")
def drawn():
    return draw(load("made-twonorm-800"), PROTOCOLS["biased"], seed=3)


class TestMethod:
    def test_estimates_are_about_all_parts_and_hold_the_total(self, drawn, monkeypatch):
        monkeypatch.setattr("c2rf.bench.methods.N_IMPUTATIONS", 3)
        monkeypatch.setattr("c2rf.bench.methods._N_TREES", 10)
        sample, truth = drawn
        answer = label("imputations", sample)
        parts = quarters(sample.X_unlabeled)
        assert (answer.labels > 0).sum() == sample.n_positive
        assert set(answer.intervals["shares"]) == {"imputations", "plain recipe"}
        for interval in answer.intervals["shares"].values():
            # The quarters of a column are all rows, so their shares must give the total.
            of_column = interval.estimate[:4] @ parts[:4].sum(axis=1)
            assert of_column == pytest.approx(sample.n_positive)
            assert (interval.low <= interval.estimate).all()
        assert set(answer.intervals["right"]) == {"overall", "negative", "positive"}
        key = make_keys([PROTOCOLS["biased"]], ["made-twonorm-800"], ["imputations"])[0]
        kept = make_record(key, load("made-twonorm-800"), sample, truth, answer)
        assert kept.intervals == score_intervals(
            **answer.intervals, parts=parts, labels=answer.labels, truth=truth
        )

    def test_the_recipe_meets_the_total_each_time(self, drawn, monkeypatch):
        monkeypatch.setattr("c2rf.bench.methods.N_IMPUTATIONS", 2)
        monkeypatch.setattr("c2rf.bench.methods._N_TREES", 10)
        drawn_sets = list(by_recipe(drawn[0]))
        assert [labels.sum() for labels in drawn_sets] == [drawn[0].n_positive] * 2
        assert (drawn_sets[0] != drawn_sets[1]).any()

    def test_one_class_only_estimates_nothing(self, drawn):
        sample = drawn[0]
        kept = sample.y_labeled > 0
        alone = replace(sample, X_labeled=sample.X_labeled[kept], y_labeled=sample.y_labeled[kept])
        assert label("imputations", alone).intervals is None


class TestTables:
    def test_a_rare_class_is_the_smaller_one(self):
        rare = estimated()
        rare.intervals["right"]["positive"]["true"] = 0.1  # outside
        few = replace(rare, n_positive=10, n_unlabeled=1000)
        most = replace(few, n_positive=990)
        tables = [interval_table([record]) for record in (few, most, replace(few, n_positive=500))]
        covered = [right_intervals(table, "rare")["covered"].tolist() for table in tables]
        assert covered == [[False], [True], []]
        assert gain(tables[0]) == pytest.approx(50)

    def test_single_labels_without_an_error_cannot_be_beaten(self, tmp_path):
        perfect = estimated()
        perfect.intervals["shares"][SINGLE]["error"] = 0.0
        assert gain(interval_table([perfect])) == -np.inf
        perfect.intervals["shares"][OURS]["error"] = 0.0
        assert gain(interval_table([perfect])) == 0.0
        perfect.intervals["shares"][OURS]["error"] = 0.1
        write_report([perfect], tmp_path)
        assert "---" in (tmp_path / "imputations.md").read_text(encoding="utf-8")


class TestPage:
    def test_tables_and_both_ways(self, tmp_path):
        records = [estimated(data, k) for data in ("churn", "ring") for k in range(3)]
        files = {path.name for path in write_report(records, tmp_path)}
        assert files == {"imputations.html", "imputations.md"}
        check_self_contained((tmp_path / "imputations.html").read_text())
        said = (tmp_path / "imputations.md").read_text()
        assert "| churn | 3 | 95.0 | 70.0 | 10.0 | 6.0 | **12.0** | 30.0 |" in said
        assert "| mean, samples 0 and 1 | 4 |" in said
        assert "3 of 3" in said

    def test_methods_without_intervals_have_pages_of_their_own(self, tmp_path, monkeypatch):
        told = []
        page = {"title": "a page", "summary": [], "parts": []}
        for name in ("paper_report", "quality_report"):
            monkeypatch.setattr(f"c2rf.bench.report.{name}", lambda of: told.append(of) or page)
        others = [record("ring", k, method) for k in range(3) for method in ("rf", "top-lambda")]
        files = {path.name for path in write_report([*others, estimated("ring")], tmp_path)}
        assert {"report.html", "quality.html", "imputations.html"} <= files
        assert told == [others, others]

    def test_a_record_survives_its_file(self):
        mine = estimated()
        assert Record.from_line(mine.to_line()) == mine
        assert "churn" in render_md(coverage_report([mine]))


def test_a_run_can_report_at_once(tmp_path, monkeypatch):
    told = []

    def fake(keys, there, append, say, **how):
        append(estimated())
        return Counter(computed=1), Counter()

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("c2rf.bench.run.run", fake)
    monkeypatch.setattr(
        "c2rf.bench.report.write_report", lambda *given: told.append(given) or [given[1]]
    )
    assert main(["bench", "run", "--methods", "imputations", "--report", "pages"]) == 0
    assert told == [([estimated()], Path("pages"))]
