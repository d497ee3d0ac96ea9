"""What the report says of the method is true: who learned, what was proven, what could mislead."""

from __future__ import annotations

import numpy as np
import pytest

from c2rf.learners import base_learners
from c2rf.report.method import (
    BASE_LEARNERS,
    assumptions_section,
    cautions_section,
    find_cautions,
    method_section,
    repeat_section,
)
from c2rf.totals.bounds import Bounds
from made_up import column, forest, made_up, ranking


@pytest.fixture(autouse=True)
def without_pictures(monkeypatch):
    """Drawing takes longer than reading."""
    monkeypatch.setattr("c2rf.report.figures.inline_svg", lambda *_: "<svg></svg>")


def tables(section):
    return {block.title: block for block in section if block.kind == "table"}


def texts(section):
    return [block.text for block in section if hasattr(block, "text")]


MISSED = {"bounds": Bounds.overall([43, 17], [43, 17], 60)}


def test_every_base_learner_has_words():
    assert set(BASE_LEARNERS) == set(base_learners.BASE_LEARNERS)
    assert len(set(BASE_LEARNERS.values())) == len(BASE_LEARNERS)


class TestMethod:
    def test_base_learners_are_listed(self):
        history = [
            {"base_learner": "trees", "accuracy": 0.912, "weight": 0.75},
            {"base_learner": "unheard-of", "accuracy": None, "weight": 0.25},
        ]
        found = tables(method_section(made_up(classifier=ranking(history_=history))))
        first, second = found["Base learners and their weights"].rows
        assert first == [BASE_LEARNERS["trees"], "91.2 %", "75 %"]
        assert second == ["unheard-of", "", "25 %"]

    def test_how_likely_the_labels_are_is_as_proven(self):
        def said(**changes):
            return texts(method_section(made_up(**changes)))[0]

        assert "no labels that meet them are likelier (proven)" in said()
        near = said(classifier=ranking(assignment_={"gap": 0.25}))
        assert "within 0.25 of the highest log-likelihood (proven)" in near
        weighted = said(weights=np.full(60, 2.0))
        assert "likelier" not in weighted
        assert "as nearly as the answer says" in weighted

    def test_what_is_proven_of_weighted_trees(self):
        assert "none can do better." in texts(method_section(made_up(classifier=forest(0, 0))))[1]
        proven = texts(method_section(made_up(classifier=forest(3, 3), **MISSED)))[1]
        assert proven == (
            "No weighting of these 5 trees with weights in [1, 100] comes closer than 3."
        )
        open_yet = texts(method_section(made_up(classifier=forest(3, 1), **MISSED)))[1]
        assert open_yet.startswith("Not proven optimal")

    def test_a_solver_is_named_only_where_one_ran(self):
        def rows(**stats):
            found = tables(method_section(made_up(classifier=forest(0, 0, **stats))))
            return dict(found["The search for weights"].rows)

        assert "backend" not in rows(method="auto")
        ran = rows(method="c2rf", backend="scip", backend_version="10.0.2")
        assert (ran["backend"], ran["backend version"]) == ("scip", "10.0.2")

    def test_versions_name_a_solver_only_for_weighted_trees(self):
        def packages(**changes):
            return [name for name, _ in tables(repeat_section(made_up(**changes)))["Versions"].rows]

        assert "highspy" not in packages()
        assert "highspy" in packages(classifier=forest(0, 0))

    def test_text_columns_have_unseen_values(self):
        columns = [column("age", "numbers", 9, (1, 2), 0), column("t", "one-hot", 3, (0, 0), 4)]
        rows = tables(method_section(made_up(columns=columns)))[
            "The columns that were learned from"
        ].rows
        assert rows[0] == ["age", "a number", "9", "1", "2", ""]
        assert rows[1][-1] == "4"


def test_missed_totals_are_nowhere_said_to_hold():
    for section in (assumptions_section, cautions_section):
        holds = texts(section(made_up()))[-1 if section is cautions_section else 0]
        missed = texts(section(made_up(classifier=forest(3, 3), **MISSED)))
        assert "totals" in holds
        assert not any("totals hold" in text or "right in their totals" in text for text in missed)


class TestCautions:
    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({"labels": np.array(["yes"] * 40 + ["no"] * 3, dtype=object)}, "'no'\u2069 (3)"),
            (
                {"columns": [column("t", "one-hot", 4, (0, 0), 7)]},
                "Unseen levels: 7 rows of the population (11.7 %)",
            ),
            (
                {"columns": [column("t", "one-hot", 4, (3, 30), 0)]},
                "Missing values: 3 cells of the sample and 30 cells of the population",
            ),
            (
                {"columns": [column("t", "one-hot", 4, (3, 30), 0)]},
                "Empty far more often in one file than in the other: \u2068't'",
            ),
            (
                {"columns": [column(f"x{k}", "numbers", 9, (0, 0), 0) for k in range(99)]},
                "more columns (99) than labeled rows (40)",
            ),
            ({"bounds": Bounds.overall([0, 60], [0, 60], 60)}, "every unlabeled row is"),
            ({"remarks": ["Beware of the dog."]}, "Beware of the dog."),
            ({"weights": np.ones(60)}, "Rows have weights"),
        ],
    )  # fmt: skip
    def test_what_could_mislead_is_told(self, changes, said):
        if "labels" in changes:  # those of the sample
            result = made_up()
            result.data.labels = changes["labels"]
        else:
            result = made_up(**changes)
        assert any(said in entry for entry in find_cautions(result))

    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({"scores": np.repeat([-1.0, 1.0], 30)}, "Many ties: 30 rows (50.0 %)"),
            ({"confidence": np.full(60, 0.55)}, "60 labels (100.0 %) have a confidence below 0.6"),
            (
                {"confidence": np.append(np.full(57, 0.9), [0.4, 0.3, 0.2])},
                "Against the odds: 3 labels (5.0 %)",
            ),
            (
                {"classifier": forest(3, 1)} | MISSED,
                "The total is missed. Rows on which all trees vote alike",
            ),
        ],
    )
    def test_scores_and_trees_that_could_mislead(self, changes, said):
        (entry,) = find_cautions(made_up(**changes))
        assert entry.startswith(said)

    def test_shares_are_scaled_up_from_the_rows_shown(self):
        result = made_up(scores=np.repeat([-1.0, 1.0], 30), found={"shown_rows": np.arange(20)})
        assert find_cautions(result)[0].startswith("Many ties: 60 rows (100.0 %)")

    def test_rows_whose_label_is_known_are_not_tied(self):
        scores = np.append(np.arange(30.0), np.full(30, 100.0))
        known = np.append(np.full(30, -1), np.ones(30, dtype=int))
        changes = {"scores": scores, "confidence": np.full(60, 0.9)}
        assert find_cautions(made_up(**changes))
        assert find_cautions(made_up(**changes, known=known)) == []

    def test_rows_that_totals_leave_one_class_are_not_tied(self):
        """As of children, where the table says that none of them works."""
        scores = np.append(np.arange(30.0), np.full(30, 100.0))
        confidence = np.append(np.full(30, 0.9), np.ones(30))
        assert find_cautions(made_up(scores=scores, confidence=confidence)) == []
        tied = find_cautions(made_up(scores=scores, confidence=np.full(60, 0.9)))
        assert tied[0].startswith("Many ties: 30 rows")

    def test_nothing_is_made_up(self):
        assert find_cautions(made_up()) == []
        assert texts(cautions_section(made_up()))[0] == "Nothing that stands out."

    def test_the_share_of_the_weight_of_trees_is_no_probability(self):
        confidence = np.append(np.full(57, 0.9), [0.4, 0.3, 0.2])
        assert find_cautions(made_up(classifier=forest(0, 0), confidence=confidence)) == []
