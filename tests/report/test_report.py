"""The report of a classification: true, complete, small, harmless, and the same again."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path

import matplotlib.image
import numpy as np
import pandas as pd
import pytest

from browser import Page, browse, check_self_contained
from c2rf.cli import main
from c2rf.imputation.rubin import pool
from c2rf.inference.accuracy import ExpectedAccuracy
from c2rf.report import SECTIONS, make_page, report_content
from c2rf.totals.bounds import Adjustment, Bounds
from c2rf.totals.groups import Groups
from c2rf.workflow.result import Classification
from made_up import balance, column, forest, made_up, ranking
from people import make_people, quick_estimator

ALL_SECTIONS = [name for name, _, _ in SECTIONS]
SHOWN = [name for name in ALL_SECTIONS if name not in ("sensitivity", "estimates", "importance")]
EVIL = [
    "<script>alert(1)</script>",
    "</title></style><script>alert(2)</script>",
    '"><img src=x onerror=alert(3)>',
    "a,b;'c' \"d\"",
    "line\nbreak\ttab",
    "😀 emoji",
    "שלום עולם",
    "\u202eevil override",
    "$\\frac{1}{2}$ & {{ 7 * 7 }} {% raw %}",
]


def evil_result(evil: str) -> Classification:
    """Return a result in which every text of a user is the same."""
    labels = np.where(made_up().predictions.codes == 1, evil, "no").astype(object)
    classes = sorted(["no", evil])
    share = pool([0.5, 0.6])
    expected = ExpectedAccuracy(share, {evil: share}, {evil: share}, 2)
    moved = Adjustment((evil,), (evil,), evil, evil, 1.0, 2.0, 0.0)
    counts = np.array([np.sum(labels == name) for name in classes])
    bounds = replace(Bounds.overall(counts, counts, 60), adjustments=(moved,))
    return made_up(
        target=evil, classes=classes, labels=labels, positive=evil, command=evil, bounds=bounds,
        names=(evil, evil), columns=[column(evil, "one-hot", 1, (1, 1), 1)], remarks=[evil],
        groups=Groups([evil], np.zeros(60, dtype=int), (evil,)), left_out={evil: evil},
        read_as=[(evil, evil)],
        classifier=ranking(
            expected_confusion_=np.eye(2),
            history_=[{"base_learner": evil, "accuracy": None, "weight": 0.5}] * 2,
        ),
        found={
            "balance": balance((evil, 0.5, 0.1)),
            "importance": (pd.Series({evil: 0.1}), 100),
            "expected_accuracy": expected,
        },
    )  # fmt: skip


class TestPage:
    def test_same_result_same_page(self):
        assert make_page(made_up(classifier=forest(3, 1))) == make_page(
            made_up(classifier=forest(3, 1))
        )

    def test_every_section_is_there_and_ids_are_unique(self):
        page = check_self_contained(make_page(made_up(classifier=forest(3, 1))))
        assert [name for name in page.ids if name in ALL_SECTIONS] == SHOWN
        assert len(set(page.ids)) == len(page.ids)
        assert page.tags.count("svg") == 1

    def test_a_section_without_blocks_is_left_out(self):
        content = report_content(made_up(found={"importance": (pd.Series({"a": 0.1}), 100)}))
        assert "importance" in [section.name for section in content.sections]
        assert "sensitivity" not in [section.name for section in content.sections]

    @pytest.mark.parametrize("evil", EVIL)
    def test_text_of_users_is_shown_and_not_run(self, evil):
        page = check_self_contained(make_page(evil_result(evil)))
        assert "img" not in page.tags
        assert " ".join(evil.split())[:14] in " ".join(page.text.split())

    def test_whatever_the_input_the_page_is_small(self):
        n, many, long = 20_000, 500, "x" * 10_000
        rng = np.random.default_rng(0)
        names = [f"{k} {long}" for k in range(many)]
        sizes = np.full(many, n // many)
        free = np.zeros((many, 400), dtype=np.int64)
        classes = [f"{k:03d} {long}" for k in range(400)]
        moved = (Adjustment((long,), (long,), long, long, 1.0, 2.0, 0.0),) * 1000
        bounds = Bounds(free[0], free[0] + n, free, free + n // many, sizes, (), moved)
        share = pool([0.5, 0.6])
        expected = ExpectedAccuracy(share, dict.fromkeys(classes, share), {}, 2)
        html = make_page(
            made_up(
                n=n, classes=classes, labels=np.array(classes, dtype=object)[np.arange(n) % 400],
                positive=None, scores=rng.random(n), confidence=rng.random(n), bounds=bounds,
                groups=Groups(names, np.arange(n) % many, (long,)), stated={}, target=long,
                columns=[column(long, "one-hot", 1, (1, 1), 1)] * 3000, command=long,
                remarks=[long] * 1000, names=(long, long), left_out=dict.fromkeys(names, long),
                classifier=ranking(400, expected_confusion_=np.ones((400, 400))),
                found={
                    "balance": balance(*[(long, 0.5, 0.1)] * 1000),
                    "importance": (pd.Series({f"{k} {long}": 0.1 for k in range(1000)}), 100),
                    "expected_accuracy": expected,
                },
            )
        )  # fmt: skip
        assert len(html.encode()) < 2_000_000
        check_self_contained(html)

    @pytest.mark.parametrize(
        "changes",
        [
            {"positive": None},
            {"columns": []},
            {"classifier": forest(0, 0, 1)},
            {"bounds": Bounds.overall([0, 0], [60, 60], 60)},
            {"labels": np.array(["no"] * 60, dtype=object)},
            {"n": 1},
        ],
    )
    def test_odd_results_have_a_page(self, changes):
        check_self_contained(make_page(made_up(**changes)))


@pytest.fixture(scope="module", autouse=True)
def quick():
    """Labels need not be good to be reported."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("c2rf.estimators.training.default_estimator", quick_estimator)
        yield


@pytest.fixture(scope="module")
def reports(tmp_path_factory) -> dict[str, Path]:
    """Reports of real runs of both methods on names that mean harm."""
    folder = tmp_path_factory.mktemp("reports")
    people = make_people(240, 3)
    names = {"sick": EVIL[1], "town": EVIL[2], "a": EVIL[6], "id": EVIL[4]}
    levels = {"yes": EVIL[0], "no": EVIL[6], "Ulm": EVIL[5], "Bonn": EVIL[3]}
    files = {}
    for name, table in (("l <b>'&\".csv", people.labeled), ("u 😀.csv", people.unlabeled)):
        files[name] = str(folder / name)
        table.replace(levels).rename(columns=names).to_csv(files[name], index=False)
    two = str(folder / "two.csv")
    people.labeled.replace({"maybe": "yes"}).replace(levels).rename(columns=names).to_csv(
        two, index=False
    )
    totals = people.totals_by("region").replace(levels)
    totals.to_csv(folder / "totals.csv", index=False)
    labeled, unlabeled = files.values()
    common = ["--target", EVIL[1], "--id", EVIL[4], "--quiet"]
    known = ["--totals-file", str(folder / "totals.csv"), "--group", "region"]
    paper = ["--method", "c2rf", "--positive", EVIL[0], "--total", "40%", "--trees", "5"]
    found = {}
    for name, first, options in (("known", labeled, known), ("paper", two, paper)):
        found[name] = folder / f"{name}.html"
        out = ["--out", str(folder / f"{name}.csv"), "--report", str(found[name])]
        assert main(["classify", first, unlabeled, *common, *options, *out]) == 0
    ids = pd.read_csv(folder / "known.csv")
    assert list(ids) == [EVIL[4], "label", "score", "confidence"]
    counts = {EVIL[0]: "yes", EVIL[6]: "no", "maybe": "maybe"}
    assert ids["label"].map(counts).value_counts().to_dict() == people.totals()
    return found


class TestBrowser:
    @pytest.mark.parametrize("name", ["known", "paper"])
    def test_no_complaint_no_request_all_sections(self, reports, name, tmp_path):
        check_self_contained(reports[name].read_text())
        shown = browse(reports[name], tmp_path, "--dump-dom")
        assert "CONSOLE" not in shown.stderr
        dom = Page(shown.stdout)
        assert [name for name in dom.ids if name in ALL_SECTIONS] == SHOWN
        assert "script" not in dom.tags
        assert EVIL[0] in re.sub("[\u2068\u2069]", "", dom.text)

    def test_a_page_that_asks_for_something_is_found_out(self, reports, tmp_path):
        html = reports["paper"].read_text()
        spoilt = tmp_path / "spoilt.html"
        spoilt.write_text(html.replace("<main>", '<main><img src="https://c2rf.invalid/x.png">'))
        assert "CONSOLE" in browse(spoilt, tmp_path / "profile", "--dump-dom").stderr

    @pytest.mark.parametrize(
        ("size", "dark"), [("390,1600", False), ("1280,1100", False), ("1280,1100", True)]
    )
    def test_it_looks_like_a_page_at_any_width(self, reports, size, dark, tmp_path):
        picture = tmp_path / "page.png"
        dark_theme = ["--blink-settings=preferredColorScheme=0"] * dark
        browse(
            reports["known"], tmp_path / "profile", f"--screenshot={picture}",
            f"--window-size={size}", "--hide-scrollbars", *dark_theme,
        )  # fmt: skip
        pixels = matplotlib.image.imread(picture)[..., :3]
        assert pixels.shape[:2] == tuple(map(int, reversed(size.split(","))))
        assert (np.median(pixels) < 0.3) == dark
        # Text and pictures all the way down, and nothing that runs over the right edge.
        ground = pixels[0, 0]
        drawn = (np.abs(pixels - ground) > 0.02).any(axis=-1)
        assert drawn.reshape(10, -1).any(axis=1).all()
        assert not drawn[:, -5:].any()

    def test_it_can_be_printed(self, reports, tmp_path):
        paper = tmp_path / "page.pdf"
        browse(reports["known"], tmp_path / "profile", f"--print-to-pdf={paper}")
        assert paper.read_bytes().startswith(b"%PDF")


def test_the_command_in_the_report_does_it_again(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    make_people(150).write()
    line = (
        "classify labeled.csv unlabeled.csv --target sick --totals yes=40% --drop id "
        "--seed 5 --out out.csv --report report.html --force"
    )
    assert main(shlex.split(line)) == 0
    before = Path("out.csv").read_bytes(), _without_times(Path("report.html").read_text())
    command = re.search(r"<pre><code>c2rf (.*?)</code>", Path("report.html").read_text(), re.DOTALL)
    assert command is not None
    assert main(shlex.split(command[1])) == 0
    assert before == (Path("out.csv").read_bytes(), _without_times(Path("report.html").read_text()))


def _without_times(html: str) -> str:
    return re.sub(r"\d+\.\d\d s<", "", html)
