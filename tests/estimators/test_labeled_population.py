"""The unlabeled rows of a classifier: groups, weights, and labels and scores in chunks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from c2rf import InputError, KnownTotalsClassifier
from c2rf.assignment import AssignmentProblem
from c2rf.data.population.memory import Memory
from c2rf.datasets import make_twonorm
from c2rf.estimators.labeled_population import (
    LabeledPopulation,
    ScoredPopulation,
    find_groups,
    logarithms,
)
from c2rf.totals.bounds import Bounds
from c2rf.totals.groups import Groups
from c2rf.totals.stated import read_totals

X, Y = make_twonorm(200, random_state=0)
WEIGHTS = np.random.default_rng(0).gamma(4, 10, 150).round()
FRAME = pd.DataFrame(X[50:], columns=[f"x{k}" for k in range(20)]).assign(w=WEIGHTS)
LABELED = pd.DataFrame(X[:50], columns=FRAME.columns[:20])  # who was asked has no weight
TOTAL = {1: int(WEIGHTS[Y[50:] == 1].sum())}


def fitted(rows, weights, labeled=LABELED):
    model = KnownTotalsClassifier(LogisticRegression(), random_state=0)
    return model.fit(labeled, Y[:50], X_unlabeled=rows, totals=TOTAL, unlabeled_weight=weights)


def test_a_name_is_the_column():
    by_name, by_array = fitted(FRAME, "w"), fitted(FRAME.drop(columns="w"), WEIGHTS)
    np.testing.assert_array_equal(by_name.transduction_, by_array.transduction_)
    reached = WEIGHTS[by_name.transduction_ == 1].sum()
    assert abs(reached - TOTAL[1]) <= WEIGHTS.max()


@pytest.mark.parametrize(
    ("rows", "name", "said"),
    [
        (FRAME, "wt", "'wt'"),
        (FRAME.assign(w=-1.0), "w", r"unlabeled_weight \('w'\)"),
        (FRAME.assign(w=np.nan), "w", r"unlabeled_weight \('w'\)"),
    ],
)
def test_what_is_no_column_of_weights(rows, name, said):
    with pytest.raises(InputError, match=said):
        fitted(rows, name)


def test_rows_without_names():
    said = "is the name 'w', but X_unlabeled has no columns with names"
    with pytest.raises(InputError, match=said):
        fitted(X[50:], "w", labeled=X[:50])


BY_REGION = [{"region": "n", "class": 1, "total": 2}, {"region": "s", "class": 1, "total": 1}]


def test_groups_are_columns_of_the_rows_or_given():
    totals = read_totals(BY_REGION, [0, 1])
    table = pd.DataFrame({"x": range(4), "region": list("nsnn")})
    for rows, given in (
        (table, None),
        (table[["x"]], table["region"]),
        (table[["x"]], list("nsnn")),
    ):
        found = find_groups(rows, totals, given, 4)
        assert [found.names[code] for code in found.codes] == list("nsnn")
        assert found.columns == ("region",)


def test_groups_that_are_nowhere():
    with pytest.raises(InputError, match="unlabeled_groups"):
        find_groups(np.zeros((4, 1)), read_totals(BY_REGION, [0, 1]), None, 4)
    with pytest.raises(InputError, match="no table with columns of groups"):
        find_groups(np.zeros((4, 1)), read_totals({1: 2}, [0, 1]), list("nsnn"), 4)


def test_rows_by_pattern_have_the_label_and_score_of_their_pattern():
    population = Memory(np.zeros((4, 3)))
    table, codes = np.array(["no", "yes"]), np.array([1, 0, 0, 1])
    rows = LabeledPopulation(population, table, codes, np.array([-2.0, 3.0]))
    (chunk,) = rows.chunks()
    assert chunk.labels.tolist() == rows.labels.tolist() == ["yes", "no", "no", "yes"]
    assert chunk.scores.tolist() == [3, -2, -2, 3]
    assert rows.population.n_rows == 4  # and the table itself is not kept


def test_rows_with_probabilities_are_corrected_in_their_groups():
    scores = np.array([[0.5, 0.5], [0.5, 0.5], [0.0, 1.0]])
    groups = Groups(["a", "b"], np.array([0, 1, 1]), ("group",))
    problem = AssignmentProblem(Bounds.overall([1, 2], [1, 2], 3), groups)
    offsets = np.array([[0.0, 0.0], [np.log(3), 0.0]])
    rows = ScoredPopulation(
        Memory(np.zeros((3, 1))), np.array([0, 1]), np.array([0, 1, 1]), scores, offsets, 0.1,
        problem,
    )  # fmt: skip
    # A zero counts as 0.1: odds of 3 * 0.1 to 1 in the second group.
    expected = [[0.5, 0.5], [0.75, 0.25], [0.3 / 1.3, 1 / 1.3]]
    np.testing.assert_allclose(rows.probabilities, expected)
    np.testing.assert_allclose(rows.confusion[0], [0.5, 0.5])
    np.testing.assert_allclose(rows.confusion.sum(axis=1), [1, 2])
    np.testing.assert_allclose(logarithms(scores, 0.1, problem)[2], np.log([0.1, 1]))
