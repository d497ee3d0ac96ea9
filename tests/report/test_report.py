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
from c2rf.forest.problem import Solution
from c2rf.report import make_page
from c2rf.report.cautions import cautions
from c2rf.report.facts import (
    AdjustmentFact,
    BalanceFact,
    Facts,
    FeatureFact,
    ForestFact,
    ImportanceFact,
    RankingFact,
    RightFact,
)
from c2rf.report.method import make_content
from c2rf.totals.bounds import Bounds
from people import make_people, quick_estimator

SECTIONS = [
    "data", "answer", "assumed", "missed", "right", "sure", "how", "careful", "repeat",
]  # fmt: skip
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


def facts(n: int = 60, **changes) -> Facts:
    """Made-up facts: 60 rows, of which 20 are to be and are positive."""
    scores = np.arange(n) - 2 * n // 3 + 0.5
    labels = np.where(scores > 0, "yes", "no").astype(object)
    known = np.array([np.sum(labels == name) for name in ("no", "yes")])
    plain = Facts(
        labeled_file="l.csv",
        unlabeled_file="u.csv",
        target="sick",
        method="c2rf",
        classes=["no", "yes"],
        sample=np.array(["yes"] * 30 + ["no"] * 10, dtype=object),
        bounds=Bounds.overall(known, known, n),
        group=None,
        group_names=["all"],
        groups=np.zeros(n, dtype=np.int64),
        labels=labels,
        scores=scores,
        confidence=np.linspace(0.5, 1, n),
        positive="yes",
        names=[f"row {k}" for k in range(n)],
        features=[FeatureFact("age", "a number", False, 9, (0, 0), 0)],
        command="c2rf classify l.csv u.csv",
        seed=0,
        versions={"c2rf": "0"},
        seconds={"learning": 1.5},
    )
    return replace(plain, **changes)


def forest(eta: int, bound: int, n_trees: int = 5, n: int = 60) -> ForestFact:
    status = "optimal" if eta == bound else "feasible"
    labels = np.ones(n, dtype=np.int8)
    solution = Solution(np.arange(1.0, n_trees + 1), 0.0, labels, eta, bound, status, 1.0)
    return ForestFact(solution, 1.0, 100.0)


def text(of: Facts) -> str:
    """Return what a reader reads, without the marks of direction."""
    return re.sub("[\u2068\u2069]", "", Page(make_page(of)).text)


class TestWords:
    @pytest.fixture(autouse=True)
    def without_pictures(self, monkeypatch):
        """Drawing takes longer than reading."""
        monkeypatch.setattr("c2rf.report.figures.inline_svg", lambda *_: "<svg></svg>")

    def test_how_biased_and_whether_totals_are_met(self):
        said = text(facts())
        assert "75.0 % of it are 'yes', but of the rows to be labeled 33.3 % are" in said
        assert "41.7 percentage points" in said
        assert "40 'no', 20 'yes'. All known totals are met exactly." in said

    def test_a_sample_that_is_like_the_population_is_not_called_biased(self):
        sample = np.array(["yes"] * 20 + ["no"] * 40, dtype=object)
        assert "about as often as the known totals" in text(facts(sample=sample))

    def test_a_total_that_is_missed_is_counted_once(self):
        said = text(facts(bounds=Bounds.overall([43, 17], [43, 17], 60), forest=forest(3, 3)))
        assert "The known totals are missed by 3 rows" in said
        assert "No weighting of these trees can come closer than 3: this is proven." in said
        assert "not attainable" in said

    def test_a_proof_that_is_open_is_told_as_that(self):
        said = text(facts(bounds=Bounds.overall([43, 17], [43, 17], 60), forest=forest(3, 1)))
        assert "can come closer than 1" in said
        assert "was not settled" in said
        assert "stopped before the end" in said

    def test_a_total_that_is_met_needs_no_bound(self):
        said = text(facts(forest=forest(0, 0)))
        assert "none can do better" in said
        assert "not attainable" not in said

    def test_groups_are_compared_with_their_totals(self):
        sizes = np.array([30, 30])
        bounds = Bounds(
            np.array([0, 0]), np.array([60, 60]), np.array([[28, 0], [0, 0]]),
            np.array([[28, 2], [30, 30]]), sizes,
        )  # fmt: skip
        grouped = facts(
            group="land", group_names=["a", "b"], groups=np.repeat([0, 1], 30), bounds=bounds
        )
        said = text(grouped)
        assert "missed by 2 rows" in said
        assert "1 group of 'land' without a total of their own: 'b'" in said
        assert re.search(r"a\s*no\s*28\s*30\s*30\s*\+2", said)

    def test_members_are_listed(self):
        members = [
            {"base_learner": "trees", "accuracy": 0.912, "weight": 0.75},
            {"base_learner": "svc", "accuracy": None, "weight": 0.25},
        ]
        ranking = RankingFact("A blend", {"no": 0.5, "yes": -np.inf}, members)
        said = text(facts(method="known-totals", ranking=ranking))
        for words in ("91.2 %", "75 %", "support vectors", "+0.500", "-inf", "log-probability"):
            assert words in said

    def test_rows_nearest_to_the_cut_off_come_first(self):
        content = make_content(facts())
        grids = {
            part.title: part for s in content.sections for part in s.parts if part.kind == "grid"
        }
        rows = grids["The rows nearest to the cut-off"].rows
        order = np.argsort(np.abs(facts().scores), kind="stable")[:10]
        assert [row[0] for row in rows] == [f"row {k}" for k in order]


class TestCautions:
    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({"sample": np.array(["yes"] * 40 + ["no"] * 3, dtype=object)}, "'no'\u2069 (3)"),
            ({"scores": np.repeat([-1.0, 1.0], 30)}, "Many ties: 30 rows (50.0 %)"),
            ({"confidence": np.full(60, 0.55)}, "60 labels (100.0 %) have a confidence below 0.6"),
            (
                {"features": [FeatureFact("c", "a number", False, 1, (0, 0), 0)]},
                "Nothing can be learned from the column",
            ),
            (
                {"features": [FeatureFact("key", "text", True, 40, (0, 0), 60)]},
                "differs in almost every labeled row",
            ),
            (
                {"features": [FeatureFact("t", "text", True, 4, (0, 0), 7)]},
                "Unseen levels: 7 unlabeled rows",
            ),
            (
                {"features": [FeatureFact("t", "text", True, 4, (3, 30), 0)]},
                "Missing values: 3 labeled cells and 30 unlabeled cells",
            ),
            (
                {"features": [FeatureFact("t", "text", True, 4, (3, 30), 0)]},
                "far more often in one file",
            ),
            (
                {
                    "features": [
                        FeatureFact(f"x{k}", "a number", False, 9, (0, 0), 0) for k in range(99)
                    ]
                },
                "more columns (99) than labeled rows (40)",
            ),
            ({"bounds": Bounds.overall([0, 60], [0, 60], 60)}, "every unlabeled row is"),
            ({"remarks": ["Beware of the dog."]}, "Beware of the dog."),
        ],
    )
    def test_what_could_mislead_is_told(self, changes, said):
        assert any(said in entry for entry in cautions(facts(**changes)))

    def test_nothing_is_made_up(self):
        assert cautions(facts()) == []
        assert "Nothing that stands out." in text(facts())

    def test_labels_against_the_odds_are_counted(self):
        ranking = RankingFact("X", {"no": 0.0, "yes": 0.0}, [])
        confidence = np.append(np.full(57, 0.9), [0.4, 0.3, 0.2])
        (said,) = cautions(facts(ranking=ranking, confidence=confidence))
        assert said.startswith("Against the odds: 3 labels (5.0 %)")


class TestPage:
    def test_same_facts_same_page(self):
        assert make_page(facts(forest=forest(3, 1))) == make_page(facts(forest=forest(3, 1)))

    def test_every_section_is_there_and_ids_are_unique(self):
        page = check_self_contained(make_page(facts(forest=forest(3, 1))))
        assert [name for name in page.ids if name in SECTIONS] == SECTIONS
        assert len(set(page.ids)) == len(page.ids)
        assert page.tags.count("svg") == 4

    @pytest.mark.parametrize("evil", EVIL)
    def test_text_of_users_is_shown_and_not_run(self, evil):
        labels = np.where(facts().labels == "yes", evil, "no").astype(object)
        html = make_page(
            facts(
                labeled_file=evil, unlabeled_file=evil, target=evil, classes=sorted(["no", evil]),
                labels=labels, sample=np.array([evil, "no"] * 20, dtype=object), positive=evil,
                names=[evil] * 60, features=[FeatureFact(evil, "text", True, 1, (1, 1), 1)],
                command=evil, group=evil, group_names=[evil], remarks=[evil],
                versions={evil: evil}, notes=[evil],
                changes=[AdjustmentFact(evil, evil, "1", "2", "+1")],
                balance=[BalanceFact(evil, 1.0, 2.0, 3.0, 0.5, 0.1)],
                right=[RightFact("all", evil, 1, 0.5, 0.1, 0.9, 0.95)],
                importance=ImportanceFact({evil: 0.1}, 100), confusion=np.eye(2),
            )
        )  # fmt: skip
        page = check_self_contained(html)
        assert "img" not in page.tags
        assert " ".join(evil.split())[:14] in " ".join(page.text.split())

    def test_whatever_the_input_the_page_is_small(self):
        n, many, long = 20_000, 500, "x" * 10_000
        rng = np.random.default_rng(0)
        names = [f"{k} {long}" for k in range(many)]
        sizes = np.full(many, n // many)
        free = np.zeros((many, 400), dtype=np.int64)
        classes = [f"{k:03d} {long}" for k in range(400)]
        labels = np.array(classes, dtype=object)[np.arange(n) % 400]
        html = make_page(
            facts(
                n=n, classes=classes, labels=labels, sample=labels[:1000], positive=None,
                scores=rng.random(n), confidence=rng.random(n), names=[long] * n, group=long,
                bounds=Bounds(free[0], free[0] + n, free, free + n // many, sizes),
                group_names=names, groups=np.arange(n) % many, forest=forest(3, 1, 5000, n),
                features=[FeatureFact(long, "text", True, 1, (1, 1), 1)] * 3000,
                command=long, remarks=[long] * 1000, target=long, labeled_file=long,
                changes=[AdjustmentFact(long, long, "1", "2", "+1")] * 1000,
                balance=[BalanceFact(long, 1.0, 2.0, 3.0, 0.5, 0.1)] * 1000,
                right=[RightFact("class", long, 1, 0.5, 0.1, 0.9, 0.95)] * 1000,
                importance=ImportanceFact({f"{k} {long}": 0.1 for k in range(1000)}, 100),
                confusion=np.ones((400, 400)),
            )
        )  # fmt: skip
        assert len(html.encode()) < 2_000_000
        check_self_contained(html)

    @pytest.mark.parametrize(
        "changes",
        [
            {"scores": np.zeros(60)},
            {"scores": np.full(60, 3.5)},
            {"scores": np.full(60, -1e300)},
            {"scores": np.linspace(1e-300, 2e-300, 60)},
            {"confidence": np.zeros(60)},
            {"positive": None},
            {"features": []},
            {"forest": forest(0, 0, 1)},
            {"bounds": Bounds.overall([0, 0], [60, 60], 60)},
            {"labels": np.array(["no"] * 60, dtype=object)},
        ],
    )
    def test_odd_numbers_can_be_drawn(self, changes):
        check_self_contained(make_page(facts(**changes)))

    def test_a_single_row(self):
        check_self_contained(make_page(facts(n=1)))


@pytest.fixture(scope="module", autouse=True)
def quick():
    """Labels need not be good to be reported."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("c2rf.estimators.learning.default_estimator", quick_estimator)
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
        assert [name for name in dom.ids if name in SECTIONS] == SECTIONS
        assert "script" not in dom.tags
        assert EVIL[0] in re.sub("[\u2068\u2069]", "", dom.text)

    def test_a_page_that_asks_for_something_is_found_out(self, reports, tmp_path):
        html = reports["paper"].read_text()
        spoilt = tmp_path / "spoilt.html"
        spoilt.write_text(html.replace("<main>", '<main><img src="https://c2rf.invalid/x.png">'))
        assert "CONSOLE" in browse(spoilt, tmp_path / "profile", "--dump-dom").stderr

    @pytest.mark.parametrize(
        ("size", "dark"), [("390,3000", False), ("1280,3000", False), ("1280,3000", True)]
    )
    def test_it_looks_like_a_page_at_any_width(self, reports, size, dark, tmp_path):
        picture = tmp_path / "page.png"
        night = ["--blink-settings=preferredColorScheme=0"] * dark
        browse(
            reports["known"], tmp_path / "profile", f"--screenshot={picture}",
            f"--window-size={size}", "--hide-scrollbars", *night,
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
