"""Which labels depend on a total: by hand for two classes, in groups, and with weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from c2rf.assignment import AssignmentProblem
from c2rf.exceptions import InputError
from c2rf.inference.sensitivity import check_share, find_sensitivity, shifted_bounds
from c2rf.totals.bounds import Bounds
from c2rf.totals.groups import Groups

CLASSES = np.array(["no", "yes"])


def two_classes(n_yes=50, n_rows=100):
    """Rows in the order of their probabilities, of which the last ones are labeled yes."""
    share = np.linspace(0.01, 0.99, n_rows)
    logs = np.log(np.column_stack([1 - share, share]))
    total = np.array([n_rows - n_yes, n_yes])
    problem = AssignmentProblem(Bounds.overall(total, total, n_rows), Groups.none(n_rows))
    return problem, logs, problem.solve(logs).labels


def test_the_rows_next_to_the_threshold_depend_on_the_totals():
    problem, logs, labels = two_classes()
    problem = with_errors(problem, [[0.0, 5.0]])
    found = find_sensitivity(problem, logs, labels, CLASSES, None)
    assert found.changed.tolist() == [[0, 0], [5, 5]]
    assert np.flatnonzero(~found.robust).tolist() == list(range(45, 55))
    table = found.frame()
    assert table["sensitive_to"][50] == "yes"
    assert table["sensitive_to"][0] == ""


def with_errors(problem, errors):
    return replace(problem, bounds=replace(problem.bounds, errors=np.array(errors)))


def test_each_total_has_an_error_of_its_own():
    problem, logs, labels = two_classes(n_yes=20)
    problem = with_errors(problem, [[4.0, 10.0]])
    found = find_sensitivity(problem, logs, labels, CLASSES, None)
    assert found.changed.tolist() == [[4, 4], [10, 10]]
    both = found.frame()["sensitive_to"] == "no, yes"
    assert both.sum() == 8


def test_the_other_classes_shrink_in_proportion():
    counts = np.array([[10.0, 30.0, 60.0], [0.0, 0.0, 40.0]])
    sizes = counts.sum(axis=1).astype(int)
    whole = counts.astype(int)
    bounds = Bounds(whole.sum(axis=0), whole.sum(axis=0), whole, whole, sizes)
    problem = AssignmentProblem(bounds, Groups(["a", "b"], np.repeat([0, 1], sizes)))
    higher = shifted_bounds(problem, counts, 0, counts[:, 0])
    assert higher.group_lower[0].tolist() == [20, 27, 53]
    # A group that is all of one class gives up some of it to the others alike.
    lower = shifted_bounds(problem, counts, 2, -counts[:, 2] / 2)
    assert lower.group_lower[1].tolist() == [10, 10, 20]
    assert (lower.group_lower == lower.group_upper).all()


def test_weights_are_shifted_without_rounding():
    weights = np.full(4, 2.5)
    total = np.array([5.0, 5.0])
    free = np.zeros((1, 2))
    bounds = Bounds(total, total, free, free + 10, np.array([10.0]))
    problem = AssignmentProblem(bounds, Groups.none(4), weights)
    moved = shifted_bounds(problem, np.array([[5.0, 5.0]]), 1, np.array([0.5]))
    np.testing.assert_allclose(moved.lower, [4.5, 5.5])


def test_an_estimate_of_zero_can_be_off():
    problem, logs, labels = two_classes(n_yes=0)
    found = find_sensitivity(with_errors(problem, [[0.0, 3.0]]), logs, labels, CLASSES, None)
    assert found.changed.tolist() == [[0, 0], [0, 3]]
    assert found.off.tolist() == [0, 3]


def test_of_a_share_every_total_is_off_by_it():
    problem, logs, labels = two_classes(n_yes=20)
    found = find_sensitivity(problem, logs, labels, CLASSES, 0.05)
    assert found.off.tolist() == [4, 1]
    assert found.changed.tolist() == [[4, 4], [1, 1]]


def test_shares_come_from_the_user_or_from_standard_errors():
    check_share(0.05, None)
    check_share(None, np.array([[0.2, 3.0]]))
    for share, match in ((None, "no total has a standard error"), (0, "above 0"), ("x", "above 0")):
        with pytest.raises(InputError, match=match):
            check_share(share, None)
