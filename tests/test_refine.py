"""Rounds: students taught what was found, and who refuses them."""

import numpy as np
import pytest

from c2rf import BlendClassifier, KnownTotalsClassifier
from c2rf.datasets import biased_sample, make_ringnorm, make_twonorm
from c2rf.estimators.held_out import change
from c2rf.estimators.teach import Consensus, halves, heard, teach
from c2rf.transport.bounds import Bounds


def blend():
    return BlendClassifier(n_estimators=16, families=("trees", "logistic", "kernel"))


@pytest.fixture(scope="module")
def drawn():
    X, y = make_twonorm(900, random_state=1)
    labeled, rest = biased_sample(y, 0.06, positive_weight=0.8, random_state=1)
    return X[labeled], y[labeled], X[rest], y[rest]


def fitted(drawn, **options):
    X, y, rest, truth = drawn
    model = KnownTotalsClassifier(options.pop("estimator", blend()), random_state=0, **options)
    return model.fit(X, y, X_unlabeled=rest, totals={1: int(truth.sum())})


class TestRounds:
    def test_totals_hold_after_every_number_of_rounds(self, drawn):
        for rounds in (0, 1, 2, "auto"):
            model = fitted(drawn, rounds=rounds)
            assert model.transduction_.sum() == drawn[3].sum()
            n_rounds = 1 if rounds == "auto" else rounds
            assert [entry["round"] for entry in model.history_] == list(range(n_rounds + 1))

    def test_a_round_helps_here(self, drawn):
        truth = drawn[3]
        before, after = (
            (fitted(drawn, rounds=rounds).transduction_ == truth).mean() for rounds in (0, 1)
        )
        assert after >= before
        assert after > 0.94

    def test_auto_says_what_it_saw(self, drawn):
        first, second = fitted(drawn).history_
        assert 0 < first["criterion"] <= 1
        assert 0 < second["criterion"] <= 1
        assert "held-out labeled points" in second["why"]

    def test_the_blend_hears_of_a_total_that_leaves_a_class_out(self, drawn):
        model = fitted(drawn, rounds=0)
        rate = drawn[3].mean()
        assert model.estimator_.rates_ == pytest.approx([1 - rate, rate])

    def test_new_points(self, drawn):
        X, y = make_twonorm(500, random_state=7)
        model = fitted(drawn, rounds=1)
        assert isinstance(model.estimator_, Consensus)
        assert (model.predict(X) == y).mean() > 0.9
        assert (model.estimator_.predict(X) == y).mean() > 0.9

    def test_jobs_change_nothing(self, drawn):
        one, two = (fitted(drawn, n_jobs=n).scores_ for n in (1, 2))
        assert (one == two).all()

    def test_two_labeled_points_cannot_be_held_out(self, drawn):
        X, y, rest, _ = drawn
        two = [np.flatnonzero(y == 0)[0], np.flatnonzero(y == 1)[0]]
        model = KnownTotalsClassifier(blend(), random_state=0)
        model.fit(X[two], y[two], X_unlabeled=rest, totals={1: 0.5})
        assert "can be held out" in model.history_[1]["why"]

    def test_a_student_that_cannot_learn_is_refused(self):
        X, y = make_ringnorm(900, random_state=1)
        labeled, rest = biased_sample(y, 0.15, positive_weight=0.6, random_state=1)

        class Misled(BlendClassifier):
            """Its students see lines only, which do not tell the classes of ringnorm apart."""

            def student(self, random_state):
                student = BlendClassifier(
                    families=("logistic",), weighting="equal", random_state=random_state
                )
                return student.set_params(sharpness=self.sharpness_)

        model = KnownTotalsClassifier(Misled(families=("svc", "kernel")), random_state=0)
        model.fit(X[labeled], y[labeled], X_unlabeled=X[rest], totals={1: int(y[rest].sum())})
        assert not model.history_[1]["taken"]
        assert (model.transduction_ == y[rest]).mean() > 0.9


class TestTeaching:
    def test_halves(self):
        one, other = halves(11, seed=0)
        assert sorted([*one, *other]) == list(range(11))
        assert abs(len(one) - len(other)) == 1

    def test_students_judge_what_they_were_not_taught(self, drawn):
        X, y, rest, truth = drawn
        rates = [1 - truth.mean(), truth.mean()]
        teacher = blend().set_params(random_state=0).fit(X, y, rest, rates=rates)
        found = truth.copy()
        wrong = np.arange(0, len(found), 9)
        found[wrong] = 1 - found[wrong]
        _, voices = teach(teacher, X, y, rest, found, seed=0)
        # Random errors in the lesson are not repeated.
        assert (voices.argmax(axis=1) == truth)[wrong].mean() > 0.9

    def test_heard_is_a_mean_of_logarithms(self):
        own, voices = np.array([[0.2, 0.8]]), np.log([[0.5, 0.5]])
        expected = own ** (1 / 3)
        assert heard(own, voices) == pytest.approx(expected / expected.sum())

    def test_change_has_the_sign_of_the_gain(self):
        places = np.array([[0.9, 0.1], [0.4, 0.6], [0.3, 0.7]])
        codes, rates = np.array([0, 0, 1]), np.array([0.5, 0.5])
        better = places.copy()
        better[1] = 0.6, 0.4
        assert change(places, better, codes, rates) == (0.25, 0.25)
        assert change(better, places, codes, rates) == (-0.25, 0.25)
        assert change(places, places, codes, rates) == (0.0, 0.0)


class TestRates:
    def test_groups_that_fix_all(self):
        bounds = Bounds(
            np.array([0, 0]),
            np.array([30, 30]),
            np.array([[4, 0], [0, 15]]),
            np.array([[4, 10], [20, 15]]),
            np.array([10, 20]),
        )
        assert bounds.rates() == pytest.approx([9 / 30, 21 / 30])

    def test_wide_ranges_say_nothing(self):
        assert Bounds.overall([0, 0, 2], [10, 10, 2], 10).rates() is None

    def test_no_points(self):
        assert Bounds.overall([0, 0], [0, 0], 0).rates() is None
