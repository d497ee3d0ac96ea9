"""``solve`` against enumeration, its symmetries, its bad input and its limits."""

from __future__ import annotations

import os
import re
import signal
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import c2rf
from brute import optimum
from c2rf.datasets import biased_sample, make_ringnorm
from c2rf.exceptions import (
    BackendNotInstalledError,
    InfeasibleError,
    InputError,
    InputTypeError,
    NoSolutionError,
)
from c2rf.forest.backends import BACKENDS, installed
from c2rf.forest.bounds.conflict_graph import pair_cuts
from c2rf.forest.bounds.cuts import CutPool, Separator
from c2rf.forest.bounds.feasibility import LinearProgram
from c2rf.forest.ensembles import make_ensemble
from c2rf.forest.paper import reduce
from c2rf.forest.problem import Problem, make_problem
from c2rf.forest.solve import SOLVE_METHODS
from c2rf.forest.votes import PatternTable
from strategies import cases

VOTES = np.array([[1, 1, -1], [-1, 1, -1], [-1, 1, 1], [-1, -1, 1]])
PAPER = ["c2rf", "p-c2rf", "only-pp", "only-br"]
FIXED_BOXES = [(1, 1), (1, 1.25), (0.3, 0.9), (3, 3.5), (1, 2), (1, 1000)]


def small_case(seed, box):
    """Votes of few patterns, sometimes with repeated trees, and a total."""
    rng = np.random.default_rng(seed)
    t = int(rng.integers(1, 6))
    kinds = np.where(rng.random((7, t)) < rng.uniform(0.2, 0.8, size=t), 1, -1)
    votes = kinds[rng.integers(len(kinds), size=int(rng.integers(1, 20)))]
    votes = votes[:, rng.integers(t, size=t + int(rng.integers(0, 2)))]
    return votes, int(rng.integers(len(votes) + 1)), *box


def answer_of(case, offset=None, **how):
    """The optimum that ``solve`` proves and ``verify`` confirms, None if it says infeasible."""
    votes, target, lower, upper = case
    try:
        solution = c2rf.solve(votes, target, lower, upper, offset=offset, **how)
    except InfeasibleError:
        return None
    c2rf.verify(votes, target, solution, lower, upper, offset=offset)
    assert (solution.status, solution.bound) == ("optimal", solution.eta)
    return solution.eta


@pytest.mark.parametrize("backend", installed())
@pytest.mark.parametrize("box", FIXED_BOXES)
def test_all_methods_and_solvers_agree_with_enumeration(backend, box):
    for seed in range(3):
        case = small_case([seed, *map(int, box)], box)
        expected = optimum(make_problem(*case))
        answers = {method: answer_of(case, method=method, backend=backend) for method in PAPER}
        assert answers == dict.fromkeys(PAPER, expected)
        assert answer_of(case) == expected


@given(cases())
@settings(max_examples=60)
def test_offsets_and_boxes_against_enumeration(case):
    *plain, offset = case
    assert answer_of(plain, offset, method="p-c2rf") == optimum(make_problem(*case))
    assert answer_of(plain, offset) == optimum(make_problem(*case))


@given(cases(), st.sampled_from(["p-c2rf", "c2rf", "auto"]))
@settings(max_examples=40)
def test_negated_votes_have_the_mirrored_optimum(case, method):
    votes, target, lower, upper, offset = case
    turned = None if offset is None else (-offset[1], -offset[0])
    one = answer_of((votes, target, lower, upper), offset, method=method)
    other = answer_of((-votes, len(votes) - target, lower, upper), turned, method=method)
    assert one == other


@given(cases(), st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_the_order_of_points_and_trees_does_not_matter(case, random):
    votes, target, lower, upper, offset = case
    rows, columns = list(range(votes.shape[0])), list(range(votes.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    one = answer_of((votes, target, lower, upper), offset)
    assert one == answer_of((votes[rows][:, columns], target, lower, upper), offset)


@given(cases(offset=False))
@settings(max_examples=40)
def test_doubling_all_points_doubles_eta(case):
    votes, target, lower, upper, _ = case
    one = answer_of((votes, target, lower, upper))
    other = answer_of((np.repeat(votes, 2, axis=0), 2 * target, lower, upper))
    assert other == (None if one is None else 2 * one)


def test_a_wider_box_is_never_worse():
    for seed in range(10):
        etas = [answer_of(small_case(seed, (1, upper))) for upper in (1, 1.25, 2, 10, 100)]
        known = [eta for eta in etas if eta is not None]
        assert known == sorted(known, reverse=True)
        assert all(eta is not None for eta in etas[2:])  # two consecutive integers


def test_one_tree_can_outweigh_all_others():
    # The first tree outweighs the other two, the total is its own, and no other weights do it.
    votes = np.array([[1, -1, -1]] * 7 + [[-1, 1, 1]] * 5)
    solution = c2rf.solve(votes, 7)
    assert solution.eta == 0
    assert solution.weights[0] >= solution.weights[1] + solution.weights[2] + 1
    assert c2rf.solve(votes, 7, upper=1.5).eta == 2


# Tables, rates, labels


def test_a_table_gets_labels_per_pattern_and_the_same_answer():
    rng = np.random.default_rng(5)
    votes = rng.choice([-1, 1], size=(200, 4))
    table = PatternTable.from_votes(votes, inverse=True)
    by_point, by_pattern = c2rf.solve(votes, 61), c2rf.solve(table, 61)
    np.testing.assert_array_equal(by_point.weights, by_pattern.weights)
    assert by_pattern.labels.shape == (table.n_patterns,)
    np.testing.assert_array_equal(by_pattern.labels[table.inverse], by_point.labels)
    assert by_point.eta == by_pattern.eta == abs(int((by_point.labels > 0).sum()) - 61)
    c2rf.verify(table, 61, by_pattern)


def test_a_rate_is_a_rounded_count():
    assert c2rf.solve(VOTES, 0.5).eta == c2rf.solve(VOTES, 2).eta
    assert c2rf.solve(VOTES, 0.0).eta == c2rf.solve(VOTES, 0).eta
    assert c2rf.solve(VOTES, 1.0).eta == c2rf.solve(VOTES, 4).eta


@pytest.mark.parametrize("method", SOLVE_METHODS)
def test_more_than_64_trees(method):
    rng = np.random.default_rng(2)
    votes = rng.choice([-1, 1], size=(12, 4))[:, rng.integers(4, size=130)]
    solution = c2rf.solve(votes, 5, method=method)
    c2rf.verify(votes, 5, solution)
    assert solution.status == "optimal"
    assert solution.eta == optimum(reduce(make_problem(votes, 5)).problem) + (
        reduce(make_problem(votes, 5)).eta_shift
    )


@pytest.mark.parametrize("method", SOLVE_METHODS)
@pytest.mark.parametrize("votes", [[[1]], [[-1]], [[1, 1]], [[1], [-1]], [[1, -1], [-1, 1]]])
def test_tiny_problems(votes, method):
    for target in range(len(votes) + 1):
        expected = optimum(make_problem(votes, target))
        assert answer_of((np.array(votes), target, 1, 100), method=method) == expected


def test_unanimous_votes_need_no_solver(monkeypatch):
    monkeypatch.setattr("c2rf.forest.incumbent.solve_model", None)
    votes = [[1, 1], [1, 1], [-1, -1]]
    for target, eta in enumerate([2, 1, 0, 1]):
        solution = c2rf.solve(votes, target, method="p-c2rf")
        assert (solution.eta, solution.bound, solution.status) == (eta, eta, "optimal")
        assert not {"backend", "backend_version", "branching_priorities"} & set(solution.stats)


def test_what_was_done_is_in_the_stats():
    votes = np.vstack([VOTES, VOTES[:1], np.ones((1, 3), dtype=int)])[:, [0, 1, 2, 2]]
    stats = c2rf.solve(votes, 3, method="p-c2rf").stats
    assert (stats["points"], stats["patterns"], stats["trees"]) == (6, 5, 4)
    assert (stats["fixed"], stats["columns"]) == (1, 3)
    assert stats["method"] == "p-c2rf"
    assert stats["backend"] == "highs"
    assert re.match(r"\d+\.\d+", stats["backend_version"])
    assert stats["branching_priorities"] == "not supported by highs: same as only-pp"
    assert stats["interrupted"] is False
    assert stats["warnings"] == []
    assert c2rf.solve(votes, 3, method="only-pp").stats["branching_priorities"] == "not asked for"
    stats = c2rf.solve(votes, 3, method="only-br").stats
    assert stats["branching_priorities"] == "not supported by highs: same as c2rf"


@pytest.mark.skipif("scip" not in installed(), reason="SCIP is not installed")
def test_priorities_are_used_where_the_solver_has_them():
    stats = c2rf.solve(VOTES, 3, method="p-c2rf", backend="scip").stats
    assert stats["branching_priorities"] == "used"


# The same seed


@pytest.mark.parametrize("method", ["c2rf", "p-c2rf"])
@pytest.mark.parametrize("backend", installed())
def test_the_same_seed_gives_the_same_result(method, backend):
    rng = np.random.default_rng(8)
    votes = np.where(rng.random((25, 5)) < 0.6, 1, -1)
    how = {"method": method, "backend": backend}
    one, other = (c2rf.solve(votes, 11, random_state=3, **how) for _ in range(2))
    np.testing.assert_array_equal(one.weights, other.weights)
    assert (one.eta, one.stats["nodes"]) == (other.eta, other.stats["nodes"])


def test_generators_and_states_are_seeds_too():
    for make in (np.random.default_rng, np.random.RandomState):
        one, other = (c2rf.solve(VOTES, 1, random_state=make(4)) for _ in range(2))
        np.testing.assert_array_equal(one.weights, other.weights)
    assert c2rf.solve(VOTES, 1, random_state=2**40).eta == 0


# Boxes without any weights


def infeasible_cases():
    rng = np.random.default_rng(11)
    boxes = [(1, 1), (1, 1.25), (0.3, 0.9), (3, 3.5), (0.1, 0.15)]
    for k in range(40):
        t = int(rng.integers(2, 6))
        votes = rng.choice([-1, 1], size=(int(rng.integers(2, 9)), t))
        yield votes, int(rng.integers(len(votes))), *boxes[k % len(boxes)]


@pytest.mark.parametrize("method", ["p-c2rf", "auto"])
def test_the_patterns_named_are_infeasible_together(method):
    named = {"the pattern": 0, "these patterns": 0}
    for votes, target, lower, upper in infeasible_cases():
        problem = make_problem(votes, target, lower, upper)
        if optimum(problem) is not None:
            continue
        with pytest.raises(InfeasibleError) as caught:
            c2rf.solve(votes, target, lower, upper, method=method)
        message = str(caught.value)
        rows = [[1 if c == "+" else -1 for c in word] for word in re.findall(r"[+-]{1,6}", message)]
        rows = np.array([row for row in rows if len(row) == len(rows[0])], dtype=np.int8)
        assert optimum(_with_patterns(problem, rows)) is None
        named["the pattern" if "the pattern " in message else "these patterns"] += 1
    assert min(named.values()) > 2


def _with_patterns(problem, rows):
    """The problem of the named patterns, whose columns are those of the problem or its merged."""
    small = problem if rows.shape[1] == problem.n_columns else reduce(problem).problem
    return Problem(rows, np.ones(len(rows), dtype=np.int64), 0, small.lower, small.upper)


def test_a_tie_of_equal_weights_is_named():
    votes = [[1, -1, 1, -1], [1, 1, 1, -1]]
    with pytest.raises(InfeasibleError, match=r"Widen \[lower, upper\]: with"):
        c2rf.solve(votes, 1, 1, 1)
    with pytest.raises(InfeasibleError):
        c2rf.solve(votes, 1, 1, 1, time_limit=0)
    # Too narrow by a millionth, which is more than the tolerance
    with pytest.raises(InfeasibleError):
        c2rf.solve([[1, -1], [1, 1]], 1, 1e-6, 1)
    assert c2rf.solve(votes, 1, 1, 1, offset=(-1, 1)).eta == 0


def test_many_patterns_are_named_in_part():
    # Every two trees in turn: all ties at equal weights, so that no single one is infeasible.
    rng = np.random.default_rng(0)
    votes = rng.choice([-1, 1], size=(300, 8))
    with pytest.raises(InfeasibleError, match="these patterns") as caught:
        c2rf.solve(votes, 100, 1, 1.26, method="p-c2rf")
    assert len(str(caught.value)) < 500


# Limits


@pytest.mark.parametrize("method", SOLVE_METHODS)
@pytest.mark.parametrize("box", [(1, 2), (1, 100), (0.5, 2.5), (7, 8)])
def test_no_time_at_all_still_gives_weights_where_integers_are(method, box):
    rng = np.random.default_rng(3)
    votes = rng.choice([-1, 1], size=(300, 10))
    solution = c2rf.solve(votes, 10, *box, method=method, time_limit=0)
    c2rf.verify(votes, 10, solution, *box)
    assert solution.bound <= solution.eta


def test_no_time_and_no_integers_is_no_solution():
    rng = np.random.default_rng(3)
    votes = rng.choice([-1, 1], size=(8, 9))
    assume_feasible = answer_of((votes, 3, 1.1, 1.9))
    assert assume_feasible is not None
    with pytest.raises(NoSolutionError, match="two consecutive integers"):
        c2rf.solve(votes, 3, 1.1, 1.9, method="p-c2rf", time_limit=0)


def test_bounds_at_a_limit_count_the_fixed_points():
    votes = [[1, 1, 1]] * 5 + [[1, -1, 1], [-1, 1, -1], [1, 1, -1]]
    solution = c2rf.solve(votes, 2, method="p-c2rf", time_limit=0)
    assert solution.bound >= 3  # five points are positive whatever the weights
    assert solution.eta >= optimum(make_problem(votes, 2))


def hard_votes():
    rng = np.random.default_rng(0)
    return np.where(rng.random((1500, 20)) < 0.6, 1, -1)


@pytest.mark.parametrize("backend", [name for name in installed() if name != "gurobi"])
def test_ctrl_c_returns_the_best_so_far(backend):
    told = []

    def interrupt(event):
        told.append(event)
        if len(told) == 2:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    votes = hard_votes()[:400]
    solution = c2rf.solve(votes, 5, method="p-c2rf", backend=backend, progress=interrupt)
    c2rf.verify(votes, 5, solution)
    assert solution.stats["interrupted"] is True
    assert signal.getsignal(signal.SIGINT) is before


def test_a_time_limit_ends_a_hard_solve_with_an_honest_bound():
    votes = hard_votes()
    solution = c2rf.solve(votes, 5, method="p-c2rf", time_limit=0.3)
    c2rf.verify(votes, 5, solution)
    assert solution.status == "feasible"


# Bad input


@pytest.mark.parametrize("bad", ["fast", "", None, 3, ["c2rf"], "C2RF"])
def test_unknown_methods_list_the_known(bad):
    with pytest.raises(InputError, match="method must be auto") as caught:
        c2rf.solve(VOTES, 1, method=bad)
    assert all(name in str(caught.value) for name in SOLVE_METHODS)


@pytest.mark.parametrize("bad", ["cplex", "", None, "HiGHS", ["highs"]])
def test_unknown_backends_list_the_known(bad):
    with pytest.raises(InputError, match="backend must be highs") as caught:
        c2rf.solve(VOTES, 1, backend=bad)
    assert "highs, scip or gurobi" in str(caught.value)


def test_a_backend_that_is_not_installed_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr("c2rf.forest.backends.find_spec", lambda name: None)
    with pytest.raises(BackendNotInstalledError, match=r'pip install "c2rf\[scip\]"'):
        c2rf.solve(VOTES, 1, backend="scip")


def test_unknown_preferences_list_the_known():
    with pytest.raises(
        InputError, match="prefer must be majority; found 'minority'; did you mean 'majority'"
    ):
        c2rf.solve(VOTES, 1, prefer="minority")


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ({"time_limit": -1}, InputError),
        ({"time_limit": float("nan")}, InputError),
        ({"time_limit": "60"}, InputTypeError),
        ({"time_limit": True}, InputTypeError),
        ({"time_limit": 10**400}, InputError),
        ({"offset": (-(10**400), 1)}, InputError),
        ({"offset": {-1: 0, 1: 0}}, InputTypeError),
        ({"offset": ("1", "2")}, InputTypeError),
        ({"offset": (False, True)}, InputTypeError),
        ({"threads": 0}, InputError),
        ({"threads": -1}, InputError),
        ({"threads": 1.5}, InputTypeError),
        ({"threads": None}, InputTypeError),
        ({"random_state": -1}, InputError),
        ({"random_state": "seed"}, InputError),
        ({"random_state": 1.5}, InputError),
    ],
)
def test_bad_limits_and_seeds_are_named(how, error):
    ((name, value),) = how.items()
    with pytest.raises(error, match=name) as caught:
        c2rf.solve(VOTES, 1, **how)
    assert str(value) in str(caught.value)


def test_limits_of_any_number_type():
    for limit in (5, np.float32(5), np.int64(5), float("inf")):
        assert c2rf.solve(VOTES, 1, time_limit=limit, threads=np.int64(1)).eta == 0


@given(cases(max_points=12, max_trees=6))
@settings(max_examples=25)
def test_votes_are_left_as_they_were(case):
    votes, target, lower, upper, offset = case
    assume(upper > lower)
    before = votes.copy()
    answer_of((votes, target, lower, upper), offset)
    np.testing.assert_array_equal(votes, before)


# The method auto


@pytest.fixture(scope="module")
def forest():
    """Votes of the paper's kind of forest, whose total is out of reach."""
    X, y = make_ringnorm(3000, random_state=2)
    labeled, unlabeled = biased_sample(y, 0.02, random_state=2)
    trees = make_ensemble(None, X[labeled], y[labeled], random_state=np.random.RandomState(2))
    return trees.votes(X[unlabeled]), int(y[unlabeled].sum())


def outcome(votes, target, *box, **how):
    try:
        solution = c2rf.solve(votes, target, *box, **how)
    except c2rf.InfeasibleError:
        return None
    c2rf.verify(votes, target, solution, *box, offset=how.get("offset"))
    assert solution.status == "optimal"
    return solution.eta


@settings(max_examples=150)
@given(cases(max_points=9, max_trees=6))
def test_auto_finds_what_enumeration_finds(case):
    rows, target, lower, upper, offset = case
    expected = optimum(make_problem(rows, target, lower, upper, offset))
    assert outcome(rows, target, lower, upper, offset=offset) == expected


@given(cases(offset=False), st.randoms(use_true_random=False))
def test_flipped_votes_and_other_orders_change_nothing(case, random):
    rows, target, *box, _ = case
    eta = outcome(rows, target, *box)
    assert outcome(-rows, len(rows) - target, *box) == eta
    down, across = (random.sample(range(n), n) for n in rows.shape)
    assert outcome(rows[down][:, across], target, *box) == eta


def refuse(*_):
    raise AssertionError("no solver may be called")


def test_a_forest_is_solved_and_proven_without_any_backend(forest, monkeypatch):
    monkeypatch.setattr("c2rf.forest.incumbent.solve_model", refuse)
    monkeypatch.setattr("c2rf.forest.backends.Backend.version", refuse)
    votes, target = forest
    solution = c2rf.solve(votes, target, backend=installed()[-1])
    assert solution.status == "optimal"
    assert solution.eta > 0  # so that there was something to prove
    assert solution.stats["pairs"] > 0
    assert not solution.stats["warnings"]
    assert not {"backend", "backend_version", "branching_priorities"} & set(solution.stats)


def test_no_method_contradicts_another(forest):
    votes, target = forest
    votes = votes[:, :9]
    found = [
        c2rf.solve(votes, target, method=method, time_limit=5)
        for method in ("auto", "p-c2rf", "only-pp")
    ]
    assert max(solution.bound for solution in found) <= min(solution.eta for solution in found)


def test_the_same_seed_gives_the_same_solution(forest):
    first, second = (c2rf.solve(*forest, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.weights, second.weights)
    assert (first.eta, first.bound) == (second.eta, second.bound)


@pytest.mark.parametrize("limit", [0, 1e-9, 1e-6])
def test_the_tiniest_time_limit_still_gives_verified_weights(forest, limit):
    votes, target = forest
    solution = c2rf.solve(votes, target, time_limit=limit)
    c2rf.verify(votes, target, solution)
    assert (solution.bound, solution.status) == (0, "feasible")


@pytest.mark.parametrize("phase", ["search", "pairs", "bound"])
def test_ctrl_c_returns_what_is_known(forest, phase):
    votes, target = forest
    sent = []

    def press_once(event):
        if event.phase == phase and not sent:
            sent.append(event)
            os.kill(os.getpid(), signal.SIGINT)

    solution = c2rf.solve(votes, target, progress=press_once)
    c2rf.verify(votes, target, solution)
    assert sent
    assert solution.stats["interrupted"]


def test_progress_tells_phase_eta_bound_and_time(forest):
    events = []
    solution = c2rf.solve(*forest, progress=events.append)
    assert {"search", "pairs", "bound"} <= {event.phase for event in events}
    etas = [event.eta for event in events if event.eta is not None]
    bounds = [event.bound for event in events]
    assert etas == sorted(etas, reverse=True)
    assert bounds == sorted(bounds)
    assert (etas[-1], bounds[-1]) == (solution.eta, solution.bound)


def hard():
    """Votes whose linear relaxation leaves a gap."""
    rng = np.random.default_rng(0)
    return np.where(rng.random((300, 9)) < 0.6, 1, -1), 40


def test_a_gap_of_the_linear_program_is_closed_by_cases(monkeypatch):
    votes, target = hard()[0][:100], 15
    best = c2rf.solve(votes, target).eta
    monkeypatch.setattr(Separator, "cuts", lambda *_: [])
    solution = c2rf.solve(votes, target, certificate=True)
    c2rf.verify(votes, target, solution)
    assert solution.status == "optimal"
    assert solution.stats["proof"]["leaves"] > 1
    assert solution.eta == best


def test_a_proof_that_the_checker_refuses_is_not_claimed(monkeypatch):
    """Rows that nothing proves make certificates that are refused; the bound is 0 then."""
    monkeypatch.setattr(CutPool, "prove", lambda self, cut: ([1], [1], 0))
    votes, target = hard()
    solution = c2rf.solve(votes, target, time_limit=500)
    c2rf.verify(votes, target, solution)
    assert (solution.bound, solution.status) == (0, "feasible")
    assert any("not accepted" in text for text in solution.stats["warnings"])


def test_no_claim_rests_on_a_wrong_linear_program(monkeypatch):
    """Duals that are far too great: whole numbers do not confirm what they promise."""

    def wrong(self):
        optimum = true_optimum(self)
        return None if optimum is None else replace(optimum, duals=optimum.duals * 1.7 - 0.1)

    true_optimum = LinearProgram._optimum
    best = c2rf.solve(*hard()).eta
    monkeypatch.setattr(LinearProgram, "_optimum", wrong)
    solution = c2rf.solve(*hard(), time_limit=1, certificate=True)
    c2rf.verify(*hard(), solution)
    assert solution.bound <= best


@pytest.mark.parametrize(
    "votes",
    [
        [[1], [-1], [1]],
        [[1, -1, 1]],
        [[1, 1, 1], [-1, -1, -1]],
        [[1, 1], [-1, -1], [1, 1]],
    ],
    ids=["one tree", "one pattern", "unanimous", "equal trees"],
)
def test_trivial_problems_need_no_solver(monkeypatch, votes):
    monkeypatch.setattr("c2rf.forest.incumbent.solve_model", refuse)
    for target in range(len(votes) + 1):
        expected = optimum(make_problem(votes, target))
        assert outcome(votes, target) == expected


@pytest.mark.parametrize("most", [0, 1, 5])
def test_fewer_pairs_are_valid_too(monkeypatch, most):
    rng = np.random.default_rng(2)
    votes = np.where(rng.random((12, 5)) < 0.6, 1, -1)
    few = partial(pair_cuts, max_patterns=most)
    monkeypatch.setattr("c2rf.forest.bounds.certify.pair_cuts", few)
    assert outcome(votes, 1) == optimum(make_problem(votes, 1))


# Very small, very large and very narrow boxes, and counts at the limit of floats: an answer that
# verify accepts, with a true bound, or a clear refusal

BOXES = [
    (1e-9, 1),
    (1e9 - 1, 1e9),
    (1e-9, 1e9),
    (1e9, 1e9 + 1e-6),
    (1e-3, 1e-3),
    (0.5, 0.5 + 2**-53),
]
REFUSALS = (c2rf.NoSolutionError, c2rf.BackendError)


def some_votes(seed):
    rng = np.random.default_rng(seed)
    n, t = int(rng.integers(2, 12)), int(rng.integers(1, 6))
    return rng.choice([-1, 1], (n, t)), int(rng.integers(0, n + 1))


@pytest.mark.parametrize("method", ["auto", "p-c2rf"])
@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("seed", range(3))
def test_extreme_boxes_have_an_answer_or_a_refusal(box, seed, method):
    votes, target = some_votes(seed)
    best = optimum(make_problem(votes, target, *box))
    try:
        found = c2rf.solve(votes, target, *box, method=method, certificate=True, time_limit=20)
    except c2rf.InfeasibleError:
        found = None
    except REFUSALS:
        return
    if found is None:
        assert best is None
    else:
        c2rf.verify(votes, target, found, *box)
        assert found.bound <= best <= found.eta


@pytest.mark.parametrize("size", [2**50, 2**55])
@pytest.mark.parametrize("seed", range(5))
def test_counts_near_the_limit_of_floats(seed, size):
    rng = np.random.default_rng(seed)
    votes, _ = some_votes(seed)
    small = c2rf.PatternTable.from_votes(votes)
    counts = size + rng.integers(-3, 4, small.n_patterns)
    table = c2rf.PatternTable(small.words, counts, small.n_trees)
    total = int(rng.integers(0, counts.sum()))
    found = c2rf.solve(table, total, certificate=True, time_limit=20)
    c2rf.verify(table, total, found)
    assert found.bound == found.eta == optimum(make_problem(table, total))


class TestSolverOptions:
    """Options under the solver's own names; a mistake names the solver."""

    @pytest.mark.parametrize(
        ("backend", "name", "option"),
        [
            ("highs", "HiGHS", {"mip_max_nodes": 10}),
            ("scip", "SCIP", {"limits/nodes": 10}),
            ("gurobi", "Gurobi", {"NodeLimit": 10}),
        ],
    )
    def test_of_each_solver(self, backend, name, option):
        if backend not in installed():
            pytest.skip(f"{backend} is not installed")
        how = {"method": "p-c2rf", "backend": backend}
        assert c2rf.solve(VOTES, 4, **how, solver_options=option).eta == 1
        for bad in ({"no_such": 1}, dict.fromkeys(option, "many")):
            with pytest.raises(InputError, match=rf"{name} has no option '{next(iter(bad))}'"):
                c2rf.solve(VOTES, 4, **how, solver_options=bad)

    @pytest.mark.parametrize(
        ("options", "error", "said"),
        [
            ({"MIPFocus": 1}, InputError, "method=\"auto\" runs none; leave out 'MIPFocus', or"),
            ([("MIPFocus", 1)], InputTypeError, "must be a mapping"),
            ({1: 1}, InputTypeError, "must be a mapping"),
        ],
    )
    def test_that_nobody_gets(self, options, error, said):
        with pytest.raises(error, match=said):
            c2rf.solve(VOTES, 4, solver_options=options)
        assert c2rf.solve(VOTES, 4, solver_options={}).eta == 1

    def test_of_the_classifier(self):
        rows, labels = np.arange(8.0)[:, None], np.arange(8) % 2
        how = {"n_estimators": 3, "random_state": 0, "method": "only-pp"}
        known = {"X_unlabeled": rows, "n_positive": 3}
        classifier = c2rf.C2RFClassifier(**how, solver_options={"mip_max_nodes": 5})
        assert classifier.fit(rows, labels, **known).solution_.stats["method"] == "only-pp"
        with pytest.raises(InputError, match="HiGHS has no option 'no_such'"):
            clone(classifier).set_params(solver_options={"no_such": 1}).fit(rows, labels, **known)


def test_solvers_print_nothing(capfd):
    for backend in installed():
        c2rf.solve(VOTES, 4, method="p-c2rf", backend=backend)
        c2rf.solve(VOTES, 4, method="c2rf", backend=backend, time_limit=0)
        BACKENDS[backend].version()
    if "scip" in installed():
        bad = {"limits/nodes": -5}
        with pytest.raises(InputError, match="takes -5"):
            c2rf.solve(VOTES, 4, method="p-c2rf", backend="scip", solver_options=bad)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("method", PAPER)
def test_counts_beyond_what_the_papers_methods_can_count(method):
    """Refused before any work; "auto" needs no such model."""
    small = PatternTable.from_votes(VOTES)
    table = PatternTable(small.words, small.counts * 10**10, small.n_trees)
    with pytest.raises(InputError, match=r'found 40,000,000,000: use method="auto"'):
        c2rf.solve(table, 10**10, method=method)
    assert c2rf.solve(table, 10**10).eta == 0
    table = PatternTable(small.words, small.counts * 10**8, small.n_trees)
    if method in ("c2rf", "only-br"):
        with pytest.raises(InputError, match=r'each row: 1,200,000,000 votes.*use "only-pp"'):
            c2rf.solve(table, 10**8, method=method)
    else:
        assert c2rf.solve(table, 10**8, method=method).eta == 0
