"""Frames of every kind as numbers, the learner, and probabilities that add up to totals."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from scipy.special import softmax
from sklearn.ensemble import ExtraTreesClassifier

from c2rf import BlendClassifier, KnownTotalsClassifier
from c2rf.assignment import AssignmentProblem
from c2rf.estimators.training import probability_offsets
from c2rf.exceptions import InputError
from c2rf.totals.bounds import Bounds
from c2rf.totals.groups import Groups

SMALL = BlendClassifier(base_learners=("trees", "svc"), n_estimators=20)


def people(n_rows, seed=0):
    """Return a frame whose every column is of another kind, and a class that four of them show."""
    rng = np.random.default_rng(seed)
    sick = rng.random(n_rows) < 0.4

    def shown(yes, no, noise=0.25):
        return np.where((rng.random(n_rows) < noise) ^ sick, yes, no)

    month = shown(1, 7) + rng.integers(-1, 2, n_rows)
    table = pd.DataFrame(
        {
            "age": np.where(rng.random(n_rows) < 0.1, np.nan, shown(60.0, 40.0)),
            "town": pd.Series(shown("Ulm", "Bonn")).where(rng.random(n_rows) > 0.1),
            "level": pd.Categorical(shown("high", "low")),
            "member": shown(True, False),
            "since": pd.to_datetime({"year": 2020, "month": np.maximum(month, 1), "day": 3}),
            "note": [f"person {k}" for k in range(n_rows)],
        }
    )
    return table, np.where(sick, "yes", "no")


def fitted(table, y, *, estimator=SMALL, unlabeled=None, n_labeled=80):
    X, rest = table[:n_labeled], table[n_labeled:] if unlabeled is None else unlabeled
    total = int((y[n_labeled:] == "yes").sum())
    model = KnownTotalsClassifier(estimator, random_state=0)
    return model.fit(X, y[:n_labeled], X_unlabeled=rest, totals={"yes": total})


def right(model, y, n_labeled=80):
    return (model.transduction_ == y[n_labeled:]).mean()


def test_every_kind_is_learned_from():
    table, y = people(600)
    all_columns = right(fitted(table, y), y)
    assert all_columns > 0.8
    for name in ("town", "level", "member", "since"):
        assert right(fitted(table[[name]], y), y) > 0.65, name


def test_the_default_does_it_and_tells_rows_apart_from_polars_as_from_pandas():
    table, y = people(300)
    ours = fitted(table, y, estimator=None)
    total = int((y[80:] == "yes").sum())
    assert (ours.transduction_ == "yes").sum() == total
    theirs = fitted(pl.from_pandas(table), y, estimator=None)
    assert (ours.transduction_ == theirs.transduction_).all()
    assert (ours.predict(table) == theirs.predict(pl.from_pandas(table))).all()
    assert ours.n_features_in_ == 6


def test_chunks_are_encoded_where_they_are():
    table, y = people(300)
    rest = table[80:]
    whole = fitted(table, y)
    parts = fitted(table, y, unlabeled=lambda: (rest[k : k + 50] for k in range(0, 220, 50)))
    assert (whole.transduction_ == parts.transduction_).all()


def test_forests_get_the_same_numbers():
    table, y = people(300)
    assert right(fitted(table, y, estimator=ExtraTreesClassifier(50)), y) > 0.75


def test_what_cannot_be_encoded():
    table, y = people(200)
    with pytest.raises(InputError, match="must be those of X; missing: 'town'"):
        fitted(table, y, unlabeled=table[80:].drop(columns="town"))
    with pytest.raises(InputError, match="X must be a frame"):
        fitted(table, y).predict(np.ones((3, 6)))
    with pytest.raises(InputError, match="differs in nearly every row"):
        fitted(table[["note"]], y)
    odd = table.assign(age=table["age"].astype(object))
    odd.loc[150, "age"] = "old"
    with pytest.raises(InputError, match="column 'age' must hold numbers; found 'old'"):
        fitted(odd, y)


def test_many_values_of_text():
    table, y = people(3000)
    table["street"] = [f"street {k % 2500}" for k in range(3000)]
    assert right(fitted(table, y), y) > 0.8


def test_sparse_matrices():
    rng = np.random.default_rng(0)
    y = rng.random(400) < 0.5
    X = csr_matrix((rng.random((400, 30)) < 0.1 + 0.3 * y[:, None] * (np.arange(30) < 8)) * 1.0)
    total = {True: int(y[100:].sum())}
    model = KnownTotalsClassifier(SMALL, random_state=0)
    sparse = model.fit(X[:100], y[:100], X_unlabeled=X[100:], totals=total).transduction_
    dense = X.toarray()
    same = model.fit(dense[:100], y[:100], X_unlabeled=dense[100:], totals=total).transduction_
    assert (sparse == same).all()
    assert (sparse == y[100:]).mean() > 0.75
    huge = csr_matrix((200, 2_000_000))
    with pytest.raises(InputError, match="X is a sparse matrix of 400,000,000 cells"):
        model.fit(huge, np.arange(200) < 9)


@pytest.mark.parametrize("n_sampled", [None, 150])
def test_mean_probabilities_are_the_shares_of_labels_in_every_group(n_sampled):
    rng = np.random.default_rng(0)
    logs = np.log(rng.dirichlet(np.ones(3), 300))
    codes = np.arange(300) % 2
    counts = np.array([[100, 30, 20], [10, 60, 80]])
    bounds = Bounds(counts.sum(axis=0), counts.sum(axis=0), counts, counts, counts.sum(axis=1))
    problem = AssignmentProblem(bounds, Groups(["a", "b"], codes, ("group",)))
    rows = None if n_sampled is None else np.arange(n_sampled)
    own = logs[:n_sampled]
    offsets = probability_offsets(problem, own, counts, rows)
    corrected = softmax(own + offsets[codes[:n_sampled]], axis=1)
    for g in range(2):
        mean = corrected[codes[:n_sampled] == g].mean(axis=0)
        np.testing.assert_allclose(mean, counts[g] / counts[g].sum(), atol=1e-8)


def test_a_group_without_sampled_rows_has_no_offsets():
    counts = np.array([[1, 1], [2, 0]])
    bounds = Bounds(counts.sum(axis=0), counts.sum(axis=0), counts, counts, counts.sum(axis=1))
    problem = AssignmentProblem(bounds, Groups(["a", "b"], np.array([0, 0, 1, 1])))
    logs = np.log([[0.3, 0.7], [0.6, 0.4]])
    offsets = probability_offsets(problem, logs, counts, np.array([0, 1]))
    assert offsets[0].any()
    assert not offsets[1].any()
