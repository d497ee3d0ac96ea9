"""The report: tables, figures and checks from records whose answers are known."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench_records import record
from browser import browse, check_self_contained
from c2rf.bench.methods import BENCH_METHODS
from c2rf.bench.paper_tables import (
    agreement,
    all_checks,
    figure_gains,
    quality_table,
    table_1,
    table_2,
)
from c2rf.bench.records import Results, read_records
from c2rf.bench.samples import NAMES, PROTOCOLS
from c2rf.cli import main
from c2rf.report.page import Table

ROOT = Path(__file__).parents[2]
HIGHS = "p-c2rf/highs"
RF = "rf"


def seconds(total: float) -> dict[str, float]:
    return {"trees": 0.0, "solve": total, "total": total}


@pytest.fixture(scope="module")
def smoked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a whole small run, made by ``make bench-smoke``'s own code."""
    spec = importlib.util.spec_from_file_location("smoke", ROOT / "benchmarks" / "smoke.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    folder = tmp_path_factory.mktemp("smoke")
    assert module.smoke(folder, n_samples=1) == []
    return folder


def column(table: Table, title: str) -> list[str]:
    place = list(table.header).index(title)
    return [row[place].strip("*") for row in table.rows]


# Medians


def test_a_median_time_needs_more_than_half_of_the_samples_solved() -> None:
    def results(n_solved: int) -> Results:
        return Results(
            [
                record("ring", k, "p-c2rf", seconds=seconds(10.0 * (k + 1)))
                if k < n_solved
                else record("ring", k, "p-c2rf", status="feasible", bound=0)
                for k in range(5)
            ],
            "biased",
        )

    assert results(5).median_seconds().loc["ring", HIGHS] == 30.0
    assert results(3).median_seconds().loc["ring", HIGHS] == 30.0  # the unsolved take longer
    assert results(2).median_seconds().isna().loc["ring", HIGHS]
    assert column(table_2(results(2)), "p-C²RF, HiGHS") == ["---"]


def test_samples_that_were_not_run_count_as_unsolved() -> None:
    records = [record("ring", k, "rf") for k in range(5)]
    records += [record("ring", k, "p-c2rf") for k in range(2)]
    table = table_2(Results(records, "biased"))
    assert column(table, "p-C²RF, HiGHS") == ["---"]
    assert column(table, "RF") == ["1.000"]
    assert column(table, "p-C²RF, paper") == ["999.8"]
    assert column(table, "C²RF, paper") == ["---"]


def test_quality_is_printed_as_the_paper_prints_it() -> None:
    records = [record("ring", k, "rf", accuracy=0.1 * k, mcc=0.0) for k in range(5)]
    records += [record("ring", k, "p-c2rf", mcc=-1.0, status="feasible", bound=0) for k in range(5)]
    table = quality_table(Results(records, "biased"), 3)
    assert column(table, "AC RF") == ["20.00"]
    assert column(table, "(1+MCC)/2 RF") == ["50.00"]  # MCC = 0
    assert column(table, "(1+MCC)/2 p-C²RF, HiGHS") == ["0.00†"]  # judged, but not proven
    assert column(table, "AC p-C²RF, paper") == ["60.20"]


def test_the_longest_time_limit_and_the_paper_s_protocol_win() -> None:
    short = record("ring", 0, "auto", time_limit=1.0, status="feasible", bound=0)
    other = replace(PROTOCOLS["biased"], fraction=0.3)
    variants = [record("ring", k, "auto", protocol="biased") for k in (1, 2, 3)]
    records = [short, record("ring", 0, "auto")]
    records += [replace(r, protocol=other) for r in variants]
    results = Results(records, "biased")
    assert [r.time_limit for r in results.records] == [60.0]
    assert Results(records[2:], "biased").protocol == other


def test_gains_compare_the_same_samples() -> None:
    records = [record("ring", k, "rf", accuracy=0.1 * k) for k in range(4)]
    records += [record("ring", k, "auto", accuracy=0.1 * k + 0.25) for k in (3, 1)]
    records += [record("ring", 2, "auto", accuracy=None, status="none")]
    gains = Results(records, "biased").gains("auto", RF, "accuracy")
    np.testing.assert_allclose(gains["ring"], [25, 25])


def test_table_1_shows_the_data_sets_in_the_paper_s_order() -> None:
    changes = {"made-x": 0, "adult": 3, "magic": 6}
    table = table_1([record(name, 0, "rf", n_rescaled=n) for name, n in changes.items()])
    assert column(table, "data set") == ["magic", "adult", "made-x"]
    assert column(table, "N") == ["18905", "48790", "100"]
    assert column(table, "rescaled, paper") == ["no", "yes", ""]
    assert "magic must be rescaled" in table.note
    assert "adult" not in table.note


# Checks


def outcomes(checks) -> list[str]:
    return [outcome for _, outcome, _ in checks]


def test_contradictions_are_found() -> None:
    one, other = record("ring", 0, "auto"), record("ring", 0, "p-c2rf")
    assert outcomes(agreement([one, other])) == ["holds"]
    for wrong in (replace(other, eta=2, bound=2), replace(other, eta=9, bound=4)):
        ((_, outcome, found),) = agreement([one, wrong])
        assert outcome == "does not hold"
        assert "ring 0 (auto, p-c2rf)" in found
    unproven = replace(other, eta=9, bound=1, status="feasible")
    assert outcomes(agreement([one, unproven])) == ["holds"]
    assert outcomes(agreement([one])) == ["not tested"]


def test_nearness_to_the_paper_is_counted() -> None:
    records = [record(name, k, "rf") for name in NAMES for k in range(3)]
    ((_, near, found),) = all_checks([Results(records, "biased")])
    assert near == "holds"
    assert found.startswith("13 of 13")
    off = [replace(r, accuracy=r.accuracy - 0.081) if r.data < "b" else r for r in records]
    ((_, far, found),) = all_checks([Results(off, "biased")])
    assert far == "does not hold"  # adult, agaricus_lepiota and ann_thyroid
    assert found.startswith("10 of 13; apart: adult by 8.1")


def test_top_lambda_is_compared_with_weights() -> None:
    for ours, wanted in ((0.6, "holds"), (0.4, "does not hold")):
        records = [record("ring", 0, "auto", accuracy=ours), record("ring", 0, "top-lambda")]
        checks = all_checks([Results(records, "biased")])
        assert outcomes(c for c in checks if "most votes" in c[0]) == [wanted]


# Files


@pytest.mark.parametrize(("name", "pictures", "tables"), [("report", 3, 5), ("quality", 0, 7)])
def test_the_smoke_run_and_its_pages_need_nothing_from_anywhere(
    name: str, pictures: int, tables: int, smoked: Path
) -> None:
    html = (smoked / "report" / f"{name}.html").read_text()
    page = check_self_contained(html)
    assert page.tags.count("img") == pictures
    assert page.tags.count("table") == tables
    assert not re.search(r"https?://|@import|url\(", html)
    assert len(html) < 1_000_000


def test_all_methods_of_the_smoke_run_agree(smoked: Path) -> None:
    records = read_records(smoked / "records.jsonl")
    proven = {}
    for found in records:
        if BENCH_METHODS[found.method].solves == "the paper's":
            proven.setdefault(found.seed, set()).add(found.eta)
    assert len(proven) == 4
    assert all(len(etas) == 1 for etas in proven.values())


@pytest.mark.parametrize(
    ("name", "shown_at_last"),
    [
        ("report", "Table 4. Median quality, simple random samples"),
        ("quality", "(1+MCC)/2 in other settings"),
    ],
)
def test_a_page_opens_in_a_browser_without_a_complaint(
    name: str, shown_at_last: str, smoked: Path, tmp_path: Path
) -> None:
    shown = browse(smoked / "report" / f"{name}.html", tmp_path, "--dump-dom")
    assert "CONSOLE" not in shown.stderr
    assert shown_at_last in shown.stdout


def test_same_records_same_pictures(smoked: Path) -> None:
    records = read_records(smoked / "records.jsonl")
    again = figure_gains(Results(records, "simple"), 3)
    assert again.png == (smoked / "report" / "figure3.png").read_bytes()


def test_what_is_odd_about_records_is_told_and_harmless(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = replace(record("ring", 0, "rf"), data="<script>alert(1)</script>")
    failed = record("ring", 0, "c2rf", status="failed", message="too large; buy more")
    lost = replace(failed, eta=None, bound=None, accuracy=None, mcc=None)
    path, out = tmp_path / "records.jsonl", tmp_path / "out"
    path.write_text(evil.to_line() + lost.to_line() + '{"format": 6, "pro')
    assert main(["bench", "report", "--records", str(path), "--out", str(out)]) == 0
    assert "2 from" in capsys.readouterr().out
    assert "<script" not in (out / "report.html").read_text()
    assert "1 records hold no labels: too large." in (out / "report.md").read_text()


@pytest.mark.parametrize(
    ("content", "out", "message"),
    [
        (None, "out", "cannot be read: No such file"),
        ("", "out", "there are no records to report on"),
        ('{"format": 0}\n', "out", "line 1 is not a record (it has format 0"),
        ("good", "taken", "cannot be made: File exists"),
    ],
)
def test_mistakes_are_told(
    content: str | None,
    out: str,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "records.jsonl"
    (tmp_path / "taken").write_text("a file, not a folder")
    if content is not None:
        path.write_text(record("ring", 0, "rf").to_line() if content == "good" else content)
    arguments = ["--records", str(path), "--out", str(tmp_path / out)]
    assert main(["bench", "report", *arguments]) == 2
    assert message in capsys.readouterr().err
